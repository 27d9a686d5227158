// Subgraphs of a file: names that give the same ids back, tensors, operators.
#include "converters/tflite/custom_options.h"
#include "converters/tflite/export_state.h"
#include "converters/tflite/option_tables.h"
#include "schema_generated.h"

#include <algorithm>
#include <array>

namespace loopscope::tflite_format {

namespace {

using flatbuffers::Offset;

/// Writes one graph.
class GraphExport {
public:
    GraphExport(ExportState& state, const Graph& graph) : m_state(state), m_builder(state.builder), m_graph(graph) {}

    Result<Offset<tflite::SubGraph>> run()
    {
        collectFacts();
        const FileNames names = namesToWrite(m_graph);
        std::vector<Offset<tflite::Tensor>> tensors;
        for (size_t i = 0; i < m_graph.values.size(); ++i) {
            auto tensor = writeTensor(i, names.values[i]);
            if (!tensor.ok())
                return std::move(tensor).takeError().at(cannotConvert(m_state.format) + ": " + m_graph.id + "/" + m_graph.values[i].id);
            tensors.push_back(*tensor);
        }
        std::vector<Offset<tflite::Operator>> operators;
        for (size_t i = 0; i < m_graph.operators.size(); ++i) {
            auto op = writeOperator(m_graph.operators[i]);
            if (!op.ok()) return std::move(op).takeError().at(cannotConvert(m_state.format) + ": " + operatorPlace(m_graph, i));
            operators.push_back(*op);
        }
        for (const NamedAttribute& a : m_graph.attributes)
            if (a.key != "@debug" && (a.key != "@data_format" || m_state.format.dataFormatSlot == 0))
                return Error(ErrorCode::unsupported,
                             cannotConvert(m_state.format) + ": attribute '" + a.key + "' of graph " + m_graph.id + " has no form there");
        std::vector<int32_t> outputs;
        for (const GraphOutput& output : m_graph.outputs) outputs.push_back(output.value.index);
        LS_TRY(const int32_t debug, fittingNumber<int32_t>(m_graph.attributes, "@debug", -1));
        const auto tensorsAt = m_builder.CreateVector(tensors);
        const auto inputsAt = indices(m_graph.inputs);
        const auto outputsAt = m_builder.CreateVector(outputs);
        const auto operatorsAt = m_builder.CreateVector(operators);
        const auto nameAt = names.graph.empty() ? 0 : m_builder.CreateString(names.graph);
        tflite::SubGraphBuilder out(m_builder);
        out.add_name(nameAt);
        out.add_operators(operatorsAt);
        out.add_outputs(outputsAt);
        out.add_inputs(inputsAt);
        out.add_tensors(tensorsAt);
        m_builder.AddElement<int32_t>(m_state.format.graphDebugSlot, debug, -1);
        if (m_state.format.dataFormatSlot != 0)
            m_builder.AddElement<int8_t>(m_state.format.dataFormatSlot, enumerator(m_graph.attributes, "@data_format", "CHANNELS_FIRST"),
                                         int8_t{0});
        return out.Finish();
    }

private:
    /// The number of an attribute that is the word for 1, or a number.
    static int8_t enumerator(const AttributeList& attributes, std::string_view key, std::string_view one)
    {
        return static_cast<int8_t>(attributeWord(attributes, key, "") == one ? 1 : attributeInt(attributes, key, 0));
    }

    Offset<flatbuffers::Vector<int32_t>> indices(const std::vector<ValueId>& ids)
    {
        std::vector<int32_t> out;
        for (const ValueId id : ids) out.push_back(id.valid() ? id.index : -1);
        return m_builder.CreateVector(out);
    }

    /// The importer's facts about values, those of results from their operators.
    void collectFacts()
    {
        for (const Value& value : m_graph.values) m_facts.push_back(value.attributes);
        for (const Operator& op : m_graph.operators) {
            const Attribute* all = findAttribute(op.attributes, "@results");
            const auto* items = all ? all->as<AttributeItems>() : nullptr;
            for (size_t slot = 0; items && slot < std::min(items->size(), op.results.size()); ++slot)
                if (const auto* map = (*items)[slot].as<AttributeMap>())
                    for (const auto& [key, value] : *map) setAttribute(m_facts[static_cast<size_t>(op.results[slot].index)], key, value);
        }
    }

    static Error noForm(const std::string& what) { return Error(ErrorCode::unsupported, what + " has no form there"); }

    Result<Offset<tflite::Tensor>> writeTensor(size_t index, const std::string& name)
    {
        const Value& value = m_graph.values[index];
        const AttributeList& facts = m_facts[index];
        const TensorType& type = value.type;
        const auto code = m_state.format.schema.elementTypes().numberOf(type.dtype);
        if (!code) return noForm("dtype " + std::string(dtypeName(type.dtype)));
        if (type.isReference || !type.parameter.empty()) return noForm("a TensorFlow function's type");
        LS_CHECK_OK(checkFacts(facts));
        const FlatFormat& format = m_state.format;
        LS_TRY(const uint32_t buffer, writeData(value, facts));
        Offset<tflite::SparsityParameters> sparsity;
        if (value.constant && value.constant->sparsity) sparsity = writeSparsity(*value.constant->sparsity);
        else if (const Attribute* fact = findAttribute(facts, "sparsity")) sparsity = writeSparsity(sparsityOf(*fact));
        LS_TRY(const auto quantization, writeQuantization(value, facts));
        LS_TRY(const auto variants, writeElementTypes(type));
        // An unknown dimension is 1 in the shape and −1 in the signature.
        Offset<flatbuffers::Vector<int32_t>> shape, signature;
        if (type.shape.hasRank()) {
            LS_TRY(shape, writeDims(type.shape, 1));
            const bool isOpen = std::ranges::count(type.shape.dims(), kUnknownDim) > 0;
            if (type.signature || isOpen) {
                LS_TRY(signature, writeDims(type.signature ? *type.signature : type.shape, kUnknownDim));
            }
        }
        const auto nameAt = name.empty() ? 0 : m_builder.CreateString(name);
        const int64_t external = value.constant ? value.constant->externalBuffer() : -1;
        if (external >= 0 && !format.hasExternalBuffers) return noForm("data in an external buffer");
        tflite::TensorBuilder tensor(m_builder);
        tensor.add_shape(shape);
        tensor.add_type(static_cast<tflite::TensorType>(*code));
        tensor.add_buffer(buffer);
        tensor.add_name(nameAt);
        tensor.add_quantization(quantization);
        tensor.add_is_variable(value.role == ValueRole::variable || attributeBool(facts, "is_variable", false));
        tensor.add_sparsity(sparsity);
        tensor.add_shape_signature(signature);
        tensor.add_variant_tensors(variants);
        if (format.hasExternalBuffers)
            tensor.add_external_buffer(static_cast<uint32_t>(external >= 0 ? external : attributeInt(facts, "external_buffer", 0)));
        if (format.compressionSlot != 0)
            m_builder.AddElement<int8_t>(format.compressionSlot, enumerator(facts, "compression_type", "HUFFMAN"), int8_t{0});
        // Stored also where it is false: that tells an unknown rank from a scalar of a writer that does not know the field.
        m_builder.ForceDefaults(true);
        tensor.add_has_rank(type.shape.hasRank());
        m_builder.ForceDefaults(false);
        return tensor.Finish();
    }

    Status checkFacts(const AttributeList& facts)
    {
        static constexpr std::array kKnown = {"custom_quantization", "data",     "is_variable",
                                              "quantized_dimension", "sparsity", "zero_point"};
        const FlatFormat& format = m_state.format;
        const auto isKnown = [&](const std::string& key) {
            if (key == "external_buffer") return format.hasExternalBuffers;
            if (key == "quantized_dimensions") return format.multiAxisTag != 0;
            if (key == "mx_axis") return format.mxTag != 0;
            if (key == "compression_type") return format.compressionSlot != 0;
            return std::ranges::find(kKnown, key) != kKnown.end();
        };
        for (const NamedAttribute& fact : facts)
            if (!isKnown(fact.key)) return noForm("attribute '" + fact.key + "'");
        return {};
    }

    Result<uint32_t> writeData(const Value& value, const AttributeList& facts)
    {
        if (const Attribute* data = findAttribute(facts, "data"))
            if (const auto* tensor = data->as<TensorAttribute>(); tensor && tensor->data)
                return bufferOf(m_state, *tensor->data, "constant " + value.id);
        if (value.constant && value.constant->externalBuffer() < 0) return bufferOf(m_state, *value.constant, "constant " + value.id);
        return 0U;
    }

    /// `unknown` stands for dimensions that are not known.
    Result<Offset<flatbuffers::Vector<int32_t>>> writeDims(const Shape& shape, int64_t unknown)
    {
        std::vector<int32_t> dims;
        for (const int64_t dim : shape.dims()) {
            if (dim > INT32_MAX) return Error(ErrorCode::unsupported, "a dimension does not fit 32 bits").found(std::to_string(dim));
            dims.push_back(static_cast<int32_t>(dim == kUnknownDim ? unknown : dim));
        }
        return m_builder.CreateVector(dims);
    }

    Result<Offset<flatbuffers::Vector<Offset<tflite::VariantSubType>>>> writeElementTypes(const TensorType& type)
    {
        std::vector<Offset<tflite::VariantSubType>> out;
        for (const TensorType& held : type.elementTypes) {
            const auto code = m_state.format.schema.elementTypes().numberOf(held.dtype);
            if (!code) return noForm("dtype " + std::string(dtypeName(held.dtype)));
            Offset<flatbuffers::Vector<int32_t>> shape;
            if (held.shape.hasRank()) {
                LS_TRY(shape, writeDims(held.shape, kUnknownDim));
            }
            out.push_back(tflite::CreateVariantSubType(m_builder, shape, static_cast<tflite::TensorType>(*code), held.shape.hasRank()));
        }
        return out.empty() ? Offset<flatbuffers::Vector<Offset<tflite::VariantSubType>>>() : m_builder.CreateVector(out);
    }

    /// Details beyond scale and zero point: the union's tag and table.
    std::pair<tflite::QuantizationDetails, Offset<void>> writeDetails(const Quantization& q, const AttributeList& facts)
    {
        const Attribute* fact = findAttribute(facts, "custom_quantization");
        const auto* raw = fact ? fact->as<HexBytes>() : nullptr;
        if (const std::string* custom = raw ? &raw->bytes : q.kind == Quantization::Kind::custom ? &q.custom : nullptr) {
            m_builder.ForceVectorAlignment(custom->size(), 1, 16);
            const auto bytes = m_builder.CreateVector(reinterpret_cast<const uint8_t*>(custom->data()), custom->size());
            return {tflite::QuantizationDetails_CustomQuantization, tflite::CreateCustomQuantization(m_builder, bytes).Union()};
        }
        const FlatFormat& format = m_state.format;
        if (const Attribute* axis = findAttribute(facts, "mx_axis")) {
            const auto start = m_builder.StartTable();
            const auto* number = axis->as<int64_t>();
            m_builder.AddElement<int32_t>(flatbuffers::FieldIndexToOffset(0), static_cast<int32_t>(number ? *number : 0), 0);
            return {static_cast<tflite::QuantizationDetails>(format.mxTag), Offset<void>(m_builder.EndTable(start))};
        }
        if (q.kind != Quantization::Kind::blockwise) return {tflite::QuantizationDetails_NONE, 0};
        const int32_t zeros = q.blockZeros < 0 ? -1 : q.blockZeros;
        if (findAttribute(facts, "quantized_dimensions")) {
            const std::vector<int64_t> dims = attributeInts(facts, "quantized_dimensions");
            const auto dimsAt = m_builder.CreateVector(std::vector<int32_t>(dims.begin(), dims.end()));
            return {static_cast<tflite::QuantizationDetails>(format.multiAxisTag),
                    tflite::CreateMultiAxisQuantization(m_builder, q.blockScales, zeros, q.blockSize, dimsAt).Union()};
        }
        return {static_cast<tflite::QuantizationDetails>(format.blockwiseTag),
                tflite::CreateBlockwiseQuantization(m_builder, q.blockScales, zeros, q.blockSize).Union()};
    }

    Result<Offset<tflite::QuantizationParameters>> writeQuantization(const Value& value, const AttributeList& facts)
    {
        static const Quantization kNone;
        const Quantization& q = value.type.quantization ? *value.type.quantization : kNone;
        if (q.kind == Quantization::Kind::unresolved || !q.minHash.empty() || !q.maxHash.empty())
            return Error(ErrorCode::badFile, "its quantization is known by hash only").expected("the numbers");
        const std::vector<int64_t> idleZeros = attributeInts(facts, "zero_point"); // without scales
        const bool hasDetails = findAttribute(facts, "custom_quantization") || findAttribute(facts, "mx_axis");
        if (!value.type.quantization && idleZeros.empty() && !hasDetails) return Offset<tflite::QuantizationParameters>();
        const auto details = writeDetails(q, facts);
        const auto floats = [this](const std::vector<float>& v) { return v.empty() ? 0 : m_builder.CreateVector(v); };
        const auto min = floats(q.min);
        const auto max = floats(q.max);
        const auto scales = floats(q.scales);
        const std::vector<int64_t>& zeroPoints = q.zeroPoints.empty() ? idleZeros : q.zeroPoints;
        const auto zeros = zeroPoints.empty() ? 0 : m_builder.CreateVector(zeroPoints);
        const bool hasAxis = q.kind == Quantization::Kind::affine && q.perChannel;
        LS_TRY(const int32_t axis, fittingNumber<int32_t>(facts, "quantized_dimension", hasAxis ? q.axis : 0));
        return tflite::CreateQuantizationParameters(m_builder, min, max, scales, zeros, details.first, details.second, axis);
    }

    /// Indices in the narrowest vector that holds them, as other writers do.
    std::pair<tflite::SparseIndexVector, Offset<void>> writeIndices(const std::vector<int32_t>& values)
    {
        const auto fits = [&values](int32_t largest) {
            return std::ranges::all_of(values, [=](int32_t v) { return v >= 0 && v <= largest; });
        };
        if (fits(UINT8_MAX)) {
            m_builder.ForceVectorAlignment(values.size(), 1, 4);
            const auto at = m_builder.CreateVector(std::vector<uint8_t>(values.begin(), values.end()));
            return {tflite::SparseIndexVector_Uint8Vector, tflite::CreateUint8Vector(m_builder, at).Union()};
        }
        if (fits(UINT16_MAX)) {
            m_builder.ForceVectorAlignment(values.size(), 2, 4);
            const auto at = m_builder.CreateVector(std::vector<uint16_t>(values.begin(), values.end()));
            return {tflite::SparseIndexVector_Uint16Vector, tflite::CreateUint16Vector(m_builder, at).Union()};
        }
        return {tflite::SparseIndexVector_Int32Vector, tflite::CreateInt32Vector(m_builder, m_builder.CreateVector(values)).Union()};
    }

    /// The inverse of the importer's sparsityFact; what has another form is left out.
    static Sparsity sparsityOf(const Attribute& fact)
    {
        Sparsity sparsity;
        const auto* map = fact.as<AttributeMap>();
        const auto numbers = [](const AttributeMap& from, std::string_view key) {
            std::vector<int32_t> values;
            for (const auto& [name, value] : from)
                if (const auto* items = name == key ? value.as<AttributeItems>() : nullptr)
                    for (const Attribute& item : *items)
                        if (const int64_t* number = item.as<int64_t>()) values.push_back(static_cast<int32_t>(*number));
            return values;
        };
        if (!map) return sparsity;
        sparsity.traversalOrder = numbers(*map, "order");
        sparsity.blockMap = numbers(*map, "blocks");
        for (const auto& [name, value] : *map) {
            const auto* dims = name == "dims" ? value.as<AttributeItems>() : nullptr;
            for (size_t i = 0; dims && i < dims->size(); ++i) {
                const auto* stored = (*dims)[i].as<AttributeMap>();
                if (!stored) continue;
                SparseDimension dim;
                dim.segments = numbers(*stored, "segments");
                dim.indices = numbers(*stored, "indices");
                dim.compressed = !stored->empty() && stored->front().first != "size";
                if (const int64_t* size = dim.compressed || stored->empty() ? nullptr : stored->front().second.as<int64_t>())
                    dim.denseSize = static_cast<int32_t>(*size);
                sparsity.dimensions.push_back(std::move(dim));
            }
        }
        return sparsity;
    }

    Offset<tflite::SparsityParameters> writeSparsity(const Sparsity& sparsity)
    {
        std::vector<Offset<tflite::DimensionMetadata>> dims;
        for (const SparseDimension& dim : sparsity.dimensions) {
            if (!dim.compressed) {
                dims.push_back(tflite::CreateDimensionMetadata(m_builder, tflite::DimensionType_DENSE, dim.denseSize));
                continue;
            }
            const auto segments = writeIndices(dim.segments);
            const auto found = writeIndices(dim.indices);
            dims.push_back(tflite::CreateDimensionMetadata(m_builder, tflite::DimensionType_SPARSE_CSR, 0, segments.first, segments.second,
                                                           found.first, found.second));
        }
        const auto order = m_builder.CreateVector(sparsity.traversalOrder);
        const auto blocks = sparsity.blockMap.empty() ? 0 : m_builder.CreateVector(sparsity.blockMap);
        return tflite::CreateSparsityParameters(m_builder, order, blocks, m_builder.CreateVector(dims));
    }

    /// The tables of both unions.
    struct Options {
        uint8_t tag1 = 0, tag2 = 0;
        uint32_t table1 = 0, table2 = 0;
        void set(const OptionTable& spec, uint32_t table)
        {
            if (table == 0) return;
            (spec.unionNumber == 1 ? tag1 : tag2) = spec.tag;
            (spec.unionNumber == 1 ? table1 : table2) = table;
        }
    };

    Result<Options> writeOptionTables(const Operator& op)
    {
        Options out;
        if (findAttribute(op.attributes, "@unknown")) return noForm("an option table of a newer schema");
        const FormatSchema& schema = m_state.format.schema;
        const auto code = schema.codeOf(op.kind);
        const OptionTable* spec = code ? schema.usualOptions(*code) : nullptr;
        if (const Attribute* named = findAttribute(op.attributes, "@options")) {
            const auto* word = named->as<Word>();
            spec = word ? schema.optionTable(word->text) : nullptr;
            if (!spec) return Error(ErrorCode::unsupported, "@options names no option table of the format");
        }
        if (spec) {
            LS_TRY(const WrittenTable table, writeOptions(m_builder, *spec, op.attributes));
            out.set(*spec, table.offset);
        } else {
            for (const NamedAttribute& a : op.attributes)
                if (!a.key.starts_with('@') && a.key != "options") return noForm("attribute '" + a.key + "'");
        }
        for (const char* key : {"@other_options", "@other_options_2"}) {
            const Attribute* other = findAttribute(op.attributes, key);
            const auto* map = other ? other->as<AttributeMap>() : nullptr;
            if (!map) continue;
            AttributeList attributes;
            for (const auto& [name, value] : *map) setAttribute(attributes, name, value);
            const OptionTable* otherSpec = schema.optionTable(attributeWord(attributes, "table", ""));
            removeAttribute(attributes, "table");
            if (!otherSpec) return Error(ErrorCode::unsupported, std::string(key) + " names no option table of the format");
            LS_TRY(const WrittenTable table, writeOptions(m_builder, *otherSpec, attributes));
            out.set(*otherSpec, table.offset);
        }
        return out;
    }

    Status checkOperatorFacts(const Operator& op)
    {
        static constexpr std::array kKnown = {"@debug",         "@intermediates", "@mutating", "@options",         "@options_format",
                                              "@other_options", "@results",       "@unknown",  "@other_options_2", "@version"};
        for (const NamedAttribute& a : op.attributes)
            if (a.key.starts_with('@') && std::ranges::find(kKnown, a.key) == kKnown.end()) return noForm("attribute '" + a.key + "'");
        if (!op.controlInputs.empty()) return noForm("a control input");
        return {};
    }

    Result<int32_t> versionOf(const Operator& op) const
    {
        AttributeList version{{"@version", int64_t{1}}};
        for (const KindVersion& v : m_state.model.versions)
            if (v.kind == op.kind) setAttribute(version, "@version", v.version);
        if (const Attribute* own = findAttribute(op.attributes, "@version")) setAttribute(version, "@version", *own);
        return fittingNumber<int32_t>(version, "@version", 1);
    }

    Result<Offset<flatbuffers::Vector<int32_t>>> writeIntermediates(const Operator& op)
    {
        const Attribute* all = findAttribute(op.attributes, "@intermediates");
        const auto* items = all ? all->as<AttributeItems>() : nullptr;
        if (!items) return Offset<flatbuffers::Vector<int32_t>>();
        std::vector<int32_t> out;
        for (const Attribute& item : *items) {
            const auto* used = item.as<ValueRef>();
            if (!used && !item.as<std::monostate>())
                return Error(ErrorCode::unsupported, "@intermediates holds something else than values");
            out.push_back(used ? used->value.index : -1);
        }
        return m_builder.CreateVector(out);
    }

    Result<Offset<tflite::Operator>> writeOperator(const Operator& op)
    {
        LS_CHECK_OK(checkOperatorFacts(op));
        LS_TRY(const int32_t version, versionOf(op));
        LS_TRY(const int32_t debug, fittingNumber<int32_t>(op.attributes, "@debug", -1));
        LS_TRY(const int8_t format, fittingNumber<int8_t>(op.attributes, "@options_format", 0));
        const uint32_t code = m_state.codes.add(op.kind, version);
        LS_TRY(const Options options, writeOptionTables(op));
        Offset<flatbuffers::Vector<uint8_t>> custom, mutating;
        if (const Attribute* value = findAttribute(op.attributes, "options")) {
            const auto bytes = encodeCustomOptions(*value);
            if (!bytes)
                return Error(ErrorCode::unsupported, "attribute 'options' does not fit its field")
                    .expected("a map of FlexBuffer values or raw bytes");
            custom = m_builder.CreateVector(reinterpret_cast<const uint8_t*>(bytes->data()), bytes->size());
        }
        if (const Attribute* value = findAttribute(op.attributes, "@mutating")) {
            std::vector<uint8_t> flags;
            if (const auto* items = value->as<AttributeItems>())
                for (const Attribute& item : *items) flags.push_back(item.as<bool>() && *item.as<bool>() ? 1 : 0);
            mutating = m_builder.CreateVector(flags);
        }
        LS_TRY(const auto intermediates, writeIntermediates(op));
        const auto inputs = indices(op.inputs);
        const auto outputs = indices(op.results);
        return tflite::CreateOperator(m_builder, code, inputs, outputs, static_cast<tflite::BuiltinOptions>(options.tag1), options.table1,
                                      custom, static_cast<tflite::CustomOptionsFormat>(format), mutating, intermediates, 0, 0,
                                      static_cast<tflite::BuiltinOptions2>(options.tag2), options.table2, debug);
    }

    ExportState& m_state;
    flatbuffers::FlatBufferBuilder& m_builder;
    const Graph& m_graph;
    std::vector<AttributeList> m_facts; ///< by value
};

} // namespace

Result<Offset<tflite::SubGraph>> exportGraph(ExportState& state, const Graph& graph) { return GraphExport(state, graph).run(); }

} // namespace loopscope::tflite_format
