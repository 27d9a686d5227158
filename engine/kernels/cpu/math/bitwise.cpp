// BITWISE_XOR and RIGHT_SHIFT with broadcasting.
#include "engine/kernels/cpu/elementwise.h"
#include "engine/kernels/registry.h"

#include <algorithm>

using namespace loopscope;

namespace {

struct XorOp {
    template <typename T> static T apply(T a, T b) { return static_cast<T>(a ^ b); }
};
struct RightShiftOp {
    template <typename T> static T apply(T a, T b) { return static_cast<T>(a >> std::clamp<T>(b, 0, static_cast<T>(sizeof(T) * 8 - 1))); }
};

template <typename T, typename Op> Status runBitwise(const KernelArgs& args)
{
    applyBinary<T, T>(args.in(0), args.in(1), args.out(0), [](T a, T b) { return Op::template apply<T>(a, b); });
    return {};
}

template <typename Op> Result<PreparedKernel> prepareBitwise(const KernelSetup& setup)
{
    static constexpr DtypeCase kCases[] = {
        {DType::i8, runBitwise<int8_t, Op>},    {DType::u8, runBitwise<uint8_t, Op>},  {DType::i16, runBitwise<int16_t, Op>},
        {DType::u16, runBitwise<uint16_t, Op>}, {DType::i32, runBitwise<int32_t, Op>}, {DType::u32, runBitwise<uint32_t, Op>},
        {DType::i64, runBitwise<int64_t, Op>},
    };
    return prepareByDtype(setup, kCases);
}

constexpr std::string_view kDtypes = "i8 u8 i16 u16 i32 u32 i64";

} // namespace

LS_DEFINE_KERNELS(tfl, bitwise_xor) { registry.add({"tfl", "bitwise_xor", Profile::reference, prepareBitwise<XorOp>, kDtypes}); }

LS_DEFINE_KERNELS(tfl, right_shift) { registry.add({"tfl", "right_shift", Profile::reference, prepareBitwise<RightShiftOp>, kDtypes}); }
