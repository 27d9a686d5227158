// CAST between any two of bool, integers, floats and complex: a block of elements is read into one wide type and written from there, so
// that n dtypes need n readers and writers instead of n² loops.
#include "engine/kernels/cpu/elementwise.h"
#include "engine/kernels/registry.h"

#include <algorithm>
#include <cmath>

using namespace loopscope;

namespace {

constexpr int64_t kBlock = 256;

/// Element `i` of a packed tensor, lowest bits first, sign-extended for the signed types.
template <int bits, bool isSigned> int64_t packedElement(const std::byte* data, int64_t i)
{
    constexpr int kPerByte = 8 / bits;
    const auto byte = static_cast<unsigned>(data[i / kPerByte]);
    const unsigned value = (byte >> ((i % kPerByte) * bits)) & ((1U << bits) - 1);
    const bool negative = isSigned && (value >> (bits - 1)) != 0;
    return negative ? static_cast<int64_t>(value) - (1 << bits) : static_cast<int64_t>(value);
}

// ---- readers: elements [begin, begin + count) into `wide` ----

using ReadIntegers = void (*)(const std::byte* data, int64_t begin, int64_t count, int64_t* wide);
using ReadReals = void (*)(const std::byte* data, int64_t begin, int64_t count, double* wide);

template <typename T> void readIntegers(const std::byte* data, int64_t begin, int64_t count, int64_t* wide)
{
    const T* in = reinterpret_cast<const T*>(data) + begin;
    for (int64_t i = 0; i < count; ++i) wide[i] = static_cast<int64_t>(in[i]);
}
template <int bits, bool isSigned> void readPacked(const std::byte* data, int64_t begin, int64_t count, int64_t* wide)
{
    for (int64_t i = 0; i < count; ++i) wide[i] = packedElement<bits, isSigned>(data, begin + i);
}
template <typename T> void readReals(const std::byte* data, int64_t begin, int64_t count, double* wide)
{
    const T* in = reinterpret_cast<const T*>(data) + begin;
    for (int64_t i = 0; i < count; ++i) wide[i] = static_cast<double>(Element<T>::load(in[i]));
}
/// The real part.
void readComplex(const std::byte* data, int64_t begin, int64_t count, double* wide)
{
    const float* in = reinterpret_cast<const float*>(data) + 2 * begin;
    for (int64_t i = 0; i < count; ++i) wide[i] = static_cast<double>(in[2 * i]);
}

ReadIntegers integerReader(DType dtype)
{
    switch (dtype) {
    case DType::boolean:
    case DType::u8: return readIntegers<uint8_t>;
    case DType::i8: return readIntegers<int8_t>;
    case DType::i16: return readIntegers<int16_t>;
    case DType::u16: return readIntegers<uint16_t>;
    case DType::i32: return readIntegers<int32_t>;
    case DType::u32: return readIntegers<uint32_t>;
    case DType::i64: return readIntegers<int64_t>;
    case DType::i4: return readPacked<4, true>;
    case DType::u4: return readPacked<4, false>;
    case DType::i2: return readPacked<2, true>;
    default: return nullptr;
    }
}

ReadReals realReader(DType dtype)
{
    switch (dtype) {
    case DType::f32: return readReals<float>;
    case DType::f64: return readReals<double>;
    case DType::f16: return readReals<Half>;
    case DType::bf16: return readReals<BFloat16>;
    case DType::c64: return readComplex;
    default: return nullptr;
    }
}

// ---- writers ----

/// Towards zero, saturating; NaN gives the largest. Source: LiteRT kernels/cast.cc, SaturatingCastFloatingToInteger.
template <typename T> T saturate(double value)
{
    constexpr auto kMin = static_cast<double>(std::numeric_limits<T>::lowest());
    constexpr auto kMax = static_cast<double>(std::numeric_limits<T>::max()); // of i64: 2⁶³, which is one too many
    if (std::isnan(value) || value >= kMax) return std::numeric_limits<T>::max();
    if (value <= kMin) return std::numeric_limits<T>::lowest();
    return static_cast<T>(value);
}

template <typename T, typename Wide> void writeNumbers(std::byte* data, int64_t begin, int64_t count, const Wide* wide)
{
    T* out = reinterpret_cast<T*>(data) + begin;
    for (int64_t i = 0; i < count; ++i) {
        if constexpr (std::is_integral_v<T> && std::is_floating_point_v<Wide>) out[i] = saturate<T>(wide[i]);
        else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) out[i] = Element<T>::store(static_cast<float>(wide[i]));
        else out[i] = static_cast<T>(wide[i]);
    }
}
template <typename Wide> void writeBools(std::byte* data, int64_t begin, int64_t count, const Wide* wide)
{
    for (int64_t i = 0; i < count; ++i) data[begin + i] = static_cast<std::byte>(wide[i] != 0);
}
template <typename Wide> void writeComplex(std::byte* data, int64_t begin, int64_t count, const Wide* wide)
{
    float* out = reinterpret_cast<float*>(data) + 2 * begin;
    for (int64_t i = 0; i < count; ++i) {
        out[2 * i] = static_cast<float>(wide[i]);
        out[2 * i + 1] = 0.0F;
    }
}
/// Floats to packed integers saturate. Blocks begin at whole bytes.
template <int bits, int low, int high> void writePacked(std::byte* data, int64_t begin, int64_t count, const double* wide)
{
    constexpr int kPerByte = 8 / bits;
    for (int64_t i = 0; i < count; ++i) {
        const double clamped = std::max<double>(low, std::min<double>(high, wide[i]));
        const auto value = static_cast<unsigned>(static_cast<int>(clamped)) & ((1U << bits) - 1);
        std::byte& byte = data[(begin + i) / kPerByte];
        const int shift = static_cast<int>((begin + i) % kPerByte) * bits;
        byte = (shift == 0 ? std::byte{0} : byte) | static_cast<std::byte>(value << shift);
    }
}

template <typename Wide> using Write = void (*)(std::byte* data, int64_t begin, int64_t count, const Wide* wide);

template <typename Wide> Write<Wide> writer(DType dtype)
{
    if constexpr (std::is_same_v<Wide, double>) {
        if (dtype == DType::i4) return writePacked<4, -8, 7>;
        if (dtype == DType::u4) return writePacked<4, 0, 15>;
        if (dtype == DType::i2) return writePacked<2, -2, 1>;
    }
    switch (dtype) {
    case DType::boolean: return writeBools<Wide>;
    case DType::u8: return writeNumbers<uint8_t, Wide>;
    case DType::i8: return writeNumbers<int8_t, Wide>;
    case DType::i16: return writeNumbers<int16_t, Wide>;
    case DType::u16: return writeNumbers<uint16_t, Wide>;
    case DType::i32: return writeNumbers<int32_t, Wide>;
    case DType::u32: return writeNumbers<uint32_t, Wide>;
    case DType::i64: return writeNumbers<int64_t, Wide>;
    case DType::f32: return writeNumbers<float, Wide>;
    case DType::f64: return writeNumbers<double, Wide>;
    case DType::f16: return writeNumbers<Half, Wide>;
    case DType::bf16: return writeNumbers<BFloat16, Wide>;
    case DType::c64: return writeComplex<Wide>;
    default: return nullptr;
    }
}

template <typename Wide> struct CastParams {
    void (*read)(const std::byte*, int64_t, int64_t, Wide*) = nullptr;
    Write<Wide> write = nullptr;
};

template <typename Wide> Status runCast(const KernelArgs& args)
{
    const auto& p = args.paramsAs<CastParams<Wide>>();
    Wide wide[kBlock];
    const int64_t count = args.out(0).elementCount();
    for (int64_t begin = 0; begin < count; begin += kBlock) {
        const int64_t size = std::min(kBlock, count - begin);
        p.read(args.in(0).data, begin, size, wide);
        p.write(args.out(0).data, begin, size, wide);
    }
    return {};
}

Status runSameDtype(const KernelArgs& args)
{
    if (args.out(0).bytes > 0) std::copy_n(args.in(0).data, args.out(0).bytes, args.out(0).data);
    return {};
}

Result<PreparedKernel> prepareCast(const KernelSetup& setup)
{
    const DType from = setup.in(0).dtype;
    const DType to = setup.out(0).dtype;
    if (from == to && bitWidth(from) > 0) return PreparedKernel{runSameDtype, nullptr};
    if (const ReadIntegers read = integerReader(from)) {
        if (const auto write = writer<int64_t>(to))
            return PreparedKernel{runCast<int64_t>, std::make_shared<const CastParams<int64_t>>(CastParams<int64_t>{read, write})};
    }
    if (const ReadReals read = realReader(from)) {
        if (const auto write = writer<double>(to))
            return PreparedKernel{runCast<double>, std::make_shared<const CastParams<double>>(CastParams<double>{read, write})};
    }
    return unsupportedDtypes(setup);
}

} // namespace

LS_DEFINE_KERNELS(tfl, cast)
{
    registry.add({"tfl", "cast", Profile::reference, prepareCast, "f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 i4 u4 i2 bool c64"});
}

LS_DEFINE_KERNELS(tfl, stablehlo_convert)
{
    registry.add({"tfl", "stablehlo_convert", Profile::reference, prepareCast, "f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 bool"});
}
