// Kernels of TensorFlow's random operators that draw from their operands: core/kernels/random_shuffle_op.cc, multinomial_op.cc,
// stateless_random_gamma_op.cc, random_poisson_op.cc. Each number of a gamma or Poisson distribution has a region of the stream to itself.
#include "engine/kernels/cpu/tf_streams.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>
#include <vector>

using namespace loopscope;

namespace {

/// A stream word by word.
class PhiloxWords {
public:
    explicit PhiloxWords(const PhiloxStream& stream) : m_stream(stream) {}
    uint32_t next()
    {
        if (m_used == 4) {
            m_block = m_stream.next();
            m_used = 0;
        }
        return m_block[m_used++];
    }
    double nextDouble()
    {
        const uint32_t low = next(), high = next();
        return uniformDouble(low, high);
    }

private:
    PhiloxStream m_stream;
    std::array<uint32_t, 4> m_block = {};
    size_t m_used = 4;
};

Status runRandomShuffle(const KernelArgs& args)
{
    const Shape& shape = args.in(0).shape;
    const int64_t rows = shape.rank() > 0 ? shape[0] : 1;
    if (rows <= 1 || args.in(0).elementCount() <= 1) return tfCopy(args, 0, args.in(0), shape);
    PhiloxWords words(reserveBlocks(args, (rows + 3) / 4));
    std::vector<int64_t> order(static_cast<size_t>(rows));
    std::iota(order.begin(), order.end(), 0);
    for (size_t i = 0; i + 1 < order.size(); ++i) std::swap(order[i], order[i + words.next() % static_cast<uint32_t>(order.size() - i)]);
    LS_TRY(const TfSource source, TfSource::of(args.in(0)));
    TfTarget target;
    LS_CHECK_OK(target.begin(args, 0, shape));
    const int64_t length = shape.elementCount() / rows;
    for (int64_t row = 0; row < rows; ++row)
        std::copy_n(source.at(order[static_cast<size_t>(row)] * length), length * source.size(), target.at(row * length));
    return target.finish();
}

template <bool isStateless> Status runMultinomial(const KernelArgs& args)
{
    const Shape& logits = args.in(0).shape;
    if (logits.rank() != 2) return invalidArgument("logits should be a matrix, got shape " + toString(logits));
    if (args.in(1).shape.rank() != 0) return invalidArgument("num_samples should be a scalar, got shape " + toString(args.in(1).shape));
    LS_TRY(const int64_t samples, tfInteger(args, 1, "num_samples"));
    if (samples < 0) return invalidArgument("num_samples should be nonnegative, got " + std::to_string(samples));
    if (logits[1] <= 0) return invalidArgument("num_classes should be positive, got " + std::to_string(logits[1]));
    LS_CHECK_OK(tfAllocate(args, 0, Shape({logits[0], samples})));
    if (logits[0] == 0 || samples == 0) return {};
    PhiloxStream stream;
    if constexpr (isStateless) {
        LS_TRY(stream, streamOfSeed(args, 2));
    } else {
        stream = reserveBlocks(args, logits[0] * ((samples + 3) / 4 * 4) * 2 * kReservedPerNumber);
    }
    PhiloxWords words(stream);
    return forDType<TfFloats, TfSigned, TypeList<uint8_t, uint16_t>>(args.in(0).dtype, [&]<typename T>() -> Status {
        std::vector<double> sums(static_cast<size_t>(logits[1]));
        for (int64_t b = 0; b < logits[0]; ++b) {
            const T* row = args.in(0).as<T>() + b * logits[1];
            const auto at = [&](size_t c) { return static_cast<double>(Element<T>::load(row[c])); };
            double most = std::numeric_limits<double>::lowest(), total = 0;
            for (size_t c = 0; c < sums.size(); ++c)
                if (std::isfinite(at(c))) most = std::max(most, at(c));
            for (size_t c = 0; c < sums.size(); ++c) sums[c] = total += std::isfinite(at(c)) ? std::exp(at(c) - most) : 0;
            for (int64_t k = 0; k < samples; ++k) {
                const auto found = std::ranges::upper_bound(sums, words.nextDouble() * total) - sums.begin();
                if (args.out(0).dtype == DType::i64) args.out(0).as<int64_t>()[b * samples + k] = found;
                else args.out(0).as<int32_t>()[b * samples + k] = static_cast<int32_t>(found);
            }
        }
        return {};
    });
}

/// Uniform numbers of f64, two to a block, the second first.
class UniformPairs {
public:
    double next(PhiloxStream& stream)
    {
        if (m_left == 0) {
            const auto block = stream.next();
            m_pair = {uniformDouble(block[0], block[1]), uniformDouble(block[2], block[3])};
            m_left = 2;
        }
        return m_pair[--m_left];
    }

private:
    std::array<double, 2> m_pair = {};
    size_t m_left = 0;
};

class NormalPairs {
public:
    double next(PhiloxStream& stream)
    {
        if (m_left == 0) {
            const auto block = stream.next();
            const double u = std::max(uniformDouble(block[0], block[1]), 1.0e-7),
                         v = 2 * std::numbers::pi * uniformDouble(block[2], block[3]);
            const double radius = std::sqrt(-2.0 * std::log(u));
            m_pair = {std::sin(v) * radius, std::cos(v) * radius};
            m_left = 2;
        }
        return m_pair[--m_left];
    }

private:
    std::array<double, 2> m_pair = {};
    size_t m_left = 0;
};

/// Marsaglia and Tsang's method.
double gammaSample(double alpha, PhiloxStream stream)
{
    if (!(alpha > 0) || std::isinf(alpha)) return std::numeric_limits<double>::quiet_NaN();
    UniformPairs uniform;
    if (alpha == 1) return -std::log1p(-uniform.next(stream));
    NormalPairs normal;
    const double d = alpha + (alpha < 1 ? 2.0 / 3 : -1.0 / 3), c = 1.0 / 3 / std::sqrt(d);
    for (int round = 0; round < 100'000; ++round) {
        const double x = normal.next(stream);
        double v = 1 + c * x;
        if (v <= 0) continue;
        v = v * v * v;
        const double u = uniform.next(stream);
        if (u < 1 - 0.0331 * (x * x) * (x * x) || std::log(u) < 0.5 * x * x + d * (1 - v + std::log(v)))
            return alpha < 1 ? d * v * std::pow(uniform.next(stream), 1 / alpha) : d * v;
    }
    return alpha;
}

/// Knuth's method for small rates, Hörmann's transformed rejection else.
double poissonSample(double rate, PhiloxStream stream, double most)
{
    if (!std::isfinite(rate) || rate < 0) return std::numeric_limits<double>::quiet_NaN();
    UniformPairs uniform;
    if (rate < 10) {
        const double limit = std::exp(-rate);
        double product = 1, x = 0;
        for (;; ++x) {
            product *= uniform.next(stream);
            if (product <= limit && x <= most) return x;
        }
    }
    const double b = 0.931 + 2.53 * std::sqrt(rate), a = -0.059 + 0.02483 * b, inverseAlpha = 1.1239 + 1.1328 / (b - 3.4);
    for (int round = 0; round < 100'000; ++round) {
        const double u = uniform.next(stream) - 0.5, v = uniform.next(stream), shifted = 0.5 - std::abs(u);
        const double k = std::floor((2 * a / shifted + b) * u + rate + 0.43);
        if (k > most) continue;
        if (shifted >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2)) return k;
        if (k < 0 || (shifted < 0.013 && v > shifted)) continue;
        if (std::log(v * inverseAlpha / (a / (shifted * shifted) + b)) <= -rate + k * std::log(rate) - std::lgamma(k + 1)) return k;
    }
    return most; // the rate is far beyond what the dtype holds
}

/// Result [samples…, parameters…]: the number at [s, p] is drawn with parameter p, from the region p · samples + s of the stream.
template <bool isGamma> Status fillSamples(const KernelArgs& args, const PhiloxStream& stream, const Tensor& parameters)
{
    const int64_t count = args.out(0).elementCount(), kinds = parameters.elementCount();
    const int64_t samples = kinds > 0 ? count / kinds : 0;
    return forDType<TfFloats>(parameters.dtype, [&]<typename P>() -> Status {
        return forDType<TfFloats, TypeList<int32_t, int64_t>>(args.out(0).dtype, [&]<typename T>() -> Status {
            using C = typename Element<T>::Compute;
            const double most = std::is_integral_v<C> ? static_cast<double>(std::numeric_limits<C>::max()) : 1e300;
            for (int64_t p = 0; p < kinds; ++p)
                for (int64_t s = 0; s < samples; ++s) {
                    PhiloxStream own = stream;
                    own.skip(static_cast<uint64_t>((p * samples + s) * kReservedPerNumber));
                    const auto parameter = static_cast<double>(Element<P>::load(parameters.as<P>()[p]));
                    const double value = isGamma ? gammaSample(parameter, own) : poissonSample(parameter, own, most);
                    args.out(0).as<T>()[s * kinds + p] =
                        Element<T>::store(std::is_integral_v<C> && std::isnan(value) ? C(0) : static_cast<C>(value));
                }
            return {};
        });
    });
}

template <bool isGamma> Status runSamples(const KernelArgs& args)
{
    LS_TRY(Shape shape, tfShapeOperand(args.in(0)));
    const Tensor& parameters = args.in(1);
    for (const int64_t dim : parameters.shape.dims()) shape.append(dim);
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    return fillSamples<isGamma>(args, reserveBlocks(args, shape.elementCount() * kReservedPerNumber), parameters);
}

/// The shape ends in that of the parameters, which are operand `parameter`.
template <bool isGamma, bool byKey> Status runStatelessSamples(const KernelArgs& args)
{
    LS_TRY(const Shape shape, tfShapeOperand(args.in(0)));
    LS_TRY(const PhiloxStream stream, byKey ? streamOfKey(args) : streamOfSeed(args, 1));
    const Tensor& parameters = args.in(byKey ? 4 : 2);
    const int extra = shape.rank() - parameters.shape.rank();
    bool ends = extra >= 0;
    for (int d = 0; ends && d < parameters.shape.rank(); ++d) ends = shape[extra + d] == parameters.shape[d];
    if (!ends) return invalidArgument("Shape passed in must end with broadcasted shape.");
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    return fillSamples<isGamma>(args, stream, parameters);
}

} // namespace

LS_TF_KERNEL(RandomShuffle, runRandomShuffle, "all")
LS_TF_KERNEL(Multinomial, runMultinomial<false>, "f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16")
LS_TF_KERNEL(StatelessMultinomial, runMultinomial<true>, "f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16")
LS_TF_KERNEL(RandomGamma, runSamples<true>, "f32 f64 f16")
LS_TF_KERNEL(RandomPoissonV2, runSamples<false>, "f32 f64 f16 i32 i64")
LS_TF_KERNEL(StatelessRandomGammaV2, (runStatelessSamples<true, false>), "f32 f64 f16")
LS_TF_KERNEL(StatelessRandomGammaV3, (runStatelessSamples<true, true>), "f32 f64 f16")
LS_TF_KERNEL(StatelessRandomPoisson, (runStatelessSamples<false, false>), "f32 f64 f16 i32 i64")
