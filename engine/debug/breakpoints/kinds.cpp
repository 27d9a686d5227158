// The table of kinds, and what all of them share.
#include "engine/debug/breakpoints/kind.h"

#include "engine/base/text.h"

#include <algorithm>
#include <array>

namespace loopscope {

namespace {

constexpr std::array kKinds = {
    BreakKindEntry{"type", "type KIND", makeType},
    BreakKindEntry{"graph", "graph NAME", makeGraph},
    BreakKindEntry{"iter", "iter LOOP N", makeIter},
    BreakKindEntry{"loop", "loop LOOP", makeLoopEntry},
    BreakKindEntry{"exit", "exit LOOP", makeExit},
    BreakKindEntry{"trips", "trips LOOP > N", makeTrips},
    BreakKindEntry{"branch", "branch OPERATOR then", makeBranch},
    BreakKindEntry{"nan", "nan [born] [PATTERN]", makeNan},
    BreakKindEntry{"inf", "inf [PATTERN]", makeInf},
    BreakKindEntry{"denormal", "denormal [PATTERN]", makeDenormal},
    BreakKindEntry{"overflow", "overflow [PATTERN]", makeOverflow},
    BreakKindEntry{"saturated", "saturated V >= N%", makeSaturated},
    BreakKindEntry{"zeros", "zeros V >= N%", makeZeros},
    BreakKindEntry{"write", "write V", makeWrite},
    BreakKindEntry{"range", "range V LOW HIGH", makeRange},
    BreakKindEntry{"watch", "watch V", makeWatch},
    BreakKindEntry{"rwatch", "rwatch V", makeReadWatch},
    BreakKindEntry{"awatch", "awatch V", makeAccessWatch},
    BreakKindEntry{"unchanged", "unchanged V [for N]", makeUnchanged},
    BreakKindEntry{"shape", "shape V", makeShape},
    BreakKindEntry{"error", "error", makeError},
    BreakKindEntry{"steps", "steps N", makeSteps},
    BreakKindEntry{"time", "time KIND > 5ms", makeTime},
    BreakKindEntry{"differs", "differs [--cosine C] [PATTERN]", makeDiffers},
    BreakKindEntry{"when", "when EXPR", makeWhen},
    BreakKindEntry{"dead", "dead [NODE]", makeDead},
    BreakKindEntry{"merge", "merge NODE [K]", makeMerge},
    BreakKindEntry{"frame", "frame NAME", makeFrame},
    BreakKindEntry{"frame-done", "frame-done NAME", makeFrameDone},
    BreakKindEntry{"race", "race", makeRace},
};

const BreakKindEntry* findKind(std::string_view name)
{
    const auto found = std::ranges::find(kKinds, name, &BreakKindEntry::name);
    return found == kKinds.end() ? nullptr : &*found;
}

} // namespace

std::span<const BreakKindEntry> breakKinds() { return kKinds; }

Error wrongOperands(std::string_view name)
{
    const BreakKindEntry* entry = findKind(name);
    const std::string syntax(entry ? entry->syntax : name);
    const bool isWatch = name.ends_with("watch");
    return Error(ErrorCode::usage, std::string(name) + " has other operands").expected(isWatch ? syntax : "break " + syntax);
}

Result<std::unique_ptr<BreakKind>> finished(std::unique_ptr<BreakKind> kind, std::string head, std::string place,
                                            std::optional<std::string_view> missing)
{
    if (missing && kind->sites().empty()) return Error(ErrorCode::usage, std::string(*missing)).at(place.empty() ? "break " + head : place);
    kind->head = std::move(head);
    kind->place = std::move(place);
    return kind;
}

StopReason BreakKind::reason(const BreakEvent&, const BreakSite& site) const
{
    StopReason reason;
    reason.cause = m_cause;
    if (site.value.valid() || site.slot >= 0) reason.value = valueAt(site).id;
    return reason;
}

const Value& BreakKind::valueAt(const BreakSite& site) const
{
    const Graph& graph = model().graph(site.graph);
    if (site.value.valid()) return graph.value(site.value);
    return graph.value(graph.op(site.op).results[static_cast<size_t>(site.slot)]);
}

std::shared_ptr<ValueKeeper> KeptValues::keeper(const Model& model, GraphId graph, ValueId value, int64_t writes, bool copies, bool first)
{
    std::weak_ptr<ValueKeeper>& known = m_keepers[{graph, value}];
    std::shared_ptr<ValueKeeper> keeper = known.lock();
    if (!keeper) known = keeper = std::make_shared<ValueKeeper>(model, graph, value);
    keeper->require(writes, copies, first);
    m_stale = true;
    return keeper;
}

std::vector<ValueKeeper*> KeptValues::all()
{
    std::vector<ValueKeeper*> keepers;
    std::erase_if(m_keepers, [](const auto& entry) { return entry.second.expired(); });
    for (const auto& [place, keeper] : m_keepers) keepers.push_back(keeper.lock().get());
    return keepers;
}

std::optional<int64_t> TripCounts::of(GraphId graph, OperatorId op, InvocationId caller) const
{
    const auto loop = m_trips.find({graph, op});
    if (loop == m_trips.end()) return std::nullopt;
    const auto trips = loop->second.find(caller);
    return trips == loop->second.end() ? std::nullopt : std::optional(trips->second);
}

Result<std::unique_ptr<BreakKind>> makeKind(const BreakContext& context, FrameContext frame, BreakpointCommand command,
                                            const BreakpointSpec& spec)
{
    if (spec.words.empty())
        return Error(ErrorCode::usage, "a place or a kind is missing, as in break add#2, break nan, break iter while#0 37");
    const std::span<const std::string> words(spec.words);
    const bool isWatch =
        command == BreakpointCommand::watch || command == BreakpointCommand::readWatch || command == BreakpointCommand::accessWatch;
    if (isWatch) {
        const std::string_view name = command == BreakpointCommand::watch       ? "watch"
                                      : command == BreakpointCommand::readWatch ? "rwatch"
                                                                                : "awatch";
        return findKind(name)->make(context, frame, words);
    }
    if (words[0].starts_with("step:")) return makeStep(context, frame, words);
    if (words[0] == "when") {
        const std::string expression[] = {spec.expression};
        return makeWhen(context, frame, expression);
    }
    if (const BreakKindEntry* entry = findKind(words[0])) {
        return entry->make(context, frame, words.subspan(1));
    }
    auto place = makePlace(context, frame, words);
    if (place.ok()) return place;
    // A word that is nearly a kind.
    if (words[0].find_first_of("/#@:*\"") == std::string::npos) {
        std::vector<std::string> names;
        for (const BreakKindEntry& entry : kKinds) names.emplace_back(entry.name);
        std::vector<std::string> near = nearestNames(words[0], names);
        Error error = std::move(place).takeError();
        for (std::string& name : near)
            if (error.detail().nearest.size() < 3) error.detail().nearest.push_back(std::move(name));
        return error;
    }
    return place;
}

} // namespace loopscope
