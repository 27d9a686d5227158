// Catalogue entries of the custom operators that audio front ends for microcontrollers are made of (tflite-micro's signal library).
// Constraints: C1 options, C2 shapes, C3 dtypes.
#include "engine/ops/catalog.h"
#include "engine/ops/recurrent_checks.h"
#include "engine/ops/signal/audio_options.h"
#include "engine/ops/tf_rules.h"

#include <bit>
#include <string>

using namespace loopscope;

namespace {

constexpr int64_t kLongestTransform = int64_t{1} << 24;

Status checkRange(const InferContext& context, std::string_view key, int64_t low, int64_t high)
{
    const int64_t value = audioOption(context.attributes(), key);
    if (value >= low && value <= high) return {};
    return InferContext::violated(1, std::string(key) + " is " + std::to_string(value) + ", expected " + std::to_string(low) + " to " +
                                         std::to_string(high));
}

/// Operands must be there, of these dtypes.
Status checkDtypes(const InferContext& context, std::initializer_list<DType> dtypes)
{
    int i = 0;
    for (const DType dtype : dtypes) {
        if (!context.has(i)) return InferContext::violated(2, "operand " + std::to_string(i) + " is missing");
        LS_CHECK_OK(requireDtypeIfPresent(context, 3, i++, dtype));
    }
    return {};
}

/// Elements of operand i, or unknown.
int64_t elementsOf(const InferContext& context, int i) { return checkedElementCount(context.input(i).shape).value_or(kUnknownDim); }

Status inferWindow(InferContext& context)
{
    LS_CHECK_OK(checkRange(context, "shift", 0, 31));
    LS_CHECK_OK(checkDtypes(context, {DType::i16, DType::i16}));
    const int64_t length = dimensionFromEnd(context, 0, 1), window = elementsOf(context, 1);
    if (length != kUnknownDim && window != kUnknownDim && (length != window || window == 0))
        return InferContext::violated(2, "the window has " + std::to_string(window) + " weights, expected " + std::to_string(length));
    context.setOutput(0, DType::i16, context.input(0).shape);
    return {};
}

Status inferAutoScale(InferContext& context)
{
    LS_CHECK_OK(checkDtypes(context, {DType::i16}));
    context.setOutput(0, DType::i16, context.input(0).shape);
    context.setOutput(1, DType::i32, Shape());
    return {};
}

Status inferTransform(InferContext& context, bool isInverse)
{
    if (!context.has(0)) return InferContext::violated(2, "operand 0 is missing");
    const DType dtype = context.input(0).dtype;
    if (dtype != DType::i16 && dtype != DType::i32 && dtype != DType::f32 && dtype != DType::unknown)
        return InferContext::violated(3, "operand 0 is " + std::string(dtypeName(dtype)) + ", expected i16, i32 or f32");
    const int64_t length = audioOption(context.attributes(), "fft_length");
    if (length < 4 || length > kLongestTransform || !std::has_single_bit(static_cast<uint64_t>(length)))
        return InferContext::violated(1, "fft_length is " + std::to_string(length) + ", expected a power of two from 4 to " +
                                             std::to_string(kLongestTransform));
    const int64_t given = dimensionFromEnd(context, 0, 1);
    if (!context.input(0).shape.hasRank()) {
        context.setOutput(0, dtype, Shape::unknownRank());
        return {};
    }
    if (context.input(0).shape.rank() < 1) return InferContext::violated(2, "input is a scalar, expected frames");
    const bool fits = given == kUnknownDim || (isInverse ? given == length + 2 : given >= 1 && given <= length);
    if (!fits)
        return InferContext::violated(2, "frames have " + std::to_string(given) + " numbers, expected " + (isInverse ? "" : "1 to ") +
                                             std::to_string(isInverse ? length + 2 : length));
    Shape shape = context.input(0).shape;
    shape[shape.rank() - 1] = isInverse ? length : length + 2;
    context.setOutput(0, dtype, shape);
    return {};
}
Status inferRfft(InferContext& context) { return inferTransform(context, false); }
Status inferIrfft(InferContext& context) { return inferTransform(context, true); }

Status inferEnergy(InferContext& context)
{
    LS_CHECK_OK(checkDtypes(context, {DType::i16}));
    const int64_t numbers = elementsOf(context, 0);
    if (numbers != kUnknownDim && numbers % 2 != 0)
        return InferContext::violated(2, "the spectrum has " + std::to_string(numbers) + " numbers, expected pairs");
    LS_CHECK_OK(checkRange(context, "start_index", 0, numbers == kUnknownDim ? kLongestTransform : numbers / 2));
    LS_CHECK_OK(checkRange(context, "end_index", 0, numbers == kUnknownDim ? kLongestTransform : numbers / 2));
    context.setOutput(0, DType::u32, Shape{numbers == kUnknownDim ? kUnknownDim : numbers / 2});
    return {};
}

Status inferFilterBank(InferContext& context)
{
    LS_CHECK_OK(checkRange(context, "num_channels", 1, 1 << 16));
    LS_CHECK_OK(checkDtypes(context, {DType::u32, DType::i16, DType::i16, DType::i16, DType::i16, DType::i16}));
    const int64_t channels = audioOption(context.attributes(), "num_channels");
    for (const int i : {3, 4, 5})
        if (const int64_t count = elementsOf(context, i); count != kUnknownDim && count < channels + 1)
            return InferContext::violated(2, "operand " + std::to_string(i) + " has " + std::to_string(count) + " elements, expected " +
                                                 std::to_string(channels + 1));
    context.setOutput(0, DType::u64, Shape{channels});
    return {};
}

Status inferSquareRoot(InferContext& context)
{
    LS_CHECK_OK(checkDtypes(context, {DType::u64, DType::i32}));
    LS_CHECK_OK(requireElements(context, 2, 1, 1));
    context.setOutput(0, DType::u32, context.input(0).shape);
    return {};
}

Status inferSpectralSubtraction(InferContext& context)
{
    LS_CHECK_OK(checkDtypes(context, {DType::u32}));
    LS_CHECK_OK(checkRange(context, "smoothing_bits", 0, 31));
    LS_CHECK_OK(checkRange(context, "spectral_subtraction_bits", 0, 31));
    for (const int k : {0, 1}) context.setOutput(k, DType::u32, context.input(0).shape);
    return {};
}

Status inferGain(InferContext& context)
{
    LS_CHECK_OK(checkDtypes(context, {DType::u32, DType::u32, DType::i16}));
    LS_CHECK_OK(checkRange(context, "snr_shift", 0, 63));
    const int64_t signal = elementsOf(context, 0), noise = elementsOf(context, 1);
    if (signal != kUnknownDim && noise != kUnknownDim && signal != noise)
        return InferContext::violated(2, "noise of " + std::to_string(noise) + " channels, expected " + std::to_string(signal));
    context.setOutput(0, DType::u32, context.input(0).shape);
    return {};
}

Status inferLogarithm(InferContext& context)
{
    LS_CHECK_OK(checkDtypes(context, {DType::u32}));
    LS_CHECK_OK(checkRange(context, "input_correction_bits", 0, 31));
    LS_CHECK_OK(checkRange(context, "output_scale", 0, 1 << 30));
    context.setOutput(0, DType::i16, context.input(0).shape);
    return {};
}

OpDef signalDef(TfArity arity, std::string_view operands, std::string_view summary, Status (*infer)(InferContext&),
                const ErrorBounds& bound = kExact)
{
    OpDef def = tfDef(arity, operands, summary, infer, bound);
    def.source = "tflite-micro signal/src";
    return def;
}

constexpr ErrorBounds kTransformBound = ErrorBounds(withinRelative(1e-6)).because("of floats; integers are exact");

} // namespace

LS_DEFINE_OP(custom, SignalWindow)
{
    return signalDef({2, 2}, "input [..,N], window [N]", "Frames times a window, shifted to the right.", inferWindow);
}
LS_DEFINE_OP(custom, SignalFftAutoScale)
{
    return signalDef({1, 1, 2, 2}, "input", "Numbers shifted to the left as far as 16 bits allow, and how far.", inferAutoScale);
}
LS_DEFINE_OP(custom, SignalRfft)
{
    return signalDef({1, 1}, "input [..,N]", "The Fourier transform of real frames, in integers by KissFFT's fixed point.", inferRfft,
                     kTransformBound);
}
LS_DEFINE_OP(custom, SignalIrfft)
{
    return signalDef({1, 1}, "input [..,N+2]", "Real frames from their Fourier transform, in integers by KissFFT's fixed point.",
                     inferIrfft, kTransformBound);
}
LS_DEFINE_OP(custom, SignalEnergy)
{
    return signalDef({1, 1}, "input [2N]", "Squares of complex numbers between two places, zeros elsewhere.", inferEnergy);
}
LS_DEFINE_OP(custom, SignalFilterBank)
{
    return signalDef({6, 6}, "energies, weights, unweights, frequency_starts, weight_starts, widths",
                     "Energies summed to channels by triangular weights.", inferFilterBank);
}
LS_DEFINE_OP(custom, SignalFilterBankSquareRoot)
{
    return signalDef({2, 2}, "input, scale_down_bits", "Square roots, rounded, shifted to the right.", inferSquareRoot);
}
LS_DEFINE_OP(custom, SignalFilterBankSpectralSubtraction)
{
    return signalDef({1, 1, 2, 2}, "input", "Channels without the noise that is learned from frame to frame, and that noise.",
                     inferSpectralSubtraction);
}
LS_DEFINE_OP(custom, SignalPCAN)
{
    return signalDef({3, 3}, "input, noise_estimate, gain_lut", "Channels amplified by how little noise they have.", inferGain);
}
LS_DEFINE_OP(custom, SignalFilterBankLog) { return signalDef({1, 1}, "input", "Logarithms of channels in 16 bits.", inferLogarithm); }
