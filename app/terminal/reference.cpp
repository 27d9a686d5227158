// Commands about the reference run that `--against` gives: compare and drift.
#include "app/terminal/commands.h"
#include "app/terminal/terminal.h"

namespace loopscope::app::terminal {

Status compare(Terminal& terminal, const CommandLine& line)
{
    LS_CHECK_OK(checkReference(terminal, line.name));
    const FrameContext frame = terminal.frame();
    const int depth = terminal.frameDepth();
    const FrameInfo info = terminal.stop().stack[static_cast<size_t>(depth)];
    const Graph& graph = terminal.model().graph(info.graph);
    std::vector<ValueId> values;
    if (!line.text.empty()) {
        LS_TRY(const TypedPlace place, terminal.ask([&](Inspector& inspector) { return inspector.resolve(frame, line.text); }));
        if (place.resolved.graph != info.graph)
            return Error(ErrorCode::usage, "not in this frame").at(toString(place.resolved.address)).note("'goto' or 'up' first");
        if (place.resolved.value.valid()) values.push_back(place.resolved.value);
        else if (place.resolved.op.valid()) values = graph.op(place.resolved.op).results;
    } else {
        // Without argument: what was computed last here.
        const auto ran = static_cast<size_t>(info.next.valid() ? info.next.index : static_cast<int32_t>(graph.operators.size()));
        if (ran > 0) values = graph.operators[ran - 1].results;
        if (values.empty()) return Error(ErrorCode::usage, "nothing was computed in this frame yet").at(line.name);
    }
    struct Pair {
        std::string name;
        std::optional<ComparedValue> compared;
    };
    std::vector<Pair> pairs;
    std::string out;
    for (const ValueId value : values) {
        LS_TRY(const std::optional<ComparedValue> compared,
               terminal.ask([&](Inspector& inspector) { return inspector.compareHere(depth, value); }));
        const std::string& id = graph.value(value).id;
        out += id + ": " + (compared ? compared->text : "pairs with nothing that is there") + "\n";
        pairs.push_back({id, compared});
    }
    terminal.reply(out);
    terminal.answer().list("values", pairs, [](Answer& answer, const Pair& pair) {
        answer.field("name", pair.name).field("paired", pair.compared.has_value());
        const auto figure = [&](auto Comparison::*member) {
            return pair.compared ? std::optional(pair.compared->comparison.*member) : std::nullopt;
        };
        answer.field("max_abs", figure(&Comparison::maxAbs)).field("max_rel", figure(&Comparison::maxRel));
        answer.field("cosine", figure(&Comparison::cosine)).field("text", pair.compared ? pair.compared->text : "");
    });
    return {};
}

Status drift(Terminal& terminal, const CommandLine& line)
{
    LS_CHECK_OK(checkReference(terminal, line.name));
    const FrameContext frame = terminal.frame();
    if (line.text.empty()) return terminal.carryOut(request::FindDrift());
    LS_TRY(const Drift drift, terminal.ask([&](Inspector& inspector) -> Result<Drift> {
        LS_TRY(const TypedPlace place, inspector.resolve(frame, line.text));
        return inspector.driftOf(place.resolved);
    }));
    terminal.reply(driftText(drift));
    answerDrift(terminal, drift);
    return {};
}

void answerDrift(Terminal& terminal, const Drift& drift)
{
    terminal.answer()
        .list("layers", drift.rows,
              [](Answer& answer, const DriftRow& row) {
                  answer.field("layer", row.layer).field("address", row.address).field("writes", row.writes);
                  answer.field("max_abs", row.maxAbs).field("mean_abs", row.meanAbs).field("cosine", row.cosine).field("snr_db", row.snr);
                  answer.field("beyond", row.isBeyond);
              })
        .field("first", drift.first >= 0 ? std::optional<int64_t>(drift.first) : std::nullopt)
        .field("unpaired", drift.unpaired);
}

} // namespace loopscope::app::terminal
