// CPU kernel of rfft2d: rows, then columns, by radix-2 transforms in double.
#include "engine/kernels/cpu/nn_common.h"
#include "engine/kernels/registry.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

using namespace loopscope;

namespace {

using Complex = std::complex<double>;

/// roots[k] = e^(−2πi·k/n), k < n/2.
void fillRoots(Complex* roots, int64_t n)
{
    for (int64_t k = 0; k < n / 2; ++k) {
        const double angle = -2.0 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
        roots[k] = {std::cos(angle), std::sin(angle)};
    }
}

Complex product(Complex a, Complex b)
{
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

/// In place; n is a power of two.
void transform(Complex* values, int64_t n, const Complex* roots)
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

Status runRfft2d(const KernelArgs& args)
{
    const Shape& input = args.in(0).shape;
    const Shape& output = args.out(0).shape;
    const int64_t height = output[output.rank() - 2];
    const int64_t columns = output.back();
    const int64_t width = args.in(1).as<int32_t>()[1];
    const int64_t rows = input[input.rank() - 2];
    const int64_t cells = input.back();
    ScratchLayout layout;
    const size_t rowRootsAt = layout.add<Complex>(width / 2);
    const size_t columnRootsAt = layout.add<Complex>(height / 2);
    const size_t lineAt = layout.add<Complex>(std::max(width, height));
    const size_t matrixAt = layout.add<Complex>(height * columns);
    std::byte* scratch = args.runtime->scratch(layout.bytes());
    auto* rowRoots = reinterpret_cast<Complex*>(scratch + rowRootsAt);
    auto* columnRoots = reinterpret_cast<Complex*>(scratch + columnRootsAt);
    auto* line = reinterpret_cast<Complex*>(scratch + lineAt);
    auto* matrix = reinterpret_cast<Complex*>(scratch + matrixAt);
    fillRoots(rowRoots, width);
    fillRoots(columnRoots, height);
    auto* out = args.out(0).as<float>();
    const int64_t slices = input.countOf(0, input.rank() - 2);
    for (int64_t s = 0; s < slices; ++s) {
        const float* slice = args.in(0).as<float>() + s * rows * cells;
        for (int64_t y = 0; y < height; ++y) {
            for (int64_t x = 0; x < width; ++x) line[x] = y < rows && x < cells ? static_cast<double>(slice[y * cells + x]) : 0.0;
            transform(line, width, rowRoots);
            std::copy(line, line + columns, matrix + y * columns);
        }
        for (int64_t x = 0; x < columns; ++x) {
            for (int64_t y = 0; y < height; ++y) line[y] = matrix[y * columns + x];
            transform(line, height, columnRoots);
            for (int64_t y = 0; y < height; ++y) matrix[y * columns + x] = line[y];
        }
        for (int64_t i = 0; i < height * columns; ++i) {
            *out++ = static_cast<float>(matrix[i].real());
            *out++ = static_cast<float>(matrix[i].imag());
        }
    }
    return {};
}

Result<PreparedKernel> prepareRfft2d(const KernelSetup&)
{
    return PreparedKernel{runRfft2d, nullptr};
}

} // namespace

LS_DEFINE_KERNELS(tfl, rfft2d)
{
    registry.add({"tfl", "rfft2d", Profile::reference, prepareRfft2d, "f32"});
}
