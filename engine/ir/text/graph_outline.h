// The order and nesting in which the structured view shows the nodes of a TensorFlow graph: frames as loops, nodes under the predicates
// they need. Only structure; the view writes the lines.
#pragma once

#include "engine/ir/frames.h"
#include "engine/ir/model.h"

#include <cstdint>
#include <string>
#include <vector>

namespace loopscope {

/// One line to be.
struct OutlineItem {
    enum class Kind : uint8_t {
        node,      ///< an operator as it is
        loop,      ///< heading of frame `frame`, a well-formed loop
        frame,     ///< heading of frame `frame`, which is none; a note follows it
        variable,  ///< row of loop variable `index` of `frame`; number and address are its Merge's
        invariant, ///< row of Enter `op`
        cond,      ///< heading of the nodes that decide on the next iteration
        test,      ///< LoopCond `op`
        body,      ///< heading of the other nodes
        next,      ///< NextIteration `op`
        when,      ///< heading of the nodes that need `guard`
    };
    Kind kind = Kind::node;
    int depth = 0; ///< levels below the graph
    OperatorId op;
    int32_t frame = 0; ///< in which the line stands; of headings: the frame itself
    size_t index = 0;
    Guard guard;
};

struct OutlineOptions {
    bool everyNode = false; ///< Enter, Merge, Switch, NextIteration and Exit of loops have lines of their own
    /// Nodes without a line: constants that are shown where they are used.
    std::vector<bool> hidden;
};

std::vector<OutlineItem> outlineOf(const Graph& graph, const FrameAnalysis& analysis, const OutlineOptions& options);

} // namespace loopscope
