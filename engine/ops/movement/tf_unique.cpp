// Catalogue entries of different elements and slices, and elements by rank.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

LS_DEFINE_OP(tf, UniqueWithCounts)
{
    return tfDef({1, 1, 3, 3}, "x",
                 "Different elements in order of first occurrence, which one each element is, and how often each occurs.");
}
LS_DEFINE_OP(tf, Unique)
{
    return tfDef({1, 1, 2, 2}, "x", "Different elements in order of first occurrence, and which one each element is.");
}
LS_DEFINE_OP(tf, UniqueV2) { return tfDef({2, 2, 2, 2}, "x, axis", "Different slices along an axis, and the number of each slice."); }
LS_DEFINE_OP(tf, UniqueWithCountsV2)
{
    return tfDef({2, 2, 3, 3}, "x, axis", "Different slices along an axis, the number of each slice, and how often each occurs.");
}
LS_DEFINE_OP(tf, NthElement) { return tfDef({2, 2}, "input, n", "The n-th smallest or largest element of each row."); }
