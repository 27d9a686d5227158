// Catalogue entries of TensorFlow's sparse tensors: indices, values and a dense shape.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

namespace {

constexpr ErrorBounds kSparseBound = withinRelative(1e-6);

} // namespace

LS_DEFINE_OP(tf, SparseToDense) { return tfDef({4, 4}, "sparse_indices, output_shape, sparse_values, default_value", "A dense tensor."); }
LS_DEFINE_OP(tf, SparseTensorDenseMatMul)
{
    return tfDef({4, 4}, "a_indices, a_values, a_shape, b", "A sparse matrix times a dense one.", inferAtRunTime, kSparseBound);
}
LS_DEFINE_OP(tf, SparseReorder)
{
    return tfDef({3, 3, 2, 2}, "input_indices, input_values, input_shape", "The entries in the order of a dense tensor.");
}
LS_DEFINE_OP(tf, SparseReshape) { return tfDef({3, 3, 2, 2}, "input_indices, input_shape, new_shape", "The entries in another shape."); }
LS_DEFINE_OP(tf, SparseSegmentSum)
{
    return tfDef({3, 3}, "data, indices, segment_ids", "Sums of rows by segment.", inferAtRunTime, kSparseBound);
}
LS_DEFINE_OP(tf, SparseSegmentMean)
{
    return tfDef({3, 3}, "data, indices, segment_ids", "Means of rows by segment.", inferAtRunTime, kSparseBound);
}
LS_DEFINE_OP(tf, SparseSegmentSqrtN)
{
    return tfDef({3, 3}, "data, indices, segment_ids", "Sums of rows by segment over the root of their number.", inferAtRunTime,
                 kSparseBound);
}
LS_DEFINE_OP(tf, SparseSegmentSumWithNumSegments)
{
    return tfDef({4, 4}, "data, indices, segment_ids, num_segments", "Sums of rows by segment, of so many segments.", inferAtRunTime,
                 kSparseBound);
}
LS_DEFINE_OP(tf, SparseSegmentMeanWithNumSegments)
{
    return tfDef({4, 4}, "data, indices, segment_ids, num_segments", "Means of rows by segment, of so many segments.", inferAtRunTime,
                 kSparseBound);
}
LS_DEFINE_OP(tf, SparseSegmentSqrtNWithNumSegments)
{
    return tfDef({4, 4}, "data, indices, segment_ids, num_segments",
                 "Sums of rows by segment over the root of their number, of so many segments.", inferAtRunTime, kSparseBound);
}
LS_DEFINE_OP(tf, SparseSegmentSumGrad)
{
    return tfDef({4, 4}, "grad, indices, segment_ids, output_dim0", "The gradient of rows that were summed by segment.", inferAtRunTime,
                 kSparseBound);
}
LS_DEFINE_OP(tf, SparseSegmentMeanGrad)
{
    return tfDef({4, 4}, "grad, indices, segment_ids, output_dim0", "The gradient of rows whose means were taken by segment.",
                 inferAtRunTime, kSparseBound);
}
LS_DEFINE_OP(tf, SparseSegmentSqrtNGrad)
{
    return tfDef({4, 4}, "grad, indices, segment_ids, output_dim0",
                 "The gradient of rows that were summed by segment and divided by a root.", inferAtRunTime, kSparseBound);
}
LS_DEFINE_OP(tf, SparseSegmentSumGradV2)
{
    return tfDef({4, 4, 2, 2}, "grad, indices, segment_ids, dense_output_dim0",
                 "The gradient of the rows that were summed by segment, and which these are.", inferAtRunTime, kSparseBound);
}
LS_DEFINE_OP(tf, SparseSegmentMeanGradV2)
{
    return tfDef({4, 4, 2, 2}, "grad, indices, segment_ids, dense_output_dim0",
                 "The gradient of the rows whose mean was taken by segment, and which these are.", inferAtRunTime, kSparseBound);
}
LS_DEFINE_OP(tf, SparseSegmentSqrtNGradV2)
{
    return tfDef({4, 4, 2, 2}, "grad, indices, segment_ids, dense_output_dim0",
                 "The gradient of the rows that were summed by segment and divided by a root, and which these are.", inferAtRunTime,
                 kSparseBound);
}
