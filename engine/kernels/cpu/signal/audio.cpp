// CPU kernels of AudioSpectrogram and Mfcc: f64 inside, f32 results.
#include "engine/kernels/cpu/nn_common.h"
#include "engine/kernels/cpu/signal/fourier.h"
#include "engine/kernels/cpu/tf_support.h"
#include "engine/kernels/registry.h"
#include "engine/ops/signal/audio_options.h"

#include "engine/tensor/strings.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <memory>
#include <numbers>
#include <string>

using namespace loopscope;

namespace {

using Complex = std::complex<double>;

Status runSpectrogram(const KernelArgs& args)
{
    const auto& o = args.paramsAs<SpectrogramOptions>();
    const Shape& output = args.out(0).shape;
    const int64_t channels = output[0];
    const int64_t frames = output[1];
    const int64_t bins = output[2];
    const int64_t n = o.length();
    ScratchLayout layout;
    const size_t hannAt = layout.add<double>(o.window);
    const size_t rootsAt = layout.add<Complex>(n / 2);
    const size_t lineAt = layout.add<Complex>(n);
    std::byte* scratch = args.runtime->scratch(layout.bytes());
    auto* hann = reinterpret_cast<double*>(scratch + hannAt);
    auto* roots = reinterpret_cast<Complex*>(scratch + rootsAt);
    auto* line = reinterpret_cast<Complex*>(scratch + lineAt);
    for (int64_t i = 0; i < o.window; ++i) // periodic Hann window
        hann[i] = 0.5 - 0.5 * std::cos((2.0 * std::numbers::pi * static_cast<double>(i)) / static_cast<double>(o.window));
    fourierRoots(roots, n);
    auto* out = args.out(0).as<float>();
    for (int64_t c = 0; c < channels; ++c)
        for (int64_t f = 0; f < frames; ++f) {
            const float* samples = args.in(0).as<float>() + f * o.stride * channels + c;
            for (int64_t i = 0; i < o.window; ++i) line[i] = static_cast<double>(samples[i * channels]) * hann[i];
            std::fill(line + o.window, line + n, Complex(0.0));
            fourierTransform(line, n, roots);
            for (int64_t i = 0; i < bins; ++i) {
                const auto power = static_cast<float>(line[i].real() * line[i].real() + line[i].imag() * line[i].imag());
                *out++ = o.squared ? power : std::sqrt(power);
            }
        }
    return {};
}

Result<PreparedKernel> prepareSpectrogram(const KernelSetup& setup)
{
    return PreparedKernel{runSpectrogram, std::make_shared<SpectrogramOptions>(SpectrogramOptions::from(setup.attributes()))};
}

double mel(double frequency) { return 1127.0 * std::log1p(frequency / 700.0); }

/// How the frequencies [first, last] of a spectrum go into the channels of a mel filter bank: each adds its weight to the channel on its
/// left (−1: none) and the rest to the next.
struct FilterBank {
    double* centres; ///< [channels + 1], mel
    double* weights; ///< [bins]
    int32_t* left;   ///< [bins]
    int64_t first = 0, last = -1;

    void fill(const MfccOptions& o, int64_t bins, double rate)
    {
        const double low = mel(o.lower);
        const double spacing = (mel(o.upper) - low) / static_cast<double>(o.channels + 1);
        for (int64_t i = 0; i <= o.channels; ++i) centres[i] = low + spacing * static_cast<double>(i + 1);
        const double step = 0.5 * rate / static_cast<double>(bins - 1);
        first = static_cast<int64_t>(1.5 + o.lower / step); // never the constant part
        last = static_cast<int64_t>(o.upper / step);
        int64_t channel = 0;
        for (int64_t i = first; i <= last && i < bins; ++i) {
            const double m = mel(static_cast<double>(i) * step);
            while (channel < o.channels && centres[channel] < m) ++channel;
            left[i] = static_cast<int32_t>(channel - 1);
            const double from = channel > 0 ? centres[channel - 1] : low;
            weights[i] = (centres[channel] - m) / (centres[channel] - from);
        }
    }
};

Status runMfcc(const KernelArgs& args)
{
    const auto& o = args.paramsAs<MfccOptions>();
    const Shape& input = args.in(0).shape;
    const int64_t bins = input[2];
    const int64_t frames = input[0] * input[1];
    const int32_t rate = *args.in(1).as<int32_t>();
    if (rate <= 0) return Error(ErrorCode::execution, "sample rate is " + std::to_string(rate));
    ScratchLayout layout;
    const size_t centresAt = layout.add<double>(o.channels + 1);
    const size_t weightsAt = layout.add<double>(bins);
    const size_t leftAt = layout.add<int32_t>(bins);
    const size_t bandsAt = layout.add<double>(o.channels);
    const size_t cosinesAt = layout.add<double>(o.coefficients * o.channels);
    std::byte* scratch = args.runtime->scratch(layout.bytes());
    FilterBank bank{reinterpret_cast<double*>(scratch + centresAt), reinterpret_cast<double*>(scratch + weightsAt),
                    reinterpret_cast<int32_t*>(scratch + leftAt)};
    auto* bands = reinterpret_cast<double*>(scratch + bandsAt);
    auto* cosines = reinterpret_cast<double*>(scratch + cosinesAt);
    bank.fill(o, bins, rate);
    auto* out = args.out(0).as<float>();
    if (bank.last >= bins) { // beyond half the sample rate: LiteRT computes nothing then
        std::fill_n(out, frames * o.coefficients, 0.0F);
        return {};
    }
    const double norm = std::sqrt(2.0 / static_cast<double>(o.channels));
    const double unit = std::numbers::pi / static_cast<double>(o.channels);
    for (int64_t i = 0; i < o.coefficients; ++i)
        for (int64_t k = 0; k < o.channels; ++k)
            cosines[i * o.channels + k] = norm * std::cos(static_cast<double>(i) * unit * (static_cast<double>(k) + 0.5));
    for (int64_t f = 0; f < frames; ++f) {
        const float* power = args.in(0).as<float>() + f * bins;
        std::fill_n(bands, o.channels, 0.0);
        for (int64_t i = bank.first; i <= bank.last; ++i) {
            const double magnitude = std::sqrt(static_cast<double>(power[i]));
            const double part = magnitude * bank.weights[i];
            const int64_t channel = bank.left[i];
            if (channel >= 0) bands[channel] += part;
            if (channel + 1 < o.channels) bands[channel + 1] += magnitude - part;
        }
        for (int64_t k = 0; k < o.channels; ++k) bands[k] = std::log(bands[k] < 1e-12 ? 1e-12 : bands[k]);
        for (int64_t i = 0; i < o.coefficients; ++i) {
            double sum = 0.0;
            for (int64_t k = 0; k < o.channels; ++k) sum += cosines[i * o.channels + k] * bands[k];
            *out++ = static_cast<float>(sum);
        }
    }
    return {};
}

Result<PreparedKernel> prepareMfcc(const KernelSetup& setup)
{
    return PreparedKernel{runMfcc, std::make_shared<MfccOptions>(MfccOptions::from(setup.attributes()))};
}

// TensorFlow's operators of these names: attributes say what the FlexBuffer maps say there, and the kernel gives the result its size.

Status runTfSpectrogram(const KernelArgs& args)
{
    const auto& o = args.paramsAs<SpectrogramOptions>();
    const Shape& input = args.in(0).shape;
    if (input.rank() != 2) return invalidArgument("input must be 2-dimensional: " + toString(input));
    const int64_t frames = input[0] < o.window ? 0 : 1 + (input[0] - o.window) / o.stride;
    LS_CHECK_OK(tfAllocate(args, 0, Shape({input[1], frames, o.length() / 2 + 1})));
    return runSpectrogram(args);
}

Result<PreparedKernel> prepareTfSpectrogram(const KernelSetup& setup)
{
    LS_CHECK_OK(checkTfSignature(setup.op, setup.inputs, setup.outputs));
    const AttributeList& attributes = setup.attributes();
    const SpectrogramOptions options{attributeInt(attributes, "window_size", 0), attributeInt(attributes, "stride", 0),
                                     attributeBool(attributes, "magnitude_squared", false)};
    if (options.window < 2 || options.window > (1 << 24) || options.stride < 1)
        return invalidArgument("window size must be more than 1 and stride at least 1, got " + std::to_string(options.window) + " and " +
                               std::to_string(options.stride));
    return PreparedKernel{flushedKernel<runTfSpectrogram>, std::make_shared<SpectrogramOptions>(options)};
}

Status runTfMfcc(const KernelArgs& args)
{
    const auto& o = args.paramsAs<MfccOptions>();
    const Shape& input = args.in(0).shape;
    if (input.rank() != 3 || input[2] < 2) return invalidArgument("spectrogram must be 3-dimensional: " + toString(input));
    LS_TRY(const int64_t rate, tfInteger(args, 1, "sample_rate"));
    if (rate <= 0) return invalidArgument("sample rate must be positive, got " + std::to_string(rate));
    LS_CHECK_OK(tfAllocate(args, 0, Shape({input[0], input[1], o.coefficients})));
    return runMfcc(args);
}

Result<PreparedKernel> prepareTfMfcc(const KernelSetup& setup)
{
    LS_CHECK_OK(checkTfSignature(setup.op, setup.inputs, setup.outputs));
    const AttributeList& attributes = setup.attributes();
    const MfccOptions options{
        attributeFloat(attributes, "lower_frequency_limit", 20), attributeFloat(attributes, "upper_frequency_limit", 4000),
        attributeInt(attributes, "filterbank_channel_count", 40), attributeInt(attributes, "dct_coefficient_count", 13)};
    if (options.channels < 1 || options.channels > 4096 || options.coefficients < 1 || options.coefficients > options.channels ||
        options.lower < 0 || options.upper <= options.lower)
        return invalidArgument("Mfcc needs 1 to 4,096 channels, at most as many coefficients, and frequency limits in order");
    return PreparedKernel{flushedKernel<runTfMfcc>, std::make_shared<MfccOptions>(options)};
}

/// 16-bit samples of a WAV file as f32 in [-1, 1]: core/lib/wav/wav_io.cc.
Status runDecodeWav(const KernelArgs& args)
{
    LS_TRY(const auto texts, readStrings(args.in(0)));
    if (texts.size() != 1) return invalidArgument("Input contents must be a scalar: " + toString(args.in(0).shape));
    const std::string_view file = texts[0];
    const auto number = [&](size_t at, size_t bytes) {
        int64_t value = 0;
        for (size_t i = 0; i < bytes && at + i < file.size(); ++i) value |= int64_t{static_cast<unsigned char>(file[at + i])} << (8 * i);
        return value;
    };
    if (!file.starts_with("RIFF") || file.substr(0, 12).substr(8) != "WAVE")
        return invalidArgument("Header mismatch: Expected RIFF and WAVE");
    int64_t channels = 0, rate = 0, samples = 0;
    size_t begin = 0;
    for (size_t at = 12; at + 8 <= file.size() && begin == 0;) {
        const std::string_view name = file.substr(at, 4);
        const auto size = static_cast<size_t>(number(at + 4, 4));
        if (name == "fmt ") {
            channels = number(at + 10, 2);
            rate = number(at + 12, 4);
            if (number(at + 8, 2) != 1 || number(at + 22, 2) != 16 || channels < 1)
                return invalidArgument("Bad audio format for WAV: expected 16-bit PCM, but got format " +
                                       std::to_string(number(at + 8, 2)) + " of " + std::to_string(number(at + 22, 2)) + " bits");
        } else if (name == "data" && channels > 0) {
            begin = at + 8;
            samples = static_cast<int64_t>(std::min(size, file.size() - begin)) / (2 * channels);
        }
        at += 8 + size + (size & 1U);
    }
    if (begin == 0) return invalidArgument("No data chunk found in WAV");
    const int64_t wantedChannels = attributeInt(attributesOf(args), "desired_channels", -1);
    const int64_t wanted = attributeInt(attributesOf(args), "desired_samples", -1);
    const int64_t outChannels = wantedChannels < 0 ? channels : wantedChannels, outSamples = wanted < 0 ? samples : wanted;
    LS_CHECK_OK(tfAllocate(args, 0, Shape({outSamples, outChannels})));
    float* out = args.out(0).as<float>();
    for (int64_t i = 0; i < outSamples; ++i)
        for (int64_t c = 0; c < outChannels; ++c) {
            const auto at = begin + static_cast<size_t>(2 * (i * channels + std::min(c, channels - 1)));
            *out++ = i < samples ? static_cast<float>(static_cast<int16_t>(number(at, 2))) / 32768.0F : 0.0F;
        }
    LS_CHECK_OK(tfAllocate(args, 1, Shape()));
    *args.out(1).as<int32_t>() = static_cast<int32_t>(rate);
    return {};
}

/// A WAV file of 16-bit samples.
Status runEncodeWav(const KernelArgs& args)
{
    const Shape& shape = args.in(0).shape;
    if (shape.rank() != 2) return invalidArgument("audio must be 2-dimensional: " + toString(shape));
    LS_TRY(const int64_t rate, tfInteger(args, 1, "sample_rate"));
    const int64_t samples = shape[0], channels = shape[1], bytes = 2 * samples * channels;
    if (rate <= 0) return invalidArgument("sample_rate must be in (0, 2^32), got: " + std::to_string(rate));
    if (channels <= 0 || channels > 0xffff) return invalidArgument("channels must be in (0, 65535], got: " + std::to_string(channels));
    if (bytes > 0x7fffffff - 44) return invalidArgument("Provided channels and samples cannot be encoded as a WAV.");
    std::string file;
    file.reserve(static_cast<size_t>(44 + bytes));
    const auto number = [&](int64_t value, int size) {
        for (int i = 0; i < size; ++i) file.push_back(static_cast<char>(value >> (8 * i) & 0xff));
    };
    file += "RIFF";
    number(36 + bytes, 4);
    file += "WAVEfmt ";
    for (const auto& [value, size] :
         {std::pair<int64_t, int>{16, 4}, {1, 2}, {channels, 2}, {rate, 4}, {2 * rate * channels, 4}, {2 * channels, 2}, {16, 2}})
        number(value, size);
    file += "data";
    number(bytes, 4);
    for (int64_t i = 0; i < samples * channels; ++i) {
        const float x = args.in(0).as<float>()[i];
        number(static_cast<int64_t>(std::clamp(std::isnan(x) ? 0.0F : std::round(x * 32768.0F), -32768.0F, 32767.0F)), 2);
    }
    const std::string_view view = file;
    return writeStrings(*args.runtime, args.out(0), Shape(), std::span(&view, 1));
}

} // namespace

LS_DEFINE_KERNELS(tf, AudioSpectrogram) { registry.add({"tf", "AudioSpectrogram", Profile::reference, prepareTfSpectrogram, "f32"}); }
LS_DEFINE_KERNELS(tf, Mfcc) { registry.add({"tf", "Mfcc", Profile::reference, prepareTfMfcc, "f32 i32"}); }
LS_TF_KERNEL(DecodeWav, runDecodeWav, "str f32 i32")
LS_TF_KERNEL(EncodeWav, runEncodeWav, "f32 i32 str")
LS_DEFINE_KERNELS(custom, AudioSpectrogram) { registry.add({"custom", "AudioSpectrogram", Profile::reference, prepareSpectrogram, "f32"}); }
LS_DEFINE_KERNELS(custom, Mfcc) { registry.add({"custom", "Mfcc", Profile::reference, prepareMfcc, "f32"}); }
