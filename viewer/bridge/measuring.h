// What a run that was only made to measure has shown of each operator: its time, and how healthy what it gave was. Backends that can make
// such a run are this, too.
#pragma once

#include "engine/base/ids.h"
#include "engine/base/result.h"

#include <cstdint>
#include <stop_token>
#include <vector>

namespace loopscope::viewer {

struct OperatorFigure {
    GraphId graph;
    OperatorId op;
    int64_t runs = 0;
    int64_t ns = 0; ///< all runs of it; of a call with what it calls
    bool isCall = false;
    int64_t elements = 0, nan = 0, inf = 0, zeros = 0; ///< of its results, over all runs; numbers only
};

class Measuring {
public:
    virtual ~Measuring() = default;
    /// With the inputs of the last run. From any thread. Errors: usage (there was no run), unsupported (a recording), of running,
    /// cancelled.
    virtual Result<std::vector<OperatorFigure>> measured(const std::stop_token& stop) const = 0;
};

} // namespace loopscope::viewer
