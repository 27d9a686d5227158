#include "app/terminal/answer.h"

#include "engine/tensor/value_text.h"

namespace loopscope::app {

Answer& Answer::texts(std::string_view key, const std::vector<std::string>& values)
{
    m_json.key(key).beginArray();
    for (const std::string& value : values) m_json.value(value);
    m_json.endArray();
    return *this;
}

Answer& Answer::numbers(std::string_view key, std::span<const double> values, const std::vector<bool>& isThere)
{
    m_json.key(key).beginArray();
    for (size_t i = 0; i < values.size(); ++i) {
        if (i < isThere.size() && isThere[i]) m_json.value(values[i]);
        else m_json.null();
    }
    m_json.endArray();
    return *this;
}

Answer& Answer::values(const std::vector<EvaluatedValue>& values, const NumberFormat& format, int64_t limit)
{
    return list("values", values, [&](Answer& answer, const EvaluatedValue& value) {
        answer.field("expression", value.text).field("text", bareText(value, format)).field("present", value.absence == Absence::present);
        answer.m_json.key("tensor");
        Array storage;
        const std::optional<Tensor> elements = elementsOf(value, storage);
        if (elements && elements->data) answer.m_json.tensor(value.id.empty() ? value.text : value.id, *elements, limit);
        else answer.m_json.null();
    });
}

Answer& Answer::named(std::string_view name, const TensorType& type, const std::optional<std::string>& text)
{
    return field("name", name).field("type", shortType(type)).field("value", text);
}

Answer& Answer::breakpoints(const std::vector<BreakpointInfo>& list)
{
    return this->list("breakpoints", list, [](Answer& answer, const BreakpointInfo& info) {
        answer.field("number", info.number)
            .field("command", commandName(info.command))
            .field("kind", info.kind)
            .field("what", info.spec)
            .field("place", info.place)
            .field("condition", info.condition)
            .field("hits", info.hits)
            .field("ignore", info.ignore)
            .field("enabled", info.enabled)
            .field("disabled_because", info.disabledBecause)
            .field("cost", info.cost)
            .field("note", info.note)
            .texts("commands", info.commands);
    });
}

} // namespace loopscope::app
