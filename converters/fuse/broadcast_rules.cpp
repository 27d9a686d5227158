// Copies that an operator would make for itself: what repeats a tensor in front of an operator that stretches its operands is left out.
#include "converters/fuse/pattern.h"

#include <algorithm>
#include <array>

namespace loopscope::fusing {

namespace {

constexpr std::array kStretching = {"add",         "sub",       "mul",        "div",   "maximum",       "minimum", "squared_difference",
                                    "pow",         "greater",   "less_equal", "equal", "greater_equal", "less",    "not_equal",
                                    "logical_and", "logical_or"};
constexpr int kMostRank = 4, kMostRankOfSelect = 5; // kernels stretch no further

/// What several operands are stretched to; none: they do not fit, or the sizes are not known.
std::optional<Shape> stretched(std::span<const Shape> shapes)
{
    int rank = 0;
    for (const Shape& shape : shapes) {
        if (!shape.isStatic()) return std::nullopt;
        rank = std::max(rank, shape.rank());
    }
    std::vector<int64_t> dims(static_cast<size_t>(rank), 1);
    for (const Shape& shape : shapes)
        for (int d = 0; d < shape.rank(); ++d) {
            int64_t& size = dims[static_cast<size_t>(d + rank - shape.rank())];
            if (shape[d] != 1 && size != 1 && size != shape[d]) return std::nullopt;
            if (shape[d] != 1) size = shape[d];
        }
    return Shape(dims);
}

/// What a TILE, BROADCAST_TO or FILL copies; invalid: it does more than to copy along dimensions of size 1.
ValueId copied(const Site& site, const Operator& op)
{
    const std::string_view kind = neutralKind(op.kind);
    if (op.inputs.size() != 2) return {};
    if (kind == "fill") return op.inputs[1];
    const Shape from = site.shapeOf(op.inputs[0]), to = site.shapeOf(op.results[0]);
    if (!from.isStatic() || !to.isStatic() || from.rank() > to.rank()) return {};
    for (int d = 0; d < from.rank(); ++d)
        if (from[d] != 1 && from[d] != to[d + to.rank() - from.rank()]) return {};
    return op.inputs[0];
}

/// What needs all elements; empty: nothing does.
std::string otherReader(const Site& site, OperatorId fill)
{
    for (const ValueUse& use : site.editor().uses(site.editor().op(fill).results[0])) {
        if (use.kind != ValueUse::Kind::operand) continue;
        const std::string_view kind = neutralKind(site.editor().op(use.op).kind);
        if (std::ranges::find(kStretching, kind) == kStretching.end() && kind != "select") return site.described(use.op);
    }
    return "";
}

Outcome copiesOperand(Site& site, OperatorId root)
{
    const Operator op = site.editor().op(root);
    const bool isSelect = neutralKind(op.kind) == "select";
    if (isSelect && op.kind.name != "select_v2" && op.kind.name != "SelectV2") return Outcome::nothing(); // the first one stretches nothing
    for (size_t k = 0; k < op.inputs.size(); ++k) {
        std::vector<OperatorId> ops;
        const OperatorId inner = site.producer(op.inputs[k], &ops);
        if (!inner.valid()) continue;
        const std::string_view kind = neutralKind(site.editor().op(inner).kind);
        if (kind != "tile" && kind != "broadcast_to" && kind != "fill") continue;
        const std::string to = upperCase(neutralKind(op.kind)) + " (broadcast)";
        if (kind == "fill")
            if (std::string reader = otherReader(site, inner); !reader.empty())
                return Outcome::declined(to, site.described(inner) + " stays: " + reader + " reads it, too");
        const ValueId source = copied(site, site.editor().op(inner));
        if (!source.valid())
            return Outcome::declined(to, site.described(inner) + " repeats more than one element, or its sizes are not known");
        std::vector<Shape> shapes;
        for (size_t i = 0; i < op.inputs.size(); ++i) shapes.push_back(site.shapeOf(i == k ? source : op.inputs[i]));
        const std::optional<Shape> shape = stretched(shapes);
        if (!shape || *shape != site.shapeOf(op.results[0]))
            return Outcome::declined(to, "without " + site.described(inner) + " the result would be smaller, or its size is not known");
        if (shape->rank() > (isSelect ? kMostRankOfSelect : kMostRank))
            return Outcome::declined(to, "the operator stretches no tensors of rank " + std::to_string(shape->rank()));
        const TensorType &was = site.typeOf(op.inputs[k]), &is = site.typeOf(source);
        if (was.dtype != is.dtype || !sameQuantization(was.quantization, is.quantization))
            return Outcome::declined(to, site.described(inner) + " changes the scale");
        ops.insert(ops.begin(), inner);
        ops.push_back(root);
        OperatorDraft draft;
        draft.kind = op.kind;
        draft.attributes = op.attributes;
        draft.inputs = op.inputs;
        draft.inputs[k] = source;
        draft.results = {site.typeOf(op.results[0])};
        Outcome outcome = Outcome::made(site.fuse(std::move(ops), std::move(draft), {}));
        outcome.to = to;
        return outcome;
    }
    return Outcome::nothing();
}

} // namespace

std::span<const Rule> broadcastRules()
{
    static const std::vector<Rule> rules = {
        {.name = "copies-of-an-operand",
         .equality = FusionEquality::exact,
         .roots =
             [] {
                 std::vector<std::string> roots(kStretching.begin(), kStretching.end());
                 roots.emplace_back("select");
                 return roots;
             }(),
         .apply = copiesOperand},
    };
    return rules;
}

} // namespace loopscope::fusing
