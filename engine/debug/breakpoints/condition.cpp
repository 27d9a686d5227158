#include "engine/debug/breakpoints/condition.h"

#include "engine/debug/expression/syntax.h"
#include "engine/exec/executor.h"

#include <algorithm>

namespace loopscope {

void EventSource::lookAt(const BreakEvent& event, int64_t hits)
{
    m_invocation = event.op.invocation;
    m_hits = hits;
    lookAtInnermost(event.frames, event.op.step + (event.isAfter ? 1 : 0), event.isAfter ? &event.op : nullptr, &event.statistics);
}

void EventSource::keep(const Expression& expression)
{
    for (const ExpressionDependency& dependency : expression.dependencies()) {
        const bool isPast = dependency.history == ExpressionHistory::previous || dependency.history == ExpressionHistory::first ||
                            dependency.history == ExpressionHistory::changed;
        const LivePlace& where = place(dependency.place);
        if (!isPast || where.kind == LivePlace::Kind::file) continue;
        if (m_keepers.size() <= dependency.place) m_keepers.resize(dependency.place + 1);
        const int64_t writes = std::clamp<int64_t>(dependency.back, 1, kKeptHistory);
        const bool copies = dependency.history == ExpressionHistory::previous;
        m_keepers[dependency.place] =
            m_context.kept.keeper(model(), where.graph, where.value, writes, copies, dependency.history == ExpressionHistory::first);
    }
}

uint64_t EventSource::keptBytes() const
{
    uint64_t bytes = 0;
    for (const std::shared_ptr<ValueKeeper>& keeper : m_keepers)
        if (keeper) bytes += keeper->byteSize();
    return bytes;
}

Result<uint32_t> EventSource::findLoop(std::string_view operatorName)
{
    LS_TRY(const uint32_t handle, LiveSource::findLoop(operatorName));
    m_loops.push_back({site(handle).graph, site(handle).op, -1});
    return handle;
}

Status EventSource::checkFarHistory(uint32_t, std::optional<int64_t> iteration)
{
    const std::string which = iteration ? "iteration " + std::to_string(*iteration) + " is" : "other iterations are";
    return Error(ErrorCode::usage, which + " not recorded; use trace --iterations all");
}

Status EventSource::checkReference(uint32_t)
{
    if (m_context.reference) return {};
    return Error(ErrorCode::usage, "there is no reference run; use --against");
}

/// Of the frame that holds the place; INT64_MAX: none does, so that whatever is kept lies before it.
InvocationId EventSource::invocationOf(uint32_t handle) const
{
    const LivePlace& where = place(handle);
    if (where.kind == LivePlace::Kind::frame && where.up == 0) return m_invocation;
    const std::optional<int> depth = depthOf(where);
    return depth ? target().executor.frame(*depth).invocation : InvocationId(INT64_MAX);
}

Result<const Tensor*> EventSource::previous(uint32_t handle, int64_t back)
{
    const ValueKeeper* keeper = keeperOf(handle);
    if (!keeper || keeper->sites().empty()) return current(handle); // a constant is what it was
    if (back < 1) return nullptr;
    const KeptWrite* kept = keeper->before(invocationOf(handle), back);
    return kept && kept->hasCopy ? &kept->tensor : nullptr;
}

Result<const Tensor*> EventSource::atIteration(uint32_t, int64_t, std::optional<uint32_t>) { return nullptr; }

Result<const Tensor*> EventSource::first(uint32_t handle)
{
    const ValueKeeper* keeper = keeperOf(handle);
    if (!keeper || keeper->sites().empty()) return current(handle);
    return keeper->first() ? &keeper->first()->tensor : nullptr;
}

Result<const Tensor*> EventSource::reference(uint32_t handle)
{
    const LivePlace& where = place(handle);
    const std::optional<int> depth = depthOf(where);
    if (!m_context.reference || !depth) return nullptr;
    return m_context.reference->valueFor(target().executor, *depth, where.value);
}

Result<bool> EventSource::changed(uint32_t handle)
{
    const ValueKeeper* keeper = keeperOf(handle);
    if (!keeper || keeper->sites().empty()) return false;
    const InvocationId now = invocationOf(handle);
    const KeptWrite* then = keeper->before(now, 1);
    if (!then) return true;
    if (const KeptWrite* present = keeper->before(now, 0)) return present->hash != then->hash;
    LS_TRY(const Tensor* tensor, current(handle));
    return !tensor || writeHash(*tensor) != then->hash;
}

std::optional<int64_t> EventSource::finishedTrips(uint32_t loop, int depth)
{
    return m_context.trips.of(site(loop).graph, site(loop).op, target().executor.frame(depth).invocation);
}

Result<EventExpression> EventExpression::compile(const BreakContext& context, std::span<const GraphId> graphs, std::string_view text,
                                                 ExpressionUse use, bool idsOnly)
{
    EventExpression result;
    result.m_text = text;
    std::optional<Error> refused;
    for (const GraphId graph : graphs) {
        const auto g = static_cast<size_t>(graph.index);
        if (g < result.m_graphs.size() && result.m_graphs[g].expression) continue;
        auto source = std::make_unique<EventSource>(context, graph);
        if (idsOnly) source->useIdsOnly();
        auto expression = Expression::compile(text, *source, use);
        if (!expression.ok()) {
            if (!refused) refused = std::move(expression).takeError();
            continue;
        }
        source->keep(*expression);
        result.m_cost = std::max(result.m_cost, expression->cost());
        if (result.m_graphs.size() <= g) result.m_graphs.resize(g + 1);
        std::optional<ScalarCondition> scalar;
        if (use == ExpressionUse::condition) scalar = ScalarCondition::compile(text, *source);
        result.m_graphs[g] = {std::move(source), std::make_unique<Expression>(std::move(*expression)), std::move(scalar)};
    }
    if (result.m_graphs.empty()) {
        if (refused) return std::move(*refused);
        return Error(ErrorCode::usage, "there is no operator that the expression could be looked at");
    }
    LS_TRY(const Syntax syntax, parseExpression(text, false));
    const auto isHits = [](const SyntaxNode& node) { return node.kind == SyntaxKind::word && node.text == "hits"; };
    result.m_usesHits = std::ranges::any_of(syntax.nodes, isHits);
    return result;
}

Result<bool> EventExpression::holds(const BreakEvent& event, int64_t hits)
{
    Compiled* compiled = at(event.op.graph);
    if (!compiled) return false;
    compiled->source->lookAt(event, hits);
    if (compiled->scalar) {
        const std::optional<bool> holds = compiled->scalar->holds(*compiled->source);
        if (holds) return *holds;
    }
    return compiled->expression->holds(*compiled->source);
}

std::string EventExpression::textAt(const BreakEvent& event, int64_t hits)
{
    Compiled* compiled = at(event.op.graph);
    if (!compiled) return "none";
    compiled->source->lookAt(event, hits);
    const auto value = compiled->expression->evaluate(*compiled->source);
    if (!value.ok()) return "(" + value.error().message() + ")";
    const ExpressionValue& v = **value;
    const bool isScalar = v.isTensor() && v.elementCount() == 1 && v.shape().rank() == 0;
    const std::string text = toString(v);
    const size_t blank = text.find(' ');
    return isScalar && blank != std::string::npos ? text.substr(blank + 1) : text; // the type of a scalar is of no interest in a text
}

uint64_t EventExpression::keptBytes() const
{
    uint64_t bytes = 0;
    for (const Compiled& compiled : m_graphs)
        if (compiled.source) bytes += compiled.source->keptBytes();
    return bytes;
}

std::vector<PlacedOperator> EventExpression::loops() const
{
    std::vector<PlacedOperator> loops;
    for (const Compiled& compiled : m_graphs)
        if (compiled.source)
            for (const PlacedOperator& loop : compiled.source->loops()) loops.push_back(loop);
    return loops;
}

std::vector<GraphId> EventExpression::graphs() const
{
    std::vector<GraphId> graphs;
    for (size_t g = 0; g < m_graphs.size(); ++g)
        if (m_graphs[g].expression) graphs.push_back(GraphId(static_cast<int64_t>(g)));
    return graphs;
}

std::vector<PlacedValue> EventExpression::reads() const
{
    std::vector<PlacedValue> values;
    for (const Compiled& compiled : m_graphs) {
        if (!compiled.expression) continue;
        for (const ExpressionDependency& dependency : compiled.expression->dependencies()) {
            const LivePlace& where = compiled.source->place(dependency.place);
            const bool isPresent = dependency.history == ExpressionHistory::current || dependency.history == ExpressionHistory::changed;
            if (isPresent && where.kind == LivePlace::Kind::frame && where.up == 0) values.push_back({where.graph, where.value});
        }
    }
    return values;
}

} // namespace loopscope
