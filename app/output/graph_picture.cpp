#include "app/output/graph_picture.h"

#include "engine/ir/origin.h"
#include "viewer/layout/graphviz_export.h"
#include "viewer/scene/scene_dot.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace loopscope::app {

namespace {

constexpr size_t kDrawnWhole = 2'000; ///< operators of a model of which everything is drawn
constexpr size_t kDrawnFlat = 400;    ///< of one that is drawn without groups of names
constexpr size_t kNamedMembers = 8;   ///< of a folded group that the page finds

class PartnerFinder {
public:
    PartnerFinder(const Model& before, const Model& after) : m_before(before), m_after(after) {}

    Partners find()
    {
        m_firstAfter = addOperators(m_before, m_partners.before, 0);
        const int end = addOperators(m_after, m_partners.after, m_firstAfter);
        m_parent.resize(static_cast<size_t>(end));
        std::iota(m_parent.begin(), m_parent.end(), 0);
        for (size_t g = 0; g < m_before.graphs.size(); ++g) name(g);
        for (size_t g = 0; g < m_after.graphs.size(); ++g) join(g);
        for (size_t g = 0; g < m_after.graphs.size(); ++g) joinInputs(g);
        number();
        return std::move(m_partners);
    }

private:
    /// Gives every operator a number of its own. The next one.
    static int addOperators(const Model& model, Partners::Side& side, int next)
    {
        for (const Graph& graph : model.graphs) {
            std::vector<int>& numbers = side.operators.emplace_back(graph.operators.size());
            std::iota(numbers.begin(), numbers.end(), next);
            next += static_cast<int>(numbers.size());
            side.values.emplace_back(graph.values.size(), -1);
        }
        return next;
    }

    void name(size_t g)
    {
        const Graph& graph = m_before.graphs[g];
        auto& names = m_names[graph.id];
        for (size_t o = 0; o < graph.operators.size(); ++o) {
            const int number = m_partners.before.operators[g][o];
            if (!graph.operators[o].name.empty()) names.emplace(graph.operators[o].name, number);
            for (const std::string& origin : originsOf(graph.operators[o], OperatorId(static_cast<int64_t>(o))))
                names.emplace(origin, number);
        }
    }

    /// Where `origin`, said in a graph that was made from `source`, leads: "@graph/name" is of another graph.
    int numberOf(const std::string& source, std::string_view origin) const
    {
        const auto in = [this](const std::string& graph, std::string_view name) {
            const auto names = m_names.find(graph);
            if (names == m_names.end()) return -1;
            const auto found = names->second.find(std::string(name));
            return found == names->second.end() ? -1 : found->second;
        };
        if (!origin.starts_with('@')) return in(source, origin);
        for (size_t slash = origin.find('/'); slash != std::string_view::npos; slash = origin.find('/', slash + 1))
            if (const int number = in(std::string(origin.substr(1, slash - 1)), origin.substr(slash + 1)); number >= 0) return number;
        return -1;
    }

    void join(size_t g)
    {
        const Graph& graph = m_after.graphs[g];
        const std::string source(attributeString(graph.attributes, kOriginGraph, graph.id));
        for (size_t o = 0; o < graph.operators.size(); ++o) {
            const Operator& op = graph.operators[o];
            const int own = m_partners.after.operators[g][o];
            for (const std::string& origin : originsOf(op, OperatorId(static_cast<int64_t>(o)))) unite(own, numberOf(source, origin));
            const Attribute* const said = findAttribute(op.attributes, kOrigin);
            if (const auto* items = said ? said->as<AttributeItems>() : nullptr)
                for (const Attribute& item : *items)
                    if (const auto* text = item.as<std::string>()) unite(own, numberOf(source, originParts(*text).first));
        }
    }

    void joinInputs(size_t g)
    {
        const Graph& graph = m_after.graphs[g];
        const std::string source(attributeString(graph.attributes, kOriginGraph, graph.id));
        for (const ValueId input : graph.inputs) {
            if (!input.valid()) continue;
            const std::string_view text = attributeString(graph.value(input).attributes, kOrigin, "");
            if (!text.empty()) m_partners.after.values[g][static_cast<size_t>(input.index)] = numberOf(source, originParts(text).first);
        }
    }

    int rootOf(int number)
    {
        while (m_parent[static_cast<size_t>(number)] != number) {
            int& parent = m_parent[static_cast<size_t>(number)];
            parent = m_parent[static_cast<size_t>(parent)];
            number = parent;
        }
        return number;
    }

    void unite(int a, int b)
    {
        if (a >= 0 && b >= 0) m_parent[static_cast<size_t>(std::max(rootOf(a), rootOf(b)))] = std::min(rootOf(a), rootOf(b));
    }

    void number()
    {
        std::vector<char> here(m_parent.size(), 0), there(m_parent.size(), 0);
        for (int n = 0; n < static_cast<int>(m_parent.size()); ++n) (n < m_firstAfter ? here : there)[static_cast<size_t>(rootOf(n))] = 1;
        std::map<int, int> numbers;
        const auto renumber = [&](std::vector<std::vector<int>>& graphs) {
            for (std::vector<int>& all : graphs)
                for (int& n : all) {
                    if (n < 0) continue;
                    const int root = rootOf(n);
                    const auto [found, isNew] = numbers.emplace(root, static_cast<int>(numbers.size()));
                    if (isNew) m_partners.isAlone.push_back(!here[static_cast<size_t>(root)] || !there[static_cast<size_t>(root)]);
                    n = found->second;
                }
        };
        renumber(m_partners.before.operators);
        renumber(m_partners.after.operators);
        renumber(m_partners.after.values);
    }

    const Model& m_before;
    const Model& m_after;
    Partners m_partners;
    std::unordered_map<std::string, std::unordered_map<std::string, int>> m_names; ///< by graph and name or origin
    std::vector<int> m_parent;                                                     ///< of each number: one that it is joined with
    int m_firstAfter = 0;
};

/// Operators of a graph and of all that it calls, each graph once; without those that only give constants.
size_t operatorsUnder(const Model& model, GraphId root)
{
    std::vector<char> isReached(model.graphs.size(), 0);
    std::vector<GraphId> open = {root};
    size_t count = 0;
    while (!open.empty()) {
        const GraphId graph = open.back();
        open.pop_back();
        if (!model.hasGraph(graph) || std::exchange(isReached[static_cast<size_t>(graph.index)], char{1}) != 0) continue;
        for (const Operator& op : model.graph(graph).operators) {
            count += op.kind.name == "Const" || op.kind.name == "ReadVariableOp" || op.kind.name == "VarHandleOp" ? 0 : 1;
            for (const Callee& callee : calleesOf(op)) open.push_back(callee.graph);
        }
    }
    return count;
}

/// "partner p3", with a word for what has no partner.
std::string classOf(const Partners& partners, int number)
{
    if (number < 0) return {};
    return std::string(partners.isAlone[static_cast<size_t>(number)] ? "partner alone p" : "partner p") + std::to_string(number);
}

} // namespace

int Partners::find(const Model& model, const Side& side, std::string_view graph, std::string_view name)
{
    for (size_t g = 0; g < model.graphs.size(); ++g) {
        if (!graph.empty() && model.graphs[g].id != graph) continue;
        const auto& operators = model.graphs[g].operators;
        const auto found = std::ranges::find(operators, name, &Operator::name);
        if (found != operators.end()) return side.operators[g][static_cast<size_t>(found - operators.begin())];
    }
    return -1;
}

Partners partnersByOrigin(const Model& before, const Model& after) { return PartnerFinder(before, after).find(); }

Result<ReportPicture> drawGraph(const Model& model, std::string_view root, std::string heading, const Partners& partners,
                                const Partners::Side& side, SourceNodes sources)
{
    viewer::ViewState view = viewer::initialView(model);
    if (!root.empty()) view.root = root;
    const size_t operators = operatorsUnder(model, model.findGraph(view.root).valid() ? model.findGraph(view.root) : GraphId(0));
    view.allExpanded = operators <= kDrawnWhole;
    view.groupByNames = operators > kDrawnFlat;
    view.hideSources = view.showKinds = sources == SourceNodes::hidden;
    const viewer::TextMeasure measure = viewer::approximateTextMeasure();
    LS_TRY(const std::shared_ptr<const viewer::Scene> scene, viewer::buildScene(model, view, measure));
    const auto numberOf = [&](GraphId graph, OperatorId op) {
        return graph.valid() && op.valid() ? side.operators[static_cast<size_t>(graph.index)][static_cast<size_t>(op.index)] : -1;
    };
    viewer::SceneClasses classes;
    classes.node = [&](const viewer::SceneNode& node) {
        if (node.kind == viewer::NodeKind::op) return classOf(partners, numberOf(node.graph, node.op));
        if (node.kind == viewer::NodeKind::input && node.graph.valid() && node.value.valid())
            return classOf(partners, side.values[static_cast<size_t>(node.graph.index)][static_cast<size_t>(node.value.index)]);
        std::string all;
        for (size_t k = 0; k < node.members.size() && k < kNamedMembers; ++k)
            all += (k > 0 ? " " : "") + classOf(partners, numberOf(node.graph, node.members[k]));
        return all;
    };
    classes.region = [&](const viewer::SceneRegion& region) {
        if (region.op.valid()) return classOf(partners, numberOf(region.caller, region.op));
        if (region.kind != viewer::RegionKind::frame || region.frame < 0 || !scene->frames) return std::string();
        const std::vector<OperatorId>& enters = scene->frames->frames[static_cast<size_t>(region.frame)].enters;
        return enters.empty() ? std::string() : classOf(partners, numberOf(region.graph, enters.front()));
    };
    layout::GraphvizOutput output = layout::runGraphviz(viewer::sceneDot(*scene, measure, classes), "nop2", "svg");
    if (!output.error.empty()) return Error(ErrorCode::unsupported, output.error);
    ReportPicture picture{std::move(heading), std::move(output.data), {}};
    if (scene->folded > 0)
        picture.note = std::to_string(scene->folded) + (scene->folded == 1 ? " group is" : " groups are") + " drawn folded";
    return picture;
}

} // namespace loopscope::app
