#include "app/wiring/model_summary.h"

#include "app/check/golden_run.h"
#include "app/wiring/operator_work.h"
#include "app/wiring/run_observers.h"
#include "engine/ir/frames.h"
#include "engine/ir/ids.h"
#include "engine/kernels/registry.h"
#include "engine/ops/catalog.h"
#include "engine/ops/op_traits.h"
#include "engine/plan/planner.h"
#include "engine/tensor/value_text.h"

#include <algorithm>
#include <set>

namespace loopscope::app {

namespace {

/// Lines of the outline that a model may have: a graph called from many places appears under each.
constexpr size_t kMaxOutline = 200;

class Outline {
public:
    Outline(const Model& model, const std::vector<int64_t>& calls, std::vector<ControlFlowLine>& lines)
        : m_model(model),
          m_calls(calls),
          m_lines(lines)
    {
    }

    void add(GraphId graph, int depth, const std::string& place)
    {
        if (!m_model.hasGraph(graph) || std::find(m_open.begin(), m_open.end(), graph) != m_open.end()) return;
        m_open.push_back(graph);
        const Graph& g = m_model.graph(graph);
        if (m_model.dialect == Dialect::tf && hasFramesOrSwitches(g)) addFrames(analyzeFrames(g), 0, depth, place);
        for (size_t i = 0; i < g.operators.size() && m_lines.size() < kMaxOutline; ++i) {
            const Operator& op = g.operators[i];
            const std::vector<Callee> callees = calleesOf(op);
            if (callees.empty()) continue;
            ControlFlowLine line;
            line.depth = depth;
            const std::string label = addressSite(op, static_cast<int64_t>(i));
            line.address = place + "/" + label;
            line.label = depth == 0 ? line.address : label;
            for (const Callee& callee : callees) {
                line.text += (line.text.empty() ? "" : ", ") + callee.role + " ";
                if (!m_model.hasGraph(callee.graph)) {
                    line.text += "?";
                    continue;
                }
                line.text += m_model.graph(callee.graph).id;
                const int64_t calls = m_calls[static_cast<size_t>(callee.graph.index)];
                if (calls > 1) line.text += " (called from " + std::to_string(calls) + " places)";
            }
            if (callees.front().role == "cond") line.text += ", " + std::to_string(op.inputs.size()) + " carried";
            const std::string address = line.address;
            m_lines.push_back(std::move(line));
            for (const Callee& callee : callees) add(callee.graph, depth + 1, address + ":" + callee.role);
        }
        m_open.pop_back();
    }

private:
    void addFrames(const FrameAnalysis& analysis, int32_t parent, int depth, const std::string& place)
    {
        for (size_t f = 1; f < analysis.frames.size() && m_lines.size() < kMaxOutline; ++f) {
            const Frame& frame = analysis.frames[f];
            if (frame.parent != parent) continue;
            const auto count = [](size_t n, const std::string& what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); };
            ControlFlowLine line;
            line.depth = depth;
            const std::string label = escapeAddressName(frame.name, true);
            line.address = place + "/" + label;
            line.label = depth == 0 ? line.address : label;
            line.text = frame.isLoop()
                            ? "loop, " + count(frame.variables.size(), "variable") + ", " + count(frame.invariants.size(), "invariant")
                            : "frame, no loop: " + frame.irregular;
            const std::string inside = line.address + ":frame";
            m_lines.push_back(std::move(line));
            addFrames(analysis, static_cast<int32_t>(f), depth + 1, inside);
        }
    }

    const Model& m_model;
    const std::vector<int64_t>& m_calls;
    std::vector<ControlFlowLine>& m_lines;
    std::vector<GraphId> m_open;
};

/// The plans that one run may use: each graph once, at the shapes of the call that comes first.
void collectPlans(const GraphPlan& plan, std::map<int64_t, const GraphPlan*>& plans)
{
    if (!plans.try_emplace(plan.graph.index, &plan).second) return;
    for (const PlannedOperator& op : plan.operators)
        if (op.call)
            for (const GraphPlan* callee : op.call->plans)
                if (callee) collectPlans(*callee, plans);
}

std::optional<int64_t> macsOf(const Graph& graph, const GraphPlan& plan)
{
    const std::vector<Tensor> tensors = plannedTensors(graph, plan);
    int64_t sum = 0;
    for (const Operator& op : graph.operators) {
        const std::optional<int64_t> macs = operatorMacs(op, tensors);
        if (!macs || __builtin_add_overflow(sum, *macs, &sum)) return std::nullopt;
    }
    return sum;
}

/// Work and memory of one pass. Inputs have the shapes that the file states, where unknown dimensions are 1.
void summarizePlan(const Model& model, std::span<const GraphId> roots, ModelSummary& summary)
{
    Planner planner(model);
    std::map<int64_t, const GraphPlan*> plans;
    for (const GraphId root : roots) {
        const Graph& graph = model.graph(root);
        std::vector<Shape> shapes;
        for (const ValueId input : graph.inputs) {
            const TensorType& type = graph.value(input).type;
            Shape& shape = shapes.emplace_back(type.shape);
            for (int i = 0; i < shape.rank(); ++i)
                if (shape[i] == kUnknownDim) shape[i] = 1;
            summary.dynamicInputs = summary.dynamicInputs || !type.dynamicShape().isStatic();
        }
        const auto plan = planner.plan(root, shapes, graph.id);
        if (!plan.ok()) return;
        summary.activationPeak = std::max(summary.activationPeak.value_or(0), (*plan)->bytes);
        collectPlans(**plan, plans);
    }
    if (plans.empty()) return;
    int64_t sum = 0;
    bool known = true;
    for (const auto& [graph, plan] : plans) {
        summary.unsizedValues += std::ranges::count(plan->values, Storage::heap, &PlannedValue::storage);
        const std::optional<int64_t> macs = macsOf(model.graph(plan->graph), *plan);
        known = known && macs && !__builtin_add_overflow(sum, *macs, &sum);
    }
    if (known) summary.macs = sum;
}

void countFrames(const Graph& graph, ModelSummary& summary)
{
    if (!hasFramesOrSwitches(graph)) return;
    const FrameAnalysis analysis = analyzeFrames(graph);
    FrameSummary& frames = summary.frames;
    frames.any = true;
    frames.frames += static_cast<int64_t>(analysis.frames.size()) - 1;
    for (const Frame& frame : analysis.frames) {
        frames.loops += frame.isLoop() ? 1 : 0;
        frames.nesting = std::max<int64_t>(frames.nesting, frame.depth);
    }
    frames.conditionals += analysis.conditionals;
    frames.neverLive += std::count(analysis.neverLives.begin(), analysis.neverLives.end(), true);
    for (const std::string& problem : analysis.problems) summary.warnings.push_back(problem);
}

} // namespace

std::vector<const TensorAttribute*> tensorsOfNode(const Operator& op)
{
    std::vector<const TensorAttribute*> tensors;
    for (const char* key : {"value", "@value"})
        if (const Attribute* attribute = findAttribute(op.attributes, key))
            if (const auto* tensor = attribute->as<TensorAttribute>()) tensors.push_back(tensor);
    return tensors;
}

ModelSummary summarize(const Model& model)
{
    ModelSummary summary;
    std::set<const Constant*> counted;
    std::set<std::string> variableNames;
    summary.calls.assign(model.graphs.size(), 0);
    for (size_t g = 0; g < model.graphs.size(); ++g) {
        const Graph& graph = model.graphs[g];
        summary.operatorCount += static_cast<int64_t>(graph.operators.size());
        const bool tf = model.dialect == Dialect::tf;
        if (tf) countFrames(graph, summary);
        const auto countConstant = [&](const TensorType& type, const Constant& constant) {
            if (!counted.insert(&constant).second) return;
            summary.constantBytes += constant.size();
            if (const auto count = type.shape.isStatic() ? checkedElementCount(type.shape) : std::nullopt;
                count && type.dtype != DType::string)
                summary.parameters += *count;
        };
        for (const Operator& op : graph.operators) {
            ++summary.operators[upperKind(op)];
            for (const Callee& callee : calleesOf(op))
                if (model.hasGraph(callee.graph)) ++summary.calls[static_cast<size_t>(callee.graph.index)];
            if (op.kind.name == "var_handle")
                variableNames.insert(std::string(attributeString(op.attributes, "container", "")) + "/" +
                                     std::string(attributeString(op.attributes, "shared_name", "")));
            if (hasTrait(op.kind, OpTrait::variable)) {
                const std::string_view shared = attributeString(op.attributes, "shared_name", "");
                variableNames.insert(shared.empty() ? op.name : std::string(shared));
            }
            if (tf)
                for (const TensorAttribute* const tensor : tensorsOfNode(op)) countConstant(tensor->type, *tensor->data);
        }
        for (const Value& value : graph.values) {
            if (value.role == ValueRole::variable) ++summary.variables;
            const Shape shape = value.type.dynamicShape();
            // TensorFlow's files state hardly any shape, which does not make them dynamic.
            const bool stated = !tf && value.role != ValueRole::constant && value.role != ValueRole::absent;
            if (stated && !shape.isStatic()) ++summary.dynamicValues;
            if (value.constant) countConstant(value.type, *value.constant);
        }
    }
    summary.variables += static_cast<int64_t>(variableNames.size());

    std::set<std::string> missing;
    std::vector<GraphId> roots;
    Outline outline(model, summary.calls, summary.controlFlow);
    for (size_t g = 0; g < model.graphs.size(); ++g) {
        const GraphId id(static_cast<int64_t>(g));
        bool isRoot = g == 0;
        for (const Signature& signature : model.signatures) isRoot = isRoot || signature.graph == id;
        if (!isRoot) continue;
        roots.push_back(id);
        outline.add(id, 0, model.graphs[g].id);
        for (std::string& kind : missingKernels(model, id)) missing.insert(std::move(kind));
    }
    summary.missing.assign(missing.begin(), missing.end());
    for (std::string& warning : modelWarnings(model)) summary.warnings.push_back(std::move(warning));
    summary.types = summarizeTypes(model);
    summary.placement = summarizePlacement(model);
    if (model.dialect != Dialect::tf) summarizePlan(model, roots, summary);
    return summary;
}

std::string operatorCounts(const std::map<std::string, int64_t>& operators)
{
    std::map<int64_t, std::vector<std::string>, std::greater<>> byCount;
    for (const auto& [kind, count] : operators) byCount[count].push_back(kind);
    std::string text;
    for (const auto& [count, kinds] : byCount) {
        text += (text.empty() ? "" : ", ") + std::to_string(count) + (kinds.size() > 1 ? " each" : "");
        for (const std::string& kind : kinds) text += " " + kind;
    }
    return text;
}

std::string headText(const Graph& graph)
{
    std::string text = graph.id + "(";
    for (size_t i = 0; i < graph.inputs.size(); ++i)
        text += (i > 0 ? ", " : "") + graph.value(graph.inputs[i]).id + ": " + shortType(graph.value(graph.inputs[i]).type);
    text += ")";
    for (size_t i = 0; i < graph.outputs.size(); ++i)
        text +=
            (i > 0 ? ", " : " -> ") + graph.value(graph.outputs[i].value).id + ": " + shortType(graph.value(graph.outputs[i].value).type);
    return text;
}

} // namespace loopscope::app
