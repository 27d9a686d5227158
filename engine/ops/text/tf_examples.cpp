// Catalogue entries of TensorFlow's operators that take serialised tf.Example messages apart.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

LS_DEFINE_OP(tf, ParseExample)
{
    return tfDef({2, -1, 0, -1}, "serialized, names, sparse_keys…, dense_keys…, dense_defaults…", "The features of serialised examples.");
}
LS_DEFINE_OP(tf, ParseExampleV2)
{
    return tfDef({5, -1, 0, -1}, "serialized, names, sparse_keys, dense_keys, ragged_keys, dense_defaults…",
                 "The features of serialised examples.");
}
LS_DEFINE_OP(tf, ParseSingleExample)
{
    return tfDef({1, -1, 0, -1}, "serialized, dense_defaults…", "The features of one serialised example.");
}
