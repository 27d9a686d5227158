// An LSTM as one cell after the other, each of which takes a part of what takes the sequence apart.
#include "converters/fuse/lstm.h"
#include "converters/fuse/pattern.h"

#include <algorithm>
#include <utility>

namespace loopscope::fusing {

namespace {

Outcome refused(std::string reason) { return Outcome::declined("UNIDIRECTIONAL_SEQUENCE_LSTM", std::move(reason)); }

class UnrolledReader {
public:
    UnrolledReader(Site& site, OperatorId root) : m_site(site), m_graph(site.editor().graph()), m_root(root) {}

    Outcome read()
    {
        if (!findCells()) return Outcome::nothing();
        if (std::string reason = readWeights(); !reason.empty()) return refused(std::move(reason));
        if (std::string reason = collectOps(); !reason.empty()) return refused(std::move(reason));
        if (std::string reason = readSequence(); !reason.empty()) return refused(std::move(reason));
        return write();
    }

private:
    ValueId behind(ValueId value) const { return m_site.behindIdentities(value); }

    /// The step of a sequence that a value is, by the operator that takes it apart; −1: none.
    int stepOf(ValueId value, OperatorId& unpack) const
    {
        value = behindIdentities(m_graph, value);
        if (!value.valid() || m_graph.value(value).role != ValueRole::result) return -1;
        const Operator& op = m_graph.op(m_graph.value(value).producer);
        if (cellKind(op) != "unpack" || attributeInt(op.attributes, "axis", 0) != 0 || op.inputs.size() != 1) return -1;
        unpack = m_graph.value(value).producer;
        return m_graph.value(value).slot;
    }

    /// From the last to the first.
    bool findCells()
    {
        ValueId output = m_graph.op(m_root).results[0];
        for (int expected = -1;; --expected) {
            LstmCellMatch cell = matchLstmCell(m_graph, output, {});
            if (!cell.isCell() && !m_cells.empty()) cell = matchFirstLstmCell(m_graph, output);
            OperatorId from;
            const int step = cell.isCell() ? stepOf(cell.x, from) : -1;
            if (step < 0 || (m_unpack.valid() && from != m_unpack)) return false;
            m_unpack = from;
            if (expected < 0) expected = static_cast<int>(m_graph.op(m_unpack).results.size()) - 1;
            if (step != expected || (cell.isFirst && step != 0)) return false; // no last one, or not in order
            m_outputs.insert(m_outputs.begin(), behindIdentities(m_graph, output));
            output = cell.h;
            m_cells.push_back(std::move(cell));
            if (step == 0) return m_cells.size() > 1 || !m_cells.front().isFirst;
        }
    }

    std::string readWeights()
    {
        const LstmCellMatch& last = m_cells.front();
        m_weights.gates = last.gates;
        for (const auto& [product, to] : {std::pair(&last.kernel, &m_weights.kernel), std::pair(&last.recurrent, &m_weights.recurrent)}) {
            const Numbers* const numbers = m_site.constants().floats(behind(product->weights));
            if (numbers == nullptr) return noConstants(product->weights);
            *to = straightWeights(*numbers, product->isTurned);
        }
        for (const ValueId bias : last.biases) {
            const Numbers* const numbers = m_site.constants().floats(behind(bias));
            if (numbers == nullptr) return noConstants(bias);
            if (!addBias(m_weights, *numbers)) return "the biases are of different sizes";
        }
        return "";
    }

    std::string noConstants(ValueId weights) const
    {
        const DType dtype = m_site.typeOf(behind(weights)).dtype;
        return dtype == DType::f32 || dtype == DType::unknown ? "the weights are no constants"
                                                              : "the weights are " + std::string(dtypeName(dtype)) + ", not f32";
    }

    /// The same constant, or another one of the same numbers: what was put into a product of each cell is a copy for each.
    bool isSame(ValueId a, ValueId b)
    {
        if (behind(a) == behind(b)) return true;
        const Numbers *const left = m_site.constants().floats(behind(a)), *const right = m_site.constants().floats(behind(b));
        return left != nullptr && right != nullptr && left->shape == right->shape && left->values == right->values;
    }

    std::string collectOps()
    {
        const LstmCellMatch& last = m_cells.front();
        for (const LstmCellMatch& cell : m_cells) {
            if (cell.gates != last.gates || cell.activation != last.activation) return "the cells differ";
            std::vector<ValueId> own = cell.biases, others = last.biases;
            own.push_back(cell.kernel.weights);
            others.push_back(last.kernel.weights);
            if (!cell.isFirst) {
                own.push_back(cell.recurrent.weights);
                others.push_back(last.recurrent.weights);
            }
            if (!std::ranges::equal(own, others, [&](ValueId a, ValueId b) { return isSame(a, b); }))
                return "the cells have different weights";
            for (const OperatorId op : cell.ops)
                if (op != m_root && std::ranges::find(m_ops, op) == m_ops.end()) m_ops.push_back(op);
        }
        m_ops.push_back(m_root);
        findPack();
        std::vector<OperatorId> all = m_ops;
        if (m_pack.valid()) all.push_back(m_pack);
        for (const OperatorId op : m_ops) {
            if (op == m_root) continue;
            if (std::optional<std::string> reason = m_site.outlives(op, all)) return *reason;
        }
        return "";
    }

    /// What puts all outputs together again.
    void findPack()
    {
        for (const ValueUse& use : m_site.editor().uses(m_graph.op(m_root).results[0])) {
            if (use.kind != ValueUse::Kind::operand) continue;
            const Operator& op = m_graph.op(use.op);
            const auto source = [&](ValueId value) { return behindIdentities(m_graph, value); };
            if (cellKind(op) == "pack" && attributeInt(op.attributes, "axis", 0) == 0 &&
                std::ranges::equal(op.inputs, m_outputs, {}, source))
                m_pack = use.op;
        }
    }

    std::string readSequence()
    {
        m_sequence = m_graph.op(m_unpack).inputs[0];
        m_shape = m_graph.value(behind(m_sequence)).type.dynamicShape();
        if (m_shape.rank() != 3) return "the shape of the sequence is not known";
        const LstmCellMatch& first = m_cells.back();
        if (first.isFirst && m_shape[1] < 0) return unknownBatch("the sequence");
        for (const ValueId state : {first.h, first.c}) {
            if (first.isFirst) break;
            if (!m_graph.value(behind(state)).type.shape.isStatic()) return unknownBatch("h0 and c0");
            const Numbers* const numbers = m_site.constants().floats(behind(state));
            const bool isZero = numbers != nullptr && std::ranges::all_of(numbers->values, [](float value) { return value == 0; });
            if (!m_site.isTensorFlow() && !isZero)
                return "'" + m_graph.value(state).id + "' is not zeros, which the states of TFLite's operator begin with";
        }
        return unfitWeights(m_weights, m_shape[2]);
    }

    ValueId stateOf(ValueId given, const std::string& name)
    {
        if (given.valid() && (m_site.isTensorFlow() || m_graph.value(given).role == ValueRole::constant)) return given;
        const int64_t cells = m_weights.kernel.shape[1] / 4;
        const std::vector<float> zeros(static_cast<size_t>(m_shape[1] * cells), 0.0F);
        return m_site.constant(name, Shape{m_shape[1], cells}, std::span<const float>(zeros), m_root);
    }

    Outcome write()
    {
        GraphEditor& editor = m_site.editor();
        const std::string name = m_site.nameOf(m_root) + "/fused";
        const LstmCellMatch &first = m_cells.back(), &last = m_cells.front();
        std::vector<std::string> from = {m_site.nameOf(m_unpack)};
        for (const OperatorId op : m_ops) from.push_back(m_site.nameOf(op));
        const LstmNode node = {
            m_sequence, stateOf(first.h, name + "/h0"), stateOf(first.c, name + "/c0"), m_weights, upperCase(last.activation), true, true};
        OperatorDraft draft = lstmDraft(m_site, node, name, m_root);
        draft.name = name;
        draft.results = {TensorType(DType::f32, Shape{m_shape[0], m_shape[1], m_weights.kernel.shape[1] / 4})};
        const OperatorId made = editor.insert(std::move(draft), Sources(std::span<const OperatorId>(m_ops)), InsertPoint::before(m_root));
        const ValueId sequence = editor.op(made).results[0];
        std::vector<OperatorId> gone = m_ops;
        gone.insert(gone.begin(), m_unpack);
        if (m_pack.valid()) {
            from.push_back(m_site.nameOf(m_pack));
            takePlace(m_pack, made, sequence);
        }
        if (editor.isAlive(m_root) && (!m_pack.valid() || isReadElsewhere())) { // else the pack took it along
            if (m_site.isTensorFlow()) {
                m_site.bypass(m_root, lastStep(m_site, sequence, 0, false, name + "/last", m_root), gone);
            } else {
                const ValueId replaced[] = {editor.op(m_root).results[0]};
                editor.replace(std::vector<OperatorId>{m_root}, lastStepDraft(m_site, sequence, 0, false, name + "/last", m_root),
                               replaced);
            }
        }
        std::erase_if(gone, [&](OperatorId op) { return !editor.isAlive(op); });
        editor.eraseUnused(gone);
        m_site.setFrom(std::move(from));
        m_site.addParts(made, {});
        return Outcome::made(made);
    }

    bool isReadElsewhere() const
    {
        const ValueId result = m_site.editor().op(m_root).results[0];
        return !m_site.editor().uses(result).empty() || m_site.isAskedFor(m_root);
    }

    /// The readers of the pack read the sequence.
    void takePlace(OperatorId pack, OperatorId made, ValueId sequence)
    {
        GraphEditor& editor = m_site.editor();
        if (m_site.isTensorFlow()) {
            m_site.bypass(pack, sequence, {pack});
            return;
        }
        const ValueId result = editor.op(pack).results[0];
        if (!m_site.namesOutput(pack)) {
            editor.replaceUses(result, sequence);
            editor.eraseUnused(std::vector<OperatorId>{pack});
            return;
        }
        OperatorDraft named; // an output keeps its name
        named.kind = {"tfl", "reshape"};
        std::vector<int32_t> dims;
        const Shape shape = m_site.typeOf(sequence).shape;
        for (int d = 0; d < shape.rank(); ++d) dims.push_back(static_cast<int32_t>(shape[d]));
        named.inputs = {sequence, m_site.constant(m_site.nameOf(made) + "/shape", Shape{3}, std::span<const int32_t>(dims), pack)};
        named.results = {m_site.typeOf(result)};
        named.name = editor.value(result).id;
        const ValueId replaced[] = {result};
        editor.replace(std::vector<OperatorId>{pack}, std::move(named), replaced);
    }

    Site& m_site;
    const Graph& m_graph;
    OperatorId m_root, m_unpack, m_pack;
    std::vector<LstmCellMatch> m_cells; ///< the last one first
    std::vector<ValueId> m_outputs;     ///< the first one first
    LstmWeights m_weights;
    std::vector<OperatorId> m_ops;
    ValueId m_sequence;
    Shape m_shape;
};

} // namespace

Outcome unrolledLstm(Site& site, OperatorId root) { return UnrolledReader(site, root).read(); }

} // namespace loopscope::fusing
