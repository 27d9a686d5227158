// Catalogue entries of TensorFlow's operators that find where values belong: in sorted rows, between boundaries, in other vectors.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

LS_DEFINE_OP(tf, LowerBound)
{
    return tfDef({2, 2}, "sorted_inputs [B,N], values [B,M]", "For each value the first place of its row that is not smaller.");
}
LS_DEFINE_OP(tf, UpperBound)
{
    return tfDef({2, 2}, "sorted_inputs [B,N], values [B,M]", "For each value the first place of its row that is larger.");
}
LS_DEFINE_OP(tf, Bucketize) { return tfDef({1, 1}, "input", "How many of the sorted boundaries are not larger than each element."); }
LS_DEFINE_OP(tf, HistogramFixedWidth)
{
    return tfDef({3, 3}, "values, value_range [2], nbins []",
                 "How many values lie in each of nbins equal parts of a range; what is outside counts at its ends.");
}
LS_DEFINE_OP(tf, InTopK)
{
    return tfDef({2, 2}, "predictions [B,C], targets [B]",
                 "Whether fewer than k classes are predicted above each target; false beside NaN.");
}
LS_DEFINE_OP(tf, InTopKV2)
{
    return tfDef({3, 3}, "predictions [B,C], targets [B], k []",
                 "Whether fewer than k classes are predicted above each target; false beside NaN.");
}
LS_DEFINE_OP(tf, ListDiff) { return tfDef({2, 2, 2, 2}, "x [N], y [M]", "The elements of x that are not in y, and where they lie."); }
