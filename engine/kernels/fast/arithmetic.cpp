// ADD, SUB and MUL of f32 where shapes are known and no operand is repeated along some dimensions only: one loop over elements, in vector
// instructions of the machine at hand, on all threads. Every element is computed as the reference kernel computes it: equal bits.
#include "engine/kernels/cpu/nn_common.h"
#include "engine/kernels/cpu/quantized_math.h"
#include "engine/kernels/fast/vectorised.h"
#include "engine/kernels/registry.h"

#include <algorithm>

using namespace loopscope;

namespace {

enum class Arithmetic : uint8_t { add, sub, mul };

/// Which operand is one number for all elements.
enum class Repeated : uint8_t { none, first, second };

/// Below this many elements a block costs more to hand out than to compute.
constexpr int64_t kSmallestBlock = int64_t{1} << 14;

template <Arithmetic op> inline float combined(float a, float b)
{
    if constexpr (op == Arithmetic::add) return a + b;
    else if constexpr (op == Arithmetic::sub) return a - b;
    else return a * b;
}

/// y = min(max(a ∘ b, low), high); a NaN stays one.
template <Arithmetic op>
LS_VECTORISED void combineArrays(const float* a, const float* b, float* y, int64_t count, ActivationRange<float> range)
{
    for (int64_t i = 0; i < count; ++i) y[i] = clampTo(combined<op>(a[i], b[i]), range);
}
template <Arithmetic op>
LS_VECTORISED void combineWithNumber(const float* a, float b, float* y, int64_t count, ActivationRange<float> range)
{
    for (int64_t i = 0; i < count; ++i) y[i] = clampTo(combined<op>(a[i], b), range);
}
template <Arithmetic op>
LS_VECTORISED void combineNumberWith(float a, const float* b, float* y, int64_t count, ActivationRange<float> range)
{
    for (int64_t i = 0; i < count; ++i) y[i] = clampTo(combined<op>(a, b[i]), range);
}

struct ArithmeticParams {
    ActivationRange<float> range;
    Repeated repeated = Repeated::none;
};

template <Arithmetic op> Status runVectorised(const KernelArgs& args)
{
    const auto& params = args.paramsAs<ArithmeticParams>();
    const float* const a = args.in(0).as<float>();
    const float* const b = args.in(1).as<float>();
    float* const y = args.out(0).as<float>();
    const int64_t count = args.out(0).elementCount(), blocks = (count + kSmallestBlock - 1) / kSmallestBlock;
    const auto work = [&](int64_t begin, int64_t end, int) {
        const int64_t first = begin * kSmallestBlock, length = std::min(end * kSmallestBlock, count) - first;
        switch (params.repeated) {
        case Repeated::none: return combineArrays<op>(a + first, b + first, y + first, length, params.range);
        case Repeated::first: return combineNumberWith<op>(*a, b + first, y + first, length, params.range);
        case Repeated::second: return combineWithNumber<op>(a + first, *b, y + first, length, params.range);
        }
    };
    if (blocks == 1) work(0, 1, 0);
    else args.runtime->parallel(blocks, work);
    return {};
}

template <Arithmetic op> Result<PreparedKernel> prepareVectorised(const KernelSetup& setup)
{
    for (const Tensor* const tensor : {&setup.in(0), &setup.in(1), &setup.out(0)})
        if (tensor->dtype != DType::f32) return Error(ErrorCode::unsupported, "f32 only").found(std::string(dtypeName(tensor->dtype)));
    if (!setup.shapesAreStatic) return Error(ErrorCode::unsupported, "shapes that are known only when running");
    const int64_t count = setup.out(0).elementCount(), first = setup.in(0).elementCount(), second = setup.in(1).elementCount();
    auto params = std::make_shared<ArithmeticParams>();
    params->range = activationRange<float>(fusedActivation(setup.attributes()));
    if (first == count && second == count) params->repeated = Repeated::none;
    else if (first == count && second == 1) params->repeated = Repeated::second;
    else if (first == 1 && second == count) params->repeated = Repeated::first;
    else
        return Error(ErrorCode::unsupported, "broadcasting of some dimensions")
            .found(toString(setup.in(0).shape) + " and " + toString(setup.in(1).shape));
    return PreparedKernel{runVectorised<op>, std::move(params)};
}

KernelEntry entryOf(std::string_view name, Result<PreparedKernel> (*prepare)(const KernelSetup&))
{
    return {"tfl", name, Profile::fast, prepare, "f32", kExact};
}

} // namespace

LS_DEFINE_PROFILE_KERNELS(fast, tfl, add) { registry.add(entryOf("add", prepareVectorised<Arithmetic::add>)); }
LS_DEFINE_PROFILE_KERNELS(fast, tfl, sub) { registry.add(entryOf("sub", prepareVectorised<Arithmetic::sub>)); }
LS_DEFINE_PROFILE_KERNELS(fast, tfl, mul) { registry.add(entryOf("mul", prepareVectorised<Arithmetic::mul>)); }
