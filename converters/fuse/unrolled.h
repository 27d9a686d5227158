// A recurrent layer as one cell after the other, each of which takes a part of what takes the sequence apart: what LSTM, GRU and plain
// cells share, in both dialects.
#pragma once

#include "converters/fuse/cells.h"
#include "converters/fuse/site.h"

#include <span>
#include <string>
#include <vector>

namespace loopscope::fusing {

class UnrolledLayer {
public:
    /// `root` computes the output of the last cell. Cells are added from the last to the first.
    UnrolledLayer(Site& site, OperatorId root) : m_site(site), m_graph(site.editor().graph()), m_root(root) {}

    /// Whether a cell that takes `x` and gives `output` comes before those that were added. True, and `isDone` says whether it takes the
    /// first step.
    bool add(ValueId x, ValueId output, bool& isDone);
    /// What computes `output` out of `stops` and constants.
    std::vector<OperatorId> between(ValueId output, const std::vector<ValueId>& stops);
    /// Constants of the same numbers: what was put into a product of each cell is a copy for each.
    bool isSame(ValueId a, ValueId b);
    /// That `ops`, which compute all outputs, can go, and what the sequence is; why not.
    std::string close(const std::vector<OperatorId>& ops);
    /// Why `state` is none to begin with; empty: it is. Invalid: zeros.
    std::string unfitState(ValueId state);
    /// What the layer begins with: zeros are stored, for they may come out of something.
    ValueId stateOf(ValueId state, int64_t cells, const std::string& name);

    /// The layer, whose only result is all outputs, in their place.
    Outcome put(OperatorDraft draft, int64_t cells, const std::string& name);
    /// The layer, whose only result is the last output, in its place.
    Outcome putLast(OperatorDraft draft, int64_t cells, const std::string& name);

    /// What the layer goes over: turned around for cells that begin with the last step.
    ValueId sequence(const std::string& name);
    const Shape& shape() const { return m_shape; } ///< [steps, batch, inputs]
    bool givesAll() const { return m_pack.valid(); }
    const Numbers* floats(ValueId value) { return m_site.constants().floats(m_site.behindIdentities(value)); }
    std::string noConstants(ValueId weights) const;

private:
    void walk(ValueId value, const std::vector<ValueId>& stops, std::vector<OperatorId>& found);
    void findPack();
    bool isZero(ValueId state);
    bool isReadElsewhere() const;
    void takePlace(OperatorId pack, OperatorId made, ValueId sequence);
    OperatorId insert(OperatorDraft draft, const Shape& shape, const std::string& name);
    Outcome finish(OperatorId made);

    Site& m_site;
    const Graph& m_graph;
    OperatorId m_root, m_unpack, m_pack;
    std::vector<ValueId> m_outputs; ///< the first one first
    int m_expected = 0;             ///< the step of the cell that comes next
    bool m_isBackwards = false;
    std::vector<OperatorId> m_ops;
    std::vector<std::string> m_names;
    ValueId m_sequence;
    Shape m_shape;
};

} // namespace loopscope::fusing
