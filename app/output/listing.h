// The text of a model line by line, each with the operator that it shows: for gutters, JSON, and the listing that a trace carries.
#pragma once

#include "engine/ir/model.h"
#include "engine/ir/text/printer.h"
#include "tracer/record/recorder.h"

#include <optional>
#include <string>
#include <vector>

namespace loopscope::app {

struct ListingLine {
    std::string text;
    GraphId graph; ///< invalid for header lines
    OperatorId op; ///< invalid where the line shows no operator
};

/// The canonical text of the model, or of one graph.
std::vector<ListingLine> listModel(const Model& model, std::optional<GraphId> graph, PrintOptions options = {});

/// The listing of a graph that a trace carries.
TraceListing graphListing(const Model& model, GraphId graph);

} // namespace loopscope::app
