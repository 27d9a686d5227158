// Kernels of TensorFlow's special functions of several operands, computed in double: Abramowitz and Stegun, 6.4, 23.2, 26.2, 26.5.
#include "engine/kernels/cpu/math/digamma.h"
#include "engine/kernels/cpu/tf_support.h"

#include <array>
#include <cmath>
#include <limits>
#include <numbers>

using namespace loopscope;

namespace {

constexpr double kZetaNan = std::numeric_limits<double>::quiet_NaN(), kZetaInfinity = std::numeric_limits<double>::infinity();

/// Σ (q + n)⁻ˣ: the first terms, then Euler's and Maclaurin's formula for the rest.
double hurwitzZeta(double x, double q)
{
    if (x == 1) return kZetaInfinity;
    if (!(x > 1) || std::isnan(q)) return kZetaNan;
    if (q <= 0) {
        if (q == std::floor(q)) return x == std::floor(x) && std::fmod(x, 2) == 0 ? kZetaInfinity : kZetaNan;
        if (x != std::floor(x)) return kZetaNan;
    }
    constexpr int kTerms = 12;
    double sum = 0, at = q;
    for (int n = 0; n < kTerms || at <= kTerms; ++n, ++at) sum += std::pow(at, -x);
    sum += std::pow(at, 1 - x) / (x - 1) + std::pow(at, -x) / 2;
    // B₂ₖ / (2k)!
    static constexpr std::array kFactors = {1.0 / 12,          -1.0 / 720,
                                            1.0 / 30240,       -1.0 / 1209600,
                                            1.0 / 47900160,    -691.0 / 1307674368000,
                                            1.0 / 74724249600, -3617.0 / 10670622842880000};
    double power = x * std::pow(at, -x - 1);
    for (size_t k = 0; k < kFactors.size(); ++k) {
        sum += kFactors[k] * power;
        const double next = x + 2 * static_cast<double>(k);
        power *= (next + 1) * (next + 2) / (at * at);
    }
    return sum;
}

double polygamma(double n, double x)
{
    if (n != std::floor(n) || n < 0) return kZetaNan;
    if (n == 0) return digammaOf(x);
    return (std::fmod(n, 2) == 0 ? -1 : 1) * std::exp(std::lgamma(n + 1)) * hurwitzZeta(n + 1, x);
}

/// The continued fraction 26.5.8 from the front (Lentz).
double betaFraction(double a, double b, double x)
{
    constexpr double kTiny = 1e-300;
    constexpr int kMostTerms = 10'000;
    const auto guarded = [](double v) { return std::abs(v) < kTiny ? kTiny : v; };
    double c = 1, d = 1 / guarded(1 - (a + b) * x / (a + 1)), value = d;
    for (int m = 1; m < kMostTerms; ++m) {
        double factor = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        d = 1 / guarded(1 + factor * d);
        c = guarded(1 + factor / c);
        value *= d * c;
        factor = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / guarded(1 + factor * d);
        c = guarded(1 + factor / c);
        value *= d * c;
        if (std::abs(d * c - 1) < 1e-16) break;
    }
    return value;
}

double incompleteBeta(double a, double b, double x)
{
    if (std::isnan(a) || std::isnan(b) || std::isnan(x) || a <= 0 || b <= 0 || x < 0 || x > 1) return kZetaNan;
    if (x == 0 || x == 1) return x;
    const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
    if (x < (a + 1) / (a + b + 2)) return front * betaFraction(a, b, x) / a;
    return 1 - front * betaFraction(b, a, 1 - x) / b;
}

/// By Newton's (Halley's) steps on Φ from the approximation 26.2.23.
double normalQuantile(double p)
{
    if (!(p >= 0 && p <= 1)) return kZetaNan;
    if (p == 0 || p == 1) return p == 0 ? -kZetaInfinity : kZetaInfinity;
    const bool upper = p > 0.5;
    const double tail = upper ? 1 - p : p;
    const double t = std::sqrt(-2 * std::log(tail));
    double x = -(t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))));
    for (int i = 0; i < 3; ++i) {
        const double error = 0.5 * std::erfc(-x / std::numbers::sqrt2) - tail;
        const double step = error * std::sqrt(2 * std::numbers::pi) * std::exp(x * x / 2);
        x -= step / (1 + x * step / 2);
    }
    return upper ? -x : x;
}

template <double (*f)(double, double)> Status runZetaBinary(const KernelArgs& args)
{
    return forDType<TfFloats>(args.in(0).dtype, [&]<typename T>() -> Status {
        using C = typename Element<T>::Compute;
        applyBinary<T, T>(args.in(0), args.in(1), args.out(0), [](T a, T b) {
            return Element<T>::store(static_cast<C>(f(static_cast<double>(Element<T>::load(a)), static_cast<double>(Element<T>::load(b)))));
        });
        return {};
    });
}

/// Operands have one shape or are scalars.
Status runBetainc(const KernelArgs& args)
{
    Shape shape;
    for (int i = 0; i < 3; ++i) {
        if (args.in(i).shape.rank() == 0) continue;
        if (shape.rank() > 0 && !(shape == args.in(i).shape))
            return invalidArgument("Shapes of a, b and x are inconsistent: " + toString(shape) + " vs. " + toString(args.in(i).shape));
        shape = args.in(i).shape;
    }
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    return forDType<TypeList<float, double>>(args.in(0).dtype, [&]<typename T>() -> Status {
        const auto at = [&](int operand, int64_t i) {
            return static_cast<double>(args.in(operand).as<T>()[args.in(operand).shape.rank() == 0 ? 0 : i]);
        };
        for (int64_t i = 0, n = shape.elementCount(); i < n; ++i)
            args.out(0).as<T>()[i] = static_cast<T>(incompleteBeta(at(0, i), at(1, i), at(2, i)));
        return {};
    });
}

Status runNdtri(const KernelArgs& args)
{
    return forDType<TfFloats>(args.in(0).dtype, [&]<typename T>() -> Status {
        using C = typename Element<T>::Compute;
        applyUnary<T, T>(args.in(0), args.out(0),
                         [](T x) { return Element<T>::store(static_cast<C>(normalQuantile(static_cast<double>(Element<T>::load(x))))); });
        return {};
    });
}

} // namespace

LS_TF_KERNEL(Zeta, runZetaBinary<hurwitzZeta>, "f32 f64")
LS_TF_KERNEL(Polygamma, runZetaBinary<polygamma>, "f32 f64")
LS_TF_KERNEL(Betainc, runBetainc, "f32 f64")
LS_TF_KERNEL(Ndtri, runNdtri, "f32 f64 f16 bf16")
