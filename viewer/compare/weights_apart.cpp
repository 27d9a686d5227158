#include "viewer/compare/weights_apart.h"

#include "engine/ir/stored_constant.h"
#include "engine/tensor/statistics.h"

#include <algorithm>
#include <cmath>

namespace loopscope::viewer {

namespace {

constexpr int64_t kFewest = 16; ///< elements: smaller constants are no weights
constexpr int64_t kMostLooked = 4096;
constexpr double kSame = 0.95; ///< cosine; int8 weights of the same network stay above 0.99

std::optional<Tensor> tensorOf(const Value& value)
{
    if (value.role != ValueRole::constant || !value.constant || !value.constant->hasBytes() || value.constant->sparsity || isPacked(value))
        return std::nullopt;
    if (!isFloat(value.type.dtype) && !value.type.quantization) return std::nullopt;
    const std::optional<int64_t> count = checkedElementCount(value.type.shape);
    const Bytes& bytes = value.constant->bytes();
    if (!count || *count < kFewest || bytes.size() != byteSize(value.type.dtype, *count)) return std::nullopt;
    Tensor tensor;
    tensor.dtype = value.type.dtype;
    tensor.shape = value.type.shape;
    tensor.quantization = value.type.quantization.get();
    tensor.data = const_cast<std::byte*>(bytes.data()); // NOLINT(cppcoreguidelines-pro-type-const-cast): only read from there
    tensor.bytes = bytes.size();
    return tensor;
}

bool isApart(const Tensor& a, const Tensor& b)
{
    double dot = 0, left = 0, right = 0;
    const int64_t count = a.elementCount(), every = std::max<int64_t>(1, count / kMostLooked);
    for (int64_t i = 0; i < count; i += every) {
        const double x = elementAsReal(a, i), y = elementAsReal(b, i);
        dot += x * y;
        left += x * x;
        right += y * y;
    }
    return left > 0 && right > 0 && dot < kSame * std::sqrt(left) * std::sqrt(right);
}

} // namespace

WeightsCompared compareWeights(const ComparedModel& here, const ComparedModel& there, const ValuePairing& pairing)
{
    WeightsCompared weights;
    const Graph& a = here.model->graph(here.root);
    for (const Operator& op : a.operators) {
        const ValuePairing::Partner* partner = nullptr;
        for (const ValueId result : op.results)
            if (partner == nullptr && result.valid()) partner = pairing.partner(here.root, there.root, result);
        if (partner == nullptr) continue;
        const Graph& b = there.model->graph(partner->graph);
        const OperatorId producer = b.value(partner->value).producer;
        if (!producer.valid()) continue;
        const Operator& other = b.op(producer);
        for (size_t k = 0; k < std::min(op.inputs.size(), other.inputs.size()); ++k) {
            if (!op.inputs[k].valid() || !other.inputs[k].valid()) continue;
            const std::optional<Tensor> x = tensorOf(a.value(op.inputs[k])), y = tensorOf(b.value(other.inputs[k]));
            if (!x || !y || !(x->shape == y->shape)) continue;
            ++weights.pairs;
            weights.apart += isApart(*x, *y) ? 1 : 0;
        }
    }
    return weights;
}

std::string weightsText(const WeightsCompared& weights)
{
    if (weights.apart == 0) return {};
    if (2 * weights.apart >= weights.pairs)
        return "the two files hold other weights, as if trained apart: expect differences from the first operator on";
    return std::to_string(weights.apart) + " of " + std::to_string(weights.pairs) +
           " weights point elsewhere: differences below them are no rounding";
}

} // namespace loopscope::viewer
