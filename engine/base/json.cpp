#include "engine/base/json.h"

#include "engine/base/json_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace loopscope {

namespace {

constexpr size_t kDeepest = 64; ///< nested values; those of the debug protocol go to 6, a Keras model takes 4 for each model in it

/// What stands for Python's words while the library reads: texts that nobody writes.
struct PythonWord {
    std::string_view word, text;
    double value;
};
constexpr std::array kPythonWords = std::to_array<PythonWord>({
    {"-Infinity", "\x7f-inf", -std::numeric_limits<double>::infinity()},
    {"Infinity", "\x7f+inf", std::numeric_limits<double>::infinity()},
    {"NaN", "\x7fnan", std::numeric_limits<double>::quiet_NaN()},
});

/// The same text with those words as texts; what stands in quotes stays.
std::string withoutPythonWords(std::string_view text)
{
    std::string out;
    out.reserve(text.size());
    bool isQuoted = false;
    for (size_t at = 0; at < text.size();) {
        if (isQuoted && text[at] == '\\' && at + 1 < text.size()) {
            out += text.substr(at, 2);
            at += 2;
            continue;
        }
        if (text[at] == '"') isQuoted = !isQuoted;
        const auto found = isQuoted ? kPythonWords.end()
                                    : std::find_if(kPythonWords.begin(), kPythonWords.end(),
                                                   [&](const PythonWord& python) { return text.substr(at).starts_with(python.word); });
        if (found == kPythonWords.end()) {
            out += text[at++];
            continue;
        }
        out += '"' + std::string(found->text) + '"';
        at += found->word.size();
    }
    return out;
}

/// Builds values from what the library reads, without recursion.
class Builder final : public nlohmann::json_sax<nlohmann::json> {
public:
    explicit Builder(bool knowsPython = false) : m_knowsPython(knowsPython) {}
    Json take() { return std::move(m_root); }
    const std::string& problem() const { return m_problem; }

    bool null() override { return add({}); }
    bool boolean(bool value) override { return add(value); }
    bool number_integer(number_integer_t value) override { return add(int64_t{value}); }
    bool number_unsigned(number_unsigned_t value) override
    {
        return value <= INT64_MAX ? add(static_cast<int64_t>(value)) : add(static_cast<double>(value));
    }
    bool number_float(number_float_t value, const string_t&) override { return add(value); }
    bool string(string_t& value) override
    {
        for (const PythonWord& python : kPythonWords)
            if (m_knowsPython && value == python.text) return add(python.value);
        return add(std::move(value));
    }
    bool binary(binary_t&) override { return false; }
    bool start_object(size_t) override { return open(Json::object()); }
    bool start_array(size_t) override { return open(Json::array()); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }
    bool key(string_t& value) override
    {
        m_open.back().key = std::move(value);
        return true;
    }
    bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) override
    {
        m_problem = "not JSON at byte " + std::to_string(position);
        return false;
    }

private:
    struct Open {
        Json value;
        std::string key; ///< of an object: the member that comes next
    };

    bool add(Json value)
    {
        if (m_open.empty()) m_root = std::move(value);
        else if (m_open.back().value.isArray()) m_open.back().value.push(std::move(value));
        else m_open.back().value.append(std::move(m_open.back().key), std::move(value)); // of equal ones the first counts
        return true;
    }
    bool open(Json value)
    {
        if (m_open.size() >= kDeepest) m_problem = "JSON that is nested " + std::to_string(kDeepest) + " deep";
        else m_open.push_back({std::move(value), {}});
        return m_problem.empty();
    }
    bool close()
    {
        Json value = std::move(m_open.back().value);
        m_open.pop_back();
        return add(std::move(value));
    }

    bool m_knowsPython;
    Json m_root;
    std::vector<Open> m_open;
    std::string m_problem;
};

std::string numberText(double value)
{
    if (!std::isfinite(value)) return "null";
    std::array<char, 32> text;
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    return {text.data(), end};
}

const Json& none()
{
    static const Json kNone;
    return kNone;
}

} // namespace

Result<Json> Json::parse(std::string_view text)
{
    Builder builder;
    if (nlohmann::json::sax_parse(text.begin(), text.end(), &builder)) return builder.take();
    return Error(ErrorCode::usage, builder.problem().empty() ? "not JSON" : builder.problem());
}

Result<Json> Json::parsePython(std::string_view text)
{
    const std::string plain = withoutPythonWords(text);
    Builder builder(true);
    if (nlohmann::json::sax_parse(plain.begin(), plain.end(), &builder)) return builder.take();
    return Error(ErrorCode::usage, builder.problem().empty() ? "not JSON" : builder.problem());
}

std::string Json::dump() const
{
    if (const bool* const value = std::get_if<bool>(&m_value)) return *value ? "true" : "false";
    if (const auto* const value = std::get_if<int64_t>(&m_value)) return std::to_string(*value);
    if (const auto* const value = std::get_if<double>(&m_value)) return numberText(*value);
    if (const auto* const value = std::get_if<std::string>(&m_value)) return jsonQuoted(*value);
    std::string out;
    if (isArray()) {
        for (const Json& item : items()) out += (out.empty() ? "" : ",") + item.dump();
        return "[" + out + "]";
    }
    if (!isObject()) return "null";
    for (const auto& [key, value] : members()) out += (out.empty() ? "" : ",") + jsonQuoted(key) + ":" + value.dump();
    return "{" + out + "}";
}

const Json& Json::operator[](std::string_view key) const
{
    for (const auto& [name, value] : members())
        if (name == key) return value;
    return none();
}

const Json::Array& Json::items() const
{
    static const Array kEmpty;
    const Array* const items = std::get_if<Array>(&m_value);
    return items != nullptr ? *items : kEmpty;
}

const Json::Members& Json::members() const
{
    static const Members kEmpty;
    const Members* const members = std::get_if<Members>(&m_value);
    return members != nullptr ? *members : kEmpty;
}

std::string Json::text(std::string otherwise) const
{
    const std::string* const text = std::get_if<std::string>(&m_value);
    return text != nullptr ? *text : otherwise;
}

int64_t Json::integer(int64_t otherwise) const
{
    if (const auto* const value = std::get_if<int64_t>(&m_value)) return *value;
    const double* const real = std::get_if<double>(&m_value);
    return real != nullptr && std::abs(*real) < 9e15 ? static_cast<int64_t>(*real) : otherwise;
}

double Json::number(double otherwise) const
{
    if (const auto* const value = std::get_if<int64_t>(&m_value)) return static_cast<double>(*value);
    const double* const real = std::get_if<double>(&m_value);
    return real != nullptr ? *real : otherwise;
}

bool Json::truth(bool otherwise) const
{
    const bool* const value = std::get_if<bool>(&m_value);
    return value != nullptr ? *value : otherwise;
}

Result<int64_t> Json::needInteger(std::string_view key) const
{
    const Json& member = (*this)[key];
    if (member.isNumber()) return member.integer();
    return Error(ErrorCode::usage, "argument '" + std::string(key) + "'")
        .found(member.isNull() ? "nothing" : member.dump().substr(0, 60))
        .expected("a number");
}

Result<std::string> Json::needText(std::string_view key) const
{
    const Json& member = (*this)[key];
    if (member.isText()) return member.text();
    return Error(ErrorCode::usage, "argument '" + std::string(key) + "'")
        .found(member.isNull() ? "nothing" : member.dump().substr(0, 60))
        .expected("a text");
}

Json& Json::set(std::string_view key, Json value)
{
    if (isObject())
        for (auto& [name, old] : std::get<Members>(m_value))
            if (name == key) {
                old = std::move(value);
                return *this;
            }
    return append(std::string(key), std::move(value));
}

Json& Json::append(std::string key, Json value)
{
    if (!isObject()) m_value = Members();
    std::get<Members>(m_value).emplace_back(std::move(key), std::move(value));
    return *this;
}

Json& Json::push(Json value)
{
    if (!isArray()) m_value = Array();
    std::get<Array>(m_value).push_back(std::move(value));
    return *this;
}

} // namespace loopscope
