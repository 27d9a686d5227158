#include "viewer/bridge/raised_model.h"

#include "engine/ir/frames.h"
#include "engine/ir/origin.h"
#include "engine/observe/address.h"
#include "engine/observe/address_names.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace loopscope::viewer {

namespace {

std::string addressInFrames(const Graph& graph, const FrameAnalysis* analysis, OperatorId node)
{
    Address address;
    address.root = graph.id;
    address.target = TargetKind::op;
    address.op = operatorName(graph.op(node), node.index);
    if (analysis != nullptr)
        for (int32_t frame = analysis->frameOf[static_cast<size_t>(node.index)]; frame > 0;
             frame = analysis->frames[static_cast<size_t>(frame)].parent) {
            AddressStep step;
            step.site.name = analysis->frames[static_cast<size_t>(frame)].name;
            step.role = StepRole::frame;
            address.steps.insert(address.steps.begin(), std::move(step));
        }
    return withoutIterations(toString(address));
}

} // namespace

std::string addressInFrames(const Graph& graph, OperatorId node)
{
    if (!hasFramesOrSwitches(graph)) return addressInFrames(graph, nullptr, node);
    const FrameAnalysis analysis = analyzeFrames(graph);
    return addressInFrames(graph, &analysis, node);
}

RaisedModel::RaisedModel(const Model& v1, std::shared_ptr<const Model> raised, std::vector<LeftAsItWas> left, size_t rewrites)
    : m_model(std::move(raised)),
      m_rewrites(rewrites)
{
    std::unordered_map<std::string_view, int64_t> graphs;
    std::vector<std::unordered_map<std::string_view, int64_t>> nodes(v1.graphs.size());
    for (size_t g = 0; g < v1.graphs.size(); ++g) {
        graphs.emplace(v1.graphs[g].id, static_cast<int64_t>(g));
        for (size_t o = 0; o < v1.graphs[g].operators.size(); ++o)
            nodes[g].emplace(v1.graphs[g].operators[o].name, static_cast<int64_t>(o));
    }
    std::map<Key, int> ranks; // of what was found for a node: the lowest is the best
    for (const OriginPair& pair : originPairs(*m_model)) {
        const auto graph = graphs.find(pair.sourceGraph);
        if (graph == graphs.end()) continue;
        const auto node = nodes[static_cast<size_t>(graph->second)].find(pair.node);
        if (node == nodes[static_cast<size_t>(graph->second)].end()) continue;
        const Key key(graph->second, node->second);
        const ModelPlace source{GraphId(key.first), OperatorId(key.second), {}};
        const Value& value = m_model->graph(pair.graph).value(pair.value);
        const bool isResult = value.role == ValueRole::result;
        const ModelPlace place{pair.graph, isResult ? value.producer : OperatorId(), pair.value};
        const int rank = (isResult ? 0 : 2) + (pair.slot == 0 ? 0 : 1);
        if (const auto [known, isNew] = ranks.try_emplace(key, rank); isNew || rank < known->second) {
            known->second = rank;
            m_raised[key] = place;
        }
        if (isResult) m_nodes.try_emplace({pair.graph.index, place.op.index}, source);
        else m_nodesOfInputs.try_emplace({pair.graph.index, pair.value.index}, source);
    }
    const Graph* const root = v1.graphs.empty() ? nullptr : &v1.graphs.front();
    const bool hasFrames = root != nullptr && hasFramesOrSwitches(*root);
    const FrameAnalysis analysis = hasFrames && !left.empty() ? analyzeFrames(*root) : FrameAnalysis();
    for (LeftAsItWas& each : left) {
        Left told{std::move(each.node), std::move(each.reason), {}};
        if (root != nullptr)
            if (const auto node = nodes.front().find(told.node); node != nodes.front().end())
                told.address = addressInFrames(*root, hasFrames ? &analysis : nullptr, OperatorId(node->second));
        m_left.push_back(std::move(told));
    }
}

std::optional<ModelPlace> RaisedModel::raisedOf(GraphId graph, OperatorId node) const
{
    const auto found = m_raised.find({graph.index, node.index});
    return found == m_raised.end() ? std::nullopt : std::optional(found->second);
}

std::optional<ModelPlace> RaisedModel::nodeOf(const ModelPlace& raised) const
{
    const auto& nodes = raised.op.valid() ? m_nodes : m_nodesOfInputs;
    const auto found = nodes.find({raised.graph.index, raised.op.valid() ? raised.op.index : raised.value.index});
    return found == nodes.end() ? std::nullopt : std::optional(found->second);
}

} // namespace loopscope::viewer
