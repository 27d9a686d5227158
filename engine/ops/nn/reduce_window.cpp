// Reductions over a sliding window: reduce_window, stablehlo_reduce_window.
#include "engine/ops/nn/reduce_window.h"

#include "engine/ops/catalog.h"
#include "engine/ops/movement.h"

using namespace loopscope;

namespace loopscope {

Result<WindowGeometry> WindowGeometry::create(const AttributeList& attributes, int rank)
{
    WindowGeometry g;
    const auto n = static_cast<size_t>(rank);
    const auto list = [&](std::string_view key) {
        std::vector<int64_t> values = attributeInts(attributes, key);
        return values.empty() ? std::vector<int64_t>(n, 1) : values;
    };
    g.size = attributeInts(attributes, "window_dimensions");
    g.strides = list("window_strides");
    g.dilations = list("window_dilations");
    g.baseDilations = list("base_dilations");
    std::vector<int64_t> padding = attributeInts(attributes, "padding");
    if (padding.empty()) padding.assign(2 * n, 0);
    if (padding.size() != 2 * n)
        return InferContext::violated(1, "entries of padding").found(std::to_string(padding.size())).expected(std::to_string(2 * n));
    for (size_t d = 0; d < n; ++d) {
        g.padLow.push_back(padding[2 * d]);
        g.padHigh.push_back(padding[2 * d + 1]);
    }
    LS_CHECK_OK(g.check(rank));
    return g;
}

Status WindowGeometry::check(int rank) const
{
    const auto n = static_cast<size_t>(rank);
    constexpr int64_t kLimit = int64_t{1} << 30;
    for (const auto* list : {&size, &strides, &dilations, &baseDilations}) {
        if (list->size() != n)
            return InferContext::violated(1, "entries of the window")
                .found(std::to_string(list->size()))
                .expected(std::to_string(n) + ", one for each dimension");
        for (const int64_t value : *list)
            if (value < 1 || value > kLimit)
                return InferContext::violated(2, "size, stride or dilation of the window")
                    .found(std::to_string(value))
                    .expected("1 to 2^30");
    }
    for (const auto* list : {&padLow, &padHigh})
        for (const int64_t value : *list)
            if (value < -kLimit || value > kLimit)
                return InferContext::violated(2, "padding").found(std::to_string(value)).expected("at most 2^30");
    return {};
}

Result<Shape> WindowGeometry::result(const Shape& input) const
{
    Shape out = input;
    for (int d = 0; d < input.rank(); ++d) {
        const auto at = static_cast<size_t>(d);
        if (input[d] < 0) continue;
        int64_t spread = 0;
        if (input[d] > 0 && __builtin_mul_overflow(input[d] - 1, baseDilations[at], &spread))
            return InferContext::violated(2, "dimension " + std::to_string(d) + " spread out is too large");
        if (input[d] > 0) ++spread;
        const int64_t whole = spread + padLow[at] + padHigh[at];
        const int64_t window = (size[at] - 1) * dilations[at] + 1;
        out[d] = whole < window ? 0 : (whole - window) / strides[at] + 1;
    }
    if (out.isStatic() && !checkedElementCount(out))
        return InferContext::violated(2, "the result " + toString(out) + " has too many elements");
    return out;
}

} // namespace loopscope

namespace {

Status requireInitial(const InferContext& c)
{
    LS_CHECK_OK(requireSameType(c, 0, 1, 3));
    if (c.input(1).shape.isStatic() && checkedElementCount(c.input(1).shape) != 1)
        return InferContext::violated(3, "elements of " + describeOperand(c, 1)).expected("1");
    return {};
}

Status inferStablehlo(InferContext& c)
{
    const Shape& in = c.input(0).shape;
    LS_CHECK_OK(requireInitial(c));
    if (!in.hasRank()) {
        c.setOutput(0, c.input(0).dtype, Shape::unknownRank());
        return {};
    }
    LS_TRY(const WindowGeometry geometry, WindowGeometry::create(c.attributes(), in.rank()));
    LS_TRY(Shape out, geometry.result(in));
    c.setOutput(0, c.input(0).dtype, std::move(out));
    return {};
}

Status inferReduceWindow(InferContext& c)
{
    const Shape& in = c.input(0).shape;
    LS_CHECK_OK(requireInitial(c));
    LS_TRY(const auto size, vectorOperand(c, 2, 1));
    LS_TRY(const auto strides, vectorOperand(c, 3, 1));
    LS_TRY(const auto dilations, vectorOperand(c, 4, 1));
    if (!in.hasRank() || !size || !strides || !dilations) {
        c.setOutput(0, c.input(0).dtype, in.hasRank() ? Shape::ofRank(in.rank(), kUnknownDim) : in);
        return {};
    }
    const auto n = static_cast<size_t>(in.rank());
    WindowGeometry geometry{
        *size, *strides, *dilations, std::vector<int64_t>(n, 1), std::vector<int64_t>(n, 0), std::vector<int64_t>(n, 0)};
    LS_CHECK_OK(geometry.check(in.rank()));
    LS_TRY(Shape out, geometry.result(in));
    c.setOutput(0, c.input(0).dtype, std::move(out));
    return {};
}

} // namespace

LS_DEFINE_OP(tfl, reduce_window)
{
    // C1: window, strides and dilations have an entry for each dimension. C2: they are 1 or more, and the result is not too large. C3: one
    // initial value of the input's dtype. C4 (when prepared): the function is known, and the window constant.
    return movementDef<inferReduceWindow>(5, "input, init [], window [rank], strides [rank], dilations [rank]",
                                          "Combines the elements in each place of a sliding window.",
                                          "LiteRT kernels/stablehlo_reduce_window.cc");
}

LS_DEFINE_OP(tfl, stablehlo_reduce_window)
{
    // C1: window, strides, dilations and paddings have entries for each dimension. C2: they are 1 or more, and the result is not too
    // large. C3: one initial value of the input's dtype.
    return movementDef<inferStablehlo>(
        2, "input, init []", "Combines the elements in each place of a sliding window; around and between them counts the initial value.",
        "StableHLO specification, LiteRT kernels/stablehlo_reduce_window.cc");
}
