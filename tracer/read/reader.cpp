// Queries: recipes and SQL of the user's own, with their parameters, their limits, and the way from an address to an operator.
#include "tracer/api/trace_reader.h"

#include "engine/base/text.h"
#include "tracer/read/opening.h"
#include "tracer/read/recorded_names.h"
#include "tracer/sqlite/database.h"

#include <algorithm>
#include <charconv>
#include <sqlite3.h>

namespace loopscope {

namespace {

/// What a user's statement may do: read, call functions, recurse.
int authorize(void*, int action, const char* first, const char* second, const char*, const char*)
{
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE: return SQLITE_OK;
    case SQLITE_FUNCTION:
        // The two built-in functions that reach outside the database.
        return second != nullptr && (sqlite3_stricmp(second, "load_extension") == 0 || sqlite3_stricmp(second, "fts3_tokenizer") == 0)
                   ? SQLITE_DENY
                   : SQLITE_OK;
    default: static_cast<void>(first); return SQLITE_DENY;
    }
}

/// The authorizer while a user's statement runs.
class OnlyReading {
public:
    explicit OnlyReading(sqlite3* handle) : m_handle(handle) { sqlite3_set_authorizer(handle, authorize, nullptr); }
    ~OnlyReading() { sqlite3_set_authorizer(m_handle, nullptr, nullptr); }
    OnlyReading(const OnlyReading&) = delete;
    OnlyReading& operator=(const OnlyReading&) = delete;

private:
    sqlite3* m_handle;
};

/// Text as typed: an integer, a real number, or itself.
void bindTyped(Statement& statement, int parameter, const std::string& text)
{
    int64_t integer = 0;
    const char* end = text.data() + text.size();
    if (const auto r = std::from_chars(text.data(), end, integer); !text.empty() && r.ec == std::errc() && r.ptr == end) {
        statement.bind(parameter, integer);
        return;
    }
    double real = 0;
    if (const auto r = std::from_chars(text.data(), end, real); !text.empty() && r.ec == std::errc() && r.ptr == end) {
        statement.bind(parameter, real);
        return;
    }
    statement.bind(parameter, text);
}

} // namespace

std::string sqlText(const SqlValue& value)
{
    struct Text {
        std::string operator()(std::monostate) const { return "NULL"; }
        std::string operator()(int64_t v) const { return std::to_string(v); }
        std::string operator()(double v) const
        {
            char buffer[32];
            const auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), v);
            return std::string(buffer, end);
        }
        std::string operator()(const std::string& v) const { return v; }
        std::string operator()(const SqlBlob& v) const
        {
            std::string out = "x'";
            for (const std::byte b : v) {
                out += "0123456789abcdef"[static_cast<unsigned>(b) >> 4];
                out += "0123456789abcdef"[static_cast<unsigned>(b) & 15];
            }
            return out + "'";
        }
    };
    return std::visit(Text(), value);
}

class TraceReader::Impl {
public:
    std::string path;
    OpenedTrace trace;

    Status bind(Statement& statement, const QueryParameters& parameters, const Recipe* recipe, const TraceReader& reader) const;
    /// Refuses a recipe that reads rows of operators of a run that has none of these.
    Status checkLevel(const Recipe& recipe, const QueryParameters& parameters, const TraceReader& reader) const;
    Status bindOne(Statement& statement, int place, const RecipeParameter& parameter, const QueryParameters& given,
                   std::optional<int64_t>& slot, const TraceReader& reader) const;
};

TraceReader::TraceReader(std::unique_ptr<Impl> impl) : m_impl(std::move(impl)) {}
TraceReader::~TraceReader() = default;

Result<std::unique_ptr<TraceReader>> TraceReader::open(const std::string& path, const CancelFlag* cancel)
{
    auto impl = std::make_unique<Impl>();
    impl->path = path;
    LS_TRY(impl->trace, openTrace(path, cancel));
    return std::unique_ptr<TraceReader>(new TraceReader(std::move(impl)));
}

const std::string& TraceReader::path() const { return m_impl->path; }
const std::string& TraceReader::note() const { return m_impl->trace.note; }
const std::vector<TraceRun>& TraceReader::runs() const { return m_impl->trace.runs; }
bool TraceReader::isIndexed() const { return m_impl->trace.isIndexed; }
Database& TraceReader::database() const { return *m_impl->trace.database; }

const TraceRun* TraceReader::defaultRun() const
{
    const std::vector<TraceRun>& all = runs();
    for (size_t i = all.size(); i-- > 0;) {
        if (all[i].state == "complete") return &all[i];
    }
    return all.empty() ? nullptr : &all.back();
}

const TraceRun* TraceReader::findRun(int64_t id) const
{
    for (const TraceRun& run : runs()) {
        if (run.id == id) return &run;
    }
    return nullptr;
}

/// The run that a parameter means if it is not given: the newest; of two, `a` is the one before it. Null: there is none.
const TraceRun* runUnasked(std::string_view parameter, const TraceReader& reader)
{
    const TraceRun* run = reader.defaultRun();
    return parameter == "a" && run != nullptr && run != reader.runs().data() ? run - 1 : run;
}

Status TraceReader::Impl::checkLevel(const Recipe& recipe, const QueryParameters& parameters, const TraceReader& reader) const
{
    if (!recipe.readsOperators()) return {};
    for (const RecipeParameter& parameter : recipe.parameterList()) {
        if (parameter.name != "run" && parameter.name != "a" && parameter.name != "b") continue;
        const auto given = parameters.find(std::string(parameter.name));
        const TraceRun* run = runUnasked(parameter.name, reader);
        if (given != parameters.end()) {
            int64_t number = -1;
            std::from_chars(given->second.data(), given->second.data() + given->second.size(), number);
            run = reader.findRun(number);
        }
        if (run == nullptr || run->level > 0) continue;
        return Error(ErrorCode::usage, "run " + std::to_string(run->id) + " is recorded at level control, without operators")
            .at(path)
            .expected("level statistics or higher for '" + std::string(recipe.name) + "'");
    }
    return {};
}

/// Binds a parameter by what it is: an operator, a loop, a run, or what was typed. `slot` is the result that an operator's name named.
Status TraceReader::Impl::bindOne(Statement& statement, int place, const RecipeParameter& parameter, const QueryParameters& parameters,
                                  std::optional<int64_t>& slot, const TraceReader& reader) const
{
    const std::string name(parameter.name);
    auto given = parameters.find(name);
    if (given == parameters.end() && name == "loop") given = parameters.find("op"); // a loop is named by its operator
    const bool isGiven = given != parameters.end();
    if (parameter.kind == "loop" || name == "outer" || name == "inner") {
        if (!isGiven && name != "loop")
            return Error(ErrorCode::usage, "parameter '" + name + "' is missing; give --" + name + " ADDRESS").at("query");
        LS_TRY(const int64_t call, isGiven ? findLoop(reader, given->second) : onlyLoop(reader));
        statement.bind(place, call);
        return {};
    }
    if (name == "op") {
        if (!isGiven && parameter.kind != "branch")
            return Error(ErrorCode::usage, "parameter 'op' is missing; give --op ADDRESS").at("query");
        if (parameter.kind == "branch") {
            LS_TRY(const int64_t op, isGiven ? findBranch(reader, given->second) : onlyBranch(reader));
            statement.bind(place, op);
            return {};
        }
        LS_TRY(const RecordedPlace found, findPlace(reader, given->second));
        statement.bind(place, found.op);
        slot = found.slot;
        return {};
    }
    if (isGiven) {
        bindTyped(statement, place, given->second);
        return {};
    }
    if (name == "run" || name == "a" || name == "b") {
        const TraceRun* run = runUnasked(name, reader);
        if (run == nullptr) return Error(ErrorCode::usage, "the trace holds no run").at(path);
        statement.bind(place, run->id);
        return {};
    }
    if (name == "slot" && slot) {
        statement.bind(place, *slot);
        return {};
    }
    if (parameter.otherwise.empty())
        return Error(ErrorCode::usage, "parameter '" + name + "' is missing; give --" + name + " VALUE").at("query");
    bindTyped(statement, place, std::string(parameter.otherwise));
    return {};
}

Status TraceReader::Impl::bind(Statement& statement, const QueryParameters& parameters, const Recipe* recipe,
                               const TraceReader& reader) const
{
    const std::vector<RecipeParameter> declared = recipe != nullptr ? recipe->parameterList() : std::vector<RecipeParameter>();
    const int count = sqlite3_bind_parameter_count(statement.handle());
    std::vector<std::pair<int, RecipeParameter>> order;
    for (int i = 1; i <= count; ++i) {
        const char* raw = sqlite3_bind_parameter_name(statement.handle(), i);
        if (raw == nullptr || raw[0] == '?')
            return Error(ErrorCode::usage, "a parameter without a name").at("query").expected("a name, such as :run");
        RecipeParameter parameter{raw + 1, std::string_view(raw + 1) == "loop" ? "loop" : "", ""};
        for (const RecipeParameter& known : declared)
            if (known.name == parameter.name) parameter = known;
        order.emplace_back(i, parameter);
    }
    // The operator first: its name may say which of its results is meant.
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.second.name == "op" && b.second.name != "op"; });
    std::optional<int64_t> slot;
    for (const auto& [place, parameter] : order) LS_CHECK_OK(bindOne(statement, place, parameter, parameters, slot, reader));
    return {};
}

Status TraceReader::query(std::string_view sql, const QueryParameters& parameters, const QueryLimits& limits, const ColumnSink& columns,
                          const RowSink& row) const
{
    const Recipe* asked = nullptr;
    for (const Recipe& recipe : traceRecipes()) {
        if (recipe.sql == sql) asked = &recipe;
    }
    Database& db = database();
    const Database::Limits state(db, limits.seconds, limits.cancel);
    const auto failure = [&](const Error& error) -> Error {
        if (state.isCancelled()) return Error(ErrorCode::cancelled, "cancelled").at("query");
        if (state.isLate()) {
            char seconds[32];
            const auto end = std::to_chars(seconds, seconds + sizeof(seconds), limits.seconds).ptr;
            return Error(ErrorCode::execution, "stopped after " + std::string(seconds, end) + " s; --limit-time gives more").at("query");
        }
        const int code = sqlite3_errcode(db.handle()) & 0xff;
        if (code != SQLITE_ERROR && code != SQLITE_AUTH) return error.copy(); // damaged, changed, no memory, …
        if (code == SQLITE_AUTH) return Error(ErrorCode::usage, "only reading is allowed").at("query");
        return Error(ErrorCode::usage, sqlite3_errmsg(db.handle())).at("query");
    };
    // The parameters' own look-ups run before the guard is up.
    Result<Statement> prepared = [&] {
        const OnlyReading guard(db.handle());
        return db.prepare(sql);
    }();
    if (!prepared.ok()) return failure(prepared.error());
    Statement statement = std::move(prepared).value();
    if (statement.handle() == nullptr) return Error(ErrorCode::usage, "no statement").at("query");
    if (const char* tail = sqlite3_sql(statement.handle()); tail != nullptr) {
        std::string_view left = sql.substr(std::min(sql.size(), std::string_view(tail).size()));
        left.remove_prefix(std::min(left.find_first_not_of(" \t\r\n;"), left.size()));
        if (!left.empty()) return Error(ErrorCode::usage, "more than one statement").at("query").expected("one");
    }
    if (asked != nullptr) LS_CHECK_OK(m_impl->checkLevel(*asked, parameters, *this));
    LS_CHECK_OK(m_impl->bind(statement, parameters, asked, *this));
    const OnlyReading guard(db.handle());
    const int width = statement.columns();
    std::vector<std::string> names;
    for (int c = 0; c < width; ++c) names.push_back(statement.columnName(c));
    if (columns) columns(names);
    std::vector<SqlValue> cells(static_cast<size_t>(width));
    for (int64_t count = 0;; ++count) {
        Result<bool> hasRow = statement.step();
        if (!hasRow.ok()) return failure(hasRow.error());
        if (!*hasRow) return {};
        for (int c = 0; c < width; ++c) cells[static_cast<size_t>(c)] = statement.value(c);
        if (!row(cells)) return {};
    }
}

Result<QueryResult> TraceReader::query(std::string_view sql, const QueryParameters& parameters, const QueryLimits& limits) const
{
    QueryResult result;
    const auto onColumns = [&](std::span<const std::string> names) { result.columns.assign(names.begin(), names.end()); };
    const auto onRow = [&](std::span<const SqlValue> cells) {
        if (limits.rows > 0 && static_cast<int64_t>(result.rows.size()) == limits.rows) {
            result.more = true;
            return false;
        }
        result.rows.emplace_back(cells.begin(), cells.end());
        return true;
    };
    LS_CHECK_OK(query(sql, parameters, limits, onColumns, onRow));
    return result;
}

Result<QueryResult> TraceReader::recipe(std::string_view name, const QueryParameters& parameters, const QueryLimits& limits) const
{
    const Recipe* found = findRecipe(name);
    if (found == nullptr) {
        std::vector<std::string> names;
        for (const Recipe& recipe : traceRecipes()) names.emplace_back(recipe.name);
        return Error(ErrorCode::usage, "no recipe '" + std::string(name) + "'")
            .at("query")
            .nearest(nearestNames(name, names))
            .note("'loopscope query --list' lists them");
    }
    return query(found->sql, parameters, limits);
}

Result<int64_t> TraceReader::resolveOperator(std::string_view text) const
{
    LS_TRY(const RecordedPlace place, findPlace(*this, text));
    return place.op;
}

Result<int64_t> TraceReader::resolveCall(std::string_view text) const { return findCall(*this, text); }

} // namespace loopscope
