#include "converters/fuse/prepare.h"

#include "engine/ops/op_traits.h"
#include "engine/ops/tf_registry.h"
#include "engine/transform/graph_editor.h"

#include <algorithm>
#include <iterator>
#include <unordered_set>

namespace loopscope::fusing {

namespace {

/// Beyond it a model calls itself, or grows without end.
constexpr int kMostRounds = 32;
constexpr size_t kMostOperators = 1'000'000;

bool isCall(const Operator& op)
{
    return op.kind.dialect == "tf" && (op.kind.name == "PartitionedCall" || op.kind.name == "StatefulPartitionedCall");
}

bool isFunctional(const Operator& op)
{
    for (const char* const name : {"While", "If", "Case", "StatelessWhile", "StatelessIf", "StatelessCase"})
        if (op.kind.name == name) return true;
    return false;
}

bool isPure(const Model& model, const Graph& graph, int depth);

/// The conditions, bodies and branches.
bool arePure(const Model& model, const Operator& op, int depth)
{
    const auto isPureRef = [&](const Attribute& attribute) {
        const auto* const ref = attribute.as<GraphRef>();
        return ref == nullptr || (model.hasGraph(ref->graph) && isPure(model, model.graph(ref->graph), depth + 1));
    };
    return std::ranges::all_of(op.attributes, [&](const NamedAttribute& attribute) {
        if (const auto* const items = attribute.value.as<AttributeItems>()) return std::ranges::all_of(*items, isPureRef);
        return isPureRef(attribute.value);
    });
}

/// Whether all that the function does is to compute its results.
bool isPure(const Model& model, const Graph& graph, int depth)
{
    if (depth > kMostRounds || findAttribute(graph.attributes, "_noinline") != nullptr) return false;
    return std::ranges::all_of(graph.operators, [&](const Operator& op) {
        if (isCall(op)) {
            const GraphId callee = attributeGraph(op.attributes, "f");
            return model.hasGraph(callee) && isPure(model, model.graph(callee), depth + 1);
        }
        if (op.kind.dialect != "tf" || op.kind.name == "NoOp") return true;
        if (isFunctional(op)) return arePure(model, op, depth);
        const TfOpSignature* const known = findTfOp(op.kind.name);
        return known != nullptr && !known->isStateful && !hasTrait(op.kind, OpTrait::variable);
    });
}

/// A function that says what it computes stays whole; what calls it does not.
bool isMarked(const Graph& graph)
{
    return findAttribute(graph.attributes, "_implements") != nullptr || findAttribute(graph.attributes, "api_implements") != nullptr;
}

/// The call passes on what the body computes.
void replaceCall(GraphEditor& editor, OperatorId call, const Graph& callee, bool keepsName)
{
    const Operator op = editor.op(call);
    const CloneMap map = editor.cloneGraph(callee, op.inputs, op.name + "/", InsertPoint::before(call));
    std::vector<ValueId> results;
    for (const GraphOutput& output : callee.outputs) results.push_back(map.values[static_cast<size_t>(output.value.index)]);
    AttributeItems types;
    for (size_t k = 0; k < op.results.size(); ++k) {
        types.emplace_back(editor.value(op.results[k]).type.dtype);
        if (!keepsName) editor.replaceUses(op.results[k], results[k]);
    }
    if (keepsName || !editor.erase(call)) {
        editor.setKind(call, {"tf", "IdentityN"});
        editor.setInputs(call, std::move(results));
        editor.setAttributes(call, {{"T", std::move(types)}});
    }
    std::vector<OperatorId> copies;
    std::ranges::copy_if(map.operators, std::back_inserter(copies), [](OperatorId copy) { return copy.valid(); });
    editor.eraseUnused(copies); // what the function computed for nobody
}

} // namespace

/// What computes a result of the body computes that of the call, which keeps its name.
void becomeBody(GraphEditor& editor, OperatorId call, const Graph& body)
{
    const Operator op = editor.op(call);
    const CloneMap map = editor.cloneGraph(body, op.inputs, editor.value(op.results.at(0)).id + "/", InsertPoint::before(call));
    editor.setResults(call, std::vector<ValueId>(op.results.size())); // its values are nobody's
    std::unordered_set<int32_t> taken;
    for (size_t k = 0; k < op.results.size(); ++k) {
        const ValueId computed = map.values[static_cast<size_t>(body.outputs[k].value.index)];
        const Value source = editor.value(computed);
        const bool isOwn = source.role == ValueRole::result && body.value(body.outputs[k].value).role == ValueRole::result;
        if (!isOwn || !taken.insert(computed.index).second) {
            editor.replaceUses(op.results[k], computed);
            continue;
        }
        std::vector<ValueId> results = editor.op(source.producer).results;
        editor.replaceUses(computed, op.results[k]);
        results[static_cast<size_t>(source.slot)] = op.results[k];
        editor.setResults(source.producer, std::move(results));
    }
    editor.erase(call);
}

bool hasVariables(const Model& model)
{
    return std::ranges::any_of(model.graphs, [](const Graph& graph) {
        return std::ranges::any_of(graph.operators, [](const Operator& op) {
            return op.kind.name == "VarHandleOp" || op.kind.name == "VariableV2" || op.kind.name == "Variable";
        });
    });
}

Result<std::vector<std::string>> openComposites(Model& model, GraphId id)
{
    std::vector<std::string> opened;
    for (int round = 0; round < kMostRounds; ++round) {
        GraphEditor editor(model, id);
        const size_t known = opened.size();
        for (const OperatorId call : editor.order()) {
            const Operator& op = editor.op(call);
            if (op.kind.name != "stablehlo_composite" || editor.graph().operators.size() > kMostOperators) continue;
            const GraphId callee = attributeGraph(op.attributes, "call");
            if (!model.hasGraph(callee) || callee == id) continue;
            const Graph body = model.graph(callee);
            if (body.outputs.size() != op.results.size() || body.inputs.size() != op.inputs.size()) continue;
            opened.push_back(editor.value(op.results.at(0)).id);
            becomeBody(editor, call, body);
        }
        LS_CHECK_OK(editor.finish());
        if (opened.size() == known) break;
    }
    return opened;
}

Result<int64_t> inlineCalls(Model& model, GraphId id, const std::vector<std::string>& keeps)
{
    std::unordered_set<std::string> kept;
    for (const std::string& name : keeps) kept.insert(name.substr(0, std::min(name.rfind(':'), name.size())));
    int64_t count = 0;
    for (int round = 0; round < kMostRounds; ++round) {
        GraphEditor editor(model, id);
        bool isDone = true;
        for (const OperatorId call : editor.order()) {
            const Operator& op = editor.op(call);
            if (!isCall(op) || editor.graph().operators.size() > kMostOperators) continue;
            const GraphId callee = attributeGraph(op.attributes, "f");
            if (!model.hasGraph(callee) || callee == id) continue;
            if (isMarked(model.graph(callee)) || !isPure(model, model.graph(callee), 0)) continue;
            const Graph body = model.graph(callee);
            if (body.outputs.size() != op.results.size() || body.inputs.size() != op.inputs.size()) continue;
            const bool isUnread = std::ranges::all_of(op.results, [&](ValueId result) { return editor.uses(result).empty(); });
            replaceCall(editor, call, body, isUnread || kept.contains(op.name));
            ++count;
            isDone = false;
        }
        LS_CHECK_OK(editor.finish());
        if (isDone) break;
    }
    return count;
}

} // namespace loopscope::fusing
