// `loopscope gui`: starts the desktop application, a program of its own beside this one, so that the command line needs no Qt.
#include "app/commands/commands.h"
#include "app/output/console.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <unistd.h>
#include <vector>

namespace loopscope::app {

namespace {

bool isSet(const char* variable)
{
    const char* const value = std::getenv(variable);
    return value != nullptr && *value != '\0';
}

} // namespace

Result<int> runGui(const CommandContext& context)
{
    const Arguments& arguments = context.arguments;
    std::error_code failure;
    const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", failure);
    const std::filesystem::path program = self.parent_path() / "loopscope-gui";
    if (failure || !std::filesystem::exists(program, failure))
        return Error(ErrorCode::unsupported, "the desktop application is not built; './run gui' builds and starts it");
    if (!arguments.has("screenshot") && !isSet("DISPLAY") && !isSet("WAYLAND_DISPLAY") && !isSet("QT_QPA_PLATFORM"))
        return Error(ErrorCode::device, "no display: neither DISPLAY nor WAYLAND_DISPLAY is set; log in to a desktop or use 'ssh -X', "
                                        "draw a picture with --screenshot FILE.png, or use 'loopscope debug' in this terminal");

    std::vector<std::string> words = {program.string()};
    for (const OptionSpec& option : allOptions()) {
        if (!arguments.has(option.name)) continue;
        const std::string name = "--" + std::string(option.name);
        if (option.value.empty()) words.push_back(name);
        else
            for (const std::string& value : arguments.all(option.name)) words.push_back(name + "=" + value);
    }
    words.emplace_back("--");
    for (const std::string& positional : arguments.positionals) words.push_back(positional);
    std::vector<char*> raw;
    for (std::string& word : words) raw.push_back(word.data());
    raw.push_back(nullptr);
    ::execv(program.c_str(), raw.data());
    return Error(ErrorCode::device, "cannot be started").at(program.string()).found(std::strerror(errno));
}

} // namespace loopscope::app
