// Opening a model for a command, and finding a graph in it by name or address.
#pragma once

#include "converters/formats.h"
#include "engine/api/inputs/run_target.h"
#include "engine/base/result.h"
#include "engine/ir/model.h"

#include <string>

namespace loopscope::app {

/// File name without folders.
std::string fileNameOf(const std::string& path);

/// selectTarget, with the file's name in front of what is wrong with the file.
Result<RunTarget> targetOf(const LoadedModel& file, const std::string& signature);

/// The graph that `text` means: a graph's id, or an address, whose innermost call's graph it is. Errors: usage with near names, as
/// addresses fail: "main/while#1@3:body/ad#2: no operator 'ad#2' in while_body; operator 2 is fully_connected#2".
Result<GraphId> findGraph(const Model& model, const std::string& text);

/// Writes a TFLite model to memory as TFLite, any model as text, and reads them back. Errors: what differs.
Status comesBackIdentical(const LoadedModel& file);

} // namespace loopscope::app
