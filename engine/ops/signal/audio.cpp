// Catalogue entries of AudioSpectrogram and Mfcc.
#include "engine/ops/catalog.h"
#include "engine/ops/recurrent_checks.h"
#include "engine/ops/signal/audio_options.h"
#include "engine/ops/tf_rules.h"

#include <string>

using namespace loopscope;

namespace {

/// Bounds of what a model may ask for, so that scratch memory stays reasonable.
constexpr int64_t kLongestWindow = int64_t(1) << 24;
constexpr int64_t kMostChannels = 4096;

/// Constraints: C1 options, C2 rank, C3 dtype.
Status inferAudioSpectrogram(InferContext& context)
{
    const auto o = SpectrogramOptions::from(context.attributes());
    if (o.window < 2 || o.window > kLongestWindow)
        return InferContext::violated(1,
                                      "window_size is " + std::to_string(o.window) + ", expected 2 to " + std::to_string(kLongestWindow));
    if (o.stride < 1) return InferContext::violated(1, "stride is " + std::to_string(o.stride) + ", expected at least 1");
    const Shape& input = context.input(0).shape;
    if (input.hasRank() && input.rank() != 2)
        return InferContext::violated(2, "input has rank " + std::to_string(input.rank()) + ", expected 2");
    LS_CHECK_OK(requireDtypeIfPresent(context, 3, 0, DType::f32));
    const int64_t samples = dimensionFromEnd(context, 0, 2);
    int64_t frames = kUnknownDim;
    if (samples != kUnknownDim) frames = samples < o.window ? 0 : 1 + (samples - o.window) / o.stride;
    context.setOutput(0, DType::f32, Shape{dimensionFromEnd(context, 0, 1), frames, o.length() / 2 + 1});
    return {};
}

/// Constraints: C1 options, C2 shapes, C3 dtypes.
Status inferMfcc(InferContext& context)
{
    const auto o = MfccOptions::from(context.attributes());
    if (o.channels < 1 || o.channels > kMostChannels)
        return InferContext::violated(1, "filterbank_channel_count is " + std::to_string(o.channels) + ", expected 1 to " +
                                             std::to_string(kMostChannels));
    if (o.coefficients < 1 || o.coefficients > o.channels)
        return InferContext::violated(1, "dct_coefficient_count is " + std::to_string(o.coefficients) +
                                             ", expected 1 to filterbank_channel_count, " + std::to_string(o.channels));
    if (o.lower < 0 || o.upper <= o.lower)
        return InferContext::violated(1, "frequency limits " + std::to_string(static_cast<int64_t>(o.lower)) + " and " +
                                             std::to_string(static_cast<int64_t>(o.upper)) + " are no range");
    const Shape& input = context.input(0).shape;
    if (input.hasRank() && input.rank() != 3)
        return InferContext::violated(2, "spectrogram has rank " + std::to_string(input.rank()) + ", expected 3");
    const int64_t bins = dimensionFromEnd(context, 0, 1);
    if (bins != kUnknownDim && bins < 2)
        return InferContext::violated(2, "spectrogram has " + std::to_string(bins) + " frequencies, expected at least 2");
    LS_CHECK_OK(requireElements(context, 2, 1, 1));
    LS_CHECK_OK(requireDtypeIfPresent(context, 3, 0, DType::f32));
    LS_CHECK_OK(requireDtypeIfPresent(context, 3, 1, DType::i32));
    context.setOutput(0, DType::f32, Shape{dimensionFromEnd(context, 0, 3), dimensionFromEnd(context, 0, 2), o.coefficients});
    return {};
}

} // namespace

LS_DEFINE_OP(custom, AudioSpectrogram)
{
    OpDef def;
    def.minInputs = def.maxInputs = 1;
    def.operands = "samples [N,channels]";
    def.summary =
        "Power (or magnitude) of the frequencies of overlapping Hann windows, filled up to a power of two: [channels,frames,frequencies].";
    def.source = "LiteRT kernels/audio_spectrogram.cc, internal/spectrogram.cc";
    def.differs = "windows of at most 2^24 samples";
    def.floatBound = ErrorBounds(withinOfLargest(1.2e-7)).because("1 ulp of it, frame by frame: both compute in f64 and round once");
    def.infer = inferAudioSpectrogram;
    return def;
}

LS_DEFINE_OP(custom, Mfcc)
{
    OpDef def;
    def.minInputs = def.maxInputs = 2;
    def.operands = "power spectrogram [channels,frames,frequencies], sample rate (one i32)";
    def.summary = "Mel-frequency cepstral coefficients: logarithms of a triangular filter bank, cosine transform.";
    def.source = "LiteRT kernels/mfcc.cc, internal/mfcc_mel_filterbank.cc, internal/mfcc_dct.cc";
    def.differs = "at most 4096 filter bank channels";
    def.floatBound = ErrorBounds(kExact).because("with the same log, log1p and cos");
    def.infer = inferMfcc;
    return def;
}
LS_DEFINE_OP(tf, AudioSpectrogram)
{
    return tfDef({1, 1}, "input", "The strength of frequencies in windows that move along the samples.", inferAtRunTime,
                 withinRelative(1e-5));
}
LS_DEFINE_OP(tf, Mfcc)
{
    return tfDef({2, 2}, "spectrogram, sample_rate", "Mel-frequency cepstral coefficients of spectrograms.", inferAtRunTime,
                 withinRelative(1e-5));
}
LS_DEFINE_OP(tf, EncodeWav) { return tfDef({2, 2}, "audio [N,channels], sample_rate", "A WAV file of 16-bit samples."); }
LS_DEFINE_OP(tf, DecodeWav) { return tfDef({1, 1, 2, 2}, "contents", "The samples of a WAV file, and how many there are in a second."); }
