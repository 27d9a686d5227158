// Kernels that make values from little.
#include "engine/kernels/cpu/movement.h"
#include "engine/kernels/registry.h"
#include "engine/ops/number_range.h"
#include "engine/tensor/half.h"

#include <algorithm>
#include <cmath>

using namespace loopscope;

namespace {

Status runFill(const KernelArgs& args)
{
    Tensor& out = args.out(0);
    StridedCopy fill;
    fill.add(out.elementCount(), 0, 1);
    fill.run(args.in(1).data, out.data, elementBytes(out));
    return {};
}

/// out[i] = start + i · delta, added up as LiteRT does; U is the unsigned type, so that the sum after the last element may wrap around.
template <typename T, typename U> Status runIntegerRange(const KernelArgs& args)
{
    Tensor& out = args.out(0);
    U value = static_cast<U>(*args.in(0).as<T>());
    const U delta = static_cast<U>(*args.in(2).as<T>());
    const int64_t count = out.elementCount();
    for (int64_t i = 0; i < count; ++i) {
        out.as<T>()[i] = static_cast<T>(value);
        value = static_cast<U>(value + delta);
    }
    return {};
}

Status runFloatRange(const KernelArgs& args)
{
    Tensor& out = args.out(0);
    float value = *args.in(0).as<float>();
    const float delta = *args.in(2).as<float>();
    const int64_t count = out.elementCount();
    for (int64_t i = 0; i < count; ++i) {
        out.as<float>()[i] = value;
        value += delta;
    }
    return {};
}

template <uint16_t (*narrow)(float), float (*widen)(uint16_t)> Status runHalfRange(const KernelArgs& args)
{
    Tensor& out = args.out(0);
    uint16_t value = *args.in(0).as<uint16_t>();
    const float delta = widen(*args.in(2).as<uint16_t>());
    const int64_t count = out.elementCount();
    for (int64_t i = 0; i < count; ++i) {
        out.as<uint16_t>()[i] = value;
        value = narrow(widen(value) + delta);
    }
    return {};
}

/// Real values added up in f32, each quantized as the start is.
template <typename T> Status runQuantizedRange(const KernelArgs& args)
{
    const Tensor& start = args.in(0);
    Tensor& out = args.out(0);
    float value = realScalar(start);
    const float delta = realScalar(args.in(2));
    const float scale = start.quantization->scale();
    const auto zero = static_cast<float>(start.quantization->zeroPoint());
    const int64_t count = out.elementCount();
    for (int64_t i = 0; i < count; ++i) {
        const float steps = std::clamp(std::round(value / scale), -1e6F, 1e6F) + zero;
        out.as<T>()[i] =
            static_cast<T>(std::clamp(steps, static_cast<float>(integerMin(dtypeOf<T>())), static_cast<float>(integerMax(dtypeOf<T>()))));
        value += delta;
    }
    return {};
}

Result<PreparedKernel> prepareRange(const KernelSetup& setup)
{
    const Tensor& start = setup.in(0);
    const bool quantized = start.quantization && start.quantization->kind == Quantization::Kind::affine;
    const auto chosen = [&]() -> KernelFunction {
        switch (start.dtype) {
        case DType::i8: return quantized ? runQuantizedRange<int8_t> : runIntegerRange<int8_t, uint8_t>;
        case DType::i16: return quantized ? runQuantizedRange<int16_t> : runIntegerRange<int16_t, uint16_t>;
        case DType::i32: return runIntegerRange<int32_t, uint32_t>;
        case DType::i64: return runIntegerRange<int64_t, uint64_t>;
        case DType::f32: return runFloatRange;
        case DType::f16: return runHalfRange<floatToF16, f16ToFloat>;
        case DType::bf16: return runHalfRange<floatToBf16, bf16ToFloat>;
        default: return nullptr;
        }
    }();
    if (!chosen) return Error(ErrorCode::unsupported, "no kernel for dtype " + std::string(dtypeName(start.dtype)));
    return PreparedKernel{chosen, nullptr};
}

} // namespace

LS_DEFINE_KERNELS(tfl, fill)
{
    registry.add(
        {"tfl", "fill", Profile::reference, [](const KernelSetup& s) { return prepareMovement(s.in(1).dtype, runFill); }, kAllDTypes});
}

LS_DEFINE_KERNELS(tfl, range) { registry.add({"tfl", "range", Profile::reference, prepareRange, "f16 bf16 f32 i8 i16 i32 i64"}); }
