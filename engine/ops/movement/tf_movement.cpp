// Catalogue entries of TensorFlow's operators that join, split, cut, repeat and turn tensors.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

namespace {

OpDef moves(TfArity arity, std::string_view operands, std::string_view summary) { return tfDef(arity, operands, summary); }
OpDef same(TfArity arity, std::string_view operands, std::string_view summary) { return tfDef(arity, operands, summary, inferTfSame); }

} // namespace

LS_DEFINE_OP(tf, Pack) { return moves({1, -1}, "values…", "Operands of one shape stacked along a new axis."); }
LS_DEFINE_OP(tf, Unpack) { return moves({1, 1, 0, -1}, "value", "The slices along an axis."); }
LS_DEFINE_OP(tf, ConcatV2) { return moves({2, -1}, "values…, axis", "Operands joined along an axis."); }
LS_DEFINE_OP(tf, Concat) { return moves({2, -1}, "concat_dim, values…", "Operands joined along an axis."); }
LS_DEFINE_OP(tf, Split) { return moves({2, 2, 1, -1}, "split_dim, value", "Equal pieces along an axis."); }
LS_DEFINE_OP(tf, SplitV)
{
    return moves({3, 3, 1, -1}, "value, size_splits, split_dim", "Pieces of given sizes along an axis; one may be −1.");
}
LS_DEFINE_OP(tf, Tile) { return moves({2, 2}, "input, multiples", "The operand repeated along each dimension."); }
LS_DEFINE_OP(tf, Transpose) { return moves({2, 2}, "x, perm", "Dimension i of the result is dimension perm[i] of x."); }
LS_DEFINE_OP(tf, Slice) { return moves({3, 3}, "input, begin, size", "A block of the operand; a size of −1 takes the rest."); }
LS_DEFINE_OP(tf, StridedSlice)
{
    return moves({4, 4}, "input, begin, end, strides", "NumPy's slicing: masks for open ends, ellipsis, new axes and single indices.");
}
LS_DEFINE_OP(tf, StridedSliceGrad)
{
    return moves({5, 5}, "shape, begin, end, strides, dy", "Zeros of a shape with dy where the slice was taken.");
}
LS_DEFINE_OP(tf, TensorStridedSliceUpdate)
{
    return same({5, 5}, "input, begin, end, strides, value", "A copy of the operand with value written to a slice of it.");
}
LS_DEFINE_OP(tf, ReverseV2) { return same({2, 2}, "tensor, axis", "Turned around along the given dimensions."); }
LS_DEFINE_OP(tf, Reverse) { return same({2, 2}, "tensor, dims", "Turned around along the dimensions that are true."); }
LS_DEFINE_OP(tf, ReverseSequence) { return same({2, 2}, "input, seq_lengths", "The first elements of each sequence turned around."); }
LS_DEFINE_OP(tf, Roll) { return same({3, 3}, "input, shift, axis", "Moved along dimensions; what leaves at one end enters at the other."); }
LS_DEFINE_OP(tf, Pad) { return moves({2, 2}, "input, paddings", "Zeros before and after each dimension."); }
LS_DEFINE_OP(tf, PadV2) { return moves({3, 3}, "input, paddings, constant_values", "A constant before and after each dimension."); }
LS_DEFINE_OP(tf, ConjugateTranspose) { return moves({2, 2}, "x, perm", "As Transpose, of conjugates."); }
LS_DEFINE_OP(tf, MirrorPadGrad) { return moves({2, 2}, "input, paddings", "Elements with those added that MirrorPad made of them."); }
LS_DEFINE_OP(tf, MirrorPad) { return moves({2, 2}, "input, paddings", "The operand's mirror image before and after each dimension."); }
