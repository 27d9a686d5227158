#include "converters/fuse/hybrid_weights.h"

#include "converters/fuse/lstm.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace loopscope::fusing {

namespace {

/// One scale for `width` columns from `from` on.
void unify(Numbers& bytes, std::vector<float>& scales, int64_t from, int64_t width)
{
    const int64_t columns = bytes.shape[1];
    const auto at = [&](int64_t r, int64_t c) -> float& { return bytes.values[static_cast<size_t>(r * columns + c)]; };
    float one = 0; // by what is stored: the scale of a column of zeros says nothing
    for (int64_t c = from; c < from + width; ++c)
        for (int64_t r = 0; r < bytes.shape[0]; ++r) one = std::max(one, std::fabs(at(r, c)) / 127 * scales[static_cast<size_t>(c)]);
    if (one == 0) one = 1;
    for (int64_t c = from; c < from + width; ++c) {
        float& scale = scales[static_cast<size_t>(c)];
        for (int64_t r = 0; r < bytes.shape[0]; ++r) at(r, c) = std::clamp(std::round(at(r, c) * (scale / one)), -127.0F, 127.0F);
        scale = one;
    }
}

} // namespace

std::optional<StoredWeights> storedWeights(const Graph& graph, ValueId value)
{
    value = behindIdentities(graph, value);
    if (!value.valid()) return std::nullopt;
    const Value& at = graph.value(value);
    const QuantizationPtr& quantization = at.type.quantization;
    if (at.role != ValueRole::constant || !at.constant || at.type.dtype != DType::i8 || !at.type.shape.isStatic() ||
        at.type.shape.rank() != 2 || at.constant->size() != static_cast<uint64_t>(at.type.shape.elementCount()))
        return std::nullopt;
    if (quantization == nullptr || quantization->kind != Quantization::Kind::affine) return std::nullopt;
    const bool isByRow = quantization->axis == 0 && quantization->scales.size() == static_cast<size_t>(at.type.shape[0]);
    if ((!isByRow && !quantization->isPerTensor()) || std::ranges::any_of(quantization->zeroPoints, [](int64_t zero) { return zero != 0; }))
        return std::nullopt;
    if (std::ranges::any_of(quantization->scales, [](float scale) { return !(scale > 0) || !std::isfinite(scale); })) return std::nullopt;
    StoredWeights weights;
    weights.bytes.shape = at.type.shape;
    const auto* const bytes = reinterpret_cast<const int8_t*>(at.constant->bytes().data());
    weights.bytes.values.assign(bytes, bytes + at.constant->size());
    weights.scales = quantization->scales;
    return weights;
}

std::string unifyScales(LstmWeights& weights, double nearness, std::string& note)
{
    static constexpr const char* kGates[] = {"input", "forget", "cell", "output"};
    for (const auto& [numbers, scales] :
         {std::pair(&weights.kernel, &weights.kernelScales), std::pair(&weights.recurrent, &weights.recurrentScales)}) {
        if (scales->empty()) continue;
        const int64_t columns = numbers->shape[1], width = columns / weights.parts();
        if (scales->size() == 1) scales->assign(static_cast<size_t>(columns), scales->front());
        if (static_cast<int64_t>(scales->size()) != columns) return "the weights have a scale for each row of the operand";
        for (size_t k = 0; k < weights.gates.size(); ++k) {
            if (weights.gates[k] < 0) continue;
            const int64_t from = weights.gates[k] * width;
            const std::span<const float> own = std::span(*scales).subspan(static_cast<size_t>(from), static_cast<size_t>(width));
            if (std::ranges::all_of(own, [&](float scale) { return scale == own.front(); })) continue;
            if (nearness < kHalfStep)
                return "the weights of the " + std::string(kGates[k]) + " gate have a scale for each of its " + std::to_string(width) +
                       " columns, the operator has one for all; --near 0.004 rounds them to it";
            unify(*numbers, *scales, from, width);
            note = "weights rounded to one scale for each gate";
        }
    }
    return "";
}

std::string unifyScale(StoredWeights& weights, double nearness, std::string& note)
{
    std::vector<float>& scales = weights.scales;
    if (!std::ranges::all_of(scales, [&](float scale) { return scale == scales.front(); })) {
        if (nearness < kHalfStep)
            return "the weights have a scale for each of their " + std::to_string(scales.size()) +
                   " rows, the operator has one for all; --near 0.004 rounds them to it";
        constexpr std::array kTurn = {1, 0};
        Numbers turned = transposed(weights.bytes, kTurn);
        unify(turned, scales, 0, turned.shape[1]);
        weights.bytes = transposed(turned, kTurn);
        note = "weights rounded to one scale";
    }
    scales.resize(1);
    return "";
}

} // namespace loopscope::fusing
