// `loopscope help`: the overview that teaches, and the help of single commands.
#include "app/commands/commands.h"
#include "app/output/console.h"
#include "engine/base/text.h"

#include <algorithm>

namespace loopscope::app {

std::string overviewText()
{
    std::string out = "loopscope runs machine-learning graphs step by step and shows what every iteration computed.\n"
                      "\n"
                      "Try this first:\n"
                      "    $ loopscope model.tflite                                  what is in it\n"
                      "    $ loopscope list model.tflite --structured                read it as a program\n"
                      "    $ loopscope run model.tflite -i x=27                      run it (x=in.npy, x=@rand, x=[1,2,3])\n"
                      "    $ loopscope trace model.tflite -i x=27 -o t.lstrace       record every operator and iteration\n"
                      "    $ loopscope query t.lstrace per-iteration                 one row for each iteration of its loop\n"
                      "    $ loopscope query t.lstrace 'SELECT op, count(*) FROM writes GROUP BY op'\n"
                      "\n"
                      "commands\n";
    size_t width = 0;
    for (const CommandSpec& command : allCommands()) width = std::max(width, command.name.size());
    for (const CommandSpec& command : allCommands()) {
        std::string name(command.name);
        name.resize(width, ' ');
        out += "    " + name + "  " + std::string(command.summary) + "\n";
    }
    return out + "\n'loopscope help COMMAND' shows an example and the options; 'loopscope query --list' the questions a trace answers.\n";
}

Result<int> runHelp(const CommandContext& context)
{
    if (context.arguments.positionals.empty()) {
        context.console.print(overviewText());
        return 0;
    }
    const std::string& name = context.arguments.positionals.front();
    const CommandSpec* command = findCommand(name);
    if (command == nullptr) {
        std::vector<std::string> names;
        for (const CommandSpec& c : allCommands()) names.emplace_back(c.name);
        return Error(ErrorCode::usage, "unknown command '" + name + "'").nearest(nearestNames(name, names));
    }
    context.console.page(commandHelp(*command));
    return 0;
}

Result<int> runCompletion(const CommandContext& context)
{
    const std::string shell = context.arguments.positionals.empty() ? "bash" : context.arguments.positionals.front();
    if (shell != "bash") return Error(ErrorCode::usage, "completion").found("'" + shell + "'").expected("bash");
    context.console.print(bashCompletion());
    return 0;
}

} // namespace loopscope::app
