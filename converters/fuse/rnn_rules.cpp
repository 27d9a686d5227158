// Recurrent layers of one gate: the state is an activation of the sum of a product with the input and one with the state, in a loop or in
// one cell after the other.
#include "converters/fuse/cell_loop.h"
#include "converters/fuse/lstm.h"
#include "converters/fuse/pattern.h"
#include "converters/fuse/unrolled.h"

#include <algorithm>
#include <functional>

namespace loopscope::fusing {

namespace {

constexpr const char* kTo = "UNIDIRECTIONAL_SEQUENCE_RNN";

/// h' = act(x · kernel + h · recurrent + biases)
struct RnnCellMatch {
    WeightedProduct kernel, recurrent;
    std::vector<ValueId> biases;
    std::string activation;
    bool isFound = false;
};

/// The leaves of a sum.
void termsOf(const Graph& graph, ValueId value, std::vector<ValueId>& terms, int depth = 0)
{
    constexpr int kDeepest = 8;
    const Operator* op = producerIn(graph, value, "add", 2);
    if (op == nullptr) op = producerIn(graph, value, "bias_add", 2);
    if (op == nullptr || depth > kDeepest) {
        terms.push_back(value);
        return;
    }
    for (const ValueId input : op->inputs) termsOf(graph, input, terms, depth + 1);
}

/// The terms of what the activation is of, which TFLite may have put into the sum or, where that is all, into the product.
std::string activationTerms(const Graph& graph, ValueId next, std::vector<ValueId>& terms)
{
    const Operator* const op = producerIn(graph, next);
    if (op == nullptr) return "";
    const std::string_view kind = neutralKind(op->kind);
    if (op->inputs.size() == 1) {
        termsOf(graph, op->inputs[0], terms);
        return upperCase(kind);
    }
    if (kind == "fully_connected") terms.push_back(next);
    else if (kind != "add" || op->inputs.size() != 2) return "";
    else
        for (const ValueId input : op->inputs) termsOf(graph, input, terms);
    return std::string(activationOf(*op));
}

/// `isState`: whether the value is the state before. Found with a kernel alone, or with both products.
RnnCellMatch matchRnnCell(const Graph& graph, ValueId next, const std::function<bool(ValueId)>& isState)
{
    RnnCellMatch cell;
    std::vector<ValueId> terms;
    cell.activation = activationTerms(graph, next, terms);
    if (cell.activation != "TANH" && cell.activation != "RELU" && cell.activation != "RELU6") return cell;
    for (const ValueId term : terms) {
        const std::optional<WeightedProduct> product = weightedProduct(graph, term, term == next);
        if (!product) {
            cell.biases.push_back(term);
            continue;
        }
        WeightedProduct& side = isState(product->left) ? cell.recurrent : cell.kernel;
        if (side.left.valid()) return cell;
        side = *product;
        if (product->bias.valid()) cell.biases.push_back(product->bias);
    }
    cell.isFound = cell.kernel.left.valid();
    return cell;
}

OperatorDraft rnnDraft(const std::string& activation, std::vector<ValueId> inputs)
{
    OperatorDraft draft;
    draft.kind = {"tfl", "unidirectional_sequence_rnn"};
    draft.attributes = {{"act", Word{activation}}, {"time_major", true}, {"@stateless", true}};
    draft.inputs = std::move(inputs);
    return draft;
}

class RnnReader {
public:
    RnnReader(Site& site, OperatorId loop) : m_site(site), m_id(loop), m_loop(site, loop) {}

    Outcome read()
    {
        if (!m_loop.open()) return Outcome::nothing();
        for (size_t k = 0; k < m_loop.count() && !m_cell.isFound; ++k) {
            if (m_loop.isInvariant(k)) continue;
            m_cell = matchRnnCell(m_loop.body(), m_loop.next(k), [&](ValueId left) { return left == m_loop.argument(k); });
            m_cell.isFound = m_cell.isFound && m_cell.recurrent.left.valid();
            m_output = k;
        }
        if (!m_cell.isFound) return isMasked() ? Outcome::declined(kTo, kMaskedSteps) : Outcome::nothing();
        for (const auto& find : {&RnnReader::findLayer, &RnnReader::readWeights})
            if (std::string reason = (this->*find)(); !reason.empty()) return Outcome::declined(kTo, std::move(reason));
        return write();
    }

private:
    /// Whether a choice lies between the cell and the state.
    bool isMasked() const
    {
        const Graph& body = m_loop.body();
        for (size_t k = 0; k < m_loop.count(); ++k) {
            const Operator* const choice = producerIn(body, m_loop.next(k));
            if (choice == nullptr || neutralKind(choice->kind) != "select" || choice->inputs.size() != 3) continue;
            const auto isState = [&](ValueId left) { return left == m_loop.argument(k); };
            for (const size_t side : {1, 2})
                if (matchRnnCell(body, choice->inputs[side], isState).recurrent.left.valid()) return true;
        }
        return false;
    }

    std::string findLayer()
    {
        if (std::string reason = m_loop.unfitState(m_output, "the state"); !reason.empty()) return reason;
        if (std::string reason = m_loop.findSequence(m_cell.kernel.left); !reason.empty()) return reason;
        if (std::string reason = m_loop.countSteps(); !reason.empty()) return reason;
        return m_loop.findResults(static_cast<int>(m_output), -1);
    }

    std::string readWeights()
    {
        const int64_t cells = m_loop.stateShape(m_output).back();
        const std::array<const WeightedProduct*, 2> products = {&m_cell.kernel, &m_cell.recurrent};
        const std::array<int64_t, 2> rows = {m_loop.shape()[2], cells};
        for (size_t k = 0; k < products.size(); ++k) {
            Numbers& weights = m_weights.at(k);
            if (std::optional<StoredWeights> stored = m_loop.bytesIn(products[k]->weights)) {
                if (std::string reason = unifyScale(*stored, m_site.nearness(), m_note); !reason.empty()) return reason;
                weights = std::move(stored->bytes);
                m_scales.at(k) = stored->scales.front();
            } else if (!m_loop.numbersIn(products[k]->weights, weights)) {
                return m_loop.noConstants(products[k]->weights);
            }
            weights = straightWeights(std::move(weights), !products[k]->isTurned); // a row for each cell
            if (weights.shape != Shape{cells, rows[k]}) return "the weights are " + toString(weights.shape);
        }
        if ((m_scales[0] == 0) != (m_scales[1] == 0))
            return "the weights of one product are bytes with scales, those of the other are floats";
        if (m_scales[0] != 0 && m_cell.kernel.isAsymmetric != m_cell.recurrent.isAsymmetric)
            return "one product rounds its operand around a zero point, the other does not";
        m_bias.assign(static_cast<size_t>(cells), 0.0F);
        for (const ValueId bias : m_cell.biases) {
            Numbers numbers;
            if (!m_loop.numbersIn(bias, numbers)) return "the bias is no constant: '" + m_loop.body().value(bias).id + "'";
            if (numbers.values.size() != m_bias.size()) return "the bias has " + std::to_string(numbers.values.size()) + " numbers";
            for (size_t i = 0; i < m_bias.size(); ++i) m_bias[i] += numbers.values[i];
        }
        return "";
    }

    ValueId weightsOf(size_t k, const std::string& name)
    {
        const Numbers& weights = m_weights.at(k);
        if (m_scales.at(k) == 0) return m_site.constant(name, weights.shape, std::span<const float>(weights.values), m_id);
        const std::vector<int8_t> bytes(weights.values.begin(), weights.values.end());
        auto quantization = std::make_shared<Quantization>();
        quantization->kind = Quantization::Kind::affine;
        quantization->scales = {m_scales.at(k)};
        quantization->zeroPoints = {0};
        return m_site.constant(name, TensorType(DType::i8, weights.shape, std::move(quantization)), std::as_bytes(std::span(bytes)), m_id);
    }

    Outcome write()
    {
        const std::string name = m_site.nameOf(m_id) + "/fused";
        const Shape& shape = m_loop.shape();
        const auto cells = static_cast<int64_t>(m_bias.size());
        OperatorDraft draft =
            rnnDraft(m_cell.activation, {m_loop.sequence(), weightsOf(0, name + "/kernel"), weightsOf(1, name + "/recurrent"),
                                         m_site.constant(name + "/bias", Shape{cells}, std::span<const float>(m_bias), m_id),
                                         m_loop.stateOf(m_output, name + "/h0")});
        if (m_scales[0] != 0 && m_cell.kernel.isAsymmetric) draft.attributes.push_back({"asymmetric_quantize_inputs", true});
        draft.name = name;
        draft.controlInputs = m_loop.op().controlInputs;
        draft.results = {TensorType(DType::f32, Shape{shape[0], shape[1], cells})};
        Outcome outcome = m_loop.finish(m_loop.putLayer(std::move(draft), m_output, name));
        outcome.isApproximate = m_scales[0] != 0; // what lies between two steps of a scale may be rounded to either
        outcome.note = m_note;
        return outcome;
    }

    Site& m_site;
    OperatorId m_id;
    CellLoop m_loop;
    RnnCellMatch m_cell;
    size_t m_output = 0;                ///< the carried value that is the state
    std::array<Numbers, 2> m_weights;   ///< with the input, with the state: a row for each cell
    std::array<float, 2> m_scales = {}; ///< of weights that are bytes; 0: they are floats
    std::vector<float> m_bias;
    std::string m_note;
};

/// The same as one cell after the other.
class UnrolledRnn {
public:
    UnrolledRnn(Site& site, OperatorId root) : m_site(site), m_graph(site.editor().graph()), m_root(root), m_layer(site, root) {}

    Outcome read()
    {
        if (!findCells()) return Outcome::nothing();
        for (const auto& find : {&UnrolledRnn::collect, &UnrolledRnn::readWeights})
            if (std::string reason = (this->*find)(); !reason.empty()) return Outcome::declined(kTo, std::move(reason));
        return write();
    }

private:
    /// From the last to the first, which converters leave without a product with zeros.
    bool findCells()
    {
        ValueId output = m_graph.op(m_root).results[0];
        for (bool isDone = false; !isDone;) {
            RnnCellMatch cell = matchRnnCell(m_graph, output, [&](ValueId left) {
                const ValueId source = behindIdentities(m_graph, left);
                const bool isResult = m_graph.value(source).role == ValueRole::result;
                return !isResult || cellKind(m_graph.op(m_graph.value(source).producer)) != "unpack";
            });
            if (!cell.isFound || !m_layer.add(cell.kernel.left, output, isDone)) return false;
            if (!cell.recurrent.left.valid() && (!isDone || m_cells.empty())) return false;
            const std::vector<OperatorId> ops = m_layer.between(output, {cell.kernel.left, cell.recurrent.left});
            m_ops.insert(m_ops.end(), ops.begin(), ops.end());
            output = cell.recurrent.left;
            m_cells.push_back(std::move(cell));
        }
        return true;
    }

    std::string collect()
    {
        const RnnCellMatch& last = m_cells.front();
        const auto isSame = [&](ValueId a, ValueId b) { return m_layer.isSame(a, b); };
        for (const RnnCellMatch& cell : m_cells) {
            if (cell.activation != last.activation) return "the cells differ";
            if (!isSame(cell.kernel.weights, last.kernel.weights) || !std::ranges::equal(cell.biases, last.biases, isSame) ||
                (cell.recurrent.left.valid() && !isSame(cell.recurrent.weights, last.recurrent.weights)))
                return "the cells have different weights";
        }
        if (std::string reason = m_layer.close(m_ops); !reason.empty()) return reason;
        return m_layer.unfitState(m_cells.back().recurrent.left);
    }

    std::string readWeights()
    {
        const RnnCellMatch& cell = m_cells.front();
        const std::array<const WeightedProduct*, 2> products = {&cell.kernel, &cell.recurrent};
        for (size_t k = 0; k < products.size(); ++k) {
            const Numbers* const numbers = m_layer.floats(products[k]->weights);
            if (numbers == nullptr) return m_layer.noConstants(products[k]->weights);
            m_weights.at(k) = straightWeights(*numbers, !products[k]->isTurned); // a row for each cell
            if (m_weights.at(k).shape.rank() != 2) return "the weights are " + toString(numbers->shape);
        }
        const int64_t cells = m_weights[1].shape[0];
        if (m_weights[1].shape != Shape{cells, cells} || m_weights[0].shape != Shape{cells, m_layer.shape()[2]})
            return "the weights are " + toString(m_weights[0].shape) + " and " + toString(m_weights[1].shape);
        m_bias.assign(static_cast<size_t>(cells), 0.0F);
        for (const ValueId bias : cell.biases) {
            const Numbers* const numbers = m_layer.floats(bias);
            if (numbers == nullptr) return "the bias is no constant: '" + m_graph.value(bias).id + "'";
            if (numbers->values.size() != m_bias.size()) return "the bias has " + std::to_string(numbers->values.size()) + " numbers";
            for (size_t i = 0; i < m_bias.size(); ++i) m_bias[i] += numbers->values[i];
        }
        return "";
    }

    Outcome write()
    {
        const std::string name = m_site.nameOf(m_root) + "/fused";
        const auto cells = static_cast<int64_t>(m_bias.size());
        const auto matrix = [&](const char* what, const Numbers& numbers) {
            return m_site.constant(name + what, numbers.shape, std::span<const float>(numbers.values), m_root);
        };
        OperatorDraft draft =
            rnnDraft(m_cells.front().activation,
                     {m_layer.sequence(name + "/turned"), matrix("/kernel", m_weights[0]), matrix("/recurrent", m_weights[1]),
                      m_site.constant(name + "/bias", Shape{cells}, std::span<const float>(m_bias), m_root),
                      m_layer.stateOf(m_cells.back().recurrent.left, cells, name + "/h0")});
        return m_layer.put(std::move(draft), cells, name);
    }

    Site& m_site;
    const Graph& m_graph;
    OperatorId m_root;
    UnrolledLayer m_layer;
    std::vector<RnnCellMatch> m_cells; ///< the last one first
    std::vector<OperatorId> m_ops;
    std::array<Numbers, 2> m_weights;
    std::vector<float> m_bias;
};

Outcome loopedRnn(Site& site, OperatorId root) { return RnnReader(site, root).read(); }
Outcome unrolledRnn(Site& site, OperatorId root) { return UnrolledRnn(site, root).read(); }

} // namespace

std::span<const Rule> rnnRules()
{
    static const std::vector<Rule> rules = {
        {"rnn-loop", FusionEquality::realEqual, {}, "", nullptr, {"While", "StatelessWhile", "while"}, loopedRnn},
        {"rnn-unrolled", FusionEquality::realEqual, {}, "", nullptr, {"tanh", "relu", "relu6", "add"}, unrolledRnn},
    };
    return rules;
}

} // namespace loopscope::fusing
