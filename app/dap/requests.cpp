#include "app/dap/requests.h"

#include <algorithm>
#include <array>

namespace loopscope::app::dap {

namespace {

using enum Needs;
using enum WhileRunning;

constexpr std::array kTable = {
    RequestSpec{"initialize", nothing, isAnswered, initialize, "what both sides can do; the first request"},
    RequestSpec{"launch", client, waits, launch, "opens a model with its inputs, or a recording; `initialized` follows"},
    RequestSpec{"attach", client, waits, attach, "opens a recording (`trace`): read-only time travel"},
    RequestSpec{"configurationDone", model, waits, configurationDone, "the run begins"},
    RequestSpec{"restart", model, stops, restart, "the run begins anew, with other `inputs` where they are given"},
    RequestSpec{"terminate", client, stops, terminate, "the run ends; `exited` and `terminated` follow"},
    RequestSpec{"terminateThreads", model, stops, terminateThreads, "the same: the run is one thread"},
    RequestSpec{"disconnect", nothing, stops, disconnect, "the session ends"},
    RequestSpec{"cancel", client, isAnswered, cancel, "a request that waits is dropped, one that runs is stopped"},
    RequestSpec{"setBreakpoints", model, interrupts, setBreakpoints,
                "lines of the model's text, with conditions, hit counts and log texts, wherever the graph is called from"},
    RequestSpec{"setFunctionBreakpoints", model, interrupts, setFunctionBreakpoints,
                "a graph, an operator type, or whatever `break` takes: `iter while#0 37`"},
    RequestSpec{"setDataBreakpoints", model, interrupts, setDataBreakpoints, "a value changes; a variable is read or written"},
    RequestSpec{"dataBreakpointInfo", stop, isRefused, dataBreakpointInfo, "what can be watched of a value"},
    RequestSpec{"setExceptionBreakpoints", model, interrupts, setExceptionBreakpoints,
                "`nan`, `nan-born`, `inf`, `overflow`, `denormal`, `differs`, `error`, with conditions"},
    RequestSpec{"setInstructionBreakpoints", model, interrupts, setInstructionBreakpoints, "operators, as disassembly numbers them"},
    RequestSpec{"breakpointLocations", model, isAnswered, breakpointLocations, "lines that hold operators"},
    RequestSpec{"continue", stop, isRefused, resume, "to the next breakpoint; at the end of the run: ends the session"},
    RequestSpec{"next", stop, isRefused, next, "one operator of this graph, over calls"},
    RequestSpec{"stepIn", stop, isRefused, stepIn, "one operator, into calls; with `targetId` into that graph"},
    RequestSpec{"stepInTargets", stop, isRefused, stepInTargets, "graphs that the next operator calls: cond, body, then, else"},
    RequestSpec{"stepOut", stop, isRefused, stepOut, "to the return of this invocation"},
    RequestSpec{"stepBack", stop, isRefused, stepBack, "one operator back, over calls; with granularity `instruction` into them"},
    RequestSpec{"reverseContinue", stop, isRefused, reverseContinue, "back to the last breakpoint"},
    RequestSpec{"goto", stop, isRefused, gotoPlace, "time travel to a target"},
    RequestSpec{"gotoTargets", stop, isRefused, gotoTargets, "when a line runs: here, one iteration on or back, the first time"},
    RequestSpec{"pause", client, isAnswered, pauseRun, "stops at the next operator"},
    RequestSpec{"restartFrame", stop, isRefused, restartFrame, "back to where a frame was entered"},
    RequestSpec{"threads", client, isAnswered, threads, "one: the run"},
    RequestSpec{"stackTrace", stop, isRefused, stackTrace, "invocations, innermost first, paged"},
    RequestSpec{"scopes", stop, isRefused, scopes, "carried or inputs, results, outputs, variables, constants"},
    RequestSpec{"variables", stop, isRefused, variables, "values, axis by axis, paged"},
    RequestSpec{"exceptionInfo", stop, isRefused, exceptionInfo, "what is wrong with which value, and where that came from"},
    RequestSpec{"setVariable", stop, isRefused, setVariable, "an edit: the run goes on in a timeline of its own"},
    RequestSpec{"setExpression", stop, isRefused, setExpression, "the same of an expression: a value, an element, a slice"},
    RequestSpec{"evaluate", stop, isRefused, evaluate, "expressions; in the console also every command of the debugger"},
    RequestSpec{"completions", model, isRefused, completions, "commands, values, places, files"},
    RequestSpec{"source", model, isAnswered, source, "the listing, or the structured view"},
    RequestSpec{"loadedSources", model, isAnswered, loadedSources, "these, and the model's own text"},
    RequestSpec{"modules", model, isAnswered, modules, "the model and its graphs, paged"},
    RequestSpec{"locations", model, isAnswered, locations, "the line of the operator that wrote a value"},
    RequestSpec{"disassemble", model, isAnswered, disassemble, "all operators of the model, numbered through"},
    RequestSpec{"readMemory", stop, isRefused, readMemory, "bytes of a value, in part"},
    RequestSpec{"writeMemory", stop, isRefused, writeMemory, "an edit of whole elements"},
    RequestSpec{"loopscope/stepBackIn", stop, isRefused, stepBackIn, "one operator back, into calls"},
    RequestSpec{"loopscope/stepBackOut", stop, isRefused, stepBackOut, "back before the call of this invocation"},
    RequestSpec{"loopscope/goto", stop, isRefused, travel, "to a `place` as the debugger's `goto` takes it"},
    RequestSpec{"loopscope/iterate", stop, isRefused, iterate, "the same operator in iteration `iteration`, or `offset` further"},
};

} // namespace

std::span<const RequestSpec> requestTable() { return kTable; }

const RequestSpec* findRequest(std::string_view name)
{
    const auto* const found = std::ranges::find(kTable, name, &RequestSpec::name);
    return found == kTable.end() ? nullptr : found;
}

} // namespace loopscope::app::dap
