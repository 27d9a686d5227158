#include "converters/tflite/model_metadata.h"

#include "converters/tflite/file_archive.h"
#include "metadata_schema_generated.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace loopscope {

namespace {

std::string textOf(const flatbuffers::String* text) { return text ? text->str() : std::string(); }

std::string roleOf(tflite_metadata::AssociatedFileType type)
{
    switch (type) {
    case tflite_metadata::AssociatedFileType_DESCRIPTIONS: return "descriptions";
    case tflite_metadata::AssociatedFileType_TENSOR_AXIS_LABELS:
    case tflite_metadata::AssociatedFileType_TENSOR_VALUE_LABELS: return "labels";
    case tflite_metadata::AssociatedFileType_TENSOR_AXIS_SCORE_CALIBRATION: return "score calibration";
    case tflite_metadata::AssociatedFileType_VOCABULARY: return "vocabulary";
    case tflite_metadata::AssociatedFileType_SCANN_INDEX_FILE: return "index";
    default: return "file";
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
    FileArchive archive = readFileArchive(file);
    if (archive.isDamaged) out.problems.emplace_back("the zip archive behind the model is damaged");
    for (ArchivedFile& found : archive.files)
        out.files.push_back(
            {.name = std::move(found.name), .role = "file", .tensor = {}, .size = found.size, .content = std::move(found.content)});
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
