// `run --distributed`: every part of a graph that is cut between devices runs by an executor of its own, on a rank of mpirun or on a
// thread.
#pragma once

#include "engine/base/result.h"

namespace loopscope::app {

class Arguments;
class Console;

/// What rank 0 prints is what `run` prints of the whole graph; other ranks print nothing.
Result<int> runDistributed(Console& console, const Arguments& arguments);

} // namespace loopscope::app
