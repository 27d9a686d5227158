// Cutting a TensorFlow graph between devices: an edge from one to another becomes a _Send and a _Recv with one key, and a frame that has
// receivers on a device gets a control loop there, which starts them once in each iteration (TensorFlow core/graph/graph_partition.cc;
// docs/distributed.md).
#pragma once

#include "engine/base/result.h"
#include "engine/ir/model.h"
#include "engine/transform/partition/placement.h"

#include <string>
#include <vector>

namespace loopscope {

struct CutReport {
    size_t edges = 0;                      ///< pairs of _Send and _Recv that hand values on
    size_t controls = 0;                   ///< those that stand for a control edge
    std::vector<std::string> controlLoops; ///< "frame on device"
};

/// Cuts a graph in place: the parts stand beside each other in it, joined by nothing but keys, and every operator names its device
/// (`@device`). Run as one graph it computes what it did. Errors: usage, for frames that cannot be cut and for other dialects.
Result<CutReport> cutGraph(Model& model, GraphId graph, const DevicePlacement& placement);

/// The part of a graph that is cut which stands on these devices, as a model of its own, with the functions that it calls; where the model
/// has a graph that a session begins with, all of that.
Result<Model> partOf(const Model& cut, GraphId graph, const std::vector<std::string>& devices);

} // namespace loopscope
