// The part of a loop's state that decides how long it runs, and whether that part comes again: a loop whose deciding state repeats never
// ends, whatever else it counts or collects.
#pragma once

#include "engine/base/hash.h"
#include "engine/ir/frames.h"
#include "engine/ir/model.h"
#include "engine/tensor/tensor.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace loopscope {

/// The graphs of a While.
struct LoopGraphs {
    GraphId cond, body;
};
LoopGraphs graphsOf(const Operator& loop);

/// The carried values that a loop's condition depends on, in this iteration or through later ones.
struct DecidingValues {
    std::vector<size_t> positions; ///< ascending, of those that the body may change
    bool isAll = false;            ///< the loop carries nothing else that changes
    /// Nothing else has a part in it: no variables, tables, random numbers or operators that nobody knows.
    bool isPure = true;
};
DecidingValues decidingValues(const Model& model, const Operator& loop);

/// The same of a frame of a v1 graph: the Merges of its loop variables.
struct DecidingMerges {
    std::vector<OperatorId> merges;
    bool isAll = false;
    bool isPure = true;
};
DecidingMerges decidingMerges(const Graph& graph, const Frame& frame, ValueId condition);

/// Looks for a state that comes again, in memory that does not grow with the iterations.
class StateHistory {
public:
    /// The contents of one value of the next state. False: it cannot be compared, or there is too much of it; nothing is found any more.
    bool add(const Tensor& tensor);
    /// The state is whole: what was added since the last call.
    void note(int64_t iteration);
    /// No repetition is to be looked for: something beside the values decides.
    void giveUp() { m_isLost = true; }

    bool isFound() const { return m_repeated >= 0; }
    bool isUseful() const { return !m_isLost && !isFound(); }
    int64_t repeated() const { return m_repeated; } ///< iteration whose state was there before
    int64_t original() const { return m_original; }

private:
    bool m_isLost = false;
    int64_t m_repeated = -1, m_original = -1;
    Hash128 m_kept;
    int64_t m_keptIteration = 0;
    std::vector<std::byte> m_state;
    std::unordered_map<uint64_t, std::pair<uint64_t, int64_t>> m_states;
};

/// "x of iteration 6 = x of iteration 3, and nothing else decides: the loop repeats itself and cannot end."
std::string repetitionText(const StateHistory& history, const std::vector<std::string>& names, bool isAll);

} // namespace loopscope
