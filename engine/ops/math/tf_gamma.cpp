// Catalogue entries of derivatives of the incomplete gamma function, and of Fresnel's integrals.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

namespace {

constexpr ErrorBounds kGammaBound = ErrorBounds(withinRelative(2e-5)).withF64(withinRelative(1e-9));

} // namespace

LS_DEFINE_OP(tf, IgammaGradA)
{
    return tfDef({2, 2}, "a, x", "The derivative of the incomplete gamma function by a.", inferTfBroadcast, kGammaBound);
}
LS_DEFINE_OP(tf, RandomGammaGrad)
{
    return tfDef({2, 2}, "alpha, sample", "How a sample of the gamma distribution moves with alpha.", inferTfBroadcast, kGammaBound);
}
LS_DEFINE_OP(tf, FresnelCos) { return tfDef({}, "x", "∫ from 0 to x of cos(π t² / 2).", inferTfSame, kGammaBound); }
LS_DEFINE_OP(tf, FresnelSin) { return tfDef({}, "x", "∫ from 0 to x of sin(π t² / 2).", inferTfSame, kGammaBound); }
