#include "engine/debug/reference/comparison_text.h"

#include "engine/debug/inspect/expression_text.h"
#include "engine/tensor/statistics.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

namespace loopscope {

namespace {

std::string fixedText(double number, int decimals)
{
    std::array<char, 64> text = {};
    const int length = std::snprintf(text.data(), text.size(), "%.*f", decimals, number);
    return std::string(text.data(), length > 0 && static_cast<size_t>(length) < text.size() ? static_cast<size_t>(length) : 0);
}

std::string plainText(double number) { return realNumberText(number, 7); }

} // namespace

std::string differenceText(double difference)
{
    if (difference == 0) return "0";
    if (!std::isfinite(difference)) return plainText(difference);
    if (difference >= 1e6 || difference < 1e-5) {
        std::array<char, 32> text = {};
        std::snprintf(text.data(), text.size(), "%.2e", difference);
        return text.data();
    }
    const int decimals = std::min(std::max(2 - static_cast<int>(std::floor(std::log10(difference))), 0), 5);
    return fixedText(difference, decimals);
}

std::string comparisonText(const Comparison& c, const Tolerance& tolerance, const Shape& shape)
{
    if (!c.mismatch.empty()) return c.mismatch;
    if (c.worst < 0) return c.elements == 0 ? "equal: no elements" : "equal";
    std::string text =
        "got " + plainText(c.got) + ", want " + plainText(c.want) + (shape.rank() > 0 ? " at " + elementIndexText(shape, c.worst) : "");
    text += "   max " + differenceText(c.maxAbs);
    if (tolerance.close && c.beyond > 0)
        text += "   " + std::to_string(c.beyond) + " of " + std::to_string(c.elements) + " beyond rtol " +
                plainText(tolerance.close->rtol) + ", atol " + plainText(tolerance.close->atol);
    if (tolerance.ulp && c.maxUlp) {
        text += "   ulp " + (*c.maxUlp == std::numeric_limits<int64_t>::max() ? "∞" : std::to_string(*c.maxUlp));
        if (*c.maxUlp > *tolerance.ulp) text += " > " + std::to_string(*tolerance.ulp);
    }
    if (c.elements > 1 || tolerance.cosine) {
        text += "   cosine " + fixedText(c.cosine, 6);
        if (tolerance.cosine && c.cosine < *tolerance.cosine) text += " < " + plainText(*tolerance.cosine);
    }
    return text;
}

double signalToNoise(const Tensor& got, const Tensor& want)
{
    double signal = 0, noise = 0;
    for (int64_t i = 0; i < got.elementCount(); ++i) {
        const double x = elementAsReal(got, i), y = elementAsReal(want, i);
        signal += y * y;
        noise += (x - y) * (x - y);
    }
    if (noise == 0) return std::numeric_limits<double>::infinity();
    return 10 * std::log10(signal / noise);
}

double meanDifference(const Tensor& got, const Tensor& want)
{
    double sum = 0;
    const int64_t count = got.elementCount();
    for (int64_t i = 0; i < count; ++i) sum += std::fabs(elementAsReal(got, i) - elementAsReal(want, i));
    return count > 0 ? sum / static_cast<double>(count) : 0;
}

} // namespace loopscope
