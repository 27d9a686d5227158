// A picture of a graph before it is drawn: every box, pill, region, rail and edge with its place, its words and what it stands for. The
// canvas paints it, `export-graph` writes it, tests compare it. No Qt here.
//
// Where things come from: docs/desktop.md and the drawing rules there (nodes, states, edges, regions).
#pragma once

#include "engine/base/result.h"
#include "engine/ir/frames.h"
#include "engine/ir/model.h"
#include "viewer/layout/layout.h"
#include "viewer/scene/family.h"
#include "viewer/scene/view_state.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace loopscope::viewer {

using layout::Point;
using layout::Rect;

enum class NodeKind : uint8_t {
    op,       ///< one operator
    input,    ///< pill: formal parameter of the graph of a region or of the whole view
    output,   ///< pill: result
    actual,   ///< text above a region's pill: what the caller passes
    constant, ///< pill, only with showConstants
    group,    ///< folded group of operators
};

struct SceneNode {
    NodeKind kind = NodeKind::op;
    /// Unique in the scene and stable between scenes of one model: static address of the operator ("main/while#1:body/add#14"), or of
    /// the graph with the pill ("main/while#1:body>arg4", "main>in0", "main<out1"), or of the group ("main//block_13").
    std::string id;
    GraphId graph;      ///< that owns op and value
    OperatorId op;      ///< of `op`
    ValueId value;      ///< of pills, actuals and constants; of operators and groups their main result
    std::string name;   ///< "add", "arg4 c", "block_13"; elided in the middle by whoever draws it
    std::string index;  ///< "#14"; empty on v1 nodes
    std::string shape;  ///< "f32[2,4]": of the main result or the pill
    std::string detail; ///< attribute line (showAttributes), value of a constant, "3 ops, from tensor names"
    Family family = Family::other;
    std::vector<Family> strip;       ///< group: its operators in order, at most 64; `members` has all
    std::vector<OperatorId> members; ///< group, in file order
    int region = -1;                 ///< index into Scene::regions: what it is drawn in; −1: the whole view
    Rect rect;
    bool custom = false, unknown = false; ///< drawn in italics; in quotes
    bool call = false;                    ///< has a callee that can be opened
};

enum class EdgeStyle : uint8_t { data, control, passThrough, captured, feedback, binding };

struct SceneEdge {
    int from = -1, to = -1; ///< nodes
    GraphId graph;
    ValueId value; ///< that flows
    EdgeStyle style = EdgeStyle::data;
    bool portal = false;       ///< cut: drawn as two labelled stubs
    std::vector<Point> points; ///< orthogonal, corners to be rounded; empty for portals
    std::string label;         ///< shape; of portals "mask → 48" at the source; "feedback 4 → arg4 c"
    std::string endLabel;      ///< of portals: "mask ←"
};

enum class RegionKind : uint8_t { loop, branch, call, frame, group };

/// One loop variable: how a value goes in, around and out. Nodes are −1 where nothing is drawn.
struct LoopBinding {
    std::string variable;                                       ///< "arg4 c"
    int actual = -1, formal = -1, result = -1;                  ///< nodes
    ValueId actualValue, formalValue, resultValue, exitValue;   ///< in caller, callee, callee, caller
    std::string actualText, formalText, feedbackText, exitText; ///< "arith.constant", "arg4 in body", "add_1, add#14", "while#1:4, unused"
    bool invariant = false;                                     ///< returned unchanged
    std::vector<Point> rail;                                    ///< feedback line at the left inside edge; empty: folded into the bundle
};

/// A box with a head: an opened callee, a v1 frame or an opened group.
struct SceneRegion {
    RegionKind kind = RegionKind::group;
    std::string id;   ///< "main/while#1:body", "main/if#3:then", "main//block_13", frame "main/while/while_context"
    std::string site; ///< static address of the call operator; empty for groups and frames
    GraphId graph;    ///< the callee; of groups and frames the graph they lie in
    GraphId caller;
    OperatorId op;     ///< call operator in `caller`
    std::string role;  ///< "body", "then", …
    std::string name;  ///< "while", "block_13", frame name
    std::string index; ///< "#1"
    std::string note;  ///< "3 ops, from tensor names", "cond 3 ops"
    int parent = -1;   ///< region
    int frame = -1;    ///< v1: index into FrameAnalysis::frames
    Rect rect, head;
    std::vector<LoopBinding> bindings; ///< loops and calls, in operand order
    int foldedRails = 0;               ///< loop variables without a rail of their own ("40 variables")
};

struct Scene {
    ViewState view;
    GraphId graph;                ///< that view.root means
    std::vector<SceneNode> nodes; ///< in listing order within a region
    std::vector<SceneEdge> edges;
    std::vector<SceneRegion> regions;            ///< parents before children
    std::shared_ptr<const FrameAnalysis> frames; ///< v1 graphs; null: functional
    Rect bounds;
    std::unordered_map<std::string, int> nodeById; ///< also addresses of operators inside folded groups → the group's node
    std::unordered_map<std::string, int> regionById;
    int64_t operators = 0; ///< of the graph shown, drawn or folded
    int64_t groups = 0, folded = 0;

    /// −1: not in the picture. Takes an address with or without iterations.
    int findNode(std::string_view address) const;
};

enum class TextStyle : uint8_t { name, index, mono, monoSmall, head };

/// Width of a text in logical pixels. Called on the thread that builds; must be safe there.
using TextMeasure = std::function<double(std::string_view text, TextStyle style)>;
/// Fixed widths, near DejaVu Sans at the sizes of docs/desktop.md: for tests and exports without fonts.
TextMeasure approximateTextMeasure();

struct SceneProgress {
    std::function<void(double done)> report; ///< 0 to 1; may be empty
    std::stop_token stop;
};

/// Builds and lays out. Errors: usage (no such graph), cancelled. `model` must pass verifyModel. 100,000 operators folded: ≤ 1 s.
Result<std::shared_ptr<const Scene>> buildScene(const Model& model, const ViewState& view, const TextMeasure& measure,
                                                const SceneProgress& progress = {});

/// What a fresh view of a model shows: loops and branches of a small root graph inline, name groups folded where there are more than
/// about 60 operators.
ViewState initialView(const Model& model);

} // namespace loopscope::viewer
