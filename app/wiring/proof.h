// Two programs that are to be the same: what of each runs, which values are one, and what the second is given when the first is.
#pragma once

#include "engine/api/inputs/run_target.h"
#include "engine/base/result.h"
#include "engine/debug/prove/lock_step.h"
#include "engine/debug/prove/run_map.h"
#include "engine/exec/execution_options.h"
#include "engine/tensor/npy.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace loopscope::app {

/// Names of values of the first program → of the second, where they differ: `node`, `node:slot`.
using ProofNames = std::map<std::string, std::string>;

struct ProofPair {
    const Model* model = nullptr; ///< both outlive it
    const Model* reference = nullptr;
    RunTarget target, referenceTarget;
    RunMap map;
    std::vector<int> sources; ///< of each input of the reference: which input of the first it is given; −1: nothing reads it
};

/// Makes a TensorFlow graph run from and to what `target` of `model` is fed with and gives, as far as it has values of these names or of
/// those that stand for them. Other models stay as they are. Errors: as selectForRun.
Status selectAlike(Model& other, const Model& model, const RunTarget& target, const ProofNames& names = {},
                   const std::vector<std::string>& targets = {});

/// Inputs pair by what `names` says, else by name, else by position; outputs by position; values as a reference run pairs them.
/// Errors: usage, if inputs or outputs of the two do not fit each other, or a name is none.
Result<ProofPair> pairForProof(const Model& model, const RunTarget& target, const Model& reference, const RunTarget& referenceTarget,
                               const ProofNames& names = {});

/// Runs both on `inputs`, those of the first program in their order, in executors of their own: nothing is left of what ran before.
/// `profile`: of the second. Errors: of making executors; usage, where an input does not fit the second program; cancelled.
Result<Proof> proveOn(const ProofPair& pair, std::span<const Array> inputs, const ExecutionOptions& options, Profile profile,
                      const ProofOptions& proof);
/// The same in executors that are there, whose variables stay.
Result<Proof> proveOn(const ProofPair& pair, Executor& here, Executor& there, std::span<const Array> inputs, const ProofOptions& proof);

} // namespace loopscope::app
