// The requests of the Debug Adapter Protocol that are answered: one line each, with what it needs. Dispatch and the table of
// docs/editors.md follow from it.
#pragma once

#include "engine/base/json.h"

#include <span>
#include <string_view>

namespace loopscope::app::dap {

class Server;

/// When a request makes sense.
enum class Needs : uint8_t {
    nothing, ///< before `initialize`, too
    client,  ///< after `initialize`
    model,   ///< after `launch` or `attach`
    stop,    ///< where the run stands
};

/// What happens to a request that comes while a run goes on.
enum class WhileRunning : uint8_t {
    waits,      ///< until the run stops
    isAnswered, ///< at once: it asks the engine nothing
    interrupts, ///< `continue` is interrupted for it, and goes on
    stops,      ///< ends the run where it is
    isRefused,  ///< speaks of a stop
};

struct RequestSpec {
    std::string_view name;
    Needs needs;
    WhileRunning whileRunning;
    Result<Json> (*answer)(Server& server, const Json& arguments); ///< the body of the response
    std::string_view summary;                                      ///< for the page
};

std::span<const RequestSpec> requestTable();
const RequestSpec* findRequest(std::string_view name);

// By topic: lifecycle.cpp, breakpoint_requests.cpp, movement.cpp, frames.cpp, values.cpp, texts.cpp, memory.cpp
#define LS_DAP_REQUEST(name) Result<Json> name(Server& server, const Json& arguments)
LS_DAP_REQUEST(initialize);
LS_DAP_REQUEST(launch);
LS_DAP_REQUEST(attach);
LS_DAP_REQUEST(configurationDone);
LS_DAP_REQUEST(restart);
LS_DAP_REQUEST(terminate);
LS_DAP_REQUEST(terminateThreads);
LS_DAP_REQUEST(disconnect);
LS_DAP_REQUEST(cancel);
LS_DAP_REQUEST(setBreakpoints);
LS_DAP_REQUEST(setFunctionBreakpoints);
LS_DAP_REQUEST(setDataBreakpoints);
LS_DAP_REQUEST(dataBreakpointInfo);
LS_DAP_REQUEST(setExceptionBreakpoints);
LS_DAP_REQUEST(setInstructionBreakpoints);
LS_DAP_REQUEST(breakpointLocations);
LS_DAP_REQUEST(resume);
LS_DAP_REQUEST(next);
LS_DAP_REQUEST(stepIn);
LS_DAP_REQUEST(stepInTargets);
LS_DAP_REQUEST(stepOut);
LS_DAP_REQUEST(stepBack);
LS_DAP_REQUEST(reverseContinue);
LS_DAP_REQUEST(gotoPlace);
LS_DAP_REQUEST(gotoTargets);
LS_DAP_REQUEST(pauseRun);
LS_DAP_REQUEST(restartFrame);
LS_DAP_REQUEST(stepBackIn);
LS_DAP_REQUEST(stepBackOut);
LS_DAP_REQUEST(travel);
LS_DAP_REQUEST(iterate);
LS_DAP_REQUEST(threads);
LS_DAP_REQUEST(stackTrace);
LS_DAP_REQUEST(scopes);
LS_DAP_REQUEST(variables);
LS_DAP_REQUEST(exceptionInfo);
LS_DAP_REQUEST(setVariable);
LS_DAP_REQUEST(setExpression);
LS_DAP_REQUEST(evaluate);
LS_DAP_REQUEST(completions);
LS_DAP_REQUEST(source);
LS_DAP_REQUEST(loadedSources);
LS_DAP_REQUEST(modules);
LS_DAP_REQUEST(locations);
LS_DAP_REQUEST(disassemble);
LS_DAP_REQUEST(readMemory);
LS_DAP_REQUEST(writeMemory);
#undef LS_DAP_REQUEST

} // namespace loopscope::app::dap
