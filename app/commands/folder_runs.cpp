#include "app/commands/folder_runs.h"

#include "app/check/golden_case.h"
#include "app/commands/commands.h"
#include "app/commands/shared_cases.h"
#include "app/output/console.h"
#include "engine/base/clock.h"
#include "engine/tensor/npz.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>

namespace loopscope::app {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kRunCost = 4096; ///< of a run by itself, in bytes that are read

/// One run of a case as the arguments of a command. `isError`: it has to end with one.
struct FolderRun {
    std::string id;
    Arguments arguments;
    bool isError = false;
    uint64_t cost = kRunCost;
};

uint64_t bytesOf(const std::string& path)
{
    std::error_code error;
    const uintmax_t bytes = path.empty() ? 0 : fs::file_size(path, error);
    return error ? 0 : bytes;
}

/// The arrays of a run, as sources of inputs.
std::vector<std::string> sourcesOf(const GoldenRun& run)
{
    std::vector<std::string> names = run.feeds;
    if (names.empty())
        for (const GoldenTensor& input : run.inputs) names.push_back(input.name);
    std::vector<std::string> sources;
    if (run.inPath.empty()) return sources;
    const Result<NpzFile> archive = NpzFile::open(run.inPath);
    for (size_t k = 0; k < names.size(); ++k)
        if (!archive.ok() || archive->has(std::to_string(k))) sources.push_back(names[k] + "=" + run.inPath + ":" + std::to_string(k));
    return sources;
}

/// What the cases of a folder run. Runs that only initialise go before those behind them (--init); each is a run by itself, so that what
/// variables hold after other runs is not carried over.
Result<std::vector<FolderRun>> runsOf(const std::string& folder, const Arguments& typed)
{
    std::vector<FolderRun> all;
    for (const std::string& suite : goldenFolders(folder)) {
        LS_TRY(const std::vector<GoldenCase> cases, readGoldenCases(suite));
        const std::string inside = suite.size() > folder.size() ? suite.substr(folder.size() + 1) + "/" : "";
        for (const GoldenCase& golden : cases) {
            if (golden.mustNotOpen) continue;
            std::vector<std::string> initial;
            for (size_t k = 0; k < golden.runs.size(); ++k) {
                const GoldenRun& run = golden.runs[k];
                if (run.fetches.empty() && !run.targets.empty() && run.signature.empty()) {
                    initial.insert(initial.end(), run.targets.begin(), run.targets.end());
                    continue;
                }
                FolderRun made{inside + golden.id + (golden.runs.size() > 1 ? "@" + std::to_string(k) : ""), typed, run.mustFail,
                               kRunCost + bytesOf(golden.modelPath) + bytesOf(run.inPath)};
                made.arguments.positionals = {golden.modelPath};
                for (const char* key : {"filter", "jobs", "case-timeout"}) made.arguments.unset(key);
                if (std::vector<std::string> sources = sourcesOf(run); !sources.empty()) made.arguments.set("input", std::move(sources));
                if (!run.signature.empty()) made.arguments.set("signature", {run.signature});
                if (!run.fetches.empty()) made.arguments.set("fetch", run.fetches);
                if (!run.targets.empty()) made.arguments.set("target", run.targets);
                if (!initial.empty()) made.arguments.set("init", initial);
                all.push_back(std::move(made));
            }
        }
    }
    if (all.empty()) return Error(ErrorCode::badFile, "the golden cases run nothing").at(folder);
    return all;
}

/// The last line that a command has written.
std::string lastLine(FILE* file)
{
    std::rewind(file);
    std::string text;
    std::array<char, 4096> piece;
    for (size_t count = 0; (count = std::fread(piece.data(), 1, piece.size(), file)) > 0;) text.append(piece.data(), count);
    while (text.ends_with('\n')) text.pop_back();
    return text.substr(text.rfind('\n') + 1);
}

/// Runs the command in this process, with nobody to hear it. `alike`: an error of the model that has to come is as good as success.
CaseResult resultOf(const FolderRun& run, Result<int> (*command)(const CommandContext&))
{
    CaseResult result;
    result.id = run.id;
    const std::unique_ptr<FILE, int (*)(FILE*)> said(std::tmpfile(), std::fclose), told(std::tmpfile(), std::fclose);
    if (!said || !told) {
        result.message = "no room for a temporary file";
        return result;
    }
    Console console(said.get(), told.get());
    const Result<int> code = command({console, run.arguments});
    const ErrorCode error = code.ok() ? ErrorCode::usage : code.error().code();
    const bool isOfModel = error == ErrorCode::execution || error == ErrorCode::badFile;
    if (code.ok() ? *code == 0 : run.isError && isOfModel) {
        result.verdict = Verdict::pass;
        return result;
    }
    result.verdict = !code.ok() && error == ErrorCode::unsupported ? Verdict::unsupported : Verdict::fail;
    result.message = code.ok() ? lastLine(said.get()) : code.error().message();
    return result;
}

/// Runs of a folder as jobs of a command, on all ranks.
Result<int> sweep(const CommandContext& context, const char* verb, Result<std::vector<FolderRun>> (*prepare)(const Arguments&),
                  Result<int> (*command)(const CommandContext&))
{
    Console& console = context.console;
    const Arguments& arguments = context.arguments;
    if (arguments.has("distributed")) return Error(ErrorCode::usage, "option '--distributed' is not for a folder of cases");
    const auto jobsOf = [&]() -> Result<std::vector<CaseJob>> {
        LS_TRY(std::vector<FolderRun> runs, prepare(arguments));
        std::vector<CaseJob> jobs;
        for (FolderRun& run : runs) {
            std::string id = run.id;
            const uint64_t cost = run.cost;
            jobs.push_back({std::move(id), [run = std::move(run), command] { return resultOf(run, command); }, cost});
        }
        LS_CHECK_OK(filterCases(arguments, jobs));
        return jobs;
    };
    std::unique_ptr<Ranks> ranks;
    if (hasRanks()) {
        LS_TRY(ranks, Ranks::join());
        if (!ranks->isFirst()) return helpWithCases(arguments, *ranks, jobsOf());
    }
    const int64_t started = nowNs();
    LS_TRY(const std::vector<CaseJob> jobs, jobsOf());
    LS_TRY(const std::vector<CaseResult> results, runCases(console, arguments, ranks.get(), jobs, verb));
    if (!console.json()) printCases(console, results, jobs.size(), static_cast<double>(nowNs() - started) / 1e9);
    return exitCodeOf(results);
}

std::string withoutSlash(const std::string& folder)
{
    return folder.size() > 1 && folder.ends_with("/") ? folder.substr(0, folder.size() - 1) : folder;
}

/// Recordings stand in folders as the cases do.
Result<std::vector<FolderRun>> tracedRuns(const Arguments& arguments)
{
    const std::string folder = withoutSlash(arguments.positionals[0]);
    const std::string target = arguments.text("output", fs::path(folder).filename().string() + ".traces");
    LS_TRY(std::vector<FolderRun> runs, runsOf(folder, arguments));
    for (FolderRun& run : runs) {
        const std::string path = target + "/" + run.id + ".lstrace";
        std::error_code error;
        fs::create_directories(fs::path(path).parent_path(), error);
        if (error) return Error(ErrorCode::cannotWrite, "the folder cannot be made: " + error.message()).at(path);
        run.arguments.set("output", {path});
    }
    return runs;
}

Result<std::vector<FolderRun>> provedRuns(const Arguments& arguments)
{
    LS_TRY(std::vector<FolderRun> runs, runsOf(withoutSlash(arguments.positionals[0]), arguments));
    if (arguments.positionals.size() == 1) return runs;
    const std::string other = withoutSlash(arguments.positionals[1]);
    std::map<std::string, std::string> models; // by run
    LS_TRY(const std::vector<FolderRun> others, runsOf(other, arguments));
    for (const FolderRun& run : others) models[run.id] = run.arguments.positionals[0];
    std::erase_if(runs, [&](const FolderRun& run) { return !models.contains(run.id); });
    if (runs.empty()) return Error(ErrorCode::usage, "the two folders have no run of a case in common");
    for (FolderRun& run : runs) run.arguments.positionals.push_back(models[run.id]);
    return runs;
}

} // namespace

bool namesGoldenFolder(const Arguments& arguments)
{
    std::error_code error;
    const std::string folder = arguments.positionals.empty() ? "" : withoutSlash(arguments.positionals[0]);
    if (folder.empty() || !fs::is_directory(folder, error) || fs::exists(folder + "/saved_model.pb", error)) return false;
    return !goldenFolders(folder).empty();
}

Result<int> traceFolder(const CommandContext& context) { return sweep(context, "recording", tracedRuns, runTrace); }

Result<int> proveFolder(const CommandContext& context) { return sweep(context, "proving", provedRuns, runProve); }

} // namespace loopscope::app
