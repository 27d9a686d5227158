// What can be asked about a run where it stands: values, expressions, history, reasons, the reference run. A face gets an Inspector for the
// length of one question, on the engine's thread, and hands back plain values that stay valid when the run moves on.
#pragma once

#include "engine/debug/breakpoints/breakpoint_set.h"
#include "engine/debug/control/run_control.h"
#include "engine/debug/evaluate.h"
#include "engine/debug/history/forward_iteration.h"
#include "engine/debug/inspect/expression_text.h"
#include "engine/debug/inspect/frame_values.h"
#include "engine/debug/inspect/invocation_end.h"
#include "engine/debug/inspect/run_survey.h"
#include "engine/debug/inspect/value_history.h"
#include "engine/debug/inspect/value_line.h"
#include "engine/debug/inspect/why.h"
#include "engine/debug/place.h"
#include "engine/debug/reference/drift.h"
#include "engine/debug/stop.h"
#include "engine/debug/timeline_info.h"
#include "engine/exec/dataflow_view.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

class KernelReport;

/// Where a run stands, and on the way to which frames. Plain data.
struct Stop {
    StopReport report;
    std::vector<FrameInfo> stack;      ///< outermost first
    std::vector<std::string> frames;   ///< addresses of the invocations, the same order
    bool isDead = false;               ///< v1 graphs: the next node is dead
    bool quiet = false;                ///< every breakpoint that stopped here asks not to be shown
    std::vector<std::string> commands; ///< that breakpoints want to be run here
};

struct TimelineList {
    std::vector<TimelineInfo> timelines;
    TimelineId current;
};

struct SavedStates {
    size_t checkpoints = 0;
    uint64_t bytes = 0;
    double overhead = 0; ///< share of the first passes' time
};

/// Not kept beyond the question. Whatever travels to answer comes back: the run stands where it stood. Pointers to values hold until the
/// next call of a method that may travel (those that give a Result).
class Inspector {
public:
    Inspector(const DebugTarget& target, RunControl& control, BreakpointSet& breakpoints, Reference* reference)
        : m_target(target),
          m_control(control),
          m_breakpoints(breakpoints),
          m_reference(reference)
    {
    }
    Inspector(const Inspector&) = delete;
    Inspector& operator=(const Inspector&) = delete;

    // Where it stands.
    const Model& model() const { return m_target.model; }
    GraphId root() const;
    bool isStarted() const { return m_control.isStarted(); }
    const Position& position() const;
    Tick tick() const;
    int64_t runs() const; ///< begun so far: tells moments of different runs apart
    TimelineId timeline() const;
    FrameInfo frame(int depth) const;
    std::string frameAddress(int depth) const;
    std::string positionAddress() const;
    std::vector<FrameInfo> callStack() const;
    /// The report of where it stands, without reasons.
    StopReport here() const { return m_control.here(); }
    /// What a face shows of a stop that a request reported.
    Stop stopAt(StopReport report) const;

    // Values of the frame at `depth` (0 = root, −1 = innermost); null if not written in this invocation or freed already.
    const Tensor* value(int depth, ValueId id) const;
    bool isRecorded(int depth, ValueId id) const;
    const TensorStatistics* recordedStatistics(int depth, ValueId id) const;
    const Tensor& output(int index) const; ///< after the run finished
    /// Variables, tables and random state.
    MachineState state() const;
    bool stopsInAddressOrder() const;
    /// Of v1 graphs; null: this is none.
    const DataflowView* dataflow() const;
    uint64_t scheduleSeed() const; ///< of the order of ready nodes; 0: as they arrive
    std::vector<DataflowRace> races() const;

    // What is known of the run.
    std::vector<BreakpointInfo> breakpoints() const { return m_breakpoints.list(); }
    Result<BreakpointInfo> breakpoint(int number) const { return m_breakpoints.get(number); }
    /// The commands that make the breakpoints again, one per line.
    std::string savedBreakpoints() const { return m_breakpoints.save(); }
    const std::vector<Mark>& marks() const { return m_control.marks(); }
    std::vector<LoopRun> loopRuns() const { return m_control.loopRuns(); }
    std::optional<int64_t> knownTrips(int depth) const { return m_control.knownTrips(depth); }
    std::optional<Tick> knownEnd() const { return m_control.knownEnd(); }
    /// Which operators run with another profile's kernels than was asked for, as far as they have been reached.
    const KernelReport& kernelReport() const;
    std::optional<Step> knownSteps() const { return m_control.knownSteps(); }
    TimelineList timelines() const;
    SavedStates savedStates() const;

    // Questions. Errors: usage, execution, cancelled.
    Result<TypedPlace> resolve(FrameContext frame, std::string_view text) const;
    /// A list of expressions, `a, b`.
    Result<std::vector<EvaluatedValue>> evaluate(FrameContext frame, std::string_view text) const;
    Result<std::optional<ValueWrite>> findWrite(FrameContext frame, const ResolvedAddress& value, HistoryQuery query) const;
    Result<ValueSeries> series(FrameContext frame, const ResolvedAddress& value, const SeriesOptions& options) const;
    /// Of a place as it is typed: a value, or `var:NAME`.
    Result<ValueSeries> series(FrameContext frame, std::string_view place, const SeriesOptions& options) const;
    Result<Explanation> why(FrameContext frame, std::string_view question) const;
    Result<std::optional<ForwardIteration>> forwardIteration(FrameContext frame) const;
    Result<EndFound> lookAtEnd(const Address& invocation, const EndSearch& search,
                               const std::function<void(const EndedInvocation&)>& look) const;
    /// `heardLoops`: whether the part came past ends of loops that were not known; null: nobody asks.
    Result<RunSurvey> survey(const SurveyRequest& request, bool* heardLoops = nullptr);
    std::vector<OperatorValues> valuesOf(int depth, const std::vector<OperatorId>& operators, bool earlier,
                                         const ValueWriter& writer) const;

    // The reference run. Errors: usage, where there is none.
    Result<std::optional<ComparedValue>> compareHere(int depth, ValueId value) const;
    Result<Drift> drift() const;
    Result<Drift> driftOf(const ResolvedAddress& value) const;
    Status withBothSides(const DriftRow& row, Step step, const std::function<void(const Tensor& here, const Tensor* there)>& use) const;

private:
    Result<Reference*> reference() const;

    const DebugTarget& m_target;
    RunControl& m_control;
    BreakpointSet& m_breakpoints;
    Reference* m_reference;
};

} // namespace loopscope
