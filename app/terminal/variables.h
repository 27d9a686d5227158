// What is kept between commands: printed values as $1, $2 …, values of the user's own names, and commands of their own.
#pragma once

#include "engine/api/inspector.h"
#include "engine/base/result.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loopscope::app {

class Variables {
public:
    /// The value gets the next number.
    void keepPrinted(const EvaluatedValue& value) { m_printed.push_back(literalOf(value)); }
    /// Errors: usage (no such name, a value that cannot be written as an expression).
    Status set(std::string_view name, const EvaluatedValue& value);

    /// `line` with `$1`, `$`, `$NAME` replaced by what they hold, outside of quotes. Errors: usage, nothing has that name.
    Result<std::string> expanded(std::string_view line) const;

    /// Commands that `define` gave a name; null: none of that name.
    const std::vector<std::string>* definition(std::string_view name) const;
    void define(std::string name, std::vector<std::string> commands) { m_definitions[std::move(name)] = std::move(commands); }

private:
    /// The value as an expression; empty: it is too large or of no type that expressions have.
    static std::string literalOf(const EvaluatedValue& value);

    std::vector<std::string> m_printed;
    std::map<std::string, std::string, std::less<>> m_values;
    std::map<std::string, std::vector<std::string>, std::less<>> m_definitions;
};

/// A name as `$NAME` and `define NAME` take it: letters, digits and `_`, no digit first.
bool isVariableName(std::string_view text);

} // namespace loopscope::app
