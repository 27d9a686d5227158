// Catalogue entries of TensorFlow's sparse tensors: indices, values and a dense shape.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

namespace {

constexpr ErrorBounds kBound = withinRelative(1e-6);

} // namespace

LS_DEFINE_OP(tf, SparseToDense) { return tfDef({4, 4}, "sparse_indices, output_shape, sparse_values, default_value", "A dense tensor."); }
LS_DEFINE_OP(tf, SparseTensorDenseMatMul)
{
    return tfDef({4, 4}, "a_indices, a_values, a_shape, b", "A sparse matrix times a dense one.", inferAtRunTime, kBound);
}
LS_DEFINE_OP(tf, SparseReduceSum)
{
    return tfDef({4, 4}, "input_indices, input_values, input_shape, reduction_axes", "Sums over axes, dense.", inferAtRunTime, kBound);
}
LS_DEFINE_OP(tf, SparseReorder)
{
    return tfDef({3, 3, 2, 2}, "input_indices, input_values, input_shape", "The entries in the order of a dense tensor.");
}
LS_DEFINE_OP(tf, SparseReshape) { return tfDef({3, 3, 2, 2}, "input_indices, input_shape, new_shape", "The entries in another shape."); }
LS_DEFINE_OP(tf, SparseSegmentSum)
{
    return tfDef({3, 3}, "data, indices, segment_ids", "Sums of rows by segment.", inferAtRunTime, kBound);
}
LS_DEFINE_OP(tf, SparseSegmentMean)
{
    return tfDef({3, 3}, "data, indices, segment_ids", "Means of rows by segment.", inferAtRunTime, kBound);
}
LS_DEFINE_OP(tf, SparseSegmentSqrtN)
{
    return tfDef({3, 3}, "data, indices, segment_ids", "Sums of rows by segment over the root of their number.", inferAtRunTime, kBound);
}
