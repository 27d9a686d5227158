// Loops that element-wise kernels share: one or two operands, any element type, broadcasting where shapes differ.
#pragma once

#include "engine/base/interruption.h"
#include "engine/kernels/cpu/broadcast.h"
#include "engine/kernels/kernel.h"
#include "engine/tensor/half.h"

#include <algorithm>
#include <cstddef>
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
    for (int64_t from = 0; from < count;) {
        const int64_t to = std::min(count, from + LoopPace::kElements);
        for (int64_t i = from; i < to; ++i) out[i] = f(in[i]);
        if ((from = to) < count) interruptionPoint();
    }
}

/// `count` results of an operation on operands that lie side by side; `f` points to the operation.
using BinaryRow = void (*)(const void* f, const std::byte* a, const std::byte* b, std::byte* y, int64_t count);

/// Calls `row` for pieces of a, b and y until all of y is done. An operand that does not move along a row is repeated in a buffer, so that
/// an operation needs a single loop for each element type, whatever the shapes. Elements are at most 16 bytes.
void forEachBinaryRow(const Tensor& a, const Tensor& b, Tensor& y, size_t operandSize, size_t resultSize, BinaryRow row, const void* f);

/// The row of an operation f that may be copied.
template <typename In, typename Out, typename F>
void binaryRow(const void* f, const std::byte* a, const std::byte* b, std::byte* y, int64_t count)
{
    const F operation = *static_cast<const F*>(f); // of this function alone: the loop may keep it in registers
    const auto* left = reinterpret_cast<const In*>(a);
    const auto* right = reinterpret_cast<const In*>(b);
    auto* out = reinterpret_cast<Out*>(y);
    for (int64_t i = 0; i < count; ++i) out[i] = operation(left[i], right[i]);
}

/// y = f(a, b) with broadcasting. What f captures by reference is read again for every element.
template <typename In, typename Out, typename F> void applyBinary(const Tensor& a, const Tensor& b, Tensor& y, F f)
{
    forEachBinaryRow(a, b, y, sizeof(In), sizeof(Out), binaryRow<In, Out, F>, &f);
}

/// The dtype that elements are computed in: f32 for the 16-bit floats, else their own.
DType computedIn(DType dtype);

/// `count` results of an operation on one operand.
using UnaryRow = void (*)(const void* f, const std::byte* x, std::byte* y, int64_t count);

/// As forEachBinaryRow, for rows that take and give what elements are computed in: 16-bit floats are widened before and rounded after,
/// piece by piece, so that no operation is compiled for them. Pieces begin at multiples of 512 elements.
void forEachComputedRow(const Tensor& x, Tensor& y, size_t operandSize, size_t resultSize, UnaryRow row, const void* f);
void forEachComputedRow(const Tensor& a, const Tensor& b, Tensor& y, size_t operandSize, size_t resultSize, BinaryRow row, const void* f);

/// y = f(x) where elements of x are computed in In and those of y in Out.
template <typename In, typename Out, typename F> void computeUnary(const Tensor& x, Tensor& y, F f)
{
    constexpr UnaryRow kRow = [](const void* object, const std::byte* operand, std::byte* result, int64_t count) {
        const F operation = *static_cast<const F*>(object);
        const auto* in = reinterpret_cast<const In*>(operand);
        auto* out = reinterpret_cast<Out*>(result);
        for (int64_t i = 0; i < count; ++i) out[i] = operation(in[i]);
    };
    forEachComputedRow(x, y, sizeof(In), sizeof(Out), kRow, &f);
}

/// y = f(a, b) with broadcasting, in the same way.
template <typename In, typename Out, typename F> void computeBinary(const Tensor& a, const Tensor& b, Tensor& y, F f)
{
    forEachComputedRow(a, b, y, sizeof(In), sizeof(Out), binaryRow<In, Out, F>, &f);
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
