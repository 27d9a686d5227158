// Shapes as values, and parts of them: where a rule's sizes are not known before the model runs.
#pragma once

#include "converters/lower/graph_lowering.h"

namespace loopscope::lowering {

/// shape[begin, begin + size), size −1: to its end.
inline Result<ValueId> part(GraphLowering& l, ValueId shape, int64_t begin, int64_t size)
{
    return l.emit("slice", {shape, numbers(l, {begin}), numbers(l, {size})}, {}, DType::i32);
}

/// Of a shape, as i32[1].
inline Result<ValueId> countOf(GraphLowering& l, ValueId shape)
{
    return l.emit("reduce_prod", {shape, numbers(l, {0})}, {{"keep_dims", true}}, DType::i32);
}

inline Result<ValueId> asScalar(GraphLowering& l, ValueId one)
{
    return l.emit("reshape", {one, l.integerConstant(DType::i32, {})}, {}, l.type(one).dtype);
}

inline Result<ValueId> joined(GraphLowering& l, ValueId a, ValueId b)
{
    return l.emit("concatenation", {a, b}, {{"axis", int64_t{0}}}, l.type(a).dtype);
}

/// 0, 1, …, count − 1; `count`: i32[1].
inline Result<ValueId> countingTo(GraphLowering& l, ValueId count)
{
    LS_TRY(const ValueId end, asScalar(l, count));
    return l.emit("range", {number(l, 0), end, number(l, 1)}, {}, DType::i32);
}

/// The last element of a vector, as i32[1].
inline Result<ValueId> lastOf(GraphLowering& l, ValueId vector)
{
    return l.emit("strided_slice", {vector, numbers(l, {-1}), numbers(l, {0}), numbers(l, {1})}, {{"end_mask", int64_t{1}}}, DType::i32);
}

} // namespace loopscope::lowering
