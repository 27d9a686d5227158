// How much an operator has to do, and how much the machine could do in the same time: what a duration is held against.
#pragma once

#include "engine/ir/model.h"
#include "engine/plan/planner.h"
#include "engine/tensor/tensor.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace loopscope::app {

/// The values of a graph at the shapes of a plan, without data.
std::vector<Tensor> plannedTensors(const Graph& graph, const GraphPlan& plan);
/// Multiply-adds of an operator whose values these are; 0 if it is not counted in them, none if a shape is known only when running.
std::optional<int64_t> operatorMacs(const Operator& op, std::span<const Tensor> values);

struct OperatorWork {
    int64_t macs = 0;
    int64_t bytes = 0; ///< of operands and results
    bool isInteger = false;
};
using WorkByOperator = std::map<std::pair<GraphId, OperatorId>, OperatorWork>;
/// Of a run of `root` with inputs of these shapes, every graph at the shapes of the call that comes first. Operators whose shapes are known
/// only when running are left out.
WorkByOperator workOf(const Model& model, GraphId root, std::span<const Shape> inputs);

/// What one thread of this machine reaches with data at hand, measured now: a few milliseconds.
struct MachineCeiling {
    double floatMacs = 0, integerMacs = 0; ///< in a second, by the loops of the profile `fast`
    double bytes = 0;                      ///< in a second, read and written, of a copy that no cache holds
    /// The part of what `threads` threads could have done at best in that time. Data in caches may come faster than from memory: above 1.
    double shareOf(const OperatorWork& work, double seconds, int threads) const;
};
MachineCeiling measureCeiling();

} // namespace loopscope::app
