// Which value of a TensorFlow 1 graph a value of the graph that was raised from it stands for. What raising knows is in the model itself,
// so that files keep it: ordinary operators are called after their nodes, everything else says it in attributes.
#pragma once

#include "engine/ir/model.h"

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loopscope {

/// Of a function that was made from a part of a v1 graph: that graph's id, and the names of the frames around the part, outermost first.
inline constexpr std::string_view kOriginGraph = "_origin_graph";
inline constexpr std::string_view kOriginFrames = "_origin_frames";
/// Of an operator: `node` or `node:slot` for each result, "" for what stands for nothing. Of a function's input: one such text.
inline constexpr std::string_view kOrigin = "_origin";
/// Of an Identity that was an Enter of a frame in which nothing goes round: that frame's name. Its nodes lie where the frame lay.
inline constexpr std::string_view kOriginOpened = "_origin_opened";

/// A value of a v1 graph, in every iteration of its frames, and the value that stands for it.
struct OriginPair {
    std::string sourceGraph;         ///< id of the v1 graph
    std::vector<std::string> frames; ///< names of its frames, outermost first; empty: the graph itself
    std::string node;
    int32_t slot = 0;
    GraphId graph; ///< of the raised model
    ValueId value;
};

/// All pairs of a raised model, by graph and value. Values without a partner are left out. In a model that was never raised every node
/// stands for itself.
std::vector<OriginPair> originPairs(const Model& raised);

/// The frames that a graph of a raised model was part of; empty: none.
std::vector<std::string> originFrames(const Graph& graph);

/// The frames of a v1 graph that are no frames and no loops any more, since nothing goes round in them: their names.
std::set<std::string> openedFrames(const Model& raised, std::string_view sourceGraph);

/// Where the operator came from: its origin, or, where that is empty, what it is called in its file: its name, or `0:INDEX`.
std::vector<std::string> originsOf(const Operator& op, OperatorId id);

/// Whether some graph of the model says that it was made from a part of a v1 graph.
bool isRaised(const Model& model);

/// The v1 nodes that an operator of a raised model stands for, each once: what it says, else what rewrites kept, else its own name.
std::vector<std::string> originNodes(const Graph& graph, const Operator& op);

/// "node:2" in its parts; "node" is slot 0.
std::pair<std::string, int32_t> originParts(std::string_view text);

} // namespace loopscope
