// CPU kernels of conv_2d: f32, hybrid (f32 with i8 or i4 weights), u8, i8 and i16, grouped and dilated.
#include "engine/kernels/cpu/gemm.h"
#include "engine/kernels/cpu/nn/convolution_setup.h"
#include "engine/kernels/registry.h"

#include <algorithm>
#include <cstring>
#include <memory>

using namespace loopscope;

namespace {

/// Everything that does not depend on the shapes of a call.
struct Conv2dParams : ConvolutionSetup {
    bool perChannel = false;   ///< hybrid: scales differ between channels
    std::vector<float> panels; ///< f32 with constant weights
    std::vector<int16_t> rows; ///< integer weights, constant
};

/// Concrete sizes of a call.
struct Sizes : PlacedWindow {
    int64_t batches, inputChannels, channels, groupDepth, groups, groupChannels;
    int64_t depth() const { return y.filter * x.filter * groupDepth; }
    int64_t plane() const { return y.input * x.input * inputChannels; }
};

Sizes sizesOf(const Conv2dParams& params, const Shape& input, const Shape& filter, const Shape& output)
{
    Sizes s;
    static_cast<PlacedWindow&>(s) = params.place(input, filter, output);
    s.batches = input[0];
    s.inputChannels = input[3];
    s.channels = filter[0];
    s.groupDepth = filter[3];
    s.groups = std::max<int64_t>(1, s.inputChannels / s.groupDepth);
    s.groupChannels = s.channels / s.groups;
    return s;
}

int64_t groupPanelFloats(const Sizes& s) { return panelFloats(s.groupChannels, s.depth()); }

void packFilter(const Sizes& s, const float* filter, float* panels)
{
    for (int64_t g = 0; g < s.groups; ++g)
        packPanels(filter + g * s.groupChannels * s.depth(), s.groupChannels, s.depth(), s.depth(), 1, panels + g * groupPanelFloats(s));
}

int64_t groupRowElements(const Sizes& s) { return paddedRows(s.groupChannels) * paddedDepth(s.depth()); }

void packFilter(const Sizes& s, const Tensor& filter, int32_t zero, int16_t* rows)
{
    for (int64_t g = 0; g < s.groups; ++g)
        packIntegerRows(filter, g * s.groupChannels, s.groupChannels, s.depth(), zero, paddedDepth(s.depth()), paddedRows(s.groupChannels),
                        rows + g * groupRowElements(s));
}

/// The runs of products of a window with these taps, in the reference's order: filter row, filter column, channel. Input positions are
/// relative to the element (0, x origin, channel 0) of the image.
size_t listRuns(const Sizes& s, int64_t oy, TapRange ty, TapRange tx, ProductRun* runs)
{
    size_t count = 0;
    const bool wholeRows = s.x.dilation == 1 && s.groups == 1;
    for (int64_t ky = ty.first; ky < ty.last; ++ky) {
        const int64_t iy = s.y.origin(oy) + ky * s.y.dilation;
        if (wholeRows) {
            if (tx.count() == 0) continue;
            runs[count++] = {(iy * s.x.input + tx.first) * s.inputChannels, (ky * s.x.filter + tx.first) * s.groupDepth,
                             tx.count() * s.groupDepth};
            continue;
        }
        for (int64_t kx = tx.first; kx < tx.last; ++kx)
            runs[count++] = {(iy * s.x.input + kx * s.x.dilation) * s.inputChannels, (ky * s.x.filter + kx) * s.groupDepth, s.groupDepth};
    }
    return count;
}

/// Sums of `count` neighbouring windows from (oy, ox), for all groups.
void sumWindows(const Sizes& s, std::span<const ProductRun> runs, const float* image, const float* panels, int64_t ox, int count,
                float* out)
{
    for (int64_t g = 0; g < s.groups; ++g) {
        FloatTile tile = {};
        tile.input = image;
        tile.count = count;
        for (int p = 0; p < count; ++p) {
            tile.positions[p] = s.x.origin(ox + p) * s.inputChannels + g * s.groupDepth;
            tile.sums[p] = out + p * s.channels + g * s.groupChannels;
        }
        multiplyTile(tile, runs, panels + g * groupPanelFloats(s), s.groupChannels, s.depth());
    }
}

Status runF32(const KernelArgs& args)
{
    const auto& params = args.paramsAs<Conv2dParams>();
    const Tensor& filter = args.in(1);
    const Sizes s = sizesOf(params, args.in(0).shape, filter.shape, args.out(0).shape);
    const bool packed = !params.panels.empty();
    ScratchLayout layout;
    const int64_t taps = s.y.filter * s.x.filter;
    const size_t runsAt = layout.add<ProductRun>(taps * args.runtime->threads());
    const size_t panelsAt = layout.add<float>(packed ? 0 : s.groups * groupPanelFloats(s));
    std::byte* scratch = args.runtime->scratch(layout.bytes());
    auto* allRuns = reinterpret_cast<ProductRun*>(scratch + runsAt);
    const float* panels = params.panels.data();
    if (!packed) {
        auto* own = reinterpret_cast<float*>(scratch + panelsAt);
        packFilter(s, filter.as<float>(), own);
        panels = own;
    }
    const float* bias = args.has(2) ? args.in(2).as<float>() : nullptr;
    const TapRange interior = s.x.interior();
    const int64_t rowFloats = s.x.output * s.channels;
    shareWork(args, s.batches * s.y.output, rowFloats * s.depth(), [&](int64_t begin, int64_t end, int thread) {
        ProductRun* runs = allRuns + thread * taps;
        for (int64_t line = begin; line < end; ++line) {
            const float* image = args.in(0).as<float>() + line / s.y.output * s.plane();
            const int64_t oy = line % s.y.output;
            float* out = args.out(0).as<float>() + line * rowFloats;
            float* row = out;
            const TapRange ty = s.y.taps(oy);
            for (int64_t ox = 0; ox < s.x.output;) {
                const bool inside = ox >= interior.first && ox < interior.last;
                const int64_t count = inside ? std::min<int64_t>(kTilePositions, interior.last - ox) : 1;
                const size_t runCount = listRuns(s, oy, ty, s.x.taps(ox), runs);
                sumWindows(s, {runs, runCount}, image, panels, ox, static_cast<int>(count), out);
                out += count * s.channels;
                ox += count;
            }
            for (float* pixel = row; pixel < out; pixel += s.channels)
                for (int64_t c = 0; c < s.channels; ++c) pixel[c] = clampTo(pixel[c] + (bias ? bias[c] : 0.0F), params.range);
        }
    });
    return {};
}

/// Copies the inputs of one window into a row of `depth` numbers; what lies in the padding is 0, since inputs are relative to their zero
/// point.
void gatherColumn(const Sizes& s, const int16_t* image, int64_t oy, int64_t ox, int64_t group, int16_t* column)
{
    const TapRange ty = s.y.taps(oy);
    const TapRange tx = s.x.taps(ox);
    const int64_t depth = s.groupDepth;
    int16_t* to = column;
    for (int64_t ky = 0; ky < s.y.filter; ++ky, to += s.x.filter * depth) {
        if (ky < ty.first || ky >= ty.last || tx.count() == 0) {
            std::fill(to, to + s.x.filter * depth, int16_t{0});
            continue;
        }
        const int64_t iy = s.y.origin(oy) + ky * s.y.dilation;
        std::fill(to, to + tx.first * depth, int16_t{0});
        for (int64_t kx = tx.first; kx < tx.last; ++kx) {
            const int64_t ix = s.x.origin(ox) + kx * s.x.dilation;
            std::memcpy(to + kx * depth, image + (iy * s.x.input + ix) * s.inputChannels + group * depth,
                        static_cast<size_t>(depth) * sizeof(int16_t));
        }
        std::fill(to + tx.last * depth, to + s.x.filter * depth, int16_t{0});
    }
}

/// What each thread needs: the inputs of two windows, and their sums.
int64_t columnElements(const Sizes& s) { return 2 * paddedDepth(s.depth()); }
int64_t sumElements(const Sizes& s) { return 2 * paddedRows(s.groupChannels); }

/// Scratch of the integer paths.
struct IntegerScratch {
    size_t image, columns, sums, rows;
    ScratchLayout layout;

    IntegerScratch(const Sizes& s, bool packed, int threads)
    {
        image = layout.add<int16_t>(s.plane());
        columns = layout.add<int16_t>(columnElements(s) * threads);
        sums = layout.add<int64_t>(sumElements(s) * threads);
        rows = layout.add<int16_t>(packed ? 0 : s.groups * groupRowElements(s));
    }
};

/// Calls `store(out offset, first channel, count, sums)` for the channels of each group and of pixels `begin` to `pixels` of an image;
/// `wide`: 64-bit sums.
template <bool wide, typename Store> void sumPixels(const Sizes& s, const int16_t* image, const int16_t* weights, int64_t begin,
                                                    int64_t pixels, int16_t* columns, std::conditional_t<wide, int64_t, int32_t>* sums,
                                                    Store store)
{
    const int64_t depth = paddedDepth(s.depth());
    const int64_t rows = paddedRows(s.groupChannels);
    std::fill(columns, columns + 2 * depth, int16_t{0});
    for (int64_t pixel = begin; pixel < pixels; pixel += 2) {
        const int64_t count = std::min<int64_t>(2, pixels - pixel);
        for (int64_t g = 0; g < s.groups; ++g) {
            for (int64_t p = 0; p < count; ++p)
                gatherColumn(s, image, (pixel + p) / s.x.output, (pixel + p) % s.x.output, g, columns + p * depth);
            const int16_t* w = weights + g * groupRowElements(s);
            if constexpr (wide) {
                for (int64_t p = 0; p < count; ++p)
                    dotRows64(columns + p * depth, w, s.groupChannels, depth, depth, sums + p * rows, false);
            } else if (count == 2) {
                dotRows2(columns, columns + depth, w, s.groupChannels, depth, depth, sums, sums + rows);
            } else {
                dotRows(columns, w, s.groupChannels, depth, depth, sums, false);
            }
            for (int64_t p = 0; p < count; ++p)
                store((pixel + p) * s.channels + g * s.groupChannels, g * s.groupChannels, s.groupChannels, sums + p * rows);
        }
    }
}

/// sumPixels for a whole image, from all threads.
template <bool wide, typename Store> void sumImage(const KernelArgs& args, const Sizes& s, const IntegerScratch& parts,
                                                   const int16_t* image, const int16_t* weights, std::byte* scratch, Store store)
{
    using Sum = std::conditional_t<wide, int64_t, int32_t>;
    shareWork(args, s.y.output * s.x.output, s.channels * s.depth(), [&](int64_t begin, int64_t end, int thread) {
        auto* columns = reinterpret_cast<int16_t*>(scratch + parts.columns) + thread * columnElements(s);
        auto* sums = reinterpret_cast<Sum*>(reinterpret_cast<int64_t*>(scratch + parts.sums) + thread * sumElements(s));
        sumPixels<wide>(s, image, weights, begin, end, columns, sums, store);
    });
}

/// Integer weights: the prepared ones, or packed into scratch where the filter is computed at run time.
const int16_t* weightRows(const Conv2dParams& params, const Sizes& s, const Tensor& filter, int16_t* own)
{
    if (!params.rows.empty()) return params.rows.data();
    packFilter(s, filter, params.filterZero, own);
    return own;
}

/// u8 and i8 activations.
template <typename T> Status run8(const KernelArgs& args)
{
    const auto& params = args.paramsAs<Conv2dParams>();
    const Sizes s = sizesOf(params, args.in(0).shape, args.in(1).shape, args.out(0).shape);
    const IntegerScratch parts(s, !params.rows.empty(), args.runtime->threads());
    std::byte* scratch = args.runtime->scratch(parts.layout.bytes());
    auto* image = reinterpret_cast<int16_t*>(scratch + parts.image);
    const int16_t* weights = weightRows(params, s, args.in(1), reinterpret_cast<int16_t*>(scratch + parts.rows));
    const int32_t* bias = args.has(2) ? args.in(2).as<int32_t>() : nullptr;
    for (int64_t b = 0; b < s.batches; ++b) {
        widen(args.in(0), b * s.plane(), s.plane(), params.inputZero, image);
        T* out = args.out(0).as<T>() + b * s.y.output * s.x.output * s.channels;
        sumImage<false>(args, s, parts, image, weights, scratch, [&](int64_t at, int64_t first, int64_t count, const int32_t* sums) {
            params.stage.applyRow(sums, bias ? bias + first : nullptr, first, count, out + at);
        });
    }
    return {};
}

/// i16 activations: 64-bit sums. With an i32 bias the sum is rescaled by the 32-bit rule, else by the 64-bit one.
template <typename Bias> Status run16(const KernelArgs& args)
{
    const auto& params = args.paramsAs<Conv2dParams>();
    const Sizes s = sizesOf(params, args.in(0).shape, args.in(1).shape, args.out(0).shape);
    const IntegerScratch parts(s, !params.rows.empty(), args.runtime->threads());
    std::byte* scratch = args.runtime->scratch(parts.layout.bytes());
    const int16_t* weights = weightRows(params, s, args.in(1), reinterpret_cast<int16_t*>(scratch + parts.rows));
    const Bias* bias = args.has(2) ? args.in(2).as<Bias>() : nullptr;
    for (int64_t b = 0; b < s.batches; ++b) {
        const int16_t* image = args.in(0).as<int16_t>() + b * s.plane();
        int16_t* out = args.out(0).as<int16_t>() + b * s.y.output * s.x.output * s.channels;
        sumImage<true>(args, s, parts, image, weights, scratch, [&](int64_t at, int64_t first, int64_t count, const int64_t* sums) {
            for (int64_t i = 0; i < count; ++i) {
                const int64_t c = first + i;
                const auto total =
                    static_cast<int64_t>(static_cast<uint64_t>(sums[i]) + static_cast<uint64_t>(int64_t{bias ? bias[c] : 0}));
                out[at + i] = static_cast<int16_t>(sizeof(Bias) == 4 ? params.stage.apply(static_cast<int32_t>(total), c)
                                                                     : params.stage.apply64(total, c));
            }
        });
    }
    return {};
}

/// f32 activations that are quantized image by image. With one filter scale the input is quantized symmetrically, else (and for groups)
/// with a zero point: LiteRT's EvalHybrid and EvalHybridPerChannel, which also differ in the order of the factors.
Status runHybrid(const KernelArgs& args)
{
    const auto& params = args.paramsAs<Conv2dParams>();
    const Sizes s = sizesOf(params, args.in(0).shape, args.in(1).shape, args.out(0).shape);
    const IntegerScratch parts(s, !params.rows.empty(), args.runtime->threads());
    std::byte* scratch = args.runtime->scratch(parts.layout.bytes());
    auto* image = reinterpret_cast<int16_t*>(scratch + parts.image);
    const int16_t* weights = weightRows(params, s, args.in(1), reinterpret_cast<int16_t*>(scratch + parts.rows));
    const float* bias = args.has(2) ? args.in(2).as<float>() : nullptr;
    const bool perChannel = params.perChannel || s.groups != 1;
    for (int64_t b = 0; b < s.batches; ++b) {
        const std::span<const float> values(args.in(0).as<float>() + b * s.plane(), static_cast<size_t>(s.plane()));
        const HybridInput input = perChannel ? quantizeAsymmetric(values, image) : quantizeSymmetric(values, image);
        if (input.zero != 0)
            for (int64_t i = 0; i < s.plane(); ++i) image[i] = static_cast<int16_t>(image[i] - input.zero);
        float* out = args.out(0).as<float>() + b * s.y.output * s.x.output * s.channels;
        const float tensorScale = input.scale * params.scales.front();
        sumImage<false>(args, s, parts, image, weights, scratch, [&](int64_t at, int64_t first, int64_t count, const int32_t* sums) {
            for (int64_t i = 0; i < count; ++i) {
                const int64_t c = first + i;
                const float scale = params.scales.size() == 1 ? params.scales.front() : params.scales[static_cast<size_t>(c)];
                const auto total = static_cast<float>(sums[i]);
                const float value = perChannel ? total * scale * input.scale : total * tensorScale;
                out[at + i] = clampTo(value + (bias ? bias[c] : 0.0F), params.range);
            }
        });
    }
    return {};
}

/// The same as XNNPACK does it: image by image, but pixel by pixel where one pixel of the input makes one of the result, since that is a
/// matrix product there.
Status runDynamic(const KernelArgs& args)
{
    const auto& params = args.paramsAs<Conv2dParams>();
    const Sizes s = sizesOf(params, args.in(0).shape, args.in(1).shape, args.out(0).shape);
    const auto isPointwise = [](const PlacedAxis& axis) { return axis.filter == 1 && axis.stride == 1 && axis.input == axis.output; };
    const int64_t pixels = s.groups == 1 && isPointwise(s.y) && isPointwise(s.x) ? s.y.input * s.x.input : 1;
    IntegerScratch parts(s, !params.rows.empty(), args.runtime->threads());
    const size_t scalesAt = parts.layout.add<float>(pixels);
    std::byte* scratch = args.runtime->scratch(parts.layout.bytes());
    auto* image = reinterpret_cast<int16_t*>(scratch + parts.image);
    auto* inputScales = reinterpret_cast<float*>(scratch + scalesAt);
    const int16_t* weights = weightRows(params, s, args.in(1), reinterpret_cast<int16_t*>(scratch + parts.rows));
    const float* bias = args.has(2) ? args.in(2).as<float>() : nullptr;
    const int64_t together = s.plane() / std::max<int64_t>(pixels, 1);
    for (int64_t b = 0; b < s.batches; ++b) {
        for (int64_t p = 0; p < pixels; ++p) {
            int16_t* const part = image + p * together;
            const HybridInput input =
                quantizeDynamic({args.in(0).as<float>() + b * s.plane() + p * together, static_cast<size_t>(together)}, part);
            for (int64_t i = 0; i < together; ++i) part[i] = static_cast<int16_t>(part[i] - input.zero);
            inputScales[p] = input.scale;
        }
        float* out = args.out(0).as<float>() + b * s.y.output * s.x.output * s.channels;
        sumImage<false>(args, s, parts, image, weights, scratch, [&](int64_t at, int64_t first, int64_t count, const int32_t* sums) {
            const float inputScale = inputScales[pixels == 1 ? 0 : at / s.channels];
            for (int64_t i = 0; i < count; ++i) {
                const int64_t c = first + i;
                const float scale = params.scales.size() == 1 ? params.scales.front() : params.scales[static_cast<size_t>(c)];
                const float value = std::fma(static_cast<float>(sums[i]) * inputScale, scale, bias ? bias[c] : 0.0F);
                out[at + i] = clampTo(value, params.range);
            }
        });
    }
    return {};
}

constexpr ConvolutionLoops kLoops = {runF32, runHybrid, run8<uint8_t>, run8<int8_t>, run16<int64_t>, run16<int32_t>, runDynamic};

} // namespace

Result<PreparedKernel> loopscope::prepareConv2d(const KernelSetup& setup)
{
    const Tensor& input = setup.in(0);
    const Tensor& filter = setup.in(1);
    auto params = std::make_shared<Conv2dParams>();
    PreparedKernel kernel;
    LS_TRY(kernel.run, setUpConvolution(setup, {0, 1, 2}, filter.shape[0], kLoops, *params));
    for (const float scale : params->scales) params->perChannel = params->perChannel || scale != params->scales.front();
    if (filter.data != nullptr && filter.shape.isStatic() && input.shape.hasRank() && input.shape[3] > 0) {
        // Only the filter and the channels of the input matter for the layout of packed weights.
        const Shape any = {1, 1, 1, input.shape[3]};
        const Sizes s = sizesOf(*params, any, filter.shape, any);
        if (kernel.run == runF32) {
            params->panels.resize(static_cast<size_t>(s.groups * groupPanelFloats(s)));
            packFilter(s, filter.as<float>(), params->panels.data());
        } else {
            params->rows.resize(static_cast<size_t>(s.groups * groupRowElements(s)));
            packFilter(s, filter, params->filterZero, params->rows.data());
        }
    }
    kernel.params = std::move(params);
    return kernel;
}

LS_DEFINE_KERNELS(tfl, conv_2d) { registry.add({"tfl", "conv_2d", Profile::reference, prepareConv2d, "f32 u8 i8 i16"}); }
