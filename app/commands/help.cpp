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

namespace {

/// Text of a manual page: its requests begin with a dot or an apostrophe, its escapes with a backslash.
std::string roff(std::string_view text)
{
    std::string out = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
    for (const char c : text) {
        if (c == '\\') out += "\\e";
        else if (c == '-') out += "\\-";
        else out += c;
    }
    return out;
}

void addManualOption(std::string& out, const OptionSpec& option)
{
    std::string name = "--" + std::string(option.name);
    if (option.shortName != 0) name = std::string("-") + option.shortName + ", " + name;
    if (!option.value.empty()) name += " " + std::string(option.value);
    out += ".TP\n.B " + roff(name) + "\n" + roff(option.help) + "\n";
    if (!option.fallback.empty()) out += "Default: " + roff(option.fallback) + ".\n";
}

/// For `loopscope help man > loopscope.1`.
std::string manualPage()
{
    std::string out = ".TH LOOPSCOPE 1\n.SH NAME\nloopscope \\- step through machine\\-learning graphs, forwards and backwards\n"
                      ".SH SYNOPSIS\n.B loopscope\nCOMMAND FILE... [OPTIONS]\n.SH COMMANDS\n";
    for (const CommandSpec& command : allCommands())
        out += ".TP\n.B " + roff(command.synopsis) + "\n" + roff(command.summary) + "\nFor example: " + roff(command.example) + "\n";
    out += ".SH OPTIONS\n";
    for (const OptionSpec& option : allOptions()) addManualOption(out, option);
    return out;
}

/// Of one command, for `loopscope help man trace > loopscope-trace.1`.
std::string manualPage(const CommandSpec& command)
{
    std::string title(command.name);
    for (char& c : title) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    std::string out = ".TH LOOPSCOPE\\-" + roff(title) + " 1\n.SH NAME\nloopscope\\-" + roff(command.name) + " \\- " +
                      roff(command.summary) + "\n.SH SYNOPSIS\n.B loopscope\n" + roff(command.synopsis) + "\n.SH OPTIONS\n";
    for (const std::string_view name : command.options) addManualOption(out, *findOption(name));
    return out + ".SH EXAMPLE\n" + roff(command.example) + "\n.SH SEE ALSO\n.BR loopscope (1)\n";
}

/// Text in single quotes of zsh, in which brackets and colons would end a description.
std::string zshQuoted(std::string_view text)
{
    std::string out;
    for (const char c : text) {
        if (c == '\'') out += "'\\''";
        else if (c == '[' || c == ']' || c == ':') out += std::string("\\") + c;
        else out += c;
    }
    return out;
}

/// A function for compinit: commands and their options with what they mean, files elsewhere.
std::string zshCompletion()
{
    std::string commands, options;
    for (const CommandSpec& command : allCommands()) {
        commands += "    '" + std::string(command.name) + ":" + zshQuoted(command.summary) + "'\n";
        options += "  " + std::string(command.name) + ") _arguments";
        const auto add = [&](std::string_view name) {
            const OptionSpec& option = *findOption(name);
            const std::string value = option.value.empty() ? "" : ":" + zshQuoted(option.value) + ":_files";
            options +=
                " '" + std::string(option.repeats ? "*" : "") + "--" + std::string(name) + "[" + zshQuoted(option.help) + "]" + value + "'";
        };
        for (const std::string_view name : command.options) add(name);
        for (const std::string_view name : globalOptions()) add(name);
        options += " '*:file:_files' ;;\n";
    }
    return "#compdef loopscope\n# zsh completion of loopscope; load it with: source <(loopscope completion zsh)\n_loopscope() {\n  local "
           "-a commands\n"
           "  commands=(\n" +
           commands +
           "  )\n  if (( CURRENT == 2 )); then _describe command commands; _files; return; fi\n  local command=${words[2]}\n"
           "  shift words; (( CURRENT-- ))\n  case $command in\n" +
           options +
           "  esac\n}\nif [ \"${funcstack[1]}\" = _loopscope ]; then _loopscope \"$@\"\nelse\n  (( $+functions[compdef] )) || { autoload "
           "-U compinit && compinit }\n  compdef _loopscope loopscope\nfi\n";
}

std::string fishQuoted(std::string_view text)
{
    std::string out = "'";
    for (const char c : text) out += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    return out + "'";
}

/// complete -c loopscope …: a line for each command and option.
std::string fishCompletion()
{
    std::string out = "# fish completion of loopscope; load it with: loopscope completion fish | source\n";
    for (const CommandSpec& command : allCommands()) {
        out +=
            "complete -c loopscope -n __fish_use_subcommand -a " + std::string(command.name) + " -d " + fishQuoted(command.summary) + "\n";
        const auto add = [&](std::string_view name) {
            const OptionSpec& option = *findOption(name);
            out += "complete -c loopscope -n '__fish_seen_subcommand_from " + std::string(command.name) + "' -l " + std::string(name);
            if (option.shortName != 0) out += std::string(" -s ") + option.shortName;
            if (!option.value.empty()) out += " -r";
            out += " -d " + fishQuoted(option.help) + "\n";
        };
        for (const std::string_view name : command.options) add(name);
        for (const std::string_view name : globalOptions()) add(name);
    }
    return out;
}

} // namespace

Result<int> runHelp(const CommandContext& context)
{
    if (context.arguments.positionals.empty()) {
        context.console.print(overviewText());
        return 0;
    }
    const bool isManual = context.arguments.positionals.front() == "man";
    if (isManual && context.arguments.positionals.size() == 1) {
        context.console.print(manualPage());
        return 0;
    }
    const std::string& name = context.arguments.positionals.back();
    const CommandSpec* command = findCommand(name);
    if (command == nullptr) {
        std::vector<std::string> names;
        for (const CommandSpec& c : allCommands()) names.emplace_back(c.name);
        return Error(ErrorCode::usage, "unknown command '" + name + "'").nearest(nearestNames(name, names));
    }
    if (isManual) context.console.print(manualPage(*command));
    else context.console.page(commandHelp(*command));
    return 0;
}

Result<int> runCompletion(const CommandContext& context)
{
    const std::string shell = context.arguments.positionals.empty() ? "bash" : context.arguments.positionals.front();
    if (shell == "bash") context.console.print(bashCompletion());
    else if (shell == "zsh") context.console.print(zshCompletion());
    else if (shell == "fish") context.console.print(fishCompletion());
    else return Error(ErrorCode::usage, "completion").found("'" + shell + "'").expected("bash, zsh or fish");
    return 0;
}

} // namespace loopscope::app
