// One value of JSON: what the messages of the Debug Adapter Protocol are made of, and what a Keras model says of its layers. It stands in
// front of the library, whose header is read by one source file only.
#pragma once

#include "engine/base/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace loopscope {

/// Objects keep the order in which their members were set. Reading what is not there, or is of another type, gives what was named as
/// default: clients leave out what they like, and what they must say is asked for with need…().
class Json {
public:
    using Array = std::vector<Json>;
    using Members = std::vector<std::pair<std::string, Json>>;

    Json() = default; ///< null
    // NOLINTBEGIN(google-explicit-constructor): members are written as plain values
    Json(bool truth) : m_value(truth) {}
    Json(int number) : m_value(int64_t{number}) {}
    Json(int64_t number) : m_value(number) {}
    Json(size_t number) : m_value(static_cast<int64_t>(number)) {}
    Json(double number) : m_value(number) {}
    Json(const char* text) : m_value(std::string(text)) {}
    Json(std::string_view text) : m_value(std::string(text)) {}
    Json(std::string text) : m_value(std::move(text)) {}
    Json(Array items) : m_value(std::move(items)) {}
    Json(Members members) : m_value(std::move(members)) {}
    // NOLINTEND(google-explicit-constructor)
    static Json object() { return Json(Members()); }
    static Json array() { return Json(Array()); }

    /// Errors: usage, with the place; also where values are nested deeper than any message's.
    static Result<Json> parse(std::string_view text);
    /// What Python's json writes, which knows Infinity, -Infinity and NaN, too.
    static Result<Json> parsePython(std::string_view text);
    std::string dump() const;

    bool isNull() const { return std::holds_alternative<std::monostate>(m_value); }
    bool isObject() const { return std::holds_alternative<Members>(m_value); }
    bool isArray() const { return std::holds_alternative<Array>(m_value); }
    bool isText() const { return std::holds_alternative<std::string>(m_value); }
    bool isNumber() const { return std::holds_alternative<int64_t>(m_value) || std::holds_alternative<double>(m_value); }
    bool isTruth() const { return std::holds_alternative<bool>(m_value); }

    /// The member of that name; null where this is no object or has none.
    const Json& operator[](std::string_view key) const;
    bool has(std::string_view key) const { return !(*this)[key].isNull(); }
    const Array& items() const;     ///< empty where this is no array
    const Members& members() const; ///< empty where this is no object
    std::string text(std::string otherwise = {}) const;
    int64_t integer(int64_t otherwise = 0) const;
    double number(double otherwise = 0) const;
    bool truth(bool otherwise = false) const;

    /// The member of that name as its type demands. Errors: usage, "argument 'line'".
    Result<int64_t> needInteger(std::string_view key) const;
    Result<std::string> needText(std::string_view key) const;

    /// Makes an object of it, if it was none.
    Json& set(std::string_view key, Json value);
    /// The same of a member that is not there yet.
    Json& append(std::string key, Json value);
    /// Makes an array of it, if it was none.
    Json& push(Json value);

private:
    std::variant<std::monostate, bool, int64_t, double, std::string, Array, Members> m_value;
};

} // namespace loopscope
