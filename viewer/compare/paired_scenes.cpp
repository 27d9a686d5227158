#include "viewer/compare/paired_scenes.h"

#include "engine/debug/graph_diff/structure_pairing.h"
#include "engine/ir/frames.h"

#include <algorithm>
#include <map>
#include <set>

namespace loopscope::viewer {

namespace {

/// Where an operator is drawn.
struct Place {
    std::string id;
    double y = 0, height = 0;
    bool isRegion = false;
};

std::optional<Place> placeOf(const Scene& scene, const std::string& address)
{
    if (const int node = scene.findNode(address); node >= 0) {
        const SceneNode& found = scene.nodes[static_cast<size_t>(node)];
        return Place{found.id, found.rect.y, found.rect.height, false};
    }
    const auto region = scene.regionById.find(address);
    if (region == scene.regionById.end()) return std::nullopt;
    const SceneRegion& found = scene.regions[static_cast<size_t>(region->second)];
    return Place{address, found.head.y, found.head.height, true};
}

/// A step function: how far down everything from a height on moves.
class Shift {
public:
    void add(double from, double by) { m_total[from] = (m_total.empty() ? 0 : m_total.rbegin()->second) + by; }
    double total() const { return m_total.empty() ? 0 : m_total.rbegin()->second; }
    double operator()(double y) const
    {
        const auto next = m_total.upper_bound(y + 1e-6);
        return next == m_total.begin() ? 0 : std::prev(next)->second;
    }

private:
    std::map<double, double> m_total;
};

void move(Scene& scene, const Shift& shift)
{
    const auto moveBox = [&](Rect& box) {
        const double top = shift(box.y), bottom = shift(box.bottom());
        box.height += bottom - top;
        box.y += top;
    };
    for (SceneNode& node : scene.nodes) node.rect.y += shift(node.rect.y);
    for (SceneRegion& region : scene.regions) {
        region.head.y += shift(region.head.y);
        moveBox(region.rect);
        for (LoopBinding& binding : region.bindings)
            for (Point& point : binding.rail) point.y += shift(point.y);
    }
    for (SceneEdge& edge : scene.edges)
        for (Point& point : edge.points) point.y += shift(point.y);
    scene.bounds.height += shift.total();
}

ViewState rowsView(const Model& model, GraphId root, bool dense, const std::set<std::string>& folded)
{
    ViewState view;
    view.root = model.graph(root).id;
    view.rows = true;
    view.allExpanded = true;
    view.folded = folded;
    view.groupByNames = false;
    view.dense = dense;
    return view;
}

/// Ids of the v1 frames of a root graph, as scenes have them, by their first Enter in the file.
std::map<OperatorId, std::string> framesOf(const ComparedModel& side)
{
    std::map<OperatorId, std::string> ids;
    const Graph& graph = side.model->graph(side.root);
    if (!hasFramesOrSwitches(graph)) return ids;
    const FrameAnalysis analysis = analyzeFrames(graph);
    std::vector<std::string> names(analysis.frames.size(), graph.id);
    for (size_t f = 1; f < analysis.frames.size(); ++f) {
        const Frame& frame = analysis.frames[f];
        names[f] = names[static_cast<size_t>(frame.parent)] + (frame.parent == 0 ? "/" : ":frame/") + frame.name;
        if (!frame.enters.empty()) ids[*std::ranges::min_element(frame.enters)] = names[f];
    }
    return ids;
}

} // namespace

void alignRows(Scene& a, Scene& b, const std::vector<std::pair<double, double>>& pairs)
{
    Shift down, other;
    for (const auto& [here, there] : pairs) {
        const double apart = (here + down.total()) - (there + other.total());
        if (apart < 0) down.add(here, -apart);
        if (apart > 0) other.add(there, apart);
    }
    move(a, down);
    move(b, other);
    a.bounds.width = b.bounds.width = std::max(a.bounds.width, b.bounds.width);
    a.bounds.height = b.bounds.height = std::max(a.bounds.height, b.bounds.height);
}

Result<std::shared_ptr<const PairedScenes>> pairScenes(const ComparedModel& here, const ComparedModel& there, const ValuePairing& pairing,
                                                       bool dense, const FoldedSides& folded, const TextMeasure& measure,
                                                       const SceneProgress& progress)
{
    const auto build = [&](const ComparedModel& side, const std::set<std::string>& closed) -> Result<Scene> {
        SceneProgress quiet;
        quiet.stop = progress.stop;
        LS_TRY(const std::shared_ptr<const Scene> scene,
               buildScene(*side.model, rowsView(*side.model, side.root, dense, closed), measure, quiet));
        return Scene(*scene);
    };
    LS_TRY(Scene a, build(here, folded.here));
    LS_TRY(Scene b, build(there, folded.there));
    auto paired = std::make_shared<PairedScenes>();
    std::set<std::string> partners;
    std::set<std::pair<std::string, std::string>> known;
    std::vector<std::pair<Place, Place>> places;
    for (OperatorMatch& match : matchOperators(*here.model, here.root, *there.model, there.root, pairing)) {
        const std::optional<Place> one = placeOf(a, match.here);
        if (!one) continue;
        const std::optional<Place> other = match.there.empty() ? std::nullopt : placeOf(b, match.there);
        if (!other) {
            paired->onlyHere.push_back(one->id);
            continue;
        }
        partners.insert(other->id);
        if (!known.emplace(one->id, other->id).second) continue; // operators of one folded frame
        paired->rows.push_back({one->id, other->id, match.how, 0, one->height, one->isRegion});
        places.emplace_back(*one, *other);
    }
    // A folded frame has a partner even if not everything in it has.
    std::set<std::string> met;
    std::erase_if(paired->onlyHere, [&](const std::string& id) {
        const auto row = known.lower_bound({id, std::string()});
        return (row != known.end() && row->first == id) || !met.insert(id).second;
    });
    // What is drawn there and belongs to nothing here.
    for (const SceneNode& node : b.nodes)
        if ((node.kind == NodeKind::op || node.kind == NodeKind::group) && !partners.contains(node.id))
            paired->onlyThere.push_back(node.id);
    for (const SceneRegion& region : b.regions)
        if (!region.site.empty() && partners.insert(region.site).second) paired->onlyThere.push_back(region.site);

    const std::map<OperatorId, std::string> frames = framesOf(here), framesThere = framesOf(there);
    for (const auto& [enter, id] : frames) {
        const ValuePairing::Step step = pairing.into(here.root, there.root, enter, here.root);
        const auto other = framesThere.find(step.sites.empty() ? OperatorId() : step.sites.back());
        if (other == framesThere.end()) continue;
        paired->framesHere[id] = other->second;
        paired->framesThere[other->second] = id;
    }

    // Partners that stand in the same order on both sides come to stand at the same height.
    std::vector<size_t> order(places.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, {}, [&](size_t i) { return places[i].first.y; });
    std::map<double, int> ranks;
    for (const auto& [one, other] : places) ranks.emplace(other.y, 0);
    int rank = 0;
    for (auto& [y, number] : ranks) number = rank++;
    std::vector<int> numbers;
    for (const size_t i : order) numbers.push_back(ranks[places[i].second.y]);
    std::vector<std::pair<double, double>> pairs;
    for (const size_t i : longestRise(numbers))
        if (pairs.empty() || places[order[i]].first.y > pairs.back().first)
            pairs.emplace_back(places[order[i]].first.y, places[order[i]].second.y);
    alignRows(a, b, pairs);

    for (size_t i = 0; i < paired->rows.size(); ++i) {
        PairedRow& row = paired->rows[i];
        row.y = placeOf(a, row.here)->y;
        paired->rowsHere[row.here].push_back(static_cast<int>(i));
        paired->rowsThere[row.there].push_back(static_cast<int>(i));
    }
    if (progress.stop.stop_requested()) return Error(ErrorCode::cancelled, "layout cancelled");
    paired->here = std::make_shared<const Scene>(std::move(a));
    paired->there = std::make_shared<const Scene>(std::move(b));
    return std::shared_ptr<const PairedScenes>(std::move(paired));
}

} // namespace loopscope::viewer
