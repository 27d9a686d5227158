// Groups where names do not help: what stands side by side is cut, in the order of data, into stretches of about equal length, where few
// values cross and where the picture that flows changes its size. So a graph without scopes is still a page of boxes.
#include "engine/ir/flow_role.h"
#include "viewer/layout/index.h"
#include "viewer/scene/op_groups.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>

namespace loopscope::viewer {

namespace {

constexpr size_t kMostItems = 32;       ///< of a level; more are cut into segments
constexpr size_t kMostCandidates = 400; ///< places at which one sequence may be cut
constexpr double kPerCrossing = 0.25;   ///< what a cut costs for each value that crosses it but one
constexpr double kMostCrossings = 6;
constexpr double kForNewSize = 0.4; ///< and what it gains where the size changes

/// Product of the dimensions between the first and the last: of pictures their size. −1: there is none.
int64_t extentOf(const Graph& graph, OperatorId op)
{
    const Operator& o = graph.op(op);
    if (o.results.empty() || !o.results.front().valid()) return -1;
    const Shape& shape = graph.value(o.results.front()).type.shape;
    if (shape.rank() < 3) return -1;
    int64_t extent = 1;
    for (int i = 1; i + 1 < shape.rank(); ++i) extent *= shape[i];
    return extent;
}

class Segmenter {
public:
    Segmenter(const Graph& graph, OpGroups& groups, const DataOrder& order)
        : m_graph(graph),
          m_groups(groups),
          m_order(order),
          m_itemOfOp(graph.operators.size(), -1)
    {
    }

    void run()
    {
        const size_t count = m_groups.groups.size();
        std::vector<std::vector<int>> inside(count + 1);
        std::vector<std::vector<int>> childrenOf(count + 1);
        for (size_t g = 0; g < count; ++g) childrenOf[at(m_groups.groups[g].parent + 1)].push_back(static_cast<int>(g));
        for (size_t o = 0; o < m_graph.operators.size(); ++o) {
            inside[0].push_back(static_cast<int>(o));
            for (int g = m_groups.groupOf[o]; g >= 0; g = m_groups.groups[at(g)].parent) inside[at(g) + 1].push_back(static_cast<int>(o));
        }
        for (size_t level = 0; level <= count; ++level) {
            size_t loose = 0;
            for (const int op : inside[level]) loose += m_groups.groupOf[at(op)] == static_cast<int>(level) - 1 ? 1 : 0;
            if (loose + childrenOf[level].size() > kMostItems) cutLevel(static_cast<int>(level) - 1, inside[level]);
        }
    }

private:
    struct Item {
        int group = -1;       ///< −1: a single operator
        std::vector<int> ops; ///< all inside, in file order
        double weight = 1;
        bool isFixed = false; ///< a frame, a conditional or a call: it stays where everybody sees it
        std::vector<int> next;
    };

    void cutLevel(int level, const std::vector<int>& inside)
    {
        // What stands side by side here.
        std::vector<Item> items;
        std::vector<int> itemOfGroup(m_groups.groups.size(), -1);
        for (const int op : inside) {
            int g = m_groups.groupOf[at(op)], top = -1;
            for (; g != level; g = m_groups.groups[at(g)].parent) top = g;
            int item = top >= 0 ? itemOfGroup[at(top)] : -1;
            if (item < 0) {
                item = static_cast<int>(items.size());
                Item& made = items.emplace_back();
                made.group = top;
                made.isFixed =
                    top >= 0 ? m_groups.groups[at(top)].kind != RegionKind::group : !calleesOf(m_graph.operators[at(op)]).empty();
                if (top >= 0) {
                    itemOfGroup[at(top)] = item;
                    made.weight = 2;
                }
            }
            items[at(item)].ops.push_back(op);
            m_itemOfOp[at(op)] = item;
        }
        for (size_t i = 0; i < items.size(); ++i)
            for (const int op : items[i].ops)
                for (const int s : m_order.successors[at(op)])
                    if (const int to = m_itemOfOp[at(s)]; to >= 0 && to != static_cast<int>(i)) items[i].next.push_back(to);
        for (const int op : inside) m_itemOfOp[at(op)] = -1;
        const std::vector<int> sequence = inOrder(items);
        double weight = 0;
        for (const Item& item : items) weight += item.weight;
        const double wanted = std::clamp(std::round(1.3 * std::sqrt(static_cast<double>(items.size()))), 12.0, 20.0);
        for (size_t k = 0; k < sequence.size();) {
            size_t end = k;
            while (end < sequence.size() && !items[at(sequence[end])].isFixed) ++end;
            cutSequence(level, items,
                        {sequence.begin() + static_cast<std::ptrdiff_t>(k), sequence.begin() + static_cast<std::ptrdiff_t>(end)},
                        weight / wanted);
            k = std::max(end, k + 1);
        }
    }

    /// An order in which data flows forward, near that of the file. Items on a cycle come last.
    static std::vector<int> inOrder(std::vector<Item>& items)
    {
        std::vector<int> waiting(items.size(), 0), sequence;
        for (Item& item : items) {
            std::ranges::sort(item.next);
            item.next.erase(std::unique(item.next.begin(), item.next.end()), item.next.end());
            for (const int to : item.next) ++waiting[at(to)];
        }
        using Entry = std::pair<int, int>; // last operator of the item, item
        std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
        for (size_t i = 0; i < items.size(); ++i)
            if (waiting[i] == 0) ready.emplace(items[i].ops.back(), static_cast<int>(i));
        while (!ready.empty()) {
            const int item = ready.top().second;
            ready.pop();
            sequence.push_back(item);
            for (const int to : items[at(item)].next)
                if (--waiting[at(to)] == 0) ready.emplace(items[at(to)].ops.back(), to);
        }
        for (size_t i = 0; i < items.size(); ++i)
            if (waiting[i] > 0) sequence.push_back(static_cast<int>(i));
        return sequence;
    }

    /// `length`: weight that a segment should have.
    void cutSequence(int level, const std::vector<Item>& items, const std::vector<int>& sequence, double length)
    {
        const size_t count = sequence.size();
        if (count < 2) return;
        // Cost of a cut behind each item: how many items before it are read behind it.
        std::vector<int> place(items.size(), -1);
        for (size_t k = 0; k < count; ++k) place[at(sequence[k])] = static_cast<int>(k);
        std::vector<double> cost(count, 0), before(count + 1, 0);
        std::vector<int> change(count + 1, 0);
        for (size_t k = 0; k < count; ++k) {
            before[k + 1] = before[k] + items[at(sequence[k])].weight;
            int last = static_cast<int>(k);
            for (const int to : items[at(sequence[k])].next) last = std::max(last, place[at(to)]);
            ++change[k];
            --change[at(last)];
        }
        int crossing = 0;
        for (size_t k = 0; k < count; ++k) {
            crossing += change[k];
            cost[k] = kPerCrossing * std::min(kMostCrossings, std::max(0.0, crossing - 1.0));
            if (k + 1 == count) break;
            const int64_t here = extentOf(m_graph, OperatorId(items[at(sequence[k])].ops.back()));
            const int64_t next = extentOf(m_graph, OperatorId(items[at(sequence[k + 1])].ops.back()));
            if (here > 0 && next > 0 && here != next) cost[k] -= kForNewSize;
        }
        // Of a long sequence only the best place of each window is looked at.
        std::vector<size_t> cuts{0}; // in front of the item of that number
        const size_t window = count / kMostCandidates + 1;
        for (size_t k = 0; k + 1 < count; k += window) {
            size_t best = k;
            for (size_t i = k; i < std::min(k + window, count - 1); ++i)
                if (cost[i] < cost[best]) best = i;
            cuts.push_back(best + 1);
        }
        cuts.push_back(count);
        // The cheapest way through the places, by dynamic programming.
        std::vector<double> least(cuts.size(), std::numeric_limits<double>::infinity());
        std::vector<size_t> from(cuts.size(), 0);
        least[0] = 0;
        for (size_t c = 1; c < cuts.size(); ++c)
            for (size_t b = c; b-- > 0;) {
                const double off = (before[cuts[c]] - before[cuts[b]]) / length - 1;
                const double sum = least[b] + off * off + (cuts[c] < count ? cost[cuts[c] - 1] : 0);
                if (sum < least[c]) {
                    least[c] = sum;
                    from[c] = b;
                }
                if (off > 4) break;
            }
        std::vector<std::pair<size_t, size_t>> segments;
        for (size_t c = cuts.size() - 1; c > 0; c = from[c]) segments.emplace_back(cuts[from[c]], cuts[c]);
        for (auto segment = segments.rbegin(); segment != segments.rend(); ++segment)
            if (segment->second - segment->first >= 2 && segment->second - segment->first < items.size())
                addSegment(level, items,
                           {sequence.begin() + static_cast<std::ptrdiff_t>(segment->first),
                            sequence.begin() + static_cast<std::ptrdiff_t>(segment->second)});
    }

    void addSegment(int level, const std::vector<Item>& items, const std::vector<int>& members)
    {
        const int made = static_cast<int>(m_groups.groups.size());
        OpGroup group;
        int first = std::numeric_limits<int>::max(), last = 0;
        bool isNamed = true; // all are groups with names
        std::vector<int> inside;
        for (const int member : members) {
            const Item& item = items[at(member)];
            first = std::min(first, item.ops.front());
            last = std::max(last, item.ops.back());
            isNamed = isNamed && item.group >= 0 && !m_groups.groups[at(item.group)].name.starts_with('#');
            inside.insert(inside.end(), item.ops.begin(), item.ops.end());
        }
        const std::string& frontName = m_graph.operators[at(first)].name;
        if (isNamed)
            group.name = m_groups.groups[at(items[at(members.front())].group)].name + " … " +
                         m_groups.groups[at(items[at(members.back())].group)].name;
        else if (!frontName.empty()) // nodes of TensorFlow have names, and no number that anybody knows
            group.name = lastPart(frontName) + " … " + lastPart(m_graph.operators[at(last)].name);
        else group.name = "#" + std::to_string(first) + " … #" + std::to_string(last);
        group.key = "#" + std::to_string(first) + "-" + std::to_string(last);
        group.note = "in the order of data";
        group.parent = level;
        if (level >= 0) group.scope = m_groups.groups[at(level)].scope;
        m_groups.groups.push_back(std::move(group));
        for (const int member : members) {
            const Item& item = items[at(member)];
            if (item.group >= 0) m_groups.groups[at(item.group)].parent = made;
            else m_groups.groupOf[at(item.ops.front())] = made;
        }
        std::ranges::sort(inside);
        if (members.size() > kMostItems) cutLevel(made, inside);
    }

    static std::string lastPart(const std::string& name)
    {
        const size_t slash = name.rfind('/');
        return slash == std::string::npos ? name : name.substr(slash + 1);
    }

    const Graph& m_graph;
    OpGroups& m_groups;
    const DataOrder& m_order;
    std::vector<int> m_itemOfOp; ///< of the level at hand; −1: elsewhere
};

} // namespace

DataOrder dataOrder(const Graph& graph)
{
    const size_t count = graph.operators.size();
    DataOrder order;
    order.position.resize(count);
    order.successors.resize(count);
    std::vector<int> waiting(count, 0);
    for (size_t o = 0; o < count; ++o) {
        const Operator& op = graph.operators[o];
        const auto add = [&](int from) {
            if (flowRole(graph.operators[at(from)]) == FlowRole::nextIteration) return;
            order.successors[at(from)].push_back(static_cast<int>(o));
            ++waiting[o];
        };
        for (const ValueId input : op.inputs)
            if (input.valid() && graph.value(input).producer.valid()) add(graph.value(input).producer.index);
        for (const OperatorId control : op.controlInputs)
            if (control.valid()) add(control.index);
    }
    std::priority_queue<int, std::vector<int>, std::greater<>> ready;
    for (size_t o = 0; o < count; ++o)
        if (waiting[o] == 0) ready.push(static_cast<int>(o));
    int next = 0;
    std::vector<char> done(count, 0);
    while (!ready.empty()) {
        const int o = ready.top();
        ready.pop();
        done[at(o)] = 1;
        order.position[at(o)] = next++;
        for (const int s : order.successors[at(o)])
            if (--waiting[at(s)] == 0) ready.push(s);
    }
    for (size_t o = 0; o < count; ++o)
        if (done[o] == 0) order.position[o] = next++; // on a cycle
    return order;
}

void addSegments(const Graph& graph, OpGroups& groups, const DataOrder& order) { Segmenter(graph, groups, order).run(); }

} // namespace loopscope::viewer
