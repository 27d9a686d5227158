// Fourier transforms of power-of-two lengths in double, for kernels.
#pragma once

#include <complex>
#include <cstdint>

namespace loopscope {

/// roots[k] = e^(−2πi·k/n), k < n/2.
void fourierRoots(std::complex<double>* roots, int64_t n);
/// In place; n is a power of two, `roots` those of n.
void fourierTransform(std::complex<double>* values, int64_t n, const std::complex<double>* roots);

} // namespace loopscope
