// transpose_conv of f32, i8 and u8 with constant filters. Pixels of the result whose places leave the same rest when they are divided by
// the strides are reached by the same taps: each such phase is a convolution without strides, with a part of the filter.
#include "engine/kernels/cpu/nn/convolution_setup.h"
#include "engine/kernels/fast/copy.h"
#include "engine/kernels/fast/rows.h"
#include "engine/kernels/registry.h"

#include <vector>

using namespace loopscope;
using namespace loopscope::fast;

namespace {

/// The taps of an axis that reach a phase, from the last to the first: their inputs then lie in order.
struct PhaseTaps {
    int64_t first = 0, count = 0; ///< taps first, first + stride, …
};

PhaseTaps tapsOf(int64_t rest, int64_t filter, int64_t stride) { return {rest, rest < filter ? (filter - rest + stride - 1) / stride : 0}; }

struct FastTransposeParams : ConvolutionSetup {
    int64_t strideY = 1, strideX = 1, filterY = 1, filterX = 1, channels = 0, inputChannels = 0;
    std::vector<std::shared_ptr<const PackedWeights>> phases; ///< [rest of y][rest of x]
    bool roundsProducts = false;                              ///< FloatFinish

    PhaseTaps tapsY(int64_t rest) const { return tapsOf(rest, filterY, strideY); }
    PhaseTaps tapsX(int64_t rest) const { return tapsOf(rest, filterX, strideX); }
    int64_t mostDepth() const { return tapsY(0).count * tapsX(0).count * inputChannels; }
};

/// The filter's taps of a phase, one after the other as rows: [channel][tap of y][tap of x][input channel].
Result<std::shared_ptr<const PackedWeights>> packedPhase(const Tensor& filter, const FastTransposeParams& p, PhaseTaps ys, PhaseTaps xs,
                                                         uint32_t phase)
{
    const int64_t run = p.inputChannels, depth = ys.count * xs.count * run;
    const bool isFloat = filter.dtype == DType::f32;
    const size_t bytes = isFloat ? static_cast<size_t>(panelElements<float>(p.channels, depth)) * sizeof(float)
                                 : static_cast<size_t>(panelElements<int16_t>(p.channels, depth)) * sizeof(int16_t);
    const auto gather = [&](const auto* from, auto* to) {
        for (int64_t c = 0; c < p.channels; ++c)
            for (int64_t y = ys.count - 1; y >= 0; --y)
                for (int64_t x = xs.count - 1; x >= 0; --x, to += run)
                    copyRun(from + ((c * p.filterY + ys.first + y * p.strideY) * p.filterX + xs.first + x * p.strideX) * run, run, to);
    };
    const PackedLayout layout = {p.channels, depth, p.strideY * p.strideX, p.filterZero, 4U | phase << 8U};
    return packedOnce(filter, layout, bytes, [&](PackedWeights& packed) {
        if (isFloat) {
            std::vector<float> rows(static_cast<size_t>(p.channels * depth));
            gather(filter.as<float>(), rows.data());
            packPanels(rows.data(), p.channels, depth, depth, 1, packed.as<float>());
        } else {
            std::vector<int16_t> wide(static_cast<size_t>(filter.elementCount())), rows(static_cast<size_t>(p.channels * depth));
            packIntegerRows(filter, 0, p.channels, filter.elementCount() / p.channels, p.filterZero, filter.elementCount() / p.channels,
                            p.channels, wide.data());
            gather(wide.data(), rows.data());
            packPairs(rows.data(), p.channels, depth, packed.as<int16_t>());
        }
    });
}

/// One axis of a call: result `o` is reached by input index (o + padding) / stride − j by the j-th tap of phase (o + padding) mod stride.
struct Axis {
    int64_t input, output, stride, padding;
    int64_t rest(int64_t o) const { return (o + padding) % stride; }
    int64_t source(int64_t o) const { return (o + padding) / stride; }
};

Axis axisOf(WindowAxis window, int64_t filter, int64_t input, int64_t output)
{
    window.filter = filter;
    window.dilation = 1;
    window.input = output;
    return {input, output, window.stride, Window2d::place(window, output, window.outputSize()).padding};
}

/// output(first result element) tells where the results of every stride-th pixel of a line go.
template <typename In, typename Output> void multiplyPhases(const KernelArgs& args, Output output)
{
    using Wide = Widened<In>;
    constexpr bool isWidened = !std::is_same_v<In, Wide>;
    const auto& p = args.paramsAs<FastTransposeParams>();
    const Shape &input = args.in(2).shape, &out = args.out(0).shape;
    const Axis y = axisOf(p.window.height, p.filterY, input[1], out[1]), x = axisOf(p.window.width, p.filterX, input[2], out[2]);
    const int64_t channels = p.inputChannels, most = rowDepth<Wide>(p.mostDepth());
    const int64_t blockNumbers = (kMostRows * most + 63) / 64 * 64;
    ScratchLayout each;
    const size_t rowsAt = each.add<Wide>(blockNumbers), bytesAt = isWidened ? each.add<In>(blockNumbers) : rowsAt;
    const ThreadScratch scratch = takeScratch(*args.runtime, {}, each);
    const auto zero = static_cast<In>(isWidened ? p.inputZero : 0);
    shareWork(args, out[0] * out[1], out[2] * p.channels * p.mostDepth(), [&](int64_t begin, int64_t end, int thread) {
        Wide* const block = scratch.of<Wide>(thread, rowsAt);
        In* const gathered = scratch.of<In>(thread, bytesAt);
        const Wide* rows[kMostRows];
        for (int64_t line = begin; line < end; ++line) {
            const int64_t oy = line % out[1];
            const In* const image = args.in(2).as<In>() + line / out[1] * input[1] * input[2] * channels;
            const PhaseTaps ys = p.tapsY(y.rest(oy));
            for (int64_t phase = 0; phase < std::min(x.stride, out[2]); ++phase) {
                const PhaseTaps xs = p.tapsX(x.rest(phase));
                const int64_t depth = ys.count * xs.count * channels, padded = rowDepth<Wide>(depth);
                const int64_t pixels = (out[2] - phase + x.stride - 1) / x.stride;
                const Wide* const panels = p.phases[static_cast<size_t>(y.rest(oy) * x.stride + x.rest(phase))]->as<Wide>();
                for (int64_t first = 0; first < pixels; first += kMostRows) {
                    const int64_t count = std::min(kMostRows, pixels - first);
                    for (int64_t r = 0; r < count; ++r) {
                        In* row = gathered + r * padded;
                        rows[r] = block + r * padded;
                        const int64_t lastX = x.source(phase + (first + r) * x.stride), firstX = lastX - xs.count + 1;
                        const int64_t left = std::min(xs.count, std::max<int64_t>(0, -firstX)),
                                      right = std::min(xs.count, x.input - firstX);
                        for (int64_t j = ys.count - 1; j >= 0; --j, row += xs.count * channels) {
                            const int64_t iy = y.source(oy) - j;
                            if (iy < 0 || iy >= y.input || right <= left) {
                                std::fill_n(row, xs.count * channels, zero);
                                continue;
                            }
                            std::fill_n(row, left * channels, zero);
                            copyRun(image + (iy * x.input + firstX + left) * channels, (right - left) * channels, row + left * channels);
                            std::fill_n(row + right * channels, (xs.count - right) * channels, zero);
                        }
                        if (padded > depth) *row = zero;
                    }
                    if constexpr (isWidened) copyWidened(gathered, count * padded, p.inputZero, block);
                    multiplyRows(rows, count, padded, panels, 0, panelsOf(p.channels),
                                 output((line * out[2] + phase + first * x.stride) * p.channels));
                }
            }
        }
    });
}

Status runFloats(const KernelArgs& args)
{
    const auto& p = args.paramsAs<FastTransposeParams>();
    const float* const bias = args.has(3) ? args.in(3).as<float>() : nullptr;
    multiplyPhases<float>(args, [&](int64_t at) {
        return FloatOutput{
            {bias, p.range.min, p.range.max, false, p.roundsProducts}, args.out(0).as<float>() + at, p.strideX * p.channels, p.channels};
    });
    return {};
}

template <typename T> Status run8(const KernelArgs& args)
{
    const auto& p = args.paramsAs<FastTransposeParams>();
    const int32_t* const bias = args.has(3) ? args.in(3).as<int32_t>() : nullptr;
    multiplyPhases<T>(
        args, [&](int64_t at) { return StoredOutput<T>{p.stage, bias, 0, args.out(0).as<T>() + at, p.strideX * p.channels, p.channels}; });
    return {};
}

constexpr ConvolutionLoops kLoops = {runFloats, nullptr, run8<uint8_t>, run8<int8_t>, nullptr, nullptr};

Result<PreparedKernel> prepareFastTransposeConv(const KernelSetup& setup)
{
    const Tensor &filter = setup.in(1), &input = setup.in(2);
    if (filter.data == nullptr) return Error(ErrorCode::unsupported, "weights that are computed");
    auto params = std::make_shared<FastTransposeParams>();
    params->roundsProducts = setup.isQuantizedLater;
    PreparedKernel kernel;
    LS_TRY(kernel.run, setUpConvolution(setup, {2, 1, 3}, filter.shape[0], kLoops, *params));
    if (kernel.run == nullptr || filter.dtype != input.dtype)
        return Error(ErrorCode::unsupported, "f32, i8 and u8 only")
            .found(std::string(dtypeName(input.dtype)) + " and " + std::string(dtypeName(filter.dtype)));
    if (filter.elementCount() == 0) return Error(ErrorCode::unsupported, "a filter without elements");
    LS_CHECK_OK(checkFinite(filter));
    params->strideY = params->window.height.stride;
    params->strideX = params->window.width.stride;
    params->channels = filter.shape[0];
    params->filterY = filter.shape[1];
    params->filterX = filter.shape[2];
    params->inputChannels = filter.shape[3];
    if (params->strideY > 16 || params->strideX > 16) return Error(ErrorCode::unsupported, "strides that large");
    for (int64_t y = 0; y < params->strideY; ++y)
        for (int64_t x = 0; x < params->strideX; ++x) {
            const auto phase = static_cast<uint32_t>(y * params->strideX + x);
            LS_TRY(params->phases.emplace_back(), packedPhase(filter, *params, params->tapsY(y), params->tapsX(x), phase));
        }
    kernel.params = std::move(params);
    return kernel;
}

} // namespace

LS_DEFINE_PROFILE_KERNELS(fast, tfl, transpose_conv)
{
    registry.add({"tfl", "transpose_conv", Profile::fast, prepareFastTransposeConv, "f32 i8 u8", kProductBound, true});
}
