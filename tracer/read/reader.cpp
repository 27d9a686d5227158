// Queries: recipes and SQL of the user's own, with their parameters, their limits, and the way from an address to an operator.
#include "tracer/api/trace_reader.h"

#include "engine/base/clock.h"
#include "engine/base/text.h"
#include "tracer/read/opening.h"
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

struct Watch {
    int64_t deadline = 0; ///< 0: none
    const CancelFlag* cancel = nullptr;
    bool isLate = false, isCancelled = false;
};

int watch(void* data)
{
    auto& w = *static_cast<Watch*>(data);
    if (w.cancel != nullptr && w.cancel->requested()) w.isCancelled = true;
    if (w.deadline != 0 && nowNs() > w.deadline) w.isLate = true;
    return w.isCancelled || w.isLate ? 1 : 0;
}

/// Authorizer and progress handler while a user's statement runs.
class Guard {
public:
    Guard(sqlite3* handle, Watch& state) : m_handle(handle)
    {
        sqlite3_set_authorizer(handle, authorize, nullptr);
        sqlite3_progress_handler(handle, 10'000, watch, &state);
    }
    ~Guard()
    {
        sqlite3_set_authorizer(m_handle, nullptr, nullptr);
        sqlite3_progress_handler(m_handle, 0, nullptr, nullptr);
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

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

std::optional<int64_t> asInteger(std::string_view text)
{
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

/// The default of `name` in "run op slot=0"; empty if it has none.
std::string defaultOf(std::string_view parameters, std::string_view name)
{
    size_t at = 0;
    while (at < parameters.size()) {
        const size_t blank = std::min(parameters.find(' ', at), parameters.size());
        const std::string_view word = parameters.substr(at, blank - at);
        const size_t equals = word.find('=');
        if (equals != std::string_view::npos && word.substr(0, equals) == name) return std::string(word.substr(equals + 1));
        at = blank + 1;
    }
    return "";
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

    Status bind(Statement& statement, const QueryParameters& parameters, std::string_view recipeParameters,
                const TraceReader& reader) const;
    Result<int64_t> graphOfRoot(std::string_view name, int64_t model) const;
    Result<int64_t> resolveIn(int64_t graph, std::string_view rest, std::string_view whole) const;
    Result<int64_t> resolveLabel(std::string_view label, int64_t model) const;
    Result<std::vector<std::string>> labelsOf(int64_t graph) const;
};

TraceReader::TraceReader(std::unique_ptr<Impl> impl) : m_impl(std::move(impl)) {}
TraceReader::~TraceReader() = default;

Result<std::unique_ptr<TraceReader>> TraceReader::open(const std::string& path)
{
    auto impl = std::make_unique<Impl>();
    impl->path = path;
    LS_TRY(impl->trace, openTrace(path));
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

Status TraceReader::Impl::bind(Statement& statement, const QueryParameters& parameters, std::string_view recipeParameters,
                               const TraceReader& reader) const
{
    const int count = sqlite3_bind_parameter_count(statement.handle());
    for (int i = 1; i <= count; ++i) {
        const char* raw = sqlite3_bind_parameter_name(statement.handle(), i);
        if (raw == nullptr || raw[0] == '?')
            return Error(ErrorCode::usage, "a parameter without a name").at("query").expected("a name, such as :run");
        const std::string name = raw + 1;
        const auto given = parameters.find(name);
        if (name == "op" || name == "outer" || name == "inner") {
            if (given == parameters.end())
                return Error(ErrorCode::usage, "parameter '" + name + "' is missing; give --" + name + " ADDRESS").at("query");
            if (const std::optional<int64_t> id = asInteger(given->second)) {
                statement.bind(i, *id);
                continue;
            }
            LS_TRY(const int64_t id, name == "op" ? reader.resolveOperator(given->second) : reader.resolveCall(given->second));
            statement.bind(i, id);
            continue;
        }
        if (given != parameters.end()) {
            bindTyped(statement, i, given->second);
            continue;
        }
        if (name == "run" || name == "a" || name == "b") {
            const TraceRun* run = reader.defaultRun();
            // Two runs: the newest, and the one before it.
            if (name == "a" && run != nullptr) {
                const auto& all = reader.runs();
                if (run != all.data()) run = run - 1;
            }
            if (run == nullptr) return Error(ErrorCode::usage, "the trace holds no run").at(path);
            statement.bind(i, run->id);
            continue;
        }
        if (name == "compare") {
            LS_TRY(const int64_t newest, trace.database->integer("SELECT coalesce(max(id), 0) FROM compare"));
            statement.bind(i, newest);
            continue;
        }
        const std::string otherwise = defaultOf(recipeParameters, name);
        if (otherwise.empty()) return Error(ErrorCode::usage, "parameter '" + name + "' is missing; give --" + name + " VALUE").at("query");
        bindTyped(statement, i, otherwise);
    }
    return {};
}

Status TraceReader::query(std::string_view sql, const QueryParameters& parameters, const QueryLimits& limits, const ColumnSink& columns,
                          const RowSink& row) const
{
    std::string_view recipeParameters;
    for (const Recipe& recipe : traceRecipes()) {
        if (recipe.sql == sql) recipeParameters = recipe.parameters;
    }
    Database& db = database();
    Watch state;
    state.cancel = limits.cancel;
    if (limits.seconds > 0) state.deadline = nowNs() + static_cast<int64_t>(limits.seconds * 1e9);
    const auto failure = [&](const Error& error) -> Error {
        if (state.isCancelled) return Error(ErrorCode::cancelled, "cancelled").at("query");
        if (state.isLate) {
            char seconds[32];
            const auto end = std::to_chars(seconds, seconds + sizeof(seconds), limits.seconds).ptr;
            return Error(ErrorCode::execution, "stopped after " + std::string(seconds, end) + " s; --limit-time gives more").at("query");
        }
        const int code = sqlite3_errcode(db.handle()) & 0xff;
        if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_IOERR) return error.copy();
        if (code == SQLITE_AUTH) return Error(ErrorCode::usage, "only reading is allowed").at("query");
        return Error(ErrorCode::usage, sqlite3_errmsg(db.handle())).at("query");
    };
    // The parameters' own look-ups run before the guard is up.
    Result<Statement> prepared = [&] {
        const Guard guard(db.handle(), state);
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
    LS_CHECK_OK(m_impl->bind(statement, parameters, recipeParameters, *this));
    const Guard guard(db.handle(), state);
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

Result<std::vector<std::string>> TraceReader::Impl::labelsOf(int64_t graph) const
{
    LS_TRY(Statement s, trace.database->prepare("SELECT label FROM op WHERE graph = ? ORDER BY ordinal"));
    s.bind(1, graph);
    std::vector<std::string> labels;
    for (;;) {
        LS_TRY(const bool hasRow, s.step());
        if (!hasRow) return labels;
        labels.push_back(s.text(0));
    }
}

/// The graph of that id, 0 if there is none.
Result<int64_t> TraceReader::Impl::graphOfRoot(std::string_view name, int64_t model) const
{
    LS_TRY(Statement s, trace.database->prepare("SELECT id FROM graph WHERE name = ? AND model = ?"));
    s.bind(1, name);
    s.bind(2, model);
    LS_TRY(const bool hasRow, s.step());
    return hasRow ? s.integer(0) : 0;
}

/// `rest` is what stands behind the graph: `add#2`, `while#0@3:body/add#2:0`, or a node name that may hold slashes.
Result<int64_t> TraceReader::Impl::resolveIn(int64_t graph, std::string_view rest, std::string_view whole) const
{
    LS_TRY(Statement byLabel, trace.database->prepare("SELECT id FROM op WHERE graph = ?1 AND (label = ?2 OR '#' || ordinal = ?2)"));
    const auto find = [&](std::string_view label) -> Result<int64_t> {
        byLabel.reset();
        byLabel.bind(1, graph);
        byLabel.bind(2, label);
        LS_TRY(const bool hasRow, byLabel.step());
        return hasRow ? byLabel.integer(0) : 0;
    };
    LS_TRY(int64_t op, find(rest));
    if (op != 0) return op;
    const std::string_view withoutSlot = rest.substr(0, rest.rfind(':'));
    if (withoutSlot.size() < rest.size() && asInteger(rest.substr(withoutSlot.size() + 1)) &&
        withoutSlot.find('/') == std::string_view::npos) {
        LS_TRY(op, find(withoutSlot));
        if (op != 0) return op;
    }
    for (size_t slash = rest.find('/'); slash != std::string_view::npos; slash = rest.find('/', slash + 1)) {
        const std::string_view step = rest.substr(0, slash), next = rest.substr(slash + 1);
        const size_t mark = step.find_first_of("@:");
        const size_t colon = step.find(':');
        const std::string_view site = step.substr(0, mark);
        const std::string_view role = colon == std::string_view::npos ? std::string_view() : step.substr(colon + 1);
        LS_TRY(const int64_t caller, find(site));
        LS_TRY(Statement calls,
               trace.database->prepare(caller != 0 ? "SELECT role, graph, cond FROM call WHERE op = ?1"
                                                   : "SELECT role, graph, cond FROM call WHERE frame = ?2 AND role = 'frame'"));
        if (caller != 0) calls.bind(1, caller);
        else calls.bind(2, site);
        // Without a role every graph that the operator enters is looked through, of a loop the body first.
        for (;;) {
            LS_TRY(const bool hasRow, calls.step());
            if (!hasRow) break;
            const std::string callRole = calls.text(0);
            std::vector<int64_t> graphs;
            if (callRole == "loop") {
                if (role != "cond") graphs.push_back(calls.integer(1));
                if (role != "body" && !calls.isNull(2)) graphs.push_back(calls.integer(2));
            } else if (role.empty() || role == callRole) {
                graphs.push_back(calls.integer(1));
            }
            for (const int64_t inside : graphs) {
                Result<int64_t> found = resolveIn(inside, next, whole);
                if (found.ok()) return found;
            }
        }
    }
    LS_TRY(const std::vector<std::string> labels, labelsOf(graph));
    LS_TRY(Statement name, trace.database->prepare("SELECT name FROM graph WHERE id = ?"));
    name.bind(1, graph);
    LS_TRY(const bool hasName, name.step());
    const std::string graphName = hasName ? name.text(0) : "";
    return Error(ErrorCode::usage, "no operator '" + std::string(rest) + "' in " + graphName).at(whole).nearest(nearestNames(rest, labels));
}

Result<int64_t> TraceReader::Impl::resolveLabel(std::string_view label, int64_t model) const
{
    LS_TRY(Statement s,
           trace.database->prepare(
               "SELECT o.id, g.name FROM op o JOIN graph g ON g.id = o.graph WHERE o.label = ?1 AND g.model = ?2 ORDER BY g.ordinal"));
    s.bind(1, label);
    s.bind(2, model);
    int64_t id = 0;
    std::vector<std::string> graphs;
    for (;;) {
        LS_TRY(const bool hasRow, s.step());
        if (!hasRow) break;
        id = s.integer(0);
        graphs.push_back(s.text(1));
    }
    if (graphs.size() == 1) return id;
    if (graphs.size() > 1) {
        return Error(ErrorCode::usage, "operator '" + std::string(label) + "' is in several graphs (" + join(graphs, ", ") +
                                           "); give its address, as in main/while#0/add#1")
            .at("query");
    }
    std::vector<std::string> labels;
    LS_TRY(Statement all, trace.database->prepare("SELECT DISTINCT o.label FROM op o JOIN graph g ON g.id = o.graph WHERE g.model = ?"));
    all.bind(1, model);
    for (;;) {
        LS_TRY(const bool hasRow, all.step());
        if (!hasRow) break;
        labels.push_back(all.text(0));
    }
    return Error(ErrorCode::usage, "no operator '" + std::string(label) + "'").at("query").nearest(nearestNames(label, labels));
}

Result<int64_t> TraceReader::resolveOperator(std::string_view text) const
{
    const TraceRun* run = defaultRun();
    if (run == nullptr) return Error(ErrorCode::usage, "the trace holds no run").at(path());
    std::string_view rest = text;
    int64_t model = run->model;
    if (rest.size() > 2 && rest[0] == 'r') {
        const size_t colon = rest.find(':');
        const auto number = colon == std::string_view::npos ? std::nullopt : asInteger(rest.substr(1, colon - 1));
        if (number) {
            const TraceRun* other = findRun(*number);
            if (other == nullptr) return Error(ErrorCode::usage, "no run " + std::to_string(*number)).at(text);
            model = other->model;
            rest = rest.substr(colon + 1);
        }
    }
    const size_t slash = rest.find('/');
    if (slash != std::string_view::npos) {
        LS_TRY(const int64_t root, m_impl->graphOfRoot(rest.substr(0, slash), model));
        if (root != 0) return m_impl->resolveIn(root, rest.substr(slash + 1), text);
    }
    // A slot behind a label says nothing about the operator.
    const size_t colon = rest.rfind(':');
    if (colon != std::string_view::npos && asInteger(rest.substr(colon + 1))) rest = rest.substr(0, colon);
    return m_impl->resolveLabel(rest, model);
}

Result<int64_t> TraceReader::resolveCall(std::string_view text) const
{
    LS_TRY(const int64_t op, resolveOperator(text));
    LS_TRY(Statement s, database().prepare("SELECT id FROM call WHERE op = ? ORDER BY role <> 'loop', id"));
    s.bind(1, op);
    LS_TRY(const bool hasRow, s.step());
    if (!hasRow)
        return Error(ErrorCode::usage, "'" + std::string(text) + "' enters no graph").at("query").expected("a loop or branch operator");
    return s.integer(0);
}

} // namespace loopscope
