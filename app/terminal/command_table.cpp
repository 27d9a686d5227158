#include "app/terminal/command_table.h"

#include "app/terminal/commands.h"
#include "engine/base/text.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace loopscope::app {

namespace {

constexpr std::string_view kPlaces = "Places: 'add#2' or 'acc' in this graph, 'while#0@37', '../acc' in the caller, './add#2', '#12',\n"
                                     "'main/while#0@37:body/add#2:0' in full, '\"full name\"'.";

constexpr std::string_view kGotoPlaces =
    "Places: 'add#2' or 'acc' in this graph, 'while#0@37', '../acc' in the caller, './add#2', '#12',\n"
    "'main/while#0@37:body/add#2:0' in full, '\"full name\"'. 'forward': from an iteration of a gradient\n"
    "loop to the iteration of the forward loop that it belongs to.";

constexpr std::string_view kBreakpointKinds =
    "Before an operator:          break add#3 · break .../add#3 · break type conv_2d · break graph step · break step:276\n"
    "Loops:                       break iter while#0 37 · iter while#0 >= 37 · iter while#0 %100 · loop while#0 · exit while#0\n"
    "                             break trips while#0 > 1000\n"
    "Branches:                    break branch if#2 else · branch if#2 changed\n"
    "Values, after the write:     break nan [PATTERN] · nan born · inf · overflow · denormal · write V if max(V) > 1e3\n"
    "                             break range V -1 1 · zeros V >= 90% · saturated V >= 5% · unchanged V [for N] · shape V\n"
    "                             break when EXPR\n"
    "The run:                     break error · steps 1e6 · time conv_2d > 5ms · differs\n"
    "Each may be followed by:     if EXPR · hits N · hits %N · hits >=N · once · in PATTERN · quiet";

using Commands = std::vector<TerminalCommand>;

void addMovement(Commands& all)
{
    using namespace terminal;
    constexpr std::string_view topic = "moving forwards";
    all.push_back(
        {"run", "r", topic, "run [NAME=SOURCE…]", "run x=27", "Begins the run and goes on to the first stop; inputs may be given anew.",
         "Sources are those of --input: a number, a list, FILE.npy, FILE.npz:KEY, FILE.png, @7; 'x=in.npy; x[0,3]=nan' patches an element.",
         CompletionKind::inputName, run});
    all.push_back({"start", "", topic, "start [NAME=SOURCE…]", "start", "Begins the run and stops before the first operator.", "",
                   CompletionKind::inputName, terminal::start});
    all.push_back({"input", "", topic, "input NAME=SOURCE", "input x=27", "Gives an input of the next run; 'run' begins it.",
                   "Sources are those of --input; '@last' is what the last run was fed with. 'info inputs' lists what is given.",
                   CompletionKind::inputName, input});
    all.push_back({"continue", "c", topic, "continue [N]", "continue", "Goes on to the next stop.", "With N: to the N-th hit from here.",
                   CompletionKind::none, resume});
    all.push_back({"step", "s", topic, "step [N]", "step", "Runs the next operator, or enters it if it is a call.", "",
                   CompletionKind::none, step, true});
    all.push_back({"next", "n", topic, "next [N]", "next", "Runs the next operator; a call runs as a whole.",
                   "A loop is one operator to 'next', all its iterations included.", CompletionKind::none, step, true});
    all.push_back({"finish", "fin", topic, "finish", "finish", "Goes on until this invocation has returned, and shows what it gave.",
                   "Of an iteration: until the loop has ended; of a loop's condition: until it has decided. 'up' first finishes an\n"
                   "outer one.",
                   CompletionKind::none, finish});
    all.push_back({"until", "u", topic, "until [PATTERN]", "until", "Goes on past the end of the innermost loop, or to an operator.", "",
                   CompletionKind::place, until});
    all.push_back({"advance", "", topic, "advance PATTERN", "advance if#2", "Goes on to the next operator that a pattern matches.", kPlaces,
                   CompletionKind::place, advance});
}

void addTravel(Commands& all)
{
    using namespace terminal;
    constexpr std::string_view topic = "moving backwards and about";
    all.push_back({"reverse-continue", "rc", topic, "reverse-continue [N]", "reverse-continue", "Goes back to the stop before this one.",
                   "Breakpoints stop where they would have stopped on the way here, the last one first.", CompletionKind::none, resume});
    all.push_back({"reverse-step", "rs", topic, "reverse-step [N]", "reverse-step",
                   "Undoes one operator, or leaves the call that was just entered.", "", CompletionKind::none, step, true});
    all.push_back({"reverse-next", "rn", topic, "reverse-next [N]", "reverse-next", "Undoes one operator; a call as a whole.", "",
                   CompletionKind::none, step, true});
    all.push_back({"reverse-finish", "rf", topic, "reverse-finish", "reverse-finish", "Goes back to before this invocation was called.", "",
                   CompletionKind::none, finish});
    all.push_back({"iter", "it", topic, "iter [+N|-N|N|last]", "iter -1", "The same operator in another iteration of the innermost loop.",
                   "Without argument it says which iteration this is, and in a gradient loop to which forward iteration it\n"
                   "belongs ('goto forward'). An empty line repeats 'iter +1'.",
                   CompletionKind::iteration, iterate, true});
    all.push_back({"goto", "g", topic, "goto ADDRESS|step:N|N%|MARK|start|end|forward|backward", "goto while#0@36:body/if#2",
                   "Goes to any place of the run, forwards or backwards.", kGotoPlaces, CompletionKind::place, goTo});
    all.push_back({"back", "", topic, "back", "back", "Returns to where the last jump began.", "", CompletionKind::none, back});
    all.push_back({"forward", "", topic, "forward", "forward", "Undoes 'back'.", "", CompletionKind::none, forward});
    all.push_back(
        {"mark", "", topic, "mark NAME", "mark before", "Gives this stop a name; 'goto NAME' comes back.", "", CompletionKind::none, mark});
    all.push_back({"marks", "", topic, "marks", "marks", "Lists marks and notes.", "", CompletionKind::none, marks});
    all.push_back(
        {"note", "", topic, "note TEXT", "note the error enters here", "Keeps a remark about this stop.", "", CompletionKind::none, note});
}

void addBreakpoints(Commands& all)
{
    using namespace terminal;
    constexpr std::string_view topic = "breakpoints";
    constexpr CompletionKind kind = CompletionKind::breakpointKind, number = CompletionKind::breakpoint;
    all.push_back({"break", "b", topic, "break KIND-OR-PATTERN [if EXPR] [hits RULE] [once] [in PATTERN] [quiet]", "break iter while#0 37",
                   "Stops the run at a place, or when something happens to a value.", kBreakpointKinds, kind, addBreakpoint});
    all.push_back({"tbreak", "tb", topic, "tbreak KIND-OR-PATTERN …", "tbreak .../mul#0",
                   "A breakpoint that goes when it has stopped once.", "", kind, addBreakpoint});
    all.push_back({"watch", "w", topic, "watch VALUE", "watch n", "Stops after a write that changed the value; 'var:NAME' is a variable.",
                   "", CompletionKind::value, addBreakpoint});
    all.push_back({"rwatch", "", topic, "rwatch VALUE", "rwatch n", "Stops after an operator has read the value.", "",
                   CompletionKind::value, addBreakpoint});
    all.push_back({"awatch", "", topic, "awatch VALUE", "awatch n", "Stops after an operator has read or written the value.", "",
                   CompletionKind::value, addBreakpoint});
    all.push_back({"log", "", topic, "log KIND-OR-PATTERN \"text $(EXPR)\"", "log .../mul#0 \"n is $(n)\"",
                   "Prints a text each time instead of stopping.", "", kind, addBreakpoint});
    all.push_back({"condition", "", topic, "condition N [EXPR]", "condition 1 n > 100",
                   "Breakpoint N stops only if the expression holds; without one: always.", "", number, condition});
    all.push_back({"ignore", "", topic, "ignore [N] COUNT", "ignore 1 10", "Breakpoint N, or the last one, passes over its next hits.", "",
                   number, ignore});
    all.push_back({"commands", "", topic, "commands [N]", "commands 1",
                   "What to do whenever breakpoint N, or the last one, stops: one command per line, then 'end'.",
                   "With 'silent' among them its stops are not shown.", number, terminal::commands});
    all.push_back({"enable", "", topic, "enable [N]", "enable 1", "Breakpoint N, or all, stop again.", "", number, enable});
    all.push_back(
        {"disable", "", topic, "disable [N]", "disable 1", "Breakpoint N, or all, stop no more until 'enable'.", "", number, enable});
    all.push_back({"delete", "d", topic, "delete [N]", "delete 1", "Removes breakpoint N, or all.", "", number, enable});
}

void addValues(Commands& all)
{
    using namespace terminal;
    constexpr std::string_view topic = "values";
    constexpr CompletionKind value = CompletionKind::value;
    all.push_back({"print", "p", topic, "print[/x|/i] EXPR, …", "print n, prev(n)", "Shows values and what is computed from them.",
                   "/x: hexadecimal, /i: stored integers of quantized values. prev(n) is the iteration before, at(3, n) iteration 3.\n"
                   "What was printed is $1, $2 … in later commands, $ the last; '$NAME = EXPR' keeps a value under a name.",
                   value, print});
    all.push_back({"x", "", topic, "x[/N][x|i|b] EXPR", "x/4 n", "Shows elements one after the other, from the first.",
                   "N of them (32); /x hexadecimal, /i stored integers, /b bytes. 'x/8 w[3, :]' shows a slice.", value, examine, true});
    all.push_back({"whatis", "", topic, "whatis EXPR", "whatis n", "The type of a value, or of what is computed.", "", value, whatIs});
    all.push_back({"display", "disp", topic, "display EXPR", "display iter, n", "Shows values at each stop from now on.", "", value,
                   terminal::display});
    all.push_back(
        {"undisplay", "", topic, "undisplay [N]", "undisplay 1", "Ends one display, or all.", "", CompletionKind::none, undisplay});
    all.push_back({"set", "", topic, "set VALUE[INDEX] = EXPR · set option digits|context N", "set n = 7",
                   "Changes a value: from here the run goes on in a timeline of its own, and the old one stays.",
                   "Before the run it gives an input. 'timelines' lists them, 'switch 1' goes back to the first.", value, set});
    all.push_back(
        {"give", "", topic, "give OPERATOR[:RESULT] = SOURCE", "give sinh#1 = out.npy",
         "What an operator that has no kernel gives, so that the run goes on behind it.",
         "SOURCE is as after --input NAME=, or a recording (.lstrace) with the operator at the same address. It counts in the runs "
         "to come, too.",
         value, give});
    all.push_back({"timelines", "", topic, "timelines", "timelines", "Lists the courses that edits have begun.", "", CompletionKind::none,
                   timelines});
    all.push_back(
        {"switch", "", topic, "switch N", "switch 1", "Goes to timeline N, where it was left.", "", CompletionKind::none, switchTimeline});
}

void addLooking(Commands& all)
{
    using namespace terminal;
    constexpr std::string_view topic = "looking around";
    all.push_back({"list", "l", topic, "list [ADDRESS|-]", "list",
                   "Shows the model as a short program around the next operator; again: what follows.",
                   "'list -' shows what comes before. '=>' is the next operator, '*' a breakpoint, 'o' a disabled one.",
                   CompletionKind::place, list, true});
    all.push_back({"backtrace", "bt", topic, "backtrace", "backtrace",
                   "Shows the calls and loops that this stop is in, the innermost first.", "", CompletionKind::none, backtrace});
    all.push_back({"up", "", topic, "up [N]", "up", "Looks at the calling frame: 'print', 'list', 'finish' and 'info' are about it.", "",
                   CompletionKind::none, up});
    all.push_back({"down", "", topic, "down [N]", "down", "Looks at the called frame again.", "", CompletionKind::none, down});
    all.push_back({"frame", "", topic, "frame [N]", "frame 1", "Looks at frame N of 'backtrace'.", "", CompletionKind::none, frame});
    all.push_back({"info", "i", topic, "info [TOPIC]", "info loop", "What is known about something; alone it lists the topics.", "",
                   CompletionKind::info, info});
}

void addQuestions(Commands& all)
{
    using namespace terminal;
    constexpr std::string_view topic = "questions about the run";
    constexpr CompletionKind value = CompletionKind::value;
    constexpr std::string_view travel = "With -g it goes there.";
    all.push_back({"lastwrite", "lw", topic, "lastwrite VALUE [-g]", "lastwrite n", "Which operator wrote the value, and when.", travel,
                   value, findWrites});
    all.push_back({"lastchange", "lc", topic, "lastchange VALUE [-g]", "lastchange n", "When the value last became another one.", travel,
                   value, findWrites});
    all.push_back(
        {"nextwrite", "nw", topic, "nextwrite VALUE [-g]", "nextwrite n", "When the value is written next.", travel, value, findWrites});
    all.push_back({"nextchange", "nc", topic, "nextchange VALUE [-g]", "nextchange n", "When the value next becomes another one.", travel,
                   value, findWrites});
    all.push_back({"why", "", topic, "why [loop|stop|branch|waiting|nan [VALUE]|grad VALUE|VALUE[INDEX]|not fused OPERATOR]", "why loop",
                   "Why the loop goes on or stopped, the branch was taken, a NaN is there, a gradient or an element is what it is, an "
                   "operator was not fused.",
                   "", value, why});
    all.push_back({"hist", "", topic, "hist VALUE [LOOP]", "hist n",
                   "How the value, or the variable var:NAME, went over the iterations of the loop: a line of bars, least and greatest.",
                   "Each bar is the greatest of its iterations; '!' stands where it is NaN or infinite. A variable is looked at as an "
                   "iteration begins, like a carried value.",
                   value, histogram});
    all.push_back({"compare", "", topic, "compare [VALUE]", "compare",
                   "A value, or what was computed last, against the reference run of --against.", "", value, terminal::compare});
    all.push_back({"drift", "", topic, "drift [VALUE]", "drift",
                   "How far each layer is from the reference run; of a value in a loop: each iteration.", "", value, terminal::drift});
    all.push_back({"frames", "", topic, "frames", "frames", "The frames of a TensorFlow 1 graph, with their iterations.", "",
                   CompletionKind::none, version1Graphs});
    all.push_back({"tokens", "", topic, "tokens", "tokens", "Values of a TensorFlow 1 graph that wait to be read.", "",
                   CompletionKind::none, version1Graphs});
    all.push_back({"dead", "", topic, "dead", "dead", "Nodes of a TensorFlow 1 graph that were dead, and how often.", "",
                   CompletionKind::none, version1Graphs});
    all.push_back({"order", "", topic, "order arrival|SEED", "order 7",
                   "In which order ready nodes of a TensorFlow 1 graph run, from the next run on.",
                   "As --schedule-seed: 'arrival' is the documented order, a seed picks among all that are ready.", CompletionKind::none,
                   order});
    all.push_back({"ready", "", topic, "ready", "ready", "Nodes of a TensorFlow 1 graph that can run now, in order.", "",
                   CompletionKind::none, version1Graphs});
}

void addFiles(Commands& all)
{
    using namespace terminal;
    constexpr std::string_view topic = "files and help";
    all.push_back(
        {"record", "", topic, "record [on [FILE] [LEVEL] [--force]|off]", "record on run.lstrace",
         "Records runs into a trace, as 'loopscope trace' does; alone it says what is recorded.",
         "It begins with the next 'run'. Every step is recorded once, however you move; the first edit ends the recording of a run.",
         CompletionKind::file, record});
    all.push_back({"save", "", topic, "save FILE [--force]", "save stops.ls", "Writes breakpoints and displays as commands.", "",
                   CompletionKind::file, save});
    all.push_back({"load", "", topic, "load FILE", "load stops.ls", "Reads what 'save' wrote.",
                   "A line that does not fit the model comes back disabled, with its reason.", CompletionKind::file, load});
    all.push_back({"source", "", topic, "source FILE", "source look.ls",
                   "Runs the commands of a file, one per line, up to the first error.",
                   "A line that begins with '-' may fail. '#' begins a comment.", CompletionKind::file, source});
    all.push_back({"define", "", topic, "define NAME", "define both", "Makes a command of your own: its lines follow, then 'end'.",
                   "$arg0, $arg1 … are the words typed behind its name.", CompletionKind::none, define});
    all.push_back({"help", "h", topic, "help [COMMAND]", "help break", "This overview, or one command: an example first.", "",
                   CompletionKind::command, help});
    all.push_back({"apropos", "", topic, "apropos WORD", "apropos iteration", "Commands whose help has the word.", "", CompletionKind::none,
                   apropos});
    all.push_back({"quit", "q", topic, "quit", "quit", "Ends the debugger.", "", CompletionKind::none, quit});
}

const Commands& table()
{
    static const Commands all = [] {
        Commands commands;
        addMovement(commands);
        addTravel(commands);
        addBreakpoints(commands);
        addValues(commands);
        addLooking(commands);
        addQuestions(commands);
        addFiles(commands);
        return commands;
    }();
    return all;
}

} // namespace

std::vector<std::string> CommandLine::words() const
{
    std::vector<std::string> out;
    std::string word;
    bool quoted = false;
    for (const char c : text) {
        if (c == '"') quoted = !quoted;
        if ((c == ' ' || c == '\t') && !quoted) {
            if (!word.empty()) out.push_back(std::move(word));
            word.clear();
        } else {
            word += c;
        }
    }
    if (!word.empty()) out.push_back(std::move(word));
    return out;
}

std::span<const TerminalCommand> terminalCommands() { return table(); }

Result<const TerminalCommand*> findTerminalCommand(std::string_view word)
{
    std::vector<const TerminalCommand*> begins;
    std::vector<std::string> names;
    for (const TerminalCommand& command : table()) {
        if (command.name == word || (!command.shortName.empty() && command.shortName == word)) return &command;
        if (command.name.starts_with(word)) begins.push_back(&command);
        names.emplace_back(command.name);
    }
    if (begins.size() == 1) return begins.front();
    if (begins.size() > 1) {
        std::vector<std::string> all;
        for (const TerminalCommand* command : begins) all.emplace_back(command->name);
        return Error(ErrorCode::usage, "'" + std::string(word) + "' is ambiguous: " + join(all, ", "));
    }
    return Error(ErrorCode::usage, "unknown command '" + std::string(word) + "'").nearest(nearestNames(word, names));
}

Result<int64_t> wholeNumber(std::string_view text, std::string_view what, int64_t least, int64_t most)
{
    int64_t number = 0;
    const char* end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, number);
    if (text.empty() || error != std::errc() || at != end || number < least || number > most) {
        std::string expected = "a whole number";
        if (least != INT64_MIN && most < 1'000'000) expected += " from " + std::to_string(least) + " to " + std::to_string(most);
        else if (least >= 0) expected += " from " + std::to_string(least);
        return Error(ErrorCode::usage, std::string(what)).found("'" + std::string(text) + "'").expected(expected);
    }
    return number;
}

Status expectNothing(const CommandLine& line)
{
    if (line.text.empty() && line.modifiers.empty()) return {};
    const std::string_view typed = line.text.empty() ? line.modifiers : line.text;
    return Error(ErrorCode::usage, "unexpected '" + std::string(typed) + "'")
        .at(line.name)
        .expected("'" + std::string(line.name) + "' alone");
}

std::string helpOverview()
{
    std::string out = "Try this first:\n    run\n    break iter while#0 7\n    continue\n    print acc, prev(acc)\n    reverse-step\n";
    std::string_view topic;
    for (const TerminalCommand& command : table()) {
        if (command.topic != topic) out += "\n" + std::string(command.topic) + "\n";
        topic = command.topic;
        std::string name = "  " + std::string(command.name);
        if (!command.shortName.empty()) name += ", " + std::string(command.shortName);
        name.resize(std::max<size_t>(name.size() + 1, 24), ' ');
        out += name + std::string(command.summary) + "\n";
    }
    return out + "\n'help COMMAND' shows an example, 'apropos WORD' searches. Commands may be shortened as long as they stay unique;\n"
                 "an empty line repeats step, next, their reverses, iter, list and x.\n";
}

std::string helpText(const TerminalCommand& command)
{
    std::string out = "    (loop) " + std::string(command.example) + "\n\n" + std::string(command.summary) +
                      "\n\nusage: " + std::string(command.synopsis) + "\n";
    if (!command.shortName.empty()) out += "short: " + std::string(command.shortName) + "\n";
    if (!command.details.empty()) out += "\n" + std::string(command.details) + "\n";
    return out;
}

std::string commandReference()
{
    std::string out = "| command | short | what it does |\n|---|---|---|\n";
    for (const TerminalCommand& command : table()) {
        std::string synopsis(command.synopsis);
        for (size_t at = 0; (at = synopsis.find('|', at)) != std::string::npos; at += 2) synopsis.insert(at, "\\");
        out += "| `" + synopsis + "` | " + (command.shortName.empty() ? "" : "`" + std::string(command.shortName) + "`") + " | " +
               std::string(command.summary) + " |\n";
    }
    return out;
}

} // namespace loopscope::app
