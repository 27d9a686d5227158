// Where a run stands: its one thread, the invocations on its stack, and what values are there.
#include "app/dap/instruction_number.h"
#include "app/dap/requests.h"
#include "app/dap/server.h"
#include "engine/api/machine.h"
#include "engine/observe/address_names.h"
#include "engine/tensor/value_text.h"

#include <algorithm>

namespace loopscope::app::dap {

namespace {

constexpr int64_t kMostRows = 1000; ///< values that are given at once

const FrameInfo& frameAt(Server& server, int depth) { return server.stop().stack[static_cast<size_t>(depth)]; }

bool isLoop(const FrameInfo& frame) { return frame.iteration >= 0; }

/// "cell, iteration 37": what a frame is called in a stack.
std::string frameName(Server& server, const FrameInfo& frame)
{
    std::string name = server.model().graph(frame.graph).id;
    if (isLoop(frame)) name += ", iteration " + std::to_string(frame.iteration);
    return name;
}

/// The address of the operator that a frame stands before, without iterations.
std::string nextAddress(Server& server, int depth)
{
    const FrameInfo& frame = frameAt(server, depth);
    const std::string invocation = withoutIterations(server.stop().frames[static_cast<size_t>(depth)]);
    if (!frame.next.valid()) return invocation;
    Address address;
    address.target = TargetKind::op;
    address.op = operatorName(server.model().graph(frame.graph).op(frame.next), frame.next.index);
    const std::string name = toString(address);
    return invocation + (name.starts_with('/') ? "" : "/") + name;
}

Json frameRow(Server& server, int depth)
{
    const FrameInfo& frame = frameAt(server, depth);
    Json row = Json::object();
    row.set("id", server.frameIdAt(depth)).set("name", frameName(server, frame));
    row.set("source", Sources::describe(server.sources->shown(frame.graph)));
    row.set("line", server.clientLine(server.sources->lineOf(frame.graph, frame.next, nextAddress(server, depth))));
    row.set("column", server.client.columnsStartAt1 ? 1 : 0).set("canRestart", true);
    if (frame.next.valid()) row.set("instructionPointerReference", instructionText(server.sources->numberOf(frame.graph, frame.next)));
    return row.set("moduleId", frame.graph.index + 1);
}

/// Values that a scope lists, in order.
std::vector<ValueId> valuesOf(const Graph& graph, Handle::Kind kind)
{
    if (kind == Handle::Kind::inputs) return graph.inputs;
    std::vector<ValueId> values;
    const ValueRole role = kind == Handle::Kind::results ? ValueRole::result : ValueRole::constant;
    for (size_t i = 0; i < graph.values.size(); ++i)
        if (graph.values[i].role == role) values.emplace_back(i);
    return values;
}

const Tensor* writtenValue(Inspector& inspector, int depth, ValueId id)
{
    const Tensor* const tensor = inspector.value(depth, id);
    const bool isNothing = tensor != nullptr && tensor->data == nullptr && tensor->bytes == 0 && tensor->dtype == DType::unknown;
    return isNothing ? nullptr : tensor;
}

/// Facts of a row that follow from the model.
void addFacts(Server& server, Json& row, GraphId graph, ValueId id, bool isReadOnly)
{
    const Value& value = server.model().graph(graph).value(id);
    row.set("evaluateName", expressionFor(value.id, {}));
    row.set("memoryReference", memoryReference(graph, id));
    if (value.producer.valid()) row.set("declarationLocationReference", server.sources->numberOf(graph, value.producer) + 1);
    if (isReadOnly) row.set("presentationHint", Json::object().set("attributes", Json::array().push("readOnly")));
}

Json plainRow(const std::string& name, const std::string& text, const std::string& type)
{
    Json row = Json::object();
    row.set("name", name).set("value", text);
    if (!type.empty()) row.set("type", type);
    return row.set("variablesReference", 0);
}

/// One value of a frame; null where it has not been written.
Json valueRow(Server& server, Inspector& inspector, const Handle& scope, ValueId id)
{
    const GraphId graph = frameAt(server, scope.depth).graph;
    const Value& value = server.model().graph(graph).value(id);
    const bool isReadOnly = scope.kind == Handle::Kind::constants || server.session().isReplay();
    const Tensor* const tensor = writtenValue(inspector, scope.depth, id);
    Json row;
    if (tensor != nullptr) {
        row = tensorRow(value.id, *tensor, {Handle::Kind::value, scope.depth, id, {}, {}, 0, -1, nullptr}, server.handles);
    } else if (const TensorStatistics* const known = inspector.recordedStatistics(scope.depth, id)) {
        row = plainRow(value.id, inlineStatistics(*known, value.type.dtype).text, shortType(value.type));
    } else if (scope.kind == Handle::Kind::results) {
        return {};
    } else {
        row = plainRow(value.id, "not written yet", shortType(value.type));
    }
    addFacts(server, row, graph, id, isReadOnly);
    return row;
}

/// Variables and tables of the session; `use` gets each with its name. Ends where it says so.
void eachVariable(Inspector& inspector, const std::function<void(const std::string& name, const Tensor* tensor)>& use)
{
    const MachineState state = inspector.state();
    for (const auto& [handle, variable] : state.resources.variables()) {
        Tensor tensor;
        tensor.data = const_cast<std::byte*>(variable.bytes.data());
        tensor.bytes = variable.bytes.size();
        tensor.dtype = variable.dtype;
        tensor.shape = variable.shape;
        use("var:" + variable.name, variable.assigned ? &tensor : nullptr);
    }
    for (const auto& [graph, saved] : state.variables) {
        const Value& value = inspector.model().graph(graph).value(saved.value);
        Tensor tensor;
        tensor.data = const_cast<std::byte*>(saved.bytes.data());
        tensor.bytes = saved.bytes.size();
        tensor.dtype = saved.dtype;
        tensor.shape = saved.shape;
        tensor.quantization = value.type.quantization.get();
        use(inspector.model().graph(graph).id + "/" + value.id, &tensor);
    }
}

Json variableRows(Server& server, Inspector& inspector, int64_t start, int64_t last)
{
    Json rows = Json::array();
    int64_t index = 0;
    eachVariable(inspector, [&](const std::string& name, const Tensor* tensor) {
        const int64_t at = index++;
        if (at < start || at >= last) return;
        if (tensor == nullptr) rows.push(plainRow(name, "not written yet", {}));
        else rows.push(tensorRow(name, *tensor, {Handle::Kind::value, 0, {}, name, {}, 0, -1, nullptr}, server.handles));
    });
    return rows;
}

Json outputRows(Server& server, Inspector& inspector)
{
    Json rows = Json::array();
    const GraphId root = inspector.root();
    const Graph& graph = inspector.model().graph(root);
    for (size_t i = 0; i < graph.outputs.size(); ++i) {
        const ValueId id = graph.outputs[i].value;
        Handle handle{Handle::Kind::evaluated, 0, id, {}, {}, 0, -1, nullptr};
        const Tensor& tensor = inspector.output(static_cast<int>(i));
        if (tensor.data != nullptr) handle.array = std::make_shared<const Array>(copyOf(tensor));
        rows.push(tensorRow(graph.value(id).id, tensor, std::move(handle), server.handles));
    }
    return rows;
}

Json scopeRows(Server& server, Inspector& inspector, const Handle& scope, int64_t start, int64_t count)
{
    const int64_t first = std::max<int64_t>(start, 0);
    const int64_t most = count > 0 ? std::min(count, kMostRows) : start > 0 ? kMostRows : INT64_MAX / 2;
    if (scope.kind == Handle::Kind::variables) return variableRows(server, inspector, first, first + most);
    if (scope.kind == Handle::Kind::outputs) return outputRows(server, inspector);
    Json rows = Json::array();
    int64_t index = 0;
    for (const ValueId id : valuesOf(server.model().graph(frameAt(server, scope.depth).graph), scope.kind)) {
        if (index >= first + most) break;
        const bool counts = scope.kind != Handle::Kind::results || writtenValue(inspector, scope.depth, id) != nullptr ||
                            inspector.recordedStatistics(scope.depth, id) != nullptr;
        if (!counts || index++ < first) continue;
        Json row = valueRow(server, inspector, scope, id);
        if (!row.isNull()) rows.push(std::move(row));
    }
    return rows;
}

Json elements(Server& server, Inspector& inspector, const Handle& handle, int64_t start, int64_t count)
{
    Json rows = Json::array();
    const auto list = [&](const Tensor& tensor) { rows = elementRows(tensor, handle, start, count, server.handles); };
    if (handle.kind == Handle::Kind::evaluated) {
        if (handle.array) list(handle.array->view());
    } else if (!handle.variable.empty()) {
        eachVariable(inspector, [&](const std::string& name, const Tensor* tensor) {
            if (name == handle.variable && tensor != nullptr) list(*tensor);
        });
    } else if (const Tensor* const tensor = writtenValue(inspector, handle.depth, handle.value)) {
        list(*tensor);
    }
    return rows;
}

} // namespace

Result<Json> threads(Server& server, const Json&)
{
    Json list = Json::array();
    if (server.terminal) list.push(Json::object().set("id", 1).set("name", server.session().name()));
    return Json::object().set("threads", std::move(list));
}

Result<Json> stackTrace(Server& server, const Json& arguments)
{
    if (arguments["threadId"].integer(1) != 1) return Error(ErrorCode::usage, "no such thread").found(arguments["threadId"].dump());
    const int64_t total = std::ssize(server.stop().stack);
    const int64_t first = std::clamp<int64_t>(arguments["startFrame"].integer(), 0, total);
    const int64_t levels = arguments["levels"].integer();
    const int64_t last = levels > 0 ? std::min(total, first + std::min(levels, total)) : total;
    Json frames = Json::array();
    for (int64_t i = first; i < last; ++i) frames.push(frameRow(server, static_cast<int>(total - 1 - i)));
    return Json::object().set("stackFrames", std::move(frames)).set("totalFrames", total);
}

Result<Json> scopes(Server& server, const Json& arguments)
{
    LS_TRY(const int64_t id, arguments.needInteger("frameId"));
    LS_TRY(const int depth, server.depthOf(Json(id)));
    const FrameInfo& frame = frameAt(server, depth);
    const Graph& graph = server.model().graph(frame.graph);
    Json list = Json::array();
    const auto add = [&](const char* name, Handle::Kind kind, const char* hint, bool isExpensive, int64_t count) {
        Json scope = Json::object();
        scope.set("name", name);
        if (hint != nullptr) scope.set("presentationHint", hint);
        scope.set("variablesReference", server.handles.add({kind, depth, {}, {}, {}, 0, -1, nullptr}));
        if (count >= 0) scope.set("namedVariables", count).set("indexedVariables", 0);
        list.push(scope.set("expensive", isExpensive));
    };
    if (server.stop().report.position.finished && depth == 0)
        add("Outputs", Handle::Kind::outputs, "returnValue", false, std::ssize(graph.outputs));
    if (isLoop(frame)) add("Carried", Handle::Kind::inputs, "arguments", false, std::ssize(graph.inputs));
    else add("Inputs", Handle::Kind::inputs, "arguments", false, std::ssize(graph.inputs));
    LS_TRY(const int64_t written, server.session().ask([&](Inspector& inspector) {
        int64_t count = 0;
        for (const ValueId value : valuesOf(graph, Handle::Kind::results))
            if (writtenValue(inspector, depth, value) != nullptr || inspector.recordedStatistics(depth, value) != nullptr) ++count;
        return count;
    }));
    add("Results", Handle::Kind::results, "locals", false, written);
    add("Variables", Handle::Kind::variables, nullptr, true, -1);
    add("Constants", Handle::Kind::constants, nullptr, true, std::ssize(valuesOf(graph, Handle::Kind::constants)));
    return Json::object().set("scopes", std::move(list));
}

Result<Json> variables(Server& server, const Json& arguments)
{
    LS_TRY(const int64_t reference, arguments.needInteger("variablesReference"));
    LS_TRY(const Handle handle, server.handles.find(reference));
    const int64_t start = arguments["start"].integer(), count = arguments["count"].integer();
    const bool isTensor = handle.kind == Handle::Kind::value || handle.kind == Handle::Kind::evaluated;
    const std::string filter = arguments["filter"].text();
    if (filter == (isTensor ? "named" : "indexed")) return Json::object().set("variables", Json::array());
    LS_TRY(Json rows, server.session().ask([&](Inspector& inspector) {
        return isTensor ? elements(server, inspector, handle, start, count) : scopeRows(server, inspector, handle, start, count);
    }));
    return Json::object().set("variables", std::move(rows));
}

} // namespace loopscope::app::dap
