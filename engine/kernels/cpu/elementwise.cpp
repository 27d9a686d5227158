// The broadcast walk of element-wise kernels, how they are picked by dtype, and their messages.
#include "engine/kernels/cpu/elementwise.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace loopscope {

namespace {

/// The repeated operand of a row, as far as one call of a row function goes.
constexpr int64_t kRepeatedBytes = 2048;

/// `count` times the element at `element`, by doubling what is there.
void repeat(std::byte* buffer, const std::byte* element, size_t size, int64_t count)
{
    const size_t total = size * static_cast<size_t>(count);
    std::memcpy(buffer, element, size);
    for (size_t done = size; done < total; done *= 2) std::memcpy(buffer + done, buffer, std::min(done, total - done));
}

/// How many elements are widened at once.
constexpr int64_t kWidened = 512;

bool isNarrow(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

void widen(DType dtype, const std::byte* from, float* to, int64_t count)
{
    const auto* in = reinterpret_cast<const uint16_t*>(from);
    if (dtype == DType::f16) {
        for (int64_t i = 0; i < count; ++i) to[i] = f16ToFloat(in[i]);
    } else {
        for (int64_t i = 0; i < count; ++i) to[i] = bf16ToFloat(in[i]);
    }
}

void narrow(DType dtype, const float* from, std::byte* to, int64_t count)
{
    auto* out = reinterpret_cast<uint16_t*>(to);
    if (dtype == DType::f16) {
        for (int64_t i = 0; i < count; ++i) out[i] = floatToF16(from[i]);
    } else {
        for (int64_t i = 0; i < count; ++i) out[i] = floatToBf16(from[i]);
    }
}

/// The row of a binary operation on f32 for operands of 16 bits.
struct NarrowRow {
    DType dtype;
    bool resultIsNarrow; ///< it has the dtype of the operands
    size_t resultSize;
    BinaryRow row;
    const void* f;

    static void run(const void* object, const std::byte* a, const std::byte* b, std::byte* y, int64_t count)
    {
        const auto& self = *static_cast<const NarrowRow*>(object);
        float left[kWidened], right[kWidened], result[kWidened];
        for (int64_t from = 0; from < count; from += kWidened) {
            const int64_t part = std::min(kWidened, count - from);
            widen(self.dtype, a + from * 2, left, part);
            widen(self.dtype, b + from * 2, right, part);
            std::byte* out = y + from * static_cast<int64_t>(self.resultSize);
            self.row(self.f, reinterpret_cast<const std::byte*>(left), reinterpret_cast<const std::byte*>(right),
                     self.resultIsNarrow ? reinterpret_cast<std::byte*>(result) : out, part);
            if (self.resultIsNarrow) narrow(self.dtype, result, out, part);
        }
    }
};

} // namespace

DType computedIn(DType dtype) { return isNarrow(dtype) ? DType::f32 : dtype; }

void forEachComputedRow(const Tensor& x, Tensor& y, size_t operandSize, size_t resultSize, UnaryRow row, const void* f)
{
    const int64_t count = y.elementCount();
    const bool operandIsNarrow = isNarrow(x.dtype), resultIsNarrow = isNarrow(y.dtype);
    const auto operandStep = static_cast<int64_t>(operandIsNarrow ? 2 : operandSize);
    const auto resultStep = static_cast<int64_t>(resultIsNarrow ? 2 : resultSize);
    float operand[kWidened], result[kWidened];
    for (int64_t from = 0; from < count;) {
        const int64_t part = std::min(count - from, operandIsNarrow || resultIsNarrow ? kWidened : LoopPace::kElements);
        const std::byte* in = x.data + from * operandStep;
        std::byte* out = y.data + from * resultStep;
        if (operandIsNarrow) widen(x.dtype, in, operand, part);
        row(f, operandIsNarrow ? reinterpret_cast<const std::byte*>(operand) : in,
            resultIsNarrow ? reinterpret_cast<std::byte*>(result) : out, part);
        if (resultIsNarrow) narrow(y.dtype, result, out, part);
        if ((from += part) < count) interruptionPoint();
    }
}

void forEachComputedRow(const Tensor& a, const Tensor& b, Tensor& y, size_t operandSize, size_t resultSize, BinaryRow row, const void* f)
{
    if (!isNarrow(a.dtype)) return forEachBinaryRow(a, b, y, operandSize, resultSize, row, f);
    const NarrowRow narrowed{a.dtype, isNarrow(y.dtype), isNarrow(y.dtype) ? 2 : resultSize, row, f};
    forEachBinaryRow(a, b, y, 2, narrowed.resultSize, &NarrowRow::run, &narrowed);
}

void forEachBinaryRow(const Tensor& a, const Tensor& b, Tensor& y, size_t operandSize, size_t resultSize, BinaryRow row, const void* f)
{
    const int64_t count = y.elementCount();
    if (count == 0) return;
    // A dimension can only grow by broadcasting, so equal counts mean equal shapes.
    if (a.elementCount() == count && b.elementCount() == count) {
        const auto at = [](std::byte* data, int64_t element, size_t size) { return data + static_cast<size_t>(element) * size; };
        for (int64_t from = 0; from < count;) {
            const int64_t part = std::min(count - from, LoopPace::kElements);
            row(f, at(a.data, from, operandSize), at(b.data, from, operandSize), at(y.data, from, resultSize), part);
            if ((from += part) < count) interruptionPoint();
        }
        return;
    }

    const BroadcastLoop<2> loop(y.shape, {&a.shape, &b.shape});
    const int64_t length = loop.rowLength();
    const auto size = static_cast<int64_t>(operandSize);
    const auto step = static_cast<int64_t>(resultSize);
    const int fixed = loop.rowStride(0) == 0 ? 0 : loop.rowStride(1) == 0 ? 1 : -1;
    const int64_t piece = std::min(length, fixed < 0 ? LoopPace::kElements : kRepeatedBytes / size);
    alignas(std::max_align_t) std::byte repeated[kRepeatedBytes];
    loop.forEachRow([&](int64_t o, const int64_t(&offset)[2]) {
        const std::byte* operands[2] = {a.data + offset[0] * size, b.data + offset[1] * size};
        if (fixed >= 0) repeat(repeated, operands[fixed], operandSize, piece);
        for (int64_t i = 0; i < length; i += piece)
            row(f, fixed == 0 ? repeated : operands[0] + i * size, fixed == 1 ? repeated : operands[1] + i * size, y.data + (o + i) * step,
                std::min(piece, length - i));
    });
}

bool isScalarCall(const KernelSetup& setup)
{
    if (!setup.shapesAreStatic) return false;
    for (const Tensor* tensor : setup.inputs)
        if (!tensor || tensor->elementCount() != 1) return false;
    for (const Tensor* tensor : setup.outputs)
        if (tensor->elementCount() != 1) return false;
    return true;
}

Error unsupportedDtypes(const KernelSetup& setup)
{
    std::string text;
    for (size_t i = 0; i < setup.inputs.size(); ++i) {
        if (i > 0) text += ", ";
        text += setup.has(static_cast<int>(i)) ? dtypeName(setup.in(static_cast<int>(i)).dtype) : "_";
    }
    text += " -> ";
    for (size_t k = 0; k < setup.outputs.size(); ++k) {
        if (k > 0) text += ", ";
        text += dtypeName(setup.out(static_cast<int>(k)).dtype);
    }
    return Error(ErrorCode::unsupported, "no kernel for these dtypes").found(text);
}

Result<PreparedKernel> prepareByDtype(const KernelSetup& setup, std::span<const DtypeCase> cases, int operand)
{
    const DType dtype = setup.in(operand).dtype;
    for (const DtypeCase& one : cases) {
        if (one.dtype != dtype) continue;
        return PreparedKernel{one.scalar && isScalarCall(setup) ? one.scalar : one.run, nullptr};
    }
    return unsupportedDtypes(setup);
}

Error divisionByZero(const Tensor& divisor, int64_t flat, const Tensor& result)
{
    Shape aligned = Shape::ofRank(result.shape.rank(), 1);
    for (int i = 1; i <= divisor.shape.rank(); ++i) aligned[aligned.rank() - i] = divisor.shape[divisor.shape.rank() - i];
    return Error(ErrorCode::execution,
                 "C2: division by zero at " + indexText(aligned, flat) + " (" + std::string(dtypeName(divisor.dtype)) + ")");
}

std::string indexText(const Shape& shape, int64_t flat)
{
    std::string text = "]";
    for (int i = shape.rank() - 1; i >= 0; --i) {
        const int64_t size = shape[i] > 0 ? shape[i] : 1;
        text = std::to_string(flat % size) + (i + 1 < shape.rank() ? "," : "") + text;
        flat /= size;
    }
    return "[" + text;
}

} // namespace loopscope
