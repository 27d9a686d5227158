#include "engine/transform/gradient_rules.h"

#include <algorithm>
#include <unordered_map>

namespace loopscope {

namespace {

using Case = GradientCase;
using Value = GradientValue;

// --- Shapes -----------------------------------------------------------------------------------------------------------------------------

Value shapeOf(Case& c, Value v) { return c.nodes.node("Shape", {v}, {{"out_type", DType::i32}}); }
Value reshape(Case& c, Value v, Value shape) { return c.nodes.node("Reshape", {v, shape}); }
Value sumOver(Case& c, Value v, Value axes) { return c.nodes.node("Sum", {v, axes}, {{"keep_dims", false}}); }
Value zerosLike(Case& c, Value v) { return c.nodes.node("ZerosLike", {v}); }
Value expandDims(Case& c, Value v, int axis) { return c.nodes.node("ExpandDims", {v, c.nodes.integer(axis)}); }

/// What is handed back to two operands that were broadcast to each other: sums over the dimensions in which each was repeated.
void giveBroadcast(Case& c, Value gx, Value gy)
{
    const Value sx = shapeOf(c, c.x[0]), sy = shapeOf(c, c.x[1]);
    const Value shapes[] = {sx, sy};
    const std::vector<Value> axes = c.nodes.add("BroadcastGradientArgs", shapes);
    c.give(reshape(c, sumOver(c, gx, axes[0]), sx), reshape(c, sumOver(c, gy, axes[1]), sy));
}

// --- Elementwise ------------------------------------------------------------------------------------------------------------------------

Value call(Case& c, std::string_view kind, Value v) { return c.nodes.node(kind, {v}); }
Value square(Case& c, Value v) { return call(c, "Square", v); }

void castBack(Case& c) { c.give(c.nodes.node("Cast", {c.dy[0]}, {{"DstT", c.nodes.dtype(c.x[0])}})); }

void powRule(Case& c) // x^y: dx = dy · y · x^(y−1), dy = dy · x^y · ln x, which counts as 0 where x ≤ 0
{
    const Value x = c.x[0], y = c.x[1], z = c.y[0];
    const DType dtype = c.nodes.dtype(x);
    const Value logOfX = c.nodes.node("Select", {c.nodes.node("Greater", {x, zerosLike(c, x)}), call(c, "Log", x), zerosLike(c, x)});
    giveBroadcast(c, c.dy[0] * (y * c.nodes.node("Pow", {x, y - c.nodes.number(1, dtype)})), c.dy[0] * (z * logOfX));
}

/// The larger or smaller of two takes the gradient; of equal ones the first.
void pickRule(Case& c, std::string_view comparison)
{
    const Value zeros = zerosLike(c, c.dy[0]);
    const Value first = c.nodes.node(comparison, {c.x[0], c.x[1]});
    giveBroadcast(c, c.nodes.node("Select", {first, c.dy[0], zeros}), c.nodes.node("Select", {first, zeros, c.dy[0]}));
}

// --- Reductions -------------------------------------------------------------------------------------------------------------------------

/// The shape of a reduction's result with its reduced dimensions kept as 1.
Value keptShape(Case& c, Value xShape)
{
    const Value rank = call(c, "Rank", c.x[0]);
    const Value axes = c.nodes.node("FloorMod", {c.x[1] + rank, rank});
    const Value all = c.nodes.node("Range", {c.nodes.integer(0), rank, c.nodes.integer(1)});
    const Value lists[] = {all, axes, xShape, c.nodes.node("Fill", {shapeOf(c, axes), c.nodes.integer(1)})};
    return c.nodes.add("DynamicStitch", lists, {{"N", int64_t{2}}}).front();
}

/// dy repeated over the reduced dimensions.
Value spread(Case& c, Value dy, Value kept, Value xShape) { return c.nodes.node("BroadcastTo", {reshape(c, dy, kept), xShape}); }

void sumRule(Case& c)
{
    const Value xShape = shapeOf(c, c.x[0]);
    c.give(spread(c, c.dy[0], keptShape(c, xShape), xShape));
}

void meanRule(Case& c) // as the sum's, over the number of elements that make one of the result
{
    const Value xShape = shapeOf(c, c.x[0]);
    const DType dtype = c.nodes.dtype(c.dy[0]);
    const auto count = [&](Value v) {
        return c.nodes.node("Cast", {c.nodes.node("Size", {v}, {{"out_type", DType::i32}})}, {{"DstT", dtype}});
    };
    const Value factor = count(c.x[0]) / count(c.y[0]);
    c.give(spread(c, c.dy[0], keptShape(c, xShape), xShape) / factor);
}

void extremeRule(Case& c) // elements that equal the extreme share its gradient
{
    const Value xShape = shapeOf(c, c.x[0]), kept = keptShape(c, xShape);
    const DType dtype = c.nodes.dtype(c.dy[0]);
    const Value hits = c.nodes.node("Cast", {c.nodes.node("Equal", {c.x[0], reshape(c, c.y[0], kept)})}, {{"DstT", dtype}});
    const Value number = reshape(c, sumOver(c, hits, c.x[1]), kept);
    c.give(hits / number * reshape(c, c.dy[0], kept));
}

// --- Matrices ---------------------------------------------------------------------------------------------------------------------------

struct Factor {
    Value value;
    bool flipped = false;
};

/// Products of matrices: what the flags of the operator call transposed or adjoint goes round with them.
void matrixRule(Case& c, std::string_view flagA, std::string_view flagB, bool broadcast)
{
    const auto product = [&](Factor a, Factor b) {
        AttributeList flags;
        setAttribute(flags, std::string(flagA), a.flipped);
        setAttribute(flags, std::string(flagB), b.flipped);
        return c.nodes.node(c.op.kind.name, {a.value, b.value}, std::move(flags));
    };
    const bool ta = attributeBool(c.op.attributes, flagA, false), tb = attributeBool(c.op.attributes, flagB, false);
    const Value a = c.x[0], b = c.x[1], dy = c.dy[0];
    const Value da = ta ? product({b, tb}, {dy, true}) : product({dy, false}, {b, !tb});
    const Value db = tb ? product({dy, true}, {a, ta}) : product({a, !ta}, {dy, false});
    if (!broadcast) return c.give(da, db);
    // Only batch dimensions are broadcast; the last two always agree.
    const Value sa = shapeOf(c, a), sb = shapeOf(c, b);
    const auto batch = [&](Value shape) {
        const int32_t zero[] = {0}, last[] = {-2}, one[] = {1};
        return c.nodes.node("StridedSlice", {shape, c.nodes.integers(zero), c.nodes.integers(last), c.nodes.integers(one)},
                            {{"begin_mask", int64_t{1}},
                             {"ellipsis_mask", int64_t{0}},
                             {"end_mask", int64_t{0}},
                             {"new_axis_mask", int64_t{0}},
                             {"shrink_axis_mask", int64_t{0}}});
    };
    const Value batches[] = {batch(sa), batch(sb)};
    const std::vector<Value> axes = c.nodes.add("BroadcastGradientArgs", batches);
    c.give(reshape(c, sumOver(c, da, axes[0]), sa), reshape(c, sumOver(c, db, axes[1]), sb));
}

// --- Moving elements --------------------------------------------------------------------------------------------------------------------

void reshapeRule(Case& c) { c.give(reshape(c, c.dy[0], shapeOf(c, c.x[0]))); }

void transposeRule(Case& c) { c.give(c.nodes.node("Transpose", {c.dy[0], call(c, "InvertPermutation", c.x[1])})); }

void packRule(Case& c)
{
    const auto n = static_cast<int64_t>(c.x.size());
    c.dx = c.nodes.add("Unpack", std::span(&c.dy[0], 1), {{"axis", attributeInt(c.op.attributes, "axis", 0)}, {"num", n}});
}

void unpackRule(Case& c) { c.give(c.nodes.add("Pack", c.dy, {{"axis", attributeInt(c.op.attributes, "axis", 0)}}).front()); }

/// Concat has its axis in front of the parts, ConcatV2 behind them.
void concatRule(Case& c, bool axisFirst)
{
    const size_t first = axisFirst ? 1 : 0, count = c.x.size() - 1;
    const Value axis = axisFirst ? c.x.front() : c.x.back();
    std::vector<Value> shapes;
    for (size_t i = 0; i < count; ++i) shapes.push_back(shapeOf(c, c.x[first + i]));
    const Value rank = call(c, "Rank", c.x[first]);
    std::vector<Value> operands = {c.nodes.node("FloorMod", {axis + rank, rank})};
    operands.insert(operands.end(), shapes.begin(), shapes.end());
    const std::vector<Value> offsets = c.nodes.add("ConcatOffset", operands, {{"N", static_cast<int64_t>(count)}});
    for (size_t i = 0; i < count; ++i) c.dx[first + i] = c.nodes.node("Slice", {c.dy[0], offsets[i], shapes[i]});
}

void splitRule(Case& c) // Split(axis, value), SplitV(value, sizes, axis)
{
    const bool v = c.op.kind.name == "SplitV";
    std::vector<Value> operands = c.dy;
    operands.push_back(c.x[v ? 2 : 0]);
    c.dx[v ? 0 : 1] = c.nodes.add("ConcatV2", operands, {{"N", static_cast<int64_t>(c.dy.size())}}).front();
}

void sliceRule(Case& c) // dy with as many zeros around it as the slice left out
{
    const Value before = c.x[1];
    const Value behind = c.nodes.node("Cast", {shapeOf(c, c.x[0])}, {{"DstT", c.nodes.dtype(before)}}) - before -
                         c.nodes.node("Cast", {shapeOf(c, c.y[0])}, {{"DstT", c.nodes.dtype(before)}});
    const Value sides[] = {before, behind};
    c.give(c.nodes.node("Pad", {c.dy[0], c.nodes.add("Pack", sides, {{"axis", int64_t{1}}}).front()}));
}

void stridedSliceRule(Case& c)
{
    AttributeList masks;
    for (const char* key : {"begin_mask", "ellipsis_mask", "end_mask", "new_axis_mask", "shrink_axis_mask"})
        setAttribute(masks, key, attributeInt(c.op.attributes, key, 0));
    const Value shape = c.nodes.node("Shape", {c.x[0]}, {{"out_type", c.nodes.dtype(c.x[1])}});
    c.give(c.nodes.node("StridedSliceGrad", {shape, c.x[1], c.x[2], c.x[3], c.dy[0]}, std::move(masks)));
}

void broadcastToRule(Case& c)
{
    const Value shapes[] = {shapeOf(c, c.x[0]), shapeOf(c, c.y[0])};
    const std::vector<Value> axes = c.nodes.add("BroadcastGradientArgs", shapes);
    c.give(reshape(c, sumOver(c, c.dy[0], axes[0]), shapes[0]));
}

void tileRule(Case& c) // [n·a] as [n, a], summed over n
{
    const Value sides[] = {c.nodes.node("Cast", {c.x[1]}, {{"DstT", DType::i32}}), shapeOf(c, c.x[0])};
    const int32_t flat[] = {-1};
    const Value pairs = reshape(c, c.nodes.add("Pack", sides, {{"axis", int64_t{1}}}).front(), c.nodes.integers(flat));
    const Value axes =
        c.nodes.node("Range", {c.nodes.integer(0), c.nodes.node("Size", {pairs}, {{"out_type", DType::i32}}), c.nodes.integer(2)});
    c.give(sumOver(c, reshape(c, c.dy[0], pairs), axes));
}

void gatherNdRule(Case& c)
{
    const Value shape = c.nodes.node("Shape", {c.x[0]}, {{"out_type", c.nodes.dtype(c.x[1])}});
    c.give(c.nodes.node("ScatterNd", {c.x[1], c.dy[0], shape}));
}

void selectRule(Case& c)
{
    const Value zeros = zerosLike(c, c.dy[0]);
    c.dx[1] = c.nodes.node("Select", {c.x[0], c.dy[0], zeros});
    c.dx[2] = c.nodes.node("Select", {c.x[0], zeros, c.dy[0]});
}

// --- Layers -----------------------------------------------------------------------------------------------------------------------------

/// Attributes of a layer that its gradient takes over.
AttributeList layerAttributes(const Case& c, std::initializer_list<const char*> keys)
{
    AttributeList kept;
    for (const char* key : keys)
        if (const Attribute* found = findAttribute(c.op.attributes, key)) setAttribute(kept, key, Attribute(*found));
    return kept;
}

void softmaxRule(Case& c) // (dy − Σ dy·y) · y
{
    const int32_t last[] = {-1};
    const Value sums = c.nodes.node("Sum", {c.dy[0] * c.y[0], c.nodes.integers(last)}, {{"keep_dims", true}});
    c.give((c.dy[0] - sums) * c.y[0]);
}

void logSoftmaxRule(Case& c) // dy − Σ dy · e^y
{
    const int32_t last[] = {-1};
    const Value sums = c.nodes.node("Sum", {c.dy[0], c.nodes.integers(last)}, {{"keep_dims", true}});
    c.give(c.dy[0] - sums * call(c, "Exp", c.y[0]));
}

void crossEntropyRule(Case& c) // the operator's second result is the gradient by the logits
{
    const Value loss = expandDims(c, c.dy[0], -1);
    c.give(loss * c.y[1], c.op.kind.name.starts_with("Sparse") ? Value() : loss * -call(c, "LogSoftmax", c.x[0]));
}

void convolutionRule(Case& c)
{
    const AttributeList attributes =
        layerAttributes(c, {"data_format", "dilations", "explicit_paddings", "padding", "strides", "use_cudnn_on_gpu"});
    const std::string kind = c.op.kind.name;
    c.give(c.nodes.node(kind + "BackpropInput", {shapeOf(c, c.x[0]), c.x[1], c.dy[0]}, attributes),
           c.nodes.node(kind + "BackpropFilter", {c.x[0], shapeOf(c, c.x[1]), c.dy[0]}, attributes));
}

void maxPoolRule(Case& c)
{
    c.give(c.nodes.node("MaxPoolGrad", {c.x[0], c.y[0], c.dy[0]},
                        layerAttributes(c, {"data_format", "explicit_paddings", "ksize", "padding", "strides"})));
}

void avgPoolRule(Case& c)
{
    c.give(c.nodes.node("AvgPoolGrad", {shapeOf(c, c.x[0]), c.dy[0]}, layerAttributes(c, {"data_format", "ksize", "padding", "strides"})));
}

struct NamedRule {
    std::string_view kind;
    GradientRule rule;
};

// clang-format off
constexpr NamedRule kGradientRules[] = {
    {"Identity", [](Case& c) { c.give(c.dy[0]); }},
    {"IdentityN", [](Case& c) { c.dx = c.dy; }},
    {"Snapshot", [](Case& c) { c.give(c.dy[0]); }},
    {"Abs", [](Case& c) { c.give(c.dy[0] * call(c, "Sign", c.x[0])); }},
    {"Neg", [](Case& c) { c.give(-c.dy[0]); }},
    {"Inv", [](Case& c) { c.give(c.dy[0] * -square(c, c.y[0])); }},
    {"Reciprocal", [](Case& c) { c.give(c.dy[0] * -square(c, c.y[0])); }},
    {"Square", [](Case& c) { c.give(c.dy[0] * (2 * c.x[0])); }},
    {"Sqrt", [](Case& c) { c.give(c.dy[0] * (0.5 * call(c, "Reciprocal", c.y[0]))); }},
    {"Rsqrt", [](Case& c) { c.give(c.dy[0] * (-0.5 * c.y[0] * square(c, c.y[0]))); }},
    {"Exp", [](Case& c) { c.give(c.dy[0] * c.y[0]); }},
    {"Expm1", [](Case& c) { c.give(c.dy[0] * call(c, "Exp", c.x[0])); }},
    {"Log", [](Case& c) { c.give(c.dy[0] * call(c, "Reciprocal", c.x[0])); }},
    {"Log1p", [](Case& c) { c.give(c.dy[0] * call(c, "Reciprocal", 1 + c.x[0])); }},
    {"Sin", [](Case& c) { c.give(c.dy[0] * call(c, "Cos", c.x[0])); }},
    {"Cos", [](Case& c) { c.give(c.dy[0] * -call(c, "Sin", c.x[0])); }},
    {"Tan", [](Case& c) { c.give(c.dy[0] * square(c, call(c, "Reciprocal", call(c, "Cos", c.x[0])))); }},
    {"Asin", [](Case& c) { c.give(c.dy[0] * call(c, "Rsqrt", 1 - square(c, c.x[0]))); }},
    {"Acos", [](Case& c) { c.give(c.dy[0] * -call(c, "Rsqrt", 1 - square(c, c.x[0]))); }},
    {"Atan", [](Case& c) { c.give(c.dy[0] * call(c, "Reciprocal", 1 + square(c, c.x[0]))); }},
    {"Sinh", [](Case& c) { c.give(c.dy[0] * call(c, "Cosh", c.x[0])); }},
    {"Cosh", [](Case& c) { c.give(c.dy[0] * call(c, "Sinh", c.x[0])); }},
    {"Tanh", [](Case& c) { c.give(c.dy[0] * (1 - square(c, c.y[0]))); }},
    {"Asinh", [](Case& c) { c.give(c.dy[0] * call(c, "Reciprocal", call(c, "Cosh", c.y[0]))); }},
    {"Acosh", [](Case& c) { c.give(c.dy[0] * call(c, "Reciprocal", call(c, "Sinh", c.y[0]))); }},
    {"Atanh", [](Case& c) { c.give(c.dy[0] * call(c, "Reciprocal", 1 - square(c, c.x[0]))); }},
    {"Erf", [](Case& c) { c.give(c.dy[0] * (1.1283791670955126 * call(c, "Exp", -square(c, c.x[0])))); }},
    {"Sigmoid", [](Case& c) { c.give(c.dy[0] * (c.y[0] * (1 - c.y[0]))); }},
    {"Sign", [](Case& c) { c.give(zerosLike(c, c.x[0])); }},
    {"Cast", castBack},
    {"Conj", [](Case& c) { c.give(call(c, "Conj", c.dy[0])); }},
    {"Real", [](Case& c) { c.give(c.nodes.node("Complex", {c.dy[0], zerosLike(c, c.dy[0])}, {{"Tout", c.nodes.dtype(c.x[0])}})); }},
    {"Imag", [](Case& c) { c.give(c.nodes.node("Complex", {zerosLike(c, c.dy[0]), c.dy[0]}, {{"Tout", c.nodes.dtype(c.x[0])}})); }},
    {"Complex", [](Case& c) { giveBroadcast(c, c.nodes.node("Real", {c.dy[0]}, {{"Tout", c.nodes.dtype(c.x[0])}}),
                                            c.nodes.node("Imag", {c.dy[0]}, {{"Tout", c.nodes.dtype(c.x[0])}})); }},

    {"Add", [](Case& c) { giveBroadcast(c, c.dy[0], c.dy[0]); }},
    {"AddV2", [](Case& c) { giveBroadcast(c, c.dy[0], c.dy[0]); }},
    {"Sub", [](Case& c) { giveBroadcast(c, c.dy[0], -c.dy[0]); }},
    {"Mul", [](Case& c) { giveBroadcast(c, c.dy[0] * c.x[1], c.x[0] * c.dy[0]); }},
    {"Div", [](Case& c) { giveBroadcast(c, c.dy[0] / c.x[1], c.dy[0] * (-c.x[0] / square(c, c.x[1]))); }},
    {"RealDiv", [](Case& c) { giveBroadcast(c, c.dy[0] / c.x[1], c.dy[0] * (-c.x[0] / square(c, c.x[1]))); }},
    {"DivNoNan", [](Case& c) { giveBroadcast(c, c.nodes.node("DivNoNan", {c.dy[0], c.x[1]}),
                                             c.dy[0] * c.nodes.node("DivNoNan", {-c.x[0], square(c, c.x[1])})); }},
    {"MulNoNan", [](Case& c) { giveBroadcast(c, c.nodes.node("MulNoNan", {c.dy[0], c.x[1]}), c.nodes.node("MulNoNan", {c.x[0], c.dy[0]})); }},
    {"SquaredDifference", [](Case& c) { const Value d = 2 * (c.dy[0] * (c.x[0] - c.x[1])); giveBroadcast(c, d, -d); }},
    {"Pow", powRule},
    {"Maximum", [](Case& c) { pickRule(c, "GreaterEqual"); }},
    {"Minimum", [](Case& c) { pickRule(c, "LessEqual"); }},
    {"Select", selectRule},
    {"AddN", [](Case& c) { std::ranges::fill(c.dx, c.dy[0]); }},

    {"Sum", sumRule},
    {"Mean", meanRule},
    {"Max", extremeRule},
    {"Min", extremeRule},
    {"MatMul", [](Case& c) { matrixRule(c, "transpose_a", "transpose_b", false); }},
    {"BatchMatMul", [](Case& c) { matrixRule(c, "adj_x", "adj_y", false); }},
    {"BatchMatMulV2", [](Case& c) { matrixRule(c, "adj_x", "adj_y", true); }},

    {"Reshape", reshapeRule},
    {"Squeeze", reshapeRule},
    {"ExpandDims", reshapeRule},
    {"Transpose", transposeRule},
    {"Pack", packRule},
    {"Unpack", unpackRule},
    {"Concat", [](Case& c) { concatRule(c, true); }},
    {"ConcatV2", [](Case& c) { concatRule(c, false); }},
    {"Split", splitRule},
    {"SplitV", splitRule},
    {"Slice", sliceRule},
    {"StridedSlice", stridedSliceRule},
    {"Reverse", [](Case& c) { c.give(c.nodes.node("Reverse", {c.dy[0], c.x[1]})); }},
    {"ReverseV2", [](Case& c) { c.give(c.nodes.node("ReverseV2", {c.dy[0], c.x[1]})); }},
    {"Fill", [](Case& c) { c.dx[1] = sumOver(c, c.dy[0], c.nodes.node("Range", {c.nodes.integer(0), call(c, "Rank", c.dy[0]), c.nodes.integer(1)})); }},
    {"BroadcastTo", broadcastToRule},
    {"Tile", tileRule},
    {"GatherNd", gatherNdRule},

    {"BiasAdd", [](Case& c) { c.give(c.dy[0], c.nodes.node("BiasAddGrad", {c.dy[0]}, layerAttributes(c, {"data_format"}))); }},
    {"Relu", [](Case& c) { c.give(c.nodes.node("ReluGrad", {c.dy[0], c.x[0]})); }},
    {"Relu6", [](Case& c) { c.give(c.nodes.node("Relu6Grad", {c.dy[0], c.x[0]})); }},
    {"LeakyRelu", [](Case& c) { c.give(c.nodes.node("LeakyReluGrad", {c.dy[0], c.x[0]}, layerAttributes(c, {"alpha"}))); }},
    {"Elu", [](Case& c) { c.give(c.nodes.node("EluGrad", {c.dy[0], c.y[0]})); }},
    {"Selu", [](Case& c) { c.give(c.nodes.node("SeluGrad", {c.dy[0], c.y[0]})); }},
    {"Softplus", [](Case& c) { c.give(c.nodes.node("SoftplusGrad", {c.dy[0], c.x[0]})); }},
    {"Softsign", [](Case& c) { c.give(c.nodes.node("SoftsignGrad", {c.dy[0], c.x[0]})); }},
    {"Softmax", softmaxRule},
    {"LogSoftmax", logSoftmaxRule},
    {"SoftmaxCrossEntropyWithLogits", crossEntropyRule},
    {"SparseSoftmaxCrossEntropyWithLogits", crossEntropyRule},
    {"L2Loss", [](Case& c) { c.give(c.dy[0] * c.x[0]); }},
    {"Conv2D", convolutionRule},
    {"DepthwiseConv2dNative", convolutionRule},
    {"MaxPool", maxPoolRule},
    {"AvgPool", avgPoolRule},
};
// clang-format on

const std::unordered_map<std::string_view, GradientRule>& rules()
{
    static const std::unordered_map<std::string_view, GradientRule> byKind = [] {
        std::unordered_map<std::string_view, GradientRule> all;
        for (const NamedRule& each : kGradientRules) all.emplace(each.kind, each.rule);
        return all;
    }();
    return byKind;
}

} // namespace

GradientRule findGradientRule(std::string_view kind)
{
    const auto found = rules().find(kind);
    return found == rules().end() ? nullptr : found->second;
}

} // namespace loopscope
