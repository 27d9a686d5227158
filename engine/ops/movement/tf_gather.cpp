// Catalogue entries of TensorFlow's operators that choose elements by index, and that put them where an index says.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

namespace {

constexpr std::string_view kSegments = "data, segment_ids, num_segments";
OpDef unsorted(std::string_view summary) { return tfDef({3, 3}, kSegments, summary, inferAtRunTime, withinRelative(1e-6)); }
OpDef sorted(std::string_view summary) { return tfDef({2, 2}, "data, segment_ids", summary, inferAtRunTime, withinRelative(1e-6)); }
OpDef scatters(std::string_view summary) { return tfDef({3, 3}, "tensor, indices, updates", summary, inferTfSame); }

} // namespace

LS_DEFINE_OP(tf, Gather) { return tfDef({2, 2}, "params, indices", "Rows of params."); }
LS_DEFINE_OP(tf, GatherV2)
{
    return tfDef({3, 3}, "params, indices, axis", "Slices of params along an axis; batch_dims leading dimensions are shared.");
}
LS_DEFINE_OP(tf, GatherNd) { return tfDef({2, 2}, "params, indices", "Slices of params at index vectors."); }
LS_DEFINE_OP(tf, ScatterNd)
{
    return tfDef({3, 3}, "indices, updates, shape", "Zeros of a shape to which updates are added at index vectors.");
}
LS_DEFINE_OP(tf, TensorScatterUpdate) { return scatters("A copy of the tensor with updates written at index vectors."); }
LS_DEFINE_OP(tf, TensorScatterAdd) { return scatters("A copy of the tensor with updates added at index vectors."); }
LS_DEFINE_OP(tf, ScatterNdNonAliasingAdd) { return scatters("A copy of the input with updates added at index vectors."); }
LS_DEFINE_OP(tf, TensorScatterSub) { return scatters("A copy of the tensor with updates subtracted at index vectors."); }
LS_DEFINE_OP(tf, DynamicStitch) { return tfDef({2, -1}, "indices…, data…", "Slices of data put at indices; later ones win."); }
LS_DEFINE_OP(tf, ParallelDynamicStitch) { return tfDef({2, -1}, "indices…, data…", "Slices of data put at indices."); }
LS_DEFINE_OP(tf, DynamicPartition)
{
    return tfDef({2, 2, 1, -1}, "data, partitions", "Slices of data sorted into results by partition number.");
}
LS_DEFINE_OP(tf, OneHot)
{
    return tfDef({4, 4}, "indices, depth, on_value, off_value", "on_value where the index is, off_value elsewhere.");
}
LS_DEFINE_OP(tf, Where) { return tfDef({}, "condition", "The indices of elements that are true or not zero."); }
LS_DEFINE_OP(tf, TensorScatterMax) { return scatters("A copy of the tensor, the larger of element and update at index vectors."); }
LS_DEFINE_OP(tf, TensorScatterMin) { return scatters("A copy of the tensor, the smaller of element and update at index vectors."); }
LS_DEFINE_OP(tf, TopKV2)
{
    return tfDef({2, 2, 2, 2}, "input, k", "The k largest elements of each row, largest first, and where they were.");
}
LS_DEFINE_OP(tf, UnsortedSegmentSum) { return unsorted("Sums of the slices of each segment."); }
LS_DEFINE_OP(tf, UnsortedSegmentProd) { return unsorted("Products of the slices of each segment."); }
LS_DEFINE_OP(tf, UnsortedSegmentMax) { return unsorted("The largest of the slices of each segment."); }
LS_DEFINE_OP(tf, UnsortedSegmentMin) { return unsorted("The smallest of the slices of each segment."); }
LS_DEFINE_OP(tf, SegmentSum) { return sorted("Sums of the slices of each segment; ids are sorted."); }
LS_DEFINE_OP(tf, SegmentProd) { return sorted("Products of the slices of each segment; ids are sorted."); }
LS_DEFINE_OP(tf, SegmentMax) { return sorted("The largest of the slices of each segment; ids are sorted."); }
LS_DEFINE_OP(tf, SegmentMin) { return sorted("The smallest of the slices of each segment; ids are sorted."); }
LS_DEFINE_OP(tf, SegmentMean) { return sorted("Means of the slices of each segment; ids are sorted."); }
LS_DEFINE_OP(tf, Bincount) { return tfDef({3, 3}, "arr, size, weights", "How often each number occurs, or the sum of its weights."); }
LS_DEFINE_OP(tf, DenseBincount)
{
    return tfDef({3, 3}, "input, size, weights", "How often each number occurs in each row, or the sum of its weights.");
}
LS_DEFINE_OP(tf, ApproxTopK)
{
    return tfDef({1, 1, 2, 2}, "input",
                 "The k largest or smallest elements along a dimension, best first, and where they were; never approximate here.");
}
