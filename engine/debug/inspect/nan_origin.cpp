// Where a NaN comes from: backwards from write to write to the first one without a NaN among its inputs.
#include "engine/debug/inspect/element_map.h"
#include "engine/debug/inspect/expression_text.h"
#include "engine/debug/inspect/why_answers.h"
#include "engine/debug/timeline.h"
#include "engine/exec/executor.h"
#include "engine/observe/address_names.h"
#include "engine/ops/catalog.h"
#include "engine/ops/control_flow.h"
#include "engine/tensor/compare.h"
#include "engine/tensor/statistics.h"

#include <algorithm>
#include <cmath>

namespace loopscope {

namespace {

constexpr int kMaxHops = 20'000;
constexpr size_t kMostJoined = 4; ///< operators of the root graph that one line names

/// A write on the way.
struct Hop {
    WriteHit hit;
    int slot = 0;
    std::optional<int64_t> element;
    int64_t nans = 0, elements = 0;
    std::string reads;      ///< "copies arg5[3,0,1]", "reads the state written in iteration 3"; empty: nothing to say
    std::string annotation; ///< "origin"
    bool isCall = false;
    bool readsState = false;
    bool isEdge = false; ///< the next hop is in another invocation
};

/// Finds since when a carried value has been NaN without a break.
class SinceWhen final : public TrapHandler {
public:
    SinceWhen(const DebugTarget& target, int depth, InvocationId caller, OperatorId site, GraphId graph, ValueId formal)
        : m_target(target),
          m_depth(depth),
          m_caller(caller),
          m_site(site),
          m_graph(graph),
          m_formal(formal)
    {
        m_traps.add(graph, OperatorId(0), trapBefore);
    }
    const TrapSet& traps() const { return m_traps; }
    int64_t iteration() const { return m_iteration; }
    Tick tick() const { return m_tick; }

    bool beforeOperator(const OperatorEvent& event, Tick tick) override
    {
        const Executor& executor = m_target.executor;
        if (frameCount(executor, event.step) != m_depth + 1 || event.graph != m_graph ||
            executor.frame(m_depth - 1).invocation != m_caller || executor.frame(m_depth).site != m_site)
            return false;
        const Tensor* const tensor = executor.value(m_depth, m_formal);
        if (!tensor || firstNan(*tensor) < 0) {
            m_iteration = -1;
        } else if (m_iteration < 0) {
            m_iteration = executor.frame(m_depth).iteration;
            m_tick = tick;
        }
        return false;
    }
    bool afterOperator(const OperatorEvent&, Tick) override { return false; }

private:
    const DebugTarget& m_target;
    const int m_depth;
    const InvocationId m_caller;
    const OperatorId m_site;
    const GraphId m_graph;
    const ValueId m_formal;
    TrapSet m_traps;
    int64_t m_iteration = -1, m_tick = 0;
};

int64_t countNans(const Tensor& tensor) { return computeStatistics(tensor).nan; }

bool isNanAt(const Tensor& tensor, int64_t element)
{
    return element < tensor.elementCount() && std::isnan(elementAsReal(tensor, element));
}

class NanTracer {
public:
    explicit NanTracer(const DebugTarget& target) : m_target(target), m_model(target.model) {}

    Result<Explanation> trace(ValueAt at, std::optional<int64_t> element)
    {
        LS_CHECK_OK(m_target.timeline.goTo(at.tick, m_target.control));
        const Tensor* const tensor = valueHere(m_target.executor, at.depth, at.value);
        const Value& value = m_model.graph(m_target.executor.frame(at.depth).graph).value(at.value);
        if (!tensor) return Error(ErrorCode::usage, "not written yet").at(value.id);
        if (!element) element = firstNan(*tensor);
        if (*element < 0 || !isNanAt(*tensor, *element)) return Error(ErrorCode::usage, "holds no NaN").at(value.id);
        m_start = elementName(value.id, tensor->shape, *element);
        for (int i = 0; i < kMaxHops; ++i) {
            LS_TRY(const bool goesOn, hop(at, element));
            if (!goesOn) break;
        }
        return render();
    }

private:
    /// One write further back. False: this was the origin.
    Result<bool> hop(ValueAt& at, std::optional<int64_t>& element)
    {
        LS_TRY(Origin origin, originOf(m_target, at));
        if (!origin.formals.empty()) {
            LS_TRY(const bool jumped, skipIterations(origin, element));
            if (jumped) {
                LS_TRY(origin, originOf(m_target, origin.at));
            }
            leaveInvocation(origin);
        }
        const Graph& graph = m_model.graph(origin.graph.valid() ? origin.graph : m_target.executor.root());
        const std::string id = origin.at.value.valid() ? graph.value(origin.at.value).id : "";
        switch (origin.kind) {
        case OriginKind::input: return ends("input ", origin, id, element);
        case OriginKind::constant: return ends("constant ", origin, id, element);
        case OriginKind::variable: return ends("variable ", origin, id, element);
        case OriginKind::notWritten: return ends("", origin, id, element);
        case OriginKind::write: break;
        }
        Hop next;
        next.hit = std::move(*origin.hit);
        next.slot = origin.slot;
        next.element = element;
        const Tensor& result = next.hit.result.tensor;
        if (!result.data && result.bytes == 0) return ends("variable ", origin, id, element);
        next.elements = result.elementCount();
        next.nans = countNans(result);
        if (!next.element || !isNanAt(result, *next.element)) {
            const int64_t first = firstNan(result);
            if (first < 0) { // what was read is not what was written
                next.reads = "was edited afterwards";
                next.annotation = "origin";
                m_hops.push_back(std::move(next));
                return false;
            }
            next.element = first;
        }
        const Operator& op = m_model.graph(next.hit.stack.back().graph).op(next.hit.op);
        next.isCall = callForm(op).kind != CallKind::none;
        if (next.isCall) {
            LS_TRY(const std::optional<ValueAt> inside, resultInside(m_target, next.hit, next.slot));
            if (inside) {
                at = *inside;
                element = next.element;
                next.isEdge = true;
                m_hops.push_back(std::move(next));
                return true;
            }
        }
        return throughOperator(op, std::move(next), at, element);
    }

    /// From a result of an operator to the operand that brought the NaN.
    Result<bool> throughOperator(const Operator& op, Hop next, ValueAt& at, std::optional<int64_t>& element)
    {
        LS_CHECK_OK(m_target.timeline.goTo(next.hit.before, m_target.control));
        const int depth = static_cast<int>(next.hit.stack.size()) - 1;
        std::vector<const Tensor*> operands;
        for (const ValueId input : op.inputs) operands.push_back(input.valid() ? m_target.executor.value(depth, input) : nullptr);
        const std::vector<ElementSource> sources = elementSources(op, operands, next.hit.result.tensor.shape, next.slot, *next.element);
        const Graph& graph = m_model.graph(next.hit.stack.back().graph);
        for (size_t i = 0; i < operands.size(); ++i) {
            if (!operands[i] || sources[i].use == ElementUse::none) continue;
            const int64_t found = sources[i].use == ElementUse::one ? sources[i].index : firstNan(*operands[i]);
            if (found < 0 || !isNanAt(*operands[i], found)) continue;
            const std::string name = elementName(graph.value(op.inputs[i]).id, operands[i]->shape, found);
            next.reads = (elementForm(op) == ElementForm::movement ? "copies " : "reads ") + name;
            at = {next.hit.before, next.hit.before, depth, op.inputs[i]};
            element = found;
            m_hops.push_back(std::move(next));
            return true;
        }
        next.annotation = "origin";
        next.reads = "no NaN among its inputs" + operandText(op, operands, sources);
        m_hops.push_back(std::move(next));
        return false;
    }

    /// ": div(0, 0)" of an operator that computes element by element.
    static std::string operandText(const Operator& op, const std::vector<const Tensor*>& operands,
                                   const std::vector<ElementSource>& sources)
    {
        if (elementForm(op) != ElementForm::elementwise) return "";
        std::string text;
        for (size_t i = 0; i < operands.size(); ++i)
            if (operands[i] && sources[i].use == ElementUse::one)
                text += (text.empty() ? "" : ", ") + numberText(*operands[i], sources[i].index, false);
        return ": " + op.kind.name + "(" + text + ")";
    }

    /// A carried value that was NaN for many iterations is followed to the first of them at once.
    Result<bool> skipIterations(Origin& origin, std::optional<int64_t>& element)
    {
        const ValueAt formal = origin.formals.front();
        if (origin.kind != OriginKind::write || m_hops.empty() || m_hops.back().isCall) return false;
        LS_CHECK_OK(m_target.timeline.goTo(formal.tick, m_target.control));
        const Executor& executor = m_target.executor;
        const FrameInfo frame = executor.frame(formal.depth);
        if (frame.role != CallRole::loop || frame.iteration < 2) return false;
        const FrameInfo& wrote =
            origin.hit->stack.size() > static_cast<size_t>(formal.depth) ? origin.hit->stack[static_cast<size_t>(formal.depth)] : frame;
        if (wrote.site != frame.site || wrote.iteration != frame.iteration - 1) return false;
        const InvocationId caller = executor.frame(formal.depth - 1).invocation;
        // Was it NaN one iteration before, too?
        LS_CHECK_OK(m_target.timeline.goTo(origin.hit->before, m_target.control));
        const auto position =
            std::ranges::find(m_model.graph(frame.graph).inputs, formal.value) - m_model.graph(frame.graph).inputs.begin();
        const Graph& body = m_model.graph(wrote.graph);
        const Tensor* const before = executor.value(formal.depth, body.inputs[static_cast<size_t>(position)]);
        if (!before || firstNan(*before) < 0) return false;
        if (m_model.graph(frame.graph).operators.empty()) return false;
        LS_TRY(const int64_t entry, findEntry(m_target, formal.depth - 1, caller, frame.site, formal.tick));
        SinceWhen since(m_target, formal.depth, caller, frame.site, frame.graph, formal.value);
        LS_CHECK_OK(scan(m_target, entry, formal.tick, since.traps(), since));
        if (since.iteration() < 0 || since.iteration() >= frame.iteration) return false;
        LS_CHECK_OK(m_target.timeline.goTo(since.tick(), m_target.control));
        origin.at = {since.tick(), since.tick(), formal.depth, formal.value};
        const Tensor* const first = executor.value(formal.depth, formal.value);
        if (first && !(element && isNanAt(*first, *element))) element = firstNan(*first);
        m_skippedTo = since.iteration() - 1;
        return true;
    }

    /// The last write read a formal: what it says about that.
    void leaveInvocation(const Origin& origin)
    {
        if (m_hops.empty()) return;
        Hop& last = m_hops.back();
        if (last.isCall && last.isEdge) return; // inside the callee, which handed on what it was given
        last.isEdge = true;
        const size_t depth = last.hit.stack.size() - 1;
        if (origin.kind == OriginKind::write && origin.hit->stack.size() > depth && depth > 0) {
            const FrameInfo& there = origin.hit->stack[depth];
            if (there.role == CallRole::loop && there.site == last.hit.stack[depth].site &&
                there.iteration < last.hit.stack[depth].iteration) {
                last.readsState = true;
                last.reads = m_skippedTo >= 0 ? "reads the state, NaN since iteration " + std::to_string(m_skippedTo) + " wrote it"
                                              : "reads the state written in iteration " + std::to_string(there.iteration);
                m_skippedTo = -1;
                return;
            }
        }
        if (depth > 0 && last.hit.stack[depth].role == CallRole::loop) last.annotation = "first NaN inside the loop";
    }

    bool ends(const std::string& what, const Origin& origin, const std::string& id, const std::optional<int64_t>& element)
    {
        Shape shape;
        if (m_target.timeline.goTo(origin.at.tick, m_target.control).ok())
            if (const Tensor* const tensor = valueHere(m_target.executor, origin.at.depth, origin.at.value)) shape = tensor->shape;
        m_end = what + (element ? elementName(id, shape, *element) : id);
        m_endDepth = origin.at.depth;
        return false;
    }

    std::string addressText(const Hop& hop)
    {
        const bool isRoot = hop.hit.stack.size() == 1;
        const Operator& op = m_model.graph(hop.hit.stack.back().graph).op(hop.hit.op);
        const bool hasSlot = !isRoot || hop.isCall || op.results.size() > 1;
        const std::string text = addressOf(m_model, hop.hit.stack, hop.hit.op, hasSlot ? hop.slot : -1);
        // What the root itself runs: the operator, or the call that it lies in.
        Address outermost = addressOfStack(m_model, hop.hit.stack);
        outermost.op = isRoot ? operatorName(op, hop.hit.op.index) : outermost.steps.front().site;
        outermost.target = TargetKind::op;
        outermost.steps.clear();
        if (isRoot || outermost != m_named) {
            m_named = std::move(outermost);
            return text;
        }
        return text.substr(toString(m_named).size());
    }

    std::string factsText(const Hop& hop) const
    {
        if (hop.isCall && hop.isEdge) return "";
        std::string text;
        if (hop.readsState || !hop.element || hop.reads.empty()) {
            text = "  " + std::to_string(hop.nans) + " of " + std::to_string(hop.elements) + " NaN";
        } else {
            const std::string index = elementIndexText(hop.hit.result.tensor.shape, *hop.element);
            text = (index == "[]" ? "" : " " + index) + ", step " + std::to_string(hop.hit.step);
        }
        return text + (hop.reads.empty() ? "" : ": " + hop.reads);
    }

    Explanation render()
    {
        struct Line {
            std::string text, annotation;
        };
        std::vector<Line> lines = {{m_start, ""}};
        for (size_t i = 0; i < m_hops.size();) {
            size_t end = i; // hops of one invocation
            while (end + 1 < m_hops.size() && !m_hops[end].isEdge) ++end;
            const Hop& last = m_hops[end];
            std::string text;
            if (last.hit.stack.size() == 1) {
                const size_t count = end - i + 1;
                for (size_t k = i; k <= end; ++k) {
                    if (count > kMostJoined && k > i && k + 2 < end + 1) {
                        if (k == i + 1) text += " <- … " + std::to_string(count - 3) + " more";
                        continue;
                    }
                    text += " <- " + addressText(m_hops[k]);
                }
                if (!last.annotation.empty()) text += factsText(last);
            } else {
                text = " <- " + addressText(last) + factsText(last);
            }
            if (lines.size() == 1 && i == 0) {
                lines.back().text += text;
                lines.back().annotation = last.annotation;
            } else {
                lines.push_back({" " + text, last.annotation});
            }
            i = end + 1;
        }
        if (!m_end.empty()) {
            const bool joins = !m_hops.empty() && m_hops.back().hit.stack.size() == 1 && m_endDepth == 0;
            if (joins || m_hops.empty()) lines.back().text += " <- " + m_end;
            else lines.push_back({"  <- " + m_end, ""});
            lines.back().annotation = "origin";
        }
        size_t width = 0;
        for (const Line& line : lines)
            if (!line.annotation.empty()) width = std::max(width, line.text.size());
        Explanation answer;
        for (Line& line : lines) {
            if (!line.annotation.empty()) {
                line.text.resize(width + 5, ' ');
                line.text += line.annotation;
            }
            answer.lines.push_back(std::move(line.text));
        }
        return answer;
    }

    const DebugTarget& m_target;
    const Model& m_model;
    std::string m_start, m_end;
    int m_endDepth = 0;
    std::vector<Hop> m_hops;
    Address m_named;          ///< the loop of the root that the lines are about
    int64_t m_skippedTo = -1; ///< iteration that wrote the NaN that stayed
};

} // namespace

int64_t firstNan(const Tensor& tensor)
{
    const DTypeClass kind = dtypeClass(tensor.dtype);
    if (kind != DTypeClass::floating && kind != DTypeClass::complex) return -1;
    const int64_t count = tensor.elementCount();
    if (tensor.dtype == DType::f32) {
        const float* const elements = tensor.as<float>();
        for (int64_t i = 0; i < count; ++i)
            if (std::isnan(elements[i])) return i;
        return -1;
    }
    for (int64_t i = 0; i < count; ++i)
        if (std::isnan(elementAsReal(tensor, i))) return i;
    return -1;
}

const Tensor* valueHere(const Executor& executor, int depth, ValueId value)
{
    if (const Tensor* const tensor = executor.value(depth, value)) return tensor;
    if (depth != 0 || !executor.position().finished) return nullptr;
    const Graph& root = executor.model().graph(executor.root());
    for (size_t k = 0; k < root.outputs.size(); ++k)
        if (root.outputs[k].value == value) return &executor.output(static_cast<int>(k));
    return nullptr;
}

std::string elementName(const std::string& id, const Shape& shape, int64_t element)
{
    return shape.rank() == 0 ? id : id + elementIndexText(shape, element);
}

Result<Explanation> explainNan(const DebugTarget& target, ValueAt value, std::optional<int64_t> element)
{
    return NanTracer(target).trace(value, element);
}

} // namespace loopscope
