// Catalogue entry of gradients that a TensorFlow graph asks for by the name of a function.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

LS_DEFINE_OP(tf, SymbolicGradient)
{
    return tfDef({0, -1, 0, -1}, "operands of f…, gradients of its results…",
                 "The gradients of f's operands: a call of f's gradient function, which is made where the model has none.");
}
