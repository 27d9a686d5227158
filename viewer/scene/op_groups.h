// Which operators of a graph are shown together: a tree of groups. Frames and conditionals of v1 graphs come first, then the scopes in
// which a framework built its operators, read from tensor names (TFLite) or node names (TensorFlow).
#pragma once

#include "engine/ir/frames.h"
#include "engine/ir/model.h"
#include "viewer/scene/scene.h"

#include <string>
#include <vector>

namespace loopscope::viewer {

struct OpGroup {
    RegionKind kind = RegionKind::group;
    std::string key;                 ///< path of the scope, "fpn/head", or of the frame; part of the id
    std::string name;                ///< what is written, "block_13"
    std::string note;                ///< "from tensor names"; empty where names are exact
    std::string role;                ///< sides of conditionals: "true", "false"
    std::string scope;               ///< names of its operators are written without this prefix
    int parent = -1;                 ///< group
    int frame = -1;                  ///< of frames
    std::vector<OperatorId> members; ///< all inside, in file order
};

struct OpGroups {
    std::vector<OpGroup> groups; ///< parents before children
    std::vector<int> groupOf;    ///< operator → innermost group, −1: none
};

/// Frames, and the two sides of what lives under a predicate.
OpGroups frameGroups(const Graph& graph, const FrameAnalysis& analysis);

/// Adds scopes from names below every group (and the root) that has many operators of its own. Small graphs get none. Between the groups
/// of one level data flows one way only: scopes that do not allow that are split where it turns.
void addNameGroups(const Graph& graph, OpGroups& groups);

/// What a group's id adds to the address of its graph: "//block_13"; frames "/while/while_context".
std::string groupSuffix(const OpGroup& group);

} // namespace loopscope::viewer
