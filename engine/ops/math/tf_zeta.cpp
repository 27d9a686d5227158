// Catalogue entries of TensorFlow's special functions of two and three operands, and of the inverse of the normal distribution.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

namespace {

constexpr ErrorBounds kZetaBound = ErrorBounds(withinRelative(1e-5)).withF64(withinRelative(1e-11));

OpDef zetaDef(std::string_view operands, std::string_view summary)
{
    return tfDef({2, 2}, operands, summary, inferTfBroadcast, kZetaBound);
}

} // namespace

LS_DEFINE_OP(tf, Zeta) { return zetaDef("x, q", "Hurwitz's zeta function, Σ (q + n)⁻ˣ."); }
LS_DEFINE_OP(tf, Polygamma) { return zetaDef("a, x", "The derivative of order a of digamma."); }
LS_DEFINE_OP(tf, Betainc) { return tfDef({3, 3}, "a, b, x", "The incomplete beta function, regularised.", inferAtRunTime, kZetaBound); }
LS_DEFINE_OP(tf, Ndtri) { return tfDef({}, "x", "Where the normal distribution reaches a probability.", inferTfSame, kZetaBound); }
