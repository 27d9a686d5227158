// Defaults and aliases of the user's configuration file, in a small part of TOML: sections, `key = value`, lists, comments.
#pragma once

#include "app/wiring/command_line.h"
#include "engine/base/result.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loopscope::app {

/// The section [debug]: the terminal debugger.
struct DebugConfig {
    int64_t history = 10000;          ///< lines kept
    int context = 5;                  ///< lines that `list` shows
    std::vector<std::string> startup; ///< commands to begin with
};

struct Config {
    std::string path;                            ///< where it was read; empty: there is none
    std::map<std::string, std::string> defaults; ///< long option → value; flags "true" or "false"
    std::map<std::string, std::string> aliases;  ///< word → command and options
    DebugConfig debug;
    std::vector<std::string> warnings; ///< unknown keys, with the nearest
};

/// Lines of `key = value` without sections, each value a list of texts.
using KeysAndValues = std::vector<std::pair<std::string, std::vector<std::string>>>;
/// Errors: badFile, "PATH:LINE: …".
Result<KeysAndValues> parseKeys(const std::string& path, std::string_view text);

/// Reads a configuration text. Errors: badFile, "PATH:LINE: …".
Result<Config> parseConfig(const std::string& path, std::string_view text);
/// $LOOPSCOPE_CONFIG, which must then exist, else ~/.config/loopscope/config.toml, else nothing.
Result<Config> loadConfig();

/// Replaces the first word by the alias of that name, if there is one; an alias does not use another.
std::vector<std::string> expandAlias(const Config& config, std::vector<std::string> words);
/// Fills in options that `command` takes and `arguments` lack: from the environment (LOOPSCOPE_BACKEND), then from the file. Returns one
/// line for each, "backend = auto (environment)".
std::vector<std::string> applyDefaults(const Config& config, const CommandSpec& command, Arguments& arguments);

} // namespace loopscope::app
