#include "app/wiring/config.h"

#include "engine/base/bytes.h"
#include "engine/base/cpu_level.h"
#include "engine/base/text.h"
#include "engine/base/trimmed.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>

namespace loopscope::app {

namespace {

/// A string, number or truth value; what follows it may be a comment.
Result<std::string> readValue(std::string_view text)
{
    if (!text.empty() && text.front() == '"') {
        std::string value;
        size_t at = 1;
        for (; at < text.size() && text[at] != '"'; ++at) {
            if (text[at] == '\\' && at + 1 < text.size()) ++at;
            value += text[at];
        }
        if (at >= text.size()) return Error(ErrorCode::badFile, "string does not end on this line");
        const std::string_view rest = trimmed(text.substr(at + 1));
        if (!rest.empty() && rest.front() != '#')
            return Error(ErrorCode::badFile, "unexpected '" + std::string(rest) + "' after the value");
        return value;
    }
    const std::string value(trimmed(text.substr(0, text.find('#'))));
    if (value.empty()) return Error(ErrorCode::badFile, "expected a value");
    return value;
}

/// `["a", "b"]`, or one string.
Result<std::vector<std::string>> readList(std::string_view text)
{
    std::vector<std::string> list;
    if (text.empty() || text.front() != '[') {
        LS_TRY(std::string only, readValue(text));
        list.push_back(std::move(only));
        return list;
    }
    text = trimmed(text.substr(1));
    while (!text.empty() && text.front() != ']') {
        if (text.front() != '"') return Error(ErrorCode::badFile, "expected a string in the list");
        std::string value;
        size_t at = 1;
        for (; at < text.size() && text[at] != '"'; ++at) {
            if (text[at] == '\\' && at + 1 < text.size()) ++at;
            value += text[at];
        }
        if (at >= text.size()) return Error(ErrorCode::badFile, "string does not end on this line");
        list.push_back(std::move(value));
        text = trimmed(text.substr(at + 1));
        if (!text.empty() && text.front() == ',') text = trimmed(text.substr(1));
    }
    if (text.empty()) return Error(ErrorCode::badFile, "list does not end on this line");
    return list;
}

Status readDebugKey(const std::string& key, std::string_view text, DebugConfig& debug, std::string& warning)
{
    if (key == "startup") {
        LS_TRY(debug.startup, readList(text));
        return {};
    }
    LS_TRY(const std::string value, readValue(text));
    const std::vector<std::string> known = {"history", "context", "startup"};
    if (key != "history" && key != "context") {
        const std::vector<std::string> near = nearestNames(key, known);
        warning = "unknown key '" + key + "' of [debug]" + (near.empty() ? "" : "; did you mean '" + near.front() + "'?");
        return {};
    }
    int64_t number = 0;
    const char* end = value.data() + value.size();
    const auto [at, error] = std::from_chars(value.data(), end, number);
    if (error != std::errc() || at != end || number < 1 || number > 1'000'000)
        return Error(ErrorCode::badFile, "key '" + key + "'").found("'" + value + "'").expected("1 to 1000000");
    if (key == "history") debug.history = number;
    else debug.context = static_cast<int>(number);
    return {};
}

std::vector<std::string> optionNames()
{
    std::vector<std::string> names;
    for (const OptionSpec& option : allOptions()) names.emplace_back(option.name);
    return names;
}

} // namespace

Result<KeysAndValues> parseKeys(const std::string& path, std::string_view text)
{
    KeysAndValues keys;
    int number = 0;
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find('\n', at), text.size());
        const std::string_view line = trimmed(text.substr(at, end - at));
        at = end + 1;
        const std::string place = path + ":" + std::to_string(++number);
        if (line.empty() || line.front() == '#') continue;
        const size_t equals = line.find('=');
        if (equals == std::string_view::npos)
            return Error(ErrorCode::badFile, "expected KEY = VALUE").at(place).found("'" + std::string(line) + "'");
        Result<std::vector<std::string>> values = readList(trimmed(line.substr(equals + 1)));
        if (!values.ok()) return std::move(values).takeError().at(place);
        keys.emplace_back(trimmed(line.substr(0, equals)), std::move(*values));
    }
    return keys;
}

Result<Config> parseConfig(const std::string& path, std::string_view text)
{
    Config config;
    config.path = path;
    std::string section;
    int number = 0;
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find('\n', at), text.size());
        const std::string_view line = trimmed(text.substr(at, end - at));
        at = end + 1;
        ++number;
        const std::string place = path + ":" + std::to_string(number);
        if (line.empty() || line.front() == '#') continue;
        if (line.front() == '[') {
            const size_t close = line.find(']');
            if (close == std::string_view::npos) return Error(ErrorCode::badFile, "expected ']'").at(place);
            section = std::string(trimmed(line.substr(1, close - 1)));
            const std::vector<std::string> known = {"defaults", "aliases", "debug"};
            if (std::find(known.begin(), known.end(), section) == known.end()) {
                const std::vector<std::string> near = nearestNames(section, known);
                config.warnings.push_back(place + ": unknown section '" + section + "'" +
                                          (near.empty() ? "" : "; did you mean '" + near.front() + "'?"));
            }
            continue;
        }
        const size_t equals = line.find('=');
        if (equals == std::string_view::npos)
            return Error(ErrorCode::badFile, "expected KEY = VALUE").at(place).found("'" + std::string(line) + "'");
        const std::string key(trimmed(line.substr(0, equals)));
        if (section == "debug") {
            std::string warning;
            if (Status status = readDebugKey(key, trimmed(line.substr(equals + 1)), config.debug, warning); !status.ok())
                return std::move(status).takeError().at(place);
            if (!warning.empty()) config.warnings.push_back(place + ": " + warning);
            continue;
        }
        Result<std::string> value = readValue(trimmed(line.substr(equals + 1)));
        if (!value.ok()) return std::move(value).takeError().at(place);
        if (section == "aliases") {
            config.aliases[key] = *value;
        } else if (section == "defaults") {
            if (findOption(key) == nullptr) {
                const std::vector<std::string> near = nearestNames(key, optionNames());
                config.warnings.push_back(place + ": unknown option '" + key + "'" +
                                          (near.empty() ? "" : "; did you mean '" + near.front() + "'?"));
            } else {
                config.defaults[key] = *value;
            }
        }
    }
    return config;
}

Result<Config> loadConfig()
{
    if (const char* level = std::getenv(kCpuLevelVariable); level != nullptr && !cpuLevelFromName(level))
        return Error(ErrorCode::usage, kCpuLevelVariable)
            .found(std::string("'") + level + "'")
            .expected("baseline, avx2, avx512 or avx512vnni");
    std::string path;
    bool demanded = false;
    if (const char* named = std::getenv("LOOPSCOPE_CONFIG"); named != nullptr && *named != '\0') {
        path = named;
        demanded = true;
    } else if (const char* home = std::getenv("HOME"); home != nullptr) {
        path = std::string(home) + "/.config/loopscope/config.toml";
    }
    std::error_code error;
    if (path.empty() || (!demanded && !std::filesystem::exists(path, error))) return Config{};
    LS_TRY(const Bytes content, mapFile(path));
    return parseConfig(path, std::string_view(content.as<char>(), content.size()));
}

std::vector<std::string> expandAlias(const Config& config, std::vector<std::string> words)
{
    if (words.empty()) return words;
    const auto alias = config.aliases.find(words.front());
    if (alias == config.aliases.end()) return words;
    std::vector<std::string> expanded;
    std::string word;
    for (char c : alias->second + " ") {
        if (c != ' ') {
            word += c;
        } else if (!word.empty()) {
            expanded.push_back(std::move(word));
            word.clear();
        }
    }
    expanded.insert(expanded.end(), words.begin() + 1, words.end());
    return expanded;
}

std::vector<std::string> applyDefaults(const Config& config, const CommandSpec& command, Arguments& arguments)
{
    std::vector<std::string> applied;
    const auto takes = [&](std::string_view option) {
        return std::ranges::find(command.options, option) != command.options.end() ||
               std::ranges::find(globalOptions(), option) != globalOptions().end();
    };
    const auto apply = [&](const std::string& option, const std::string& value, const std::string& from) {
        if (arguments.has(option) || !takes(option) || value == "false") return;
        const bool flag = findOption(option)->value.empty();
        arguments.set(option, flag ? std::vector<std::string>() : std::vector<std::string>{value});
        applied.push_back(option + " = " + value + " (" + from + ")");
    };
    if (const char* backend = std::getenv("LOOPSCOPE_BACKEND"); backend != nullptr && *backend != '\0')
        apply("backend", backend, "environment");
    for (const auto& [option, value] : config.defaults) apply(option, value, config.path);
    return applied;
}

} // namespace loopscope::app
