// STABLEHLO_ADD, _MULTIPLY, _MAXIMUM, _MINIMUM, _AND, _SHIFT_LEFT on tensors of one shape.
#include "engine/kernels/cpu/elementwise.h"
#include "engine/kernels/registry.h"

using namespace loopscope;

namespace {

/// Elements of a bool tensor.
struct Bool {
    uint8_t value;
};

struct AddOp {
    template <typename T> static T apply(T a, T b) { return wrappingAdd(a, b); }
    static Bool apply(Bool a, Bool b) { return {static_cast<uint8_t>(a.value | b.value)}; }
};
struct MultiplyOp {
    template <typename T> static T apply(T a, T b) { return wrappingMul(a, b); }
    static Bool apply(Bool a, Bool b) { return {static_cast<uint8_t>(a.value & b.value)}; }
};
struct MaximumOp {
    template <typename T> static T apply(T a, T b) { return a > b ? a : b; }
    static Bool apply(Bool a, Bool b) { return {static_cast<uint8_t>(a.value | b.value)}; }
};
struct MinimumOp {
    template <typename T> static T apply(T a, T b) { return a < b ? a : b; }
    static Bool apply(Bool a, Bool b) { return {static_cast<uint8_t>(a.value & b.value)}; }
};
struct AndOp {
    template <typename T> static T apply(T a, T b) { return static_cast<T>(a & b); }
    static Bool apply(Bool a, Bool b) { return {static_cast<uint8_t>(a.value & b.value)}; }
};
struct ShiftLeftOp {
    template <typename T> static T apply(T a, T b)
    {
        if (b < 0 || static_cast<uint64_t>(b) >= sizeof(T) * 8) return 0;
        return static_cast<T>(static_cast<uint64_t>(a) << b);
    }
};

template <typename T, typename Op> Status runSame(const KernelArgs& args)
{
    applyBinary<T, T>(args.in(0), args.in(1), args.out(0), [](T a, T b) {
        if constexpr (std::is_same_v<T, Bool>) return Op::apply(a, b);
        else return Element<T>::store(Op::apply(Element<T>::load(a), Element<T>::load(b)));
    });
    return {};
}

template <typename Op> constexpr DtypeCase kIntegers[] = {
    {DType::i32, runSame<int32_t, Op>},  {DType::i64, runSame<int64_t, Op>},  {DType::i16, runSame<int16_t, Op>},
    {DType::i8, runSame<int8_t, Op>},    {DType::u8, runSame<uint8_t, Op>},   {DType::u16, runSame<uint16_t, Op>},
    {DType::u32, runSame<uint32_t, Op>}, {DType::u64, runSame<uint64_t, Op>},
};

template <typename Op> Result<PreparedKernel> prepareIntegers(const KernelSetup& setup) { return prepareByDtype(setup, kIntegers<Op>); }

Result<PreparedKernel> prepareAnd(const KernelSetup& setup)
{
    if (setup.in(0).dtype == DType::boolean) return PreparedKernel{runSame<Bool, AndOp>, nullptr};
    return prepareIntegers<AndOp>(setup);
}

template <typename Op> Result<PreparedKernel> prepareNumbers(const KernelSetup& setup)
{
    switch (setup.in(0).dtype) {
    case DType::f32: return PreparedKernel{runSame<float, Op>, nullptr};
    case DType::f64: return PreparedKernel{runSame<double, Op>, nullptr};
    case DType::f16: return PreparedKernel{runSame<Half, Op>, nullptr};
    case DType::bf16: return PreparedKernel{runSame<BFloat16, Op>, nullptr};
    case DType::boolean: return PreparedKernel{runSame<Bool, Op>, nullptr};
    default: return prepareIntegers<Op>(setup);
    }
}

constexpr std::string_view kNumberDtypes = "f32 f64 f16 bf16 i32 i64 i16 i8 u8 u16 u32 u64 bool";

} // namespace

LS_DEFINE_KERNELS(tfl, stablehlo_add) { registry.add({"tfl", "stablehlo_add", Profile::reference, prepareNumbers<AddOp>, kNumberDtypes}); }

LS_DEFINE_KERNELS(tfl, stablehlo_multiply)
{
    registry.add({"tfl", "stablehlo_multiply", Profile::reference, prepareNumbers<MultiplyOp>, kNumberDtypes});
}

LS_DEFINE_KERNELS(tfl, stablehlo_maximum)
{
    registry.add({"tfl", "stablehlo_maximum", Profile::reference, prepareNumbers<MaximumOp>, kNumberDtypes});
}

LS_DEFINE_KERNELS(tfl, stablehlo_minimum)
{
    registry.add({"tfl", "stablehlo_minimum", Profile::reference, prepareNumbers<MinimumOp>, kNumberDtypes});
}

LS_DEFINE_KERNELS(tfl, stablehlo_and)
{
    registry.add({"tfl", "stablehlo_and", Profile::reference, prepareAnd, "i32 i64 i16 i8 u8 u16 u32 u64 bool"});
}

LS_DEFINE_KERNELS(tfl, stablehlo_shift_left)
{
    registry.add({"tfl", "stablehlo_shift_left", Profile::reference, prepareIntegers<ShiftLeftOp>, "i32 i64 i16 i8 u8 u16 u32 u64"});
}
