// The checks that catalogue entries of convolutions share.
#include "engine/ops/convolution_checks.h"

#include "engine/ops/catalog.h"

#include <initializer_list>
#include <vector>

namespace loopscope {

std::string dimensionText(int64_t value) { return value == kUnknownDim ? "?" : std::to_string(value); }

bool dimensionsDiffer(int64_t a, int64_t b) { return a != kUnknownDim && b != kUnknownDim && a != b; }

Status checkRank4(const InferContext& context, int operand)
{
    const Shape& shape = context.input(operand).shape;
    if (shape.hasRank() && shape.rank() != 4)
        return InferContext::violated(1,
                                      "operand " + std::to_string(operand) + " has rank " + std::to_string(shape.rank()) + ", expected 4");
    return {};
}

int64_t operandDimension(const InferContext& context, int operand, int axis)
{
    const Shape& shape = context.input(operand).shape;
    return shape.hasRank() ? shape[axis] : kUnknownDim;
}

namespace {

bool isOneOf(DType dtype, std::initializer_list<DType> allowed)
{
    for (const DType d : allowed)
        if (d == dtype) return true;
    return dtype == DType::unknown;
}

/// True if the text form gave the numbers only as a hash: nothing can be said about them.
bool isUnresolved(const Quantization* q) { return q != nullptr && q->kind == Quantization::Kind::unresolved; }

} // namespace

Status checkConvolutionDtypes(const InferContext& context, int input, int filter, int bias)
{
    const DType in = context.input(input).dtype;
    const DType weights = context.input(filter).dtype;
    const auto wrong = [&](std::string_view what, DType found, std::string_view expected) -> Status {
        return InferContext::violated(3, std::string(what) + " is " + std::string(dtypeName(found)) + ", expected " +
                                             std::string(expected) + " for input " + std::string(dtypeName(in)));
    };
    if (!isOneOf(in, {DType::f32, DType::u8, DType::i8, DType::i16}))
        return InferContext::violated(3, "input is " + std::string(dtypeName(in)) + ", expected f32, u8, i8 or i16");
    if (in == DType::f32 && !isOneOf(weights, {DType::f32, DType::i8, DType::i4})) return wrong("filter", weights, "f32, i8 or i4");
    if (in == DType::u8 && !isOneOf(weights, {DType::u8})) return wrong("filter", weights, "u8");
    if ((in == DType::i8 || in == DType::i16) && !isOneOf(weights, {DType::i8, DType::i4})) return wrong("filter", weights, "i8 or i4");
    if (!context.has(bias)) return {};
    const DType b = context.input(bias).dtype;
    if (in == DType::f32 && !isOneOf(b, {DType::f32})) return wrong("bias", b, "f32");
    if ((in == DType::u8 || in == DType::i8) && !isOneOf(b, {DType::i32})) return wrong("bias", b, "i32");
    if (in == DType::i16 && !isOneOf(b, {DType::i32, DType::i64})) return wrong("bias", b, "i32 or i64");
    return {};
}

Status checkConvolutionBias(const InferContext& context, int bias, int64_t channels)
{
    if (!context.has(bias)) return {};
    const Shape& shape = context.input(bias).shape;
    if (!shape.isStatic()) return {};
    const auto elements = checkedElementCount(shape);
    if (!elements || dimensionsDiffer(*elements, channels))
        return InferContext::violated(7, "bias has shape " + toString(shape) + ", expected " + dimensionText(channels) + " elements");
    return {};
}

Status checkConvolutionScales(const InferContext& context, int input, int filter, int64_t channels)
{
    const DType in = context.input(input).dtype;
    const Quantization* filterQ = context.input(filter).quantization;
    if (isInteger(in)) {
        const Quantization* inputQ = context.input(input).quantization;
        if (!isUnresolved(inputQ) && (inputQ == nullptr || inputQ->scales.size() != 1))
            return InferContext::violated(8, "input has no scale");
    }
    if ((!isInteger(in) && !isInteger(context.input(filter).dtype)) || isUnresolved(filterQ)) return {};
    if (filterQ == nullptr || filterQ->scales.empty()) return InferContext::violated(8, "filter has no scale");
    const auto scales = static_cast<int64_t>(filterQ->scales.size());
    if (scales != 1 && dimensionsDiffer(scales, channels))
        return InferContext::violated(8, "filter has " + std::to_string(scales) + " scales, expected 1 or " + dimensionText(channels));
    if (in == DType::i8 || in == DType::i16)
        for (const int64_t zero : filterQ->zeroPoints)
            if (zero != 0) return InferContext::violated(8, "filter has zero point " + std::to_string(zero) + ", expected 0");
    return {};
}

Status checkTransposedSize(char axis, int64_t windows, int64_t input)
{
    if (!dimensionsDiffer(windows, input)) return {};
    return InferContext::violated(6, "the output has " + std::to_string(windows) + " windows along " + std::string(1, axis) +
                                         ", the input " + std::to_string(input) + " elements");
}

Status checkBiasZero(const InferContext& context, int constraint, int input, int bias)
{
    if (!context.has(bias) || !isInteger(context.input(input).dtype)) return {};
    const Quantization* const q = context.input(bias).quantization;
    if (q == nullptr) return {};
    for (const int64_t zero : q->zeroPoints)
        if (zero != 0) return InferContext::violated(constraint, "bias has zero point " + std::to_string(zero) + ", expected 0");
    return {};
}

Result<int64_t> convolvedSize(const InferContext& context, char axis, int64_t input, int64_t filter)
{
    WindowAxis window = windowAxis(context.attributes(), axis, input, filter);
    if (filter == kUnknownDim) {
        window.filter = 1;
        if (!window.same) window.input = kUnknownDim;
    }
    return checkedOutputSize(window, axis, 4, 5, 6);
}

Shape inferredShape(const InferContext& context)
{
    std::vector<const Tensor*> inputs;
    for (int i = 0; i < context.inputCount(); ++i) inputs.push_back(context.has(i) ? &context.input(i) : nullptr);
    InferredType output;
    const Status status = inferOperator(context.op(), inputs, {&output, 1});
    return status.ok() ? output.shape : Shape::unknownRank();
}

} // namespace loopscope
