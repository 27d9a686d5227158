// Gradients of convolutions and pools, of which TFLite has none: products of its convolutions, and sums over the places of a window.
#include "converters/lower/windows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace loopscope::lowering {

namespace {

constexpr int64_t kMostPlaces = 64; ///< of a window, where each is written out

/// A few integers: known now, or computed when the model runs.
struct Dims {
    std::vector<int64_t> known;
    ValueId value; ///< i32; invalid: they are known
};

ValueId valueOf(GraphLowering& l, const Dims& dims) { return dims.value.valid() ? dims.value : l.integerConstant(DType::i32, dims.known); }

/// [begin, begin + count) of a shape that is a value
Result<Dims> dimsIn(GraphLowering& l, ValueId shape, int64_t begin, int64_t count)
{
    if (const auto known = l.integers(shape); known && static_cast<int64_t>(known->size()) >= begin + count)
        return Dims{{known->begin() + begin, known->begin() + begin + count}, {}};
    LS_TRY(const ValueId dims, l.asInt32(shape));
    LS_TRY(const ValueId value, part(l, dims, begin, count));
    return Dims{{}, value};
}

/// The same of the shape of a value.
Result<Dims> dimsOf(GraphLowering& l, ValueId id, int64_t begin, int64_t count)
{
    const Shape shape = l.type(id).dynamicShape();
    Dims dims;
    for (int64_t d = begin; shape.hasRank() && d < begin + count && d < shape.rank() && shape[static_cast<int>(d)] >= 0; ++d)
        dims.known.push_back(shape[static_cast<int>(d)]);
    if (static_cast<int64_t>(dims.known.size()) == count) return dims;
    LS_TRY(const ValueId whole, l.shapeOf(id));
    return dimsIn(l, whole, begin, count);
}

int64_t computed(std::string_view kind, int64_t a, int64_t b)
{
    if (kind == "add") return a + b;
    if (kind == "sub") return a - b;
    if (kind == "mul") return a * b;
    if (kind == "floor_div") return a / b; // of what is not negative
    return std::max(a, b);
}

/// Element by element; as many of both.
Result<Dims> combined(GraphLowering& l, std::string_view kind, const Dims& a, const Dims& b)
{
    if (a.value.valid() || b.value.valid()) {
        LS_TRY(const ValueId value, l.emit(kind, {valueOf(l, a), valueOf(l, b)}, {}, DType::i32));
        return Dims{{}, value};
    }
    Dims dims;
    for (size_t i = 0; i < a.known.size(); ++i) dims.known.push_back(computed(kind, a.known[i], b.known[i]));
    return dims;
}

/// How a window lies over a picture: over rows and columns.
struct Window {
    Dims size, stride, dilation;
    Dims in, out;       ///< of the picture, and how many windows there are
    Dims before, after; ///< what is put around the picture
    Dims reach;         ///< from the first window to the end of the last, counted in places of its first element: (out − 1) · stride + 1
};

Dims ones() { return {{1, 1}, {}}; }

/// SAME: what the windows need beyond the picture, half of it before. VALID: they need nothing, which the same formula says.
Result<Window> placed(GraphLowering& l, const AttributeList& attributes, Dims size, Dims in, Dims out)
{
    Window w;
    w.stride.known = {attributeInt(attributes, "stride_h", 1), attributeInt(attributes, "stride_w", 1)};
    w.dilation.known = {attributeInt(attributes, "dilation_h_factor", 1), attributeInt(attributes, "dilation_w_factor", 1)};
    w.size = std::move(size);
    w.in = std::move(in);
    w.out = std::move(out);
    LS_TRY(const Dims last, combined(l, "sub", w.out, ones()));
    LS_TRY(const Dims first, combined(l, "mul", last, w.stride));
    LS_TRY(w.reach, combined(l, "add", first, ones()));
    LS_TRY(const Dims inner, combined(l, "sub", w.size, ones()));
    LS_TRY(const Dims wide, combined(l, "mul", inner, w.dilation));
    LS_TRY(const Dims end, combined(l, "add", w.reach, wide));
    LS_TRY(const Dims beyond, combined(l, "sub", end, w.in));
    LS_TRY(const Dims total, combined(l, "maximum", beyond, Dims{{0, 0}, {}}));
    LS_TRY(w.before, combined(l, "floor_div", total, Dims{{2, 2}, {}}));
    LS_TRY(w.after, combined(l, "sub", total, w.before));
    return w;
}

/// The picture with so many rows and columns around it, of this number.
Result<ValueId> padded(GraphLowering& l, ValueId x, const Dims& before, const Dims& after, double filling = 0)
{
    const auto isNone = [](const Dims& dims) { return !dims.value.valid() && dims.known[0] == 0 && dims.known[1] == 0; };
    if (isNone(before) && isNone(after)) return x;
    ValueId paddings;
    if (before.value.valid() || after.value.valid()) {
        LS_TRY(const ValueId both,
               l.emit("pack", {valueOf(l, before), valueOf(l, after)}, {{"axis", int64_t{1}}, {"values_count", int64_t{2}}}, DType::i32));
        LS_TRY(const ValueId none, l.emit("reshape", {numbers(l, {0, 0}), numbers(l, {1, 2})}, {}, DType::i32));
        LS_TRY(paddings, l.emit("concatenation", {none, both, none}, {{"axis", int64_t{0}}}, DType::i32));
    } else {
        const std::array<int32_t, 8> all = {0,
                                            0,
                                            static_cast<int32_t>(before.known[0]),
                                            static_cast<int32_t>(after.known[0]),
                                            static_cast<int32_t>(before.known[1]),
                                            static_cast<int32_t>(after.known[1]),
                                            0,
                                            0};
        paddings = l.constant(TensorType(DType::i32, Shape{4, 2}), std::make_shared<Constant>(Bytes::copyOf(all.data(), sizeof all)));
    }
    const DType dtype = l.type(x).dtype;
    if (filling == 0) return l.emit("pad", {x, paddings}, {}, dtype);
    return l.emit("padv2", {x, paddings, l.realConstant(dtype, filling)}, {}, dtype);
}

/// begin, middle, end as one vector
Result<ValueId> around(GraphLowering& l, int64_t begin, const Dims& middle, int64_t end)
{
    if (!middle.value.valid()) return numbers(l, {begin, middle.known[0], middle.known[1], end});
    return l.emit("concatenation", {numbers(l, {begin}), middle.value, numbers(l, {end})}, {{"axis", int64_t{0}}}, DType::i32);
}

/// So many rows and columns of x, from these on.
Result<ValueId> cropped(GraphLowering& l, ValueId x, const Dims& begin, const Dims& size)
{
    const Shape shape = l.type(x).dynamicShape();
    const bool isAll = shape.hasRank() && shape.rank() == 4 && !begin.value.valid() && !size.value.valid() && begin.known[0] == 0 &&
                       begin.known[1] == 0 && shape[1] == size.known[0] && shape[2] == size.known[1];
    if (isAll) return x;
    LS_TRY(const ValueId first, around(l, 0, begin, 0));
    LS_TRY(const ValueId count, around(l, -1, size, -1));
    return l.emit("slice", {x, first, count}, {}, l.type(x).dtype);
}

/// dy with zeros between its rows and columns, as far apart as windows are.
Result<ValueId> spread(GraphLowering& l, ValueId dy, const Window& w)
{
    const DType dtype = l.type(dy).dtype;
    ValueId x = dy;
    for (size_t axis = 0; axis < 2; ++axis) {
        const int64_t stride = w.stride.known[axis];
        if (stride == 1) continue;
        LS_TRY(const ValueId dims, l.shapeOf(x));
        LS_TRY(const ValueId rest, part(l, dims, static_cast<int64_t>(axis) + 2, -1));
        LS_TRY(const ValueId width, countOf(l, rest));
        LS_TRY(const ValueId lines, l.emit("concatenation", {numbers(l, {-1, 1}), width}, {{"axis", int64_t{0}}}, DType::i32));
        LS_TRY(const ValueId flat, l.emit("reshape", {x, lines}, {}, dtype));
        const std::array<int32_t, 6> room = {0, 0, 0, static_cast<int32_t>(stride - 1), 0, 0};
        const ValueId paddings =
            l.constant(TensorType(DType::i32, Shape{3, 2}), std::make_shared<Constant>(Bytes::copyOf(room.data(), sizeof room)));
        LS_TRY(const ValueId wide, l.emit("pad", {flat, paddings}, {}, dtype));
        LS_TRY(const ValueId whole,
               l.emit("mul", {dims, axis == 0 ? numbers(l, {1, stride, 1, 1}) : numbers(l, {1, 1, stride, 1})}, {}, DType::i32));
        LS_TRY(const std::vector<ValueId> made,
               l.emitAll({"tfl", "reshape"}, {wide, whole}, {}, {TensorType(dtype, Shape(std::vector<int64_t>(4, -1)))}));
        x = made.front();
    }
    return cropped(l, x, {{0, 0}, {}}, w.reach);
}

/// Where a full convolution with the turned filter gives the picture: what is put around `spread`.
Result<std::array<Dims, 2>> roomAround(GraphLowering& l, const Window& w)
{
    LS_TRY(const Dims inner, combined(l, "sub", w.size, ones()));
    LS_TRY(const Dims wide, combined(l, "mul", inner, w.dilation));
    LS_TRY(const Dims before, combined(l, "sub", wide, w.before));
    LS_TRY(const Dims rest, combined(l, "sub", w.in, w.reach));
    LS_TRY(const Dims after, combined(l, "add", rest, w.before));
    return std::array<Dims, 2>{before, after};
}

AttributeList valid(int64_t strideH, int64_t strideW, int64_t dilationH, int64_t dilationW)
{
    AttributeList attributes = {{"padding", Word{"VALID"}}, {"stride_h", strideH}, {"stride_w", strideW}};
    if (dilationH != 1) attributes.push_back({"dilation_h_factor", dilationH});
    if (dilationW != 1) attributes.push_back({"dilation_w_factor", dilationW});
    return attributes;
}

Result<ValueId> turnedRound(GraphLowering& l, ValueId filter)
{
    LS_TRY(const ValueId rows, l.emit("reverse_v2", {filter, numbers(l, {0})}, {}, l.type(filter).dtype));
    return l.emit("reverse_v2", {rows, numbers(l, {1})}, {}, l.type(filter).dtype);
}

/// Of the filter: a convolution of the picture, its channels as batch, with the gradient, the batch as channels; strides are dilations
/// there and the other way round.
Status conv2dBackpropFilter(GraphLowering& l)
{
    LS_TRY(const AttributeList attributes, windowOf(l, true));
    const ValueId x = l.input(0), dy = l.input(2);
    LS_TRY(const Dims size, dimsIn(l, l.input(1), 0, 2));
    LS_TRY(const Dims in, dimsOf(l, x, 1, 2));
    LS_TRY(const Dims out, dimsOf(l, dy, 1, 2));
    LS_TRY(const Window w, placed(l, attributes, size, in, out));
    const Shape shape = l.type(x).dynamicShape();
    if (const auto given = l.integers(l.input(1));
        given && given->size() == 4 && shape.hasRank() && shape[3] >= 0 && shape[3] != (*given)[2])
        return noForm("channels in groups");
    LS_TRY(const ValueId whole, padded(l, x, w.before, w.after));
    LS_TRY(const ValueId pictures, l.emit("transpose", {whole, numbers(l, {3, 1, 2, 0})}));
    LS_TRY(const ValueId filters, l.emit("transpose", {dy, numbers(l, {3, 1, 2, 0})}));
    LS_TRY(const ValueId bias, zeroBias(l, filters, 0));
    LS_TRY(const ValueId sums, l.emit("conv_2d", {pictures, filters, bias},
                                      valid(w.dilation.known[0], w.dilation.known[1], w.stride.known[0], w.stride.known[1])));
    LS_TRY(const ValueId kept, cropped(l, sums, {{0, 0}, {}}, w.size));
    return l.finish("transpose", {kept, numbers(l, {1, 2, 0, 3})});
}

/// Σ of the gradients that each place of the picture had a part in, channel by channel: a depthwise convolution of what is spread out.
/// `filter`: [1, h, w, channels].
Result<ValueId> gathered(GraphLowering& l, ValueId dy, ValueId filter, const Window& w)
{
    LS_TRY(const ValueId wide, spread(l, dy, w));
    LS_TRY(const auto room, roomAround(l, w));
    LS_TRY(const ValueId whole, padded(l, wide, room[0], room[1]));
    LS_TRY(const ValueId bias, zeroBias(l, filter, 3));
    AttributeList attributes = valid(1, 1, w.dilation.known[0], w.dilation.known[1]);
    attributes.push_back({"depth_multiplier", int64_t{1}});
    return l.emit("depthwise_conv_2d", {whole, filter, bias}, std::move(attributes));
}

Status depthwiseBackpropInput(GraphLowering& l)
{
    LS_TRY(const AttributeList attributes, windowOf(l, true));
    const Shape filter = l.type(l.input(1)).dynamicShape();
    if (!filter.isStatic() || filter.rank() != 4) return noForm("its filter has no known shape");
    LS_TRY(const Dims in, dimsIn(l, l.input(0), 1, 2));
    LS_TRY(const Dims out, dimsOf(l, l.input(2), 1, 2));
    LS_TRY(const Window w, placed(l, attributes, {{filter[0], filter[1]}, {}}, in, out));
    LS_TRY(const ValueId turned, turnedRound(l, l.input(1)));
    LS_TRY(const ValueId lines, l.emit("reshape", {turned, numbers(l, {1, filter[0], filter[1], filter[2] * filter[3]})}));
    LS_TRY(const ValueId sums, gathered(l, l.input(2), lines, w));
    LS_TRY(const ValueId whole, l.asInt32(l.input(0)));
    if (filter[3] == 1) return l.finish("reshape", {sums, whole});
    LS_TRY(const ValueId split, joined(l, whole, numbers(l, {filter[3]})));
    LS_TRY(const ValueId apart, l.emit("reshape", {sums, split}));
    return l.finish("sum", {apart, numbers(l, {4})});
}

/// What each window has at one of its places: x, with what is around it, at place (i, j) of every window.
Result<ValueId> placeOf(GraphLowering& l, ValueId x, const Window& w, int64_t i, int64_t j)
{
    const Dims begin{{i * w.dilation.known[0], j * w.dilation.known[1]}, {}};
    LS_TRY(const Dims end, combined(l, "add", begin, w.reach));
    LS_TRY(const ValueId first, around(l, 0, begin, 0));
    LS_TRY(const ValueId last, around(l, 0, end, 0));
    const ValueId strides = numbers(l, {1, w.stride.known[0], w.stride.known[1], 1});
    return l.emit("strided_slice", {x, first, last, strides}, {{"begin_mask", int64_t{9}}, {"end_mask", int64_t{9}}}, l.type(x).dtype);
}

/// For each place of the filter the products of picture and gradient, summed up over all windows.
Status depthwiseBackpropFilter(GraphLowering& l)
{
    LS_TRY(const AttributeList attributes, windowOf(l, true));
    const ValueId dy = l.input(2);
    const auto filter = l.integers(l.input(1));
    if (!filter || filter->size() != 4 || (*filter)[0] * (*filter)[1] > kMostPlaces)
        return noForm("its filter has no known shape, or is large");
    LS_TRY(const Dims in, dimsOf(l, l.input(0), 1, 2));
    LS_TRY(const Dims out, dimsOf(l, dy, 1, 2));
    LS_TRY(const Window w, placed(l, attributes, {{(*filter)[0], (*filter)[1]}, {}}, in, out));
    LS_TRY(const ValueId whole, padded(l, l.input(0), w.before, w.after));
    const ValueId asColumn = numbers(l, {-1, (*filter)[2], 1}), asRow = numbers(l, {-1, (*filter)[2], (*filter)[3]});
    LS_TRY(const ValueId gradient, l.emit("reshape", {dy, asRow}));
    std::vector<ValueId> sums;
    for (int64_t i = 0; i < (*filter)[0]; ++i)
        for (int64_t j = 0; j < (*filter)[1]; ++j) {
            LS_TRY(const ValueId there, placeOf(l, whole, w, i, j));
            LS_TRY(const ValueId column, l.emit("reshape", {there, asColumn}));
            LS_TRY(const ValueId products, l.emit("mul", {column, gradient}));
            LS_TRY(const ValueId sum, l.emit("sum", {products, numbers(l, {0})}, {{"keep_dims", true}}));
            sums.push_back(sum);
        }
    LS_TRY(const ValueId all,
           sums.size() == 1 ? Result<ValueId>(sums.front()) : l.emit("concatenation", sums, {{"axis", int64_t{0}}}, l.type(dy).dtype));
    return l.finish("reshape", {all, l.integerConstant(DType::i32, *filter)});
}

/// Ones, [1, h, w, channels]; `channels`: i32[1].
Result<ValueId> onesFilter(GraphLowering& l, const std::vector<int64_t>& size, ValueId channels)
{
    LS_TRY(const ValueId shape, joined(l, numbers(l, {1, size[1], size[2]}), channels));
    LS_TRY(const std::vector<ValueId> made, l.emitAll({"tfl", "fill"}, {shape, l.realConstant(DType::f32, 1)}, {},
                                                      {TensorType(DType::f32, Shape{1, size[1], size[2], -1})}));
    return made.front();
}

Status checkPool(const GraphLowering& l, const std::vector<int64_t>& size)
{
    if (l.declared(0).dtype != DType::f32) return noForm("a pool of " + std::string(dtypeName(l.declared(0).dtype)));
    if (size.size() != 4 || size[0] != 1 || size[3] != 1) return noForm("a window over batch or channels, or one that is computed");
    return {};
}

/// A window's gradient goes to all of its places in the picture, in equal parts: how many these are says a pool of ones.
Status avgPoolGrad(GraphLowering& l)
{
    LS_TRY(AttributeList attributes, windowOf(l, false));
    const std::vector<int64_t> size = windowSize(l);
    LS_CHECK_OK(checkPool(l, size));
    const ValueId dy = l.input(1);
    LS_TRY(const Dims in, dimsIn(l, l.input(0), 1, 2));
    LS_TRY(const Dims out, dimsOf(l, dy, 1, 2));
    LS_TRY(const Window w, placed(l, attributes, {{size[1], size[2]}, {}}, in, out));
    LS_TRY(const ValueId field, around(l, 1, w.in, 1));
    LS_TRY(const ValueId picture, l.emit("fill", {field, l.realConstant(DType::f32, 1)}, {}, DType::f32));
    LS_TRY(const ValueId whole, padded(l, picture, w.before, w.after));
    LS_TRY(const ValueId one, onesFilter(l, size, numbers(l, {1})));
    LS_TRY(const ValueId none, zeroBias(l, one, 3));
    AttributeList counting = valid(w.stride.known[0], w.stride.known[1], 1, 1);
    counting.push_back({"depth_multiplier", int64_t{1}});
    LS_TRY(const ValueId counted, l.emit("depthwise_conv_2d", {whole, one, none}, std::move(counting)));
    LS_TRY(const ValueId counts, cropped(l, counted, {{0, 0}, {}}, w.out)); // VALID: rows that no window reaches
    LS_TRY(const ValueId parts, l.emit("div", {dy, counts}));
    LS_TRY(const ValueId dims, l.shapeOf(dy));
    LS_TRY(const ValueId channels, part(l, dims, 3, 1));
    LS_TRY(const ValueId filter, onesFilter(l, size, channels));
    LS_TRY(const ValueId sums, gathered(l, parts, filter, w));
    LS_TRY(const ValueId shape, l.asInt32(l.input(0)));
    return l.finish("reshape", {sums, shape});
}

/// At each place of the windows: whether it is the first that has the largest number.
Result<std::vector<ValueId>> largestPlaces(GraphLowering& l, ValueId x, ValueId y, const Window& w, const std::vector<int64_t>& size)
{
    LS_TRY(const ValueId whole, padded(l, x, w.before, w.after, -std::numeric_limits<double>::infinity()));
    std::vector<ValueId> places;
    ValueId taken;
    for (int64_t i = 0; i < size[1]; ++i)
        for (int64_t j = 0; j < size[2]; ++j) {
            LS_TRY(const ValueId there, placeOf(l, whole, w, i, j));
            LS_TRY(ValueId isIt, l.emit("equal", {there, y}, {}, DType::boolean));
            if (taken.valid()) {
                LS_TRY(const ValueId isFree, l.emit("logical_not", {taken}, {}, DType::boolean));
                LS_TRY(const ValueId isFirst, l.emit("logical_and", {isIt, isFree}, {}, DType::boolean));
                LS_TRY(taken, l.emit("logical_or", {taken, isIt}, {}, DType::boolean));
                isIt = isFirst;
            } else {
                taken = isIt;
            }
            places.push_back(isIt);
        }
    return places;
}

Result<ValueId> summed(GraphLowering& l, const std::vector<ValueId>& terms)
{
    if (terms.size() == 1) return terms.front();
    return l.emit("add_n", terms, {}, l.type(terms.front()).dtype);
}

/// x, y = MaxPool(x), dy: to where the largest number stood.
Status maxPoolGrad(GraphLowering& l)
{
    LS_TRY(const AttributeList attributes, windowOf(l, false));
    const std::vector<int64_t> size = windowSize(l);
    LS_CHECK_OK(checkPool(l, size));
    if (size[1] * size[2] > kMostPlaces) return noForm("a window of " + std::to_string(size[1] * size[2]) + " places");
    const ValueId x = l.input(0), y = l.input(1), dy = l.input(2);
    const bool isSecond = l.op().kind.name.starts_with("MaxPoolGradGrad");
    LS_TRY(const Dims in, dimsOf(l, x, 1, 2));
    LS_TRY(const Dims out, dimsOf(l, y, 1, 2));
    LS_TRY(const Window w, placed(l, attributes, {{size[1], size[2]}, {}}, in, out));
    LS_TRY(const std::vector<ValueId> places, largestPlaces(l, x, y, w, size));
    LS_TRY(const ValueId zeros, l.emit("zeros_like", {y}));
    ValueId whole = dy;
    if (isSecond) {
        LS_TRY(whole, padded(l, dy, w.before, w.after));
    }
    LS_TRY(const Dims around, combined(l, "add", w.before, w.after));
    LS_TRY(const Dims wide, combined(l, "add", around, w.in));
    std::vector<ValueId> terms;
    for (size_t k = 0; k < places.size(); ++k) {
        const auto i = static_cast<int64_t>(k) / size[2], j = static_cast<int64_t>(k) % size[2];
        ValueId there = dy;
        if (isSecond) {
            LS_TRY(there, placeOf(l, whole, w, i, j));
        }
        LS_TRY(ValueId own, l.emit("select_v2", {places[k], there, zeros}));
        if (!isSecond) {
            LS_TRY(own, spread(l, own, w));
            const Dims before{{i, j}, {}};
            LS_TRY(const Dims end, combined(l, "add", before, w.reach));
            LS_TRY(const Dims after, combined(l, "sub", wide, end));
            LS_TRY(own, padded(l, own, before, after));
        }
        terms.push_back(own);
    }
    LS_TRY(const ValueId sum, summed(l, terms));
    if (!isSecond) {
        LS_TRY(const ValueId kept, cropped(l, sum, w.before, w.in));
        l.bind(0, kept);
        return {};
    }
    l.bind(0, sum);
    return {};
}

constexpr NamedRule kWindowsRules[] = {
    {"AvgPoolGrad", avgPoolGrad},
    {"Conv2DBackpropFilter", conv2dBackpropFilter},
    {"DepthwiseConv2dNativeBackpropFilter", depthwiseBackpropFilter},
    {"DepthwiseConv2dNativeBackpropInput", depthwiseBackpropInput},
    {"MaxPoolGrad", maxPoolGrad},
    {"MaxPoolGradGrad", maxPoolGrad},
    {"MaxPoolGradGradV2", maxPoolGrad},
    {"MaxPoolGradV2", maxPoolGrad},
};

} // namespace

std::span<const NamedRule> windowRules() { return kWindowsRules; }

} // namespace loopscope::lowering
