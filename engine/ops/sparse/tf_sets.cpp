// Catalogue entries of TensorFlow's sets, counts of numbers and crossed features.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

LS_DEFINE_OP(tf, DenseToDenseSetOperation)
{
    return tfDef({2, 2, 3, 3}, "set1, set2", "The difference, intersection or union of sets, sparse.");
}
LS_DEFINE_OP(tf, DenseToSparseSetOperation)
{
    return tfDef({4, 4, 3, 3}, "set1, set2_indices, set2_values, set2_shape", "The difference, intersection or union of sets, sparse.");
}
LS_DEFINE_OP(tf, SparseToSparseSetOperation)
{
    return tfDef({6, 6, 3, 3}, "set1_indices, set1_values, set1_shape, set2_indices, set2_values, set2_shape",
                 "The difference, intersection or union of sets, sparse.");
}
LS_DEFINE_OP(tf, SetSize) { return tfDef({3, 3}, "set_indices, set_values, set_shape", "How many different elements each set has."); }
LS_DEFINE_OP(tf, DenseCountSparseOutput)
{
    return tfDef({2, 2, 3, 3}, "values, weights", "How often each number occurs in each row, sparse.");
}
LS_DEFINE_OP(tf, SparseCountSparseOutput)
{
    return tfDef({4, 4, 3, 3}, "indices, values, dense_shape, weights", "How often each number occurs in each row, sparse.");
}
LS_DEFINE_OP(tf, RaggedCountSparseOutput)
{
    return tfDef({3, 3, 3, 3}, "splits, values, weights", "How often each number occurs in each row, sparse.");
}
LS_DEFINE_OP(tf, SparseBincount)
{
    return tfDef({5, 5}, "indices, values, dense_shape, size, weights", "How often each number occurs in each row, dense.");
}
LS_DEFINE_OP(tf, SparseCross)
{
    return tfDef({0, -1, 3, 3}, "indices…, values…, shapes…, dense_inputs…",
                 "Every choice of a feature from each column, as a text or hashed.");
}
LS_DEFINE_OP(tf, SparseCrossV2)
{
    return tfDef({1, -1, 3, 3}, "indices…, values…, shapes…, dense_inputs…, sep", "Every choice of a feature from each column, as a text.");
}
LS_DEFINE_OP(tf, RaggedCross)
{
    return tfDef({0, -1, 2, 2}, "ragged_values…, ragged_row_splits…, sparse_indices…, sparse_values…, sparse_shape…, dense_inputs…",
                 "Every choice of a feature from each column, as a text or hashed, ragged.");
}
