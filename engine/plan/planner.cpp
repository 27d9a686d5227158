// Types of values from the actual input shapes, calls included. layout.cpp gives them memory.
#include "engine/plan/planner.h"

#include "engine/ir/ids.h"
#include "engine/ir/stored_constant.h"
#include "engine/ops/catalog.h"
#include "engine/ops/constant_data.h"
#include "engine/ops/op_traits.h"
#include "engine/ops/tf_rules.h"

#include <algorithm>
#include <set>

namespace loopscope {

namespace {

/// Calls nested deeper than this are planned when they are reached, so that no file can exhaust our stack.
constexpr size_t kDeepest = 100;

bool isSmallInteger(const Tensor& tensor)
{
    constexpr int64_t kLargest = 64; // elements: no shape has more dimensions worth the name
    const bool integer = tensor.dtype == DType::i32 || tensor.dtype == DType::i64 || tensor.dtype == DType::boolean;
    const std::optional<int64_t> count = checkedElementCount(tensor.shape);
    return integer && count && *count <= kLargest;
}

std::string keyOf(std::span<const Shape> shapes)
{
    std::string key;
    for (const Shape& shape : shapes) {
        key += std::to_string(shape.hasRank() ? shape.rank() : -1);
        for (const int64_t dim : shape.dims()) key += "," + std::to_string(dim);
        key += ";";
    }
    return key;
}

/// Constants must hold the bytes that their types promise, or kernels would read beyond them.
Status checkData(const Model& model, const Value& value)
{
    if (value.role == ValueRole::absent) return Error(ErrorCode::badFile, "'" + value.id + "' has no data: nothing writes it");
    if (value.role != ValueRole::constant) return {};
    if (value.constant && value.constant->externalBuffer() >= 0) {
        LS_TRY([[maybe_unused]] const Bytes found, externalData(model, value));
        return {};
    }
    if (!value.constant || !value.constant->hasBytes())
        return Error(ErrorCode::unsupported, "the data of constant '" + value.id + "' is not in this file");
    const std::optional<int64_t> count = checkedElementCount(value.type.shape);
    if (!count) return Error(ErrorCode::badFile, "constant '" + value.id + "' has no definite shape").found(toString(value.type.shape));
    if (isPacked(value)) return {}; // checked when it is unpacked
    if (value.constant->size() < byteSize(value.type.dtype, *count))
        return Error(ErrorCode::badFile, "constant '" + value.id + "' holds " + std::to_string(value.constant->size()) + " bytes")
            .expected(std::to_string(byteSize(value.type.dtype, *count)));
    return {};
}

/// Shapes whose size is known before the value is computed. Strings and block formats have no fixed element size.
void settle(PlannedValue& value)
{
    const std::optional<int64_t> count = checkedElementCount(value.shape);
    value.fixed = count.has_value() && bitWidth(value.dtype) > 0;
    value.bytes = value.fixed ? byteSize(value.dtype, *count) : 0;
}

} // namespace

Result<const GraphPlan*> Planner::plan(GraphId graph, std::span<const Shape> inputShapes, const std::string& place)
{
    LS_TRY(GraphPlan* const plan, infer(graph, inputShapes, place));
    LS_CHECK_OK(layOut(*plan));
    return static_cast<const GraphPlan*>(plan);
}

Result<std::unique_ptr<PlannedCall>> Planner::planCall(GraphId graph, OperatorId op, std::span<const Shape> operandShapes,
                                                       const std::string& place)
{
    auto call = std::make_unique<PlannedCall>();
    const Operator& site = m_model.graph(graph).op(op);
    call->form = callForm(site);
    std::vector<Shape> results(site.results.size());
    LS_CHECK_OK(inferCall(*call, graph, op, operandShapes, results, place));
    LS_CHECK_OK(layOutCall(*call, m_model.graph(graph), site));
    return call;
}

Result<GraphPlan*> Planner::infer(GraphId graph, std::span<const Shape> inputShapes, const std::string& place)
{
    Key key(graph.index, keyOf(inputShapes));
    if (const auto found = m_plans.find(key); found != m_plans.end()) return found->second.get();
    m_open.push_back(graph);
    Result<std::unique_ptr<GraphPlan>> made = inferGraph(graph, inputShapes, place);
    m_open.pop_back();
    LS_TRY(std::unique_ptr<GraphPlan> plan, std::move(made));
    return (m_plans[std::move(key)] = std::move(plan)).get();
}

Result<std::unique_ptr<GraphPlan>> Planner::inferGraph(GraphId id, std::span<const Shape> inputShapes, const std::string& place)
{
    const Graph& graph = m_model.graph(id);
    auto plan = std::make_unique<GraphPlan>();
    plan->graph = id;
    plan->inputShapes.assign(inputShapes.begin(), inputShapes.end());
    plan->values.resize(graph.values.size());
    plan->operators.resize(graph.operators.size());

    std::vector<Tensor> tensors(graph.values.size());
    for (size_t v = 0; v < graph.values.size(); ++v) {
        const Value& value = graph.values[v];
        tensors[v] = declaredTensor(value);
        if (value.role == ValueRole::constant || value.role == ValueRole::variable) tensors[v].shape = value.type.shape;
    }
    for (size_t i = 0; i < graph.inputs.size(); ++i) tensors[static_cast<size_t>(graph.inputs[i].index)].shape = inputShapes[i];
    for (size_t v = 0; v < graph.values.size(); ++v)
        if (graph.values[v].type.isReference) { // the handle of the variable
            tensors[v].dtype = DType::resource;
            tensors[v].shape = Shape();
        }

    std::deque<std::vector<std::byte>> folded; // data of values that are known beforehand
    for (size_t o = 0; o < graph.operators.size(); ++o)
        LS_CHECK_OK(inferOperatorResults(*plan, tensors, OperatorId(static_cast<int64_t>(o)), place, folded));

    for (size_t v = 0; v < tensors.size(); ++v) {
        plan->values[v].dtype = tensors[v].dtype;
        plan->values[v].shape = tensors[v].shape;
        settle(plan->values[v]);
    }
    for (size_t o = 0; o < graph.operators.size(); ++o) {
        const Operator& op = graph.operators[o];
        const auto isFixed = [&](ValueId v) { return !v.valid() || plan->value(v).fixed; };
        plan->operators[o].fixed = std::ranges::all_of(op.inputs, isFixed) && std::ranges::all_of(op.results, isFixed);
    }
    std::vector<bool> returned(graph.values.size(), false);
    for (const GraphOutput& output : graph.outputs) {
        const Value& value = graph.value(output.value);
        Status status = value.role == ValueRole::result ? Status() : checkData(m_model, value);
        if (status.ok() && value.role == ValueRole::constant && isPacked(value)) {
            const Result<Bytes> dense = unpackConstant(value);
            if (!dense.ok()) status = dense.error().copy();
        }
        if (!status.ok()) return std::move(status).takeError().at(place);
        const auto v = static_cast<size_t>(output.value.index);
        plan->outputs.push_back({output.value, value.role == ValueRole::result && !returned[v]});
        returned[v] = true;
    }
    return plan;
}

Status Planner::inferOperatorResults(GraphPlan& plan, std::span<Tensor> tensors, OperatorId id, const std::string& place,
                                     std::deque<std::vector<std::byte>>& folded)
{
    const Graph& graph = m_model.graph(plan.graph);
    const Operator& op = graph.op(id);
    PlannedOperator& planned = plan.operators[static_cast<size_t>(id.index)];
    planned.def = findOp(op.kind);
    const auto tensorOf = [&](ValueId value) -> Tensor& { return tensors[static_cast<size_t>(value.index)]; };
    const auto noteError = [&](Status status) {
        if (!status.ok() && !planned.error) planned.error = std::make_shared<const Error>(std::move(status).takeError());
    };
    if (planned.def) // an unknown operator fails for being unknown, and only when it is reached
        for (const ValueId input : op.inputs)
            if (input.valid()) noteError(checkData(m_model, graph.value(input)));
    if (planned.def)
        for (const int state : planned.def->stateOperandsOf ? planned.def->stateOperandsOf(op) : planned.def->stateOperands) {
            if (static_cast<size_t>(state) >= op.inputs.size() || !op.inputs[static_cast<size_t>(state)].valid()) continue;
            const Value& value = graph.value(op.inputs[static_cast<size_t>(state)]);
            if (value.role != ValueRole::variable)
                noteError(Error(ErrorCode::badFile,
                                "operand " + std::to_string(state) + " '" + value.id + "' holds state and must be a variable"));
        }

    if (planned.def && planned.def->isCall && callForm(op).kind == CallKind::none) {
        noteError(Error(ErrorCode::unsupported, "operator '" + op.kind.full() + "' is run by the dataflow executor only"));
        return {};
    }
    if ((planned.def && planned.def->isCall) || callForm(op).kind != CallKind::none) {
        std::vector<Shape> operands;
        for (const ValueId input : op.inputs) operands.push_back(input.valid() ? tensorOf(input).shape : Shape::unknownRank());
        std::vector<Shape> results(op.results.size(), Shape::unknownRank());
        planned.call = std::make_unique<PlannedCall>();
        planned.call->form = callForm(op);
        LS_CHECK_OK(inferCall(*planned.call, plan.graph, id, operands, results, place));
        for (size_t k = 0; k < results.size(); ++k) tensorOf(op.results[k]).shape = results[k];
        return {};
    }

    std::vector<const Tensor*> inputs;
    std::deque<Tensor> variables; // what references stand for
    for (const ValueId input : op.inputs) {
        const auto i = static_cast<int>(inputs.size());
        inputs.push_back(input.valid() ? &tensorOf(input) : nullptr);
        if (!input.valid() || !graph.value(input).type.isReference || takesReference(op, i)) continue;
        Tensor& variable = variables.emplace_back();
        variable.dtype = graph.value(input).type.dtype;
        variable.shape = Shape::unknownRank();
        inputs.back() = &variable;
    }
    std::vector<InferredType> results(op.results.size());
    const bool infers = planned.def && planned.def->infer;
    for (size_t k = 0; k < results.size(); ++k) {
        const TensorType& type = graph.value(op.results[k]).type;
        results[k] = {type.dtype, infers ? Shape::unknownRank() : type.dynamicShape()};
    }
    noteError(inferOperator(op, inputs, results));
    std::vector<Tensor*> tensorsOfResults;
    for (size_t k = 0; k < results.size(); ++k) {
        Tensor& tensor = tensorOf(op.results[k]);
        if (graph.value(op.results[k]).type.isReference) continue;
        tensor.shape = results[k].shape;
        if (results[k].dtype != DType::unknown) tensor.dtype = results[k].dtype;
        tensorsOfResults.push_back(&tensor);
    }
    if (op.kind.dialect == "tf") {
        if (tensorsOfResults.size() == 1) showConstant(op, *tensorsOfResults[0]);
        return {};
    }
    if (!planned.error) fold(op, inputs, tensorsOfResults, folded);
    return {};
}

/// Shapes are calculated in graphs too (SHAPE, STRIDED_SLICE, PACK, RESHAPE): where all of it is known, so is the result. The operators
/// still run; only what inference can see grows.
void Planner::fold(const Operator& op, std::span<const Tensor* const> inputs, std::span<Tensor* const> results,
                   std::deque<std::vector<std::byte>>& folded) const
{
    if (!m_options.evaluate || !hasTrait(op.kind, OpTrait::foldable)) return;
    const bool tellsShape = op.kind.name == "shape" || op.kind.name == "rank";
    for (const Tensor* input : inputs)
        if (input && (tellsShape ? !input->shape.isStatic() : !input->data || !isSmallInteger(*input))) return;
    if (!std::ranges::all_of(results, [](const Tensor* result) { return isSmallInteger(*result); })) return;
    for (Tensor* result : results) {
        result->bytes = byteSize(result->dtype, result->elementCount());
        result->data = folded.emplace_back(result->bytes + 1).data(); // not null, even for no elements
    }
    if (m_options.evaluate(op, inputs, results)) return;
    for (Tensor* result : results) {
        result->data = nullptr;
        result->bytes = 0;
    }
}

Status Planner::inferCall(PlannedCall& call, GraphId graphId, OperatorId id, std::span<const Shape> operands, std::span<Shape> results,
                          const std::string& place)
{
    const Graph& graph = m_model.graph(graphId);
    const Operator& op = graph.op(id);
    const std::string label = place + "/" + operatorLabel(op, id.index);
    if (Status status = checkCall(m_model, graph, op); !status.ok()) return std::move(status).takeError().at(label);
    const auto isOpen = [&](const Callee& callee) { return std::ranges::find(m_open, callee.graph) != m_open.end(); };
    if (m_open.size() >= kDeepest || std::ranges::any_of(call.form.callees, isOpen)) {
        std::ranges::fill(results, Shape::unknownRank());
        return {};
    }
    call.planned = true;
    if (call.form.kind == CallKind::loop) return inferLoop(call, label, operands, results);

    bool first = true;
    for (const Callee& callee : call.form.callees) {
        LS_TRY(GraphPlan* const plan,
               infer(callee.graph, operands.subspan(static_cast<size_t>(call.form.firstArgument)), label + ":" + callee.role));
        call.plans.push_back(plan);
        for (size_t k = 0; k < results.size(); ++k) {
            const Shape& shape = plan->value(plan->outputs[k].value).shape;
            results[k] = first ? shape : joinShapes(results[k], shape);
        }
        first = false;
    }
    return {};
}

/// A dimension that the body does not keep is unknown; what follows from that is found by asking again until nothing changes. Shapes only
/// ever lose dimensions, so this ends.
Status Planner::inferLoop(PlannedCall& call, const std::string& label, std::span<const Shape> operands, std::span<Shape> results)
{
    std::vector<Shape> carried(operands.begin(), operands.end());
    for (;;) {
        LS_TRY(GraphPlan* const body, infer(call.form.callees[1].graph, carried, label + ":body"));
        bool changed = false;
        for (size_t k = 0; k < carried.size(); ++k) {
            Shape joined = joinShapes(carried[k], body->value(body->outputs[k].value).shape);
            if (joined == carried[k]) continue;
            carried[k] = std::move(joined);
            changed = true;
        }
        if (changed) continue;
        LS_TRY(GraphPlan* const cond, infer(call.form.callees[0].graph, carried, label + ":cond"));
        call.plans = {cond, body};
        break;
    }
    std::ranges::copy(carried, results.begin());
    call.loop.shapes = std::move(carried);
    return {};
}

} // namespace loopscope
