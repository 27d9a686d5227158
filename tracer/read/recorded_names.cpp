#include "tracer/read/recorded_names.h"

#include "engine/base/text.h"
#include "engine/observe/host_address.h"
#include "tracer/sqlite/database.h"

#include <algorithm>
#include <charconv>
#include <fnmatch.h>
#include <string>
#include <vector>

namespace loopscope {

namespace {

constexpr size_t kMostNamed = 5; ///< candidates that a message lists

std::optional<int64_t> wholeNumber(std::string_view text)
{
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::string listOf(std::vector<std::string> names)
{
    const size_t count = names.size();
    if (count > kMostNamed) names.resize(kMostNamed);
    return join(names, ", ") + (count > kMostNamed ? " and " + std::to_string(count - kMostNamed) + " more" : "");
}

/// The names of one model of the file.
class ModelNames {
public:
    ModelNames(Database& database, int64_t model) : m_database(database), m_model(model) {}

    Result<RecordedPlace> find(std::string_view text)
    {
        if (const std::optional<int64_t> id = wholeNumber(text)) return RecordedPlace{*id, std::nullopt};
        // Behind an address or label the number of a result; a node's own name never ends so.
        std::string_view rest = text;
        std::optional<int64_t> slot;
        if (const size_t colon = rest.rfind(':'); colon != std::string_view::npos) {
            if ((slot = wholeNumber(rest.substr(colon + 1)))) rest = rest.substr(0, colon);
        }
        constexpr std::string_view kAnywhere = ".../";
        const bool isPattern = rest.find_first_of("*?") != std::string_view::npos;
        if (!isPattern && rest.starts_with(kAnywhere)) {
            Result<RecordedPlace> place = findAnywhere(rest.substr(kAnywhere.size()), slot, text);
            if (place.ok()) return place;
        }
        if (isPattern || rest.starts_with(kAnywhere)) {
            LS_TRY(const int64_t op, matching(rest, text));
            return RecordedPlace{op, slot};
        }
        if (const size_t slash = rest.find('/'); slash != std::string_view::npos) {
            LS_TRY(const int64_t root, first("SELECT id FROM graph WHERE name = ?1 AND model = ?2", rest.substr(0, slash)));
            if (root != 0) return findIn(root, rest.substr(slash + 1), slot, text);
            if (std::optional<RecordedPlace> place = findBelow(rest, slot)) return *place;
        }
        return findAnywhere(rest, slot, text);
    }

private:
    Result<int64_t> first(const char* sql, std::string_view name)
    {
        LS_TRY(Statement s, m_database.prepare(sql));
        s.bind(1, name);
        s.bind(2, m_model);
        LS_TRY(const bool hasRow, s.step());
        return hasRow ? s.integer(0) : 0;
    }

    Result<std::vector<std::string>> texts(const char* sql, int64_t parameter)
    {
        LS_TRY(Statement s, m_database.prepare(sql));
        s.bind(1, parameter);
        std::vector<std::string> found;
        for (;;) {
            LS_TRY(const bool hasRow, s.step());
            if (!hasRow) return found;
            found.push_back(s.text(0));
        }
    }

    Result<int64_t> labelled(int64_t graph, std::string_view label)
    {
        LS_TRY(Statement s, m_database.prepare("SELECT id FROM op WHERE graph = ?1 AND (label = ?2 OR '#' || ordinal = ?2)"));
        s.bind(1, graph);
        s.bind(2, label);
        LS_TRY(const bool hasRow, s.step());
        return hasRow ? s.integer(0) : 0;
    }

    /// The result that has this name as a value; op 0: none has.
    Result<RecordedPlace> named(int64_t graph, std::string_view name)
    {
        LS_TRY(Statement s,
               m_database.prepare(
                   "SELECT x.op, x.slot FROM value v CROSS JOIN result x ON x.value = v.id WHERE v.graph = ?1 AND v.name = ?2"));
        s.bind(1, graph);
        s.bind(2, name);
        LS_TRY(const bool hasRow, s.step());
        return hasRow ? RecordedPlace{s.integer(0), s.integer(1)} : RecordedPlace();
    }

    /// `rest` is what stands behind the graph: `add#2`, `while#0@3:body/add#2`, or a node name that may hold slashes.
    Result<RecordedPlace> findIn(int64_t graph, std::string_view rest, std::optional<int64_t> slot, std::string_view whole)
    {
        LS_TRY(const int64_t op, labelled(graph, rest));
        if (op != 0) return RecordedPlace{op, slot};
        for (size_t slash = rest.find('/'); slash != std::string_view::npos; slash = rest.find('/', slash + 1)) {
            LS_TRY(const std::vector<int64_t> inside, entered(graph, rest.substr(0, slash)));
            for (const int64_t g : inside) {
                Result<RecordedPlace> found = findIn(g, rest.substr(slash + 1), slot, whole);
                if (found.ok()) return found;
            }
        }
        LS_TRY(const RecordedPlace value, named(graph, rest));
        if (value.op != 0) return value;
        LS_TRY(const std::vector<std::string> labels, texts("SELECT label FROM op WHERE graph = ? ORDER BY ordinal", graph));
        LS_TRY(const std::vector<std::string> graphName, texts("SELECT name FROM graph WHERE id = ?", graph));
        return Error(ErrorCode::usage, "no operator '" + std::string(rest) + "' in " + (graphName.empty() ? "" : graphName[0]))
            .at(whole)
            .nearest(nearestNames(rest, labels));
    }

    /// An address without its beginning, `while#0@5/if#2`: the one operator that it leads to from any graph.
    std::optional<RecordedPlace> findBelow(std::string_view rest, std::optional<int64_t> slot)
    {
        std::optional<RecordedPlace> found;
        const Result<std::vector<int64_t>> graphs = numbers("SELECT id FROM graph WHERE model = ? ORDER BY ordinal", m_model);
        if (!graphs.ok()) return std::nullopt;
        for (const int64_t graph : *graphs) {
            const Result<RecordedPlace> place = findIn(graph, rest, slot, rest);
            if (!place.ok()) continue;
            if (found && found->op != place->op) return std::nullopt;
            found = *place;
        }
        return found;
    }

    Result<std::vector<int64_t>> numbers(const char* sql, int64_t parameter)
    {
        LS_TRY(Statement s, m_database.prepare(sql));
        s.bind(1, parameter);
        std::vector<int64_t> found;
        for (;;) {
            LS_TRY(const bool hasRow, s.step());
            if (!hasRow) return found;
            found.push_back(s.integer(0));
        }
    }

    /// The graphs that a step of an address enters: `while#0@3:body`. Without a role all of the operator's, of a loop the body first.
    Result<std::vector<int64_t>> entered(int64_t graph, std::string_view step)
    {
        const size_t colon = step.find(':');
        const std::string_view site = step.substr(0, step.find_first_of("@:"));
        const std::string_view role = colon == std::string_view::npos ? std::string_view() : step.substr(colon + 1);
        LS_TRY(const int64_t caller, labelled(graph, site));
        LS_TRY(Statement calls, m_database.prepare(caller != 0 ? "SELECT role, graph, cond FROM call WHERE op = ?1"
                                                               : "SELECT role, graph, cond FROM call WHERE frame = ?2 AND role = 'frame'"));
        if (caller != 0) calls.bind(1, caller);
        else calls.bind(2, site);
        std::vector<int64_t> graphs;
        for (;;) {
            LS_TRY(const bool hasRow, calls.step());
            if (!hasRow) return graphs;
            const std::string callRole = calls.text(0);
            if (callRole == "loop") {
                if (role != "cond") graphs.push_back(calls.integer(1));
                if (role != "body" && !calls.isNull(2)) graphs.push_back(calls.integer(2));
            } else if (role.empty() || role == callRole) {
                graphs.push_back(calls.integer(1));
            }
        }
    }

    Result<RecordedPlace> findAnywhere(std::string_view label, std::optional<int64_t> slot, std::string_view whole)
    {
        for (const bool isValue : {false, true}) {
            LS_TRY(Statement s,
                   m_database.prepare(isValue ? "SELECT x.op, g.name, x.slot FROM value v JOIN graph g ON g.id = v.graph JOIN result x "
                                                "ON x.value = v.id WHERE v.name = ?1 AND g.model = ?2 ORDER BY g.ordinal"
                                              : "SELECT o.id, g.name FROM op o JOIN graph g ON g.id = o.graph WHERE o.label = ?1 AND "
                                                "g.model = ?2 ORDER BY g.ordinal"));
            s.bind(1, label);
            s.bind(2, m_model);
            RecordedPlace place;
            std::vector<std::string> graphs;
            for (;;) {
                LS_TRY(const bool hasRow, s.step());
                if (!hasRow) break;
                place = {s.integer(0), isValue ? std::optional(s.integer(2)) : slot};
                graphs.push_back(s.text(1));
            }
            if (graphs.size() == 1) return place;
            if (graphs.size() > 1)
                return Error(ErrorCode::usage, std::string(isValue ? "value '" : "operator '") + std::string(label) +
                                                   "' is in several graphs (" + listOf(graphs) +
                                                   "); give its address, as in main/while#0/add#1")
                    .at("query");
        }
        LS_TRY(const std::vector<std::string> labels,
               texts("SELECT DISTINCT o.label FROM op o JOIN graph g ON g.id = o.graph WHERE g.model = ?1 UNION SELECT DISTINCT v.name "
                     "FROM value "
                     "v JOIN graph g ON g.id = v.graph JOIN result x ON x.value = v.id WHERE g.model = ?1",
                     m_model));
        return Error(ErrorCode::usage, "no operator '" + std::string(whole) + "'").at("query").nearest(nearestNames(label, labels));
    }

    /// The one operator whose graph and label match; `.../` stands for any way to it, of which a recording's graph is the end.
    Result<int64_t> matching(std::string_view pattern, std::string_view whole)
    {
        std::string_view last = pattern;
        if (const size_t slash = last.rfind('/'); slash != std::string_view::npos) last = last.substr(slash + 1);
        LS_TRY(Statement s,
               m_database.prepare("SELECT o.id, o.label, g.name FROM op o JOIN graph g ON g.id = o.graph WHERE g.model = ? ORDER BY "
                                  "g.ordinal, o.ordinal"));
        s.bind(1, m_model);
        int64_t id = 0;
        std::vector<std::string> found;
        const std::string wanted(last), all(pattern.starts_with(".../") ? pattern.substr(4) : pattern);
        for (;;) {
            LS_TRY(const bool hasRow, s.step());
            if (!hasRow) break;
            const std::string label = s.text(1), place = s.text(2) + "/" + label;
            if (fnmatch(wanted.c_str(), label.c_str(), 0) != 0 && fnmatch(all.c_str(), place.c_str(), 0) != 0 &&
                fnmatch(all.c_str(), label.c_str(), 0) != 0)
                continue;
            id = s.integer(0);
            found.push_back(place);
        }
        if (found.size() == 1) return id;
        if (found.empty()) return Error(ErrorCode::usage, "no operator matches '" + std::string(whole) + "'").at("query");
        return Error(ErrorCode::usage, std::to_string(found.size()) + " operators match '" + std::string(whole) + "': " + listOf(found))
            .at("query")
            .expected("one");
    }

    Database& m_database;
    int64_t m_model;
};

/// The calls of a role, or the operators that have them, of the model of the default run.
struct Choice {
    int64_t id = 0;
    std::string name;
};
Result<std::vector<Choice>> choices(const TraceReader& trace, const char* sql)
{
    const TraceRun* run = trace.defaultRun();
    if (run == nullptr) return Error(ErrorCode::usage, "the trace holds no run").at(trace.path());
    LS_TRY(Statement s, trace.database().prepare(sql));
    s.bind(1, run->model);
    std::vector<Choice> found;
    for (;;) {
        LS_TRY(const bool hasRow, s.step());
        if (!hasRow) return found;
        found.push_back({s.integer(0), s.text(1)});
    }
}

Result<int64_t> onlyOne(const std::vector<Choice>& found, const char* what, const char* option, const std::string& path)
{
    if (found.size() == 1) return found[0].id;
    if (found.empty()) return Error(ErrorCode::usage, std::string("the model has no ") + what).at(path);
    std::vector<std::string> names;
    for (const Choice& choice : found) names.push_back(choice.name);
    return Error(ErrorCode::usage, "which " + std::string(what) + "? " + listOf(names)).at("query").expected(std::string(option) + " NAME");
}

constexpr const char* kLoops =
    "SELECT c.id, coalesce(g.name || '/' || o.label, c.frame) FROM call c LEFT JOIN op o ON o.id = c.op JOIN graph g ON "
    "g.id = coalesce(o.graph, c.graph) WHERE c.role IN ('loop', 'frame') AND g.model = ? ORDER BY c.id";
constexpr const char* kBranches =
    "SELECT DISTINCT o.id, g.name || '/' || o.label FROM call c JOIN op o ON o.id = c.op JOIN graph g ON g.id = "
    "o.graph WHERE (c.role IN ('then', 'else') OR c.role LIKE 'branch%') AND g.model = ? ORDER BY o.id";

} // namespace

Result<RecordedPlace> findPlace(const TraceReader& trace, std::string_view text)
{
    const TraceRun* run = trace.defaultRun();
    if (run == nullptr) return Error(ErrorCode::usage, "the trace holds no run").at(trace.path());
    std::string_view rest = text;
    if (rest.size() > 2 && rest[0] == 'r') {
        const size_t colon = rest.find(':');
        if (const auto number = colon == std::string_view::npos ? std::nullopt : wholeNumber(rest.substr(1, colon - 1))) {
            run = trace.findRun(*number);
            if (run == nullptr) return Error(ErrorCode::usage, "no run " + std::to_string(*number)).at(text);
            rest = rest.substr(colon + 1);
        }
    }
    // In the loop around a model: which call it was is no part of an operator's name, and what lies behind is the loop's or the model's.
    if (rest.starts_with(std::string(kHostLoop) + "@") && rest.find('/') != std::string_view::npos) {
        rest = rest.substr(rest.find('/') + 1);
        const std::string inLoop = std::string(kHostGraph) + "/" + std::string(kHostLoop) + ":body/" + std::string(rest);
        if (Result<RecordedPlace> place = ModelNames(trace.database(), run->model).find(inLoop); place.ok()) return place;
    }
    return ModelNames(trace.database(), run->model).find(rest);
}

Result<int64_t> findCall(const TraceReader& trace, std::string_view text)
{
    if (const std::optional<int64_t> id = wholeNumber(text)) return *id;
    LS_TRY(const std::vector<Choice> loops, choices(trace, kLoops));
    for (const Choice& choice : loops)
        if (choice.name == text || text.ends_with("/" + choice.name)) return choice.id;
    LS_TRY(const RecordedPlace place, findPlace(trace, text));
    LS_TRY(Statement s, trace.database().prepare("SELECT id FROM call WHERE op = ? ORDER BY role <> 'loop', id"));
    s.bind(1, place.op);
    LS_TRY(const bool hasRow, s.step());
    if (!hasRow)
        return Error(ErrorCode::usage, "'" + std::string(text) + "' enters no graph").at("query").expected("a loop or branch operator");
    return s.integer(0);
}

Result<int64_t> findLoop(const TraceReader& trace, std::string_view text)
{
    LS_TRY(const int64_t call, findCall(trace, text));
    LS_TRY(const std::vector<Choice> loops, choices(trace, kLoops));
    const auto isIt = [call](const Choice& choice) { return choice.id == call; };
    if (std::any_of(loops.begin(), loops.end(), isIt)) return call;
    std::vector<std::string> names;
    for (const Choice& loop : loops) names.push_back(loop.name);
    return Error(ErrorCode::usage, "'" + std::string(text) + "' is no loop")
        .at("query")
        .expected(names.empty() ? "a loop; the model has none" : "one of " + listOf(names));
}

Result<int64_t> findBranch(const TraceReader& trace, std::string_view text)
{
    LS_TRY(const RecordedPlace place, findPlace(trace, text));
    LS_TRY(const std::vector<Choice> branches, choices(trace, kBranches));
    const auto isIt = [&](const Choice& choice) { return choice.id == place.op; };
    if (std::any_of(branches.begin(), branches.end(), isIt)) return place.op;
    std::vector<std::string> names;
    for (const Choice& branch : branches) names.push_back(branch.name);
    return Error(ErrorCode::usage, "'" + std::string(text) + "' chooses no branch")
        .at("query")
        .expected(names.empty() ? "an operator that does; the model has none" : "one of " + listOf(names));
}

Result<int64_t> onlyLoop(const TraceReader& trace)
{
    LS_TRY(const std::vector<Choice> found, choices(trace, kLoops));
    return onlyOne(found, "loop", "--loop", trace.path());
}

Result<int64_t> onlyBranch(const TraceReader& trace)
{
    LS_TRY(const std::vector<Choice> found, choices(trace, kBranches));
    return onlyOne(found, "operator that chooses a branch", "--op", trace.path());
}

} // namespace loopscope
