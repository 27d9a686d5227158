#include "viewer/tensor/histogram.h"

#include "engine/tensor/half.h"
#include "engine/tensor/statistics.h"
#include "engine/tensor/strings.h"
#include "viewer/tensor/cell.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

namespace loopscope::viewer {

namespace {

constexpr double kNothing = std::numeric_limits<double>::infinity(); ///< low end of what holds no finite number
constexpr size_t kBins = 64, kMostBars = 256;

bool isByteFloat(DType dtype) { return dtype == DType::f8e4m3fn || dtype == DType::f8e5m2; }

bool isQuantized(const Tensor& tensor)
{
    return isInteger(tensor.dtype) && tensor.quantization != nullptr && tensor.quantization->kind == Quantization::Kind::affine;
}

/// Bytes in the order of what they stand for, −0 before 0, NaN last.
struct ByteOrder {
    std::array<uint8_t, 256> bar{};
    std::vector<double> values;
    explicit ByteOrder(DType dtype)
    {
        std::array<double, 256> all{};
        for (size_t byte = 0; byte < all.size(); ++byte)
            all[byte] = static_cast<double>(dtype == DType::f8e4m3fn ? f8e4m3fnToFloat(static_cast<uint8_t>(byte))
                                                                     : f8e5m2ToFloat(static_cast<uint8_t>(byte)));
        std::array<uint8_t, 256> order{};
        std::iota(order.begin(), order.end(), uint8_t{0});
        std::ranges::stable_sort(order, [&](uint8_t a, uint8_t b) {
            if (std::isnan(all[a]) || std::isnan(all[b])) return !std::isnan(all[a]);
            return all[a] < all[b] || (all[a] == all[b] && std::signbit(all[a]) && !std::signbit(all[b]));
        });
        for (size_t i = 0; i < order.size(); ++i) {
            bar[order[i]] = static_cast<uint8_t>(i);
            values.push_back(all[order[i]]);
        }
    }
};

const ByteOrder& orderOf(DType dtype)
{
    static const ByteOrder e4m3(DType::f8e4m3fn), e5m2(DType::f8e5m2);
    return dtype == DType::f8e4m3fn ? e4m3 : e5m2;
}

bool isDenormal(DType dtype, uint64_t bits)
{
    struct Fields {
        int exponent, mantissa;
    };
    const Fields f = dtype == DType::f64        ? Fields{11, 52}
                     : dtype == DType::f32      ? Fields{8, 23}
                     : dtype == DType::f16      ? Fields{5, 10}
                     : dtype == DType::bf16     ? Fields{8, 7}
                     : dtype == DType::f8e4m3fn ? Fields{4, 3}
                     : dtype == DType::f8e5m2   ? Fields{5, 2}
                                                : Fields{0, 0};
    const uint64_t mantissa = (uint64_t{1} << f.mantissa) - 1, exponent = ((uint64_t{1} << f.exponent) - 1) << f.mantissa;
    return f.exponent > 0 && (bits & exponent) == 0 && (bits & mantissa) != 0;
}

/// Reads elements one by one as numbers to count.
class Reader {
public:
    explicit Reader(const Counted& counted) : m_counted(counted), m_isRaw(isQuantized(counted.tensor))
    {
        if (dtypeClass(counted.tensor.dtype) != DTypeClass::string) return;
        if (auto unpacked = unpackStrings(counted.tensor.view()); unpacked.ok()) m_strings = std::move(unpacked).value();
    }
    struct Number {
        double value = 0;
        uint64_t bits = 0;
    };
    Number at(int64_t i) const
    {
        const int64_t flat = m_counted.at(i);
        if (dtypeClass(m_counted.tensor.dtype) == DTypeClass::string) {
            const auto at = static_cast<size_t>(flat);
            return {at < m_strings.size() ? static_cast<double>(m_strings[at].size()) : 0.0, 0};
        }
        const Cell cell = cellOf(m_counted.tensor, flat);
        return {m_isRaw ? static_cast<double>(static_cast<int64_t>(cell.bits)) : cell.real, cell.bits};
    }

private:
    const Counted& m_counted;
    const bool m_isRaw;
    std::vector<std::string_view> m_strings;
};

bool canCount(const Counted& counted)
{
    const Tensor& tensor = counted.tensor;
    const DTypeClass c = dtypeClass(tensor.dtype);
    if (tensor.data == nullptr || counted.count() == 0 || c == DTypeClass::handle || c == DTypeClass::block || c == DTypeClass::none)
        return false;
    return bitWidth(tensor.dtype) == 0 || tensor.bytes >= byteSize(tensor.dtype, tensor.elementCount());
}

Histogram begun(const Counted& counted)
{
    const Tensor& tensor = counted.tensor;
    Histogram h;
    h.total = counted.count();
    h.low = kNothing;
    h.high = -kNothing;
    h.clips = isQuantized(tensor);
    const int width = bitWidth(tensor.dtype);
    if (isByteFloat(tensor.dtype)) {
        h.exact = true;
        h.values = orderOf(tensor.dtype).values;
        h.bins.assign(kMostBars, 0);
        for (const double value : h.values) {
            if (!std::isfinite(value)) continue;
            h.low = std::min(h.low, value);
            h.high = std::max(h.high, value);
        }
        return h;
    }
    h.exact = (isInteger(tensor.dtype) || tensor.dtype == DType::boolean) && width <= 8;
    if (!h.exact) return h;
    h.low = tensor.dtype == DType::boolean ? 0 : static_cast<double>(integerMin(tensor.dtype));
    h.bins.assign(tensor.dtype == DType::boolean ? 2 : size_t{1} << width, 0);
    h.high = h.low + static_cast<double>(h.bins.size()) - 1;
    return h;
}

void countIn(Histogram& h, double v)
{
    const double scale = h.exact ? 1 : h.high > h.low ? static_cast<double>(h.bins.size()) / (h.high - h.low) : 0;
    ++h.bins[static_cast<size_t>(std::clamp((v - h.low) * scale, 0.0, static_cast<double>(h.bins.size()) - 1))];
}

/// Counts what is no number and finds the range; exact bars of dtypes are full then.
void lookAt(Histogram& h, const Reader& reader, DType dtype, int64_t from, int64_t to, int64_t stride)
{
    for (int64_t i = from; i < to; i += stride) {
        const auto [v, bits] = reader.at(i);
        ++h.looked;
        if (isDenormal(dtype, bits)) ++h.denormal;
        if (!h.values.empty()) ++h.bins[orderOf(dtype).bar[bits & 255]];
        if (std::isnan(v)) ++h.nan;
        else if (std::isinf(v)) ++(v > 0 ? h.positiveInf : h.negativeInf);
        else if (!h.values.empty()) continue;
        else if (h.exact) countIn(h, v);
        else {
            h.low = std::min(h.low, v);
            h.high = std::max(h.high, v);
        }
    }
}

void fillBins(Histogram& h, const Reader& reader, int64_t from, int64_t to, int64_t stride)
{
    for (int64_t i = from; i < to; i += stride)
        if (const double v = reader.at(i).value; std::isfinite(v)) countIn(h, v);
}

/// True if the elements must be gone through once more.
bool wantsBins(Histogram& h, DType dtype)
{
    if (h.exact) return false;
    if (h.low > h.high) {
        h.low = h.high = 0;
        return false;
    }
    h.exact = dtypeClass(dtype) == DTypeClass::string && h.high - h.low < static_cast<double>(kMostBars); // lengths
    h.bins.assign(h.exact ? static_cast<size_t>(h.high - h.low) + 1 : kBins, 0);
    return true;
}

} // namespace

Histogram histogramOf(const Counted& counted, int64_t most)
{
    if (!canCount(counted)) {
        Histogram none;
        none.total = counted.count();
        return none;
    }
    const Reader reader(counted);
    Histogram h = begun(counted);
    const int64_t stride = std::max<int64_t>(1, h.total / most);
    lookAt(h, reader, counted.tensor.dtype, 0, h.total, stride);
    if (wantsBins(h, counted.tensor.dtype)) fillBins(h, reader, 0, h.total, stride);
    return h;
}

double HistogramScan::share() const
{
    const double passes = histogram.exact && !counts ? 1 : 2;
    if (done || histogram.total == 0) return done ? 1 : 0;
    return (static_cast<double>(next) / static_cast<double>(histogram.total) + (counts ? 1 : 0)) / passes;
}

HistogramScan continueScan(HistogramScan scan, const Counted& counted, int64_t elements)
{
    Histogram& h = scan.histogram;
    if (!canCount(counted)) {
        scan.done = true;
        return scan;
    }
    const Reader reader(counted);
    if (scan.next == 0 && !scan.counts) h = begun(counted);
    const int64_t end = std::min(h.total, scan.next + elements);
    if (scan.counts) fillBins(h, reader, scan.next, end, 1);
    else lookAt(h, reader, counted.tensor.dtype, scan.next, end, 1);
    scan.next = end;
    if (end < h.total) return scan;
    scan.done = scan.counts || !wantsBins(h, counted.tensor.dtype);
    scan.counts = true;
    if (!scan.done) scan.next = 0;
    return scan;
}

} // namespace loopscope::viewer
