// Which operators of a loop are live exactly where its predicate is true: whoever receives what they give needs not be told the predicate.
#pragma once

#include "engine/ir/frames.h"
#include "engine/ir/model.h"

#include <unordered_map>

namespace loopscope {

class LiveWithBody {
public:
    LiveWithBody(const Graph& graph, const FrameAnalysis& frames) : m_graph(graph), m_frames(frames) {}

    /// Whether `value`, made in a loop, is live in each iteration but the one in which the loop's predicate is false.
    bool operator()(ValueId value) { return kindOf(value, kDeepest) == Kind::body; }

private:
    enum class Kind : uint8_t { always, body, other };
    static constexpr int kDeepest = 64; ///< operators behind each other that are looked at

    Kind kindOf(ValueId value, int depth);
    Kind kindOf(OperatorId id, int depth);

    const Graph& m_graph;
    const FrameAnalysis& m_frames;
    std::unordered_map<int64_t, Kind> m_known; ///< operator
};

} // namespace loopscope
