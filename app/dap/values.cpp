// Expressions, edits, completion, and what went wrong.
#include "app/dap/requests.h"
#include "app/dap/server.h"
#include "app/terminal/completion.h"
#include "engine/base/text.h"
#include "engine/base/trimmed.h"
#include "engine/tensor/value_text.h"

#include <algorithm>

namespace loopscope::app::dap {

namespace {

/// The result of a list of expressions: of one alone with what can be unfolded of it.
Json resultOf(Server& server, const std::vector<EvaluatedValue>& values)
{
    Json body = Json::object();
    if (values.size() != 1 || values.front().absence != Absence::present) {
        std::string text;
        for (const EvaluatedValue& value : values) text += (text.empty() ? "" : ", ") + bareText(value, {});
        return body.set("result", text).set("variablesReference", 0);
    }
    const EvaluatedValue& value = values.front();
    Array storage;
    const std::optional<Tensor> tensor = elementsOf(value, storage);
    if (!tensor || tensor->data == nullptr || tensor->shape.rank() == 0)
        return body.set("result", bareText(value, {}))
            .set("type", value.id.empty() ? describe(value.value) : shortType(value.type))
            .set("variablesReference", 0);
    Handle handle{Handle::Kind::evaluated, 0, {}, {}, {}, 0, -1, std::make_shared<const Array>(copyOf(*tensor))};
    const Json row = tensorRow("", *tensor, std::move(handle), server.handles);
    body.set("result", row["value"]).set("type", row["type"]).set("variablesReference", row["variablesReference"]);
    if (row.has("indexedVariables")) body.set("indexedVariables", row["indexedVariables"]);
    return body;
}

Result<std::vector<EvaluatedValue>> evaluated(Server& server, int depth, const std::string& expression)
{
    return server.session().ask([&](Inspector& inspector) { return inspector.evaluate({depth}, expression); });
}

/// In the console: an expression, or else a command of the debugger; behind `:` or a backquote always a command.
Result<Json> console(Server& server, int depth, const std::string& text)
{
    const std::string_view line = trimmed(text);
    const bool isCommand = line.starts_with(':') || line.starts_with('`');
    if (line.empty()) return Json::object().set("result", "").set("variablesReference", 0);
    if (!isCommand) {
        const Result<std::vector<EvaluatedValue>> values = evaluated(server, depth, std::string(line));
        if (values.ok()) return resultOf(server, *values);
        if (values.error().code() == ErrorCode::cancelled) return values.error().copy();
    }
    LS_TRY(std::string said, server.runCommand(std::string(isCommand ? line.substr(1) : line), depth));
    while (said.ends_with('\n')) said.pop_back();
    return Json::object().set("result", said).set("variablesReference", 0);
}

/// Carries an edit out and gives what is there now.
Result<Json> edited(Server& server, int depth, const std::string& place, const std::string& expression)
{
    LS_CHECK_OK(server.perform(request::SetValue{place, expression}, depth));
    server.later([&server] { server.tellEdited(); });
    LS_TRY(const std::vector<EvaluatedValue> values, evaluated(server, depth, place));
    const Json result = resultOf(server, values);
    Json body = Json::object();
    body.set("value", result["result"]).set("variablesReference", result["variablesReference"]);
    if (result.has("type")) body.set("type", result["type"]);
    if (result.has("indexedVariables")) body.set("indexedVariables", result["indexedVariables"]);
    return body;
}

} // namespace

Result<Json> evaluate(Server& server, const Json& arguments)
{
    LS_TRY(const std::string expression, arguments.needText("expression"));
    LS_TRY(const int depth, server.depthOf(arguments["frameId"]));
    if (arguments["context"].text() == "repl") return console(server, depth, expression);
    LS_TRY(const std::vector<EvaluatedValue> values, evaluated(server, depth, expression));
    Json body = resultOf(server, values);
    // The name of a value alone: its bytes can be had, too.
    const auto& stack = server.stop().stack;
    const size_t frame = depth < 0 ? stack.size() - 1 : static_cast<size_t>(depth);
    if (values.size() != 1 || values.front().absence != Absence::present || frame >= stack.size()) return body;
    const GraphId graph = stack[frame].graph;
    const ValueId id = server.model().graph(graph).findValue(values.front().id);
    const bool isName = trimmed(expression) == values.front().id || trimmed(expression) == expressionFor(values.front().id, {});
    if (!id.valid() || !isName) return body;
    body.set("memoryReference", memoryReference(graph, id));
    return body;
}

Result<Json> setExpression(Server& server, const Json& arguments)
{
    LS_TRY(const std::string place, arguments.needText("expression"));
    LS_TRY(const std::string value, arguments.needText("value"));
    LS_TRY(const int depth, server.depthOf(arguments["frameId"]));
    return edited(server, depth, place, value);
}

Result<Json> setVariable(Server& server, const Json& arguments)
{
    LS_TRY(const int64_t reference, arguments.needInteger("variablesReference"));
    LS_TRY(const std::string name, arguments.needText("name"));
    LS_TRY(const std::string value, arguments.needText("value"));
    LS_TRY(const Handle handle, server.handles.find(reference));
    using Kind = Handle::Kind;
    if (handle.kind == Kind::inputs || handle.kind == Kind::results) return edited(server, handle.depth, expressionFor(name, {}), value);
    if (handle.kind != Kind::value || !handle.variable.empty())
        return Error(ErrorCode::usage, "only values of a frame can be edited").at(name);
    const Graph& graph = server.model().graph(server.stop().stack[static_cast<size_t>(handle.depth)].graph);
    std::vector<int64_t> indices = handle.indices;
    if (name.size() < 3 || name.find_first_not_of("0123456789", 1) != name.size() - 1 || name.size() > 20)
        return Error(ErrorCode::usage, "no element").found("'" + name + "'").expected("[0], [1], …");
    indices.push_back(std::atoll(name.c_str() + 1));
    return edited(server, handle.depth, expressionFor(graph.value(handle.value).id, indices), value);
}

Result<Json> completions(Server& server, const Json& arguments)
{
    LS_TRY(const std::string text, arguments.needText("text"));
    LS_TRY(const int64_t typed, arguments.needInteger("column"));
    const int64_t column = typed - (server.client.columnsStartAt1 ? 1 : 0);
    std::string line = text.substr(0, static_cast<size_t>(std::clamp<int64_t>(column, 0, std::ssize(text))));
    const size_t marks = line.starts_with(':') || line.starts_with('`') ? 1 : 0;
    Json targets = Json::array();
    // A line may be a command, or an expression as `print` takes it.
    for (const std::string& before : {std::string(), std::string("print ")}) {
        if (marks > 0 && !before.empty()) continue;
        const Completion found = completionsOf(*server.terminal, before + line.substr(marks));
        if (found.begin < before.size()) continue;
        const int64_t start = static_cast<int64_t>(found.begin - before.size() + marks);
        for (const Candidate& candidate : found.candidates) {
            Json target = Json::object();
            target.set("label", candidate.text);
            if (!candidate.type.empty()) target.set("detail", candidate.type);
            target.set("type", candidate.kind == "value" ? "variable" : candidate.kind == "command" ? "keyword" : "reference");
            target.set("start", start).set("length", std::ssize(line) - start);
            targets.push(std::move(target));
        }
    }
    return Json::object().set("targets", std::move(targets));
}

Result<Json> exceptionInfo(Server& server, const Json&)
{
    const StopReport& report = server.stop().report;
    const StopReason* wrong = nullptr;
    std::string id;
    for (const StopReason& reason : report.reasons) {
        std::string group;
        if (reason.number > 0) server.book.idOf(reason.number, &group);
        const bool isWrong = reason.cause == StopCause::error || reason.cause == StopCause::budget || reason.cause == StopCause::nan ||
                             reason.cause == StopCause::differs || group == "exception";
        if (!isWrong) continue;
        wrong = &reason;
        id = reason.cause == StopCause::nan       ? "NaN"
             : reason.cause == StopCause::error   ? "error"
             : reason.cause == StopCause::budget  ? "budget"
             : reason.cause == StopCause::differs ? "differs"
                                                  : "abnormal";
        break;
    }
    if (wrong == nullptr) return Error(ErrorCode::usage, "nothing is wrong at this stop");
    Json details = Json::object();
    details.set("message", toString(*wrong)).set("typeName", id).set("fullTypeName", "loopscope." + id);
    if (!wrong->value.empty()) details.set("evaluateName", expressionFor(wrong->value, {}));
    std::string trace = report.address + ", step " + std::to_string(report.position.step);
    if (wrong->cause == StopCause::nan && !wrong->value.empty()) {
        const Result<Explanation> why =
            server.session().ask([&](Inspector& inspector) { return inspector.why({}, "nan " + wrong->value); });
        if (why.ok())
            for (const std::string& line : why->lines) trace += "\n" + line;
    }
    details.set("stackTrace", trace);
    Json body = Json::object();
    body.set("exceptionId", id).set("description", toString(*wrong)).set("breakMode", "always");
    return body.set("details", std::move(details));
}

} // namespace loopscope::app::dap
