// Choices and logic that are decided before the model runs.
#include "converters/fuse/pattern.h"

#include <algorithm>

namespace loopscope::fusing {

namespace {

/// Whether a constant is `true` or `false` throughout; none: neither.
std::optional<bool> truthOf(Site& site, ValueId value)
{
    const ValueId source = site.behindIdentities(value);
    if (!source.valid() || site.typeOf(source).dtype != DType::boolean) return std::nullopt;
    const auto values = site.constants().integers(source);
    if (!values || values->empty() || !std::ranges::all_of(*values, [&](int64_t v) { return v == values->front(); })) return std::nullopt;
    return values->front() != 0;
}

/// `value` stands for the result from now on; it has its shape, or `isOfOneShape` knows that.
Outcome instead(Site& site, OperatorId root, ValueId value, std::vector<OperatorId> ops, const std::string& to, bool isOfOneShape = false)
{
    const Shape shape = site.shapeOf(site.editor().op(root).results[0]);
    if (!isOfOneShape && (!shape.isStatic() || shape != site.shapeOf(value)))
        return Outcome::declined(to, "the shape is not known, or another one: the operand may be stretched");
    if (std::optional<std::string> reason = site.losesBy(root, value)) return Outcome::declined(to, *reason);
    ops.push_back(root);
    site.bypass(root, value, ops);
    return {root, to, "", "", {}};
}

/// The choice by a constant is one of both operands; by the opposite of a condition it is the choice the other way round.
Outcome decidedChoice(Site& site, OperatorId root)
{
    const Operator op = site.editor().op(root);
    if (op.inputs.size() != 3) return Outcome::nothing();
    if (const std::optional<bool> truth = truthOf(site, op.inputs[0]))
        return instead(site, root, op.inputs[*truth ? 1 : 2], {}, "its operand");
    std::vector<OperatorId> ops;
    const OperatorId inner = site.producer(op.inputs[0], &ops);
    if (!inner.valid() || neutralKind(site.editor().op(inner).kind) != "logical_not") return Outcome::nothing();
    ops.insert(ops.begin(), inner);
    ops.push_back(root);
    OperatorDraft draft;
    draft.kind = op.kind;
    draft.attributes = op.attributes;
    draft.inputs = {site.editor().op(inner).inputs.at(0), op.inputs[2], op.inputs[1]};
    draft.results = {site.typeOf(op.results[0])};
    return Outcome::made(site.fuse(std::move(ops), std::move(draft), {}));
}

Outcome decidedLogic(Site& site, OperatorId root)
{
    const Operator op = site.editor().op(root);
    const bool isAnd = neutralKind(op.kind) == "logical_and";
    if (op.inputs.size() != 2) return Outcome::nothing();
    for (const size_t side : {0, 1})
        if (const std::optional<bool> truth = truthOf(site, op.inputs[side])) {
            const bool decides = *truth != isAnd; // false of AND, true of OR
            return instead(site, root, op.inputs[decides ? side : 1 - side], {}, decides ? "its constant" : "its operand");
        }
    return Outcome::nothing();
}

/// A truth as a number, held against 0, is that truth or its opposite.
Outcome truthAsNumber(Site& site, OperatorId root)
{
    const Operator op = site.editor().op(root);
    if (op.inputs.size() != 2) return Outcome::nothing();
    const std::string_view kind = neutralKind(op.kind);
    std::vector<OperatorId> ops;
    const OperatorId inner = site.producer(op.inputs[0], &ops);
    if (!inner.valid() || neutralKind(site.editor().op(inner).kind) != "cast") return Outcome::nothing();
    const ValueId truth = site.editor().op(inner).inputs.at(0);
    if (site.typeOf(truth).dtype != DType::boolean) return Outcome::nothing();
    const Numbers* const floats = site.constants().floats(op.inputs[1]);
    const auto integers = floats == nullptr ? site.constants().integers(op.inputs[1]) : std::nullopt;
    const std::string to = kind == "equal" ? "LOGICAL_NOT" : "its operand";
    if (floats == nullptr && !integers) return Outcome::nothing();
    const bool isZero = floats != nullptr ? !floats->values.empty() && floats->isSplat() && floats->values[0] == 0
                                          : !integers->empty() && std::ranges::all_of(*integers, [](int64_t v) { return v == 0; });
    if (!isZero) return Outcome::declined(to, "the truth is held against another number than 0");
    const bool isScalar = site.shapeOf(op.inputs[1]).hasRank() && site.shapeOf(op.inputs[1]).rank() == 0;
    ops.insert(ops.begin(), inner);
    if (kind != "equal") return instead(site, root, truth, std::move(ops), to, isScalar);
    if (!isScalar && site.shapeOf(truth) != site.shapeOf(op.results[0])) return Outcome::declined(to, "the truth is stretched");
    ops.push_back(root);
    OperatorDraft draft;
    draft.kind = site.isTensorFlow() ? Kind{"tf", "LogicalNot"} : Kind{"tfl", "logical_not"};
    draft.inputs = {truth};
    draft.results = {site.typeOf(op.results[0])};
    return Outcome::made(site.fuse(std::move(ops), std::move(draft), {}));
}

} // namespace

std::span<const Rule> choiceRules()
{
    constexpr auto kExact = FusionEquality::exact;
    static const std::vector<Rule> rules = {
        {.name = "decided-choice", .equality = kExact, .roots = {"select"}, .apply = decidedChoice},
        {.name = "decided-logic", .equality = kExact, .roots = {"logical_and", "logical_or"}, .apply = decidedLogic},
        {.name = "truth-as-number", .equality = kExact, .roots = {"not_equal", "equal", "greater"}, .apply = truthAsNumber},
    };
    return rules;
}

} // namespace loopscope::fusing
