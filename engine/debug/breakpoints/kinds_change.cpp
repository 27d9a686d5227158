// Kinds about a value over time: that it changed, stayed, got another shape, or was read. They compare with the write before.
#include "engine/debug/breakpoints/kind.h"

#include "engine/debug/breakpoints/variable_sites.h"

#include <algorithm>

namespace loopscope {

namespace {

/// Single values at places, with what is kept of each.
class ValueKind : public BreakKind {
public:
    ValueKind(const BreakContext& context, const Places& places, int64_t writes) : BreakKind(context), m_path(places.path)
    {
        for (const PlacedOperator& placed : places.operators) {
            const Operator& op = model().graph(placed.graph).op(placed.op);
            for (size_t k = 0; k < op.results.size(); ++k)
                if (placed.slot < 0 || static_cast<size_t>(placed.slot) == k) addValue(placed.graph, op.results[k], writes);
        }
        for (const PlacedValue& placed : places.values) addValue(placed.graph, placed.value, writes);
    }
    bool met(const BreakEvent& event, const BreakSite& site) final
    {
        if (!m_path.matches(event.executor, event.frames)) return false;
        const ValueKeeper& keeper = *m_keepers[static_cast<size_t>(&site - m_sites.data())];
        const KeptWrite* now = keeper.before(event.op.invocation, 0);
        return now && isIt(*now, keeper.before(event.op.invocation, 1));
    }
    ExpressionCost cost() const override { return ExpressionCost::previousValue; }
    uint64_t keptBytes() const override
    {
        uint64_t bytes = 0;
        for (const auto& keeper : m_keepers) bytes += keeper->byteSize();
        return bytes;
    }

protected:
    virtual bool isIt(const KeptWrite& now, const KeptWrite* then) = 0;
    void setCause(StopCause cause) { m_cause = cause; }

private:
    void addValue(GraphId graph, ValueId value, int64_t writes)
    {
        const std::shared_ptr<ValueKeeper> keeper = m_context.kept.keeper(model(), graph, value, writes, false, false);
        for (const WriteSite& site : keeper->sites()) {
            add({graph, site.op, site.trap, -1, value});
            m_keepers.push_back(keeper);
        }
    }

    PathFilter m_path;
    std::vector<std::shared_ptr<ValueKeeper>> m_keepers; ///< by site
};

class WatchKind final : public ValueKind {
public:
    WatchKind(const BreakContext& context, const Places& places) : ValueKind(context, places, 1) { setCause(StopCause::watch); }

protected:
    bool isIt(const KeptWrite& now, const KeptWrite* then) override { return !then || now.hash != then->hash; }
};

class UnchangedKind final : public ValueKind {
public:
    UnchangedKind(const BreakContext& context, const Places& places, int64_t writes)
        : ValueKind(context, places, writes + 1),
          m_writes(writes)
    {
    }

protected:
    bool isIt(const KeptWrite& now, const KeptWrite*) override { return now.unchanged >= m_writes; }

private:
    int64_t m_writes;
};

class ShapeKind final : public ValueKind {
public:
    ShapeKind(const BreakContext& context, const Places& places) : ValueKind(context, places, 1) {}

protected:
    bool isIt(const KeptWrite& now, const KeptWrite* then) override { return then && now.shape != then->shape; }
};

/// Accesses of a resource variable, and of a value by the operators of its graph.
class AccessKind final : public BreakKind {
public:
    AccessKind(const BreakContext& context, std::string variable, std::vector<BreakSite> sites)
        : BreakKind(context),
          m_variable(std::move(variable))
    {
        m_sites = std::move(sites);
        m_cause = StopCause::watch;
    }
    AccessKind(const BreakContext& context, const Places& places, bool writes) : BreakKind(context), m_path(places.path)
    {
        m_cause = StopCause::watch;
        for (const PlacedOperator& placed : places.operators) {
            const Operator& op = model().graph(placed.graph).op(placed.op);
            for (size_t k = 0; k < op.results.size(); ++k)
                if (placed.slot < 0 || static_cast<size_t>(placed.slot) == k) addValue(placed.graph, op.results[k], writes);
        }
        for (const PlacedValue& placed : places.values) addValue(placed.graph, placed.value, writes);
    }
    bool met(const BreakEvent& event, const BreakSite&) override { return m_path.matches(event.executor, event.frames); }
    StopReason reason(const BreakEvent& event, const BreakSite& site) const override
    {
        StopReason reason = BreakKind::reason(event, site);
        if (!m_variable.empty()) reason.value = "var:" + m_variable;
        return reason;
    }

private:
    void addValue(GraphId graph, ValueId value, bool writes)
    {
        const std::vector<Operator>& operators = model().graph(graph).operators;
        for (size_t o = 0; o < operators.size(); ++o)
            if (std::ranges::find(operators[o].inputs, value) != operators[o].inputs.end())
                add({graph, OperatorId(static_cast<int64_t>(o)), trapAfter, -1, value});
        if (!writes) return;
        for (const WriteSite& site : writeSitesOf(model(), graph, value)) add({graph, site.op, site.trap, -1, value});
    }

    PathFilter m_path;
    std::string m_variable; ///< empty: values
};

constexpr std::string_view kNeverWritten = "is never written";

Result<std::unique_ptr<BreakKind>> makeAccess(const BreakContext& context, FrameContext frame, std::span<const std::string> operands,
                                              std::string_view name, bool writes)
{
    if (operands.size() != 1) return wrongOperands(name);
    if (operands[0].starts_with("var:")) {
        LS_TRY(const Place place, parsePlace(operands[0]));
        const bool reads = name != "watch";
        LS_TRY(std::vector<BreakSite> sites, variableSites(context.target, place.variable, reads, writes));
        const std::string text = toString(place);
        return finished(std::make_unique<AccessKind>(context, place.variable, std::move(sites)), text, text, kNeverWritten);
    }
    LS_TRY(const Places places, resolvePlaces(context.target, frame, operands[0]));
    const std::string text = places.text;
    if (name == "watch") return finished(std::make_unique<WatchKind>(context, places), text, text, kNeverWritten);
    return finished(std::make_unique<AccessKind>(context, places, writes), text, text, "is never read");
}

} // namespace

Result<std::unique_ptr<BreakKind>> makeWatch(const BreakContext& context, FrameContext frame, std::span<const std::string> operands)
{
    return makeAccess(context, frame, operands, "watch", true);
}

Result<std::unique_ptr<BreakKind>> makeReadWatch(const BreakContext& context, FrameContext frame, std::span<const std::string> operands)
{
    return makeAccess(context, frame, operands, "rwatch", false);
}

Result<std::unique_ptr<BreakKind>> makeAccessWatch(const BreakContext& context, FrameContext frame, std::span<const std::string> operands)
{
    return makeAccess(context, frame, operands, "awatch", true);
}

Result<std::unique_ptr<BreakKind>> makeUnchanged(const BreakContext& context, FrameContext frame, std::span<const std::string> operands)
{
    const bool hasCount = operands.size() == 3 && operands[1] == "for";
    if (operands.size() != 1 && !hasCount) return wrongOperands("unchanged");
    LS_TRY(const Places places, resolvePlaces(context.target, frame, operands[0]));
    int64_t writes = 1;
    if (hasCount) {
        LS_TRY(writes, parseCount(operands[2], "a number of writes"));
    }
    constexpr int64_t kMost = 1'000'000;
    if (writes < 1 || writes > kMost)
        return Error(ErrorCode::usage, "a number of writes").found(std::to_string(writes)).expected("1 to " + std::to_string(kMost));
    const std::string head = "unchanged " + places.text + (writes > 1 ? " for " + std::to_string(writes) : "");
    return finished(std::make_unique<UnchangedKind>(context, places, writes), head, places.text, kNeverWritten);
}

Result<std::unique_ptr<BreakKind>> makeShape(const BreakContext& context, FrameContext frame, std::span<const std::string> operands)
{
    if (operands.size() != 1) return wrongOperands("shape");
    LS_TRY(const Places places, resolvePlaces(context.target, frame, operands[0]));
    return finished(std::make_unique<ShapeKind>(context, places), "shape " + places.text, places.text, kNeverWritten);
}

} // namespace loopscope
