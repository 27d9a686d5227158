// An LSTM over a sequence as its cells, one behind the other, so that one can step into it.
#include "converters/fuse/lstm.h"
#include "converters/fuse/pattern.h"

#include <algorithm>

namespace loopscope::fusing {

namespace {

constexpr int64_t kMostSteps = 1024;
constexpr size_t kGates = 4, kInput = 1, kRecurrent = 5, kBias = 12, kOutputState = 18, kCellState = 19;

class LstmWriter {
public:
    LstmWriter(Site& site, OperatorId root) : m_site(site), m_root(root), m_op(site.editor().op(root)) {}

    Outcome write()
    {
        if (m_op.kind.dialect != "tfl" || m_op.inputs.size() <= kCellState) return Outcome::nothing();
        if (std::string reason = read(); !reason.empty()) return Outcome::declined("its cells", std::move(reason));
        m_time = attributeBool(m_op.attributes, "time_major", false) ? 0 : 1;
        const std::vector<ValueId> steps = apart();
        makeConstants();
        ValueId h = m_op.inputs[kOutputState], c = m_op.inputs[kCellState];
        if (!isStateless()) {
            h = zeros("h0");
            c = zeros("c0");
        }
        OperatorDraft pack;
        pack.kind = {"tfl", "pack"};
        pack.attributes = {{"axis", int64_t{m_time}}, {"values_count", static_cast<int64_t>(steps.size())}};
        for (size_t t = 0; t < steps.size(); ++t) {
            cell(steps[t], h, c, "/" + std::to_string(t) + "/");
            pack.inputs.push_back(h);
        }
        pack.results = {m_site.typeOf(m_op.results[0])};
        Outcome outcome = Outcome::made(m_site.fuse({m_root}, std::move(pack), {}));
        m_site.setParts(outcome.fused, {});
        outcome.to = std::to_string(steps.size()) + " cells";
        if (!isStateless()) outcome.note = "each run begins with zeros; the operator goes on with the states of the one before";
        return outcome;
    }

private:
    bool isStateless() const { return attributeBool(m_op.attributes, "@stateless", false); }
    bool has(size_t operand) const { return operand < m_op.inputs.size() && m_op.inputs[operand].valid(); }

    /// Weights and shapes; why it is no plain LSTM.
    std::string read()
    {
        for (const size_t peephole : {9, 10, 11})
            if (has(peephole)) return "it has peepholes";
        if (has(16) || has(17)) return "it projects its output";
        for (const size_t norm : {20, 21, 22, 23})
            if (has(norm)) return "it has layer norms";
        if (attributeBool(m_op.attributes, "diagonal_recurrent_tensors", false)) return "its recurrent weights are vectors";
        if (attributeFloat(m_op.attributes, "cell_clip", 0) != 0) return "it clips its cell state";
        m_activation = activationKind(attributeWord(m_op.attributes, "act", "NONE"));
        if (m_activation.empty()) return "it has no activation that an operator computes";
        for (size_t gate = 0; gate < kGates; ++gate) {
            if (!has(kInput + gate) || !has(kRecurrent + gate) || !has(kBias + gate)) return "its input and forget gates are coupled";
            for (const auto& [operand, all] :
                 {std::pair(kInput, &m_kernel), std::pair(kRecurrent, &m_recurrent), std::pair(kBias, &m_bias)}) {
                const ValueId value = m_op.inputs[operand + gate];
                const Numbers* const numbers = m_site.typeOf(value).dtype == DType::f32 ? m_site.constants().floats(value) : nullptr;
                if (numbers == nullptr) return "'" + m_site.editor().value(value).id + "' is no constant of f32";
                all->values.insert(all->values.end(), numbers->values.begin(), numbers->values.end());
                if (numbers->shape.rank() == 2) all->shape = Shape{4 * numbers->shape[0], numbers->shape[1]};
            }
        }
        m_shape = m_site.typeOf(m_op.inputs[0]).dynamicShape();
        if (!m_shape.isStatic() || m_shape.rank() != 3) return "the shape of its input is not known";
        m_cells = static_cast<int64_t>(m_bias.values.size()) / 4;
        if (m_kernel.shape != Shape{4 * m_cells, m_shape[2]} || m_recurrent.shape != Shape{4 * m_cells, m_cells})
            return "its weights do not fit its input";
        const int64_t steps = m_shape[attributeBool(m_op.attributes, "time_major", false) ? 0 : 1];
        return steps >= 1 && steps <= kMostSteps ? "" : "it has " + std::to_string(steps) + " steps";
    }

    std::string name(const std::string& what) const { return m_site.nameOf(m_root) + what; }
    int64_t batch() const { return m_shape[1 - m_time]; }
    TensorType row(int64_t columns) const { return {DType::f32, Shape{batch(), columns}}; }

    std::vector<ValueId> insert(OperatorDraft draft, const std::string& what, std::vector<TensorType> results)
    {
        draft.name = name(what);
        draft.results = std::move(results);
        const OperatorId made = m_site.editor().insert(std::move(draft), m_root, InsertPoint::before(m_root));
        m_site.setParts(made, {});
        return m_site.editor().op(made).results;
    }

    ValueId insert(const char* kind, std::vector<ValueId> inputs, const std::string& what)
    {
        OperatorDraft draft;
        draft.kind = {"tfl", kind};
        draft.inputs = std::move(inputs);
        return insert(std::move(draft), what, {row(m_cells)}).front();
    }

    ValueId zeros(const char* what)
    {
        const std::vector<float> none(static_cast<size_t>(batch() * m_cells), 0.0F);
        return m_site.constant(name(std::string("/") + what), row(m_cells).shape, std::span<const float>(none), m_root);
    }

    std::vector<ValueId> apart()
    {
        OperatorDraft unpack;
        unpack.kind = {"tfl", "unpack"};
        unpack.inputs = {m_op.inputs[0]};
        unpack.attributes = {{"axis", int64_t{m_time}}, {"num", m_shape[m_time]}};
        return insert(std::move(unpack), "/steps", std::vector<TensorType>(static_cast<size_t>(m_shape[m_time]), row(m_shape[2])));
    }

    void makeConstants()
    {
        const auto make = [&](const char* what, const Shape& shape, const Numbers& numbers) {
            return m_site.constant(name(what), shape, std::span<const float>(numbers.values), m_root);
        };
        const int32_t last = 1;
        m_kernelValue = make("/kernel", m_kernel.shape, m_kernel);
        m_recurrentValue = make("/recurrent", m_recurrent.shape, m_recurrent);
        m_biasValue = make("/bias", Shape{4 * m_cells}, m_bias);
        m_axis = m_site.constant(name("/axis"), Shape(), std::span<const int32_t>(&last, 1), m_root);
    }

    ValueId product(ValueId of, ValueId weights, ValueId bias, const std::string& what)
    {
        OperatorDraft draft;
        draft.kind = {"tfl", "fully_connected"};
        draft.inputs = {of, weights, bias};
        return insert(std::move(draft), what, {row(4 * m_cells)}).front();
    }

    /// The next h and c.
    void cell(ValueId x, ValueId& h, ValueId& c, const std::string& at)
    {
        OperatorDraft sum, split;
        sum.kind = {"tfl", "add"};
        sum.inputs = {product(x, m_kernelValue, m_biasValue, at + "kernel"), product(h, m_recurrentValue, {}, at + "recurrent")};
        split.kind = {"tfl", "split"};
        split.attributes = {{"num_splits", int64_t{4}}};
        split.inputs = {m_axis, insert(std::move(sum), at + "sum", {row(4 * m_cells)}).front()};
        const std::vector<ValueId> gates = insert(std::move(split), at + "gates", std::vector<TensorType>(kGates, row(m_cells)));
        const ValueId input = insert("logistic", {gates[0]}, at + "input"), forget = insert("logistic", {gates[1]}, at + "forget");
        const ValueId fresh = insert(m_activation.data(), {gates[2]}, at + "fresh"), output = insert("logistic", {gates[3]}, at + "output");
        c = insert("add", {insert("mul", {forget, c}, at + "kept"), insert("mul", {input, fresh}, at + "added")}, at + "c");
        h = insert("mul", {output, insert(m_activation.data(), {c}, at + "squashed")}, at + "h");
    }

    Site& m_site;
    OperatorId m_root;
    const Operator m_op;
    int m_time = 0; ///< the dimension of steps
    std::string_view m_activation;
    Numbers m_kernel, m_recurrent, m_bias; ///< of all gates: input, forget, cell, output
    Shape m_shape;                         ///< of the input
    int64_t m_cells = 0;
    ValueId m_kernelValue, m_recurrentValue, m_biasValue, m_axis;
};

Outcome takeCells(Site& site, OperatorId root) { return LstmWriter(site, root).write(); }

} // namespace

std::span<const Rule> unfuseRecurrentRules()
{
    static const std::vector<Rule> rules = {
        {"unfuse-lstm", FusionEquality::realEqual, {}, "", nullptr, {"unidirectional_sequence_lstm"}, takeCells},
    };
    return rules;
}

} // namespace loopscope::fusing
