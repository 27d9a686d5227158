// The loop of a program around a model, which is in no file: the model is called again and again, outputs are fed back, inputs are sliced
// from longer ones or computed. It becomes a While around the model, so that everything that knows loops knows this one
// (docs/host_loop.md).
#pragma once

#include "app/wiring/command_line.h"
#include "converters/formats.h"

#include <string>

namespace loopscope::app {

/// Whether --calls, --feed-back, --each, --let, --until or --before ask for one.
bool asksHostLoop(const Arguments& arguments);

/// Puts the loop that these options ask for around the graph that --signature names; it is what the model runs from then on. With
/// --save-loop the file beside the model keeps it. Errors: usage (a name, a type, an expression, nothing ends it), cannotWrite.
Status wrapInHostLoop(LoadedModel& file, const Arguments& arguments);

/// "decoder.loop.toml" of "decoder.tflite".
std::string loopFileOf(const std::string& model);
/// What is said where that loop is used.
std::string loopNote(const std::string& model);
/// Sets what the file beside the model says of its loop, unless another or none (--no-loop) is asked for. False: there is nothing to set.
/// Errors: badFile.
Result<bool> useLoopFile(Arguments& arguments);

} // namespace loopscope::app
