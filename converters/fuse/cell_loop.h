// A While that goes through a sequence, a step each time round: what recurrent layers have in common, whatever their cell is. Outputs are
// gathered in a list of TensorFlow, or, as TensorFlow's converter lowers it for TFLite, in a tensor of which each step replaces a row.
#pragma once

#include "converters/fuse/cells.h"
#include "converters/fuse/hybrid_weights.h"
#include "converters/fuse/site.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope::fusing {

/// Where the outputs of the layer are read.
struct GatheredOutputs {
    ValueId value;       ///< all of them as one tensor
    OperatorId reader;   ///< what makes a tensor of a list; invalid: the loop itself gives it
    bool isLast = false; ///< only the last one, as a sequence of one
};

class CellLoop {
public:
    CellLoop(Site& site, OperatorId loop) : m_site(site), m_loop(loop), m_op(site.editor().op(loop)), m_graph(site.editor().graph()) {}

    /// Finds body and condition; false: they are no loop's.
    bool open();
    const Graph& body() const { return *m_body; }
    const Operator& op() const { return m_op; }
    size_t count() const { return m_op.inputs.size(); }
    ValueId argument(size_t k) const { return m_body->inputs[k]; }
    ValueId next(size_t k) const { return behindIdentities(*m_body, m_body->outputs[k].value); }
    bool isInvariant(size_t k) const { return next(k) == m_body->inputs[k]; }
    /// What carried value k begins with.
    const Value& initial(size_t k) const { return m_graph.value(m_site.behindIdentities(m_op.inputs[k])); }
    /// Which of the carried values it is; −1: none.
    static int argumentOf(const Graph& graph, ValueId value);

    /// Each tells why it is not so; empty: it is.
    std::string findSequence(ValueId step); ///< that `step` is row i of it in round i
    std::string countSteps();               ///< that the loop goes once over the sequence
    /// That of the results only the final `output` (a carried value) and outputs are used.
    std::string findResults(int output, int state);

    ValueId sequence() const { return m_sequence; }
    const Shape& shape() const { return m_shape; } ///< time, batch, inputs
    const std::vector<GatheredOutputs>& gathered() const { return m_gathered; }

    /// Numbers of the body: a constant, an operand of the loop that does not change, or a part of one along its first dimension.
    bool numbersIn(ValueId value, Numbers& numbers, int depth = 0) const;

    /// The same of bytes with scales.
    std::optional<StoredWeights> bytesIn(ValueId value) const;

    /// As floats what is stored as bytes with scales.
    bool widenedIn(ValueId value, Numbers& numbers) const;
    /// Why neither is there.
    std::string noConstants(ValueId weights) const;

    /// Why carried value k is no state that TFLite's operators begin with; empty: it is.
    std::string unfitState(size_t k, std::string_view what) const;
    /// Whether carried value k begins with zeros.
    bool beginsWithZeros(size_t k) const;
    /// Of what carried value k begins with.
    Shape stateShape(size_t k) const;
    /// What it begins with: zeros are stored, for they may come out of something.
    ValueId stateOf(size_t k, const std::string& name) const;

    /// A layer that gives the whole sequence, for what is read of it; carried value `output` is its last step.
    OperatorId putLayer(OperatorDraft draft, size_t output, const std::string& name);
    /// `draft` gives what `value` was: in its place, or before the loop where that is nothing's.
    OperatorId put(OperatorDraft draft, ValueId value);
    /// The same for outputs that are gathered.
    void put(OperatorDraft draft, const GatheredOutputs& gathered);
    /// What only served the loop goes.
    Outcome finish(OperatorId made);

private:
    bool counts(int k) const;
    bool isNextOf(ValueId value, int k) const;
    int rowTaken(const Operator& taken, int& from) const;
    void limits(const Graph& cond, ValueId condition, std::vector<std::optional<int64_t>>& found, int depth) const;
    std::string findGathered(size_t k, ValueId output);
    std::string listOutputs(size_t k, const Operator& set, ValueId output);
    bool isReplacedRow(size_t k, const Operator& op, ValueId output) const;
    void collect(ValueId value, std::vector<OperatorId>& found) const;

    Site& m_site;
    OperatorId m_loop;
    const Operator m_op;
    const Graph& m_graph;
    const Graph *m_body = nullptr, *m_cond = nullptr;
    ValueId m_sequence;
    Shape m_shape;
    std::vector<GatheredOutputs> m_gathered;
    std::vector<std::string> m_names; ///< of the operators that go
};

} // namespace loopscope::fusing
