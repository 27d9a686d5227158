#include "app/output/iteration_table.h"

#include <cstdint>
#include <vector>

namespace loopscope::app {

namespace {

/// More columns than this do not fit any screen; the rest is left out.
constexpr int kMaxColumns = 12;

std::string quotedName(const std::string& name)
{
    std::string out = "\"";
    for (char c : name) out += c == '"' ? std::string("\"\"") : std::string(1, c);
    return out + "\"";
}

int64_t integerAt(const std::vector<SqlValue>& row, size_t column)
{
    const auto* value = std::get_if<int64_t>(&row[column]);
    return value != nullptr ? *value : 0;
}

std::string textAt(const std::vector<SqlValue>& row, size_t column)
{
    const auto* value = std::get_if<std::string>(&row[column]);
    return value != nullptr ? *value : "";
}

} // namespace

Result<std::string> iterationTableSql(const TraceReader& trace, const QueryParameters& parameters)
{
    const TraceRun* run = trace.defaultRun();
    if (run == nullptr) return Error(ErrorCode::usage, "the trace holds no run").at(trace.path());
    const auto given = parameters.find("run");
    const std::string runId = given != parameters.end() ? given->second : std::to_string(run->id);
    if (runId.empty() || runId.size() > 18 || runId.find_first_not_of("0123456789") != std::string::npos)
        return Error(ErrorCode::usage, "option '--run'").found("'" + runId + "'").expected("the number of a run");

    int64_t call = 0;
    if (const auto op = parameters.find("op"); op != parameters.end()) {
        LS_TRY(call, trace.resolveCall(op->second));
    } else {
        LS_TRY(const QueryResult busiest,
               trace.query("SELECT i.call FROM invocation i JOIN call c ON c.id = i.call WHERE c.role IN ('loop', 'frame') AND i.run = " +
                               runId + " GROUP BY i.call ORDER BY count(*) DESC, i.call LIMIT 1",
                           {}));
        if (busiest.rows.empty()) return Error(ErrorCode::usage, "no loop ran in run " + runId).at(trace.path());
        call = integerAt(busiest.rows.front(), 0);
    }
    return iterationTableSql(trace, std::stoll(runId), call);
}

Result<std::string> iterationTableSql(const TraceReader& trace, int64_t run, int64_t call)
{
    const std::string runId = std::to_string(run);
    const std::string callId = std::to_string(call);
    // Results of the operators of cond and body, in order of execution; the calls among them are known by their branches as well.
    LS_TRY(const QueryResult columns,
           trace.query(
               "SELECT o.id, x.slot, v.name, EXISTS (SELECT 1 FROM call b WHERE b.op = o.id AND b.role IN ('then', 'else')) AS branches, "
               "EXISTS (SELECT 1 FROM call b WHERE b.op = o.id AND b.role LIKE 'branch%') AS cases, v.role, v.dtype, v.shape "
               "FROM call c JOIN op o ON o.graph IN (c.graph, c.cond) JOIN result x ON x.op = o.id JOIN value v ON v.id = x.value "
               "WHERE c.id = " +
                   callId + " ORDER BY o.graph = c.graph, o.ordinal, x.slot",
               {}));
    // An inner loop runs once for each iteration of the one around it: then that iteration comes first.
    LS_TRY(const QueryResult outer, trace.query("SELECT 1 FROM invocation i JOIN invocation p ON p.id = i.parent WHERE i.call = " + callId +
                                                    " AND i.run = " + runId + " AND p.iteration IS NOT NULL LIMIT 1",
                                                {}));
    std::string select = outer.rows.empty() ? "SELECT i.iteration" : "SELECT p.iteration AS outer, i.iteration";
    std::string joins = outer.rows.empty() ? "" : " LEFT JOIN invocation p ON p.id = i.parent";
    int used = 0;
    int64_t lastBranch = 0;
    for (const auto& row : columns.rows) {
        if (used >= kMaxColumns) break;
        const std::string op = std::to_string(integerAt(row, 0)), slot = std::to_string(integerAt(row, 1));
        // The tables themselves, not the view `write`: SQLite looks up one row of a table, but builds a whole view.
        const std::string event = "e" + std::to_string(used);
        joins += " LEFT JOIN event " + event + " ON " + event + ".op = " + op + " AND " + event + ".invocation = i.id AND " + event +
                 ".id BETWEEN i.first AND i.first + coalesce(i.steps, 1 << 60)";
        std::string from = event;
        if (slot != "0") {
            from = "o" + std::to_string(used);
            joins += " LEFT JOIN output " + from + " ON " + from + ".event = " + event + ".id AND " + from + ".slot = " + slot;
        }
        const bool branches = integerAt(row, 3) != 0 || integerAt(row, 4) != 0;
        if (branches && integerAt(row, 0) != lastBranch) {
            // Which way it went stands in front of what it gave.
            select += ", (SELECT b.role FROM invocation t JOIN call b ON b.id = t.call WHERE t.parent = i.id AND b.op = " + op +
                      " LIMIT 1) AS " + quotedName("branch of " + textAt(row, 2));
            lastBranch = integerAt(row, 0);
            ++used;
        }
        // Statistics speak of finite elements: where there are none, the table says why.
        const std::string found = "FROM abnormal x WHERE x.event = " + event + ".id AND x.slot = " + slot;
        const std::string mean = "coalesce(" + from + ".mean, " + from + ".lo";
        const bool truth = textAt(row, 6) == "bool" && textAt(row, 7) == "[]";
        select += ", " + (truth ? "CASE " + mean + ") WHEN 1 THEN 'true' WHEN 0 THEN 'false' END"
                                : mean + ", (SELECT iif(x.nan > 0, 'nan', 'inf') " + found + "))");
        select += " AS " + quotedName(textAt(row, 2));
        ++used;
    }
    return select + " FROM invocation i" + joins + " WHERE i.run = " + runId + " AND i.call = " + callId + " ORDER BY i.id";
}

} // namespace loopscope::app
