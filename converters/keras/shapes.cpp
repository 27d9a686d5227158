#include "converters/keras/shapes.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <string_view>

namespace loopscope::keras {

namespace {

struct Context {
    const Graph& graph;
    const Operator& op;
    size_t result = 0;
    const Shape& in(size_t i) const
    {
        static const Shape kUnknown = Shape::unknownRank();
        return i < op.inputs.size() ? graph.value(op.inputs[i]).type.shape : kUnknown;
    }
    std::optional<std::vector<int64_t>> ints(size_t i) const
    {
        return i < op.inputs.size() ? constantInts(graph, op.inputs[i]) : std::nullopt;
    }
};

const Shape& unknown()
{
    static const Shape kUnknown = Shape::unknownRank();
    return kUnknown;
}

Shape product(const Context& c)
{
    const Shape &a = c.in(0), &b = c.in(1);
    if (!a.hasRank() || !b.hasRank() || a.rank() < 2 || b.rank() < 2) return unknown();
    const bool turnA = attributeBool(c.op.attributes, "adj_x", attributeBool(c.op.attributes, "transpose_a", false));
    const bool turnB = attributeBool(c.op.attributes, "adj_y", attributeBool(c.op.attributes, "transpose_b", false));
    const std::optional<Shape> stack =
        broadcastShapes(Shape(a.dims().first(static_cast<size_t>(a.rank()) - 2)), Shape(b.dims().first(static_cast<size_t>(b.rank()) - 2)));
    if (!stack) return unknown();
    Shape out = *stack;
    out.append(a[turnA ? a.rank() - 1 : a.rank() - 2]);
    out.append(b[turnB ? b.rank() - 2 : b.rank() - 1]);
    return out;
}

int64_t windows(int64_t size, int64_t window, int64_t stride, int64_t dilation, bool same)
{
    if (size < 0 || stride < 1 || window < 0) return kUnknownDim;
    if (same) return (size + stride - 1) / stride;
    const int64_t span = (window - 1) * dilation + 1;
    return size < span ? 0 : (size - span) / stride + 1;
}

/// Convolutions and pools with the channels last.
Shape windowed(const Context& c)
{
    const Shape& x = c.in(0);
    if (!x.hasRank() || x.rank() < 3) return unknown();
    const std::vector<int64_t> strides = attributeInts(c.op.attributes, "strides");
    std::vector<int64_t> dilations = attributeInts(c.op.attributes, "dilations"), window = attributeInts(c.op.attributes, "ksize");
    const bool same = attributeString(c.op.attributes, "padding", "VALID") == "SAME";
    const bool isPool = !window.empty();
    const Shape& filter = c.in(1);
    const auto rank = static_cast<size_t>(x.rank());
    if (!isPool) {
        if (!filter.hasRank() || filter.rank() != x.rank()) return unknown();
        window.assign(1, 1);
        for (int i = 0; i + 2 < x.rank(); ++i) window.push_back(filter[i]);
        window.push_back(1);
    }
    dilations.resize(rank, 1);
    if (window.size() != rank || strides.size() != rank) return unknown();
    Shape out = x;
    for (size_t i = 1; i + 1 < rank; ++i) {
        const auto axis = static_cast<int>(i);
        out[axis] = windows(x[axis], window[i], strides[i], dilations[i], same);
    }
    if (isPool) return out;
    const bool isDepthwise = c.op.kind.name == "DepthwiseConv2dNative";
    const int last = filter.rank() - 1;
    out[x.rank() - 1] = !isDepthwise                               ? filter[last]
                        : filter[last] < 0 || filter[last - 1] < 0 ? kUnknownDim
                                                                   : filter[last] * filter[last - 1];
    return out;
}

/// What a vector of sizes says, also one that is computed.
Shape sizesOf(const Context& c, size_t input)
{
    if (const auto list = c.ints(input)) return Shape(*list);
    const Value* value = input < c.op.inputs.size() ? &c.graph.value(c.op.inputs[input]) : nullptr;
    if (value == nullptr || value->role != ValueRole::result) return unknown();
    const Operator& maker = c.graph.op(value->producer);
    if (maker.kind.name == "Pack") {
        Shape out;
        for (const ValueId part : maker.inputs) {
            const auto number = constantInts(c.graph, part);
            out.append(number && number->size() == 1 ? number->front() : kUnknownDim);
        }
        return out;
    }
    return value->type.shape.hasRank() && value->type.shape.rank() == 1 && value->type.shape[0] >= 0 && value->type.shape[0] < 64
               ? Shape::ofRank(static_cast<int>(value->type.shape[0]), kUnknownDim)
               : unknown();
}

Shape transposedConvolution(const Context& c)
{
    Shape out = sizesOf(c, 0);
    const Shape &filter = c.in(1), &y = c.in(2);
    if (!out.hasRank() || !filter.hasRank() || !y.hasRank() || out.rank() != y.rank()) return unknown();
    if (out[0] < 0) out[0] = y[0];
    return out;
}

Shape reduced(const Context& c)
{
    const Shape& x = c.in(0);
    auto axes = c.ints(1);
    if (!x.hasRank() || !axes) return unknown();
    for (int64_t& axis : *axes)
        if (axis < 0) axis += x.rank();
    const bool keep = attributeBool(c.op.attributes, "keep_dims", false);
    Shape out;
    for (int i = 0; i < x.rank(); ++i) {
        const bool goes = std::ranges::find(*axes, i) != axes->end();
        if (!goes) out.append(x[i]);
        else if (keep) out.append(1);
    }
    return out;
}

Shape reshaped(const Context& c)
{
    Shape out = sizesOf(c, 1);
    const Shape& x = c.in(0);
    if (!out.hasRank()) return out;
    int open = -1;
    Shape rest;
    for (int i = 0; i < out.rank(); ++i) {
        if (out[i] >= 0) rest.append(out[i]);
        else if (open >= 0) return out;
        else open = i;
    }
    if (open < 0 || !x.isStatic()) return out;
    const int64_t known = checkedElementCount(rest).value_or(0), count = checkedElementCount(x).value_or(-1);
    if (count >= 0 && known > 0 && count % known == 0) out[open] = count / known;
    return out;
}

Shape transposed(const Context& c)
{
    const Shape& x = c.in(0);
    const auto order = c.ints(1);
    if (!x.hasRank() || !order || order->size() != static_cast<size_t>(x.rank())) return unknown();
    Shape out = x;
    for (int i = 0; i < x.rank(); ++i) {
        const int64_t from = (*order)[static_cast<size_t>(i)];
        if (from < 0 || from >= x.rank()) return unknown();
        out[i] = x[static_cast<int>(from)];
    }
    return out;
}

Shape joined(const Context& c)
{
    const size_t count = c.op.inputs.empty() ? 0 : c.op.inputs.size() - 1;
    const auto axis = c.ints(count);
    Shape out = c.in(0);
    if (!axis || axis->size() != 1 || !out.hasRank()) return unknown();
    const int64_t along = axis->front() < 0 ? axis->front() + out.rank() : axis->front();
    if (along < 0 || along >= out.rank()) return unknown();
    const auto at = static_cast<int>(along);
    for (size_t k = 1; k < count; ++k) {
        const Shape& part = c.in(k);
        if (!part.hasRank() || part.rank() != out.rank()) return unknown();
        for (int i = 0; i < out.rank(); ++i) {
            if (i == at) out[i] = out[i] < 0 || part[i] < 0 ? kUnknownDim : out[i] + part[i];
            else if (out[i] < 0) out[i] = part[i];
        }
    }
    return out;
}

Shape gathered(const Context& c)
{
    const Shape &table = c.in(0), &ids = c.in(1);
    const auto axis = c.ints(2);
    if (!table.hasRank() || !ids.hasRank() || !axis || axis->size() != 1 || axis->front() < 0 || axis->front() >= table.rank())
        return unknown();
    Shape out;
    for (int i = 0; i < table.rank(); ++i) {
        if (i != axis->front()) out.append(table[i]);
        else
            for (const int64_t d : ids.dims()) out.append(d);
    }
    return out;
}

/// Slices as GraphBuilder::slice writes them.
Shape sliced(const Context& c)
{
    Shape out = c.in(0);
    const auto begin = c.ints(1), end = c.ints(2), step = c.ints(3);
    if (!out.hasRank() || !begin || !end || !step || begin->size() != end->size() || step->size() != end->size()) return unknown();
    const int64_t beginMask = attributeInt(c.op.attributes, "begin_mask", 0), endMask = attributeInt(c.op.attributes, "end_mask", 0);
    const int64_t shrink = attributeInt(c.op.attributes, "shrink_axis_mask", 0);
    if (attributeInt(c.op.attributes, "new_axis_mask", 0) != 0 || attributeInt(c.op.attributes, "ellipsis_mask", 0) != 0) return unknown();
    Shape kept;
    for (int i = 0; i < out.rank(); ++i) {
        const auto k = static_cast<size_t>(i);
        if (k >= begin->size()) {
            kept.append(out[i]);
            continue;
        }
        if ((shrink >> i & 1) != 0) continue;
        const int64_t size = out[i];
        const bool whole = (beginMask >> i & 1) != 0 && (endMask >> i & 1) != 0 && (*step)[k] == 1;
        if (whole) kept.append(size);
        else if (size < 0 || (*step)[k] != 1) kept.append(kUnknownDim);
        else {
            const auto place = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size); };
            const int64_t from = (beginMask >> i & 1) != 0 ? 0 : place((*begin)[k]), to = (endMask >> i & 1) != 0 ? size : place((*end)[k]);
            kept.append(std::max<int64_t>(to - from, 0));
        }
    }
    return kept;
}

Shape padded(const Context& c)
{
    Shape out = c.in(0);
    const auto pads = c.ints(1);
    if (!out.hasRank() || !pads || pads->size() != 2 * static_cast<size_t>(out.rank())) return unknown();
    for (int i = 0; i < out.rank(); ++i)
        if (out[i] >= 0) out[i] += (*pads)[2 * static_cast<size_t>(i)] + (*pads)[2 * static_cast<size_t>(i) + 1];
    return out;
}

Shape tiled(const Context& c)
{
    Shape out = c.in(0);
    const auto times = c.ints(1);
    if (!out.hasRank()) return unknown();
    for (int i = 0; i < out.rank(); ++i)
        out[i] = times && static_cast<size_t>(i) < times->size() && out[i] >= 0 ? out[i] * (*times)[static_cast<size_t>(i)] : kUnknownDim;
    return out;
}

Shape resized(const Context& c)
{
    Shape out = c.in(0);
    const Shape size = sizesOf(c, 1);
    if (!out.hasRank() || out.rank() != 4) return unknown();
    for (int i = 0; i < 2; ++i) out[i + 1] = size.hasRank() && size.rank() == 2 ? size[i] : kUnknownDim;
    return out;
}

Shape einsum(const Context& c)
{
    const std::string_view equation = attributeString(c.op.attributes, "equation", "");
    const size_t arrow = equation.find("->");
    if (arrow == std::string_view::npos || equation.find('.') != std::string_view::npos) return unknown();
    std::map<char, int64_t> sizes;
    size_t input = 0;
    int axis = 0;
    for (const char letter : equation.substr(0, arrow)) {
        if (letter == ' ') continue;
        if (letter == ',') {
            ++input;
            axis = 0;
            continue;
        }
        const Shape& x = c.in(input);
        const int64_t size = x.hasRank() && axis < x.rank() ? x[axis] : kUnknownDim;
        ++axis;
        const auto [known, isNew] = sizes.emplace(letter, size);
        if (!isNew && known->second < 0) known->second = size;
    }
    Shape out;
    for (const char letter : equation.substr(arrow + 2))
        if (letter != ' ') out.append(sizes.contains(letter) ? sizes[letter] : kUnknownDim);
    return out;
}

Shape splitted(const Context& c)
{
    Shape out = c.in(1);
    const auto axis = c.ints(0);
    const int64_t parts = attributeInt(c.op.attributes, "num_split", 1);
    if (!out.hasRank() || !axis || axis->size() != 1) return unknown();
    const int64_t along = axis->front() < 0 ? axis->front() + out.rank() : axis->front();
    if (along < 0 || along >= out.rank() || parts < 1) return unknown();
    int64_t& size = out[static_cast<int>(along)];
    if (size >= 0) size /= parts;
    return out;
}

Shape packed(const Context& c)
{
    const Shape& part = c.in(0);
    if (!part.hasRank() || attributeInt(c.op.attributes, "axis", 0) != 0) return unknown();
    Shape out = {static_cast<int64_t>(c.op.inputs.size())};
    for (const int64_t d : part.dims()) out.append(d);
    return out;
}

Shape expanded(const Context& c)
{
    const Shape& x = c.in(0);
    const auto axis = c.ints(1);
    if (!x.hasRank() || !axis || axis->size() != 1) return unknown();
    const int64_t at = axis->front() < 0 ? axis->front() + x.rank() + 1 : axis->front();
    Shape out;
    for (int i = 0; i <= x.rank(); ++i) {
        if (i == at) out.append(1);
        if (i < x.rank()) out.append(x[i]);
    }
    return out;
}

Shape squeezed(const Context& c)
{
    const Shape& x = c.in(0);
    std::vector<int64_t> axes = attributeInts(c.op.attributes, "squeeze_dims");
    if (!x.hasRank() || axes.empty()) return unknown();
    for (int64_t& axis : axes)
        if (axis < 0) axis += x.rank();
    Shape out;
    for (int i = 0; i < x.rank(); ++i)
        if (std::ranges::find(axes, i) == axes.end()) out.append(x[i]);
    return out;
}

Shape elementwise(const Context& c)
{
    std::optional<Shape> out = c.in(0);
    for (size_t i = 1; i < c.op.inputs.size() && out && out->hasRank(); ++i)
        out = c.in(i).hasRank() ? broadcastShapes(*out, c.in(i)) : std::nullopt;
    return out.value_or(unknown());
}

Shape sameAsFirst(const Context& c) { return c.in(0); }

/// An axis, counted from the front: a constant operand; none where nobody knows it.
std::optional<int> constantAxis(const Context& c, size_t operand)
{
    const std::optional<std::vector<int64_t>> axis = c.ints(operand);
    const int64_t rank = c.in(0).hasRank() ? c.in(0).rank() : 0;
    if (!axis || axis->size() != 1 || axis->front() < -rank || axis->front() >= rank) return std::nullopt;
    return static_cast<int>(axis->front() < 0 ? axis->front() + rank : axis->front());
}

Shape without(const Shape& shape, int axis)
{
    Shape out;
    for (int i = 0; i < shape.rank(); ++i)
        if (i != axis) out.append(shape[i]);
    return out;
}

/// ArgMax and ArgMin: a dimension is gone.
Shape searched(const Context& c)
{
    const std::optional<int> axis = constantAxis(c, 1);
    return axis ? without(c.in(0), *axis) : unknown();
}

Shape unpacked(const Context& c)
{
    const int rank = c.in(0).hasRank() ? c.in(0).rank() : 0;
    int64_t axis = attributeInt(c.op.attributes, "axis", 0);
    if (axis < 0) axis += rank;
    return axis >= 0 && axis < rank ? without(c.in(0), static_cast<int>(axis)) : unknown();
}

Shape largest(const Context& c)
{
    if (!c.in(0).hasRank() || c.in(0).rank() < 1) return unknown();
    const std::optional<std::vector<int64_t>> k = c.ints(1);
    Shape out = without(c.in(0), c.in(0).rank() - 1);
    out.append(k && k->size() == 1 ? k->front() : kUnknownDim);
    return out;
}

Shape encoded(const Context& c)
{
    const Shape& x = c.in(0);
    const std::optional<std::vector<int64_t>> depth = c.ints(1);
    if (!x.hasRank()) return unknown();
    const int64_t said = attributeInt(c.op.attributes, "axis", -1), at = said < 0 ? x.rank() : said;
    Shape out;
    for (int i = 0; i <= x.rank(); ++i) {
        if (i == at) out.append(depth && depth->size() == 1 ? depth->front() : kUnknownDim);
        if (i < x.rank()) out.append(x[i]);
    }
    return out;
}
/// y as x, the others a vector of the channels.
Shape batchNorm(const Context& c) { return c.result == 0 ? c.in(0) : c.result < 5 ? c.in(1) : unknown(); }
Shape filled(const Context& c) { return sizesOf(c, 0); }
Shape rankOf(const Context& c) { return c.in(0).hasRank() ? Shape{c.in(0).rank()} : Shape{kUnknownDim}; }

struct Rule {
    std::string_view kind;
    Shape (*shape)(const Context&);
};

constexpr std::array kRules = std::to_array<Rule>({
    {"MatMul", product},
    {"BatchMatMulV2", product},
    {"Conv2D", windowed},
    {"Conv3D", windowed},
    {"DepthwiseConv2dNative", windowed},
    {"MaxPool", windowed},
    {"AvgPool", windowed},
    {"MaxPool3D", windowed},
    {"AvgPool3D", windowed},
    {"Conv2DBackpropInput", transposedConvolution},
    {"Conv3DBackpropInputV2", transposedConvolution},
    {"Mean", reduced},
    {"Sum", reduced},
    {"Max", reduced},
    {"Min", reduced},
    {"Prod", reduced},
    {"All", reduced},
    {"Any", reduced},
    {"Reshape", reshaped},
    {"Transpose", transposed},
    {"ConcatV2", joined},
    {"GatherV2", gathered},
    {"StridedSlice", sliced},
    {"Pad", padded},
    {"Tile", tiled},
    {"ResizeBilinear", resized},
    {"ResizeBicubic", resized},
    {"ResizeNearestNeighbor", resized},
    {"Einsum", einsum},
    {"Split", splitted},
    {"Pack", packed},
    {"ExpandDims", expanded},
    {"Squeeze", squeezed},
    {"ReverseV2", sameAsFirst},
    {"Cast", sameAsFirst},
    {"Identity", sameAsFirst},
    {"Softmax", sameAsFirst},
    {"LogSoftmax", sameAsFirst},
    {"ClipByValue", sameAsFirst},
    {"BiasAdd", sameAsFirst},
    {"FusedBatchNormV3", batchNorm},
    {"Fill", filled},
    {"Shape", rankOf},
    {"ArgMax", searched},
    {"ArgMin", searched},
    {"Unpack", unpacked},
    {"TopKV2", largest},
    {"OneHot", encoded},
    {"BroadcastTo", [](const Context& c) { return sizesOf(c, 1); }},
    {"MatrixBandPart", sameAsFirst},
    {"Roll", sameAsFirst},
    {"Cumsum", sameAsFirst},
    {"Cumprod", sameAsFirst},
    {"PadV2", padded},
    {"MirrorPad", padded},
    {"Range", [](const Context&) { return Shape{kUnknownDim}; }},
    {"SelectV2", elementwise},
});

} // namespace

std::optional<std::vector<int64_t>> constantInts(const Graph& graph, ValueId value)
{
    if (!value.valid() || graph.value(value).role != ValueRole::result) return std::nullopt;
    const Operator& op = graph.op(graph.value(value).producer);
    const Attribute* const attribute = op.kind.name == "Const" ? findAttribute(op.attributes, "value") : nullptr;
    const auto* const tensor = attribute != nullptr ? attribute->as<TensorAttribute>() : nullptr;
    if (tensor == nullptr || !tensor->data->hasBytes() || !tensor->type.shape.isStatic()) return std::nullopt;
    const std::span<const std::byte> bytes = tensor->data->bytes().view();
    const auto count = static_cast<size_t>(tensor->type.shape.elementCount());
    std::vector<int64_t> list;
    for (size_t i = 0; i < count && count <= 64; ++i) {
        int32_t narrow = 0;
        int64_t wide = 0;
        if (tensor->type.dtype == DType::i32 && bytes.size() >= 4 * count) {
            std::memcpy(&narrow, bytes.data() + 4 * i, 4);
            list.push_back(narrow);
        } else if (tensor->type.dtype == DType::i64 && bytes.size() >= 8 * count) {
            std::memcpy(&wide, bytes.data() + 8 * i, 8);
            list.push_back(wide);
        } else {
            return std::nullopt;
        }
    }
    return count > 64 ? std::nullopt : std::optional(list);
}

Shape shapeOfResult(const Graph& graph, const Operator& op, size_t result)
{
    const Context context{graph, op, result};
    for (const Rule& rule : kRules)
        if (rule.kind == op.kind.name) return rule.shape(context);
    // Formulas over elements: the operators of one or two operands that are left.
    const bool known = op.inputs.size() == 1 || op.inputs.size() == 2;
    const bool lists = op.kind.name.starts_with("TensorList") || op.kind.name.starts_with("Broadcast");
    return known && !lists ? elementwise(context) : Shape::unknownRank();
}

} // namespace loopscope::keras
