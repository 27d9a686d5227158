#include "engine/transform/gradient/loop_constants.h"

#include "engine/ops/catalog.h"
#include "engine/ops/constant_data.h"
#include "engine/ops/tf_rules.h"
#include "engine/transform/graph_editor.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

namespace loopscope {

namespace {

/// Whether the sizes of the results follow from the shapes of the operands, and from attributes.
bool looksAtShapesAlone(const Operator& op)
{
    if (findAttribute(op.attributes, kElementShapeAttribute)) return true;
    const OpDef* const def = findOp(op.kind);
    return def && (def->infer == inferTfSame || def->infer == inferTfBroadcast || def->infer == inferTfComparison);
}

bool mayLeave(const GraphEditor& editor, const Operator& op)
{
    if (op.kind.full() != "tf.Const" || op.results.size() != 1 || !op.controlInputs.empty()) return false;
    const ValueId result = op.results[0];
    if (bitWidth(editor.value(result).type.dtype) == 0) return false;
    const std::span<const ValueUse> uses = editor.uses(result);
    return !uses.empty() && std::ranges::all_of(uses, [&](const ValueUse& use) {
        return use.kind == ValueUse::Kind::operand && looksAtShapesAlone(editor.op(use.op));
    });
}

/// What a Const gives, whose bytes can be seen.
Tensor seen(const Graph& graph, ValueId value)
{
    const Value& v = graph.value(value);
    Tensor tensor;
    if (v.role != ValueRole::result) return tensor;
    const Operator& op = graph.op(v.producer);
    const Attribute* const held = findAttribute(op.attributes, "value");
    const auto* const stored = held ? held->as<TensorAttribute>() : nullptr;
    if (op.kind.full() != "tf.Const" || !stored) return tensor;
    tensor.dtype = stored->type.dtype;
    tensor.shape = stored->type.shape;
    showConstant(op, tensor);
    return tensor;
}

std::optional<int32_t> seenInteger(const Graph& graph, ValueId value)
{
    const Tensor tensor = seen(graph, value);
    int32_t number = 0;
    if (!tensor.data || tensor.dtype != DType::i32 || tensor.shape.rank() != 0 || tensor.bytes != sizeof number) return std::nullopt;
    std::memcpy(&number, tensor.data, sizeof number);
    return number;
}

} // namespace

Result<std::vector<AttributeList>> takeOutConstants(Graph& cond, Graph& body)
{
    GraphEditor ofCond(cond, Dialect::tf), ofBody(body, Dialect::tf);
    std::vector<AttributeList> constants;
    std::vector<GraphOutput> outputs = body.outputs;
    for (GraphEditor* const editor : {&ofBody, &ofCond})
        for (const OperatorId id : editor->order()) {
            const Operator op = editor->op(id);
            if (!mayLeave(*editor, op)) continue;
            TensorType type = editor->value(op.results[0]).type;
            if (const Tensor tensor = seen(editor->graph(), op.results[0]); tensor.shape.isStatic()) type.shape = tensor.shape;
            const std::string name = op.name + "/constant";
            const ValueId inCond = ofCond.addInput(name, type), inBody = ofBody.addInput(name, type);
            editor->replaceUses(op.results[0], editor == &ofBody ? inBody : inCond);
            editor->erase(id);
            outputs.push_back({"constant_" + std::to_string(outputs.size()), inBody});
            constants.push_back(op.attributes);
        }
    ofBody.setOutputs(std::move(outputs));
    LS_CHECK_OK(ofBody.finish(GraphEditor::Values::dropUnused));
    LS_CHECK_OK(ofCond.finish(GraphEditor::Values::dropUnused));
    return constants;
}

int64_t counterOf(const Graph& body, const Graph& around, std::span<const ValueId> operands)
{
    for (size_t k = 0; k < body.outputs.size() && k < body.inputs.size() && k < operands.size(); ++k) {
        const Value& next = body.value(body.outputs[k].value);
        if (next.role != ValueRole::result || next.type.dtype != DType::i32 || !seenInteger(around, operands[k])) continue;
        const Operator& op = body.op(next.producer);
        if ((op.kind.full() != "tf.AddV2" && op.kind.full() != "tf.Add") || op.inputs.size() != 2) continue;
        for (const size_t i : {0U, 1U})
            if (op.inputs[i] == body.inputs[k] && seenInteger(body, op.inputs[1 - i]) == 1) return static_cast<int64_t>(k);
    }
    return -1;
}

} // namespace loopscope
