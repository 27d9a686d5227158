#include "engine/debug/graph_diff/scopes.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace loopscope {

namespace {

constexpr int kDeepest = 16; ///< lines; names may go on

struct Node {
    std::string name;
    ScopeSummary counts;
    int64_t own = 0; ///< operators that stand in no inner scope
    std::vector<size_t> children;
};

class ScopeTree {
public:
    explicit ScopeTree(std::span<const ScopedOperator> operators)
    {
        m_nodes.emplace_back();
        for (const ScopedOperator& op : operators) add(op);
    }

    std::vector<ScopeSummary> lines()
    {
        if (m_nodes.size() > 1) show(0, 0);
        return std::move(m_lines);
    }

private:
    void add(const ScopedOperator& op)
    {
        size_t at = 0;
        count(at, op.state);
        std::string_view rest = op.name;
        for (size_t end = rest.find('/'); end != std::string_view::npos; end = rest.find('/')) {
            const std::string_view scope = rest.substr(0, end);
            rest.remove_prefix(end + 1);
            if (scope.empty()) continue;
            const auto [entry, isNew] = m_byName.try_emplace({at, std::string(scope)}, m_nodes.size());
            if (isNew) {
                m_nodes[at].children.push_back(m_nodes.size());
                m_nodes.emplace_back().name = scope;
            }
            at = entry->second;
            count(at, op.state);
        }
        ++m_nodes[at].own;
    }

    void count(size_t at, ScopeState state)
    {
        ScopeSummary& counts = m_nodes[at].counts;
        ++counts.operators;
        counts.differing += state == ScopeState::differs ? 1 : 0;
        counts.onlyHere += state == ScopeState::onlyHere ? 1 : 0;
        counts.onlyThere += state == ScopeState::onlyThere ? 1 : 0;
    }

    /// The line of a scope, and those of what is in it where something differs.
    void show(size_t at, int depth)
    {
        std::string name = m_nodes[at].name;
        while (m_nodes[at].own == 0 && m_nodes[at].children.size() == 1) { // scopes that hold one scope are one line
            at = m_nodes[at].children.front();
            name += (name.empty() ? "" : "/") + m_nodes[at].name;
        }
        const Node& node = m_nodes[at];
        const bool isWhole = name.empty(); // the model itself, which the line above the table tells
        if (!isWhole) line(node.counts, std::move(name), depth);
        if (node.counts.isAlike() || depth >= kDeepest) return;
        for (size_t k = 0; k < node.children.size(); ++k) {
            size_t end = k;
            while (end < node.children.size() && m_nodes[node.children[end]].counts.isAlike()) ++end;
            if (end > k + 1) {
                together(node, k, end, depth + (isWhole ? 0 : 1));
                k = end - 1;
            } else {
                show(node.children[k], depth + (isWhole ? 0 : 1));
            }
        }
    }

    /// Several that follow each other and are alike.
    void together(const Node& node, size_t from, size_t end, int depth)
    {
        ScopeSummary all;
        for (size_t k = from; k < end; ++k) all.operators += m_nodes[node.children[k]].counts.operators;
        line(all, m_nodes[node.children[from]].name + " … " + m_nodes[node.children[end - 1]].name, depth);
    }

    void line(ScopeSummary counts, std::string name, int depth)
    {
        counts.scope = std::move(name);
        counts.depth = depth;
        m_lines.push_back(std::move(counts));
    }

    std::vector<Node> m_nodes;
    std::map<std::pair<size_t, std::string>, size_t> m_byName;
    std::vector<ScopeSummary> m_lines;
};

} // namespace

std::vector<ScopeSummary> summarizeScopes(std::span<const ScopedOperator> operators) { return ScopeTree(operators).lines(); }

} // namespace loopscope
