#include "app/commands/commands.h"

#include "app/output/console.h"
#include "app/wiring/config.h"
#include "app/wiring/memory_option.h"
#include "app/wiring/recording.h"
#include "app/wiring/signals.h"
#include "engine/base/allocation.h"
#include "engine/base/file_guard.h"
#include "engine/base/text.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <vector>

namespace loopscope::app {

namespace {

using OptionNames = std::vector<std::string_view>;

/// Options shared by everything that runs a model, and by everything that compares numbers.
const OptionNames kRunning = {"input",     "feed",          "fetch",   "target",    "init",      "checkpoint", "asset",
                              "signature", "backend",       "device",  "place",     "strict",    "profile",    "seed",
                              "runs",      "schedule-seed", "threads", "max-steps", "max-depth", "timeout"};
const OptionNames kTolerance = {"rtol", "atol", "ulp", "cosine"};

/// The loop of a program around a model.
const OptionNames kHostLoop = {"calls", "feed-back", "each", "let", "until", "before", "save-loop", "no-loop"};

OptionNames with(OptionNames own, const OptionNames& more)
{
    own.insert(own.end(), more.begin(), more.end());
    return own;
}

/// What shows and runs models.
std::vector<CommandSpec> modelCommands()
{
    return {
        {"info",
         "info FILE",
         "What a model or a trace is: inputs, outputs, operators, control flow, what could go wrong.",
         "loopscope info samples/text/collatz.lsir",
         {"ops", "tensors", "metadata", "profile"},
         1,
         1,
         runInfo},
        {"list",
         "list FILE [GRAPH|ADDRESS]",
         "A model as text; with --structured as a short program with If and While bodies inline.",
         "loopscope list samples/text/collatz.lsir --structured",
         {"structured", "numbers", "addresses", "origin", "shapes", "full", "output", "force"},
         1,
         2,
         runList},
        {"run", "run MODEL -i NAME=SOURCE… [-o OUT.npz]", "Runs a model and prints its outputs.",
         "loopscope run samples/text/collatz.lsir -i x=27",
         with(with({"output", "force", "time", "print", "dequantize", "composites", "distributed"}, kHostLoop), kRunning), 1, 1, runRun},
        {"bench", "bench MODEL -i NAME=SOURCE…", "How long a model takes: median and p95 of its runs, and where the time goes.",
         "loopscope bench samples/text/collatz.lsir -i x=27 --repeat 10", with({"warmup", "repeat", "beside"}, kRunning), 1, 1, runBench},
        {"trace", "trace MODEL -i NAME=SOURCE… [-o NAME.lstrace] · trace DIR [-o FOLDER]",
         "Runs a model and records what every operator and iteration computed, in one SQLite file; of a folder of golden cases each run.",
         "loopscope trace samples/text/collatz.lsir -i x=27 -o collatz.lstrace",
         with(with({"output", "force", "level", "keep", "only", "except", "iterations", "sparse", "on-alert", "quota", "durable", "append",
                    "no-index", "constants", "distributed", "filter", "jobs", "case-timeout"},
                   kHostLoop),
              kRunning),
         1, 1, runTrace},
        {"debug", "debug MODEL -i NAME=SOURCE… · debug --trace FILE",
         "Steps through a model, forwards and backwards, with breakpoints on everything.",
         "loopscope debug samples/text/collatz.lsir -i x=27",
         with(with(with({"against", "trace", "script", "ex", "batch", "rc", "distributed"}, kTolerance), kHostLoop), kRunning), 0, 1,
         runDebug},
        {"dap",
         "dap [--listen PORT]",
         "The debugger for editors, over the Debug Adapter Protocol: standard input and output, or a port of this machine.",
         "loopscope dap --listen 4711",
         {"listen"},
         0,
         0,
         runDap},
        {"gui", "gui [MODEL|TRACE|SESSION] [OTHER] [-i NAME=SOURCE…]",
         "Opens the desktop application; with --screenshot it draws a window into a file instead.",
         "loopscope gui samples/text/collatz.lsir -i x=27 --goto while#0@37:body/if#2 --screenshot collatz.png",
         with(with(with({"goto", "screenshot", "size", "theme", "task", "exec", "against"}, kTolerance), kHostLoop), kRunning), 0, 2,
         runGui},
    };
}

/// What asks recordings.
std::vector<CommandSpec> traceCommands()
{
    return {
        {"query",
         "query TRACE RECIPE|'SQL' [--NAME VALUE…]",
         "Asks a trace: a named recipe, or any SQL; --NAME VALUE fills the parameter :NAME.",
         "loopscope query collatz.lstrace branch-counts",
         {"list", "sql", "csv", "format", "column", "limit", "limit-time"},
         0,
         2,
         runQuery,
         true},
        {"report",
         "report TRACE -o FILE.html [--run N]",
         "A recording as one page that needs nothing beside it: graph, loops as plots, the first NaN, the slowest operators, memory.",
         "loopscope report collatz.lstrace -o collatz.html",
         {"output", "format", "force", "limit-time"},
         1,
         1,
         runReportCommand,
         true},
        {"diff", "diff A B · diff MODEL -i NAME=SOURCE… --against-profile P",
         "Where two traces, models or .npz files, or one model under two profiles of kernels, first differ. Exit code 1 if they do.",
         "loopscope diff before.lstrace after.lstrace",
         with(with({"pairing", "first", "all", "bitwise", "against-profile", "minimize", "samples"}, kTolerance), kRunning), 1, 2, runDiff},
        {"export",
         "export TRACE [PATTERN] -o FILE",
         "A trace in other forms: .npz, .npy, .csv, or .json for Perfetto and Chrome.",
         "loopscope export collatz.lstrace '.../add#*' -o adds.csv",
         {"output", "format", "force", "counter"},
         1,
         2,
         runExport},
    };
}

/// What writes models in other forms.
std::vector<CommandSpec> conversionCommands()
{
    return {
        {"export-graph",
         "export-graph MODEL -o FILE",
         "The picture of a graph, loops and branches drawn inside: .svg, .pdf, .png, or .dot for other tools. Needs no screen.",
         "loopscope export-graph samples/text/collatz.lsir -o collatz.svg",
         {"output", "format", "force", "graph", "expand", "node-data"},
         1,
         1,
         runExportGraph},
        {"convert",
         "convert IN -o OUT",
         "Between .tflite, .circle and .lsir; TensorFlow graphs between .pb, .pbtxt, .meta and .lsir, and to .tflite; .keras to all of "
         "these.",
         "loopscope convert model.tflite -o model.lsir",
         {"output", "format", "force", "data", "freeze", "signature", "fetch", "feed", "target", "init", "checkpoint", "asset",
          "allow-custom"},
         1,
         1,
         runConvert},
        {"fuse", "fuse IN -o OUT",
         "Operators that one operator of TFLite computes become that one; tells what was fused, what was not, and why; proves each "
         "rewrite.",
         "loopscope fuse model.pb -o fused.lsir --prove --report fused.html",
         with({"output", "format",     "force",      "data",    "passes", "skip",          "report",    "why",       "unfuse", "near",
               "tanh",   "batch-size", "composites", "prove",   "input",  "samples",       "signature", "fetch",     "feed",   "target",
               "init",   "checkpoint", "asset",      "bitwise", "seed",   "schedule-seed", "max-steps", "max-depth", "timeout"},
              kTolerance),
         1, 1, runFuse},
        {"raise", "raise IN -o OUT",
         "Control flow of TensorFlow 1 becomes While and If; other passes by name. Says what became what, and what stays and why.",
         "loopscope raise samples/text/v1_collatz.lsir -o collatz.pb --prove -i n=27",
         with({"output",  "format", "force",         "passes",    "skip",      "show",    "fetch",      "target", "feed",    "init",
               "of",      "wrt",    "recompute",     "signature", "strict",    "report",  "prove",      "input",  "samples", "minimize",
               "bitwise", "seed",   "schedule-seed", "max-steps", "max-depth", "timeout", "checkpoint", "asset"},
              kTolerance),
         1, 1, runRaiseCommand},
        {"grad",
         "grad MODEL --of NAME --wrt NAME[,…] -o FILE",
         "A TensorFlow graph with operators that compute gradients of some of its values by others; loops and branches included.",
         "loopscope grad samples/text/logistic_map.lsir --of y --wrt x,r -o gradient.lsir",
         {"output", "format", "force", "of", "wrt", "recompute", "stacks", "signature", "checkpoint", "asset"},
         1,
         1,
         runGrad},
        {"partition",
         "partition MODEL --place PATTERN=DEVICE… -o FILE",
         "One TensorFlow graph per device, with _Send and _Recv where values cross and control loops where loops are cut.",
         "loopscope partition samples/text/v1_collatz.lsir --place half=b --place triple=b -o parts.lsir",
         {"output", "format", "force", "place", "signature"},
         1,
         1,
         runPartition},
        {"passes", "passes", "The passes that 'raise --passes' takes.", "loopscope passes", {}, 0, 0, runPassList},
    };
}

/// What holds programs against each other.
std::vector<CommandSpec> proofCommands()
{
    return {
        {"prove", "prove A [B] -i NAME=SOURCE… · prove DIR [DIR]",
         "Whether two programs compute the same, value by value, on given and drawn inputs; in folders of golden cases each. Exit code 1 "
         "if not.",
         "loopscope prove samples/text/collatz.lsir --against fast -i x=27",
         with(with({"samples", "minimize", "pair", "against", "bitwise", "filter", "jobs", "case-timeout", "force"}, kTolerance), kRunning),
         1, 2, runProve},
    };
}

/// What tells of the program itself and checks it.
std::vector<CommandSpec> programCommands()
{
    return {
        {"ops",
         "ops [PATTERN]",
         "Which operators open, infer shapes and run.",
         "loopscope ops 'conv*'",
         {"dialect", "markdown"},
         0,
         1,
         runOps},
        {"devices",
         "devices",
         "Which devices there are to run on, their limits, and what these rule out.",
         "loopscope devices",
         {},
         0,
         0,
         runDevices},
        {"check",
         "check DIR|FILE.ltest|MODEL|TRACE…",
         "Runs golden cases (a folder with cases.jsonl) and text tests (.ltest); verifies models and traces.",
         "loopscope check tests/control_flow",
         {"filter", "jobs", "case-timeout", "backend", "device", "strict", "profile", "update", "repair", "bits"},
         1,
         -1,
         runCheck},
        {"help",
         "help [COMMAND|man [COMMAND]]",
         "This overview, or the help of one command; 'man' is the manual page, of all or of one.",
         "loopscope help trace",
         {},
         0,
         2,
         runHelp},
        {"completion",
         "completion bash|zsh|fish",
         "Prints the completion script of a shell.",
         "source <(loopscope completion bash)",
         {},
         0,
         1,
         runCompletion},
    };
}

/// In the order of the overview.
const std::vector<CommandSpec>& table()
{
    static const std::vector<CommandSpec> commands = [] {
        std::vector<CommandSpec> all;
        for (const auto& group : {modelCommands(), traceCommands(), conversionCommands(), proofCommands(), programCommands()})
            all.insert(all.end(), group.begin(), group.end());
        return all;
    }();
    return commands;
}

std::vector<std::string> commandNames()
{
    std::vector<std::string> names;
    for (const CommandSpec& command : table()) names.emplace_back(command.name);
    return names;
}

ColorMode colorMode(const std::string& text)
{
    return text == "always" ? ColorMode::always : text == "never" ? ColorMode::never : ColorMode::automatic;
}

ProgressMode progressMode(const std::string& text)
{
    return text == "plain" ? ProgressMode::plain : text == "never" ? ProgressMode::never : ProgressMode::automatic;
}

/// The output options are needed before anything can fail, so they are first looked for in the raw words.
void configureConsole(Console& console, std::span<const std::string> words)
{
    std::string color, progress;
    bool quiet = false, verbose = false, json = false;
    for (size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
        std::string word = words[i];
        std::string value = i + 1 < words.size() ? words[i + 1] : "";
        if (const size_t equals = word.find('='); word.starts_with("--") && equals != std::string::npos) {
            value = word.substr(equals + 1);
            word.resize(equals);
        }
        if (word == "--color") color = value;
        else if (word == "--progress") progress = value;
        else if (word == "-q" || word == "--quiet") quiet = true;
        else if (word == "-v" || word == "--verbose") verbose = true;
        else if (word == "--json") json = true;
    }
    console.configure(colorMode(color), progressMode(progress), quiet, verbose, json);
}

void configureConsole(Console& console, const Arguments& arguments)
{
    console.configure(colorMode(arguments.text("color")), progressMode(arguments.text("progress")), arguments.has("quiet"),
                      arguments.has("verbose"), arguments.has("json"));
    console.setPaging(!arguments.has("no-pager"));
}

Status checkChoices(const Arguments& arguments)
{
    const auto check = [&](std::string_view option, std::initializer_list<std::string_view> choices) -> Status {
        if (!arguments.has(option)) return {};
        const std::string value = arguments.text(option);
        if (std::find(choices.begin(), choices.end(), value) != choices.end()) return {};
        const std::vector<std::string> names(choices.begin(), choices.end());
        return Error(ErrorCode::usage, "option '--" + std::string(option) + "'")
            .found("'" + value + "'")
            .expected(join(names, ", "))
            .nearest(nearestNames(value, names));
    };
    LS_CHECK_OK(check("color", {"auto", "always", "never"}));
    LS_CHECK_OK(check("progress", {"auto", "never", "plain"}));
    LS_CHECK_OK(check("data", {"inline", "side", "none"}));
    LS_CHECK_OK(check("dialect", {"tfl", "tf", "circle"}));
    LS_CHECK_OK(check("pairing", {"address", "name", "map"}));
    LS_CHECK_OK(check("level", {"control", "statistics", "hashes", "values", "all"}));
    LS_CHECK_OK(check("print", {"all"}));
    LS_CHECK_OK(check("constants", {"all"}));
    LS_CHECK_OK(check("theme", {"light", "dark", "contrast", "system"}));
    LS_CHECK_OK(check("task", {"browse", "debug", "compare", "trace"}));
    return {};
}

Result<int> dispatch(Console& console, std::span<const std::string> typed)
{
    LS_TRY(const Config config, loadConfig());
    for (const std::string& warning : config.warnings) console.warning(warning);
    const std::vector<std::string> words = expandAlias(config, {typed.begin(), typed.end()});
    const auto isWord = [](const std::string& word) { return !word.starts_with("-") || word == "-"; };
    if (words.empty()) {
        console.print(overviewText());
        return 0;
    }
    if (words.front() == "--version" || words.front() == "-V") {
        console.line("loopscope " LOOPSCOPE_VERSION);
        return 0;
    }
    // Options may stand before the command; those that take a value are skipped with it.
    size_t at = 0;
    while (at < words.size() && !isWord(words[at])) {
        const std::string& word = words[at];
        const OptionSpec* spec = word.starts_with("--") ? findOption(std::string_view(word).substr(2)) : nullptr;
        const bool takesNext = word == "-i" || word == "-o" || (spec != nullptr && !spec->value.empty());
        at += takesNext ? 2 : 1;
    }
    if (at >= words.size()) {
        if (std::find(words.begin(), words.end(), "--version") != words.end()) {
            console.line("loopscope " LOOPSCOPE_VERSION);
            return 0;
        }
        for (const std::string& word : words)
            if (word == "-h" || word == "--help") {
                console.print(overviewText());
                return 0;
            }
        return Error(ErrorCode::usage, "no command").found("'" + words.front() + "'").note("'loopscope help' lists the commands");
    }
    std::vector<std::string> rest(words.begin(), words.end());
    const CommandSpec* command = findCommand(words[at]);
    if (command != nullptr) {
        rest.erase(rest.begin() + static_cast<ptrdiff_t>(at));
    } else {
        // `loopscope FILE` is `info FILE`.
        std::error_code error;
        if (words[at].empty()) return Error(ErrorCode::usage, "an empty word is no command");
        const bool isPath = words[at].find('/') != std::string::npos || words[at].find('.') != std::string::npos;
        if (!isPath && !std::filesystem::exists(words[at], error))
            return Error(ErrorCode::usage, "unknown command '" + words[at] + "'").nearest(nearestNames(words[at], commandNames()));
        command = findCommand("info");
    }
    LS_TRY(Arguments arguments, parseArguments(*command, rest));
    if (arguments.has("help")) {
        console.page(commandHelp(*command));
        return 0;
    }
    const std::vector<std::string> applied = applyDefaults(config, *command, arguments);
    LS_CHECK_OK(checkChoices(arguments));
    configureConsole(console, arguments);
    LS_CHECK_OK(applyMemory(arguments));
    guardMappedFiles();
    if (console.verbose())
        for (const std::string& line : applied) console.note(line);
    // What has a prompt, or a window, is not ended by one Ctrl-C.
    std::optional<Watchdog> watchdog;
    if (command->name != "debug" && command->name != "gui") watchdog.emplace(console.json());
    Result<int> code = command->run({console, arguments});
    LS_CHECK_OK(checkFilesUnchanged());
    return code;
}

} // namespace

std::span<const CommandSpec> allCommands() { return table(); }

const CommandSpec* findCommand(std::string_view name)
{
    const auto& commands = table();
    const auto found = std::find_if(commands.begin(), commands.end(), [&](const CommandSpec& c) { return c.name == name; });
    return found == commands.end() ? nullptr : &*found;
}

Result<int> runWords(Console& console, std::span<const std::string> words)
{
    configureConsole(console, words);
    Result<int> result = allocating([&] { return dispatch(console, words); });
    console.endProgress();
    return result;
}

int runCommandLine(Console& console, std::span<const std::string> words)
{
    const Result<int> result = runWords(console, words);
    if (result.ok()) return *result;
    console.error(result.error());
    return static_cast<int>(result.error().code());
}

} // namespace loopscope::app
