// What a typed place or pattern stands for in a model: operators and values, and which ways through the calls lead there. All that can be
// known is worked out once, so that looking at a hit compares numbers.
#pragma once

#include "engine/debug/place.h"
#include "engine/debug/target.h"
#include "engine/exec/executor.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// Which calls, from the root on, lead to an invocation.
class PathFilter {
public:
    PathFilter() = default;
    PathFilter(const Model& model, const std::vector<AddressStep>& steps);
    /// Every path: nothing has to be looked at.
    bool isOpen() const { return m_isOpen; }
    /// Whether the stack of `frames` frames is one of the paths.
    bool matches(const Executor& executor, int frames) const;
    /// The innermost frame must be in this iteration; −1: any or several.
    int64_t onlyIteration() const;
    /// Graphs that a run of `root` can get to on such a path.
    std::vector<GraphId> graphs(const Model& model, GraphId root) const;

private:
    struct Step {
        bool any = false; ///< `...`
        StepRole role = StepRole::none;
        int32_t branch = -1;
        int64_t iteration = -1;
        std::optional<IterationSet> iterations;
        std::vector<std::vector<bool>> sites; ///< by graph and operator
    };
    bool matchesFrame(const Step& step, const FrameInfo& frame, GraphId caller) const;

    std::vector<Step> m_steps;
    bool m_isOpen = true;
    bool m_hasAny = true;
};

struct PlacedOperator {
    GraphId graph;
    OperatorId op;
    int32_t slot = -1; ///< one result; −1: all of them
};
struct PlacedValue {
    GraphId graph;
    ValueId value;
};

struct Places {
    std::string text; ///< canonical
    PathFilter path;
    std::vector<PlacedOperator> operators;
    std::vector<PlacedValue> values; ///< without an operator: inputs and variables of graphs
    bool isInvocation = false;       ///< `operators` are the first ones of invocations
    bool isFrame = false;            ///< and those are v1 frames: `operators` are all that run in them
    bool isEverything = false;       ///< names no particular operator: `...`, `/*`
};

/// Patterns, canonical or short against `frame`; `"full name"`. Errors: usage, with near names; usage if nothing in the model fits.
Result<Places> resolvePlaces(const DebugTarget& target, FrameContext frame, std::string_view text);
/// Every operator that the run can get to.
Places allPlaces(const DebugTarget& target);
/// One loop operator, at a place. Errors: usage if it is none.
Result<Places> resolveLoop(const DebugTarget& target, FrameContext frame, std::string_view text);

/// Names of values and operators of a graph, for "did you mean".
std::vector<std::string> namesIn(const Graph& graph);

} // namespace loopscope
