// Functions of keras.ops that choose, repeat and lay out elements: `ops.where(x > 0, x, 0)`, `x[:, 1:3]`, `ops.stack([a, b])`.
#include "converters/keras/layer.h"
#include "converters/keras/operation_arguments.h"

#include <algorithm>
#include <array>

namespace loopscope::keras {

namespace {

/// An axis of `x`, counted from the front. Refuses where none is said, or there is no such one.
int axisOf(LayerCall& l, ValueId x, const Json& axis)
{
    const int64_t at = axis.integer(INT32_MAX), rank = l.b.rank(x);
    if (axis.isNumber() && rank > 0 && at >= -rank && at < rank) return static_cast<int>(at < 0 ? at + rank : at);
    l.refuse("its axis is " + (axis.isNull() ? "all of them" : axis.dump()));
    return 0;
}

/// A tensor, or a number of Python in the dtype that `like` has.
ValueId numberOrTensor(LayerCall& l, size_t place, ValueId like)
{
    if (place < l.arguments.size()) {
        const Argument& a = l.arguments[place];
        if (a.value.valid()) return a.value;
        if (a.literal != nullptr && a.literal->isNumber()) return l.b.number(a.literal->number(), like);
    }
    l.refuse("it is called with what is neither a tensor nor a number");
    return {};
}

void castTo(LayerCall& l)
{
    const Json& name = given(l, 1, "dtype");
    const DType dtype = name.isNull() ? l.b.dtype(l.in()) : dtypeOfText(name.text());
    if (dtype == DType::unknown) return l.refuse("its dtype is " + name.dump());
    l.outputs = {name.isNull() ? l.b.op("Identity", {l.in()}) : l.b.cast(l.in(), dtype)};
}

template <int filler> void filledLike(LayerCall& l)
{
    const ValueId filled = l.b.op(filler == 0 ? "ZerosLike" : "OnesLike", {l.in()});
    const Json& name = given(l, 1, "dtype");
    l.outputs = {name.isNull() ? filled : l.b.cast(filled, dtypeOfText(name.text()))};
}

void where(LayerCall& l)
{
    const std::vector<ValueId> tensors = l.tensors();
    if (l.arguments.size() < 3 || tensors.size() < 2) return l.refuse("it is called with " + std::to_string(tensors.size()) + " tensors");
    const ValueId like = tensors[1];
    l.outputs = {l.b.op("SelectV2", {l.b.cast(l.in(), DType::boolean), numberOrTensor(l, 1, like), numberOrTensor(l, 2, like)})};
}

void clip(LayerCall& l)
{
    const Json &least = given(l, 1, "x_min"), &most = given(l, 2, "x_max");
    if (!least.isNumber() || !most.isNumber()) return l.refuse("its ends are no numbers");
    l.outputs = {l.b.op("Minimum", {l.b.op("Maximum", {l.in(), l.b.number(least.number(), l.in())}), l.b.number(most.number(), l.in())})};
}

void squeezeOperation(LayerCall& l)
{
    std::vector<int64_t> axes = integersOf(given(l, 1, "axis"));
    for (int64_t& axis : axes) axis = axis < 0 ? axis + l.b.rank(l.in()) : axis;
    l.outputs = {l.b.squeeze(l.in(), axes)};
}

void stack(LayerCall& l)
{
    l.outputs = {l.b.op("Pack", l.tensors(), {{"axis", std::clamp<int64_t>(given(l, 99, "axis").integer(0), -32, 32)}})};
}

void repeat(LayerCall& l)
{
    const ValueId x = l.in();
    const int axis = axisOf(l, x, given(l, 2, "axis"));
    const Json& times = given(l, 1, "repeats");
    if (l.b.failed()) return;
    if (!times.isNumber() || times.integer() < 1 || times.integer() > 1 << 20) return l.refuse("it repeats as often as " + times.dump());
    std::vector<int64_t> multiples(static_cast<size_t>(l.b.rank(x)) + 1, 1);
    multiples[static_cast<size_t>(axis) + 1] = times.integer();
    std::vector<Extent> extents;
    for (int i = 0; i < l.b.rank(x); ++i) {
        extents.push_back(l.b.same(x, i));
        if (i != axis) continue;
        if (extents.back().of.valid()) extents.back().factor *= times.integer();
        else extents.back().number *= times.integer();
    }
    l.outputs = {l.b.reshape(l.b.op("Tile", {l.b.expand(x, axis + 1), l.b.ints(multiples)}), extents)};
}

void tile(LayerCall& l)
{
    const std::vector<int64_t> times = integersOf(given(l, 1, "repeats"));
    if (static_cast<int>(times.size()) != l.b.rank(l.in())) return l.refuse("it is repeated along other axes than it has");
    l.outputs = {l.b.op("Tile", {l.in(), l.b.ints(times)})};
}

void split(LayerCall& l)
{
    const ValueId x = l.in();
    static const Json kFirst(0);
    const Json& along = given(l, 2, "axis");
    const int axis = axisOf(l, x, along.isNull() ? kFirst : along);
    const Json& parts = given(l, 1, "indices_or_sections");
    if (l.b.failed()) return;
    if (parts.isNumber()) {
        l.outputs = l.b.all("Split", {l.b.integer(axis), x}, {{"num_split", parts.integer()}});
        return;
    }
    int64_t begin = 0;
    for (const int64_t end : integersOf(parts)) {
        l.outputs.push_back(l.b.slice(x, axis, begin, end));
        begin = end;
    }
    l.outputs.push_back(l.b.slice(x, axis, begin, std::nullopt));
}

/// x[i, a:b:c, ..., None] of numbers, as NumPy reads it.
void getItem(LayerCall& l)
{
    const Json& key = l.arguments.size() > 1 && l.arguments[1].literal != nullptr ? opened(*l.arguments[1].literal) : l.literal(99, "key");
    const std::span<const Json> items = key.isArray() ? std::span<const Json>(key.items()) : std::span<const Json>(&key, 1);
    std::vector<int64_t> begin, end, step;
    int64_t noBegin = 0, noEnd = 0, gone = 0, made = 0, rest = 0;
    for (const Json& item : items) {
        const int64_t bit = int64_t{1} << std::min<size_t>(begin.size(), 31);
        const Json& range = item["config"];
        const bool isSlice = item["class_name"].text() == "__slice__";
        const bool isRest = item["class_name"].text() == "__ellipsis__";
        if (!isSlice && !isRest && !item.isNull() && !item.isNumber()) return l.refuse("its key is " + item.dump());
        if (isSlice && range["start"].isNull()) noBegin |= bit;
        if (isSlice && range["stop"].isNull()) noEnd |= bit;
        if (item.isNumber()) gone |= bit;
        if (item.isNull()) made |= bit;
        if (isRest) rest |= bit;
        begin.push_back(isSlice ? range["start"].integer(0) : item.integer(0));
        end.push_back(isSlice ? range["stop"].integer(0) : item.integer(0) + 1);
        step.push_back(isSlice ? range["step"].integer(1) : 1);
        if (item.isNumber() && item.integer() == -1) noEnd |= bit; // x[-1] ends where the axis does
    }
    l.outputs = {l.b.op(
        "StridedSlice", {l.in(), l.b.ints(begin), l.b.ints(end), l.b.ints(step)},
        {{"begin_mask", noBegin}, {"end_mask", noEnd}, {"shrink_axis_mask", gone}, {"new_axis_mask", made}, {"ellipsis_mask", rest}})};
}

void flip(LayerCall& l)
{
    std::vector<int64_t> axes = integersOf(given(l, 1, "axis"));
    for (int64_t i = 0; axes.empty() && i < l.b.rank(l.in()); ++i) axes.push_back(i);
    l.outputs = {l.b.op("ReverseV2", {l.in(), l.b.ints(axes)})};
}

void extreme(LayerCall& l, const char* kind)
{
    const ValueId x = l.in();
    const int axis = axisOf(l, x, given(l, 1, "axis"));
    ValueId y = l.b.op(kind, {x, l.b.integer(axis)}, {{"output_type", DType::i32}});
    if (given(l, 2, "keepdims").truth()) y = l.b.expand(y, axis);
    l.outputs = {y};
}
void argmax(LayerCall& l) { extreme(l, "ArgMax"); }
void argmin(LayerCall& l) { extreme(l, "ArgMin"); }

void einsum(LayerCall& l) { l.outputs = {l.b.op("Einsum", l.tensors(), {{"equation", given(l, 99, "subscripts").text()}})}; }

void cumulated(LayerCall& l, const char* kind)
{
    if (!given(l, 2, "dtype").isNull()) return l.refuse("it has a dtype of its own");
    l.outputs = {l.b.op(kind, {l.in(), l.b.integer(axisOf(l, l.in(), given(l, 1, "axis")))})};
}
void cumsum(LayerCall& l) { cumulated(l, "Cumsum"); }
void cumprod(LayerCall& l) { cumulated(l, "Cumprod"); }

void take(LayerCall& l)
{
    const ValueId x = l.in();
    const int axis = axisOf(l, x, given(l, 2, "axis"));
    const bool isTensor = l.tensors().size() > 1;
    const Json& places = l.literal(1, "indices");
    const std::vector<int64_t> numbers = isTensor ? std::vector<int64_t>() : integersOf(places);
    if (!isTensor && (numbers.empty() || std::ranges::min(numbers) < 0)) return l.refuse("it takes " + places.dump());
    const ValueId indices = isTensor ? l.tensors()[1] : places.isNumber() ? l.b.integer(numbers[0]) : l.b.ints(numbers);
    l.outputs = {l.b.op("GatherV2", {x, indices, l.b.integer(axis)})};
}

void swapAxes(LayerCall& l)
{
    const ValueId x = l.in();
    const int a = axisOf(l, x, given(l, 1, "axis1")), b = axisOf(l, x, given(l, 2, "axis2"));
    if (l.b.failed()) return;
    std::vector<int64_t> order;
    for (int i = 0; i < l.b.rank(x); ++i) order.push_back(i == a ? b : i == b ? a : i);
    l.outputs = {l.b.transpose(x, order)};
}

void pad(LayerCall& l)
{
    const ValueId x = l.in();
    const std::string mode = given(l, 2, "mode").text("constant");
    std::vector<double> widths;
    for (const Json& axis : opened(given(l, 1, "pad_width")).items())
        for (const int64_t width : integersOf(axis)) widths.push_back(static_cast<double>(width));
    if (static_cast<int>(widths.size()) != 2 * l.b.rank(x)) return l.refuse("it is padded along other axes than it has");
    const ValueId around = l.b.numbers(widths, Shape{l.b.rank(x), 2}, DType::i32);
    if (mode == "constant") l.outputs = {l.b.op("PadV2", {x, around, l.b.number(l.literal(3, "constant_values").number(), x)})};
    else if (mode == "reflect" || mode == "symmetric")
        l.outputs = {l.b.op("MirrorPad", {x, around}, {{"mode", mode == "reflect" ? "REFLECT" : "SYMMETRIC"}})};
    else l.refuse("its mode is " + mode);
}

void leakyReluOperation(LayerCall& l)
{
    l.outputs = {l.b.op("LeakyRelu", {l.in()}, {{"alpha", given(l, 1, "negative_slope").number(0.2)}})};
}

/// x/2 · (1 + tanh(√(2/π) (x + 0.044715 x³))), or with erf.
void geluOperation(LayerCall& l)
{
    const ValueId x = l.in();
    const auto by = [&](double factor, ValueId v) { return l.b.mul(l.b.number(factor, x), v); };
    const bool approximate = given(l, 1, "approximate").truth(true);
    const ValueId inner = approximate
                              ? l.b.op("Tanh", {by(0.7978845608028654, l.b.add(x, by(0.044715, l.b.op("Pow", {x, l.b.number(3, x)}))))})
                              : l.b.op("Erf", {by(0.7071067811865476, x)});
    l.outputs = {l.b.mul(by(0.5, x), l.b.add(l.b.number(1, x), inner))};
}

void moveAxis(LayerCall& l)
{
    const ValueId x = l.in();
    const Json &source = given(l, 1, "source"), &target = given(l, 2, "destination");
    const int from = axisOf(l, x, source), to = axisOf(l, x, target);
    if (l.b.failed()) return;
    std::vector<int64_t> order;
    for (int i = 0; i < l.b.rank(x); ++i)
        if (i != from) order.push_back(i);
    order.insert(order.begin() + to, from);
    l.outputs = {l.b.transpose(x, order)};
}

/// Over one axis: softmax's elements, moved to the end and back.
void softmaxOperation(LayerCall& l)
{
    const ValueId x = l.in();
    const int axis = axisOf(l, x, given(l, 1, "axis")), last = l.b.rank(x) - 1;
    if (l.b.failed()) return;
    std::vector<int64_t> order;
    for (int i = 0; i <= last; ++i) order.push_back(i == axis ? last : i == last ? axis : i);
    l.outputs = {axis == last ? l.b.op("Softmax", {x}) : l.b.transpose(l.b.op("Softmax", {l.b.transpose(x, order)}), order)};
}

constexpr std::array kArrayOperations = {
    NamedRule{"ops.Cast", castTo},
    NamedRule{"ops.ConvertToTensor", castTo},
    NamedRule{"ops.ZerosLike", filledLike<0>},
    NamedRule{"ops.OnesLike", filledLike<1>},
    NamedRule{"ops.Where", where},
    NamedRule{"ops.Clip", clip},
    NamedRule{"ops.Squeeze", squeezeOperation},
    NamedRule{"ops.Stack", stack},
    NamedRule{"ops.Repeat", repeat},
    NamedRule{"ops.Tile", tile},
    NamedRule{"ops.Split", split},
    NamedRule{"ops.GetItem", getItem},
    NamedRule{"ops.Flip", flip},
    NamedRule{"ops.Argmax", argmax},
    NamedRule{"ops.Argmin", argmin},
    NamedRule{"ops.Einsum", einsum},
    NamedRule{"ops.Cumsum", cumsum},
    NamedRule{"ops.Cumprod", cumprod},
    NamedRule{"ops.Take", take},
    NamedRule{"ops.Swapaxes", swapAxes},
    NamedRule{"ops.Pad", pad},
    NamedRule{"ops.Softmax", softmaxOperation},
    NamedRule{"ops.LeakyRelu", leakyReluOperation},
    NamedRule{"ops.Gelu", geluOperation},
    NamedRule{"ops.Moveaxis", moveAxis},
};

} // namespace

std::span<const NamedRule> arrayOperations() { return kArrayOperations; }

} // namespace loopscope::keras
