#include "viewer/scene/name_groups.h"

namespace loopscope::viewer {

OpGroups nameGroups(const Graph& graph, Dialect)
{
    OpGroups groups;
    groups.groupOf.assign(graph.operators.size(), -1);
    return groups;
}

} // namespace loopscope::viewer
