#include "viewer/compare/fused_rows.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace loopscope::viewer {

namespace {

/// Operators that are drawn, by graph and name; a rewrite calls an operator by its own name, else by its first result.
class DrawnOperators {
public:
    DrawnOperators(const Model& model, const Scene& scene)
    {
        const auto add = [&](GraphId graph, OperatorId op, int region, const std::string& address) {
            if (!op.valid()) return;
            m_places[{graph, op}].push_back(address);
            std::string name = nameOf(model, graph, op);
            m_addresses.try_emplace({model.graph(graph).id, name}, address);
            // Fusing opens calls: what a function holds is called after its call then, in the graph of the call.
            GraphId outer = graph;
            for (; region >= 0; region = scene.regions[static_cast<size_t>(region)].parent) {
                const SceneRegion& around = scene.regions[static_cast<size_t>(region)];
                if (around.kind == RegionKind::loop || around.kind == RegionKind::branch) break;
                if (around.kind != RegionKind::call) continue;
                outer = around.caller;
                name.insert(0, nameOf(model, outer, around.op) + "/");
            }
            if (outer != graph) m_addresses.try_emplace({model.graph(outer).id, std::move(name)}, address);
        };
        for (const SceneNode& node : scene.nodes)
            if (node.kind == NodeKind::op) add(node.graph, node.op, node.region, node.id);
        for (const SceneRegion& region : scene.regions)
            if (!region.site.empty()) add(region.caller, region.op, region.parent, region.site);
    }
    std::string find(const std::string& graph, const std::string& name) const
    {
        const auto found = m_addresses.find({graph, name});
        return found == m_addresses.end() ? std::string() : found->second;
    }

    const std::vector<std::string>& find(GraphId graph, OperatorId op) const
    {
        static const std::vector<std::string> none;
        const auto found = m_places.find({graph, op});
        return found == m_places.end() ? none : found->second;
    }

private:
    static std::string nameOf(const Model& model, GraphId graph, OperatorId op)
    {
        const Operator& one = model.graph(graph).op(op);
        return one.results.empty() || !one.name.empty() ? one.name : model.graph(graph).value(one.results.front()).id;
    }

    std::map<std::pair<std::string, std::string>, std::string> m_addresses; ///< by graph and name
    std::map<std::pair<GraphId, OperatorId>, std::vector<std::string>> m_places;
};

} // namespace

std::vector<RewritePlaces> placesOfRewrites(const FusedSide& fused, const Model& here, const Scene& a, const Model& there, const Scene& b)
{
    const DrawnOperators before(here, a), after(there, b);
    std::vector<RewritePlaces> all;
    for (const FusedSide::Rewrite& rewrite : fused.rewrites) {
        RewritePlaces places;
        for (const RewrittenOperator& each : rewrite.here)
            std::ranges::copy(before.find(each.graph, each.op), std::back_inserter(places.here));
        for (const RewrittenOperator& each : rewrite.there)
            if (rewrite.isOn) std::ranges::copy(after.find(each.graph, each.op), std::back_inserter(places.there));
        if (!fused.file.empty()) {
            all.push_back(std::move(places));
            continue;
        }
        for (const std::string& name : rewrite.from)
            if (std::string address = before.find(rewrite.place.graph, name); !address.empty()) places.here.push_back(std::move(address));
        if (rewrite.isOn)
            if (std::string address = after.find(rewrite.place.graph, rewrite.name); !address.empty())
                places.there.push_back(std::move(address));
        all.push_back(std::move(places));
    }
    // What went into a rewrite may itself have been made by one.
    for (size_t k = 0; k < all.size(); ++k)
        for (size_t m = 0; m < all.size() && fused.rewrites[k].isOn; ++m) {
            const FusedSide::Rewrite &inner = fused.rewrites[m], &outer = fused.rewrites[k];
            const bool isInside = m != k && inner.isOn && inner.place.graph == outer.place.graph &&
                                  std::ranges::find(outer.from, inner.name) != outer.from.end();
            if (!isInside) continue;
            if (all[m].there.empty()) all[m].there = all[k].there;
            for (const std::string& address : all[m].here)
                if (std::ranges::find(all[k].here, address) == all[k].here.end()) all[k].here.push_back(address);
        }
    return all;
}

std::string placeOfOperator(const Model& model, const Scene& scene, const std::string& graph, const std::string& name)
{
    return DrawnOperators(model, scene).find(graph, name);
}

std::string placeOfOperator(const Model& model, const Scene& scene, GraphId graph, OperatorId op)
{
    const DrawnOperators drawn(model, scene);
    const std::vector<std::string>& places = drawn.find(graph, op);
    return places.empty() ? std::string() : places.front();
}

void takeFused(PairedScenes& scenes, const std::vector<RewritePlaces>& places)
{
    std::set<std::string> here, there;
    for (const RewritePlaces& each : places) {
        if (each.there.empty()) continue;
        here.insert(each.here.begin(), each.here.end());
        there.insert(each.there.begin(), each.there.end());
    }
    std::erase_if(scenes.onlyHere, [&](const std::string& address) { return here.contains(address); });
    std::erase_if(scenes.onlyThere, [&](const std::string& address) { return there.contains(address); });
}

} // namespace loopscope::viewer
