// What --place asks of a TensorFlow graph: which operators stand on which device.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/model.h"
#include "engine/transform/partition/partition.h"

#include <string>
#include <vector>

namespace loopscope::app {

/// Whether an operator is what a pattern of --place means: by its kind (`add`), its kind and number (`add#2`, `main/add#2`), or its node's
/// name (`while/*`).
bool fitsPlace(const std::string& pattern, const Graph& graph, size_t op);

/// Whether `texts` ask for devices to be cut between, not for operators that no GPU may run (PATTERN=cpu).
bool asksForDevices(const std::vector<std::string>& texts);

/// `PATTERN=DEVICE`, the last one that fits counts, or `random:N:SEED` alone. Operators that none fits stand on their `@device`, else on
/// cpu:0. Errors: usage (a pattern that fits nothing, handles that would have to be on two devices).
Result<DevicePlacement> askedPlacement(const std::vector<std::string>& texts, const Graph& graph);

/// Cuts the graph as asked, in place.
Result<CutReport> cutAsAsked(const std::vector<std::string>& texts, Model& model, GraphId graph);

} // namespace loopscope::app
