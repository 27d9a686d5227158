// The bash completion script, generated from the tables of commands, options and recipes, so that it cannot fall behind them.
#include "app/commands/commands.h"
#include "tracer/api/recipes.h"

namespace loopscope::app {

namespace {

std::string optionWords(const CommandSpec& command)
{
    std::string words;
    const auto add = [&](std::string_view name) { words += (words.empty() ? "--" : " --") + std::string(name); };
    for (std::string_view name : command.options) add(name);
    for (std::string_view name : globalOptions()) add(name);
    return words;
}

/// "cpu|vulkan|auto" → "cpu vulkan auto"; empty where the value is no choice.
std::string choices(std::string_view value)
{
    if (value.find('|') == std::string_view::npos) return "";
    std::string words(value);
    for (char& c : words)
        if (c == '|') c = ' ';
    return words;
}

} // namespace

std::string bashCompletion()
{
    std::string commands, options, values, recipes, takesValue;
    for (const CommandSpec& command : allCommands()) {
        commands += (commands.empty() ? "" : " ") + std::string(command.name);
        options += "        " + std::string(command.name) + ") options='" + optionWords(command) + "' ;;\n";
    }
    for (const OptionSpec& option : allOptions()) {
        if (const std::string words = choices(option.value); !words.empty())
            values += "        --" + std::string(option.name) + ") COMPREPLY=($(compgen -W '" + words + "' -- \"$word\")); return ;;\n";
        if (!option.value.empty()) takesValue += (takesValue.empty() ? "--" : "|--") + std::string(option.name);
    }
    for (const Recipe& recipe : traceRecipes()) recipes += (recipes.empty() ? "" : " ") + std::string(recipe.name);

    return "# bash completion of loopscope; load it with: source <(loopscope completion bash)\n"
           "_loopscope() {\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command= files=0 i options=\n"
           "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
           "        case ${COMP_WORDS[i]} in\n"
           "        " +
           takesValue +
           "|-i|-o) ((i++)) ;;\n"
           "        -*) ;;\n"
           "        *) if [ -z \"$command\" ]; then command=${COMP_WORDS[i]}; else ((files++)); fi ;;\n"
           "        esac\n"
           "    done\n"
           "    case $before in\n" +
           values +
           "        --level) COMPREPLY=($(compgen -W 'control statistics hashes values all' -- \"$word\")); return ;;\n"
           "        -o|--output) COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n"
           "    esac\n"
           "    if [ -z \"$command\" ]; then\n"
           "        COMPREPLY=($(compgen -W '" +
           commands +
           "' -- \"$word\") $(compgen -f -- \"$word\"))\n"
           "        return\n"
           "    fi\n"
           "    case $command in\n" +
           options +
           "    esac\n"
           "    if [[ $word == -* ]]; then\n"
           "        COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
           "    elif [ \"$command\" = query ] && [ $files -eq 1 ]; then\n"
           "        COMPREPLY=($(compgen -W '" +
           recipes +
           " per-iteration' -- \"$word\"))\n"
           "    elif [ \"$command\" = help ]; then\n"
           "        COMPREPLY=($(compgen -W '" +
           commands +
           "' -- \"$word\"))\n"
           "    else\n"
           "        COMPREPLY=($(compgen -f -- \"$word\"))\n"
           "    fi\n"
           "}\n"
           "complete -o filenames -F _loopscope loopscope\n";
}

} // namespace loopscope::app
