// What TFLite has no operator for is named, however it is written: attention, and the norms. Nothing is changed.
#include "converters/fuse/cells.h"
#include "converters/fuse/factors.h"
#include "converters/fuse/pattern.h"

#include <algorithm>

namespace loopscope::fusing {

namespace {

constexpr int kDeepestName = 12;

bool isOneOf(std::string_view kind, std::initializer_list<std::string_view> kinds) { return std::ranges::find(kinds, kind) != kinds.end(); }

// --- Attention --------------------------------------------------------------------------------------------------------------------------

class AttentionFinder {
public:
    explicit AttentionFinder(Site& site) : m_site(site), m_graph(site.editor().graph()) {}

    /// Whether the operator multiplies scores behind a softmax with values, along the dimension of the softmax.
    bool isAttention(OperatorId root)
    {
        const Operator& op = m_graph.op(root);
        for (size_t k = 0; k < 2 && k < op.inputs.size(); ++k) {
            const ValueId scores = behindMoves(op.inputs[k]);
            const Operator* const softmax = producerIn(m_graph, scores);
            if (softmax == nullptr || neutralKind(softmax->kind) != "softmax" || softmax->inputs.size() != 1) continue;
            if (!sumsLastOf(op, k) || !isComputed(op.inputs[1 - k])) continue;
            if (isOfProduct(softmax->inputs[0], 0)) return true;
        }
        return false;
    }

private:
    /// Behind what changes neither numbers nor, as far as one can see, which is which: dropout that does nothing, casts.
    ValueId behindMoves(ValueId value) const
    {
        for (int depth = 0; depth < kDeepestName; ++depth) {
            value = behindIdentities(m_graph, value);
            const Operator* const op = producerIn(m_graph, value);
            if (op == nullptr || !isOneOf(neutralKind(op->kind), {"cast", "reshape"})) break;
            value = op->inputs[0];
        }
        return value;
    }

    static bool sumsLastOf(const Operator& op, size_t k)
    {
        const std::string_view kind = neutralKind(op.kind);
        if (op.kind.name == "Einsum") {
            const std::vector<std::string> letters = einsumLetters(op);
            if (letters.empty() || letters[k].empty()) return false;
            const char last = letters[k].back();
            return letters[1 - k].find(last) != std::string::npos && letters[2].find(last) == std::string::npos;
        }
        const bool isDense = kind == "fully_connected", isOwn = op.kind.dialect == "tfl";
        const bool isTurned = k == 0 ? attributeBool(op.attributes, isDense ? "transpose_a" : "adj_x", false)
                                     : attributeBool(op.attributes, isDense ? "transpose_b" : "adj_y", isDense && isOwn);
        return isTurned == (k == 1);
    }

    bool isComputed(ValueId value) const
    {
        return value.valid() && m_site.constants().floats(value) == nullptr && m_graph.value(value).role != ValueRole::constant;
    }

    /// Scores: a product of two computed tensors, scaled, hidden in parts, moved.
    bool isOfProduct(ValueId value, int depth)
    {
        if (depth > kDeepestName) return false;
        const Operator* const op = producerIn(m_graph, value);
        if (op == nullptr) return false;
        const std::string_view kind = neutralKind(op->kind);
        if (isOneOf(kind, {"batch_matmul", "Einsum", "fully_connected"}))
            return op->inputs.size() >= 2 && isComputed(op->inputs[0]) && isComputed(op->inputs[1]);
        if (isOneOf(kind, {"cast", "reshape", "transpose", "tanh"})) return isOfProduct(op->inputs[0], depth + 1);
        if (isOneOf(kind, {"mul", "div", "sub"}))
            return std::ranges::any_of(op->inputs, [&](ValueId input) { return isOfProduct(input, depth + 1); });
        if (isOneOf(kind, {"add", "maximum"}))
            return std::ranges::any_of(op->inputs, [&](ValueId input) { return isOfProduct(input, depth + 1); });
        if (kind == "select" && op->inputs.size() == 3)
            return isOfProduct(op->inputs[1], depth + 1) || isOfProduct(op->inputs[2], depth + 1);
        return false;
    }

    Site& m_site;
    const Graph& m_graph;
};

/// Whether the graph is the body of a composite, which has its name already.
bool isBodyOfComposite(const Site& site, const Graph& graph)
{
    const GraphId own = site.model().findGraph(graph.id);
    return std::ranges::any_of(site.model().graphs, [&](const Graph& other) {
        return std::ranges::any_of(other.operators, [&](const Operator& op) {
            return op.kind.name == "stablehlo_composite" && attributeGraph(op.attributes, "call") == own;
        });
    });
}

Outcome nameAttention(Site& site, OperatorId root)
{
    if (!AttentionFinder(site).isAttention(root) || isBodyOfComposite(site, site.editor().graph())) return Outcome::nothing();
    return Outcome::labelled("SCALED_DOT_PRODUCT_ATTENTION");
}

// --- Norms ------------------------------------------------------------------------------------------------------------------------------

/// (x − mean(x)) / √(mean of squares + ε), or x / √(mean(x²) + ε), times and plus constants, in any form.
class NormFinder {
public:
    explicit NormFinder(Site& site) : m_site(site), m_graph(site.editor().graph()) {}

    /// Empty: it is no norm, or not the whole of one.
    std::string nameOf(OperatorId root)
    {
        if (goesOn(root)) return "";
        const std::string_view kind = neutralKind(m_graph.op(root).kind);
        if (kind == "add" || kind == "sub") return nameOfSum(root);
        return nameOfProduct(opened(root));
    }

private:
    bool isConstant(ValueId value) const { return m_site.constants().floats(value) != nullptr; }

    /// Whether a product with, or a sum of, a constant follows, and nothing else.
    bool goesOn(OperatorId root) const
    {
        const std::span<const ValueUse> uses = m_site.editor().uses(m_graph.op(root).results[0]);
        if (uses.size() != 1 || uses[0].kind != ValueUse::Kind::operand) return false;
        const Operator& next = m_graph.op(uses[0].op);
        const bool isKind = isOneOf(neutralKind(next.kind), {"mul", "div", "add", "sub"}) && next.inputs.size() == 2;
        if (!isKind) return neutralKind(next.kind) == "identity" && goesOn(uses[0].op);
        return isConstant(next.inputs[static_cast<size_t>(1 - uses[0].index)]);
    }

    /// Factors that are no constants, those that somebody else reads opened once more.
    std::vector<Factor> opened(OperatorId root) const { return withoutConstants(factorsOf(m_site, root, 6).factors); }

    std::vector<Factor> withoutConstants(const std::vector<Factor>& all) const
    {
        std::vector<Factor> found;
        for (const Factor& factor : all) {
            if (isConstant(factor.value)) continue;
            const OperatorId inner = m_site.producer(factor.value);
            const bool isProduct = inner.valid() && isProductKind(m_graph.op(inner)) && factor.halves == 2;
            const std::vector<Factor> parts = isProduct ? factorsOf(m_site, inner, 6).factors : std::vector<Factor>();
            const bool hasRoot = std::ranges::any_of(parts, [](const Factor& part) { return part.halves == -1; });
            if (!hasRoot) found.push_back(factor);
            else
                for (const Factor& part : parts)
                    if (!isConstant(part.value)) found.push_back(part);
        }
        return found;
    }

    std::string nameOfSum(OperatorId root)
    {
        const Operator& op = m_graph.op(root);
        for (const size_t k : {0, 1}) { // norm · γ + β
            if (!isConstant(op.inputs[k])) continue;
            const OperatorId inner = m_site.producer(op.inputs[1 - k]);
            if (inner.valid() && isProductKind(m_graph.op(inner))) return nameOfProduct(opened(inner));
        }
        const Terms sum = termsOf(m_site, root, 4); // x · γ / σ + (β − mean · γ / σ)
        std::vector<std::vector<Factor>> products;
        for (const Factors& term : sum.terms)
            if (std::vector<Factor> factors = withoutConstants(term.factors); !factors.empty()) products.push_back(std::move(factors));
        if (products.size() != 2 || products[0].size() != 2 || products[1].size() != 2) return "";
        for (const size_t k : {0, 1}) {
            const auto [x, root0] = apart(products[k]);
            const auto [mean, root1] = apart(products[1 - k]);
            if (!x.valid() || !mean.valid() || source(root0) != source(root1)) continue;
            if (isMeanOf(mean, x)) return nameOfCentred(x, mean, root0);
        }
        return "";
    }

    ValueId source(ValueId value) const { return m_site.behindIdentities(value); }

    /// A value and what it is divided by the root of.
    std::pair<ValueId, ValueId> apart(const std::vector<Factor>& factors) const
    {
        for (const size_t k : {0, 1})
            if (factors.size() == 2 && factors[k].halves == 2 && (factors[1 - k].halves == -1 || factors[1 - k].halves == -2))
                return {factors[k].value, factors[1 - k].value};
        return {};
    }

    std::string nameOfProduct(const std::vector<Factor>& factors)
    {
        const auto [value, root] = apart(factors);
        if (!value.valid()) return "";
        const Operator* const difference = producerIn(m_graph, value, "sub", 2);
        if (difference != nullptr && isMeanOf(difference->inputs[1], difference->inputs[0]))
            return nameOfCentred(difference->inputs[0], difference->inputs[1], root);
        const Operator* const mean = meanBehind(root);
        if (mean == nullptr || !isSquareOf(mean->inputs[0], value)) return "";
        return isLast(*mean) ? "RMS_NORM" : "";
    }

    /// A mean, or one behind what puts its dimensions back.
    const Operator* meanIn(ValueId value) const
    {
        for (int depth = 0; depth < 3; ++depth) {
            const Operator* const op = producerIn(m_graph, value);
            if (op == nullptr) return nullptr;
            const std::string_view kind = neutralKind(op->kind);
            if (kind == "mean" && op->inputs.size() == 2) return op;
            if (!isOneOf(kind, {"reshape", "expand_dims"})) return nullptr;
            value = op->inputs[0];
        }
        return nullptr;
    }

    bool isMeanOf(ValueId value, ValueId x) const
    {
        const Operator* const mean = meanIn(value);
        return mean != nullptr && source(mean->inputs[0]) == source(x);
    }

    /// The mean to which ε is added, or which is no smaller than it.
    const Operator* meanBehind(ValueId value) const
    {
        for (int depth = 0; depth < 4; ++depth) {
            if (const Operator* const mean = meanIn(value)) return mean;
            const Operator* const op = producerIn(m_graph, value);
            if (op == nullptr) return nullptr;
            const std::string_view kind = neutralKind(op->kind);
            if (kind == "sqrt") {
                value = op->inputs[0];
                continue;
            }
            if (!isOneOf(kind, {"add", "maximum"}) || op->inputs.size() != 2) return nullptr;
            const bool isLeft = isConstant(op->inputs[0]);
            if (!isLeft && !isConstant(op->inputs[1])) return nullptr;
            value = op->inputs[isLeft ? 1 : 0];
        }
        return nullptr;
    }

    bool isSquareOf(ValueId value, ValueId x) const
    {
        const OperatorId op = m_site.producer(value);
        if (!op.valid() || !isProductKind(m_graph.op(op))) return false;
        const Factors square = factorsOf(m_site, op, 2);
        return square.factors.size() == 1 && square.factors[0].halves == 4 && square.scale == 1 &&
               source(square.factors[0].value) == source(x);
    }

    /// Whether the value is the squared difference of x and its mean.
    bool isSquaredDifference(ValueId value, ValueId x, ValueId mean) const
    {
        const Operator* const op = producerIn(m_graph, value);
        if (op == nullptr) return false;
        const auto differs = [&](const Operator& of) {
            return of.inputs.size() == 2 && ((source(of.inputs[0]) == source(x) && isSameMean(of.inputs[1], mean, x)) ||
                                             (source(of.inputs[1]) == source(x) && isSameMean(of.inputs[0], mean, x)));
        };
        if (neutralKind(op->kind) == "squared_difference") return differs(*op);
        const OperatorId id = m_site.producer(value);
        if (!id.valid() || !isProductKind(*op)) return false;
        const Factors square = factorsOf(m_site, id, 2);
        if (square.factors.size() != 1 || square.factors[0].halves != 4) return false;
        const Operator* const difference = producerIn(m_graph, square.factors[0].value, "sub", 2);
        return difference != nullptr && differs(*difference);
    }

    bool isSameMean(ValueId value, ValueId mean, ValueId x) const { return source(value) == source(mean) || isMeanOf(value, x); }

    /// Names (x − mean) / √(the variance of x + ε).
    std::string nameOfCentred(ValueId x, ValueId mean, ValueId root) const
    {
        const Operator* variance = meanBehind(root);
        if (variance == nullptr || !isSquaredDifference(variance->inputs[0], x, mean)) {
            variance = meanIn(mean); // mean(x²) − mean²
            if (!isDifferenceOfSquares(root, x, mean)) return "";
        }
        const Operator* const first = meanIn(mean);
        if (isLast(*first) && isLast(*variance)) return "LAYER_NORM";
        const auto axes = m_site.constants().integers(first->inputs[1]);
        const Shape& shape = m_site.typeOf(first->inputs[0]).shape;
        if (!axes || axes->empty()) return "";
        const auto isAxis = [&](int64_t axis, int64_t wanted) {
            return axis == wanted || (shape.hasRank() && axis + shape.rank() == wanted);
        };
        const bool isOfPicture = axes->size() == 2 && isAxis((*axes)[0], 1) && isAxis((*axes)[1], 2);
        if (isOfPicture && (!shape.hasRank() || shape.rank() == 4)) return "INSTANCE_NORM";
        return shape.hasRank() && shape.rank() == 5 && axes->size() > 1 ? "GROUP_NORM" : "";
    }

    bool isDifferenceOfSquares(ValueId root, ValueId x, ValueId mean) const
    {
        ValueId variance = root;
        for (int depth = 0; depth < 3; ++depth) {
            const Operator* const op = producerIn(m_graph, variance);
            if (op == nullptr || !isOneOf(neutralKind(op->kind), {"add", "maximum"}) || op->inputs.size() != 2) break;
            const bool isLeft = isConstant(op->inputs[0]);
            if (!isLeft && !isConstant(op->inputs[1])) break;
            variance = op->inputs[isLeft ? 1 : 0];
        }
        const Operator* const difference = producerIn(m_graph, variance, "sub", 2);
        if (difference == nullptr) return false;
        const Operator* const squares = meanIn(difference->inputs[0]);
        return squares != nullptr && isSquareOf(squares->inputs[0], x) && isSquareOf(difference->inputs[1], mean);
    }

    /// Over the last dimension, or the last few.
    bool isLast(const Operator& reduction) const
    {
        const auto axes = m_site.constants().integers(reduction.inputs[1]);
        const Shape& shape = m_site.typeOf(m_site.behindIdentities(reduction.inputs[0])).shape;
        if (!axes || axes->empty()) return false;
        std::vector<int64_t> fromEnd;
        for (const int64_t axis : *axes) {
            if (axis >= 0 && !shape.hasRank()) return false;
            fromEnd.push_back(axis < 0 ? axis : axis - shape.rank());
        }
        std::ranges::sort(fromEnd);
        for (size_t k = 0; k < fromEnd.size(); ++k)
            if (fromEnd[k] != static_cast<int64_t>(k) - static_cast<int64_t>(fromEnd.size())) return false;
        return !shape.hasRank() || static_cast<int>(fromEnd.size()) < shape.rank();
    }

    Site& m_site;
    const Graph& m_graph;
};

Outcome nameNorm(Site& site, OperatorId root)
{
    std::string name = NormFinder(site).nameOf(root);
    return name.empty() || isBodyOfComposite(site, site.editor().graph()) ? Outcome::nothing() : Outcome::labelled(std::move(name));
}

} // namespace

std::span<const Rule> nameRules()
{
    static const std::vector<Rule> rules = {
        {.name = "attention", .roots = {"batch_matmul", "Einsum", "fully_connected"}, .apply = nameAttention, .isLate = true},
        {.name = "norm", .roots = {"mul", "div", "add", "sub"}, .apply = nameNorm, .isLate = true},
    };
    return rules;
}

} // namespace loopscope::fusing
