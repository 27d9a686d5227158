// docs/commands.md names every command and option, and no option that is not there; docs/debugging.md every command of the debugger.
#include "app/commands/commands.h"
#include "app/terminal/command_table.h"
#include "engine/base/bytes.h"

#include <gtest/gtest.h>
#include <regex>
#include <string>

namespace loopscope::app {
namespace {

std::string readPage(const std::string& path)
{
    const auto content = mapFile(path);
    return content.ok() ? std::string(content->as<char>(), content->size()) : "";
}

TEST(CommandsPage, names_every_command_and_option)
{
    const std::string page = readPage("docs/commands.md");
    for (const CommandSpec& command : allCommands())
        EXPECT_NE(page.find("| `" + std::string(command.name)), std::string::npos) << command.name;
    for (const OptionSpec& option : allOptions()) {
        const std::regex whole("--" + std::string(option.name) + "(?![a-z-])");
        EXPECT_TRUE(std::regex_search(page, whole)) << option.name;
    }
}

TEST(CommandsPage, names_no_option_that_does_not_exist)
{
    const std::string page = readPage("docs/commands.md");
    const std::regex option("`(?:-[a-z]`, `)?--([a-z][a-z-]*)");
    for (auto it = std::sregex_iterator(page.begin(), page.end(), option); it != std::sregex_iterator(); ++it)
        EXPECT_NE(findOption((*it)[1].str()), nullptr) << (*it)[1].str();
}

TEST(DebuggingPage, has_the_table_of_commands)
{
    EXPECT_NE(readPage("docs/debugging.md").find(commandReference()), std::string::npos) << "it should hold\n" << commandReference();
}

} // namespace
} // namespace loopscope::app
