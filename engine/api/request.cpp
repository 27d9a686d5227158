#include "engine/api/request.h"

#include <array>
#include <cstdio>

namespace loopscope {

namespace {

std::string counted(std::string_view name, Direction direction, int64_t count)
{
    return (direction == Direction::backward ? "reverse-" : "") + std::string(name) + (count == 1 ? "" : " " + std::to_string(count));
}

std::string numbered(std::string_view name, std::optional<int> number)
{
    return std::string(name) + (number ? " " + std::to_string(*number) : "");
}

struct MoveWords {
    std::string operator()(const request::Resume& move) const { return counted("continue", move.direction, move.count); }
    std::string operator()(const request::Step& move) const { return counted(move.over ? "next" : "step", move.direction, move.count); }
    std::string operator()(const request::Finish& move) const { return counted("finish", move.direction, 1); }
    std::string operator()(const request::Until&) const { return "until"; }
    std::string operator()(const request::Advance& move) const { return "advance " + move.pattern; }
    std::string operator()(const request::Iterate& move) const
    {
        if (move.to == request::Iterate::To::last) return "iter last";
        const bool isForward = move.to == request::Iterate::To::offset && move.number >= 0;
        return (isForward ? "iter +" : "iter ") + std::to_string(move.number);
    }
    std::string operator()(const request::GoToStart&) const { return "goto start"; }
    std::string operator()(const request::GoToEnd&) const { return "goto end"; }
    std::string operator()(const request::GoToStep& move) const { return "goto step:" + std::to_string(move.step); }
    std::string operator()(const request::GoToPercent& move) const
    {
        std::array<char, 32> text = {};
        std::snprintf(text.data(), text.size(), "%g", move.percent);
        return std::string("goto ") + text.data() + "%";
    }
    std::string operator()(const request::GoToPlace& move) const { return "goto " + move.place; }
    std::string operator()(const request::GoToAddress& move) const { return "goto " + toString(move.address); }
    std::string operator()(const request::GoToPartnerLoop& move) const { return move.backward ? "goto backward" : "goto forward"; }
    std::string operator()(const request::GoToWrite& move) const
    {
        constexpr std::array<const char*, 4> names = {"lastwrite", "lastchange", "nextwrite", "nextchange"};
        return std::string(names[static_cast<size_t>(move.query)]) + " " + move.value + " -g";
    }
    std::string operator()(const request::Back&) const { return "back"; }
    std::string operator()(const request::Forward&) const { return "forward"; }
    std::string operator()(const request::SwitchTimeline& move) const { return "switch " + std::to_string(move.timeline); }
};

struct RequestWords {
    std::string operator()(const request::Begin& request) const
    {
        std::string text = request.untilStop ? "run" : "start";
        for (const std::string& input : request.inputs) text += " " + input;
        return text;
    }
    std::string operator()(const request::GiveInput& request) const { return "input " + request.text; }
    std::string operator()(const request::Move& move) const { return std::visit(MoveWords(), move); }
    std::string operator()(const request::SetValue& request) const { return "set " + request.place + " = " + request.expression; }
    std::string operator()(const request::GiveOutput& request) const { return "give " + request.place + " = " + request.source; }
    std::string operator()(const request::AddBreakpoint& request) const
    {
        return std::string(commandName(request.spec.command)) + " " + specText(request.spec);
    }
    std::string operator()(const request::ToggleBreakpoint& request) const { return "toggle " + toString(request.place); }
    std::string operator()(const request::RemoveBreakpoint& request) const { return numbered("delete", request.number); }
    std::string operator()(const request::EnableBreakpoint& request) const
    {
        return numbered(request.enabled ? "enable" : "disable", request.number);
    }
    std::string operator()(const request::SetCondition& request) const
    {
        return "condition " + std::to_string(request.number) + (request.expression.empty() ? "" : " " + request.expression);
    }
    std::string operator()(const request::IgnoreHits& request) const
    {
        return "ignore " + std::to_string(request.number) + " " + std::to_string(request.count);
    }
    std::string operator()(const request::SetMark& request) const { return "mark " + request.name; }
    std::string operator()(const request::TakeNote& request) const { return "note " + request.text; }
    std::string operator()(const request::SetOrder& request) const
    {
        return "order " + (request.seed == 0 ? std::string("arrival") : std::to_string(request.seed));
    }
    std::string operator()(const request::RecordOn& request) const
    {
        std::string text = "record on";
        if (!request.path.empty()) text += " " + request.path;
        if (!request.level.empty()) text += " " + request.level;
        return text + (request.overwrite ? " --force" : "");
    }
    std::string operator()(const request::RecordOff&) const { return "record off"; }
    std::string operator()(const request::Display& request) const { return "display " + request.expression; }
    std::string operator()(const request::FindDrift&) const { return "drift"; }
};

} // namespace

std::string commandText(const Request& request) { return std::visit(RequestWords(), request); }

} // namespace loopscope
