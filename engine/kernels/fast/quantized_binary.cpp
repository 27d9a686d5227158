// ADD, SUB and MUL of 8-bit integers with the two roundings of the reference's fixed point: what the reference does by cases is done by
// masks here, eight numbers at a time where the machine has AVX2. Equal bits.
#include "engine/base/cpu_level.h"
#include "engine/kernels/cpu/output_stage_avx512.h"
#include "engine/kernels/cpu/quantized_math.h"
#include "engine/kernels/fast/binary.h"
#include "engine/kernels/fast/broadcasting.h"
#include "engine/kernels/kernel.h"

#include <algorithm>
#include <memory>

namespace loopscope::fast {

namespace {

/// A quantized multiplier whose shifts are distances of vector instructions.
struct Factor {
    int32_t fixed = 0;
    int32_t left = 0, right = 0;

    bool set(QuantizedMultiplier from, int extraLeft)
    {
        fixed = from.multiplier;
        left = std::max(from.shift, 0) + extraLeft;
        right = std::max(-from.shift, 0);
        return left <= 31 && right <= 31;
    }
};

/// multiplyByQuantizedMultiplier(x · 2^(extra shift), …). With a factor that is not negative the rule of the high product is
/// (x·factor + 2³⁰) >> 31 for both signs.
inline int32_t scaled(int32_t x, Factor f)
{
    const auto shifted = static_cast<int32_t>(static_cast<uint32_t>(x) << f.left);
    const auto high = static_cast<int32_t>((int64_t{shifted} * f.fixed + (int64_t{1} << 30)) >> 31);
    const auto mask = static_cast<int32_t>((uint32_t{1} << f.right) - 1);
    const int32_t threshold = (mask >> 1) + (high < 0 ? 1 : 0);
    return (high >> f.right) + ((high & mask) > threshold ? 1 : 0);
}

struct QuantizedParams {
    int32_t zeroA = 0, zeroB = 0, zeroOut = 0, low = 0, high = 0;
    int32_t sign = 1;
    Factor a, b, out;
};

template <bool isProduct> inline int32_t combined(int32_t x, int32_t y, const QuantizedParams& p)
{
    int32_t value = 0;
    if constexpr (isProduct) value = scaled((x - p.zeroA) * (y - p.zeroB), p.out);
    else value = scaled(scaled(x - p.zeroA, p.a) + p.sign * scaled(y - p.zeroB, p.b), p.out);
    return std::min(std::max(value + p.zeroOut, p.low), p.high);
}

#if LS_HAS_AVX2

const bool kUseAvx2 = cpuHas(CpuLevel::avx2), kUseAvx512 = cpuHas(CpuLevel::avx512);

[[gnu::target("avx2")]] inline __m256i widened(const int8_t* x)
{
    return _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(x)));
}
[[gnu::target("avx2")]] inline __m256i widened(const uint8_t* x)
{
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(x)));
}

/// A factor in vectors.
struct WideFactor {
    __m256i fixed, left, right;
};
[[gnu::target("avx2")]] inline WideFactor wideFactor(const Factor& f)
{
    return {_mm256_set1_epi32(f.fixed), _mm256_set1_epi32(f.left), _mm256_set1_epi32(f.right)};
}
[[gnu::target("avx2")]] inline __m256i scaled(__m256i x, const WideFactor& f)
{
    return roundingDivide(doublingHighMul(_mm256_sllv_epi32(x, f.left), f.fixed), f.right);
}

/// How far whole vectors go; `stepA` and `stepB`: 0, where one number counts for all.
template <typename T, bool isProduct> [[gnu::target("avx2")]] int64_t combineWide(const T* a, int64_t stepA, const T* b, int64_t stepB,
                                                                                  T* y, int64_t count, const QuantizedParams& p)
{
    const WideFactor factorA = wideFactor(p.a), factorB = wideFactor(p.b), factorOut = wideFactor(p.out);
    const __m256i zeroA = _mm256_set1_epi32(p.zeroA), zeroB = _mm256_set1_epi32(p.zeroB), zeroOut = _mm256_set1_epi32(p.zeroOut);
    const __m256i low = _mm256_set1_epi32(p.low), high = _mm256_set1_epi32(p.high), bytes = _mm256_set1_epi32(0x0C080400);
    const __m256i sign = _mm256_set1_epi32(p.sign);
    const __m256i onlyA = _mm256_set1_epi32(*a), onlyB = _mm256_set1_epi32(*b);
    int64_t i = 0;
    for (; i + 8 <= count; i += 8) {
        const __m256i left = _mm256_sub_epi32(stepA ? widened(a + i) : onlyA, zeroA);
        const __m256i right = _mm256_sub_epi32(stepB ? widened(b + i) : onlyB, zeroB);
        __m256i value;
        if constexpr (isProduct) value = _mm256_mullo_epi32(left, right);
        else value = _mm256_add_epi32(scaled(left, factorA), _mm256_sign_epi32(scaled(right, factorB), sign));
        value = _mm256_add_epi32(scaled(value, factorOut), zeroOut);
        value = _mm256_shuffle_epi8(_mm256_min_epi32(_mm256_max_epi32(value, low), high), bytes);
        const __m128i together = _mm_unpacklo_epi32(_mm256_castsi256_si128(value), _mm256_extracti128_si256(value, 1));
        _mm_storel_epi64(reinterpret_cast<__m128i*>(y + i), together);
    }
    return i;
}

// The same for sixteen numbers, and all of them.

LS_AVX512 inline __m512i widened(const int8_t* x, __mmask16 mask)
{
    return _mm512_maskz_cvtepi8_epi32(kAllChannels, _mm_maskz_loadu_epi8(mask, x));
}
LS_AVX512 inline __m512i widened(const uint8_t* x, __mmask16 mask)
{
    return _mm512_maskz_cvtepu8_epi32(kAllChannels, _mm_maskz_loadu_epi8(mask, x));
}

struct WidestFactor {
    __m512i fixed, left, right;
};
LS_AVX512 inline WidestFactor widestFactor(const Factor& f)
{
    return {_mm512_set1_epi32(f.fixed), _mm512_set1_epi32(f.left), _mm512_set1_epi32(f.right)};
}
LS_AVX512 inline __m512i scaled(__m512i x, const WidestFactor& f)
{
    return roundingDivide(doublingHighMul(_mm512_maskz_sllv_epi32(kAllChannels, x, f.left), f.fixed), f.right);
}

template <typename T, bool isProduct>
LS_AVX512 void combineWidest(const T* a, int64_t stepA, const T* b, int64_t stepB, T* y, int64_t count, const QuantizedParams& p)
{
    const WidestFactor factorA = widestFactor(p.a), factorB = widestFactor(p.b), factorOut = widestFactor(p.out);
    const __m512i zeroA = _mm512_set1_epi32(p.zeroA), zeroB = _mm512_set1_epi32(p.zeroB), zeroOut = _mm512_set1_epi32(p.zeroOut);
    const __m512i low = _mm512_set1_epi32(p.low), high = _mm512_set1_epi32(p.high);
    const __m512i onlyA = _mm512_set1_epi32(*a), onlyB = _mm512_set1_epi32(*b);
    for (int64_t i = 0; i < count; i += 16) {
        const __mmask16 mask = maskOf(count - i);
        const __m512i left = _mm512_sub_epi32(stepA ? widened(a + i, mask) : onlyA, zeroA);
        const __m512i right = _mm512_sub_epi32(stepB ? widened(b + i, mask) : onlyB, zeroB);
        __m512i value;
        if constexpr (isProduct) {
            value = _mm512_mullo_epi32(left, right);
        } else {
            const __m512i first = scaled(left, factorA), second = scaled(right, factorB);
            value = p.sign < 0 ? _mm512_sub_epi32(first, second) : _mm512_add_epi32(first, second);
        }
        storeBytes(y + i, mask, clamped(_mm512_add_epi32(scaled(value, factorOut), zeroOut), low, high));
    }
}

#endif

template <typename T, bool isProduct>
void combineRow(const T* a, int64_t stepA, const T* b, int64_t stepB, T* y, int64_t count, const QuantizedParams& p)
{
    int64_t i = 0;
#if LS_HAS_AVX2
    if (kUseAvx512) return combineWidest<T, isProduct>(a, stepA, b, stepB, y, count, p);
    if (kUseAvx2) i = combineWide<T, isProduct>(a, stepA, b, stepB, y, count, p);
#endif
    for (; i < count; ++i) y[i] = static_cast<T>(combined<isProduct>(a[i * stepA], b[i * stepB], p));
}

template <typename T, bool isProduct> Status run(const KernelArgs& args)
{
    const auto& params = args.paramsAs<QuantizedParams>();
    visitRows<T>(args, [&params](const T* a, const T* b, T* y, int64_t count, Repeated repeated) {
        combineRow<T, isProduct>(a, repeated == Repeated::first ? 0 : 1, b, repeated == Repeated::second ? 0 : 1, y, count, params);
    });
    return {};
}

} // namespace

Result<PreparedKernel> prepareQuantizedBinary(const KernelSetup& setup, QuantizedFunction function)
{
    const DType dtype = setup.in(0).dtype;
    for (const Tensor* const tensor : {&setup.in(0), &setup.in(1), &setup.out(0)})
        if (tensor->dtype != dtype || !isQuantized(*tensor) || !(scaleAndZero(*tensor).scale > 0) ||
            scaleAndZero(*tensor).zero < integerMin(dtype) || scaleAndZero(*tensor).zero > static_cast<int64_t>(integerMax(dtype)))
            return Error(ErrorCode::unsupported, "quantized operands of one dtype with zero points of it")
                .found(std::string(dtypeName(tensor->dtype)));
    const auto a = scaleAndZero(setup.in(0)), b = scaleAndZero(setup.in(1)), out = scaleAndZero(setup.out(0));
    auto params = std::make_shared<QuantizedParams>();
    params->zeroA = a.zero;
    params->zeroB = b.zero;
    params->zeroOut = out.zero;
    LS_TRY(const ActivationRange<int32_t> range, quantizedActivationRange(fusedActivation(setup.attributes()), setup.out(0)));
    params->low = range.min;
    params->high = range.max;
    const bool isProduct = function == QuantizedFunction::mul;
    bool fits = false;
    if (isProduct) {
        fits = params->out.set(quantizeMultiplier(a.scale * b.scale / out.scale), 0);
    } else {
        // Both operands at a common scale with 20 bits of headroom, as the reference has them.
        constexpr int kHeadroom = 20;
        const double twiceMax = 2 * static_cast<double>(std::max(a.scale, b.scale));
        params->sign = function == QuantizedFunction::sub ? -1 : 1;
        fits = params->a.set(quantizeMultiplier(static_cast<double>(a.scale) / twiceMax), kHeadroom);
        fits = params->b.set(quantizeMultiplier(static_cast<double>(b.scale) / twiceMax), kHeadroom) && fits;
        fits = params->out.set(quantizeMultiplier(twiceMax / (static_cast<double>(1 << kHeadroom) * static_cast<double>(out.scale))), 0) &&
               fits;
        // Sums of numbers below 2²⁹ cannot leave 32 bits; a factor above one half would allow larger ones.
        fits = fits && params->a.left == kHeadroom && params->b.left == kHeadroom;
    }
    // What is added to a result far out of range must not wrap around: the reference's does so after saturating.
    if (!fits || params->out.left > 0) return Error(ErrorCode::unsupported, "scales that need a shift to the left");
    const bool isSigned = dtype == DType::i8;
    if (isProduct) return PreparedKernel{isSigned ? run<int8_t, true> : run<uint8_t, true>, std::move(params)};
    return PreparedKernel{isSigned ? run<int8_t, false> : run<uint8_t, false>, std::move(params)};
}

} // namespace loopscope::fast
