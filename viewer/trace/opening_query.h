// What the Trace task begins with, so that a recording opens with a result and a plot instead of an empty editor.
#pragma once

#include "engine/ir/model.h"

#include <map>
#include <stop_token>
#include <string>

namespace loopscope::viewer {

struct OpeningQuery {
    std::string recipe;                            ///< empty: the recording cannot be read
    std::map<std::string, std::string> parameters; ///< what the recipe needs beside the run
};

/// The first recipe that has something to show: how a value that a loop carries changes over its iterations, else how many nodes are dead
/// in each iteration of a v1 frame, else the range of each value, else how often each operator ran. Any thread; reads the recording at
/// `path` for at most a few seconds, and no longer than until `stop`.
OpeningQuery openingQuery(const Model& model, const std::string& path, std::stop_token stop = {});

} // namespace loopscope::viewer
