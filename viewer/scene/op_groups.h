// Which operators of a graph are shown together: a tree of groups, found from names or from the frames of a v1 graph.
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
    int parent = -1;                 ///< group
    int frame = -1;                  ///< of frames
    std::vector<OperatorId> members; ///< all inside, in file order
};

/// Parents before children.
struct OpGroups {
    std::vector<OpGroup> groups;
    std::vector<int> groupOf; ///< operator → innermost group, −1: none
};

} // namespace loopscope::viewer
