#include "engine/transform/gradient/model_gradient.h"

#include "engine/transform/function_calls.h"
#include "engine/transform/gradient/activity.h"
#include "engine/transform/gradient/call_gradients.h"
#include "engine/transform/gradient/known_shapes.h"

#include <algorithm>

namespace loopscope {

namespace {

Status checkRequest(const Model& model, const GradientRequest& request)
{
    if (model.dialect != Dialect::tf)
        return Error(ErrorCode::usage, "gradients are those of TensorFlow graphs")
            .found("dialect " + std::string(dialectName(model.dialect)));
    const Graph& graph = model.graph(request.graph);
    for (const ValueId value : request.of) {
        const DType dtype = graph.value(value).type.dtype;
        if (!hasGradient(dtype) || dtype == DType::resource || dtype == DType::variant)
            return Error(ErrorCode::usage, "'" + graph.value(value).id + "' has no gradient")
                .found(std::string(dtypeName(dtype)))
                .expected("real or complex numbers");
    }
    for (const ValueId value : request.wrt)
        if (!hasGradient(gradientDType(model, graph, value)))
            return Error(ErrorCode::usage, "there is no gradient by '" + graph.value(value).id + "'")
                .found(std::string(dtypeName(graph.value(value).type.dtype)))
                .expected("real or complex numbers");
    return {};
}

Sources producerOf(const Graph& graph, ValueId value)
{
    return graph.value(value).role == ValueRole::result ? Sources(graph.value(value).producer) : Sources::none();
}

size_t operatorCount(const Model& model)
{
    size_t count = 0;
    for (const Graph& graph : model.graphs) count += graph.operators.size();
    return count;
}

/// The node's name of a value: without its slot.
std::string nodeName(const Graph& graph, ValueId value)
{
    const Value& v = graph.value(value);
    return v.role == ValueRole::result ? graph.op(v.producer).name : v.id;
}

} // namespace

Result<ModelGradient> addGradients(Model& model, const GradientRequest& request)
{
    LS_CHECK_OK(checkRequest(model, request));
    resolveFunctionCalls(model);
    ModelGradient answer;
    const size_t before = operatorCount(model);
    KnownShapes(model).refine(model.graph(request.graph));
    FunctionalGradients calls(model, request.recompute, request.stacks);
    GraphEditor editor(model, request.graph);
    const auto first = static_cast<int64_t>(editor.graph().operators.size());
    BackwardPass pass(editor, calls);
    GradientNodes& nodes = pass.nodes();
    for (const ValueId value : request.wrt) pass.depend(value);
    for (const ValueId value : request.of) {
        nodes.setScope(pass.prefix(), producerOf(editor.graph(), value));
        pass.seed(value, nodes.node("OnesLike", {nodes.value(value)}));
    }
    LS_CHECK_OK(pass.run());
    std::vector<GraphOutput> outputs = editor.graph().outputs;
    for (size_t k = 0; k < request.wrt.size(); ++k) {
        const ValueId value = request.wrt[k];
        nodes.setScope(pass.prefix(), producerOf(editor.graph(), value));
        GradientValue gradient = pass.gradientOf(value);
        answer.isConnected.push_back(gradient.valid());
        if (!gradient.valid()) gradient = pass.zerosFor(value, gradientDType(model, editor.graph(), value));
        OperatorDraft draft;
        draft.kind = {"tf", "Identity"};
        draft.name = pass.prefix() + "/" + (k < request.names.size() ? request.names[k] : nodeName(editor.graph(), value));
        draft.inputs = {gradient.id};
        draft.attributes = {{"T", nodes.dtype(gradient)}};
        TensorType type(nodes.dtype(gradient), Shape::unknownRank());
        if (const TensorType& by = editor.value(value).type; by.dtype == type.dtype) type.shape = by.shape;
        draft.results = {std::move(type)};
        const OperatorId named = editor.append(std::move(draft), producerOf(editor.graph(), value));
        answer.gradients.push_back(editor.op(named).results[0]);
        outputs.push_back({editor.op(named).name, answer.gradients.back()});
    }
    std::vector<OperatorId> unused;
    for (int64_t o = first; o < static_cast<int64_t>(editor.graph().operators.size()); ++o) {
        const OperatorId id(o);
        if (std::ranges::find(answer.gradients, editor.op(id).results.empty() ? ValueId() : editor.op(id).results[0]) ==
            answer.gradients.end())
            unused.push_back(id);
    }
    editor.eraseUnused(unused);
    if (!editor.graph().outputs.empty()) editor.setOutputs(std::move(outputs));
    editor.sortTopologically();
    std::vector<std::string> ids;
    for (const ValueId value : answer.gradients) ids.push_back(editor.value(value).id);
    LS_CHECK_OK(editor.finish(GraphEditor::Values::dropUnused));
    for (size_t k = 0; k < ids.size(); ++k) answer.gradients[k] = model.graph(request.graph).findValue(ids[k]);
    answer.operators = operatorCount(model) - before;
    return answer;
}

} // namespace loopscope
