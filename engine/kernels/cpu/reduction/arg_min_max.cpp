// ARG_MAX and ARG_MIN: the index of the extreme element along one axis.
#include "engine/kernels/cpu/elementwise.h"
#include "engine/kernels/registry.h"

#include <functional>

using namespace loopscope;

namespace {

/// Source: LiteRT kernels/internal/reference/arg_min_max.h: a later element wins if it compares better; NaN never does, and any number
/// is better than NaN. All NaN gives 0.
template <typename T, typename Index, typename Better> Status runArg(const KernelArgs& args)
{
    const Shape& shape = args.in(0).shape;
    const Tensor& axisTensor = args.in(1);
    const int64_t given = axisTensor.dtype == DType::i32 ? *axisTensor.as<int32_t>() : *axisTensor.as<int64_t>();
    const int64_t axis = given < 0 ? given + shape.rank() : given;
    if (axis < 0 || axis >= shape.rank())
        return Error(ErrorCode::execution,
                     "C2: axis " + std::to_string(given) + " is outside a tensor of rank " + std::to_string(shape.rank()));
    const int a = static_cast<int>(axis);
    const int64_t outer = shape.countOf(0, a);
    const int64_t size = shape[a];
    const int64_t inner = shape.countOf(a + 1, shape.rank());
    const T* in = args.in(0).as<T>();
    Index* out = args.out(0).as<Index>();
    for (int64_t o = 0; o < outer; ++o) {
        for (int64_t i = 0; i < inner; ++i) {
            const T* run = in + o * size * inner + i;
            int64_t best = 0;
            for (int64_t k = 1; k < size; ++k) {
                const auto candidate = Element<T>::load(run[k * inner]);
                const auto current = Element<T>::load(run[best * inner]);
                if (Better()(candidate, current) || (current != current && candidate == candidate)) best = k;
            }
            out[o * inner + i] = static_cast<Index>(best);
        }
    }
    return {};
}

template <typename Index, typename Better> constexpr DtypeCase kCases[] = {
    {DType::f32, runArg<float, Index, Better>},   {DType::f16, runArg<Half, Index, Better>},
    {DType::i32, runArg<int32_t, Index, Better>}, {DType::i64, runArg<int64_t, Index, Better>},
    {DType::i16, runArg<int16_t, Index, Better>}, {DType::i8, runArg<int8_t, Index, Better>},
    {DType::u8, runArg<uint8_t, Index, Better>},  {DType::boolean, runArg<bool, Index, Better>},
};

template <typename Better> Result<PreparedKernel> prepareArg(const KernelSetup& setup)
{
    if (setup.out(0).dtype == DType::i32) return prepareByDtype(setup, kCases<int32_t, Better>);
    if (setup.out(0).dtype == DType::i64) return prepareByDtype(setup, kCases<int64_t, Better>);
    return unsupportedDtypes(setup);
}

constexpr std::string_view kDtypes = "f32 f16 i32 i64 i16 i8 u8 bool";

} // namespace

LS_DEFINE_KERNELS(tfl, arg_max) { registry.add({"tfl", "arg_max", Profile::reference, prepareArg<std::greater<>>, kDtypes}); }

LS_DEFINE_KERNELS(tfl, arg_min) { registry.add({"tfl", "arg_min", Profile::reference, prepareArg<std::less<>>, kDtypes}); }
