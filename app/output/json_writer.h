// Writes compact JSON in the forms that docs/commands.md promises: one object per line, NaN and infinities as strings, 64-bit integers
// beyond 2^53 as strings, and bytes that are no UTF-8 replaced.
#pragma once

#include "engine/tensor/tensor.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope::app {

/// Keys and values must alternate as JSON wants; the writer only places commas and quotes.
class JsonWriter {
public:
    JsonWriter& beginObject() { return open('{'); }
    JsonWriter& endObject() { return close('}'); }
    JsonWriter& beginArray() { return open('['); }
    JsonWriter& endArray() { return close(']'); }
    JsonWriter& key(std::string_view name);
    JsonWriter& value(std::string_view text);
    JsonWriter& value(const char* text) { return value(std::string_view(text)); }
    JsonWriter& value(const std::string& text) { return value(std::string_view(text)); }
    JsonWriter& value(int64_t number);
    JsonWriter& value(uint64_t number);
    JsonWriter& value(int number) { return value(static_cast<int64_t>(number)); }
    JsonWriter& value(double number);
    JsonWriter& value(bool truth);
    JsonWriter& null();
    /// A value that is JSON already.
    JsonWriter& raw(std::string_view json);
    /// A tensor's elements (at most `limit`, else the object holds "truncated": count) with dtype, shape and statistics.
    JsonWriter& tensor(std::string_view name, const Tensor& tensor, int64_t limit = 1000);

    const std::string& text() const { return m_text; }

private:
    JsonWriter& open(char c);
    JsonWriter& close(char c);
    void separate();

    std::string m_text;
    bool m_needComma = false;
};

} // namespace loopscope::app
