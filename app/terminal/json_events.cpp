#include "app/terminal/json_events.h"

#include "app/output/json_writer.h"

namespace loopscope::app {

namespace {

JsonWriter opened(int64_t sequence, int64_t command, std::string_view event)
{
    JsonWriter json;
    json.beginObject().key("schema").value(1).key("seq").value(sequence).key("re").value(command).key("event").value(event);
    return json;
}

std::string_view causeName(StopCause cause)
{
    switch (cause) {
    case StopCause::breakpoint: return "breakpoint";
    case StopCause::watch: return "watch";
    case StopCause::nan: return "nan";
    case StopCause::stepDone: return "step done";
    case StopCause::returned: return "returned";
    case StopCause::finished: return "finished";
    case StopCause::error: return "error";
    case StopCause::cancelled: return "cancelled";
    case StopCause::budget: return "budget";
    case StopCause::edited: return "edited";
    case StopCause::differs: return "differs from reference";
    default: return "start reached";
    }
}

void stopped(JsonWriter& json, const StopView& view)
{
    json.key("reasons").beginArray();
    for (const StopReason& reason : view.report.reasons) {
        json.beginObject().key("cause").value(causeName(reason.cause)).key("text").value(toString(reason));
        if (reason.number > 0) json.key("number").value(reason.number);
        if (!reason.value.empty()) json.key("value").value(reason.value);
        json.endObject();
    }
    json.endArray().key("address").value(view.report.address).key("step").value(view.report.position.step);
    json.key("iteration");
    int64_t iteration = -1;
    for (const FrameInfo& frame : view.stack)
        if (frame.iteration >= 0) iteration = frame.iteration;
    if (iteration >= 0) json.value(iteration);
    else json.null();
    json.key("timeline").value(view.report.timeline).key("changed").beginArray();
    for (const ChangedValue& change : view.changed)
        json.beginObject().key("value").value(change.name).key("old").value(change.before).key("new").value(change.after).endObject();
    for (const NamedText& value : view.written)
        json.beginObject().key("value").value(value.name).key("old").null().key("new").value(value.text).endObject();
    json.endArray().key("displays").beginArray();
    for (const ShownDisplay& display : view.displays)
        json.beginObject()
            .key("number")
            .value(display.number)
            .key("expression")
            .value(display.expression)
            .key("text")
            .value(display.text)
            .endObject();
    json.endArray();
}

} // namespace

std::string eventJson(const TerminalEvent& event, int64_t sequence, int64_t command)
{
    const std::string_view name = event.kind == TerminalEvent::Kind::stopped ? "stopped"
                                  : event.kind == TerminalEvent::Kind::log   ? "log"
                                  : event.kind == TerminalEvent::Kind::error ? "error"
                                                                             : "reply";
    JsonWriter json = opened(sequence, command, name);
    if (event.stop != nullptr) stopped(json, *event.stop);
    if (event.error != nullptr) {
        const ErrorDetail& detail = event.error->detail();
        json.key("error")
            .beginObject()
            .key("code")
            .value(static_cast<int>(detail.code))
            .key("where")
            .value(detail.where)
            .key("what")
            .value(detail.what);
        json.key("found").value(detail.found).key("expected").value(detail.expected).key("nearest").beginArray();
        for (const std::string& near : detail.nearest) json.value(near);
        json.endArray().endObject();
    }
    return json.key("text").value(event.text).endObject().text();
}

std::string progressJson(int64_t sequence, int64_t command, const SessionProgress& progress)
{
    JsonWriter json = opened(sequence, command, "progress");
    json.key("tick").value(progress.tick).key("target");
    if (progress.target == INT64_MAX) json.null();
    else json.value(progress.target);
    return json.key("seconds").value(static_cast<double>(progress.sinceNs) / 1e9).endObject().text();
}

std::string endedJson(int64_t sequence, int64_t command) { return opened(sequence, command, "ended").endObject().text(); }

} // namespace loopscope::app
