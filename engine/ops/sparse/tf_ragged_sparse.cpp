// Catalogue entries between ragged, sparse and dense tensors, and of gradients of theirs.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

LS_DEFINE_OP(tf, RaggedTensorToSparse)
{
    return tfDef({2, -1, 3, 3}, "rt_nested_splits…, rt_dense_values", "A ragged tensor as a sparse one.");
}
LS_DEFINE_OP(tf, RaggedTensorToVariantGradient)
{
    return tfDef({3, 3}, "encoded_ragged_grad, row_splits, dense_values_shape", "The gradient of RaggedTensorToVariant by the values.");
}
LS_DEFINE_OP(tf, SparseAddGrad)
{
    return tfDef({4, 4, 2, 2}, "backprop_val_grad, a_indices, b_indices, sum_indices", "The gradient of a sum of two sparse tensors.");
}
LS_DEFINE_OP(tf, SparseMatMul)
{
    return tfDef({2, 2}, "a [N,K], b [K,M]", "The product of matrices that are mostly zeros.", inferAtRunTime, withinRelative(1e-6));
}
