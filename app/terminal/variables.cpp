#include "app/terminal/variables.h"

#include "engine/base/text.h"
#include "engine/tensor/npy.h"
#include "engine/tensor/value_text.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace loopscope::app {

namespace {

constexpr int64_t kMostElements = 1000; ///< of a value that is kept

bool isWordByte(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

Error unknown(std::string_view name, std::vector<std::string> known)
{
    return Error(ErrorCode::usage, "nothing is called '$" + std::string(name) + "'").nearest(nearestNames(name, known));
}

} // namespace

bool isVariableName(std::string_view text)
{
    return !text.empty() && !(text.front() >= '0' && text.front() <= '9') && std::ranges::all_of(text, isWordByte);
}

std::string Variables::literalOf(const EvaluatedValue& value)
{
    if (value.absence != Absence::present) return "";
    Array storage;
    const std::optional<Tensor> tensor = elementsOf(value, storage);
    if (!tensor || tensor->data == nullptr || tensor->elementCount() > kMostElements) return "";
    const bool isString = tensor->dtype == DType::string;
    if (!isString && tensor->dtype != DType::boolean && !isFloat(tensor->dtype) && !isInteger(tensor->dtype)) return "";
    if (tensor->shape.rank() == 0) return "(" + elementText(*tensor, 0, {NumberFormat::kExact, false, false}) + ")";
    if (isString) return "";
    std::string list;
    for (const char c : elementsText(*tensor, {NumberFormat::kExact, false, false}))
        if (c == ' ') list += list.ends_with(", ") || list.ends_with('[') ? "" : ", ";
        else if (c != '\n') list += c;
    return list;
}

Status Variables::set(std::string_view name, const EvaluatedValue& value)
{
    std::string literal = literalOf(value);
    if (literal.empty())
        return Error(ErrorCode::usage, "the value cannot be kept").at("$" + std::string(name)).expected("up to 1000 numbers");
    m_values[std::string(name)] = std::move(literal);
    return {};
}

Result<std::string> Variables::expanded(std::string_view line) const
{
    std::string out;
    bool quoted = false;
    for (size_t i = 0; i < line.size(); ++i) {
        const char c = line[i];
        if (quoted && c == '\\' && i + 1 < line.size()) {
            out += c;
            out += line[++i];
            continue;
        }
        if (c == '"') quoted = !quoted;
        if (c != '$' || quoted) {
            out += c;
            continue;
        }
        size_t end = i + 1;
        while (end < line.size() && isWordByte(line[end])) ++end;
        const std::string_view name = line.substr(i + 1, end - i - 1);
        i = end - 1;
        std::string literal;
        if (name.empty() || (name.front() >= '0' && name.front() <= '9')) {
            size_t number = m_printed.size();
            if (!name.empty()) std::from_chars(name.data(), name.data() + name.size(), number);
            if (number == 0 || number > m_printed.size())
                return Error(ErrorCode::usage, "no value was printed as '$" + std::string(name) + "'")
                    .found(std::to_string(m_printed.size()) + " printed");
            literal = m_printed[number - 1];
        } else {
            const auto found = m_values.find(name);
            if (found == m_values.end()) {
                std::vector<std::string> known;
                for (const auto& [other, text] : m_values) known.push_back(other);
                return unknown(name, std::move(known));
            }
            literal = found->second;
        }
        if (literal.empty()) return Error(ErrorCode::usage, "'$" + std::string(name) + "' was not kept: more than 1000 numbers, or none");
        out += literal;
    }
    return out;
}

const std::vector<std::string>* Variables::definition(std::string_view name) const
{
    const auto found = m_definitions.find(name);
    return found == m_definitions.end() ? nullptr : &found->second;
}

} // namespace loopscope::app
