// Expressions of breakpoints: conditions and the values in texts of log points. Compiled for every graph in which the breakpoint can be
// met; what they need of the past is kept while the run goes on.
#pragma once

#include "engine/debug/breakpoints/kind.h"
#include "engine/debug/breakpoints/scalar_condition.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// The names of one graph, at the operator that is looked at.
class EventSource final : public LiveSource {
public:
    EventSource(const BreakContext& context, GraphId graph) : LiveSource(context.target, graph), m_context(context) {}

    void lookAt(const BreakEvent& event, int64_t hits);
    /// Keeps what the expression will ask for. Refuses nothing: that was done when it was compiled.
    void keep(const Expression& expression);
    std::vector<PlacedOperator> loops() const { return m_loops; }
    uint64_t keptBytes() const;

    Result<uint32_t> findLoop(std::string_view operatorName) override;
    Status checkFarHistory(uint32_t place, std::optional<int64_t> iteration) override;
    Status checkReference(uint32_t place) override;
    Result<const Tensor*> previous(uint32_t place, int64_t back) override;
    Result<const Tensor*> atIteration(uint32_t place, int64_t iteration, std::optional<uint32_t> loop) override;
    Result<const Tensor*> first(uint32_t place) override;
    Result<const Tensor*> reference(uint32_t place) override;
    Result<bool> changed(uint32_t place) override;
    int64_t hits() override { return m_hits; }

protected:
    std::optional<int64_t> finishedTrips(uint32_t loop, int depth) override;
    Step writeStep(uint32_t) override { return -1; }
    Result<const Tensor*> elsewhere(uint32_t) override { return nullptr; }

private:
    InvocationId invocationOf(uint32_t place) const;
    ValueKeeper* keeperOf(uint32_t place) const { return place < m_keepers.size() ? m_keepers[place].get() : nullptr; }

    BreakContext m_context;
    std::vector<std::shared_ptr<ValueKeeper>> m_keepers; ///< by place; null: nothing is kept of it
    std::vector<PlacedOperator> m_loops;
    InvocationId m_invocation = 0;
    int64_t m_hits = 0;
};

/// An expression in each of the graphs where it has a meaning.
class EventExpression {
public:
    /// `idsOnly`: LiveSource::useIdsOnly. Errors: usage; of the first graph, where it compiles in none.
    static Result<EventExpression> compile(const BreakContext& context, std::span<const GraphId> graphs, std::string_view text,
                                           ExpressionUse use, bool idsOnly = false);

    /// False where it has no meaning in the graph of the event. Errors: execution.
    Result<bool> holds(const BreakEvent& event, int64_t hits);
    /// As `print` shows it; "none" where it has no meaning.
    std::string textAt(const BreakEvent& event, int64_t hits);

    const std::string& text() const { return m_text; }
    bool usesHits() const { return m_usesHits; }
    ExpressionCost cost() const { return m_cost; }
    uint64_t keptBytes() const;
    std::vector<PlacedOperator> loops() const;
    /// Graphs where it compiles, and the values of their frames that it reads as they are.
    std::vector<GraphId> graphs() const;
    std::vector<PlacedValue> reads() const;

private:
    struct Compiled {
        std::unique_ptr<EventSource> source;
        std::unique_ptr<Expression> expression;
        std::optional<ScalarCondition> scalar; ///< the same, where it is simple
    };
    Compiled* at(GraphId graph)
    {
        const auto g = static_cast<size_t>(graph.index);
        return g < m_graphs.size() && m_graphs[g].expression ? &m_graphs[g] : nullptr;
    }

    std::string m_text;
    std::vector<Compiled> m_graphs; ///< by graph
    bool m_usesHits = false;
    ExpressionCost m_cost = ExpressionCost::constant;
};

} // namespace loopscope
