// `loopscope export`: a trace as arrays, rows, or a timeline for Perfetto and Chrome.
#include "app/commands/commands.h"
#include "app/output/console.h"
#include "app/output/json_writer.h"
#include "app/wiring/outputs.h"
#include "app/wiring/signals.h"
#include "app/wiring/variant_parts.h"
#include "tracer/api/trace_export.h"

namespace loopscope::app {

Result<int> runExport(const CommandContext& context)
{
    Console& console = context.console;
    const Arguments& arguments = context.arguments;
    LS_TRY(const std::string path, outputPath(arguments, "export", "loopscope export t.lstrace -o t.csv"));
    TraceExportOptions options;
    const std::string format = outputFormat(path, arguments.text("format"));
    if (format == "npz") options.format = TraceExportFormat::npz;
    else if (format == "npy") options.format = TraceExportFormat::npy;
    else if (format == "csv") options.format = TraceExportFormat::csv;
    else if (format == "json" || format == "perfetto") options.format = TraceExportFormat::perfetto;
    else return Error(ErrorCode::usage, "export format").found("'" + format + "'").expected("npz, npy, csv or json").at(path);
    LS_CHECK_OK(checkWritable(path, arguments.has("force")));
    if (arguments.positionals.size() > 1) options.patterns = {arguments.positionals[1]};
    options.counters = arguments.all("counter");
    options.overwrite = arguments.has("force");
    options.cancel = &interruptFlag();
    options.parts = writableParts;
    LS_TRY(const std::unique_ptr<TraceReader> reader, TraceReader::open(arguments.positionals[0]));
    if (!reader->note().empty()) console.note(reader->note());
    LS_TRY(const TraceExportSummary summary, exportTrace(*reader, path, options));
    if (console.json()) {
        console.line(JsonWriter()
                         .beginObject()
                         .key("schema")
                         .value(1)
                         .key("file")
                         .value(path)
                         .key("writes")
                         .value(summary.writes)
                         .key("not_stored")
                         .value(summary.notStored)
                         .key("no_form")
                         .value(summary.noForm)
                         .endObject()
                         .text());
        return 0;
    }
    console.line(path + ": " + console.number(summary.writes) + (summary.writes == 1 ? " write" : " writes"));
    if (summary.notStored > 0)
        console.note(std::to_string(summary.notStored) +
                     " matching writes have no stored elements; record them with trace --level values --keep PATTERN");
    if (summary.noForm > 0)
        console.note(std::to_string(summary.noForm) + " matching writes are handles or empty variants, which hold no elements");
    return 0;
}

} // namespace loopscope::app
