// Catalogue entries of TensorFlow's transforms of signals and pictures, and of matrices with given diagonals.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

namespace {

OpDef inverse(std::string_view summary) { return tfDef({2, 2}, "input, fft_length", summary, inferAtRunTime, "1e-6 of the largest result"); }

} // namespace

LS_DEFINE_OP(tf, IRFFT) { return inverse("The real signal of half a spectrum."); }
LS_DEFINE_OP(tf, IRFFT2D) { return inverse("The real picture of half a spectrum of two dimensions."); }
LS_DEFINE_OP(tf, IRFFT3D) { return inverse("The real signal of half a spectrum of three dimensions."); }
LS_DEFINE_OP(tf, AdjustHue) { return tfDef({2, 2}, "images [..,3], delta", "RGB colours with their hue turned.", inferTfSame, "1e-6"); }
LS_DEFINE_OP(tf, AdjustSaturation) { return tfDef({2, 2}, "images [..,3], scale", "RGB colours with their saturation scaled.", inferTfSame, "1e-6"); }
LS_DEFINE_OP(tf, MatrixDiagV3)
{
    return tfDef({5, 5}, "diagonal, k, num_rows, num_cols, padding_value", "Matrices with the given diagonals, a constant elsewhere.");
}
