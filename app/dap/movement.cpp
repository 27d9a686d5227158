// Movement in both directions. Requests are answered at once; `stopped` tells where they ended.
#include "app/dap/requests.h"
#include "app/dap/server.h"
#include "engine/observe/address_names.h"

#include <algorithm>

namespace loopscope::app::dap {

namespace {

constexpr size_t kMostTargets = 64;
constexpr size_t kMostPlaces = 100'000; ///< targets that are remembered

Json moved(Server& server, request::Move move, const char* reason)
{
    server.thenMove(std::move(move), reason);
    return Json();
}

/// Remembers where a target is.
int64_t targetAt(Server& server, std::string place)
{
    if (server.places.size() >= kMostPlaces) server.places.clear();
    server.places.push_back(std::move(place));
    return std::ssize(server.places);
}

Result<std::string> placeOf(const Server& server, const Json& arguments)
{
    LS_TRY(const int64_t target, arguments.needInteger("targetId"));
    if (target >= 1 && target <= std::ssize(server.places)) return server.places[static_cast<size_t>(target - 1)];
    return Error(ErrorCode::usage, "no such target").found(std::to_string(target));
}

/// An address without iterations, in the first iteration of every loop.
std::string firstTime(const std::string& place)
{
    Result<Address> address = parseAddress(place);
    if (!address.ok()) return place;
    for (AddressStep& step : address->steps)
        if (step.role == StepRole::body || step.role == StepRole::cond || step.role == StepRole::frame) step.iteration = 0;
    return toString(*address);
}

/// The same operator some iterations further on; empty: there is none before 0, or no loop.
std::string otherIteration(const std::string& place, int64_t offset)
{
    Result<Address> address = parseAddress(place);
    if (!address.ok()) return {};
    const auto loop = std::find_if(address->steps.rbegin(), address->steps.rend(), [](const AddressStep& s) { return s.iteration >= 0; });
    if (loop == address->steps.rend() || loop->iteration + offset < 0) return {};
    loop->iteration += offset;
    return toString(*address);
}

} // namespace

Result<Json> resume(Server& server, const Json&)
{
    moved(server, request::Resume{}, "breakpoint");
    return Json::object().set("allThreadsContinued", true);
}

Result<Json> next(Server& server, const Json&) { return moved(server, request::Step{Direction::forward, 1, true}, "step"); }

Result<Json> stepIn(Server& server, const Json& arguments)
{
    if (!arguments.has("targetId")) return moved(server, request::Step{}, "step");
    LS_TRY(std::string place, placeOf(server, arguments));
    return moved(server, request::GoToPlace{std::move(place)}, "step");
}

Result<Json> stepInTargets(Server& server, const Json& arguments)
{
    LS_TRY(const int depth, server.depthOf(arguments["frameId"]));
    const FrameInfo& frame = server.stop().stack[static_cast<size_t>(depth)];
    Json targets = Json::array();
    if (frame.next.valid() && depth + 1 == std::ssize(server.stop().stack)) {
        const std::string call = server.stop().report.address;
        for (const std::string& role : server.sources->rolesOf(withoutIterations(call))) {
            const bool isLoop = role == "cond" || role == "body";
            Json target = Json::object();
            target.set("id", targetAt(server, call + (isLoop ? "@0:" : ":") + role)).set("label", role);
            targets.push(target.set("line", server.clientLine(server.sources->lineOf(frame.graph, frame.next, withoutIterations(call)))));
        }
    }
    return Json::object().set("targets", std::move(targets));
}

Result<Json> stepOut(Server& server, const Json&) { return moved(server, request::Finish{}, "step"); }

Result<Json> stepBack(Server& server, const Json& arguments)
{
    const bool isOver = arguments["granularity"].text() != "instruction";
    return moved(server, request::Step{Direction::backward, 1, isOver}, "step");
}

Result<Json> reverseContinue(Server& server, const Json&) { return moved(server, request::Resume{Direction::backward}, "breakpoint"); }

Result<Json> stepBackIn(Server& server, const Json&) { return moved(server, request::Step{Direction::backward}, "step"); }

Result<Json> stepBackOut(Server& server, const Json&) { return moved(server, request::Finish{Direction::backward}, "step"); }

Result<Json> gotoPlace(Server& server, const Json& arguments)
{
    LS_TRY(std::string place, placeOf(server, arguments));
    return moved(server, request::GoToPlace{std::move(place)}, "goto");
}

Result<Json> gotoTargets(Server& server, const Json& arguments)
{
    LS_TRY(const Source* const source, server.sources->find(arguments["source"]));
    LS_TRY(const int64_t line, arguments.needInteger("line"));
    Json targets = Json::array();
    const OperatorPlace* const at = source->nearest(server.ownLine(line));
    if (at == nullptr) return Json::object().set("targets", std::move(targets));
    const auto add = [&](const std::string& place) {
        if (place.empty() || targets.items().size() >= kMostTargets) return;
        Json target = Json::object();
        target.set("id", targetAt(server, place)).set("label", place).set("line", server.clientLine(at->line));
        targets.push(std::move(target));
    };
    const Graph& graph = server.model().graph(at->graph);
    const std::string name = toString([&] {
        Address address;
        address.target = TargetKind::op;
        address.op = operatorName(graph.op(at->op), at->op.index);
        return address;
    }());
    const Stop& stop = server.stop();
    for (size_t depth = stop.stack.size(); depth-- > 0;) {
        if (stop.stack[depth].graph != at->graph) continue;
        const std::string here = stop.frames[depth] + (name.starts_with('/') ? "" : "/") + name;
        if (!at->address.empty() && withoutIterations(here) != at->address) continue;
        for (const int64_t offset : {0, 1, -1}) add(offset == 0 ? here : otherIteration(here, offset));
        break;
    }
    if (!at->address.empty()) add(firstTime(at->address));
    else
        for (const std::string& address : server.sources->addressesOf(at->graph, at->op)) add(firstTime(address));
    return Json::object().set("targets", std::move(targets));
}

Result<Json> travel(Server& server, const Json& arguments)
{
    LS_TRY(const std::string place, arguments.needText("place"));
    LS_TRY([[maybe_unused]] const std::string said, server.runCommand("goto " + place, -1, "goto"));
    return Json();
}

Result<Json> iterate(Server& server, const Json& arguments)
{
    using To = request::Iterate::To;
    if (arguments.has("offset")) return moved(server, request::Iterate{To::offset, arguments["offset"].integer()}, "goto");
    if (arguments["iteration"].text() == "last") return moved(server, request::Iterate{To::last, 0}, "goto");
    LS_TRY(const int64_t number, arguments.needInteger("iteration"));
    return moved(server, request::Iterate{To::number, number}, "goto");
}

Result<Json> pauseRun(Server& server, const Json&)
{
    server.stopRunning(true);
    return Json();
}

Result<Json> restartFrame(Server& server, const Json& arguments)
{
    LS_TRY(const int depth, server.depthOf(arguments["frameId"]));
    return moved(server, request::GoToPlace{server.stop().frames[static_cast<size_t>(depth)]}, "restart");
}

} // namespace loopscope::app::dap
