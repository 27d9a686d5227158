// Operators that move data: what cancels, and what is the same as something cheaper.
#include "converters/fuse/pattern.h"

#include <algorithm>
#include <numeric>

namespace loopscope::fusing {

namespace {

Outcome transposeTwice(Site& site, OperatorId root)
{
    const Operator outer = site.editor().op(root);
    std::vector<OperatorId> ops;
    const OperatorId inner = site.producer(outer.inputs.at(0), &ops);
    if (!inner.valid() || neutralKind(site.editor().op(inner).kind) != "transpose") return Outcome::nothing();
    const Operator first = site.editor().op(inner);
    const auto a = site.constants().integers(first.inputs.at(1)), b = site.constants().integers(outer.inputs.at(1));
    if (!a || !b || a->size() != b->size()) return Outcome::declined("transposes cancel", "a permutation is no constant");
    std::vector<int32_t> both;
    for (const int64_t d : *b) {
        if (d < 0 || d >= static_cast<int64_t>(a->size())) return Outcome::declined("transposes cancel", "a permutation is none");
        both.push_back(static_cast<int32_t>((*a)[static_cast<size_t>(d)]));
    }
    ops.insert(ops.begin(), inner);
    ops.push_back(root);
    std::vector<int32_t> identity(both.size());
    std::iota(identity.begin(), identity.end(), 0);
    if (both == identity) {
        if (std::optional<std::string> reason = site.namesOutput(root)) return Outcome::declined("transposes cancel", *reason);
        site.bypass(root, first.inputs[0], ops);
        return {root, "transposes cancel", "", "", {}};
    }
    if (std::optional<std::string> reason = site.outliveAny(ops, root)) return Outcome::declined("TRANSPOSE", *reason);
    OperatorDraft draft;
    draft.kind = {"tfl", "transpose"};
    draft.inputs = {first.inputs[0], site.constant(site.nameOf(root) + "/permutation", Shape{static_cast<int64_t>(both.size())},
                                                   std::span<const int32_t>(both), root)};
    draft.results = {site.editor().value(outer.results[0]).type};
    return Outcome::made(site.fuse(std::move(ops), std::move(draft), {}));
}

/// A transpose that moves only dimensions of size 1 keeps the order of the elements.
Outcome trivialTranspose(Site& site, OperatorId root)
{
    const Operator op = site.editor().op(root);
    const auto permutation = site.constants().integers(op.inputs.at(1));
    const Shape shape = site.shapeOf(op.inputs[0]);
    if (!permutation || !shape.isStatic() || shape.rank() != static_cast<int>(permutation->size())) return Outcome::nothing();
    int64_t last = -1;
    std::vector<int32_t> dims;
    for (const int64_t d : *permutation) {
        if (d < 0 || d >= shape.rank()) return Outcome::nothing();
        dims.push_back(static_cast<int32_t>(shape[static_cast<int>(d)]));
        if (shape[static_cast<int>(d)] == 1) continue;
        if (d < last) return Outcome::nothing();
        last = d;
    }
    OperatorDraft draft;
    draft.kind = {"tfl", "reshape"};
    draft.inputs = {op.inputs[0], site.constant(site.nameOf(root) + "/shape", Shape{static_cast<int64_t>(dims.size())},
                                                std::span<const int32_t>(dims), root)};
    draft.results = {site.editor().value(op.results[0]).type};
    return Outcome::made(site.fuse({root}, std::move(draft), {}));
}

Outcome reshapeTwice(Site& site, OperatorId root)
{
    const Operator outer = site.editor().op(root);
    std::vector<OperatorId> ops;
    const OperatorId inner = site.producer(outer.inputs.at(0), &ops);
    if (!inner.valid() || neutralKind(site.editor().op(inner).kind) != "reshape") return Outcome::nothing();
    ops.insert(ops.begin(), inner);
    ops.push_back(root);
    if (outer.inputs.size() < 2) return Outcome::nothing();
    const auto target = site.constants().integers(outer.inputs[1]);
    if (!target) return Outcome::declined("RESHAPE", "the shape is no constant");
    if (std::optional<std::string> reason = site.outliveAny(ops, root)) return Outcome::declined("RESHAPE", *reason);
    OperatorDraft draft;
    draft.kind = {"tfl", "reshape"};
    draft.inputs = {site.editor().op(inner).inputs[0], outer.inputs[1]};
    if (outer.kind.dialect != "tf") draft.attributes = outer.attributes;
    draft.results = {site.editor().value(outer.results[0]).type};
    return Outcome::made(site.fuse(std::move(ops), std::move(draft), {}));
}

/// A reshape to the shape that there was.
/// Whether a reshape that says all dimensions but one leaves a tensor of which that one is not known as it is.
bool keepsOpenShape(Site& site, const Operator& op, const Shape& shape)
{
    const auto target = op.inputs.size() > 1 ? site.constants().integers(op.inputs[1]) : std::nullopt;
    if (!target || !shape.hasRank() || static_cast<int>(target->size()) != shape.rank()) return false;
    for (int d = 0; d < shape.rank(); ++d)
        if ((*target)[static_cast<size_t>(d)] != shape[d] || shape[d] == 0) return false;
    return std::ranges::count(*target, -1) == 1;
}

Outcome reshapeToItself(Site& site, OperatorId root)
{
    const Operator op = site.editor().op(root);
    const TensorType &from = site.typeOf(op.inputs.at(0)), &to = site.typeOf(op.results[0]);
    if (site.isTensorFlow() || from.shape != to.shape || from.dynamicShape() != to.dynamicShape() ||
        !sameQuantization(from.quantization, to.quantization) || site.namesOutput(root))
        return Outcome::nothing();
    if (!from.dynamicShape().isStatic() && !keepsOpenShape(site, op, from.dynamicShape())) return Outcome::nothing();
    site.bypass(root, op.inputs[0], {root});
    return {root, "no reshape", "", "", {}};
}

bool isLikeReshape(std::string_view kind) { return kind == "reshape" || kind == "squeeze" || kind == "expand_dims"; }

/// Whether something that could join with it stands beside it.
bool meetsReshape(const Site& site, const Operator& op)
{
    const OperatorId before = site.producer(op.inputs[0]);
    if (before.valid() && isLikeReshape(neutralKind(site.editor().op(before).kind))) return true;
    return std::ranges::any_of(site.editor().uses(op.results[0]), [&](const ValueUse& use) {
        return use.kind == ValueUse::Kind::operand && isLikeReshape(neutralKind(site.editor().op(use.op).kind));
    });
}

/// TFLite runs them all, and has rules for reshapes only.
Outcome asReshape(Site& site, OperatorId root)
{
    const Operator op = site.editor().op(root);
    if (op.inputs.empty() || (site.isTensorFlow() && op.kind.name != "Squeeze")) return Outcome::nothing();
    const Shape from = site.shapeOf(op.inputs[0]);
    if (!from.isStatic()) return Outcome::nothing();
    std::vector<int32_t> left;
    if (!site.isTensorFlow()) {
        const TensorType& to = site.typeOf(op.results[0]);
        if (!to.shape.isStatic() || to.signature || !meetsReshape(site, op)) return Outcome::nothing();
        for (int d = 0; d < to.shape.rank(); ++d) left.push_back(static_cast<int32_t>(to.shape[d]));
    }
    const std::vector<int64_t> dims = attributeInts(op.attributes, "squeeze_dims");
    for (int d = 0; d < from.rank() && site.isTensorFlow(); ++d) {
        const bool isNamed = std::ranges::find(dims, d) != dims.end() || std::ranges::find(dims, d - from.rank()) != dims.end();
        if (isNamed && from[d] != 1) return Outcome::nothing(); // the run will say so
        if (!isNamed && (!dims.empty() || from[d] != 1)) left.push_back(static_cast<int32_t>(from[d]));
    }
    OperatorDraft draft;
    draft.kind = {"tfl", "reshape"};
    draft.inputs = {op.inputs[0], site.constant(site.nameOf(root) + "/shape", Shape{static_cast<int64_t>(left.size())},
                                                std::span<const int32_t>(left), root)};
    draft.results = {site.typeOf(op.results[0])};
    return Outcome::made(site.fuse({root}, std::move(draft), {}));
}

/// Every part of an Unpack in its order; invalid: it is something else.
OperatorId partsInOrder(const Site& site, const Operator& op)
{
    OperatorId unpack;
    for (size_t k = 0; k < op.inputs.size(); ++k) {
        const Value& part = site.editor().value(op.inputs[k]);
        if (part.role != ValueRole::result || part.slot != static_cast<int>(k) || (k > 0 && part.producer != unpack)) return {};
        unpack = part.producer;
    }
    const bool isUnpack = unpack.valid() && site.editor().op(unpack).kind.name == "unpack";
    return isUnpack && site.editor().op(unpack).results.size() == op.inputs.size() ? unpack : OperatorId();
}

/// What was taken apart along a dimension and put together along the same one: the tensor itself, or with two dimensions as one.
Outcome apartAndTogether(Site& site, OperatorId root)
{
    const Operator op = site.editor().op(root);
    if (site.isTensorFlow() || activationOf(op) != "NONE" || op.inputs.empty()) return Outcome::nothing();
    const OperatorId unpack = partsInOrder(site, op);
    if (!unpack.valid()) return Outcome::nothing();
    const Operator apart = site.editor().op(unpack);
    const bool packs = neutralKind(op.kind) == "pack";
    const Shape &whole = site.typeOf(apart.inputs[0]).shape, shape = site.typeOf(op.results[0]).shape;
    const std::string to = packs ? "unpack and pack cancel" : "RESHAPE";
    if (!whole.isStatic() || !shape.isStatic()) return Outcome::declined(to, "the shape is not known");
    const auto axisOf = [](const Operator& of, int rank) {
        const int64_t axis = attributeInt(of.attributes, "axis", 0);
        return axis < 0 ? axis + rank : axis;
    };
    if (axisOf(apart, whole.rank()) != axisOf(op, packs ? whole.rank() : whole.rank() - 1))
        return Outcome::declined(to, "it is taken apart along one dimension and put together along another");
    if (packs) {
        if (std::optional<std::string> reason = site.namesOutput(root)) return Outcome::declined(to, *reason);
        site.bypass(root, apart.inputs[0], {unpack, root});
        return {root, to, "", "", {}};
    }
    const OperatorId ops[] = {unpack, root};
    if (std::optional<std::string> reason = site.outliveAny(ops, root)) return Outcome::declined(to, *reason);
    std::vector<int32_t> dims;
    for (int d = 0; d < shape.rank(); ++d) dims.push_back(static_cast<int32_t>(shape[d]));
    OperatorDraft draft;
    draft.kind = {"tfl", "reshape"};
    draft.inputs = {apart.inputs[0],
                    site.constant(site.nameOf(root) + "/shape", Shape{shape.rank()}, std::span<const int32_t>(dims), root)};
    draft.results = {site.typeOf(op.results[0])};
    return Outcome::made(site.fuse({unpack, root}, std::move(draft), {}));
}

/// A transpose of the last two dimensions in front of a product of matrices is a flag of that.
Outcome transposeIntoProduct(Site& site, OperatorId root)
{
    const Operator op = site.editor().op(root);
    if (site.isTensorFlow() || op.inputs.size() != 2) return Outcome::nothing();
    for (const size_t side : {0, 1}) {
        const OperatorId inner = site.producer(op.inputs[side]);
        if (!inner.valid() || neutralKind(site.editor().op(inner).kind) != "transpose") continue;
        const Operator transpose = site.editor().op(inner);
        const auto permutation = site.constants().integers(transpose.inputs.at(1));
        const char* const flag = side == 0 ? "adj_x" : "adj_y";
        const std::string to = std::string("BATCH_MATMUL+") + flag;
        if (!permutation || permutation->size() < 2) return Outcome::declined(to, "the permutation is no constant");
        std::vector<int64_t> wanted(permutation->size());
        std::iota(wanted.begin(), wanted.end(), 0);
        std::swap(wanted.back(), wanted[wanted.size() - 2]);
        if (*permutation != wanted) return Outcome::declined(to, "more than the last two dimensions are transposed");
        const OperatorId ops[] = {inner, root};
        if (std::optional<std::string> reason = site.outliveAny(ops, root)) return Outcome::declined(to, *reason);
        OperatorDraft draft;
        draft.kind = op.kind;
        draft.attributes = op.attributes;
        setAttribute(draft.attributes, flag, !attributeBool(op.attributes, flag, false));
        draft.inputs = op.inputs;
        draft.inputs[side] = transpose.inputs[0];
        draft.results = {site.typeOf(op.results[0])};
        Outcome outcome = Outcome::made(site.fuse({inner, root}, std::move(draft), {}));
        outcome.to = to;
        return outcome;
    }
    return Outcome::nothing();
}

/// The dimensions of `shape` behind `permutation`, with the number that each had before; none: they are not known.
std::optional<std::vector<int>> orderOf(Site& site, const Operator& transpose)
{
    const Shape shape = site.shapeOf(transpose.inputs[0]);
    const auto permutation = site.constants().integers(transpose.inputs.at(1));
    if (!permutation || !shape.isStatic() || static_cast<int>(permutation->size()) != shape.rank()) return std::nullopt;
    for (const int64_t d : *permutation)
        if (d < 0 || d >= shape.rank()) return std::nullopt;
    return std::vector<int>(permutation->begin(), permutation->end());
}

/// Groups of dimensions that a reshape makes of groups of as many elements.
struct DimensionGroups {
    std::vector<std::vector<int>> from; ///< the dimensions that went in, by their numbers before the transpose
    std::vector<int> of;                ///< each dimension that came out: its group
};

std::optional<DimensionGroups> groupsOf(const std::vector<int>& before, const Shape& source, const Shape& to)
{
    DimensionGroups groups{{}, std::vector<int>(static_cast<size_t>(to.rank()), 0)};
    for (int d = 0, e = 0; d < source.rank() || e < to.rank();) {
        groups.from.emplace_back();
        int64_t was = 1, is = 1;
        do {
            if (d < source.rank() && was <= is) {
                groups.from.back().push_back(before[static_cast<size_t>(d)]);
                was *= source[before[static_cast<size_t>(d++)]];
            } else if (e < to.rank()) {
                groups.of[static_cast<size_t>(e)] = static_cast<int>(groups.from.size()) - 1;
                is *= to[e++];
            } else {
                return std::nullopt;
            }
            if (was <= 0 || is <= 0) return std::nullopt;
        } while (was != is);
    }
    return groups;
}

/// A transpose, a reshape and a transpose that bring all elements back into their order.
Outcome transposedReshape(Site& site, OperatorId root)
{
    const Operator last = site.editor().op(root);
    const OperatorId middle = site.producer(last.inputs.at(0));
    if (site.isTensorFlow() || !middle.valid() || neutralKind(site.editor().op(middle).kind) != "reshape") return Outcome::nothing();
    const OperatorId inner = site.producer(site.editor().op(middle).inputs[0]);
    if (!inner.valid() || neutralKind(site.editor().op(inner).kind) != "transpose") return Outcome::nothing();
    const Operator first = site.editor().op(inner);
    const auto before = orderOf(site, first), behind = orderOf(site, last);
    if (!before || !behind) return Outcome::declined("RESHAPE", "a permutation or a shape is not known");
    const Shape source = site.shapeOf(first.inputs[0]), to = site.shapeOf(last.inputs[0]);
    const std::optional<DimensionGroups> groups = groupsOf(*before, source, to);
    if (!groups) return Outcome::nothing();
    // A group stays together, in its order; the groups come back to where they were.
    int place = -1;
    std::vector<bool> isSeen(groups->from.size(), false);
    for (size_t k = 0; k < behind->size(); ++k) {
        const auto group = static_cast<size_t>(groups->of[static_cast<size_t>((*behind)[k])]);
        const bool goesOn = k > 0 && groups->of[static_cast<size_t>((*behind)[k - 1])] == static_cast<int>(group);
        bool isInOrder = goesOn ? (*behind)[k - 1] + 1 == (*behind)[k] : !isSeen[group];
        for (const int of : groups->from[group]) {
            if (goesOn || source[of] == 1) continue;
            isInOrder = isInOrder && of > place;
            place = of;
        }
        if (!isInOrder) return Outcome::declined("RESHAPE", "the elements come out in another order");
        isSeen[group] = true;
    }
    const OperatorId ops[] = {inner, middle, root};
    if (std::optional<std::string> reason = site.outliveAny(ops, root)) return Outcome::declined("RESHAPE", *reason);
    std::vector<int32_t> dims;
    const Shape shape = site.shapeOf(last.results[0]);
    if (!shape.isStatic()) return Outcome::nothing();
    for (int k = 0; k < shape.rank(); ++k) dims.push_back(static_cast<int32_t>(shape[k]));
    OperatorDraft draft;
    draft.kind = {"tfl", "reshape"};
    draft.inputs = {first.inputs[0],
                    site.constant(site.nameOf(root) + "/shape", Shape{shape.rank()}, std::span<const int32_t>(dims), root)};
    draft.results = {site.typeOf(last.results[0])};
    return Outcome::made(site.fuse({inner, middle, root}, std::move(draft), {}));
}

/// A reduction whose dimensions a reshape puts back keeps them.
Outcome keptDimensions(Site& site, OperatorId root)
{
    const Operator outer = site.editor().op(root);
    std::vector<OperatorId> ops;
    const OperatorId inner = site.producer(outer.inputs.at(0), &ops);
    if (!inner.valid() || outer.inputs.size() < 2) return Outcome::nothing();
    const Operator reduction = site.editor().op(inner);
    const std::string_view kind = neutralKind(reduction.kind);
    const bool isReduction = kind == "sum" || kind == "mean" || kind == "reduce_max" || kind == "reduce_min" || kind == "reduce_prod";
    if (!isReduction || attributeBool(reduction.attributes, "keep_dims", false)) return Outcome::nothing();
    const auto declined = [&](std::string reason) {
        return Outcome::declined(upperCase(kind) + " that keeps its dimensions", std::move(reason));
    };
    const auto axes = site.constants().integers(reduction.inputs.at(1)), target = site.constants().integers(outer.inputs[1]);
    Shape shape = site.shapeOf(reduction.inputs[0]);
    if (!axes || !target || !shape.isStatic()) return declined("axes, shape or operand are not known");
    for (const int64_t axis : *axes) {
        if (axis < -shape.rank() || axis >= shape.rank()) return Outcome::nothing();
        shape[static_cast<int>(axis < 0 ? axis + shape.rank() : axis)] = 1;
    }
    bool isSame = static_cast<int>(target->size()) == shape.rank();
    for (int d = 0; d < shape.rank() && isSame; ++d) isSame = (*target)[static_cast<size_t>(d)] == shape[d];
    if (!isSame) return declined("the reshape does more than to put back what was summed");
    ops.insert(ops.begin(), inner);
    ops.push_back(root);
    if (std::optional<std::string> reason = site.outliveAny(ops, root)) return declined(*reason);
    OperatorDraft draft;
    draft.kind = reduction.kind;
    draft.attributes = reduction.attributes;
    setAttribute(draft.attributes, "keep_dims", true);
    draft.inputs = reduction.inputs;
    draft.results = {site.typeOf(outer.results[0])};
    return Outcome::made(site.fuse(std::move(ops), std::move(draft), {}));
}

/// The place of the largest number is that of the largest probability only while no two of those are equal.
Outcome largestOfSoftmax(Site& site, OperatorId root)
{
    const Operator& op = site.editor().op(root);
    const OperatorId inner = site.producer(op.inputs.at(0));
    if (!inner.valid() || op.inputs.size() < 2) return Outcome::nothing();
    const std::string_view kind = neutralKind(site.editor().op(inner).kind);
    if (kind != "softmax" && kind != "log_softmax") return Outcome::nothing();
    const auto declined = [&](std::string reason) {
        return Outcome::declined(upperCase(neutralKind(op.kind)) + " without " + upperCase(kind), std::move(reason));
    };
    const double beta = attributeFloat(site.editor().op(inner).attributes, "beta", 1.0);
    if (beta == 0) return declined("beta 0: all results are equal");
    if (beta < 0) return declined("beta " + std::to_string(beta) + " turns the order round");
    const auto axis = site.constants().integers(op.inputs[1]);
    const Shape& shape = site.typeOf(op.inputs[0]).shape;
    if (!axis || axis->size() != 1) return declined("the axis is no constant");
    if (axis->front() != -1 && (!shape.hasRank() || axis->front() != shape.rank() - 1))
        return declined(site.described(root) + " is over axis " + std::to_string(axis->front()) + ", not the last one");
    return declined("numbers that lie close together may come out of " + upperCase(kind) + " as equal ones");
}

/// x + (y − y) is x only where y is finite: upstream rewrites it, this does not.
Outcome differenceOfOne(Site& site, OperatorId root)
{
    for (const ValueId input : site.editor().op(root).inputs) {
        const OperatorId inner = site.producer(input);
        if (!inner.valid()) continue;
        const Operator& sub = site.editor().op(inner);
        if (neutralKind(sub.kind) == "sub" && sub.inputs.size() == 2 && sub.inputs[0] == sub.inputs[1])
            return Outcome::declined("identity of x", "not equal when y is infinite or NaN");
    }
    return Outcome::nothing();
}

} // namespace

std::span<const Rule> movementRules()
{
    static const std::vector<Rule> rules = {
        {"transposes", FusionEquality::exact, {}, "", nullptr, {"transpose"}, transposeTwice},
        {"trivial-transpose", FusionEquality::exact, {}, "", nullptr, {"transpose"}, trivialTranspose},
        {"reshapes", FusionEquality::exact, {}, "", nullptr, {"reshape"}, reshapeTwice},
        {"squeeze-as-reshape", FusionEquality::exact, {}, "", nullptr, {"squeeze", "expand_dims"}, asReshape, true},
        {"reshape-to-itself", FusionEquality::exact, {}, "", nullptr, {"reshape"}, reshapeToItself},
        {"apart-and-together", FusionEquality::exact, {}, "", nullptr, {"concatenation", "pack"}, apartAndTogether},
        {"transpose-into-product", FusionEquality::exact, {}, "", nullptr, {"batch_matmul"}, transposeIntoProduct},
        {"transposed-reshape", FusionEquality::exact, {}, "", nullptr, {"transpose"}, transposedReshape},
        {"keep-dimensions", FusionEquality::exact, {}, "", nullptr, {"reshape"}, keptDimensions},
        {"largest-of-softmax", FusionEquality::exact, {}, "", nullptr, {"arg_max", "arg_min"}, largestOfSoftmax},
        {"difference-of-one", FusionEquality::exact, {}, "", nullptr, {"add"}, differenceOfOne},
    };
    return rules;
}

} // namespace loopscope::fusing
