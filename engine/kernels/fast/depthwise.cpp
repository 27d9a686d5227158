// depthwise_conv_2d of f32, i8 and u8 with constant filters. Where there are several results for each channel of the input, its channels
// are repeated first. Of a single one this is a convolution.
#include "engine/base/vectorised.h"
#include "engine/kernels/fast/windows.h"
#include "engine/kernels/registry.h"

#include <vector>

using namespace loopscope;
using namespace loopscope::fast;

namespace {

struct FastDepthwiseParams : ConvolutionSetup {
    std::shared_ptr<const PackedWeights> taps;
    std::vector<int32_t> start;  ///< of integers, by channel: what the zero point of the inputs takes off
    bool roundsProducts = false; ///< FloatFinish

    FloatFinish finish(const float* bias) const { return {bias, range.min, range.max, false, roundsProducts}; }
};

struct DepthwiseSizes : PlacedWindow {
    int64_t batches, channels, inputChannels;

    DepthwiseSizes(const FastDepthwiseParams& params, const Shape& input, const Shape& filter, const Shape& output)
        : PlacedWindow(params.place(input, filter, output)),
          batches(input[0]),
          channels(filter[3]),
          inputChannels(input[3])
    {
    }
    int64_t pixels() const { return batches * y.input * x.input; }
    int64_t paddedTaps() const { return (taps() + 1) / 2 * 2; }
};

/// Pixels of `step` numbers, of which each channel of the result has its own; the rest is 0.
template <typename T> void spreadPixels(const DepthwiseSizes& s, const T* image, int64_t step, T* to)
{
    const int64_t multiplier = s.channels / s.inputChannels;
    for (int64_t p = 0; p < s.pixels(); ++p, image += s.inputChannels, to += step) {
        if (multiplier == 1) std::copy_n(image, s.channels, to);
        else
            for (int64_t c = 0; c < s.inputChannels; ++c) std::fill_n(to + c * multiplier, multiplier, image[c]);
        std::fill_n(to + s.channels, step - s.channels, T{0});
    }
}

/// Where the taps of a window lie in an image whose pixels are `step` numbers apart; taps in the padding are `zeros`.
template <typename T>
void placeTaps(const DepthwiseSizes& s, const T* image, int64_t step, int64_t oy, int64_t ox, TapRange ty, const T* zeros, const T** taps)
{
    const TapRange tx = s.x.taps(ox);
    const T* line = image + (s.y.origin(oy) * s.x.input + s.x.origin(ox)) * step;
    for (int64_t ky = 0; ky < s.y.filter; ++ky, line += s.y.dilation * s.x.input * step)
        for (int64_t kx = 0; kx < s.x.filter; ++kx)
            *taps++ = ky >= ty.first && ky < ty.last && kx >= tx.first && kx < tx.last ? line + kx * s.x.dilation * step : zeros;
}

/// Taps of the pixels behind the first, each `by` further than the one before.
template <typename T> LS_VECTORISED void advanceTaps(const T** taps, const int64_t* by, int64_t together, int64_t pixels)
{
    for (int64_t p = 1; p < pixels; ++p, taps += together) {
        const T** __restrict const next = taps + together;
        for (int64_t t = 0; t < together; ++t) next[t] = taps[t] + by[t];
    }
}

/// The most taps whose steps are kept on the stack.
constexpr int64_t kManyTaps = 256;

/// store(line of the result, taps of its pixels one after another, thread) for all lines. `images` have pixels `step` numbers apart;
/// a pixel has `together` taps, those behind the window's are `zeros`.
template <typename T, typename Store> void visitLines(const KernelArgs& args, const DepthwiseSizes& s, const T* images, int64_t step,
                                                      const T* zeros, int64_t together, const ThreadScratch& scratch, size_t tapsAt,
                                                      Store store)
{
    const int64_t plane = s.y.input * s.x.input * step, count = s.taps();
    const TapRange inner = s.x.interior();
    // A multiplication costs four times what it does in a product.
    shareWork(args, s.batches * s.y.output, 4 * s.x.output * s.channels * count, [&](int64_t begin, int64_t end, int thread) {
        const T** const first = scratch.of<const T*>(thread, tapsAt);
        for (int64_t line = begin; line < end; ++line) {
            const int64_t oy = line % s.y.output;
            const TapRange ty = s.y.taps(oy);
            const T* const image = images + line / s.y.output * plane;
            const T** taps = first;
            for (int64_t ox = 0; ox < s.x.output; ++ox, taps += together) {
                placeTaps(s, image, step, oy, ox, ty, zeros, taps);
                if (together > count) taps[count] = zeros;
                if (ox != inner.first || inner.count() < 2 || together > kManyTaps) continue;
                // The windows behind this one lie inside, too: each is a stride further, but for what is padding above or below.
                int64_t by[kManyTaps];
                for (int64_t t = 0; t < together; ++t) by[t] = taps[t] == zeros ? 0 : s.x.stride * step;
                advanceTaps(taps, by, together, inner.count());
                ox += inner.count() - 1;
                taps += (inner.count() - 1) * together;
            }
            store(line, first, thread);
        }
    });
}

Status runFloats(const KernelArgs& args)
{
    const auto& params = args.paramsAs<FastDepthwiseParams>();
    const DepthwiseSizes s(params, args.in(0).shape, args.in(1).shape, args.out(0).shape);
    const bool isSpread = s.channels != s.inputChannels;
    ScratchLayout common, each;
    const size_t zerosAt = common.add<float>(s.channels), imageAt = common.add<float>(isSpread ? s.pixels() * s.channels : 0);
    const size_t tapsAt = each.add<const float*>(s.taps() * s.x.output);
    const ThreadScratch scratch = takeScratch(*args.runtime, common, each);
    auto* const zeros = reinterpret_cast<float*>(scratch.common + zerosAt);
    std::fill_n(zeros, s.channels, 0.0F);
    const float* image = args.in(0).as<float>();
    if (isSpread) {
        auto* const wider = reinterpret_cast<float*>(scratch.common + imageAt);
        spreadPixels(s, image, s.channels, wider);
        image = wider;
    }
    const FloatFinish finish = params.finish(args.has(2) ? args.in(2).as<float>() : nullptr);
    visitLines<float>(args, s, image, s.channels, zeros, s.taps(), scratch, tapsAt, [&](int64_t line, const float* const* taps, int) {
        multiplyTaps(taps, s.taps(), s.x.output, args.in(1).as<float>(), params.taps->as<float>(), s.channels, finish,
                     args.out(0).as<float>() + line * s.x.output * s.channels);
    });
    return {};
}

/// Padding is the zero point here, and what that adds to a sum is taken off before: `start`.
template <typename T> Status run8(const KernelArgs& args)
{
    const auto& params = args.paramsAs<FastDepthwiseParams>();
    const DepthwiseSizes s(params, args.in(0).shape, args.in(1).shape, args.out(0).shape);
    const int64_t blocks = panelsOf(s.channels), whole = blocks * kTileColumns;
    const bool isSpread = s.channels != s.inputChannels, isPadded = whole != s.channels; // the last block reaches beyond its pixel
    const int64_t step = isSpread ? whole : s.channels;
    ScratchLayout common, each;
    const size_t imageAt = common.add<T>(isSpread || isPadded ? s.pixels() * step + kTileColumns : 0), zerosAt = common.add<T>(whole);
    const size_t sumsAt = each.add<int32_t>(whole * s.x.output), tapsAt = each.add<const T*>(s.paddedTaps() * s.x.output);
    const ThreadScratch scratch = takeScratch(*args.runtime, common, each);
    auto* const zeros = reinterpret_cast<T*>(scratch.common + zerosAt);
    std::fill_n(zeros, whole, static_cast<T>(params.inputZero));
    const T* image = args.in(0).as<T>();
    if (isSpread || isPadded) {
        auto* const own = reinterpret_cast<T*>(scratch.common + imageAt);
        if (isSpread) spreadPixels(s, image, step, own);
        else std::copy_n(image, s.pixels() * step, own);
        std::fill_n(own + s.pixels() * step, kTileColumns, T{0}); // what follows a pixel meets weights of 0
        image = own;
    }
    const int32_t* const bias = args.has(2) ? args.in(2).as<int32_t>() : nullptr;
    visitLines<T>(args, s, image, step, zeros, s.paddedTaps(), scratch, tapsAt, [&](int64_t line, const T* const* taps, int thread) {
        auto* const sums = scratch.of<int32_t>(thread, sumsAt);
        multiplyTaps(taps, s.paddedTaps() / 2, s.x.output, params.taps->as<int16_t>(), params.start.data(), blocks, sums);
        T* const out = args.out(0).as<T>() + line * s.x.output * s.channels;
        finishRows(sums, whole, s.x.output, params.stage, bias, s.channels, out);
    });
    return {};
}

/// Weights [tap][channel] as blocks of kTapBlock channels.
Result<std::shared_ptr<const PackedWeights>> packedFloatTaps(const Tensor& filter, int64_t tapCount, int64_t channels)
{
    const int64_t blocks = channels / kTapBlock;
    return packedOnce(filter, {channels, tapCount, 1, 0, 3}, static_cast<size_t>(blocks * kTapBlock * tapCount) * sizeof(float),
                      [&](PackedWeights& packed) {
                          for (int64_t block = 0; block < blocks; ++block)
                              for (int64_t t = 0; t < tapCount; ++t)
                                  std::copy_n(filter.as<float>() + t * channels + block * kTapBlock, kTapBlock,
                                              packed.as<float>() + (block * tapCount + t) * kTapBlock);
                      });
}

// ---- one channel of the input ----

ConvSizes sizesOfOne(const FastDepthwiseParams& params, const Shape& input, const Shape& filter, const Shape& output)
{
    return {params, input, filter, output, filter[3], 1};
}

Status runFloatsOfOne(const KernelArgs& args)
{
    const auto& params = args.paramsAs<FastDepthwiseParams>();
    const ConvSizes s = sizesOfOne(params, args.in(0).shape, args.in(1).shape, args.out(0).shape);
    const float* const bias = args.has(2) ? args.in(2).as<float>() : nullptr;
    multiplyWindows<float>(
        args, s, {}, 0, [&](std::byte*) { return args.in(0).as<float>(); }, [&] { return params.taps->as<float>(); },
        [&](int64_t window, int64_t) {
            return FloatOutput{params.finish(bias), args.out(0).as<float>() + window * s.channels, s.channels, s.channels};
        });
    return {};
}

template <typename T> Status run8OfOne(const KernelArgs& args)
{
    const auto& params = args.paramsAs<FastDepthwiseParams>();
    const ConvSizes s = sizesOfOne(params, args.in(0).shape, args.in(1).shape, args.out(0).shape);
    const int32_t* const bias = args.has(2) ? args.in(2).as<int32_t>() : nullptr;
    multiplyWindows<T>(
        args, s, {}, params.inputZero, [&](std::byte*) { return args.in(0).as<T>(); }, [&] { return params.taps->as<int16_t>(); },
        [&](int64_t window, int64_t) {
            return StoredOutput<T>{params.stage, bias, 0, args.out(0).as<T>() + window * s.channels, s.channels, s.channels};
        });
    return {};
}

/// Weights [tap][channel] as panels of a product. `wide`: of integers, less their zero point.
Result<std::shared_ptr<const PackedWeights>> packedFilter(const Tensor& filter, int64_t tapCount, int64_t channels, int32_t zero,
                                                          const std::vector<int16_t>& wide)
{
    const bool isFloat = filter.dtype == DType::f32;
    const auto elements =
        static_cast<size_t>(isFloat ? panelElements<float>(channels, tapCount) : panelElements<int16_t>(channels, tapCount));
    return packedOnce(filter, {channels, tapCount, 1, zero, 4}, elements * (isFloat ? sizeof(float) : sizeof(int16_t)),
                      [&](PackedWeights& packed) {
                          if (isFloat) return packPanels(filter.as<float>(), channels, tapCount, 1, channels, packed.as<float>());
                          std::vector<int16_t> turned(wide.size());
                          for (int64_t t = 0; t < tapCount; ++t)
                              for (int64_t c = 0; c < channels; ++c)
                                  turned[static_cast<size_t>(c * tapCount + t)] = wide[static_cast<size_t>(t * channels + c)];
                          packPairs(turned.data(), channels, tapCount, packed.as<int16_t>());
                      });
}

constexpr ConvolutionLoops kLoopsOfOne = {runFloatsOfOne, nullptr, run8OfOne<uint8_t>, run8OfOne<int8_t>, nullptr, nullptr};
constexpr ConvolutionLoops kLoops = {runFloats, nullptr, run8<uint8_t>, run8<int8_t>, nullptr, nullptr};

Result<PreparedKernel> prepareFastDepthwise(const KernelSetup& setup)
{
    const Tensor& input = setup.in(0);
    const Tensor& filter = setup.in(1);
    if (filter.data == nullptr) return Error(ErrorCode::unsupported, "weights that are computed");
    if (!input.shape.hasRank() || input.shape[3] <= 0) return Error(ErrorCode::unsupported, "channels that are known only when running");
    if (filter.shape[3] % input.shape[3] != 0) return Error(ErrorCode::unsupported, "channels that do not go into those of the result");
    auto params = std::make_shared<FastDepthwiseParams>();
    params->roundsProducts = setup.isQuantizedLater;
    PreparedKernel kernel;
    LS_TRY(kernel.run, setUpConvolution(setup, {0, 1, 2}, filter.shape[3], input.shape[3] == 1 ? kLoopsOfOne : kLoops, *params));
    if (kernel.run == nullptr || (filter.dtype != input.dtype && filter.dtype != DType::i4))
        return Error(ErrorCode::unsupported, "f32, i8 and u8 only")
            .found(std::string(dtypeName(input.dtype)) + " and " + std::string(dtypeName(filter.dtype)));
    if (filter.elementCount() == 0) return Error(ErrorCode::unsupported, "a filter without elements");
    LS_CHECK_OK(checkFinite(filter));
    const int64_t channels = filter.shape[3], tapCount = filter.shape[1] * filter.shape[2];
    std::vector<int16_t> wide;
    if (input.dtype != DType::f32) {
        wide.resize(static_cast<size_t>(filter.elementCount()));
        packIntegerRows(filter, 0, tapCount, channels, params->filterZero, channels, tapCount, wide.data());
    }
    if (input.shape[3] == 1) {
        LS_TRY(params->taps, packedFilter(filter, tapCount, channels, params->filterZero, wide));
    } else if (input.dtype == DType::f32) {
        LS_TRY(params->taps, packedFloatTaps(filter, tapCount, channels));
    } else {
        const auto elements = static_cast<size_t>((tapCount + 1) / 2 * 2 * panelsOf(channels) * kTileColumns);
        LS_TRY(params->taps, packedOnce(filter, {channels, tapCount, 1, params->filterZero, 2}, elements * sizeof(int16_t),
                                        [&](PackedWeights& packed) { packTaps(wide.data(), tapCount, channels, packed.as<int16_t>()); }));
        params->start.assign(static_cast<size_t>(panelsOf(channels) * kTileColumns), 0);
        for (int64_t t = 0; t < tapCount; ++t)
            for (int64_t c = 0; c < channels; ++c)
                params->start[static_cast<size_t>(c)] -= params->inputZero * wide[static_cast<size_t>(t * channels + c)];
    }
    kernel.params = std::move(params);
    return kernel;
}

} // namespace

LS_DEFINE_PROFILE_KERNELS(fast, tfl, depthwise_conv_2d)
{
    registry.add({"tfl", "depthwise_conv_2d", Profile::fast, prepareFastDepthwise, "f32 i8 u8", kProductBound, true});
}
