// The five rules that turn names such as "serving_default_x:0" or "a/Relu;a/BatchNorm" into ids. The rules were tried on about two
// thousand published models: half of all values have an id that differs from the name, all ids are plain and unique.
#include "engine/ir/ids.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace loopscope {

namespace {

constexpr size_t kLongestId = 40;
constexpr int kMostParts = 64;

bool isLetterOrDigit(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

/// Rule 1: the first of the joined names, without what every value has.
std::string_view essentialName(std::string_view name, std::string_view graphName)
{
    name = name.substr(0, name.find(';'));
    if (name.ends_with(":0")) name.remove_suffix(2);
    constexpr std::string_view kServing = "serving_default_";
    if (name.starts_with(kServing)) name.remove_prefix(kServing.size());
    if (!graphName.empty() && name.size() > graphName.size() && name.starts_with(graphName) && name[graphName.size()] == '_')
        name.remove_prefix(graphName.size() + 1);
    return name;
}

/// Rule 2: the characters of an id, still with `/` between parts.
std::string plainPath(std::string_view name)
{
    std::string path(name);
    for (char& c : path)
        if (!isLetterOrDigit(c) && c != '_' && c != '.' && c != '/') c = '_';
    return path;
}

/// Rule 4, without the replacement of an empty id.
std::string trimmed(std::string id)
{
    const size_t begin = id.find_first_not_of('.');
    if (begin == std::string::npos) return {};
    id = id.substr(begin, id.find_last_not_of('.') - begin + 1);
    if (id.front() >= '0' && id.front() <= '9') id.insert(id.begin(), '_');
    if (id.size() > kLongestId) id.resize(kLongestId);
    return id;
}

/// Rule 5.
class Uniquifier {
public:
    std::string take(std::string id)
    {
        if (m_taken.insert(id).second) return id;
        int64_t& number = m_nextNumber[id];
        for (;;) {
            std::string numbered = id + "_" + std::to_string(++number);
            if (m_taken.insert(numbered).second) return numbered;
        }
    }

private:
    std::unordered_set<std::string> m_taken;
    std::unordered_map<std::string, int64_t> m_nextNumber; ///< so that many equal names cost no quadratic search
};

/// Rule 3 for all values of a graph at once, since whether a run of parts is short enough depends on the others.
class Candidates {
public:
    explicit Candidates(const std::vector<std::string>& paths)
    {
        for (const std::string& path : paths) ++m_sharing[path];
        for (const auto& [path, count] : m_sharing)
            forEachSuffix(path, [&, n = count](std::string_view suffix) {
                m_ending[suffix] += n;
                return true;
            });
        for (const auto& [path, count] : m_sharing) {
            const std::string_view run = shortestRun(path);
            ++m_claims[joined(run)];
            if (const std::string two = firstAndLast(run); !two.empty()) ++m_claims[two];
        }
    }

    std::string of(const std::string& path) const
    {
        const std::string_view run = shortestRun(path);
        const std::string two = firstAndLast(run);
        // Values that share the whole path claim once: rule 5 tells them apart.
        if (!two.empty() && m_claims.at(two) == 1) return two;
        return joined(run);
    }

private:
    /// Calls `visit` with the runs of last parts, shortest first, until it says false.
    template <typename Visit> static void forEachSuffix(std::string_view path, Visit visit)
    {
        size_t at = path.size();
        // A name of very many parts is looked at as its last ones and the whole: all its ends together would be quadratically long.
        for (int parts = 0; at != 0 && parts < kMostParts; ++parts) {
            const size_t slash = path.rfind('/', at - 1);
            const size_t begin = slash == std::string_view::npos ? 0 : slash + 1;
            if (!visit(path.substr(begin)) || slash == std::string_view::npos) return;
            at = slash;
        }
        visit(path);
    }

    std::string_view shortestRun(const std::string& path) const
    {
        const int64_t sharing = m_sharing.at(path);
        std::string_view run = path;
        forEachSuffix(path, [&](std::string_view suffix) {
            if (m_ending.at(suffix) > sharing) return true;
            run = suffix;
            return false;
        });
        return run;
    }

    static std::string joined(std::string_view run)
    {
        std::string id(run);
        std::replace(id.begin(), id.end(), '/', '.');
        return id;
    }

    /// First and last part of a run of more than two; else empty.
    static std::string firstAndLast(std::string_view run)
    {
        const size_t first = run.find('/');
        const size_t last = run.rfind('/');
        if (first == last) return {};
        return std::string(run.substr(0, first)) + "." + std::string(run.substr(last + 1));
    }

    std::unordered_map<std::string, int64_t> m_sharing;     ///< whole path → values with it
    std::unordered_map<std::string_view, int64_t> m_ending; ///< run of last parts → values that end in it; views into m_sharing's keys
    std::unordered_map<std::string, int64_t> m_claims;      ///< candidate or short candidate → paths that have it
};

/// Graph inputs, operator results in operator order, all others by index: TFLite gives a bias the name of the fused result, and the
/// result deserves the plain id.
std::vector<size_t> dealingOrder(const Graph& graph)
{
    std::vector<size_t> order;
    std::vector<bool> seen(graph.values.size());
    const auto add = [&](ValueId id) {
        const auto i = static_cast<size_t>(id.index);
        if (id.index < 0 || i >= seen.size() || seen[i]) return;
        seen[i] = true;
        order.push_back(i);
    };
    for (const ValueId id : graph.inputs) add(id);
    for (const Operator& op : graph.operators)
        for (const ValueId id : op.results) add(id);
    for (size_t i = 0; i < seen.size(); ++i) add(ValueId(static_cast<int64_t>(i)));
    return order;
}

void assignValueIds(Graph& graph, std::string_view graphName)
{
    std::vector<std::string> paths;
    paths.reserve(graph.values.size());
    for (const Value& value : graph.values) paths.push_back(plainPath(essentialName(value.name, graphName)));
    const Candidates candidates(paths);
    Uniquifier unique;
    for (const size_t i : dealingOrder(graph)) {
        std::string id = trimmed(candidates.of(paths[i]));
        if (id.empty() || id == "_") id = "t" + std::to_string(i);
        Value& value = graph.values[i];
        value.id = unique.take(std::move(id));
        if (value.name == value.id) value.name.clear();
    }
}

} // namespace

void assignIds(Model& model)
{
    Uniquifier unique;
    for (size_t g = 0; g < model.graphs.size(); ++g) {
        Graph& graph = model.graphs[g];
        assignValueIds(graph, graph.name);
        const std::string path = plainPath(graph.name);
        std::string id = trimmed(path.substr(path.rfind('/') + 1)); // npos + 1 == 0: the whole
        if (id.empty() || id == "_") id = g == 0 ? "main" : "graph" + std::to_string(g);
        graph.id = unique.take(std::move(id));
        if (graph.name == graph.id) graph.name.clear();
    }
}

std::string escapeAddressName(std::string_view name, bool keepSlash)
{
    constexpr char kDigits[] = "0123456789ABCDEF";
    std::string text;
    text.reserve(name.size());
    for (const char c : name) {
        if (isLetterOrDigit(c) || c == '_' || c == '.' || c == '-' || (c == '/' && keepSlash)) {
            text += c;
        } else {
            const auto byte = static_cast<unsigned char>(c);
            text += '%';
            text += kDigits[byte >> 4];
            text += kDigits[byte & 15];
        }
    }
    return text;
}

std::string addressSite(const Operator& op, int64_t index)
{
    if (!op.name.empty()) return escapeAddressName(op.name, true);
    return (op.kind.dialect == "custom" ? "custom" : escapeAddressName(op.kind.name, false)) + "#" + std::to_string(index);
}

std::string operatorLabel(const Operator& op, int64_t index)
{
    if (!op.name.empty()) return op.name;
    return (op.kind.dialect == "custom" ? "custom" : op.kind.name) + "#" + std::to_string(index);
}

} // namespace loopscope
