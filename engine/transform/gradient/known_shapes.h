// What can be known of shapes before a graph runs, beyond what its file states: inference carried through functions and loops. Gradients
// are built for it, since what a shape says then costs nothing in each iteration.
#pragma once

#include "engine/ir/model.h"

#include <cstdint>
#include <span>
#include <vector>

namespace loopscope {

class KnownShapes {
public:
    explicit KnownShapes(const Model& model) : m_model(model) {}

    /// States for each result of `graph`, which may be a copy, what follows from the types of its inputs. What is stated stays.
    void refine(Graph& graph);
    /// The shapes of a function's outputs if its inputs have those. Of unknown rank where nothing is known.
    std::vector<Shape> outputs(GraphId function, std::span<const Shape> inputs);
    /// The shapes that the variables of a While have in all iterations, the initial ones being `initial`.
    std::vector<Shape> carried(GraphId body, std::span<const Shape> initial);

private:
    class Inference;

    const Model& m_model;
    int m_depth = 0;
    int64_t m_budget = 300'000; ///< operators that are still looked at: functions in functions may be many
};

/// What either of them knows; `stated` where they contradict each other.
Shape moreOf(const Shape& stated, const Shape& found);

} // namespace loopscope
