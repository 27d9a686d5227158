// Operators that move data: what cancels, and what is the same as something cheaper.
#include "converters/fuse/pattern.h"

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
    const Shape shape = site.editor().value(site.behindIdentities(op.inputs[0])).type.dynamicShape();
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
        {"difference-of-one", FusionEquality::exact, {}, "", nullptr, {"add"}, differenceOfOne},
    };
    return rules;
}

} // namespace loopscope::fusing
