// How long runs took, as numbers to compare: medians, what else the machine did meanwhile, and the same model in LiteRT where a Python
// that has it is at hand. The program does not depend on that: it asks for it by name.
#pragma once

#include "app/wiring/asked_run.h"
#include "engine/base/result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace loopscope::app {

/// Durations of one thing, in nanoseconds.
struct Timing {
    std::string name;
    int64_t runs = 0, median = 0, p95 = 0, least = 0;
    double ratio = 0; ///< ours over theirs; 0: nothing stands beside it
};
/// Of at least one duration.
Timing timingOf(std::string name, std::vector<int64_t> ns);

/// Processor time since the machine and this process were started, in seconds.
struct MachineLoad {
    double busy = 0, own = 0, wall = 0;
};
MachineLoad machineLoad();
/// How many cores other programs kept busy between two looks: timings beside more than a twentieth are not worth much.
double foreignCores(const MachineLoad& before, const MachineLoad& after);

/// "0.83": two digits behind the point.
std::string ratioText(double ratio);

/// The same runs of the same file with the same inputs in LiteRT with its default delegate, by the interpreter that LOOPSCOPE_PYTHON names
/// (else python3). Errors: unsupported, if it has no LiteRT or the file is none of its; what LiteRT says.
Result<Timing> timeLiteRt(const AskedRun& asked, int64_t warmup, int64_t repeat);

} // namespace loopscope::app
