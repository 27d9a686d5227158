#include "converters/raise/schedule.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <queue>
#include <set>

namespace loopscope::raising {

int32_t Items::asProducer(OperatorId op) const
{
    return m_flow.role(op) == FlowRole::exit ? ofLoop(m_flow.frameOf(op)) : static_cast<int32_t>(op.index);
}

int32_t Items::asReader(OperatorId op) const
{
    return m_flow.role(op) == FlowRole::enter ? ofLoop(m_flow.entered(op)) : static_cast<int32_t>(op.index);
}

int32_t decisionOf(const ConditionTable& conditions, const RegionItem& item)
{
    int32_t first = conditions.top(item.lives);
    if (item.inputs.size() > 1)
        for (const auto& [operand, condition] : item.inputs) first = std::min(first, conditions.top(condition));
    return first == ConditionTable::kNoVariable ? -1 : first;
}

namespace {

/// List scheduling: what simply runs comes as soon as it can; a conditional is written when nothing else can be, so that as much as
/// possible of it is ready. Items of one variable that read each other form a component; those that are ready as a whole are preferred.
class Scheduler {
public:
    Scheduler(Flow& flow, const Items& names, const std::vector<RegionItem>& items) : m_flow(flow), m_names(names), m_items(items) {}

    std::vector<Step> run()
    {
        prepare();
        std::vector<Step> steps;
        size_t written = 0;
        while (written < m_items.size()) {
            Step step = next();
            if (step.members.empty()) return {};
            written += step.members.size();
            for (const int32_t member : step.members) write(member);
            steps.push_back(std::move(step));
        }
        return steps;
    }

private:
    template <typename Visit> void eachSource(const RegionItem& item, Visit visit) const
    {
        const Graph& graph = m_flow.graph();
        const auto readBy = [&](OperatorId reader, ValueId input) {
            const OperatorId source = m_flow.producer(input);
            if (source.valid() && !m_flow.isBackEdge(source, reader)) visit(m_names.asProducer(source));
        };
        const auto all = [&](OperatorId id) {
            if (m_flow.wanted().fed[at(id)]) return;
            for (const ValueId input : graph.op(id).inputs) readBy(id, input);
            for (const OperatorId before : graph.op(id).controlInputs) visit(m_names.asProducer(before));
        };
        if (m_names.isLoop(item.id)) {
            for (const OperatorId enter : m_flow.frames().frames[static_cast<size_t>(m_names.frameOf(item.id))].enters) all(enter);
            return;
        }
        const OperatorId id = Items::operatorOf(item.id);
        if (m_flow.role(id) != FlowRole::merge) return all(id);
        for (const auto& [operand, condition] : item.inputs) readBy(id, graph.op(id).inputs[static_cast<size_t>(operand)]);
        for (const OperatorId before : graph.op(id).controlInputs) visit(m_names.asProducer(before));
    }

    int32_t root(int32_t i)
    {
        while (m_component[static_cast<size_t>(i)] != i) {
            auto& parent = m_component[static_cast<size_t>(i)];
            parent = m_component[static_cast<size_t>(parent)];
            i = parent;
        }
        return i;
    }

    void prepare()
    {
        const size_t count = m_items.size();
        std::unordered_map<int32_t, int32_t> places;
        for (size_t i = 0; i < count; ++i) places.emplace(m_items[i].id, static_cast<int32_t>(i));
        m_decision.resize(count);
        for (size_t i = 0; i < count; ++i) m_decision[i] = decisionOf(m_flow.conditions(), m_items[i]);
        m_component.resize(count);
        std::iota(m_component.begin(), m_component.end(), 0);
        m_readers.resize(count);
        m_waiting.assign(count, 0);
        for (size_t i = 0; i < count; ++i)
            eachSource(m_items[i], [&](int32_t source) {
                const auto found = places.find(source);
                if (found == places.end() || found->second == static_cast<int32_t>(i)) return;
                m_readers[static_cast<size_t>(found->second)].push_back(static_cast<int32_t>(i));
                ++m_waiting[i];
                if (m_decision[i] >= 0 && m_decision[i] == m_decision[static_cast<size_t>(found->second)])
                    m_component[static_cast<size_t>(root(static_cast<int32_t>(i)))] = root(found->second);
            });
        m_outerWaiting.assign(count, 0);
        m_membersOf.resize(count);
        m_isWritten.assign(count, false);
        for (size_t i = 0; i < count; ++i) {
            const auto place = static_cast<int32_t>(i);
            if (m_decision[i] >= 0) m_membersOf[static_cast<size_t>(root(place))].push_back(place);
            for (const int32_t reader : m_readers[i])
                if (m_decision[static_cast<size_t>(reader)] >= 0 && !isSameComponent(place, reader))
                    ++m_outerWaiting[static_cast<size_t>(root(reader))];
        }
        for (size_t i = 0; i < count; ++i) {
            const auto place = static_cast<int32_t>(i);
            if (m_decision[i] < 0) {
                if (m_waiting[i] == 0) m_plain.push(place);
                continue;
            }
            if (m_waiting[i] == 0) m_readyMembers.insert(place);
            if (root(place) != place) continue;
            ++m_componentsLeft[m_decision[i]];
            if (m_outerWaiting[i] == 0) componentReady(place);
        }
    }

    bool isSameComponent(int32_t a, int32_t b)
    {
        return m_decision[static_cast<size_t>(a)] == m_decision[static_cast<size_t>(b)] && root(a) == root(b);
    }

    void componentReady(int32_t component) { m_readyComponents[m_decision[static_cast<size_t>(component)]].push_back(component); }

    Step next()
    {
        if (!m_plain.empty()) {
            const int32_t place = m_plain.top();
            m_plain.pop();
            return {-1, {place}};
        }
        if (m_readyComponents.empty()) return partial();
        // The first variable all of whose components are ready, else the first that has one.
        auto chosen = m_readyComponents.begin();
        int32_t first = INT32_MAX;
        bool isWhole = false;
        size_t looked = 0;
        for (auto it = m_readyComponents.begin(); it != m_readyComponents.end() && looked < kLookedAt; ++it, ++looked) {
            const bool whole = static_cast<int32_t>(it->second.size()) == m_componentsLeft[it->first];
            const int32_t place = *std::ranges::min_element(it->second);
            if (isWhole && !whole) continue;
            if (whole == isWhole && place >= first) continue;
            chosen = it;
            first = place;
            isWhole = whole;
        }
        Step step{chosen->first, {}};
        for (const int32_t component : chosen->second)
            for (const int32_t member : m_membersOf[static_cast<size_t>(component)])
                if (!m_isWritten[static_cast<size_t>(member)]) step.members.push_back(member);
        m_componentsLeft[chosen->first] -= static_cast<int32_t>(chosen->second.size());
        m_readyComponents.erase(chosen);
        std::ranges::sort(step.members);
        return step.members.empty() ? next() : step; // empty: they were written in parts before
    }

    /// Components that wait for each other are cut: what is ready of one variable, and what only that keeps waiting.
    Step partial()
    {
        if (m_readyMembers.empty()) return {};
        const int32_t variable = m_decision[static_cast<size_t>(*m_readyMembers.begin())];
        Step step{variable, {}};
        std::unordered_map<int32_t, int32_t> waiting;
        for (const int32_t member : m_readyMembers)
            if (m_decision[static_cast<size_t>(member)] == variable) step.members.push_back(member);
        for (size_t k = 0; k < step.members.size(); ++k)
            for (const int32_t reader : m_readers[static_cast<size_t>(step.members[k])]) {
                if (m_decision[static_cast<size_t>(reader)] != variable) continue;
                const auto [left, isNew] = waiting.try_emplace(reader, m_waiting[static_cast<size_t>(reader)]);
                if (--left->second == 0) step.members.push_back(reader);
            }
        std::ranges::sort(step.members);
        return step;
    }

    void write(int32_t place)
    {
        m_isWritten[static_cast<size_t>(place)] = true;
        m_readyMembers.erase(place);
        for (const int32_t reader : m_readers[static_cast<size_t>(place)]) {
            const auto r = static_cast<size_t>(reader);
            --m_waiting[r];
            if (m_decision[r] < 0) {
                if (m_waiting[r] == 0) m_plain.push(reader);
                continue;
            }
            if (m_waiting[r] == 0 && !m_isWritten[r]) m_readyMembers.insert(reader);
            if (isSameComponent(place, reader)) continue;
            if (--m_outerWaiting[static_cast<size_t>(root(reader))] == 0) componentReady(root(reader));
        }
    }

    static constexpr size_t kLookedAt = 64; ///< variables among which the best one is chosen

    Flow& m_flow;
    const Items& m_names;
    const std::vector<RegionItem>& m_items;
    std::vector<int32_t> m_decision, m_component, m_waiting, m_outerWaiting;
    std::vector<std::vector<int32_t>> m_readers, m_membersOf;
    std::vector<bool> m_isWritten;
    std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> m_plain;
    std::set<int32_t> m_readyMembers;
    std::map<int32_t, std::vector<int32_t>> m_readyComponents; ///< by variable
    std::unordered_map<int32_t, int32_t> m_componentsLeft;     ///< by variable
};

} // namespace

std::vector<Step> scheduleRegion(Flow& flow, const Items& names, const std::vector<RegionItem>& items)
{
    return Scheduler(flow, names, items).run();
}

} // namespace loopscope::raising
