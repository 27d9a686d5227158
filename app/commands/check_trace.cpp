// `loopscope check TRACE`: are the rules of a recording kept?
#include "app/commands/check_trace.h"

#include "app/output/console.h"
#include "app/output/json_writer.h"
#include "app/wiring/signals.h"
#include "tracer/api/trace_check.h"

namespace loopscope::app {

Status repairOneTrace(Console& console, const std::string& path)
{
    LS_TRY(const TraceRepair repair, repairTrace(path, &interruptFlag()));
    console.note(path + ": " +
                 (repair.runs == 0   ? "nothing was left open"
                  : repair.runs == 1 ? "one run was left open and is ended"
                                     : std::to_string(repair.runs) + " runs were left open and are ended") +
                 (repair.hadIndexes ? "" : "; indexes are made"));
    return {};
}

Result<int> checkOneTrace(Console& console, const std::string& path)
{
    LS_TRY(const std::unique_ptr<TraceReader> reader, TraceReader::open(path, &interruptFlag()));
    if (!reader->note().empty()) console.note(reader->note());
    LS_TRY(const TraceCheck check, checkTrace(*reader, &interruptFlag()));
    if (console.json()) {
        for (const std::string& rule : check.passed)
            console.line(
                JsonWriter().beginObject().key("schema").value(1).key("id").value(rule).key("verdict").value("pass").endObject().text());
        for (const TraceViolation& v : check.violations)
            console.line(JsonWriter()
                             .beginObject()
                             .key("schema")
                             .value(1)
                             .key("id")
                             .value(v.rule)
                             .key("verdict")
                             .value("fail")
                             .key("message")
                             .value(v.text)
                             .endObject()
                             .text());
    } else {
        console.line(path + ": " + std::to_string(check.passed.size()) + " rules hold, " + std::to_string(check.violations.size()) +
                     " are broken, " + std::to_string(check.skipped.size()) + " do not apply");
        for (const TraceViolation& v : check.violations) console.line(console.paint(Style::bad, "FAIL") + "  " + v.rule + "  " + v.text);
        if (console.verbose())
            for (const std::string& skipped : check.skipped) console.note(skipped);
    }
    return check.violations.empty() ? 0 : 1;
}

} // namespace loopscope::app
