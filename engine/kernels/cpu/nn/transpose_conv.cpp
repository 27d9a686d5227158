// CPU kernels of transpose_conv: f32, hybrid (f32 with i8 weights), u8, i8 and i16. The reference spreads each input element over the
// output; we gather instead, for each output the input elements that reach it, in the same order.
#include "engine/kernels/cpu/gemm.h"
#include "engine/kernels/cpu/nn/convolution_setup.h"
#include "engine/kernels/registry.h"

#include <algorithm>
#include <cstring>
#include <memory>

using namespace loopscope;

namespace {

struct TransposeConvParams : ConvolutionSetup {
    std::vector<float> panels; ///< f32 with constant weights
    std::vector<int16_t> rows; ///< integer weights [channel][tap][input channel, padded], constant
};

/// `y` and `x` are the axes of the forward convolution: its input is our output.
struct Sizes {
    PlacedAxis y, x;
    int64_t batches, inputChannels, channels;
    int64_t taps() const { return y.filter * x.filter; }
    int64_t inputPixels() const { return y.output * x.output; }
    int64_t outputPixels() const { return y.input * x.input; }
    int64_t rowStride() const { return taps() * paddedDepth(inputChannels); }
};

Sizes sizesOf(const TransposeConvParams& params, const Shape& input, const Shape& filter, const Shape& output)
{
    Sizes s;
    // The padding is that of the convolution that would make an image of the output's size smaller, whatever size the input has
    // (LiteRT kernels/transpose_conv.cc calls ComputePaddingHeightWidth with the output's sides and drops the sizes it computes).
    const auto place = [](WindowAxis axis, int64_t filterSize, int64_t in, int64_t out) {
        axis.filter = filterSize;
        axis.dilation = 1;
        axis.input = out;
        PlacedAxis placed = Window2d::place(axis, out, axis.outputSize());
        placed.output = in;
        return placed;
    };
    s.y = place(params.window.height, filter[1], input[1], output[1]);
    s.x = place(params.window.width, filter[2], input[2], output[2]);
    s.batches = input[0];
    s.inputChannels = input[3];
    s.channels = filter[0];
    return s;
}

/// Input indices along an axis that reach output index `o`: tap o − origin(i) lies in the filter.
TapRange sources(const PlacedAxis& axis, int64_t o)
{
    const int64_t low = o + axis.padding - (axis.filter - 1); // i · stride ≥ low
    TapRange range;
    range.first = low <= 0 ? 0 : (low + axis.stride - 1) / axis.stride;
    range.last = std::min(axis.output, (o + axis.padding) / axis.stride + 1);
    range.last = std::max(range.last, range.first);
    return range;
}

/// The runs of products of output pixel (oy, ox): input row, input column, channel. `depth` is the distance of pixels and of taps.
size_t listRuns(const Sizes& s, int64_t oy, int64_t ox, int64_t depth, ProductRun* runs)
{
    size_t count = 0;
    const TapRange ys = sources(s.y, oy);
    const TapRange xs = sources(s.x, ox);
    for (int64_t iy = ys.first; iy < ys.last; ++iy)
        for (int64_t ix = xs.first; ix < xs.last; ++ix) {
            const int64_t tap = (oy - s.y.origin(iy)) * s.x.filter + (ox - s.x.origin(ix));
            runs[count++] = {(iy * s.x.output + ix) * depth, tap * depth, depth};
        }
    return count;
}

/// Multiplications that one pixel of the result takes, more or less.
int64_t pixelCost(const Sizes& s)
{
    return std::max<int64_t>(1, s.taps() / std::max<int64_t>(1, s.y.stride * s.x.stride)) * s.inputChannels * s.channels;
}

Status runF32(const KernelArgs& args)
{
    const auto& params = args.paramsAs<TransposeConvParams>();
    const Tensor& filter = args.in(1);
    const Sizes s = sizesOf(params, args.in(2).shape, filter.shape, args.out(0).shape);
    const int64_t depth = s.taps() * s.inputChannels;
    const bool packed = !params.panels.empty();
    ScratchLayout layout;
    const size_t runsAt = layout.add<ProductRun>(s.taps() * args.runtime->threads());
    const size_t panelsAt = layout.add<float>(packed ? 0 : panelFloats(s.channels, depth));
    std::byte* scratch = args.runtime->scratch(layout.bytes());
    auto* allRuns = reinterpret_cast<ProductRun*>(scratch + runsAt);
    const float* panels = params.panels.data();
    if (!packed) {
        auto* own = reinterpret_cast<float*>(scratch + panelsAt);
        packPanels(filter.as<float>(), s.channels, depth, depth, 1, own);
        panels = own;
    }
    const float* bias = args.has(3) ? args.in(3).as<float>() : nullptr;
    const int64_t rowFloats = s.x.input * s.channels;
    shareWork(args, s.batches * s.y.input, pixelCost(s) * s.x.input, [&](int64_t begin, int64_t end, int thread) {
        ProductRun* runs = allRuns + thread * s.taps();
        FloatTile tile = {};
        tile.count = 1;
        for (int64_t line = begin; line < end; ++line) {
            tile.input = args.in(2).as<float>() + line / s.y.input * s.inputPixels() * s.inputChannels;
            float* out = args.out(0).as<float>() + line * rowFloats;
            for (int64_t ox = 0; ox < s.x.input; ++ox, out += s.channels) {
                tile.sums[0] = out;
                multiplyTile(tile, {runs, listRuns(s, line % s.y.input, ox, s.inputChannels, runs)}, panels, s.channels, depth);
                for (int64_t c = 0; c < s.channels; ++c) out[c] = clampTo(bias ? out[c] + bias[c] : out[c], params.range);
            }
        }
    });
    return {};
}

struct IntegerScratch {
    size_t image, runs, sums, rows;
    ScratchLayout layout;

    IntegerScratch(const Sizes& s, bool packed, int threads)
    {
        image = layout.add<int16_t>(s.inputPixels() * paddedDepth(s.inputChannels));
        runs = layout.add<ProductRun>(s.taps() * threads);
        sums = layout.add<int64_t>(paddedRows(s.channels) * threads);
        rows = layout.add<int16_t>(packed ? 0 : paddedRows(s.channels) * s.rowStride());
    }
};

/// Weight rows with each tap's channels padded, so that a tap is a run of whole steps.
void packFilter(const Sizes& s, const Tensor& filter, int32_t zero, int16_t* rows)
{
    const int64_t depth = paddedDepth(s.inputChannels);
    packIntegerRows(filter, 0, s.channels * s.taps(), s.inputChannels, zero, depth, s.channels * s.taps(), rows);
    std::fill(rows + s.channels * s.rowStride(), rows + paddedRows(s.channels) * s.rowStride(), int16_t{0});
}

const int16_t* weightRows(const TransposeConvParams& params, const Sizes& s, const Tensor& filter, int16_t* own)
{
    if (!params.rows.empty()) return params.rows.data();
    packFilter(s, filter, params.filterZero, own);
    return own;
}

/// Spreads the pixels of an image to the padded depth; `read(element)` is an element relative to its zero point.
template <typename Read> void padImage(const Sizes& s, Read read, int16_t* image)
{
    const int64_t depth = paddedDepth(s.inputChannels);
    for (int64_t pixel = 0; pixel < s.inputPixels(); ++pixel) {
        for (int64_t c = 0; c < s.inputChannels; ++c) image[pixel * depth + c] = read(pixel * s.inputChannels + c);
        std::fill(image + pixel * depth + s.inputChannels, image + (pixel + 1) * depth, int16_t{0});
    }
}

/// Calls `store(offset, sums)` for every output pixel of one image, from all threads.
template <typename Sum, typename Store> void sumImage(const KernelArgs& args, const Sizes& s, const IntegerScratch& parts,
                                                      const int16_t* image, const int16_t* weights, std::byte* scratch, Store store)
{
    const int64_t depth = paddedDepth(s.inputChannels);
    shareWork(args, s.y.input, pixelCost(s) * s.x.input, [&](int64_t begin, int64_t end, int thread) {
        ProductRun* runs = reinterpret_cast<ProductRun*>(scratch + parts.runs) + thread * s.taps();
        Sum* sums = reinterpret_cast<Sum*>(reinterpret_cast<int64_t*>(scratch + parts.sums) + thread * paddedRows(s.channels));
        for (int64_t oy = begin; oy < end; ++oy)
            for (int64_t ox = 0; ox < s.x.input; ++ox) {
                const size_t count = listRuns(s, oy, ox, depth, runs);
                if (count == 0) std::fill(sums, sums + s.channels, Sum{0});
                for (size_t r = 0; r < count; ++r) {
                    if constexpr (sizeof(Sum) == 8)
                        dotRows64(image + runs[r].input, weights + runs[r].weight, s.channels, s.rowStride(), depth, sums, r > 0);
                    else dotRows(image + runs[r].input, weights + runs[r].weight, s.channels, s.rowStride(), depth, sums, r > 0);
                }
                store((oy * s.x.input + ox) * s.channels, sums);
            }
    });
}

template <typename T> Status run8(const KernelArgs& args)
{
    const auto& params = args.paramsAs<TransposeConvParams>();
    const Sizes s = sizesOf(params, args.in(2).shape, args.in(1).shape, args.out(0).shape);
    const IntegerScratch parts(s, !params.rows.empty(), args.runtime->threads());
    std::byte* scratch = args.runtime->scratch(parts.layout.bytes());
    auto* image = reinterpret_cast<int16_t*>(scratch + parts.image);
    const int16_t* weights = weightRows(params, s, args.in(1), reinterpret_cast<int16_t*>(scratch + parts.rows));
    const int32_t* bias = args.has(3) ? args.in(3).as<int32_t>() : nullptr;
    for (int64_t b = 0; b < s.batches; ++b) {
        const T* in = args.in(2).as<T>() + b * s.inputPixels() * s.inputChannels;
        padImage(
            s, [&](int64_t i) { return static_cast<int16_t>(in[i] - params.inputZero); }, image);
        T* out = args.out(0).as<T>() + b * s.outputPixels() * s.channels;
        sumImage<int32_t>(args, s, parts, image, weights, scratch, [&](int64_t at, const int32_t* sums) {
            for (int64_t c = 0; c < s.channels; ++c) {
                const auto total = static_cast<int32_t>(static_cast<uint32_t>(sums[c]) + static_cast<uint32_t>(bias ? bias[c] : 0));
                out[at + c] = static_cast<T>(params.stage.apply(total, c));
            }
        });
    }
    return {};
}

/// i16 activations. With an i32 bias the reference adds in 32 bits (and rescales with the 32-bit rule), else in 64.
template <typename Sum> Status run16(const KernelArgs& args)
{
    const auto& params = args.paramsAs<TransposeConvParams>();
    const Sizes s = sizesOf(params, args.in(2).shape, args.in(1).shape, args.out(0).shape);
    const IntegerScratch parts(s, !params.rows.empty(), args.runtime->threads());
    std::byte* scratch = args.runtime->scratch(parts.layout.bytes());
    auto* image = reinterpret_cast<int16_t*>(scratch + parts.image);
    const int16_t* weights = weightRows(params, s, args.in(1), reinterpret_cast<int16_t*>(scratch + parts.rows));
    const Sum* bias = args.has(3) ? args.in(3).as<Sum>() : nullptr;
    for (int64_t b = 0; b < s.batches; ++b) {
        const int16_t* in = args.in(2).as<int16_t>() + b * s.inputPixels() * s.inputChannels;
        padImage(
            s, [&](int64_t i) { return in[i]; }, image);
        int16_t* out = args.out(0).as<int16_t>() + b * s.outputPixels() * s.channels;
        sumImage<Sum>(args, s, parts, image, weights, scratch, [&](int64_t at, const Sum* sums) {
            for (int64_t c = 0; c < s.channels; ++c) {
                using Unsigned = std::make_unsigned_t<Sum>;
                const auto total = static_cast<Sum>(static_cast<Unsigned>(sums[c]) + static_cast<Unsigned>(bias ? bias[c] : 0));
                if constexpr (sizeof(Sum) == 8) out[at + c] = static_cast<int16_t>(params.stage.apply64(total, c));
                else out[at + c] = static_cast<int16_t>(params.stage.apply(total, c));
            }
        });
    }
    return {};
}

/// f32 activations, quantized image by image with a zero point.
Status runHybrid(const KernelArgs& args)
{
    const auto& params = args.paramsAs<TransposeConvParams>();
    const Sizes s = sizesOf(params, args.in(2).shape, args.in(1).shape, args.out(0).shape);
    const IntegerScratch parts(s, !params.rows.empty(), args.runtime->threads());
    ScratchLayout layout = parts.layout;
    const int64_t elements = s.inputPixels() * s.inputChannels;
    const size_t quantizedAt = layout.add<int16_t>(elements);
    std::byte* scratch = args.runtime->scratch(layout.bytes());
    auto* image = reinterpret_cast<int16_t*>(scratch + parts.image);
    auto* quantized = reinterpret_cast<int16_t*>(scratch + quantizedAt);
    const int16_t* weights = weightRows(params, s, args.in(1), reinterpret_cast<int16_t*>(scratch + parts.rows));
    const float* bias = args.has(3) ? args.in(3).as<float>() : nullptr;
    for (int64_t b = 0; b < s.batches; ++b) {
        const HybridInput input = quantizeAsymmetric({args.in(2).as<float>() + b * elements, static_cast<size_t>(elements)}, quantized);
        padImage(
            s, [&](int64_t i) { return static_cast<int16_t>(quantized[i] - input.zero); }, image);
        float* out = args.out(0).as<float>() + b * s.outputPixels() * s.channels;
        sumImage<int32_t>(args, s, parts, image, weights, scratch, [&](int64_t at, const int32_t* sums) {
            for (int64_t c = 0; c < s.channels; ++c) {
                const float scale = params.scales.size() == 1 ? params.scales.front() : params.scales[static_cast<size_t>(c)];
                const float value = static_cast<float>(sums[c]) * scale * input.scale;
                out[at + c] = clampTo(bias ? value + bias[c] : value, params.range);
            }
        });
    }
    return {};
}

constexpr ConvolutionLoops kLoops = {runF32, runHybrid, run8<uint8_t>, run8<int8_t>, run16<int64_t>, run16<int32_t>};

} // namespace

Result<PreparedKernel> loopscope::prepareTransposeConv(const KernelSetup& setup)
{
    const Tensor& filter = setup.in(1);
    auto params = std::make_shared<TransposeConvParams>();
    PreparedKernel kernel;
    LS_TRY(kernel.run, setUpConvolution(setup, {2, 1, 3}, filter.shape[0], kLoops, *params));
    if (filter.data != nullptr && filter.shape.isStatic()) {
        const Shape any = {1, 1, 1, filter.shape[3]};
        const Sizes s = sizesOf(*params, any, filter.shape, any);
        if (kernel.run == runF32) {
            params->panels.resize(static_cast<size_t>(panelFloats(s.channels, s.taps() * s.inputChannels)));
            packPanels(filter.as<float>(), s.channels, s.taps() * s.inputChannels, s.taps() * s.inputChannels, 1, params->panels.data());
        } else {
            params->rows.resize(static_cast<size_t>(paddedRows(s.channels) * s.rowStride()));
            packFilter(s, filter, params->filterZero, params->rows.data());
        }
    }
    kernel.params = std::move(params);
    return kernel;
}

LS_DEFINE_KERNELS(tfl, transpose_conv)
{
    registry.add({"tfl", "transpose_conv", Profile::reference, prepareTransposeConv, "f32 u8 i8 i16"});
}
