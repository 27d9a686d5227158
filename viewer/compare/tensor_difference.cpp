#include "viewer/compare/tensor_difference.h"

#include "engine/tensor/statistics.h"

#include <algorithm>
#include <cmath>

namespace loopscope::viewer {

namespace {

constexpr size_t kBins = 40;
constexpr int64_t kMostForMedian = 1'000'000; ///< elements, spread evenly

std::string typeText(const Tensor& tensor) { return std::string(dtypeName(tensor.dtype)) + toString(tensor.shape); }

void addQuantization(TensorDifference& out, const char* side, const Tensor& tensor)
{
    if (tensor.quantization == nullptr || !tensor.quantization->isPerTensor()) return;
    const std::string name(side);
    out.facts.emplace_back(name + " scale, zero",
                           shortNumber(tensor.quantization->scale()) + ", " + std::to_string(tensor.quantization->zeroPoint()));
    if (!isInteger(tensor.dtype) || bitWidth(tensor.dtype) > 16 || tensor.elementCount() == 0) return;
    const int64_t lowest = integerMin(tensor.dtype), highest = static_cast<int64_t>(integerMax(tensor.dtype));
    int64_t atLow = 0, atHigh = 0;
    for (int64_t i = 0; i < tensor.elementCount(); ++i) {
        const int64_t value = elementAsInteger(tensor, i);
        atLow += value == lowest ? 1 : 0;
        atHigh += value == highest ? 1 : 0;
    }
    const auto share = [&](int64_t count) {
        return shortNumber(100.0 * static_cast<double>(count) / static_cast<double>(tensor.elementCount())) + " %";
    };
    out.facts.emplace_back(name + " at " + std::to_string(highest), share(atHigh));
    out.facts.emplace_back(name + " at " + std::to_string(lowest), share(atLow));
}

/// The default axes, with the others where the largest difference lies.
AxisChoice axesAt(const Shape& shape, int64_t flat)
{
    AxisChoice axes = defaultAxes(shape);
    // A picture with channels is looked at one channel at a time.
    if (shape.rank() == 4) {
        axes.rows = {1};
        axes.column = 2;
    }
    axes.fixed.assign(static_cast<size_t>(shape.rank()), 0);
    for (int d = shape.rank() - 1; d >= 0 && flat >= 0; --d) {
        const int64_t size = std::max<int64_t>(shape[d], 1);
        axes.fixed[static_cast<size_t>(d)] = flat % size;
        flat /= size;
    }
    return axes;
}

} // namespace

TensorDifference differenceOf(const Tensor& here, const Tensor& there, const DifferenceRequest& request)
{
    TensorDifference out;
    out.typeHere = typeText(here);
    out.typeThere = typeText(there);
    out.quantizedHere = here.quantization != nullptr;
    out.quantizedThere = there.quantization != nullptr;
    out.shape = here.shape;
    const auto isNumber = [](DType d) { return isFloat(d) || isInteger(d) || d == DType::boolean; };
    if (!(here.shape == there.shape)) {
        out.why = "the shapes differ: A " + out.typeHere + ", B " + out.typeThere;
        return out;
    }
    if (!isNumber(here.dtype) || !isNumber(there.dtype)) {
        out.why = "no numbers to subtract: A " + out.typeHere + ", B " + out.typeThere;
        return out;
    }
    out.present = true;
    out.elements = here.elementCount();

    // The largest differences, and how all of them are spread.
    const auto size = [](const LargeDifference& d) {
        const double apart = std::fabs(d.there - d.here);
        return std::isnan(apart) ? (std::isnan(d.here) && std::isnan(d.there) ? 0 : INFINITY) : apart;
    };
    const auto larger = [&](const LargeDifference& a, const LargeDifference& b) { return size(a) > size(b); };
    std::vector<double> sample;
    const int64_t every = std::max<int64_t>(1, out.elements / kMostForMedian);
    for (int64_t i = 0; i < out.elements; ++i) {
        const LargeDifference each{i, elementAsReal(here, i), elementAsReal(there, i)};
        const double apart = each.there - each.here;
        if (std::isfinite(apart)) {
            out.low = std::min(out.low, apart);
            out.high = std::max(out.high, apart);
            if (i % every == 0) sample.push_back(std::fabs(apart));
        } else if (size(each) > 0) {
            ++out.notFinite;
        }
        if (size(each) == 0 || (out.largest.size() == request.largest && !larger(each, out.largest.back()))) continue;
        out.largest.insert(std::upper_bound(out.largest.begin(), out.largest.end(), each, larger), each);
        if (out.largest.size() > request.largest) out.largest.pop_back();
    }
    if (!sample.empty()) {
        std::nth_element(sample.begin(), sample.begin() + std::ssize(sample) / 2, sample.end());
        out.median = sample[sample.size() / 2];
    }
    if (out.low < out.high) {
        out.bins.assign(kBins, 0);
        const double scale = static_cast<double>(kBins) / (out.high - out.low);
        for (int64_t i = 0; i < out.elements; ++i) {
            const double apart = elementAsReal(there, i) - elementAsReal(here, i);
            if (std::isfinite(apart)) ++out.bins[std::min(kBins - 1, static_cast<size_t>((apart - out.low) * scale))];
        }
    }

    out.axes = request.axes ? fittedAxes(*request.axes, out.shape) : axesAt(out.shape, out.largest.empty() ? 0 : out.largest.front().flat);
    out.here = readBlocks(here, out.axes);
    out.there = readBlocks(there, out.axes);
    out.difference = viewer::difference(out.there, out.here);
    addQuantization(out, "A", here);
    addQuantization(out, "B", there);
    return out;
}

} // namespace loopscope::viewer
