// Catalogue entries of operators that replace rows, put tensors on top of each other, turn layouts or keep elements in a range.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

LS_DEFINE_OP(tf, InplaceUpdate) { return tfDef({3, 3}, "x, i [N], v [N,..]", "x with rows i replaced."); }
LS_DEFINE_OP(tf, InplaceAdd) { return tfDef({3, 3}, "x, i [N], v [N,..]", "x with v added to rows i."); }
LS_DEFINE_OP(tf, InplaceSub) { return tfDef({3, 3}, "x, i [N], v [N,..]", "x with v taken from rows i."); }
LS_DEFINE_OP(tf, ParallelConcat) { return tfDef({1, -1}, "values… [1,..]", "Its operands as rows of one tensor."); }
LS_DEFINE_OP(tf, DataFormatDimMap) { return tfDef({}, "x", "Dimensions of one layout of pictures as those of another."); }
LS_DEFINE_OP(tf, DataFormatVecPermute)
{
    return tfDef({}, "x", "One number for each dimension, put from one layout of pictures into another.");
}
LS_DEFINE_OP(tf, ClipByValue)
{
    return tfDef({3, 3}, "t, clip_value_min, clip_value_max", "Elements no smaller and no larger than limits.", inferTfSame);
}
LS_DEFINE_OP(tf, IsotonicRegression)
{
    return tfDef({1, 1, 2, 2}, "input [B,N]", "The nearest rows that do not rise, and which elements were pooled.", inferAtRunTime,
                 withinRelative(1e-6));
}
