// conv_2d of f32 (weights f32 or integers), i8, u8 and i16 with constant filters, grouped and dilated: windows become rows of a matrix that
// is multiplied by the packed filter, a few rows at a time. Integers have the reference's sums and its output stage: its bits.
#include "engine/kernels/fast/windows.h"
#include "engine/kernels/registry.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

using namespace loopscope;
using namespace loopscope::fast;

namespace {

/// Windows from which on it pays to pack a filter for one call.
constexpr int64_t kWorthPacking = 64;

struct FastConvParams : ConvolutionSetup {
    std::shared_ptr<const PackedWeights> panels;
    std::vector<int32_t> start;      ///< of bytes that are multiplied as they are
    PreparedKernel reference;        ///< without constant weights
    std::vector<float> columnScales; ///< hybrid: of each channel
    bool isAsymmetric = false;       ///< hybrid: channels have scales of their own
    bool roundsProducts = false;     ///< FloatFinish

    FloatFinish finish(const float* bias) const { return {bias, range.min, range.max, false, roundsProducts}; }
};

ConvSizes sizesOf(const ConvolutionSetup& setup, const Shape& input, const Shape& filter, const Shape& output)
{
    return {setup, input, filter, output, filter[0], filter[3]};
}

template <typename T> auto inputOf(const KernelArgs& args)
{
    return [&args](std::byte*) { return args.in(0).as<T>(); };
}
template <typename T> auto weightsOf(const FastConvParams& params)
{
    return [&params] { return params.panels->as<T>(); };
}

/// Filters that are computed are packed by each call, which pays where a filter meets many windows. Infinite weights, which the padding
/// must not meet, leave the call to the reference kernel.
Status runComputed(const KernelArgs& args)
{
    const auto& params = args.paramsAs<FastConvParams>();
    const Tensor& filter = args.in(1);
    const ConvSizes s = sizesOf(params, args.in(0).shape, filter.shape, args.out(0).shape);
    if (s.windows() < kWorthPacking || filter.elementCount() == 0 || !checkFinite(filter).ok()) {
        KernelArgs inner = args;
        inner.params = params.reference.params.get();
        return params.reference.run(inner);
    }
    const float* const bias = args.has(2) ? args.in(2).as<float>() : nullptr;
    const int64_t elements = panelElements<float>(s.groupChannels, s.depth());
    const float* packed = nullptr;
    ScratchLayout layout;
    const size_t panelsAt = layout.add<float>(s.groups * elements);
    const auto pack = [&](std::byte* scratch) {
        auto* const panels = reinterpret_cast<float*>(scratch + panelsAt);
        for (int64_t g = 0; g < s.groups; ++g)
            packPanels(filter.as<float>() + g * s.groupChannels * s.depth(), s.groupChannels, s.depth(), s.depth(), 1,
                       panels + g * elements);
        packed = panels;
        return args.in(0).as<float>();
    };
    multiplyWindows<float>(
        args, s, layout, 0, pack, [&] { return packed; },
        [&](int64_t window, int64_t group) {
            const int64_t channel = group * s.groupChannels;
            return FloatOutput{params.finish(bias ? bias + channel : nullptr), args.out(0).as<float>() + window * s.channels + channel,
                               s.channels, s.groupChannels};
        });
    return {};
}

Status runFloats(const KernelArgs& args)
{
    const auto& params = args.paramsAs<FastConvParams>();
    const ConvSizes s = sizesOf(params, args.in(0).shape, args.in(1).shape, args.out(0).shape);
    const float* const bias = args.has(2) ? args.in(2).as<float>() : nullptr;
    multiplyWindows<float>(args, s, {}, 0, inputOf<float>(args), weightsOf<float>(params), [&](int64_t window, int64_t group) {
        const int64_t channel = group * s.groupChannels;
        return FloatOutput{params.finish(bias ? bias + channel : nullptr), args.out(0).as<float>() + window * s.channels + channel,
                           s.channels, s.groupChannels};
    });
    return {};
}

template <typename T> Status run8(const KernelArgs& args)
{
    const auto& params = args.paramsAs<FastConvParams>();
    const ConvSizes s = sizesOf(params, args.in(0).shape, args.in(1).shape, args.out(0).shape);
    const int32_t* const bias = args.has(2) ? args.in(2).as<int32_t>() : nullptr;
    multiplyWindows<T>(args, s, {}, params.inputZero, inputOf<T>(args), weightsOf<int16_t>(params), [&](int64_t window, int64_t group) {
        const int64_t channel = group * s.groupChannels;
        return StoredOutput<T>{params.stage, bias ? bias + channel : nullptr,
                               channel,      args.out(0).as<T>() + window * s.channels + channel,
                               s.channels,   s.groupChannels};
    });
    return {};
}

template <typename T> Status runBytes(const KernelArgs& args)
{
    const auto& params = args.paramsAs<FastConvParams>();
    const ConvSizes s = sizesOf(params, args.in(0).shape, args.in(1).shape, args.out(0).shape);
    const int32_t* const bias = args.has(2) ? args.in(2).as<int32_t>() : nullptr;
    const int64_t startsApart = panelsOf(s.groupChannels) * kTileColumns;
    multiplyWindows<T>(args, s, {}, params.inputZero, inputOf<T>(args), weightsOf<int8_t>(params), [&](int64_t window, int64_t group) {
        const int64_t channel = group * s.groupChannels;
        return ByteOutput<StoredOutput<T>>{{params.stage, bias ? bias + channel : nullptr, channel,
                                            args.out(0).as<T>() + window * s.channels + channel, s.channels, s.groupChannels},
                                           params.start.data() + group * startsApart};
    });
    return {};
}

template <typename Bias> Status run16(const KernelArgs& args)
{
    const auto& params = args.paramsAs<FastConvParams>();
    const ConvSizes s = sizesOf(params, args.in(0).shape, args.in(1).shape, args.out(0).shape);
    const Bias* const bias = args.has(2) ? args.in(2).as<Bias>() : nullptr;
    multiplyWindows<int16_t>(args, s, {}, 0, inputOf<int16_t>(args), weightsOf<int16_t>(params), [&](int64_t window, int64_t group) {
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
    const ConvSizes s = sizesOf(params, args.in(0).shape, args.in(1).shape, args.out(0).shape);
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
    multiplyWindows<int16_t>(args, s, layout, 0, quantize, weightsOf<int16_t>(params), [&](int64_t window, int64_t group) {
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
    params->roundsProducts = setup.isQuantizedLater;
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
    const ConvSizes s = sizesOf(*params, any, filter.shape, any);
    if (input.dtype == DType::i8 || input.dtype == DType::u8) {
        LS_TRY(auto bytes, packedBytes(filter, s.groups, s.groupChannels, s.depth(), params->filterZero, input.dtype, params->inputZero));
        if (bytes) {
            params->panels = std::move(bytes->panels);
            params->start = std::move(bytes->start);
            return PreparedKernel{input.dtype == DType::i8 ? runBytes<int8_t> : runBytes<uint8_t>, std::move(params)};
        }
    }
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
    registry.add({"tfl", "conv_2d", Profile::fast, prepareFastConv, "f32 i8 u8 i16", kProductBound, true});
}
