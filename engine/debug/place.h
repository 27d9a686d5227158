// Places as people type them at a stop: short forms against the frame that they look at, and where in a run such a place lies.
#pragma once

#include "engine/debug/target.h"
#include "engine/observe/address_resolution.h"

#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

class Executor;
struct MachineState;

/// The frame that commands are about: that of the stop, or the one chosen by `up`, `down`, `frame`.
struct FrameContext {
    int depth = -1; ///< 0 = root, −1 = innermost
};

struct TypedPlace {
    ResolvedAddress resolved; ///< canonical, with the iterations of the present path where the short form left them out
    std::string note;         ///< "'main' is also …; read as …": where two readings would fit; empty: none
};

/// An address in canonical or short form (docs/debugging.md): `add#2`, `acc`, `while#7@37`, `../acc`, `./add#2`, `#12`,
/// `sig:serving_default/probs`, `"full name"`. An operator or value that the frame's graph lacks is that of the nearest caller that has it.
/// Names may hold slashes. Errors: usage, with near names.
Result<TypedPlace> resolveTyped(const DebugTarget& target, FrameContext frame, std::string_view text);

/// The invocation that the frame at `depth` is, as an address without target.
Address frameAddress(const Executor& executor, int depth);

/// Where a stop lies among all stops of a run of functional graphs, to be compared with <. Of each frame that another one was called
/// from: the call operator, the iteration, cond before body; of the innermost the next operator.
using StopOrder = std::vector<int64_t>;
/// Of the stop before the operator that the place names or writes it, or before the first operator of the invocation that it names.
/// Iterations that are not given count as 0.
StopOrder orderOf(const Model& model, const ResolvedAddress& place);
StopOrder orderOf(const MachineState& state);
StopOrder orderOf(const Executor& executor);

/// Order of execution of functional graphs: negative if `a` comes before `b`. Iterations that are not given count as 0. A call comes
/// after everything inside it.
int compareOrder(const Model& model, const ResolvedAddress& a, const ResolvedAddress& b);

} // namespace loopscope
