// The static way from the root graph to a graph: through which call operators. The same code runs on one path in every iteration and in
// every execution of the loops on the way, so that paths say which writes are writes of one value.
#pragma once

#include "engine/base/result.h"
#include "engine/exec/executor.h"
#include "engine/ir/model.h"
#include "engine/observe/address.h"

#include <span>
#include <string>
#include <vector>

namespace loopscope {

struct CallPath {
    struct Level {
        OperatorId site;      ///< in the graph outside
        GraphId graph;        ///< entered there
        bool isFrame = false; ///< a v1 frame, which `site` (an Enter) opens; its graph is that outside
        bool operator==(const Level&) const = default;
    };
    GraphId root;
    std::vector<Level> levels;

    GraphId graph() const { return levels.empty() ? root : levels.back().graph; }
    int depth() const { return static_cast<int>(levels.size()); } ///< of the frame that it leads to
    /// True if v1 frames lie on the way: their operators run in no other frame, and stops inside them are counted otherwise.
    bool entersFrames() const;
    CallPath parent() const;
    CallPath into(OperatorId site, GraphId graph) const;
    bool operator==(const CallPath&) const = default;
};

/// Of the frame at `depth`, which must exist (0 = root).
CallPath pathAt(const Executor& executor, int depth);
/// The steps of an address that was resolved against `model`. Errors: usage where it begins at another graph than `root`, or a step leads
/// nowhere.
Result<CallPath> pathOf(const Model& model, GraphId root, const Address& address);
/// True if the executor's frame number `path.depth()` is on this path. `frames`: how many there are.
bool isOnPath(const Executor& executor, int frames, const CallPath& path);

/// Frames of the executor, also while it asks a trap handler, when position() is not up to date.
inline int frameCount(const Executor& executor, Step step) { return static_cast<int>(executor.tick().number - step.number) + 1; }

/// The invocation that the last of `stack` is, as an address without target: "main/while#0@37:body".
Address addressOfStack(const Model& model, std::span<const FrameInfo> stack);
/// The same, of an operator in it and, from `slot` 0 on, its output.
std::string addressOf(const Model& model, std::span<const FrameInfo> stack, OperatorId op, int slot = -1);
/// Of the operator that has just completed, while its event is heard.
std::string executedAddress(const Executor& executor, const OperatorEvent& event);

} // namespace loopscope
