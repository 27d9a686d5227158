// Recurrent layers that nobody marked: an LSTM as the body of a loop, as Keras 3 writes it, or as one cell after the other. A GRU is
// named, and becomes Circle's operator where the result is for Circle.
#include "converters/fuse/cell_loop.h"
#include "converters/fuse/lstm.h"
#include "converters/fuse/pattern.h"

#include <algorithm>
#include <tuple>

namespace loopscope::fusing {

namespace {

constexpr const char *kTo = "UNIDIRECTIONAL_SEQUENCE_LSTM", *kGru = "GRU";

/// One loop, looked at as a recurrent layer.
class LoopReader {
public:
    LoopReader(Site& site, OperatorId op, bool wantsGru) : m_site(site), m_id(op), m_loop(site, op), m_wantsGru(wantsGru) {}

    Outcome read()
    {
        if (!m_loop.open()) return Outcome::nothing();
        for (const char* const mark : {"_implements", "api_implements"})
            if (findAttribute(m_site.editor().graph().attributes, mark) != nullptr) return Outcome::nothing(); // its mark decides
        if (const Outcome outcome = findCell(); !outcome.label.empty()) return outcome;
        if (m_wantsGru || m_gru.isFound) return m_wantsGru && m_gru.isFound ? readGru() : Outcome::nothing();
        if (m_output < 0) return m_isMasked ? refused(kMaskedSteps) : Outcome::nothing();
        return readLstm();
    }

private:
    Outcome refused(std::string reason) const { return Outcome::declined(m_to, std::move(reason)); }

    Outcome findCell()
    {
        const Graph& body = m_loop.body();
        for (size_t k = 0; k < m_loop.count(); ++k) {
            if (m_loop.isInvariant(k)) continue;
            const ValueId argument = m_loop.argument(k);
            if (m_gru = matchGruCell(body, m_loop.next(k), argument); m_gru.isFound) {
                if (!m_wantsGru) return m_site.isForCircle() ? Outcome::nothing() : Outcome::labelled("GRU");
                m_output = static_cast<int>(k);
                m_to = kGru;
                return Outcome::nothing();
            }
            const Operator* const producer = producerIn(body, m_loop.next(k));
            if (producer != nullptr && neutralKind(producer->kind) == "select" && producer->inputs.size() == 3) {
                const LstmCellMatch inner = matchLstmCell(body, producer->inputs[1], {});
                m_isMasked = m_isMasked || inner.nextCell.valid();
                if (matchGruCell(body, producer->inputs[1], argument).isFound) {
                    if (!m_site.isForCircle()) return Outcome::labelled("GRU");
                    if (m_wantsGru) return Outcome::declined(kGru, kMaskedSteps);
                }
                continue;
            }
            LstmCellMatch cell = matchLstmCell(body, m_loop.next(k), {argument});
            if (!cell.nextCell.valid() && cell.refused.empty()) continue;
            m_cell = std::move(cell);
            m_output = static_cast<int>(k);
            break;
        }
        return Outcome::nothing();
    }

    /// That the loop goes once over a sequence of which `step` is a row, and that only outputs are read.
    std::string findSequence(ValueId step)
    {
        if (std::string reason = m_loop.findSequence(step); !reason.empty()) return reason;
        if (std::string reason = m_loop.countSteps(); !reason.empty()) return reason;
        return m_loop.findResults(m_output, m_state);
    }

    Outcome readGru()
    {
        if (!m_gru.refused.empty()) return refused(m_gru.refused);
        const Value& state = m_loop.initial(static_cast<size_t>(m_output));
        if (!state.type.shape.isStatic() || state.type.shape.rank() != 2) return refused(unknownBatch("the state"));
        if (state.type.shape[0] != 1) return refused("Circle's runtime knows the operator for a batch of 1 only");
        if (std::string reason = findSequence(m_gru.x); !reason.empty()) return refused(std::move(reason));
        for (const GatheredOutputs& gathered : m_loop.gathered())
            if (!gathered.isLast) return refused("the caller uses all outputs: the operator gives the last one");
        const int64_t cells = state.type.shape[1], parts = 3 * cells;
        std::array<Numbers, 4> numbers;
        const std::array<ValueId, 4> given = {m_gru.kernel.weights, m_gru.kernel.bias, m_gru.recurrent.weights, m_gru.recurrent.bias};
        const std::array<int64_t, 4> sizes = {m_loop.shape()[2] * parts, parts, cells * parts, parts};
        for (size_t k = 0; k < given.size(); ++k) {
            if (!given[k].valid()) continue;
            const bool isWidened = k % 2 == 0 && m_loop.widenedIn(given[k], numbers[k]);
            if (isWidened && m_site.nearness() < kHalfStep)
                return refused("the weights are bytes with scales, and Circle's operator wants floats: --near 0.004 makes floats of them");
            if (isWidened) m_note = "weights of bytes became floats, and the operands are rounded no more";
            else if (!m_loop.numbersIn(given[k], numbers[k])) return refused(m_loop.noConstants(given[k]));
            if (static_cast<int64_t>(numbers[k].values.size()) != sizes[k]) return refused("the weights are of another size");
        }
        numbers[0] = straightWeights(std::move(numbers[0]), m_gru.kernel.isTurned);
        numbers[2] = straightWeights(std::move(numbers[2]), m_gru.recurrent.isTurned);
        return writeGru(numbers, cells);
    }

    Outcome writeGru(const std::array<Numbers, 4>& numbers, int64_t cells)
    {
        const std::string name = m_site.nameOf(m_id) + "/fused";
        const auto output = static_cast<size_t>(m_output);
        OperatorDraft draft = gruDraft(m_site, m_gru, numbers, m_loop.sequence(), m_loop.op().inputs[output], cells, name, m_id);
        draft.controlInputs = m_loop.op().controlInputs;
        draft.results = {TensorType(DType::f32, Shape{1, cells})};
        const OperatorId made = m_loop.put(std::move(draft), m_loop.op().results[output]);
        const ValueId last = m_site.editor().op(made).results[0];
        for (const GatheredOutputs& gathered : m_loop.gathered()) { // a sequence of one
            const std::array<int32_t, 3> dims = {1, 1, static_cast<int32_t>(cells)};
            OperatorDraft sequence;
            sequence.name = name + "/sequence";
            sequence.kind = {"tfl", "reshape"};
            if (m_site.isTensorFlow()) {
                sequence.kind = {"tf", "Reshape"};
                sequence.attributes = {{"T", DType::f32}, {"Tshape", DType::i32}};
            }
            sequence.inputs = {last, m_site.constant(name + "/sequence/shape", Shape{3}, std::span<const int32_t>(dims),
                                                     gathered.reader.valid() ? gathered.reader : m_id)};
            sequence.results = {TensorType(DType::f32, Shape{1, 1, cells})};
            m_loop.put(std::move(sequence), gathered);
        }
        Outcome outcome = m_loop.finish(made);
        outcome.note = m_note;
        return outcome;
    }

    Outcome readLstm()
    {
        if (!m_cell.refused.empty()) return refused(m_cell.refused);
        m_state = CellLoop::argumentOf(m_loop.body(), m_cell.c);
        if (m_state < 0 || m_loop.next(static_cast<size_t>(m_state)) != m_cell.nextCell) return refused("the cell state is not carried");
        for (const int k : {m_output, m_state})
            if (std::string reason = m_loop.unfitState(static_cast<size_t>(k), "h0 and c0"); !reason.empty())
                return refused(std::move(reason));
        if (std::string reason = findSequence(m_cell.x); !reason.empty()) return refused(std::move(reason));
        if (std::string reason = readWeights(); !reason.empty()) return refused(std::move(reason));
        return writeLstm();
    }

    std::string readWeights()
    {
        m_weights.gates = m_cell.gates;
        for (const auto& [product, to, scales] : {std::tuple(&m_cell.kernel, &m_weights.kernel, &m_weights.kernelScales),
                                                  std::tuple(&m_cell.recurrent, &m_weights.recurrent, &m_weights.recurrentScales)}) {
            std::optional<StoredWeights> stored = m_loop.bytesIn(product->weights);
            if (stored && (product->isTurned || stored->scales.size() == 1)) {
                *to = std::move(stored->bytes);
                *scales = std::move(stored->scales);
            } else if (!m_loop.numbersIn(product->weights, *to)) {
                return m_loop.noConstants(product->weights);
            }
            *to = straightWeights(std::move(*to), product->isTurned);
        }
        if (m_weights.kernelScales.empty() != m_weights.recurrentScales.empty())
            return "the weights of one product are bytes with scales, those of the other are floats";
        if (!m_weights.kernelScales.empty()) {
            if (m_cell.kernel.isAsymmetric != m_cell.recurrent.isAsymmetric)
                return "one product rounds its operand around a zero point, the other does not";
            m_weights.isAsymmetric = m_cell.kernel.isAsymmetric;
        }
        for (const ValueId bias : m_cell.biases) {
            Numbers numbers;
            if (!m_loop.numbersIn(bias, numbers)) return "the bias is no constant: '" + m_loop.body().value(bias).id + "'";
            if (!addBias(m_weights, numbers)) return "the biases are of different sizes";
        }
        if (std::string reason = unfitWeights(m_weights, m_loop.shape()[2]); !reason.empty()) return reason;
        return unifyScales(m_weights, m_site.nearness(), m_note);
    }

    Outcome writeLstm()
    {
        const std::string name = m_site.nameOf(m_id) + "/fused";
        const Shape& shape = m_loop.shape();
        const auto output = static_cast<size_t>(m_output), state = static_cast<size_t>(m_state);
        const LstmNode node = {m_loop.sequence(),
                               m_loop.stateOf(output, name + "/h0"),
                               m_loop.stateOf(state, name + "/c0"),
                               m_weights,
                               upperCase(m_cell.activation),
                               true,
                               true};
        OperatorDraft draft = lstmDraft(m_site, node, name, m_id);
        draft.name = name;
        draft.controlInputs = m_loop.op().controlInputs;
        draft.results = {TensorType(DType::f32, Shape{shape[0], shape[1], m_weights.kernel.shape[1] / 4})};
        const OperatorId made = m_loop.putLayer(std::move(draft), output, name);
        Outcome outcome = m_loop.finish(made);
        outcome.isApproximate = !m_weights.kernelScales.empty(); // what lies between two steps of a scale may be rounded to either
        outcome.note = m_note;
        return outcome;
    }

    Site& m_site;
    OperatorId m_id;
    CellLoop m_loop;
    bool m_wantsGru; ///< else an LSTM
    LstmCellMatch m_cell;
    GruCellMatch m_gru;
    const char* m_to = kTo;
    bool m_isMasked = false;
    int m_output = -1, m_state = -1; ///< which carried values are h and c
    LstmWeights m_weights;
    std::string m_note;
};

Outcome loopedLstm(Site& site, OperatorId root) { return LoopReader(site, root, false).read(); }

Outcome loopedGru(Site& site, OperatorId root) { return site.isForCircle() ? LoopReader(site, root, true).read() : Outcome::nothing(); }

} // namespace

std::span<const Rule> recurrentRules()
{
    static const std::vector<Rule> rules = {
        {"lstm-loop", FusionEquality::realEqual, {}, "", nullptr, {"While", "StatelessWhile", "while"}, loopedLstm},
        {"gru-loop", FusionEquality::approximate, {}, "", nullptr, {"While", "StatelessWhile", "while"}, loopedGru}, // its sigmoid is cut
                                                                                                                     // off below −9
        {"lstm-unrolled", FusionEquality::realEqual, {}, "", nullptr, {"mul"}, unrolledLstm},
        {"gru-unrolled", FusionEquality::approximate, {}, "", nullptr, {"add"}, unrolledGru},
    };
    return rules;
}

} // namespace loopscope::fusing
