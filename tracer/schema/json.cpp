#include "tracer/schema/json.h"

#include "engine/base/visible_text.h"

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
    void write(const std::string& v) { out += jsonString(v); }
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
    void write(const Word& v) { out += jsonString(v.text); }
    void write(DType v) { out += jsonString(dtypeName(v)); }
    void write(const Shape& v) { out += v.hasRank() ? jsonString(toString(v)) : "null"; }
    void write(const GraphRef& v) { out += "{\"graph\":" + std::to_string(v.graph.index) + "}"; }
    void write(const Placeholder& v) { out += jsonString("$" + v.name); }
    void write(const TensorAttribute& v)
    {
        out += "{\"dtype\":" + jsonString(dtypeName(v.type.dtype)) + ",\"shape\":" + jsonString(toString(v.type.shape));
        if (v.data) out += ",\"hash\":" + jsonString(v.data->hexHash());
        out += '}';
    }
    void write(const ValueRef& v) { out += "{\"value\":" + std::to_string(v.value.index) + "}"; }
    void write(const AttributeItems& v) { list(v); }
    void write(const AttributeMap& v)
    {
        out += '{';
        for (size_t i = 0; i < v.size(); ++i) {
            if (i > 0) out += ',';
            out += jsonString(v[i].first) + ":";
            value(v[i].second);
        }
        out += '}';
    }
};

} // namespace

std::string jsonString(std::string_view text)
{
    std::string out = "\"";
    for (size_t i = 0; i < text.size();) {
        const auto byte = static_cast<unsigned char>(text[i]);
        const size_t length = utf8Length(text, i);
        if (length == 0) {
            out += "\\ufffd";
            ++i;
            continue;
        }
        if (byte == '"' || byte == '\\') {
            out += '\\';
            out += text[i];
        } else if (byte < 0x20 || byte == 0x7f) {
            out += "\\u00";
            out += "0123456789abcdef"[byte >> 4];
            out += "0123456789abcdef"[byte & 15];
        } else {
            out += visibleText(text.substr(i, length), LineBreaks::escaped); // `\u009b`: what JSON wants, too
        }
        i += length;
    }
    return out + '"';
}

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
        writer.out += jsonString(attribute.key) + ":";
        writer.value(attribute.value);
    }
    return writer.out + "}";
}

std::string jsonList(std::span<const std::string> texts)
{
    std::string out = "[";
    for (const std::string& text : texts) {
        if (&text != texts.data()) out += ',';
        out += jsonString(text);
    }
    return out + "]";
}

} // namespace loopscope
