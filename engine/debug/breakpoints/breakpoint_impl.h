// The inside of BreakpointSet: its list, the index from operators to breakpoints, and what is heard while a run goes on.
#pragma once

#include "engine/debug/breakpoints/condition.h"
#include "engine/debug/breakpoints/hit_log.h"
#include "engine/debug/breakpoints/kind.h"

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loopscope {

/// Text of a log point: plain parts and values in turn.
class LogText {
public:
    /// `$(expr)` stands for a value. Errors: usage.
    static Result<LogText> compile(const BreakContext& context, std::span<const GraphId> graphs, std::string_view text);
    std::string textAt(const BreakEvent& event, int64_t hits);
    bool usesHits() const;
    std::vector<PlacedOperator> loops() const;

private:
    std::vector<std::pair<std::string, std::optional<EventExpression>>> m_parts; ///< text, and the value behind it
};

/// `in PATTERN`.
struct Within {
    std::string text;
    PathFilter path;
    std::vector<PlacedOperator> operators; ///< the only ones; empty: all
    bool has(GraphId graph, OperatorId op) const;
};

struct Breakpoint {
    int number = 0;
    BreakpointCommand command = BreakpointCommand::breakpoint;
    std::string typed; ///< what was written, for lines that do not resolve
    std::string kindName;
    BreakpointSpec spec;
    std::unique_ptr<BreakKind> kind; ///< null: it does not resolve
    std::optional<EventExpression> condition;
    std::optional<Within> within;
    std::optional<LogText> log;
    bool enabled = true;
    std::string disabledBecause;
    std::vector<std::string> commands;
    int64_t ignoreUntil = 0; ///< hits up to this one do not stop
    int64_t origin = -1;     ///< tick after which hits count; −1: from the start of the run
    HitLog hits;
    int64_t base = 0;     ///< hits before the part that is being heard
    int64_t heard = 0;    ///< and in it
    bool isHeard = false; ///< it is armed

    bool conditionIsRule() const { return condition && condition->usesHits(); }
    /// Whether it depends on how often it was met before.
    bool needsCount() const
    {
        return spec.rule.kind != HitRule::Kind::all || ignoreUntil > 0 || conditionIsRule() || (log && log->usesHits());
    }
};

/// Who asks at an operator.
class BreakIndex {
public:
    struct Armed {
        Breakpoint* breakpoint = nullptr;
        const BreakSite* site = nullptr;
        int64_t iteration = -1; ///< the only one in which it can be met
    };
    struct Side {
        std::vector<Armed> any;
        std::vector<Armed> fixed; ///< by iteration
        std::vector<ValueKeeper*> keepers;
    };
    struct Entry {
        Side before, after;
        bool isLoop = false; ///< its trips are wanted
    };

    void build(const Model& model, std::span<Breakpoint* const> breakpoints, std::span<ValueKeeper* const> keepers);
    Entry* at(GraphId graph, OperatorId op)
    {
        std::vector<Entry>& operators = m_graphs[static_cast<size_t>(graph.index)];
        return operators.empty() ? nullptr : &operators[static_cast<size_t>(op.index)];
    }
    const TrapSet& traps() const { return m_traps; }
    /// Whether something waits for this iteration of the graph.
    bool hasFixed(GraphId graph, int64_t iteration) const;
    /// Whether everything in the graph waits for iterations of its own.
    bool isAllFixed(GraphId graph) const { return m_isAllFixed[static_cast<size_t>(graph.index)]; }

private:
    void arm(const Model& model, Breakpoint& breakpoint);
    Entry& make(const Model& model, GraphId graph, OperatorId op, uint8_t trap);

    std::vector<std::vector<Entry>> m_graphs;
    std::vector<std::vector<int64_t>> m_iterations; ///< by graph, in order
    std::vector<bool> m_isAllFixed;                 ///< by graph
    TrapSet m_traps;
};

class BreakpointSet::Impl final : public TrapHandler {
public:
    explicit Impl(DebugTarget target);

    // breakpoint_set.cpp: the list
    Result<std::unique_ptr<Breakpoint>> make(BreakpointCommand command, std::string_view text, FrameContext frame);
    Result<std::unique_ptr<Breakpoint>> make(BreakpointSpec spec, std::string typed, FrameContext frame);
    Status compileCondition(Breakpoint& breakpoint, std::string_view text, FrameContext frame);
    std::vector<GraphId> graphsOf(const Breakpoint& breakpoint, FrameContext frame) const;
    Breakpoint* find(int number);
    Result<Breakpoint*> get(int number);
    BreakpointInfo infoOf(Breakpoint& breakpoint);
    void changed() { m_isIndexed = false; }

    // breakpoint_handler.cpp: hearing and counting
    bool beforeOperator(const OperatorEvent& event, Tick tick) override { return hear(event, tick, false); }
    bool afterOperator(const OperatorEvent& event, Tick tick) override { return hear(event, tick, true); }
    void reindex();
    void sync();
    void moved();
    void begin(Mode mode, int64_t after);
    void noteProgress();
    /// Hits of the breakpoint up to this stop.
    int64_t count(Breakpoint& breakpoint);

    DebugTarget m_target;
    ReferenceValues* m_reference = nullptr;
    KeptValues m_kept;
    TripCounts m_trips;
    BreakContext m_context;
    std::deque<std::unique_ptr<Breakpoint>> m_breakpoints;
    int m_next = 1;
    BreakIndex m_index;
    bool m_isIndexed = false;
    std::vector<StopReason> m_reasons;
    std::vector<LogLine> m_logs;
    std::vector<BreakpointHit> m_hits;

private:
    enum class Hearing : uint8_t { stop, scan, count };

    bool hear(const OperatorEvent& event, Tick tick, bool isAfter);
    bool ask(Breakpoint& breakpoint, const BreakSite& site, const BreakEvent& event);
    bool passes(Breakpoint& breakpoint, const BreakEvent& event);
    bool deliver(Breakpoint& breakpoint, StopReason reason, Tick tick);
    bool fail(Breakpoint& breakpoint, const BreakEvent& event, std::string why);
    bool noteLate(Breakpoint& breakpoint, const BreakEvent& event, const BreakSite& site);
    Status refill();
    Status countUpTo(std::span<Breakpoint* const> breakpoints, int64_t to, std::vector<int64_t>& counts);

    StatisticsCache m_statistics;
    Hearing m_hearing = Hearing::stop;
    bool m_isHearing = false; ///< between begin() and moved()
    int64_t m_after = -1;
    Tick m_lastTick = -1;              ///< of the last event that was heard
    TimelineId m_line = 1;             ///< timeline that counts and kept values are of
    int64_t m_run = 0;                 ///< Timeline::runs() of the run that they are of
    Tick m_keptTick = -1;              ///< where kept values are right; −1: nowhere
    InvocationId m_seenInvocation = 0; ///< the invocation and graph that the next two are of
    GraphId m_seenGraph;
    int64_t m_seenIteration = -1;
    bool m_seenFixed = false;
};

} // namespace loopscope
