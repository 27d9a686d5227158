#include "engine/debug/inspect/provenance.h"

#include "engine/debug/timeline.h"
#include "engine/exec/executor.h"
#include "engine/ops/catalog.h"
#include "engine/ops/control_flow.h"

#include <algorithm>

namespace loopscope {

namespace {

constexpr int kMaxHops = 256; ///< formals that are followed: more than frames can be nested

int positionOf(const Graph& graph, ValueId input)
{
    return static_cast<int>(std::ranges::find(graph.inputs, input) - graph.inputs.begin());
}

GraphId bodyOf(const Operator& loop)
{
    for (const Callee& callee : callForm(loop).callees)
        if (callee.role == "body") return callee.graph;
    return {};
}

/// A carried value at the beginning of an iteration: written by the body before, or the loop's operand.
struct Carried {
    bool isOperand = false;
    int position = 0;      ///< of the operand
    ValueId value;         ///< else: of the body
    int64_t iteration = 0; ///< in which it was written
};

Carried carriedAt(const Graph& body, int position, int64_t iteration)
{
    while (iteration > 0 && static_cast<size_t>(position) < body.outputs.size()) {
        const ValueId output = body.outputs[static_cast<size_t>(position)].value;
        if (body.value(output).role != ValueRole::input) return {false, position, output, iteration - 1};
        const int before = positionOf(body, output);
        if (before == position) break; // never changes
        position = before;
        --iteration;
    }
    return {true, position, {}, 0};
}

Result<Origin> writtenBy(const DebugTarget& target, const WriteQuery& query, int64_t until, Origin origin)
{
    LS_TRY(origin.hit, findLast(target, query, until));
    if (!origin.hit) return origin;
    origin.kind = OriginKind::write;
    origin.slot = query.slot;
    origin.at.tick = origin.hit->before;
    origin.at.until = origin.hit->after;
    return origin;
}

} // namespace

std::vector<OperatorId> variableWriters(const Graph& graph, ValueId variable)
{
    std::vector<OperatorId> writers;
    for (size_t i = 0; i < graph.operators.size(); ++i) {
        const Operator& op = graph.operators[i];
        const OpDef* const def = findOp(op.kind);
        if (!def) continue;
        const std::span<const int> operands = def->stateOperandsOf ? def->stateOperandsOf(op) : def->stateOperands;
        for (const int k : operands)
            if (k >= 0 && static_cast<size_t>(k) < op.inputs.size() && op.inputs[static_cast<size_t>(k)] == variable)
                writers.emplace_back(static_cast<int64_t>(i));
    }
    return writers;
}

Result<Origin> originOf(const DebugTarget& target, ValueAt at)
{
    const Model& model = target.model;
    Origin origin;
    for (int hops = 0; hops < kMaxHops; ++hops) {
        LS_CHECK_OK(target.timeline.goTo(at.tick, target.control));
        const Executor& executor = target.executor;
        const FrameInfo frame = executor.frame(at.depth);
        const Graph& graph = model.graph(frame.graph);
        const Value& value = graph.value(at.value);
        origin.at = at;
        origin.graph = frame.graph;
        WriteQuery query;
        query.path = pathAt(executor, at.depth);
        switch (value.role) {
        case ValueRole::constant: origin.kind = OriginKind::constant; return origin;
        case ValueRole::absent: return origin;
        case ValueRole::variable:
            query.ops = variableWriters(graph, at.value);
            origin.kind = OriginKind::variable;
            if (query.ops.empty()) return origin;
            return writtenBy(target, query, at.until, std::move(origin));
        case ValueRole::result:
            query.ops = {value.producer};
            query.slot = value.slot;
            return writtenBy(target, query, at.until, std::move(origin));
        case ValueRole::input: break;
        }
        if (at.depth == 0 || frame.role == CallRole::frame) {
            origin.kind = OriginKind::input;
            return origin;
        }
        origin.formals.push_back(at);
        const GraphId callerGraph = executor.frame(at.depth - 1).graph;
        const Graph& caller = model.graph(callerGraph);
        const Operator& site = caller.op(frame.site);
        const int position = positionOf(graph, at.value);
        int operand = callForm(site).firstArgument + position;
        std::string how = " is ";
        if (frame.role == CallRole::loop) {
            const GraphId body = bodyOf(site);
            const Carried carried = carriedAt(model.graph(body), position, frame.iteration);
            if (!carried.isOperand) {
                origin.hops.push_back(value.id + " is carried from " + model.graph(body).value(carried.value).id);
                origin.graph = body;
                origin.at.value = carried.value;
                const Value& source = model.graph(body).value(carried.value);
                query.path = query.path.parent().into(frame.site, body);
                if (source.role == ValueRole::constant) origin.kind = OriginKind::constant;
                if (source.role != ValueRole::result && source.role != ValueRole::variable) return origin;
                query.ops =
                    source.role == ValueRole::result ? std::vector{source.producer} : variableWriters(model.graph(body), carried.value);
                query.slot = source.role == ValueRole::result ? source.slot : -1;
                query.iterationDepth = at.depth;
                query.iteration = carried.iteration;
                return writtenBy(target, query, std::min(at.until, Tick(frame.enteredAtStep + at.depth)), std::move(origin));
            }
            operand = carried.position;
            how = frame.iteration == 0 ? " begins as " : " is, since the loop began, ";
        }
        if (static_cast<size_t>(operand) >= site.inputs.size() || !site.inputs[static_cast<size_t>(operand)].valid()) return origin;
        const ValueId outside = site.inputs[static_cast<size_t>(operand)];
        origin.hops.push_back(value.id + how + caller.value(outside).id);
        at = {at.tick, std::min(at.until, at.tick), at.depth - 1, outside};
    }
    return origin;
}

Result<std::optional<ValueAt>> resultInside(const DebugTarget& target, const WriteHit& hit, int slot)
{
    const int depth = static_cast<int>(hit.stack.size()) - 1;
    const GraphId callerGraph = hit.stack.back().graph;
    const Operator& op = target.model.graph(callerGraph).op(hit.op);
    const CallForm form = callForm(op);
    if (form.kind == CallKind::none || slot < 0) return std::optional<ValueAt>();
    LS_CHECK_OK(target.timeline.goTo(hit.after - 1, target.control));
    const Executor& executor = target.executor;
    const bool isInside = executor.position().depth > depth + 1 && executor.frame(depth).invocation == hit.stack.back().invocation &&
                          executor.frame(depth + 1).site == hit.op;
    ValueAt at{hit.after - 1, hit.after, depth, {}};
    if (!isInside) { // the callee has no operators: what it returns is handed through
        return std::optional<ValueAt>();
    }
    const FrameInfo frame = executor.frame(depth + 1);
    at.depth = depth + 1;
    if (form.kind != CallKind::loop) {
        const Graph& callee = target.model.graph(frame.graph);
        if (static_cast<size_t>(slot) >= callee.outputs.size()) return std::optional<ValueAt>();
        at.value = callee.outputs[static_cast<size_t>(slot)].value;
        return std::optional(at);
    }
    // The last cond sees what the loop returns; a loop whose cond has no operators ends in its body.
    const Graph& seen = target.model.graph(frame.graph);
    if (frame.inCond) {
        if (static_cast<size_t>(slot) >= seen.inputs.size()) return std::optional<ValueAt>();
        at.value = seen.inputs[static_cast<size_t>(slot)];
    } else {
        if (static_cast<size_t>(slot) >= seen.outputs.size()) return std::optional<ValueAt>();
        at.value = seen.outputs[static_cast<size_t>(slot)].value;
    }
    return std::optional(at);
}

StaticWriter staticWriterOf(const Model& model, CallPath path, ValueId value)
{
    StaticWriter writer;
    for (int hops = 0; hops < kMaxHops; ++hops) {
        const Graph& graph = model.graph(path.graph());
        const Value& v = graph.value(value);
        writer.path = path;
        switch (v.role) {
        case ValueRole::constant: writer.unwritten = v.id + " is a constant"; return writer;
        case ValueRole::absent: writer.unwritten = "nothing writes " + v.id; return writer;
        case ValueRole::variable:
            writer.ops = variableWriters(graph, value);
            if (writer.ops.empty()) writer.unwritten = "nothing writes " + v.id;
            return writer;
        case ValueRole::result:
            writer.ops = {v.producer};
            writer.slot = v.slot;
            return writer;
        case ValueRole::input: break;
        }
        if (path.levels.empty() || path.levels.back().isFrame) {
            writer.unwritten = v.id + " is an input of the run";
            return writer;
        }
        const OperatorId siteId = path.levels.back().site;
        const CallPath outside = path.parent();
        const Operator& site = model.graph(outside.graph()).op(siteId);
        const CallForm form = callForm(site);
        int position = positionOf(graph, value);
        if (form.kind == CallKind::loop) {
            const GraphId bodyId = bodyOf(site);
            const Graph& body = model.graph(bodyId);
            const int formal = position;
            const Carried carried = carriedAt(body, position, static_cast<int64_t>(body.inputs.size()) + 1);
            position = carried.position;
            if (!carried.isOperand) {
                writer.hop = v.id + " is carried from " + body.value(carried.value).id;
                writer.carriedPath = outside.into(siteId, bodyId);
                writer.carried = body.inputs[static_cast<size_t>(formal)];
                path = writer.carriedPath;
                value = carried.value;
                continue;
            }
        }
        const auto operand = static_cast<size_t>(form.firstArgument + position);
        if (operand >= site.inputs.size() || !site.inputs[operand].valid()) {
            writer.unwritten = "nothing writes " + v.id;
            return writer;
        }
        const Value& argument = model.graph(outside.graph()).value(site.inputs[operand]);
        writer.hop = v.id + " is " + argument.id + " outside";
        path = outside;
        value = site.inputs[operand];
    }
    return writer;
}

} // namespace loopscope
