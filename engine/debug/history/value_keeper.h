// Past writes of one value, kept while a run goes on: what `prev(x)`, `first(x)` and `changed(x)` read, and what watches compare with.
// What was not kept, because the cursor jumped, is made again by running that part of the run.
#pragma once

#include "engine/debug/target.h"
#include "engine/exec/traps.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace loopscope {

/// One write: the value as an invocation of its graph left it.
struct KeptWrite {
    InvocationId invocation = 0; ///< 0: none
    Step step = -1;              ///< of the write
    uint64_t hash = 0;           ///< writeHash()
    int64_t unchanged = 0;       ///< writes in a row, up to this one, that equal the one before them
    bool hasCopy = false;
    Shape shape;
    Tensor tensor; ///< over `bytes`
    std::vector<std::byte> bytes;
};

/// Of dtype, shape and bytes: equal writes have equal hashes.
uint64_t writeHash(const Tensor& tensor);

/// Where a value gets its contents: after operators, or, for inputs of a graph, before its first operator.
struct WriteSite {
    OperatorId op;
    uint8_t trap = trapNone;
    int32_t slot = -1; ///< result of the operator; −1: read it from the frame
};
/// Empty for constants and for inputs of graphs without operators.
std::vector<WriteSite> writeSitesOf(const Model& model, GraphId graph, ValueId value);

class ValueKeeper {
public:
    ValueKeeper(const Model& model, GraphId graph, ValueId value)
        : m_graph(graph),
          m_value(value),
          m_sites(writeSitesOf(model, graph, value)),
          m_ring(2)
    {
    }

    GraphId graph() const { return m_graph; }
    ValueId value() const { return m_value; }
    const std::vector<WriteSite>& sites() const { return m_sites; }
    /// Keeps `writes` writes before the present one, with their contents or only their hashes; and the first of the run.
    void require(int64_t writes, bool copies, bool first);
    void addTraps(TrapSet& traps) const;
    void forget();
    void forgetWrites() { m_count = 0; } ///< all but the first of the run
    /// An operator of the graph has run or is about to (no results); it may be none of the value's sites.
    void record(const OperatorEvent& event, bool isAfter, const Executor& executor);

    /// The value that an invocation wrote was edited since.
    void amend(InvocationId invocation, const Tensor& tensor);

    /// The `back`-th write, from 1, of invocations that began before `now`; null: none is known. The present one: back = 0.
    const KeptWrite* before(InvocationId now, int64_t back) const;
    const KeptWrite* first() const { return m_first.invocation != 0 ? &m_first : nullptr; }
    bool keepsFirst() const { return m_keepsFirst; }
    /// Whether it holds as many writes as it may be asked for; if not, what lies further back is needed.
    bool isFull() const { return m_sites.empty() || m_count == m_ring.size(); }
    uint64_t byteSize() const;

private:
    void store(InvocationId invocation, Step step, const Tensor& tensor);

    GraphId m_graph;
    ValueId m_value;
    std::vector<WriteSite> m_sites;
    bool m_copies = false;
    bool m_keepsFirst = false;
    std::vector<KeptWrite> m_ring; ///< the newest at m_newest, older ones before it
    size_t m_newest = 0;
    size_t m_count = 0;
    KeptWrite m_first;
};

/// Makes the keepers hold what they would hold had they listened from the start of the run to here. Runs parts of the run again and stands
/// where it stood afterwards. Errors: of Timeline.
Status fillKeepers(const DebugTarget& target, std::span<ValueKeeper* const> keepers);

} // namespace loopscope
