#include "app/wiring/operator_work.h"

#include "engine/base/clock.h"
#include "engine/kernels/fast/packed.h"
#include "engine/kernels/fast/product.h"
#include "engine/ops/catalog.h"
#include "engine/ops/op_def.h"

#include <algorithm>
#include <cstring>

namespace loopscope::app {

namespace {

void collect(const Model& model, const GraphPlan& plan, WorkByOperator& work, std::map<int64_t, bool>& seen)
{
    if (!seen.try_emplace(plan.graph.index, true).second) return;
    const Graph& graph = model.graph(plan.graph);
    const std::vector<Tensor> values = plannedTensors(graph, plan);
    for (size_t o = 0; o < graph.operators.size(); ++o) {
        const Operator& op = graph.operators[o];
        OperatorWork one;
        bool known = true;
        const auto add = [&](ValueId id) {
            if (!id.valid()) return;
            const Tensor& tensor = values[static_cast<size_t>(id.index)];
            const std::optional<int64_t> count = tensor.shape.isStatic() ? checkedElementCount(tensor.shape) : std::nullopt;
            known = known && count && bitWidth(tensor.dtype) > 0;
            if (known) one.bytes += static_cast<int64_t>(byteSize(tensor.dtype, *count));
        };
        for (const ValueId id : op.inputs) add(id);
        for (const ValueId id : op.results) add(id);
        const std::optional<int64_t> macs = known ? operatorMacs(op, values) : std::nullopt;
        if (!macs) continue;
        one.macs = *macs;
        one.isInteger = !op.results.empty() && bitWidth(values[static_cast<size_t>(op.results[0].index)].dtype) <= 8;
        work[{plan.graph, OperatorId(static_cast<int64_t>(o))}] = one;
    }
    for (const PlannedOperator& op : plan.operators)
        if (op.call)
            for (const GraphPlan* callee : op.call->plans)
                if (callee) collect(model, *callee, work, seen);
}

/// The least time of some rounds, in seconds.
template <typename Work> double leastSeconds(Work work)
{
    int64_t least = INT64_MAX;
    for (int round = 0; round < 7; ++round) {
        const int64_t from = nowNs();
        work();
        least = std::min(least, nowNs() - from);
    }
    return static_cast<double>(std::max<int64_t>(least, 1)) / 1e9;
}

/// Multiply-adds in a second of the loop that products of T are made of.
template <typename T, typename Sum> double macsInASecond()
{
    constexpr int64_t kSteps = 256, kTimes = 400;
    constexpr int64_t kDepth = sizeof(T) == 2 ? 2 * kSteps : kSteps;
    const int panels = fast::panelsTogether();
    const int64_t panelNumbers = fast::kTileColumns * kDepth;
    PackedWeights numbers(static_cast<size_t>(fast::kTileRows * kDepth + panels * panelNumbers) * sizeof(T));
    std::fill_n(numbers.as<T>(), fast::kTileRows * kDepth + panels * panelNumbers, T{1});
    const T* rows[fast::kTileRows];
    for (int r = 0; r < fast::kTileRows; ++r) rows[r] = numbers.as<T>() + panels * panelNumbers + r * kDepth;
    Sum sums[fast::kMostPanels * fast::kTileRows * fast::kTileColumns];
    const double seconds = leastSeconds([&] {
        for (int64_t i = 0; i < kTimes; ++i)
            if constexpr (sizeof(T) == 2) fast::multiplyTiles(rows, fast::kTileRows, kSteps, numbers.as<T>(), panels, panelNumbers, sums);
            else
                fast::multiplyTiles(rows, fast::kTileRows, kSteps, numbers.as<T>(), panels, panelNumbers, {}, sums,
                                    fast::kMostPanels * fast::kTileColumns);
    });
    return static_cast<double>(fast::kTileRows * panels * panelNumbers * kTimes) / seconds;
}

} // namespace

std::vector<Tensor> plannedTensors(const Graph& graph, const GraphPlan& plan)
{
    std::vector<Tensor> tensors;
    for (size_t v = 0; v < graph.values.size(); ++v) {
        tensors.push_back(declaredTensor(graph.values[v]));
        tensors.back().dtype = plan.values[v].dtype;
        tensors.back().shape = plan.values[v].shape;
    }
    return tensors;
}

std::optional<int64_t> operatorMacs(const Operator& op, std::span<const Tensor> values)
{
    const OpDef* def = findOp(op.kind);
    if (def == nullptr || def->macs == nullptr) return 0;
    std::vector<const Tensor*> inputs;
    std::vector<InferredType> outputs;
    bool known = true;
    for (const ValueId id : op.inputs) {
        inputs.push_back(id.valid() ? &values[static_cast<size_t>(id.index)] : nullptr);
        known = known && (!id.valid() || inputs.back()->shape.isStatic());
    }
    for (const ValueId id : op.results) {
        const Tensor& t = values[static_cast<size_t>(id.index)];
        outputs.push_back({t.dtype, t.shape});
        known = known && t.shape.isStatic();
    }
    if (!known || static_cast<int>(op.inputs.size()) < def->minInputs || op.results.empty()) return std::nullopt;
    if (!inferOperator(op, inputs, outputs).ok()) return std::nullopt;
    return def->macs(InferContext(op, inputs, outputs));
}

WorkByOperator workOf(const Model& model, GraphId root, std::span<const Shape> inputs)
{
    WorkByOperator work;
    Planner planner(model);
    const auto plan = planner.plan(root, inputs, model.graph(root).id);
    std::map<int64_t, bool> seen;
    if (plan.ok()) collect(model, **plan, work, seen);
    return work;
}

double MachineCeiling::shareOf(const OperatorWork& work, double seconds, int threads) const
{
    const double byMacs = static_cast<double>(work.macs) / (work.isInteger ? integerMacs : floatMacs) / threads;
    return seconds > 0 ? std::max(byMacs, static_cast<double>(work.bytes) / bytes) / seconds : 0;
}

MachineCeiling measureCeiling()
{
    MachineCeiling ceiling;
    ceiling.floatMacs = macsInASecond<float, float>();
    ceiling.integerMacs = macsInASecond<int16_t, int32_t>();
    constexpr size_t kBytes = size_t{1} << 26;
    PackedWeights from(kBytes), to(kBytes);
    std::memset(from.as<std::byte>(), 1, kBytes);
    ceiling.bytes =
        2.0 * static_cast<double>(kBytes) / leastSeconds([&] { std::memcpy(to.as<std::byte>(), from.as<std::byte>(), kBytes); });
    return ceiling;
}

} // namespace loopscope::app
