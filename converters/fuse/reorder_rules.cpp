// Rewrites that bring operators together which other rules then join: constants in a row, arithmetic behind a reshape.
#include "converters/fuse/affine.h"
#include "converters/fuse/pattern.h"

#include <algorithm>
#include <cmath>

namespace loopscope::fusing {

namespace {

/// (x + a) + b is x + (a + b), and the same of products.
/// A sum, difference or product of a value and a constant.
struct WithConstant {
    std::string kind; ///< "add", "mul"
    ValueId value;
    Numbers constant;
    bool isNegative = false; ///< the value is taken away
};

std::optional<WithConstant> withConstant(Site& site, const Operator& op)
{
    const std::string kind(neutralKind(op.kind));
    if (op.inputs.size() != 2 || activationOf(op) != "NONE" || (kind != "add" && kind != "sub" && kind != "mul")) return std::nullopt;
    const size_t side = site.constants().floats(op.inputs[1]) != nullptr ? 1 : 0;
    const Numbers* const numbers = site.constants().floats(op.inputs[side]);
    if (numbers == nullptr || site.constants().floats(op.inputs[1 - side]) != nullptr) return std::nullopt;
    WithConstant found = {kind == "mul" ? "mul" : "add", op.inputs[1 - side], *numbers, kind == "sub" && side == 0};
    if (kind == "sub" && side == 1)
        for (float& number : found.constant.values) number = -number;
    return found;
}

Outcome joinConstants(Site& site, OperatorId root)
{
    const Operator outer = site.editor().op(root);
    const std::optional<WithConstant> second = withConstant(site, outer);
    std::vector<OperatorId> ops;
    const OperatorId middle = second ? site.producer(second->value, &ops) : OperatorId();
    if (!middle.valid()) return Outcome::nothing();
    std::optional<WithConstant> first = withConstant(site, site.editor().op(middle));
    if (!first || first->kind != second->kind) return Outcome::nothing();
    ops.insert(ops.begin(), middle);
    ops.push_back(root);
    const bool isSum = first->kind == "add", isNegative = first->isNegative != second->isNegative;
    const std::string kind = isSum && isNegative ? "sub" : first->kind, to = upperCase(kind);
    if (std::optional<std::string> reason = site.outliveAny(ops, root)) return Outcome::declined(to, *reason);
    if (second->isNegative)
        for (float& number : first->constant.values) number = -number;
    const auto function = isSum ? +[](float a, float b) { return a + b; } : +[](float a, float b) { return a * b; };
    const std::unique_ptr<Numbers> both = combine(first->constant, second->constant, function);
    if (!both) return Outcome::declined(to, "the constants do not fit each other");
    if (!areFinite(both->values)) return Outcome::declined(to, "together the constants are not finite");
    OperatorDraft draft;
    draft.kind = {"tfl", kind};
    draft.inputs = {first->value, site.constant(site.nameOf(root) + "/joined", both->shape, std::span<const float>(both->values), root)};
    if (kind == "sub") std::swap(draft.inputs[0], draft.inputs[1]);
    draft.results = {site.editor().value(outer.results[0]).type};
    return Outcome::made(site.fuse(std::move(ops), std::move(draft), {}));
}

/// x · a / b is x · (a / b), and b / (x · a) is (b / a) / x.
Outcome joinQuotient(Site& site, OperatorId root)
{
    const Operator outer = site.editor().op(root);
    if (outer.inputs.size() != 2) return Outcome::nothing();
    const size_t side = site.constants().floats(outer.inputs[1]) != nullptr ? 1 : 0;
    const Numbers* const own = site.constants().floats(outer.inputs[side]);
    std::vector<OperatorId> ops;
    const OperatorId middle = site.producer(outer.inputs[1 - side], &ops);
    if (own == nullptr || !middle.valid() || neutralKind(site.editor().op(middle).kind) != "mul") return Outcome::nothing();
    const Operator inner = site.editor().op(middle);
    if (inner.inputs.size() != 2 || activationOf(inner) != "NONE") return Outcome::nothing();
    const size_t innerSide = site.constants().floats(inner.inputs[1]) != nullptr ? 1 : 0;
    const Numbers* const factor = site.constants().floats(inner.inputs[innerSide]);
    if (factor == nullptr || site.constants().floats(inner.inputs[1 - innerSide]) != nullptr) return Outcome::nothing();
    const std::string to = side == 1 ? "MUL" : "DIV";
    const Numbers& divisor = side == 1 ? *own : *factor;
    if (std::ranges::find(divisor.values, 0.0F) != divisor.values.end()) return Outcome::declined(to, "division by 0");
    ops.insert(ops.begin(), middle);
    ops.push_back(root);
    if (std::optional<std::string> reason = site.outliveAny(ops, root)) return Outcome::declined(to, *reason);
    const std::unique_ptr<Numbers> both = combine(side == 1 ? *factor : *own, divisor, [](float a, float b) { return a / b; });
    if (!both) return Outcome::declined(to, "the constants do not fit each other");
    if (std::ranges::any_of(both->values, [](float number) { return number != 0 && !std::isnormal(number); }))
        return Outcome::declined(to, "the quotient of the constants is no ordinary number");
    const ValueId joined = site.constant(site.nameOf(root) + "/joined", both->shape, std::span<const float>(both->values), root);
    const ValueId x = inner.inputs[1 - innerSide];
    OperatorDraft draft;
    draft.kind = {"tfl", side == 1 ? "mul" : "div"};
    if (activationOf(outer) != "NONE") draft.attributes = {{"act", Word{std::string(activationOf(outer))}}};
    draft.inputs = side == 1 ? std::vector<ValueId>{x, joined} : std::vector<ValueId>{joined, x};
    draft.results = {site.typeOf(outer.results[0])};
    return Outcome::made(site.fuse(std::move(ops), std::move(draft), {}));
}

/// What a reshape's constant says of the last dimension of its result; −1: nothing.
int64_t lastDimension(Site& site, const Operator& reshape, const Affine& affine)
{
    if (neutralKind(reshape.kind) == "squeeze") {
        const std::vector<int64_t> dims = attributeInts(reshape.attributes, "squeeze_dims");
        const bool takesLast = std::ranges::any_of(dims, [&](int64_t d) { return d == -1 || d == rankOf(affine) - 1; });
        return dims.empty() || takesLast ? -1 : affine.channels;
    }
    const auto target = reshape.inputs.size() > 1 ? site.constants().integers(reshape.inputs[1]) : std::nullopt;
    return target && !target->empty() ? target->back() : -1;
}

/// Whether a constant behind a reshape of a product has one number for each channel, which the reshape may have made several dimensions of.
bool isForChannels(Site& site, const Operator& reshape, const Affine& affine, const Numbers& constant)
{
    if (static_cast<int64_t>(constant.values.size()) != affine.channels) return false;
    if (constant.shape.rank() == 1) return lastDimension(site, reshape, affine) == affine.channels;
    const auto target = reshape.inputs.size() > 1 ? site.constants().integers(reshape.inputs[1]) : std::nullopt;
    if (!target || target->size() > 4) return false; // sums of more dimensions are no operator's of every runtime
    int64_t together = 1;                            // the last dimensions are the channels, and the constant has them all
    for (int d = 1; together < affine.channels && d <= static_cast<int>(target->size()); ++d) {
        const int64_t size = (*target)[target->size() - static_cast<size_t>(d)];
        if (size < 1 || d > constant.shape.rank() || constant.shape[constant.shape.rank() - d] != size) return false;
        together *= size;
    }
    return together == affine.channels;
}

/// A bias or an activation behind a reshape of a product goes before it, where the product can take it in.
Outcome beforeReshape(Site& site, OperatorId root)
{
    const Operator outer = site.editor().op(root);
    const std::string_view kind = neutralKind(outer.kind);
    const bool isUnary = kind == "relu" || kind == "relu6" || kind == "relu_n1_to_1";
    if (activationOf(outer) != "NONE" || outer.inputs.size() != (isUnary ? 1 : 2)) return Outcome::nothing();
    const size_t side = isUnary || site.constants().floats(outer.inputs[1]) != nullptr ? 0 : 1;
    std::vector<OperatorId> ops, behind;
    const OperatorId middle = site.producer(outer.inputs[side], &ops);
    if (!middle.valid()) return Outcome::nothing();
    const std::string_view between = neutralKind(site.editor().op(middle).kind);
    if (between != "reshape" && between != "squeeze") return Outcome::nothing();
    const Operator reshape = site.editor().op(middle);
    const OperatorId producer = site.producer(reshape.inputs[0], &behind);
    const std::optional<Affine> affine = readAffine(site, producer);
    if (!affine || !affine->refused.empty()) return Outcome::nothing();
    const std::string to = site.labelOf(producer) + (isUnary ? "+" + upperCase(kind) : "+bias");
    ops.insert(ops.begin(), middle);
    ops.push_back(root);
    if (!isUnary) {
        const Numbers* const constant = site.constants().floats(outer.inputs[1 - side]);
        if (constant == nullptr || (kind == "sub" && side == 1)) return Outcome::nothing();
        if (!constant->isOne() && !isForChannels(site, reshape, *affine, *constant))
            return Outcome::declined(to, "behind the reshape the constant is not one number for each channel");
    }
    if (std::optional<std::string> reason = site.outliveAny(ops, root)) return Outcome::declined(to, *reason);
    OperatorDraft moved;
    moved.kind = outer.kind;
    moved.name = site.nameOf(root) + "/moved";
    moved.attributes = outer.attributes;
    moved.inputs = outer.inputs;
    moved.inputs[side] = reshape.inputs[0];
    if (const Numbers* const constant = isUnary ? nullptr : site.constants().floats(outer.inputs[1 - side]);
        constant != nullptr && constant->shape.rank() > 1)
        moved.inputs[1 - side] = site.constant(site.nameOf(root) + "/row", Shape{static_cast<int64_t>(constant->values.size())},
                                               std::span<const float>(constant->values), middle);
    moved.results = {site.editor().value(reshape.inputs[0]).type};
    const OperatorId inner = site.editor().insert(std::move(moved), root, InsertPoint::before(middle));
    if (!isUnary && site.isTensorFlow()) // the constant may stand behind the reshape
        if (const OperatorId source = site.editor().value(site.editor().op(inner).inputs[1 - side]).producer; source.valid())
            site.editor().move(inner, InsertPoint::before(root));
    OperatorDraft draft;
    draft.kind = reshape.kind;
    draft.attributes = reshape.attributes;
    draft.inputs = reshape.inputs;
    draft.inputs[0] = site.editor().op(inner).results[0];
    draft.results = {site.editor().value(outer.results[0]).type};
    return Outcome::made(site.fuse(std::move(ops), std::move(draft), {}));
}

/// A product with rows of a unit matrix picks rows of the other one.
Outcome oneHotProduct(Site& site, OperatorId root)
{
    const Operator product = site.editor().op(root);
    std::vector<OperatorId> ops;
    const OperatorId middle = site.producer(product.inputs.at(0), &ops);
    if (!middle.valid() || neutralKind(site.editor().op(middle).kind) != "one_hot") return Outcome::nothing();
    const Operator oneHot = site.editor().op(middle);
    const std::optional<Affine> affine = readAffine(site, root);
    const auto declined = [](std::string reason) { return Outcome::declined("EMBEDDING_LOOKUP", std::move(reason)); };
    if (!affine) return Outcome::nothing();
    if (!affine->refused.empty()) return declined(affine->refused);
    if (attributeBool(product.attributes, "transpose_b", false)) return declined("the table is transposed");
    const Numbers* const on = site.constants().floats(oneHot.inputs.at(2));
    const Numbers* const off = site.constants().floats(oneHot.inputs.at(3));
    const auto depth = site.constants().integers(oneHot.inputs.at(1));
    if (on == nullptr || off == nullptr || on->values[0] != 1 || off->values[0] != 0) return declined("the one-hot values are not 1 and 0");
    if (attributeInt(oneHot.attributes, "axis", -1) != -1) return declined("the one-hot axis is not the last one");
    if (affine->hasBias && std::ranges::any_of(affine->bias, [](float number) { return number != 0; }))
        return declined("the product has a bias");
    if (affine->activation() != "NONE") return declined("the product has an activation: " + affine->activation());
    const Numbers* table = site.constants().floats(product.inputs[1]);
    Numbers turned; // TFLite's weights stand the other way round
    if (table != nullptr && product.kind.dialect != "tf") {
        static constexpr int kSwap[] = {1, 0};
        turned = transposed(*table, kSwap);
        table = &turned;
    }
    if (!depth || table == nullptr || depth->at(0) != table->shape[0]) return declined("the depth is not the number of rows");
    const TensorType& ids = site.editor().value(oneHot.inputs[0]).type;
    if (ids.dtype != DType::i32) return declined("ids are " + std::string(dtypeName(ids.dtype)) + ", the operator takes i32");
    if (!ids.shape.hasRank() || ids.shape.rank() != 1) return declined("ids are not known to be a vector");
    ops.insert(ops.begin(), middle);
    ops.push_back(root);
    if (std::optional<std::string> reason = site.outliveAny(ops, root)) return declined(*reason);
    OperatorDraft draft;
    draft.kind = {"tfl", "embedding_lookup"};
    const bool isTurned = table == &turned;
    draft.inputs = {oneHot.inputs[0],
                    isTurned ? site.constant(site.nameOf(root) + "/table", turned.shape, turned.values, root) : product.inputs[1]};
    draft.results = {site.editor().value(product.results[0]).type};
    FusionDomain domain{site.editor().value(site.behindIdentities(oneHot.inputs[0])).id, "<=", static_cast<double>(depth->at(0) - 1)};
    Outcome outcome = Outcome::made(site.fuse(std::move(ops), std::move(draft), {}));
    outcome.domain = std::move(domain);
    return outcome;
}

} // namespace

std::span<const Rule> reorderRules()
{
    static const std::vector<Rule> rules = {
        {"one-hot-product", FusionEquality::approximate, {}, "", nullptr, {"fully_connected"}, oneHotProduct},
        {"before-reshape", FusionEquality::exact, {}, "", nullptr, {"add", "sub", "bias_add", "relu", "relu6"}, beforeReshape},
        {"join-quotients", FusionEquality::realEqual, {}, "", nullptr, {"div"}, joinQuotient, true},
        {"join-constants", FusionEquality::realEqual, {}, "", nullptr, {"add", "sub", "mul"}, joinConstants, true},
    };
    return rules;
}

} // namespace loopscope::fusing
