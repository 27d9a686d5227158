// Catalogue entries of the arithmetic operators with fused activation: ADD, SUB, MUL, DIV, and ADD_N.
// Constraints of ADD, SUB, MUL: C1 operands have one dtype; C2 shapes broadcast.
// Constraints of DIV: C1 operands have one dtype; C2 no integer divisor is zero (found while running); C3 shapes broadcast.
// Constraints of ADD_N: C1 operands have one dtype; C2 operands have one shape.
#include "engine/ops/catalog.h"
#include "engine/ops/inference_helpers.h"

using namespace loopscope;

namespace {

template <int kBroadcast> Status inferArithmetic(InferContext& context)
{
    LS_CHECK_OK(requireSameDtype(context, 1, 0, 1));
    LS_TRY(Shape shape, broadcastOperands(context, kBroadcast, 0, 1));
    context.setOutput(0, context.input(0).dtype, std::move(shape));
    return {};
}

/// MUL of two int16 operands may give an 8-bit result: then the declared dtype stays.
Status inferMul(InferContext& context)
{
    const DType declared = context.output(0).dtype;
    LS_CHECK_OK(inferArithmetic<2>(context));
    if (context.input(0).dtype == DType::i16 && (declared == DType::i8 || declared == DType::u8)) context.output(0).dtype = declared;
    return {};
}

Status inferAddN(InferContext& context)
{
    Shape shape = context.input(0).shape;
    for (int i = 1; i < context.inputCount(); ++i) {
        if (!context.has(i)) continue;
        LS_CHECK_OK(requireSameDtype(context, 1, 0, i));
        const Shape& other = context.input(i).shape;
        const bool known = shape.isStatic() && other.isStatic();
        if (known && !(shape == other))
            return InferContext::violated(2, "input " + std::to_string(i) + " is " + shapeText(other) + ", input 0 is " + shapeText(shape));
        if (!shape.isStatic() && other.isStatic()) shape = other;
    }
    context.setOutput(0, context.input(0).dtype, std::move(shape));
    return {};
}

OpDef arithmeticDef(Status (*infer)(InferContext&), std::string_view summary, std::string_view source)
{
    OpDef def;
    def.minInputs = def.maxInputs = 2;
    def.operands = "lhs, rhs";
    def.summary = summary;
    def.source = source;
    def.differs = "8- and 16-bit integers without quantization are plain integers that wrap; LiteRT crashes on some of them";
    def.floatBound = kExact;
    def.infer = infer;
    return def;
}

} // namespace

LS_DEFINE_OP(tfl, add)
{
    return arithmeticDef(inferArithmetic<2>,
                         "Element-wise sum with broadcasting, then a fused activation; infinite results become the largest finite number.",
                         "LiteRT kernels/add.cc");
}

LS_DEFINE_OP(tfl, sub)
{
    return arithmeticDef(
        inferArithmetic<2>,
        "Element-wise difference with broadcasting, then a fused activation; infinite results become the largest finite number.",
        "LiteRT kernels/sub.cc");
}

LS_DEFINE_OP(tfl, mul)
{
    OpDef def = arithmeticDef(
        inferMul, "Element-wise product with broadcasting, then a fused activation; infinite results become the largest finite number.",
        "LiteRT kernels/mul.cc");
    def.differs = "";
    return def;
}

LS_DEFINE_OP(tfl, div)
{
    OpDef def = arithmeticDef(inferArithmetic<3>,
                              "Element-wise quotient with broadcasting, then a fused activation; integers truncate; infinite results "
                              "become the largest finite number.",
                              "LiteRT kernels/div.cc");
    def.differs = "also takes int64";
    return def;
}

LS_DEFINE_OP(tfl, add_n)
{
    OpDef def;
    def.minInputs = 1;
    def.maxInputs = -1;
    def.operands = "values…";
    def.summary = "Sum of all operands, left to right.";
    def.source = "LiteRT kernels/add_n.cc";
    def.floatBound = kExact;
    def.infer = inferAddN;
    return def;
}
