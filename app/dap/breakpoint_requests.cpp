// Breakpoints of every kind that editors know become breakpoints of the engine.
#include "app/dap/instruction_number.h"
#include "app/dap/requests.h"
#include "app/dap/server.h"
#include "engine/base/trimmed.h"
#include "engine/ir/ids.h"
#include "engine/observe/address_names.h"

#include <algorithm>

namespace loopscope::app::dap {

namespace {

constexpr size_t kMostAddresses = 256; ///< calls of a graph in which a line stops
constexpr size_t kMostBreakpoints = 10'000;

/// "37", ">= 37", "%5", "== 37".
Result<HitRule> hitRule(const std::string& text)
{
    std::string_view rest = trimmed(text);
    HitRule rule;
    if (rest.empty()) return rule;
    rule.kind = HitRule::Kind::equal;
    if (rest.starts_with(">=")) {
        rule.kind = HitRule::Kind::atLeast;
        rest.remove_prefix(2);
    } else if (rest.starts_with("%")) {
        rule.kind = HitRule::Kind::every;
        rest.remove_prefix(1);
    } else {
        while (rest.starts_with("=")) rest.remove_prefix(1);
    }
    LS_TRY(rule.number, parseCount(trimmed(rest), "a hit condition"));
    if (rule.number < 1) return Error(ErrorCode::usage, "a hit condition").found("'" + text + "'").expected("37, >=37 or %5");
    return rule;
}

/// What a log message says: `{expr}` stands for a value, which the engine writes `$(expr)`.
std::string logText(const std::string& message)
{
    std::string text;
    for (size_t i = 0; i < message.size(); ++i) {
        const size_t end = message[i] == '{' ? message.find('}', i) : std::string::npos;
        if (end == std::string::npos) {
            text += message[i];
            continue;
        }
        text += "$(" + message.substr(i + 1, end - i - 1) + ")";
        i = end;
    }
    return text;
}

/// Condition, hits and log text of a breakpoint, as all kinds have them.
Status addConditions(BreakpointSpec& spec, const Json& asked)
{
    if (const std::string condition = asked["condition"].text(); !trimmed(condition).empty()) spec.condition = condition;
    if (asked.has("hitCondition")) {
        LS_TRY(spec.rule, hitRule(asked["hitCondition"].text()));
    }
    if (const std::string message = asked["logMessage"].text(); !message.empty()) {
        spec.command = BreakpointCommand::log;
        spec.log = logText(message);
        spec.hasLog = true;
    }
    return {};
}

void add(WantedBreakpoint& wanted, Result<BreakpointSpec> spec, const Json& asked)
{
    Status status = spec.ok() ? addConditions(*spec, asked) : Status(spec.error().copy());
    if (status.ok()) wanted.specs.push_back(std::move(*spec));
    else wanted.problem = std::move(status).takeError().message();
}

/// On an operator, wherever its graph is called from; `address`: only there.
WantedBreakpoint onOperator(Server& server, GraphId graph, OperatorId op, const std::string& address, const Json& asked)
{
    WantedBreakpoint wanted;
    std::vector<std::string> addresses = address.empty() ? server.sources->addressesOf(graph, op) : std::vector<std::string>{address};
    if (addresses.size() > kMostAddresses) addresses.resize(kMostAddresses);
    for (const std::string& one : addresses) add(wanted, breakOn(one), asked);
    if (addresses.empty()) wanted.problem = "'" + server.model().graph(graph).id + "' is never called";
    return wanted;
}

Json row(const BookedBreakpoint& booked)
{
    Json row = Json::object();
    row.set("id", booked.id).set("verified", !booked.numbers.empty());
    if (!booked.problem.empty()) row.set("message", booked.problem).set("reason", "failed");
    return row;
}

Json rows(const std::vector<BookedBreakpoint>& booked)
{
    Json list = Json::array();
    for (const BookedBreakpoint& one : booked) list.push(row(one));
    return Json::object().set("breakpoints", std::move(list));
}

Status checkCount(const Json& list)
{
    if (list.items().size() <= kMostBreakpoints) return {};
    return Error(ErrorCode::usage, "too many breakpoints").found(std::to_string(list.items().size()));
}

/// What a function breakpoint names: a graph, an operator type, a node wherever its graph is called from, or what follows `break`.
Result<BreakpointSpec> functionSpec(const Model& model, const std::string& name)
{
    if (model.findGraph(name).valid()) return breakOn("graph", {name});
    bool isNode = false;
    for (const Graph& graph : model.graphs)
        for (const Operator& op : graph.operators) {
            if (op.kind.name == name) return breakOn("type", {name});
            isNode = isNode || (!name.empty() && op.name == name);
        }
    if (isNode) return breakOn(".../" + escapeAddressName(name, true));
    return parseSpec(BreakpointCommand::breakpoint, name);
}

} // namespace

Result<Json> setBreakpoints(Server& server, const Json& arguments)
{
    LS_CHECK_OK(checkCount(arguments["breakpoints"]));
    Json asked = arguments["breakpoints"];
    if (!asked.isArray())
        for (const Json& line : arguments["lines"].items()) asked.push(Json::object().set("line", line));
    const Result<const Source*> found = server.sources->find(arguments["source"]);
    if (!found.ok()) { // editors send those of all files that they know
        if (arguments["source"]["path"].text().empty()) return found.error().copy();
        Json list = Json::array();
        for (size_t i = 0; i < asked.items().size(); ++i)
            list.push(Json::object().set("verified", false).set("message", "this file is not the model that runs").set("reason", "failed"));
        return Json::object().set("breakpoints", std::move(list));
    }
    const Source* const source = *found;
    std::vector<WantedBreakpoint> wanted;
    std::vector<const OperatorPlace*> places;
    for (const Json& one : asked.items()) {
        LS_TRY(const int64_t line, one.needInteger("line"));
        places.push_back(source->nearest(server.ownLine(line)));
        const OperatorPlace* const place = places.back();
        if (place != nullptr) wanted.push_back(onOperator(server, place->graph, place->op, place->address, one));
        else wanted.push_back({{}, {}, "there are no operators"});
        wanted.back().key = std::to_string(place != nullptr ? place->line : 0) + one["condition"].dump() + one["hitCondition"].dump() +
                            one["logMessage"].dump();
    }
    const std::string group = "line:" + std::to_string(source->reference);
    const std::vector<BookedBreakpoint>& booked = server.book.replace(server.session(), group, std::move(wanted));
    Json list = Json::array();
    for (size_t i = 0; i < booked.size(); ++i) {
        Json one = row(booked[i]);
        if (const OperatorPlace* const place = places[i]) {
            one.set("source", Sources::describe(*source)).set("line", server.clientLine(place->line));
            one.set("instructionReference", instructionText(server.sources->numberOf(place->graph, place->op)));
        }
        list.push(std::move(one));
    }
    return Json::object().set("breakpoints", std::move(list));
}

Result<Json> setFunctionBreakpoints(Server& server, const Json& arguments)
{
    LS_CHECK_OK(checkCount(arguments["breakpoints"]));
    std::vector<WantedBreakpoint> wanted;
    for (const Json& one : arguments["breakpoints"].items()) {
        LS_TRY(const std::string name, one.needText("name"));
        wanted.push_back({one.dump(), {}, {}});
        add(wanted.back(), functionSpec(server.model(), name), one);
    }
    return rows(server.book.replace(server.session(), "function", std::move(wanted)));
}

Result<Json> dataBreakpointInfo(Server& server, const Json& arguments)
{
    LS_TRY(const std::string name, arguments.needText("name"));
    std::string place = name;
    int depth = -1;
    if (arguments.has("variablesReference")) {
        LS_TRY(const Handle handle, server.handles.find(arguments["variablesReference"].integer()));
        depth = handle.depth;
        const Graph& graph = server.model().graph(server.stop().stack[static_cast<size_t>(depth)].graph);
        if (handle.kind == Handle::Kind::value && handle.value.valid()) place = graph.value(handle.value).id;
    } else {
        LS_TRY(depth, server.depthOf(arguments["frameId"]));
    }
    Json body = Json::object();
    if (place.starts_with("var:"))
        return body.set("dataId", place)
            .set("description", place)
            .set("accessTypes", Json::array().push("read").push("write").push("readWrite"));
    const Result<TypedPlace> typed = server.session().ask([&](Inspector& inspector) { return inspector.resolve({depth}, place); });
    if (!typed.ok() || !typed->resolved.value.valid())
        return body.set("dataId", Json()).set("description", typed.ok() ? "this is no value" : typed.error().message());
    const std::string address = withoutIterations(toString(typed->resolved.address));
    body.set("dataId", address).set("description", place + " changes (" + address + ")");
    return body.set("accessTypes", Json::array().push("write").push("readWrite"));
}

Result<Json> setDataBreakpoints(Server& server, const Json& arguments)
{
    LS_CHECK_OK(checkCount(arguments["breakpoints"]));
    std::vector<WantedBreakpoint> wanted;
    for (const Json& one : arguments["breakpoints"].items()) {
        LS_TRY(std::string id, one.needText("dataId"));
        const std::string access = one["accessType"].text("write");
        BreakpointSpec spec = watchFor(std::move(id));
        if (access == "read") spec.command = BreakpointCommand::readWatch;
        else if (access == "readWrite") spec.command = BreakpointCommand::accessWatch;
        wanted.push_back({one.dump(), {}, {}});
        add(wanted.back(), std::move(spec), one);
    }
    return rows(server.book.replace(server.session(), "data", std::move(wanted)));
}

Result<Json> setExceptionBreakpoints(Server& server, const Json& arguments)
{
    LS_CHECK_OK(checkCount(arguments["filters"]));
    LS_CHECK_OK(checkCount(arguments["filterOptions"]));
    std::vector<Json> asked;
    for (const Json& filter : arguments["filters"].items()) asked.push_back(Json::object().set("filterId", filter));
    for (const Json& option : arguments["filterOptions"].items()) asked.push_back(option);
    std::vector<WantedBreakpoint> wanted;
    for (const Json& one : asked) {
        LS_TRY(const std::string filter, one.needText("filterId"));
        wanted.push_back({one.dump(), {}, {}});
        if (filter == "error") continue; // always on
        if (filter == "nan-born") add(wanted.back(), breakOn("nan", {"born"}), one);
        else if (filter == "nan" || filter == "inf" || filter == "overflow" || filter == "denormal")
            add(wanted.back(), breakOn(filter), one);
        else if (filter == "differs" && server.session().reference()) add(wanted.back(), breakOn(filter), one);
        else if (filter == "differs") wanted.back().problem = "there is no reference run; 'against' names one";
        else wanted.back().problem = "no such filter";
    }
    Json body = rows(server.book.replace(server.session(), "exception", std::move(wanted)));
    for (size_t i = 0; i < asked.size(); ++i)
        if (asked[i]["filterId"].text() == "error") {
            Json list = Json::array();
            for (size_t k = 0; k < asked.size(); ++k) {
                Json one = body["breakpoints"].items()[k];
                if (k == i) one.set("verified", true);
                list.push(std::move(one));
            }
            body.set("breakpoints", std::move(list));
        }
    return body;
}

Result<Json> setInstructionBreakpoints(Server& server, const Json& arguments)
{
    LS_CHECK_OK(checkCount(arguments["breakpoints"]));
    std::vector<WantedBreakpoint> wanted;
    for (const Json& one : arguments["breakpoints"].items()) {
        LS_TRY(const std::string reference, one.needText("instructionReference"));
        const Result<int64_t> number = instructionNumber(reference);
        const int64_t offset = one["offset"].integer();
        const bool isNear = number.ok() && std::abs(offset) <= server.sources->operatorCount();
        const auto place = isNear ? server.sources->operatorAt(*number + offset) : std::nullopt;
        if (place) wanted.push_back(onOperator(server, place->first, place->second, {}, one));
        else wanted.push_back({{}, {}, "no operator is there"});
        wanted.back().key = one.dump();
    }
    return rows(server.book.replace(server.session(), "instruction", std::move(wanted)));
}

} // namespace loopscope::app::dap
