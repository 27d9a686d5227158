// Catalogue entries and rules of the operators that the interpreter runs itself. The planner infers their results through the graphs they
// call.
//
// if (predicate, arguments…), stablehlo_case (index, arguments…): callees then and else, branch0, branch1, …
// while, stablehlo_while (values…): callees cond and body
// call, stablehlo_composite (arguments…), call_once (): one callee
//   C1 every callee has as many inputs as there are arguments or values, all present; branches and called graphs have as many outputs as
//      there are results, body as there are values, cond one; a while has as many results as values
//   C2 what steers has exactly one element, of any rank: predicate and the output of cond are bool, an index is i32 (one that is out of
//      range takes the last branch)
//   C3 callees are graphs of the model; a case has at least one
//   C4 inputs and outputs have the dtypes of the arguments, values and results they stand for; of branches only those of the taken one
//   count
#include "engine/ops/control_flow.h"

#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"
#include "engine/tensor/strings.h"

using namespace loopscope;

namespace {

OpDef callDef(int minInputs, std::string_view operands, std::string_view summary, std::string_view source)
{
    OpDef def;
    def.minInputs = minInputs;
    def.maxInputs = -1;
    def.minOutputs = 0;
    def.maxOutputs = -1;
    def.operands = operands;
    def.summary = summary;
    def.source = source;
    def.floatBound = kExact;
    def.isCall = true;
    def.hasSideEffects = true;
    return def;
}

} // namespace

LS_DEFINE_OP(tfl, if)
{
    OpDef def = callDef(1, "predicate [], arguments…", "Runs the then or the else graph on the arguments.", "LiteRT kernels/if.cc");
    def.differs = "a branch whose outputs have other dtypes than the results is an error; LiteRT changes the results' dtype";
    return def;
}

LS_DEFINE_OP(tfl, while)
{
    OpDef def = callDef(0, "initial values…", "Runs body on the carried values for as long as cond says true.", "LiteRT kernels/while.cc");
    def.differs =
        "values that the body permutes, duplicates or passes on are exchanged at once; LiteRT overwrites some before they are read";
    return def;
}

LS_DEFINE_OP(tfl, call) { return callDef(0, "arguments…", "Runs a graph on the arguments.", "the schema; LiteRT has no kernel"); }

LS_DEFINE_OP(tfl, call_once)
{
    OpDef def = callDef(0, "", "Runs an initialisation graph once in a session.", "LiteRT kernels/call_once.cc");
    def.maxInputs = 0;
    def.maxOutputs = 0;
    return def;
}

LS_DEFINE_OP(tfl, stablehlo_while)
{
    return callDef(0, "initial values…", "Runs body on the carried values for as long as cond says true.",
                   "StableHLO specification, while");
}

LS_DEFINE_OP(tfl, stablehlo_case)
{
    return callDef(1, "index [], arguments…", "Runs the branch with that index, the last one if it is out of range.",
                   "LiteRT kernels/stablehlo_case.cc");
}

LS_DEFINE_OP(tfl, stablehlo_composite)
{
    return callDef(0, "arguments…", "Runs the decomposition graph of a named composite.", "LiteRT kernels/stablehlo_composite.cc");
}

namespace loopscope {

namespace {

Callee calleeOf(const Operator& op, std::string role)
{
    const GraphId graph = attributeGraph(op.attributes, role);
    return {std::move(role), graph};
}

/// Numbers of the rules at the top of the file.
enum Rule : int { kCounts = 1, kSteering = 2, kGraphs = 3, kDTypes = 4 };

std::string countOf(size_t n, const char* noun) { return std::to_string(n) + " " + noun + (n == 1 ? "" : "s"); }

std::string typed(const Value& value) { return "'" + value.id + "' " + std::string(dtypeName(value.type.dtype)); }

std::string dtypeText(const Graph& graph, ValueId value) { return std::string(dtypeName(graph.value(value).type.dtype)); }

Error violated(Rule rule, std::string what) { return InferContext::violated(rule, std::move(what)); }

Status checkGraph(const Model& model, const Callee& callee)
{
    if (model.hasGraph(callee.graph)) return {};
    return violated(kGraphs, callee.role + " names no graph of the model")
        .found(callee.graph.valid() ? std::to_string(callee.graph.index) : "none")
        .expected(model.graphs.empty() ? "a graph" : "0 to " + std::to_string(model.graphs.size() - 1));
}

/// The callee's inputs take the operands from `first` on.
Status checkInputs(const Model& model, const Graph& graph, const Operator& op, size_t first, const Callee& callee)
{
    const Graph& target = model.graph(callee.graph);
    const size_t arguments = op.inputs.size() - first;
    if (target.inputs.size() != arguments)
        return violated(kCounts, callee.role + " '" + target.id + "' has " + countOf(target.inputs.size(), "input"))
            .expected(std::to_string(arguments));
    for (size_t i = 0; i < arguments; ++i) {
        const ValueId operand = op.inputs[first + i];
        if (!operand.valid()) return violated(kCounts, "operand " + std::to_string(first + i) + " is missing");
        const Value& formal = target.value(target.inputs[i]);
        if (!dtypesAgree(formal.type.dtype, graph.value(operand).type.dtype) && model.dialect == Dialect::tf)
            return invalidArgument("{{function_node " + target.id + "}} Expects arg[" + std::to_string(i) + "] to be " +
                                   std::string(tfTypeName(formal.type.dtype)) + " but " +
                                   std::string(tfTypeName(graph.value(operand).type.dtype)) + " is provided");
        if (!dtypesAgree(formal.type.dtype, graph.value(operand).type.dtype))
            return violated(kDTypes, "operand " + std::to_string(first + i) + " for input " + typed(formal) + " of '" + target.id + "'")
                .found(dtypeText(graph, operand))
                .expected(std::string(dtypeName(formal.type.dtype)));
    }
    return {};
}

Status checkOutputCount(const Model& model, const Callee& callee, size_t results)
{
    const Graph& target = model.graph(callee.graph);
    if (target.outputs.size() == results) return {};
    return violated(kCounts, callee.role + " '" + target.id + "' has " + countOf(target.outputs.size(), "output"))
        .expected(std::to_string(results));
}

/// The dtypes of the callee's outputs against those of `values`, values of `graph`.
Status checkOutputTypes(const Model& model, const Graph& graph, GraphId callee, std::span<const ValueId> values)
{
    const Graph& target = model.graph(callee);
    for (size_t k = 0; k < values.size(); ++k) {
        const Value& output = target.value(target.outputs[k].value);
        if (!dtypesAgree(graph.value(values[k]).type.dtype, output.type.dtype))
            return violated(kDTypes, "output " + std::to_string(k) + " " + typed(output) + " of '" + target.id + "'")
                .expected(dtypeText(graph, values[k]));
    }
    return {};
}

/// One element, of any rank, as far as the declared shape says.
bool mayBeSingle(const Shape& shape)
{
    if (!shape.hasRank()) return true;
    for (const int64_t dim : shape.dims())
        if (dim != 1 && dim != kUnknownDim) return false;
    return true;
}

Status checkSteering(const Graph& graph, const Operator& op, const char* name, DType dtype)
{
    if (op.kind.dialect == "tf" && !op.inputs.empty() && op.inputs[0].valid()) return {}; // looked at when it is there
    if (op.inputs.empty() || !op.inputs[0].valid()) return violated(kCounts, std::string(name) + " is missing");
    const TensorType& type = graph.value(op.inputs[0]).type;
    const std::string wanted = std::string(dtypeName(dtype)) + " with one element";
    if (!dtypesAgree(dtype, type.dtype) || !mayBeSingle(type.dynamicShape()))
        return violated(kSteering, name).found(std::string(dtypeName(type.dtype)) + toString(type.shape)).expected(wanted);
    return {};
}

Status checkBranches(const Model& model, const Graph& graph, const Operator& op, const CallForm& form)
{
    const bool select = form.kind == CallKind::select;
    LS_CHECK_OK(checkSteering(graph, op, select ? "index" : "predicate", select ? DType::i32 : DType::boolean));
    if (form.callees.empty()) return violated(kGraphs, "there is no branch");
    for (const Callee& callee : form.callees) {
        LS_CHECK_OK(checkGraph(model, callee));
        LS_CHECK_OK(checkInputs(model, graph, op, 1, callee));
        LS_CHECK_OK(checkOutputCount(model, callee, op.results.size()));
    }
    return {};
}

Status checkLoop(const Model& model, const Graph& graph, const Operator& op, const CallForm& form)
{
    const Callee& cond = form.callees[0];
    const Callee& body = form.callees[1];
    LS_CHECK_OK(checkGraph(model, cond));
    LS_CHECK_OK(checkGraph(model, body));
    if (op.results.size() != op.inputs.size())
        return violated(kCounts, countOf(op.results.size(), "result")).expected(std::to_string(op.inputs.size()));
    LS_CHECK_OK(checkInputs(model, graph, op, 0, cond));
    for (size_t i = 0; i < op.results.size(); ++i)
        if (!dtypesAgree(graph.value(op.inputs[i]).type.dtype, graph.value(op.results[i]).type.dtype))
            return violated(kDTypes, "result " + std::to_string(i))
                .found(dtypeText(graph, op.results[i]))
                .expected(dtypeText(graph, op.inputs[i]));
    if (form.tensorflow) {
        const size_t verdicts = model.graph(cond.graph).outputs.size();
        if (verdicts != 1)
            return invalidArgument("Expected a single scalar return value from WhileOp cond, got " + std::to_string(verdicts) +
                                   " tensors.");
        LS_CHECK_OK(checkInputs(model, graph, op, 0, body));
        const size_t returned = model.graph(body.graph).outputs.size();
        if (returned == op.inputs.size()) return checkOutputTypes(model, graph, body.graph, op.inputs);
        return invalidArgument("While loop body returned " + std::to_string(returned) +
                               " arguments. Expected: " + std::to_string(op.inputs.size()));
    }
    LS_CHECK_OK(checkOutputCount(model, cond, 1));
    const Graph& condition = model.graph(cond.graph);
    const Value& verdict = condition.value(condition.outputs[0].value);
    if (!dtypesAgree(DType::boolean, verdict.type.dtype) || !mayBeSingle(verdict.type.dynamicShape()))
        return violated(kSteering, "output of cond '" + condition.id + "'")
            .found(std::string(dtypeName(verdict.type.dtype)) + toString(verdict.type.shape))
            .expected("bool with one element");
    LS_CHECK_OK(checkInputs(model, graph, op, 0, body));
    LS_CHECK_OK(checkOutputCount(model, body, op.inputs.size()));
    return checkOutputTypes(model, graph, body.graph, op.inputs);
}

} // namespace

Result<bool> tfTruth(const Tensor& tensor)
{
    if (tensor.shape.rank() > 0) return tensor.elementCount() > 0;
    const auto isSet = [&]<typename T>() { return *tensor.as<T>() != T{0}; };
    switch (tensor.dtype) {
    case DType::f32: return isSet.operator()<float>();
    case DType::f64: return isSet.operator()<double>();
    case DType::i8:
    case DType::u8:
    case DType::boolean: return isSet.operator()<uint8_t>();
    case DType::i16: return isSet.operator()<int16_t>();
    case DType::i32: return isSet.operator()<int32_t>();
    case DType::i64: return isSet.operator()<int64_t>();
    case DType::string: {
        LS_TRY(const auto strings, unpackStrings(tensor.view()));
        return !strings.empty() && !strings[0].empty();
    }
    default: return invalidArgument(std::string(tfTypeName(tensor.dtype)) + " cannot be converted to a boolean");
    }
}

bool dtypesAgree(DType formal, DType actual)
{
    const auto isHandle = [](DType d) { return d == DType::resource || d == DType::i32; };
    if (formal == actual || formal == DType::unknown || actual == DType::unknown) return true;
    return (formal == DType::resource || actual == DType::resource) && isHandle(formal) && isHandle(actual);
}

namespace {

CallForm tfCallForm(const Operator& op)
{
    CallForm form;
    form.tensorflow = true;
    const std::string_view name = op.kind.name;
    if (name == "If" || name == "StatelessIf" || name == "_If") {
        form.kind = CallKind::branch;
        form.firstArgument = 1;
    } else if (name == "Case" || name == "StatelessCase") {
        form.kind = CallKind::select;
        form.firstArgument = 1;
    } else if (name == "While" || name == "StatelessWhile" || name == "_While") {
        form.kind = CallKind::loop;
    } else if (name == "PartitionedCall" || name == "StatefulPartitionedCall") {
        form.kind = CallKind::call;
    } else if (name == "RemoteCall") { // one process: the target's device is ours
        form.kind = CallKind::call;
        form.firstArgument = 1;
    } else {
        return form;
    }
    form.callees = calleesOf(op);
    const size_t wanted = form.kind == CallKind::call ? 1 : form.kind == CallKind::select ? form.callees.size() : 2;
    form.callees.resize(wanted); // a missing one names no graph
    return form;
}

} // namespace

CallForm callForm(const Operator& op)
{
    CallForm form;
    if (op.kind.dialect == "tf") return tfCallForm(op);
    if (op.kind.dialect == "custom") { // what a graph says of it runs where nothing else knows the operator
        form.callees = calleesOf(op);
        if (form.callees.size() == 1 && form.callees[0].role == "call") form.kind = CallKind::call;
        else form.callees.clear();
        return form;
    }
    if (op.kind.dialect != "tfl") return form;
    const std::string& name = op.kind.name;
    if (name == "while" || name == "stablehlo_while") {
        form.kind = CallKind::loop;
        form.callees = {calleeOf(op, "cond"), calleeOf(op, "body")};
    } else if (name == "if") {
        form.kind = CallKind::branch;
        form.firstArgument = 1;
        form.callees = {calleeOf(op, "then"), calleeOf(op, "else")};
    } else if (name == "stablehlo_case") {
        form.kind = CallKind::select;
        form.firstArgument = 1;
        for (int k = 0; findAttribute(op.attributes, "branch" + std::to_string(k)); ++k)
            form.callees.push_back(calleeOf(op, "branch" + std::to_string(k)));
    } else if (name == "call" || name == "stablehlo_composite") {
        form.kind = CallKind::call;
        form.callees = {calleeOf(op, "call")};
    } else if (name == "call_once") {
        form.kind = CallKind::once;
        form.callees = {calleeOf(op, "init")};
    }
    return form;
}

Status checkCall(const Model& model, const Graph& graph, const Operator& op)
{
    const CallForm form = callForm(op);
    switch (form.kind) {
    case CallKind::none: return {};
    case CallKind::branch:
    case CallKind::select: return checkBranches(model, graph, op, form);
    case CallKind::loop: return checkLoop(model, graph, op, form);
    case CallKind::call:
    case CallKind::once:
        LS_CHECK_OK(checkGraph(model, form.callees[0]));
        LS_CHECK_OK(checkInputs(model, graph, op, static_cast<size_t>(form.firstArgument), form.callees[0]));
        LS_CHECK_OK(checkOutputCount(model, form.callees[0], op.results.size()));
        return checkOutputTypes(model, graph, form.callees[0].graph, op.results);
    }
    return {};
}

bool bodyHandsOn(const Graph& body, size_t i)
{
    if (i >= body.outputs.size() || i >= body.inputs.size()) return false;
    ValueId value = body.outputs[i].value;
    while (value.valid() && value != body.inputs[i] && body.value(value).role == ValueRole::result) {
        const Operator& op = body.op(body.value(value).producer);
        if (op.kind.name != "Identity" || op.inputs.empty()) return false;
        value = op.inputs[0];
    }
    return value.valid() && value == body.inputs[i];
}

Status branchTypesAgree(const Model& model, const Graph& graph, const Operator& op, GraphId branch)
{
    return checkOutputTypes(model, graph, branch, op.results);
}

} // namespace loopscope
