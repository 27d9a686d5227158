// A GRU as one cell after the other: named, and Circle's operator where the result is for Circle.
#include "converters/fuse/lstm.h"
#include "converters/fuse/pattern.h"
#include "converters/fuse/unrolled.h"

#include <algorithm>
#include <utility>

namespace loopscope::fusing {

namespace {

Outcome refused(std::string reason) { return Outcome::declined("GRU", std::move(reason)); }

class UnrolledGru {
public:
    UnrolledGru(Site& site, OperatorId root) : m_site(site), m_graph(site.editor().graph()), m_root(root), m_layer(site, root) {}

    Outcome read()
    {
        if (!findCells()) return Outcome::nothing();
        if (!m_site.isForCircle()) return Outcome::labelled("GRU");
        if (!m_cells.front().refused.empty()) return refused(m_cells.front().refused);
        if (std::string reason = m_layer.close(m_ops); !reason.empty()) return refused(std::move(reason));
        if (m_layer.givesAll()) return refused("the caller uses all outputs: the operator gives the last one");
        if (m_layer.shape()[1] < 0) return refused(unknownBatch("the sequence"));
        if (m_layer.shape()[1] != 1) return refused("Circle's runtime knows the operator for a batch of 1 only");
        for (const auto& find : {&UnrolledGru::readWeights, &UnrolledGru::compareFirst})
            if (std::string reason = (this->*find)(); !reason.empty()) return refused(std::move(reason));
        if (std::string reason = m_layer.unfitState(m_state); !reason.empty()) return refused(std::move(reason));
        const std::string name = m_site.nameOf(m_root) + "/fused";
        const ValueId h0 = m_layer.stateOf(m_state, m_width, name + "/h0");
        return m_layer.putLast(gruDraft(m_site, m_cells.front(), m_numbers, m_layer.sequence(name + "/turned"), h0, m_width, name, m_root),
                               m_width, name);
    }

private:
    /// From the last to the first. Cells that the operator does not compute are one, too: the last one says why.
    bool findCells()
    {
        ValueId output = m_graph.op(m_root).results[0];
        for (bool isDone = false; !isDone;) {
            ValueId state;
            GruCellMatch cell = cellOf(output, state);
            if (!cell.isFound) return !m_cells.empty() && readFirst(output);
            if (!cell.refused.empty() && m_cells.empty()) return isBehindAnother(cell, state);
            if (!cell.refused.empty() || !m_layer.add(cell.x, output, isDone)) return false;
            add(output, cell.x, state);
            m_cells.push_back(std::move(cell));
            output = m_state = state;
        }
        return true;
    }

    /// Of a cell whose parts are not known: another one gives its state, and none takes what it gives.
    bool isBehindAnother(GruCellMatch& cell, ValueId state)
    {
        for (const ValueUse& use : m_site.editor().uses(m_graph.op(m_root).results[0])) {
            if (use.kind != ValueUse::Kind::operand || cellKind(m_graph.op(use.op)) != "mul") continue;
            const Operator& reader = m_graph.op(use.op);
            if (std::ranges::any_of(reader.inputs, [&](ValueId of) { return producerIn(m_graph, of, "logistic", 1) != nullptr; }))
                return false;
        }
        ValueId before;
        if (!cellOf(state, before).isFound) return false;
        m_cells.push_back(std::move(cell));
        return true;
    }

    /// z · h + (1 − z) · tanh(n): h is one of four operands.
    GruCellMatch cellOf(ValueId output, ValueId& state) const
    {
        const Operator* const sum = producerIn(m_graph, output, "add", 2);
        if (sum == nullptr) return {};
        for (const ValueId side : sum->inputs) {
            const Operator* const product = producerIn(m_graph, side, "mul", 2);
            if (product == nullptr) continue;
            for (const ValueId operand : product->inputs) {
                state = behindIdentities(m_graph, operand);
                GruCellMatch cell = matchGruCell(m_graph, output, state);
                if (cell.isFound) return cell;
            }
        }
        return {};
    }

    bool readFirst(ValueId output)
    {
        bool isDone = false;
        m_first = matchFirstGruCell(m_graph, output);
        if (!m_first.isFound || !m_layer.add(m_first.kernel.left, output, isDone) || !isDone) return false;
        add(output, m_first.kernel.left, {});
        m_state = {};
        return true;
    }

    void add(ValueId output, ValueId x, ValueId state)
    {
        const std::vector<OperatorId> ops = m_layer.between(output, {x, state});
        m_ops.insert(m_ops.end(), ops.begin(), ops.end());
    }

    std::string readWeights()
    {
        const GruCellMatch& last = m_cells.front();
        const std::array<ValueId, 4> given = {last.kernel.weights, last.kernel.bias, last.recurrent.weights, last.recurrent.bias};
        for (size_t k = 0; k < given.size(); ++k) {
            if (!given[k].valid()) continue;
            const Numbers* const numbers = m_layer.floats(given[k]);
            if (numbers == nullptr) return m_layer.noConstants(given[k]);
            m_numbers.at(k) = *numbers;
        }
        m_numbers[0] = straightWeights(std::move(m_numbers[0]), last.kernel.isTurned);
        m_numbers[2] = straightWeights(std::move(m_numbers[2]), last.recurrent.isTurned);
        if (m_numbers[2].shape.rank() != 2) return "the weights are " + toString(m_numbers[2].shape);
        m_width = m_numbers[2].shape[0];
        const int64_t parts = 3 * m_width;
        const std::array<Shape, 2> wanted = {Shape{m_layer.shape()[2], parts}, Shape{m_width, parts}};
        for (const size_t k : {0, 1}) {
            if (m_numbers.at(2 * k).shape != wanted.at(k)) return "the weights are " + toString(m_numbers.at(2 * k).shape);
            const size_t biases = m_numbers.at(2 * k + 1).values.size();
            if (biases != 0 && static_cast<int64_t>(biases) != parts) return "the bias has " + std::to_string(biases) + " numbers";
        }
        for (const GruCellMatch& cell : m_cells) {
            const bool isSame = cell.gates == last.gates && areSame(cell.kernel, last.kernel) && areSame(cell.recurrent, last.recurrent);
            if (!isSame) return "the cells have different weights";
        }
        return "";
    }

    bool areSame(const WeightedProduct& a, const WeightedProduct& b)
    {
        return a.isTurned == b.isTurned && m_layer.isSame(a.weights, b.weights) && a.bias.valid() == b.bias.valid() &&
               (!a.bias.valid() || m_layer.isSame(a.bias, b.bias));
    }

    /// What is left of the first cell is what zeros make of the others.
    std::string compareFirst()
    {
        if (!m_first.isFound) return "";
        const GruCellMatch& last = m_cells.front();
        if (m_first.gates != last.gates || !areSame(m_first.kernel, last.kernel)) return "the first cell has other weights";
        for (size_t k = 0; k < m_first.biases.size(); ++k) {
            const Numbers* const bias = m_layer.floats(m_first.biases.at(k));
            if (bias == nullptr || m_numbers[3].values.empty() || static_cast<int64_t>(bias->values.size()) != m_width)
                return "the first cell has another bias";
            const auto from = m_numbers[3].values.begin() + last.gates.at(k) * m_width;
            if (!std::equal(bias->values.begin(), bias->values.end(), from)) return "the first cell has another bias";
        }
        return "";
    }

    Site& m_site;
    const Graph& m_graph;
    OperatorId m_root;
    UnrolledLayer m_layer;
    std::vector<GruCellMatch> m_cells; ///< the last one first
    FirstGruCell m_first;
    ValueId m_state; ///< before the first cell; invalid: zeros
    std::vector<OperatorId> m_ops;
    std::array<Numbers, 4> m_numbers; ///< kernel, bias, recurrent weights, their bias
    int64_t m_width = 0;
};

} // namespace

Outcome unrolledGru(Site& site, OperatorId root) { return UnrolledGru(site, root).read(); }

} // namespace loopscope::fusing
