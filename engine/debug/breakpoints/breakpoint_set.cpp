// The list of breakpoints: making, changing, listing, saving and loading them.
#include "engine/debug/breakpoints/breakpoint_impl.h"

#include "engine/base/text.h"
#include "engine/base/trimmed.h"
#include "engine/debug/timeline.h"
#include "engine/exec/executor.h"

#include <algorithm>

namespace loopscope {

namespace {

Result<Within> makeWithin(const DebugTarget& target, FrameContext frame, std::string_view text)
{
    LS_TRY(Places places, resolvePlaces(target, frame, text));
    if (places.isInvocation) { // all that happens in it
        LS_TRY(Places inside, resolvePlaces(target, frame, places.text + "/..."));
        return Within{places.text, inside.path, {}};
    }
    const bool all = places.isEverything && !places.text.ends_with("*");
    return Within{places.text, places.path, all ? std::vector<PlacedOperator>() : places.operators};
}

} // namespace

// Texts of log points.

Result<LogText> LogText::compile(const BreakContext& context, std::span<const GraphId> graphs, std::string_view text)
{
    LogText result;
    while (!text.empty()) {
        const size_t begin = text.find("$(");
        std::string plain(text.substr(0, begin));
        if (begin == std::string_view::npos) {
            result.m_parts.emplace_back(std::move(plain), std::nullopt);
            break;
        }
        size_t end = begin + 2;
        bool isQuoted = false;
        for (int open = 1; end < text.size(); ++end) {
            const char c = text[end];
            if (c == '"') isQuoted = !isQuoted;
            if (isQuoted) continue;
            if (c == '(') ++open;
            if (c == ')' && --open == 0) break;
        }
        if (end >= text.size())
            return Error(ErrorCode::usage, "'$(' without ')' in the text of a log point").found(std::string(text.substr(begin)));
        LS_TRY(EventExpression value,
               EventExpression::compile(context, graphs, text.substr(begin + 2, end - begin - 2), ExpressionUse::value));
        result.m_parts.emplace_back(std::move(plain), std::move(value));
        text.remove_prefix(end + 1);
    }
    return result;
}

std::string LogText::textAt(const BreakEvent& event, int64_t hits)
{
    std::string text;
    for (auto& [plain, value] : m_parts) {
        text += plain;
        if (value) text += value->textAt(event, hits);
    }
    return text;
}

bool LogText::usesHits() const
{
    return std::ranges::any_of(m_parts, [](const auto& part) { return part.second && part.second->usesHits(); });
}

std::vector<PlacedOperator> LogText::loops() const
{
    std::vector<PlacedOperator> loops;
    for (const auto& [plain, value] : m_parts)
        if (value)
            for (const PlacedOperator& loop : value->loops()) loops.push_back(loop);
    return loops;
}

// Making them.

BreakpointSet::Impl::Impl(DebugTarget target) : m_target(target), m_context{m_target, m_kept, m_trips, m_reference} {}

/// Graphs that a breakpoint can be met in, that of the frame first.
std::vector<GraphId> BreakpointSet::Impl::graphsOf(const Breakpoint& breakpoint, FrameContext frame) const
{
    std::vector<GraphId> graphs;
    for (const BreakSite& site : breakpoint.kind->sites())
        if (std::ranges::find(graphs, site.graph) == graphs.end()) graphs.push_back(site.graph);
    const int frames = m_target.executor.position().depth;
    if (frames == 0) return graphs;
    const GraphId here = m_target.executor.frame(frame.depth < 0 || frame.depth >= frames ? frames - 1 : frame.depth).graph;
    const auto found = std::ranges::find(graphs, here);
    if (found != graphs.end()) std::rotate(graphs.begin(), found, found + 1);
    return graphs;
}

Status BreakpointSet::Impl::compileCondition(Breakpoint& breakpoint, std::string_view text, FrameContext frame)
{
    if (text.empty()) {
        breakpoint.condition.reset();
    } else {
        const std::vector<GraphId> graphs = graphsOf(breakpoint, frame);
        LS_TRY(EventExpression condition, EventExpression::compile(m_context, graphs, text, ExpressionUse::condition));
        breakpoint.condition = std::move(condition);
    }
    breakpoint.spec.condition = text;
    return {};
}

Result<std::unique_ptr<Breakpoint>> BreakpointSet::Impl::make(BreakpointCommand command, std::string_view text, FrameContext frame)
{
    LS_TRY(BreakpointSpec spec, parseSpec(command, text));
    return make(std::move(spec), std::string(text), frame);
}

Result<std::unique_ptr<Breakpoint>> BreakpointSet::Impl::make(BreakpointSpec wanted, std::string typed, FrameContext frame)
{
    auto breakpoint = std::make_unique<Breakpoint>();
    const BreakpointCommand command = wanted.command;
    breakpoint->command = command;
    breakpoint->typed = std::move(typed);
    breakpoint->spec = std::move(wanted);
    BreakpointSpec& spec = breakpoint->spec;
    LS_TRY(breakpoint->kind, makeKind(m_context, frame, command, spec));
    const auto isKind = [&](const BreakKindEntry& entry) { return entry.name == spec.words[0]; };
    breakpoint->kindName = "operator";
    if (spec.words[0].starts_with("step:")) breakpoint->kindName = "step";
    else if (std::ranges::any_of(breakKinds(), isKind)) breakpoint->kindName = spec.words[0];
    if (command == BreakpointCommand::watch || command == BreakpointCommand::readWatch || command == BreakpointCommand::accessWatch)
        breakpoint->kindName = commandName(command);
    if (!spec.within.empty()) {
        LS_TRY(breakpoint->within, makeWithin(m_target, frame, spec.within));
        spec.within = breakpoint->within->text;
    }
    if (!spec.condition.empty()) LS_CHECK_OK(compileCondition(*breakpoint, std::string(spec.condition), frame));
    if (command == BreakpointCommand::log) {
        const std::vector<GraphId> graphs = graphsOf(*breakpoint, frame);
        LS_TRY(breakpoint->log, LogText::compile(m_context, graphs, spec.log));
    }
    breakpoint->enabled = !spec.disabled;
    sync();
    if (m_run != 0 && m_target.executor.position().depth > 0) breakpoint->origin = m_target.timeline.tick();
    return breakpoint;
}

Breakpoint* BreakpointSet::Impl::find(int number)
{
    for (const auto& breakpoint : m_breakpoints)
        if (breakpoint->number == number) return breakpoint.get();
    return nullptr;
}

Result<Breakpoint*> BreakpointSet::Impl::get(int number)
{
    if (Breakpoint* breakpoint = find(number)) return breakpoint;
    Error error(ErrorCode::usage, "no breakpoint " + std::to_string(number));
    if (m_breakpoints.empty()) return error;
    std::vector<std::string> numbers;
    for (const auto& breakpoint : m_breakpoints) numbers.push_back(std::to_string(breakpoint->number));
    return std::move(error).expected(join(numbers, ", "));
}

BreakpointInfo BreakpointSet::Impl::infoOf(Breakpoint& breakpoint)
{
    BreakpointInfo info;
    info.number = breakpoint.number;
    info.command = breakpoint.command;
    info.kind = breakpoint.kindName;
    info.enabled = breakpoint.enabled;
    info.disabledBecause = breakpoint.disabledBecause;
    info.commands = breakpoint.commands;
    info.spec = breakpoint.typed;
    if (!breakpoint.kind) return info;
    info.spec = breakpoint.kind->head + suffixText(breakpoint.spec);
    if (breakpoint.spec.hasLog) info.spec += " " + quotedLog(breakpoint.spec.log);
    info.place = breakpoint.kind->place;
    info.condition = breakpoint.spec.condition;
    info.hitRule = toString(breakpoint.spec.rule);
    info.quiet = breakpoint.spec.quiet;
    info.note = breakpoint.kind->note;
    info.hits = count(breakpoint);
    info.ignore = std::max<int64_t>(0, breakpoint.ignoreUntil - info.hits);
    ExpressionCost cost = breakpoint.kind->cost();
    uint64_t bytes = breakpoint.kind->keptBytes();
    if (breakpoint.condition) {
        cost = std::max(cost, breakpoint.condition->cost());
        bytes += breakpoint.condition->keptBytes();
    }
    info.cost = expressionCostName(cost);
    if (bytes > 0) info.cost += ", keeps " + formatBytes(bytes);
    return info;
}

// What others see.

BreakpointSet::BreakpointSet(DebugTarget target) : m_impl(std::make_unique<Impl>(target)) {}
BreakpointSet::~BreakpointSet() = default;

Result<int> BreakpointSet::add(BreakpointCommand command, std::string_view spec, FrameContext frame)
{
    LS_TRY(BreakpointSpec parsed, parseSpec(command, trimmed(spec)));
    return add(parsed, frame);
}

Result<int> BreakpointSet::add(const BreakpointSpec& spec, FrameContext frame)
{
    LS_TRY(std::unique_ptr<Breakpoint> breakpoint, m_impl->make(spec, specText(spec), frame));
    breakpoint->number = m_impl->m_next++;
    m_impl->m_breakpoints.push_back(std::move(breakpoint));
    m_impl->changed();
    return m_impl->m_next - 1;
}

Status BreakpointSet::remove(int number)
{
    LS_TRY(Breakpoint* const breakpoint, m_impl->get(number));
    std::erase_if(m_impl->m_breakpoints, [&](const auto& known) { return known.get() == breakpoint; });
    m_impl->changed();
    return {};
}

void BreakpointSet::removeAll()
{
    m_impl->m_breakpoints.clear();
    m_impl->changed();
}

Status BreakpointSet::setEnabled(int number, bool enabled)
{
    LS_TRY(Breakpoint* const breakpoint, m_impl->get(number));
    if (enabled && !breakpoint->kind) { // perhaps it resolves now
        LS_TRY(std::unique_ptr<Breakpoint> made, m_impl->make(breakpoint->command, breakpoint->typed, {}));
        made->number = number;
        made->commands = std::move(breakpoint->commands);
        made->enabled = true;
        *breakpoint = std::move(*made);
    }
    m_impl->noteProgress();
    breakpoint->enabled = enabled;
    if (enabled) breakpoint->disabledBecause.clear();
    m_impl->changed();
    return {};
}

Status BreakpointSet::setCondition(int number, std::string_view expression, FrameContext frame)
{
    LS_TRY(Breakpoint* const breakpoint, m_impl->get(number));
    if (!breakpoint->kind) return Error(ErrorCode::usage, "breakpoint " + std::to_string(number) + " does not resolve");
    LS_CHECK_OK(m_impl->compileCondition(*breakpoint, trimmed(expression), frame));
    breakpoint->hits.clear();
    breakpoint->isHeard = false;
    m_impl->changed();
    return {};
}

Status BreakpointSet::setIgnore(int number, int64_t count)
{
    LS_TRY(Breakpoint* const breakpoint, m_impl->get(number));
    if (count < 0) return Error(ErrorCode::usage, "a number of hits").found(std::to_string(count)).expected("0 or more");
    m_impl->noteProgress();
    const int64_t hits = m_impl->count(*breakpoint);
    breakpoint->ignoreUntil = count == 0 ? 0 : count > INT64_MAX - hits ? INT64_MAX : hits + count;
    return {};
}

Status BreakpointSet::setCommands(int number, std::vector<std::string> commands)
{
    LS_TRY(Breakpoint* const breakpoint, m_impl->get(number));
    breakpoint->commands = std::move(commands);
    return {};
}

std::vector<BreakpointInfo> BreakpointSet::list() const
{
    m_impl->noteProgress();
    m_impl->sync();
    std::vector<BreakpointInfo> infos;
    for (const auto& breakpoint : m_impl->m_breakpoints) infos.push_back(m_impl->infoOf(*breakpoint));
    return infos;
}

Result<BreakpointInfo> BreakpointSet::get(int number) const
{
    m_impl->noteProgress();
    m_impl->sync();
    LS_TRY(Breakpoint* const breakpoint, m_impl->get(number));
    return m_impl->infoOf(*breakpoint);
}

std::optional<BreakpointSet::Reaction> BreakpointSet::reactionOf(int number) const
{
    m_impl->noteProgress();
    const Breakpoint* const breakpoint = m_impl->find(number);
    if (breakpoint == nullptr) return std::nullopt;
    return Reaction{breakpoint->kind && breakpoint->spec.quiet, breakpoint->commands};
}

std::string BreakpointSet::save() const
{
    std::string text;
    for (const auto& breakpoint : m_impl->m_breakpoints) {
        std::string spec = breakpoint->typed;
        if (breakpoint->kind) {
            const bool isOff = std::exchange(breakpoint->spec.disabled, false);
            spec = breakpoint->kind->head + suffixText(breakpoint->spec);
            if (!breakpoint->enabled) spec += " disabled";
            if (breakpoint->spec.hasLog) spec += " " + quotedLog(breakpoint->spec.log);
            breakpoint->spec.disabled = isOff;
        }
        text += std::string(commandName(breakpoint->command)) + " " + spec + "\n";
        if (const int64_t left = breakpoint->ignoreUntil - m_impl->count(*breakpoint); breakpoint->ignoreUntil > 0 && left > 0)
            text += "ignore " + std::to_string(left) + "\n";
        if (breakpoint->commands.empty()) continue;
        text += "commands\n";
        for (const std::string& command : breakpoint->commands) text += "  " + command + "\n";
        text += "end\n";
    }
    return text;
}

Status BreakpointSet::load(std::string_view text)
{
    struct Line {
        BreakpointCommand command;
        std::string_view spec;
        std::vector<std::string> commands;
        int64_t ignore = 0;
    };
    std::vector<Line> lines;
    bool inCommands = false;
    int number = 0;
    while (!text.empty()) {
        const size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = trimmed(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        ++number;
        const auto wrong = [&](std::string what) { return Error(ErrorCode::usage, std::move(what)).at("line " + std::to_string(number)); };
        if (inCommands) {
            if (line == "end") inCommands = false;
            else if (!line.empty()) lines.back().commands.emplace_back(line);
            continue;
        }
        if (line.empty() || line.front() == '#') continue;
        const size_t blank = std::min(line.find(' '), line.size());
        const std::string_view word = line.substr(0, blank);
        if (word == "commands") {
            if (lines.empty()) return wrong("commands without a breakpoint before them");
            inCommands = true;
            continue;
        }
        if (word == "ignore") {
            if (lines.empty()) return wrong("ignore without a breakpoint before it");
            Result<int64_t> count = parseCount(trimmed(line.substr(blank)), "ignore");
            if (!count.ok()) return std::move(count).takeError().at("line " + std::to_string(number));
            lines.back().ignore = *count;
            continue;
        }
        const std::optional<BreakpointCommand> known = breakpointCommand(word);
        if (!known)
            return wrong("found '" + std::string(word) + "'").expected("break, tbreak, watch, rwatch, awatch, log, ignore or commands");
        lines.push_back({*known, trimmed(line.substr(blank)), {}, 0});
    }
    if (inCommands) return Error(ErrorCode::usage, "commands without end").at("line " + std::to_string(number));
    for (Line& line : lines) {
        auto made = m_impl->make(line.command, line.spec, FrameContext{0});
        std::unique_ptr<Breakpoint> breakpoint;
        if (made.ok()) {
            breakpoint = std::move(*made);
        } else {
            breakpoint = std::make_unique<Breakpoint>();
            breakpoint->command = line.command;
            breakpoint->typed = line.spec;
            breakpoint->enabled = false;
            breakpoint->disabledBecause = made.error().message();
        }
        breakpoint->commands = std::move(line.commands);
        breakpoint->ignoreUntil = line.ignore;
        breakpoint->number = m_impl->m_next++;
        m_impl->m_breakpoints.push_back(std::move(breakpoint));
    }
    m_impl->changed();
    return {};
}

void BreakpointSet::setReference(ReferenceValues* reference) { m_impl->m_reference = reference; }

TrapSet BreakpointSet::traps() const
{
    m_impl->reindex();
    return m_impl->m_index.traps();
}

void BreakpointSet::moved(Tick) { m_impl->moved(); }

TrapHandler& BreakpointSet::handler(Mode mode, int64_t after)
{
    m_impl->begin(mode, after);
    return *m_impl;
}

std::vector<StopReason> BreakpointSet::takeReasons()
{
    m_impl->noteProgress();
    return std::exchange(m_impl->m_reasons, {});
}

std::vector<LogLine> BreakpointSet::takeLogs() { return std::exchange(m_impl->m_logs, {}); }

std::vector<BreakpointHit> BreakpointSet::takeHits()
{
    m_impl->noteProgress();
    std::ranges::stable_sort(m_impl->m_hits, {}, &BreakpointHit::tick);
    return std::exchange(m_impl->m_hits, {});
}

void BreakpointSet::dropTemporary(const std::vector<StopReason>& reasons)
{
    for (const StopReason& reason : reasons) {
        const Breakpoint* breakpoint = m_impl->find(reason.number);
        if (!breakpoint || (breakpoint->command != BreakpointCommand::temporary && !breakpoint->spec.once)) continue;
        static_cast<void>(remove(reason.number).ok());
    }
}

} // namespace loopscope
