// An LSTM as one cell after the other, each of which takes a part of what takes the sequence apart.
#include "converters/fuse/lstm.h"
#include "converters/fuse/pattern.h"
#include "converters/fuse/unrolled.h"

#include <algorithm>
#include <utility>

namespace loopscope::fusing {

namespace {

Outcome refused(std::string reason) { return Outcome::declined("UNIDIRECTIONAL_SEQUENCE_LSTM", std::move(reason)); }

class UnrolledReader {
public:
    UnrolledReader(Site& site, OperatorId root) : m_site(site), m_graph(site.editor().graph()), m_root(root), m_layer(site, root) {}

    Outcome read()
    {
        if (!findCells()) return Outcome::nothing();
        if (std::string reason = readWeights(); !reason.empty()) return refused(std::move(reason));
        if (std::string reason = collectOps(); !reason.empty()) return refused(std::move(reason));
        for (const ValueId state : {m_cells.back().h, m_cells.back().c})
            if (std::string reason = m_layer.unfitState(state); !reason.empty()) return refused(std::move(reason));
        if (std::string reason = unfitWeights(m_weights, m_layer.shape()[2]); !reason.empty()) return refused(std::move(reason));
        return write();
    }

private:
    /// From the last to the first.
    bool findCells()
    {
        ValueId output = m_graph.op(m_root).results[0];
        for (bool isDone = false;;) {
            LstmCellMatch cell = matchLstmCell(m_graph, output, {});
            if (!cell.isCell() && !m_cells.empty()) cell = matchFirstLstmCell(m_graph, output);
            if (!cell.isCell() || !m_layer.add(cell.x, output, isDone) || (cell.isFirst && !isDone)) return false;
            output = cell.h;
            m_cells.push_back(std::move(cell));
            if (isDone) return m_cells.size() > 1 || !m_cells.front().isFirst;
        }
    }

    std::string readWeights()
    {
        const LstmCellMatch& last = m_cells.front();
        m_weights.gates = last.gates;
        for (const auto& [product, to] : {std::pair(&last.kernel, &m_weights.kernel), std::pair(&last.recurrent, &m_weights.recurrent)}) {
            const Numbers* const numbers = m_layer.floats(product->weights);
            if (numbers == nullptr) return m_layer.noConstants(product->weights);
            *to = straightWeights(*numbers, product->isTurned);
        }
        for (const ValueId bias : last.biases) {
            const Numbers* const numbers = m_layer.floats(bias);
            if (numbers == nullptr) return m_layer.noConstants(bias);
            if (!addBias(m_weights, *numbers)) return "the biases are of different sizes";
        }
        return "";
    }

    std::string collectOps()
    {
        const LstmCellMatch& last = m_cells.front();
        std::vector<OperatorId> ops;
        for (const LstmCellMatch& cell : m_cells) {
            if (cell.gates != last.gates || cell.activation != last.activation) return "the cells differ";
            std::vector<ValueId> own = cell.biases, others = last.biases;
            own.push_back(cell.kernel.weights);
            others.push_back(last.kernel.weights);
            if (!cell.isFirst) {
                own.push_back(cell.recurrent.weights);
                others.push_back(last.recurrent.weights);
            }
            if (!std::ranges::equal(own, others, [&](ValueId a, ValueId b) { return m_layer.isSame(a, b); }))
                return "the cells have different weights";
            ops.insert(ops.end(), cell.ops.begin(), cell.ops.end());
        }
        return m_layer.close(ops);
    }

    Outcome write()
    {
        const std::string name = m_site.nameOf(m_root) + "/fused";
        const LstmCellMatch &first = m_cells.back(), &last = m_cells.front();
        const int64_t cells = m_weights.kernel.shape[1] / 4;
        const LstmNode node = {m_layer.sequence(name + "/turned"),
                               m_layer.stateOf(first.h, cells, name + "/h0"),
                               m_layer.stateOf(first.c, cells, name + "/c0"),
                               m_weights,
                               upperCase(last.activation),
                               true,
                               true};
        return m_layer.put(lstmDraft(m_site, node, name, m_root), cells, name);
    }

    Site& m_site;
    const Graph& m_graph;
    OperatorId m_root;
    UnrolledLayer m_layer;
    std::vector<LstmCellMatch> m_cells; ///< the last one first
    LstmWeights m_weights;
};

} // namespace

Outcome unrolledLstm(Site& site, OperatorId root) { return UnrolledReader(site, root).read(); }

} // namespace loopscope::fusing
