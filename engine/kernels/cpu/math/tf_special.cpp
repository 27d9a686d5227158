// Kernels of TensorFlow's special functions that are computed by series, in double: Abramowitz and Stegun, 6.5 and 9.6 to 9.7.
#include "engine/kernels/cpu/math/eigen_functions.h"
#include "engine/kernels/cpu/tf_support.h"

#include <cmath>
#include <limits>

using namespace loopscope;

namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr int kMostTerms = 100'000;

/// exp(−|x|) I_n(x), n 0 or 1: the power series, whose terms are all positive, then the asymptotic one (9.6.10, 9.7.1).
double besselScaled(int n, double x)
{
    constexpr double kFar = 30; // from here on the asymptotic series is exact
    constexpr double kTwoPi = 6.283185307179586476925;
    const double size = std::abs(x);
    if (std::isnan(x)) return x;
    if (std::isinf(x)) return 0;
    double sum = 1, term = 1;
    if (size <= kFar) {
        for (int k = 1; term > sum * kEpsilon; ++k) {
            term *= size * size / 4 / k / (k + n);
            sum += term;
        }
        sum *= std::exp(-size) * (n == 1 ? size / 2 : 1);
    } else {
        for (int k = 1; std::abs(term) > kEpsilon && k < kFar; ++k) {
            const double odd = 2 * k - 1;
            term *= (odd * odd - 4 * n) / (k * 8 * size);
            sum += term;
        }
        sum /= std::sqrt(kTwoPi * size);
    }
    return n == 1 && x < 0 ? -sum : sum;
}

/// x^a e^−x / Γ(a), by logarithms.
double gammaFactor(double a, double x) { return std::exp(a * std::log(x) - x - std::lgamma(a)); }

/// P(a, x) by its series (6.5.29), for x < a + 1.
double lowerSeries(double a, double x)
{
    double sum = 1 / a, term = sum;
    for (int k = 1; k < kMostTerms && term > sum * kEpsilon; ++k) {
        term *= x / (a + k);
        sum += term;
    }
    return sum * gammaFactor(a, x);
}

/// Q(a, x) by its continued fraction (6.5.31), from the front (Lentz), for x ≥ a + 1.
double upperFraction(double a, double x)
{
    constexpr double kTiny = 1e-300;
    double b = x + 1 - a, c = 1 / kTiny, d = 1 / b, value = d;
    for (int k = 1; k < kMostTerms; ++k) {
        const double an = -k * (k - a);
        b += 2;
        d = an * d + b;
        if (std::abs(d) < kTiny) d = kTiny;
        c = b + an / c;
        if (std::abs(c) < kTiny) c = kTiny;
        d = 1 / d;
        value *= d * c;
        if (std::abs(d * c - 1) < kEpsilon) break;
    }
    return value * gammaFactor(a, x);
}

/// P(a, x), or Q(a, x) = 1 − P(a, x).
double incompleteGamma(double a, double x, bool isUpper)
{
    if (std::isnan(a) || std::isnan(x) || a <= 0 || x < 0) return std::numeric_limits<double>::quiet_NaN();
    if (x == 0) return isUpper ? 1 : 0;
    if (std::isinf(a)) return std::isinf(x) ? std::numeric_limits<double>::quiet_NaN() : isUpper ? 1 : 0;
    if (std::isinf(x)) return isUpper ? 0 : 1;
    if (x < a + 1) return isUpper ? 1 - lowerSeries(a, x) : lowerSeries(a, x);
    return isUpper ? upperFraction(a, x) : 1 - upperFraction(a, x);
}

/// In f32 by Chebyshev series, as TensorFlow computes it.
template <int n, bool isScaled> Status runBesselF32(const KernelArgs& args)
{
    const auto* in = args.in(0).as<float>();
    auto* out = args.out(0).as<float>();
    const int64_t count = args.out(0).elementCount(), whole = count - count % eigen::kPacket;
    for (int64_t i = 0; i < count; ++i) {
        out[i] = n == 0 ? eigen::besselI0e(in[i]) : eigen::besselI1e(in[i]);
        if (!isScaled) out[i] *= i < whole ? eigen::exp(std::abs(in[i])) : std::exp(std::abs(in[i]));
    }
    return {};
}

template <int n, bool isScaled> Status runBessel(const KernelArgs& args)
{
    if (args.in(0).dtype == DType::f32) return runBesselF32<n, isScaled>(args);
    return forDType<TfFloats>(args.in(0).dtype, [&]<typename T>() -> Status {
        using C = typename Element<T>::Compute;
        applyUnary<T, T>(args.in(0), args.out(0), [](T stored) {
            const auto x = static_cast<double>(Element<T>::load(stored));
            return Element<T>::store(static_cast<C>(besselScaled(n, x) * (isScaled ? 1 : std::exp(std::abs(x)))));
        });
        return {};
    });
}

template <bool isUpper> Status runGamma(const KernelArgs& args)
{
    return forDType<TfFloats>(args.in(0).dtype, [&]<typename T>() -> Status {
        using C = typename Element<T>::Compute;
        applyBinary<T, T>(args.in(0), args.in(1), args.out(0), [](T a, T x) {
            return Element<T>::store(static_cast<C>(
                incompleteGamma(static_cast<double>(Element<T>::load(a)), static_cast<double>(Element<T>::load(x)), isUpper)));
        });
        return {};
    });
}

} // namespace

LS_TF_KERNEL(BesselI0, (runBessel<0, false>), kTfFloats)
LS_TF_KERNEL(BesselI0e, (runBessel<0, true>), kTfFloats)
LS_TF_KERNEL(BesselI1, (runBessel<1, false>), kTfFloats)
LS_TF_KERNEL(BesselI1e, (runBessel<1, true>), kTfFloats)
LS_TF_KERNEL(Igamma, runGamma<false>, kTfFloats)
LS_TF_KERNEL(Igammac, runGamma<true>, kTfFloats)
