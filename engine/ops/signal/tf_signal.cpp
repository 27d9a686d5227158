// Catalogue entries of TensorFlow's Fourier transforms.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

namespace {

OpDef transform(std::string_view summary) { return tfDef({}, "input", summary, inferTfSame, withinOfLargest(1e-6)); }
OpDef half(std::string_view summary) { return tfDef({2, 2}, "input, fft_length", summary, inferAtRunTime, withinOfLargest(1e-6)); }

} // namespace

LS_DEFINE_OP(tf, FFT) { return transform("The spectrum of complex signals."); }
LS_DEFINE_OP(tf, FFT2D) { return transform("The spectrum of complex pictures."); }
LS_DEFINE_OP(tf, FFT3D) { return transform("The spectrum of complex volumes."); }
LS_DEFINE_OP(tf, IFFT) { return transform("The complex signals of spectra."); }
LS_DEFINE_OP(tf, IFFT2D) { return transform("The complex pictures of spectra."); }
LS_DEFINE_OP(tf, IFFT3D) { return transform("The complex volumes of spectra."); }
LS_DEFINE_OP(tf, RFFT) { return half("Half the spectrum of real signals."); }
LS_DEFINE_OP(tf, RFFT2D) { return half("Half the spectrum of real pictures."); }
LS_DEFINE_OP(tf, RFFT3D) { return half("Half the spectrum of real volumes."); }
LS_DEFINE_OP(tf, IRFFT) { return half("The real signal of half a spectrum."); }
LS_DEFINE_OP(tf, IRFFT2D) { return half("The real picture of half a spectrum of two dimensions."); }
LS_DEFINE_OP(tf, IRFFT3D) { return half("The real signal of half a spectrum of three dimensions."); }
