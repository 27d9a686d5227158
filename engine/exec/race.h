// What depends on an order that a graph does not fix, as executors notice it while they run.
#pragma once

#include "engine/base/counts.h"
#include "engine/base/ids.h"

#include <cstdint>
#include <string>
#include <vector>

namespace loopscope {

/// Something whose result depends on an order that the graph does not fix.
struct DataflowRace {
    enum class Kind : uint8_t { merge, variable } kind = Kind::merge;
    std::string text; ///< one line for people
    GraphId graph;
    OperatorId first, second; ///< the Merge twice, or the two nodes that touch the variable (or the calls that do)
    Step step;                ///< at which it was noticed
};

/// Keeps each race once, and not more than a person reads.
void addRace(std::vector<DataflowRace>& races, DataflowRace race);

} // namespace loopscope
