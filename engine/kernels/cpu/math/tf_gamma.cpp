// Kernels of derivatives of the incomplete gamma function by its first operand, and of Fresnel's integrals: Eigen's
// SpecialFunctionsImpl.h (igamma_der_a, gamma_sample_der_alpha), core/kernels/special_math/special_math_op_misc_impl.h. Computed in f64.
#include "engine/base/interruption.h"
#include "engine/kernels/cpu/math/digamma.h"
#include "engine/kernels/cpu/tf_support.h"

#include <cmath>
#include <limits>
#include <numbers>

using namespace loopscope;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

/// ∂P(a, x)/∂a, or, of a sample, −∂P/∂a divided by ∂P/∂x.
template <bool ofSample> double bySeries(double a, double x)
{
    double r = a, c = 1, sum = 1, dc = 0, dsum = 0;
    for (int i = 0; i < 100'000; ++i) {
        r += 1;
        const double term = x / r;
        dc = term * dc - x / (r * r) * c;
        dsum += dc;
        c *= term;
        sum += c;
        if (std::abs(dc) <= kEpsilon * std::abs(dsum)) break;
    }
    const double slope = std::log(x) - digammaOf(a + 1);
    if (ofSample) return -(dsum + sum * slope) * x / a;
    return std::exp(a * std::log(x) - x - std::lgamma(a + 1)) * (sum * slope + dsum);
}

template <bool ofSample> double byFraction(double a, double x)
{
    constexpr double kLarge = 1 / kEpsilon;
    double y = 1 - a, z = x + y + 1, c = 0;
    double p2 = 1, q2 = x, p1 = x + 1, q1 = z * x, value = p1 / q1;
    double dp2 = 0, dq2 = 0, dp1 = 0, dq1 = -x, slope = (dp1 - value * dq1) / q1;
    for (int i = 0; i < 100'000; ++i) {
        c += 1, y += 1, z += 2;
        const double yc = y * c, p = p1 * z - p2 * yc, q = q1 * z - q2 * yc;
        const double dp = dp1 * z - p1 - dp2 * yc + p2 * c, dq = dq1 * z - q1 - dq2 * yc + q2 * c;
        if (q != 0) {
            const double before = slope;
            value = p / q;
            slope = (dp - value * dq) / q;
            if (std::abs(slope - before) <= kEpsilon * std::abs(slope)) break;
        }
        p2 = p1, p1 = p, q2 = q1, q1 = q;
        dp2 = dp1, dp1 = dp, dq2 = dq1, dq1 = dq;
        if (std::abs(p) > kLarge)
            for (double* each : {&p2, &p1, &q2, &q1, &dp2, &dp1, &dq2, &dq1}) *each *= kEpsilon;
    }
    const double front = std::log(x) - digammaOf(a);
    if (ofSample) return (slope + value * front) * x;
    const double scale = std::exp(a * std::log(x) - x - std::lgamma(a));
    return -(slope * scale + value * scale * front);
}

double incompleteByA(double a, double x)
{
    if (x == 0) return 0;
    if (!(x > 0) || !(a > 0) || std::isinf(a)) return kNaN;
    if (std::isinf(x)) return 0;
    return x > 1 && x > a ? byFraction<false>(a, x) : bySeries<false>(a, x);
}

double sampleByAlpha(double a, double x)
{
    if (x == 0) return 0;
    if (!(x > 0) || !(a > 0) || std::isinf(a) || std::isinf(x)) return kNaN;
    return x > 1 && x > a ? byFraction<true>(a, x) : bySeries<true>(a, x);
}

template <double (*f)(double, double)> Status runGammaBinary(const KernelArgs& args)
{
    return forDType<TfWide>(args.in(0).dtype, [&]<typename T>() -> Status {
        applyBinary<T, T>(args.in(0), args.in(1), args.out(0),
                          [](T a, T x) { return static_cast<T>(f(static_cast<double>(a), static_cast<double>(x))); });
        return {};
    });
}

/// ∫ from 0 to x of cos(π t² / 2), and of sin: the power series near 0, else the continued fraction of the complementary error function.
std::complex<double> fresnel(double x)
{
    const double ax = std::abs(x);
    if (std::isnan(x)) return {kNaN, kNaN};
    std::complex<double> value(0.5, 0.5);
    if (ax < 1.5) {
        // Σ (i π/2)ⁿ x^(2n+1) / (n! (2n+1))
        const std::complex<double> step(0, std::numbers::pi / 2 * ax * ax);
        std::complex<double> term = ax;
        value = 0;
        for (int n = 0; n < 200; ++n) {
            const std::complex<double> part = term / static_cast<double>(2 * n + 1);
            value += part;
            if (std::abs(part) <= kEpsilon * 0.01 * std::abs(value)) break;
            term *= step / static_cast<double>(n + 1);
        }
    } else if (ax < 1e8) {
        // The modified method of Lentz, on the even form of the fraction.
        const double pix2 = std::numbers::pi * ax * ax;
        std::complex<double> b(1, -pix2), cc(1e300, 0), d = 1.0 / b, h = d;
        for (int k = 2; k < 1000; ++k) {
            const auto n = static_cast<double>(2 * k - 3);
            const double a = -n * (n + 1);
            b += 4.0;
            d = 1.0 / (a * d + b);
            cc = b + a / cc;
            const std::complex<double> change = cc * d;
            h *= change;
            if (std::abs(change.real() - 1) + std::abs(change.imag()) < kEpsilon) break;
        }
        h *= std::complex<double>(ax, -ax);
        // The phase π x² / 2 modulo 2π from x² modulo 4, with the digits that squaring loses.
        const double square = ax * ax, rest = std::fma(ax, ax, -square);
        const double phase = std::numbers::pi / 2 * (std::fmod(square, 4.0) + rest);
        value = std::complex<double>(0.5, 0.5) * (1.0 - std::complex<double>(std::cos(phase), std::sin(phase)) * h);
    }
    return x < 0 ? -value : value;
}

template <bool isCosine> Status runFresnel(const KernelArgs& args)
{
    return forDType<TfFloats>(args.in(0).dtype, [&]<typename T>() -> Status {
        using C = typename Element<T>::Compute;
        applyUnary<T, T>(args.in(0), args.out(0), [](T x) {
            const std::complex<double> value = fresnel(static_cast<double>(Element<T>::load(x)));
            return Element<T>::store(static_cast<C>(isCosine ? value.real() : value.imag()));
        });
        return {};
    });
}

} // namespace

LS_TF_KERNEL(IgammaGradA, runGammaBinary<incompleteByA>, "f32 f64")
LS_TF_KERNEL(RandomGammaGrad, runGammaBinary<sampleByAlpha>, "f32 f64")
LS_TF_KERNEL(FresnelCos, runFresnel<true>, "f32 f64 f16 bf16")
LS_TF_KERNEL(FresnelSin, runFresnel<false>, "f32 f64 f16 bf16")
