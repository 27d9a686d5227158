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
#include "tests/conformance/corpus_walk.h"

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

bool isModel(const std::filesystem::path& path) { return path.extension() == ".tflite" || path.extension() == ".circle"; }

} // namespace
} // namespace loopscope

int main(int argc, char** argv)
{
    return loopscope::testing::checkCorpus({argv + 1, argv + argc}, "models", loopscope::isModel, loopscope::check);
}
