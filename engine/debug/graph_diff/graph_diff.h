// Which operators of one model are which of another, whatever they are called: kept, renamed, moved, changed, fused, split, added, removed.
// Works across formats and number types: TensorFlow's names stand for TFLite's, constants are known by content, quantization is passed
// over.
#pragma once

#include "engine/ir/model.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// What tells that operators belong together, from the surest to the weakest.
enum class MatchedBy : uint8_t {
    content,    ///< the same operators, attributes and constants lead to it, or lead on from it
    name,       ///< called alike, and of one kind
    neighbours, ///< of one kind, at the same place beside operators that match
    structure,  ///< of one kind, in the same surroundings
    place,      ///< of another kind, between operators that match
};
std::string_view matchedByText(MatchedBy how);

/// Operators that belong together. One on each side: the same operator, maybe changed. Several: fused or split. None on one side: removed
/// or added.
struct MatchedGroup {
    GraphId graph, graphThere;
    std::vector<OperatorId> here, there; ///< in the order of their graphs; the first is the one that kept its kind
    MatchedBy how = MatchedBy::content;
    bool isMoved = false; ///< reads another operator's result than its partner does
};

struct GraphDiff {
    std::vector<MatchedGroup> groups; ///< by graph, in the order of this side; what only the other has comes last
    int64_t matched = 0;              ///< operators of this side with a partner
    int64_t onlyHere = 0, onlyThere = 0;
};

/// Of everything that the two roots reach; constants and what only passes a value on count where they have a partner. Time grows with the
/// number of operators, not with its square.
GraphDiff diffGraphs(const Model& here, GraphId root, const Model& there, GraphId rootThere);
/// Of two graphs alone, which may be made of several of their models; the graphs of the groups are invalid.
GraphDiff diffGraphs(const Model& here, const Graph& graph, const Model& there, const Graph& graphThere);

/// What operators of several dialects that compute the same are called: "conv2d", "add", "matmul".
std::string kindAcrossDialects(const Kind& kind);

} // namespace loopscope
