// Element-wise functions of two f32 operands, with broadcasting: every element is computed as the reference kernel computes it, in the
// vector instructions of the machine at hand. Equal bits.
#include "engine/kernels/fast/binary.h"
#include "engine/base/vectorised.h"
#include "engine/kernels/cpu/quantized_math.h"
#include "engine/kernels/fast/broadcasting.h"
#include "engine/kernels/registry.h"

using namespace loopscope;
using namespace loopscope::fast;

namespace {

enum class Function : uint8_t { add, sub, mul, div, maximum, minimum, squaredDifference, prelu };

template <Function f> inline float combined(float a, float b)
{
    if constexpr (f == Function::add) return a + b;
    if constexpr (f == Function::sub) return a - b;
    if constexpr (f == Function::mul) return a * b;
    if constexpr (f == Function::div) return a / b;
    if constexpr (f == Function::maximum) return a > b ? a : b;
    if constexpr (f == Function::minimum) return a < b ? a : b;
    if constexpr (f == Function::squaredDifference) return (a - b) * (a - b);
    if constexpr (f == Function::prelu) {
        const float below = a * b; // always computed: a vector has no other way
        return a >= 0.0F ? a : below;
    }
}

/// y = min(max(f(a, b), low), high); a NaN stays one. Functions without an activation clamp nothing.
template <Function f> inline float finished(float a, float b, const ActivationRange<float>& range)
{
    if constexpr (f <= Function::div) return clampTo(combined<f>(a, b), range);
    else return combined<f>(a, b);
}

template <Function f>
LS_VECTORISED void combineArrays(const float* a, const float* b, float* y, int64_t count, ActivationRange<float> range)
{
    for (int64_t i = 0; i < count; ++i) y[i] = finished<f>(a[i], b[i], range);
}
template <Function f> LS_VECTORISED void combineWithNumber(const float* a, float b, float* y, int64_t count, ActivationRange<float> range)
{
    for (int64_t i = 0; i < count; ++i) y[i] = finished<f>(a[i], b, range);
}
template <Function f> LS_VECTORISED void combineNumberWith(float a, const float* b, float* y, int64_t count, ActivationRange<float> range)
{
    for (int64_t i = 0; i < count; ++i) y[i] = finished<f>(a, b[i], range);
}

template <Function f> Status runVectorised(const KernelArgs& args)
{
    const auto range = args.paramsAs<ActivationRange<float>>();
    visitRows<float>(args, [range](const float* a, const float* b, float* y, int64_t count, Repeated repeated) {
        switch (repeated) {
        case Repeated::none: return combineArrays<f>(a, b, y, count, range);
        case Repeated::first: return combineNumberWith<f>(*a, b, y, count, range);
        case Repeated::second: return combineWithNumber<f>(a, *b, y, count, range);
        }
    });
    return {};
}

/// Of operands that lie as the result does, so small that nothing is shared.
struct FewElements {
    ActivationRange<float> range;
    int64_t count;
};
template <Function f> Status runFew(const KernelArgs& args)
{
    const auto& few = args.paramsAs<FewElements>();
    combineArrays<f>(args.in(0).as<float>(), args.in(1).as<float>(), args.out(0).as<float>(), few.count, few.range);
    return {};
}
bool areFew(const KernelSetup& setup)
{
    if (!setup.shapesAreStatic) return false;
    const int64_t count = setup.out(0).elementCount();
    return count <= kSmallestBlock && setup.in(0).elementCount() == count && setup.in(1).elementCount() == count;
}

/// One element each.
template <Function f> Status runScalar(const KernelArgs& args)
{
    *args.out(0).as<float>() = finished<f>(*args.in(0).as<float>(), *args.in(1).as<float>(), args.paramsAs<ActivationRange<float>>());
    return {};
}

template <Function f> Result<PreparedKernel> prepareVectorised(const KernelSetup& setup)
{
    if (f == Function::add || f == Function::sub || f == Function::mul)
        if (setup.in(0).dtype == DType::i8 || setup.in(0).dtype == DType::u8)
            return prepareQuantizedBinary(setup, f == Function::add   ? QuantizedFunction::add
                                                 : f == Function::sub ? QuantizedFunction::sub
                                                                      : QuantizedFunction::mul);
    for (const Tensor* const tensor : {&setup.in(0), &setup.in(1), &setup.out(0)})
        if (tensor->dtype != DType::f32) return Error(ErrorCode::unsupported, "f32 only").found(std::string(dtypeName(tensor->dtype)));
    auto range = std::make_shared<ActivationRange<float>>(activationRange<float>(fusedActivation(setup.attributes())));
    if (areFew(setup) && setup.out(0).elementCount() != 1)
        return PreparedKernel{runFew<f>, std::make_shared<const FewElements>(FewElements{*range, setup.out(0).elementCount()})};
    const bool isScalar =
        setup.shapesAreStatic && setup.out(0).elementCount() == 1 && setup.in(0).elementCount() == 1 && setup.in(1).elementCount() == 1;
    return PreparedKernel{isScalar ? runScalar<f> : runVectorised<f>, std::move(range)};
}

template <Function f> KernelEntry entryOf(std::string_view name, std::string_view dtypes = "f32")
{
    return {"tfl", name, Profile::fast, prepareVectorised<f>, dtypes, kExact};
}

} // namespace

LS_DEFINE_PROFILE_KERNELS(fast, tfl, add) { registry.add(entryOf<Function::add>("add", "f32 i8 u8")); }
LS_DEFINE_PROFILE_KERNELS(fast, tfl, sub) { registry.add(entryOf<Function::sub>("sub", "f32 i8 u8")); }
LS_DEFINE_PROFILE_KERNELS(fast, tfl, mul) { registry.add(entryOf<Function::mul>("mul", "f32 i8 u8")); }
LS_DEFINE_PROFILE_KERNELS(fast, tfl, div) { registry.add(entryOf<Function::div>("div")); }
LS_DEFINE_PROFILE_KERNELS(fast, tfl, maximum) { registry.add(entryOf<Function::maximum>("maximum")); }
LS_DEFINE_PROFILE_KERNELS(fast, tfl, minimum) { registry.add(entryOf<Function::minimum>("minimum")); }
LS_DEFINE_PROFILE_KERNELS(fast, tfl, squared_difference) { registry.add(entryOf<Function::squaredDifference>("squared_difference")); }
LS_DEFINE_PROFILE_KERNELS(fast, tfl, prelu) { registry.add(entryOf<Function::prelu>("prelu")); }
