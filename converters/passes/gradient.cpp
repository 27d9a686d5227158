// Gradients as a pass: values by name, and what the pass adds in the words that all passes share.
#include "converters/lower/lift.h"
#include "converters/passes/graph_walk.h"
#include "converters/passes/pass.h"
#include "engine/base/text.h"
#include "engine/ir/flow_role.h"
#include "engine/transform/gradient/model_gradient.h"

namespace loopscope {

namespace {

/// A TFLite model is differentiated as the TensorFlow model that computes the same; names of its values keep their meaning.
Status lift(Model& model, GradientNames& names)
{
    if (!model.hasGraph(names.root)) return {};
    const Graph source = model.graph(names.root);
    LS_TRY(LiftedModel lifted, liftToTensorFlow(model));
    const std::vector<ValueId>& now = lifted.values[static_cast<size_t>(names.root.index)];
    for (auto* list : {&names.of, &names.wrt})
        for (std::string& name : *list)
            for (size_t v = 0; v < source.values.size(); ++v)
                if ((source.values[v].id == name || source.values[v].name == name) && now[v].valid())
                    name = lifted.model.graph(names.root).value(now[v]).id;
    model = std::move(lifted.model);
    return {};
}

/// A value by its id ("add", "add:0", "split:1"), or by what a signature or the graph's output list calls it.
Result<ValueId> valueNamed(const Model& model, GraphId root, const std::string& name)
{
    const Graph& graph = model.graph(root);
    const std::string plain = name.ends_with(":0") ? name.substr(0, name.size() - 2) : name;
    if (const ValueId found = graph.findValue(plain); found.valid()) return found;
    for (const GraphOutput& output : graph.outputs)
        if (output.name == name) return output.value;
    for (const Signature& signature : model.signatures)
        for (const auto* bindings : {&signature.inputs, &signature.outputs})
            for (const SignatureBinding& binding : *bindings)
                if (signature.graph == root && binding.name == name) return binding.value;
    std::vector<std::string> known;
    for (const Value& value : graph.values) known.push_back(value.id);
    return Error(ErrorCode::usage, "no value '" + name + "' in graph " + graph.id).nearest(nearestNames(name, known));
}

Result<std::vector<ValueId>> valuesNamed(const Model& model, GraphId root, const std::vector<std::string>& names)
{
    std::vector<ValueId> values;
    for (const std::string& name : names) {
        LS_TRY(const ValueId value, valueNamed(model, root, name));
        values.push_back(value);
    }
    return values;
}

/// A variable of TensorFlow 1 is one of TensorFlow 2 after raising, and its name that of one that reads it: what is meant is the variable.
ValueId variableOf(const Graph& graph, ValueId value)
{
    if (graph.value(value).role != ValueRole::result) return value;
    const Operator& read = graph.op(graph.value(value).producer);
    if (read.kind.name != "ReadVariableOp" || read.inputs.empty() || !read.inputs[0].valid()) return value;
    const Value& handle = graph.value(read.inputs[0]);
    const bool isIt = handle.role == ValueRole::result && graph.op(handle.producer).name == read.name + "/handle";
    return isIt ? read.inputs[0] : value;
}

} // namespace

Result<RewriteReport> runGradient(Model& model, const PassContext& context)
{
    GradientNames names = context.gradient;
    if (names.of.empty() || names.wrt.empty())
        return Error(ErrorCode::usage, "the pass 'gradient' has to know what of and by what").expected("--of NAME and --wrt NAME");
    if (model.dialect != Dialect::tf) LS_CHECK_OK(lift(model, names));
    if (!model.hasGraph(names.root)) return Error(ErrorCode::usage, "the model has no graph");
    GradientRequest request;
    request.graph = names.root;
    request.recompute = names.recompute;
    request.stacks = names.stacks;
    LS_TRY(request.of, valuesNamed(model, names.root, names.of));
    LS_TRY(request.wrt, valuesNamed(model, names.root, names.wrt));
    for (ValueId& value : request.wrt) {
        const Graph& graph = model.graph(names.root);
        request.names.push_back(graph.value(value).role == ValueRole::result ? graph.op(graph.value(value).producer).name
                                                                             : graph.value(value).id);
        value = variableOf(graph, value);
    }
    LS_TRY(const ModelGradient made, addGradients(model, request));
    RewriteReport report;
    const Graph& graph = model.graph(names.root);
    for (size_t k = 0; k < made.gradients.size(); ++k) {
        const std::string& id = graph.value(made.gradients[k]).id;
        if (made.isConnected[k]) report.rewrites.push_back({"gradient", "by " + names.wrt[k], graph.id, id, {names.wrt[k]}});
        else report.rewrites.push_back({"zeros", "by " + names.wrt[k] + ", on which nothing of it depends", graph.id, id, {names.wrt[k]}});
    }
    return report;
}

} // namespace loopscope
