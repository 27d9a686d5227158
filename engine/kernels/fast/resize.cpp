// resize_bilinear of f32, i8 and u8, and resize_nearest_neighbor: lines of the result shared by all threads. The two source rows of a line
// are weighted first, whole, then their columns; products and sums have the reference's order, so that results have its bits.
#include "engine/kernels/cpu/image/resize.h"

#include "engine/base/vectorised.h"
#include "engine/kernels/cpu/nn_common.h"
#include "engine/kernels/fast/copy.h"
#include "engine/kernels/registry.h"

#include <memory>
#include <type_traits>

using namespace loopscope;
using namespace loopscope::fast;

namespace {

/// Weighted elements: floats as in the reference, numbers of 1/1024 for i8.
template <typename T> using Weight = std::conditional_t<std::is_same_v<T, int8_t>, int32_t, float>;

template <typename T> auto neighbours(const ResizeParams& params, int64_t index, int64_t input, int64_t output)
{
    if constexpr (std::is_same_v<T, int8_t>) return betweenFixed(params, index, input, output);
    else return between(params, index, input, output);
}

/// The shares of the second and the first neighbour.
template <typename T, typename Position> Weight<T> shareOf(const Between<Position>& at)
{
    if constexpr (std::is_same_v<T, int8_t>) return static_cast<int32_t>(at.position - 1024 * at.low);
    else return at.position - static_cast<float>(at.low);
}
template <typename T> constexpr Weight<T> kWhole = std::is_same_v<T, int8_t> ? 1024 : 1;

template <typename T> LS_VECTORISED void weigh(const T* from, Weight<T> weight, int64_t count, Weight<T>* to)
{
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<Weight<T>>(from[i]) * weight;
}

template <typename T> struct Column {
    int64_t low, high; ///< first elements of the pixels
    Weight<T> left, right;
};

template <typename T> inline T finished(Weight<T> sum)
{
    if constexpr (std::is_same_v<T, int8_t>) return static_cast<T>((sum + (sum > 0 ? 1 << 19 : -(1 << 19))) / (1 << 20));
    else if constexpr (std::is_same_v<T, uint8_t>) return static_cast<T>(std::min(std::max(sum + 0.5F, 0.0F), 255.0F));
    else return sum + 0.0F;
}

template <typename T> LS_VECTORISED void mixLine(const Weight<T>* upper, const Weight<T>* lower, const Column<T>* columns, int64_t pixels,
                                                 int64_t channels, T* to)
{
    for (int64_t x = 0; x < pixels; ++x, to += channels) {
        const Column<T> column = columns[x];
        const Weight<T>*a = upper + column.low, *b = lower + column.low, *c = upper + column.high, *d = lower + column.high;
        for (int64_t i = 0; i < channels; ++i)
            to[i] = finished<T>(a[i] * column.left + b[i] * column.left + c[i] * column.right + d[i] * column.right);
    }
}

template <typename T> Status runBilinear(const KernelArgs& args)
{
    const auto& params = args.paramsAs<ResizeParams>();
    const Shape &input = args.in(0).shape, &output = args.out(0).shape;
    if (input.elementCount() == 0 || output.elementCount() == 0) return {};
    const int64_t channels = input[3], line = input[2] * channels, room = (line + 15) / 16 * 16;
    ScratchLayout layout;
    const size_t columnsAt = layout.add<Column<T>>(output[2]), rowsAt = layout.add<Weight<T>>(2 * room * args.runtime->threads());
    std::byte* const scratch = args.runtime->scratch(layout.bytes());
    auto* const columns = reinterpret_cast<Column<T>*>(scratch + columnsAt);
    for (int64_t x = 0; x < output[2]; ++x) {
        const auto at = neighbours<T>(params, x, input[2], output[2]);
        const Weight<T> right = shareOf<T>(at);
        columns[x] = {at.low * channels, at.high * channels, kWhole<T> - right, right};
    }
    shareWork(args, output[0] * output[1], 2 * line + 4 * output[2] * channels, [&](int64_t begin, int64_t end, int thread) {
        Weight<T>* const upper = reinterpret_cast<Weight<T>*>(scratch + rowsAt) + thread * 2 * room;
        Weight<T>* const lower = upper + room;
        for (int64_t i = begin; i < end; ++i) {
            const T* const image = args.in(0).as<T>() + i / output[1] * input[1] * line;
            const auto at = neighbours<T>(params, i % output[1], input[1], output[1]);
            const Weight<T> down = shareOf<T>(at);
            weigh<T>(image + at.low * line, kWhole<T> - down, line, upper);
            weigh<T>(image + at.high * line, down, line, lower);
            mixLine<T>(upper, lower, columns, output[2], channels, args.out(0).as<T>() + i * output[2] * channels);
        }
    });
    return {};
}

Status runNearest(const KernelArgs& args)
{
    const auto& params = args.paramsAs<ResizeParams>();
    const Shape &input = args.in(0).shape, &output = args.out(0).shape;
    if (input.elementCount() == 0 || output.elementCount() == 0) return {};
    const auto pixel = static_cast<int64_t>(byteSize(args.in(0).dtype, input[3]));
    auto* const columns = reinterpret_cast<int64_t*>(args.runtime->scratch(static_cast<size_t>(output[2]) * sizeof(int64_t)));
    for (int64_t x = 0; x < output[2]; ++x) columns[x] = nearestPixel(params, x, input[2], output[2]) * pixel;
    shareWork(args, output[0] * output[1], output[2] * pixel / 8 + 1, [&](int64_t begin, int64_t end, int) {
        for (int64_t i = begin; i < end; ++i) {
            const int64_t from = i / output[1] * input[1] + nearestPixel(params, i % output[1], input[1], output[1]);
            const std::byte* const row = args.in(0).data + from * input[2] * pixel;
            std::byte* const to = args.out(0).data + i * output[2] * pixel;
            for (int64_t x = 0; x < output[2]; ++x) copyBytes(row + columns[x], static_cast<size_t>(pixel), to + x * pixel);
        }
    });
    return {};
}

Result<PreparedKernel> prepared(const KernelSetup& setup, KernelFunction run)
{
    if (run == nullptr) return Error(ErrorCode::unsupported, "f32, i8 and u8 only").found(std::string(dtypeName(setup.in(0).dtype)));
    return PreparedKernel{run, std::make_shared<const ResizeParams>(resizeParams(setup.attributes()))};
}

Result<PreparedKernel> prepareBilinear(const KernelSetup& setup)
{
    const DType dtype = setup.in(0).dtype;
    return prepared(setup, dtype == DType::f32  ? runBilinear<float>
                           : dtype == DType::i8 ? runBilinear<int8_t>
                           : dtype == DType::u8 ? runBilinear<uint8_t>
                                                : nullptr);
}

Result<PreparedKernel> prepareNearest(const KernelSetup& setup) { return prepared(setup, runNearest); }

} // namespace

LS_DEFINE_PROFILE_KERNELS(fast, tfl, resize_bilinear)
{
    registry.add({"tfl", "resize_bilinear", Profile::fast, prepareBilinear, "f32 i8 u8", kExact});
}
LS_DEFINE_PROFILE_KERNELS(fast, tfl, resize_nearest_neighbor)
{
    registry.add({"tfl", "resize_nearest_neighbor", Profile::fast, prepareNearest, "f32 u8 i8 i16 i32", kExact});
}
