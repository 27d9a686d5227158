// The prover: two executors run side by side, and what both write is compared the moment the second of them has written it.
#pragma once

#include "engine/base/result.h"
#include "engine/debug/prove/run_map.h"
#include "engine/debug/prove/verdict.h"
#include "engine/exec/executor.h"
#include "engine/tensor/compare.h"

#include <cstdint>

namespace loopscope {

struct ProofOptions {
    /// What may differ beyond what roundings explain; with none, nothing may.
    Tolerance tolerance;
    /// Of values that wait for their partner. A run that is ahead waits; where waiting does not help, the oldest values are let go.
    uint64_t mostBytes = 256 << 20;
};

/// Runs both from their inputs, which they have, to their ends. Both have the same number of outputs; their models are those of the map.
/// Any executors will do, also two of one model (another profile, another device). A run that fails is no error, unless it was cancelled:
/// the proof says so. Observers of both are replaced, and are none afterwards.
Result<Proof> proveRuns(Executor& here, Executor& there, const RunMap& map, const ProofOptions& options);

} // namespace loopscope
