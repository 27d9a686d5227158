// Catalogue entry of fully_connected.
#include "engine/ops/catalog.h"
#include "engine/ops/convolution_checks.h"

#include <algorithm>
#include <string>

using namespace loopscope;

namespace {

bool isOneOf(DType dtype, std::initializer_list<DType> allowed)
{
    return dtype == DType::unknown || std::find(allowed.begin(), allowed.end(), dtype) != allowed.end();
}

/// Dtypes that LiteRT's fully_connected knows, with f32 activations on integer weights as "hybrid".
Status checkFullyConnectedDtypes(const InferContext& context)
{
    const DType in = context.input(0).dtype;
    const DType weights = context.input(1).dtype;
    const DType bias = context.has(2) ? context.input(2).dtype : DType::unknown;
    const auto wrong = [&](std::string_view what, DType found, std::string_view expected) -> Status {
        return InferContext::violated(3, std::string(what) + " is " + std::string(dtypeName(found)) + ", expected " +
                                             std::string(expected) + " for input " + std::string(dtypeName(in)));
    };
    switch (in) {
    case DType::unknown: return {};
    case DType::f32:
        if (!isOneOf(weights, {DType::f32, DType::i8, DType::u8, DType::i4, DType::i2}))
            return wrong("filter", weights, "f32, i8, u8, i4 or i2");
        if (!isOneOf(bias, {DType::f32})) return wrong("bias", bias, "f32");
        return {};
    case DType::u8:
        if (!isOneOf(weights, {DType::u8})) return wrong("filter", weights, "u8");
        if (!isOneOf(bias, {DType::i32})) return wrong("bias", bias, "i32");
        return {};
    case DType::i8:
        if (!isOneOf(weights, {DType::i8, DType::i4, DType::i2})) return wrong("filter", weights, "i8, i4 or i2");
        if (!isOneOf(bias, {DType::i32})) return wrong("bias", bias, "i32");
        return {};
    case DType::i16:
        if (!isOneOf(weights, {DType::i8, DType::i4, DType::i2, DType::i16})) return wrong("filter", weights, "i8, i4, i2 or i16");
        if (!isOneOf(bias, {DType::i32, DType::i64})) return wrong("bias", bias, "i32 or i64");
        return {};
    default: return InferContext::violated(3, "input is " + std::string(dtypeName(in)) + ", expected f32, u8, i8 or i16");
    }
}

Status checkFullyConnectedScales(const InferContext& context, int64_t units)
{
    if (isInteger(context.input(0).dtype) && (!context.input(0).quantization || context.input(0).quantization->scales.size() != 1))
        return InferContext::violated(5, "input has no scale");
    if (!isInteger(context.input(1).dtype)) return {};
    const Quantization* q = context.input(1).quantization;
    if (q == nullptr || q->kind == Quantization::Kind::blockwise) return q ? Status() : InferContext::violated(5, "filter has no scale");
    if (q->scales.empty()) return InferContext::violated(5, "filter has no scale");
    const auto scales = static_cast<int64_t>(q->scales.size());
    if (scales != 1 && dimensionsDiffer(scales, units))
        return InferContext::violated(5, "filter has " + std::to_string(scales) + " scales, expected 1 or " + dimensionText(units));
    return {};
}

/// C6: shuffled weights. SHUFFLED4x16INT8 is for u8 operands with an i32 bias and an i16 result, whose zero points are 128 and 0;
/// SHUFFLED16x1FLOAT32 for f32. Blocks must be whole.
Status checkWeightsFormat(InferContext& context, int64_t units, int64_t depth)
{
    const std::string_view format = attributeWord(context.attributes(), "weights_format", "DEFAULT");
    const int results = format == "SHUFFLED4x16INT8" ? 2 : 1; // the second is the shuffled input
    if (context.outputCount() != results)
        return InferContext::violated(6, std::to_string(context.outputCount()) + " results, expected " + std::to_string(results) +
                                             " with weights_format " + std::string(format));
    if (format == "DEFAULT") return {};
    const auto wrong = [&](const std::string& what) -> Status {
        return InferContext::violated(6, "weights_format " + std::string(format) + ": " + what);
    };
    const auto requireMultiple = [&](std::string_view what, int64_t size, int64_t of) -> Status {
        if (size == kUnknownDim || size % of == 0) return {};
        return wrong(std::string(what) + " is " + std::to_string(size) + ", expected a multiple of " + std::to_string(of));
    };
    if (format == "SHUFFLED16x1FLOAT32") {
        if (!isOneOf(context.input(1).dtype, {DType::f32}))
            return wrong("filter is " + std::string(dtypeName(context.input(1).dtype)) + ", expected f32");
        return requireMultiple("the number of units", units, 16);
    }
    if (format != "SHUFFLED4x16INT8") return wrong("expected DEFAULT, SHUFFLED4x16INT8 or SHUFFLED16x1FLOAT32");
    if (!isOneOf(context.input(0).dtype, {DType::u8}) || !isOneOf(context.input(1).dtype, {DType::u8}))
        return wrong("input and filter must be u8");
    if (!context.has(2)) return wrong("there is no bias");
    if (!isOneOf(context.output(0).dtype, {DType::i16}))
        return wrong("the result is " + std::string(dtypeName(context.output(0).dtype)) + ", expected i16");
    for (const int i : {0, 1})
        if (const Quantization* q = context.input(i).quantization;
            q && !q->scales.empty() && (q->scales.size() != 1 || q->zeroPoint() != 128))
            return wrong("operand " + std::to_string(i) + " needs one scale and the zero point 128");
    LS_CHECK_OK(requireMultiple("the number of units", units, 4));
    return requireMultiple("the depth", depth, 16);
}

/// Constraints: C1 filter rank, C2 depth, C3 dtypes, C4 bias, C5 scales, C6 shuffled weights.
Status inferFullyConnected(InferContext& context)
{
    const Shape& input = context.input(0).shape;
    const Shape& filter = context.input(1).shape;
    if (filter.hasRank() && filter.rank() != 2)
        return InferContext::violated(1, "filter has rank " + std::to_string(filter.rank()) + ", expected 2");
    const int64_t units = filter.hasRank() ? filter[0] : kUnknownDim;
    const int64_t depth = filter.hasRank() ? filter[1] : kUnknownDim;
    LS_CHECK_OK(checkFullyConnectedDtypes(context));
    Shape output = {kUnknownDim, units};
    if (attributeBool(context.attributes(), "keep_num_dims", false)) {
        if (input.hasRank() && (input.rank() == 0 || dimensionsDiffer(input.back(), depth)))
            return InferContext::violated(2, "input " + toString(input) + " does not end in the filter's depth " + dimensionText(depth));
        output = input;
        if (input.hasRank()) output[input.rank() - 1] = units;
    } else if (input.isStatic() && depth != kUnknownDim) {
        const auto elements = checkedElementCount(input);
        if (!elements || (depth == 0 ? *elements != 0 : *elements < depth && *elements != 0))
            return InferContext::violated(2, "input " + toString(input) + " does not fill one row of the filter's depth " +
                                                 dimensionText(depth));
        // As many whole rows as there are; LiteRT drops what is left over.
        output[0] = depth == 0 ? input.countOf(0, std::max(0, input.rank() - 1)) : *elements / depth;
    } else if (input.hasRank() && input.rank() > 0 && depth != kUnknownDim && input.back() == depth) {
        // Rows of the filter's depth, some of the dimensions before them unknown.
        if (input.rank() == 2) output[0] = input[0];
    }
    if (context.has(2) && context.input(2).shape.isStatic()) {
        const auto elements = checkedElementCount(context.input(2).shape);
        if (!elements || dimensionsDiffer(*elements, units))
            return InferContext::violated(4, "bias has shape " + toString(context.input(2).shape) + ", expected " + dimensionText(units) +
                                                 " elements");
    }
    LS_CHECK_OK(checkFullyConnectedScales(context, units));
    LS_CHECK_OK(checkBiasZero(context, 5, 0, 2));
    LS_CHECK_OK(checkWeightsFormat(context, units, depth));
    if (context.outputCount() == 2) context.setOutput(1, DType::u8, input);
    // u8 operands may give an i16 result (LiteRT's internal format of LSTM gates): then the declared type stands.
    DType dtype = context.input(0).dtype;
    if (dtype == DType::u8 && context.output(0).dtype == DType::i16) dtype = DType::i16;
    context.setOutput(0, dtype, output);
    return {};
}

int64_t fullyConnectedMacs(const InferContext& context)
{
    const Shape& input = context.input(0).shape;
    const Shape& filter = context.input(1).shape;
    return input.isStatic() && filter.isStatic() ? checkedElementCount(input).value_or(0) * filter[0] : 0;
}

} // namespace

LS_DEFINE_OP(tfl, fully_connected)
{
    OpDef def;
    def.minInputs = 2;
    def.maxInputs = 3;
    def.maxOutputs = 2; // shuffled weights
    def.operands = "input […,I], filter [O,I], bias? [O]";
    def.summary = "Multiplies each row of the input by the transposed filter, adds the bias and clamps by the activation.";
    def.source = "LiteRT kernels/fully_connected.cc, internal/reference/{fully_connected,integer_ops/fully_connected}.h";
    def.differs = "shuffled weights work for any number of rows; LiteRT computes them for 1 or 4 only";
    def.floatBound = kExact;
    def.infer = inferFullyConnected;
    def.macs = fullyConnectedMacs;
    return def;
}
