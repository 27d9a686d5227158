#include "engine/kernels/cpu/elementwise.h"

namespace loopscope {

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
