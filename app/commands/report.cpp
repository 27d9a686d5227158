// `loopscope report`: a recording as one page, for people who have nothing installed.
#include "app/commands/commands.h"
#include "app/output/console.h"
#include "app/output/json_writer.h"
#include "app/output/run_report.h"
#include "app/wiring/outputs.h"
#include "app/wiring/signals.h"
#include "engine/base/bytes.h"
#include "engine/base/text.h"

#include <charconv>

namespace loopscope::app {

namespace {

/// The run that `--run` names, else the newest.
Result<const TraceRun*> reportedRun(const TraceReader& trace, const Arguments& arguments)
{
    const TraceRun* run = trace.defaultRun();
    for (const auto& [name, value] : arguments.free) {
        if (name != "run")
            return Error(ErrorCode::usage, "unknown option '--" + name + "' for 'report'").nearest(nearestNames(name, {{"run"}}));
        int64_t id = 0;
        const auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), id);
        run = code == std::errc() && end == value.data() + value.size() ? trace.findRun(id) : nullptr;
        if (run == nullptr)
            return Error(ErrorCode::usage, "option '--run'")
                .found("'" + value + "'")
                .expected("one of the runs that 'query TRACE runs' lists");
    }
    if (run == nullptr) return Error(ErrorCode::usage, "the trace holds no run").at(trace.path());
    return run;
}

} // namespace

Result<int> runReportCommand(const CommandContext& context)
{
    Console& console = context.console;
    const Arguments& arguments = context.arguments;
    LS_TRY(const std::string path, outputPath(arguments, "report", "loopscope report t.lstrace -o t.html"));
    const std::string format = outputFormat(path, arguments.text("format"));
    if (format != "html" && format != "md")
        return Error(ErrorCode::usage, "report format").found("'" + format + "'").expected("html or md").at(path);
    LS_CHECK_OK(checkWritable(path, arguments.has("force")));
    RunReportOptions options;
    LS_TRY(options.seconds, arguments.real("limit-time", options.seconds));
    options.isDrawn = format == "html";
    options.cancel = &interruptFlag();
    LS_TRY(const std::unique_ptr<TraceReader> trace, TraceReader::open(arguments.positionals[0], options.cancel));
    LS_TRY(const TraceRun* const run, reportedRun(*trace, arguments));
    LS_TRY(const ReportPage page, runReport(*trace, *run, options));
    const std::string text = format == "html" ? pageHtml(page) : pageMarkdown(page);
    LS_CHECK_OK(writeFile(path, text, arguments.has("force")));
    if (console.json()) {
        console.line(JsonWriter()
                         .beginObject()
                         .key("schema")
                         .value(1)
                         .key("file")
                         .value(path)
                         .key("bytes")
                         .value(text.size())
                         .key("run")
                         .value(run->id)
                         .endObject()
                         .text());
        return 0;
    }
    console.line(path + ": run " + std::to_string(run->id) + ", " + formatBytes(text.size()));
    return 0;
}

} // namespace loopscope::app
