#include "engine/tensor/compare.h"

#include "engine/tensor/half.h"
#include "engine/tensor/npy.h"
#include "engine/tensor/statistics.h"
#include "engine/tensor/strings.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace loopscope {

namespace {

/// Distance in representable values: bit patterns are mapped to integers that grow with the number (−0 and +0 are 1 apart, so that a
/// changed sign of zero shows).
template <typename Signed> int64_t ulpDistance(Signed a, Signed b)
{
    using Unsigned = std::make_unsigned_t<Signed>;
    constexpr Unsigned sign = Unsigned{1} << (8 * sizeof(Signed) - 1);
    const auto ordered = [](Signed bits) -> uint64_t {
        const auto u = static_cast<Unsigned>(bits);
        return bits < 0 ? static_cast<Unsigned>(~u) : static_cast<Unsigned>(u | sign);
    };
    const uint64_t x = ordered(a), y = ordered(b);
    return static_cast<int64_t>(std::min<uint64_t>(x > y ? x - y : y - x, INT64_MAX));
}

template <typename T> T load(const Tensor& t, int64_t i)
{
    T value;
    std::memcpy(&value, t.data + static_cast<size_t>(i) * sizeof(T), sizeof(T));
    return value;
}

std::optional<int64_t> ulpOf(const Tensor& a, const Tensor& b, int64_t i)
{
    switch (a.dtype) {
    case DType::f64: return ulpDistance(load<int64_t>(a, i), load<int64_t>(b, i));
    case DType::f32: return ulpDistance(load<int32_t>(a, i), load<int32_t>(b, i));
    case DType::f16:
    case DType::bf16: return ulpDistance(load<int16_t>(a, i), load<int16_t>(b, i));
    case DType::f8e4m3fn:
    case DType::f8e5m2: return ulpDistance(load<int8_t>(a, i), load<int8_t>(b, i));
    default: return std::nullopt;
    }
}

/// Collects the figures of a Comparison element by element.
class Collector {
public:
    Collector(const Tolerance& tolerance, Comparison& result) : m_tolerance(tolerance), m_result(result) {}

    /// What `atol` is from now on, for the elements of one row.
    void setAbsolute(double atol) { m_absolute = atol; }

    /// `same`: no difference at all. `ulp`: distance, where it means something.
    void add(int64_t index, double got, double want, bool same, std::optional<int64_t> ulp)
    {
        if (std::isfinite(got) && std::isfinite(want)) {
            m_dot += got * want;
            m_gotSquare += got * got;
            m_wantSquare += want * want;
        } else if (!same) {
            m_unlike = true;
        }
        if (same) return;
        ++m_result.different;
        const bool finite = std::isfinite(got) && std::isfinite(want);
        const double difference = finite ? std::fabs(got - want) : std::numeric_limits<double>::infinity();
        if (m_result.worst < 0 || difference > m_result.maxAbs) {
            m_result.worst = index;
            m_result.maxAbs = difference;
            m_result.got = got;
            m_result.want = want;
        }
        const double relative = want != 0 && finite ? difference / std::fabs(want) : std::numeric_limits<double>::infinity();
        if (difference > 0) m_result.maxRel = std::max(m_result.maxRel, relative);
        if (ulp) m_result.maxUlp = std::max(m_result.maxUlp.value_or(0), finite ? *ulp : INT64_MAX);

        bool within = m_tolerance.close || m_tolerance.ulp || m_tolerance.cosine;
        if (m_tolerance.close) within = within && finite && difference <= m_absolute + m_tolerance.close->rtol * std::fabs(want);
        if (m_tolerance.ulp) within = within && finite && ulp && *ulp <= *m_tolerance.ulp;
        if (m_firstDifferent < 0) m_firstDifferent = index;
        if (!within) {
            if (m_result.beyond++ == 0) m_result.first = index;
        }
    }

    void finish()
    {
        const double norms = std::sqrt(m_gotSquare) * std::sqrt(m_wantSquare);
        if (m_unlike) m_result.cosine = 0;
        else if (norms > 0) m_result.cosine = m_dot / norms;
        else m_result.cosine = m_gotSquare == m_wantSquare ? 1 : 0;
        if (m_result.first < 0) m_result.first = m_firstDifferent;
        m_result.equal = m_result.beyond == 0 && (!m_tolerance.cosine || m_result.cosine >= *m_tolerance.cosine);
    }

private:
    const Tolerance& m_tolerance;
    Comparison& m_result;
    double m_dot = 0, m_gotSquare = 0, m_wantSquare = 0;
    double m_absolute = m_tolerance.close ? m_tolerance.close->atol : 0;
    bool m_unlike = false;
    int64_t m_firstDifferent = -1;
};

Comparison compareStrings(const Tensor& got, const Tensor& want, Comparison result)
{
    const auto a = unpackStrings(got.view());
    const auto b = unpackStrings(want.view());
    if (!a.ok() || !b.ok()) {
        result.mismatch = "damaged strings";
        return result;
    }
    if (a->size() != b->size()) {
        result.mismatch = std::to_string(a->size()) + " strings, want " + std::to_string(b->size());
        return result;
    }
    for (size_t i = 0; i < a->size(); ++i) {
        if ((*a)[i] == (*b)[i]) continue;
        if (result.beyond++ == 0) result.first = result.worst = static_cast<int64_t>(i);
        result.maxAbs = std::numeric_limits<double>::infinity();
    }
    result.different = result.beyond;
    result.equal = result.beyond == 0;
    return result;
}

/// The absolute tolerance row by row (Tolerance::Close::neighbourhood).
class RowTolerance {
public:
    RowTolerance(const Tolerance& tolerance, const Tensor& want, int64_t count)
        : m_close(tolerance.close && std::isfinite(tolerance.close->neighbourhood) ? &*tolerance.close : nullptr),
          m_want(want),
          m_count(count),
          m_length(want.shape.rank() > 0 ? std::max<int64_t>(want.shape.back(), 1) : 1)
    {
        if (m_close) m_whole = largest(0, count);
    }

    /// To be called for every element in order.
    void at(int64_t i, Collector& collector) const
    {
        if (!m_close || i % m_length != 0) return;
        const double row = largest(i, std::min(i + m_length, m_count));
        const double scale = row > 0 ? row : m_whole;
        collector.setAbsolute(scale > 0 ? std::min(m_close->atol, m_close->neighbourhood * scale) : m_close->atol);
    }

private:
    double largest(int64_t begin, int64_t end) const
    {
        double most = 0;
        for (int64_t i = begin; i < end; ++i)
            if (const double value = std::fabs(elementAsReal(m_want, i)); std::isfinite(value)) most = std::max(most, value);
        return most;
    }

    const Tolerance::Close* m_close;
    const Tensor& m_want;
    int64_t m_count, m_length;
    double m_whole = 0;
};

/// Complex numbers differ by the magnitude of their difference; got and want report magnitudes.
template <typename T> void compareComplex(const Tensor& got, const Tensor& want, Collector& collector)
{
    for (int64_t i = 0; i < got.elementCount(); ++i) {
        const T gr = load<T>(got, 2 * i), gi = load<T>(got, 2 * i + 1), wr = load<T>(want, 2 * i), wi = load<T>(want, 2 * i + 1);
        const auto alike = [](T x, T y) { return (std::isnan(x) && std::isnan(y)) || x == y; };
        const double magnitude = std::hypot(static_cast<double>(wr), static_cast<double>(wi));
        // The tolerance looks at |got − want| and |want|: moving along the real line by the distance keeps both.
        const double distance = std::hypot(static_cast<double>(gr) - wr, static_cast<double>(gi) - wi);
        collector.add(i, magnitude + distance, magnitude, alike(gr, wr) && alike(gi, wi), std::nullopt);
    }
}

} // namespace

Comparison compareTensors(const Tensor& got, const Tensor& want, const Tolerance& tolerance, bool anyDtype)
{
    Comparison result;
    const auto isNumber = [](DType d) { return isFloat(d) || isInteger(d) || d == DType::boolean; };
    if (got.dtype != want.dtype && !(anyDtype && isNumber(got.dtype) && isNumber(want.dtype))) {
        result.mismatch = "dtype " + std::string(dtypeName(got.dtype)) + ", want " + std::string(dtypeName(want.dtype));
        return result;
    }
    if (!(got.shape == want.shape)) {
        result.mismatch = "shape " + toString(got.shape) + ", want " + toString(want.shape);
        return result;
    }
    result.elements = got.elementCount();
    if (got.dtype == DType::string) return compareStrings(got, want, result);

    Collector collector(tolerance, result);
    const bool real = (got.quantization != nullptr && want.quantization != nullptr) || got.dtype != want.dtype;
    if (got.dtype == DType::c64) {
        compareComplex<float>(got, want, collector);
    } else if (got.dtype == DType::c128) {
        compareComplex<double>(got, want, collector);
    } else if (isNumber(got.dtype)) {
        const bool integers = !real && !isFloat(got.dtype);
        Tensor a = got, b = want;
        if (!real) a.quantization = b.quantization = nullptr;
        const RowTolerance rows(tolerance, b, integers ? 0 : result.elements);
        for (int64_t i = 0; i < result.elements; ++i) {
            if (!integers) rows.at(i, collector);
            const double x = elementAsReal(a, i), y = elementAsReal(b, i);
            if (integers) {
                collector.add(i, x, y, elementAsInteger(a, i) == elementAsInteger(b, i), std::nullopt);
            } else if (std::isnan(x) && std::isnan(y)) {
                collector.add(i, x, y, true, std::nullopt);
            } else {
                const auto ulp = real ? std::nullopt : ulpOf(a, b, i);
                // Under a tolerance a zero equals the other zero; under exact comparison signs of zero differ.
                const bool same = tolerance.isExact() && ulp ? *ulp == 0 : x == y;
                collector.add(i, x, y, same, ulp);
            }
        }
    } else if (got.bytes != want.bytes || (got.bytes > 0 && std::memcmp(got.data, want.data, got.bytes) != 0)) {
        result.beyond = result.different = 1; // handles and block formats have no numbers of their own: bytes decide
        result.maxAbs = std::numeric_limits<double>::infinity();
        return result;
    }
    collector.finish();
    return result;
}

std::string elementIndexText(const Shape& shape, int64_t flat)
{
    std::vector<int64_t> index(static_cast<size_t>(shape.rank()));
    for (int d = shape.rank() - 1; d >= 0; --d) {
        const int64_t size = std::max<int64_t>(shape[d], 1);
        index[static_cast<size_t>(d)] = flat % size;
        flat /= size;
    }
    std::string text = "[";
    for (size_t d = 0; d < index.size(); ++d) text += (d > 0 ? "," : "") + std::to_string(index[d]);
    return text + "]";
}

} // namespace loopscope
