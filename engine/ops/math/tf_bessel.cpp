// Catalogue entries of TensorFlow's further special functions.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

namespace {

constexpr ErrorBounds kBesselBound = ErrorBounds(withinRelative(2e-5)).because("near the zeros of the functions");

} // namespace

LS_DEFINE_OP(tf, BesselJ0) { return tfDef({1, 1}, "x", "The Bessel function of the first kind, of order 0.", inferTfSame, kBesselBound); }
LS_DEFINE_OP(tf, BesselJ1) { return tfDef({1, 1}, "x", "The Bessel function of the first kind, of order 1.", inferTfSame, kBesselBound); }
LS_DEFINE_OP(tf, BesselY0) { return tfDef({1, 1}, "x", "The Bessel function of the second kind, of order 0.", inferTfSame, kBesselBound); }
LS_DEFINE_OP(tf, BesselY1) { return tfDef({1, 1}, "x", "The Bessel function of the second kind, of order 1.", inferTfSame, kBesselBound); }
LS_DEFINE_OP(tf, BesselK0)
{
    return tfDef({1, 1}, "x", "The modified Bessel function of the second kind, of order 0.", inferTfSame, kBesselBound);
}
LS_DEFINE_OP(tf, BesselK0e)
{
    return tfDef({1, 1}, "x", "exp(x) times the modified Bessel function of the second kind, of order 0.", inferTfSame, kBesselBound);
}
LS_DEFINE_OP(tf, BesselK1)
{
    return tfDef({1, 1}, "x", "The modified Bessel function of the second kind, of order 1.", inferTfSame, kBesselBound);
}
LS_DEFINE_OP(tf, BesselK1e)
{
    return tfDef({1, 1}, "x", "exp(x) times the modified Bessel function of the second kind, of order 1.", inferTfSame, kBesselBound);
}
LS_DEFINE_OP(tf, Expint) { return tfDef({1, 1}, "x", "The exponential integral Ei.", inferTfSame, kBesselBound); }
LS_DEFINE_OP(tf, Dawsn) { return tfDef({1, 1}, "x", "Dawson's integral.", inferTfSame, kBesselBound); }
LS_DEFINE_OP(tf, Spence) { return tfDef({1, 1}, "x", "Spence's integral: −∫ ln t / (t − 1) dt from 1.", inferTfSame, kBesselBound); }
