// Opens a file of the TFLite family: identifier, FlatBuffers verification, and everything of the root table but the subgraphs.
#include "converters/tflite/format_schema.h"
#include "converters/tflite/import_state.h"
#include "converters/tflite/mending.h"
#include "converters/tflite/structure_check.h"
#include "engine/ir/ids.h"
#include "schema_generated.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

namespace loopscope::tflite_format {

namespace {

template <typename Vector> size_t sizeOf(const Vector* vector) { return vector ? vector->size() : 0; }

Result<std::string> readText(FileView& file, const flatbuffers::String* text)
{
    if (!text) return std::string();
    LS_CHECK_OK(file.spend(text, text->size()));
    return text->str();
}

Status checkHeader(ImportState& state)
{
    const Bytes& content = state.file.content();
    const FlatFormat& format = state.format;
    if (!format.isIdentified(content.view()))
        return Error(ErrorCode::badFile, "not a " + std::string(format.name) + " model")
            .expected("the identifier " + std::string(format.identifier) + " at offset 4");
    uint32_t root = 0;
    std::memcpy(&root, content.data(), sizeof root);
    if (root >= content.size())
        return Error(ErrorCode::badFile, "truncated: root table at " + hexNumber(root) + ", file ends at " + hexNumber(content.size()));
    return {};
}

Status verifyStructure(ImportState& state)
{
    const Bytes& content = state.file.content();
    // What lies beyond 2 GiB is data that buffers point to.
    const size_t window = std::min<size_t>(content.size(), FLATBUFFERS_MAX_BUFFER_SIZE - 1);
    flatbuffers::Verifier::Options limits;
    // A table takes at least 8 bytes of an honest file.
    limits.max_tables = static_cast<flatbuffers::uoffset_t>(std::max<size_t>(100'000, window / 8));
    flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(content.data()), window, limits);
    const FlatFormat& format = state.format;
    if (!format.verify(verifier)) return describeStructure(state.file, format.binarySchema, format.name);
    state.source = tflite::GetModel(content.data());
    if (state.source->version() > format.newestVersion)
        return state.forgive(state.file.fault(state.source, "schema version is " + std::to_string(state.source->version()))
                                 .expected("at most " + std::to_string(format.newestVersion)));
    return {};
}

Status readCodes(ImportState& state)
{
    const FormatSchema& schema = state.format.schema;
    const auto* codes = state.source->operator_codes();
    for (size_t i = 0; i < sizeOf(codes); ++i) {
        const tflite::OperatorCode& source = *codes->Get(static_cast<flatbuffers::uoffset_t>(i));
        OperatorCode code;
        code.builtin = state.format.realCode(source.deprecated_builtin_code(), source.builtin_code());
        code.version = source.version();
        if (state.isLost(&source)) {
            code.kind = unknownKind(i);
            state.codes.push_back(std::move(code));
            continue;
        }
        const int32_t lowest = schema.lowestCode();
        if (code.builtin < lowest || code.builtin == -1) {
            LS_CHECK_OK(state.forgive(
                state.file.fault(&source, element("operator_codes", i) + " is builtin operator " + std::to_string(code.builtin))
                    .expected(lowest < 0 ? std::to_string(lowest) + " to -2, or 0 or more" : "0 or more")));
            code.kind = unknownKind(i);
            state.codes.push_back(std::move(code));
            continue;
        }
        LS_TRY(std::string custom, readText(state.file, source.custom_code()));
        if (code.builtin == kCustomCode && !custom.empty()) code.kind = {"custom", std::move(custom)};
        else code.kind = schema.kindOf(code.builtin);
        state.codes.push_back(std::move(code));
    }
    return {};
}

/// The `versions` line: for each kind the lowest version that an operator uses, or, for kinds that none uses, that the file declares.
/// Kinds in use at version 1 are left out.
void readVersions(ImportState& state)
{
    std::vector<bool> isUsed(state.codes.size());
    for (size_t g = 0; g < sizeOf(state.source->subgraphs()); ++g) {
        const auto* operators = state.source->subgraphs()->Get(static_cast<flatbuffers::uoffset_t>(g))->operators();
        for (size_t i = 0; i < sizeOf(operators); ++i) {
            const uint32_t code = operators->Get(static_cast<flatbuffers::uoffset_t>(i))->opcode_index();
            if (code < isUsed.size()) isUsed[code] = true;
        }
    }
    struct Lowest {
        bool isUsed = false;
        KindVersion entry;
    };
    std::map<std::string, Lowest> kinds; // text lists them by name
    for (size_t i = 0; i < state.codes.size(); ++i) {
        const OperatorCode& code = state.codes[i];
        const auto [at, isNew] = kinds.try_emplace(code.kind.full(), Lowest{isUsed[i], {code.kind, code.version}});
        if (isNew || (at->second.isUsed && !isUsed[i])) continue;
        if (isUsed[i] && !at->second.isUsed) at->second = {true, {code.kind, code.version}};
        at->second.entry.version = std::min(at->second.entry.version, code.version);
    }
    for (auto& [name, lowest] : kinds)
        if (!lowest.isUsed || lowest.entry.version != 1) state.model.versions.push_back(std::move(lowest.entry));
}

Status readExternalBuffers(ImportState& state)
{
    if (!state.format.hasExternalBuffers) return {};
    const auto* groups = state.source->external_buffer_groups();
    std::vector<std::string> names;
    for (size_t i = 0; i < sizeOf(groups); ++i) {
        LS_TRY(std::string name, readText(state.file, groups->Get(static_cast<flatbuffers::uoffset_t>(i))->name()));
        names.push_back(std::move(name));
    }
    std::vector<std::string> mentioned;
    const auto* buffers = state.source->external_buffers();
    for (size_t i = 0; i < sizeOf(buffers); ++i) {
        const tflite::ExternalBuffer& source = *buffers->Get(static_cast<flatbuffers::uoffset_t>(i));
        const std::string place = element("external_buffers", i);
        if (source.id() > INT32_MAX)
            return state.file.fault(&source, place + ".id is " + std::to_string(source.id())).expected("at most 2147483647");
        if (source.offset() > INT64_MAX || source.length() > INT64_MAX)
            return state.file.fault(&source, place + " lies beyond 2^63").expected("offset and length below");
        if (source.group() >= names.size())
            return badIndex(state.file, &source, place + ".group", "external buffer group", source.group(), 0,
                            static_cast<int64_t>(names.size()));
        ExternalBuffer out;
        out.number = static_cast<int32_t>(source.id());
        setAttribute(out.attributes, "group", names[source.group()]);
        if (std::ranges::find(mentioned, names[source.group()]) == mentioned.end()) mentioned.push_back(names[source.group()]);
        setAttribute(out.attributes, "offset", static_cast<int64_t>(source.offset()));
        setAttribute(out.attributes, "length", static_cast<int64_t>(source.length()));
        LS_TRY(std::string packing, readText(state.file, source.packing()));
        if (!packing.empty()) setAttribute(out.attributes, "packing", std::move(packing));
        state.model.externalBuffers.push_back(std::move(out));
    }
    // Groups follow from the buffers that mention them, unless the file says more.
    if (names != mentioned) setAttribute(state.model.attributes, "external_buffer_groups", AttributeItems(names.begin(), names.end()));
    return {};
}

Status readMetadata(ImportState& state)
{
    const auto bufferCount = static_cast<int64_t>(state.buffers.size());
    const auto* entries = state.source->metadata();
    for (size_t i = 0; i < sizeOf(entries); ++i) {
        const tflite::Metadata& source = *entries->Get(static_cast<flatbuffers::uoffset_t>(i));
        const std::string place = element("metadata", i);
        if (source.buffer() != 0 && source.buffer() >= bufferCount)
            return badIndex(state.file, &source, place + ".buffer", "buffer", source.buffer(), 0, bufferCount);
        Metadata out;
        LS_TRY(out.name, readText(state.file, source.name()));
        if (source.buffer() < bufferCount) {
            LS_TRY(out.data, bufferData(state, source.buffer()));
        }
        if (!out.data) out.data = std::make_shared<Constant>(Bytes());
        state.model.metadata.push_back(std::move(out));
    }
    // The older list of bare buffers: entry k of `metadata`, or, for a buffer that has no name, its bytes.
    const auto* bare = state.source->metadata_buffer();
    AttributeItems items;
    for (size_t i = 0; i < sizeOf(bare); ++i) {
        const int32_t buffer = bare->Get(static_cast<flatbuffers::uoffset_t>(i));
        if (buffer < 0 || (buffer != 0 && buffer >= bufferCount))
            return badIndex(state.file, bare->Data() + i * sizeof(int32_t), element("metadata_buffer", i), "buffer", buffer, 0,
                            bufferCount);
        ConstantPtr data;
        if (buffer < bufferCount) {
            LS_TRY(data, bufferData(state, static_cast<size_t>(buffer)));
        }
        const Bytes bytes = data ? data->bytes() : Bytes();
        LS_CHECK_OK(state.file.spend(bare, bytes.size()));
        // By content, since the exporter shares buffers of equal content.
        const auto& named = state.model.metadata;
        const auto entry =
            std::ranges::find_if(named, [&](const Metadata& m) { return std::ranges::equal(m.data->bytes().view(), bytes.view()); });
        if (entry != named.end()) items.emplace_back(int64_t{entry - named.begin()});
        else items.emplace_back(HexBytes{std::string(bytes.as<char>(), bytes.size())});
    }
    if (!items.empty()) setAttribute(state.model.attributes, "metadata_buffer", std::move(items));
    return {};
}

using TensorMaps = flatbuffers::Vector<flatbuffers::Offset<tflite::TensorMap>>;

Status readBindings(ImportState& state, const std::string& place, const TensorMaps* maps, const Graph& graph,
                    std::vector<SignatureBinding>& out)
{
    for (size_t i = 0; i < sizeOf(maps); ++i) {
        const tflite::TensorMap& map = *maps->Get(static_cast<flatbuffers::uoffset_t>(i));
        LS_CHECK_OK(state.file.spend(&map, 16));
        if (map.tensor_index() >= graph.values.size())
            return badIndex(state.file, &map, element(place, i) + ".tensor_index", "tensor", map.tensor_index(), 0,
                            static_cast<int64_t>(graph.values.size()));
        LS_TRY(std::string name, readText(state.file, map.name()));
        out.push_back({std::move(name), ValueId(int64_t{map.tensor_index()})});
    }
    return {};
}

Status readSignatures(ImportState& state)
{
    const auto* signatures = state.source->signature_defs();
    for (size_t i = 0; i < sizeOf(signatures); ++i) {
        const tflite::SignatureDef& source = *signatures->Get(static_cast<flatbuffers::uoffset_t>(i));
        const std::string place = element("signature_defs", i);
        if (source.subgraph_index() >= state.model.graphs.size())
            return badIndex(state.file, &source, place + ".subgraph_index", "subgraph", source.subgraph_index(), 0,
                            static_cast<int64_t>(state.model.graphs.size()));
        Signature out;
        out.graph = GraphId(int64_t{source.subgraph_index()});
        LS_TRY(out.key, readText(state.file, source.signature_key()));
        const Graph& graph = state.model.graph(out.graph);
        LS_CHECK_OK(readBindings(state, place + ".inputs", source.inputs(), graph, out.inputs));
        LS_CHECK_OK(readBindings(state, place + ".outputs", source.outputs(), graph, out.outputs));
        state.model.signatures.push_back(std::move(out));
    }
    return {};
}

bool anyTensorHasRank(const tflite::Model& model)
{
    for (size_t g = 0; g < sizeOf(model.subgraphs()); ++g) {
        const auto* tensors = model.subgraphs()->Get(static_cast<flatbuffers::uoffset_t>(g))->tensors();
        for (size_t i = 0; i < sizeOf(tensors); ++i)
            if (tensors->Get(static_cast<flatbuffers::uoffset_t>(i))->has_rank()) return true;
    }
    return false;
}

Status readModel(ImportState& state)
{
    LS_CHECK_OK(checkHeader(state));
    LS_CHECK_OK(verifyStructure(state));
    Model& model = state.model;
    model.dialect = state.format.dialect;
    const tflite::Model& source = *state.source;
    LS_TRY(std::string description, readText(state.file, source.description()));
    if (!description.empty()) setAttribute(model.attributes, "description", std::move(description));
    setAttribute(model.attributes, "schema", int64_t{source.version()});
    state.buffers.resize(sizeOf(source.buffers()));
    state.writerKnowsRank = anyTensorHasRank(source);
    LS_CHECK_OK(readCodes(state));
    readVersions(state);
    LS_CHECK_OK(state.forgive(readExternalBuffers(state)));
    LS_CHECK_OK(state.forgive(readMetadata(state)));
    for (size_t g = 0; g < sizeOf(source.subgraphs()); ++g) {
        Result<Graph> graph = importGraph(state, g);
        if (!graph.ok()) LS_CHECK_OK(state.forgive(std::move(graph).takeError()));
        model.graphs.push_back(graph.ok() ? std::move(graph).value() : Graph());
    }
    LS_CHECK_OK(state.forgive(readSignatures(state)));
    assignIds(model);
    return {};
}

} // namespace

Result<Model> importFlatModel(const std::string& path, Bytes content, const FlatFormat& format)
{
    ImportState state(std::move(content), format);
    if (Status status = readModel(state); !status.ok()) {
        Error error = std::move(status).takeError();
        error.at(path);
        return error;
    }
    return std::move(state.model);
}

Result<Model> importFlatPart(const std::string& path, const Bytes& content, const FlatFormat& format, std::vector<Error>& faults)
{
    ImportState whole(content, format);
    LS_CHECK_OK(checkHeader(whole));
    std::optional<MendedFile> mended = mendStructure(whole.file, format.binarySchema);
    if (!mended) return describeStructure(whole.file, format.binarySchema, format.name).at(path);
    for (Error& fault : mended->faults) faults.push_back(std::move(fault));
    ImportState state(std::move(mended->content), format);
    state.faults = &faults;
    state.emptyTable = mended->emptyTable;
    if (Status status = readModel(state); !status.ok()) return std::move(status).takeError().at(path);
    return std::move(state.model);
}

} // namespace loopscope::tflite_format
