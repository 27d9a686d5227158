// Makes graph plans: infers shapes from the actual input shapes, callees through their call sites, and lays values out in one arena in
// which a callee's region is a block of its caller's.
#pragma once

#include "engine/plan/graph_plan.h"

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace loopscope {

/// Computes the results of an operator from operands with data; false if it cannot.
using PlanningEvaluator = bool (*)(const Operator& op, std::span<const Tensor* const> inputs, std::span<Tensor* const> results);

struct PlannerOptions {
    /// Asked for small integers that shapes are calculated with; null: such shapes are known only when running.
    PlanningEvaluator evaluate = nullptr;
    /// Keep every value to the end of its graph, for inspection, instead of sharing memory.
    bool keepAll = false;
};

/// Owns its plans; they live as long as it does. Not thread-safe. The model must outlive it.
///
/// A plan is made once for each (graph, input shapes), so that a model whose graphs call each other many times over stays linear. Shapes
/// that a file states for values between operators are not trusted: they are computed anew from the inputs, the constants and their data.
class Planner {
public:
    explicit Planner(const Model& model, PlannerOptions options = {}) : m_model(model), m_options(options) {}

    /// Plans a graph for inputs of these shapes, which may have unknown dimensions. Errors: badFile where a call breaks its rules
    /// (checkCall), with the operator's address from `place` on ("main"), whether or not the call will be reached; execution where the
    /// memory is beyond any machine.
    Result<const GraphPlan*> plan(GraphId graph, std::span<const Shape> inputShapes, const std::string& place);

    /// Plans one call that could not be planned with its graph (recursion), for operands of these shapes, steering ones included.
    Result<std::unique_ptr<PlannedCall>> planCall(GraphId graph, OperatorId op, std::span<const Shape> operandShapes,
                                                  const std::string& place);

private:
    using Key = std::pair<int32_t, std::string>;

    Result<GraphPlan*> infer(GraphId graph, std::span<const Shape> inputShapes, const std::string& place);
    Result<std::unique_ptr<GraphPlan>> inferGraph(GraphId graph, std::span<const Shape> inputShapes, const std::string& place);
    Status inferOperatorResults(GraphPlan& plan, std::span<Tensor> tensors, OperatorId op, const std::string& place,
                                std::deque<std::vector<std::byte>>& folded);
    void fold(const Operator& op, std::span<const Tensor* const> inputs, std::span<Tensor* const> results,
              std::deque<std::vector<std::byte>>& folded) const;
    /// Fills `results` with the shapes of the call's results; `call.planned` says whether that worked.
    Status inferCall(PlannedCall& call, GraphId graph, OperatorId op, std::span<const Shape> operands, std::span<Shape> results,
                     const std::string& place);
    Status inferLoop(PlannedCall& call, const std::string& label, std::span<const Shape> operands, std::span<Shape> results);
    Status layOut(GraphPlan& plan);
    Status layOutCall(PlannedCall& call, const Graph& graph, const Operator& op);
    void planExchange(LoopPlan& loop, const GraphPlan& body) const;

    const Model& m_model;
    PlannerOptions m_options;
    std::map<Key, std::unique_ptr<GraphPlan>> m_plans;
    std::vector<GraphId> m_open; ///< graphs whose types are being inferred, outermost first
};

} // namespace loopscope
