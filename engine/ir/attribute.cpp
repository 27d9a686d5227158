#include "engine/ir/attribute.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

namespace loopscope {

namespace {

auto lowerBound(const AttributeList& list, std::string_view key)
{
    return std::lower_bound(list.begin(), list.end(), key, [](const NamedAttribute& a, std::string_view k) { return a.key < k; });
}

} // namespace

bool GraphRef::operator==(const GraphRef& other) const
{
    if (graph != other.graph || !attributes != !other.attributes) return false;
    return !attributes || *attributes == *other.attributes;
}

bool TensorAttribute::operator==(const TensorAttribute& other) const
{
    if (!(type == other.type) || !data != !other.data) return false;
    return !data || data->sameContent(*other.data);
}

Attribute::Attribute() = default;
Attribute::Attribute(bool value) : m_value(value) {}
Attribute::Attribute(int64_t value, int) : m_value(value) {}
Attribute::Attribute(double value) : m_value(value) {}
Attribute::Attribute(std::string value) : m_value(std::move(value)) {}
Attribute::Attribute(const char* value) : m_value(std::string(value)) {}
Attribute::Attribute(HexBytes value) : m_value(std::move(value)) {}
Attribute::Attribute(Word value) : m_value(std::move(value)) {}
Attribute::Attribute(DType value) : m_value(value) {}
Attribute::Attribute(Shape value) : m_value(std::move(value)) {}
Attribute::Attribute(GraphRef value) : m_value(std::move(value)) {}
Attribute::Attribute(Placeholder value) : m_value(std::move(value)) {}
Attribute::Attribute(TensorAttribute value) : m_value(std::move(value)) {}
Attribute::Attribute(ValueRef value) : m_value(value) {}
Attribute::Attribute(AttributeItems value) : m_value(std::move(value)) {}
Attribute::Attribute(AttributeMap value) : m_value(std::move(value)) {}
Attribute::Attribute(const Attribute& other) = default;
Attribute::Attribute(Attribute&& other) noexcept = default;
Attribute& Attribute::operator=(const Attribute& other) = default;
Attribute& Attribute::operator=(Attribute&& other) noexcept = default;
Attribute::~Attribute() = default;

bool Attribute::operator==(const Attribute& other) const
{
    if (const auto* a = as<double>())
        if (const auto* b = other.as<double>()) return std::memcmp(a, b, sizeof *a) == 0 || (std::isnan(*a) && std::isnan(*b));
    return m_value == other.m_value;
}

Attribute floatAttribute(float value)
{
    if (!std::isfinite(value)) return Attribute(static_cast<double>(value));
    char text[32];
    const auto end = std::to_chars(text, text + sizeof text, value).ptr;
    double wide = value;
    std::from_chars(text, end, wide);
    return Attribute(wide);
}

const Attribute* findAttribute(const AttributeList& list, std::string_view key)
{
    // Linear on purpose: lists are short, and one built by hand in a test need not be sorted.
    for (const NamedAttribute& a : list)
        if (a.key == key) return &a.value;
    return nullptr;
}

void setAttribute(AttributeList& list, std::string key, Attribute value)
{
    const auto at = lowerBound(list, key);
    if (at != list.end() && at->key == key) list[static_cast<size_t>(at - list.begin())].value = std::move(value);
    else list.insert(at, {std::move(key), std::move(value)});
}

void removeAttribute(AttributeList& list, std::string_view key)
{
    std::erase_if(list, [&](const NamedAttribute& a) { return a.key == key; });
}

int64_t attributeInt(const AttributeList& list, std::string_view key, int64_t otherwise)
{
    const Attribute* a = findAttribute(list, key);
    const auto* v = a ? a->as<int64_t>() : nullptr;
    return v ? *v : otherwise;
}

double attributeFloat(const AttributeList& list, std::string_view key, double otherwise)
{
    const Attribute* a = findAttribute(list, key);
    if (!a) return otherwise;
    if (const auto* v = a->as<double>()) return *v;
    if (const auto* v = a->as<int64_t>()) return static_cast<double>(*v);
    return otherwise;
}

bool attributeBool(const AttributeList& list, std::string_view key, bool otherwise)
{
    const Attribute* a = findAttribute(list, key);
    const auto* v = a ? a->as<bool>() : nullptr;
    return v ? *v : otherwise;
}

std::string_view attributeWord(const AttributeList& list, std::string_view key, std::string_view otherwise)
{
    const Attribute* a = findAttribute(list, key);
    const auto* v = a ? a->as<Word>() : nullptr;
    return v ? std::string_view(v->text) : otherwise;
}

std::string_view attributeString(const AttributeList& list, std::string_view key, std::string_view otherwise)
{
    const Attribute* a = findAttribute(list, key);
    const auto* v = a ? a->as<std::string>() : nullptr;
    return v ? std::string_view(*v) : otherwise;
}

GraphId attributeGraph(const AttributeList& list, std::string_view key)
{
    const Attribute* a = findAttribute(list, key);
    const auto* v = a ? a->as<GraphRef>() : nullptr;
    return v ? v->graph : GraphId();
}

std::vector<int64_t> attributeInts(const AttributeList& list, std::string_view key)
{
    std::vector<int64_t> out;
    const Attribute* a = findAttribute(list, key);
    if (const auto* items = a ? a->as<AttributeItems>() : nullptr)
        for (const Attribute& item : *items)
            if (const auto* v = item.as<int64_t>()) out.push_back(*v);
    return out;
}

} // namespace loopscope
