// CUMSUM: y[k] = Σ x[j] over j ≤ k (exclusive: j < k; reverse: from the end) along one axis.
#include "engine/base/interruption.h"
#include "engine/kernels/cpu/elementwise.h"
#include "engine/kernels/registry.h"

using namespace loopscope;

namespace {

struct CumsumParams {
    bool exclusive = false, reverse = false;
};

template <typename T> Status runCumsum(const KernelArgs& args)
{
    const auto p = args.paramsAs<CumsumParams>();
    const Shape& shape = args.in(0).shape;
    const int32_t given = *args.in(1).as<int32_t>();
    const int64_t axis = given < 0 ? int64_t{given} + shape.rank() : given;
    if (axis < 0 || axis >= shape.rank())
        return Error(ErrorCode::execution,
                     "C2: axis " + std::to_string(given) + " is outside a tensor of rank " + std::to_string(shape.rank()));
    const int a = static_cast<int>(axis);
    const int64_t outer = shape.countOf(0, a);
    const int64_t size = shape[a];
    const int64_t inner = shape.countOf(a + 1, shape.rank());
    const T* in = args.in(0).as<T>();
    T* out = args.out(0).as<T>();
    LoopPace pace;
    for (int64_t o = 0; o < outer; ++o) {
        for (int64_t i = 0; i < inner; ++i) {
            const int64_t base = o * size * inner + i;
            T sum = 0;
            pace.did(size);
            for (int64_t n = 0; n < size; ++n) {
                const int64_t at = base + (p.reverse ? size - 1 - n : n) * inner;
                const T before = sum;
                sum = wrappingAdd(sum, in[at]);
                out[at] = p.exclusive ? before : sum;
            }
        }
    }
    return {};
}

Result<PreparedKernel> prepareCumsum(const KernelSetup& setup)
{
    static constexpr DtypeCase kCases[] = {
        {DType::f32, runCumsum<float>}, {DType::i32, runCumsum<int32_t>}, {DType::i64, runCumsum<int64_t>}};
    LS_TRY(PreparedKernel kernel, prepareByDtype(setup, kCases));
    auto params = std::make_shared<CumsumParams>();
    params->exclusive = attributeBool(setup.attributes(), "exclusive", false);
    params->reverse = attributeBool(setup.attributes(), "reverse", false);
    kernel.params = params;
    return kernel;
}

} // namespace

LS_DEFINE_KERNELS(tfl, cumsum) { registry.add({"tfl", "cumsum", Profile::reference, prepareCumsum, "f32 i32 i64"}); }
