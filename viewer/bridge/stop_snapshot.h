// What the window knows of a stop: gathered on the engine's thread in one go, immutable, shared by all panels.
#pragma once

#include "engine/api/inspector.h"
#include "engine/base/swapped_bytes.h"
#include "viewer/bridge/branch_sides.h"
#include "viewer/bridge/compared_run.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace loopscope::viewer {

struct FrameSnapshot {
    FrameInfo info;
    std::string address;               ///< "main/while#1@37:body"
    std::optional<int64_t> knownTrips; ///< of the loop that it is an iteration of
    std::string condition;             ///< of that loop, in numbers: "37<48"; empty: it is none
};

struct BreakpointRow {
    int number = 0;
    std::string kind;      ///< "operator", "nan", "log", …
    std::string where;     ///< "tanh#15 in while#1:body", as `info breakpoints` says it
    std::string condition; ///< "iter == 37", "every 8"; empty: none
    std::string address;   ///< static address of the operator it sits on; empty: none or many
    int64_t hits = 0;
    bool enabled = true, isLog = false, isTemporary = false, isWatch = false;
    std::string problem; ///< why it is bound to nothing; empty: it is bound
};

struct StopSnapshot {
    bool started = false, finished = false, failed = false;
    StopReport report; ///< the last one
    Position position;
    std::string address; ///< canonical, of the next operator; root when finished
    Tick tick;
    std::optional<int64_t> knownEnd;  ///< last tick
    std::vector<FrameSnapshot> stack; ///< outermost first
    std::vector<BreakpointRow> breakpoints;
    std::vector<LoopRun> loopRuns; ///< executions of loops that were seen to their end
    std::vector<Mark> marks;
    std::vector<TimelineInfo> timelines;
    TimelineId timeline = 1;
    int64_t runs = 0;  ///< begun so far: tells moments of different runs apart
    BranchSides sides; ///< that branches took which have returned in the open frames
    uint64_t savedBytes = 0;
    SwapShares kept;         ///< elements of stacks, lists and arrays: where they lie
    int64_t deviceBytes = 0; ///< that devices have given
    size_t checkpoints = 0;
    ComparedRun compared;
    std::string recording; ///< the file that the run is recorded into; empty: none
    // v1 graphs
    bool isDataflow = false, nextIsDead = false;
    uint64_t scheduleSeed = 0; ///< of the order of ready nodes; 0: as they arrive
    std::vector<DataflowFrame> frames;
    std::vector<DataflowToken> tokens;
    std::vector<DataflowReady> ready; ///< the next one first; the others in their order if that is known (scheduleSeed 0)
    std::vector<DataflowTally> tallies;
    std::vector<DataflowValue> values;
    std::vector<DataflowRace> races;
};

/// On the engine's thread. `sites` are kept from stop to stop.
std::shared_ptr<StopSnapshot> takeSnapshot(const Inspector& inspector, BranchSites& sites, const StopReport* report,
                                           ComparedRun compared = {});

} // namespace loopscope::viewer
