// Recurrent layers of one gate: a loop whose state is an activation of the sum of a product with the input and one with the state.
#include "converters/fuse/cell_loop.h"
#include "converters/fuse/lstm.h"
#include "converters/fuse/pattern.h"

#include <algorithm>

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
void termsOf(const Graph& graph, const Operator& sum, std::vector<ValueId>& terms, int depth)
{
    constexpr int kDeepest = 8;
    for (const ValueId input : sum.inputs) {
        const Operator* op = producerIn(graph, input, "add", 2);
        if (op == nullptr) op = producerIn(graph, input, "bias_add", 2);
        if (op != nullptr && depth < kDeepest) termsOf(graph, *op, terms, depth + 1);
        else terms.push_back(input);
    }
}

RnnCellMatch matchRnnCell(const Graph& graph, ValueId next, ValueId state)
{
    RnnCellMatch cell;
    const Operator* sum = producerIn(graph, next);
    if (sum == nullptr) return cell;
    cell.activation = upperCase(neutralKind(sum->kind));
    if (sum->inputs.size() == 1) sum = producerIn(graph, sum->inputs[0], "add", 2);
    else cell.activation = activationOf(*sum); // TFLite may have put it into the sum
    if (sum == nullptr || neutralKind(sum->kind) != "add" || sum->inputs.size() != 2) return cell;
    if (cell.activation != "TANH" && cell.activation != "RELU" && cell.activation != "RELU6") return cell;
    std::vector<ValueId> terms;
    termsOf(graph, *sum, terms, 0);
    for (const ValueId term : terms) {
        const std::optional<WeightedProduct> product = weightedProduct(graph, term);
        if (!product) {
            cell.biases.push_back(term);
            continue;
        }
        WeightedProduct& side = product->left == state ? cell.recurrent : cell.kernel;
        if (side.left.valid()) return cell;
        side = *product;
        if (product->bias.valid()) cell.biases.push_back(product->bias);
    }
    cell.isFound = cell.recurrent.left.valid() && cell.kernel.left.valid();
    return cell;
}

class RnnReader {
public:
    RnnReader(Site& site, OperatorId loop) : m_site(site), m_id(loop), m_loop(site, loop) {}

    Outcome read()
    {
        if (!m_loop.open()) return Outcome::nothing();
        for (size_t k = 0; k < m_loop.count() && !m_cell.isFound; ++k) {
            if (m_loop.isInvariant(k)) continue;
            m_cell = matchRnnCell(m_loop.body(), m_loop.next(k), m_loop.argument(k));
            m_output = k;
        }
        if (!m_cell.isFound) return Outcome::nothing();
        for (const auto& find : {&RnnReader::findLayer, &RnnReader::readWeights})
            if (std::string reason = (this->*find)(); !reason.empty()) return Outcome::declined(kTo, std::move(reason));
        return write();
    }

private:
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
        OperatorDraft draft;
        draft.kind = {"tfl", "unidirectional_sequence_rnn"};
        draft.attributes = {{"act", Word{m_cell.activation}}, {"time_major", true}, {"@stateless", true}};
        if (m_scales[0] != 0 && m_cell.kernel.isAsymmetric) draft.attributes.push_back({"asymmetric_quantize_inputs", true});
        draft.inputs = {m_loop.sequence(), weightsOf(0, name + "/kernel"), weightsOf(1, name + "/recurrent"),
                        m_site.constant(name + "/bias", Shape{cells}, std::span<const float>(m_bias), m_id),
                        m_loop.stateOf(m_output, name + "/h0")};
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

Outcome loopedRnn(Site& site, OperatorId root) { return RnnReader(site, root).read(); }

} // namespace

std::span<const Rule> rnnRules()
{
    static const std::vector<Rule> rules = {
        {"rnn-loop", FusionEquality::realEqual, {}, "", nullptr, {"While", "StatelessWhile", "while"}, loopedRnn},
    };
    return rules;
}

} // namespace loopscope::fusing
