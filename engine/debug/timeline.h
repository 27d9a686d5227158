// Time travel over an executor: any stop of a run can be reached, forwards and backwards, and edits fork the run into timelines that
// all stay reachable. docs/time_travel.md describes how it works.
#pragma once

#include "engine/base/cancel.h"
#include "engine/base/counts.h"
#include "engine/base/ids.h"
#include "engine/debug/checkpoint_store.h"
#include "engine/debug/timeline_info.h"
#include "engine/exec/executor.h"
#include "engine/exec/machine_state.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace loopscope {

/// How a long request is followed and stopped.
struct TravelControl {
    CancelFlag* cancel = nullptr; ///< whoever answers a cancelled request clears it
    /// Called at most every 50 ms with the tick that is reached and the one that is wanted (INT64_MAX: the end).
    std::function<void(Tick tick, Tick target)> progress;
    bool isStray = false; ///< something that went elsewhere to look could not come back; whoever runs the engine clears it
};

/// Owns no executor; nobody else may drive it between start() and the end of the timeline's life. Observers hear every tick of every
/// timeline once, when it is executed for the first time, and nothing of re-execution. Not thread-safe.
///
/// After an error of execution the position is the stop before the failing operator, and travelling goes on from there. After a
/// cancellation it is the stop that was reached. Every request that answers with a usage error has changed nothing.
class Timeline {
public:
    explicit Timeline(Executor& executor, const TimelineBudget& budget = {});

    /// Begins a run with the executor's inputs and forgets everything about earlier ones. Errors: of Executor::start(); usage if
    /// the budget does not even hold the start.
    Status start();

    Tick tick() const { return m_executor.tick(); }
    const Position& position() const { return m_executor.position(); }
    bool finished() const { return position().finished; }
    /// How many runs were begun: tells moments of different runs apart.
    int64_t runs() const { return m_runs; }

    /// One stop forward; usage error at the end.
    Status forward();
    /// One stop back; usage error at the start. Without re-execution wherever stops were visited one by one.
    Status back(const TravelControl& control = {});
    /// To the stop with this tick, or to the end if that comes before. Errors: usage below 0, execution, cancelled; execution with
    /// "nondeterminism at step N" where re-execution gave another state than the first pass.
    Status goTo(Tick tick, const TravelControl& control = {});
    /// To the last (innermost) stop where no more than `step` operators have completed: the moment before operator `step` writes.
    Status goToStep(Step step, const TravelControl& control = {});
    Status goToEnd(const TravelControl& control = {});

    /// Goes forward to a tick by executing everything up to there, saved or not, and lets `listener` hear it: how breakpoints and searches
    /// look at a part of the run. Errors: usage if the tick lies before here; as of goTo().
    Status replay(Tick tick, ExecutionObserver& listener, const TravelControl& control = {});
    /// Goes forward in the same way with traps: the executor asks `handler` about the operators of `traps`, that of the stop at `tick`
    /// included. Nothing else arms traps, and none are left afterwards. True if a trap stopped. Errors: as of replay().
    Result<bool> run(Tick tick, const TrapSet& traps, TrapHandler& handler, const TravelControl& control = {});
    /// The last saved state on the way from the start of the present timeline that `isBefore` holds of: it holds of every stop up to
    /// some tick and of none after. Null: it holds of none.
    std::optional<Tick> lastSaved(const std::function<bool(const MachineState&)>& isBefore) const;
    /// The last checkpoint at or before a tick, where a search backwards begins its next interval.
    Tick checkpointBefore(Tick tick) const;

    /// Replaces a value of the frame at `depth` (0 = root, −1 = innermost) at the present stop and continues on a new timeline, whose
    /// id is returned. An input of a loop's graph is its carried value; an input of another callee is the caller's value itself.
    /// Errors: usage if the value is constant, not live here, or of another type than the plan allows.
    Result<TimelineId> edit(int depth, ValueId value, const Tensor& tensor);
    std::vector<TimelineInfo> timelines() const; ///< by id
    /// One that there is.
    const TimelineInfo& info(TimelineId id) const { return line(id).info; }
    const TimelineInfo& info() const { return info(m_line); } ///< of the present one
    TimelineId current() const { return m_line; }
    /// To where the timeline was left. Errors: usage if there is none; as of goTo().
    Status switchTo(TimelineId id, const TravelControl& control = {});

    /// After an exception, which may have left the machine anywhere: goes to a stop of a timeline from what is saved. Errors: as of goTo().
    Status recover(TimelineId id, Tick tick);

    /// Bytes that saved states and edits take, checkpoints among them, and the share of the first passes' time that saving them took.
    uint64_t savedBytes() const { return m_store.bytes(); }
    size_t checkpointCount() const { return m_store.checkpoints(); }
    /// Operators completed at each saved checkpoint on the way to the end of the present timeline, in order.
    std::vector<Step> checkpointSteps() const;
    double checkpointOverhead() const;

private:
    struct Edit {
        int depth = 0;
        ValueState value;
    };
    struct Line {
        TimelineInfo info;
        Edit edit;
        std::map<Tick, uint64_t> marks; ///< tick of a checkpoint in the first pass → hash of the state
        std::map<Tick, uint64_t> stops; ///< the same of stops that were travelled to
    };

    Line& line(TimelineId id) { return m_lines[static_cast<size_t>(id - 1)]; }
    const Line& line(TimelineId id) const { return m_lines[static_cast<size_t>(id - 1)]; }
    TimelineId ownerOf(TimelineId id, Tick tick) const;
    Status checkStarted() const;
    Status reach(Tick tick, const TravelControl& control);
    Status reachOn(TimelineId owner, Tick tick, const TravelControl& control);
    Status advance(Tick target, const TravelControl& control);
    Status onward(Tick tick, const TravelControl& control);
    Status arrive();
    Status verify(std::map<Tick, uint64_t>& marks);
    Error heal(Error error);
    Status restore(TimelineId owner, const SharedState& state);
    Status enterFork(TimelineId id);
    Result<ValueState*> locate(MachineState& state, int depth, ValueId value) const;
    Status applyEdit(const Edit& edit);
    SharedState snapshot();
    void checkpoint();
    void remember();
    void leaveAt(Tick tick) { line(m_line).info.lastTick = tick; }

    Executor& m_executor;
    TimelineBudget m_budget;
    CheckpointStore m_store;
    std::vector<Line> m_lines;
    ExecutionObserver* m_listener = nullptr; ///< of replay()
    bool m_trapped = false;                  ///< run(): a trap stopped
    TimelineId m_line;                       ///< the timeline that the user is on
    TimelineId m_owner;                      ///< the one that the machine is executing: the ancestor that the present tick belongs to
    SharedState m_base;                      ///< the state that was taken or restored last; only execution lies between it and now
    Tick m_baseTick = 0;
    int64_t m_sinceNs = 0; ///< running time since the last saved state
    int64_t m_costNs = 0;  ///< of a checkpoint, smoothed
    int64_t m_chunk = 16;  ///< ticks that take about a millisecond
    int64_t m_runs = 0;
    int64_t m_ranNs = 0, m_savedNs = 0; ///< first passes: all their time, and the checkpoints' part in it
};

} // namespace loopscope
