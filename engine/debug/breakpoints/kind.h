// What kinds of breakpoints have in common: at which operators they want to be asked, and whether what happens there is what they wait
// for. One file for each family; kinds.cpp has the table of their names.
#pragma once

#include "engine/debug/breakpoints/breakpoint_set.h"
#include "engine/debug/breakpoints/places.h"
#include "engine/debug/breakpoints/spec.h"
#include "engine/debug/evaluate.h"
#include "engine/debug/expression/expression.h"
#include "engine/debug/history/value_keeper.h"
#include "engine/debug/live_source.h"
#include "engine/debug/stop.h"

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loopscope {

/// An operator is about to run, or has run.
struct BreakEvent {
    const OperatorEvent& op;
    Tick tick;  ///< of the stop, here or after it
    int frames; ///< on the stack
    bool isAfter;
    const Executor& executor;
    StatisticsCache& statistics;
};

/// Where a kind wants to be asked.
struct BreakSite {
    GraphId graph;
    OperatorId op;
    uint8_t trap = trapBefore;
    int32_t slot = -1; ///< result of the operator; −1: all of them, or none
    ValueId value;     ///< read from the frame instead: inputs and variables of graphs, what is read
};

/// Past writes and trip counts that breakpoints share. What nobody holds any more is not kept.
class KeptValues {
public:
    /// `writes` before the present one.
    std::shared_ptr<ValueKeeper> keeper(const Model& model, GraphId graph, ValueId value, int64_t writes, bool copies, bool first);
    /// All that are held.
    std::vector<ValueKeeper*> all();
    /// A keeper is new or keeps more than before: it has to be filled.
    bool isStale() const { return m_stale; }
    void setStale(bool stale) { m_stale = stale; }

private:
    std::map<std::pair<GraphId, ValueId>, std::weak_ptr<ValueKeeper>> m_keepers;
    bool m_stale = false;
};

/// Loops that ended: how often their body ran, by the call operator and the invocation that it is in.
class TripCounts {
public:
    void note(const OperatorEvent& event) { m_trips[{event.graph, event.op}][event.invocation] = event.trips; }
    std::optional<int64_t> of(GraphId graph, OperatorId op, InvocationId caller) const;
    void clear() { m_trips.clear(); }

private:
    std::map<std::pair<GraphId, OperatorId>, std::map<InvocationId, int64_t>> m_trips;
};

/// What kinds are made with. Owns nothing.
struct BreakContext {
    const DebugTarget& target;
    KeptValues& kept;
    TripCounts& trips;
    ReferenceValues* const& reference;
};

class BreakKind {
public:
    virtual ~BreakKind() = default;
    /// Whether it is met. `site` is one of sites(). Looks only.
    virtual bool met(const BreakEvent& event, const BreakSite& site) = 0;
    /// Cause, value and text of a stop at the event that was met last.
    virtual StopReason reason(const BreakEvent& event, const BreakSite& site) const;
    /// The innermost frame must be in this iteration; −1: any.
    virtual int64_t onlyIteration() const { return -1; }
    /// Graphs that its condition may be evaluated in: those of its sites unless it says otherwise.
    const std::vector<BreakSite>& sites() const { return m_sites; }
    /// Loops whose trips it wants to be known, as operators.
    virtual std::vector<PlacedOperator> loops() const { return {}; }
    /// Bytes that it keeps.
    virtual uint64_t keptBytes() const { return 0; }
    virtual ExpressionCost cost() const { return ExpressionCost::constant; }

    std::string head;          ///< kind and operands, canonical
    std::string place;         ///< "main/while#0@37"; empty: anywhere
    std::string note;          ///< what is to be known about it
    std::string failure;       ///< met() could not tell, and why; empty: it could
    std::vector<int64_t> late; ///< met() found that it was met at these earlier ticks, and not here

protected:
    explicit BreakKind(const BreakContext& context) : m_context(context) {}
    const Model& model() const { return m_context.target.model; }
    /// The value that a site is about.
    const Value& valueAt(const BreakSite& site) const;
    const Operator& operatorAt(const BreakSite& site) const { return model().graph(site.graph).op(site.op); }
    void add(BreakSite site) { m_sites.push_back(site); }

    BreakContext m_context;
    std::vector<BreakSite> m_sites;
    StopCause m_cause = StopCause::breakpoint;
};

/// A kind of a table row with its operands, the words behind its name. Errors: usage.
using BreakFactory = Result<std::unique_ptr<BreakKind>> (*)(const BreakContext&, FrameContext, std::span<const std::string> operands);

struct BreakKindEntry {
    std::string_view name;
    std::string_view syntax; ///< "iter LOOP N"
    BreakFactory make;
};
std::span<const BreakKindEntry> breakKinds();

/// The kind that a specification names, or a place. `command` decides for watches. Errors: usage, with near names.
Result<std::unique_ptr<BreakKind>> makeKind(const BreakContext& context, FrameContext frame, BreakpointCommand command,
                                            const BreakpointSpec& spec);

// Families.
Result<std::unique_ptr<BreakKind>> makePlace(const BreakContext&, FrameContext, std::span<const std::string>);
Result<std::unique_ptr<BreakKind>> makeType(const BreakContext&, FrameContext, std::span<const std::string>);
Result<std::unique_ptr<BreakKind>> makeGraph(const BreakContext&, FrameContext, std::span<const std::string>);
Result<std::unique_ptr<BreakKind>> makeStep(const BreakContext&, FrameContext, std::span<const std::string>);
Result<std::unique_ptr<BreakKind>> makeSteps(const BreakContext&, FrameContext, std::span<const std::string>);
Result<std::unique_ptr<BreakKind>> makeIter(const BreakContext&, FrameContext, std::span<const std::string>);
Result<std::unique_ptr<BreakKind>> makeLoopEntry(const BreakContext&, FrameContext, std::span<const std::string>);
Result<std::unique_ptr<BreakKind>> makeExit(const BreakContext&, FrameContext, std::span<const std::string>);
Result<std::unique_ptr<BreakKind>> makeTrips(const BreakContext&, FrameContext, std::span<const std::string>);
Result<std::unique_ptr<BreakKind>> makeBranch(const BreakContext&, FrameContext, std::span<const std::string>);
Result<std::unique_ptr<BreakKind>> makeNan(const BreakContext&, FrameContext, std::span<const std::string>);
Result<std::unique_ptr<BreakKind>> makeInf(const BreakContext&, FrameContext, std::span<const std::string>);
Result<std::unique_ptr<BreakKind>> makeDenormal(const BreakContext&, FrameContext, std::span<const std::string>);
Result<std::unique_ptr<BreakKind>> makeOverflow(const BreakContext&, FrameContext, std::span<const std::string>);
Result<std::unique_ptr<BreakKind>> makeSaturated(const BreakContext&, FrameContext, std::span<const std::string>);
Result<std::unique_ptr<BreakKind>> makeZeros(const BreakContext&, FrameContext, std::span<const std::string>);
Result<std::unique_ptr<BreakKind>> makeWrite(const BreakContext&, FrameContext, std::span<const std::string>);
Result<std::unique_ptr<BreakKind>> makeRange(const BreakContext&, FrameContext, std::span<const std::string>);
Result<std::unique_ptr<BreakKind>> makeWatch(const BreakContext&, FrameContext, std::span<const std::string>);
Result<std::unique_ptr<BreakKind>> makeReadWatch(const BreakContext&, FrameContext, std::span<const std::string>);
Result<std::unique_ptr<BreakKind>> makeAccessWatch(const BreakContext&, FrameContext, std::span<const std::string>);
Result<std::unique_ptr<BreakKind>> makeUnchanged(const BreakContext&, FrameContext, std::span<const std::string>);
Result<std::unique_ptr<BreakKind>> makeShape(const BreakContext&, FrameContext, std::span<const std::string>);
Result<std::unique_ptr<BreakKind>> makeError(const BreakContext&, FrameContext, std::span<const std::string>);
Result<std::unique_ptr<BreakKind>> makeTime(const BreakContext&, FrameContext, std::span<const std::string>);
Result<std::unique_ptr<BreakKind>> makeDiffers(const BreakContext&, FrameContext, std::span<const std::string>);
Result<std::unique_ptr<BreakKind>> makeWhen(const BreakContext&, FrameContext, std::span<const std::string>);
Result<std::unique_ptr<BreakKind>> makeDead(const BreakContext&, FrameContext, std::span<const std::string>);
Result<std::unique_ptr<BreakKind>> makeMerge(const BreakContext&, FrameContext, std::span<const std::string>);
Result<std::unique_ptr<BreakKind>> makeFrame(const BreakContext&, FrameContext, std::span<const std::string>);
Result<std::unique_ptr<BreakKind>> makeFrameDone(const BreakContext&, FrameContext, std::span<const std::string>);
Result<std::unique_ptr<BreakKind>> makeRace(const BreakContext&, FrameContext, std::span<const std::string>);
/// Iterations of the v1 frames of a name. Errors: usage, with near names.
Result<std::unique_ptr<BreakKind>> makeFrameIterations(const BreakContext& context, std::string_view name, IterationSet iterations);

/// "break iter LOOP N" is missing or has too many operands. `name`: of the kind.
Error wrongOperands(std::string_view name);
/// A kind that is complete: its head and place as `info breakpoints` shows them. `missing`: what is wrong where it has no site to stop at;
/// nullopt: it may have none.
Result<std::unique_ptr<BreakKind>> finished(std::unique_ptr<BreakKind> kind, std::string head, std::string place,
                                            std::optional<std::string_view> missing = std::nullopt);

} // namespace loopscope
