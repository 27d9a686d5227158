// What of a model a canvas shows: plain data that can be saved with a session.
#pragma once

#include "engine/ir/model.h"

#include <set>
#include <string>

namespace loopscope::viewer {

/// How the callee of a call operator opens.
enum class OpenCallee : uint8_t { drillIn, inlineHere, split };

struct ViewState {
    /// Static address (no iterations) of the graph that is shown: "main", "main/while#1:body".
    std::string root = "main";
    std::set<std::string> inlined;  ///< static addresses of call operators whose callees are drawn inside: "main/while#1"
    std::set<std::string> expanded; ///< ids of groups that are open (SceneNode::id)
    std::set<std::string> condOpen; ///< loops of which cond is drawn, too
    std::set<std::string> folded;   ///< call operators, groups and frames that stay closed where allExpanded opens all others
    bool groupByNames = true;       ///< groups from tensor or node names, where the graph is large enough to want them
    bool allExpanded = false;
    bool showConstants = false;
    bool hideSources = false; ///< TensorFlow's nodes that only give constants (Const, a variable that is read) are left out
    bool showAttributes = false;
    bool showKinds = false; ///< named nodes show what they compute, and the end of their name below
    bool showNames = false; ///< tensor names on edges
    bool leftToRight = false;
    bool rows = false;  ///< one operator a row, in listing order, instead of a layered layout
    bool dense = false; ///< node height 18, rank gap 8
};

} // namespace loopscope::viewer
