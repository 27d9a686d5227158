// CPU kernels of the custom operators that audio front ends for microcontrollers are made of: tflite-micro's signal/src (window.cc,
// fft_auto_scale.cc, rfft_*.cc, irfft_*.cc, energy.cc, filter_bank*.cc, square_root_*.cc, log.cc, pcan_argc_fixed.cc) and, for the
// Fourier transforms of integers, KissFFT in fixed point, whose every step rounds: all results are equal bit for bit.
#include "engine/base/interruption.h"
#include "engine/ir/random_stream.h"
#include "engine/kernels/registry.h"
#include "engine/kernels/resources.h"
#include "engine/ops/signal/audio_options.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <limits>
#include <memory>
#include <numbers>
#include <type_traits>
#include <utility>
#include <vector>

using namespace loopscope;

namespace {

using Params = Operator;
int64_t option(const KernelArgs& args, std::string_view key) { return audioOption(args.paramsAs<Params>().attributes, key); }
template <KernelFunction function> Result<PreparedKernel> prepareSignal(const KernelSetup& setup)
{
    return PreparedKernel{function, std::make_shared<const Params>(setup.op)};
}

/// The number of bits that a number needs.
int bitsOf(uint32_t x) { return static_cast<int>(std::bit_width(x)); }

// ---- Windows and scaling ----

/// y = x · window >> shift, kept in 16 bits; frame after frame.
Status runWindow(const KernelArgs& args)
{
    const auto shift = static_cast<int>(option(args, "shift"));
    const int64_t length = args.in(1).elementCount();
    const auto *in = args.in(0).as<int16_t>(), *window = args.in(1).as<int16_t>();
    for (int64_t i = 0, n = args.in(0).elementCount(); i < n; ++i) {
        const int32_t product = (static_cast<int32_t>(in[i]) * window[i % length]) >> shift;
        args.out(0).as<int16_t>()[i] = static_cast<int16_t>(std::clamp(product, -32768, 32767));
    }
    return {};
}

/// Moved to the left as far as 16 bits allow, and how far that was.
Status runAutoScale(const KernelArgs& args)
{
    const auto* in = args.in(0).as<int16_t>();
    const int64_t count = args.in(0).elementCount();
    uint32_t most = 0;
    for (int64_t i = 0; i < count; ++i) most = std::max(most, static_cast<uint32_t>(std::abs(static_cast<int32_t>(in[i]))));
    const int bits = most == 0 ? 0 : std::max(16 - bitsOf(most) - 1, 0);
    for (int64_t i = 0; i < count; ++i) args.out(0).as<int16_t>()[i] = static_cast<int16_t>(static_cast<uint32_t>(in[i]) << bits);
    *args.out(1).as<int32_t>() = bits;
    return {};
}

// ---- Fourier transforms ----

/// KissFFT on numbers of T: int16_t and int32_t are fractions of 2¹⁵ and 2³¹, and what is added up is halved or quartered before.
template <typename T> class Kiss {
    using Wide = std::conditional_t<std::is_same_v<T, int16_t>, int32_t, std::conditional_t<std::is_same_v<T, int32_t>, int64_t, float>>;
    static constexpr bool kIsFraction = std::is_integral_v<T>;

public:
    struct Number {
        T r, i;
    };

    Kiss(int64_t count, bool isInverse) : m_count(count), m_isInverse(isInverse)
    {
        for (int64_t k = 0; k < count; ++k)
            m_turns.push_back(turn((isInverse ? 2 : -2) * std::numbers::pi * static_cast<double>(k) / static_cast<double>(count)));
        for (int64_t k = 0; k < count / 2; ++k) {
            const double phase = -std::numbers::pi * (static_cast<double>(k + 1) / static_cast<double>(count) + 0.5);
            m_half.push_back(turn(isInverse ? -phase : phase));
        }
    }

    /// 2 · count real numbers become count + 1 complex ones.
    void real(const T* in, Number* out) const
    {
        std::vector<Number> packed(static_cast<size_t>(m_count)), work(packed.size());
        for (size_t k = 0; k < packed.size(); ++k) packed[k] = {in[2 * k], in[2 * k + 1]};
        transform(packed.data(), work.data());
        const Number first = divided(work[0], 2);
        out[0] = {add(first.r, first.i), 0};
        out[m_count] = {sub(first.r, first.i), 0};
        for (int64_t k = 1; k <= m_count / 2; ++k) {
            Number a = work[static_cast<size_t>(k)], b = work[static_cast<size_t>(m_count - k)];
            b.i = sub(T(0), b.i);
            a = divided(a, 2), b = divided(b, 2);
            const Number sum = plus(a, b), turned = times(minus(a, b), m_half[static_cast<size_t>(k - 1)]);
            out[k] = {halved(sum.r, turned.r), halved(sum.i, turned.i)};
            out[m_count - k] = {halved(sum.r, sub(T(0), turned.r)), halved(turned.i, sub(T(0), sum.i))};
        }
    }
    /// The way back.
    void complex(const Number* in, T* out) const
    {
        std::vector<Number> packed(static_cast<size_t>(m_count)), work(packed.size());
        packed[0] = divided({add(in[0].r, in[m_count].r), sub(in[0].r, in[m_count].r)}, 2);
        for (int64_t k = 1; k <= m_count / 2; ++k) {
            Number a = in[k], b{in[m_count - k].r, sub(T(0), in[m_count - k].i)};
            a = divided(a, 2), b = divided(b, 2);
            const Number even = plus(a, b), odd = times(minus(a, b), m_half[static_cast<size_t>(k - 1)]);
            packed[static_cast<size_t>(k)] = plus(even, odd);
            Number& other = packed[static_cast<size_t>(m_count - k)];
            other = minus(even, odd);
            other.i = sub(T(0), other.i);
        }
        transform(packed.data(), work.data());
        for (size_t k = 0; k < work.size(); ++k) out[2 * k] = work[k].r, out[2 * k + 1] = work[k].i;
    }

private:
    static T add(T a, T b) { return static_cast<T>(static_cast<Wide>(a) + static_cast<Wide>(b)); }
    static T sub(T a, T b) { return static_cast<T>(static_cast<Wide>(a) - static_cast<Wide>(b)); }
    static Number plus(Number a, Number b) { return {add(a.r, b.r), add(a.i, b.i)}; }
    static Number minus(Number a, Number b) { return {sub(a.r, b.r), sub(a.i, b.i)}; }
    static T halved(T a, T b)
    {
        if constexpr (kIsFraction) return static_cast<T>((static_cast<Wide>(a) + static_cast<Wide>(b)) >> 1);
        else return (a + b) * 0.5F;
    }
    /// A product that has twice the bits, rounded.
    static T rounded(Wide x)
    {
        constexpr int kBits = std::is_same_v<T, int16_t> ? 15 : 31;
        if constexpr (kIsFraction) return static_cast<T>((x + (Wide(1) << (kBits - 1))) >> kBits);
        else return x;
    }
    static Number divided(Number x, T by)
    {
        if constexpr (kIsFraction) {
            const Wide factor = std::numeric_limits<T>::max() / by;
            return {rounded(static_cast<Wide>(x.r) * factor), rounded(static_cast<Wide>(x.i) * factor)};
        } else {
            return x;
        }
    }
    static Number times(Number a, Number b)
    {
        const auto product = [](T x, T y) { return static_cast<Wide>(x) * static_cast<Wide>(y); };
        return {rounded(product(a.r, b.r) - product(a.i, b.i)), rounded(product(a.r, b.i) + product(a.i, b.r))};
    }
    static Number turn(double phase)
    {
        if constexpr (kIsFraction) {
            constexpr double kMost = std::numeric_limits<T>::max();
            return {static_cast<T>(std::floor(0.5 + kMost * std::cos(phase))), static_cast<T>(std::floor(0.5 + kMost * std::sin(phase)))};
        } else {
            return {static_cast<T>(std::cos(phase)), static_cast<T>(std::sin(phase))};
        }
    }

    void transform(const Number* in, Number* out) const { step(out, in, 1, m_count); }
    /// `count` numbers of `in`, `stride` apart: by fours, by twos at the end.
    void step(Number* out, const Number* in, int64_t stride, int64_t count) const
    {
        if (count == 1) {
            *out = *in;
            return;
        }
        interruptionPoint();
        const int64_t parts = count % 4 == 0 ? 4 : 2, each = count / parts;
        for (int64_t p = 0; p < parts; ++p) step(out + p * each, in + p * stride, stride * parts, each);
        if (parts == 2) byTwo(out, stride, each);
        else byFour(out, stride, each);
    }
    void byTwo(Number* out, int64_t stride, int64_t each) const
    {
        for (int64_t k = 0; k < each; ++k) {
            Number &a = out[k], &b = out[k + each];
            a = divided(a, 2), b = divided(b, 2);
            const Number turned = times(b, m_turns[static_cast<size_t>(k * stride)]);
            b = minus(a, turned);
            a = plus(a, turned);
        }
    }
    void byFour(Number* out, int64_t stride, int64_t each) const
    {
        for (int64_t k = 0; k < each; ++k) {
            std::array<Number, 4> x = {out[k], out[k + each], out[k + 2 * each], out[k + 3 * each]};
            for (Number& one : x) one = divided(one, 4);
            for (size_t p = 1; p < 4; ++p) x[p] = times(x[p], m_turns[p * static_cast<size_t>(k * stride)]);
            const Number across = minus(x[0], x[2]), along = plus(x[0], x[2]), sum = plus(x[1], x[3]), apart = minus(x[1], x[3]);
            out[k] = plus(along, sum);
            out[k + 2 * each] = minus(along, sum);
            const Number right{add(across.r, apart.i), sub(across.i, apart.r)}, left{sub(across.r, apart.i), add(across.i, apart.r)};
            out[k + each] = m_isInverse ? left : right;
            out[k + 3 * each] = m_isInverse ? right : left;
        }
    }

    int64_t m_count;
    bool m_isInverse;
    std::vector<Number> m_turns, m_half;
};

template <typename F> Status forSample(DType dtype, F&& f)
{
    if (dtype == DType::i16) f.template operator()<int16_t>();
    else if (dtype == DType::i32) f.template operator()<int32_t>();
    else f.template operator()<float>();
    return {};
}

/// Frames of real numbers, filled up with zeros to fft_length, become complex ones.
Status runRfft(const KernelArgs& args)
{
    const int64_t length = option(args, "fft_length"), given = args.in(0).shape.back(), made = length + 2;
    return forSample(args.in(0).dtype, [&]<typename T>() {
        const Kiss<T> kiss(length / 2, false);
        std::vector<T> frame(static_cast<size_t>(length));
        std::vector<typename Kiss<T>::Number> spectrum(static_cast<size_t>(length / 2 + 1));
        for (int64_t b = 0, n = args.in(0).elementCount() / given; b < n; ++b) {
            std::ranges::fill(frame, T(0));
            std::copy_n(args.in(0).as<T>() + b * given, given, frame.begin());
            kiss.real(frame.data(), spectrum.data());
            T* out = args.out(0).as<T>() + b * made;
            for (const auto& x : spectrum) *out++ = x.r, *out++ = x.i;
        }
    });
}

Status runIrfft(const KernelArgs& args)
{
    const int64_t length = option(args, "fft_length"), given = args.in(0).shape.back();
    return forSample(args.in(0).dtype, [&]<typename T>() {
        const Kiss<T> kiss(length / 2, true);
        std::vector<typename Kiss<T>::Number> spectrum(static_cast<size_t>(length / 2 + 1));
        for (int64_t b = 0, n = args.in(0).elementCount() / given; b < n; ++b) {
            const T* in = args.in(0).as<T>() + b * given;
            for (auto& x : spectrum) x.r = *in++, x.i = *in++;
            T* out = args.out(0).as<T>() + b * length;
            kiss.complex(spectrum.data(), out);
            if constexpr (std::is_same_v<T, float>)
                for (int64_t k = 0; k < length; ++k) out[k] /= static_cast<float>(length); // of integers each step has done its part
        }
    });
}

/// Squares of the sizes of complex numbers from start_index on; zeros elsewhere.
Status runEnergy(const KernelArgs& args)
{
    const int64_t start = option(args, "start_index"), end = option(args, "end_index"), count = args.out(0).elementCount();
    const auto* in = args.in(0).as<int16_t>();
    for (int64_t k = 0; k < count; ++k) {
        const int32_t r = in[2 * k], i = in[2 * k + 1];
        args.out(0).as<uint32_t>()[k] = k >= start && k < end ? static_cast<uint32_t>(r * r) + static_cast<uint32_t>(i * i) : 0;
    }
    return {};
}

// ---- Filter banks ----

/// Sums of weighted energies: what a channel does not take goes to the next one.
Status runFilterBank(const KernelArgs& args)
{
    const auto* in = args.in(0).as<uint32_t>();
    const auto *weights = args.in(1).as<int16_t>(), *unweights = args.in(2).as<int16_t>();
    const auto *frequencies = args.in(3).as<int16_t>(), *places = args.in(4).as<int16_t>(), *widths = args.in(5).as<int16_t>();
    const int64_t energies = args.in(0).elementCount(), taps = std::min(args.in(1).elementCount(), args.in(2).elementCount());
    const int64_t channels = args.out(0).elementCount();
    uint64_t sum = 0, rest = 0;
    for (int64_t c = 0; c <= channels; ++c) {
        const int64_t from = frequencies[c], at = places[c], width = widths[c];
        if (from < 0 || at < 0 || width < 0 || from + width > energies || at + width > taps)
            return Error(ErrorCode::execution, "channel " + std::to_string(c) + " takes energies " + std::to_string(from) + " to " +
                                                   std::to_string(from + width) + " by weights " + std::to_string(at) + " to " +
                                                   std::to_string(at + width))
                .expected("at most " + std::to_string(energies) + " energies and " + std::to_string(taps) + " weights");
        for (int64_t k = 0; k < width; ++k) {
            sum += static_cast<uint64_t>(int64_t{weights[at + k]}) * in[from + k];
            rest += static_cast<uint64_t>(int64_t{unweights[at + k]}) * in[from + k];
        }
        if (c > 0) args.out(0).as<uint64_t>()[c - 1] = sum; // the first channel only hands on
        sum = std::exchange(rest, 0);
    }
    return {};
}

/// Roots are rounded to the nearest number of half the bits.
uint32_t rootOf(uint64_t x)
{
    auto root = static_cast<uint64_t>(std::sqrt(static_cast<long double>(x)));
    while (root * root > x) --root;
    while (root < 0xffffffff && (root + 1) * (root + 1) <= x) ++root;
    const uint64_t most = x >> 32 == 0 ? 0xffff : 0xffffffff;
    if (x - root * root > root && root < most) ++root;
    return static_cast<uint32_t>(root);
}

Status runSquareRoot(const KernelArgs& args)
{
    const int32_t bits = *args.in(1).as<int32_t>();
    if (bits < 0 || bits > 31) return Error(ErrorCode::execution, "scale_down_bits").found(std::to_string(bits)).expected("0 to 31");
    for (int64_t i = 0, n = args.in(0).elementCount(); i < n; ++i)
        args.out(0).as<uint32_t>()[i] = rootOf(args.in(0).as<uint64_t>()[i]) >> bits;
    return {};
}

/// The noise that is expected, learned from frame to frame, is taken away. What was learned is a variable of the session.
Status runSpectralSubtraction(const KernelArgs& args)
{
    const int64_t channels = args.in(0).elementCount();
    ResourceStore& store = args.runtime->resources();
    Variable* noise = store.variable(store.handle("noise_estimate/" + std::to_string(randomStreamIdentity(args.paramsAs<Params>()))));
    if (!noise->assigned) {
        noise->assigned = true;
        noise->dtype = DType::u32;
        noise->shape = Shape({channels});
        noise->bytes.assign(static_cast<size_t>(channels) * sizeof(uint32_t), std::byte{0});
    }
    if (noise->shape.elementCount() != channels)
        return Error(ErrorCode::execution, "the noise of " + std::to_string(noise->shape.elementCount()) + " channels was learned")
            .found(std::to_string(channels));
    auto* estimates = reinterpret_cast<uint32_t*>(noise->bytes.data());
    const auto shift = static_cast<int>(option(args, "smoothing_bits")), bits = static_cast<int>(option(args, "spectral_subtraction_bits"));
    const bool clamping = option(args, "clamping") != 0;
    for (int64_t c = 0; c < channels; ++c) {
        const bool isEven = c % 2 == 0;
        const auto smoothing = static_cast<uint64_t>(option(args, isEven ? "smoothing" : "alternate_smoothing"));
        const auto keeping = static_cast<uint64_t>(option(args, isEven ? "one_minus_smoothing" : "alternate_one_minus_smoothing"));
        const uint32_t in = args.in(0).as<uint32_t>()[c], scaled = in << shift;
        uint32_t& estimate = estimates[c];
        estimate = static_cast<uint32_t>((scaled * smoothing + estimate * keeping) >> bits);
        const uint32_t taken = std::min(estimate, scaled);
        if (clamping) estimate = taken;
        const auto least = static_cast<uint32_t>((in * static_cast<uint64_t>(option(args, "min_signal_remaining"))) >> bits);
        args.out(0).as<uint32_t>()[c] = std::max((scaled - taken) >> shift, least);
        args.out(1).as<uint32_t>()[c] = estimate;
    }
    return {};
}

/// A function by its table: a parabola for each power of two.
int16_t ofTable(uint32_t x, const int16_t* table)
{
    if (x <= 2) return table[x];
    const int interval = bitsOf(x);
    table += 4 * interval - 6;
    const auto part = static_cast<int32_t>((interval < 11 ? x << (11 - interval) : x >> (interval - 11)) & 0x3ff);
    int32_t result = (static_cast<int32_t>(table[2]) * part) >> 5;
    result += static_cast<int32_t>(static_cast<uint32_t>(int32_t{table[1]}) << 5);
    result = static_cast<int32_t>(static_cast<uint32_t>(result) * static_cast<uint32_t>(part));
    result = (result + (1 << 14)) >> 15;
    return static_cast<int16_t>(result + table[0]);
}

/// x² / 4 up to 2, x − 1 beyond: 12 bits of fraction become 6.
uint32_t shrunk(uint32_t x)
{
    constexpr int kIn = 12, kOut = 6;
    if (x < (2U << kIn)) return (x * x) >> (2 + 2 * kIn - kOut);
    return (x >> (kIn - kOut)) - (1U << kOut);
}

/// Each channel is amplified by how little noise it has.
Status runGain(const KernelArgs& args)
{
    constexpr int64_t kTable = 4 * 32 - 6 + 3;
    const auto shift = static_cast<int>(option(args, "snr_shift"));
    std::array<int16_t, kTable> table = {}; // the file's may be shorter: of no noise that large
    std::copy_n(args.in(2).as<int16_t>(), std::min(kTable, args.in(2).elementCount()), table.begin());
    for (int64_t c = 0, n = args.in(0).elementCount(); c < n; ++c) {
        const int16_t gain = ofTable(args.in(1).as<uint32_t>()[c], table.data());
        const uint64_t ratio = (static_cast<uint64_t>(args.in(0).as<uint32_t>()[c]) * static_cast<uint64_t>(int64_t{gain})) >> shift;
        args.out(0).as<uint32_t>()[c] = shrunk(static_cast<uint32_t>(ratio));
    }
    return {};
}

/// log₂(1 + i / 128) − i / 128, 16 bits of fraction.
const std::array<uint32_t, 130>& logTable()
{
    static const std::array<uint32_t, 130> table = [] {
        std::array<uint32_t, 130> out = {};
        for (size_t i = 0; i < 128; ++i) {
            const double x = static_cast<double>(i) / 128;
            out[i] = static_cast<uint32_t>(std::lround((std::log2(1 + x) - x) * 65536));
        }
        return out;
    }();
    return table;
}

/// The natural logarithm of x times `scale`, rounded.
uint32_t logarithmOf(uint32_t x, uint32_t scale)
{
    constexpr int kBits = 16, kSegmentBits = 7;
    constexpr uint64_t kLn2 = 45426, kHalf = 1U << (kBits - 1);
    const int whole = bitsOf(x) - 1;
    uint32_t part = x - (1U << whole);
    part = whole < kBits ? part << (kBits - whole) : part >> (whole - kBits);
    const uint32_t segment = part >> (kBits - kSegmentBits), size = (1U << kBits) >> kSegmentBits;
    const auto low = static_cast<int32_t>(logTable()[segment]), high = static_cast<int32_t>(logTable()[segment + 1]);
    const int32_t between = ((high - low) * static_cast<int32_t>(part - size * segment)) >> kBits;
    const uint32_t fraction = part + static_cast<uint32_t>(low + between);
    const uint64_t binary = (static_cast<uint64_t>(whole) << kBits) + fraction;
    const uint64_t natural = (kLn2 * binary + kHalf) >> kBits;
    return static_cast<uint32_t>((scale * natural + kHalf) >> kBits);
}

Status runLogarithm(const KernelArgs& args)
{
    const auto shift = static_cast<int>(option(args, "input_correction_bits"));
    const auto scale = static_cast<uint32_t>(option(args, "output_scale"));
    for (int64_t i = 0, n = args.in(0).elementCount(); i < n; ++i) {
        const uint32_t x = args.in(0).as<uint32_t>()[i] << shift;
        args.out(0).as<int16_t>()[i] = x > 1 ? static_cast<int16_t>(std::min(logarithmOf(x, scale), 32767U)) : int16_t{0};
    }
    return {};
}

} // namespace

#define LS_SIGNAL_KERNEL(name, function, dtypes)                                                                                           \
    LS_DEFINE_KERNELS(custom, name) { registry.add({"custom", #name, Profile::reference, prepareSignal<(function)>, dtypes}); }

LS_SIGNAL_KERNEL(SignalWindow, runWindow, "i16")
LS_SIGNAL_KERNEL(SignalFftAutoScale, runAutoScale, "i16 i32")
LS_SIGNAL_KERNEL(SignalRfft, runRfft, "i16 i32 f32")
LS_SIGNAL_KERNEL(SignalIrfft, runIrfft, "i16 i32 f32")
LS_SIGNAL_KERNEL(SignalEnergy, runEnergy, "i16 u32")
LS_SIGNAL_KERNEL(SignalFilterBank, runFilterBank, "u32 i16 u64")
LS_SIGNAL_KERNEL(SignalFilterBankSquareRoot, runSquareRoot, "u64 i32 u32")
LS_SIGNAL_KERNEL(SignalFilterBankSpectralSubtraction, runSpectralSubtraction, "u32")
LS_SIGNAL_KERNEL(SignalPCAN, runGain, "u32 i16")
LS_SIGNAL_KERNEL(SignalFilterBankLog, runLogarithm, "u32 i16")
