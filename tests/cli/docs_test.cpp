// docs/commands.md names every command and option, and no option that is not there; docs/debugging.md every command of the debugger.
#include "app/commands/commands.h"
#include "app/terminal/command_table.h"
#include "engine/base/bytes.h"

#include <gtest/gtest.h>
#include <re2/re2.h>
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
        EXPECT_TRUE(RE2::PartialMatch(page, "--" + std::string(option.name) + "([^a-z-]|$)")) << option.name;
    }
}

TEST(CommandsPage, names_no_option_that_does_not_exist)
{
    const std::string page = readPage("docs/commands.md");
    const RE2 option("`(?:-[a-z]`, `)?--([a-z][a-z-]*)");
    re2::StringPiece rest(page);
    for (std::string name; RE2::FindAndConsume(&rest, option, &name);) EXPECT_NE(findOption(name), nullptr) << name;
}

TEST(DebuggingPage, has_the_table_of_commands)
{
    EXPECT_NE(readPage("docs/debugging.md").find(commandReference()), std::string::npos) << "it should hold\n" << commandReference();
}

} // namespace
} // namespace loopscope::app
