// Writes a file of the TFLite family: what has no form there is refused first, then graphs, then the root table, then data that does
// not fit inside.
#include "converters/tflite/export_state.h"
#include "engine/base/hash.h"
#include "engine/base/text.h"
#include "schema_generated.h"

#include <algorithm>

namespace loopscope::tflite_format {

namespace {

using flatbuffers::Offset;

constexpr uint64_t kBufferAlignment = 16;

uint64_t alignUp(uint64_t offset) { return (offset + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment; }

/// Refuses a model with operators that the format cannot say, all of them by name.
Status checkOperators(const Model& model, const FlatFormat& format)
{
    constexpr size_t kNamed = 10;
    std::vector<std::string> places;
    size_t count = 0;
    for (const Graph& graph : model.graphs) {
        for (size_t i = 0; i < graph.operators.size(); ++i) {
            const Kind& kind = graph.operators[i].kind;
            if (kind.dialect == "custom" || format.schema.codeOf(kind)) continue;
            if (++count <= kNamed) places.push_back(operatorPlace(graph, i));
        }
    }
    if (count == 0) return {};
    if (count > kNamed) places.push_back("and " + std::to_string(count - kNamed) + " more");
    return Error(ErrorCode::unsupported, cannotConvert(format) + ": " + std::to_string(count) +
                                             (count == 1 ? " operator has" : " operators have") + " no form there: " + join(places, ", "));
}

/// Attributes of the model that the root table has a place for.
Status checkModelAttributes(const Model& model, const FlatFormat& format)
{
    if (!model.externalBuffers.empty() && !format.hasExternalBuffers)
        return Error(ErrorCode::unsupported, cannotConvert(format) + ": external buffers have no form there");
    for (const NamedAttribute& a : model.attributes)
        if (a.key != "description" && a.key != "schema" && a.key != "metadata_buffer" &&
            (a.key != "external_buffer_groups" || !format.hasExternalBuffers))
            return Error(ErrorCode::unsupported, cannotConvert(format) + ": the model's attribute '" + a.key + "' has no form there");
    return {};
}

Offset<tflite::OperatorCode> writeCode(ExportState& state, const CodePool::Code& code)
{
    const bool isCustom = code.kind.dialect == "custom";
    const int32_t number = isCustom ? kCustomCode : state.format.schema.codeOf(code.kind).value_or(kPlaceholderCode);
    const auto name = isCustom ? state.builder.CreateString(code.kind.name) : Offset<flatbuffers::String>();
    return tflite::CreateOperatorCode(state.builder, static_cast<int8_t>(std::min(number, kPlaceholderCode)), name,
                                      static_cast<int32_t>(code.version), static_cast<tflite::BuiltinOperator>(number));
}

/// `dataStart`: where the data behind the FlatBuffer begins; 0 if it lies inside.
std::vector<Offset<tflite::Buffer>> writeBuffers(ExportState& state, uint64_t dataStart)
{
    std::vector<Offset<tflite::Buffer>> out;
    uint64_t at = dataStart;
    for (const Bytes& bytes : state.buffers.buffers()) {
        if (bytes.empty()) {
            out.push_back(tflite::CreateBuffer(state.builder));
        } else if (dataStart == 0) {
            state.builder.ForceVectorAlignment(bytes.size(), 1, kBufferAlignment);
            out.push_back(tflite::CreateBuffer(state.builder, state.builder.CreateVector(bytes.as<uint8_t>(), bytes.size())));
        } else {
            out.push_back(tflite::CreateBuffer(state.builder, 0, at, bytes.size()));
            at = alignUp(at + bytes.size());
        }
    }
    return out;
}

using Bindings = std::vector<SignatureBinding>;

Offset<flatbuffers::Vector<Offset<tflite::TensorMap>>> writeBindings(ExportState& state, const Bindings& bindings)
{
    std::vector<Offset<tflite::TensorMap>> maps;
    for (const SignatureBinding& b : bindings) {
        const auto name = state.builder.CreateString(b.name);
        maps.push_back(tflite::CreateTensorMap(state.builder, name, static_cast<uint32_t>(b.value.index)));
    }
    return state.builder.CreateVector(maps);
}

/// Groups and buffers of external data. Absent vectors where there are none.
struct External {
    Offset<flatbuffers::Vector<Offset<tflite::ExternalBufferGroup>>> groups;
    Offset<flatbuffers::Vector<Offset<tflite::ExternalBuffer>>> buffers;
};

External writeExternal(ExportState& state)
{
    std::vector<std::string> names;
    if (const Attribute* listed = findAttribute(state.model.attributes, "external_buffer_groups"))
        if (const auto* items = listed->as<AttributeItems>())
            for (const Attribute& item : *items)
                if (const auto* name = item.as<std::string>()) names.push_back(*name);
    std::vector<Offset<tflite::ExternalBuffer>> buffers;
    for (const ExternalBuffer& b : state.model.externalBuffers) {
        const std::string group(attributeString(b.attributes, "group", ""));
        auto at = std::ranges::find(names, group);
        if (at == names.end()) at = names.insert(names.end(), group);
        const std::string packing(attributeString(b.attributes, "packing", ""));
        buffers.push_back(tflite::CreateExternalBuffer(
            state.builder, static_cast<uint32_t>(b.number), static_cast<uint32_t>(at - names.begin()),
            static_cast<uint64_t>(attributeInt(b.attributes, "offset", 0)), static_cast<uint64_t>(attributeInt(b.attributes, "length", 0)),
            packing.empty() ? 0 : state.builder.CreateString(packing)));
    }
    std::vector<Offset<tflite::ExternalBufferGroup>> groups;
    for (const std::string& name : names)
        groups.push_back(tflite::CreateExternalBufferGroup(state.builder, state.builder.CreateString(name)));
    External out;
    if (!groups.empty()) out.groups = state.builder.CreateVector(groups);
    if (!buffers.empty()) out.buffers = state.builder.CreateVector(buffers);
    return out;
}

struct MetadataTables {
    Offset<flatbuffers::Vector<Offset<tflite::Metadata>>> entries;
    Offset<flatbuffers::Vector<int32_t>> bare;
};

Result<MetadataTables> writeMetadata(ExportState& state)
{
    MetadataTables out;
    std::vector<Offset<tflite::Metadata>> entries;
    std::vector<int32_t> numbers;
    for (const Metadata& m : state.model.metadata) {
        uint32_t buffer = 0;
        if (m.data) {
            LS_TRY(buffer, bufferOf(state, *m.data, "metadata \"" + m.name + "\""));
        }
        numbers.push_back(static_cast<int32_t>(buffer));
        entries.push_back(tflite::CreateMetadata(state.builder, state.builder.CreateString(m.name), buffer));
    }
    if (!entries.empty()) out.entries = state.builder.CreateVector(entries);
    const Attribute* listed = findAttribute(state.model.attributes, "metadata_buffer");
    if (!listed) return out;
    std::vector<int32_t> bare;
    const auto* items = listed->as<AttributeItems>();
    for (size_t i = 0; items && i < items->size(); ++i) {
        const auto* number = (*items)[i].as<int64_t>();
        const auto* raw = (*items)[i].as<HexBytes>();
        if (number && *number >= 0 && *number < static_cast<int64_t>(numbers.size())) bare.push_back(numbers[static_cast<size_t>(*number)]);
        else if (raw) bare.push_back(static_cast<int32_t>(state.buffers.add(Bytes::copyOf(raw->bytes.data(), raw->bytes.size()))));
        else
            return Error(ErrorCode::unsupported, "metadata_buffer: entry " + std::to_string(i))
                .expected("the number of a metadata entry, or bytes");
    }
    out.bare = state.builder.CreateVector(bare);
    return out;
}

Status writeModel(ExportState& state, uint64_t dataStart)
{
    const Model& model = state.model;
    flatbuffers::FlatBufferBuilder& builder = state.builder;
    std::vector<Offset<tflite::SubGraph>> graphs;
    for (const Graph& graph : model.graphs) {
        LS_TRY(const auto offset, exportGraph(state, graph));
        graphs.push_back(offset);
    }
    LS_TRY(const MetadataTables metadata, writeMetadata(state));
    const External external = writeExternal(state);
    for (const KindVersion& declared : model.versions) {
        const auto& codes = state.codes.codes();
        const bool isUsed = std::ranges::any_of(codes, [&](const CodePool::Code& code) { return code.kind == declared.kind; });
        if (isUsed || (declared.kind.dialect != "custom" && !state.format.schema.codeOf(declared.kind))) continue;
        LS_TRY(const int32_t number, fittingNumber<int32_t>({{"versions", declared.version}}, "versions", 1));
        state.codes.add(declared.kind, number);
    }
    std::vector<Offset<tflite::OperatorCode>> codes;
    for (const CodePool::Code& code : state.codes.codes()) codes.push_back(writeCode(state, code));
    std::vector<Offset<tflite::SignatureDef>> signatures;
    for (const Signature& s : model.signatures) {
        const auto inputs = writeBindings(state, s.inputs);
        const auto outputs = writeBindings(state, s.outputs);
        const auto key = builder.CreateString(s.key);
        signatures.push_back(tflite::CreateSignatureDef(builder, inputs, outputs, key, static_cast<uint32_t>(s.graph.index)));
    }
    const std::string description(attributeString(model.attributes, "description", ""));
    const auto descriptionAt = builder.CreateString(description);
    const auto buffers = builder.CreateVector(writeBuffers(state, dataStart));
    const auto codesAt = builder.CreateVector(codes);
    const auto graphsAt = builder.CreateVector(graphs);
    const auto signaturesAt = signatures.empty() ? 0 : builder.CreateVector(signatures);
    // The number counts revisions of the model's own format.
    const FlatFormat& format = state.format;
    auto version = static_cast<uint32_t>(format.usualVersion);
    if (model.dialect == format.dialect) {
        LS_TRY(version, fittingNumber<uint32_t>(model.attributes, "schema", version));
    }
    builder.Finish(tflite::CreateModel(builder, version, codesAt, graphsAt, descriptionAt, buffers, metadata.bare, metadata.entries,
                                       signaturesAt, external.groups, external.buffers),
                   std::string(format.identifier).c_str());
    return {};
}

void appendData(const BufferPool& pool, std::vector<std::byte>& out)
{
    for (const Bytes& bytes : pool.buffers()) {
        if (bytes.empty()) continue;
        out.resize(alignUp(out.size()));
        out.insert(out.end(), bytes.view().begin(), bytes.view().end());
    }
}

} // namespace

uint32_t BufferPool::add(const Bytes& bytes)
{
    if (bytes.empty()) return 0;
    const auto [place, isNew] = m_byPlace.try_emplace({bytes.data(), bytes.size()}, 0U);
    if (!isNew) return place->second;
    const uint64_t hash = hash64(bytes.view());
    const auto [first, last] = m_byHash.equal_range(hash);
    for (auto at = first; at != last; ++at)
        if (std::ranges::equal(m_buffers[at->second].view(), bytes.view())) return place->second = at->second;
    const auto number = static_cast<uint32_t>(m_buffers.size());
    m_buffers.push_back(bytes);
    m_totalSize += alignUp(bytes.size());
    m_byHash.emplace(hash, number);
    return place->second = number;
}

uint32_t CodePool::add(const Kind& kind, int64_t version)
{
    const auto [at, isNew] = m_numbers.try_emplace({kind.full(), version}, static_cast<uint32_t>(m_codes.size()));
    if (isNew) m_codes.push_back({kind, version});
    return at->second;
}

Result<uint32_t> bufferOf(ExportState& state, const Constant& constant, const std::string& name)
{
    if (constant.hasBytes()) return state.buffers.add(constant.bytes());
    return Error(ErrorCode::badFile, name + " (#" + constant.hexHash() + ", " + groupThousands(static_cast<int64_t>(constant.size())) +
                                         " bytes): its data is not in this file");
}

std::string operatorPlace(const Graph& graph, size_t index)
{
    const Operator& op = graph.operators[index];
    return graph.id + "/" + (op.name.empty() ? op.kind.name + "#" + std::to_string(index) : op.name);
}

Result<std::vector<std::byte>> exportFlatModel(const Model& model, const FlatFormat& format, uint64_t maxInlineData)
{
    LS_CHECK_OK(checkOperators(model, format));
    LS_CHECK_OK(checkModelAttributes(model, format));
    BufferPool pool;
    auto state = std::make_unique<ExportState>(model, format, pool);
    // The first pass also collects the data; whether it fits is known only then. A pass that refers to data behind the FlatBuffer has a
    // size that does not depend on where exactly that data lies.
    for (const Graph& graph : model.graphs) {
        LS_TRY([[maybe_unused]] const auto offset, exportGraph(*state, graph));
    }
    const bool isInline = pool.totalSize() <= maxInlineData;
    uint64_t dataStart = isInline ? 0 : kBufferAlignment;
    for (int pass = isInline ? 1 : 0; pass < 2; ++pass) {
        state = std::make_unique<ExportState>(model, format, pool);
        LS_CHECK_OK(writeModel(*state, dataStart));
        dataStart = alignUp(state->builder.GetSize());
    }
    const auto* first = reinterpret_cast<const std::byte*>(state->builder.GetBufferPointer());
    std::vector<std::byte> out(first, first + state->builder.GetSize());
    if (!isInline) appendData(pool, out);
    return out;
}

} // namespace loopscope::tflite_format
