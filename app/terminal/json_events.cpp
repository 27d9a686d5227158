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

void JsonEvents::tell(const TerminalEvent& event, int64_t command)
{
    switch (event.kind) {
    case TerminalEvent::Kind::log: m_line(opened(++m_sequence, command, "log").key("text").value(event.text).endObject().text()); return;
    case TerminalEvent::Kind::stopped:
        m_stop = *event.stop;
        m_text += event.text;
        return;
    case TerminalEvent::Kind::error:
        m_error = event.error->detail();
        m_text += event.text;
        return;
    case TerminalEvent::Kind::reply:
        if (event.text.starts_with("note: ")) m_notes.push_back(event.text.substr(6, event.text.find('\n') - 6));
        m_text += event.text;
        return;
    case TerminalEvent::Kind::done: return answer(event, command);
    }
}

void JsonEvents::flush(int64_t command)
{
    if (m_text.empty() && !m_stop && !m_error) return;
    TerminalEvent event;
    event.kind = TerminalEvent::Kind::done;
    answer(event, command);
}

void JsonEvents::answer(const TerminalEvent& event, int64_t command)
{
    JsonWriter json = opened(++m_sequence, command, m_error ? "error" : m_stop ? "stopped" : "reply");
    json.key("command").value(event.command);
    // What a line set off: the commands of a breakpoint, of a file, of a command that the user defined.
    if (event.origin == LineOrigin::breakpoint) json.key("by").value("breakpoint");
    else if (event.origin == LineOrigin::file) json.key("by").value("file");
    if (m_stop) stopped(json, *m_stop);
    if (m_error) {
        json.key("error").beginObject().key("code").value(static_cast<int>(m_error->code)).key("where").value(m_error->where);
        json.key("what").value(m_error->what).key("found").value(m_error->found).key("expected").value(m_error->expected);
        json.key("nearest").beginArray();
        for (const std::string& near : m_error->nearest) json.value(near);
        json.endArray().endObject();
    }
    json.key("result").raw(event.answer && !m_error ? event.answer->text() : "{}");
    if (!m_notes.empty()) {
        json.key("notes").beginArray();
        for (const std::string& note : m_notes) json.value(note);
        json.endArray();
    }
    m_line(json.key("text").value(m_text).endObject().text());
    m_text.clear();
    m_notes.clear();
    m_stop.reset();
    m_error.reset();
}

void JsonEvents::progress(int64_t command, const SessionProgress& progress)
{
    JsonWriter json = opened(++m_sequence, command, "progress");
    json.key("tick").value(progress.tick).key("target");
    if (progress.target == INT64_MAX) json.null();
    else json.value(progress.target);
    m_line(json.key("seconds").value(static_cast<double>(progress.sinceNs) / 1e9).endObject().text());
}

void JsonEvents::ended(int64_t command)
{
    flush(command);
    m_line(opened(++m_sequence, command, "ended").endObject().text());
}

} // namespace loopscope::app
