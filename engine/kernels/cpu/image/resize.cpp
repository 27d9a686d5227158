// CPU kernels of resize_bilinear and resize_nearest_neighbor.
#include "engine/kernels/cpu/image/resize.h"

#include "engine/base/interruption.h"
#include "engine/kernels/registry.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

using namespace loopscope;

namespace {

/// Calls `mix(four source pixels, vertical and horizontal place, result pixel, channels)` for every pixel of the result.
template <typename T, typename Position, typename Place, typename Mix> void forEachPixel(const KernelArgs& args, Place place, Mix mix)
{
    const auto& params = args.paramsAs<ResizeParams>();
    const Shape& input = args.in(0).shape;
    const Shape& output = args.out(0).shape;
    const int64_t channels = input[3];
    T* out = args.out(0).as<T>();
    auto* columns = reinterpret_cast<Between<Position>*>(args.runtime->scratch(static_cast<size_t>(output[2]) * sizeof(Between<Position>)));
    for (int64_t x = 0; x < output[2]; ++x) columns[x] = place(params, x, input[2], output[2]);
    for (int64_t b = 0; b < output[0]; ++b) {
        const T* image = args.in(0).as<T>() + b * input[1] * input[2] * channels;
        for (int64_t y = 0; y < output[1]; ++y) {
            interruptionPoint();
            const Between<Position> row = place(params, y, input[1], output[1]);
            const T* low = image + row.low * input[2] * channels;
            const T* high = image + row.high * input[2] * channels;
            for (int64_t x = 0; x < output[2]; ++x, out += channels) {
                const Between<Position>& column = columns[x];
                const T* corners[4] = {low + column.low * channels, high + column.low * channels, low + column.high * channels,
                                       high + column.high * channels};
                mix(corners, row, column, out, channels);
            }
        }
    }
}

/// f32 and u8: weights in float, each product and sum rounded in the reference's order; integers add ½ and are cut off.
template <typename T> Status runBilinearFloat(const KernelArgs& args)
{
    const float half = std::is_integral_v<T> ? 0.5F : 0.0F;
    forEachPixel<T, float>(
        args, between, [half](const T* const* corner, const Between<float>& y, const Between<float>& x, T* out, int64_t channels) {
            const float down = y.position - static_cast<float>(y.low);
            const float right = x.position - static_cast<float>(x.low);
            for (int64_t c = 0; c < channels; ++c) {
                const float sum =
                    static_cast<float>(corner[0][c]) * (1 - down) * (1 - right) + static_cast<float>(corner[1][c]) * down * (1 - right) +
                    static_cast<float>(corner[2][c]) * (1 - down) * right + static_cast<float>(corner[3][c]) * down * right + half;
                if constexpr (std::is_integral_v<T>) out[c] = static_cast<T>(std::clamp(sum, 0.0F, 255.0F));
                else out[c] = sum;
            }
        });
    return {};
}

/// i8 and i16: weights in 1/1024, rounded to nearest, halves away from zero.
template <typename T> Status runBilinearFixed(const KernelArgs& args)
{
    forEachPixel<T, int64_t>(
        args, betweenFixed, [](const T* const* corner, const Between<int64_t>& y, const Between<int64_t>& x, T* out, int64_t channels) {
            const int64_t down = y.position - 1024 * y.low;
            const int64_t right = x.position - 1024 * x.low;
            for (int64_t c = 0; c < channels; ++c) {
                const int64_t sum = corner[0][c] * (1024 - down) * (1024 - right) + corner[1][c] * down * (1024 - right) +
                                    corner[2][c] * (1024 - down) * right + corner[3][c] * down * right;
                out[c] = static_cast<T>((sum + (sum > 0 ? 1 << 19 : -(1 << 19))) / (1 << 20));
            }
        });
    return {};
}

/// Any element size: pixels are copied.
Status runNearest(const KernelArgs& args)
{
    const auto& params = args.paramsAs<ResizeParams>();
    const Shape& input = args.in(0).shape;
    const Shape& output = args.out(0).shape;
    const size_t pixel = static_cast<size_t>(byteSize(args.in(0).dtype, input[3]));
    const auto at = [](int64_t index, size_t size) { return static_cast<size_t>(index) * size; };
    std::byte* out = args.out(0).data;
    auto* columns = reinterpret_cast<int64_t*>(args.runtime->scratch(static_cast<size_t>(output[2]) * sizeof(int64_t)));
    for (int64_t x = 0; x < output[2]; ++x) columns[x] = nearestPixel(params, x, input[2], output[2]);
    for (int64_t b = 0; b < output[0]; ++b)
        for (int64_t y = 0; y < output[1]; ++y) {
            interruptionPoint();
            const std::byte* row = args.in(0).data + at((b * input[1] + nearestPixel(params, y, input[1], output[1])) * input[2], pixel);
            for (int64_t x = 0; x < output[2]; ++x, out += pixel) std::memcpy(out, row + at(columns[x], pixel), pixel);
        }
    return {};
}

PreparedKernel prepared(const KernelSetup& setup, KernelFunction run)
{
    return {run, std::make_shared<const ResizeParams>(resizeParams(setup.attributes()))};
}

Result<PreparedKernel> prepareBilinear(const KernelSetup& setup)
{
    switch (setup.in(0).dtype) {
    case DType::f32: return prepared(setup, runBilinearFloat<float>);
    case DType::u8: return prepared(setup, runBilinearFloat<uint8_t>);
    case DType::i8: return prepared(setup, runBilinearFixed<int8_t>);
    default: return prepared(setup, runBilinearFixed<int16_t>);
    }
}

Result<PreparedKernel> prepareNearest(const KernelSetup& setup) { return prepared(setup, runNearest); }

} // namespace

LS_DEFINE_KERNELS(tfl, resize_bilinear) { registry.add({"tfl", "resize_bilinear", Profile::reference, prepareBilinear, "f32 u8 i8 i16"}); }

LS_DEFINE_KERNELS(tfl, resize_nearest_neighbor)
{
    registry.add({"tfl", "resize_nearest_neighbor", Profile::reference, prepareNearest, "f32 u8 i8 i16 i32"});
}
