// QUANTIZE (from real numbers, and from one scale to another), DEQUANTIZE, FAKE_QUANT.
#include "engine/kernels/cpu/elementwise.h"
#include "engine/kernels/cpu/quantized_math.h"
#include "engine/kernels/registry.h"

#include <cmath>

using namespace loopscope;

namespace {

/// Scales and zero points of a tensor and how its elements find theirs: index (i / inner) mod scales.size().
struct ScaleTable {
    std::vector<float> scales;
    std::vector<int32_t> zeros;
    int axis = 0;
};

Result<ScaleTable> scaleTable(const Tensor& tensor)
{
    ScaleTable table;
    const Quantization* q = tensor.quantization;
    if (!q || q->kind != Quantization::Kind::affine || q->scales.empty())
        return Error(ErrorCode::unsupported, "the quantized tensor has no scale");
    table.scales = q->scales;
    table.zeros.assign(q->scales.size(), 0);
    for (size_t i = 0; i < table.zeros.size() && !q->zeroPoints.empty(); ++i)
        table.zeros[i] =
            static_cast<int32_t>(std::clamp<int64_t>(q->zeroPoints[std::min(i, q->zeroPoints.size() - 1)], INT32_MIN, INT32_MAX));
    table.axis = q->axis;
    return table;
}

/// Calls f(begin, end, scale, zero) for runs of elements that share a scale. Errors: execution, if the shape does not fit the table.
template <typename F> Status forEachScale(const ScaleTable& table, const Shape& shape, F f)
{
    const int64_t count = shape.elementCount();
    const auto channels = static_cast<int64_t>(table.scales.size());
    if (channels == 1) {
        f(0, count, table.scales[0], table.zeros[0]);
        return {};
    }
    if (table.axis < 0 || table.axis >= shape.rank() || shape[table.axis] != channels)
        return Error(ErrorCode::execution, "per-channel quantization does not fit the shape")
            .found(toString(shape))
            .expected(std::to_string(channels) + " along axis " + std::to_string(table.axis));
    const int64_t inner = shape.countOf(table.axis + 1, shape.rank());
    for (int64_t begin = 0, run = 0; begin < count; begin += inner, ++run) {
        const auto channel = static_cast<size_t>(run % channels);
        f(begin, begin + inner, table.scales[channel], table.zeros[channel]);
    }
    return {};
}

// ---- QUANTIZE from real numbers ----

/// Source: LiteRT kernels/internal/reference/quantize.h, AffineQuantize. A quotient beyond int32 becomes the smallest integer, so 1e9
/// with a small scale gives the lower limit: that is what the reference built for x86 answers.
template <typename In, typename Out> Status runQuantize(const KernelArgs& args)
{
    const auto& table = args.paramsAs<ScaleTable>();
    const In* in = args.in(0).as<In>();
    Out* out = args.out(0).as<Out>();
    return forEachScale(table, args.out(0).shape, [&](int64_t begin, int64_t end, float scale, int32_t zero) {
        for (int64_t i = begin; i < end; ++i) {
            const int32_t stored = wrappingAdd(truncateToInt32(std::round(Element<In>::load(in[i]) / scale)), zero);
            out[i] = static_cast<Out>(std::clamp<int32_t>(stored, std::numeric_limits<Out>::min(), std::numeric_limits<Out>::max()));
        }
    });
}

/// To packed elements of `bits` bits, the first in the lowest.
template <int bits, int low, int high> Status runQuantizePacked(const KernelArgs& args)
{
    constexpr int kPerByte = 8 / bits;
    const auto& table = args.paramsAs<ScaleTable>();
    const float* in = args.in(0).as<float>();
    auto* out = args.out(0).as<uint8_t>();
    return forEachScale(table, args.out(0).shape, [&](int64_t begin, int64_t end, float scale, int32_t zero) {
        for (int64_t i = begin; i < end; ++i) {
            const int32_t stored = std::clamp(wrappingAdd(truncateToInt32(std::round(in[i] / scale)), zero), low, high);
            const int shift = static_cast<int>(i % kPerByte) * bits;
            const int placed = (stored & ((1 << bits) - 1)) << shift;
            out[i / kPerByte] = static_cast<uint8_t>(shift == 0 ? placed : out[i / kPerByte] | placed);
        }
    });
}

Result<PreparedKernel> prepareFromReal(const KernelSetup& setup)
{
    LS_TRY(ScaleTable table, scaleTable(setup.out(0)));
    const bool half = setup.in(0).dtype == DType::f16;
    KernelFunction run = nullptr;
    switch (setup.out(0).dtype) {
    case DType::i8: run = half ? runQuantize<Half, int8_t> : runQuantize<float, int8_t>; break;
    case DType::u8: run = half ? runQuantize<Half, uint8_t> : runQuantize<float, uint8_t>; break;
    case DType::i16: run = half ? runQuantize<Half, int16_t> : runQuantize<float, int16_t>; break;
    case DType::i32: run = half ? nullptr : runQuantize<float, int32_t>; break;
    case DType::i4: run = half ? nullptr : runQuantizePacked<4, -8, 7>; break;
    case DType::u4: run = half ? nullptr : runQuantizePacked<4, 0, 15>; break;
    case DType::i2: run = half ? nullptr : runQuantizePacked<2, -2, 1>; break;
    default: break;
    }
    if (!run) return unsupportedDtypes(setup);
    return PreparedKernel{run, std::make_shared<const ScaleTable>(std::move(table))};
}

// ---- QUANTIZE from one scale to another ----

struct RequantizeParams {
    int32_t zeroIn = 0, zeroOut = 0;
    QuantizedMultiplier factor;
    bool flipSign = false; ///< int8 and uint8 with one scale and zero points 128 apart
};

/// Source: LiteRT kernels/internal/reference/requantize.h.
template <typename In, typename Out> Status runRequantize(const KernelArgs& args)
{
    const auto p = args.paramsAs<RequantizeParams>();
    applyUnary<In, Out>(args.in(0), args.out(0), [&p](In x) {
        if (p.flipSign) return static_cast<Out>(x ^ 0x80);
        const int32_t scaled = wrappingAdd(multiplyByQuantizedMultiplier(wrappingSub<int32_t>(x, p.zeroIn), p.factor), p.zeroOut);
        return static_cast<Out>(std::clamp<int32_t>(scaled, std::numeric_limits<Out>::min(), std::numeric_limits<Out>::max()));
    });
    return {};
}

template <typename In> KernelFunction requantizeTo(DType to)
{
    switch (to) {
    case DType::i8: return runRequantize<In, int8_t>;
    case DType::u8: return runRequantize<In, uint8_t>;
    case DType::i16: return runRequantize<In, int16_t>;
    case DType::i32: return runRequantize<In, int32_t>;
    default: return nullptr;
    }
}

Result<PreparedKernel> prepareQuantize(const KernelSetup& setup)
{
    const DType from = setup.in(0).dtype;
    const DType to = setup.out(0).dtype;
    if (from == DType::f32 || from == DType::f16) return prepareFromReal(setup);
    KernelFunction run = nullptr;
    switch (from) {
    case DType::i8: run = requantizeTo<int8_t>(to); break;
    case DType::u8: run = requantizeTo<uint8_t>(to); break;
    case DType::i16: run = requantizeTo<int16_t>(to); break;
    case DType::i32: run = requantizeTo<int32_t>(to); break;
    default: break;
    }
    if (!run) return unsupportedDtypes(setup);
    const auto in = scaleAndZero(setup.in(0));
    const auto out = scaleAndZero(setup.out(0));
    if (!(in.scale > 0 && out.scale > 0)) return Error(ErrorCode::unsupported, "operand and result need a positive scale");
    auto params = std::make_shared<RequantizeParams>();
    params->zeroIn = in.zero;
    params->zeroOut = out.zero;
    params->factor = quantizeMultiplier(static_cast<double>(in.scale) / static_cast<double>(out.scale));
    const bool sameScale = params->factor.multiplier == 1 << 30 && params->factor.shift == 1;
    const int64_t apart = int64_t{in.zero} - out.zero;
    params->flipSign =
        sameScale && ((from == DType::i8 && to == DType::u8 && apart == -128) || (from == DType::u8 && to == DType::i8 && apart == 128));
    return PreparedKernel{run, params};
}

// ---- DEQUANTIZE ----

template <typename In, typename Out> Status runDequantize(const KernelArgs& args)
{
    const auto& table = args.paramsAs<ScaleTable>();
    const In* in = args.in(0).as<In>();
    Out* out = args.out(0).as<Out>();
    return forEachScale(table, args.in(0).shape, [&](int64_t begin, int64_t end, float scale, int32_t zero) {
        for (int64_t i = begin; i < end; ++i) out[i] = Element<Out>::store(scale * static_cast<float>(wrappingSub<int32_t>(in[i], zero)));
    });
}

/// Packed elements of `bits` bits, the first in the lowest.
template <int bits, bool isSigned> Status runDequantizePacked(const KernelArgs& args)
{
    constexpr int kPerByte = 8 / bits;
    const auto& table = args.paramsAs<ScaleTable>();
    const auto* in = args.in(0).as<uint8_t>();
    float* out = args.out(0).as<float>();
    return forEachScale(table, args.in(0).shape, [&](int64_t begin, int64_t end, float scale, int32_t zero) {
        for (int64_t i = begin; i < end; ++i) {
            int32_t stored = (in[i / kPerByte] >> ((i % kPerByte) * bits)) & ((1 << bits) - 1);
            if (isSigned && stored >= 1 << (bits - 1)) stored -= 1 << bits;
            out[i] = scale * static_cast<float>(wrappingSub(stored, zero));
        }
    });
}

template <typename In> Status runWiden(const KernelArgs& args)
{
    applyUnary<In, float>(args.in(0), args.out(0), [](In x) { return Element<In>::load(x); });
    return {};
}

Result<PreparedKernel> prepareDequantize(const KernelSetup& setup)
{
    const DType from = setup.in(0).dtype;
    const DType to = setup.out(0).dtype;
    if (to == DType::f32 && from == DType::f16) return PreparedKernel{runWiden<Half>, nullptr};
    if (to == DType::f32 && from == DType::bf16) return PreparedKernel{runWiden<BFloat16>, nullptr};
    KernelFunction run = nullptr;
    if (to == DType::f32) {
        switch (from) {
        case DType::i8: run = runDequantize<int8_t, float>; break;
        case DType::u8: run = runDequantize<uint8_t, float>; break;
        case DType::i16: run = runDequantize<int16_t, float>; break;
        case DType::u16: run = runDequantize<uint16_t, float>; break;
        case DType::i32: run = runDequantize<int32_t, float>; break;
        case DType::i4: run = runDequantizePacked<4, true>; break;
        case DType::u4: run = runDequantizePacked<4, false>; break;
        case DType::i2: run = runDequantizePacked<2, true>; break;
        default: break;
        }
    } else if (to == DType::f16) {
        if (from == DType::i8) run = runDequantize<int8_t, Half>;
        if (from == DType::u8) run = runDequantize<uint8_t, Half>;
        if (from == DType::i16) run = runDequantize<int16_t, Half>;
    }
    if (!run) return unsupportedDtypes(setup);
    LS_TRY(ScaleTable table, scaleTable(setup.in(0)));
    return PreparedKernel{run, std::make_shared<const ScaleTable>(std::move(table))};
}

// ---- FAKE_QUANT ----

struct FakeQuantParams {
    float min = 0, max = 0, scale = 1;
};

/// Source: LiteRT kernels/internal/reference/fake_quant (FakeQuantizeArray).
Status runFakeQuant(const KernelArgs& args)
{
    const auto p = args.paramsAs<FakeQuantParams>();
    const float inverse = 1.0F / p.scale;
    applyUnary<float, float>(args.in(0), args.out(0), [&p, inverse](float x) {
        const float clamped = std::min(p.max, std::max(p.min, x));
        return std::round((clamped - p.min) * inverse) * p.scale + p.min;
    });
    return {};
}

/// Source: LiteRT kernels/internal/quantization_util.cc, NudgeQuantizationRange.
Result<PreparedKernel> prepareFakeQuant(const KernelSetup& setup)
{
    if (setup.in(0).dtype != DType::f32) return unsupportedDtypes(setup);
    const AttributeList& attributes = setup.attributes();
    const auto min = static_cast<float>(attributeFloat(attributes, "min", 0.0));
    const auto max = static_cast<float>(attributeFloat(attributes, "max", 0.0));
    const int64_t bits = attributeInt(attributes, "num_bits", 0);
    if (bits < 2 || bits > 16 || !(min < max)) {
        return Error(ErrorCode::unsupported, "num_bits must be 2 to 16 and min below max")
            .found(std::to_string(bits) + " bits, " + std::to_string(min) + " to " + std::to_string(max));
    }
    const float lowest = attributeBool(attributes, "narrow_range", false) ? 1.0F : 0.0F;
    const auto highest = static_cast<float>((1 << bits) - 1);
    auto params = std::make_shared<FakeQuantParams>();
    params->scale = (max - min) / (highest - lowest);
    const float zero = std::round(std::clamp(lowest - min / params->scale, lowest, highest));
    params->min = (lowest - zero) * params->scale;
    params->max = (highest - zero) * params->scale;
    return PreparedKernel{runFakeQuant, params};
}

} // namespace

LS_DEFINE_KERNELS(tfl, quantize)
{
    registry.add({"tfl", "quantize", Profile::reference, prepareQuantize, "f32 f16 i8 u8 i16 i32 i4 u4 i2"});
}

LS_DEFINE_KERNELS(tfl, dequantize)
{
    registry.add({"tfl", "dequantize", Profile::reference, prepareDequantize, "i8 u8 i16 u16 i32 i4 u4 i2 f16 bf16"});
}

LS_DEFINE_KERNELS(tfl, fake_quant) { registry.add({"tfl", "fake_quant", Profile::reference, prepareFakeQuant, "f32"}); }
