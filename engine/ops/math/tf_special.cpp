// Catalogue entries of TensorFlow's special functions that are computed by series.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

namespace {

constexpr ErrorBounds kSpecialBound = ErrorBounds(withinUlp(2)).withF64(withinRelative(1e-11));

OpDef bessel(std::string_view summary)
{
    return tfDef({}, "x", summary, inferTfSame, ErrorBounds(withinUlp(4)).withF64(withinRelative(1e-11)));
}
OpDef gammaPart(std::string_view summary) { return tfDef({2, 2}, "a, x", summary, inferTfBroadcast, kSpecialBound); }

} // namespace

LS_DEFINE_OP(tf, BesselI0) { return bessel("The modified Bessel function of order 0."); }
LS_DEFINE_OP(tf, BesselI0e) { return bessel("exp(−|x|) times the modified Bessel function of order 0."); }
LS_DEFINE_OP(tf, BesselI1) { return bessel("The modified Bessel function of order 1."); }
LS_DEFINE_OP(tf, BesselI1e) { return bessel("exp(−|x|) times the modified Bessel function of order 1."); }
LS_DEFINE_OP(tf, Igamma) { return gammaPart("The lower incomplete gamma function, regularised."); }
LS_DEFINE_OP(tf, Igammac) { return gammaPart("The upper incomplete gamma function, regularised."); }
