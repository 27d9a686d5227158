// CPU kernels of average_pool_2d, max_pool_2d (f32, u8, i8, i16) and l2_pool_2d (f32).
#include "engine/kernels/cpu/nn/pooling.h"

#include "engine/base/interruption.h"
#include "engine/kernels/cpu/nn_common.h"
#include "engine/kernels/registry.h"

#include <algorithm>
#include <cmath>
#include <memory>

using namespace loopscope;

Result<PoolParams> loopscope::setUpPool(const KernelSetup& setup)
{
    PoolParams params;
    params.window = Window2d::fromAttributes(setup.attributes(), attributeInt(setup.attributes(), "filter_height", 0),
                                             attributeInt(setup.attributes(), "filter_width", 0));
    params.window.height.dilation = params.window.width.dilation = 1;
    const FusedActivation activation = fusedActivation(setup.attributes());
    params.range = activationRange<float>(activation);
    if (setup.in(0).dtype != DType::f32) {
        LS_TRY(params.storedRange, quantizedActivationRange(activation, setup.out(0)));
    }
    if (params.storedRange.min > params.storedRange.max)
        return Error(ErrorCode::unsupported, "the activation leaves no value of the result's type");
    return params;
}

Error loopscope::emptyPoolWindow() { return Error(ErrorCode::execution, "a window holds no element of the input"); }

namespace {

/// Calls `pool(first input element of window, taps, result)` for every pixel of the result.
template <typename T, typename PoolPixel> void forEachWindow(const KernelArgs& args, PoolPixel pool)
{
    const auto& params = args.paramsAs<PoolParams>();
    const Shape& input = args.in(0).shape;
    const Shape& output = args.out(0).shape;
    const PlacedAxis y = Window2d::place(params.window.height, input[1], output[1]);
    const PlacedAxis x = Window2d::place(params.window.width, input[2], output[2]);
    const int64_t channels = input[3];
    T* out = args.out(0).as<T>();
    LoopPace pace;
    for (int64_t b = 0; b < input[0]; ++b) {
        const T* image = args.in(0).as<T>() + b * input[1] * input[2] * channels;
        for (int64_t oy = 0; oy < output[1]; ++oy)
            for (int64_t ox = 0; ox < output[2]; ++ox, out += channels) {
                const TapRange ty = y.taps(oy);
                const TapRange tx = x.taps(ox);
                const T* corner = image + ((y.origin(oy) + ty.first) * input[2] + x.origin(ox) + tx.first) * channels;
                pool(corner, ty.count(), tx.count(), input[2] * channels, channels, out);
                pace.did(ty.count() * tx.count() * channels);
            }
    }
}

/// Sums of a window by channel, in the reference's order: row, column.
template <typename T, typename Sum, typename Term>
void addWindow(const T* corner, int64_t rows, int64_t columns, int64_t rowStride, int64_t channels, Term term, Sum* sums)
{
    std::fill(sums, sums + channels, Sum{0});
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c) {
            const T* pixel = corner + r * rowStride + c * channels;
            for (int64_t k = 0; k < channels; ++k) sums[k] += term(pixel[k]);
        }
}

template <bool squares> Status runFloatMean(const KernelArgs& args)
{
    const auto& params = args.paramsAs<PoolParams>();
    bool empty = false;
    forEachWindow<float>(args, [&](const float* corner, int64_t rows, int64_t columns, int64_t rowStride, int64_t channels, float* out) {
        if (rows * columns == 0) {
            empty = true;
            return;
        }
        addWindow(
            corner, rows, columns, rowStride, channels, [](float v) { return squares ? v * v : v; }, out);
        const auto count = static_cast<float>(rows * columns);
        for (int64_t c = 0; c < channels; ++c) out[c] = clampTo(squares ? std::sqrt(out[c] / count) : out[c] / count, params.range);
    });
    if (empty) return emptyPoolWindow();
    return {};
}

/// Mean of stored integers, rounded to nearest, halves away from zero.
template <typename T> Status runIntegerMean(const KernelArgs& args)
{
    const auto& params = args.paramsAs<PoolParams>();
    auto* sums = reinterpret_cast<int64_t*>(args.runtime->scratch(static_cast<size_t>(args.in(0).shape[3]) * sizeof(int64_t)));
    bool empty = false;
    forEachWindow<T>(args, [&](const T* corner, int64_t rows, int64_t columns, int64_t rowStride, int64_t channels, T* out) {
        const int64_t count = rows * columns;
        if (count == 0) {
            empty = true;
            return;
        }
        addWindow(
            corner, rows, columns, rowStride, channels, [](T v) { return int64_t{v}; }, sums);
        for (int64_t c = 0; c < channels; ++c) {
            const int64_t mean = sums[c] > 0 ? (sums[c] + count / 2) / count : (sums[c] - count / 2) / count;
            out[c] = static_cast<T>(std::clamp<int64_t>(mean, params.storedRange.min, params.storedRange.max));
        }
    });
    if (empty) return emptyPoolWindow();
    return {};
}

template <typename T> Status runMax(const KernelArgs& args)
{
    const auto& params = args.paramsAs<PoolParams>();
    forEachWindow<T>(args, [&](const T* corner, int64_t rows, int64_t columns, int64_t rowStride, int64_t channels, T* out) {
        std::fill(out, out + channels, std::numeric_limits<T>::lowest());
        for (int64_t r = 0; r < rows; ++r)
            for (int64_t c = 0; c < columns; ++c) {
                const T* pixel = corner + r * rowStride + c * channels;
                for (int64_t k = 0; k < channels; ++k) out[k] = std::max(out[k], pixel[k]);
            }
        for (int64_t c = 0; c < channels; ++c) {
            if constexpr (std::is_same_v<T, float>) out[c] = clampTo(out[c], params.range);
            else out[c] = static_cast<T>(std::clamp<int32_t>(out[c], params.storedRange.min, params.storedRange.max));
        }
    });
    return {};
}

Result<PreparedKernel> preparePool(const KernelSetup& setup, KernelFunction onF32, KernelFunction onU8, KernelFunction onI8,
                                   KernelFunction onI16)
{
    auto params = std::make_shared<PoolParams>();
    LS_TRY(*params, setUpPool(setup));
    PreparedKernel kernel;
    switch (setup.in(0).dtype) {
    case DType::f32: kernel.run = onF32; break;
    case DType::u8: kernel.run = onU8; break;
    case DType::i8: kernel.run = onI8; break;
    default: kernel.run = onI16; break;
    }
    kernel.params = std::move(params);
    return kernel;
}

Result<PreparedKernel> prepareAverage(const KernelSetup& setup)
{
    return preparePool(setup, runFloatMean<false>, runIntegerMean<uint8_t>, runIntegerMean<int8_t>, runIntegerMean<int16_t>);
}

Result<PreparedKernel> prepareMax(const KernelSetup& setup)
{
    return preparePool(setup, runMax<float>, runMax<uint8_t>, runMax<int8_t>, runMax<int16_t>);
}

Result<PreparedKernel> prepareL2(const KernelSetup& setup) { return preparePool(setup, runFloatMean<true>, nullptr, nullptr, nullptr); }

} // namespace

LS_DEFINE_KERNELS(tfl, average_pool_2d) { registry.add({"tfl", "average_pool_2d", Profile::reference, prepareAverage, "f32 u8 i8 i16"}); }

LS_DEFINE_KERNELS(tfl, max_pool_2d) { registry.add({"tfl", "max_pool_2d", Profile::reference, prepareMax, "f32 u8 i8 i16"}); }

LS_DEFINE_KERNELS(tfl, l2_pool_2d) { registry.add({"tfl", "l2_pool_2d", Profile::reference, prepareL2, "f32"}); }
