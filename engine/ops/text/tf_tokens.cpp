// Catalogue entries of TensorFlow's further operators on strings, ragged and sparse tensors: splitting, hashing, counting, distances.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

LS_DEFINE_OP(tf, StringSplit)
{
    return tfDef({2, 2, 3, 3}, "input [N], delimiter []",
                 "The parts of strings between any of the delimiter's characters, as a sparse tensor.");
}
LS_DEFINE_OP(tf, StringToHashBucketStrong)
{
    return tfDef({}, "input", "SipHash-2-4 of strings with a key, modulo the number of buckets.", inferTfSame);
}
LS_DEFINE_OP(tf, EditDistance)
{
    return tfDef({6, 6}, "hypothesis indices, values, shape, truth indices, values, shape",
                 "The Levenshtein distance of sequences in sparse tensors.");
}
LS_DEFINE_OP(tf, UnravelIndex) { return tfDef({2, 2}, "indices, dims", "Flat indices as coordinates: a column for each."); }
LS_DEFINE_OP(tf, RaggedBincount)
{
    return tfDef({4, 4}, "splits, values, size, weights", "How often each number occurs in each row, or the sum of its weights.");
}
LS_DEFINE_OP(tf, RaggedGather)
{
    return tfDef({2, -1, 1, -1}, "params_nested_splits…, params_dense_values, indices", "Rows of a ragged tensor, by index.");
}
LS_DEFINE_OP(tf, UnsortedSegmentJoin) { return tfDef({3, 3}, "inputs, segment_ids, num_segments", "Strings joined by segment."); }
LS_DEFINE_OP(tf, StringToHashBucket)
{
    return tfDef({}, "string_tensor", "Hashes of strings modulo a number, as TensorFlow's first versions made them.", inferAtRunTime);
}
LS_DEFINE_OP(tf, Fingerprint)
{
    return tfDef({2, 2}, "data [N,..], method", "Eight bytes for each slice that are the same for equal slices.");
}
