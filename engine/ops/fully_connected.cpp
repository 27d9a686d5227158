// Catalogue entry of fully_connected.
#include "engine/ops/catalog.h"

#include <algorithm>
#include <string>

using namespace loopscope;

namespace {

std::string text(int64_t value)
{
    return value == kUnknownDim ? "?" : std::to_string(value);
}

bool differ(int64_t a, int64_t b)
{
    return a != kUnknownDim && b != kUnknownDim && a != b;
}

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
        return InferContext::violated(3, std::string(what) + " is " + std::string(dtypeName(found)) + ", expected " + std::string(expected) +
                                             " for input " + std::string(dtypeName(in)));
    };
    switch (in) {
    case DType::unknown: return {};
    case DType::f32:
        if (!isOneOf(weights, {DType::f32, DType::i8, DType::u8, DType::i4, DType::i2})) return wrong("filter", weights, "f32, i8, u8, i4 or i2");
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
    if (scales != 1 && differ(scales, units))
        return InferContext::violated(5, "filter has " + std::to_string(scales) + " scales, expected 1 or " + text(units));
    return {};
}

/// Constraints: C1 filter rank, C2 depth, C3 dtypes, C4 bias, C5 scales.
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
        if (input.hasRank() && (input.rank() == 0 || differ(input.back(), depth)))
            return InferContext::violated(2, "input " + toString(input) + " does not end in the filter's depth " + text(depth));
        output = input;
        if (input.hasRank()) output[input.rank() - 1] = units;
    } else if (input.isStatic() && depth != kUnknownDim) {
        const auto elements = checkedElementCount(input);
        if (!elements || (depth == 0 ? *elements != 0 : *elements < depth && *elements != 0))
            return InferContext::violated(2, "input " + toString(input) + " does not fill one row of the filter's depth " + text(depth));
        // As many whole rows as there are; LiteRT drops what is left over.
        output[0] = depth == 0 ? input.countOf(0, std::max(0, input.rank() - 1)) : *elements / depth;
    } else if (input.hasRank() && input.rank() > 0 && depth != kUnknownDim && input.back() == depth) {
        // Rows of the filter's depth, some of the dimensions before them unknown.
        if (input.rank() == 2) output[0] = input[0];
    }
    if (context.has(2) && context.input(2).shape.isStatic()) {
        const auto elements = checkedElementCount(context.input(2).shape);
        if (!elements || differ(*elements, units))
            return InferContext::violated(4, "bias has shape " + toString(context.input(2).shape) + ", expected " + text(units) + " elements");
    }
    LS_CHECK_OK(checkFullyConnectedScales(context, units));
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
    def.operands = "input […,I], filter [O,I], bias? [O]";
    def.summary = "Multiplies each row of the input by the transposed filter, adds the bias and clamps by the activation.";
    def.source = "LiteRT kernels/fully_connected.cc, internal/reference/{fully_connected,integer_ops/fully_connected}.h";
    def.floatBound = "exact";
    def.infer = inferFullyConnected;
    def.macs = fullyConnectedMacs;
    return def;
}
