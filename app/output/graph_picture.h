// Pictures of graphs for pages: which operators of two models stand for each other, and SVG in which every operator says so.
#pragma once

#include "app/output/report_page.h"
#include "engine/base/result.h"
#include "engine/ir/model.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope::app {

/// Numbers that partners share: operators of one origin, and what those that share one have further. Every operator has a number.
struct Partners {
    struct Side {
        std::vector<std::vector<int>> operators; ///< by graph and operator
        std::vector<std::vector<int>> values;    ///< by graph and value: inputs of functions that stand for a value; −1: none
    };
    Side before, after;
    std::vector<char> isAlone; ///< by number: the other side has none of it
    int count() const { return static_cast<int>(isAlone.size()); }

    /// Of the operator of that name; in `graph` if it is not empty, else in the first graph that has one. −1: there is none.
    static int find(const Model& model, const Side& side, std::string_view graph, std::string_view name);
};

/// By Operator::origin, which every rewrite keeps (docs/transform.md), and by what raised functions say of their inputs.
Partners partnersByOrigin(const Model& before, const Model& after);

/// Whether nodes of TensorFlow graphs that only give constants are drawn; in files of TFLite these are no operators. Without them the
/// nodes show what they compute.
enum class SourceNodes : uint8_t { drawn, hidden };

/// The graph that `root` names (empty: the primary one) with all that it calls drawn inside, as `export-graph` draws it; large graphs with
/// groups folded, which the note says. `side`: the model's of `partners`. Errors: of Graphviz.
Result<ReportPicture> drawGraph(const Model& model, std::string_view root, std::string heading, const Partners& partners,
                                const Partners::Side& side, SourceNodes sources = SourceNodes::drawn);

} // namespace loopscope::app
