// Catalogue entries of TensorFlow's quantized numbers: floats to integers of a range that goes along as two tensors, and back.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

LS_DEFINE_OP(tf, QuantizeV2)
{
    return tfDef({3, 3, 3, 3}, "input, min_range [], max_range []",
                 "Numbers as integers of T, spread over the range; the range that they came to, too. One range for all.", inferAtRunTime);
}
LS_DEFINE_OP(tf, Dequantize)
{
    return tfDef({3, 3}, "input, min_range [], max_range []", "The floats that integers of a range stand for. One range for all.",
                 inferAtRunTime);
}
