// The debugger's commands, by topic; each is a function of the terminal and of what was typed. command_table.cpp lists them.
#pragma once

#include "app/terminal/command_table.h"
#include "engine/api/debug_subject.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {
struct Drift;
} // namespace loopscope

namespace loopscope::app::terminal {

// movement.cpp
Status run(Terminal&, const CommandLine&);
Status start(Terminal&, const CommandLine&);
Status input(Terminal&, const CommandLine&);
Status resume(Terminal&, const CommandLine&); ///< continue, reverse-continue
Status step(Terminal&, const CommandLine&);   ///< step, next and their reverses
Status finish(Terminal&, const CommandLine&); ///< finish, reverse-finish
Status until(Terminal&, const CommandLine&);
Status advance(Terminal&, const CommandLine&);
Status iterate(Terminal&, const CommandLine&);
Status goTo(Terminal&, const CommandLine&);
Status back(Terminal&, const CommandLine&);
Status forward(Terminal&, const CommandLine&);

// breakpoints.cpp
Status addBreakpoint(Terminal&, const CommandLine&); ///< break, tbreak, watch, rwatch, awatch, log
Status condition(Terminal&, const CommandLine&);
Status ignore(Terminal&, const CommandLine&);
Status commands(Terminal&, const CommandLine&);
Status enable(Terminal&, const CommandLine&);                 ///< enable, disable, delete
Status answerBreakpoints(Terminal&, std::optional<int> only); ///< those of that number, else all

// values.cpp
Status print(Terminal&, const CommandLine&);
Status whatIs(Terminal&, const CommandLine&);
Status define(Terminal&, const CommandLine&);
Status examine(Terminal&, const CommandLine&);
Status display(Terminal&, const CommandLine&);
Status undisplay(Terminal&, const CommandLine&);
void answerDisplays(Terminal&);
Status set(Terminal&, const CommandLine&);
Status give(Terminal&, const CommandLine&);

// stack.cpp
Status backtrace(Terminal&, const CommandLine&);
Status up(Terminal&, const CommandLine&);
Status down(Terminal&, const CommandLine&);
Status frame(Terminal&, const CommandLine&);

// listing.cpp
Status list(Terminal&, const CommandLine&);

// info_answer.cpp
Status answerInfo(Terminal&, std::string_view topic);

// info.cpp
Status info(Terminal&, const CommandLine&);
/// Names of what `info` tells.
std::vector<std::string> infoTopics();

// marks.cpp
Status timelines(Terminal&, const CommandLine&);
Status switchTimeline(Terminal&, const CommandLine&);
Status mark(Terminal&, const CommandLine&);
Status marks(Terminal&, const CommandLine&);
Status note(Terminal&, const CommandLine&);

// recording.cpp
Status record(Terminal&, const CommandLine&);
void answerRecording(Terminal&, const std::optional<RecordingState>& state);
/// What `info record` says.
std::string recordingState(Terminal&);

// history.cpp
Status findWrites(Terminal&, const CommandLine&); ///< lastwrite, lastchange, nextwrite, nextchange
Status why(Terminal&, const CommandLine&);
Status histogram(Terminal&, const CommandLine&);

// reference.cpp
Status compare(Terminal&, const CommandLine&);
Status drift(Terminal&, const CommandLine&);
void answerDrift(Terminal&, const Drift& drift);
/// Errors: usage, there is no reference or no run.
Status checkReference(const Terminal&, std::string_view command);

// graphs.cpp
Status order(Terminal&, const CommandLine&);
Status version1Graphs(Terminal&, const CommandLine&); ///< frames, tokens, dead, ready

// files.cpp
Status save(Terminal&, const CommandLine&);
Status load(Terminal&, const CommandLine&);
Status source(Terminal&, const CommandLine&);
Status quit(Terminal&, const CommandLine&);

// help.cpp
Status help(Terminal&, const CommandLine&);
Status apropos(Terminal&, const CommandLine&);

} // namespace loopscope::app::terminal
