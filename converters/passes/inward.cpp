// Constants that a loop, a branch or a function is given become constants in it, too: what is computed from them there can be folded then.
#include "converters/passes/graph_walk.h"
#include "converters/passes/pass.h"
#include "engine/ops/control_flow.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace loopscope {

namespace {

constexpr size_t kMostBytes = 256; ///< axes, shapes, a few indices: what decides how something is computed

struct Site {
    size_t graph = 0;
    OperatorId op;
    Callee callee;
};

/// By function: where it is called.
std::map<int32_t, std::vector<Site>> callSites(const Model& model)
{
    std::map<int32_t, std::vector<Site>> sites;
    for (size_t g = 0; g < model.graphs.size(); ++g)
        for (size_t i = 0; i < model.graphs[g].operators.size(); ++i)
            for (const Callee& callee : callForm(model.graphs[g].operators[i]).callees)
                if (model.hasGraph(callee.graph)) sites[callee.graph.index].push_back({g, OperatorId(static_cast<int64_t>(i)), callee});
    return sites;
}

/// The node that makes a small constant, through Identities; null: the value is none.
const TensorAttribute* constantBehind(const Graph& graph, ValueId value)
{
    for (int steps = 0; value.valid() && graph.value(value).role == ValueRole::result && steps < 64; ++steps) {
        const Operator& op = graph.op(graph.value(value).producer);
        if (op.kind.name == "Identity" && !op.inputs.empty()) {
            value = op.inputs[0];
            continue;
        }
        const Attribute* const said = op.kind.dialect == "tf" && op.kind.name == "Const" ? findAttribute(op.attributes, "value") : nullptr;
        const auto* const tensor = said ? said->as<TensorAttribute>() : nullptr;
        return tensor && tensor->data && tensor->data->hasBytes() && tensor->data->size() <= kMostBytes ? tensor : nullptr;
    }
    return nullptr;
}

/// Whether the loop's body gives input `i` as it was.
bool staysTheSame(const Model& model, const CallForm& form, size_t i)
{
    if (form.kind != CallKind::loop) return true;
    const GraphId id = form.callees.back().graph;
    return model.hasGraph(id) && bodyHandsOn(model.graph(id), i);
}

/// Who reads the input reads the constant; what is handed on stays the input.
bool makeConstant(GraphEditor& editor, ValueId input, const TensorAttribute& data, const Sources& sources)
{
    const Graph& graph = editor.graph();
    const auto reads = [&](const Operator& op) { return std::ranges::find(op.inputs, input) != op.inputs.end(); };
    std::vector<OperatorId> readers;
    for (const OperatorId id : editor.order())
        if (reads(editor.op(id)) && editor.op(id).kind.name != "Identity") readers.push_back(id);
    if (readers.empty()) return false;
    const TensorType type = data.type;
    const ValueId made =
        appendNode(editor, "Const", graph.value(input).id + "/known", {}, {{"dtype", type.dtype}, {"value", data}}, type, sources);
    editor.move(editor.value(made).producer, InsertPoint::before(editor.order().front()));
    for (const OperatorId id : readers)
        for (size_t i = 0; i < editor.op(id).inputs.size(); ++i)
            if (editor.op(id).inputs[i] == input) editor.setInput(id, static_cast<int32_t>(i), made);
    return true;
}

} // namespace

/// constants-inward: of functions that are called from one place.
Result<RewriteReport> handConstantsInward(Model& model, const PassContext&)
{
    LS_CHECK_OK(needsTensorFlow(model));
    struct Handed {
        GraphId function;
        size_t input;
        TensorAttribute data;
        std::string from;
    };
    std::vector<Handed> all; // found before anything changes: graphs are numbered anew
    for (const auto& [function, sites] : callSites(model)) {
        if (sites.size() != 1 || function == 0) continue;
        const Graph& caller = model.graphs[sites.front().graph];
        const Operator& op = caller.op(sites.front().op);
        const CallForm form = callForm(op);
        const auto first = static_cast<size_t>(std::max(form.firstArgument, 0));
        const size_t count = model.graph(GraphId(function)).inputs.size();
        for (size_t i = 0; i < count && i + first < op.inputs.size(); ++i)
            if (const TensorAttribute* const known = constantBehind(caller, op.inputs[i + first]); known && staysTheSame(model, form, i))
                all.push_back({GraphId(function), i, *known, op.name});
    }
    RewriteReport report;
    for (size_t k = 0; k < all.size();) {
        const GraphId function = all[k].function;
        const std::string from = all[k].from;
        GraphEditor editor(model, function);
        const std::vector<ValueId> inputs = editor.graph().inputs;
        size_t count = 0;
        for (; k < all.size() && all[k].function == function; ++k)
            if (!editor.order().empty()) count += makeConstant(editor, inputs[all[k].input], all[k].data, editor.order().front()) ? 1 : 0;
        LS_CHECK_OK(editor.finish(GraphEditor::Values::dropUnused));
        if (count > 0)
            report.rewrites.push_back({"const", std::to_string(count) + " operands of " + from, model.graph(function).id, from, {from}});
    }
    return report;
}

} // namespace loopscope
