// The fields of a command's answer, for `--json`: what programs read beside the text that people read (docs/json_events.md).
#pragma once

#include "app/output/json_writer.h"
#include "engine/api/inspector.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope::app {

/// An object that grows key by key. Names of objects are those of the page.
class Answer {
public:
    template <typename Value> Answer& field(std::string_view key, const Value& value)
    {
        m_json.key(key).value(value);
        return *this;
    }
    template <typename Value> Answer& field(std::string_view key, const std::optional<Value>& value)
    {
        m_json.key(key);
        if (value) m_json.value(*value);
        else m_json.null();
        return *this;
    }
    Answer& null(std::string_view key)
    {
        m_json.key(key).null();
        return *this;
    }
    Answer& texts(std::string_view key, const std::vector<std::string>& values);
    /// A list of objects: `one(Answer&, item)` writes the fields of each.
    template <typename Items, typename One> Answer& list(std::string_view key, const Items& items, One one)
    {
        m_json.key(key).beginArray();
        for (const auto& item : items) {
            m_json.beginObject();
            one(*this, item);
            m_json.endObject();
        }
        m_json.endArray();
        return *this;
    }
    /// One object.
    template <typename One> Answer& object(std::string_view key, One one)
    {
        m_json.key(key).beginObject();
        one(*this);
        m_json.endObject();
        return *this;
    }
    /// The iterations' numbers; NaN and infinities as words, null where there is none.
    Answer& numbers(std::string_view key, std::span<const double> values, const std::vector<bool>& isThere);
    /// `value` objects.
    Answer& values(const std::vector<EvaluatedValue>& values, const NumberFormat& format, int64_t limit = 1000);
    /// `named` objects: a name, a type and a text.
    Answer& named(std::string_view name, const TensorType& type, const std::optional<std::string>& text);
    /// `breakpoint` objects.
    Answer& breakpoints(const std::vector<BreakpointInfo>& list);

    bool isEmpty() const { return m_json.text().empty(); }
    /// "{…}"
    std::string text() const { return "{" + m_json.text() + "}"; }

private:
    JsonWriter m_json; ///< what stands between the braces
};

} // namespace loopscope::app
