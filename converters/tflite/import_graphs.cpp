// Subgraphs: roles of tensors, operators with their options and facts.
#include "converters/tflite/custom_options.h"
#include "converters/tflite/import_state.h"
#include "converters/tflite/option_tables.h"
#include "engine/ir/random_stream.h"
#include "schema_generated.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace loopscope::tflite_format {

namespace {

/// Reads one subgraph.
class GraphImport {
public:
    GraphImport(ImportState& state, size_t index)
        : m_state(state),
          m_file(state.file),
          m_source(*state.source->subgraphs()->Get(static_cast<flatbuffers::uoffset_t>(index))),
          m_place(element("subgraphs", index))
    {
    }

    Result<Graph> run()
    {
        if (m_source.name()) {
            LS_CHECK_OK(m_file.spend(m_source.name(), m_source.name()->size()));
            m_graph.name = m_source.name()->str();
        }
        readFacts();
        LS_CHECK_OK(readTensors());
        LS_CHECK_OK(readInterface());
        if (m_source.operators()) {
            for (flatbuffers::uoffset_t i = 0; i < m_source.operators()->size(); ++i) LS_CHECK_OK(readOperator(i));
        }
        settleRoles();
        if (m_state.faults != nullptr) cutUsesBeforeWrites();
        return std::move(m_graph);
    }

private:
    const flatbuffers::Table& sourceTable() const { return *reinterpret_cast<const flatbuffers::Table*>(&m_source); }

    /// Fields of the subgraph that formats have at different places.
    void readFacts()
    {
        const FlatFormat& format = m_state.format;
        if (const auto debug = sourceTable().GetField<int32_t>(format.graphDebugSlot, -1); debug != -1)
            setAttribute(m_graph.attributes, "@debug", int64_t{debug});
        if (format.dataFormatSlot == 0) return;
        if (const auto layout = sourceTable().GetField<int8_t>(format.dataFormatSlot, 0); layout != 0)
            setAttribute(m_graph.attributes, "@data_format", layout == 1 ? Attribute(Word{"CHANNELS_FIRST"}) : Attribute(int64_t{layout}));
    }

    int64_t tensorCount() const { return static_cast<int64_t>(m_graph.values.size()); }
    Value& value(int64_t index) { return m_graph.values[static_cast<size_t>(index)]; }

    Status readTensors()
    {
        const auto* tensors = m_source.tensors();
        if (!tensors) return {};
        for (flatbuffers::uoffset_t i = 0; i < tensors->size(); ++i) {
            const std::string place = element(m_place + ".tensors", i);
            Result<ImportedTensor> read = importTensor(m_state, place, m_source, *tensors->Get(i));
            if (!read.ok()) LS_CHECK_OK(m_state.forgive(std::move(read).takeError()));
            ImportedTensor tensor = read.ok() && !m_state.isLost(tensors->Get(i)) ? std::move(read).value() : lostTensor(*tensors->Get(i));
            m_graph.values.push_back(std::move(tensor.value));
            m_facts.push_back(std::move(tensor.facts));
            m_isVariable.push_back(tensor.isVariable);
        }
        m_isUsed.resize(m_graph.values.size());
        return {};
    }

    /// What stands for a tensor that cannot be read: its name, where it has one.
    static ImportedTensor lostTensor(const tflite::Tensor& tensor)
    {
        ImportedTensor lost;
        if (tensor.name()) lost.value.name = tensor.name()->str();
        lost.value.type = TensorType(DType::unknown, Shape::unknownRank());
        return lost;
    }

    /// A vector of tensor indices; `lowest` is −1 where a missing operand is allowed.
    Result<std::vector<ValueId>> readIndices(const std::string& place, const flatbuffers::Vector<int32_t>* indices, int64_t lowest)
    {
        std::vector<ValueId> out;
        if (!indices) return out;
        LS_CHECK_OK(m_file.spend(indices, uint64_t{indices->size()} * sizeof(ValueId)));
        out.reserve(indices->size());
        for (flatbuffers::uoffset_t i = 0; i < indices->size(); ++i) {
            const int32_t index = indices->Get(i);
            if (index >= lowest && index < tensorCount()) {
                out.emplace_back(index);
                continue;
            }
            LS_CHECK_OK(m_state.forgive(
                badIndex(m_file, indices->Data() + i * sizeof(int32_t), element(place, i), "tensor", index, lowest, tensorCount())));
            if (lowest < 0) out.emplace_back();
        }
        return out;
    }

    Status readInterface()
    {
        LS_TRY(m_graph.inputs, readIndices(m_place + ".inputs", m_source.inputs(), 0));
        for (size_t i = 0; i < m_graph.inputs.size(); ++i) {
            Value& input = m_graph.value(m_graph.inputs[i]);
            if (input.role == ValueRole::input) {
                LS_CHECK_OK(m_state.forgive(m_file.fault(m_source.inputs(), element(m_place + ".inputs", i) + " is tensor " +
                                                                                std::to_string(m_graph.inputs[i].index) +
                                                                                ", which is an input already")));
                m_graph.inputs.erase(m_graph.inputs.begin() + static_cast<std::ptrdiff_t>(i--));
            }
            input.role = ValueRole::input;
        }
        LS_TRY(const std::vector<ValueId> outputs, readIndices(m_place + ".outputs", m_source.outputs(), 0));
        for (const ValueId output : outputs) {
            m_graph.outputs.push_back({"", output});
            m_isUsed[static_cast<size_t>(output.index)] = true;
        }
        return {};
    }

    Status readOperator(flatbuffers::uoffset_t index)
    {
        const tflite::Operator& source = *m_source.operators()->Get(index);
        const std::string place = element(m_place + ".operators", index);
        LS_CHECK_OK(m_file.spend(&source, 16));
        const bool hasCode = source.opcode_index() < m_state.codes.size();
        if (!hasCode)
            LS_CHECK_OK(m_state.forgive(badIndex(m_file, &source, place + ".opcode_index", "operator code", source.opcode_index(), 0,
                                                 static_cast<int64_t>(m_state.codes.size()))));
        OperatorCode unknown;
        unknown.kind = m_state.isLost(&source) ? Kind{"custom", "lost operator"} : unknownKind(source.opcode_index());
        unknown.builtin = kCustomCode;
        const OperatorCode& code = hasCode && !m_state.isLost(&source) ? m_state.codes[source.opcode_index()] : unknown;
        Operator op;
        op.kind = code.kind;
        op.origin = {"0:" + std::to_string(index)};
        LS_TRY(op.inputs, readIndices(place + ".inputs", source.inputs(), -1));
        for (const ValueId input : op.inputs)
            if (input.valid()) m_isUsed[static_cast<size_t>(input.index)] = true;
        LS_TRY(op.results, readIndices(place + ".outputs", source.outputs(), 0));
        for (size_t slot = 0; slot < op.results.size(); ++slot) {
            Status claimed = claimResult(source, place, index, slot, op.results[slot]);
            if (claimed.ok()) continue;
            LS_CHECK_OK(m_state.forgive(std::move(claimed)));
            op.results.erase(op.results.begin() + static_cast<std::ptrdiff_t>(slot--));
        }
        LS_CHECK_OK(m_state.forgive(readOptionTables(source, place, code, op.attributes)));
        LS_CHECK_OK(m_state.forgive(readCustomOptions(source, place, op.attributes)));
        LS_CHECK_OK(m_state.forgive(readFacts(source, place, code, op.attributes)));
        if (drawsRandomNumbers(op)) op.streamIdentity = randomStreamIdentity(op, op.origin.front());
        m_graph.operators.push_back(std::move(op));
        return {};
    }

    Status claimResult(const tflite::Operator& source, const std::string& place, size_t op, size_t slot, ValueId id)
    {
        Value& result = m_graph.value(id);
        if (result.role != ValueRole::absent) {
            const std::string owner = result.role == ValueRole::input ? "is an input of the subgraph"
                                                                      : "operator " + std::to_string(result.producer.index) + " writes too";
            return m_file.fault(source.outputs()->Data() + slot * sizeof(int32_t),
                                element(place + ".outputs", slot) + " is tensor " + std::to_string(id.index) + ", which " + owner);
        }
        result.role = ValueRole::result;
        result.producer = OperatorId(static_cast<int64_t>(op));
        result.slot = static_cast<int32_t>(slot);
        return {};
    }

    int graphCount() const { return static_cast<int>(m_state.source->subgraphs()->size()); }

    /// Both unions. The table that belongs to the operator gives plain attributes; any other is named by a fact.
    Status readOptionTables(const tflite::Operator& source, const std::string& place, const OperatorCode& code, AttributeList& out)
    {
        const OptionTable* usual = m_state.format.schema.usualOptions(code.builtin);
        bool found = false;
        for (const int number : {1, 2}) {
            const auto tag = static_cast<uint8_t>(number == 1 ? static_cast<int>(source.builtin_options_type())
                                                              : static_cast<int>(source.builtin_options_2_type()));
            const void* table = number == 1 ? source.builtin_options() : source.builtin_options_2();
            if (tag == 0 || !table) continue;
            const std::string name = place + (number == 1 ? ".builtin_options" : ".builtin_options_2");
            const OptionTable* spec = m_state.format.schema.optionTable(number, tag);
            if (!spec) {
                // A table of a newer schema: its type is all we can say.
                setAttribute(out, "@unknown", HexBytes{std::string{static_cast<char>(number), static_cast<char>(tag)}});
                continue;
            }
            AttributeList options;
            LS_CHECK_OK(readOptions(m_file, name, *spec, *static_cast<const flatbuffers::Table*>(table), graphCount(), options));
            if (spec == usual || (!usual && !found)) {
                found = true;
                for (NamedAttribute& option : options) setAttribute(out, std::move(option.key), std::move(option.value));
                if (spec != usual) setAttribute(out, "@options", Word{spec->name});
            } else {
                AttributeMap map{{"table", Word{spec->name}}};
                for (NamedAttribute& option : options) map.emplace_back(std::move(option.key), std::move(option.value));
                setAttribute(out, number == 1 ? "@other_options" : "@other_options_2", std::move(map));
            }
        }
        if (usual && !found) readAbsentOptions(*usual, out);
        return {};
    }

    Status readCustomOptions(const tflite::Operator& source, const std::string& place, AttributeList& out)
    {
        std::span<const std::byte> bytes;
        if (const uint64_t offset = source.large_custom_options_offset(); offset > 1) {
            const uint64_t size = source.large_custom_options_size();
            if (offset > m_file.size() || size > m_file.size() - offset)
                return m_file.fault(&source, place + ".large_custom_options lie at " + hexNumber(offset) + " and have " +
                                                 std::to_string(size) + " bytes, file ends at " + hexNumber(m_file.size()));
            bytes = m_file.content().view().subspan(offset, size);
        } else if (source.custom_options()) {
            bytes = {reinterpret_cast<const std::byte*>(source.custom_options()->Data()), source.custom_options()->size()};
        }
        if (bytes.empty()) return {};
        LS_CHECK_OK(m_file.spend(bytes.data(), bytes.size()));
        setAttribute(out, "options", decodeCustomOptions(bytes));
        return {};
    }

    /// What the operator says beside operands and options.
    Status readFacts(const tflite::Operator& source, const std::string& place, const OperatorCode& code, AttributeList& out)
    {
        if (const int64_t lowest = lowestVersion(code.kind); code.version != lowest) setAttribute(out, "@version", code.version);
        if (source.debug_metadata_index() != -1) setAttribute(out, "@debug", int64_t{source.debug_metadata_index()});
        if (source.custom_options_format() != tflite::CustomOptionsFormat_FLEXBUFFERS)
            setAttribute(out, "@options_format", int64_t{source.custom_options_format()});
        if (const auto* mutating = source.mutating_variable_inputs(); mutating && mutating->size() > 0) {
            LS_CHECK_OK(m_file.spend(mutating, mutating->size()));
            AttributeItems flags;
            for (const auto flag : *mutating) flags.emplace_back(flag != 0);
            setAttribute(out, "@mutating", std::move(flags));
        }
        LS_TRY(const std::vector<ValueId> intermediates, readIndices(place + ".intermediates", source.intermediates(), -1));
        if (!intermediates.empty()) {
            AttributeItems items;
            for (const ValueId id : intermediates) items.push_back(id.valid() ? Attribute(ValueRef{id}) : Attribute());
            setAttribute(out, "@intermediates", std::move(items));
        }
        return {};
    }

    int64_t lowestVersion(const Kind& kind) const
    {
        for (const KindVersion& v : m_state.model.versions)
            if (v.kind == kind) return v.version;
        return 1;
    }

    /// Decides what values without a producer are, and moves what has no other place into facts.
    void settleRoles()
    {
        for (size_t i = 0; i < m_graph.values.size(); ++i) {
            Value& v = m_graph.values[i];
            AttributeList& facts = m_facts[i];
            if (v.role != ValueRole::absent) { // an input or a result
                if (m_isVariable[i]) setAttribute(facts, "is_variable", true);
                if (v.constant && v.constant->externalBuffer() >= 0) {
                    setAttribute(facts, "external_buffer", int64_t{v.constant->externalBuffer()});
                } else if (v.constant) {
                    setAttribute(facts, "data",
                                 TensorAttribute{TensorType(DType::u8, Shape{static_cast<int64_t>(v.constant->size())}),
                                                 std::make_shared<Constant>(v.constant->bytes())});
                    if (v.constant->sparsity) setAttribute(facts, "sparsity", sparsityFact(*v.constant->sparsity));
                }
                v.constant = nullptr;
            } else if (m_isVariable[i]) {
                v.role = ValueRole::variable;
            } else if (v.constant) {
                v.role = ValueRole::constant;
            } else if (m_isUsed[i] && v.type.shape.isStatic() && checkedElementCount(v.type.shape) == 0) {
                // Nothing to store: an operand without elements is a constant all the same.
                v.role = ValueRole::constant;
                v.constant = std::make_shared<Constant>(Bytes());
            }
            if (v.role != ValueRole::result) v.attributes = std::move(facts);
        }
        // Results have no place for attributes in text: their operator has.
        for (Operator& op : m_graph.operators) {
            const auto hasFacts = [this](ValueId id) { return !m_facts[static_cast<size_t>(id.index)].empty(); };
            if (std::ranges::none_of(op.results, hasFacts)) continue;
            AttributeItems all;
            for (const ValueId id : op.results) {
                AttributeMap map;
                for (NamedAttribute& fact : m_facts[static_cast<size_t>(id.index)])
                    map.emplace_back(std::move(fact.key), std::move(fact.value));
                all.emplace_back(std::move(map));
            }
            setAttribute(op.attributes, "@results", std::move(all));
        }
    }

    /// Operands that a later operator writes, in a file that is read as far as it goes, are left out.
    void cutUsesBeforeWrites()
    {
        for (size_t i = 0; i < m_graph.operators.size(); ++i)
            for (ValueId& input : m_graph.operators[i].inputs) {
                if (!input.valid() || m_graph.value(input).role != ValueRole::result) continue;
                const int32_t writer = m_graph.value(input).producer.index;
                if (writer < static_cast<int32_t>(i)) continue;
                m_state.faults->push_back(Error(ErrorCode::badFile, element(m_place + ".operators", i) + " reads tensor " +
                                                                        std::to_string(input.index) + ", which operator " +
                                                                        std::to_string(writer) + " writes later"));
                input = ValueId();
            }
    }

    ImportState& m_state;
    FileView& m_file;
    const tflite::SubGraph& m_source;
    std::string m_place;
    Graph m_graph;
    std::vector<AttributeList> m_facts; ///< by tensor
    std::vector<bool> m_isVariable, m_isUsed;
};

} // namespace

Result<Graph> importGraph(ImportState& state, size_t index) { return GraphImport(state, index).run(); }

} // namespace loopscope::tflite_format
