// Kinds that fit nowhere else: errors, time, differences from a reference run, and any expression.
#include "engine/debug/breakpoints/kind.h"

#include "engine/base/clock.h"
#include "engine/base/text.h"
#include "engine/debug/breakpoints/condition.h"
#include "engine/debug/reference/comparison_text.h"
#include "engine/exec/executor.h"
#include "engine/ops/control_flow.h"
#include "engine/tensor/compare.h"

#include <algorithm>
#include <cstdio>

namespace loopscope {

namespace {

/// Errors stop every run; this only lists that.
class ErrorKind final : public BreakKind {
public:
    explicit ErrorKind(const BreakContext& context) : BreakKind(context) { note = "errors always stop"; }
    bool met(const BreakEvent&, const BreakSite&) override { return false; }
};

/// Operators that take longer than a time. What it meets depends on the machine, not on the position.
class TimeKind final : public BreakKind {
public:
    TimeKind(const BreakContext& context, const Places& places, int64_t limitNs)
        : BreakKind(context),
          m_path(places.path),
          m_limitNs(limitNs)
    {
        note = "depends on the machine: other hits when a part of the run is run again";
        for (const PlacedOperator& placed : places.operators) {
            if (callForm(model().graph(placed.graph).op(placed.op)).kind != CallKind::none) continue;
            add({placed.graph, placed.op, trapBefore, -1, ValueId()});
            add({placed.graph, placed.op, trapAfter, -1, ValueId()});
        }
    }
    bool met(const BreakEvent& event, const BreakSite&) override
    {
        if (!event.isAfter) {
            m_began = m_path.matches(event.executor, event.frames) ? nowNs() : -1;
            return false;
        }
        m_took = m_began < 0 ? -1 : nowNs() - m_began;
        m_began = -1;
        return m_took > m_limitNs;
    }
    StopReason reason(const BreakEvent&, const BreakSite&) const override
    {
        StopReason reason;
        reason.cause = StopCause::breakpoint;
        char text[64];
        std::snprintf(text, sizeof text, "took %.3g ms", static_cast<double>(m_took) / 1e6);
        reason.text = text;
        return reason;
    }

private:
    PathFilter m_path;
    int64_t m_limitNs;
    int64_t m_began = -1; ///< the operator that is running, −1: none
    int64_t m_took = -1;
};

class DiffersKind final : public BreakKind {
public:
    DiffersKind(const BreakContext& context, const Places& places, const Tolerance& tolerance)
        : BreakKind(context),
          m_path(places.path),
          m_tolerance(tolerance)
    {
        m_cause = StopCause::differs;
        for (const PlacedOperator& placed : places.operators) {
            const Operator& op = model().graph(placed.graph).op(placed.op);
            if (places.operators.size() > 1 && callForm(op).kind != CallKind::none) continue;
            for (size_t k = 0; k < op.results.size(); ++k)
                if (placed.slot < 0 || static_cast<size_t>(placed.slot) == k)
                    add({placed.graph, placed.op, trapAfter, static_cast<int32_t>(k), ValueId()});
        }
    }
    bool met(const BreakEvent& event, const BreakSite& site) override
    {
        if (!m_context.reference || !m_path.matches(event.executor, event.frames)) return false;
        if (static_cast<size_t>(site.slot) >= event.op.results.size()) return false;
        const Tensor* got = event.op.results[static_cast<size_t>(site.slot)];
        const auto want =
            m_context.reference->valueFor(event.executor, event.frames - 1, operatorAt(site).results[static_cast<size_t>(site.slot)]);
        if (!want.ok() || !*want || !got || (!got->data && got->bytes > 0) || !got->shape.isStatic()) return false;
        const Comparison comparison = compareTensors(*got, **want, m_tolerance, true);
        if (comparison.equal) return false;
        m_text = comparisonText(comparison, m_tolerance, got->shape);
        return true;
    }
    ExpressionCost cost() const override { return ExpressionCost::reference; }
    StopReason reason(const BreakEvent& event, const BreakSite& site) const override
    {
        StopReason reason = BreakKind::reason(event, site);
        reason.text = m_text;
        return reason;
    }

private:
    PathFilter m_path;
    Tolerance m_tolerance;
    std::string m_text;
};

/// An expression, looked at whenever one of the values that it reads is written; one that reads none, before every operator.
class WhenKind final : public BreakKind {
public:
    WhenKind(const BreakContext& context, EventExpression expression) : BreakKind(context), m_expression(std::move(expression))
    {
        for (const PlacedValue& read : m_expression.reads())
            for (const WriteSite& site : writeSitesOf(model(), read.graph, read.value))
                addOnce({read.graph, site.op, site.trap, -1, ValueId()});
        if (!m_sites.empty()) return;
        for (const GraphId graph : m_expression.graphs())
            for (size_t o = 0; o < model().graph(graph).operators.size(); ++o)
                add({graph, OperatorId(static_cast<int64_t>(o)), trapBefore, -1, ValueId()});
    }
    bool met(const BreakEvent& event, const BreakSite&) override
    {
        const Result<bool> holds = m_expression.holds(event, 0);
        if (holds.ok()) return *holds;
        failure = holds.error().message();
        return false;
    }
    std::vector<PlacedOperator> loops() const override { return m_expression.loops(); }
    ExpressionCost cost() const override { return m_expression.cost(); }
    uint64_t keptBytes() const override { return m_expression.keptBytes(); }

private:
    void addOnce(const BreakSite& site)
    {
        const auto isSame = [&](const BreakSite& other) {
            return other.graph == site.graph && other.op == site.op && other.trap == site.trap;
        };
        if (std::ranges::none_of(m_sites, isSame)) add(site);
    }
    EventExpression m_expression;
};

/// "5ms", "200us", "1.5s".
Result<int64_t> parseDuration(std::string_view text)
{
    const struct {
        std::string_view suffix;
        double ns;
    } kUnits[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    for (const auto& unit : kUnits) {
        if (!text.ends_with(unit.suffix)) continue;
        const auto number = parseNumber(text.substr(0, text.size() - unit.suffix.size()), "a time");
        if (number.ok() && *number >= 0 && *number * unit.ns < 9e18) return static_cast<int64_t>(*number * unit.ns);
        break;
    }
    return Error(ErrorCode::usage, "a time needs a number and a unit").found("'" + std::string(text) + "'").expected("5ms, 200us, 1.5s");
}

} // namespace

Result<std::unique_ptr<BreakKind>> makeError(const BreakContext& context, FrameContext, std::span<const std::string> operands)
{
    if (!operands.empty()) return wrongOperands("error");
    std::unique_ptr<BreakKind> kind = std::make_unique<ErrorKind>(context);
    kind->head = "error";
    return kind;
}

Result<std::unique_ptr<BreakKind>> makeTime(const BreakContext& context, FrameContext frame, std::span<const std::string> operands)
{
    if (operands.size() < 2) return wrongOperands("time");
    std::string bound;
    for (const std::string& word : operands.subspan(1)) bound += word;
    if (!bound.starts_with(">")) return wrongOperands("time");
    LS_TRY(const int64_t limit, parseDuration(std::string_view(bound).substr(bound.starts_with(">=") ? 2 : 1)));
    Places places = allPlaces(context.target);
    std::string place;
    std::vector<std::string> kinds;
    std::erase_if(places.operators, [&](const PlacedOperator& placed) {
        const std::string& name = context.target.model.graph(placed.graph).op(placed.op).kind.name;
        kinds.push_back(name);
        return name != operands[0];
    });
    if (places.operators.empty()) { // no type: a place
        auto resolved = resolvePlaces(context.target, frame, operands[0]);
        if (!resolved.ok()) {
            Error error = std::move(resolved).takeError();
            for (std::string& near : nearestNames(operands[0], kinds))
                if (std::ranges::find(error.detail().nearest, near) == error.detail().nearest.end())
                    error.detail().nearest.push_back(std::move(near));
            return error;
        }
        places = std::move(*resolved);
        place = places.text;
    }
    std::unique_ptr<BreakKind> kind = std::make_unique<TimeKind>(context, places, limit);
    if (kind->sites().empty()) return Error(ErrorCode::usage, "time is measured of operators that are no calls").found(operands[0]);
    kind->head = "time " + (place.empty() ? operands[0] : place) + " " + bound;
    kind->place = place;
    return kind;
}

Result<std::unique_ptr<BreakKind>> makeDiffers(const BreakContext& context, FrameContext frame, std::span<const std::string> operands)
{
    if (!context.reference) return Error(ErrorCode::usage, "there is no reference run; use --against").at("break differs");
    Tolerance tolerance;
    std::string head = "differs";
    while (!operands.empty() && operands[0].starts_with("--")) {
        if (operands.size() < 2) return wrongOperands("differs");
        const std::string& option = operands[0];
        LS_TRY(const double number, parseNumber(operands[1], option));
        if (option == "--cosine") {
            tolerance.cosine = number;
        } else if (option == "--ulp") {
            LS_TRY(tolerance.ulp, parseCount(operands[1], option));
        } else if (option == "--atol" || option == "--rtol") {
            if (!tolerance.close) tolerance.close = Tolerance::Close{0, 0};
            (option == "--atol" ? tolerance.close->atol : tolerance.close->rtol) = number;
        } else {
            return Error(ErrorCode::usage, "no option '" + option + "' of break differs").expected("--cosine, --ulp, --atol, --rtol");
        }
        head += " " + option + " " + operands[1];
        operands = operands.subspan(2);
    }
    if (tolerance.isExact()) tolerance = context.reference->tolerance();
    if (operands.size() > 1) return wrongOperands("differs");
    Places places = allPlaces(context.target);
    if (!operands.empty()) {
        LS_TRY(places, resolvePlaces(context.target, frame, operands[0]));
        head += " " + places.text;
    }
    std::unique_ptr<BreakKind> kind = std::make_unique<DiffersKind>(context, places, tolerance);
    kind->head = head;
    kind->place = places.text;
    return kind;
}

Result<std::unique_ptr<BreakKind>> makeWhen(const BreakContext& context, FrameContext frame, std::span<const std::string> operands)
{
    // The graph of the frame; where the names mean nothing there, every graph where they do: values first, then what inputs and outputs are
    // called (of a loop around a model these are those of its last call).
    const Executor& executor = context.target.executor;
    const int frames = executor.position().depth;
    const int depth = frame.depth < 0 || frame.depth >= frames ? frames - 1 : frame.depth;
    const GraphId here[] = {frames > 0 ? executor.frame(depth).graph : executor.root()};
    auto expression = EventExpression::compile(context, here, operands[0], ExpressionUse::condition, true);
    if (!expression.ok() || expression->reads().empty()) {
        const std::vector<GraphId> all = PathFilter().graphs(context.target.model, executor.root());
        for (const bool idsOnly : {true, false}) {
            auto elsewhere = EventExpression::compile(context, all, operands[0], ExpressionUse::condition, idsOnly);
            if (!elsewhere.ok() && !expression.ok() && !idsOnly) return std::move(expression).takeError().at("break when");
            if (!elsewhere.ok()) continue;
            expression = std::move(elsewhere);
            break;
        }
    }
    const std::vector<PlacedValue> whenReads = expression->reads();
    std::unique_ptr<BreakKind> kind = std::make_unique<WhenKind>(context, std::move(*expression));
    if (kind->sites().empty()) return Error(ErrorCode::usage, "reads nothing that is ever written").at("break when " + operands[0]);
    kind->head = "when " + operands[0];
    // The same name stands for other values in other graphs.
    for (const PlacedValue& read : whenReads) {
        const Graph& graph = context.target.model.graph(read.graph);
        kind->note += (kind->note.empty() ? "looks at " : ", ") + graph.value(read.value).id + " of " + graph.id;
    }
    return kind;
}

} // namespace loopscope
