#include "engine/debug/prove/write_pair.h"

#include "engine/tensor/quantization.h"
#include "engine/tensor/statistics.h"
#include "engine/tensor/value_text.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace loopscope {

namespace {

double largestOf(const Tensor& tensor)
{
    double most = 0;
    const int64_t count = tensor.elementCount();
    for (int64_t i = 0; i < count; ++i)
        if (const double value = std::fabs(elementAsReal(tensor, i)); std::isfinite(value)) most = std::max(most, value);
    return most;
}

/// Half the distance between neighbours at 1: what one rounding may do.
double unitRoundoff(DType dtype)
{
    switch (dtype) {
    case DType::f64:
    case DType::c128: return 0x1p-53;
    case DType::f16: return 0x1p-11;
    case DType::bf16: return 0x1p-8;
    case DType::f8e4m3fn: return 0x1p-4;
    case DType::f8e5m2: return 0x1p-3;
    default: return 0x1p-24;
    }
}

} // namespace

bool sameBits(const Tensor& a, const Tensor& b)
{
    return a.dtype == b.dtype && a.bytes == b.bytes && a.shape == b.shape && std::memcmp(a.data, b.data, a.bytes) == 0 &&
           (a.quantization == b.quantization || (a.quantization && b.quantization && *a.quantization == *b.quantization));
}

double boundOf(const Tensor& a, const Tensor& b, double roundings)
{
    return roundings * unitRoundoff(a.dtype) * std::max(largestOf(a), largestOf(b));
}

ProofDifference differenceOf(const Tensor& a, const Tensor& b, const Comparison& figures, std::string address, std::string there, Step step)
{
    ProofDifference difference;
    difference.address = std::move(address);
    difference.there = std::move(there);
    difference.step = step;
    difference.figures = figures;
    if (!figures.mismatch.empty()) {
        const bool isShape = a.dtype == b.dtype;
        difference.kind = isShape ? "shape" : "dtype";
        difference.a = isShape ? toString(a.shape) : std::string(dtypeName(a.dtype));
        difference.b = isShape ? toString(b.shape) : std::string(dtypeName(b.dtype));
        return difference;
    }
    difference.kind = "value";
    const int64_t at = std::max<int64_t>(figures.worst >= 0 ? figures.worst : figures.first, 0);
    NumberFormat exact; // what differs must not look alike
    exact.digits = NumberFormat::kExact;
    difference.a = elementText(a, at, exact);
    difference.b = elementText(b, at, exact);
    difference.at = elementIndexText(a.shape, at);
    return difference;
}

} // namespace loopscope
