// What a request waits for while a run goes on: that a call returns, that a place is reached, that a pattern matches. And how often
// loops ran, which is learned on the way.
#pragma once

#include "engine/debug/place.h"
#include "engine/debug/target.h"
#include "engine/exec/traps.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace loopscope {

struct SurveyedLoop;

/// A handler with the traps that it needs.
class Goal : public TrapHandler {
public:
    const TrapSet& traps() const { return m_traps; }
    bool isMet() const { return m_met; }
    /// Forward: stops up to this tick do not count.
    void skipUpTo(Tick tick) { m_after = tick; }
    /// Backward: goes on wherever it is met and notes the last stop up to this tick.
    void noteUpTo(Tick tick) { m_upTo = tick; }
    std::optional<Tick> noted() const { return m_noted; }

    bool beforeOperator(const OperatorEvent&, Tick) override { return false; }
    bool afterOperator(const OperatorEvent&, Tick) override { return false; }

protected:
    bool counts(Tick tick) const { return tick > m_after && (!m_upTo || tick <= *m_upTo); }
    /// The goal is met at a stop that counts. True: stop there.
    bool meet(Tick tick)
    {
        if (!m_upTo) return m_met = true;
        m_noted = tick;
        return false;
    }

    TrapSet m_traps;
    bool m_met = false;

private:
    int64_t m_after = -1;
    std::optional<Tick> m_upTo, m_noted;
};

/// A call operator of one invocation returns.
class ReturnGoal final : public Goal {
public:
    ReturnGoal(GraphId graph, OperatorId op, InvocationId invocation) : m_invocation(invocation) { m_traps.add(graph, op, trapAfter); }
    bool afterOperator(const OperatorEvent& event, Tick) override { return m_met |= event.invocation == m_invocation; }

private:
    InvocationId m_invocation;
};

/// The stop before the operator that a place means, or the first stop that shows that it will not come.
class PlaceGoal final : public Goal {
public:
    PlaceGoal(const Executor& executor, const ResolvedAddress& place);

    bool beforeOperator(const OperatorEvent& event, Tick tick) override;
    bool afterOperator(const OperatorEvent& event, Tick tick) override;

    /// Stops come in the order of their addresses, and this is the one that is wanted.
    bool isOrdered() const { return m_ordered; }
    const StopOrder& order() const { return m_order; }
    /// Why the place does not exist, once it was passed; a general answer before.
    Error absence() const;

private:
    const Executor& m_executor;
    ResolvedAddress m_place;
    StopOrder m_order;
    int64_t m_iteration = -1;       ///< of the innermost step
    bool m_ordered = true;          ///< stops come in the order of addresses
    size_t m_passedStep = SIZE_MAX; ///< the step at which the run went by
    int64_t m_trips = -1;
};

/// An operator that one of the patterns matches is next.
class PatternGoal final : public Goal {
public:
    PatternGoal(const Executor& executor, std::vector<AddressPattern> patterns);

    bool beforeOperator(const OperatorEvent& event, Tick tick) override;

private:
    const Executor& m_executor;
    std::vector<AddressPattern> m_patterns;
};

/// A stop outside of the v1 frame at `depth`, or of the cond that it is now: no call returns there.
class OutsideGoal final : public Goal {
public:
    OutsideGoal(const Executor& executor, int depth);

    bool beforeOperator(const OperatorEvent& event, Tick tick) override;

private:
    const Executor& m_executor;
    int m_depth;
    OperatorId m_site;
    InvocationId m_caller;
    bool m_isCond;
};

/// An execution of a loop that was seen to its end.
struct LoopRun {
    std::string address; ///< of the operator: "main/while#0@3:body/while#2"
    int64_t trips = 0;
    Tick tick = 0; ///< of the stop after it
};

/// Trips of loop executions that were seen to their end, the latest ones.
class TripMemory {
public:
    explicit TripMemory(size_t limit = 1 << 16) : m_limit(limit) {}
    /// `tick`: of the stop after the loop. The executor stands there; it says where the loop lies.
    void note(TimelineId timeline, const OperatorEvent& event, Tick tick, const Executor& executor);
    /// The same from listening to a part of the run. True: it was not known.
    bool note(TimelineId timeline, const SurveyedLoop& loop);
    /// Those of the present timeline and of what came before it forked, of the first `kNamed` that were seen, in order of addresses.
    std::vector<LoopRun> list(const Timeline& timeline) const;
    /// Of the execution by operator `op` of an invocation, on a timeline or before it forked.
    std::optional<int64_t> find(const Timeline& timeline, InvocationId caller, GraphId graph, OperatorId op) const;
    void clear();

private:
    using Key = std::tuple<TimelineId, InvocationId, int32_t, int32_t>; ///< timeline, invocation, graph, operator
    struct Trips {
        int64_t count = 0;
        Tick tick = 0;
        std::string address; ///< empty beyond the first kNamed
    };
    static constexpr size_t kNamed = 1 << 14;
    bool keep(const Key& key, int64_t count, Tick tick, const std::function<std::string()>& address);
    bool holds(const Timeline& timeline, TimelineId line, Tick tick) const;
    size_t m_limit;
    size_t m_named = 0;
    std::map<Key, Trips> m_trips;
    std::deque<Key> m_order; ///< oldest first
};

} // namespace loopscope
