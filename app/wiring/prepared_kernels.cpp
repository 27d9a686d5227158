#include "app/wiring/prepared_kernels.h"

#include "engine/base/memory_shares.h"
#include "engine/ir/stored_constant.h"
#include "engine/kernels/quantized_later.h"
#include "engine/kernels/registry.h"
#include "engine/ops/catalog.h"

#include <deque>
#include <utility>
#include <vector>

namespace loopscope::app {

namespace {

/// The tensors of a graph's values; constants with their elements, which `dense` keeps where the file has them in another form.
std::vector<Tensor> tensorsOf(const Model& model, const Graph& graph, std::deque<Bytes>& dense)
{
    std::vector<Tensor> tensors;
    for (const Value& value : graph.values) {
        Tensor& tensor = tensors.emplace_back(declaredTensor(value));
        if (value.role != ValueRole::constant || !value.constant) continue;
        const bool isExternal = value.constant->externalBuffer() >= 0;
        if (!isExternal && (!value.constant->hasBytes() || !isPacked(value))) continue;
        Result<Bytes> elements = isExternal ? externalData(model, value) : unpackConstant(value);
        if (!elements.ok()) continue;
        const Bytes& kept = dense.emplace_back(std::move(elements).value());
        tensor.shape = value.type.shape;
        tensor.data = const_cast<std::byte*>(kept.data()); // NOLINT(cppcoreguidelines-pro-type-const-cast): operands are read only
        tensor.bytes = kept.size();
    }
    return tensors;
}

/// The kernel of one operator, once inference agrees with its operands, as a run would choose it; its results get the types that inference
/// finds. Errors: what either says.
Result<ChosenKernel> chooseFor(const Model& model, const Operator& op, bool isQuantizedLater, std::vector<Tensor>& tensors, Profile wanted)
{
    std::vector<const Tensor*> inputs;
    std::vector<const Tensor*> results;
    std::vector<InferredType> inferred;
    const auto tensorOf = [&](ValueId value) { return &tensors[static_cast<size_t>(value.index)]; };
    for (const ValueId input : op.inputs) inputs.push_back(input.valid() ? tensorOf(input) : nullptr);
    for (const ValueId result : op.results) inferred.push_back({tensorOf(result)->dtype, Shape::unknownRank()});
    LS_CHECK_OK(inferOperator(op, inputs, inferred));
    for (size_t k = 0; k < inferred.size(); ++k) {
        Tensor* const result = tensorOf(op.results[k]);
        result->dtype = inferred[k].dtype;
        result->shape = inferred[k].shape;
        results.push_back(result);
    }
    KernelSetup setup{op, inputs, results, false, &model};
    setup.isQuantizedLater = isQuantizedLater;
    return chooseKernel(KernelRegistry::builtin(), setup, wanted);
}

} // namespace

PreparedKernels prepareKernels(const Model& model, Profile wanted)
{
    PreparedKernels prepared;
    if (wanted == Profile::reference) return prepared;
    const QuantizedLater quantizedLater = wanted == Profile::fast ? QuantizedLater(model) : QuantizedLater();
    const int64_t before = MemoryShares::all().packedWeights;
    std::vector<PreparedKernel> kernels; // what they pack is counted as long as they live
    for (size_t g = 0; g < model.graphs.size(); ++g) {
        const Graph& graph = model.graphs[g];
        std::deque<Bytes> dense;
        std::vector<Tensor> tensors = tensorsOf(model, graph, dense);
        for (size_t o = 0; o < graph.operators.size(); ++o) {
            const Operator& op = graph.operators[o];
            if (!KernelRegistry::builtin().has(op.kind)) continue; // calls, and what cannot run
            const GraphId graphId(static_cast<int64_t>(g));
            const OperatorId opId(static_cast<int64_t>(o));
            Result<ChosenKernel> chosen = chooseFor(model, op, quantizedLater.holds(graphId, opId), tensors, wanted);
            if (!chosen.ok()) continue; // a run says why
            prepared.report.note(graphId, opId, wanted, *chosen);
            kernels.push_back(std::move(chosen->kernel));
        }
    }
    prepared.packedWeights = MemoryShares::all().packedWeights - before;
    return prepared;
}

} // namespace loopscope::app
