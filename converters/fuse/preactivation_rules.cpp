// A batch norm with its activation in front of convolutions, as residual networks of the second kind have it: relu(x · a + b) is
// relu(x + b / a) · a where a is positive, and the factors go on through poolings into the weights of all that reads them.
#include "converters/fuse/affine.h"
#include "converters/fuse/pattern.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace loopscope::fusing {

namespace {

/// Works on each channel by itself, and a positive factor for each passes through it.
constexpr std::array kTransparent = {"max_pool_2d", "average_pool_2d", "pad", "mean"};
constexpr int kDeepestTransparent = 4;

class FactorMover {
public:
    FactorMover(Site& site, const std::vector<float>& factors) : m_site(site), m_factors(factors) {}

    /// Why a reader of the value does not take the factors in; empty: all do.
    std::string check(ValueId value, int depth = 0)
    {
        for (const ValueUse& use : m_site.editor().uses(value)) {
            if (use.kind != ValueUse::Kind::operand) return "'" + m_site.editor().value(value).id + "' is an output";
            if (std::string reason = checkReader(use.op, value, depth); !reason.empty()) return reason;
        }
        return m_site.editor().uses(value).empty() ? "nothing reads it" : "";
    }

    /// The readers of `old` read `now` instead, which is `old` without the factors.
    void move(ValueId old, ValueId now)
    {
        std::vector<OperatorId> readers;
        for (const ValueUse& use : m_site.editor().uses(old))
            if (std::ranges::find(readers, use.op) == readers.end()) readers.push_back(use.op);
        for (const OperatorId reader : readers) moveInto(reader, now);
    }

    const std::vector<OperatorId>& replaced() const { return m_replaced; }

private:
    std::string checkReader(OperatorId reader, ValueId value, int depth)
    {
        const Operator& op = m_site.editor().op(reader);
        if (m_site.isAskedFor(reader) || !op.controlInputs.empty()) return m_site.described(reader) + " is asked for, or waits";
        const std::string_view kind = neutralKind(op.kind);
        if (depth < kDeepestTransparent && std::ranges::find(kTransparent, kind) != kTransparent.end()) {
            if (op.inputs[0] != value || activationOf(op) != "NONE") return m_site.described(reader) + " has an activation";
            if (kind == "mean" && !leavesChannels(op)) return m_site.described(reader) + " is over channels";
            return check(op.results[0], depth + 1);
        }
        const std::optional<Affine> affine = readAffine(m_site, reader);
        if (!affine || affine->kind == "transpose_conv" || affine->kind == "conv_3d")
            return m_site.described(reader) + " reads it, which takes no factors in";
        if (!affine->refused.empty()) return m_site.described(reader) + ": " + affine->refused;
        if (affine->weights.values.empty() || affine->isFakeQuantized)
            return "the filter of " + m_site.described(reader) + " is no constant";
        if (affine->inputChannels() != static_cast<int64_t>(m_factors.size()))
            return m_site.described(reader) + " has other inputs than channels";
        const bool isOnlyOperand = affine->inputs[0] == value && std::ranges::count(op.inputs, value) == 1;
        return isOnlyOperand ? "" : m_site.described(reader) + " reads it twice";
    }

    bool leavesChannels(const Operator& op) const
    {
        const auto axes = op.inputs.size() == 2 ? m_site.constants().integers(op.inputs[1]) : std::nullopt;
        const Shape shape = m_site.shapeOf(op.inputs[0]);
        return axes && shape.hasRank() && std::ranges::none_of(*axes, [&](int64_t axis) { return axis == -1 || axis == shape.rank() - 1; });
    }

    void moveInto(OperatorId reader, ValueId now)
    {
        const Operator op = m_site.editor().op(reader);
        m_replaced.push_back(reader);
        OperatorDraft draft;
        std::optional<Affine> affine = readAffine(m_site, reader);
        if (affine) {
            affine->scaleInputs(m_factors);
            affine->inputs[0] = now;
            draft = affineDraft(m_site, *affine, m_site.nameOf(reader), reader);
            draft.results = {m_site.typeOf(op.results[0])};
            const OperatorId only[] = {reader};
            const ValueId result[] = {op.results[0]};
            const std::set<std::string> parts = m_site.partsOf(reader);
            const OperatorId made = m_site.editor().replace(only, std::move(draft), result);
            m_site.addParts(made, parts);
            m_site.addParts(made, {"weights_scaled"});
            return;
        }
        draft.kind = op.kind;
        draft.name = m_site.nameOf(reader) + "/unscaled";
        draft.attributes = op.attributes;
        draft.inputs = op.inputs;
        draft.inputs[0] = now;
        draft.results = {m_site.typeOf(op.results[0])};
        const OperatorId made = m_site.editor().insert(std::move(draft), reader, InsertPoint::before(reader));
        move(op.results[0], m_site.editor().op(made).results[0]);
    }

    Site& m_site;
    const std::vector<float>& m_factors;
    std::vector<OperatorId> m_replaced;
};

Outcome normBeforeProducts(Site& site, OperatorId root)
{
    const Operator sum = site.editor().op(root);
    if (!site.isForCircle() || site.isTensorFlow() || activationOf(sum) != "RELU" || sum.inputs.size() != 2) return Outcome::nothing();
    const size_t side = site.constants().floats(sum.inputs[1]) != nullptr ? 1 : 0;
    const Numbers* const shift = site.constants().floats(sum.inputs[side]);
    const OperatorId inner = site.producer(sum.inputs[1 - side]);
    if (shift == nullptr || !inner.valid() || neutralKind(site.editor().op(inner).kind) != "mul") return Outcome::nothing();
    const Operator product = site.editor().op(inner);
    const size_t innerSide = product.inputs.size() == 2 && site.constants().floats(product.inputs[1]) != nullptr ? 1 : 0;
    const Numbers* const scale = product.inputs.size() == 2 ? site.constants().floats(product.inputs[innerSide]) : nullptr;
    if (scale == nullptr || activationOf(product) != "NONE") return Outcome::nothing();
    const ValueId x = product.inputs[1 - innerSide];
    const Shape shape = site.shapeOf(x);
    const auto declined = [](std::string reason) { return Outcome::declined("ADD+RELU", std::move(reason)); };
    if (!shape.hasRank() || shape.rank() == 0 || shape.back() < 1 || site.shapeOf(sum.results[0]) != shape)
        return declined("the operand is stretched to the shape of the constants, or its channels are not known");
    const auto factors = perChannel(*scale, shape.back(), shape.rank()), addends = perChannel(*shift, shape.back(), shape.rank());
    if (!factors || !addends) return declined("the constants are not one number for each channel");
    std::vector<float> moved = *addends;
    for (size_t c = 0; c < moved.size(); ++c) {
        if (!((*factors)[c] > 0)) return declined("a factor is not positive: the activation would clamp other numbers");
        moved[c] /= (*factors)[c];
        if (moved[c] != 0 && !std::isnormal(moved[c])) return declined("the quotient of the constants is no ordinary number");
    }
    if (std::optional<std::string> reason = site.outlives(inner, std::array{inner, root})) return declined(*reason);
    FactorMover mover(site, *factors);
    if (std::string reason = mover.check(sum.results[0]); !reason.empty()) return declined(std::move(reason));
    std::vector<std::string> from = {site.nameOf(inner), site.nameOf(root)};
    OperatorDraft draft;
    draft.kind = {"tfl", "add"};
    draft.name = site.nameOf(root) + "/unscaled";
    draft.attributes = {{"act", Word{"RELU"}}};
    draft.inputs = {x, site.constant(site.nameOf(root) + "/shift", Shape{shape.back()}, std::span<const float>(moved), root)};
    draft.results = {site.typeOf(sum.results[0])};
    const OperatorId both[] = {inner, root};
    const OperatorId made = site.editor().insert(std::move(draft), Sources(std::span<const OperatorId>(both)), InsertPoint::before(root));
    mover.move(sum.results[0], site.editor().op(made).results[0]);
    std::vector<OperatorId> gone = {inner, root};
    for (const OperatorId op : mover.replaced())
        if (site.editor().isAlive(op)) gone.push_back(op);
    site.editor().eraseUnused(gone);
    site.setFrom(std::move(from));
    site.addParts(made, {});
    return Outcome::made(made);
}

} // namespace

std::span<const Rule> preactivationRules()
{
    static const std::vector<Rule> rules = {
        {.name = "norm-before-products", // approximate: products that cancel show roundings of other sizes
         .equality = FusionEquality::approximate,
         .roots = {"add"},
         .apply = normBeforeProducts,
         .isLate = true,
         .isOfCircle = true},
    };
    return rules;
}

} // namespace loopscope::fusing
