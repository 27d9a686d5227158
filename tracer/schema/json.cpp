#include "tracer/schema/json.h"

#include "engine/base/json_text.h"

#include <charconv>
#include <cmath>
#include <variant>

namespace loopscope {

namespace {

struct Writer {
    std::string out;

    void list(const auto& items)
    {
        out += '[';
        for (size_t i = 0; i < items.size(); ++i) {
            if (i > 0) out += ',';
            value(items[i]);
        }
        out += ']';
    }
    void value(const Attribute& attribute)
    {
        std::visit([this](const auto& v) { write(v); }, attribute.value());
    }
    void write(std::monostate) { out += "null"; }
    void write(bool v) { out += v ? "true" : "false"; }
    void write(int64_t v) { out += std::to_string(v); }
    void write(double v) { out += jsonNumber(v); }
    void write(const std::string& v) { out += jsonQuoted(v); }
    void write(const HexBytes& v)
    {
        out += '"';
        for (const char c : v.bytes) {
            const auto byte = static_cast<unsigned char>(c);
            out += "0123456789abcdef"[byte >> 4];
            out += "0123456789abcdef"[byte & 15];
        }
        out += '"';
    }
    void write(const Word& v) { out += jsonQuoted(v.text); }
    void write(DType v) { out += jsonQuoted(dtypeName(v)); }
    void write(const Shape& v) { out += v.hasRank() ? jsonQuoted(toString(v)) : "null"; }
    void write(const GraphRef& v) { out += "{\"graph\":" + std::to_string(v.graph.index) + "}"; }
    void write(const Placeholder& v) { out += jsonQuoted("$" + v.name); }
    void write(const TensorAttribute& v)
    {
        out += "{\"dtype\":" + jsonQuoted(dtypeName(v.type.dtype)) + ",\"shape\":" + jsonQuoted(toString(v.type.shape));
        if (v.data) out += ",\"hash\":" + jsonQuoted(v.data->hexHash());
        out += '}';
    }
    void write(const ValueRef& v) { out += "{\"value\":" + std::to_string(v.value.index) + "}"; }
    void write(const AttributeItems& v) { list(v); }
    void write(const AttributeMap& v)
    {
        out += '{';
        for (size_t i = 0; i < v.size(); ++i) {
            if (i > 0) out += ',';
            out += jsonQuoted(v[i].first) + ":";
            value(v[i].second);
        }
        out += '}';
    }
};

} // namespace

std::string jsonNumber(double value)
{
    if (std::isnan(value)) return "\"nan\"";
    if (std::isinf(value)) return value > 0 ? "\"inf\"" : "\"-inf\"";
    char text[32];
    const auto [end, error] = std::to_chars(text, text + sizeof(text), value);
    return std::string(text, end);
}

std::string attributesJson(const AttributeList& attributes)
{
    Writer writer;
    writer.out = "{";
    for (const NamedAttribute& attribute : attributes) {
        if (&attribute != attributes.data()) writer.out += ',';
        writer.out += jsonQuoted(attribute.key) + ":";
        writer.value(attribute.value);
    }
    return writer.out + "}";
}

std::string jsonList(std::span<const std::string> texts)
{
    std::string out = "[";
    for (const std::string& text : texts) {
        if (&text != texts.data()) out += ',';
        out += jsonQuoted(text);
    }
    return out + "]";
}

} // namespace loopscope
