#include "engine/tensor/error_bound.h"

#include "engine/tensor/half.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace loopscope {

namespace {

/// "1e-6", "0.5".
std::string boundText(double number)
{
    char text[32];
    std::snprintf(text, sizeof text, "%g", number);
    std::string shortest = text;
    if (const size_t zero = shortest.find("e-0"); zero != std::string::npos) shortest.erase(zero + 2, 1);
    return shortest;
}

double largestElement(const Tensor& tensor)
{
    double largest = 0;
    const auto look = [&](auto elementAt) {
        for (int64_t i = 0; i < tensor.elementCount(); ++i) {
            const auto magnitude = std::abs(static_cast<double>(elementAt(i)));
            if (std::isfinite(magnitude)) largest = std::max(largest, magnitude);
        }
    };
    switch (tensor.dtype) {
    case DType::f32: look([&](int64_t i) { return tensor.as<float>()[i]; }); break;
    case DType::f64: look([&](int64_t i) { return tensor.as<double>()[i]; }); break;
    case DType::f16: look([&](int64_t i) { return f16ToFloat(tensor.as<uint16_t>()[i]); }); break;
    case DType::bf16: look([&](int64_t i) { return bf16ToFloat(tensor.as<uint16_t>()[i]); }); break;
    default: break;
    }
    return largest;
}

} // namespace

std::string ErrorBound::text() const
{
    std::string text;
    const auto add = [&](const std::string& part) { text += (text.empty() ? "" : " or ") + part; };
    if (ulp > 0) add(std::to_string(ulp) + " ulp");
    if (relative > 0) add(boundText(relative) + " relative");
    if (ofLargest > 0) add(boundText(ofLargest) + " of the largest result");
    return text.empty() ? "exact" : text;
}

ErrorBound ErrorBounds::of(DType dtype) const
{
    switch (dtype) {
    case DType::f64:
    case DType::c128: return f64.value_or(f32);
    case DType::f32:
    case DType::c64:
    case DType::f16:
    case DType::bf16: return f32;
    default: return kExact;
    }
}

std::string ErrorBounds::text() const
{
    std::string text = !isStated ? "no reference" : f64 && *f64 != f32 ? "f32 " + f32.text() + "; f64 " + f64->text() : f32.text();
    if (!remark.empty()) text += " (" + std::string(remark) + ")";
    return text;
}

ErrorBound widest(const ErrorBound& a, const ErrorBound& b)
{
    return {std::max(a.ulp, b.ulp), std::max(a.relative, b.relative), std::max(a.ofLargest, b.ofLargest)};
}

Tolerance widenedTo(Tolerance tolerance, const ErrorBound& bound, const Tensor& want)
{
    if (bound.isExact() || tolerance.cosine) return tolerance;
    if (bound.relative > 0 || bound.ofLargest > 0) {
        // A unit in the last place is at most 2⁻²³ of an f32.
        const double ofUlp = static_cast<double>(bound.ulp) * std::ldexp(1.0, want.dtype == DType::f64 ? -52 : -23);
        Tolerance::Close close = tolerance.close.value_or(Tolerance::Close{0, 0});
        close.rtol = std::max({close.rtol, bound.relative, ofUlp});
        close.atol = std::max(close.atol, bound.ofLargest * largestElement(want));
        tolerance.close = close;
        tolerance.ulp.reset();
    } else if (!tolerance.close) {
        tolerance.ulp = std::max(tolerance.ulp.value_or(0), bound.ulp);
    }
    return tolerance;
}

} // namespace loopscope
