// Building a scene: which graph, from where, and looking things up in it.
#include "viewer/scene/scene.h"

#include "engine/observe/address.h"
#include "engine/observe/address_names.h"
#include "engine/observe/address_resolution.h"
#include "engine/ops/control_flow.h"
#include "viewer/scene/scene_builder.h"

#include <algorithm>

namespace loopscope::viewer {

namespace {

constexpr size_t kSmallGraph = 60;   ///< operators; groups of larger ones are folded
constexpr size_t kMostInlined = 400; ///< operators that a fresh view draws inside calls
constexpr size_t kMostFramed = 120;  ///< operators that it draws inside the frames and conditionals of a v1 graph

/// Frames and conditionals of a v1 graph that a fresh view opens: all of a small one, else one after the other, the outer before the inner,
/// as many as can be looked at side by side.
void openFrames(const Graph& root, ViewState& view)
{
    if (!hasFramesOrSwitches(root)) return;
    const OpGroups all = frameGroups(root, analyzeFrames(root));
    std::vector<size_t> own(all.groups.size(), 0);
    for (const int group : all.groupOf)
        if (group >= 0) ++own[static_cast<size_t>(group)];
    std::vector<bool> open(all.groups.size(), false);
    size_t shown = 0;
    for (size_t g = 0; g < all.groups.size(); ++g) {
        const OpGroup& group = all.groups[g];
        if (group.parent >= 0 && !open[static_cast<size_t>(group.parent)]) continue;
        if (root.operators.size() > kMostFramed && shown + own[g] > kMostFramed) continue;
        shown += own[g];
        open[g] = true;
        view.expanded.insert(view.root + groupSuffix(group));
    }
}

} // namespace

int Scene::findNode(std::string_view address) const
{
    auto found = nodeById.find(std::string(address));
    if (found == nodeById.end()) found = nodeById.find(withoutIterations(std::string(address)));
    return found == nodeById.end() ? -1 : found->second;
}

TextMeasure approximateTextMeasure()
{
    return [](std::string_view text, TextStyle style) {
        size_t characters = 0;
        for (const char c : text) characters += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1 : 0;
        double width = 6.6;
        switch (style) {
        case TextStyle::name: width = 6.7; break;
        case TextStyle::index: width = 6.2; break;
        case TextStyle::mono: width = 6.7; break;
        case TextStyle::monoSmall: width = 5.8; break;
        case TextStyle::head: width = 7.8; break;
        }
        return width * static_cast<double>(characters);
    };
}

Result<std::shared_ptr<const Scene>> buildScene(const Model& model, const ViewState& view, const TextMeasure& measure,
                                                const SceneProgress& progress)
{
    LS_TRY(const Address address, parseAddress(view.root));
    LS_TRY(const ResolvedAddress resolved, resolveAddress(model, address));
    if (resolved.address.target != TargetKind::invocation)
        return Error(ErrorCode::usage, "the root of a view").found("'" + view.root + "'").expected("the address of a graph");
    return SceneBuilder(model, view, measure, progress).build(resolved.graph, withoutIterations(toString(resolved.address)));
}

ViewState initialView(const Model& model)
{
    ViewState view;
    if (model.graphs.empty()) return view;
    Address address;
    address.root = model.graphs.front().id;
    view.root = toString(address);
    if (model.dialect == Dialect::tf) openFrames(model.graphs.front(), view);
    // Calls of a small root graph are drawn inside, and small callees of theirs.
    struct Open {
        GraphId graph;
        std::string prefix;
        int depth;
    };
    std::vector<Open> open{{GraphId(0), view.root, 0}};
    size_t shown = model.graphs.front().operators.size();
    if (shown > kSmallGraph) return view;
    for (size_t k = 0; k < open.size(); ++k) {
        const Open here = open[k];
        const Graph& graph = model.graph(here.graph);
        for (size_t o = 0; o < graph.operators.size(); ++o) {
            const CallForm form = callForm(graph.operators[o]);
            if (form.kind == CallKind::none || form.kind == CallKind::once) continue;
            size_t inside = 0;
            bool whole = true;
            for (const Callee& callee : form.callees) {
                whole = whole && model.hasGraph(callee.graph);
                if (whole) inside += model.graph(callee.graph).operators.size();
            }
            if (!whole || shown + inside > kMostInlined || here.depth >= 3) continue;
            shown += inside;
            const std::string site = operatorAddress(here.prefix, graph.operators[o], OperatorId(static_cast<int64_t>(o)));
            view.inlined.insert(site);
            for (const Callee& callee : form.callees) open.push_back({callee.graph, site + ":" + callee.role, here.depth + 1});
        }
    }
    return view;
}

} // namespace loopscope::viewer
