// Writes of a trace as rows for spreadsheets (RFC 4180: CRLF is left to others, lines end with LF).
#include "engine/base/visible_text.h"
#include "tracer/export/export.h"
#include "tracer/export/output_file.h"

namespace loopscope {

namespace {

std::string quotedCell(const std::string& name)
{
    const std::string text = visibleText(name, LineBreaks::escaped); // a table is often shown in a terminal
    if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"') out += '"';
        out += c;
    }
    return out + '"';
}

std::string number(const std::optional<double>& value) { return value ? sqlText(*value) : ""; }

std::string cell(const SqlValue& value) { return std::holds_alternative<std::monostate>(value) ? "" : sqlText(value); }

const char* stateName(int64_t state)
{
    constexpr const char* kNames[] = {"live", "dead", "failed", "not taken", "not written"};
    return state >= 0 && state < 5 ? kNames[state] : "?";
}

} // namespace

Result<TraceExportSummary> exportCsv(const TraceReader& trace, const std::string& path, const TraceExportOptions& options)
{
    LS_TRY(SelectedWrites writes, SelectedWrites::create(trace, options));
    LS_TRY(OutputFile file, OutputFile::create(path));
    file.write("step,address,iteration,value,dtype,state,min,max,mean,std,zeros,ns\n");
    TraceExportSummary summary;
    RunView& view = writes.view();
    LS_CHECK_OK(writes.forEach([&](const ViewedWrite& w, const std::string& address) -> Status {
        LS_TRY(const ViewedInvocation invocation, view.invocation(w.invocation));
        const ViewedOperator* op = view.op(w.op);
        const ViewedResult* result =
            op != nullptr && static_cast<size_t>(w.slot) < op->results.size() ? &op->results[static_cast<size_t>(w.slot)] : nullptr;
        const bool isSingle = !w.hi && realOf(w.lo).has_value();
        const std::string lo = cell(w.lo);
        std::string line = std::to_string(w.event - view.run().base) + "," + quotedCell(address) + ",";
        if (invocation.iteration >= 0) line += std::to_string(invocation.iteration);
        line += "," + quotedCell(result != nullptr ? result->name : "") + "," + (result != nullptr ? result->dtype : "") + "," +
                stateName(w.state) + ",";
        // Of a single element the row holds the value alone; here every column is filled, as the views of the trace do.
        line += lo + "," + (isSingle ? lo : number(w.hi)) + "," + (isSingle ? lo : number(w.mean)) + "," +
                (isSingle ? "0" : number(w.std)) + ",";
        if (w.zeros) line += std::to_string(*w.zeros);
        else if (isSingle) line += *realOf(w.lo) == 0 ? "1" : "0";
        line += ",";
        if (w.ns) line += std::to_string(*w.ns);
        file.write(line + "\n");
        ++summary.writes;
        return {};
    }));
    if (summary.writes == 0 && !options.patterns.empty()) return Error(ErrorCode::usage, "nothing matches").at("export");
    LS_CHECK_OK(file.finish());
    return summary;
}

} // namespace loopscope
