// The command line: one table of options and commands, from which parsing, messages, help and completion all follow.
#pragma once

#include "engine/base/result.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loopscope::app {

class Console;

/// One option. It means the same in every command that takes it.
struct OptionSpec {
    std::string_view name;     ///< without "--"
    char shortName = 0;        ///< 0: none
    std::string_view value;    ///< what stands for its value in help, "N"; empty for a flag
    std::string_view fallback; ///< default as help shows it; empty: none
    std::string_view help;
    bool repeats = false;
};

/// What was typed after the command's name.
class Arguments {
public:
    std::vector<std::string> positionals;
    std::vector<std::pair<std::string, std::string>> free; ///< --NAME VALUE of a command with free options, in order

    bool has(std::string_view option) const { return m_values.contains(option); }
    /// The last value given, or `otherwise`.
    std::string text(std::string_view option, std::string_view otherwise = "") const;
    std::vector<std::string> all(std::string_view option) const;
    /// Whole numbers may be written 1e9. Errors: usage, naming the option and the range.
    Result<int64_t> integer(std::string_view option, int64_t otherwise, int64_t least = 0, int64_t most = INT64_MAX) const;
    Result<double> real(std::string_view option, double otherwise) const;
    void set(std::string option, std::vector<std::string> values) { m_values[std::move(option)] = std::move(values); }
    void unset(std::string_view option)
    {
        if (const auto found = m_values.find(option); found != m_values.end()) m_values.erase(found);
    }

private:
    std::map<std::string, std::vector<std::string>, std::less<>> m_values;
};

struct CommandContext {
    Console& console;
    const Arguments& arguments;
};

/// One subcommand. Runs to an exit code of docs/commands.md, or an error whose code becomes the exit code.
struct CommandSpec {
    std::string_view name;
    std::string_view synopsis;                  ///< "trace MODEL -i NAME=SOURCE… [-o NAME.lstrace]"
    std::string_view summary;                   ///< one sentence
    std::string_view example;                   ///< what help shows first
    std::vector<std::string_view> options;      ///< names from the table, beside those every command has
    int minPositionals = 0, maxPositionals = 0; ///< −1: any number
    Result<int> (*run)(const CommandContext&) = nullptr;
    bool freeOptions = false; ///< any further `--NAME VALUE` is taken: parameters of queries
};

std::span<const OptionSpec> allOptions();
const OptionSpec* findOption(std::string_view name);
/// Names of the options that every command takes.
std::span<const std::string_view> globalOptions();

/// Parses what follows the command's name; options may stand anywhere, `--` ends them. Errors: usage, with near names.
Result<Arguments> parseArguments(const CommandSpec& command, std::span<const std::string> words);

/// Help of one command: an example first, then options.
std::string commandHelp(const CommandSpec& command);

} // namespace loopscope::app
