#include "engine/debug/graph_diff/structure_pairing.h"

#include <algorithm>

namespace loopscope {

namespace {

constexpr size_t kMostCells = 4'000'000; ///< of the table of one stretch; larger ones stay unpaired

bool isAlike(const Graph& here, const Operator& a, const Graph& there, const Operator& b)
{
    if (!(a.kind == b.kind) || a.results.size() != b.results.size() || a.inputs.size() != b.inputs.size()) return false;
    for (size_t k = 0; k < a.results.size(); ++k) {
        if (a.results[k].valid() != b.results[k].valid()) return false;
        if (!a.results[k].valid()) continue;
        const Shape &x = here.value(a.results[k]).type.shape, &y = there.value(b.results[k]).type.shape;
        if (x.isStatic() && y.isStatic() && !(x == y)) return false;
    }
    return true;
}

/// The longest common part of two stretches of operators.
class Stretch {
public:
    Stretch(const Graph& here, const Graph& there, const std::vector<int>& own, const std::vector<int>& others)
        : m_here(here),
          m_there(there),
          m_own(own),
          m_others(others),
          m_width(others.size() + 1),
          m_longest((own.size() + 1) * m_width, 0)
    {
        for (size_t i = own.size(); i-- > 0;)
            for (size_t k = others.size(); k-- > 0;)
                at(i, k) = std::max({at(i + 1, k), at(i, k + 1), alike(i, k) ? at(i + 1, k + 1) + 1 : 0});
    }

    void collect(std::vector<std::pair<OperatorId, OperatorId>>& pairs)
    {
        if (2 * static_cast<size_t>(at(0, 0)) < std::min(m_own.size(), m_others.size())) return;
        size_t i = 0, k = 0;
        while (i < m_own.size() && k < m_others.size()) {
            if (alike(i, k) && at(i, k) == at(i + 1, k + 1) + 1) pairs.emplace_back(OperatorId(m_own[i++]), OperatorId(m_others[k++]));
            else if (at(i + 1, k) >= at(i, k + 1)) ++i;
            else ++k;
        }
    }

private:
    int& at(size_t i, size_t k) { return m_longest[i * m_width + k]; }
    bool alike(size_t i, size_t k) const
    {
        return isAlike(m_here, m_here.operators[static_cast<size_t>(m_own[i])], m_there,
                       m_there.operators[static_cast<size_t>(m_others[k])]);
    }

    const Graph &m_here, &m_there;
    const std::vector<int>&m_own, &m_others;
    size_t m_width;
    std::vector<int> m_longest; ///< of what begins at both places
};

} // namespace

std::vector<size_t> longestRise(const std::vector<int>& numbers)
{
    std::vector<size_t> ends; // of the rises of each length, the one that ends lowest
    std::vector<size_t> before(numbers.size(), numbers.size());
    for (size_t i = 0; i < numbers.size(); ++i) {
        if (numbers[i] < 0) continue;
        const auto place = std::ranges::lower_bound(ends, numbers[i], {}, [&](size_t at) { return numbers[at]; });
        if (place != ends.begin()) before[i] = *(place - 1);
        if (place == ends.end()) ends.push_back(i);
        else *place = i;
    }
    std::vector<size_t> rise;
    for (size_t i = ends.empty() ? numbers.size() : ends.back(); i < numbers.size(); i = before[i]) rise.push_back(i);
    std::ranges::reverse(rise);
    return rise;
}

std::vector<std::pair<OperatorId, OperatorId>> pairByStructure(const Graph& here, const Graph& there, const std::vector<int>& partners,
                                                               const std::vector<char>& taken)
{
    std::vector<std::pair<OperatorId, OperatorId>> pairs;
    std::vector<size_t> fixed = longestRise(partners);
    fixed.push_back(here.operators.size());
    size_t own = 0, other = 0;
    for (const size_t next : fixed) {
        const size_t until = next < partners.size() ? static_cast<size_t>(partners[next]) : there.operators.size();
        std::vector<int> left, right;
        for (size_t i = own; i < next; ++i)
            if (partners[i] < 0) left.push_back(static_cast<int>(i));
        for (size_t i = other; i < until; ++i)
            if (taken[i] == 0) right.push_back(static_cast<int>(i));
        if (!left.empty() && !right.empty() && (left.size() + 1) * (right.size() + 1) <= kMostCells)
            Stretch(here, there, left, right).collect(pairs);
        own = next + 1;
        other = until + 1;
    }
    return pairs;
}

} // namespace loopscope
