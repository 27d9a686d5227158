// Opens every `.tflite` and `.circle` file of a folder and checks that import → export → import gives an equal model and that what was
// written passes FlatBuffers' verifier, and that the model's text reads back to it. Usage: identity_check [FOLDER…]; without one,
// $LOOPSCOPE_CORPUS or ../shared/corpus. Exit codes: 0, 1 (failures, each named on stdout), 77 (no corpus).
#include "circle_schema_generated.h"
#include "converters/circle/circle.h"
#include "engine/base/bytes.h"
#include "engine/ir/model.h"
#include "engine/ir/text/parser.h"
#include "engine/ir/text/printer.h"
#include "engine/ir/verifier.h"
#include "schema_generated.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace loopscope {
namespace {

/// A model of the corpus that is malformed on purpose.
constexpr std::string_view kMalformed = "/if/bad_index_negative/model.tflite";

/// What is wrong with one file; empty if nothing is.
std::string check(const std::string& path)
{
    auto bytes = mapFile(path);
    if (!bytes.ok()) return bytes.error().message();
    const bool isCircle = looksLikeCircle(bytes->view());
    const auto importModel = isCircle ? &importCircle : &importTflite;
    const auto first = importModel(path, *bytes);
    if (path.ends_with(kMalformed)) return first.ok() ? "opens, though it is malformed" : "";
    if (!first.ok()) return first.error().message();
    if (Status status = verifyModel(*first); !status.ok()) return std::move(status).takeError().message();
    const auto written = isCircle ? exportCircle(*first) : exportTflite(*first);
    if (!written.ok()) return "export: " + written.error().message();
    flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(written->data()), written->size());
    const bool isWell = isCircle ? circle::VerifyModelBuffer(verifier) : tflite::VerifyModelBuffer(verifier);
    if (!isWell) return "export: does not pass the FlatBuffers verifier";
    const auto second = importModel("exported", Bytes::copyOf(*written));
    if (!second.ok()) return "second import: " + second.error().message();
    if (!sameModel(*first, *second)) return "differs after export: " + firstDifference(*first, *second);
    const std::string text = printModel(*first);
    const auto parsed = parseModel(text, "printed");
    if (!parsed.ok()) return parsed.error().message();
    if (!sameModel(*first, *parsed)) return "differs after printing: " + firstDifference(*first, *parsed);
    if (printModel(*parsed) != text) return "printing again changes the text";
    return {};
}

std::vector<std::string> modelsIn(const std::vector<std::string>& folders)
{
    std::vector<std::string> paths;
    for (const std::string& folder : folders)
        for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
            if (entry.is_regular_file() && (entry.path().extension() == ".tflite" || entry.path().extension() == ".circle"))
                paths.push_back(entry.path().string());
    std::sort(paths.begin(), paths.end());
    return paths;
}

int run(std::vector<std::string> folders)
{
    if (folders.empty()) {
        const char* set = std::getenv("LOOPSCOPE_CORPUS");
        folders.emplace_back(set ? set : "../shared/corpus");
        if (!std::filesystem::is_directory(folders.front())) {
            std::printf("skipped: no corpus at %s\n", folders.front().c_str());
            return 77;
        }
    }
    const std::vector<std::string> paths = modelsIn(folders);
    int failures = 0;
    for (const std::string& path : paths) {
        const std::string problem = check(path);
        if (problem.empty()) continue;
        ++failures;
        std::printf("%s: %s\n", path.c_str(), problem.c_str());
    }
    std::printf("%zu models, %d failures\n", paths.size(), failures);
    return failures == 0 && !paths.empty() ? 0 : 1;
}

} // namespace
} // namespace loopscope

int main(int argc, char** argv)
{
    return loopscope::run({argv + 1, argv + argc});
}
