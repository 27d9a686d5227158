// Applies the rules to each graph until none finds anything more. Work follows what changes: an operator is looked at once, and again
// when something next to it has become another.
#include "converters/fuse/fuse.h"

#include "converters/fuse/composites.h"
#include "converters/fuse/pattern.h"
#include "converters/fuse/prepare.h"
#include "converters/fuse/region.h"
#include "converters/lower/refine_shapes.h"
#include "engine/base/text.h"
#include "engine/transform/freeze.h"
#include "engine/transform/gradient/known_shapes.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>

namespace loopscope {

namespace {

using namespace fusing;

std::vector<const Rule*> rulesOf(std::initializer_list<std::span<const Rule>> groups)
{
    std::vector<const Rule*> rules;
    for (const auto& group : groups)
        for (const Rule& rule : group) rules.push_back(&rule);
    return rules;
}

std::vector<const Rule*> reverseRules() { return rulesOf({unfuseRules(), unfuseRecurrentRules()}); }

std::vector<const Rule*> allRules()
{
    return rulesOf({compoundRules(),     elementRules(),    spellingRules(),      logSumRules(),      circleRules(),     stablehloRules(),
                    einsumRules(),       affineRules(),     beforeRules(),        paddingRules(),     movementRules(),   reorderRules(),
                    movedElementRules(), broadcastRules(),  choiceRules(),        selectionRules(),   oneHotRules(),     productRules(),
                    quantizedRules(),    cropRules(),       recurrentRules(),     rnnRules(),         binaryCodeRules(), attentionRules(),
                    nameRules(),         activationRules(), preactivationRules(), circleSubstitutes()});
}

constexpr std::string_view kComposites = "composites", kCompositeOperator = "composite-operator";

/// Rules by the operators at which they begin.
struct RuleTable {
    std::unordered_map<std::string, std::vector<const Rule*>> early, late;
    bool composites = true;
};

Result<RuleTable> tableOf(const FusionOptions& options)
{
    const std::vector<std::string>&only = options.only, &skipped = options.skipped;
    RuleTable table;
    std::vector<std::string> names = {std::string(kComposites)};
    const auto isUsed = [&](std::string_view name) {
        if (std::ranges::find(skipped, name) != skipped.end()) return false;
        return only.empty() || std::ranges::find(only, name) != only.end();
    };
    for (const Rule* rule : options.isReverse ? reverseRules() : allRules()) {
        names.push_back(rule->name);
        if (!isUsed(rule->name) || (rule->name == kCompositeOperator && options.composites != Composites::operators)) continue;
        for (const std::string& root : rootsOf(*rule)) (rule->isLate ? table.late : table.early)[root].push_back(rule);
    }
    for (const auto* list : {&only, &skipped})
        for (const std::string& name : *list)
            if (std::ranges::find(names, name) == names.end())
                return Error(ErrorCode::usage, "unknown rule").found("'" + name + "'").nearest(nearestNames(name, names));
    table.composites = isUsed(kComposites) && !options.isReverse;
    return table;
}

class GraphFuser {
public:
    GraphFuser(Model& model, GraphId graph, const RuleTable& table, const std::unordered_set<std::string>& keeps,
               const FusionOptions& options, FusionReport& report)
        : m_model(model),
          m_graphId(graph),
          m_site(model, graph, keeps, options),
          m_graph(model.graph(graph).id),
          m_table(table),
          m_options(options),
          m_report(report)
    {
        if (options.keepsRegions) m_before = stateOf(m_site.editor());
    }

    Status fuseMarked()
    {
        for (const OperatorId op : m_site.editor().order()) {
            if (!m_site.editor().isAlive(op)) continue;
            const std::string where = m_site.nameOf(op);
            if (isForbidden(kComposites, where)) continue;
            tell(std::string(kComposites), FusionEquality::approximate, op, where, fuseComposite(m_site, op));
        }
        tellDeclined();
        return m_site.editor().finish();
    }

    Status run()
    {
        inferShapes();
        for (size_t known = m_report.rewrites.size();; known = m_report.rewrites.size()) {
            toFixedPoint(m_table.early, false);
            if (m_report.rewrites.size() == known || !inferShapes()) break;
            m_declined.clear(); // more shapes are known
        }
        toFixedPoint(m_table.late, true);
        tellDeclined();
        std::vector<OperatorId> order = m_site.editor().order();
        for (const OperatorId op : order)
            m_report.operators.push_back({m_graph, m_site.nameOf(op), m_site.labelOf(op), m_site.wasFused(op)});
        return m_site.editor().finish(GraphEditor::Values::dropUnused);
    }

private:
    /// States the shapes that follow from others. Whether some are new.
    bool inferShapes()
    {
        if (!m_site.isTensorFlow() && !m_options.followsShapes) return false;
        Graph& graph = m_model.graph(m_graphId);
        std::vector<Shape> before;
        for (const Value& value : graph.values) before.push_back(value.type.dynamicShape());
        if (m_site.isTensorFlow()) KnownShapes(m_model).refine(graph);
        else lowering::refineShapes(m_model, {});
        for (size_t v = 0; v < before.size(); ++v)
            if (graph.values[v].type.dynamicShape() != before[v]) return true;
        return false;
    }

    void tellDeclined()
    {
        for (auto& [key, label] : m_labels)
            if (m_site.editor().isAlive(OperatorId(key.first))) m_report.labels.push_back(std::move(label));
        for (auto& [key, declined] : m_declined)
            if (m_site.editor().isAlive(OperatorId(key.first)))
                (m_site.wasFused(OperatorId(key.first)) ? m_report.declinedAtFused : m_report.declined).push_back(std::move(declined));
    }

    using Table = std::unordered_map<std::string, std::vector<const Rule*>>;

    void toFixedPoint(const Table& table, bool isLate)
    {
        constexpr size_t kMostRewrites = 64; // of an operator, on average
        std::deque<OperatorId> work;
        for (const OperatorId op : m_site.editor().order()) work.push_back(op);
        const size_t known = work.size();
        std::unordered_set<int32_t> queued;
        while (!work.empty()) {
            const OperatorId op = work.front();
            work.pop_front();
            queued.erase(op.index);
            if (!m_site.editor().isAlive(op)) continue;
            OperatorId made = tryAll(table, op);
            if (isLate && !made.valid()) made = tryAll(m_table.early, op);
            if (!made.valid()) continue;
            if (++m_made > kMostRewrites * known) return; // two rules that undo each other
            const auto again = [&](OperatorId next) {
                if (next.valid() && queued.insert(next.index).second) work.push_back(next);
            };
            again(made);
            for (const ValueId input : m_site.editor().op(made).inputs) again(m_site.producer(input)); // what was moved before it
            follow(made, again, 3);
        }
    }

    /// The readers of what changed, and theirs: patterns are a few operators deep.
    template <typename Again> void follow(OperatorId op, const Again& again, int depth)
    {
        for (const ValueId result : m_site.editor().op(op).results) {
            const auto uses = m_site.editor().uses(result);
            if (uses.size() > 16) continue;
            for (const ValueUse& use : uses) {
                if (use.kind != ValueUse::Kind::operand) continue;
                again(use.op);
                if (depth > 0) follow(use.op, again, depth - 1);
            }
        }
    }

    OperatorId tryAll(const Table& table, OperatorId op)
    {
        const auto rules = table.find(std::string(neutralKind(m_site.editor().op(op).kind)));
        if (rules == table.end()) return {};
        for (const Rule* rule : rules->second) {
            const std::string where = m_site.nameOf(op);
            if (isForbidden(rule->name, where) || (rule->isModest && wasRefused(op, rule->name))) continue;
            const OperatorId made = tell(rule->name, equalityOf(*rule), op, where, applyRule(*rule, m_site, op));
            if (made.valid()) return made;
        }
        return {};
    }

    /// Whether another rule began to match at the operator.
    bool wasRefused(OperatorId op, const std::string& rule) const
    {
        const auto from = m_declined.lower_bound({op.index, std::string()});
        for (auto at = from; at != m_declined.end() && at->first.first == op.index; ++at)
            if (at->first.second != rule) return true;
        return false;
    }

    bool isForbidden(std::string_view rule, const std::string& where) const
    {
        return std::ranges::any_of(m_options.forbidden, [&](const FusionPlace& place) {
            return place.rule == rule && place.graph == m_graph && place.where == where;
        });
    }

    /// Kernels of TensorFlow and of TFLite round differently, and only TensorFlow's take what is denormal for 0: what becomes an operator
    /// of the other is exact only where nothing is computed.
    FusionEquality equalityOf(const Rule& rule) const
    {
        const bool computes = std::ranges::none_of(movementRules(), [&](const Rule& moves) { return &moves == &rule; });
        const bool weakens = computes && m_site.isTensorFlow() && rule.equality == FusionEquality::exact;
        return weakens ? FusionEquality::realEqual : rule.equality;
    }

    OperatorId tell(const std::string& rule, FusionEquality equality, OperatorId at, const std::string& where, Outcome outcome)
    {
        if (outcome.fused.valid()) {
            const bool isComposite = rule == kComposites;
            std::vector<std::string> from = isComposite ? originsOf(m_site.editor().op(outcome.fused), outcome.fused) : m_site.lastFrom();
            if (outcome.isApproximate) equality = FusionEquality::approximate;
            std::string to = outcome.to.empty() ? m_site.labelOf(outcome.fused) : std::move(outcome.to);
            Fusion& made = m_report.rewrites.emplace_back(
                Fusion{rule, m_graph, m_site.nameOf(outcome.fused), std::move(to), std::move(from), equality, where});
            made.domain = std::move(outcome.domain);
            made.note = std::move(outcome.note);
            if (m_before) {
                made.region = changedRegion(m_site.model(), *m_before, m_site.editor());
                m_before = stateOf(m_site.editor());
            }
            return outcome.fused;
        }
        if (!outcome.label.empty()) m_labels[{at.index, rule}] = {m_graph, m_site.nameOf(at), std::move(outcome.label)};
        if (!outcome.reason.empty())
            m_declined[{at.index, rule}] = {rule, m_graph, m_site.nameOf(at), std::move(outcome.to), std::move(outcome.reason)};
        return {};
    }

    Model& m_model;
    const GraphId m_graphId;
    Site m_site;
    const std::string m_graph;
    const RuleTable& m_table;
    const FusionOptions& m_options;
    FusionReport& m_report;
    size_t m_made = 0;                  ///< rewrites
    std::optional<GraphState> m_before; ///< of the next rewrite, where regions are kept
    std::map<std::pair<int32_t, std::string>, FusionDeclined> m_declined;
    std::map<std::pair<int32_t, std::string>, FusionLabel> m_labels;
};

/// Every graph that attributes name.
void visitGraphs(const AttributeList& attributes, const std::function<void(GraphId)>& visit)
{
    for (const NamedAttribute& attribute : attributes) {
        if (const auto* const ref = attribute.value.as<GraphRef>()) visit(ref->graph);
        if (const auto* const items = attribute.value.as<AttributeItems>())
            for (const Attribute& item : *items)
                if (const auto* const ref = item.as<GraphRef>()) visit(ref->graph);
    }
}

/// Graphs that operators name.
std::vector<bool> calledGraphs(const Model& model)
{
    std::vector<bool> isCalled(model.graphs.size(), false);
    for (const Graph& graph : model.graphs)
        for (const Operator& op : graph.operators)
            visitGraphs(op.attributes, [&](GraphId id) {
                if (model.hasGraph(id)) isCalled[static_cast<size_t>(id.index)] = true;
            });
    return isCalled;
}

/// Graphs that the model can still run: signatures, the primary one, those that nothing called before (`wasCalled`) where nobody says what
/// is run, and what those call.
std::vector<bool> reachable(const Model& model, const FusionOptions& options, const std::vector<bool>& wasCalled)
{
    std::vector<bool> reached(model.graphs.size(), false);
    std::vector<GraphId> open;
    const auto reach = [&](GraphId id) {
        if (!model.hasGraph(id) || reached[static_cast<size_t>(id.index)]) return;
        reached[static_cast<size_t>(id.index)] = true;
        open.push_back(id);
    };
    reach(options.root);
    for (const Signature& signature : model.signatures) reach(signature.graph);
    for (size_t g = 0; g < wasCalled.size() && !options.selection; ++g)
        if (!wasCalled[g]) reach(GraphId(static_cast<int64_t>(g)));
    while (!open.empty()) {
        const Graph& graph = model.graph(open.back());
        open.pop_back();
        for (const Operator& op : graph.operators) visitGraphs(op.attributes, reach);
    }
    return reached;
}

/// Every graph that attributes name gets its new number.
void renumberGraphs(AttributeList& attributes, const std::vector<GraphId>& numbers)
{
    const auto renumber = [&](Attribute& attribute) {
        if (auto* const ref = attribute.as<GraphRef>(); ref != nullptr && ref->graph.valid())
            ref->graph = numbers.at(static_cast<size_t>(ref->graph.index));
    };
    for (NamedAttribute& attribute : attributes) {
        renumber(attribute.value);
        if (auto* const items = attribute.value.as<AttributeItems>())
            for (Attribute& item : *items) renumber(item);
    }
}

/// Bodies and conditions of loops that are operators now go: a file would keep them.
void dropLostGraphs(Model& model, const FusionOptions& options, const std::vector<bool>& wasCalled)
{
    const std::vector<bool> isReached = reachable(model, options, wasCalled);
    if (model.dialect == Dialect::tf || std::ranges::find(isReached, false) == isReached.end()) return;
    std::vector<GraphId> numbers;
    std::vector<Graph> kept;
    for (size_t g = 0; g < model.graphs.size(); ++g) {
        numbers.push_back(isReached[g] ? GraphId(static_cast<int64_t>(kept.size())) : GraphId());
        if (isReached[g]) kept.push_back(std::move(model.graphs[g]));
    }
    model.graphs = std::move(kept);
    for (Signature& signature : model.signatures) signature.graph = numbers.at(static_cast<size_t>(signature.graph.index));
    for (Graph& graph : model.graphs)
        for (Operator& op : graph.operators) renumberGraphs(op.attributes, numbers);
}

/// Variables become constants and calls their bodies, so that patterns see what belongs together.
Status openUp(Model& model, const FusionOptions& options, FusionReport& report)
{
    if (hasVariables(model)) {
        Result<Frozen> frozen = freezeVariables(model, options.root, *options.selection, options.signature);
        if (!frozen.ok())
            report.declined.push_back(
                {"freeze", model.graph(options.root).id, model.graph(options.root).id, "constants", frozen.error().message()});
    }
    for (size_t g = 0; g < model.graphs.size(); ++g) {
        const GraphId graph(static_cast<int64_t>(g)); // names are those of the graph that is run
        Result<int64_t> inlined = inlineCalls(model, graph, graph == options.root ? options.keeps : std::vector<std::string>());
        if (!inlined.ok()) return std::move(inlined).takeError();
    }
    return {};
}

} // namespace

std::string_view equalityText(FusionEquality equality)
{
    switch (equality) {
    case FusionEquality::exact: return "exact";
    case FusionEquality::realEqual: return "real-equal";
    case FusionEquality::approximate: break;
    }
    return "approximate";
}

std::vector<FusionRuleInfo> fusionRules()
{
    std::vector<FusionRuleInfo> rules;
    for (const Rule* rule : allRules()) rules.push_back({rule->name, rule->equality, rule->patterns});
    for (const Rule* rule : reverseRules()) rules.push_back({rule->name, rule->equality, rule->patterns});
    rules.push_back({std::string(kComposites), FusionEquality::approximate, {}});
    return rules;
}

Status openForFusion(Model& model, const FusionOptions& options)
{
    FusionReport ignored; // a variable that stays is an operator that pairs
    return options.selection && model.dialect == Dialect::tf ? openUp(model, options, ignored) : Status();
}

Result<FusionReport> fuseOperators(Model& model, const FusionOptions& options)
{
    LS_TRY(const RuleTable table, tableOf(options));
    std::unordered_set<std::string> keeps;
    const std::unordered_set<std::string> none;
    for (const std::string& name : options.keeps)
        keeps.insert(name.substr(0, name.rfind(':') == std::string::npos ? name.size() : name.rfind(':')));
    FusionReport report;
    std::vector<bool> wasCalled = calledGraphs(model);
    const auto allGraphs = [&](Status (GraphFuser::*step)()) -> Status {
        std::vector<bool> isReached = reachable(model, options, wasCalled);
        size_t known = report.rewrites.size();
        for (size_t g = 0; g < model.graphs.size(); ++g) {
            if (report.rewrites.size() != known)
                isReached = reachable(model, options, wasCalled); // a loop that has gone takes its body with it
            known = report.rewrites.size();
            if (!isReached[g]) continue;
            const GraphId graph(static_cast<int64_t>(g));
            GraphFuser fuser(model, graph, table, graph == options.root ? keeps : none, options, report);
            LS_CHECK_OK((fuser.*step)());
        }
        return {};
    };
    if (table.composites && model.dialect == Dialect::tf) LS_CHECK_OK(allGraphs(&GraphFuser::fuseMarked));
    if (options.selection && model.dialect == Dialect::tf) {
        LS_CHECK_OK(openUp(model, options, report));
        if (table.composites) { // weights that were variables are constants now
            std::erase_if(report.declined, [](const FusionDeclined& declined) { return declined.rule == kComposites; });
            LS_CHECK_OK(allGraphs(&GraphFuser::fuseMarked));
        }
    }
    if (options.composites == Composites::body && !options.isReverse) {
        for (size_t g = 0; g < model.graphs.size(); ++g) {
            const GraphId graph(static_cast<int64_t>(g));
            LS_TRY(const std::vector<std::string> opened, openComposites(model, graph));
            for (const std::string& name : opened)
                report.rewrites.push_back(
                    {"composite-body", model.graph(graph).id, name, "its body", {name}, FusionEquality::exact, name, {}, nullptr});
        }
    }
    if (options.keepsRegions) report.opened = std::make_shared<const Model>(model);
    wasCalled = calledGraphs(model); // the body of a composite that was opened stays
    LS_CHECK_OK(allGraphs(&GraphFuser::run));
    dropLostGraphs(model, options, wasCalled);
    return report;
}

} // namespace loopscope
