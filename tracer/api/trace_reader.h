// Reading a trace: runs, recipes, SQL of the user's own. Read-only, with a time limit, and safe on files that are still being written
// or whose recorder was killed.
#pragma once

#include "engine/base/cancel.h"
#include "engine/base/result.h"
#include "tracer/api/recipes.h"
#include "tracer/api/trace_types.h"

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

class Database;

struct QueryLimits {
    double seconds = 5; ///< 0: none
    int64_t rows = 0;   ///< 0: all
    const CancelFlag* cancel = nullptr;
};

/// Column names and rows of an answer.
struct QueryResult {
    std::vector<std::string> columns;
    std::vector<std::vector<SqlValue>> rows;
    bool more = false; ///< QueryLimits::rows cut it
};

/// Called for every row; false ends the query without an error.
using RowSink = std::function<bool(std::span<const SqlValue> row)>;
using ColumnSink = std::function<void(std::span<const std::string> columns)>;

/// Parameters by name without colon: `--op main/while#1/add#2` is {"op", "main/while#1/add#2"}. Values are text as typed.
using QueryParameters = std::map<std::string, std::string, std::less<>>;

/// One open trace. Not thread-safe; several readers of one file are fine.
class TraceReader {
public:
    /// Reads only: nothing is written, and nothing of the file is run (repairTrace in trace_check.h ends in the file what a killed recorder
    /// left open; this reader only shows it so: state `incomplete`, open rows ended at the last event). `cancel` ends any statement, also
    /// later; may be null. Errors: badFile (no such file, not a trace, needs a newer loopscope), cancelled.
    static Result<std::unique_ptr<TraceReader>> open(const std::string& path, const CancelFlag* cancel = nullptr);
    ~TraceReader();
    TraceReader(const TraceReader&) = delete;
    TraceReader& operator=(const TraceReader&) = delete;

    const std::string& path() const;
    /// "t.lstrace: incomplete, ends at step 93,220: its recorder was killed"; empty if there is nothing to say.
    const std::string& note() const;
    const std::vector<TraceRun>& runs() const;
    /// The newest complete run, else the newest; null if there is none.
    const TraceRun* defaultRun() const;
    const TraceRun* findRun(int64_t id) const;
    bool isIndexed() const;

    /// Runs SQL of the user: reading only, one statement. Every parameter that the SQL names is bound by the rules of bindParameters.
    /// Errors: usage (syntax, a writing statement, a missing parameter), execution (the time limit, nothing else), cancelled.
    Status query(std::string_view sql, const QueryParameters& parameters, const QueryLimits& limits, const ColumnSink& columns,
                 const RowSink& row) const;
    Result<QueryResult> query(std::string_view sql, const QueryParameters& parameters, const QueryLimits& limits = {}) const;
    /// Runs a recipe. Errors: usage with the nearest names if there is no such recipe.
    Result<QueryResult> recipe(std::string_view name, const QueryParameters& parameters, const QueryLimits& limits = {}) const;

    /// The id of an operator by address ("main/while#1/add#2", iterations and slots are ignored) or by a label that occurs once.
    Result<int64_t> resolveOperator(std::string_view addressOrLabel) const;
    /// The id of the loop's `call`, by the address or label of the loop operator.
    Result<int64_t> resolveCall(std::string_view addressOrLabel) const;

    /// The connection, for the parts of tracer.
    Database& database() const;

private:
    class Impl;
    explicit TraceReader(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> m_impl;
};

/// True if the file begins as a SQLite database with the application id of a trace.
bool isTraceFile(const std::string& path);

} // namespace loopscope
