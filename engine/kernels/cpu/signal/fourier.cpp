#include "engine/kernels/cpu/signal/fourier.h"

#include <cmath>
#include <numbers>
#include <utility>

namespace loopscope {

namespace {

using Complex = std::complex<double>;

/// Without the checks for infinities of operator*.
Complex product(Complex a, Complex b) { return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()}; }

} // namespace

void fourierRoots(Complex* roots, int64_t n)
{
    for (int64_t k = 0; k < n / 2; ++k) {
        const double angle = -2.0 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
        roots[k] = {std::cos(angle), std::sin(angle)};
    }
}

void fourierTransform(Complex* values, int64_t n, const Complex* roots)
{
    for (int64_t i = 1, j = 0; i < n; ++i) { // bit reversal
        int64_t bit = n >> 1;
        for (; j & bit; bit >>= 1) j ^= bit;
        j ^= bit;
        if (i < j) std::swap(values[i], values[j]);
    }
    for (int64_t size = 2; size <= n; size *= 2)
        for (int64_t start = 0; start < n; start += size)
            for (int64_t k = 0; k < size / 2; ++k) {
                const Complex odd = product(values[start + k + size / 2], roots[k * (n / size)]);
                const Complex even = values[start + k];
                values[start + k] = even + odd;
                values[start + k + size / 2] = even - odd;
            }
}

} // namespace loopscope
