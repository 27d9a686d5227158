// See eigen_functions.h. Every operation is an f32 operation in the order in which Eigen does it: do not simplify.
#include "engine/kernels/cpu/math/eigen_functions.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>

namespace loopscope::eigen {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Horner's rule, the highest power first.
template <size_t N> float polynomial(float x, const std::array<float, N>& coefficients)
{
    float sum = coefficients[0];
    for (size_t i = 1; i < N; ++i) sum = sum * x + coefficients[i];
    return sum;
}

/// Clenshaw's recurrence for a series of Chebyshev polynomials.
template <size_t N> float chebyshev(float x, const std::array<float, N>& coefficients)
{
    float b0 = coefficients[0], b1 = 0, b2 = 0;
    for (size_t i = 1; i < N; ++i) {
        b2 = b1;
        b1 = b0;
        b0 = (x * b1 + coefficients[i]) - b2;
    }
    return 0.5F * (b0 - b2);
}

float powerOfTwo(int exponent) { return std::bit_cast<float>(static_cast<uint32_t>(exponent + 127) << 23); }

/// a · 2^exponent in four factors, none of which overflows.
float scaled(float a, float exponent)
{
    const int e = static_cast<int>(std::clamp(exponent, -278.0F, 278.0F));
    const int quarter = e >> 2;
    const float c = powerOfTwo(quarter);
    return a * c * c * c * powerOfTwo(e - 3 * quarter);
}

float scaledFast(float a, float exponent)
{
    const int e = static_cast<int>(std::clamp(exponent + 127.0F, 0.0F, 255.0F));
    return a * std::bit_cast<float>(static_cast<uint32_t>(e) << 23);
}

/// What rounding took from x·x (Dekker's product).
float squareError(float x, float square)
{
    const float gamma = 4097.0F * x;
    const float high = (x - gamma) + gamma;
    const float low = x - high;
    float error = high * high - square;
    error = high * low + error;
    error = low * high + error;
    return low * low + error;
}

template <bool kSine> float sineOrCosine(float given)
{
    constexpr float kHuge = kSine ? 25966.0F : 18838.0F;
    if (!(std::abs(given) < kHuge)) return kSine ? std::sin(given) : std::cos(given);
    float x = std::abs(given);
    const float rounded = x * 0.636619746685028076171875F + 12582912.0F;
    const auto octant = std::bit_cast<uint32_t>(rounded);
    const float y = rounded - 12582912.0F;
    x = y * -1.5703125F + x;
    x = y * -0.000483989715576171875F + x;
    x = y * 1.62865035235881805419921875e-07F + x;
    x = y * 5.5644315544167710640977020375430583953857421875e-11F + x;
    const uint32_t sign = (kSine ? std::bit_cast<uint32_t>(given) ^ (octant << 30) : (octant + 1) << 30) & 0x80000000U;
    const float square = x * x;
    float result = 0;
    if (((octant & 1) == 0) != kSine) {
        result = polynomial(square, std::array{2.4372266125283204019069671630859375e-05F, -0.00138865201734006404876708984375F,
                                               0.041666619479656219482421875F, -0.5F, 1.0F});
    } else {
        result = polynomial(square, std::array{-0.0001959234114083702898469196984621F, 0.00833268736556168516937947998712F,
                                               -0.16666662039822982550355737F});
        result = result * square * x + x;
    }
    return std::bit_cast<float>(std::bit_cast<uint32_t>(result) ^ sign);
}

template <float (*exponential)(float)> float erfcBy(float given)
{
    const float x = std::min(std::max(given, -11.0F), 11.0F);
    const float square = x * x;
    if (!(1.0F < square)) {
        constexpr std::array kSmall = {5.61802298761904239654541015625e-04F, -4.91381669417023658752441406250e-03F,
                                       2.67075151205062866210937500000e-02F, -1.12800106406211853027343750000e-01F,
                                       3.76122951507568359375000000000e-01F, -1.12837910652160644531250000000e+00F};
        return x * polynomial(square, kSmall) + 1.0F;
    }
    constexpr std::array kAbove = {1.0208116471767425537109375e-01F, 4.2920666933059692382812500e-01F, 3.2379078865051269531250000e-01F,
                                   5.3971976041793823242187500e-02F};
    constexpr std::array kBelow = {1.7251677811145782470703125e-02F, 3.9137163758277893066406250e-01F, 1.0F,
                                   6.2173241376876831054687500e-01F, 9.5662862062454223632812500e-02F};
    const float power = exponential(-square);
    const float corrected = -(power * squareError(x, square)) + power;
    const float inverse = 1.0F / square;
    const float quotient = polynomial(inverse, kAbove) / (x * polynomial(inverse, kBelow));
    return corrected * quotient + (x < 0.0F ? 2.0F : 0.0F);
}

} // namespace

float exp(float given)
{
    if (given < -104.0F) return 0.0F;
    const float x = std::min(given, 88.723F);
    const float m = std::floor(x * 1.44269504088896341F + 0.5F);
    float r = m * -0.693359375F + x;
    r = m * 2.12194440e-4F + r;
    const float square = r * r;
    float even = square * 1.37449637986719608306884765625e-3F + 4.166965186595916748046875e-2F;
    const float odd = square * 8.36894474923610687255859375e-3F + 0.16666518151760101318359375F;
    even = square * even + 0.49999988079071044921875F;
    float y = r * odd + even;
    y = square * y + (r + 1.0F);
    y = std::abs(x) > 87.0F ? scaled(y, m) : scaledFast(y, m);
    return std::isnan(given) ? given : std::max(y, given); // ∞ stays ∞
}

float log(float given)
{
    if (given == 0.0F) return -kInfinity;
    if (!(given > 0.0F)) return kNan;
    if (given == kInfinity) return given;
    int exponent = 0;
    float x = std::frexp(given, &exponent);
    auto e = static_cast<float>(exponent);
    const bool below = x < 0.707106781186547524F;
    const float again = below ? x : 0.0F;
    x = x - 1.0F;
    if (below) e = e - 1.0F;
    x = x + again;
    const float above = x * polynomial(x, std::array{0.18256296349849254F, 1.0000000190281063F, 1.0000000190281136F});
    x = above / polynomial(x, std::array{0.049616247954120038F, 0.59923249590823520F, 1.4999999999999927F, 1.0F});
    return e * 0.693147180559945309417F + x;
}

float log1p(float x)
{
    const float next = x + 1.0F;
    const float logarithm = log(next);
    if (next == 1.0F || next == logarithm) return x;
    return x * (logarithm / (next - 1.0F));
}

float expm1(float x)
{
    const float power = exp(x);
    if (power == 1.0F) return x;
    const float lessOne = power - 1.0F;
    if (lessOne == -1.0F) return -1.0F;
    const float logarithm = log(power);
    if (logarithm == power) return power;
    return lessOne * (x / logarithm);
}

float sin(float x) { return sineOrCosine<true>(x); }

float cos(float x) { return sineOrCosine<false>(x); }

float asin(float given)
{
    const float magnitude = std::abs(given);
    if (!(magnitude <= 1.0F)) return kNan;
    const bool large = magnitude > 0.5F;
    const float x = large ? std::sqrt(-(0.5F * magnitude) + 0.5F) : magnitude;
    float p = polynomial(x * x, std::array{5.08838854730129241943359375e-2F, 3.95139865577220916748046875e-2F,
                                           7.550220191478729248046875e-2F, 0.16664917767047882080078125F, 1.00000011920928955078125F});
    p = p * x;
    if (large) p = -(2.0F * p) + 1.57079632679489661923F;
    return std::copysign(p, given);
}

float acos(float x)
{
    const float square = x * x, magnitude = std::abs(x);
    float even = 2.36423197202384471893310546875e-3F * square + 2.717843465507030487060546875e-2F;
    float odd = -1.1368644423782825469970703125e-2F * square + -4.8969544470310211181640625e-2F;
    even = even * square + 8.8804088532924652099609375e-2F;
    odd = odd * square + -0.214591205120086669921875F;
    even = even * square + 1.57079637050628662109375F;
    const float result = std::sqrt(1.0F - magnitude) * (odd * magnitude + even);
    return std::signbit(x) ? 3.14159265358979323846F - result : result;
}

float atan(float given)
{
    const float magnitude = std::abs(given);
    const bool large = magnitude > 1.0F;
    const float x = large ? 1.0F / magnitude : magnitude;
    const float square = x * x;
    const float above =
        polynomial(square, std::array{1.12026982009410858154296875e-01F, 7.296695709228515625e-01F, 8.109951019287109375e-01F});
    const float below =
        polynomial(square, std::array{1.00917108356952667236328125e-02F, 2.8318560123443603515625e-01F, 1.0F, 8.109951019287109375e-01F});
    const float p = x * (above / below);
    return std::copysign(large ? 1.57079632679489661923F - p : p, given);
}

float atanh(float x)
{
    const float magnitude = std::abs(x);
    if (magnitude > 1.0F) return kNan;
    if (magnitude == 1.0F) return std::copysign(kInfinity, x);
    if (magnitude >= 0.5F) return 0.5F * log((1.0F + x) / (1.0F - x));
    const float square = x * x;
    const float p =
        polynomial(square, std::array{0.1819281280040740966796875F, 8.2311116158962249755859375e-2F, 0.14672131836414337158203125F,
                                      0.1997792422771453857421875F, 0.3333373963832855224609375F});
    return x * square * p + x;
}

float tanh(float given)
{
    if (std::isnan(given)) return given;
    const float x = std::max(std::min(given, 7.90738964080810547F), -7.90738964080810547F);
    const float square = x * x;
    const float p = polynomial(square, std::array{1.394553628e-8F, 2.102733560e-5F, 3.520756727e-3F, 1.340216100e-1F});
    const float q = polynomial(square, std::array{8.015776984e-7F, 3.326951409e-4F, 2.597254514e-2F, 4.673548340e-1F, 1.0F});
    return (square * x * p + x) / q;
}

float erf(float x)
{
    if (std::isnan(x)) return x;
    const float square = std::min(16.0F, x * x);
    const float p =
        x * polynomial(square, std::array{2.123732201653183437883853912353515625e-06F, 2.861979592125862836837768554687500000e-04F,
                                          3.658048342913389205932617187500000000e-03F, 5.243302136659622192382812500000000000e-02F,
                                          1.874160766601562500000000000000000000e-01F, 1.128379106521606445312500000000000000e+00F});
    const float q = polynomial(square, std::array{3.89185734093189239501953125000e-05F, 1.14329601638019084930419921875e-03F,
                                                  1.47520881146192550659179687500e-02F, 1.12945675849914550781250000000e-01F,
                                                  4.99425798654556274414062500000e-01F, 1.0F});
    return std::max(std::min(p / q, 1.0F), -1.0F);
}

float erfc(float x) { return std::isnan(x) ? x : erfcBy<exp>(x); }

float scalarErfc(float x) { return std::isnan(x) ? x : erfcBy<std::exp>(x); }

/// exp(x)/(1 + exp(x)) with exp(x) = exp(x/2)².
float logistic(float given)
{
    if (given < -104.0F) return 0.0F;
    if (std::isnan(given)) return given;
    const float x = std::min(given, 16.6355324F) * 0.5F;
    const float m = std::floor(x * 1.44269504088896341F + 0.5F);
    float r = m * -0.693359375F + x;
    r = m * 2.12194440e-4F + r;
    const float square = r * r;
    const float even = square * 4.1898667812347412109375e-2F + 0.49999141693115234375F;
    const float odd = square * 8.33471305668354034423828125e-3F + 0.16666877269744873046875F;
    float p = r * odd + even;
    p = square * p + (r + 1.0F);
    float e = scaledFast(p, m);
    e = e * e;
    return e / (1.0F + e);
}

float scalarLogistic(float x)
{
    const float e = std::exp(std::min(x, 16.6355324F));
    return e / (1.0F + e);
}

float besselI0e(float x)
{
    constexpr std::array kSmall = {-1.30002500998624804212E-8F, 6.04699502254191894932E-8F,  -2.67079385394061173391E-7F,
                                   1.11738753912010371815E-6F,  -4.41673835845875056359E-6F, 1.64484480707288970893E-5F,
                                   -5.75419501008210370398E-5F, 1.88502885095841655729E-4F,  -5.76375574538582365885E-4F,
                                   1.63947561694133579842E-3F,  -4.32430999505057594430E-3F, 1.05464603945949983183E-2F,
                                   -2.37374148058994688156E-2F, 4.93052842396707084878E-2F,  -9.49010970480476444210E-2F,
                                   1.71620901522208775349E-1F,  -3.04682672343198398683E-1F, 6.76795274409476084995E-1F};
    constexpr std::array kLarge = {3.39623202570838634515E-9F, 2.26666899049817806459E-8F, 2.04891858946906374183E-7F,
                                   2.89137052083475648297E-6F, 6.88975834691682398426E-5F, 3.36911647825569408990E-3F,
                                   8.04490411014108831608E-1F};
    const float y = std::abs(x);
    if (y <= 8.0F) return chebyshev(0.5F * y + -2.0F, kSmall);
    return chebyshev(32.0F / y - 2.0F, kLarge) * (1.0F / std::sqrt(y));
}

float besselI1e(float x)
{
    constexpr std::array kSmall = {9.38153738649577178388E-9F,  -4.44505912879632808065E-8F, 2.00329475355213526229E-7F,
                                   -8.56872026469545474066E-7F, 3.47025130813767847674E-6F,  -1.32731636560394358279E-5F,
                                   4.78156510755005422638E-5F,  -1.61760815825896745588E-4F, 5.12285956168575772895E-4F,
                                   -1.51357245063125314899E-3F, 4.15642294431288815669E-3F,  -1.05640848946261981558E-2F,
                                   2.47264490306265168283E-2F,  -5.29459812080949914269E-2F, 1.02643658689847095384E-1F,
                                   -1.76416518357834055153E-1F, 2.52587186443633654823E-1F};
    constexpr std::array kLarge = {-3.83538038596423702205E-9F, -2.63146884688951950684E-8F, -2.51223623787020892529E-7F,
                                   -3.88256480887769039346E-6F, -1.10588938762623716291E-4F, -9.76109749136146840777E-3F,
                                   7.78576235018280120474E-1F};
    const float y = std::abs(x);
    const float result = y <= 8.0F ? y * chebyshev(0.5F * y + -2.0F, kSmall) : chebyshev(32.0F / y - 2.0F, kLarge) * (1.0F / std::sqrt(y));
    return x < 0.0F ? -result : result;
}

/// ψ(x): moved to x ≥ 10 by ψ(x) = ψ(x + 1) − 1/x, then the asymptotic series; reflected below 0.
float digamma(float x)
{
    float reflected = 0;
    const bool negative = x <= 0.0F;
    if (negative) {
        float nearest = std::floor(x);
        if (nearest == x) return kNan;
        float distance = x - nearest;
        if (distance != 0.5F) {
            if (distance > 0.5F) {
                nearest += 1.0F;
                distance = x - nearest;
            }
            reflected = 3.14159265358979323846F / std::tan(3.14159265358979323846F * distance);
        }
        x = 1.0F - x;
    }
    float s = x, w = 0;
    while (s < 10.0F) {
        w += 1.0F / s;
        s += 1.0F;
    }
    float series = 0;
    if (s < 1.0e8F) {
        const float z = 1.0F / (s * s);
        series = z * polynomial(z, std::array{-4.16666666666666666667E-3F, 3.96825396825396825397E-3F, -8.33333333333333333333E-3F,
                                              8.33333333333333333333E-2F});
    }
    const float y = std::log(s) - (0.5F / s) - series - w;
    return negative ? y - reflected : y;
}

} // namespace loopscope::eigen
