// Catalogue entries of TensorFlow's operators on Unicode text.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

LS_DEFINE_OP(tf, UnicodeDecode)
{
    return tfDef({1, 1, 2, 2}, "input", "The characters of strings as a ragged tensor: splits and code points.");
}
LS_DEFINE_OP(tf, UnicodeDecodeWithOffsets)
{
    return tfDef({1, 1, 3, 3}, "input", "The characters of strings as a ragged tensor: splits, code points, and where each begins.");
}
LS_DEFINE_OP(tf, UnicodeEncode) { return tfDef({2, 2}, "input_values, input_splits", "Strings out of a ragged tensor of code points."); }
LS_DEFINE_OP(tf, UnicodeTranscode) { return tfDef({}, "input", "Strings in another encoding.", inferTfSame); }
