// The part of a graph that a rewrite changed, before and after, as two models that can be run side by side: what a rewrite promises is
// proved on it alone.
#pragma once

#include "converters/fuse/fuse.h"
#include "engine/transform/graph_editor.h"

#include <memory>
#include <span>
#include <vector>

namespace loopscope::fusing {

/// A graph as it was before a rewrite. Ids of operators and values keep their meaning while one editor lives.
struct GraphState {
    Graph graph;
    std::vector<bool> isAlive;
};
GraphState stateOf(const GraphEditor& editor);

/// Operators, producers first, as a graph of their own.
Graph cutOut(const Graph& source, std::span<const OperatorId> operators, std::span<const ValueId> inputs, std::span<const ValueId> outputs);

/// What became of values that something reads still. Its inputs are the values that the rewrite left alone; what is computed from constants
/// alone belongs to it. Null: nothing that is read has changed.
std::shared_ptr<const FusionRegion> changedRegion(const Model& model, const GraphState& before, const GraphEditor& editor);

} // namespace loopscope::fusing
