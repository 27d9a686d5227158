#include "engine/debug/breakpoints/spec.h"

#include "engine/debug/expression/syntax.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

namespace loopscope {

namespace {

constexpr std::array<std::string_view, 6> kCommandNames = {"break", "tbreak", "watch", "rwatch", "awatch", "log"};

bool isBlank(char c) { return c == ' ' || c == '\t'; }

std::optional<HitRule> parseRule(std::string_view text)
{
    HitRule rule;
    rule.kind = HitRule::Kind::equal;
    if (text.starts_with("%")) {
        rule.kind = HitRule::Kind::every;
        text.remove_prefix(1);
    } else if (text.starts_with(">=")) {
        rule.kind = HitRule::Kind::atLeast;
        text.remove_prefix(2);
    }
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), rule.number);
    if (code != std::errc() || end != text.data() + text.size() || rule.number < 1) return std::nullopt;
    return rule;
}

/// Reads `hits N once in P quiet` from word `at` on, as far as it goes. The index of the first word that is none of that.
size_t readSuffixes(const std::vector<std::string_view>& words, size_t at, BreakpointSpec& spec)
{
    while (at < words.size()) {
        const std::string_view word = words[at];
        if (word == "once") {
            spec.once = true;
        } else if (word == "quiet") {
            spec.quiet = true;
        } else if (word == "disabled") {
            spec.disabled = true;
        } else if (word == "in" && at + 1 < words.size()) {
            spec.within = words[++at];
        } else if (word == "hits" && at + 1 < words.size()) {
            const auto rule = parseRule(words[at + 1]);
            if (!rule) return at;
            spec.rule = *rule;
            ++at;
        } else {
            return at;
        }
        ++at;
    }
    return at;
}

bool isSuffix(std::string_view word) { return word == "once" || word == "quiet" || word == "disabled" || word == "in" || word == "hits"; }

/// The text from the beginning of word `from` to the end of the word before `to`.
std::string_view between(std::string_view text, const std::vector<std::string_view>& words, size_t from, size_t to)
{
    if (from >= to) return {};
    const auto begin = static_cast<size_t>(words[from].data() - text.data());
    const auto end = static_cast<size_t>(words[to - 1].data() - text.data()) + words[to - 1].size();
    return text.substr(begin, end - begin);
}

/// An expression from word `from` on: the longest one that leaves only suffixes. Errors: of the expression.
Result<std::string> readExpression(std::string_view text, const std::vector<std::string_view>& words, size_t from, BreakpointSpec& spec)
{
    for (size_t to = words.size(); to > from; --to) {
        if (to < words.size() && !isSuffix(words[to])) continue;
        BreakpointSpec tried;
        if (readSuffixes(words, to, tried) < words.size()) continue;
        const std::string_view expression = between(text, words, from, to);
        if (!parseExpression(expression, false).ok()) continue;
        readSuffixes(words, to, spec);
        return std::string(expression);
    }
    if (from >= words.size()) return Error(ErrorCode::usage, "an expression is missing");
    auto parsed = parseExpression(between(text, words, from, words.size()), false);
    if (parsed.ok()) return Error(ErrorCode::internal, "an expression that parses was not read");
    return std::move(parsed).takeError();
}

/// Takes the text of a log point out of `text`: a word in quotes that is no full name of a place, the last one.
std::optional<std::string> takeLog(std::string_view text, std::string& rest)
{
    const std::vector<std::string_view> words = splitWords(text);
    for (size_t i = words.size(); i > 0; --i) {
        const std::string_view word = words[i - 1];
        const bool isFirst = i == 1;
        const bool isLast = i == words.size() || words[i] == "if" || isSuffix(words[i]);
        if (word.size() < 2 || word.front() != '"' || word.back() != '"' || (!isFirst && !isLast)) continue;
        const auto begin = static_cast<size_t>(word.data() - text.data());
        rest = std::string(text.substr(0, begin)) + std::string(text.substr(begin + word.size()));
        std::string plain;
        for (size_t c = 1; c + 1 < word.size(); ++c) {
            if (word[c] == '\\' && c + 2 < word.size() && (word[c + 1] == '"' || word[c + 1] == '\\')) ++c;
            plain += word[c];
        }
        return plain;
    }
    return std::nullopt;
}

} // namespace

std::string quotedLog(std::string_view text)
{
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') result += '\\';
        result += c;
    }
    return result + "\"";
}

std::string toString(const HitRule& rule)
{
    switch (rule.kind) {
    case HitRule::Kind::equal: return std::to_string(rule.number);
    case HitRule::Kind::every: return "%" + std::to_string(rule.number);
    case HitRule::Kind::atLeast: return ">=" + std::to_string(rule.number);
    default: return {};
    }
}

std::vector<std::string_view> splitWords(std::string_view text)
{
    std::vector<std::string_view> words;
    size_t begin = std::string_view::npos;
    int open = 0;
    bool quoted = false;
    for (size_t i = 0; i <= text.size(); ++i) {
        const char c = i < text.size() ? text[i] : ' ';
        const bool ends = i == text.size() || (isBlank(c) && open == 0 && !quoted);
        if (ends) {
            if (begin != std::string_view::npos) words.push_back(text.substr(begin, i - begin));
            begin = std::string_view::npos;
            continue;
        }
        if (begin == std::string_view::npos) begin = i;
        if (quoted) {
            if (c == '\\') ++i;
            else if (c == '"') quoted = false;
        } else if (c == '"') {
            quoted = true;
        } else if (c == '(' || c == '[' || c == '{') {
            ++open;
        } else if ((c == ')' || c == ']' || c == '}') && open > 0) {
            --open;
        }
    }
    return words;
}

std::string_view commandName(BreakpointCommand command) { return kCommandNames[static_cast<size_t>(command)]; }

std::optional<BreakpointCommand> breakpointCommand(std::string_view name)
{
    const auto* const found = std::ranges::find(kCommandNames, name);
    if (found == kCommandNames.end()) return std::nullopt;
    return static_cast<BreakpointCommand>(found - kCommandNames.begin());
}

BreakpointSpec breakAt(const Address& place) { return breakOn(toString(place)); }

BreakpointSpec breakOn(std::string kind, std::vector<std::string> operands)
{
    BreakpointSpec spec;
    spec.words.push_back(std::move(kind));
    for (std::string& operand : operands) spec.words.push_back(std::move(operand));
    return spec;
}

BreakpointSpec watchFor(std::string value)
{
    BreakpointSpec spec = breakOn(std::move(value));
    spec.command = BreakpointCommand::watch;
    return spec;
}

std::string specText(const BreakpointSpec& spec)
{
    std::string text;
    for (const std::string& word : spec.words) text += (text.empty() ? "" : " ") + word;
    if (!spec.expression.empty()) text += " " + spec.expression;
    text += suffixText(spec);
    if (spec.disabled) text += " disabled";
    return spec.hasLog ? text + " " + quotedLog(spec.log) : text;
}

Result<BreakpointSpec> parseSpec(BreakpointCommand command, std::string_view whole)
{
    BreakpointSpec spec;
    spec.command = command;
    std::string rest(whole);
    if (command == BreakpointCommand::log) {
        auto log = takeLog(whole, rest);
        if (!log) return Error(ErrorCode::usage, "a log point needs its text in quotes, as in log add#2 \"acc is $(acc)\"");
        spec.log = std::move(*log);
        spec.hasLog = true;
    }
    const std::string_view text = rest;
    const std::vector<std::string_view> words = splitWords(text);
    size_t at = 0;
    if (!words.empty() && words[0] == "when") {
        spec.words.emplace_back("when");
        LS_TRY(spec.expression, readExpression(text, words, 1, spec));
        return spec;
    }
    while (at < words.size() && words[at] != "if" && !isSuffix(words[at])) spec.words.emplace_back(words[at++]);
    at = readSuffixes(words, at, spec);
    if (at < words.size() && words[at] == "if") {
        LS_TRY(spec.condition, readExpression(text, words, at + 1, spec));
        return spec;
    }
    if (at < words.size() && words[at] == "hits") return Error(ErrorCode::usage, "hits needs a number: hits 4, hits %4 or hits >=4");
    if (at < words.size())
        return Error(ErrorCode::usage, "found '" + std::string(words[at]) + "'")
            .expected("if EXPR, hits N, once, in PATTERN, quiet or the end");
    return spec;
}

std::string suffixText(const BreakpointSpec& spec)
{
    std::string text;
    if (!spec.condition.empty()) text += " if " + spec.condition;
    if (spec.rule.kind != HitRule::Kind::all) text += " hits " + toString(spec.rule);
    if (spec.once) text += " once";
    if (!spec.within.empty()) text += " in " + spec.within;
    if (spec.quiet) text += " quiet";
    return text;
}

Result<double> parseNumber(std::string_view text, std::string_view what)
{
    double number = 0;
    const std::string_view digits = text.starts_with("+") ? text.substr(1) : text;
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (code == std::errc() && end == digits.data() + digits.size() && !std::isnan(number)) return number;
    return Error(ErrorCode::usage, std::string(what) + " must be a number").found("'" + std::string(text) + "'");
}

Result<int64_t> parseCount(std::string_view text, std::string_view what)
{
    int64_t count = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (code == std::errc() && end == text.data() + text.size() && count >= 0) return count;
    const auto number = parseNumber(text, what);
    if (number.ok() && *number >= 0 && *number < 9e18 && std::floor(*number) == *number) return static_cast<int64_t>(*number);
    return Error(ErrorCode::usage, std::string(what) + " must be a whole number, 0 or more").found("'" + std::string(text) + "'");
}

} // namespace loopscope
