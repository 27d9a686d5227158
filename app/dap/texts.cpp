// The texts that an editor shows: listing and structured view, where operators stand in them, and the operators as instructions.
#include "app/dap/instruction_number.h"
#include "app/dap/requests.h"
#include "app/dap/server.h"
#include "app/output/listing.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace loopscope::app::dap {

namespace {

constexpr int64_t kMostInstructions = 10'000;

} // namespace

std::string instructionText(int64_t number)
{
    std::array<char, 24> text;
    const auto end = std::to_chars(text.data(), text.data() + text.size(), number, 16).ptr;
    return "0x" + std::string(text.data(), end);
}

Result<int64_t> instructionNumber(const std::string& text)
{
    const bool isHex = text.starts_with("0x");
    int64_t number = 0;
    const char* const begin = text.data() + (isHex ? 2 : 0);
    const auto [end, code] = std::from_chars(begin, text.data() + text.size(), number, isHex ? 16 : 10);
    if (code == std::errc() && end == text.data() + text.size()) return number;
    return Error(ErrorCode::usage, "no address of an instruction").found("'" + text.substr(0, 40) + "'").expected("0x1f");
}

Result<Json> source(Server& server, const Json& arguments)
{
    Json named = arguments["source"];
    if (!named.isObject()) named = Json::object();
    if (arguments["sourceReference"].integer() > 0) named.set("sourceReference", arguments["sourceReference"]);
    LS_TRY(const Source* const source, server.sources->find(named));
    if (source->reference == 0) return Error(ErrorCode::usage, "a file is read by whoever shows it").at(source->path);
    return Json::object().set("content", source->content).set("mimeType", "text/x-lsir");
}

Result<Json> loadedSources(Server& server, const Json&)
{
    Json list = Json::array();
    for (const Source& one : server.sources->all()) list.push(Sources::describe(one));
    return Json::object().set("sources", std::move(list));
}

Result<Json> modules(Server& server, const Json& arguments)
{
    const Model& model = server.model();
    const int64_t total = std::ssize(model.graphs);
    const int64_t first = std::clamp<int64_t>(arguments["startModule"].integer(), 0, total);
    const int64_t count = arguments["moduleCount"].integer();
    const int64_t last = count > 0 ? std::min(total, first + std::min(count, total)) : total;
    Json list = Json::array();
    for (int64_t i = first; i < last; ++i) {
        const Graph& graph = model.graphs[static_cast<size_t>(i)];
        Json one = Json::object();
        one.set("id", i + 1).set("name", graph.id).set("path", server.launched.program);
        one.set("symbolStatus", std::to_string(graph.operators.size()) + " operators");
        const auto begin = server.sources->numberOf(GraphId(i), OperatorId(0));
        list.push(one.set("addressRange", instructionText(begin) + "-" + instructionText(begin + std::ssize(graph.operators))));
    }
    return Json::object().set("modules", std::move(list)).set("totalModules", total);
}

Result<Json> locations(Server& server, const Json& arguments)
{
    LS_TRY(const int64_t reference, arguments.needInteger("locationReference"));
    const auto place = server.sources->operatorAt(reference - 1);
    if (!place) return Error(ErrorCode::usage, "no such location").found(std::to_string(reference));
    const std::vector<std::string>& addresses = server.sources->addressesOf(place->first, place->second);
    Json body = Json::object();
    body.set("source", Sources::describe(server.sources->shown(place->first)));
    const std::string address = addresses.empty() ? std::string() : addresses.front();
    return body.set("line", server.clientLine(server.sources->lineOf(place->first, place->second, address)));
}

Result<Json> breakpointLocations(Server& server, const Json& arguments)
{
    LS_TRY(const Source* const source, server.sources->find(arguments["source"]));
    LS_TRY(const int64_t line, arguments.needInteger("line"));
    const int64_t first = server.ownLine(line), last = server.ownLine(arguments["endLine"].integer(line));
    Json list = Json::array();
    int64_t told = 0;
    for (const OperatorPlace& place : source->places) {
        if (place.line < first || place.line > last || place.line == told) continue;
        told = place.line;
        list.push(Json::object().set("line", server.clientLine(place.line)));
    }
    return Json::object().set("breakpoints", std::move(list));
}

Result<Json> disassemble(Server& server, const Json& arguments)
{
    LS_TRY(const std::string reference, arguments.needText("memoryReference"));
    LS_TRY(const int64_t base, instructionNumber(reference));
    LS_TRY(const int64_t asked, arguments.needInteger("instructionCount"));
    if (asked < 0 || asked > kMostInstructions)
        return Error(ErrorCode::usage, "argument 'instructionCount'")
            .found(std::to_string(asked))
            .expected("0 to " + std::to_string(kMostInstructions));
    constexpr int64_t kFar = int64_t{1} << 40;
    const int64_t first = std::clamp(base, -kFar, kFar) + std::clamp(arguments["offset"].integer(), -kFar, kFar) +
                          std::clamp(arguments["instructionOffset"].integer(), -kFar, kFar);
    const Model& model = server.model();
    if (server.kernels && server.terminal->isStarted() && !server.isTravelling())
        static_cast<void>(server.session().ask([&](Inspector& inspector) {
            server.kernels->learn(inspector.kernelReport());
            return true;
        }));
    Json list = Json::array();
    for (int64_t number = first; number < first + asked; ++number) {
        Json one = Json::object();
        one.set("address", instructionText(std::max<int64_t>(number, 0)));
        const auto place = server.sources->operatorAt(number);
        if (!place) {
            list.push(one.set("instruction", "").set("presentationHint", "invalid"));
            continue;
        }
        const auto [graph, op] = *place;
        std::string text = kindText(model.graph(graph).op(op).kind, model.dialect);
        for (const ValueId id : model.graph(graph).op(op).inputs) text += " " + (id.valid() ? model.graph(graph).value(id).id : "_");
        text += "  ; " + (server.kernels ? server.kernels->text(graph, op) : "recorded");
        const std::vector<std::string>& addresses = server.sources->addressesOf(graph, op);
        one.set("instruction", text).set("symbol", addresses.empty() ? model.graph(graph).id : addresses.front());
        const int64_t line = server.sources->lineOf(graph, op, addresses.empty() ? std::string() : addresses.front());
        list.push(one.set("location", Sources::describe(server.sources->shown(graph))).set("line", server.clientLine(line)));
    }
    return Json::object().set("instructions", std::move(list));
}

} // namespace loopscope::app::dap
