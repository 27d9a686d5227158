// Inside the scene: collects nodes, edges and regions of a view, then has them laid out. One builder builds one scene.
#pragma once

#include "engine/ops/control_flow.h"
#include "viewer/scene/op_groups.h"
#include "viewer/scene/scene.h"

#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace loopscope::viewer {

class SceneBuilder {
public:
    SceneBuilder(const Model& model, const ViewState& view, const TextMeasure& measure, const SceneProgress& progress)
        : m_model(model),
          m_view(view),
          m_measure(measure),
          m_progress(progress)
    {
    }

    /// `prefix`: static address of `graph`.
    Result<std::shared_ptr<const Scene>> build(GraphId graph, const std::string& prefix);

private:
    /// An edge before layout.
    struct Draft {
        int from = -1, to = -1;
        GraphId graph;
        ValueId value;
        EdgeStyle style = EdgeStyle::data;
        int actual = -1; ///< node that stands on the edge, above the formal `to`
        int net = -1;
        float fromPort = -1, toPort = -1;
        int region = -1, binding = -1; ///< of feedback edges: whose rail this is
        std::string label;
        SceneEdge edge() const; ///< without points
    };

    /// A graph while it is emitted: where its values come from.
    struct Emission {
        GraphId graph;
        std::string prefix;
        int region = -1;
        std::vector<int> producer;                          ///< value → node; −1: none; ≤ −2: index −2−i into `joined`
        std::vector<std::vector<int>> joined;               ///< values with several producers: branches
        std::vector<int> nodeOf;                            ///< operator → node; −1: inlined
        std::vector<std::vector<std::vector<int>>> formals; ///< of inlined calls: operand → nodes that take it
        std::vector<int> inlinedAs;                         ///< operator → index into `formals`; −1
        std::vector<int> inputs, outputs;                   ///< pills
        std::shared_ptr<const FrameAnalysis> frames;        ///< v1 graphs
        std::vector<std::string> framePrefixes;             ///< frame → address that its operators begin with
        const std::string& prefixOf(OperatorId op) const
        {
            return frames ? framePrefixes[static_cast<size_t>(frames->frameOf[static_cast<size_t>(op.index)])] : prefix;
        }
    };

    // Nodes and regions (scene_nodes.cpp)
    int addNode(SceneNode node);
    int addRegion(SceneRegion region);
    int addPill(NodeKind kind, const Emission& emission, ValueId value, size_t number);
    /// One pill for several values.
    int addTogether(NodeKind kind, const Emission& emission, std::string name);
    int addOperator(const Emission& emission, OperatorId op, const std::string& address, std::string_view scope);
    int addGroupNode(const Emission& emission, const OpGroup& group, int region);
    std::string attributeLine(const Graph& graph, const Operator& op) const;
    double textWidth(std::string_view text, TextStyle style) const { return std::ceil(m_measure(text, style)); }

    // What is in a graph (scene_builder.cpp)
    /// `foldInvariants`: of a loop's body; what its iterations only hand on has one pill.
    Emission emitGraph(GraphId graph, const std::string& prefix, int region, int depth, bool foldInvariants = false);
    void emitOperators(Emission& emission, const OpGroups& groups, int depth);
    void emitCall(Emission& emission, OperatorId op, const std::string& site, int region, int depth);
    void emitEdges(Emission& emission);
    void bindFrames(const Emission& emission);
    void addConstants(Emission& emission, const Operator& op);
    void addValueEdges(const Emission& emission, ValueId value, int to, EdgeStyle style = EdgeStyle::data, int actual = -1);
    std::vector<int> producersOf(const Emission& emission, ValueId value) const;
    std::vector<bool> foldedInputs(const Graph& graph, bool isBody) const;
    OpGroups groupsOf(Emission& emission);
    bool isOpen(const std::string& id) const { return (m_view.allExpanded && !m_view.folded.contains(id)) || m_view.expanded.contains(id); }
    bool opensCallee(const std::string& site, const CallForm& form, int depth) const;

    // Calls (scene_calls.cpp)
    struct CallPlace {
        OperatorId op;
        std::string site;
        CallForm form;
        int region = -1;
        int depth = 0;
    };
    int calleeRegion(const Emission& caller, const CallPlace& call, const Callee& callee, RegionKind kind, int parent, bool named);
    Emission emitCallee(Emission& caller, const CallPlace& call, const Callee& callee, int region, std::vector<std::vector<int>>& formals);
    void bindLoop(const Emission& caller, const CallPlace& call, const Emission& body, int region);
    void emitCond(const CallPlace& call, const Emission& body, int region);
    std::string actualText(const Graph& graph, ValueId value) const;

    // Geometry (scene_geometry.cpp)
    class LayeredPlacer;
    Status place();
    void widenActuals();
    // One operator a row (scene_rows.cpp)
    class RowPlacer;
    Status placeRows();

    const Model& m_model;
    const ViewState& m_view;
    const TextMeasure& m_measure;
    const SceneProgress& m_progress;
    Scene m_scene;
    std::vector<Draft> m_drafts;
    std::vector<int> m_actualOf;              ///< formal node → its actual, or −1
    std::vector<GraphId> m_open;              ///< graphs around the one that is emitted
    std::unordered_set<int64_t> m_groupEdges; ///< value and folded group: one line each
};

/// Loop variables with a rail and a pill each; of more, rails fold into one bundle and those that never change into one pill.
inline constexpr size_t kMostRails = 12;
/// Which inputs of a loop's body have no pill of their own: those that are returned unchanged, where there are too many variables.
std::vector<bool> foldedInvariants(const Graph& body);

/// Static address of an operator of the graph at `prefix`: "main/while#1:body" → "main/while#1:body/add#14".
std::string operatorAddress(const std::string& prefix, const Operator& op, OperatorId id);
double headHeight(const SceneRegion& region);
/// "f32[2,4]".
std::string shapeText(const TensorType& type);
/// A constant in a few characters: "0", "zeros", "f32[3,4]".
std::string constantText(const Value& value);

} // namespace loopscope::viewer
