// CPU kernel of rfft2d: rows, then columns, by radix-2 transforms in double.
#include "engine/kernels/cpu/nn_common.h"
#include "engine/kernels/cpu/signal/fourier.h"
#include "engine/kernels/registry.h"

#include <algorithm>
#include <complex>

using namespace loopscope;

namespace {

using Complex = std::complex<double>;

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
    fourierRoots(rowRoots, width);
    fourierRoots(columnRoots, height);
    auto* out = args.out(0).as<float>();
    const int64_t slices = input.countOf(0, input.rank() - 2);
    for (int64_t s = 0; s < slices; ++s) {
        const float* slice = args.in(0).as<float>() + s * rows * cells;
        for (int64_t y = 0; y < height; ++y) {
            for (int64_t x = 0; x < width; ++x) line[x] = y < rows && x < cells ? static_cast<double>(slice[y * cells + x]) : 0.0;
            fourierTransform(line, width, rowRoots);
            std::copy(line, line + columns, matrix + y * columns);
        }
        for (int64_t x = 0; x < columns; ++x) {
            for (int64_t y = 0; y < height; ++y) line[y] = matrix[y * columns + x];
            fourierTransform(line, height, columnRoots);
            for (int64_t y = 0; y < height; ++y) matrix[y * columns + x] = line[y];
        }
        for (int64_t i = 0; i < height * columns; ++i) {
            *out++ = static_cast<float>(matrix[i].real());
            *out++ = static_cast<float>(matrix[i].imag());
        }
    }
    return {};
}

Result<PreparedKernel> prepareRfft2d(const KernelSetup&) { return PreparedKernel{runRfft2d, nullptr}; }

} // namespace

LS_DEFINE_KERNELS(tfl, rfft2d) { registry.add({"tfl", "rfft2d", Profile::reference, prepareRfft2d, "f32"}); }
