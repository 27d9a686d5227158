// Attention that is written out: softmax(q · kᵀ · scale + mask) · v. TFLite has no operator for it. Runtimes of vendors take a composite
// by its name, whose operands are [batch, steps, heads, depth]; what was matched becomes its body, which all others run.
#include "converters/fuse/cells.h"
#include "converters/fuse/pattern.h"
#include "converters/fuse/region.h"

#include <algorithm>
#include <array>

namespace loopscope::fusing {

namespace {

constexpr const char *kAttention = "odml.scaled_dot_product_attention", *kComposite = "composite:odml.scaled_dot_product_attention";
constexpr std::array<int64_t, 4> kHeadsFirst = {0, 2, 1, 3}, ///< [batch, steps, heads, depth] to [batch, heads, steps, depth], and back
    kDepthThird = {0, 2, 3, 1};                              ///< the same, and the last two the other way round

bool isAmong(const std::vector<OperatorId>& ops, OperatorId op) { return std::ranges::find(ops, op) != ops.end(); }

class AttentionReader {
public:
    AttentionReader(Site& site, OperatorId product) : m_site(site), m_graph(site.editor().graph()), m_product(product) {}

    Outcome read()
    {
        const Operator& outer = m_graph.op(m_product);
        if (m_site.isTensorFlow() || m_site.isForCircle() || outer.inputs.size() != 2) return Outcome::nothing();
        const Operator* const softmax = producerIn(m_graph, outer.inputs[0], "softmax", 1);
        if (softmax == nullptr || !readScores(softmax->inputs[0]) || isBody()) return Outcome::nothing();
        if (attributeFloat(softmax->attributes, "beta", 1.0) != 1.0) refuse("the softmax has a beta of its own");
        take(outer.inputs[0]);
        m_value = bySteps(outer.inputs[1], attributeBool(outer.attributes, "adj_y", false), "values");
        m_ops.push_back(m_product);
        findResult();
        for (const ValueId value : {m_query, m_key, m_value})
            if (m_reason.empty() && m_site.typeOf(value).dtype != DType::f32) refuse("'" + m_graph.value(value).id + "' is not f32");
        if (m_reason.empty())
            if (std::optional<std::string> reason = m_site.outliveAny(m_ops, m_root)) refuse(*reason);
        return m_reason.empty() ? write() : Outcome::declined(kComposite, m_reason);
    }

private:
    void refuse(std::string reason)
    {
        if (m_reason.empty()) m_reason = std::move(reason);
    }

    void take(ValueId value)
    {
        const OperatorId op = m_graph.value(value).producer;
        if (std::ranges::find(m_ops, op) == m_ops.end()) m_ops.push_back(op);
    }

    /// A product with, or a quotient by, one number: the other operand and the factor.
    std::optional<std::pair<ValueId, double>> scaled(ValueId value) const
    {
        const Operator *const mul = producerIn(m_graph, value, "mul", 2), *const div = producerIn(m_graph, value, "div", 2);
        for (const size_t k : {1, 0}) {
            const Operator* const op = mul != nullptr ? mul : div;
            if (op == nullptr || (k == 0 && mul == nullptr)) continue;
            const Numbers* const number = m_site.constants().floats(op->inputs[k]);
            if (number == nullptr || number->values.empty() || !number->isSplat()) continue;
            return std::pair(op->inputs[1 - k],
                             mul != nullptr ? static_cast<double>(number->values[0]) : 1.0 / static_cast<double>(number->values[0]));
        }
        return std::nullopt;
    }

    /// q · kᵀ · scale, in any of these orders; false: there is no such product.
    bool readProduct(ValueId value)
    {
        if (const auto outside = scaled(value)) {
            m_scale *= outside->second;
            take(value);
            value = outside->first;
        }
        const Operator* const product = producerIn(m_graph, value, "batch_matmul", 2);
        if (product == nullptr || attributeBool(product->attributes, "adj_x", false)) return false;
        take(value);
        std::array<ValueId, 2> operands = {product->inputs[0], product->inputs[1]};
        for (ValueId& operand : operands)
            if (const auto inside = scaled(operand)) {
                m_scale *= inside->second;
                take(operand);
                operand = inside->first;
            }
        m_query = bySteps(operands[0], false, "queries");
        m_key = bySteps(operands[1], !attributeBool(product->attributes, "adj_y", false), "keys");
        return true;
    }

    /// The same, and a mask added to it.
    bool readScores(ValueId value)
    {
        if (const Operator* const choice = producerIn(m_graph, value, "select", 3)) {
            const bool isScore =
                std::ranges::any_of(choice->inputs, [&](ValueId of) { return AttentionReader(m_site, m_product).readProduct(of); });
            refuse("the mask chooses between scores and a constant, the composite's is added");
            return isScore;
        }
        const Operator* const sum = producerIn(m_graph, value, "add", 2);
        if (sum == nullptr) return readProduct(value);
        for (const size_t k : {0, 1}) {
            AttentionReader side(m_site, m_product);
            if (!side.readProduct(sum->inputs[k])) continue;
            m_mask = sum->inputs[1 - k];
            readProduct(sum->inputs[k]);
            take(value);
            const Shape& shape = m_site.typeOf(m_mask).shape;
            if (!shape.hasRank() || shape.rank() != 4) refuse("the mask is not [batch, heads, steps, steps]");
            return true;
        }
        return false;
    }

    /// What a transpose brings from [batch, steps, heads, depth] to heads first.
    ValueId bySteps(ValueId value, bool isTurned, const char* what)
    {
        const Operator* const transpose = producerIn(m_graph, value, "transpose", 2);
        const auto order = transpose != nullptr ? integersIn(m_graph, transpose->inputs[1]) : std::nullopt;
        if (!order || !std::ranges::equal(*order, isTurned ? kDepthThird : kHeadsFirst)) {
            refuse(std::string("the ") + what +
                   " do not come from [batch, steps, heads, depth] by a transpose, as the composite takes them");
            return value;
        }
        take(value);
        return transpose->inputs[0];
    }

    void findResult()
    {
        const std::span<const ValueUse> uses = m_site.editor().uses(m_graph.op(m_product).results[0]);
        m_root = uses.size() == 1 && uses[0].kind == ValueUse::Kind::operand ? uses[0].op : OperatorId();
        const Operator* const back = m_root.valid() ? &m_graph.op(m_root) : nullptr;
        const auto order = back != nullptr && cellKind(*back) == "transpose" ? integersIn(m_graph, back->inputs[1]) : std::nullopt;
        if (order && std::ranges::equal(*order, kHeadsFirst)) m_ops.push_back(m_root);
        else refuse("the result does not go back to [batch, steps, heads, depth] by a transpose, as the composite gives it");
    }

    /// Whether the graph is what such a composite runs.
    bool isBody() const
    {
        const GraphId own = m_site.model().findGraph(m_graph.id);
        return std::ranges::any_of(m_site.model().graphs, [&](const Graph& graph) {
            return std::ranges::any_of(graph.operators, [&](const Operator& op) {
                return op.kind.name == "stablehlo_composite" && attributeGraph(op.attributes, "call") == own &&
                       attributeString(op.attributes, "name", "") == kAttention;
            });
        });
    }

    Outcome write()
    {
        std::vector<OperatorId> inOrder, ofConstants; // a scale may be kept in halves: what widens it is part of the body
        for (const OperatorId op : m_ops)
            for (const ValueId input : m_graph.op(op).inputs) m_site.constants().collectProducers(input, ofConstants);
        for (const OperatorId op : m_site.editor().order())
            if (isAmong(m_ops, op) || isAmong(ofConstants, op)) inOrder.push_back(op);
        std::vector<ValueId> inputs = {m_query};
        for (const ValueId input : {m_key, m_value, m_mask})
            if (input.valid()) inputs.push_back(input);
        for (size_t k = 0; k < inputs.size(); ++k)
            if (std::ranges::count(inputs, inputs[k]) > 1) return Outcome::declined(kComposite, "two operands are one tensor");
        const std::array result = {m_graph.op(m_root).results[0]};
        Graph body = cutOut(m_graph, inOrder, inputs, result);
        body.id = "attention";
        body.outputs[0].name.clear();
        const TensorType type = m_site.typeOf(result[0]);
        OperatorDraft draft;
        draft.kind = {"tfl", "stablehlo_composite"};
        draft.attributes = {{"call", GraphRef{m_site.addGraph(std::move(body)), nullptr}},
                            {"composite_attributes", AttributeMap{{"scale", Attribute(m_scale)}}},
                            {"name", std::string(kAttention)}};
        draft.inputs = std::move(inputs);
        draft.results = {type};
        std::erase_if(inOrder, [&](OperatorId op) { return !isAmong(m_ops, op); });
        Outcome outcome = Outcome::made(m_site.fuse(std::move(inOrder), std::move(draft), {}));
        outcome.to = kComposite;
        return outcome;
    }

    Site& m_site;
    const Graph& m_graph; ///< until a graph is added
    OperatorId m_product, m_root;
    ValueId m_query, m_key, m_value, m_mask;
    double m_scale = 1;
    std::vector<OperatorId> m_ops;
    std::string m_reason;
};

Outcome attention(Site& site, OperatorId root) { return AttentionReader(site, root).read(); }

} // namespace

std::span<const Rule> attentionRules()
{
    static const std::vector<Rule> rules = {
        {.name = "attention-composite", .equality = FusionEquality::exact, .roots = {"batch_matmul"}, .apply = attention, .isLate = true},
    };
    return rules;
}

} // namespace loopscope::fusing
