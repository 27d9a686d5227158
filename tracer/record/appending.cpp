#include "tracer/record/appending.h"

#include "tracer/read/file_schema.h"
#include "tracer/read/opening.h"
#include "tracer/schema/schema.h"

namespace loopscope {

namespace {

/// The rows of a model that the file holds already; none: it does not, or they do not agree with the model.
Result<std::optional<ModelRows>> knownModel(Database& database, const Model& model, const std::string& hash)
{
    if (hash.empty()) return std::optional<ModelRows>();
    LS_TRY(Statement find, database.prepare("SELECT id FROM model WHERE hash = ? ORDER BY id LIMIT 1"));
    find.bind(1, hash);
    LS_TRY(const bool isThere, find.step());
    if (!isThere) return std::optional<ModelRows>();
    ModelRows rows;
    rows.model = find.integer(0);
    LS_TRY(Statement graphs,
           database.prepare(
               "SELECT g.id, (SELECT min(id) FROM op WHERE graph = g.id), (SELECT count(*) FROM op WHERE graph = g.id), (SELECT min(id) "
               "FROM value WHERE graph = g.id), (SELECT count(*) FROM value WHERE graph = g.id) FROM graph g WHERE g.model = ? ORDER BY "
               "g.ordinal"));
    graphs.bind(1, rows.model);
    for (const Graph& graph : model.graphs) {
        LS_TRY(const bool hasRow, graphs.step());
        const bool agrees = hasRow && graphs.integer(2) == static_cast<int64_t>(graph.operators.size()) &&
                            graphs.integer(4) == static_cast<int64_t>(graph.values.size());
        if (!agrees) return std::optional<ModelRows>();
        rows.graphs.push_back(graphs.integer(0));
        rows.firstOps.push_back(graphs.integer(1));
        rows.firstValues.push_back(graphs.integer(3));
    }
    LS_TRY(Statement calls,
           database.prepare("SELECT c.id, c.op, c.role FROM call c JOIN op o ON o.id = c.op JOIN graph g ON g.id = o.graph WHERE "
                            "g.model = ? AND c.frame IS NULL ORDER BY c.id"));
    calls.bind(1, rows.model);
    for (;;) {
        LS_TRY(const bool hasRow, calls.step());
        if (!hasRow) break;
        rows.calls.push_back({calls.integer(0), calls.integer(1), calls.text(2)});
    }
    LS_TRY(Statement made,
           database.prepare("SELECT c.id, c.role, c.graph, coalesce(c.op, 0), coalesce(c.frame, '') FROM call c JOIN graph g "
                            "ON g.id = c.graph WHERE g.model = ? AND (c.op IS NULL OR c.frame IS NOT NULL) ORDER BY c.id"));
    made.bind(1, rows.model);
    for (;;) {
        LS_TRY(const bool hasRow, made.step());
        if (!hasRow) break;
        rows.made.try_emplace(madeCallKey(made.text(1), made.integer(2), made.integer(3), made.text(4)), made.integer(0));
    }
    LS_TRY(rows.nextCall, database.integer("SELECT coalesce(max(id), 0) + 1 FROM call"));
    return std::optional(std::move(rows));
}

/// What a killed recorder left open ends where a reader saw it end: rows that follow are not its.
Status endKilledRuns(Database& database, const std::vector<TraceRun>& runs)
{
    LS_TRY(Statement close, database.prepare("UPDATE run SET state = 'incomplete', last = ?2 WHERE id = ?1 AND state = 'recording'"));
    LS_TRY(Statement invocations, database.prepare("UPDATE invocation SET steps = max(0, ?2 - first) WHERE run = ?1 AND steps IS NULL"));
    for (const TraceRun& run : runs) {
        if (run.state != "incomplete") continue;
        close.bind(1, run.id);
        close.bind(2, run.last);
        LS_CHECK_OK(close.run());
        invocations.bind(1, run.id);
        invocations.bind(2, run.last ? *run.last + 1 : run.first);
        LS_CHECK_OK(invocations.run());
    }
    return {};
}

} // namespace

std::string writingPragmas(const RecorderOptions& options)
{
    // A killed process loses nothing that it wrote; only who wants a recording to survive a power cut pays for synchronising while it runs.
    return std::string("PRAGMA synchronous = ") + (options.durable ? "FULL" : "OFF") +
           "; PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY";
}

Result<AppendedTrace> openForAppending(const Model& model, const RecorderOptions& options)
{
    LS_CHECK_OK(refuseJournal(options.path));
    std::vector<TraceRun> before;
    {
        // Looked at first as any reader does: what is opened for writing below holds nothing that would run.
        LS_TRY(OpenedTrace seen, openSnapshot(options.path, options.cancel));
        LS_TRY(const int64_t schema, seen.database->integer("SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'schema'"));
        if (schema != kTraceSchema)
            return Error(ErrorCode::badFile, "holds recordings of another version")
                .at(options.path)
                .found("schema " + std::to_string(schema))
                .expected(std::to_string(kTraceSchema));
        LS_CHECK_OK(checkFileSchema(*seen.database, schema, SchemaUse::writing));
        before = std::move(seen.runs);
    }
    AppendedTrace trace;
    LS_TRY(trace.database, Database::open(options.path, OpenMode::readWrite));
    Database& database = *trace.database;
    LS_CHECK_OK(database.execute("PRAGMA journal_mode = WAL; " + writingPragmas(options)));
    std::string begin = "BEGIN IMMEDIATE;"; // rows come faster without indexes; closing makes them again
    for (const TraceIndex& index : traceIndexes()) begin += std::string("DROP INDEX IF EXISTS ") + index.name + ";";
    LS_CHECK_OK(database.execute(begin + "UPDATE meta SET value = '0' WHERE key IN ('indexed', 'complete');"));
    LS_CHECK_OK(endKilledRuns(database, before));
    LS_TRY(std::optional<ModelRows> known, knownModel(database, model, options.model.hash));
    if (known) {
        trace.rows = std::move(*known);
    } else {
        LS_TRY(trace.rows, writeModel(database, model, options));
    }
    LS_CHECK_OK(database.execute("COMMIT"));
    LS_TRY(trace.lastRun, database.integer("SELECT coalesce(max(id), 0) FROM run"));
    LS_TRY(trace.nextEvent, database.integer("SELECT coalesce(max(last), -1) + 1 FROM run"));
    LS_TRY(const int64_t rows, database.integer("SELECT coalesce(max(id), -1) + 1 FROM event"));
    trace.nextEvent = std::max(trace.nextEvent, rows);
    LS_TRY(trace.nextInvocation, database.integer("SELECT coalesce(max(id), 0) + 1 FROM invocation"));
    return trace;
}

} // namespace loopscope
