// `loopscope prove`: whether two programs compute the same, held against each other value by value on inputs that are given and drawn.
#include "app/commands/commands.h"
#include "app/commands/folder_runs.h"
#include "app/output/console.h"
#include "app/output/json_writer.h"
#include "app/wiring/backend.h"
#include "app/wiring/model_file.h"
#include "app/wiring/proof_run.h"
#include "app/wiring/session.h"
#include "app/wiring/tf_target.h"

namespace loopscope::app {

namespace {

Result<ProofNames> namesOf(const Arguments& arguments)
{
    ProofNames names;
    for (const std::string& text : arguments.all("pair")) {
        const size_t equals = text.find('=');
        if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
            return Error(ErrorCode::usage, "option '--pair'")
                .found("'" + text + "'")
                .expected("NAME=NAME, a value of the first program and one of the second");
        names[text.substr(0, equals)] = text.substr(equals + 1);
    }
    return names;
}

/// The second program: another file, or the same with other kernels, which `profile` then says.
Status openSecond(LoadedModel& second, Profile& profile, const LoadedModel& first, const RunTarget& target, const ProofNames& names,
                  const Arguments& arguments)
{
    const std::string against = arguments.text("against", arguments.text("against-profile"));
    if (arguments.positionals.size() == 2) {
        if (!against.empty()) return Error(ErrorCode::usage, "'prove' takes a second file or --against, not both");
        LS_TRY(second, loadModel(arguments.positionals[1]));
        LS_CHECK_OK(selectAlike(second.model, first.model, target, names, arguments.all("target")));
        return {};
    }
    for (const Profile known : {Profile::reference, Profile::fast, Profile::xnnpack, Profile::vulkan})
        if (against == profileName(known)) {
            if (known == Profile::vulkan) LS_CHECK_OK(openDevice(arguments));
            profile = known;
            LS_TRY(second, loadModel(arguments.positionals[0]));
            return selectFromArguments(second, arguments);
        }
    if (!against.empty())
        return Error(ErrorCode::usage, "option '--against'").found("'" + against + "'").expected("reference, fast, xnnpack or vulkan");
    return Error(ErrorCode::usage, "a second program is missing").at("'prove'").expected("loopscope prove A B or prove A --against fast");
}

} // namespace

Result<int> runProve(const CommandContext& context)
{
    Console& console = context.console;
    const Arguments& arguments = context.arguments;
    if (namesGoldenFolder(arguments)) return proveFolder(context);
    LS_TRY(const ProofNames names, namesOf(arguments));
    LS_TRY(LoadedModel first, loadModel(arguments.positionals[0]));
    LS_CHECK_OK(selectFromArguments(first, arguments));
    LS_TRY(const RunTarget target, targetOf(first, arguments.text("signature")));
    LS_TRY(const ExecutionOptions options, executionOptions(arguments));
    LoadedModel second;
    Profile profile = options.profile;
    LS_CHECK_OK(openSecond(second, profile, first, target, names, arguments));
    LS_TRY(const RunTarget other, targetOf(second, arguments.positionals.size() == 2 ? "" : arguments.text("signature")));
    LS_TRY(ProofRequest asked, proofRequest(console, arguments, target, 0));
    asked.profile = profile;
    LS_TRY(asked.pair, pairForProof(first.model, target, second.model, other, names));
    if (!console.json())
        for (const std::string& line : pairingLines(asked)) console.line(line);
    LS_TRY(const ProofOutcome outcome, proveAll(console, asked));
    if (console.json()) {
        JsonWriter json;
        json.beginObject().key("schema").value(1);
        addProof(json, asked, outcome);
        console.line(json.endObject().text());
    } else {
        for (const std::string& line : outcomeLines(console, asked, outcome)) console.line(line);
    }
    return exitCodeOf(outcome);
}

} // namespace loopscope::app
