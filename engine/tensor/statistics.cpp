// Statistics of tensors. Each dtype is read through a small reader; f32 and the integers, of which large tensors are made, have loops of
// their own. Sums are taken per block of 512 elements about the block's mean and joined by Chan's rule, so that a large offset does not
// eat the deviation.
#include "engine/tensor/statistics.h"

#include "engine/tensor/half.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace loopscope {

namespace {

constexpr int64_t kBlock = StatisticsBlock::kElements;

/// Running minimum, maximum, mean and sum of squared deviations.
struct Moments {
    int64_t count = 0;
    double min = std::numeric_limits<double>::infinity();
    double max = -std::numeric_limits<double>::infinity();
    double mean = 0;
    double squares = 0;

    /// Joins with those of `n` more elements (Chan, Golub, LeVeque 1979).
    void join(int64_t n, double otherMin, double otherMax, double otherMean, double otherSquares)
    {
        if (n == 0) return;
        min = std::min(min, otherMin);
        max = std::max(max, otherMax);
        const double total = static_cast<double>(count + n);
        const double delta = otherMean - mean;
        mean += delta * (static_cast<double>(n) / total);
        squares += otherSquares + delta * delta * (static_cast<double>(count) * static_cast<double>(n) / total);
        count += n;
    }
};

/// Adds up to kBlock finite numbers. Four lanes, so that additions do not wait for each other.
void addBlock(Moments& moments, const double* x, int64_t n)
{
    if (n == 0) return;
    double low[4], high[4], sum[4] = {};
    for (int lane = 0; lane < 4; ++lane) low[lane] = high[lane] = x[0];
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        for (int lane = 0; lane < 4; ++lane) {
            const double v = x[i + lane];
            low[lane] = v < low[lane] ? v : low[lane];
            high[lane] = v > high[lane] ? v : high[lane];
            sum[lane] += v;
        }
    }
    for (; i < n; ++i) {
        low[0] = std::min(low[0], x[i]);
        high[0] = std::max(high[0], x[i]);
        sum[0] += x[i];
    }
    const double least = std::min(std::min(low[0], low[1]), std::min(low[2], low[3]));
    const double most = std::max(std::max(high[0], high[1]), std::max(high[2], high[3]));
    // A sum that overflows is taken again of scaled numbers.
    double mean = (sum[0] + sum[1] + sum[2] + sum[3]) / static_cast<double>(n);
    if (!std::isfinite(mean)) {
        mean = 0;
        for (int64_t k = 0; k < n; ++k) mean += x[k] / static_cast<double>(n);
    }
    // Rounding must not carry the mean outside the values.
    mean = std::clamp(mean, least, most);
    double squares[4] = {};
    for (i = 0; i + 4 <= n; i += 4) {
        for (int lane = 0; lane < 4; ++lane) {
            const double d = x[i + lane] - mean;
            squares[lane] += d * d;
        }
    }
    for (; i < n; ++i) squares[0] += (x[i] - mean) * (x[i] - mean);
    moments.join(n, least, most, mean, squares[0] + squares[1] + squares[2] + squares[3]);
}

void finish(TensorStatistics& s, const Moments& moments)
{
    s.finite = moments.count;
    if (moments.count == 0) return;
    s.min = moments.min;
    s.max = moments.max;
    // Means of opposite huge numbers overflow on the way.
    s.mean = std::isfinite(moments.mean) ? std::clamp(moments.mean, moments.min, moments.max) : moments.min / 2 + moments.max / 2;
    s.std = moments.min == moments.max ? 0 : std::sqrt(moments.squares / static_cast<double>(moments.count));
}

/// Numbers whose reader tells floats apart: `read(i)` gives the real value, `isDenormal(i)` looks at the bits.
template <typename Read, typename IsDenormal> void addReals(TensorStatistics& s, int64_t n, Read read, IsDenormal isDenormal)
{
    Moments moments;
    double block[kBlock];
    for (int64_t begin = 0; begin < n; begin += kBlock) {
        const int64_t end = std::min(n, begin + kBlock);
        int64_t kept = 0;
        for (int64_t i = begin; i < end; ++i) {
            const double v = read(i);
            s.zeros += v == 0;
            s.denormal += isDenormal(i);
            if (std::isfinite(v)) [[likely]] {
                block[kept++] = v;
                continue;
            }
            if (s.firstAbnormal < 0) s.firstAbnormal = i;
            if (std::isnan(v)) ++s.nan;
            else if (v > 0) ++s.positiveInf;
            else ++s.negativeInf;
        }
        addBlock(moments, block, kept);
    }
    finish(s, moments);
}

bool isDenormalFloat(uint32_t bits) { return (bits & 0x7f800000U) == 0 && (bits & 0x007fffffU) != 0; }

void addF32(TensorStatistics& s, const std::byte* data, int64_t n)
{
    Moments moments;
    double block[kBlock];
    for (int64_t begin = 0; begin < n; begin += kBlock) {
        const int64_t size = std::min(n - begin, kBlock);
        uint32_t bits[kBlock];
        std::memcpy(bits, data + begin * 4, static_cast<size_t>(size) * 4);
        // One pass of integers tells whether the block needs a second look at single elements.
        uint32_t special = 0, denormal = 0, zeros = 0;
        for (int64_t i = 0; i < size; ++i) {
            const uint32_t magnitude = bits[i] & 0x7fffffffU;
            special += magnitude >= 0x7f800000U;
            zeros += magnitude == 0;
            denormal += magnitude - 1 < 0x007fffffU;
        }
        s.zeros += zeros;
        s.denormal += denormal;
        int64_t kept = size;
        float values[kBlock];
        std::memcpy(values, bits, static_cast<size_t>(size) * 4);
        if (special == 0) [[likely]] {
            for (int64_t i = 0; i < size; ++i) block[i] = static_cast<double>(values[i]);
        } else {
            kept = 0;
            for (int64_t i = 0; i < size; ++i) {
                if ((bits[i] & 0x7f800000U) != 0x7f800000U) {
                    block[kept++] = static_cast<double>(values[i]);
                    continue;
                }
                if (s.firstAbnormal < 0) s.firstAbnormal = begin + i;
                if ((bits[i] & 0x007fffffU) != 0) ++s.nan;
                else if ((bits[i] >> 31) == 0) ++s.positiveInf;
                else ++s.negativeInf;
            }
        }
        addBlock(moments, block, kept);
    }
    finish(s, moments);
}

template <typename T> T load(const std::byte* data, int64_t index)
{
    T value;
    std::memcpy(&value, data + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
    return value;
}

/// Element `index` of a packed type; the first element lies in the lowest bits.
int64_t loadPacked(const std::byte* data, int64_t index, int bits, bool isSigned)
{
    const int perByte = 8 / bits;
    const auto byte = static_cast<unsigned>(data[index / perByte]);
    const unsigned field = (byte >> (static_cast<int>(index % perByte) * bits)) & ((1U << bits) - 1U);
    const auto value = static_cast<int64_t>(field);
    return isSigned && (field >> (bits - 1)) != 0 ? value - (int64_t{1} << bits) : value;
}

/// Scale and zero point of element `index`, for any affine quantization.
struct Affine {
    const Quantization* q = nullptr;
    int64_t inner = 1, count = 1; ///< elements that share an index along the axis; indices along it

    explicit Affine(const Tensor& tensor)
    {
        q = tensor.quantization;
        if (q == nullptr || q->kind != Quantization::Kind::affine || q->scales.empty()) {
            q = nullptr;
            return;
        }
        if (q->scales.size() > 1) {
            const int rank = tensor.shape.rank();
            // An axis or a number of scales that does not fit the shape at hand: the first scale counts for all.
            if (q->axis >= 0 && q->axis < rank && tensor.shape[q->axis] == static_cast<int64_t>(q->scales.size())) {
                inner = tensor.shape.countOf(q->axis + 1, rank);
                count = tensor.shape[q->axis];
            }
        }
    }
    size_t channel(int64_t index) const { return count == 1 ? 0 : static_cast<size_t>((index / inner) % count); }
    double scale(size_t channel) const { return static_cast<double>(q->scales[channel]); }
    int64_t zeroPoint(size_t channel) const { return channel < q->zeroPoints.size() ? q->zeroPoints[channel] : 0; }
    double real(int64_t stored, int64_t index) const
    {
        if (q == nullptr) return static_cast<double>(stored);
        const size_t c = channel(index);
        return scale(c) * (static_cast<double>(stored) - static_cast<double>(zeroPoint(c)));
    }
};

template <typename Load> void addIntegers(TensorStatistics& s, const Tensor& tensor, int64_t n, Load loadStored)
{
    const Affine affine(tensor);
    const double low = static_cast<double>(integerMin(tensor.dtype));
    const double high = static_cast<double>(integerMax(tensor.dtype));
    const bool isQuantized = affine.q != nullptr;
    Moments moments;
    double block[kBlock];
    for (int64_t begin = 0; begin < n; begin += kBlock) {
        const int64_t size = std::min(n - begin, kBlock);
        for (int64_t i = 0; i < size; ++i) block[i] = static_cast<double>(loadStored(begin + i));
        if (isQuantized) {
            for (int64_t i = 0; i < size; ++i) s.saturated += block[i] == low || block[i] == high;
            for (int64_t i = 0; i < size; ++i) {
                const size_t c = affine.channel(begin + i);
                block[i] = affine.scale(c) * (block[i] - static_cast<double>(affine.zeroPoint(c)));
            }
        }
        int64_t zeros = 0, kept = 0;
        for (int64_t i = 0; i < size; ++i) zeros += block[i] == 0;
        s.zeros += zeros;
        // A damaged scale may be NaN or infinite: such elements are no finite ones.
        for (int64_t i = 0; i < size; ++i) {
            if (std::isfinite(block[i])) [[likely]]
                block[kept++] = block[i];
            else {
                if (s.firstAbnormal < 0) s.firstAbnormal = begin + i;
                if (std::isnan(block[i])) ++s.nan;
                else if (block[i] > 0) ++s.positiveInf;
                else ++s.negativeInf;
            }
        }
        addBlock(moments, block, kept);
    }
    finish(s, moments);
}

int64_t storedInteger(const Tensor& t, int64_t index)
{
    switch (t.dtype) {
    case DType::i2: return loadPacked(t.data, index, 2, true);
    case DType::i4: return loadPacked(t.data, index, 4, true);
    case DType::u4: return loadPacked(t.data, index, 4, false);
    case DType::i8:
    case DType::qi8: return load<int8_t>(t.data, index);
    case DType::u8:
    case DType::qu8:
    case DType::boolean: return load<uint8_t>(t.data, index);
    case DType::i16:
    case DType::qi16: return load<int16_t>(t.data, index);
    case DType::u16:
    case DType::qu16: return load<uint16_t>(t.data, index);
    case DType::i32:
    case DType::qi32: return load<int32_t>(t.data, index);
    case DType::u32: return load<uint32_t>(t.data, index);
    case DType::i64:
    case DType::u64: return load<int64_t>(t.data, index);
    default: return 0;
    }
}

double storedReal(const Tensor& t, int64_t index)
{
    switch (t.dtype) {
    case DType::f32: return static_cast<double>(load<float>(t.data, index));
    case DType::f64: return load<double>(t.data, index);
    case DType::f16: return static_cast<double>(f16ToFloat(load<uint16_t>(t.data, index)));
    case DType::bf16: return static_cast<double>(bf16ToFloat(load<uint16_t>(t.data, index)));
    case DType::f8e4m3fn: return static_cast<double>(f8e4m3fnToFloat(load<uint8_t>(t.data, index)));
    case DType::f8e5m2: return static_cast<double>(f8e5m2ToFloat(load<uint8_t>(t.data, index)));
    case DType::c64:
        return std::hypot(static_cast<double>(load<float>(t.data, 2 * index)), static_cast<double>(load<float>(t.data, 2 * index + 1)));
    case DType::c128: return std::hypot(load<double>(t.data, 2 * index), load<double>(t.data, 2 * index + 1));
    default: return std::numeric_limits<double>::quiet_NaN();
    }
}

bool isDenormalAt(const Tensor& t, int64_t index)
{
    switch (t.dtype) {
    case DType::f32: return isDenormalFloat(load<uint32_t>(t.data, index));
    case DType::f64: {
        const auto bits = load<uint64_t>(t.data, index);
        return (bits & 0x7ff0000000000000U) == 0 && (bits & 0x000fffffffffffffU) != 0;
    }
    case DType::f16: {
        const auto bits = load<uint16_t>(t.data, index);
        return (bits & 0x7c00U) == 0 && (bits & 0x03ffU) != 0;
    }
    case DType::bf16: {
        const auto bits = load<uint16_t>(t.data, index);
        return (bits & 0x7f80U) == 0 && (bits & 0x007fU) != 0;
    }
    case DType::f8e4m3fn: {
        const auto bits = load<uint8_t>(t.data, index);
        return (bits & 0x78U) == 0 && (bits & 0x07U) != 0;
    }
    case DType::f8e5m2: {
        const auto bits = load<uint8_t>(t.data, index);
        return (bits & 0x7cU) == 0 && (bits & 0x03U) != 0;
    }
    default: return false;
    }
}

bool hasNumbers(DType dtype)
{
    switch (dtypeClass(dtype)) {
    case DTypeClass::floating:
    case DTypeClass::signedInteger:
    case DTypeClass::unsignedInteger:
    case DTypeClass::boolean:
    case DTypeClass::complex: return true;
    default: return false;
    }
}

} // namespace

TensorStatistics computeStatistics(const Tensor& tensor)
{
    TensorStatistics s;
    const int64_t n = tensor.elementCount();
    s.elements = n;
    if (n <= 0 || tensor.data == nullptr || !hasNumbers(tensor.dtype) || tensor.bytes < byteSize(tensor.dtype, n)) return s;
    const std::byte* data = tensor.data;
    switch (tensor.dtype) {
    case DType::f32: addF32(s, data, n); break;
    case DType::i8:
    case DType::qi8: addIntegers(s, tensor, n, [data](int64_t i) { return load<int8_t>(data, i); }); break;
    case DType::u8:
    case DType::qu8: addIntegers(s, tensor, n, [data](int64_t i) { return load<uint8_t>(data, i); }); break;
    case DType::i16:
    case DType::qi16: addIntegers(s, tensor, n, [data](int64_t i) { return load<int16_t>(data, i); }); break;
    case DType::i32:
    case DType::qi32: addIntegers(s, tensor, n, [data](int64_t i) { return load<int32_t>(data, i); }); break;
    case DType::i64: addIntegers(s, tensor, n, [data](int64_t i) { return load<int64_t>(data, i); }); break;
    case DType::u64: addIntegers(s, tensor, n, [data](int64_t i) { return load<uint64_t>(data, i); }); break;
    case DType::boolean:
        addReals(
            s, n, [data](int64_t i) { return load<uint8_t>(data, i) != 0 ? 1.0 : 0.0; }, [](int64_t) { return false; });
        break;
    default:
        if (isInteger(tensor.dtype)) {
            addIntegers(s, tensor, n, [&tensor](int64_t i) { return storedInteger(tensor, i); });
        } else {
            addReals(
                s, n, [&tensor](int64_t i) { return storedReal(tensor, i); }, [&tensor](int64_t i) { return isDenormalAt(tensor, i); });
        }
    }
    return s;
}

TensorStatistics joinStatistics(int64_t elements, std::span<const StatisticsBlock> blocks)
{
    TensorStatistics s;
    s.elements = elements;
    Moments moments;
    int64_t begin = 0;
    for (const StatisticsBlock& block : blocks) {
        s.zeros += block.zeros;
        s.nan += block.nan;
        s.positiveInf += block.positiveInf;
        s.negativeInf += block.negativeInf;
        s.denormal += block.denormal;
        if (s.firstAbnormal < 0 && block.firstAbnormal >= 0) s.firstAbnormal = begin + block.firstAbnormal;
        moments.join(block.finite, block.min, block.max, block.mean, block.squares);
        begin += kBlock;
    }
    finish(s, moments);
    return s;
}

double elementAsReal(const Tensor& tensor, int64_t index)
{
    if (tensor.dtype == DType::u64) return static_cast<double>(load<uint64_t>(tensor.data, index));
    if (tensor.dtype == DType::boolean) return load<uint8_t>(tensor.data, index) != 0 ? 1.0 : 0.0;
    if (isInteger(tensor.dtype)) return Affine(tensor).real(storedInteger(tensor, index), index);
    return storedReal(tensor, index);
}

int64_t elementAsInteger(const Tensor& tensor, int64_t index)
{
    return tensor.dtype == DType::boolean ? static_cast<int64_t>(load<uint8_t>(tensor.data, index) != 0) : storedInteger(tensor, index);
}

} // namespace loopscope
