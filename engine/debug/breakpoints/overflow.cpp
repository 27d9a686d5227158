#include "engine/debug/breakpoints/overflow.h"

#include "engine/debug/expression/walk.h"
#include "engine/tensor/statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace loopscope {

namespace {

__extension__ typedef __int128 Wide;

constexpr std::array<std::string_view, 3> kBinary = {"add", "sub", "mul"};
constexpr std::array<std::string_view, 3> kUnary = {"neg", "abs", "square"};
constexpr std::array<std::string_view, 5> kReductions = {"sum", "reduce_prod", "cumsum", "add_n", "squared_difference"};

template <size_t N> bool contains(const std::array<std::string_view, N>& names, std::string_view name)
{
    return std::ranges::find(names, name) != names.end();
}

Wide elementOf(const Tensor& tensor, int64_t index)
{
    if (tensor.dtype == DType::u64) return static_cast<Wide>(tensor.as<uint64_t>()[index]);
    return elementAsInteger(tensor, index);
}

bool isOutside(Wide value, DType dtype) { return value < integerMin(dtype) || value > static_cast<Wide>(integerMax(dtype)); }

bool binaryOverflows(std::string_view name, const Tensor& a, const Tensor& b, const Tensor& result)
{
    if (result.shape.rank() > kMostDimensions) return false;
    Odometer left = broadcastWalk(a.shape, result.shape);
    Odometer right = broadcastWalk(b.shape, result.shape);
    left.reset(0);
    right.reset(0);
    const int64_t count = result.elementCount();
    for (int64_t i = 0; i < count; ++i) {
        const Wide x = elementOf(a, left.offset());
        const Wide y = elementOf(b, right.offset());
        Wide truth = x * y;
        if (name == "add") truth = x + y;
        else if (name == "sub") truth = x - y;
        else if (name == "squared_difference") truth = (x - y) * (x - y);
        if (isOutside(truth, result.dtype)) return true;
        left.next();
        right.next();
    }
    return false;
}

bool unaryOverflows(std::string_view name, const Tensor& x, const Tensor& result)
{
    const int64_t count = x.elementCount();
    for (int64_t i = 0; i < count; ++i) {
        const Wide value = elementOf(x, i);
        const Wide truth = name == "neg" ? -value : name == "abs" ? (value < 0 ? -value : value) : value * value;
        if (isOutside(truth, result.dtype)) return true;
    }
    return false;
}

bool castOverflows(const Tensor& x, const Tensor& result)
{
    const int64_t count = x.elementCount();
    for (int64_t i = 0; i < count; ++i) {
        if (isInteger(x.dtype)) {
            if (isOutside(elementOf(x, i), result.dtype)) return true;
            continue;
        }
        const double value = std::trunc(elementAsReal(x, i));
        const double high = std::ldexp(1.0, bitWidth(result.dtype) - (integerMin(result.dtype) < 0 ? 1 : 0));
        if (!(value >= static_cast<double>(integerMin(result.dtype)) && value < high)) return true;
    }
    return false;
}

/// Sums and products along axes: over all elements that a result may stand for. An element of the result is told to have wrapped if it
/// differs from the true value of the same elements.
bool reductionOverflows(std::string_view name, const Tensor& x, const Tensor& axes, const Tensor& result)
{
    const int rank = x.shape.rank();
    if (rank > kMostDimensions || !isInteger(axes.dtype)) return false;
    std::array<bool, kMostDimensions> isReduced{};
    for (int64_t i = 0; i < axes.elementCount(); ++i) {
        const int64_t axis = elementAsInteger(axes, i);
        if (axis < -rank || axis >= rank) return false;
        isReduced[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = true;
    }
    Odometer outer;
    Odometer inner;
    std::array<int64_t, kMostDimensions> strides{};
    int64_t stride = 1;
    for (int d = rank - 1; d >= 0; --d) {
        strides[static_cast<size_t>(d)] = stride;
        stride *= x.shape[d];
    }
    for (int d = 0; d < rank; ++d)
        (isReduced[static_cast<size_t>(d)] ? inner : outer).addDimension(x.shape[d], strides[static_cast<size_t>(d)]);
    outer.reset(0);
    const int64_t results = outer.count();
    const int64_t each = inner.count();
    for (int64_t r = 0; r < results; ++r, outer.next()) {
        Wide truth = name == "sum" ? 0 : 1;
        inner.reset(outer.offset());
        for (int64_t i = 0; i < each; ++i, inner.next()) {
            const Wide value = elementOf(x, inner.offset());
            if (name == "sum") {
                truth += value;
            } else if (value == 0) {
                truth = 0;
                break;
            } else if (!isOutside(truth, result.dtype)) { // beyond the limits it stays there, until a zero comes
                truth *= value;
            }
        }
        if (isOutside(truth, result.dtype)) return true;
    }
    return false;
}

bool sumOverflows(std::span<const Tensor* const> inputs, const Tensor& result)
{
    const int64_t count = result.elementCount();
    for (const Tensor* input : inputs)
        if (!input || input->elementCount() != count) return false;
    for (int64_t i = 0; i < count; ++i) {
        Wide truth = 0;
        for (const Tensor* input : inputs) truth += elementOf(*input, i);
        if (isOutside(truth, result.dtype)) return true;
    }
    return false;
}

bool cumulativeOverflows(const Tensor& x, const Tensor& axisTensor, const Tensor& result)
{
    const int rank = x.shape.rank();
    int64_t axis = isInteger(axisTensor.dtype) && axisTensor.elementCount() == 1 ? elementAsInteger(axisTensor, 0) : 0;
    if (axis < -rank || axis >= rank) return false;
    if (axis < 0) axis += rank;
    const int64_t inner = x.shape.countOf(static_cast<int>(axis) + 1, rank);
    const int64_t length = x.shape[static_cast<int>(axis)];
    const int64_t outer = x.shape.countOf(0, static_cast<int>(axis));
    for (int64_t o = 0; o < outer; ++o)
        for (int64_t i = 0; i < inner; ++i) {
            Wide truth = 0;
            for (int64_t k = 0; k < length; ++k) {
                truth += elementOf(x, (o * length + k) * inner + i);
                if (isOutside(truth, result.dtype)) return true;
            }
        }
    return false;
}

} // namespace

bool canOverflow(const Operator& op)
{
    if (op.kind.dialect != "tfl" && op.kind.dialect != "circle") return false;
    const std::string_view name = op.kind.name;
    return contains(kBinary, name) || contains(kUnary, name) || contains(kReductions, name) || name == "cast";
}

bool hasOverflow(const Operator& op, std::span<const Tensor* const> inputs, const Tensor& result)
{
    const std::string_view name = op.kind.name;
    const auto isReadable = [](const Tensor* tensor) { return tensor && (tensor->data || tensor->bytes == 0) && tensor->shape.isStatic(); };
    if (inputs.empty() || !std::ranges::all_of(inputs, isReadable) || !isInteger(result.dtype) || result.quantization) return false;
    const Tensor& x = *inputs[0];
    if (name == "cast") return (isInteger(x.dtype) || isFloat(x.dtype)) && castOverflows(x, result);
    if (!isInteger(x.dtype) || x.quantization) return false;
    if (name == "add_n") return sumOverflows(inputs, result);
    if (contains(kUnary, name)) return unaryOverflows(name, x, result);
    if (inputs.size() < 2 || !isInteger(inputs[1]->dtype)) return false;
    if (contains(kBinary, name) || name == "squared_difference") {
        const auto shape = broadcastShapes(x.shape, inputs[1]->shape);
        return shape && *shape == result.shape && binaryOverflows(name, x, *inputs[1], result);
    }
    if (name == "cumsum") return cumulativeOverflows(x, *inputs[1], result);
    return reductionOverflows(name, x, *inputs[1], result);
}

} // namespace loopscope
