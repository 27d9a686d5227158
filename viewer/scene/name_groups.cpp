// Groups from names: a tree of scopes, cut down to what helps: no scope that holds nearly everything, none with a single operator.
#include "viewer/layout/index.h"
#include "viewer/scene/op_groups.h"

#include <algorithm>
#include <map>
#include <set>

namespace loopscope::viewer {

namespace {

constexpr size_t kWorthGrouping = 60; ///< operators of one level
constexpr size_t kWorthNesting = 16;  ///< operators of a group that gets groups of its own
constexpr double kDominant = 0.3;     ///< share of a level; a scope that holds more of it is dissolved
constexpr size_t kDeepest = 24;       ///< scopes of a name
constexpr size_t kShortestRun = 3;    ///< operators without scope that fold together
constexpr size_t kShortestRest = 4;   ///< what is left of a dissolved scope, to be a group of its name

bool isDigits(std::string_view text) { return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos; }

/// "block_13_expand_relu" → "block_13"; none if nothing follows the number. What frameworks number are their blocks.
std::string_view numberedHead(std::string_view name)
{
    for (size_t bar = name.find('_'); bar != std::string_view::npos; bar = name.find('_', bar + 1)) {
        const size_t end = name.find('_', bar + 1);
        if (end == std::string_view::npos) return {};
        if (isDigits(name.substr(bar + 1, end - bar - 1))) return name.substr(0, end);
    }
    return {};
}

/// "expanded_conv_depthwise_relu" → "expanded_conv"; none of "up_sampling2d_1": that is the second layer of its kind.
std::string_view twoWords(std::string_view name)
{
    const size_t first = name.find('_');
    if (first == std::string_view::npos) return {};
    const size_t second = name.find('_', first + 1);
    if (second == std::string_view::npos || second == first + 1 || isDigits(name.substr(second + 1))) return {};
    return name.substr(0, second);
}

struct Scope {
    std::string name;
    std::map<std::string, int, std::less<>> children;
    std::vector<int> order; ///< children as they were met
    std::vector<int> ops;   ///< directly inside
    size_t size = 0;        ///< all inside
};

class Namer {
public:
    Namer(const Graph& graph, OpGroups& groups, int parent, const std::vector<int>& ops)
        : m_graph(graph),
          m_groups(groups),
          m_parent(parent),
          m_ops(ops)
    {
        m_exact = !ops.empty() && !graph.operators[at(ops.front())].name.empty();
        if (parent >= 0) m_prefix = groups.groups[at(parent)].scope;
    }

    void run()
    {
        m_scopes.emplace_back();
        for (const int op : m_ops) insert(op);
        joinWords();
        measure();
        emit(0, m_parent, "", m_ops.size());
        foldRuns();
    }

private:
    std::string_view nameOf(int op) const
    {
        const Operator& o = m_graph.operators[at(op)];
        std::string_view name = o.name;
        if (name.empty() && !o.results.empty() && o.results.front().valid()) name = m_graph.value(o.results.front()).displayName();
        name = name.substr(0, name.find(';')); // names of what was fused follow
        for (const std::string_view wrapper : {"StatefulPartitionedCall/", "PartitionedCall/"})
            while (name.starts_with(wrapper)) name.remove_prefix(wrapper.size());
        if (!m_prefix.empty() && name.size() > m_prefix.size() && name.starts_with(m_prefix) && name[m_prefix.size()] == '/')
            name.remove_prefix(m_prefix.size() + 1);
        return name;
    }

    int child(int scope, std::string_view name)
    {
        const auto found = m_scopes[at(scope)].children.find(name);
        if (found != m_scopes[at(scope)].children.end()) return found->second;
        const int made = static_cast<int>(m_scopes.size());
        m_scopes.emplace_back().name = std::string(name);
        m_scopes[at(scope)].children.emplace(std::string(name), made);
        m_scopes[at(scope)].order.push_back(made);
        return made;
    }

    void insert(int op)
    {
        std::string_view name = nameOf(op);
        int scope = 0;
        size_t depth = 0;
        for (size_t slash = name.find('/'); slash != std::string_view::npos && depth < kDeepest; slash = name.find('/'), ++depth) {
            const std::string_view part = name.substr(0, slash);
            name.remove_prefix(slash + 1);
            if (part.empty()) continue;
            const std::string_view head = m_exact ? std::string_view() : numberedHead(part);
            if (!head.empty()) {
                scope = child(scope, head);
                scope = child(scope, part.substr(head.size() + 1));
            } else {
                scope = child(scope, part);
            }
        }
        m_scopes[at(scope)].ops.push_back(op);
    }

    /// Siblings that begin with the same two words share a scope.
    void joinWords()
    {
        if (m_exact) return;
        const size_t count = m_scopes.size();
        for (size_t s = 0; s < count; ++s) {
            std::map<std::string, std::vector<int>, std::less<>> byWords;
            for (const int c : m_scopes[s].order)
                if (const std::string_view words = twoWords(m_scopes[at(c)].name); !words.empty()) byWords[std::string(words)].push_back(c);
            for (const auto& [words, members] : byWords) {
                if (members.size() < 2 || members.size() == m_scopes[s].order.size()) continue;
                const int joined = child(static_cast<int>(s), words);
                for (const int c : members) {
                    if (c == joined) continue;
                    std::vector<int>& order = m_scopes[s].order;
                    order.erase(std::find(order.begin(), order.end(), c));
                    m_scopes[s].children.erase(m_scopes[at(c)].name);
                    m_scopes[at(c)].name.erase(0, std::min(words.size() + 1, m_scopes[at(c)].name.size()));
                    m_scopes[at(joined)].children.emplace(m_scopes[at(c)].name, c);
                    m_scopes[at(joined)].order.push_back(c);
                }
            }
        }
    }

    void measure()
    {
        // Children stand behind their parents but for joined ones: by depth, deepest first.
        std::vector<int> order{0};
        for (size_t k = 0; k < order.size(); ++k)
            for (const int c : m_scopes[at(order[k])].order) order.push_back(c);
        for (auto s = order.rbegin(); s != order.rend(); ++s) {
            Scope& scope = m_scopes[at(*s)];
            scope.size = scope.ops.size();
            for (const int c : scope.order) scope.size += m_scopes[at(c)].size;
        }
    }

    /// Names have at most 2 × kDeepest scopes: recursion ends.
    void emit(int index, int parent, const std::string& path, size_t level)
    {
        for (const int op : m_scopes[at(index)].ops) m_groups.groupOf[at(op)] = parent;
        for (const int c : m_scopes[at(index)].order) {
            const Scope& scope = m_scopes[at(c)];
            const std::string inner = path.empty() ? scope.name : path + "/" + scope.name;
            const auto inside =
                static_cast<size_t>(std::count_if(scope.order.begin(), scope.order.end(), [&](int k) { return m_scopes[at(k)].size > 1; }));
            const bool dissolve =
                scope.size < 2 || (static_cast<double>(scope.size) > kDominant * static_cast<double>(level) && inside >= 1);
            // A scope around a single other one adds nothing.
            const bool wraps = scope.ops.empty() && scope.order.size() == 1 && inside == 1;
            if (dissolve || wraps) {
                emit(c, parent, inner, level);
                if (dissolve && scope.size > 1) keepRest(c, parent, inner);
                continue;
            }
            const int made = add(scope.name, inner, parent);
            if (scope.size >= kWorthNesting && inside >= 2) emit(c, made, inner, scope.size);
            else take(c, made);
        }
    }

    int add(const std::string& name, const std::string& path, int parent)
    {
        OpGroup group;
        group.key = m_prefix.empty() ? path : m_prefix + "/" + path;
        group.name = name;
        group.note = m_exact ? "" : "from tensor names";
        group.scope = m_exact ? group.key : "";
        group.parent = parent;
        m_groups.groups.push_back(std::move(group));
        return static_cast<int>(m_groups.groups.size()) - 1;
    }

    /// What a dissolved scope held beside other scopes is a group of its name.
    void keepRest(int index, int parent, const std::string& path)
    {
        std::vector<int> rest = m_scopes[at(index)].ops;
        for (const int c : m_scopes[at(index)].order)
            if (m_scopes[at(c)].size == 1) collect(c, rest);
        if (rest.size() < kShortestRest) return;
        const int made = add(m_scopes[at(index)].name, path, parent);
        for (const int op : rest) m_groups.groupOf[at(op)] = made;
    }

    void collect(int index, std::vector<int>& ops) const
    {
        ops.insert(ops.end(), m_scopes[at(index)].ops.begin(), m_scopes[at(index)].ops.end());
        for (const int c : m_scopes[at(index)].order) collect(c, ops);
    }

    void take(int index, int group)
    {
        for (const int op : m_scopes[at(index)].ops) m_groups.groupOf[at(op)] = group;
        for (const int c : m_scopes[at(index)].order) take(c, group);
    }

    /// Neighbours in the file that no scope holds fold together where there are many of them.
    void foldRuns()
    {
        size_t loose = 0;
        for (const int op : m_ops) loose += m_groups.groupOf[at(op)] == m_parent ? 1 : 0;
        // Where hardly anything has a scope, segments say more.
        if (loose < kShortestRun || 2 * loose > m_ops.size() || m_exact) return;
        for (size_t k = 0; k < m_ops.size();) {
            size_t end = k;
            const auto isLoose = [&](size_t i) { return m_groups.groupOf[at(m_ops[i])] == m_parent && !hasCallees(m_ops[i]); };
            while (end < m_ops.size() && isLoose(end) && end - k < 2 * kWorthGrouping && (end == k || m_ops[end] == m_ops[end - 1] + 1))
                ++end;
            if (end - k >= kShortestRun) {
                OpGroup group;
                group.name = "#" + std::to_string(m_ops[k]) + " … #" + std::to_string(m_ops[end - 1]);
                group.key = "#" + std::to_string(m_ops[k]);
                group.note = "neighbours in the file";
                group.parent = m_parent;
                const int made = static_cast<int>(m_groups.groups.size());
                m_groups.groups.push_back(std::move(group));
                for (size_t i = k; i < end; ++i) m_groups.groupOf[at(m_ops[i])] = made;
            }
            k = std::max(end, k + 1);
        }
    }

    bool hasCallees(int op) const { return !calleesOf(m_graph.operators[at(op)]).empty(); }

    const Graph& m_graph;
    OpGroups& m_groups;
    int m_parent;
    const std::vector<int>& m_ops;
    std::string m_prefix;
    bool m_exact = false;
    std::vector<Scope> m_scopes;
};

/// Makes data flow one way between the groups of each level.
class Splitter {
public:
    Splitter(const Graph& graph, OpGroups& groups, const DataOrder& order, size_t firstNamed)
        : m_graph(graph),
          m_groups(groups),
          m_order(order),
          m_firstNamed(firstNamed)
    {
    }

    void run()
    {
        const size_t count = m_groups.groups.size();
        std::vector<std::vector<int>> inside(count + 1);
        std::vector<int> children(count + 1, 0);
        for (const OpGroup& group : m_groups.groups) ++children[at(group.parent + 1)];
        for (size_t o = 0; o < m_graph.operators.size(); ++o) {
            inside[0].push_back(static_cast<int>(o));
            for (int g = m_groups.groupOf[o]; g >= 0; g = m_groups.groups[at(g)].parent)
                if (children[at(g) + 1] > 0) inside[at(g) + 1].push_back(static_cast<int>(o));
        }
        m_itemOfOp.assign(m_graph.operators.size(), -1);
        for (size_t level = 0; level <= count; ++level) {
            if (children[level] == 0) continue;
            // What an outer level took away is not inside any more.
            std::vector<int>& ops = inside[level];
            ops.erase(std::remove_if(ops.begin(), ops.end(), [&](int op) { return itemOf(op, static_cast<int>(level) - 1) < 0; }),
                      ops.end());
            m_local.assign(m_groups.groups.size() + m_graph.operators.size(), -1);
            split(static_cast<int>(level) - 1, ops);
        }
    }

private:
    /// The item of `level` that holds an operator: a group, or count of groups + operator; −1: not in this level.
    int itemOf(int op, int level) const
    {
        int item = static_cast<int>(m_groups.groups.size()) + op;
        int g = m_groups.groupOf[at(op)];
        while (g != level) {
            if (g < 0) return -1;
            item = g;
            g = m_groups.groups[at(g)].parent;
        }
        return item;
    }

    /// `inside`: the operators in a level, however deep.
    void split(int level, const std::vector<int>& inside)
    {
        // Strongly connected items (Tarjan, with a stack of our own). Items are numbered as they are met.
        const auto groups = static_cast<int>(m_groups.groups.size());
        std::vector<int> item(inside.size()), original;
        for (size_t k = 0; k < inside.size(); ++k) {
            const int global = itemOf(inside[k], level);
            int& number = m_local[global < groups ? at(global) : m_local.size() - m_graph.operators.size() + at(inside[k])];
            if (number < 0) {
                number = static_cast<int>(original.size());
                original.push_back(global);
            }
            item[k] = number;
            m_itemOfOp[at(inside[k])] = number;
        }
        const size_t items = original.size();
        std::vector<std::vector<int>> out(items);
        for (size_t k = 0; k < inside.size(); ++k)
            for (const int s : m_order.successors[at(inside[k])])
                if (m_itemOfOp[at(s)] >= 0 && m_itemOfOp[at(s)] != item[k]) out[at(item[k])].push_back(m_itemOfOp[at(s)]);
        for (const int op : inside) m_itemOfOp[at(op)] = -1;
        std::vector<int> number(items, -1), low(items, 0), component(items, -1), stack;
        std::vector<std::pair<int, size_t>> calls;
        int counter = 0, components = 0;
        std::vector<int> sizes;
        for (size_t root = 0; root < items; ++root) {
            if (number[root] >= 0) continue;
            calls.emplace_back(static_cast<int>(root), 0);
            while (!calls.empty()) {
                const int v = calls.back().first;
                if (calls.back().second == 0) {
                    number[at(v)] = low[at(v)] = counter++;
                    stack.push_back(v);
                }
                if (calls.back().second < out[at(v)].size()) {
                    const int w = out[at(v)][calls.back().second++];
                    if (number[at(w)] < 0) calls.emplace_back(w, 0);
                    else if (component[at(w)] < 0) low[at(v)] = std::min(low[at(v)], number[at(w)]);
                    continue;
                }
                if (low[at(v)] == number[at(v)]) {
                    int size = 0;
                    for (int w = -1; w != v; ++size) {
                        w = stack.back();
                        stack.pop_back();
                        component[at(w)] = components;
                    }
                    sizes.push_back(size);
                    ++components;
                }
                calls.pop_back();
                if (!calls.empty()) low[at(calls.back().first)] = std::min(low[at(calls.back().first)], low[at(v)]);
            }
        }
        // Operators of such a component in the order of data; a group goes on while no other item of the component comes between.
        std::vector<std::vector<std::pair<int, int>>> ops(at(components)); // operator, item
        for (size_t k = 0; k < inside.size(); ++k)
            if (const int c = component[at(item[k])]; sizes[at(c)] > 1) ops[at(c)].emplace_back(inside[k], original[at(item[k])]);
        for (std::vector<std::pair<int, int>>& sequence : ops) {
            std::stable_sort(sequence.begin(), sequence.end(),
                             [&](const auto& a, const auto& b) { return m_order.position[at(a.first)] < m_order.position[at(b.first)]; });
            std::map<int, int> parts;
            for (size_t k = 0; k < sequence.size();) {
                size_t end = k;
                const int group = sequence[k].second;
                while (end < sequence.size() && sequence[end].second == group) ++end;
                if (group < groups && at(group) >= m_firstNamed) {
                    const int part = ++parts[group];
                    int target = group;
                    if (part > 1 && end - k >= 2) {
                        OpGroup copy = m_groups.groups[at(group)];
                        copy.key += ":" + std::to_string(part);
                        copy.name += " (" + std::to_string(part) + ")";
                        target = static_cast<int>(m_groups.groups.size());
                        m_groups.groups.push_back(std::move(copy));
                    }
                    if (end - k < 2) target = level;
                    for (size_t i = k; i < end; ++i) m_groups.groupOf[at(sequence[i].first)] = target; // groups inside are given up
                }
                k = end;
            }
        }
    }

    const Graph& m_graph;
    OpGroups& m_groups;
    const DataOrder& m_order;
    size_t m_firstNamed;
    std::vector<int> m_local;    ///< item → its number in the level at hand
    std::vector<int> m_itemOfOp; ///< the same for operators of the level at hand; −1: elsewhere
};

/// Groups that lost their operators go; members are collected.
void tidy(OpGroups& groups, size_t operators)
{
    std::vector<size_t> size(groups.groups.size(), 0);
    for (size_t o = 0; o < operators; ++o)
        for (int g = groups.groupOf[o]; g >= 0; g = groups.groups[at(g)].parent) ++size[at(g)];
    std::vector<int> renumbered(groups.groups.size(), -1);
    std::vector<OpGroup> kept;
    std::set<std::string> keys;
    std::vector<std::pair<int, size_t>> order; // depth, group: segments stand behind what they hold
    for (size_t g = 0; g < groups.groups.size(); ++g) {
        int depth = 0;
        for (int outer = groups.groups[g].parent; outer >= 0; outer = groups.groups[at(outer)].parent) ++depth;
        order.emplace_back(depth, g);
    }
    std::ranges::sort(order);
    for (const auto& [depth, g] : order) {
        OpGroup& group = groups.groups[g];
        const int parent = group.parent < 0 ? -1 : renumbered[at(group.parent)];
        if (size[g] == 0) continue;
        if (group.kind == RegionKind::group && size[g] < 2) {
            renumbered[g] = parent;
            continue;
        }
        renumbered[g] = static_cast<int>(kept.size());
        group.parent = parent;
        group.members.clear();
        // The same scope may be met in several frames.
        for (int k = 2; !keys.insert(group.key).second; ++k) {
            if (const size_t colon = group.key.rfind(':'); k > 2 && colon != std::string::npos) group.key.resize(colon);
            group.key += ":" + std::to_string(k);
        }
        kept.push_back(std::move(group));
    }
    groups.groups = std::move(kept);
    for (size_t o = 0; o < operators; ++o) {
        if (groups.groupOf[o] >= 0) groups.groupOf[o] = renumbered[at(groups.groupOf[o])];
        for (int g = groups.groupOf[o]; g >= 0; g = groups.groups[at(g)].parent)
            groups.groups[at(g)].members.emplace_back(static_cast<int64_t>(o));
    }
}

} // namespace

void addNameGroups(const Graph& graph, OpGroups& groups)
{
    groups.groupOf.resize(graph.operators.size(), -1);
    const size_t firstNamed = groups.groups.size();
    std::vector<std::vector<int>> direct(firstNamed + 1);
    for (size_t o = 0; o < graph.operators.size(); ++o) direct[at(groups.groupOf[o] + 1)].push_back(static_cast<int>(o));
    for (size_t level = 0; level < direct.size(); ++level)
        if (direct[level].size() > kWorthGrouping) Namer(graph, groups, static_cast<int>(level) - 1, direct[level]).run();
    if (graph.operators.size() <= kWorthGrouping) return;
    const DataOrder order = dataOrder(graph);
    if (groups.groups.size() > firstNamed) {
        Splitter(graph, groups, order, firstNamed).run();
        tidy(groups, graph.operators.size());
    }
    addSegments(graph, groups, order);
    tidy(groups, graph.operators.size());
}

std::string groupSuffix(const OpGroup& group) { return (group.kind == RegionKind::frame ? "/" : "//") + group.key; }

} // namespace loopscope::viewer
