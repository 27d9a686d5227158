#include "app/check/golden_case.h"

#include "engine/base/bytes.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace loopscope::app {

namespace {

/// Of the largest number of a row: numbers further below that are noise of the calculation, not results.
constexpr double kNeighbourhood = 1e-3;

using Json = nlohmann::json;

std::string textOr(const Json& object, const char* key, const std::string& otherwise)
{
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : otherwise;
}

GoldenTensor readTensor(const Json& object)
{
    GoldenTensor tensor;
    tensor.name = textOr(object, "name", "");
    tensor.dtype = textOr(object, "dtype", "");
    if (const auto shape = object.find("shape"); shape != object.end() && shape->is_array()) {
        Shape dims;
        for (const Json& dim : *shape) dims.append(dim.get<int64_t>());
        tensor.shape = dims;
    }
    tensor.truncated = object.value("truncated", int64_t{-1});
    tensor.sha256 = textOr(object, "sha256", "");
    if (const auto unreadable = object.find("unreadable"); unreadable != object.end())
        tensor.unreadable = !unreadable->is_boolean() || unreadable->get<bool>();
    return tensor;
}

/// The names in "{{node NAME}}" and "{{function_node NAME}}", each once.
std::vector<std::string> namedNodes(const std::string& message)
{
    std::vector<std::string> names;
    for (const std::string_view mark : {"{{node ", "{{function_node "})
        for (size_t at = message.find(mark); at != std::string::npos; at = message.find(mark, at + 1)) {
            const size_t begin = at + mark.size();
            const size_t end = message.find("}}", begin);
            if (end == std::string::npos) break;
            std::string name = message.substr(begin, end - begin);
            if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
        }
    return names;
}

GoldenRun readRun(const Json& object, const std::string& folder)
{
    GoldenRun run;
    run.signature = textOr(object, "signature", "");
    for (const char* key : {"inputs", "outputs"})
        if (const auto list = object.find(key); list != object.end())
            for (const Json& tensor : *list) (*key == 'i' ? run.inputs : run.outputs).push_back(readTensor(tensor));
    if (const std::string path = textOr(object, "in", ""); !path.empty()) run.inPath = folder + "/" + path;
    if (const std::string path = textOr(object, "out", ""); !path.empty()) run.outPath = folder + "/" + path;
    for (const auto& [key, names] : {std::pair("feeds", &run.feeds), {"fetches", &run.fetches}, {"targets", &run.targets}})
        if (const auto list = object.find(key); list != object.end())
            for (const Json& name : *list) names->push_back(name.get<std::string>());
    run.mustFail = object.contains("error");
    if (run.mustFail && object["error"].is_object()) {
        run.errorClass = textOr(object["error"], "class", "");
        run.errorMessage = textOr(object["error"], "message", "");
        run.errorNodes = namedNodes(run.errorMessage);
    }
    const auto readDtypes = [&object](const char* field, std::map<std::string, std::string>& dtypes) {
        if (const auto found = object.find(field); found != object.end())
            for (const auto& [key, name] : found->items()) dtypes[key] = name.get<std::string>();
    };
    readDtypes("dtypes", run.inDtypes);
    readDtypes("dtypes", run.outDtypes);
    readDtypes("in_dtypes", run.inDtypes);
    readDtypes("out_dtypes", run.outDtypes);
    return run;
}

GoldenCase readCase(const Json& object, const std::string& folder)
{
    GoldenCase result;
    result.id = object.at("id").get<std::string>();
    result.format = object.at("format").get<std::string>();
    result.modelPath = folder + "/" + object.at("model").get<std::string>();
    if (const auto compare = object.find("compare"); compare != object.end() && textOr(*compare, "kind", "exact") == "close")
        result.tolerance.close = Tolerance::Close{compare->value("rtol", 1e-5), compare->value("atol", 1e-6), kNeighbourhood};
    result.mustNotOpen = !object.value("opens", true);
    for (const Json& run : object.at("runs")) result.runs.push_back(readRun(run, folder));
    const auto expect = object.find("expect");
    result.isFused = expect != object.end() && expect->is_array();
    if (!result.isFused) return result;
    for (const Json& entry : *expect) {
        const bool isDeclined = entry.contains("declined");
        result.expectations.push_back({textOr(entry, isDeclined ? "declined" : "fused", ""), isDeclined, entry.value("count", int64_t{1})});
    }
    return result;
}

} // namespace

std::vector<std::string> goldenFolders(const std::string& folder)
{
    namespace fs = std::filesystem;
    std::error_code error;
    if (fs::exists(folder + "/cases.jsonl", error)) return {folder};
    std::vector<std::string> found;
    for (fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, error), end; it != end;
         it.increment(error)) {
        if (error) break;
        if (it->path().filename() == "cases.jsonl") found.push_back(it->path().parent_path().string());
    }
    std::ranges::sort(found);
    return found;
}

Result<std::vector<GoldenCase>> readGoldenCases(const std::string& folder)
{
    const std::string path = folder + "/cases.jsonl";
    LS_TRY(const Bytes content, mapFile(path));
    const std::string_view text(content.as<char>(), content.size());
    std::vector<GoldenCase> cases;
    int64_t number = 0;
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find('\n', at), text.size());
        const std::string_view line = text.substr(at, end - at);
        at = end + 1;
        ++number;
        if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
        try {
            cases.push_back(readCase(Json::parse(line), folder));
        } catch (const Json::exception& error) {
            return Error(ErrorCode::badFile, error.what()).at(path + ":" + std::to_string(number));
        }
    }
    return cases;
}

DType dtypeFromNumpyName(const std::string& name)
{
    static const std::map<std::string, DType> names = {
        {"float16", DType::f16},
        {"bfloat16", DType::bf16},
        {"float32", DType::f32},
        {"float64", DType::f64},
        {"int2", DType::i2},
        {"int4", DType::i4},
        {"int8", DType::i8},
        {"int16", DType::i16},
        {"int32", DType::i32},
        {"int64", DType::i64},
        {"uint4", DType::u4},
        {"uint8", DType::u8},
        {"uint16", DType::u16},
        {"uint32", DType::u32},
        {"uint64", DType::u64},
        {"bool", DType::boolean},
        {"string", DType::string},
        {"object", DType::string},
        {"complex64", DType::c64},
        {"complex128", DType::c128},
        {"qint8", DType::qi8},
        {"quint8", DType::qu8},
        {"qint16", DType::qi16},
        {"quint16", DType::qu16},
        {"qint32", DType::qi32},
        {"float8_e4m3fn", DType::f8e4m3fn},
        {"float8_e5m2", DType::f8e5m2},
        {"resource", DType::resource},
        {"variant", DType::variant},
    };
    const auto found = names.find(name);
    return found == names.end() ? DType::unknown : found->second;
}

} // namespace loopscope::app
