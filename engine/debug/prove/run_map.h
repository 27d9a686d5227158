// Which writes of two runs are writes of one value: by the call that they lie in, its iteration, and the value. A proof compares by it,
// wherever it comes from: names, addresses, the origin that a rewrite kept, or what somebody says.
#pragma once

#include "engine/debug/reference/value_pairing.h"
#include "engine/ir/model.h"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace loopscope {

/// Static tables, one for each side; scope 0 is the root graph of a side. Both sides give a call that pairs the same mark and a value that
/// pairs the same key; nothing else ties them together, so that a frame may pair with a loop, and what lies in a branch of one side with
/// what lies outside of any on the other.
class RunMap {
public:
    enum Side : uint8_t { here, there };

    struct Call {
        int32_t scope = -1; ///< what is called; −1: nothing in it pairs
        uint32_t mark = 0;  ///< 0: a call that the other side does not have: what is in it pairs as if it lay outside
    };
    struct Scope {
        GraphId graph;
        std::vector<uint32_t> keys;                           ///< of each value of the graph; 0: it has no partner
        std::map<std::pair<OperatorId, GraphId>, Call> calls; ///< by site and graph entered; a v1 frame by its first Enter and its graph
    };

    /// What pairs by address decides a proof; what pairs by name or structure is a guess, which only tells where a difference begins.
    static RunMap ofPairing(const ValuePairing& pairing, const Model& model, GraphId root, const Model& reference, GraphId referenceRoot);
    /// Says that values of the two root graphs are one; that decides.
    void pair(ValueId value, ValueId reference);

    // For those that know the pairs, such as a rewrite.
    int32_t addScope(Side side, const Model& model, GraphId graph);
    /// A value may have several partners there, of which each run of its graph writes one; false if `reference` has another one.
    bool addPair(int32_t scope, ValueId value, int32_t scopeThere, ValueId reference, bool decides);
    void addCall(Side side, int32_t scope, OperatorId site, GraphId entered, Call call);
    uint32_t newMark() { return ++m_marks; }
    /// Says how the pairs were found and which values have none.
    void setSummary(PairingSummary summary) { m_summary = std::move(summary); }

    const std::vector<Scope>& scopes(Side side) const { return m_scopes[side]; }
    uint32_t keyCount() const { return static_cast<uint32_t>(m_decides.size()); } ///< keys are below it
    bool decides(uint32_t key) const { return m_decides[key] != 0; }
    const PairingSummary& summary() const { return m_summary; }

private:
    std::array<std::vector<Scope>, 2> m_scopes;
    std::vector<char> m_decides = {0};
    uint32_t m_marks = 0;
    PairingSummary m_summary;
};

} // namespace loopscope
