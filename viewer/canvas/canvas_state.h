// What a moment of a run looks like on a scene: plain data, compared to find what must be painted anew.
#pragma once

#include "viewer/bridge/stop_snapshot.h"
#include "viewer/scene/scene.h"

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace loopscope::viewer {

enum class RunState : uint8_t {
    none,    ///< nothing has run: drawn as run
    run,     ///< in this invocation
    notRun,  ///< not yet, here
    untaken, ///< on a side that was not taken
    dead,    ///< v1: ran with dead inputs
    ready,   ///< v1: queued
    waiting, ///< v1: has some of its inputs
};

enum class BreakpointMark : uint8_t { none, enabled, disabled, log, condition, unbound };

/// Marks of a comparison.
enum class CompareMark : uint8_t { none, over, farOver, onlyHere };

struct NodeState {
    RunState run = RunState::none;
    bool next = false, last = false, error = false;
    bool willBeDead = false; ///< v1: ready with a dead operand
    BreakpointMark breakpoint = BreakpointMark::none;
    CompareMark compare = CompareMark::none;
    std::string badge; ///< right-aligned in the node: "dead", "1 of 2", "6th", a value
    bool operator==(const NodeState&) const = default;
};

enum class ChipState : uint8_t { done, inFlight, chosen };

struct IterationChip {
    int64_t iteration = 0;
    ChipState state = ChipState::done;
    bool operator==(const IterationChip&) const = default;
};

struct RegionState {
    RunState run = RunState::none;    ///< of the invocation that it shows
    std::optional<int64_t> iteration; ///< of a loop that is running
    std::optional<int64_t> trips;     ///< known number of iterations
    bool tripsFromEarlier = false;    ///< known from an earlier run only
    std::string condition;            ///< what cond gave last, with what it compared: "37<48 true"; empty: nothing known
    std::string note;                 ///< "untaken", "taken", "3 … 6 in flight, 0 … 2 done"
    std::vector<IterationChip> chips; ///< v1 frames with few iterations
    int64_t oldest = -1, newest = -1; ///< v1 frames: iterations in flight; −1: this is none
    std::string address;              ///< of the invocation that it shows, with iterations; empty: none
    bool operator==(const RegionState&) const = default;
};

/// A value under way between iterations: "4 → @4".
struct TokenChip {
    int edge = -1;
    std::string text;
    bool isDead = false;
    bool operator==(const TokenChip&) const = default;
};

struct CanvasState {
    bool started = false;
    std::vector<NodeState> nodes;     ///< as Scene::nodes
    std::vector<RegionState> regions; ///< as Scene::regions
    std::vector<TokenChip> tokens;
    std::vector<std::string> unknownSides; ///< invocations that have ended, canonical: which sides their branches took is not known here
};

/// Before any run.
CanvasState idleState(const Scene& scene);
/// What a picture remembers beside the stop, by region id.
struct PictureMemory {
    std::unordered_map<std::string, int64_t> shownIterations; ///< of v1 frames, chosen by the user; else that of the next node is shown
    std::unordered_map<std::string, int64_t> trips;           ///< of loops, when they ended last
    const BranchSides* sides = nullptr;                       ///< that are known beside those of the stop
};

CanvasState stateAt(const Scene& scene, const Model& model, const StopSnapshot& stop, const PictureMemory& memory = {});

} // namespace loopscope::viewer
