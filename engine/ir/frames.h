// What the control flow of a TensorFlow v1 graph means, found without running it: which nodes share a frame, which frames are loops and
// with which variables, under which predicates a node lives, and which nodes can never live. Listings and summaries show it; the executor
// has its own, looser analysis, since it must run what this calls irregular.
#pragma once

#include "engine/ir/model.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// A value carried from iteration to iteration. Nodes that are missing are invalid.
struct LoopVariable {
    OperatorId enter, merge, gate, next; ///< Enter, Merge, Switch on the loop's condition, NextIteration
    std::vector<OperatorId> exits;
};

/// A static frame: all nodes behind Enter nodes of one name in one parent. Frame 0 is the graph's own.
struct Frame {
    std::string name;
    int32_t parent = -1;
    int32_t depth = 0; ///< 0: the graph itself
    int64_t parallelIterations = 10;
    std::vector<OperatorId> enters;      ///< run in the parent
    std::vector<OperatorId> nodes;       ///< run here, in file order; Exits too
    std::vector<LoopVariable> variables; ///< by Merge, in file order; loops only
    std::vector<OperatorId> invariants;  ///< Enters whose value is the same in every iteration; loops only
    OperatorId condition;                ///< LoopCond; loops only
    std::string irregular;               ///< why it is no well-formed loop; empty if it is one, or for frame 0
    bool isLoop() const { return condition.valid(); }
};

/// A node lives only where `predicate` is `branch`.
struct Guard {
    ValueId predicate; ///< behind Identity nodes, so that copies of one predicate are one
    bool branch = false;
    bool operator==(const Guard&) const = default;
};

struct FrameAnalysis {
    std::vector<Frame> frames;                   ///< parents before children
    std::vector<int32_t> frameOf;                ///< operator → frame that it runs in
    std::vector<std::vector<Guard>> guards;      ///< operator → what it needs beside its frame, outer predicates first
    std::vector<std::vector<Guard>> frameGuards; ///< frame → what its Enters need in its parent
    std::vector<bool> neverLives;                ///< operator → its guards contradict each other or a constant predicate
    std::vector<OperatorId> order;               ///< all operators, operands first but for back edges; ties in file order
    std::vector<std::string> problems;           ///< what TensorFlow would refuse: "node 'x' has inputs from different frames: …"
    int64_t conditionals = 0;                    ///< distinct predicates of Switches that gate no loop

    /// Frame at `depth` that holds frame `frame`: an ancestor, or itself.
    int32_t ancestorAt(int32_t frame, int32_t depth) const;
};

/// Runs in the frame outside and gives its result to the frame that it names.
bool entersFrame(const Operator& op);
/// Runs inside a frame and gives its result to the frame outside, once, in the last iteration.
bool leavesFrame(const Operator& op);
/// The frame that an Enter leads into; empty for an operator that names none. Lives as long as the operator.
std::string_view frameNameOf(const Operator& enter);

/// True if the graph has nodes of v1 control flow.
bool hasFramesOrSwitches(const Graph& graph);

/// Linear in the size of the graph. The graph must pass verifyModel; anything else about it may be wrong.
FrameAnalysis analyzeFrames(const Graph& graph);

} // namespace loopscope
