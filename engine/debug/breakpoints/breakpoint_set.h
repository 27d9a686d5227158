// Breakpoints, watches and log points: what they are, how they are written, and how a running executor meets them. Kinds and their
// syntax: docs/breakpoints.md.
#pragma once

#include "engine/debug/breakpoints/spec.h"
#include "engine/debug/evaluate.h"
#include "engine/debug/place.h"
#include "engine/debug/stop.h"
#include "engine/debug/target.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// One breakpoint as lists show it.
struct BreakpointInfo {
    int number = 0; ///< from 1, never used again
    BreakpointCommand command = BreakpointCommand::breakpoint;
    std::string kind;      ///< "operator", "iter", "nan", "write", …
    std::string spec;      ///< what follows the command's name, in canonical form: typed again it makes the same breakpoint
    std::string place;     ///< "main/while#0@37"; empty: anywhere
    std::string condition; ///< empty: none
    std::string hitRule;   ///< "", "4", "%4", ">=4"
    int64_t hits = 0;      ///< how often it was met up to where the run stands; forward and backward the same
    int64_t ignore = 0;    ///< hits that are still to be ignored
    bool enabled = true;
    bool quiet = false;
    std::string disabledBecause;       ///< why it disabled itself; empty: it did not
    std::string cost;                  ///< class of what it looks at, and bytes that it keeps
    std::string note;                  ///< what is to be known about it: "depends on the machine: …"; empty: nothing
    std::vector<std::string> commands; ///< to run at a hit, in order
};

/// A hit that was found while a part of the run was scanned.
struct BreakpointHit {
    Tick tick = 0; ///< of the stop
    int number = 0;
    StopReason reason;
};

/// The set decides at which operators the executor asks, looks at conditions, and counts. It is the trap handler while a run goes on.
/// Not thread-safe.
class BreakpointSet {
public:
    explicit BreakpointSet(DebugTarget target);
    ~BreakpointSet();
    BreakpointSet(const BreakpointSet&) = delete;
    BreakpointSet& operator=(const BreakpointSet&) = delete;

    /// Adds what is written after the command's name: `iter while#0 37`, `write add if max(add) > 1e3`, `nan`, … Conditions are compiled
    /// now. Gives the number. Errors: usage, with near names; nothing is added then.
    Result<int> add(BreakpointCommand command, std::string_view spec, FrameContext frame);
    Result<int> add(const BreakpointSpec& spec, FrameContext frame);
    Status remove(int number);
    void removeAll();
    Status setEnabled(int number, bool enabled);
    Status setCondition(int number, std::string_view expression, FrameContext frame); ///< empty: none
    Status setIgnore(int number, int64_t count);
    Status setCommands(int number, std::vector<std::string> commands);
    /// With hits up to this stop: parts of the run that were passed over by jumping are run once more to count them, which stands where
    /// it stood afterwards.
    std::vector<BreakpointInfo> list() const;
    Result<BreakpointInfo> get(int number) const;
    /// What is done at its stops; none: there is no such breakpoint. Unlike `get`, which counts hits, this runs nothing.
    struct Reaction {
        bool quiet = false;
        std::vector<std::string> commands;
    };
    std::optional<Reaction> reactionOf(int number) const;
    /// The commands that make the set again, one per line.
    std::string save() const;
    /// Reads what save() wrote. Lines that no longer resolve come back disabled with their reason. Errors: usage, with the line.
    Status load(std::string_view text);
    /// What `differs` and `ref(x)` compare with; null: there is no reference run. It must outlive the set.
    void setReference(ReferenceValues* reference);

    // For RunControl.

    /// What the enabled ones want the executor to ask about; empty if there are none.
    TrapSet traps() const;
    /// A run begins, or the cursor went somewhere without executing: counts and kept values follow.
    void moved(Tick tick);
    enum class Mode : uint8_t {
        stop, ///< a hit that its rules let through stops the run
        scan, ///< every hit is noted and none stops: searching backwards
    };
    /// Handler of the traps until the next call. Stops at ticks up to `after` were seen already and are passed over. Called where the run
    /// goes on from, before traps are armed: what rules and conditions need of the past is made here, if it is not kept, by travelling.
    TrapHandler& handler(Mode mode, int64_t after);
    /// Reasons of the stop that was asked for last; empties the list.
    std::vector<StopReason> takeReasons();
    std::vector<LogLine> takeLogs();
    /// What a scan found that would have stopped, in order of ticks; empties the list.
    std::vector<BreakpointHit> takeHits();
    /// Temporary ones that stopped the run go.
    void dropTemporary(const std::vector<StopReason>& reasons);

private:
    class Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace loopscope
