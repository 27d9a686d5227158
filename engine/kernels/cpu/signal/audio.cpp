// CPU kernels of AudioSpectrogram and Mfcc: f64 inside, f32 results.
#include "engine/kernels/cpu/nn_common.h"
#include "engine/kernels/cpu/signal/fourier.h"
#include "engine/kernels/registry.h"
#include "engine/ops/signal/audio_options.h"

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
        const double low = mel(static_cast<double>(o.lower));
        const double spacing = (mel(static_cast<double>(o.upper)) - low) / static_cast<double>(o.channels + 1);
        for (int64_t i = 0; i <= o.channels; ++i) centres[i] = low + spacing * static_cast<double>(i + 1);
        const double step = 0.5 * rate / static_cast<double>(bins - 1);
        first = static_cast<int64_t>(1.5 + static_cast<double>(o.lower) / step); // never the constant part
        last = static_cast<int64_t>(static_cast<double>(o.upper) / step);
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

} // namespace

LS_DEFINE_KERNELS(custom, AudioSpectrogram) { registry.add({"custom", "AudioSpectrogram", Profile::reference, prepareSpectrogram, "f32"}); }
LS_DEFINE_KERNELS(custom, Mfcc) { registry.add({"custom", "Mfcc", Profile::reference, prepareMfcc, "f32"}); }
