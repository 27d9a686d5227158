// Functions of keras.ops that order, weigh and encode: `ops.norm(x, axis=-1)`, `ops.top_k(x, 3)`, `ops.one_hot(x, 10)`, `ops.tril(x)`.
#include "converters/keras/layer.h"
#include "converters/keras/operation_arguments.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace loopscope::keras {

namespace {

/// An axis of a tensor of that rank, counted from the front; `otherwise` where none is said.
std::optional<int> axisOf(LayerCall& l, const Json& axis, int rank, int64_t otherwise)
{
    const int64_t at = axis.isNumber() ? axis.integer() : otherwise;
    if (axis.isNull() || axis.isNumber())
        if (rank > 0 && at >= -rank && at < rank) return static_cast<int>(at < 0 ? at + rank : at);
    l.refuse("its axis is " + axis.dump());
    return std::nullopt;
}

/// The axes that are said, or all.
std::vector<int64_t> axesOf(LayerCall& l, ValueId x, const Json& said)
{
    std::vector<int64_t> axes = integersOf(said);
    for (int64_t& axis : axes) axis = axis < 0 ? axis + l.b.rank(x) : axis;
    if (axes.empty()) {
        axes.resize(static_cast<size_t>(std::max(l.b.rank(x), 0)));
        std::iota(axes.begin(), axes.end(), 0);
    }
    return axes;
}

/// Whole numbers as floats: what Keras divides and roots.
ValueId asFloat(LayerCall& l, ValueId x) { return isFloat(l.b.dtype(x)) ? x : l.b.cast(x, DType::f32); }

/// The axis to the end and back, around what knows only the last one.
template <typename Work> ValueId alongLast(LayerCall& l, ValueId x, int axis, Work work)
{
    const int last = l.b.rank(x) - 1;
    if (axis == last) return work(x);
    std::vector<int64_t> order;
    for (int i = 0; i <= last; ++i) order.push_back(i == axis ? last : i == last ? axis : i);
    return l.b.transpose(work(l.b.transpose(x, order)), order);
}

void norm(LayerCall& l)
{
    const ValueId x = asFloat(l, l.in());
    const Json& order = given(l, 1, "ord");
    const std::vector<int64_t> axes = axesOf(l, x, given(l, 2, "axis"));
    const bool keep = given(l, 3, "keepdims").truth();
    const double power = order.number(2);
    const bool isEuclidean = order.isNull() || order.text() == "fro" || (order.isNumber() && power == 2 && axes.size() == 1);
    if (isEuclidean) {
        l.outputs = {l.b.op("Sqrt", {l.b.reduce("Sum", l.b.mul(x, x), axes, keep)})};
        return;
    }
    if (!order.isNumber() || axes.size() != 1) return l.refuse("its order is " + order.dump());
    const ValueId size = l.b.op("Abs", {x});
    if (std::isinf(power)) {
        l.outputs = {l.b.reduce(power > 0 ? "Max" : "Min", size, axes, keep)};
        return;
    }
    if (power == 0) {
        l.outputs = {l.b.reduce("Sum", l.b.cast(l.b.op("NotEqual", {x, l.b.number(0, x)}), l.b.dtype(x)), axes, keep)};
        return;
    }
    const ValueId sum = l.b.reduce("Sum", l.b.op("Pow", {size, l.b.number(power, x)}), axes, keep);
    l.outputs = {l.b.op("Pow", {sum, l.b.op("RealDiv", {l.b.number(1, x), l.b.number(power, x)})})};
}

void roll(LayerCall& l)
{
    const ValueId x = l.in();
    const std::vector<int64_t> shifts = integersOf(given(l, 1, "shift")), axes = integersOf(given(l, 2, "axis"));
    if (shifts.empty() || (!axes.empty() && axes.size() != shifts.size()))
        return l.refuse("it is turned by " + given(l, 1, "shift").dump());
    if (!axes.empty()) {
        l.outputs = {l.b.op("Roll", {x, l.b.ints(shifts), l.b.ints(axes)})};
        return;
    }
    std::vector<Extent> extents;
    extents.reserve(static_cast<size_t>(std::max(l.b.rank(x), 0)));
    for (int i = 0; i < l.b.rank(x); ++i) extents.push_back(l.b.same(x, i));
    const ValueId flat = l.b.op("Reshape", {x, l.b.ints({-1})});
    l.outputs = {l.b.reshape(l.b.op("Roll", {flat, l.b.ints({shifts.front()}), l.b.ints({0})}), extents)};
}

void topK(LayerCall& l)
{
    const Json& k = given(l, 1, "k");
    if (!k.isNumber()) return l.refuse("its k is " + k.dump());
    const Json& sorted = given(l, 2, "sorted");
    l.outputs = l.b.all("TopKV2", {l.in(), l.b.integer(k.integer())}, {{"sorted", sorted.isNull() || sorted.truth()}});
}

void oneHot(LayerCall& l)
{
    const ValueId x = l.in();
    const Json &classes = given(l, 1, "num_classes"), &named = given(l, 3, "dtype"), &axis = given(l, 2, "axis");
    const DType dtype = named.isNull() ? DType::f32 : dtypeOfText(named.text());
    if (!classes.isNumber() || given(l, 4, "sparse").truth()) return l.refuse("its classes are " + classes.dump());
    const std::optional<int> at = axisOf(l, axis, l.b.rank(x) + 1, -1);
    if (!at) return;
    const ValueId hot = l.b.op("OneHot",
                               {l.b.cast(x, DType::i64), l.b.integer(classes.integer()), l.b.numbers({1}, Shape{}, DType::f32),
                                l.b.numbers({0}, Shape{}, DType::f32)},
                               {{"axis", *at == l.b.rank(x) ? int64_t{-1} : int64_t{*at}}});
    l.outputs = {l.b.cast(hot, dtype)};
}

/// Ascending: the largest of what is turned around.
void sorting(LayerCall& l, bool places)
{
    ValueId x = l.in();
    const Json& said = given(l, 1, "axis");
    const std::optional<int> axis = axisOf(l, said, l.b.rank(x), -1);
    if (!axis || l.b.dtype(x) == DType::boolean) return l.refuse("it sorts along " + said.dump());
    l.outputs = {alongLast(l, x, *axis, [&](ValueId v) {
        const int last = l.b.rank(v) - 1;
        const std::vector<ValueId> top = l.b.all("TopKV2", {l.b.op("Neg", {v}), extentOf(l, v, last)}, {{"sorted", true}});
        if (top.size() != 2) return ValueId();
        return places ? top[1] : l.b.op("Neg", {top[0]});
    })};
}
void sort(LayerCall& l) { sorting(l, false); }
void argsort(LayerCall& l) { sorting(l, true); }

void broadcastTo(LayerCall& l)
{
    const std::vector<int64_t> shape = integersOf(given(l, 1, "shape"));
    if (shape.empty() || std::ranges::min(shape) < 0) return l.refuse("its shape is none that is read");
    l.outputs = {l.b.op("BroadcastTo", {l.in(), l.b.ints(shape)})};
}

/// What lies below, or above, a diagonal of a matrix stays.
void triangle(LayerCall& l, bool lower)
{
    const ValueId x = l.in();
    const Json& said = given(l, 1, "k");
    const int64_t k = said.integer(0);
    if (!said.isNull() && !said.isNumber()) return l.refuse("its diagonal is " + said.dump());
    const ValueId all = l.b.integer(-1);
    if (lower ? k >= 0 : k <= 0) {
        const ValueId width = l.b.integer(lower ? k : -k);
        l.outputs = {lower ? l.b.op("MatrixBandPart", {x, all, width}) : l.b.op("MatrixBandPart", {x, width, all})};
        return;
    }
    // Beyond the main diagonal: what the other triangle has is taken away.
    const ValueId width = l.b.integer(lower ? -k - 1 : k - 1);
    const ValueId other = lower ? l.b.op("MatrixBandPart", {l.b.op("OnesLike", {x}), width, all})
                                : l.b.op("MatrixBandPart", {l.b.op("OnesLike", {x}), all, width});
    l.outputs = {l.b.op("SelectV2", {l.b.op("Equal", {other, l.b.op("ZerosLike", {x})}), x, l.b.op("ZerosLike", {x})})};
}
void lowerTriangle(LayerCall& l) { triangle(l, true); }
void upperTriangle(LayerCall& l) { triangle(l, false); }

void average(LayerCall& l)
{
    const ValueId x = asFloat(l, l.in());
    const Json& said = given(l, 99, "axis");
    const std::vector<int64_t> axes = axesOf(l, x, said);
    std::vector<ValueId> weights = l.namedTensors("weights");
    if (weights.empty() && l.tensors().size() > 1) weights.push_back(l.tensors()[1]);
    if (weights.empty()) {
        if (!l.literal(1, "weights").isNull()) return l.refuse("its weights are numbers");
        l.outputs = {l.b.reduce("Mean", x, axes, false)};
        return;
    }
    const ValueId w = l.b.cast(weights.front(), l.b.dtype(x));
    if (l.b.rank(w) != l.b.rank(x)) return l.refuse("its weights have another rank");
    l.outputs = {l.b.op("RealDiv", {l.b.reduce("Sum", l.b.mul(x, w), axes, false), l.b.reduce("Sum", w, axes, false)})};
}

/// The last axis of one with the last but one of the other, or its only one.
void dot(LayerCall& l)
{
    const ValueId a = l.in(0), b = l.in(1);
    const int m = l.b.rank(a), n = l.b.rank(b);
    if (m < 0 || n < 0 || m + n > 20) return l.refuse("its operands have no known rank");
    if (m == 0 || n == 0) {
        l.outputs = {l.b.mul(a, b)};
        return;
    }
    std::string left, right, result;
    for (int i = 0; i < m; ++i) left += static_cast<char>('a' + i);
    for (int i = 0; i < n; ++i) right += static_cast<char>('a' + m + i);
    const auto joined = static_cast<size_t>(n == 1 ? 0 : n - 2);
    right[joined] = left.back();
    result = left.substr(0, left.size() - 1);
    for (size_t i = 0; i < right.size(); ++i)
        if (i != joined) result += right[i];
    l.outputs = {l.b.op("Einsum", {a, b}, {{"equation", left + "," + right + "->" + result}})};
}

void threshold(LayerCall& l)
{
    const ValueId x = l.in();
    const Json &least = given(l, 1, "threshold"), &otherwise = given(l, 2, "default_value");
    if (!least.isNumber() || !otherwise.isNumber()) return l.refuse("its threshold is " + least.dump());
    l.outputs = {l.b.op("SelectV2", {l.b.op("Greater", {x, l.b.number(least.number(), x)}), x, l.b.number(otherwise.number(), x)})};
}

/// sign(x) max(|x| − t, 0), and x where |x| > t.
void softShrink(LayerCall& l)
{
    const ValueId x = l.in(), t = l.b.number(given(l, 1, "threshold").number(0.5), x);
    const ValueId below = l.b.op("SelectV2", {l.b.op("Less", {x, l.b.op("Neg", {t})}), l.b.add(x, t), l.b.number(0, x)});
    l.outputs = {l.b.op("SelectV2", {l.b.op("Greater", {x, t}), l.b.sub(x, t), below})};
}
void hardShrink(LayerCall& l)
{
    const ValueId x = l.in(), t = l.b.number(given(l, 1, "threshold").number(0.5), x);
    l.outputs = {l.b.op("SelectV2", {l.b.op("Greater", {l.b.op("Abs", {x}), t}), x, l.b.number(0, x)})};
}

void ravel(LayerCall& l) { l.outputs = {l.b.op("Reshape", {l.in(), l.b.ints({-1})})}; }

void joined(LayerCall& l, bool rows)
{
    std::vector<ValueId> list = l.tensors();
    if (list.empty() || l.b.rank(list.front()) < (rows ? 2 : 1)) return l.refuse("it joins what has no such axis");
    list.push_back(l.b.integer(!rows && l.b.rank(list.front()) > 1 ? 1 : 0));
    l.outputs = {l.b.op("ConcatV2", list)};
}
void hstack(LayerCall& l) { joined(l, false); }
void vstack(LayerCall& l) { joined(l, true); }

void unstack(LayerCall& l)
{
    const ValueId x = l.in();
    const std::optional<int> axis = axisOf(l, given(l, 2, "axis"), l.b.rank(x), 0);
    if (!axis) return;
    const int64_t count = l.b.dim(x, *axis);
    if (count < 0) return l.refuse("nobody knows in how many");
    l.outputs = l.b.all("Unpack", {x}, {{"num", count}, {"axis", int64_t{*axis}}});
}

/// The logarithm to a base, as a quotient of natural ones.
template <int base> void logarithm(LayerCall& l)
{
    const ValueId x = asFloat(l, l.in());
    l.outputs = {l.b.op("RealDiv", {l.b.op("Log", {x}), l.b.op("Log", {l.b.number(base, x)})})};
}

void logSoftmax(LayerCall& l)
{
    const ValueId x = l.in();
    const std::optional<int> axis = axisOf(l, given(l, 1, "axis"), l.b.rank(x), -1);
    if (axis) l.outputs = {alongLast(l, x, *axis, [&](ValueId v) { return l.b.op("LogSoftmax", {v}); })};
}

void countNonzero(LayerCall& l)
{
    const ValueId x = l.in();
    const ValueId isOther = l.b.dtype(x) == DType::boolean ? x : l.b.op("NotEqual", {x, l.b.number(0, x)});
    l.outputs = {l.b.reduce("Sum", l.b.cast(isOther, DType::i32), axesOf(l, x, given(l, 1, "axis")), false)};
}

template <int kind> void unary(LayerCall& l)
{
    constexpr std::array kKinds = {"Identity", "Erfc", "Erfinv", "Abs"};
    l.outputs = {l.b.op(kKinds[kind], {l.in()})};
}

constexpr std::array kNames = {"sparsemax", "log_sigmoid", "hard_tanh", "tanh_shrink", "squareplus", "sparse_plus", "sparse_sigmoid"};
template <int name> void activationOf(LayerCall& l)
{
    static const Json kName(kNames[name]);
    l.outputs = {activate(l, kName, l.in())};
}

void elu(LayerCall& l)
{
    const ValueId x = l.in(), y = l.b.op("Elu", {x});
    const double alpha = given(l, 1, "alpha").number(1);
    if (alpha == 1) l.outputs = {y};
    else l.outputs = {l.b.op("SelectV2", {l.b.op("Greater", {x, l.b.number(0, x)}), x, l.b.mul(y, l.b.number(alpha, x))})};
}

constexpr std::array kOrderOperations = {
    NamedRule{"ops.Norm", norm},
    NamedRule{"ops.Roll", roll},
    NamedRule{"ops.TopK", topK},
    NamedRule{"ops.OneHot", oneHot},
    NamedRule{"ops.Sort", sort},
    NamedRule{"ops.Argsort", argsort},
    NamedRule{"ops.BroadcastTo", broadcastTo},
    NamedRule{"ops.Tril", lowerTriangle},
    NamedRule{"ops.Triu", upperTriangle},
    NamedRule{"ops.Average", average},
    NamedRule{"ops.Dot", dot},
    NamedRule{"ops.Threshold", threshold},
    NamedRule{"ops.SoftShrink", softShrink},
    NamedRule{"ops.HardShrink", hardShrink},
    NamedRule{"ops.Ravel", ravel},
    NamedRule{"ops.Hstack", hstack},
    NamedRule{"ops.Vstack", vstack},
    NamedRule{"ops.Unstack", unstack},
    NamedRule{"ops.Log2", logarithm<2>},
    NamedRule{"ops.Log10", logarithm<10>},
    NamedRule{"ops.LogSoftmax", logSoftmax},
    NamedRule{"ops.CountNonzero", countNonzero},
    NamedRule{"ops.StopGradient", unary<0>},
    NamedRule{"ops.Copy", unary<0>},
    NamedRule{"ops.Erfc", unary<1>},
    NamedRule{"ops.Erfinv", unary<2>},
    NamedRule{"ops.Fabs", unary<3>},
    NamedRule{"ops.Sparsemax", activationOf<0>},
    NamedRule{"ops.LogSigmoid", activationOf<1>},
    NamedRule{"ops.HardTanh", activationOf<2>},
    NamedRule{"ops.TanhShrink", activationOf<3>},
    NamedRule{"ops.Squareplus", activationOf<4>},
    NamedRule{"ops.SparsePlus", activationOf<5>},
    NamedRule{"ops.SparseSigmoid", activationOf<6>},
    NamedRule{"ops.Elu", elu},
};

} // namespace

std::span<const NamedRule> orderOperations() { return kOrderOperations; }

} // namespace loopscope::keras
