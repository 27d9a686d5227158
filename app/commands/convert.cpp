// `loopscope convert`: models from one format to another.
#include "app/commands/commands.h"
#include "app/output/console.h"
#include "app/output/json_writer.h"
#include "app/wiring/outputs.h"
#include "converters/formats.h"
#include "converters/tflite/file_archive.h"
#include "engine/base/text.h"

#include <filesystem>
#include <string>
#include <vector>

namespace loopscope::app {

namespace {

void tellLostFiles(Console& console, const LoadedModel& file)
{
    std::vector<std::string> names;
    for (const ArchivedFile& lost : readFileArchive(file.content).files) names.push_back(lost.name);
    if (!names.empty()) console.warning("left out, for the format has no room for files beside the model: " + join(names, ", "));
}

} // namespace

Result<int> runConvert(const CommandContext& context)
{
    Console& console = context.console;
    const Arguments& arguments = context.arguments;
    LS_TRY(const std::string out, outputPath(arguments, "convert", "loopscope convert model.tflite -o model.lsir"));
    SaveOptions options;
    options.format = arguments.text("format");
    options.overwrite = arguments.has("force");
    const std::string data = arguments.text("data");
    if (data == "inline") options.data = DataMode::inlineData;
    else if (data == "side") options.data = DataMode::side;
    else if (data == "none") options.data = DataMode::none;
    LS_TRY(const LoadedModel file, loadModel(arguments.positionals[0]));
    options.source = file.content;
    LS_TRY(const Format* const format, formatToSave(out, options));
    LS_CHECK_OK(format->save(file.model, out, options));
    if (!format->keepsFiles) tellLostFiles(console, file);
    std::error_code error;
    const auto bytes = std::filesystem::file_size(out, error);
    if (console.json()) {
        console.line(JsonWriter()
                         .beginObject()
                         .key("schema")
                         .value(1)
                         .key("file")
                         .value(out)
                         .key("bytes")
                         .value(static_cast<int64_t>(error ? 0 : bytes))
                         .endObject()
                         .text());
    } else if (!error) {
        console.line(out + ": " + formatBytes(bytes));
    }
    return 0;
}

} // namespace loopscope::app
