#include "engine/ops/shape_values.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

namespace loopscope {

namespace {

using Integers = std::vector<int64_t>;
using Inputs = std::span<const Tensor* const>;

constexpr int64_t kMost = 64; ///< elements: what is longer is no shape

bool areIntegers(DType dtype) { return dtype == DType::i32 || dtype == DType::i64; }

/// TensorFlow's and TFLite's names of one operator.
enum class Step : uint8_t { none, shape, size, rank, stridedSlice, pack, join, pass, product, largest, smallest, add, sub, mul };

Step stepOf(const Kind& kind)
{
    static constexpr std::array<std::pair<std::string_view, Step>, 36> kSteps = {{{"Shape", Step::shape},
                                                                                  {"shape", Step::shape},
                                                                                  {"Size", Step::size},
                                                                                  {"Rank", Step::rank},
                                                                                  {"rank", Step::rank},
                                                                                  {"StridedSlice", Step::stridedSlice},
                                                                                  {"Pack", Step::pack},
                                                                                  {"pack", Step::pack},
                                                                                  {"strided_slice", Step::stridedSlice},
                                                                                  {"ConcatV2", Step::join},
                                                                                  {"Identity", Step::pass},
                                                                                  {"concatenation", Step::join},
                                                                                  {"Cast", Step::pass},
                                                                                  {"cast", Step::pass},
                                                                                  {"Reshape", Step::pass},
                                                                                  {"reshape", Step::pass},
                                                                                  {"Squeeze", Step::pass},
                                                                                  {"squeeze", Step::pass},
                                                                                  {"ExpandDims", Step::pass},
                                                                                  {"expand_dims", Step::pass},
                                                                                  {"Prod", Step::product},
                                                                                  {"reduce_prod", Step::product},
                                                                                  {"Max", Step::largest},
                                                                                  {"reduce_max", Step::largest},
                                                                                  {"Min", Step::smallest},
                                                                                  {"reduce_min", Step::smallest},
                                                                                  {"AddV2", Step::add},
                                                                                  {"Add", Step::add},
                                                                                  {"add", Step::add},
                                                                                  {"Sub", Step::sub},
                                                                                  {"sub", Step::sub},
                                                                                  {"Mul", Step::mul},
                                                                                  {"mul", Step::mul},
                                                                                  {"StopGradient", Step::pass},
                                                                                  {"EnsureShape", Step::pass},
                                                                                  {"PreventGradient", Step::pass}}};
    const auto* const found = std::ranges::find(kSteps, std::string_view(kind.name), &std::pair<std::string_view, Step>::first);
    return found == kSteps.end() ? Step::none : found->second;
}

/// One dimension, without masks but those of its first.
std::optional<Integers> partOf(const Operator& op, Inputs inputs)
{
    if (inputs.size() != 4 || attributeInt(op.attributes, "ellipsis_mask", 0) != 0 || attributeInt(op.attributes, "new_axis_mask", 0) != 0)
        return std::nullopt;
    const auto from = shownIntegers(inputs[0]), begins = shownIntegers(inputs[1]), ends = shownIntegers(inputs[2]),
               strides = shownIntegers(inputs[3]);
    if (!from || inputs[0]->shape.rank() != 1 || !begins || !ends || !strides) return std::nullopt;
    if (begins->size() != 1 || ends->size() != 1 || strides->size() != 1 || strides->front() != 1) return std::nullopt;
    const auto size = static_cast<int64_t>(from->size());
    const auto placed = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size); };
    const int64_t begin = (attributeInt(op.attributes, "begin_mask", 0) & 1) != 0 ? 0 : placed(begins->front());
    if ((attributeInt(op.attributes, "shrink_axis_mask", 0) & 1) != 0) {
        const int64_t at = begins->front() < 0 ? begins->front() + size : begins->front();
        if (at < 0 || at >= size) return std::nullopt;
        return Integers{(*from)[static_cast<size_t>(at)]};
    }
    const int64_t end = (attributeInt(op.attributes, "end_mask", 0) & 1) != 0 ? size : placed(ends->front());
    return Integers(from->begin() + begin, from->begin() + std::max(begin, end));
}

std::optional<Integers> joined(const Operator& op, Inputs inputs, bool isPack)
{
    const bool hasAxis = op.kind.name == "ConcatV2"; // its last operand
    if (hasAxis && inputs.empty()) return std::nullopt;
    Integers all;
    for (const Tensor* const input : inputs.first(inputs.size() - (hasAxis ? 1 : 0))) {
        const auto values = shownIntegers(input);
        if (!values || input->shape.rank() != (isPack ? 0 : 1)) return std::nullopt;
        all.insert(all.end(), values->begin(), values->end());
    }
    return all;
}

std::optional<int64_t> taken(Step step, int64_t a, int64_t b)
{
    int64_t result = 0;
    if (step == Step::largest) return std::max(a, b);
    if (step == Step::smallest) return std::min(a, b);
    const bool overflows = step == Step::add   ? __builtin_add_overflow(a, b, &result)
                           : step == Step::sub ? __builtin_sub_overflow(a, b, &result)
                                               : __builtin_mul_overflow(a, b, &result);
    return overflows ? std::nullopt : std::optional(result);
}

std::optional<Integers> reduced(Inputs inputs, Step step)
{
    const auto values = inputs.empty() ? std::nullopt : shownIntegers(inputs[0]);
    if (!values || values->empty()) return std::nullopt;
    std::optional<int64_t> result = values->front();
    for (size_t i = 1; result && i < values->size(); ++i) result = taken(step, *result, (*values)[i]);
    return result ? std::optional(Integers{*result}) : std::nullopt;
}

std::optional<Integers> combined(Inputs inputs, Step step)
{
    if (inputs.size() != 2) return std::nullopt;
    const auto a = shownIntegers(inputs[0]), b = shownIntegers(inputs[1]);
    if (!a || !b || (a->size() != b->size() && a->size() != 1 && b->size() != 1)) return std::nullopt;
    Integers values(a->empty() || b->empty() ? 0 : std::max(a->size(), b->size()));
    for (size_t i = 0; i < values.size(); ++i) {
        const std::optional<int64_t> value = taken(step, (*a)[a->size() == 1 ? 0 : i], (*b)[b->size() == 1 ? 0 : i]);
        if (!value) return std::nullopt;
        values[i] = *value;
    }
    return values;
}

std::optional<Integers> valuesOf(const Operator& op, Inputs inputs)
{
    const Step step = stepOf(op.kind);
    const Shape first = inputs.empty() || inputs[0] == nullptr ? Shape::unknownRank() : inputs[0]->shape;
    switch (step) {
    case Step::none: return std::nullopt;
    case Step::rank: return first.hasRank() ? std::optional(Integers{first.rank()}) : std::nullopt;
    case Step::shape: return first.isStatic() ? std::optional(Integers(first.dims().begin(), first.dims().end())) : std::nullopt;
    case Step::size: {
        const std::optional<int64_t> count = checkedElementCount(first);
        return count ? std::optional(Integers{*count}) : std::nullopt;
    }
    case Step::stridedSlice: return partOf(op, inputs);
    case Step::pack:
    case Step::join: return joined(op, inputs, step == Step::pack);
    case Step::pass: return inputs.empty() ? std::nullopt : shownIntegers(inputs[0]);
    case Step::product:
    case Step::largest:
    case Step::smallest: return reduced(inputs, step);
    case Step::add:
    case Step::sub:
    case Step::mul: break;
    }
    return combined(inputs, step);
}

} // namespace

std::optional<std::vector<int64_t>> shownIntegers(const Tensor* tensor)
{
    if (tensor == nullptr || tensor->data == nullptr || !areIntegers(tensor->dtype)) return std::nullopt;
    const std::optional<int64_t> count = checkedElementCount(tensor->shape);
    if (!count || *count > kMost || tensor->bytes < byteSize(tensor->dtype, *count)) return std::nullopt;
    std::vector<int64_t> values(static_cast<size_t>(*count));
    for (size_t i = 0; i < values.size(); ++i) {
        if (tensor->dtype == DType::i64) {
            std::memcpy(&values[i], tensor->data + i * sizeof(int64_t), sizeof(int64_t));
        } else {
            int32_t value = 0;
            std::memcpy(&value, tensor->data + i * sizeof value, sizeof value);
            values[i] = value;
        }
    }
    return values;
}

void showShapeValue(const Operator& op, Inputs inputs, Tensor& result, ShownValues& shown)
{
    if (result.data != nullptr || !areIntegers(result.dtype)) return;
    const std::optional<int64_t> count = checkedElementCount(result.shape);
    if (!count || *count < 1 || *count > kMost) return;
    const std::optional<Integers> values = valuesOf(op, inputs);
    if (!values || static_cast<int64_t>(values->size()) != *count) return; // a reduction over one dimension of several, say
    std::vector<std::byte> bytes(byteSize(result.dtype, *count));
    for (size_t i = 0; i < values->size(); ++i) {
        const int64_t value = (*values)[i];
        const auto narrow = static_cast<int32_t>(value);
        if (result.dtype == DType::i64) std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
        else if (narrow == value) std::memcpy(bytes.data() + i * sizeof narrow, &narrow, sizeof narrow);
        else return;
    }
    shown.push_back(std::move(bytes));
    result.data = shown.back().data();
    result.bytes = shown.back().size();
}

} // namespace loopscope
