// Element, slice and mask selection with NumPy's meaning.
#include "engine/debug/expression/functions.h"
#include "engine/debug/expression/walk.h"

#include <algorithm>
#include <string>

namespace loopscope {

namespace {

/// Which elements of one dimension are selected.
struct Selection {
    int64_t begin = 0, step = 1, count = 0;
};

/// Python's slice rules: negative bounds count from the end, all are clipped.
Selection selectSlice(const IndexValue& index, int64_t size)
{
    const bool isBackward = index.step < 0;
    const int64_t lowest = isBackward ? -1 : 0, highest = isBackward ? size - 1 : size;
    const auto bound = [&](int64_t value) { return std::clamp(value < 0 ? value + size : value, lowest, highest); };
    Selection s;
    s.begin = index.hasBegin ? bound(index.begin) : isBackward ? highest : lowest;
    const int64_t end = index.hasEnd ? bound(index.end) : isBackward ? lowest : highest;
    // Steps beyond the size select one element, as the size itself does; the clamp keeps their arithmetic small.
    s.step = std::clamp(index.step, -std::max<int64_t>(size, 1), std::max<int64_t>(size, 1));
    const int64_t distance = isBackward ? s.begin - end : end - s.begin;
    const int64_t stride = isBackward ? -s.step : s.step;
    s.count = distance <= 0 ? 0 : (distance + stride - 1) / stride;
    return s;
}

Error outOfRange(int64_t index, int dimension, int64_t size)
{
    return Error(ErrorCode::execution, "index " + std::to_string(index) + " out of range for dimension " + std::to_string(dimension) +
                                           " of size " + std::to_string(size));
}

/// Calls `f(dimension of the tensor, its index or null for a whole dimension, position among the indices)` for every dimension.
template <typename F> Status eachDimension(int rank, std::span<const IndexValue> indices, size_t& badIndex, F f)
{
    const auto ellipses =
        std::count_if(indices.begin(), indices.end(), [](const IndexValue& i) { return i.kind == IndexValue::Kind::ellipsis; });
    const int named = static_cast<int>(indices.size()) - static_cast<int>(ellipses);
    if (ellipses > 1 || named > rank) {
        badIndex = indices.size() - 1;
        if (ellipses > 1) return Error(ErrorCode::usage, "only one ... is possible");
        return Error(ErrorCode::usage, std::to_string(named) + " indices for a value of rank " + std::to_string(rank));
    }
    int dimension = 0;
    for (size_t i = 0; i < indices.size(); ++i) {
        badIndex = i;
        if (indices[i].kind != IndexValue::Kind::ellipsis) {
            LS_CHECK_OK(f(dimension++, &indices[i], i));
            continue;
        }
        for (const int end = dimension + rank - named; dimension < end; ++dimension) LS_CHECK_OK(f(dimension, nullptr, i));
    }
    for (; dimension < rank; ++dimension) LS_CHECK_OK(f(dimension, nullptr, indices.size()));
    return {};
}

} // namespace

Status computeIndex(const ExpressionValue& x, std::span<const IndexValue> indices, size_t& badIndex, ExpressionValue& result)
{
    const Shape& shape = x.shape();
    if (shape.rank() > kMostDimensions) return Error(ErrorCode::execution, "rank " + std::to_string(shape.rank()) + " is too large");
    Odometer walk;
    Shape out;
    int64_t base = 0;
    LS_CHECK_OK(eachDimension(shape.rank(), indices, badIndex, [&](int d, const IndexValue* index, size_t) -> Status {
        const int64_t stride = shape.countOf(d + 1, shape.rank());
        if (!index) {
            walk.addDimension(shape[d], stride);
            out.append(shape[d]);
            return {};
        }
        if (index->kind == IndexValue::Kind::single) {
            const int64_t at = index->begin < 0 ? index->begin + shape[d] : index->begin;
            if (at < 0 || at >= shape[d]) return outOfRange(index->begin, d, shape[d]);
            base += at * stride;
            return {};
        }
        const Selection s = selectSlice(*index, shape[d]);
        base += s.count > 0 ? s.begin * stride : 0;
        walk.addDimension(s.count, s.step * stride);
        out.append(s.count);
        return {};
    }));
    const int64_t n = checkedElementCount(out).value_or(INT64_MAX);
    if (n > kLargestComputed) return Error(ErrorCode::execution, "the result " + toString(out) + " is too large");
    walk.reset(base);
    result.setTensor(x.type(), x.dtype(), out);
    for (int64_t i = 0; i < n; ++i) {
        x.copyElement(walk.offset(), result, i);
        walk.next();
    }
    result.collapse();
    return {};
}

Status computeMask(const ExpressionValue& x, const ExpressionValue& mask, ExpressionValue& result)
{
    const Shape& shape = x.shape();
    const Shape& wanted = mask.shape();
    const bool fits =
        wanted.rank() > 0 && wanted.rank() <= shape.rank() && std::equal(wanted.dims().begin(), wanted.dims().end(), shape.dims().begin());
    if (!fits) {
        return Error(ErrorCode::execution, "a mask of shape " + toString(wanted) + " does not fit a value of shape " + toString(shape));
    }
    int64_t count = 0;
    for (int64_t i = 0; i < mask.elementCount(); ++i) count += mask.booleanAt(i);
    Shape out{count};
    for (int d = wanted.rank(); d < shape.rank(); ++d) out.append(shape[d]);
    const int64_t row = shape.countOf(wanted.rank(), shape.rank());
    result.setTensor(x.type(), x.dtype(), out);
    int64_t to = 0;
    for (int64_t i = 0; i < mask.elementCount(); ++i) {
        if (!mask.booleanAt(i)) continue;
        for (int64_t k = 0; k < row; ++k) x.copyElement(i * row + k, result, to++);
    }
    return {};
}

Result<Shape> indexedShape(const Shape& shape, std::span<const IndexValue> indices, std::span<const bool> known, size_t& badIndex)
{
    Shape out;
    LS_CHECK_OK(eachDimension(shape.rank(), indices, badIndex, [&](int d, const IndexValue* index, size_t i) -> Status {
        const bool isKnown = shape[d] != kUnknownDim && (!index || known[i]);
        if (index && index->kind == IndexValue::Kind::single) {
            const bool isOutside = isKnown && (index->begin >= shape[d] || index->begin < -shape[d]);
            if (isOutside) return outOfRange(index->begin, d, shape[d]);
            return {};
        }
        out.append(!isKnown ? kUnknownDim : index ? selectSlice(*index, shape[d]).count : shape[d]);
        return {};
    }));
    return out;
}

} // namespace loopscope
