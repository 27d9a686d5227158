// Reads the metadata's FlatBuffer and the directory of the zip archive (PKWARE APPNOTE 6.3, sections 4.3.7, 4.3.12 and 4.3.16).
#include "converters/tflite/model_metadata.h"

#include "metadata_schema_generated.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>

namespace loopscope {

namespace {

using namespace std::string_view_literals;

constexpr size_t kEndSize = 22;   // end of central directory record, without its comment
constexpr size_t kEntrySize = 46; // entry of the central directory, without its names
constexpr size_t kLocalSize = 30; // header before a file's bytes, without its names
constexpr size_t kLongestComment = 0xffff;

/// Little-endian number at an offset that lies inside.
template <typename T> T numberAt(std::span<const std::byte> bytes, size_t offset)
{
    T out;
    std::memcpy(&out, bytes.data() + offset, sizeof(T));
    return out;
}

bool startsAt(std::span<const std::byte> bytes, size_t offset, std::string_view mark)
{
    return offset <= bytes.size() && bytes.size() - offset >= mark.size() &&
           std::memcmp(bytes.data() + offset, mark.data(), mark.size()) == 0;
}

/// Where the end record begins; none if there is no archive.
std::optional<size_t> endOfArchive(std::span<const std::byte> bytes)
{
    if (bytes.size() < kEndSize) return std::nullopt;
    const size_t last = bytes.size() - kEndSize;
    for (size_t back = 0; back <= std::min(last, kLongestComment); ++back) {
        const size_t at = last - back;
        if (startsAt(bytes, at, "PK\x05\x06"sv) && numberAt<uint16_t>(bytes, at + 20) == back) return at;
    }
    return std::nullopt;
}

/// Adds the archive's files; false if its directory makes no sense.
bool readArchive(const Bytes& file, std::vector<AssociatedFile>& files)
{
    const std::span<const std::byte> bytes = file.view();
    const std::optional<size_t> end = endOfArchive(bytes);
    if (!end) return true;
    const auto count = numberAt<uint16_t>(bytes, *end + 10);
    const uint64_t size = numberAt<uint32_t>(bytes, *end + 12);
    const uint64_t offset = numberAt<uint32_t>(bytes, *end + 16);
    if (size + offset > *end) return false;
    const uint64_t base = *end - size - offset; // offsets count from the archive's start or from the file's
    uint64_t at = base + offset;
    for (int i = 0; i < count; ++i) {
        if (at + kEntrySize > *end || !startsAt(bytes, at, "PK\x01\x02"sv)) return false;
        const auto method = numberAt<uint16_t>(bytes, at + 10);
        const uint64_t packed = numberAt<uint32_t>(bytes, at + 20);
        const uint64_t nameSize = numberAt<uint16_t>(bytes, at + 28);
        const uint64_t next = at + kEntrySize + nameSize + numberAt<uint16_t>(bytes, at + 30) + numberAt<uint16_t>(bytes, at + 32);
        if (next > *end) return false;
        AssociatedFile out;
        out.name.assign(reinterpret_cast<const char*>(bytes.data()) + at + kEntrySize, nameSize);
        out.role = "file";
        out.size = numberAt<uint32_t>(bytes, at + 24);
        const uint64_t local = base + numberAt<uint32_t>(bytes, at + 42);
        at = next;
        if (out.name.ends_with('/')) continue; // a folder
        if (local + kLocalSize > *end || !startsAt(bytes, local, "PK\x03\x04"sv)) return false;
        const uint64_t data = local + kLocalSize + numberAt<uint16_t>(bytes, local + 26) + numberAt<uint16_t>(bytes, local + 28);
        if (data > *end || packed > *end - data) return false;
        if (method == 0 && packed == out.size) out.content = file.slice(data, packed);
        files.push_back(std::move(out));
    }
    return true;
}

std::string textOf(const flatbuffers::String* text) { return text ? text->str() : std::string(); }

std::string roleOf(tflite_metadata::AssociatedFileType type)
{
    switch (type) {
    case tflite_metadata::AssociatedFileType_DESCRIPTIONS:
        return "descriptions";
    case tflite_metadata::AssociatedFileType_TENSOR_AXIS_LABELS:
    case tflite_metadata::AssociatedFileType_TENSOR_VALUE_LABELS:
        return "labels";
    case tflite_metadata::AssociatedFileType_TENSOR_AXIS_SCORE_CALIBRATION:
        return "score calibration";
    case tflite_metadata::AssociatedFileType_VOCABULARY:
        return "vocabulary";
    case tflite_metadata::AssociatedFileType_SCANN_INDEX_FILE:
        return "index";
    default:
        return "file";
    }
}

template <typename T> using Tables = flatbuffers::Vector<flatbuffers::Offset<T>>;

class MetadataReader {
public:
    explicit MetadataReader(ModelMetadata& out) : m_out(out) {}

    void read(const tflite_metadata::ModelMetadata& source)
    {
        m_out.name = textOf(source.name());
        m_out.description = textOf(source.description());
        m_out.version = textOf(source.version());
        m_out.author = textOf(source.author());
        m_out.license = textOf(source.license());
        // Tensors first: what is said of a tensor's file is more than what is said of the model's.
        each(source.subgraph_metadata(), [&](const tflite_metadata::SubGraphMetadata& graph) {
            tensors(graph.input_tensor_metadata(), "input");
            tensors(graph.output_tensor_metadata(), "output");
            files(graph.associated_files(), {});
        });
        files(source.associated_files(), {});
    }

private:
    template <typename T, typename F> static void each(const Tables<T>* vector, F f)
    {
        if (vector == nullptr) return;
        for (flatbuffers::uoffset_t i = 0; i < vector->size(); ++i) f(*vector->Get(i));
    }

    void tensors(const Tables<tflite_metadata::TensorMetadata>* vector, const std::string& noun)
    {
        int64_t index = 0;
        each(vector, [&](const tflite_metadata::TensorMetadata& source) {
            TensorMetadata tensor;
            const std::string name = textOf(source.name());
            tensor.place = noun + " " + (name.empty() ? std::to_string(index) : "'" + name + "'");
            ++index;
            tensor.description = textOf(source.description());
            each(source.process_units(), [&](const tflite_metadata::ProcessUnit& unit) {
                const auto* options = unit.options_as_NormalizationOptions();
                if (options == nullptr || !tensor.mean.empty()) return;
                if (options->mean()) tensor.mean.assign(options->mean()->begin(), options->mean()->end());
                if (options->std()) tensor.deviation.assign(options->std()->begin(), options->std()->end());
            });
            files(source.associated_files(), tensor.place);
            if (!tensor.description.empty() || !tensor.mean.empty() || !tensor.deviation.empty())
                m_out.tensors.push_back(std::move(tensor));
        });
    }

    void files(const Tables<tflite_metadata::AssociatedFile>* vector, const std::string& tensor)
    {
        each(vector, [&](const tflite_metadata::AssociatedFile& source) {
            const std::string name = textOf(source.name());
            auto known = std::ranges::find(m_out.files, name, &AssociatedFile::name);
            if (known == m_out.files.end()) {
                if (!m_missing.insert(name).second) return;
                m_out.problems.push_back("the metadata names the file '" + name + "', which is not in the archive behind the model");
                return;
            }
            if (known->role == "file") known->role = roleOf(source.type());
            if (known->tensor.empty()) known->tensor = tensor;
        });
    }

    ModelMetadata& m_out;
    std::set<std::string> m_missing;
};

} // namespace

ModelMetadata readModelMetadata(const Model& model, const Bytes& file)
{
    ModelMetadata out;
    if (!readArchive(file, out.files)) {
        out.files.clear();
        out.problems.emplace_back("the zip archive behind the model is damaged");
    }
    for (const Metadata& entry : model.metadata) {
        if (entry.name != "TFLITE_METADATA" || !entry.data || !entry.data->hasBytes()) continue;
        // Verified bytes must be aligned; those of the file need not be.
        const Bytes bytes = Bytes::copyOf(entry.data->bytes().view());
        flatbuffers::Verifier verifier(bytes.as<uint8_t>(), bytes.size());
        if (bytes.size() < 8 || !tflite_metadata::VerifyModelMetadataBuffer(verifier)) {
            out.problems.emplace_back("the metadata is damaged");
            continue;
        }
        MetadataReader(out).read(*tflite_metadata::GetModelMetadata(bytes.data()));
    }
    return out;
}

std::vector<std::string> textLines(const Bytes& content)
{
    std::vector<std::string> lines;
    std::string_view rest(content.as<char>(), content.size());
    while (!rest.empty()) {
        const size_t end = rest.find('\n');
        std::string_view line = rest.substr(0, end);
        if (line.ends_with('\r')) line.remove_suffix(1);
        lines.emplace_back(line);
        if (end == std::string_view::npos) break;
        rest.remove_prefix(end + 1);
    }
    return lines;
}

} // namespace loopscope
