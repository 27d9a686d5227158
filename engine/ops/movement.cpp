// Shared rules of shape and data movement.
#include "engine/ops/movement.h"

#include "engine/tensor/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace loopscope {

std::optional<int> normalAxis(int64_t axis, int rank)
{
    if (axis < -rank || axis >= rank) return std::nullopt;
    return static_cast<int>(axis < 0 ? axis + rank : axis);
}

DType attributeDType(const AttributeList& list, std::string_view key, DType otherwise)
{
    const Attribute* a = findAttribute(list, key);
    if (!a) return otherwise;
    if (const auto* dtype = a->as<DType>()) return *dtype;
    if (const auto* word = a->as<Word>()) return dtypeFromName(word->text).value_or(otherwise);
    return otherwise;
}

std::string describeOperand(const InferContext& context, int i)
{
    const Tensor& t = context.input(i);
    return "operand " + std::to_string(i) + " (" + std::string(dtypeName(t.dtype)) + toString(t.shape) + ")";
}

Status requirePresent(const InferContext& context, int optionalFrom)
{
    for (int i = 0; i < context.inputCount() && i < optionalFrom; ++i)
        if (!context.has(i)) return Error(ErrorCode::badFile, "operand " + std::to_string(i) + " is missing");
    return {};
}

Status requireIndexType(const InferContext& context, int i, int constraint)
{
    const DType dtype = context.input(i).dtype;
    if (dtype == DType::i32 || dtype == DType::i64 || dtype == DType::unknown) return {};
    return InferContext::violated(constraint, "dtype of operand " + std::to_string(i))
        .found(std::string(dtypeName(dtype)))
        .expected("i32 or i64");
}

Status requireRank(const InferContext& context, int i, int rank, int constraint)
{
    const Shape& shape = context.input(i).shape;
    if (!shape.hasRank() || shape.rank() == rank) return {};
    return InferContext::violated(constraint, "rank of " + describeOperand(context, i))
        .found(std::to_string(shape.rank()))
        .expected(std::to_string(rank));
}

Status requireSameType(const InferContext& context, int i, int k, int constraint)
{
    const DType a = context.input(i).dtype;
    const DType b = context.input(k).dtype;
    if (a == b || a == DType::unknown || b == DType::unknown) return {};
    return InferContext::violated(constraint, "dtype of operand " + std::to_string(k))
        .found(std::string(dtypeName(b)))
        .expected(std::string(dtypeName(a)) + ", as operand " + std::to_string(i) + " has");
}

Result<std::optional<int64_t>> scalarOperand(const InferContext& context, int i, int constraint)
{
    LS_CHECK_OK(requireIndexType(context, i, constraint));
    const Shape& shape = context.input(i).shape;
    if (shape.isStatic() && checkedElementCount(shape) != 1)
        return InferContext::violated(constraint, "elements of " + describeOperand(context, i)).expected("1");
    const auto values = context.intValues(i);
    if (!values || values->size() != 1) return std::optional<int64_t>();
    return std::optional<int64_t>(values->front());
}

Result<std::optional<std::vector<int64_t>>> vectorOperand(const InferContext& context, int i, int constraint)
{
    LS_CHECK_OK(requireIndexType(context, i, constraint));
    LS_CHECK_OK(requireRank(context, i, 1, constraint));
    return context.intValues(i);
}

Result<Shape> shapeFromOperand(const InferContext& context, int i, int constraint)
{
    LS_TRY(const auto values, vectorOperand(context, i, constraint));
    const Shape& vector = context.input(i).shape;
    if (vector.hasRank() && vector[0] > kMaxRank)
        return InferContext::violated(constraint, "rank asked for by operand " + std::to_string(i))
            .found(std::to_string(vector[0]))
            .expected("at most " + std::to_string(kMaxRank));
    if (!values) {
        if (!vector.hasRank() || vector[0] < 0) return Shape::unknownRank();
        return Shape::ofRank(static_cast<int>(vector[0]), kUnknownDim);
    }
    for (const int64_t dim : *values)
        if (dim < 0)
            return InferContext::violated(constraint, "dimension in operand " + std::to_string(i))
                .found(std::to_string(dim))
                .expected("0 or more");
    const Shape shape{std::span<const int64_t>(*values)};
    if (!checkedElementCount(shape))
        return InferContext::violated(constraint,
                                      "shape " + toString(shape) + " asked for by operand " + std::to_string(i) + " has too many elements");
    return shape;
}

namespace {

/// The bits of element `i`, with −0.0 as 0.0 and one NaN for all.
uint64_t comparableBits(const Tensor& tensor, int64_t i)
{
    const int bits = bitWidth(tensor.dtype);
    uint64_t value = 0;
    std::memcpy(&value, tensor.data + i * (bits / 8), static_cast<size_t>(bits / 8));
    if (!isFloat(tensor.dtype)) return value;
    const uint64_t sign = uint64_t{1} << (bits - 1);
    if ((value & ~sign) == 0) return 0;
    return std::isnan(elementAsReal(tensor, i)) ? ~uint64_t{0} : value;
}

} // namespace

bool elementIsSet(const Tensor& tensor, int64_t i)
{
    const int bits = bitWidth(tensor.dtype);
    uint64_t value = 0;
    std::memcpy(&value, tensor.data + i * (bits / 8), static_cast<size_t>(bits / 8));
    if (isFloat(tensor.dtype)) value &= ~(uint64_t{1} << (bits - 1));
    return value != 0;
}

std::vector<int64_t> firstOccurrences(const Tensor& tensor)
{
    const auto count = static_cast<size_t>(tensor.elementCount());
    std::vector<std::pair<uint64_t, int64_t>> sorted(count);
    for (size_t i = 0; i < count; ++i) sorted[i] = {comparableBits(tensor, static_cast<int64_t>(i)), static_cast<int64_t>(i)};
    std::sort(sorted.begin(), sorted.end());
    std::vector<int64_t> first(count);
    for (size_t i = 0, group = 0; i < count; ++i) {
        if (sorted[i].first != sorted[group].first) group = i;
        first[static_cast<size_t>(sorted[i].second)] = sorted[group].second;
    }
    return first;
}

bool areDistinctDimensions(const std::vector<int64_t>& list, int64_t rank)
{
    for (const int64_t value : list)
        if (value < 0 || value >= rank || std::count(list.begin(), list.end(), value) != 1) return false;
    return true;
}

std::string listText(const std::vector<int64_t>& list) { return toString(Shape(std::span<const int64_t>(list))); }

Result<Shape> resolveReshape(const Shape& input, std::span<const int64_t> wanted)
{
    Shape result{wanted};
    int stretch = -1;
    // Zero dimensions are left out of the quotient, as in LiteRT kernels/reshape.cc: [0,3] to [-1,3] gives [0,3].
    Shape known = result;
    bool zero = false;
    for (int i = 0; i < result.rank(); ++i) {
        if (result[i] < -1)
            return InferContext::violated(1, "dimension " + std::to_string(i) + " of the new shape")
                .found(std::to_string(result[i]))
                .expected("-1 or more");
        if (result[i] == 0) zero = true;
        if (result[i] == -1) {
            if (stretch >= 0)
                return InferContext::violated(1, "dimensions " + std::to_string(stretch) + " and " + std::to_string(i) +
                                                     " of the new shape are both -1");
            stretch = i;
        }
        if (result[i] <= 0) known[i] = 1;
    }
    const auto knownCount = checkedElementCount(known);
    if (!knownCount) return InferContext::violated(2, "the new shape " + toString(result) + " has too many elements");
    if (!input.isStatic()) return result;
    const auto inputCount = checkedElementCount(input);
    if (!inputCount) return InferContext::violated(2, "the input " + toString(input) + " has too many elements");
    if (stretch >= 0) {
        int64_t nonZero = 1;
        for (const int64_t dim : input.dims()) nonZero *= dim == 0 ? 1 : dim;
        result[stretch] = *inputCount == 0 && !zero ? 0 : nonZero / *knownCount;
    }
    const auto count = checkedElementCount(result);
    if (count != inputCount)
        return InferContext::violated(2, "elements of the new shape " + toString(result))
            .found(count ? std::to_string(*count) : "too many")
            .expected(std::to_string(*inputCount) + ", as the input " + toString(input) + " has");
    return result;
}

} // namespace loopscope
