#include "engine/ops/tf_shapes.h"

#include "engine/ops/shape_values.h"
#include "engine/ops/window.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

namespace loopscope {

namespace {

using Inputs = std::span<const Tensor* const>;

constexpr int64_t kMostDim = INT32_MAX; ///< what is larger is not computed with

int64_t multiplied(int64_t a, int64_t b)
{
    int64_t product = 0;
    return a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product) ? kUnknownDim : product;
}

/// One operator with what is known of its operands.
class Follower {
public:
    Follower(const Operator& op, Inputs inputs) : m_op(op), m_inputs(inputs) {}

    Shape shape(size_t i) const { return i < m_inputs.size() && m_inputs[i] != nullptr ? m_inputs[i]->shape : Shape::unknownRank(); }
    std::optional<std::vector<int64_t>> integers(size_t i) const { return i < m_inputs.size() ? shownIntegers(m_inputs[i]) : std::nullopt; }
    std::optional<int64_t> integer(size_t i) const
    {
        const auto values = integers(i);
        return values && values->size() == 1 ? std::optional(values->front()) : std::nullopt;
    }
    int64_t number(std::string_view key, int64_t otherwise) const { return attributeInt(m_op.attributes, key, otherwise); }
    bool flag(std::string_view key) const { return attributeBool(m_op.attributes, key, false); }

    /// `axis` of `rank` dimensions, counted from the front; −1: there is none such.
    static int place(std::optional<int64_t> axis, int rank)
    {
        if (!axis) return -1;
        const int64_t at = *axis < 0 ? *axis + rank : *axis;
        return at >= 0 && at < rank ? static_cast<int>(at) : -1;
    }

    Shape transposed() const
    {
        const Shape in = shape(0);
        const auto perm = integers(1);
        if (!in.hasRank() || !perm || static_cast<int>(perm->size()) != in.rank()) return Shape::unknownRank();
        Shape out = in;
        for (int d = 0; d < in.rank(); ++d) {
            const int from = place((*perm)[static_cast<size_t>(d)], in.rank());
            if (from < 0) return Shape::unknownRank();
            out[d] = in[from];
        }
        return out;
    }

    Shape product(std::string_view turnsLeft, std::string_view turnsRight) const
    {
        const Shape a = shape(0), b = shape(1);
        if (!a.hasRank() || !b.hasRank() || a.rank() < 2 || a.rank() != b.rank()) return Shape::unknownRank();
        Shape out = a;
        for (int d = 0; d < a.rank() - 2; ++d) {
            if (a[d] == b[d] || b[d] == 1) continue;
            out[d] = a[d] == 1 ? b[d] : kUnknownDim;
        }
        const int rows = a.rank() - 2, columns = a.rank() - 1;
        out[rows] = a[flag(turnsLeft) ? columns : rows];
        out[columns] = b[flag(turnsRight) ? rows : columns];
        return out;
    }

    Shape stacked() const
    {
        const Shape in = shape(0);
        if (!in.hasRank()) return in;
        const int at = place(number("axis", 0), in.rank() + 1);
        return at < 0 ? Shape::unknownRank() : withDimension(in, at, static_cast<int64_t>(m_inputs.size()));
    }

    Shape expanded() const
    {
        const Shape in = shape(0);
        const int at = in.hasRank() ? place(integer(1), in.rank() + 1) : -1;
        return at < 0 ? Shape::unknownRank() : withDimension(in, at, 1);
    }

    Shape squeezed() const
    {
        const Shape in = shape(0);
        const std::vector<int64_t> dims = attributeInts(m_op.attributes, "squeeze_dims");
        if (!in.hasRank() || (dims.empty() && !in.isStatic())) return Shape::unknownRank();
        Shape out;
        for (int d = 0; d < in.rank(); ++d) {
            const bool isNamed = std::ranges::any_of(dims, [&](int64_t dim) { return place(dim, in.rank()) == d; });
            if (dims.empty() ? in[d] != 1 : !isNamed) out.append(in[d]);
        }
        return out;
    }

    /// Without one dimension, as all parts of Unpack are.
    Shape part() const
    {
        const Shape in = shape(0);
        const int at = in.hasRank() ? place(number("axis", 0), in.rank()) : -1;
        return at < 0 ? Shape::unknownRank() : withoutDimension(in, at);
    }

    Shape split(size_t parts) const
    {
        Shape in = shape(1);
        const int at = in.hasRank() ? place(integer(0), in.rank()) : -1;
        if (at < 0 || parts == 0) return Shape::unknownRank();
        if (in[at] >= 0) in[at] /= static_cast<int64_t>(parts);
        return in;
    }

    Shape joined() const
    {
        const size_t last = m_inputs.size() - 1;
        Shape out = shape(0);
        const int at = out.hasRank() ? place(integer(last), out.rank()) : -1;
        if (at < 0) return Shape::unknownRank();
        for (size_t i = 1; i < last; ++i) {
            const Shape in = shape(i);
            if (!in.hasRank() || in.rank() != out.rank()) return Shape::unknownRank();
            for (int d = 0; d < out.rank(); ++d) {
                if (d == at) out[d] = out[d] < 0 || in[d] < 0 || out[d] > kMostDim || in[d] > kMostDim ? kUnknownDim : out[d] + in[d];
                else if (out[d] < 0) out[d] = in[d];
            }
        }
        return out;
    }

    Shape reshaped() const
    {
        const auto wanted = integers(1);
        if (!wanted) return Shape::unknownRank();
        Shape out;
        int64_t known = 1;
        int open = -1;
        for (const int64_t dim : *wanted) {
            if (dim < 0) open = out.rank();
            else known = multiplied(known, dim);
            out.append(dim < 0 ? kUnknownDim : dim);
        }
        const Shape in = shape(0);
        const std::optional<int64_t> count = checkedElementCount(in);
        if (open >= 0 && count && known > 0 && *count % known == 0) out[open] = *count / known;
        return out;
    }

    /// Slices without an ellipsis or new dimensions.
    Shape sliced() const
    {
        const Shape in = shape(0);
        const auto begins = integers(1), ends = integers(2), strides = integers(3);
        if (!in.hasRank() || !begins || !ends || !strides || ends->size() != begins->size() || strides->size() != begins->size() ||
            number("ellipsis_mask", 0) != 0 || number("new_axis_mask", 0) != 0 || static_cast<int>(begins->size()) > in.rank())
            return Shape::unknownRank();
        Shape out;
        for (int d = 0; d < in.rank(); ++d) {
            const auto k = static_cast<size_t>(d);
            if (k >= begins->size()) {
                out.append(in[d]);
                continue;
            }
            const auto isSet = [&](std::string_view mask) { return ((number(mask, 0) >> d) & 1) != 0; };
            if (isSet("shrink_axis_mask")) continue;
            const bool isFromStart = isSet("begin_mask"), isToEnd = isSet("end_mask");
            out.append(sliceSize(in[d], isFromStart ? std::nullopt : std::optional((*begins)[k]),
                                 isToEnd ? std::nullopt : std::optional((*ends)[k]), (*strides)[k]));
        }
        return out;
    }

    /// Rows of operand 0 at the indices of operand 1, along `axis`.
    Shape gathered(std::optional<int64_t> axis) const
    {
        const Shape from = shape(0), at = shape(1);
        const int place0 = from.hasRank() ? place(axis, from.rank()) : -1;
        if (place0 < 0 || !at.hasRank() || number("batch_dims", 0) != 0) return Shape::unknownRank();
        Shape out;
        for (int d = 0; d < place0; ++d) out.append(from[d]);
        for (const int64_t dim : at.dims()) out.append(dim);
        for (int d = place0 + 1; d < from.rank(); ++d) out.append(from[d]);
        return out;
    }

    Shape reduced() const
    {
        const Shape in = shape(0);
        const auto axes = integers(1);
        if (!in.hasRank() || !axes) return Shape::unknownRank();
        Shape out;
        for (int d = 0; d < in.rank(); ++d) {
            const bool isGone = std::ranges::any_of(*axes, [&](int64_t axis) { return place(axis, in.rank()) == d; });
            if (!isGone || flag("keep_dims")) out.append(isGone ? 1 : in[d]);
        }
        return out;
    }

    /// A window of `height` × `width` over [N,H,W,C].
    Shape windowed(int64_t height, int64_t width, int64_t channels) const
    {
        const Shape in = shape(0);
        const std::vector<int64_t> strides = attributeInts(m_op.attributes, "strides");
        std::vector<int64_t> dilations = attributeInts(m_op.attributes, "dilations");
        if (dilations.size() != 4) dilations.assign(4, 1);
        const std::string_view padding = attributeString(m_op.attributes, "padding", "");
        if (!in.hasRank() || in.rank() != 4 || strides.size() != 4 || (padding != "SAME" && padding != "VALID") ||
            attributeString(m_op.attributes, "data_format", "NHWC") != "NHWC")
            return Shape::unknownRank();
        Shape out = in;
        out[3] = channels;
        for (const auto& [d, size] : {std::pair(1, height), std::pair(2, width)}) {
            const auto k = static_cast<size_t>(d);
            if (strides[k] < 1 || dilations[k] < 1 || std::max(strides[k], dilations[k]) > kMostDim) return Shape::unknownRank();
            out[d] = size < 1 || size > kMostDim || in[d] < 0 || in[d] > kMostDim
                         ? kUnknownDim
                         : WindowAxis{in[d], size, strides[k], dilations[k], padding == "SAME"}.outputSize();
            if (out[d] < 0) out[d] = kUnknownDim;
        }
        return out;
    }

    Shape convolved(bool isDepthwise) const
    {
        const Shape filter = shape(1);
        if (!filter.hasRank() || filter.rank() != 4) return Shape::unknownRank();
        return windowed(filter[0], filter[1], isDepthwise ? multiplied(filter[2], filter[3]) : filter[3]);
    }

    Shape pooled() const
    {
        const std::vector<int64_t> size = attributeInts(m_op.attributes, "ksize");
        return size.size() == 4 && shape(0).hasRank() && shape(0).rank() == 4 ? windowed(size[1], size[2], shape(0)[3])
                                                                              : Shape::unknownRank();
    }

private:
    static Shape withDimension(const Shape& in, int at, int64_t size)
    {
        Shape out;
        for (int d = 0; d <= in.rank(); ++d) out.append(d == at ? size : in[d - (d > at ? 1 : 0)]);
        return out;
    }

    static Shape withoutDimension(const Shape& in, int at)
    {
        Shape out;
        for (int d = 0; d < in.rank(); ++d)
            if (d != at) out.append(in[d]);
        return out;
    }

    static int64_t sliceSize(int64_t size, std::optional<int64_t> begin, std::optional<int64_t> end, int64_t stride)
    {
        if (size < 0 || stride == 0 || stride > kMostDim || stride < -kMostDim) return kUnknownDim;
        const int64_t lowest = stride > 0 ? 0 : -1, highest = stride > 0 ? size : size - 1;
        const auto placed = [&](int64_t at) { return std::clamp(at < 0 ? at + size : at, lowest, highest); };
        const int64_t from = begin ? placed(*begin) : (stride > 0 ? lowest : highest);
        const int64_t to = end ? placed(*end) : (stride > 0 ? highest : lowest);
        const int64_t span = stride > 0 ? to - from : from - to, step = stride > 0 ? stride : -stride;
        return span <= 0 ? 0 : (span + step - 1) / step;
    }

    const Operator& m_op;
    const Inputs m_inputs;
};

Shape followed(const Operator& op, Inputs inputs)
{
    const Follower of(op, inputs);
    const std::string_view kind = op.kind.name;
    const auto isOne = [&](std::initializer_list<std::string_view> names) { return std::ranges::find(names, kind) != names.end(); };
    if (isOne({"Transpose", "ConjugateTranspose"})) return of.transposed();
    if (kind == "MatMul") return of.product("transpose_a", "transpose_b");
    if (isOne({"BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"})) return of.product("adj_x", "adj_y");
    if (isOne({"BiasAdd", "ReverseV2"})) return of.shape(0);
    if (kind == "Pack") return of.stacked();
    if (kind == "Unpack") return of.part();
    if (kind == "Split") return of.split(op.results.size());
    if (kind == "ConcatV2") return of.joined();
    if (kind == "Reshape") return of.reshaped();
    if (kind == "ExpandDims") return of.expanded();
    if (kind == "Squeeze") return of.squeezed();
    if (kind == "StridedSlice") return of.sliced();
    if (kind == "GatherV2") return of.gathered(of.integer(2));
    if (kind == "Gather") return of.gathered(0);
    if (isOne({"Mean", "Sum", "Max", "Min", "Prod", "Any", "All"})) return of.reduced();
    if (isOne({"Conv2D", "DepthwiseConv2dNative"})) return of.convolved(kind != "Conv2D");
    if (isOne({"MaxPool", "AvgPool"})) return of.pooled();
    return Shape::unknownRank();
}

} // namespace

std::vector<Shape> followedShapes(const Operator& op, Inputs inputs)
{
    if (inputs.empty()) return std::vector<Shape>(op.results.size(), Shape::unknownRank());
    return std::vector<Shape>(op.results.size(), followed(op, inputs)); // of several results all are alike
}

} // namespace loopscope
