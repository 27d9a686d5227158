// From options to a recorder: levels, patterns, quota, and what a trace says about the model's file.
#pragma once

#include "app/wiring/command_line.h"
#include "app/wiring/model_file.h"
#include "engine/api/inputs/inputs.h"
#include "engine/base/result.h"
#include "tracer/record/recorder.h"

#include <cstdint>
#include <string>
#include <vector>

namespace loopscope::app {

/// What a trace says about the file of a model; reads all of it for its hash.
TraceModelInfo traceModelInfo(const LoadedModel& file);
/// The same for a model that a rewrite makes of the file's. `step`: "raise", "fuse", …
Derivation derivationFrom(const LoadedModel& file, std::string step);
std::vector<TraceFeed> feedsOf(const BoundInputs& inputs);
/// Reads --output, --force, --level, --keep, --only, --except, --iterations, --sparse, --on-alert, --quota, --durable, --no-index and
/// --constants; hashes the model's file. Errors: usage.
Result<RecorderOptions> recorderOptions(const Arguments& arguments, const LoadedModel& file, const BoundInputs& inputs);

std::string levelName(TraceLevel level); ///< "statistics"
Result<TraceLevel> parseLevel(const std::string& text);
/// "500MiB", "2GiB", "1000000". Errors: usage.
Result<uint64_t> parseSize(const std::string& text);

} // namespace loopscope::app
