// Layers that make one tensor of several.
#include "converters/keras/layer.h"

#include <algorithm>
#include <array>

namespace loopscope::keras {

namespace {

/// Keras broadcasts operands of one rank as everybody does, of several ranks in its own way.
bool sameRank(LayerCall& l)
{
    const std::vector<ValueId> list = l.tensors();
    const bool same = std::ranges::all_of(list, [&](ValueId v) { return l.b.rank(v) == l.b.rank(list.front()); });
    if (list.empty()) l.refuse("it is called with nothing");
    else if (!same) l.refuse("its operands have several ranks");
    return !l.b.failed();
}

void chain(LayerCall& l, const char* kind)
{
    if (!sameRank(l)) return;
    const std::vector<ValueId> list = l.tensors();
    ValueId y = list.front();
    for (size_t i = 1; i < list.size(); ++i) y = l.b.op(kind, {y, list[i]});
    l.outputs = {y};
}

void average(LayerCall& l)
{
    chain(l, "AddV2");
    if (l.outputs.empty()) return;
    const auto count = static_cast<double>(l.tensors().size());
    l.outputs = {l.b.op("RealDiv", {l.outputs.front(), l.b.number(count, l.outputs.front())})};
}

void subtract(LayerCall& l)
{
    if (l.tensors().size() != 2) return l.refuse("it takes two tensors");
    chain(l, "Sub");
}

void concatenate(LayerCall& l)
{
    std::vector<ValueId> list = l.tensors();
    if (list.empty()) return l.refuse("it is called with nothing");
    const int64_t axis = std::clamp<int64_t>(l.config["axis"].integer(-1), -32, 32);
    list.push_back(l.b.integer(axis < 0 ? axis + l.b.rank(list.front()) : axis));
    l.outputs = {l.b.op("ConcatV2", list)};
}

/// Sums of products along an axis of each, for each of the batch: "abc,adc->abd".
void dot(LayerCall& l)
{
    ValueId x = l.in(0), y = l.in(1);
    const int xr = l.b.rank(x), yr = l.b.rank(y);
    const std::vector<int64_t> axes = l.perAxis("axes", 2);
    const int64_t a = axes[0] < 0 ? axes[0] + xr : axes[0], b = axes[1] < 0 ? axes[1] + yr : axes[1];
    if (xr < 2 || yr < 2 || xr > 6 || yr > 6 || a < 1 || b < 1 || a >= xr || b >= yr) return l.refuse("its axes are none of its operands");
    const auto unit = [&](ValueId v, int64_t axis) {
        const ValueId sum = l.b.reduce("Sum", l.b.op("Square", {v}), {axis}, true);
        return l.b.mul(v, l.b.op("Rsqrt", {l.b.op("Maximum", {sum, l.b.number(1e-12, v)})}));
    };
    if (l.config["normalize"].truth()) {
        x = unit(x, a);
        y = unit(y, b);
    }
    if (xr == 2 && yr == 2) {
        l.outputs = {l.b.reduce("Sum", l.b.mul(x, y), {1}, true)};
        return;
    }
    if (xr == 3 && yr == 3) {
        l.outputs = {l.b.op("BatchMatMulV2", {x, y}, {{"adj_x", a == 1}, {"adj_y", b == 2}})};
        return;
    }
    std::string left = "a", right = "a", out = "a";
    char next = 'b';
    for (int i = 1; i < xr; ++i) {
        if (i != a) out += next;
        left += i == a ? 'z' : next++;
    }
    for (int i = 1; i < yr; ++i) {
        if (i != b) out += next;
        right += i == b ? 'z' : next++;
    }
    const ValueId z = l.b.op("Einsum", {x, y}, {{"equation", left + "," + right + "->" + out}});
    l.outputs = {z};
}

/// InceptionResNet's: a + scale·b
void scaledSum(LayerCall& l)
{
    if (l.tensors().size() != 2) return l.refuse("it takes two tensors");
    if (!sameRank(l)) return;
    l.outputs = {l.b.add(l.in(0), l.b.mul(l.in(1), l.b.number(l.config["scale"].number(1), l.in(1))))};
}

constexpr std::array kMergingLayers = {
    NamedRule{"Add", [](LayerCall& l) { chain(l, "AddV2"); }},
    NamedRule{"Subtract", subtract},
    NamedRule{"Multiply", [](LayerCall& l) { chain(l, "Mul"); }},
    NamedRule{"Average", average},
    NamedRule{"Maximum", [](LayerCall& l) { chain(l, "Maximum"); }},
    NamedRule{"Minimum", [](LayerCall& l) { chain(l, "Minimum"); }},
    NamedRule{"CustomScaleLayer", scaledSum},
    NamedRule{"Concatenate", concatenate},
    NamedRule{"Dot", dot},
};

} // namespace

std::span<const NamedRule> mergingLayers() { return kMergingLayers; }

} // namespace loopscope::keras
