// How long runs took, as numbers to compare: medians, what else the machine did meanwhile, and the same model in LiteRT or TensorFlow where
// a Python that has it is at hand. The program does not depend on that: it asks for it by name.
#pragma once

#include "app/wiring/asked_run.h"
#include "engine/base/result.h"

#include <cstdint>
#include <string>
#include <string_view>
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

/// Another program that runs the same file: by the interpreter that LOOPSCOPE_PYTHON names, else python3.
struct Peer {
    std::string_view name, title, package; ///< on the command line, in messages, in Python
    const char* script;
};
/// "litert" or "tensorflow"; null: neither.
const Peer* peerOf(std::string_view name);

struct BesideRun {
    int64_t warmup = 0, repeat = 1;
    std::vector<std::string> initialisers, targets; ///< of TensorFlow graphs: operators that run once before, and in every run
};
/// The same runs of the same file with the same inputs there: in LiteRT with its default delegate, in TensorFlow as a session. Errors:
/// unsupported, if Python has no such package or the file is none of its; what it says.
Result<Timing> timeBeside(const Peer& peer, const AskedRun& asked, const BesideRun& beside);

} // namespace loopscope::app
