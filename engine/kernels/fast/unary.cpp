// Element-wise functions of one operand: floats in vectors of the machine at hand, with polynomials of our own for what is transcendental;
// 8-bit integers through a table that the reference kernel itself fills, so that it has its bits.
#include "engine/base/vectorised.h"
#include "engine/kernels/cpu/nn_common.h"
#include "engine/kernels/fast/functions.h"
#include "engine/kernels/fast/product_avx512.h"
#include "engine/kernels/registry.h"
#include "engine/kernels/resources.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <type_traits>
#include <vector>

#if LS_HAS_AVX512
#include <immintrin.h>
#endif

using namespace loopscope;
using namespace loopscope::fast;

namespace {

enum class Function : uint8_t {
    relu,
    relu6,
    reluN1To1,
    relu0To1,
    leakyRelu,
    hardSwish,
    abs,
    neg,
    square,
    exp,
    logistic,
    tanh,
    geluApproximate,
    gelu
};

/// As the reference kernel has it wherever that is exact.
template <Function f> inline float valueOf(float x, float constant)
{
    if constexpr (f == Function::relu) return x < 0.0F ? 0.0F : x;
    if constexpr (f == Function::relu6) return x < 0.0F ? 0.0F : x > 6.0F ? 6.0F : x;
    if constexpr (f == Function::reluN1To1) return x < -1.0F ? -1.0F : x > 1.0F ? 1.0F : x;
    if constexpr (f == Function::relu0To1) return x < 0.0F ? 0.0F : x > 1.0F ? 1.0F : x;
    if constexpr (f == Function::leakyRelu) {
        const float below = x * constant; // always computed: a vector has no other way
        return x > 0.0F ? x : below;
    }
    if constexpr (f == Function::hardSwish) return x * std::min(6.0F, std::max(0.0F, x + 3)) / 6;
    if constexpr (f == Function::abs) return std::fabs(x);
    if constexpr (f == Function::neg) return -x;
    if constexpr (f == Function::square) return x * x;
    if constexpr (f == Function::exp) return exponential(x);
    if constexpr (f == Function::logistic) return sigmoid(x);
    if constexpr (f == Function::tanh) return hyperbolicTangent(x);
    if constexpr (f == Function::geluApproximate)
        return 0.5F * x * (1.0F + hyperbolicTangent(0.797884560802865F * (x + 0.044715F * (x * x * x))));
    if constexpr (f == Function::gelu) return 0.5F * x * (1.0F + errorFunction(x * 0.707106781186547524F));
}

template <Function f> LS_VECTORISED_WIDEST void applyTo(const float* x, float* y, int64_t count, float constant)
{
    for (int64_t i = 0; i < count; ++i) y[i] = valueOf<f>(x[i], constant);
}

template <Function f> Status runFloats(const KernelArgs& args)
{
    const auto constant = args.paramsAs<float>();
    constexpr int64_t kBlock = 1024;
    const int64_t count = args.out(0).elementCount();
    shareWork(args, (count + kBlock - 1) / kBlock, kBlock * (f >= Function::exp ? 4 : 1), [&](int64_t begin, int64_t end, int) {
        const int64_t first = begin * kBlock;
        applyTo<f>(args.in(0).as<float>() + first, args.out(0).as<float>() + first, std::min(end * kBlock, count) - first, constant);
    });
    return {};
}

/// Of results so small that nothing is shared: what is computed is less than what it takes to ask whether there is something to share.
struct FewFloats {
    float constant;
    int64_t count;
};
constexpr int64_t kFew = 4096;
template <Function f> Status runFewFloats(const KernelArgs& args)
{
    const auto& few = args.paramsAs<FewFloats>();
    applyTo<f>(args.in(0).as<float>(), args.out(0).as<float>(), few.count, few.constant);
    return {};
}

/// The kernel for floats.
template <Function f> PreparedKernel preparedFloats(const KernelSetup& setup, float constant)
{
    if (setup.shapesAreStatic && setup.out(0).shape.isStatic() && setup.out(0).elementCount() <= kFew)
        return {runFewFloats<f>, std::make_shared<const FewFloats>(FewFloats{constant, setup.out(0).elementCount()})};
    return {runFloats<f>, std::make_shared<const float>(constant)};
}

// ---- tables ----

struct ByteTable {
    std::array<uint8_t, 256> bytes;
    std::array<float, 256> floats;
};

#if LS_HAS_AVX512

/// Sixty-four bytes are looked up at a time: a permutation knows half of the table, the highest bit chooses between the halves.
[[gnu::target("avx512f,avx512bw,avx512vbmi")]] void lookUpWide(const uint8_t* table, const uint8_t* x, int64_t count, uint8_t* y)
{
    const __m512i t0 = _mm512_loadu_si512(table), t1 = _mm512_loadu_si512(table + 64), t2 = _mm512_loadu_si512(table + 128),
                  t3 = _mm512_loadu_si512(table + 192);
    for (int64_t i = 0; i < count; i += 64) {
        const __mmask64 mask = count - i >= 64 ? ~__mmask64{0} : (__mmask64{1} << (count - i)) - 1;
        const __m512i index = _mm512_maskz_loadu_epi8(mask, x + i);
        const __m512i low = _mm512_permutex2var_epi8(t0, index, t1), high = _mm512_permutex2var_epi8(t2, index, t3);
        _mm512_mask_storeu_epi8(y + i, mask, _mm512_mask_blend_epi8(_mm512_movepi8_mask(index), low, high));
    }
}

const bool kLooksUpWide = cpuHas(CpuLevel::avx512vnni) && __builtin_cpu_supports("avx512vbmi") != 0;

#endif

void lookUp(const uint8_t* table, const uint8_t* x, int64_t count, uint8_t* y)
{
#if LS_HAS_AVX512
    if (kLooksUpWide) return lookUpWide(table, x, count, y);
#endif
    for (int64_t i = 0; i < count; ++i) y[i] = table[x[i]];
}
void lookUp(const float* table, const uint8_t* x, int64_t count, float* y)
{
    for (int64_t i = 0; i < count; ++i) y[i] = table[x[i]];
}

/// `To`: uint8_t (any 8-bit numbers) or float.
template <typename To> Status runTable(const KernelArgs& args)
{
    const To* table;
    if constexpr (std::is_same_v<To, float>) table = args.paramsAs<ByteTable>().floats.data();
    else table = args.paramsAs<ByteTable>().bytes.data();
    const auto* const x = args.in(0).as<uint8_t>();
    To* const y = args.out(0).as<To>();
    shareWork(args, args.out(0).elementCount(), 1,
              [&](int64_t begin, int64_t end, int) { lookUp(table, x + begin, end - begin, y + begin); });
    return {};
}

/// DEQUANTIZE, where what the reference kernel has found for all bytes is (x − zero) · scale: a vector has no tables.
struct ScaledBytes {
    float scale;
    int32_t zero;
};
template <typename T> LS_VECTORISED void scaleBytes(const T* x, int64_t count, float scale, int32_t zero, float* y)
{
    for (int64_t i = 0; i < count; ++i) y[i] = static_cast<float>(x[i] - zero) * scale;
}
template <typename T> Status runScaled(const KernelArgs& args)
{
    const auto by = args.paramsAs<ScaledBytes>();
    shareWork(args, args.out(0).elementCount(), 1, [&](int64_t begin, int64_t end, int) {
        scaleBytes(args.in(0).as<T>() + begin, end - begin, by.scale, by.zero, args.out(0).as<float>() + begin);
    });
    return {};
}
template <typename T> bool isScaled(const std::array<float, 256>& table, ScaledBytes by)
{
    for (int i = 0; i < 256; ++i) {
        const float value = static_cast<float>(static_cast<T>(i) - by.zero) * by.scale;
        if (std::bit_cast<uint32_t>(value) != std::bit_cast<uint32_t>(table[static_cast<size_t>(i)])) return false;
    }
    return true;
}

/// What the reference kernel of an element-wise operator needs to run on 256 numbers.
class TableRuntime : public KernelRuntime {
public:
    std::byte* scratch(size_t bytes) override
    {
        m_scratch.resize(bytes);
        return m_scratch.data();
    }
    Status resize(Tensor&, const Shape&, size_t) override { return Error(ErrorCode::unsupported, "no table"); }
    ResourceStore& resources() override { return m_resources; }
    RandomState& random() override { return m_random; }

private:
    std::vector<std::byte> m_scratch;
    ResourceStore m_resources;
    RandomState m_random;
};

bool isByte(DType dtype) { return dtype == DType::i8 || dtype == DType::u8; }

/// The results of all 256 bytes by the reference kernel. Errors: what that says; unsupported, where other elements or a scale for each
/// channel matter.
Result<PreparedKernel> prepareTable(const KernelSetup& setup)
{
    const DType to = setup.out(0).dtype;
    if (!isByte(setup.in(0).dtype) || !(isByte(to) || to == DType::f32))
        return Error(ErrorCode::unsupported, "f32, i8 and u8 only").found(std::string(dtypeName(setup.in(0).dtype)));
    std::array<uint8_t, 256> all = {};
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint8_t>(i);
    auto table = std::make_shared<ByteTable>();
    Tensor in = setup.in(0), out = setup.out(0);
    for (const Tensor* const tensor : {&in, &out})
        if (tensor->quantization && tensor->quantization->scales.size() > 1)
            return Error(ErrorCode::unsupported, "a scale for each channel");
    in.shape = out.shape = Shape({256});
    in.data = reinterpret_cast<std::byte*>(all.data());
    in.bytes = all.size();
    out.data = to == DType::f32 ? reinterpret_cast<std::byte*>(table->floats.data()) : reinterpret_cast<std::byte*>(table->bytes.data());
    out.bytes = to == DType::f32 ? sizeof(table->floats) : sizeof(table->bytes);
    const Tensor* const ins[] = {&in};
    const Tensor* const outs[] = {&out};
    Tensor* const results[] = {&out};
    const KernelEntry* const reference = KernelRegistry::builtin().find(setup.op.kind, Profile::reference);
    if (!reference) return Error(ErrorCode::unsupported, "no kernel");
    LS_TRY(const PreparedKernel kernel, reference->prepare({setup.op, ins, outs, true, setup.model, Profile::reference}));
    TableRuntime runtime;
    LS_CHECK_OK(kernel.run({ins, results, kernel.params.get(), &runtime, 1, 1}));
    if (to == DType::f32 && in.quantization && in.quantization->isPerTensor() && in.quantization->kind == Quantization::Kind::affine) {
        const ScaledBytes by = {in.quantization->scale(), static_cast<int32_t>(in.quantization->zeroPoint())};
        const bool isSigned = in.dtype == DType::i8;
        if (isSigned ? isScaled<int8_t>(table->floats, by) : isScaled<uint8_t>(table->floats, by))
            return PreparedKernel{isSigned ? runScaled<int8_t> : runScaled<uint8_t>, std::make_shared<const ScaledBytes>(by)};
    }
    return PreparedKernel{to == DType::f32 ? runTable<float> : runTable<uint8_t>, std::move(table)};
}

// ---- QUANTIZE of floats ----

struct StoredScale {
    float scale;
    int32_t zero;
};

/// x / scale rounded to nearest, halves away from zero, plus the zero point. What does not fit 32 bits, and NaN, becomes the smallest
/// number first, as the reference built for x86 has it.
template <typename T> LS_VECTORISED void storeTo(const float* x, T* y, int64_t count, float scale, int32_t zero)
{
    for (int64_t i = 0; i < count; ++i) {
        const float value = x[i] / scale;
        const int32_t fits = std::fabs(value) < 2147483648.0F ? -1 : 0; // a mask: conditions would become branches
        const auto some = std::bit_cast<float>(std::bit_cast<int32_t>(value) & fits);
        const auto whole = static_cast<int32_t>(some);
        const float rest = some - static_cast<float>(whole);
        const int32_t rounded = whole + (rest >= 0.5F ? 1 : 0) - (rest <= -0.5F ? 1 : 0);
        const uint32_t sum =
            static_cast<uint32_t>((rounded & fits) | (std::numeric_limits<int32_t>::min() & ~fits)) + static_cast<uint32_t>(zero);
        const int32_t low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
        y[i] = static_cast<T>(std::min(std::max(static_cast<int32_t>(sum), low), high));
    }
}

template <typename T> Status runStore(const KernelArgs& args)
{
    const auto to = args.paramsAs<StoredScale>();
    constexpr int64_t kBlock = 1024;
    const int64_t count = args.out(0).elementCount();
    shareWork(args, (count + kBlock - 1) / kBlock, kBlock, [&](int64_t begin, int64_t end, int) {
        const int64_t first = begin * kBlock;
        storeTo<T>(args.in(0).as<float>() + first, args.out(0).as<T>() + first, std::min(end * kBlock, count) - first, to.scale, to.zero);
    });
    return {};
}

Result<PreparedKernel> prepareQuantize(const KernelSetup& setup)
{
    const Tensor& out = setup.out(0);
    if (setup.in(0).dtype != DType::f32 || !isByte(out.dtype)) return prepareTable(setup);
    if (!out.quantization || !out.quantization->isPerTensor()) return Error(ErrorCode::unsupported, "a scale for each channel");
    const int64_t zero = out.quantization->zeroPoint();
    if (zero < integerMin(out.dtype) || zero > static_cast<int64_t>(integerMax(out.dtype)))
        return Error(ErrorCode::unsupported, "a zero point outside of the dtype");
    return PreparedKernel{out.dtype == DType::i8 ? runStore<int8_t> : runStore<uint8_t>,
                          std::make_shared<const StoredScale>(StoredScale{out.quantization->scale(), static_cast<int32_t>(zero)})};
}

template <Function f> Result<PreparedKernel> prepareUnary(const KernelSetup& setup)
{
    if (setup.in(0).dtype != DType::f32 || setup.out(0).dtype != DType::f32) return prepareTable(setup);
    float constant = 0;
    if constexpr (f == Function::leakyRelu) constant = static_cast<float>(attributeFloat(setup.attributes(), "alpha", 0.0));
    const bool isApproximate = f == Function::gelu && attributeBool(setup.attributes(), "approximate", false);
    return isApproximate ? preparedFloats<Function::geluApproximate>(setup, constant) : preparedFloats<f>(setup, constant);
}

template <Function f> KernelEntry entryOf(std::string_view name, ErrorBounds bounds = kExact)
{
    return {"tfl", name, Profile::fast, prepareUnary<f>, "f32 i8 u8", bounds};
}
KernelEntry tableOf(std::string_view name) { return {"tfl", name, Profile::fast, prepareTable, "i8 u8", kExact}; }

} // namespace

LS_DEFINE_PROFILE_KERNELS(fast, tfl, relu) { registry.add(entryOf<Function::relu>("relu")); }
LS_DEFINE_PROFILE_KERNELS(fast, tfl, relu6) { registry.add(entryOf<Function::relu6>("relu6")); }
LS_DEFINE_PROFILE_KERNELS(fast, tfl, relu_n1_to_1) { registry.add(entryOf<Function::reluN1To1>("relu_n1_to_1")); }
LS_DEFINE_PROFILE_KERNELS(fast, tfl, relu_0_to_1) { registry.add(entryOf<Function::relu0To1>("relu_0_to_1")); }
LS_DEFINE_PROFILE_KERNELS(fast, tfl, leaky_relu) { registry.add(entryOf<Function::leakyRelu>("leaky_relu")); }
LS_DEFINE_PROFILE_KERNELS(fast, tfl, hard_swish) { registry.add(entryOf<Function::hardSwish>("hard_swish")); }
LS_DEFINE_PROFILE_KERNELS(fast, tfl, abs) { registry.add(entryOf<Function::abs>("abs")); }
LS_DEFINE_PROFILE_KERNELS(fast, tfl, neg) { registry.add(entryOf<Function::neg>("neg")); }
LS_DEFINE_PROFILE_KERNELS(fast, tfl, square) { registry.add(entryOf<Function::square>("square")); }
LS_DEFINE_PROFILE_KERNELS(fast, tfl, exp) { registry.add(entryOf<Function::exp>("exp", withinUlp(3))); }
LS_DEFINE_PROFILE_KERNELS(fast, tfl, logistic) { registry.add(entryOf<Function::logistic>("logistic", withinUlp(5))); }
LS_DEFINE_PROFILE_KERNELS(fast, tfl, tanh) { registry.add(entryOf<Function::tanh>("tanh", withinUlp(5))); }
LS_DEFINE_PROFILE_KERNELS(fast, tfl, gelu) { registry.add(entryOf<Function::gelu>("gelu", withinOfLargest(1e-6))); }
LS_DEFINE_PROFILE_KERNELS(fast, tfl, elu) { registry.add(tableOf("elu")); }
LS_DEFINE_PROFILE_KERNELS(fast, tfl, quantize) { registry.add({"tfl", "quantize", Profile::fast, prepareQuantize, "f32 i8 u8", kExact}); }
LS_DEFINE_PROFILE_KERNELS(fast, tfl, dequantize) { registry.add(tableOf("dequantize")); }
