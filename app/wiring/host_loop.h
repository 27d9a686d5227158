// The loop of a program around a model, which is in no file: the model is called again and again, outputs are fed back, inputs are sliced
// from longer ones. It becomes a While around the model, so that everything that knows loops knows this one (docs/host_loop.md).
#pragma once

#include "app/wiring/command_line.h"
#include "converters/formats.h"

namespace loopscope::app {

/// Whether --calls, --feed-back, --each or --until ask for one.
bool asksHostLoop(const Arguments& arguments);

/// Puts the loop that these options ask for around the graph that --signature names; it is what the model runs from then on. Errors: usage
/// (a name, a type, nothing ends it), unsupported (TensorFlow graphs).
Status wrapInHostLoop(LoadedModel& file, const Arguments& arguments);

} // namespace loopscope::app
