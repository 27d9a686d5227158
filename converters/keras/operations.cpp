// Functions of keras.ops that a functional model calls between its layers: `x * 2 + y`, `ops.mean(x, axis=1)`.
#include "converters/keras/layer.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace loopscope::keras {

namespace {

/// The k-th operand: a tensor, or a number of Python in the dtype of the other.
ValueId operand(LayerCall& l, size_t k)
{
    const std::vector<ValueId> tensors = l.tensors();
    if (k < l.arguments.size()) {
        const Argument& a = l.arguments[k];
        if (a.value.valid()) return a.value;
        if (a.literal != nullptr && a.literal->isNumber() && !tensors.empty()) {
            // A fraction beside integers makes the result a float, and Keras says which.
            const bool fits = isFloat(l.b.dtype(tensors.front())) || a.literal->number() == static_cast<double>(a.literal->integer());
            if (fits) return l.b.number(a.literal->number(), tensors.front());
        }
    }
    l.refuse("it is called with what is neither a tensor nor a number");
    return {};
}

void one(LayerCall& l, const char* kind) { l.outputs = {l.b.op(kind, {l.in()})}; }

void two(LayerCall& l, const char* kind)
{
    ValueId a = operand(l, 0), b = operand(l, 1);
    if (l.b.dtype(a) != l.b.dtype(b)) {
        if (isFloat(l.b.dtype(a)) && isInteger(l.b.dtype(b))) b = l.b.cast(b, l.b.dtype(a));
        else if (isFloat(l.b.dtype(b)) && isInteger(l.b.dtype(a))) a = l.b.cast(a, l.b.dtype(b));
        else return l.refuse("its operands have two dtypes");
    }
    l.outputs = {l.b.op(kind, {a, b})};
}

/// "axis" of the call or of the operation's own config, one or several; none: all axes.
std::vector<int64_t> reducedAxes(LayerCall& l, ValueId x, size_t place)
{
    const Json& given = l.literal(place, "axis").isNull() ? l.config["axis"] : l.literal(place, "axis");
    const Json& list = given["class_name"].text() == "__tuple__" ? given["items"].isNull() ? given["config"] : given["items"] : given;
    std::vector<int64_t> axes;
    const auto take = [&](int64_t axis) { axes.push_back(axis < 0 ? axis + l.b.rank(x) : axis); };
    if (list.isNumber()) take(list.integer());
    for (const Json& item : list.items()) take(item.integer());
    if (axes.empty()) {
        axes.resize(static_cast<size_t>(std::max(l.b.rank(x), 0)));
        std::iota(axes.begin(), axes.end(), 0);
    }
    return axes;
}

bool keepsDims(const LayerCall& l) { return l.literal(2, "keepdims").truth() || l.config["keepdims"].truth(); }

void reduction(LayerCall& l, const char* kind)
{
    const ValueId x = l.in();
    l.outputs = {l.b.reduce(kind, x, reducedAxes(l, x, 1), keepsDims(l))};
}

/// The mean of the squared distances from the mean.
void variance(LayerCall& l)
{
    const ValueId x = l.in();
    const std::vector<int64_t> axes = reducedAxes(l, x, 1);
    const ValueId away = l.b.sub(x, l.b.reduce("Mean", x, axes, true));
    l.outputs = {l.b.reduce("Mean", l.b.op("Square", {away}), axes, keepsDims(l))};
}

void deviation(LayerCall& l)
{
    variance(l);
    l.outputs = {l.b.op("Sqrt", {l.outputs.front()})};
}

void logSumExp(LayerCall& l)
{
    const ValueId x = l.in();
    const std::vector<int64_t> axes = reducedAxes(l, x, 1);
    const ValueId most = l.b.reduce("Max", x, axes, true);
    ValueId y = l.b.add(l.b.op("Log", {l.b.reduce("Sum", l.b.op("Exp", {l.b.sub(x, most)}), axes, true)}), most);
    if (!keepsDims(l)) y = l.b.squeeze(y, axes);
    l.outputs = {y};
}

void reshapeOperation(LayerCall& l)
{
    const ValueId x = l.in();
    const Json& given = l.literal(1, "newshape").isNull() ? l.config["newshape"] : l.literal(1, "newshape");
    const Json& list = given["class_name"].text() == "__tuple__" ? given["items"].isNull() ? given["config"] : given["items"] : given;
    if (!list.isArray() || list.items().empty()) return l.refuse("its shape is none that is read");
    std::vector<int64_t> sizes;
    for (const Json& item : list.items()) sizes.push_back(item.integer(-1));
    l.outputs = {l.b.op("Reshape", {x, l.b.ints(sizes)})};
}

void expandDims(LayerCall& l)
{
    const ValueId x = l.in();
    const Json& axis = l.literal(1, "axis").isNull() ? l.config["axis"] : l.literal(1, "axis");
    if (!axis.isNumber()) return l.refuse("it expands along several axes");
    l.outputs = {l.b.expand(x, axis.integer())};
}

void concatenateOperation(LayerCall& l)
{
    std::vector<ValueId> list = l.tensors();
    if (list.empty()) return l.refuse("it is called with nothing");
    const Json& given = l.literal(99, "axis").isNull() ? l.config["axis"] : l.literal(99, "axis");
    const int64_t axis = std::clamp<int64_t>(given.integer(0), -32, 32);
    list.push_back(l.b.integer(axis < 0 ? axis + l.b.rank(list.front()) : axis));
    l.outputs = {l.b.op("ConcatV2", list)};
}

void transposeOperation(LayerCall& l)
{
    const ValueId x = l.in();
    const Json& given = l.literal(1, "axes").isNull() ? l.config["axes"] : l.literal(1, "axes");
    const Json& list = given["class_name"].text() == "__tuple__" ? given["items"].isNull() ? given["config"] : given["items"] : given;
    std::vector<int64_t> order;
    for (const Json& item : list.items()) order.push_back(item.integer());
    if (order.empty())
        for (int i = l.b.rank(x) - 1; i >= 0; --i) order.push_back(i);
    l.outputs = {l.b.transpose(x, order)};
}

void matmul(LayerCall& l)
{
    const ValueId a = l.in(0), b = l.in(1);
    const bool turnA = l.literal(99, "transpose_a").truth(), turnB = l.literal(99, "transpose_b").truth(); // as TensorFlow's own takes them
    const bool areMatrices = l.b.rank(a) == 2 && l.b.rank(b) == 2;
    AttributeList attributes;
    if (turnA) setAttribute(attributes, areMatrices ? "transpose_a" : "adj_x", true);
    if (turnB) setAttribute(attributes, areMatrices ? "transpose_b" : "adj_y", true);
    l.outputs = {l.b.op(areMatrices ? "MatMul" : "BatchMatMulV2", {a, b}, std::move(attributes))};
}

template <size_t n> struct Text {
    char characters[n];
    constexpr Text(const char (&text)[n]) // NOLINT(google-explicit-constructor): template arguments are written as literals
    {
        std::copy_n(text, n, characters);
    }
};

template <Text kind> void unaryOf(LayerCall& l) { one(l, kind.characters); }
template <Text kind> void binaryOf(LayerCall& l) { two(l, kind.characters); }
template <Text kind> void reduceBy(LayerCall& l) { reduction(l, kind.characters); }
template <Text name> void activationOf(LayerCall& l)
{
    static const Json kName(name.characters);
    l.outputs = {activate(l, kName, l.in())};
}

constexpr std::array kOperations = {
    NamedRule{"ops.Add", binaryOf<"AddV2">},
    NamedRule{"ops.Subtract", binaryOf<"Sub">},
    NamedRule{"ops.Multiply", binaryOf<"Mul">},
    NamedRule{"ops.Divide", binaryOf<"RealDiv">},
    NamedRule{"ops.TrueDivide", binaryOf<"RealDiv">},
    NamedRule{"ops.Power", binaryOf<"Pow">},
    NamedRule{"ops.Maximum", binaryOf<"Maximum">},
    NamedRule{"ops.Minimum", binaryOf<"Minimum">},
    NamedRule{"ops.Greater", binaryOf<"Greater">},
    NamedRule{"ops.GreaterEqual", binaryOf<"GreaterEqual">},
    NamedRule{"ops.Less", binaryOf<"Less">},
    NamedRule{"ops.LessEqual", binaryOf<"LessEqual">},
    NamedRule{"ops.Equal", binaryOf<"Equal">},
    NamedRule{"ops.NotEqual", binaryOf<"NotEqual">},
    NamedRule{"ops.LogicalAnd", binaryOf<"LogicalAnd">},
    NamedRule{"ops.LogicalOr", binaryOf<"LogicalOr">},
    NamedRule{"ops.LogicalNot", unaryOf<"LogicalNot">},
    NamedRule{"ops.FloorDivide", binaryOf<"FloorDiv">},
    NamedRule{"ops.Mod", binaryOf<"FloorMod">},
    NamedRule{"ops.Arctan2", binaryOf<"Atan2">},
    NamedRule{"ops.All", reduceBy<"All">},
    NamedRule{"ops.Any", reduceBy<"Any">},
    NamedRule{"ops.Negative", unaryOf<"Neg">},
    NamedRule{"ops.Absolute", unaryOf<"Abs">},
    NamedRule{"ops.Abs", unaryOf<"Abs">},
    NamedRule{"ops.Exp", unaryOf<"Exp">},
    NamedRule{"ops.Log", unaryOf<"Log">},
    NamedRule{"ops.Sqrt", unaryOf<"Sqrt">},
    NamedRule{"ops.Rsqrt", unaryOf<"Rsqrt">},
    NamedRule{"ops.Square", unaryOf<"Square">},
    NamedRule{"ops.Sin", unaryOf<"Sin">},
    NamedRule{"ops.Cos", unaryOf<"Cos">},
    NamedRule{"ops.Tan", unaryOf<"Tan">},
    NamedRule{"ops.Tanh", unaryOf<"Tanh">},
    NamedRule{"ops.Sinh", unaryOf<"Sinh">},
    NamedRule{"ops.Cosh", unaryOf<"Cosh">},
    NamedRule{"ops.Arcsin", unaryOf<"Asin">},
    NamedRule{"ops.Arccos", unaryOf<"Acos">},
    NamedRule{"ops.Arctan", unaryOf<"Atan">},
    NamedRule{"ops.Arcsinh", unaryOf<"Asinh">},
    NamedRule{"ops.Arccosh", unaryOf<"Acosh">},
    NamedRule{"ops.Arctanh", unaryOf<"Atanh">},
    NamedRule{"ops.Expm1", unaryOf<"Expm1">},
    NamedRule{"ops.Log1p", unaryOf<"Log1p">},
    NamedRule{"ops.Floor", unaryOf<"Floor">},
    NamedRule{"ops.Ceil", unaryOf<"Ceil">},
    NamedRule{"ops.Round", unaryOf<"Round">},
    NamedRule{"ops.Sign", unaryOf<"Sign">},
    NamedRule{"ops.Reciprocal", unaryOf<"Reciprocal">},
    NamedRule{"ops.Erf", unaryOf<"Erf">},
    NamedRule{"ops.Isnan", unaryOf<"IsNan">},
    NamedRule{"ops.Isinf", unaryOf<"IsInf">},
    NamedRule{"ops.Isfinite", unaryOf<"IsFinite">},
    NamedRule{"ops.Mean", reduceBy<"Mean">},
    NamedRule{"ops.Sum", reduceBy<"Sum">},
    NamedRule{"ops.Max", reduceBy<"Max">},
    NamedRule{"ops.Min", reduceBy<"Min">},
    NamedRule{"ops.Prod", reduceBy<"Prod">},
    NamedRule{"ops.Amax", reduceBy<"Max">},
    NamedRule{"ops.Amin", reduceBy<"Min">},
    NamedRule{"ops.Var", variance},
    NamedRule{"ops.Std", deviation},
    NamedRule{"ops.Logsumexp", logSumExp},
    NamedRule{"ops.Reshape", reshapeOperation},
    NamedRule{"ops.ExpandDims", expandDims},
    NamedRule{"ops.Concatenate", concatenateOperation},
    NamedRule{"ops.Transpose", transposeOperation},
    NamedRule{"ops.Matmul", matmul},
    NamedRule{"ops.Relu", activationOf<"relu">},
    NamedRule{"ops.Selu", activationOf<"selu">},
    NamedRule{"ops.Relu6", activationOf<"relu6">},
    NamedRule{"ops.Sigmoid", activationOf<"sigmoid">},
    NamedRule{"ops.Silu", activationOf<"silu">},
    NamedRule{"ops.Softplus", activationOf<"softplus">},
    NamedRule{"ops.Softsign", activationOf<"softsign">},
    NamedRule{"ops.HardSigmoid", activationOf<"hard_sigmoid">},
    NamedRule{"ops.HardSilu", activationOf<"hard_silu">},
};

} // namespace

std::span<const NamedRule> operations() { return kOperations; }

} // namespace loopscope::keras
