// CPU kernels of depthwise_conv_2d: f32, hybrid (f32 with i8 or i4 weights), u8, i8 and i16.
#include "engine/kernels/cpu/gemm.h"
#include "engine/kernels/cpu/nn/convolution_setup.h"
#include "engine/kernels/registry.h"

#include <algorithm>
#include <memory>
#include <type_traits>

using namespace loopscope;

namespace {

struct DepthwiseParams : ConvolutionSetup {
    std::vector<int16_t> rows; ///< integer weights [tap][channel], constant
};

struct Sizes : PlacedWindow {
    int64_t batches, inputChannels, channels, multiplier;
    int64_t plane() const { return y.input * x.input * inputChannels; }
    int64_t filterElements() const { return y.filter * x.filter * channels; }
};

Sizes sizesOf(const DepthwiseParams& params, const KernelArgs& args)
{
    const Shape& input = args.in(0).shape;
    const Shape& filter = args.in(1).shape;
    Sizes s;
    static_cast<PlacedWindow&>(s) = params.place(input, filter, args.out(0).shape);
    s.batches = input[0];
    s.inputChannels = input[3];
    s.channels = filter[3];
    s.multiplier = s.channels / s.inputChannels;
    return s;
}

/// sums[c] = Σ over taps of input channel c / multiplier times weight, in the reference's order: filter row, filter column.
template <typename In, typename Weight, typename Sum>
void sumWindow(const Sizes& s, const In* image, const Weight* weights, int64_t oy, int64_t ox, Sum* sums)
{
    std::fill(sums, sums + s.channels, Sum{0});
    const TapRange ty = s.y.taps(oy);
    const TapRange tx = s.x.taps(ox);
    for (int64_t ky = ty.first; ky < ty.last; ++ky) {
        for (int64_t kx = tx.first; kx < tx.last; ++kx) {
            const int64_t iy = s.y.origin(oy) + ky * s.y.dilation;
            const int64_t ix = s.x.origin(ox) + kx * s.x.dilation;
            const In* x = image + (iy * s.x.input + ix) * s.inputChannels;
            const Weight* w = weights + (ky * s.x.filter + kx) * s.channels;
            if (s.multiplier == 1) {
                if constexpr (std::is_same_v<Sum, uint32_t>) {
                    multiplyAdd(x, w, s.channels, sums);
                } else {
                    for (int64_t c = 0; c < s.channels; ++c) sums[c] += x[c] * w[c];
                }
            } else {
                for (int64_t c = 0; c < s.inputChannels; ++c)
                    for (int64_t m = 0; m < s.multiplier; ++m) sums[c * s.multiplier + m] += x[c] * w[c * s.multiplier + m];
            }
        }
    }
}

Status runF32(const KernelArgs& args)
{
    const auto& params = args.paramsAs<DepthwiseParams>();
    const Sizes s = sizesOf(params, args);
    const float* weights = args.in(1).as<float>();
    const float* bias = args.has(2) ? args.in(2).as<float>() : nullptr;
    const int64_t rowFloats = s.x.output * s.channels;
    shareWork(args, s.batches * s.y.output, rowFloats * s.y.filter * s.x.filter, [&](int64_t begin, int64_t end, int) {
        for (int64_t line = begin; line < end; ++line) {
            const float* image = args.in(0).as<float>() + line / s.y.output * s.plane();
            float* out = args.out(0).as<float>() + line * rowFloats;
            for (int64_t ox = 0; ox < s.x.output; ++ox, out += s.channels) {
                sumWindow(s, image, weights, line % s.y.output, ox, out);
                for (int64_t c = 0; c < s.channels; ++c) out[c] = clampTo(out[c] + (bias ? bias[c] : 0.0F), params.range);
            }
        }
    });
    return {};
}

struct IntegerScratch {
    size_t image, sums, rows;
    ScratchLayout layout;

    IntegerScratch(const Sizes& s, bool packed, int threads)
    {
        image = layout.add<int16_t>(s.plane());
        sums = layout.add<int64_t>(s.channels * threads);
        rows = layout.add<int16_t>(packed ? 0 : s.filterElements());
    }
};

const int16_t* weightRows(const DepthwiseParams& params, const Sizes& s, const Tensor& filter, int16_t* own)
{
    if (!params.rows.empty()) return params.rows.data();
    widen(filter, 0, s.filterElements(), params.filterZero, own);
    return own;
}

/// Sums of 16-bit products, modulo 2³² where they are 32 bits wide; `store(offset of the pixel's results, sums)` takes each pixel's.
template <typename Sum, typename Store>
void sumImage(const KernelArgs& args, const Sizes& s, const int16_t* image, const int16_t* weights, std::byte* sumsBlock, Store store)
{
    shareWork(args, s.y.output, s.x.output * s.channels * s.y.filter * s.x.filter, [&](int64_t begin, int64_t end, int thread) {
        Sum* sums = reinterpret_cast<Sum*>(reinterpret_cast<int64_t*>(sumsBlock) + thread * s.channels);
        for (int64_t oy = begin; oy < end; ++oy)
            for (int64_t ox = 0; ox < s.x.output; ++ox) {
                sumWindow(s, image, weights, oy, ox, sums);
                store((oy * s.x.output + ox) * s.channels, sums);
            }
    });
}

template <typename T> Status run8(const KernelArgs& args)
{
    const auto& params = args.paramsAs<DepthwiseParams>();
    const Sizes s = sizesOf(params, args);
    const IntegerScratch parts(s, !params.rows.empty(), args.runtime->threads());
    std::byte* scratch = args.runtime->scratch(parts.layout.bytes());
    auto* image = reinterpret_cast<int16_t*>(scratch + parts.image);
    const int16_t* weights = weightRows(params, s, args.in(1), reinterpret_cast<int16_t*>(scratch + parts.rows));
    const int32_t* bias = args.has(2) ? args.in(2).as<int32_t>() : nullptr;
    for (int64_t b = 0; b < s.batches; ++b) {
        widen(args.in(0), b * s.plane(), s.plane(), params.inputZero, image);
        T* out = args.out(0).as<T>() + b * s.y.output * s.x.output * s.channels;
        sumImage<uint32_t>(args, s, image, weights, scratch + parts.sums, [&](int64_t at, const uint32_t* sums) {
            params.stage.applyRow(reinterpret_cast<const int32_t*>(sums), bias, 0, s.channels, out + at);
        });
    }
    return {};
}

template <typename Bias> Status run16(const KernelArgs& args)
{
    const auto& params = args.paramsAs<DepthwiseParams>();
    const Sizes s = sizesOf(params, args);
    const IntegerScratch parts(s, !params.rows.empty(), args.runtime->threads());
    std::byte* scratch = args.runtime->scratch(parts.layout.bytes());
    const int16_t* weights = weightRows(params, s, args.in(1), reinterpret_cast<int16_t*>(scratch + parts.rows));
    const Bias* bias = args.has(2) ? args.in(2).as<Bias>() : nullptr;
    for (int64_t b = 0; b < s.batches; ++b) {
        const int16_t* image = args.in(0).as<int16_t>() + b * s.plane();
        int16_t* out = args.out(0).as<int16_t>() + b * s.y.output * s.x.output * s.channels;
        sumImage<int64_t>(args, s, image, weights, scratch + parts.sums, [&](int64_t at, const int64_t* sums) {
            for (int64_t c = 0; c < s.channels; ++c) {
                const auto total =
                    static_cast<int64_t>(static_cast<uint64_t>(sums[c]) + static_cast<uint64_t>(int64_t{bias ? bias[c] : 0}));
                out[at + c] = static_cast<int16_t>(params.stage.apply64(total, c));
            }
        });
    }
    return {};
}

/// f32 activations, quantized image by image with a zero point (LiteRT's DepthwiseConvHybridPerChannel).
Status runHybrid(const KernelArgs& args)
{
    const auto& params = args.paramsAs<DepthwiseParams>();
    const Sizes s = sizesOf(params, args);
    const IntegerScratch parts(s, !params.rows.empty(), args.runtime->threads());
    std::byte* scratch = args.runtime->scratch(parts.layout.bytes());
    auto* image = reinterpret_cast<int16_t*>(scratch + parts.image);
    const int16_t* weights = weightRows(params, s, args.in(1), reinterpret_cast<int16_t*>(scratch + parts.rows));
    const float* bias = args.has(2) ? args.in(2).as<float>() : nullptr;
    for (int64_t b = 0; b < s.batches; ++b) {
        const HybridInput input = quantizeAsymmetric({args.in(0).as<float>() + b * s.plane(), static_cast<size_t>(s.plane())}, image);
        for (int64_t i = 0; i < s.plane(); ++i) image[i] = static_cast<int16_t>(image[i] - input.zero);
        float* out = args.out(0).as<float>() + b * s.y.output * s.x.output * s.channels;
        sumImage<uint32_t>(args, s, image, weights, scratch + parts.sums, [&](int64_t at, const uint32_t* sums) {
            for (int64_t c = 0; c < s.channels; ++c) {
                const float scale = params.scales.size() == 1 ? params.scales.front() : params.scales[static_cast<size_t>(c)];
                const float value = static_cast<float>(static_cast<int32_t>(sums[c])) * (scale * input.scale);
                out[at + c] = clampTo(value + (bias ? bias[c] : 0.0F), params.range);
            }
        });
    }
    return {};
}

constexpr ConvolutionLoops kLoops = {runF32, runHybrid, run8<uint8_t>, run8<int8_t>, run16<int64_t>, run16<int32_t>};

} // namespace

Result<PreparedKernel> loopscope::prepareDepthwise(const KernelSetup& setup)
{
    const Tensor& filter = setup.in(1);
    auto params = std::make_shared<DepthwiseParams>();
    PreparedKernel kernel;
    LS_TRY(kernel.run, setUpConvolution(setup, {0, 1, 2}, filter.shape[3], kLoops, *params));
    if (kernel.run != runF32 && filter.data != nullptr && filter.shape.isStatic()) {
        params->rows.resize(static_cast<size_t>(filter.elementCount()));
        widen(filter, 0, filter.elementCount(), params->filterZero, params->rows.data());
    }
    kernel.params = std::move(params);
    return kernel;
}

LS_DEFINE_KERNELS(tfl, depthwise_conv_2d)
{
    registry.add({"tfl", "depthwise_conv_2d", Profile::reference, prepareDepthwise, "f32 u8 i8 i16"});
}
