// Catalogue entries of TensorFlow's ragged and sparse tensors in variants.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

LS_DEFINE_OP(tf, SerializeSparse)
{
    return tfDef({3, 3}, "sparse_indices, sparse_values, sparse_shape", "A sparse tensor as three variants or messages.");
}
LS_DEFINE_OP(tf, DeserializeSparse)
{
    return tfDef({1, 1, 3, 3}, "serialized_sparse", "Sparse tensors in variants or messages, stacked along new first dimensions.");
}
LS_DEFINE_OP(tf, DeserializeManySparse)
{
    return tfDef({1, 1, 3, 3}, "serialized_sparse", "Sparse tensors in messages as the rows of one.");
}
LS_DEFINE_OP(tf, RaggedTensorToVariant)
{
    return tfDef({1, -1}, "nested splits…, values", "A ragged tensor as one variant, or one for each of its rows.");
}
LS_DEFINE_OP(tf, RaggedTensorFromVariant)
{
    return tfDef({1, 1, 1, -1}, "encoded_ragged", "Ragged tensors in variants, stacked along new first dimensions.");
}
LS_DEFINE_OP(tf, RaggedTensorToTensor)
{
    return tfDef({4, -1}, "shape, values, default_value, row partitions…", "A ragged tensor filled up to a dense one.");
}
LS_DEFINE_OP(tf, SerializeManySparse)
{
    return tfDef({3, 3}, "sparse_indices, sparse_values, sparse_shape", "Each row of a sparse tensor as three variants or messages.");
}
LS_DEFINE_OP(tf, RaggedRange)
{
    return tfDef({3, 3, 2, 2}, "starts, limits, deltas", "Ranges as the rows of a ragged tensor: splits and values.");
}
LS_DEFINE_OP(tf, CompositeTensorVariantFromComponents)
{
    return tfDef({0, -1}, "components…", "A value of several tensors as one variant.");
}
LS_DEFINE_OP(tf, CompositeTensorVariantToComponents)
{
    OpDef def = tfDef({1, 1, 0, -1}, "encoded", "The tensors of a value that is one variant.");
    def.differs = "the type in metadata is not compared";
    return def;
}
