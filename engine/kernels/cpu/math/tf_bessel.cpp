// Kernels of TensorFlow's further special functions: core/kernels/cwise_op_special.cc. Each is computed in f64 and rounded once: Bessel
// functions and the exponential integral by the C++ library, Dawson's function by Rybicki's sum, Spence's by its series.
#include "engine/kernels/cpu/tf_support.h"

#include <cmath>
#include <limits>
#include <numbers>

using namespace loopscope;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

/// The modified Bessel function of the second kind; beyond 700 it is 0 in f64, and the library is not asked.
double besselK(double order, double x)
{
    if (std::isnan(x)) return kNan;
    return x <= 0 ? kInfinity : x > 700 ? 0 : std::cyl_bessel_k(order, x);
}
/// eˣ times that; for large x by its asymptotic series, since both factors leave the range of f64.
double besselKScaled(double order, double x)
{
    if (!(x > 500)) return x <= 0 ? besselK(order, x) : std::exp(x) * besselK(order, x);
    const double mu = 4 * order * order;
    double term = 1, sum = 1;
    for (int k = 1; k < 12; ++k) {
        const double odd = 2 * k - 1;
        term *= (mu - odd * odd) / (k * 8 * x);
        sum += term;
    }
    return std::sqrt(std::numbers::pi / (2 * x)) * sum;
}
double besselK0(double x) { return besselK(0, x); }
double besselK1(double x) { return besselK(1, x); }
double besselK0e(double x) { return besselKScaled(0, x); }
double besselK1e(double x) { return besselKScaled(1, x); }
// Of infinity TensorFlow's have no value, where the C library gives their limit 0.
double besselJ0(double x) { return std::isinf(x) ? kNan : ::j0(x); }
double besselJ1(double x) { return std::isinf(x) ? kNan : ::j1(x); }
double besselY0(double x) { return x <= 0 ? -kInfinity : std::isinf(x) ? kNan : ::y0(x); }
double besselY1(double x) { return x <= 0 ? -kInfinity : std::isinf(x) ? kNan : ::y1(x); }

double exponentialIntegral(double x) { return x < 0 ? kNan : x == 0 ? -kInfinity : std::expint(x); }

/// e^(−x²) · ∫₀ˣ e^(t²) dt (Rybicki 1989).
double dawson(double x)
{
    const double size = std::abs(x);
    if (std::isnan(x) || std::isinf(x)) return std::isnan(x) ? kNan : std::copysign(0.0, x);
    if (size < 0.2) {
        const double square = x * x;
        double term = x, sum = x;
        for (int k = 1; k < 12; ++k) {
            term *= -2 * square / (2 * k + 1);
            sum += term;
        }
        return sum;
    }
    constexpr double kStep = 0.2;
    constexpr int kTerms = 16;
    const double nearest = 2 * std::floor(0.5 * size / kStep + 0.5), rest = size - nearest * kStep;
    double sum = 0;
    for (int n = -(2 * kTerms - 1); n <= 2 * kTerms - 1; n += 2) {
        const double away = rest - n * kStep;
        sum += std::exp(-away * away) / (nearest + n);
    }
    return std::copysign(sum / std::sqrt(std::numbers::pi), x);
}

/// −∫₁ˣ ln t / (t − 1) dt (Cephes' way to a series that converges).
double spence(double x)
{
    if (std::isnan(x) || x < 0) return kNan;
    constexpr double kSixth = std::numbers::pi * std::numbers::pi / 6;
    if (x == 0) return kSixth;
    if (std::isinf(x)) return -kInfinity;
    const bool isInverse = x > 1.5;
    const double inside = x > 2 ? 1 / x : x;
    const bool isReflected = inside < 0.5;
    const double w = isReflected ? -inside : x > 2 ? inside - 1 : isInverse ? 1 / x - 1 : inside - 1;
    double power = 1, value = 0;
    for (int k = 1; k < 80; ++k) {
        power *= -w;
        value += power / (static_cast<double>(k) * k);
    }
    if (isReflected) value = inside == 1 ? value : kSixth - std::log(inside) * std::log(1 - inside) - value;
    if (isInverse) value = -0.5 * std::log(x) * std::log(x) - value;
    return value;
}

template <double (*function)(double)> Status runFunction(const KernelArgs& args)
{
    return forDType<TfFloats>(args.in(0).dtype, [&]<typename T>() -> Status {
        applyUnary<T, T>(args.in(0), args.out(0), [](T stored) {
            return Element<T>::store(static_cast<typename Element<T>::Compute>(function(static_cast<double>(Element<T>::load(stored)))));
        });
        return {};
    });
}

/// At 0 the one of f32 is no number, that of f64 is −infinity.
double besselY1OfSingle(double x) { return x == 0 ? kNan : besselY1(x); }

Status runBesselY1(const KernelArgs& args)
{
    return args.in(0).dtype == DType::f64 ? runFunction<besselY1>(args) : runFunction<besselY1OfSingle>(args);
}

} // namespace

LS_TF_KERNEL(BesselJ0, runFunction<besselJ0>, kTfFloats)
LS_TF_KERNEL(BesselJ1, runFunction<besselJ1>, kTfFloats)
LS_TF_KERNEL(BesselY0, runFunction<besselY0>, kTfFloats)
LS_TF_KERNEL(BesselY1, runBesselY1, kTfFloats)
LS_TF_KERNEL(BesselK0, runFunction<besselK0>, kTfFloats)
LS_TF_KERNEL(BesselK0e, runFunction<besselK0e>, kTfFloats)
LS_TF_KERNEL(BesselK1, runFunction<besselK1>, kTfFloats)
LS_TF_KERNEL(BesselK1e, runFunction<besselK1e>, kTfFloats)
LS_TF_KERNEL(Expint, runFunction<exponentialIntegral>, kTfFloats)
LS_TF_KERNEL(Dawsn, runFunction<dawson>, kTfFloats)
LS_TF_KERNEL(Spence, runFunction<spence>, kTfFloats)
