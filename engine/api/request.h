// What a session can be asked to do, as values: faces make them of clicks, keys and lines, queue them, and show each as the command that
// a person could have typed. Questions, which change nothing, are methods of Inspector.
#pragma once

#include "engine/debug/breakpoints/spec.h"
#include "engine/debug/control/run_control.h"
#include "engine/debug/inspect/value_history.h"
#include "engine/observe/address.h"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace loopscope {
namespace request {

/// Begins a run anew with the inputs that are given; the session's variables are as before the first run.
struct Begin {
    std::vector<std::string> inputs; ///< "x=27": replace what was given under these names
    bool untilStop = true;           ///< goes on to the first stop; else it stops before the first operator
};
/// Gives an input of the next run: "x=@7", "\"a name\"=in.npy".
struct GiveInput {
    std::string text;
};

// Movement. Each ends with a Stop.

struct Resume {
    Direction direction = Direction::forward;
    int64_t count = 1; ///< to the count-th hit from here
};
struct Step {
    Direction direction = Direction::forward;
    int64_t count = 1;
    bool over = false; ///< a call is one operator
};
/// Out of the invocation of the frame that the request is about.
struct Finish {
    Direction direction = Direction::forward;
};
/// Past the end of the innermost loop.
struct Until {};
/// To the next operator that a pattern matches.
struct Advance {
    std::string pattern;
};
/// The same operator in another iteration of the innermost loop.
struct Iterate {
    enum class To : uint8_t { number, offset, last } to = To::number;
    int64_t number = 0;
};
struct GoToStart {};
struct GoToEnd {};
struct GoToStep {
    int64_t step = 0;
};
struct GoToPercent {
    double percent = 0;
};
/// A place as typed, short forms included, or a mark's name.
struct GoToPlace {
    std::string place;
};
struct GoToAddress {
    Address address;
};
/// From an iteration of a gradient loop to the iteration of the forward loop that it belongs to; `backward`: the other way.
struct GoToPartnerLoop {
    bool backward = false;
};
/// To the write that a search finds: `lastwrite V -g`.
struct GoToWrite {
    HistoryQuery query = HistoryQuery::lastWrite;
    std::string value; ///< as typed
};
/// Through the history of jumps.
struct Back {};
struct Forward {};
struct SwitchTimeline {
    TimelineId timeline = 1;
};
using Move = std::variant<Resume, Step, Finish, Until, Advance, Iterate, GoToStart, GoToEnd, GoToStep, GoToPercent, GoToPlace, GoToAddress,
                          GoToPartnerLoop, GoToWrite, Back, Forward, SwitchTimeline>;

// Changes.

/// `set n = 7`: from here the run goes on in a timeline of its own.
struct SetValue {
    std::string place, expression;
};
/// `give sinh#1 = out.npy`: what an operator that has no kernel gives from its next execution on.
struct GiveOutput {
    std::string place;  ///< of the result, as typed
    std::string source; ///< as after `--input NAME=`, or a recording
};
struct AddBreakpoint {
    BreakpointSpec spec;
};
/// Those that stop on this very operator go; where there is none, one is made.
struct ToggleBreakpoint {
    Address place;
};
struct RemoveBreakpoint {
    std::optional<int> number; ///< none: all of them
};
struct EnableBreakpoint {
    std::optional<int> number; ///< none: all of them
    bool enabled = true;
};
struct SetCondition {
    int number = 0;
    std::string expression; ///< empty: none
};
struct IgnoreHits {
    int number = 0;
    int64_t count = 0;
};
struct SetMark {
    std::string name;
};
struct TakeNote {
    std::string text;
};
/// Of ready nodes of TensorFlow 1 graphs, from the next run on; 0: as they arrive.
struct SetOrder {
    uint64_t seed = 0;
};
struct RecordOn {
    std::string path;  ///< empty: of the model's name
    std::string level; ///< empty: statistics
    bool overwrite = false;
};
struct RecordOff {};

// What faces keep, told by the same words.

struct Display {
    std::string expression;
};
/// Holds the whole run against the reference run.
struct FindDrift {};

} // namespace request

using Request = std::variant<request::Begin, request::GiveInput, request::Move, request::SetValue, request::GiveOutput,
                             request::AddBreakpoint, request::ToggleBreakpoint, request::RemoveBreakpoint, request::EnableBreakpoint,
                             request::SetCondition, request::IgnoreHits, request::SetMark, request::TakeNote, request::SetOrder,
                             request::RecordOn, request::RecordOff, request::Display, request::FindDrift>;

/// The command that does the same, as a person types it: "break main/add#2", "reverse-step 3". Of ToggleBreakpoint, which is two commands
/// in one, "toggle …": faces show what it came to.
std::string commandText(const Request& request);

} // namespace loopscope
