// max_pool_2d and average_pool_2d of f32, i8 and u8: lines of windows shared by all threads, a vector of channels at a time. Sums have the
// reference's order, so that results have its bits.
#include "engine/kernels/cpu/nn/pooling.h"
#include "engine/base/vectorised.h"
#include "engine/kernels/cpu/nn_common.h"
#include "engine/kernels/registry.h"

#include <algorithm>
#include <limits>
#include <memory>

using namespace loopscope;

namespace {

/// The taps of one window that lie inside.
struct WindowTaps {
    int64_t rows, columns, rowStride, channels;
};

template <typename T> using ByteVector [[gnu::vector_size(32)]] = T;
constexpr int64_t kSumLanes = 8;
typedef int32_t SumVector __attribute__((vector_size(32)));

template <typename T> LS_VECTORISED void maxOfWindow(const T* corner, const WindowTaps& w, T* to)
{
    constexpr int64_t kLanes = 32 / sizeof(T);
    int64_t c = 0;
    for (; c < w.channels && w.channels >= kLanes; c += kLanes) {
        c = std::min(c, w.channels - kLanes); // the last vector may do channels again
        ByteVector<T> most = ByteVector<T>{} + std::numeric_limits<T>::lowest();
        for (int64_t r = 0; r < w.rows; ++r)
            for (int64_t k = 0; k < w.columns; ++k) {
                ByteVector<T> x;
                __builtin_memcpy(&x, corner + r * w.rowStride + k * w.channels + c, sizeof(x));
                most = most < x ? x : most;
            }
        __builtin_memcpy(to + c, &most, sizeof(most));
    }
    for (; c < w.channels; ++c) {
        T most = std::numeric_limits<T>::lowest();
        for (int64_t r = 0; r < w.rows; ++r)
            for (int64_t k = 0; k < w.columns; ++k) most = std::max(most, corner[r * w.rowStride + k * w.channels + c]);
        to[c] = most;
    }
}

template <typename T> LS_VECTORISED void clampLine(T* values, int64_t count, T low, T high)
{
    for (int64_t i = 0; i < count; ++i) values[i] = std::min(std::max(values[i], low), high);
}

LS_VECTORISED void meanOfWindow(const float* corner, const WindowTaps& w, const ActivationRange<float>& range, float* to)
{
    constexpr int64_t kLanes = 8;
    const auto count = static_cast<float>(w.rows * w.columns);
    int64_t c = 0;
    for (; c < w.channels && w.channels >= kLanes; c += kLanes) {
        c = std::min(c, w.channels - kLanes);
        ByteVector<float> sum = {};
        for (int64_t r = 0; r < w.rows; ++r)
            for (int64_t k = 0; k < w.columns; ++k) {
                ByteVector<float> x;
                __builtin_memcpy(&x, corner + r * w.rowStride + k * w.channels + c, sizeof(x));
                sum += x;
            }
        sum = sum / count;
        sum = sum < range.min ? ByteVector<float>{} + range.min : sum;
        sum = sum > range.max ? ByteVector<float>{} + range.max : sum;
        __builtin_memcpy(to + c, &sum, sizeof(sum));
    }
    for (; c < w.channels; ++c) {
        float sum = 0;
        for (int64_t r = 0; r < w.rows; ++r)
            for (int64_t k = 0; k < w.columns; ++k) sum += corner[r * w.rowStride + k * w.channels + c];
        to[c] = clampTo(sum / count, range);
    }
}

/// Rounded to nearest, halves away from zero. Quotients of doubles are exact enough for sums below 2³¹.
template <typename T> T meanOf(int32_t sum, int32_t count, const ActivationRange<int32_t>& range)
{
    const int32_t nearer = sum > 0 ? sum + count / 2 : sum - count / 2;
    const auto mean = static_cast<int32_t>(static_cast<double>(nearer) / static_cast<double>(count));
    return static_cast<T>(std::min(std::max(mean, range.min), range.max));
}

template <typename T>
LS_VECTORISED void storeMeans(const int32_t* sums, int64_t channels, int32_t count, ActivationRange<int32_t> range, T* to)
{
    for (int64_t c = 0; c < channels; ++c) to[c] = meanOf<T>(sums[c], count, range);
}

template <typename T> LS_VECTORISED void sumOfWindow(const T* corner, const WindowTaps& w, int32_t* sums)
{
    using Narrow [[gnu::vector_size(kSumLanes)]] = T;
    int64_t c = 0;
    for (; c < w.channels && w.channels >= kSumLanes; c += kSumLanes) {
        c = std::min(c, w.channels - kSumLanes);
        SumVector sum = {};
        for (int64_t r = 0; r < w.rows; ++r)
            for (int64_t k = 0; k < w.columns; ++k) {
                Narrow x;
                __builtin_memcpy(&x, corner + r * w.rowStride + k * w.channels + c, sizeof(x));
                sum += __builtin_convertvector(x, SumVector);
            }
        __builtin_memcpy(sums + c, &sum, sizeof(sum));
    }
    for (; c < w.channels; ++c) {
        int32_t sum = 0;
        for (int64_t r = 0; r < w.rows; ++r)
            for (int64_t k = 0; k < w.columns; ++k) sum += corner[r * w.rowStride + k * w.channels + c];
        sums[c] = sum;
    }
}

/// pool(first input element, taps, result, thread) for every window; finish(results of a line, how many) after each line.
template <typename T, typename Pool, typename Finish> void visitWindows(const KernelArgs& args, Pool pool, Finish finish)
{
    const auto& params = args.paramsAs<PoolParams>();
    const Shape &input = args.in(0).shape, &output = args.out(0).shape;
    const PlacedAxis y = Window2d::place(params.window.height, input[1], output[1]);
    const PlacedAxis x = Window2d::place(params.window.width, input[2], output[2]);
    const int64_t channels = input[3], line = output[2] * channels;
    shareWork(args, output[0] * output[1], std::max<int64_t>(1, line * y.filter * x.filter / 4),
              [&](int64_t begin, int64_t end, int thread) {
                  for (int64_t i = begin; i < end; ++i) {
                      const int64_t oy = i % output[1];
                      const T* const image = args.in(0).as<T>() + i / output[1] * input[1] * input[2] * channels;
                      T* const out = args.out(0).as<T>() + i * line;
                      const TapRange ty = y.taps(oy);
                      for (int64_t ox = 0; ox < output[2]; ++ox) {
                          const TapRange tx = x.taps(ox);
                          const T* const corner = image + ((y.origin(oy) + ty.first) * input[2] + x.origin(ox) + tx.first) * channels;
                          pool(corner, WindowTaps{ty.count(), tx.count(), input[2] * channels, channels}, out + ox * channels, thread);
                      }
                      finish(out, line);
                  }
              });
}

bool hasEmptyWindow(const KernelArgs& args)
{
    const auto& params = args.paramsAs<PoolParams>();
    const auto isEmpty = [](const PlacedAxis& axis) {
        for (int64_t o = 0; o < axis.output; ++o)
            if (axis.taps(o).count() == 0) return true;
        return false;
    };
    const Shape &input = args.in(0).shape, &output = args.out(0).shape;
    return output.elementCount() > 0 && (isEmpty(Window2d::place(params.window.height, input[1], output[1])) ||
                                         isEmpty(Window2d::place(params.window.width, input[2], output[2])));
}

template <typename T> Status runMax(const KernelArgs& args)
{
    const auto& params = args.paramsAs<PoolParams>();
    ActivationRange<T> range;
    if constexpr (std::is_same_v<T, float>) range = params.range;
    else range = {static_cast<T>(params.storedRange.min), static_cast<T>(params.storedRange.max)};
    visitWindows<T>(
        args, [](const T* corner, const WindowTaps& taps, T* to, int) { maxOfWindow(corner, taps, to); },
        [range](T* line, int64_t count) { clampLine(line, count, range.min, range.max); });
    return {};
}

Status runMeanOfFloats(const KernelArgs& args)
{
    if (hasEmptyWindow(args)) return emptyPoolWindow();
    const auto& params = args.paramsAs<PoolParams>();
    visitWindows<float>(
        args, [&](const float* corner, const WindowTaps& taps, float* to, int) { meanOfWindow(corner, taps, params.range, to); },
        [](float*, int64_t) {});
    return {};
}

template <typename T> Status runMean(const KernelArgs& args)
{
    if (hasEmptyWindow(args)) return emptyPoolWindow();
    const auto& params = args.paramsAs<PoolParams>();
    const int64_t channels = args.in(0).shape[3], room = (channels + 15) / 16 * 16;
    auto* const all =
        reinterpret_cast<int32_t*>(args.runtime->scratch(static_cast<size_t>(room * args.runtime->threads()) * sizeof(int32_t)));
    visitWindows<T>(
        args,
        [&](const T* corner, const WindowTaps& taps, T* to, int thread) {
            int32_t* const sums = all + thread * room;
            sumOfWindow(corner, taps, sums);
            storeMeans(sums, channels, static_cast<int32_t>(taps.rows * taps.columns), params.storedRange, to);
        },
        [](T*, int64_t) {});
    return {};
}

/// Errors: unsupported, for other dtypes and for windows whose sums could leave 32 bits.
Result<PreparedKernel> preparePool(const KernelSetup& setup, KernelFunction onF32, KernelFunction onI8, KernelFunction onU8)
{
    const DType dtype = setup.in(0).dtype;
    if (dtype != DType::f32 && dtype != DType::i8 && dtype != DType::u8)
        return Error(ErrorCode::unsupported, "f32, i8 and u8 only").found(std::string(dtypeName(dtype)));
    auto params = std::make_shared<PoolParams>();
    LS_TRY(*params, setUpPool(setup));
    if (params->window.height.filter > 1024 || params->window.width.filter > 1024)
        return Error(ErrorCode::unsupported, "windows that large");
    return PreparedKernel{dtype == DType::f32 ? onF32 : dtype == DType::i8 ? onI8 : onU8, std::move(params)};
}

Result<PreparedKernel> prepareMax(const KernelSetup& setup) { return preparePool(setup, runMax<float>, runMax<int8_t>, runMax<uint8_t>); }
Result<PreparedKernel> prepareMean(const KernelSetup& setup)
{
    return preparePool(setup, runMeanOfFloats, runMean<int8_t>, runMean<uint8_t>);
}

} // namespace

LS_DEFINE_PROFILE_KERNELS(fast, tfl, max_pool_2d) { registry.add({"tfl", "max_pool_2d", Profile::fast, prepareMax, "f32 i8 u8", kExact}); }
LS_DEFINE_PROFILE_KERNELS(fast, tfl, average_pool_2d)
{
    registry.add({"tfl", "average_pool_2d", Profile::fast, prepareMean, "f32 i8 u8", kExact});
}
