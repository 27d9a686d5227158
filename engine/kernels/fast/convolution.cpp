// conv_2d of f32 (weights f32 or integers), i8, u8 and i16 with constant filters, grouped and dilated: windows become rows of a matrix that
// is multiplied by the packed filter, a few rows at a time. Integers have the reference's sums and its output stage: its bits.
#include "engine/kernels/cpu/nn/convolution_setup.h"
#include "engine/kernels/fast/copy.h"
#include "engine/kernels/fast/rows.h"
#include "engine/kernels/registry.h"

#include <cstddef>
#include <vector>

using namespace loopscope;
using namespace loopscope::fast;

namespace {

/// Windows from which on it pays to pack a filter for one call.
constexpr int64_t kWorthPacking = 64;

struct FastConvParams : ConvolutionSetup {
    std::shared_ptr<const PackedWeights> panels;
    const float* computed = nullptr; ///< during a call without constant weights: what it has packed
    PreparedKernel reference;        ///< without constant weights
    std::vector<float> columnScales; ///< hybrid: of each channel
    bool isAsymmetric = false;       ///< hybrid: channels have scales of their own
};

/// Concrete sizes of a call.
struct ConvSizes : PlacedWindow {
    int64_t batches, inputChannels, channels, groupDepth, groups, groupChannels;

    ConvSizes(const FastConvParams& params, const Shape& input, const Shape& filter, const Shape& output)
        : PlacedWindow(params.place(input, filter, output)),
          batches(input[0]),
          inputChannels(input[3]),
          channels(filter[0]),
          groupDepth(filter[3]),
          groups(std::max<int64_t>(1, inputChannels / groupDepth)),
          groupChannels(channels / groups)
    {
    }
    int64_t depth() const { return taps() * groupDepth; }
    int64_t plane() const { return y.input * x.input * inputChannels; }
    int64_t windows() const { return batches * y.output * x.output; }
    /// Windows are single pixels that lie inside: they need no copy.
    bool isPointwise() const
    {
        return groups == 1 && y.filter == 1 && x.filter == 1 && y.padding == 0 && x.padding == 0 && (y.output - 1) * y.stride < y.input &&
               (x.output - 1) * x.stride < x.input;
    }
};

/// Writes the inputs of one window of a group as a row; what lies in the padding is `zero`. `ty`: the rows of its taps that lie inside;
/// `inner`: the windows of the line all of whose columns do; `end`: of the input. Behind the row are sixteen bytes that may be written.
template <typename In> void gatherWindow(const ConvSizes& s, const In* image, int64_t oy, int64_t ox, TapRange ty, TapRange inner,
                                         int64_t group, In zero, const In* end, In* row)
{
    const int64_t depth = s.groupDepth, line = s.x.filter * depth;
    const TapRange tx = ox >= inner.first && ox < inner.last ? TapRange{0, s.x.filter} : s.x.taps(ox);
    const bool isOneRun = s.x.dilation == 1 && s.groups == 1;
    for (int64_t ky = 0; ky < s.y.filter; ++ky, row += line) {
        if (ky < ty.first || ky >= ty.last || tx.count() <= 0) {
            std::fill_n(row, line, zero);
            continue;
        }
        const In* const from = image + (s.y.origin(oy) + ky * s.y.dilation) * s.x.input * s.inputChannels + group * depth;
        if (tx.first > 0) std::fill_n(row, tx.first * depth, zero);
        if (isOneRun) copyShortRun(from + (s.x.origin(ox) + tx.first) * depth, tx.count() * depth, row + tx.first * depth, end);
        else
            for (int64_t kx = tx.first; kx < tx.last; ++kx)
                copyShortRun(from + (s.x.origin(ox) + kx * s.x.dilation) * s.inputChannels, depth, row + kx * depth, end);
        if (tx.last < s.x.filter) std::fill_n(row + tx.last * depth, (s.x.filter - tx.last) * depth, zero);
    }
}

/// How far apart rows are kept: rows a multiple of 1 KiB apart would share the few places of a cache that their addresses allow.
int64_t rowPitch(int64_t numbers, int64_t bytes) { return numbers * bytes % 1024 == 0 ? numbers + 64 / bytes : numbers; }

/// Rows of a block: fewer where they are long, and few enough that every thread gets some.
int64_t rowsTogether(int64_t windows, int64_t rowBytes, int threads)
{
    constexpr int64_t kBlockBytes = int64_t{1} << 17;
    const int64_t most = std::clamp<int64_t>(kBlockBytes / std::max<int64_t>(rowBytes, 1), kTileRows, kMostRows);
    const int64_t shared = (windows + threads - 1) / threads;
    return (std::min(most, std::max<int64_t>(shared, 1)) + kTileRows - 1) / kTileRows * kTileRows;
}

/// Multiplies all windows of source(scratch memory), which begins with what `layout` has reserved; output(first window, group) tells where
/// the results go from there.
template <typename In, typename Source, typename Output> void multiplyWindows(const KernelArgs& args, const FastConvParams& params,
                                                                              const ConvSizes& s, ScratchLayout layout, int32_t zeroPoint,
                                                                              Source source, Output output)
{
    using Wide = Widened<In>;
    const int64_t depth = s.depth(), padded = rowDepth<Wide>(depth), windows = s.windows();
    const int64_t pitch = rowPitch(padded, sizeof(Wide)), threads = args.runtime->threads();
    constexpr bool isWidened = !std::is_same_v<In, Wide>;
    // Numbers of single pixels are read where they are, unless many columns make up for copying them to better places.
    const bool isDirect = !isWidened && s.isPointwise() && padded == depth && (pitch == padded || s.groupChannels < 64);
    const int64_t together = rowsTogether(windows, padded * static_cast<int64_t>(sizeof(Wide)), args.runtime->threads());
    const int64_t blockNumbers = (together * pitch + 16 + 63) / 64 * 64; // and what short runs write behind the last row
    const size_t rowsAt = layout.add<Wide>(isDirect ? 0 : blockNumbers * threads);
    const size_t bytesAt = layout.add<In>(isWidened ? blockNumbers * threads : 0); // rows as they are in the input
    std::byte* const scratch = args.runtime->scratch(layout.bytes());
    const In* const images = source(scratch);
    const int64_t groupElements = panelElements<Wide>(s.groupChannels, depth), plane = s.plane();
    const Wide* const panels = params.panels ? params.panels->as<Wide>() : reinterpret_cast<const Wide*>(params.computed);
    const TapRange inner = s.x.interior();
    shareWork(args, (windows + together - 1) / together, together * s.channels * depth, [&](int64_t begin, int64_t end, int thread) {
        Wide* const block = reinterpret_cast<Wide*>(scratch + rowsAt) + (isDirect ? 0 : thread * blockNumbers);
        In* const gathered = reinterpret_cast<In*>(scratch + (isWidened ? bytesAt : rowsAt)) + (isDirect ? 0 : thread * blockNumbers);
        const auto zero = static_cast<In>(zeroPoint);
        const Wide* rows[kMostRows];
        for (int64_t first = begin * together; first < std::min(end * together, windows); first += together) {
            const int64_t count = std::min(together, windows - first);
            for (int64_t g = 0; g < s.groups; ++g) {
                int64_t ox = first % s.x.output, oy = first / s.x.output % s.y.output;
                TapRange ty;
                const In* image = images + first / (s.x.output * s.y.output) * plane;
                for (int64_t r = 0; r < count; ++r) {
                    if constexpr (!isWidened)
                        if (isDirect) rows[r] = image + (oy * s.y.stride * s.x.input + ox * s.x.stride) * s.inputChannels;
                    if (!isDirect) {
                        if (r == 0 || ox == 0) ty = s.y.taps(oy);
                        gatherWindow(s, image, oy, ox, ty, inner, g, zero, images + s.batches * plane, gathered + r * pitch);
                        std::fill_n(gathered + r * pitch + depth, pitch - depth, zero);
                        rows[r] = block + r * pitch;
                    }
                    if (++ox < s.x.output) continue;
                    ox = 0;
                    if (++oy < s.y.output) continue;
                    oy = 0;
                    image += plane;
                }
                if constexpr (isWidened) copyWidened(gathered, count * pitch, zeroPoint, block);
                multiplyRows(rows, count, padded, panels + g * groupElements, 0, panelsOf(s.groupChannels), output(first, g));
            }
        }
    });
}

template <typename T> auto inputOf(const KernelArgs& args)
{
    return [&args](std::byte*) { return args.in(0).as<T>(); };
}

/// Filters that are computed are packed by each call, which pays where a filter meets many windows. Infinite weights, which the padding
/// must not meet, leave the call to the reference kernel.
Status runComputed(const KernelArgs& args)
{
    const auto& params = args.paramsAs<FastConvParams>();
    const Tensor& filter = args.in(1);
    const ConvSizes s(params, args.in(0).shape, filter.shape, args.out(0).shape);
    if (s.windows() < kWorthPacking || filter.elementCount() == 0 || !checkFinite(filter).ok()) {
        KernelArgs inner = args;
        inner.params = params.reference.params.get();
        return params.reference.run(inner);
    }
    const float* const bias = args.has(2) ? args.in(2).as<float>() : nullptr;
    const int64_t elements = panelElements<float>(s.groupChannels, s.depth());
    FastConvParams own = params;
    ScratchLayout layout;
    const size_t panelsAt = layout.add<float>(s.groups * elements);
    const auto pack = [&](std::byte* scratch) {
        auto* const panels = reinterpret_cast<float*>(scratch + panelsAt);
        for (int64_t g = 0; g < s.groups; ++g)
            packPanels(filter.as<float>() + g * s.groupChannels * s.depth(), s.groupChannels, s.depth(), s.depth(), 1,
                       panels + g * elements);
        own.computed = panels;
        return args.in(0).as<float>();
    };
    multiplyWindows<float>(args, own, s, layout, 0, pack, [&](int64_t window, int64_t group) {
        const int64_t channel = group * s.groupChannels;
        return FloatOutput{{bias ? bias + channel : nullptr, params.range.min, params.range.max},
                           args.out(0).as<float>() + window * s.channels + channel,
                           s.channels,
                           s.groupChannels};
    });
    return {};
}

Status runFloats(const KernelArgs& args)
{
    const auto& params = args.paramsAs<FastConvParams>();
    const ConvSizes s(params, args.in(0).shape, args.in(1).shape, args.out(0).shape);
    const float* const bias = args.has(2) ? args.in(2).as<float>() : nullptr;
    multiplyWindows<float>(args, params, s, {}, 0, inputOf<float>(args), [&](int64_t window, int64_t group) {
        const int64_t channel = group * s.groupChannels;
        return FloatOutput{{bias ? bias + channel : nullptr, params.range.min, params.range.max},
                           args.out(0).as<float>() + window * s.channels + channel,
                           s.channels,
                           s.groupChannels};
    });
    return {};
}

template <typename T> Status run8(const KernelArgs& args)
{
    const auto& params = args.paramsAs<FastConvParams>();
    const ConvSizes s(params, args.in(0).shape, args.in(1).shape, args.out(0).shape);
    const int32_t* const bias = args.has(2) ? args.in(2).as<int32_t>() : nullptr;
    multiplyWindows<T>(args, params, s, {}, params.inputZero, inputOf<T>(args), [&](int64_t window, int64_t group) {
        const int64_t channel = group * s.groupChannels;
        return StoredOutput<T>{params.stage, bias ? bias + channel : nullptr,
                               channel,      args.out(0).as<T>() + window * s.channels + channel,
                               s.channels,   s.groupChannels};
    });
    return {};
}

template <typename Bias> Status run16(const KernelArgs& args)
{
    const auto& params = args.paramsAs<FastConvParams>();
    const ConvSizes s(params, args.in(0).shape, args.in(1).shape, args.out(0).shape);
    const Bias* const bias = args.has(2) ? args.in(2).as<Bias>() : nullptr;
    multiplyWindows<int16_t>(args, params, s, {}, 0, inputOf<int16_t>(args), [&](int64_t window, int64_t group) {
        const int64_t channel = group * s.groupChannels;
        WideOutput out = {params.stage, nullptr,        nullptr, channel, args.out(0).as<int16_t>() + window * s.channels + channel,
                          s.channels,   s.groupChannels};
        if constexpr (sizeof(Bias) == 4) out.narrowBias = bias + channel;
        else out.bias = bias ? bias + channel : nullptr;
        return out;
    });
    return {};
}

/// Images are quantized one by one, as the reference does it.
Status runHybrid(const KernelArgs& args)
{
    const auto& params = args.paramsAs<FastConvParams>();
    const ConvSizes s(params, args.in(0).shape, args.in(1).shape, args.out(0).shape);
    const int64_t pixels = s.y.output * s.x.output;
    ScratchLayout layout;
    const size_t imagesAt = layout.add<int16_t>(s.batches * s.plane()), scalesAt = layout.add<float>(s.windows());
    const float* const bias = args.has(2) ? args.in(2).as<float>() : nullptr;
    const float* scales = nullptr;
    const auto quantize = [&](std::byte* scratch) {
        auto* const images = reinterpret_cast<int16_t*>(scratch + imagesAt);
        auto* const rowScales = reinterpret_cast<float*>(scratch + scalesAt);
        for (int64_t b = 0; b < s.batches; ++b) {
            const std::span<const float> values(args.in(0).as<float>() + b * s.plane(), static_cast<size_t>(s.plane()));
            int16_t* const image = images + b * s.plane();
            const HybridInput input = params.isAsymmetric ? quantizeAsymmetric(values, image) : quantizeSymmetric(values, image);
            if (input.zero != 0)
                for (int64_t i = 0; i < s.plane(); ++i) image[i] = static_cast<int16_t>(image[i] - input.zero);
            std::fill_n(rowScales + b * pixels, pixels, input.scale);
        }
        scales = rowScales;
        return static_cast<const int16_t*>(images);
    };
    multiplyWindows<int16_t>(args, params, s, layout, 0, quantize, [&](int64_t window, int64_t group) {
        const int64_t channel = group * s.groupChannels;
        return HybridOutput{scales + window,
                            params.columnScales.data() + channel,
                            params.isAsymmetric,
                            false,
                            bias ? bias + channel : nullptr,
                            params.range,
                            args.out(0).as<float>() + window * s.channels + channel,
                            s.channels,
                            s.groupChannels};
    });
    return {};
}

constexpr ConvolutionLoops kLoops = {runFloats, runHybrid, run8<uint8_t>, run8<int8_t>, run16<int64_t>, run16<int32_t>};

Result<PreparedKernel> prepareFastConv(const KernelSetup& setup)
{
    const Tensor& input = setup.in(0);
    const Tensor& filter = setup.in(1);
    if (filter.data == nullptr && filter.dtype != DType::f32) return Error(ErrorCode::unsupported, "weights that are computed");
    auto params = std::make_shared<FastConvParams>();
    PreparedKernel kernel;
    LS_TRY(kernel.run, setUpConvolution(setup, {0, 1, 2}, filter.shape[0], kLoops, *params));
    const bool isNarrow = filter.dtype == DType::i8 || filter.dtype == DType::i4;
    if (filter.dtype != input.dtype && !isNarrow)
        return Error(ErrorCode::unsupported, "such weights")
            .found(std::string(dtypeName(input.dtype)) + " and " + std::string(dtypeName(filter.dtype)));
    if (input.dtype == DType::u8 && filter.dtype == DType::i8) return Error(ErrorCode::unsupported, "u8 with weights of i8");
    if (input.dtype == DType::i16 && !isNarrow) return Error(ErrorCode::unsupported, "weights of 16 bits");
    if (!input.shape.hasRank() || input.shape[3] <= 0) return Error(ErrorCode::unsupported, "channels that are known only when running");
    if (filter.data == nullptr) {
        LS_TRY(params->reference, prepareConv2d(setup));
        return PreparedKernel{runComputed, std::move(params)};
    }
    if (filter.elementCount() == 0) return Error(ErrorCode::unsupported, "a filter without elements");
    LS_CHECK_OK(checkFinite(filter));
    const Shape any = {1, 1, 1, input.shape[3]};
    const ConvSizes s(*params, any, filter.shape, any);
    LS_TRY(params->panels, packedRows(filter, s.groups, s.groupChannels, s.depth(), params->filterZero));
    if (!params->scales.empty()) {
        params->isAsymmetric = s.groups != 1;
        for (int64_t c = 0; c < s.channels; ++c)
            params->columnScales.push_back(params->scales.size() == 1 ? params->scales.front() : params->scales[static_cast<size_t>(c)]);
        for (const float scale : params->scales) params->isAsymmetric = params->isAsymmetric || scale != params->scales.front();
    }
    kernel.params = std::move(params);
    return kernel;
}

} // namespace

LS_DEFINE_PROFILE_KERNELS(fast, tfl, conv_2d)
{
    registry.add({"tfl", "conv_2d", Profile::fast, prepareFastConv, "f32 i8 u8 i16", kProductBound});
}
