#include "app/wiring/command_line.h"

#include "engine/base/text.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace loopscope::app {

namespace {

constexpr std::array kOptions = {
    OptionSpec{"input", 'i', "NAME=SOURCE", "asked for by name if missing",
               "input: FILE.npy, FILE.npz[:KEY], FILE.csv, FILE.raw, -, 27, [1,2], @rand, @7[0,1]; :cast, :quantize; or a whole .npz",
               true},
    OptionSpec{"feed", 0, "NAME=SOURCE", "", "the same as --input, for TensorFlow users", true},
    OptionSpec{"fetch", 0, "NAME", "all outputs", "TensorFlow graphs: values that are computed (a,b); what they do not need is left out",
               true},
    OptionSpec{"target", 0, "NODE", "none", "TensorFlow graphs: an operator that runs without being fetched", true},
    OptionSpec{"init", 0, "NODE", "as the model says", "TensorFlow graphs: an operator that runs once before anything else", true},
    OptionSpec{"checkpoint", 0, "PREFIX", "that beside a .meta", "TensorFlow graphs: values of variables, PREFIX.index and PREFIX.data-…",
               false},
    OptionSpec{"asset", 0, "NAME=FILE", "those of a SavedModel", "TensorFlow graphs: the file that the graph reads under NAME", true},
    OptionSpec{"signature", 0, "NAME", "the only one, else serving_default", "which entry point to run", false},
    OptionSpec{"output", 'o', "FILE", "stdout where text", "where the result goes; its extension chooses the format", false},
    OptionSpec{"format", 0, "F", "by extension", "output format, whatever the file is called", false},
    OptionSpec{"json", 0, "", "", "machine form, one object per line; errors too", false},
    OptionSpec{"backend", 0, "cpu|vulkan|auto", "cpu", "where operators run", false},
    OptionSpec{"device", 0, "NAME", "the first GPU", "which device: a part of its name, its index or its type in 'devices'", false},
    OptionSpec{
        "place", 0, "PATTERN=DEVICE", "none",
        "which device runs an operator: a kind (add), an operator (main/add#2) or a node (while/*); 'cpu': not the GPU; TensorFlow graphs "
        "are cut between other names, or random:N:SEED",
        true},
    OptionSpec{"distributed", 0, "", "",
               "every device's part runs by itself: on ranks of mpirun, else on threads of this process (docs/distributed.md)", false},
    OptionSpec{"strict", 0, "", "", "an error if an operator has to run on the CPU, or if something cannot be raised", false},
    OptionSpec{"profile", 0, "reference|fast|xnnpack", "reference", "how exactly operators compute", false},
    OptionSpec{"seed", 0, "N", "1", "seed of @rand inputs and random operators", false},
    OptionSpec{"schedule-seed", 0, "N", "the documented order", "v1 graphs: in which order nodes run that could run at the same time",
               false},
    OptionSpec{"runs", 0, "N", "1", "runs in one session; variables carry over", false},
    OptionSpec{"calls", 0, "N", "as --each and --until say", "the model is called N times in a loop, which is one run (docs/host_loop.md)",
               false},
    OptionSpec{"feed-back", 0, "OUT=IN", "none", "of such a loop: the output of a call is that input of the next one", true},
    OptionSpec{"each", 0, "NAME=SOURCE", "none", "of such a loop: an input of which every call gets the next entry of the first axis",
               true},
    OptionSpec{"let", 0, "IN=EXPRESSION", "none", "of such a loop: what an input of the next call is, from what the last one gave", true},
    OptionSpec{"until", 0, "CONDITION", "none", "of such a loop: it ends after the call of which it holds, as token==2", false},
    OptionSpec{"before", 0, "SIGNATURE", "none",
               "of such a loop: an entry point that is called once in front of it, as prefill; several in turn", true},
    OptionSpec{"save-loop", 0, "", "", "keep that loop in MODEL.loop.toml, beside the model", false},
    OptionSpec{"no-loop", 0, "", "", "without the loop of MODEL.loop.toml", false},
    OptionSpec{"threads", 0, "N", "cores", "never changes results", false},
    OptionSpec{"max-steps", 0, "N", "1e9", "operators after which a run ends with exit code 5", false},
    OptionSpec{"max-depth", 0, "N", "256", "nested calls after which a run ends with exit code 5", false},
    OptionSpec{"timeout", 0, "SEC", "none", "seconds after which a run ends with exit code 5", false},
    OptionSpec{
        "memory", 0, "SIZE", "half of what is free",
        "most memory for unpacking and for what files ask for: 500MiB, 8GiB; of stacks and arrays half of it, the rest lies in a file",
        false},
    OptionSpec{"only", 0, "PATTERN", "all", "operators to record or compare", true},
    OptionSpec{"except", 0, "PATTERN", "none", "operators not to record or compare", true},
    OptionSpec{"iterations", 0, "SPEC", "all", "iterations whose values are kept: all%10, 0..63,last-63..last, pow2", false},
    OptionSpec{"rtol", 0, "R", "1e-5", "relative tolerance: |a - b| <= atol + rtol |b|", false},
    OptionSpec{"atol", 0, "A", "1e-6", "absolute tolerance", false},
    OptionSpec{"ulp", 0, "N", "none", "tolerance in units in the last place", false},
    OptionSpec{"cosine", 0, "C", "none", "least cosine similarity of whole tensors", false},
    OptionSpec{"bitwise", 0, "", "", "compare bit by bit", false},
    OptionSpec{"color", 0, "auto|always|never", "auto", "colour", false},
    OptionSpec{"progress", 0, "auto|never|plain", "auto", "progress line on stderr", false},
    OptionSpec{"no-pager", 0, "", "", "never page", false},
    OptionSpec{"force", 0, "", "", "overwrite existing outputs; fuse: keep what misses its class; prove: of no effect", false},
    OptionSpec{"quiet", 'q', "", "", "errors only", false},
    OptionSpec{"verbose", 'v', "", "", "timings and decisions", false},
    OptionSpec{"jobs", 0, "N", "cores", "cases at a time", false},
    OptionSpec{"help", 'h', "", "", "this page", false},
    OptionSpec{"version", 0, "", "", "version of the program", false},
    // Own options of single commands.
    OptionSpec{"warmup", 0, "N", "3", "runs before those that are timed", false},
    OptionSpec{"repeat", 0, "N", "30", "runs that are timed", false},
    OptionSpec{"beside", 0, "litert|tensorflow", "none", "the same runs there: the file, its inputs, as many threads", false},
    OptionSpec{"ops", 0, "", "", "all operators by count", false},
    OptionSpec{"tensors", 0, "", "", "all values with types and sizes", false},
    OptionSpec{"metadata", 0, "", "", "metadata entries", false},
    OptionSpec{"structured", 0, "", "", "If and While bodies inline, as a program", false},
    OptionSpec{"numbers", 0, "", "", "operator numbers, the n of kind#n, in the gutter", false},
    OptionSpec{"addresses", 0, "", "", "the address of each operator as a comment", false},
    OptionSpec{"origin", 0, "", "", "file index and tensor numbers as comments", false},
    OptionSpec{"shapes", 0, "", "", "inferred shapes where they differ from the declared ones", false},
    OptionSpec{"full", 0, "", "", "every constant and attribute in full", false},
    OptionSpec{"time", 0, "", "", "time per operator", false},
    OptionSpec{"dequantize", 0, "", "", "quantized outputs as the real numbers they stand for, f32", false},
    OptionSpec{"print", 0, "all", "edges of large values", "print outputs in full", false},
    OptionSpec{"level", 0, "LEVEL", "statistics", "what is recorded: control, statistics, hashes, values, all", false},
    OptionSpec{"keep", 0, "PATTERN", "none", "values whose bytes are stored (with --level values)", true},
    OptionSpec{"quota", 0, "SIZE", "half the free space, at most 8 GiB", "largest size of the trace: 500MiB, 2GiB", false},
    OptionSpec{"on-alert", 0, "N", "0", "store values of N iterations around an alert", false},
    OptionSpec{"durable", 0, "", "", "survive power loss, not only a crash", false},
    OptionSpec{"append", 0, "", "", "go on in a trace that is there: further runs in one file", false},
    OptionSpec{"no-index", 0, "", "", "leave out the indexes", false},
    OptionSpec{"constants", 0, "all", "up to 64 KiB", "store constants of any size", false},
    OptionSpec{"sparse", 0, "", "", "drop events of iterations that are not sampled", false},
    OptionSpec{"list", 0, "", "", "list the recipes", false},
    OptionSpec{"sql", 0, "", "", "show the SQL text instead of running it", false},
    OptionSpec{"csv", 0, "", "", "comma-separated values", false},
    OptionSpec{"column", 0, "NAME", "the last that is a number", "query --format model-explorer: the numbers that nodes get", false},
    OptionSpec{"node-data", 0, "FILE.json", "none", "numbers of nodes, as Model Explorer reads them: their operators are coloured by them",
               false},
    OptionSpec{"limit", 0, "N", "40", "rows to print; 0 = all", false},
    OptionSpec{"limit-time", 0, "SEC", "5", "seconds after which a query is stopped", false},
    OptionSpec{"against-profile", 0, "reference|fast|xnnpack|vulkan", "none", "diff: the kernels that the model is run with a second time",
               false},
    OptionSpec{"pairing", 0, "address|name|map", "address", "how places of the two sides are paired", false},
    OptionSpec{"first", 0, "", "", "the first difference only (default)", false},
    OptionSpec{"all", 0, "", "", "every difference", false},
    OptionSpec{"counter", 0, "VALUE", "none", "a value shown as a counter per iteration (Perfetto)", true},
    OptionSpec{"graph", 0, "ADDRESS", "the primary graph", "what is drawn: main, main/while#1:body", false},
    OptionSpec{"expand", 0, "all|none|ID", "small calls, no groups",
               "what is drawn open: everything, nothing, a call (main/while#1) or a group (main//block_13)", true},
    OptionSpec{"data", 0, "inline|side|none", "by size", "where the bytes of constants go in .lsir output", false},
    OptionSpec{"passes", 0, "LIST", "raise, or all rules", "raise: passes to run, in this order ('loopscope passes'); fuse: rules to use",
               false},
    OptionSpec{"report", 0, "FILE", "none", "what was done and what was not, as .md, .json or a page .html with pictures", false},
    OptionSpec{"freeze", 0, "", "", "TensorFlow graphs: variables become constants; refused for those that are written", false},
    OptionSpec{"allow-custom", 0, "", "", "keep operators without a form in TFLite as custom operators", false},
    OptionSpec{"skip", 0, "LIST", "none", "passes, or rules of fuse, to leave out", false},
    OptionSpec{"why", 0, "OPERATOR", "none", "fuse: only tell why the operator was not fused, or into what", false},
    OptionSpec{"unfuse", 0, "", "", "fuse: the other way: operators become what they are made of, where nothing is lost", false},
    OptionSpec{"near", 0, "R", "0", "fuse: constants may be off those of a pattern by this part of them; what is so is approximate", false},
    OptionSpec{"tanh", 0, "", "", "fuse: TANH goes into other operators, for runtimes whose kernels run it there", false},
    OptionSpec{"batch-size", 0, "N", "none",
               "fuse: inputs whose first dimension is unknown take batches of N, as operators with states need to know", false},
    OptionSpec{"composites", 0, "operator|keep|body", "keep; of fuse operator",
               "composites of StableHLO: the operator of their name, themselves, or what their body computes", false},
    OptionSpec{"of", 0, "NAME", "none", "the values whose gradient is computed: the sum of all their elements (a,b)", true},
    OptionSpec{"wrt", 0, "NAME", "none", "what the gradient is taken by, one each (x,w:1); of a variable: its handle", true},
    OptionSpec{
        "recompute", 0, "PATTERN", "none",
        "operators in functions that backpropagation computes again instead of keeping what they gave: a kind (Tanh) or a name (mlp/*)",
        true},
    OptionSpec{"stacks", 0, "", "",
               "loops keep values of 1 KiB and more on stacks, which --memory puts on disk; no second derivatives then", false},
    OptionSpec{"show", 0, "LIST", "none", "passes before and after which the model is printed", false},
    OptionSpec{"dialect", 0, "tfl|tf|circle", "all", "operators of one dialect", false},
    OptionSpec{"markdown", 0, "", "", "the status page of the documentation", false},
    OptionSpec{"filter", 0, "REGEX", "all", "cases whose id matches", false},
    OptionSpec{"update", 0, "", "", "rewrite expected replies of text tests", false},
    OptionSpec{"against", 0, "FILE", "none",
               "another model, or arrays (.npz): stop where values differ from it; prove: a profile of kernels", false},
    OptionSpec{"trace", 0, "FILE", "none", "step through a recording instead of running a model", false},
    OptionSpec{"script", 0, "FILE", "none", "debugger commands to begin with, one per line", true},
    OptionSpec{"ex", 0, "COMMAND", "none", "a debugger command, after the scripts", true},
    OptionSpec{"batch", 0, "", "", "no prompt: end after the commands, with an exit code", false},
    OptionSpec{"rc", 0, "", "", "run .loopscoperc of this folder first", false},
    OptionSpec{"listen", 0, "PORT", "none", "a port of this machine for clients, which give the token that is printed; 0: a free one",
               false},
    OptionSpec{"goto", 0, "ADDRESS", "none", "desktop: the place to go to, as the debugger's goto takes it", false},
    OptionSpec{"screenshot", 0, "FILE.png", "none", "desktop: draw the window into a file, without a screen, and end", false},
    OptionSpec{"size", 0, "WxH", "1280x800", "desktop: size of the window; 1280x800@2 draws at double resolution", false},
    OptionSpec{"theme", 0, "light|dark|contrast|system", "as set in the window", "desktop: colours", false},
    OptionSpec{"task", 0, "browse|debug|compare|trace", "by what is opened", "desktop: arrangement of the panels", false},
    OptionSpec{"exec", 0, "COMMAND", "none", "desktop: a debugger command, or action.NAME, before --goto", true},
    OptionSpec{"prove", 0, "", "", "hold the result against what it was made of, on given inputs or 8 drawn ones", false},
    OptionSpec{"samples", 0, "N", "0", "inputs that are drawn from declared shapes and dtypes, corner values among them", false},
    OptionSpec{"minimize", 0, "", "", "make the inputs that show a difference as small as they can be", false},
    OptionSpec{"pair", 0, "NAME=NAME", "by name", "a value of the first program and the one of the second that it is", true},
    OptionSpec{"repair", 0, "", "", "end in the file what a killed recorder left open, then check it", false},
    OptionSpec{"bits", 0, "", "", "count the cases whose floats are equal bit for bit", false},
    OptionSpec{"case-timeout", 0, "SEC", "60", "seconds after which a case counts as hung", false},
};

constexpr std::array<std::string_view, 8> kGlobal = {"json", "color", "progress", "no-pager", "quiet", "verbose", "memory", "help"};

std::vector<std::string> namesOf(const CommandSpec& command)
{
    std::vector<std::string> names;
    for (std::string_view name : command.options) names.emplace_back("--" + std::string(name));
    for (std::string_view name : kGlobal) names.emplace_back("--" + std::string(name));
    return names;
}

Error badValue(std::string_view option, const std::string& value, const std::string& expected)
{
    return Error(ErrorCode::usage, "option '--" + std::string(option) + "'").found("'" + value + "'").expected(expected);
}

} // namespace

std::span<const OptionSpec> allOptions() { return kOptions; }
std::span<const std::string_view> globalOptions() { return kGlobal; }

const OptionSpec* findOption(std::string_view name)
{
    const auto* found = std::find_if(kOptions.begin(), kOptions.end(), [&](const OptionSpec& o) { return o.name == name; });
    return found == kOptions.end() ? nullptr : found;
}

std::string Arguments::text(std::string_view option, std::string_view otherwise) const
{
    const auto found = m_values.find(option);
    return found == m_values.end() || found->second.empty() ? std::string(otherwise) : found->second.back();
}

std::vector<std::string> Arguments::all(std::string_view option) const
{
    const auto found = m_values.find(option);
    return found == m_values.end() ? std::vector<std::string>() : found->second;
}

Result<int64_t> Arguments::integer(std::string_view option, int64_t otherwise, int64_t least, int64_t most) const
{
    if (!has(option)) return otherwise;
    const std::string value = text(option);
    int64_t number = 0;
    const char* end = value.data() + value.size();
    if (const auto [at, error] = std::from_chars(value.data(), end, number); error != std::errc() || at != end) {
        double wide = 0;
        const auto [wideAt, wideError] = std::from_chars(value.data(), end, wide);
        if (wideError != std::errc() || wideAt != end || wide != std::floor(wide) || std::fabs(wide) > 9e15)
            return badValue(option, value, "a whole number");
        number = static_cast<int64_t>(wide);
    }
    if (number < least || number > most)
        return badValue(option, value,
                        most == INT64_MAX ? "at least " + std::to_string(least) : std::to_string(least) + " to " + std::to_string(most));
    return number;
}

Result<double> Arguments::real(std::string_view option, double otherwise) const
{
    if (!has(option)) return otherwise;
    const std::string value = text(option);
    double number = 0;
    const auto [at, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc() || at != value.data() + value.size() || std::isnan(number)) return badValue(option, value, "a number");
    return number;
}

Result<Arguments> parseArguments(const CommandSpec& command, std::span<const std::string> words)
{
    // `--` is taken here: what follows are positionals, however they begin.
    const auto end = std::find(words.begin(), words.end(), "--");
    std::vector<std::string> parsed(words.begin(), end);
    std::reverse(parsed.begin(), parsed.end()); // CLI11 takes its words from the back

    CLI::App app;
    app.set_help_flag();
    app.allow_extras();
    std::map<std::string_view, std::vector<std::string>> values;
    std::map<std::string_view, bool> flags;
    const auto declare = [&](std::string_view name) {
        const OptionSpec& spec = *findOption(name);
        std::string spelling = "--" + std::string(name);
        if (spec.shortName != 0) spelling = std::string("-") + spec.shortName + "," + spelling;
        if (spec.value.empty()) app.add_flag(spelling, flags[name]);
        else
            app.add_option(spelling, values[name])
                ->expected(1)
                ->allow_extra_args(false)
                ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    };
    for (std::string_view name : command.options) declare(name);
    for (std::string_view name : kGlobal) declare(name);
    try {
        app.parse(parsed);
    } catch (const CLI::ArgumentMismatch& error) {
        const std::string what = error.what(); // "--rtol: 1 required TEXT missing"
        return Error(ErrorCode::usage, "option '" + what.substr(0, what.find(':')) + "' needs a value");
    } catch (const CLI::Error& error) {
        return Error(ErrorCode::usage, error.what()).at("'" + std::string(command.name) + "'");
    }

    Arguments arguments;
    for (const auto& [name, given] : flags)
        if (given) arguments.set(std::string(name), {});
    for (auto& [name, given] : values) {
        if (given.empty()) continue;
        if (given.size() > 1 && !findOption(name)->repeats)
            return Error(ErrorCode::usage,
                         "option '--" + std::string(name) + "' is given " + std::to_string(given.size()) + " times, expected once");
        arguments.set(std::string(name), std::move(given));
    }
    const std::vector<std::string> remaining = app.remaining();
    for (size_t i = 0; i < remaining.size(); ++i) {
        const std::string& word = remaining[i];
        if (word.size() <= 1 || word[0] != '-') {
            arguments.positionals.push_back(word);
            continue;
        }
        const size_t equals = word.find('=');
        const std::string name = word.substr(0, equals);
        if (!command.freeOptions || !name.starts_with("--"))
            return Error(ErrorCode::usage, "unknown option '" + name + "' for '" + std::string(command.name) + "'")
                .nearest(nearestNames(name, namesOf(command)));
        if (equals == std::string::npos && i + 1 >= remaining.size()) return Error(ErrorCode::usage, "option '" + name + "' needs a value");
        arguments.free.emplace_back(name.substr(2), equals == std::string::npos ? remaining[++i] : word.substr(equals + 1));
    }
    if (end != words.end()) arguments.positionals.insert(arguments.positionals.end(), end + 1, words.end());
    if (arguments.has("help")) return arguments;

    const auto count = static_cast<int>(arguments.positionals.size());
    if (count < command.minPositionals || (command.maxPositionals >= 0 && count > command.maxPositionals)) {
        const std::string what =
            count < command.minPositionals ? "something is missing" : "unexpected '" + arguments.positionals.back() + "'";
        return Error(ErrorCode::usage, what)
            .at("'" + std::string(command.name) + "'")
            .expected("loopscope " + std::string(command.synopsis))
            .note("for example: " + std::string(command.example));
    }
    return arguments;
}

std::string commandHelp(const CommandSpec& command)
{
    std::string out = std::string(command.summary) + "\n\n    $ " + std::string(command.example) + "\n\nusage: loopscope " +
                      std::string(command.synopsis) + "\n";
    const auto describe = [&](std::string_view name) {
        const OptionSpec& spec = *findOption(name);
        std::string head = spec.shortName != 0 ? std::string("-") + spec.shortName + ", --" : "    --";
        head += spec.name;
        if (!spec.value.empty()) head += " " + std::string(spec.value);
        if (head.size() < 30) head.resize(30, ' ');
        else head += "\n" + std::string(32, ' ');
        out += "  " + head + std::string(spec.help);
        if (!spec.fallback.empty()) out += " (" + std::string(spec.fallback) + ")";
        out += '\n';
    };
    if (!command.options.empty()) out += "\noptions (default in brackets)\n";
    for (std::string_view name : command.options) describe(name);
    out += "\noptions of every command\n";
    for (std::string_view name : kGlobal) describe(name);
    return out;
}

} // namespace loopscope::app
