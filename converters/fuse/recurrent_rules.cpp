// Recurrent layers that nobody marked: an LSTM as the body of a loop, as Keras 3 writes it, or as one cell after the other. A GRU is
// named, and becomes Circle's operator where the result is for Circle.
#include "converters/fuse/lstm.h"
#include "converters/fuse/pattern.h"

#include <algorithm>

namespace loopscope::fusing {

namespace {

constexpr const char *kTo = "UNIDIRECTIONAL_SEQUENCE_LSTM", *kGru = "GRU";

Outcome refused(std::string reason) { return Outcome::declined(kTo, std::move(reason)); }

std::optional<int64_t> integerIn(const Graph& graph, ValueId value)
{
    const auto values = integersIn(graph, value);
    return values && values->size() == 1 ? std::optional(values->front()) : std::nullopt;
}

/// A number that the graph computes of constants and of shapes that are known: how often a loop may go round.
std::optional<int64_t> knownInteger(const Graph& graph, ValueId value, int depth = 0)
{
    if (const auto known = integerIn(graph, value)) return known;
    const Operator* const op = producerIn(graph, value);
    if (op == nullptr || depth > 8 || op->inputs.empty()) return std::nullopt;
    if (op->kind.name == "Max" || op->kind.name == "Min") { // of a scalar: itself
        const Value& of = graph.value(behindIdentities(graph, op->inputs[0]));
        return of.type.shape.hasRank() && of.type.shape.rank() == 0 ? knownInteger(graph, op->inputs[0], depth + 1) : std::nullopt;
    }
    if (op->kind.name != "StridedSlice" || op->inputs.size() != 4 || attributeInt(op->attributes, "shrink_axis_mask", 0) != 1)
        return std::nullopt;
    const auto at = integerIn(graph, op->inputs[1]);
    std::optional<std::vector<int64_t>> elements = integersIn(graph, op->inputs[0]);
    if (const Operator* const shape = producerIn(graph, op->inputs[0]); !elements && shape != nullptr && shape->kind.name == "Shape") {
        const Shape of = graph.value(behindIdentities(graph, shape->inputs[0])).type.dynamicShape();
        if (of.isStatic()) {
            elements.emplace();
            for (int d = 0; d < of.rank(); ++d) elements->push_back(of[d]);
        }
    }
    if (!at || !elements) return std::nullopt;
    const int64_t index = *at < 0 ? *at + static_cast<int64_t>(elements->size()) : *at;
    if (index < 0 || index >= static_cast<int64_t>(elements->size())) return std::nullopt;
    return (*elements)[static_cast<size_t>(index)];
}

/// One loop, looked at as an LSTM.
class LoopReader {
public:
    LoopReader(Site& site, OperatorId loop, bool wantsGru)
        : m_site(site),
          m_loop(loop),
          m_wantsGru(wantsGru),
          m_op(site.editor().op(loop)),
          m_graph(site.editor().graph())
    {
    }

    Outcome read()
    {
        const GraphId body = attributeGraph(m_op.attributes, "body"), cond = attributeGraph(m_op.attributes, "cond");
        if (!m_site.model().hasGraph(body) || !m_site.model().hasGraph(cond)) return Outcome::nothing();
        m_body = &m_site.model().graph(body);
        m_cond = &m_site.model().graph(cond);
        const size_t count = m_op.inputs.size();
        if (m_body->inputs.size() != count || m_body->outputs.size() != count || m_cond->inputs.size() != count ||
            m_op.results.size() != count || m_cond->outputs.size() != 1)
            return Outcome::nothing();
        for (const char* const mark : {"_implements", "api_implements"})
            if (findAttribute(m_graph.attributes, mark) != nullptr) return Outcome::nothing(); // its mark decides
        if (const Outcome outcome = findCell(); !outcome.label.empty()) return outcome;
        if (m_wantsGru || m_gru.isFound) return m_wantsGru && m_gru.isFound ? readGru() : Outcome::nothing();
        if (m_output < 0) return m_isMasked ? refused("masked steps: a state is kept where a mask says so") : Outcome::nothing();
        if (!m_cell.refused.empty()) return refused(m_cell.refused);
        for (Outcome (LoopReader::*step)() :
             {&LoopReader::findStates, &LoopReader::findInput, &LoopReader::countSteps, &LoopReader::findResults, &LoopReader::readWeights})
            if (Outcome outcome = (this->*step)(); !outcome.reason.empty()) return outcome;
        return write();
    }

private:
    Outcome refused(std::string reason) const { return Outcome::declined(m_to, std::move(reason)); }
    ValueId next(size_t k) const { return behindIdentities(*m_body, m_body->outputs[k].value); }
    bool isInvariant(size_t k) const { return next(k) == m_body->inputs[k]; }
    /// Which of the carried values it is; −1: none.
    static int argumentOf(const Graph& graph, ValueId value)
    {
        value = behindIdentities(graph, value);
        const auto found = std::ranges::find(graph.inputs, value);
        return found == graph.inputs.end() ? -1 : static_cast<int>(found - graph.inputs.begin());
    }
    /// Starts at 0 and grows by 1.
    bool counts(int k) const
    {
        if (k < 0) return false;
        const auto at = static_cast<size_t>(k);
        if (knownInteger(m_graph, m_op.inputs[at]) != 0) return false;
        const Operator* const add = producerIn(*m_body, next(at));
        if (add == nullptr || neutralKind(add->kind) != "add" || add->inputs.size() != 2) return false;
        for (const size_t side : {0, 1})
            if (argumentOf(*m_body, add->inputs[side]) == k && integerIn(*m_body, add->inputs[1 - side]) == 1) return true;
        return false;
    }

    Outcome findCell()
    {
        for (size_t k = 0; k < m_op.inputs.size(); ++k) {
            if (isInvariant(k)) continue;
            const ValueId argument = m_body->inputs[k];
            if (m_gru = matchGruCell(*m_body, next(k), argument); m_gru.isFound) {
                if (!m_wantsGru) return m_site.isForCircle() ? Outcome::nothing() : Outcome::labelled("GRU");
                m_output = static_cast<int>(k);
                m_cell.x = m_gru.x;
                m_to = kGru;
                return Outcome::nothing();
            }
            const Operator* const producer = producerIn(*m_body, next(k));
            if (producer != nullptr && neutralKind(producer->kind) == "select" && producer->inputs.size() == 3) {
                const LstmCellMatch inner = matchLstmCell(*m_body, producer->inputs[1], {});
                m_isMasked = m_isMasked || inner.nextCell.valid();
                continue;
            }
            LstmCellMatch cell = matchLstmCell(*m_body, next(k), {argument});
            if (!cell.nextCell.valid() && cell.refused.empty()) continue;
            m_cell = std::move(cell);
            m_output = static_cast<int>(k);
            break;
        }
        return Outcome::nothing();
    }

    Outcome readGru()
    {
        if (!m_gru.refused.empty()) return refused(m_gru.refused);
        const Value& state = m_graph.value(m_site.behindIdentities(m_op.inputs[static_cast<size_t>(m_output)]));
        if (!state.type.shape.isStatic() || state.type.shape.rank() != 2) return refused("the batch size of the state is unknown");
        if (state.type.shape[0] != 1) return refused("Circle's runtime knows the operator for a batch of 1 only");
        for (Outcome (LoopReader::*step)() : {&LoopReader::findInput, &LoopReader::countSteps, &LoopReader::findResults})
            if (Outcome outcome = (this->*step)(); !outcome.reason.empty()) return outcome;
        for (const auto& [stack, isLast] : m_stacks)
            if (!isLast) return refused("the caller uses all outputs: the operator gives the last one");
        const int64_t cells = state.type.shape[1], parts = 3 * cells;
        std::array<Numbers, 4> numbers;
        const std::array<ValueId, 4> given = {m_gru.kernel, m_gru.bias, m_gru.recurrent, m_gru.recurrentBias};
        const std::array<int64_t, 4> sizes = {m_shape[2] * parts, parts, cells * parts, parts};
        for (size_t k = 0; k < given.size(); ++k) {
            if (!given[k].valid()) continue;
            if (!numbersIn(given[k], numbers[k], 0)) return refused("the weights are no constants");
            if (static_cast<int64_t>(numbers[k].values.size()) != sizes[k]) return refused("the weights are of another size");
        }
        return writeGru(numbers, cells);
    }

    /// Numbers of the body: an operand of the loop that does not change, or a part of one along its first dimension.
    bool numbersIn(ValueId value, Numbers& numbers, int depth) const
    {
        value = behindIdentities(*m_body, value);
        if (const int argument = argumentOf(*m_body, value); argument >= 0) {
            if (!isInvariant(static_cast<size_t>(argument))) return false;
            const Numbers* const found = m_site.constants().floats(m_site.behindIdentities(m_op.inputs[static_cast<size_t>(argument)]));
            if (found != nullptr) numbers = *found;
            return found != nullptr;
        }
        if (!value.valid() || depth > 4 || m_body->value(value).role != ValueRole::result) return false;
        const Operator& op = m_body->op(m_body->value(value).producer);
        if (neutralKind(op.kind) == "squeeze" || neutralKind(op.kind) == "reshape") return numbersIn(op.inputs[0], numbers, depth + 1);
        const bool splits = op.kind.name == "Split" && integerIn(*m_body, op.inputs[0]) == 0;
        if (!splits && (op.kind.name != "Unpack" || attributeInt(op.attributes, "axis", 0) != 0)) return false;
        if (!numbersIn(op.inputs[splits ? 1 : 0], numbers, depth + 1) || numbers.values.size() % op.results.size() != 0) return false;
        const auto each = static_cast<std::ptrdiff_t>(numbers.values.size() / op.results.size());
        const auto from = numbers.values.begin() + m_body->value(value).slot * each;
        numbers.values = std::vector<float>(from, from + each);
        return true;
    }

    /// Columns of the gates as rows, in Circle's order: update, reset, new.
    std::vector<float> gateRows(const std::vector<float>& values, int64_t cells) const
    {
        const int64_t columns = 3 * cells, rows = static_cast<int64_t>(values.size()) / columns;
        std::vector<float> turned;
        for (const int gate : m_gru.gates)
            for (int64_t c = 0; c < cells; ++c)
                for (int64_t r = 0; r < rows; ++r) turned.push_back(values[static_cast<size_t>(r * columns + gate * cells + c)]);
        return turned;
    }

    Outcome writeGru(const std::array<Numbers, 4>& numbers, int64_t cells)
    {
        const std::string name = m_site.nameOf(m_loop) + "/fused";
        const ValueId state = m_op.inputs[static_cast<size_t>(m_output)];
        OperatorDraft draft;
        draft.kind = {"circle", "gru"};
        draft.attributes = {{"time_major", true}};
        draft.inputs = {m_sequence};
        static constexpr std::array kNames = {"/kernel", "/bias", "/recurrent", "/recurrent_bias"};
        for (size_t k = 0; k < numbers.size(); ++k) {
            const std::vector<float> rows = gateRows(numbers[k].values, cells);
            const bool isMatrix = k % 2 == 0;
            const Shape shape = isMatrix ? Shape{3 * cells, static_cast<int64_t>(rows.size()) / (3 * cells)} : Shape{3 * cells};
            draft.inputs.push_back(rows.empty() ? ValueId()
                                                : m_site.constant(name + kNames[k], shape, std::span<const float>(rows), m_loop));
        }
        draft.inputs.push_back(state);
        draft.name = name;
        draft.controlInputs = m_op.controlInputs;
        draft.results = {TensorType(DType::f32, Shape{1, cells})};
        GraphEditor& editor = m_site.editor();
        const OperatorId made = editor.insert(std::move(draft), Sources(m_loop), InsertPoint::before(m_loop));
        const ValueId last = editor.op(made).results[0];
        std::vector<OperatorId> from = {m_loop};
        for (const auto& [stack, isLast] : m_stacks) { // a sequence of one
            from.push_back(stack);
            const std::array<int32_t, 3> dims = {1, 1, static_cast<int32_t>(cells)};
            OperatorDraft sequence;
            sequence.name = name + "/sequence";
            sequence.kind = {"tf", "Reshape"};
            sequence.attributes = {{"T", DType::f32}, {"Tshape", DType::i32}};
            sequence.inputs = {last, m_site.constant(name + "/sequence/shape", Shape{3}, std::span<const int32_t>(dims), stack)};
            sequence.results = {TensorType(DType::f32, Shape{1, 1, cells})};
            m_site.bypass(stack, editor.op(editor.insert(std::move(sequence), Sources::none(), InsertPoint::before(stack))).results[0],
                          {stack});
        }
        return finish(made, last, std::move(from));
    }

    Outcome findStates()
    {
        m_state = argumentOf(*m_body, m_cell.c);
        if (m_state < 0 || next(static_cast<size_t>(m_state)) != m_cell.nextCell) return refused("the cell state is not carried");
        for (const int k : {m_output, m_state}) {
            const Value& value = m_graph.value(m_site.behindIdentities(m_op.inputs[static_cast<size_t>(k)]));
            if (!value.type.shape.isStatic()) return refused("the batch size of h0 and c0 is unknown");
            if (value.type.dtype != DType::f32) return refused("states are " + std::string(dtypeName(value.type.dtype)));
        }
        return Outcome::nothing();
    }

    Outcome findInput()
    {
        const Operator* const taken = producerIn(*m_body, m_cell.x);
        if (taken == nullptr || taken->inputs.size() < 2) return refused("a step's input is not taken from a sequence");
        const int from = argumentOf(*m_body, taken->inputs[0]);
        int at = argumentOf(*m_body, taken->inputs[1]);
        const bool isList = taken->kind.name == "TensorListGetItem";
        if (taken->kind.name == "StridedSlice" && attributeInt(taken->attributes, "shrink_axis_mask", 0) == 1) {
            const Operator* const pack = producerIn(*m_body, taken->inputs[1]);
            at = pack != nullptr && pack->kind.name == "Pack" && pack->inputs.size() == 1 ? argumentOf(*m_body, pack->inputs[0]) : -1;
        } else if (!isList && neutralKind(taken->kind) != "gather") {
            return refused("a step's input is not taken from a sequence, but computed by " + taken->kind.name);
        }
        if (from < 0 || !isInvariant(static_cast<size_t>(from))) return refused("the sequence changes while the loop runs");
        if (!counts(at)) return refused("steps are not taken one after the other from the first");
        m_sequence = m_site.behindIdentities(m_op.inputs[static_cast<size_t>(from)]);
        if (isList) {
            const OperatorId made = m_site.producer(m_sequence);
            if (!made.valid() || m_site.editor().op(made).kind.name != "TensorListFromTensor")
                return refused("the list of inputs is not made of a tensor");
            m_sequence = m_site.editor().op(made).inputs[0];
        }
        return Outcome::nothing();
    }

    /// The conjunction of `counter < limit`.
    void limits(ValueId condition, std::vector<std::optional<int64_t>>& found, int depth)
    {
        const Operator* const op = producerIn(*m_cond, condition);
        if (op == nullptr || op->inputs.size() != 2 || depth > 4) {
            found.push_back(std::nullopt);
        } else if (op->kind.name == "LogicalAnd") {
            for (const ValueId input : op->inputs) limits(input, found, depth + 1);
        } else if (op->kind.name != "Less" || !counts(argumentOf(*m_cond, op->inputs[0]))) {
            found.push_back(std::nullopt);
        } else if (const int limit = argumentOf(*m_cond, op->inputs[1]); limit >= 0) {
            const auto k = static_cast<size_t>(limit);
            found.push_back(isInvariant(k) ? knownInteger(m_graph, m_op.inputs[k]) : std::nullopt);
        } else {
            found.push_back(integerIn(*m_cond, op->inputs[1]));
        }
    }

    Outcome countSteps()
    {
        std::vector<std::optional<int64_t>> found;
        limits(m_cond->outputs[0].value, found, 0);
        int64_t steps = INT64_MAX;
        for (const auto& limit : found) {
            if (!limit) return refused("how often the loop goes round is not known");
            steps = std::min(steps, *limit);
        }
        const Shape shape = m_graph.value(m_site.behindIdentities(m_sequence)).type.dynamicShape();
        if (!shape.isStatic() || shape.rank() != 3) return refused("the length of the sequence is not known");
        if (shape[0] != steps)
            return refused("the loop goes round " + std::to_string(steps) + " times, the sequence has " + std::to_string(shape[0]) +
                           " steps");
        m_shape = shape;
        return Outcome::nothing();
    }

    Outcome findResults()
    {
        for (size_t k = 0; k < m_op.results.size(); ++k) {
            if (m_site.editor().uses(m_op.results[k]).empty() || static_cast<int>(k) == m_output) continue;
            if (static_cast<int>(k) == m_state) return refused("the caller uses the final cell state");
            const Operator* const set = producerIn(*m_body, next(k));
            if (set == nullptr || set->kind.name != "TensorListSetItem" || set->inputs.size() < 3 ||
                argumentOf(*m_body, set->inputs[0]) != static_cast<int>(k) ||
                behindIdentities(*m_body, set->inputs[2]) != next(static_cast<size_t>(m_output)))
                return refused("the caller uses result " + std::to_string(k) + " of the loop, which is no output of the layer");
            const bool isLast = integerIn(*m_body, set->inputs[1]) == 0;
            if (!isLast && !counts(argumentOf(*m_body, set->inputs[1]))) return refused("outputs are not stored step by step");
            for (const ValueUse& use : m_site.editor().uses(m_op.results[k])) {
                if (use.kind != ValueUse::Kind::operand || m_site.editor().op(use.op).kind.name != "TensorListStack")
                    return refused("the list of outputs is read by something else than TensorListStack");
                m_stacks.emplace_back(use.op, isLast);
            }
        }
        if (m_site.isAskedFor(m_loop)) return refused("the loop is asked for");
        return Outcome::nothing();
    }

    Outcome readWeights()
    {
        const auto take = [&](ValueId value, Numbers& numbers) {
            const int argument = argumentOf(*m_body, value);
            if (argument < 0 || !isInvariant(static_cast<size_t>(argument))) return false;
            const Numbers* const found = m_site.constants().floats(m_site.behindIdentities(m_op.inputs[static_cast<size_t>(argument)]));
            if (found != nullptr) numbers = *found;
            return found != nullptr;
        };
        m_weights.gates = m_cell.gates;
        if (!take(m_cell.kernel, m_weights.kernel) || !take(m_cell.recurrent, m_weights.recurrent))
            return refused("the weights are no constants");
        if (m_cell.bias.valid() && !take(m_cell.bias, m_weights.bias)) return refused("the bias is no constant");
        if (std::string reason = unfitWeights(m_weights, m_shape[2]); !reason.empty()) return refused(std::move(reason));
        return Outcome::nothing();
    }

    Outcome write()
    {
        GraphEditor& editor = m_site.editor();
        const std::string name = m_site.nameOf(m_loop) + "/fused";
        const LstmNode node = {m_sequence,
                               m_op.inputs[static_cast<size_t>(m_output)],
                               m_op.inputs[static_cast<size_t>(m_state)],
                               m_weights,
                               upperCase(m_cell.activation),
                               true,
                               true};
        OperatorDraft draft = lstmDraft(m_site, node, name, m_loop);
        draft.name = name;
        draft.controlInputs = m_op.controlInputs;
        const int64_t cells = m_weights.kernel.shape[1] / 4;
        draft.results = {TensorType(DType::f32, Shape{m_shape[0], m_shape[1], cells})};
        const OperatorId made = editor.insert(std::move(draft), Sources(m_loop), InsertPoint::before(m_loop));
        const ValueId sequence = editor.op(made).results[0];
        std::vector<OperatorId> from = {m_loop};
        for (const auto& [stack, isLast] : m_stacks) {
            from.push_back(stack);
            m_site.bypass(stack, isLast ? lastStep(m_site, sequence, 0, true, name + "/last", stack) : sequence, {stack});
        }
        const bool isFinalRead = !editor.uses(m_op.results[static_cast<size_t>(m_output)]).empty();
        return finish(made, isFinalRead ? lastStep(m_site, sequence, 0, false, name + "/last", m_loop) : ValueId(), std::move(from));
    }

    /// `last` stands for the final state; what only served the loop goes.
    Outcome finish(OperatorId made, ValueId last, std::vector<OperatorId> from)
    {
        GraphEditor& editor = m_site.editor();
        std::vector<OperatorId> upstream;
        if (last.valid()) editor.replaceUses(m_op.results[static_cast<size_t>(m_output)], last);
        editor.replaceUses(m_loop, made);
        m_site.setFrom(from);
        for (const ValueId input : m_op.inputs) collect(input, upstream);
        upstream.push_back(m_loop);
        editor.eraseUnused(upstream);
        m_site.addParts(made, {});
        return Outcome::made(made);
    }

    /// What only served the loop.
    void collect(ValueId value, std::vector<OperatorId>& found) const
    {
        if (!value.valid() || m_graph.value(value).role != ValueRole::result || found.size() > 64) return;
        const OperatorId producer = m_graph.value(value).producer;
        const Operator& op = m_graph.op(producer);
        static constexpr std::array kServants = {"Const", "TensorListReserve", "TensorListFromTensor", "Max",
                                                 "Range", "Identity",          "StridedSlice",         "Shape"};
        if (std::ranges::find(kServants, op.kind.name) == kServants.end() || m_site.isAskedFor(producer)) return;
        if (std::ranges::find(found, producer) != found.end()) return;
        found.push_back(producer);
        for (const ValueId input : op.inputs) collect(input, found);
    }

    Site& m_site;
    OperatorId m_loop;
    bool m_wantsGru; ///< else an LSTM
    const Operator m_op;
    const Graph& m_graph;
    const Graph *m_body = nullptr, *m_cond = nullptr;
    LstmCellMatch m_cell;
    GruCellMatch m_gru;
    const char* m_to = kTo;
    bool m_isMasked = false;
    int m_output = -1, m_state = -1; ///< which carried values are h and c
    ValueId m_sequence;
    Shape m_shape; ///< of the sequence: time, batch, inputs
    LstmWeights m_weights;
    std::vector<std::pair<OperatorId, bool>> m_stacks; ///< readers of the outputs; of the last one only
};

Outcome loopedLstm(Site& site, OperatorId root) { return site.isTensorFlow() ? LoopReader(site, root, false).read() : Outcome::nothing(); }

Outcome loopedGru(Site& site, OperatorId root)
{
    return site.isTensorFlow() && site.isForCircle() ? LoopReader(site, root, true).read() : Outcome::nothing();
}

/// The step of a sequence that a value is, by the Unpack that takes it apart; −1: none.
int stepOf(const Graph& graph, ValueId value, OperatorId& unpack)
{
    value = behindIdentities(graph, value);
    if (!value.valid() || graph.value(value).role != ValueRole::result) return -1;
    const Operator& op = graph.op(graph.value(value).producer);
    if (op.kind.name != "Unpack" || attributeInt(op.attributes, "axis", 0) != 0 || op.inputs.size() != 1) return -1;
    unpack = graph.value(value).producer;
    return graph.value(value).slot;
}

/// Cells one after the other, the last of which is `root`.
Outcome unrolledLstm(Site& site, OperatorId root)
{
    const Graph& graph = site.editor().graph();
    if (!site.isTensorFlow()) return Outcome::nothing();
    std::vector<LstmCellMatch> cells;
    OperatorId unpack;
    ValueId output = graph.op(root).results[0];
    for (int expected = -1;; --expected) {
        LstmCellMatch cell = matchLstmCell(graph, output, {});
        OperatorId from;
        const int step = cell.isCell() ? stepOf(graph, cell.x, from) : -1;
        if (step < 0 || (unpack.valid() && from != unpack)) return Outcome::nothing();
        unpack = from;
        if (expected < 0) expected = static_cast<int>(graph.op(unpack).results.size()) - 1;
        if (step != expected) return Outcome::nothing(); // no last one, or not in order
        output = cell.h;
        cells.push_back(std::move(cell));
        if (step == 0) break;
    }
    const LstmCellMatch &first = cells.back(), &last = cells.front();
    const Numbers *const kernel = site.constants().floats(site.behindIdentities(last.kernel)),
                         *const recurrent = site.constants().floats(site.behindIdentities(last.recurrent)),
                         *const bias = site.constants().floats(site.behindIdentities(last.bias));
    if (kernel == nullptr || recurrent == nullptr || (last.bias.valid() && bias == nullptr)) return refused("the weights are no constants");
    std::vector<OperatorId> ops;
    for (const LstmCellMatch& cell : cells) {
        if (cell.gates != last.gates || cell.activation != last.activation) return refused("the cells differ");
        for (const auto& [a, b] :
             {std::pair(cell.kernel, last.kernel), std::pair(cell.recurrent, last.recurrent), std::pair(cell.bias, last.bias)})
            if (site.behindIdentities(a) != site.behindIdentities(b)) return refused("the cells have different weights");
        for (const OperatorId op : cell.ops)
            if (op != root && std::ranges::find(ops, op) == ops.end()) ops.push_back(op);
    }
    ops.push_back(root);
    for (const ValueId state : {first.h, first.c})
        if (!graph.value(site.behindIdentities(state)).type.shape.isStatic()) return refused("the batch size of h0 and c0 is unknown");
    const ValueId sequence = graph.op(unpack).inputs[0];
    const Shape shape = graph.value(site.behindIdentities(sequence)).type.dynamicShape();
    if (shape.rank() != 3) return refused("the shape of the sequence is not known");
    const LstmNode node = {sequence,
                           first.h,
                           first.c,
                           {*kernel, *recurrent, bias != nullptr ? *bias : Numbers(), {}, {}, last.gates, false},
                           upperCase(last.activation),
                           true,
                           true};
    if (std::string reason = unfitWeights(node.weights, shape[2]); !reason.empty()) return refused(std::move(reason));
    if (std::optional<std::string> reason = site.outliveAny(ops, root)) return refused(*reason);
    const std::string name = site.nameOf(root) + "/fused";
    OperatorDraft draft = lstmDraft(site, node, name, root);
    draft.name = name;
    draft.results = {TensorType(DType::f32, Shape{shape[0], shape[1], kernel->shape[1] / 4})};
    const OperatorId made = site.editor().insert(std::move(draft), Sources(std::span<const OperatorId>(ops)), InsertPoint::before(root));
    ops.insert(ops.begin(), unpack);
    site.bypass(root, lastStep(site, site.editor().op(made).results[0], 0, false, name + "/last", root), ops);
    site.addParts(made, {});
    return Outcome::made(made);
}

} // namespace

std::span<const Rule> recurrentRules()
{
    static const std::vector<Rule> rules = {
        {"lstm-loop", FusionEquality::realEqual, {}, "", nullptr, {"While", "StatelessWhile"}, loopedLstm},
        {"gru-loop", FusionEquality::approximate, {}, "", nullptr, {"While", "StatelessWhile"}, loopedGru}, // its sigmoid is cut off below
                                                                                                            // −9
        {"lstm-unrolled", FusionEquality::realEqual, {}, "", nullptr, {"mul"}, unrolledLstm},
    };
    return rules;
}

} // namespace loopscope::fusing
