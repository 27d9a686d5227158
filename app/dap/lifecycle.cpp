// How a session begins and ends: what the client may ask for, what it opens, when the run starts.
#include "app/dap/requests.h"
#include "app/dap/server.h"
#include "app/wiring/input_sources.h"
#include "app/wiring/session.h"
#include "app/wiring/subject.h"
#include "engine/api/inputs/inputs.h"

#include <array>
#include <string_view>
#include <unistd.h>

namespace loopscope::app::dap {

namespace {

struct ExceptionFilter {
    const char *name, *label, *description;
    bool isDefault;
};
constexpr std::array kFilters = {
    ExceptionFilter{"nan", "NaN", "An operator writes a NaN", true},
    ExceptionFilter{"nan-born", "NaN is born", "An operator writes a NaN and reads none", false},
    ExceptionFilter{"inf", "Infinity", "An operator writes an infinity", false},
    ExceptionFilter{"overflow", "Integer overflow", "An integer result wraps", false},
    ExceptionFilter{"denormal", "Denormal", "An operator writes a denormal number", false},
    ExceptionFilter{"differs", "Differs from the reference", "A value is beyond the tolerance of the reference run", true},
    ExceptionFilter{"error", "Error", "An operator fails; always on", true},
};

/// Members of `launch` that are options of the command line with the same meaning.
constexpr std::array<std::string_view, 18> kTexts = {"signature", "against", "profile",       "backend",   "device", "seed",
                                                     "runs",      "threads", "max-steps",     "max-depth", "rtol",   "atol",
                                                     "ulp",       "cosine",  "schedule-seed", "memory",    "calls",  "until"};
constexpr std::array<std::string_view, 9> kLists = {"fetch", "target", "init", "asset", "place", "feed-back", "each", "let", "before"};

Json capabilities()
{
    Json body = Json::object();
    for (const char* const can : {"supportsConfigurationDoneRequest",
                                  "supportsFunctionBreakpoints",
                                  "supportsConditionalBreakpoints",
                                  "supportsHitConditionalBreakpoints",
                                  "supportsEvaluateForHovers",
                                  "supportsStepBack",
                                  "supportsSetVariable",
                                  "supportsRestartFrame",
                                  "supportsGotoTargetsRequest",
                                  "supportsStepInTargetsRequest",
                                  "supportsCompletionsRequest",
                                  "supportsModulesRequest",
                                  "supportsRestartRequest",
                                  "supportsExceptionInfoRequest",
                                  "supportTerminateDebuggee",
                                  "supportsDelayedStackTraceLoading",
                                  "supportsLoadedSourcesRequest",
                                  "supportsLogPoints",
                                  "supportsTerminateThreadsRequest",
                                  "supportsSetExpression",
                                  "supportsTerminateRequest",
                                  "supportsDataBreakpoints",
                                  "supportsReadMemoryRequest",
                                  "supportsWriteMemoryRequest",
                                  "supportsDisassembleRequest",
                                  "supportsCancelRequest",
                                  "supportsBreakpointLocationsRequest",
                                  "supportsClipboardContext",
                                  "supportsSteppingGranularity",
                                  "supportsInstructionBreakpoints",
                                  "supportsExceptionFilterOptions"})
        body.set(can, true);
    Json filters = Json::array();
    for (const ExceptionFilter& filter : kFilters) {
        Json one = Json::object();
        one.set("filter", filter.name).set("label", filter.label).set("description", filter.description);
        one.set("default", filter.isDefault).set("supportsCondition", std::string_view(filter.name) != "error");
        if (std::string_view(filter.name) != "error") one.set("conditionDescription", "an expression, as any(x > 1e3)");
        filters.push(std::move(one));
    }
    body.set("exceptionBreakpointFilters", std::move(filters));
    body.set("completionTriggerCharacters", Json::array().push("/").push(".").push("#"));
    return body;
}

/// What stands for a source after `-i NAME=`.
std::string sourceText(const Json& value) { return value.isText() ? value.text() : value.dump(); }

Result<std::vector<std::string>> inputsOf(const Json& inputs)
{
    std::vector<std::string> sources;
    if (!inputs.isNull() && !inputs.isObject() && !inputs.isArray())
        return Error(ErrorCode::usage, "argument 'inputs'").found(inputs.dump().substr(0, 60)).expected("an object of name to source");
    for (const auto& [name, value] : inputs.members()) {
        const bool isPlain = name.find_first_of("=\" ") == std::string::npos;
        sources.push_back((isPlain ? name : "\"" + name + "\"") + "=" + sourceText(value));
    }
    for (const Json& one : inputs.items()) sources.push_back(sourceText(one));
    if (readsStandardInput(sources)) return Error(ErrorCode::usage, "standard input carries the protocol and can be no input");
    return sources;
}

Result<Arguments> argumentsOf(const Json& asked)
{
    Arguments arguments;
    LS_TRY(std::vector<std::string> inputs, inputsOf(asked["inputs"]));
    if (!inputs.empty()) arguments.set("input", std::move(inputs));
    for (const std::string_view option : kTexts)
        if (asked.has(option)) arguments.set(std::string(option), {sourceText(asked[option])});
    for (const std::string_view option : kLists) {
        std::vector<std::string> values;
        for (const Json& one : asked[option].items()) values.push_back(sourceText(one));
        if (asked[option].isText()) values.push_back(asked[option].text());
        if (!values.empty()) arguments.set(std::string(option), std::move(values));
    }
    return arguments;
}

void tellOpened(Server& server)
{
    Json process = Json::object();
    process.set("name", server.session().name()).set("systemProcessId", static_cast<int64_t>(getpid())).set("isLocalProcess", true);
    server.event("process", process.set("startMethod", server.launched.isAttached ? "attach" : "launch"));
    server.event("thread", Json::object().set("reason", "started").set("threadId", 1));
    for (const Source& source : server.sources->all())
        server.event("loadedSource", Json::object().set("reason", "new").set("source", Sources::describe(source)));
    if (server.session().isReplay()) {
        Json fewer = Json::object();
        for (const char* const cannot : {"supportsSetVariable", "supportsSetExpression", "supportsWriteMemoryRequest"})
            fewer.set(cannot, false);
        server.event("capabilities", Json::object().set("capabilities", std::move(fewer)));
    }
    server.event("initialized");
}

/// The reference run as a session of its own beside this one, stepped by itself.
Status openBeside(Server& server, const Json& asked)
{
    const std::string against = asked["against"].text();
    if (against.empty())
        return Error(ErrorCode::usage, "nothing is named beside this")
            .at("argument 'beside'")
            .expected("'against', a model or a recording");
    if (against.ends_with(".npz") || against.ends_with(".npy"))
        return Error(ErrorCode::usage, "arrays do not run")
            .at("argument 'beside'")
            .found("'" + against + "'")
            .expected("a model or a recording");
    if (!server.client.startsSessions)
        return Error(ErrorCode::usage, "this client can begin no other session")
            .at("argument 'beside'")
            .expected("'supportsStartDebuggingRequest' in 'initialize'");
    Json configuration = Json::object();
    configuration.set("name", against).set("stopOnEntry", true);
    if (against.ends_with(".lstrace")) configuration.set("trace", against);
    else configuration.set("program", against);
    for (const std::string_view same : {"inputs", "cwd", "view", "seed", "token"})
        if (asked.has(same) && !(against.ends_with(".lstrace") && same == "inputs")) configuration.set(same, asked[same]);
    server.later([&server, configuration = std::move(configuration), isTrace = against.ends_with(".lstrace")] {
        server.ask("startDebugging", Json::object().set("request", isTrace ? "attach" : "launch").set("configuration", configuration));
    });
    return {};
}

Result<Json> open(Server& server, const Json& asked, bool isAttached)
{
    if (!server.takeToken(asked)) {
        server.end();
        return Error(ErrorCode::usage, "wrong token").expected("the 'token' that was printed when the server began to listen");
    }
    if (server.terminal) return Error(ErrorCode::usage, "'launch' came twice");
    LaunchOptions launched;
    launched.isAttached = isAttached;
    launched.stopOnEntry = asked["stopOnEntry"].truth(isAttached);
    launched.stopAtEnd = asked["stopAtEnd"].truth(true);
    launched.noDebug = asked["noDebug"].truth();
    const std::string program = asked["program"].text(), trace = asked["trace"].text();
    if (program.empty() && trace.empty())
        return Error(ErrorCode::usage, "nothing is named").expected("'program', a model, or 'trace', a recording");
    if (const std::string folder = asked["cwd"].text(); !folder.empty() && chdir(folder.c_str()) != 0)
        return Error(ErrorCode::usage, "no such folder").at("argument 'cwd'").found("'" + folder + "'");
    LS_TRY(Arguments arguments, argumentsOf(asked));
    const bool records = !program.empty() && !trace.empty();
    launched.program = program.empty() ? trace : program;
    LS_TRY(const ExecutionOptions execution, executionOptions(arguments));
    if (program.empty()) arguments.set("trace", {trace});
    else arguments.positionals = {program};
    LS_TRY(DebugSubject subject, openSubject(arguments));
    if (!subject.isReplay) {
        LS_TRY([[maybe_unused]] const BoundInputs bound, bindInputs(subject.target, subject.inputs, subject.seed, 1));
    }
    server.launched = std::move(launched);
    server.open(std::move(subject), asked["view"].text() == "structured");
    server.kernels = server.session().isReplay() ? nullptr : std::make_unique<OperatorKernels>(server.model(), execution.profile);
    if (!server.terminal->prepare()) {
        server.terminal.reset();
        return Error(ErrorCode::usage, "the reference run cannot be made").at(asked["against"].text());
    }
    if (records) {
        Status recording = server.perform(request::RecordOn{trace, asked["level"].text(), true}, -1);
        if (!recording.ok()) {
            server.terminal.reset();
            return std::move(recording).takeError();
        }
    }
    server.later([&server] { tellOpened(server); });
    if (!asked["beside"].truth()) return Json();
    Status beside = openBeside(server, asked);
    if (beside.ok()) return Json();
    server.terminal.reset();
    return std::move(beside).takeError();
}

} // namespace

Result<Json> initialize(Server& server, const Json& arguments)
{
    ClientAbilities& client = server.client;
    client.linesStartAt1 = arguments["linesStartAt1"].truth(true);
    client.columnsStartAt1 = arguments["columnsStartAt1"].truth(true);
    client.paging = arguments["supportsVariablePaging"].truth();
    client.progress = arguments["supportsProgressReporting"].truth();
    client.invalidated = arguments["supportsInvalidatedEvent"].truth();
    client.memory = arguments["supportsMemoryEvent"].truth();
    client.startsSessions = arguments["supportsStartDebuggingRequest"].truth();
    const std::string format = arguments["pathFormat"].text("path");
    if (format != "path" && format != "uri")
        return Error(ErrorCode::usage, "argument 'pathFormat'").found("'" + format + "'").expected("path or uri");
    client.uris = format == "uri";
    return capabilities();
}

Result<Json> launch(Server& server, const Json& arguments) { return open(server, arguments, false); }
Result<Json> attach(Server& server, const Json& arguments) { return open(server, arguments, true); }

Result<Json> configurationDone(Server& server, const Json&)
{
    if (server.isConfigured) return Error(ErrorCode::usage, "'configurationDone' came twice");
    server.isConfigured = true;
    const bool untilStop = !server.launched.stopOnEntry || server.launched.noDebug;
    server.thenMove(request::Begin{{}, untilStop}, "entry");
    return Json();
}

Result<Json> restart(Server& server, const Json& arguments)
{
    LS_TRY(std::vector<std::string> inputs, inputsOf(arguments["arguments"]["inputs"]));
    server.isConfigured = true;
    server.thenMove(request::Begin{std::move(inputs), !server.launched.stopOnEntry}, "entry");
    return Json();
}

Result<Json> terminate(Server& server, const Json&)
{
    server.later([&server] { server.close(0); });
    return Json();
}

Result<Json> terminateThreads(Server& server, const Json& arguments) { return terminate(server, arguments); }

Result<Json> disconnect(Server& server, const Json&)
{
    server.later([&server] { server.end(); });
    return Json();
}

Result<Json> cancel(Server& server, const Json& arguments)
{
    const int64_t request = arguments["requestId"].integer();
    const bool isRunning = request != 0 && request == server.interruptedRequest();
    if (arguments.has("progressId") || isRunning) server.stopRunning(false);
    else if (request != 0 && !server.withdraw(request))
        return Error(ErrorCode::usage, "no request is waiting or running").found(std::to_string(request));
    return Json();
}

} // namespace loopscope::app::dap
