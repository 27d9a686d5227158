// What works element by element goes before what only moves elements: then it stands beside the operator that it can become part of, and
// movements that it kept apart cancel.
#include "converters/fuse/affine.h"
#include "converters/fuse/pattern.h"

#include <algorithm>
#include <array>

namespace loopscope::fusing {

namespace {

constexpr std::array kUnary = {"ceil",  "exp",  "floor", "neg",    "relu",     "relu6", "relu_n1_to_1",
                               "round", "tanh", "sqrt",  "square", "logistic", "abs"};
constexpr std::array kMovements = {"depth_to_space", "space_to_depth", "expand_dims", "squeeze", "reshape", "transpose"};

bool isOneOf(std::span<const char* const> names, std::string_view kind) { return std::ranges::find(names, kind) != names.end(); }

/// `outer` and the movement that gives its operand `side` change places.
Outcome swapWithMovement(Site& site, const Operator& outer, size_t side, std::vector<OperatorId> ops, ValueId constant)
{
    GraphEditor& editor = site.editor();
    const OperatorId root = ops.back();
    const Operator movement = editor.op(ops.front());
    OperatorDraft first;
    first.kind = outer.kind;
    first.name = site.nameOf(root) + "/moved";
    first.attributes = outer.attributes;
    first.inputs = outer.inputs;
    first.inputs[side] = movement.inputs[0];
    if (constant.valid()) first.inputs[1 - side] = constant;
    first.results = {site.typeOf(movement.inputs[0])};
    OperatorDraft second;
    second.kind = movement.kind;
    second.attributes = movement.attributes;
    second.inputs = movement.inputs;
    second.inputs[0] = editor.op(editor.insert(std::move(first), root, InsertPoint::before(root))).results[0];
    second.results = {site.typeOf(outer.results[0])};
    return Outcome::made(site.fuse(std::move(ops), std::move(second), {}));
}

/// The operator that moves the elements of an operand, and what passes its result on; empty: another one.
std::vector<OperatorId> movementBefore(const Site& site, ValueId operand)
{
    std::vector<OperatorId> ops;
    const OperatorId inner = site.producer(operand, &ops);
    if (!inner.valid() || site.editor().op(inner).inputs.empty() || !isOneOf(kMovements, neutralKind(site.editor().op(inner).kind)))
        return {};
    ops.insert(ops.begin(), inner);
    return ops;
}

/// Whether both hold the same kind of numbers: quantized ones of one scale are moved as they are.
bool hasOneType(const TensorType& a, const TensorType& b) { return a.dtype == b.dtype && sameQuantization(a.quantization, b.quantization); }

Outcome elementBeforeMovement(Site& site, OperatorId root)
{
    const Operator outer = site.editor().op(root);
    const bool isUnary = isOneOf(kUnary, neutralKind(outer.kind));
    if (outer.inputs.size() != (isUnary ? 1 : 2) || activationOf(outer) != "NONE") return Outcome::nothing();
    size_t side = 0;
    if (!isUnary) {
        side = site.constants().floats(outer.inputs[0]) != nullptr ? 1 : 0;
        const Numbers* const number = site.constants().floats(outer.inputs[1 - side]);
        if (number == nullptr || !number->isOne() || number->shape.rank() > 0) return Outcome::nothing();
    }
    std::vector<OperatorId> ops = movementBefore(site, outer.inputs[side]);
    if (ops.empty()) return Outcome::nothing();
    const Operator& movement = site.editor().op(ops.front());
    const std::string name = upperCase(neutralKind(outer.kind)) + " before " + upperCase(neutralKind(movement.kind));
    const auto declined = [&](std::string reason) { return Outcome::declined(name, std::move(reason)); };
    const TensorType &from = site.typeOf(movement.inputs[0]), &to = site.typeOf(outer.results[0]);
    if (!hasOneType(from, site.typeOf(outer.inputs[side])) || !hasOneType(from, to))
        return declined("numbers have one scale before and another behind");
    ops.push_back(root);
    if (std::optional<std::string> reason = site.outliveAny(ops, root)) return declined(*reason);
    Outcome outcome = swapWithMovement(site, outer, side, std::move(ops), {});
    outcome.to = name;
    return outcome;
}

/// A constant for each channel, behind a transpose of a convolution: it goes before it, transposed back.
Outcome constantBeforeTranspose(Site& site, OperatorId root)
{
    const Operator outer = site.editor().op(root);
    if (outer.inputs.size() != 2 || activationOf(outer) != "NONE") return Outcome::nothing();
    const size_t side = site.constants().floats(outer.inputs[0]) != nullptr ? 1 : 0;
    const Numbers* const constant = site.constants().floats(outer.inputs[1 - side]);
    std::vector<OperatorId> ops = movementBefore(site, outer.inputs[side]);
    if (constant == nullptr || constant->shape.rank() == 0 || ops.empty()) return Outcome::nothing();
    const Operator& transpose = site.editor().op(ops.front());
    if (neutralKind(transpose.kind) != "transpose") return Outcome::nothing();
    const std::optional<Affine> affine = readAffine(site, site.producer(transpose.inputs[0]));
    if (!affine || !affine->refused.empty()) return Outcome::nothing();
    const std::string to = upperCase(neutralKind(outer.kind)) + " before TRANSPOSE";
    const auto permutation = site.constants().integers(transpose.inputs.at(1));
    if (!permutation) return Outcome::declined(to, "the permutation is no constant");
    const auto rank = static_cast<int>(permutation->size());
    if (constant->shape.rank() > rank) return Outcome::declined(to, "the constant has more dimensions than what it meets");
    std::vector<int64_t> dims(static_cast<size_t>(rank), 1);
    int channels = -1;
    for (int d = 0; d < rank; ++d) {
        if (const int own = d - (rank - constant->shape.rank()); own >= 0) dims[static_cast<size_t>(d)] = constant->shape[own];
        if ((*permutation)[static_cast<size_t>(d)] == rank - 1) channels = d;
    }
    for (int d = 0; d < rank; ++d)
        if (dims[static_cast<size_t>(d)] != 1 && (d != channels || dims[static_cast<size_t>(d)] != affine->channels))
            return Outcome::declined(to, "the constant is not one number for each channel");
    ops.push_back(root);
    if (std::optional<std::string> reason = site.outliveAny(ops, root)) return Outcome::declined(to, *reason);
    const std::vector<float> values = constant->values; // one long dimension: their order stays
    const ValueId row = site.constant(site.nameOf(root) + "/channels", Shape{static_cast<int64_t>(values.size())},
                                      std::span<const float>(values), ops.front());
    Outcome outcome = swapWithMovement(site, outer, side, std::move(ops), row);
    outcome.to = to;
    return outcome;
}

} // namespace

std::span<const Rule> movedElementRules()
{
    static const std::vector<Rule> rules = {
        {.name = "element-before-movement",
         .equality = FusionEquality::exact,
         .roots = {"ceil", "exp", "floor", "neg", "relu", "relu6", "relu_n1_to_1", "round", "tanh", "sqrt", "square", "logistic", "abs",
                   "add", "sub", "mul", "div", "maximum", "minimum"},
         .apply = elementBeforeMovement},
        {.name = "constant-before-transpose",
         .equality = FusionEquality::exact,
         .roots = {"add", "sub", "mul", "div", "bias_add"},
         .apply = constantBeforeTranspose},
    };
    return rules;
}

} // namespace loopscope::fusing
