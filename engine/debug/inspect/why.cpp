// Which `why` is meant.
#include "engine/debug/inspect/why.h"

#include "engine/base/trimmed.h"
#include "engine/debug/excursion.h"
#include "engine/debug/inspect/why_answers.h"
#include "engine/debug/timeline.h"
#include "engine/exec/executor.h"
#include "engine/ir/ids.h"
#include "engine/ops/catalog.h"
#include "engine/ops/control_flow.h"
#include "engine/tensor/element_index.h"

#include <algorithm>
#include <charconv>

namespace loopscope {

namespace {

/// `first word`, `rest`.
std::pair<std::string_view, std::string_view> splitWord(std::string_view text)
{
    const size_t end = text.find(' ');
    if (end == std::string_view::npos) return {text, {}};
    return {text.substr(0, end), trimmed(text.substr(end))};
}

int depthOf(const Executor& executor, FrameContext frame)
{
    const int frames = executor.position().depth;
    return frame.depth < 0 || frame.depth >= frames ? frames - 1 : frame.depth;
}

/// "V" or "V[0,-1]" against a tensor's shape: the value's text and the flat index.
struct ElementQuestion {
    std::string_view value;
    std::string_view index; ///< without brackets
    bool hasIndex = false;
};

ElementQuestion splitIndex(std::string_view text)
{
    if (!text.ends_with("]")) return {text, {}, false};
    const size_t open = text.rfind('[');
    if (open == std::string_view::npos) return {text, {}, false};
    return {trimmed(text.substr(0, open)), text.substr(open + 1, text.size() - open - 2), true};
}

/// A value that is typed, at this stop.
struct Asked {
    ValueAt at;
    std::optional<int64_t> element;
};

Result<Asked> askedValue(const DebugTarget& target, FrameContext frame, std::string_view text)
{
    const ElementQuestion question = splitIndex(text);
    LS_TRY(const TypedPlace place, resolveTyped(target, frame, question.value));
    const std::string name(question.value);
    if (!place.resolved.value.valid()) return Error(ErrorCode::usage, "names no value").at(name);
    LS_TRY(const CallPath path, pathOf(target.model, target.executor.root(), place.resolved.address));
    const int frames = target.executor.position().depth;
    if (!isOnPath(target.executor, frames, path)) return Error(ErrorCode::usage, "is not on the call stack here; go there first").at(name);
    for (int d = 1; d <= path.depth(); ++d) {
        const int64_t wanted = place.resolved.address.steps[static_cast<size_t>(d) - 1].iteration;
        if (wanted >= 0 && target.executor.frame(d).iteration != wanted)
            return Error(ErrorCode::usage, "is not on the call stack here; go there first").at(name);
    }
    Asked asked;
    const int64_t now = target.timeline.tick();
    asked.at = {now, now, path.depth(), place.resolved.value};
    const Tensor* const tensor = valueHere(target.executor, path.depth(), place.resolved.value);
    if (!tensor) return Error(ErrorCode::usage, "not written yet").at(name);
    if (question.hasIndex) {
        LS_TRY(asked.element, flatIndex(tensor->shape, question.index));
    }
    return asked;
}

/// The value here that a NaN is asked about when none is named: an output, an operand of the next operator, the last one written.
std::optional<ValueId> nanHere(const Executor& executor, int depth)
{
    const FrameInfo frame = executor.frame(depth);
    const Graph& graph = executor.model().graph(frame.graph);
    const auto holds = [&](ValueId value) {
        if (!value.valid()) return false;
        const Tensor* const tensor = valueHere(executor, depth, value);
        return tensor && firstNan(*tensor) >= 0;
    };
    if (executor.position().finished)
        for (const GraphOutput& output : graph.outputs)
            if (holds(output.value)) return output.value;
    if (frame.next.valid())
        for (const ValueId input : graph.op(frame.next).inputs)
            if (holds(input)) return input;
    const size_t written = frame.next.valid() ? static_cast<size_t>(frame.next.index) : graph.operators.size();
    for (size_t i = written; i-- > 0;)
        for (const ValueId result : graph.operators[i].results)
            if (holds(result)) return result;
    for (const ValueId input : graph.inputs)
        if (holds(input)) return input;
    return std::nullopt;
}

int innermostLoop(const Executor& executor, int depth)
{
    while (depth > 0 && executor.frame(depth).role != CallRole::loop) --depth;
    return depth;
}

bool isBranch(const Operator& op)
{
    const CallKind kind = callForm(op).kind;
    return kind == CallKind::branch || kind == CallKind::select;
}

Result<Explanation> answerNan(const DebugTarget& target, FrameContext frame, std::string_view text)
{
    if (!text.empty()) {
        LS_TRY(const Asked asked, askedValue(target, frame, text));
        return explainNan(target, asked.at, asked.element);
    }
    const int depth = depthOf(target.executor, frame);
    const std::optional<ValueId> value = nanHere(target.executor, depth);
    if (!value) return Error(ErrorCode::usage, "no value of this frame holds a NaN");
    const int64_t now = target.timeline.tick();
    return explainNan(target, {now, now, depth, *value}, std::nullopt);
}

/// The operator that an address names, with the way to its graph.
struct AskedSite {
    CallPath outside;
    OperatorId site;
};

Result<AskedSite> askedSite(const DebugTarget& target, FrameContext frame, std::string_view text)
{
    AskedSite asked;
    for (int depth = depthOf(target.executor, frame); depth > 0; --depth) { // one of the calls that are open
        const FrameInfo inner = target.executor.frame(depth);
        const Graph& caller = target.model.graph(target.executor.frame(depth - 1).graph);
        if (!inner.site.valid()) continue;
        if (operatorLabel(caller.op(inner.site), inner.site.index) != text) continue;
        asked.outside = pathAt(target.executor, depth - 1);
        asked.site = inner.site;
        return asked;
    }
    LS_TRY(const TypedPlace place, resolveTyped(target, frame, text));
    LS_TRY(asked.outside, pathOf(target.model, target.executor.root(), place.resolved.address));
    asked.site = place.resolved.op;
    if (!asked.site.valid() && asked.outside.depth() > 0) { // an invocation: the call that it is one of
        asked.site = asked.outside.levels.back().site;
        asked.outside = asked.outside.parent();
    }
    if (!asked.site.valid()) return Error(ErrorCode::usage, "names no operator").at(std::string(text));
    return asked;
}

std::optional<OperatorId> onlyLoop(const Graph& graph)
{
    std::optional<OperatorId> only;
    for (size_t i = 0; i < graph.operators.size(); ++i) {
        if (callForm(graph.operators[i]).kind != CallKind::loop) continue;
        if (only) return std::nullopt;
        only = OperatorId(static_cast<int64_t>(i));
    }
    return only;
}

/// The loop that a text names.
Result<AskedSite> askedLoop(const DebugTarget& target, FrameContext frame, std::string_view text)
{
    LS_TRY(AskedSite asked, askedSite(target, frame, text));
    const Operator& op = target.model.graph(asked.outside.graph()).op(asked.site);
    if (callForm(op).kind != CallKind::loop) return Error(ErrorCode::usage, "is no loop").at(operatorLabel(op, asked.site.index));
    return asked;
}

/// Of a frame that is open the loop in it that has ended; without one the only loop of the root.
Result<Explanation> answerStop(const DebugTarget& target, FrameContext frame, std::string_view text)
{
    const Executor& executor = target.executor;
    if (!text.empty()) {
        LS_TRY(const AskedSite asked, askedLoop(target, frame, text));
        return explainStop(target, asked.outside, asked.site);
    }
    for (const int depth : {depthOf(executor, frame), 0})
        if (const std::optional<OperatorId> only = onlyLoop(target.model.graph(executor.frame(depth).graph)))
            return explainStop(target, pathAt(executor, depth), *only);
    return Error(ErrorCode::usage, "no loop is the only one here; say which: why stop ADDRESS");
}

Result<Explanation> answerLoop(const DebugTarget& target, FrameContext frame, std::string_view text)
{
    const Executor& executor = target.executor;
    if (text.empty()) {
        int depth = depthOf(executor, frame);
        while (depth > 0 && executor.frame(depth).role != CallRole::loop && executor.frame(depth).role != CallRole::frame) --depth;
        if (depth > 0) return executor.frame(depth).role == CallRole::frame ? explainFrame(target, depth) : explainLoop(target, depth);
        if (const std::optional<OperatorId> only = onlyLoop(target.model.graph(executor.frame(0).graph))) // which has ended
            return explainLoopEnd(target, pathAt(executor, 0), *only);
        return Error(ErrorCode::usage, "no loop is running here; say which: why loop ADDRESS");
    }
    LS_TRY(const AskedSite asked, askedLoop(target, frame, text));
    const int depth = asked.outside.depth() + 1;
    const int frames = executor.position().depth;
    if (frames > depth && isOnPath(executor, frames, asked.outside) && executor.frame(depth).site == asked.site)
        return explainLoop(target, depth);
    return explainLoopEnd(target, asked.outside, asked.site);
}

Result<Explanation> answerBranch(const DebugTarget& target, FrameContext frame, std::string_view text)
{
    const Executor& executor = target.executor;
    if (!text.empty()) {
        LS_TRY(const AskedSite asked, askedSite(target, frame, text));
        const Graph& graph = target.model.graph(asked.outside.graph());
        if (!isBranch(graph.op(asked.site)))
            return Error(ErrorCode::usage, "is no branch").at(operatorLabel(graph.op(asked.site), asked.site.index));
        return explainBranch(target, asked.outside, asked.site);
    }
    int depth = depthOf(executor, frame);
    const FrameInfo here = executor.frame(depth);
    if (here.next.valid() && isBranch(target.model.graph(here.graph).op(here.next)))
        return explainBranch(target, pathAt(executor, depth), here.next);
    for (; depth > 0; --depth) {
        const FrameInfo inner = executor.frame(depth);
        if (inner.site.valid() && isBranch(target.model.graph(executor.frame(depth - 1).graph).op(inner.site)))
            return explainBranch(target, pathAt(executor, depth - 1), inner.site);
    }
    return Error(ErrorCode::usage, "no branch is next or around here; say which: why branch ADDRESS");
}

Result<Explanation> answerDead(const DebugTarget& target, FrameContext frame, std::string_view text)
{
    if (text.empty()) { // the node that is next
        const Position& position = target.executor.position();
        if (!position.op.valid()) return Error(ErrorCode::usage, "no node is next; say which: why dead NODE");
        return explainDead(target, position.graph, position.op);
    }
    LS_TRY(const TypedPlace place, resolveTyped(target, frame, text));
    OperatorId op = place.resolved.op;
    const Graph& graph = target.model.graph(place.resolved.graph);
    if (!op.valid() && place.resolved.value.valid()) op = graph.value(place.resolved.value).producer;
    if (!op.valid()) return Error(ErrorCode::usage, "names no node").at(std::string(text));
    return explainDead(target, place.resolved.graph, op);
}

Result<Explanation> answer(const DebugTarget& target, FrameContext frame, std::string_view question)
{
    const Executor& executor = target.executor;
    if (executor.position().depth < 1) return Error(ErrorCode::usage, "no run was started");
    const auto [topic, rest] = splitWord(question);
    if (topic == "loop") return answerLoop(target, frame, rest);
    if (topic == "stop") return answerStop(target, frame, rest);
    if (topic == "branch") return answerBranch(target, frame, rest);
    if (topic == "nan") return answerNan(target, frame, rest);
    if (topic == "grad") {
        LS_TRY(const Asked asked, askedValue(target, frame, rest));
        return explainGradient(target, asked.at);
    }
    if (topic == "waiting") return explainWaiting(target);
    if (topic == "dead") return answerDead(target, frame, rest);
    if (!question.empty()) {
        LS_TRY(const Asked asked, askedValue(target, frame, question));
        const Tensor* const tensor = valueHere(executor, asked.at.depth, asked.at.value);
        int64_t element = asked.element.value_or(0);
        if (!asked.element && tensor && firstNan(*tensor) >= 0) element = firstNan(*tensor);
        if (!tensor || tensor->elementCount() == 0) return Error(ErrorCode::usage, "has no elements").at(std::string(question));
        return explainElement(target, asked.at, element);
    }
    const int depth = depthOf(executor, frame);
    const FrameInfo here = executor.frame(depth);
    if (here.next.valid() && isBranch(target.model.graph(here.graph).op(here.next))) return answerBranch(target, frame, {});
    if (nanHere(executor, depth)) return answerNan(target, frame, {});
    if (innermostLoop(executor, depth) > 0) return answerLoop(target, frame, {});
    return Error(ErrorCode::usage, "why what?").expected("loop, branch, nan or a value's element: why loop, why nan Identity, why x[0,1]");
}

} // namespace

Result<Explanation> explainWhy(const DebugTarget& target, FrameContext frame, std::string_view question)
{
    Excursion excursion(target);
    Result<Explanation> explanation = answer(target, frame, trimmed(question));
    LS_CHECK_OK(excursion.comeBack());
    return explanation;
}

} // namespace loopscope
