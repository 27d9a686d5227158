// Catalogue entries of what joins, cuts, fills and combines TensorFlow's sparse tensors.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

LS_DEFINE_OP(tf, SparseFillEmptyRows)
{
    return tfDef({4, 4, 4, 4}, "indices, values, dense_shape, default_value",
                 "The entries, and one of the default value for each row that has none.");
}
LS_DEFINE_OP(tf, SparseFillEmptyRowsGrad)
{
    return tfDef({2, 2, 2, 2}, "reverse_index_map, grad_values", "The gradients of the entries and of the default value.", inferAtRunTime,
                 withinRelative(1e-6));
}
LS_DEFINE_OP(tf, RaggedFillEmptyRows)
{
    return tfDef({4, 4, 4, 4}, "value_rowids, values, nrows, default_value",
                 "The values, and one default value for each row that has none.");
}
LS_DEFINE_OP(tf, RaggedFillEmptyRowsGrad)
{
    return tfDef({2, 2, 2, 2}, "reverse_index_map, grad_values", "The gradients of the values and of the default value.", inferAtRunTime,
                 withinRelative(1e-6));
}
LS_DEFINE_OP(tf, SparseAdd)
{
    return tfDef({7, 7, 3, 3}, "a_indices, a_values, a_shape, b_indices, b_values, b_shape, thresh",
                 "The sum of two sparse tensors, without sums of two entries that are below the threshold.");
}
LS_DEFINE_OP(tf, SparseSparseMaximum)
{
    return tfDef({6, 6, 2, 2}, "a_indices, a_values, a_shape, b_indices, b_values, b_shape",
                 "The larger values; what is missing counts as 0.");
}
LS_DEFINE_OP(tf, SparseSparseMinimum)
{
    return tfDef({6, 6, 2, 2}, "a_indices, a_values, a_shape, b_indices, b_values, b_shape",
                 "The smaller values; what is missing counts as 0.");
}
LS_DEFINE_OP(tf, SparseConcat) { return tfDef({0, -1, 3, 3}, "indices…, values…, shapes…", "Sparse tensors joined along a dimension."); }
LS_DEFINE_OP(tf, SparseSlice)
{
    return tfDef({5, 5, 3, 3}, "indices, values, shape, start, size", "The entries in a box, moved to its corner.");
}
LS_DEFINE_OP(tf, SparseSliceGrad)
{
    return tfDef({4, 4}, "backprop_val_grad, input_indices, input_start, output_indices",
                 "The gradient of the entries that were cut out, 0 for the others.");
}
LS_DEFINE_OP(tf, SparseSplit)
{
    return tfDef({4, 4, 0, -1}, "split_dim, indices, values, shape", "A sparse tensor in pieces along a dimension.");
}
LS_DEFINE_OP(tf, SparseSoftmax)
{
    return tfDef({3, 3}, "sp_indices, sp_values, sp_shape", "The softmax of each row, among the entries that are there.", inferAtRunTime,
                 withinRelative(1e-6));
}
LS_DEFINE_OP(tf, SparseReduceMax)
{
    return tfDef({4, 4}, "input_indices, input_values, input_shape, reduction_axes", "The largest entries over axes, dense.");
}
LS_DEFINE_OP(tf, SparseReduceMaxSparse)
{
    return tfDef({4, 4, 3, 3}, "input_indices, input_values, input_shape, reduction_axes", "The largest entries over axes, sparse.");
}
LS_DEFINE_OP(tf, SparseReduceSum)
{
    return tfDef({4, 4}, "input_indices, input_values, input_shape, reduction_axes", "Sums over axes, dense.", inferAtRunTime,
                 withinRelative(1e-6));
}
LS_DEFINE_OP(tf, SparseReduceSumSparse)
{
    return tfDef({4, 4, 3, 3}, "input_indices, input_values, input_shape, reduction_axes", "Sums of entries over axes, sparse.",
                 inferAtRunTime, withinRelative(1e-6));
}
LS_DEFINE_OP(tf, SparseDenseCwiseAdd)
{
    return tfDef({4, 4}, "sp_indices, sp_values, sp_shape, dense", "The entries plus what the dense tensor has there.");
}
LS_DEFINE_OP(tf, SparseDenseCwiseMul)
{
    return tfDef({4, 4}, "sp_indices, sp_values, sp_shape, dense", "The entries times what the dense tensor has there.");
}
LS_DEFINE_OP(tf, SparseDenseCwiseDiv)
{
    return tfDef({4, 4}, "sp_indices, sp_values, sp_shape, dense", "The entries over what the dense tensor has there.");
}
LS_DEFINE_OP(tf, SparseTensorDenseAdd) { return tfDef({4, 4}, "a_indices, a_values, a_shape, b", "A dense tensor plus the entries."); }
