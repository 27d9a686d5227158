// Loops that element-wise kernels share: one or two operands, any element type, broadcasting where shapes differ.
#pragma once

#include "engine/kernels/cpu/broadcast.h"
#include "engine/kernels/kernel.h"
#include "engine/tensor/half.h"

#include <span>
#include <string>
#include <type_traits>

namespace loopscope {

/// Elements of the 16-bit floats; arithmetic on them is done in f32 and rounded once, as Eigen::half does.
struct Half {
    uint16_t bits;
};
struct BFloat16 {
    uint16_t bits;
};

/// How an element is read and written: stored type T, type of the calculation `Compute`.
template <typename T> struct Element {
    using Compute = T;
    static T load(T stored) { return stored; }
    static T store(T value) { return value; }
};
template <> struct Element<Half> {
    using Compute = float;
    static float load(Half stored) { return f16ToFloat(stored.bits); }
    static Half store(float value) { return {floatToF16(value)}; }
};
template <> struct Element<BFloat16> {
    using Compute = float;
    static float load(BFloat16 stored) { return bf16ToFloat(stored.bits); }
    static BFloat16 store(float value) { return {floatToBf16(value)}; }
};

/// y[i] = f(x[i]); x and y have the same number of elements.
template <typename In, typename Out, typename F> void applyUnary(const Tensor& x, Tensor& y, F f)
{
    const In* in = x.as<In>();
    Out* out = y.as<Out>();
    const int64_t count = y.elementCount();
    for (int64_t i = 0; i < count; ++i) out[i] = f(in[i]);
}

/// y = f(a, b) with broadcasting.
template <typename In, typename Out, typename F> void applyBinary(const Tensor& a, const Tensor& b, Tensor& y, F f)
{
    const In* pa = a.as<In>();
    const In* pb = b.as<In>();
    Out* out = y.as<Out>();
    const int64_t count = y.elementCount();
    if (count == 0) return;
    const bool wholeA = a.elementCount() == count; // a dimension can only grow by broadcasting, so equal counts mean equal shapes
    const bool wholeB = b.elementCount() == count;
    if (wholeA && wholeB) {
        for (int64_t i = 0; i < count; ++i) out[i] = f(pa[i], pb[i]);
        return;
    }
    const BroadcastLoop<2> loop(y.shape, {&a.shape, &b.shape});
    const int64_t length = loop.rowLength();
    const int64_t stepA = loop.rowStride(0);
    const int64_t stepB = loop.rowStride(1);
    loop.forEachRow([&](int64_t o, const int64_t(&offset)[2]) {
        const In* ra = pa + offset[0];
        const In* rb = pb + offset[1];
        Out* row = out + o;
        if (stepA != 0 && stepB != 0) {
            for (int64_t i = 0; i < length; ++i) row[i] = f(ra[i], rb[i]);
        } else if (stepA != 0) {
            const In value = *rb;
            for (int64_t i = 0; i < length; ++i) row[i] = f(ra[i], value);
        } else {
            const In value = *ra;
            for (int64_t i = 0; i < length; ++i) row[i] = f(value, rb[i * stepB]);
        }
    });
}

/// True if a kernel may be specialised to one element a call: shapes are fixed and every operand and result is a single element.
bool isScalarCall(const KernelSetup& setup);

/// The error for an operator whose kernel does not take the dtypes it is given: "no reference kernel for f16, i8".
Error unsupportedDtypes(const KernelSetup& setup);

/// One row of a table that maps an element type to the functions for it.
struct DtypeCase {
    DType dtype;
    KernelFunction run;              ///< any shapes
    KernelFunction scalar = nullptr; ///< one element a call; null: `run`
};

/// Picks from `cases` by the dtype of operand `operand`. Errors: unsupported, if it is not among them.
Result<PreparedKernel> prepareByDtype(const KernelSetup& setup, std::span<const DtypeCase> cases, int operand = 0);

/// The error for a zero divisor: "C2: division by zero at [4] (i32)". `flat` is an index into `divisor`, the index printed is the first
/// one of `result` that it broadcasts to.
Error divisionByZero(const Tensor& divisor, int64_t flat, const Tensor& result);

/// Position of the first element of `tensor` that equals `value`, or −1.
template <typename T> int64_t findElement(const Tensor& tensor, T value)
{
    const T* data = tensor.as<T>();
    const int64_t count = tensor.elementCount();
    for (int64_t i = 0; i < count; ++i)
        if (data[i] == value) return i;
    return -1;
}

/// Integer arithmetic that wraps; floats as they are. 16-bit and narrower go through 64 bits.
template <typename T> T wrappingAdd(T a, T b)
{
    if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    else return a + b;
}
template <typename T> T wrappingSub(T a, T b)
{
    if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
    else return a - b;
}
template <typename T> T wrappingMul(T a, T b)
{
    if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    else return a * b;
}

/// "[1,4]": the index of flat element `flat` in `shape`, for messages.
std::string indexText(const Shape& shape, int64_t flat);

} // namespace loopscope
