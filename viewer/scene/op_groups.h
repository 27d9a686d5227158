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

/// The order of data: from each operator to those that need its results or wait for it, iterations of v1 loops left out.
struct DataOrder {
    std::vector<int> position;                ///< operator → place in an order in which data flows forward, near that of the file
    std::vector<std::vector<int>> successors; ///< operator → operators
};
DataOrder dataOrder(const Graph& graph);

/// Where more stands side by side than can be looked at, whatever the names say, cuts it into segments in the order of data. Frames,
/// conditionals and calls stay in sight. What is added stands behind what was there, parents behind their children.
void addSegments(const Graph& graph, OpGroups& groups, const DataOrder& order);

/// Adds scopes from names below every group (and the root) that has many operators of its own, and segments where that leaves too many
/// things side by side. Small graphs get none. Between the groups of one level data flows one way only: scopes that do not allow that are
/// split where it turns.
void addNameGroups(const Graph& graph, OpGroups& groups);

/// What a group's id adds to the address of its graph: "//block_13"; frames "/while/while_context".
std::string groupSuffix(const OpGroup& group);

} // namespace loopscope::viewer
