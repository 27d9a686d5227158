// Proof of fusions: each rewrite alone, on the values that it meets in runs of the model and on drawn ones, and the fused model as a whole.
#pragma once

#include "app/wiring/fusion_figures.h"
#include "converters/formats.h"
#include "converters/fuse/fuse.h"
#include "engine/api/inputs/run_target.h"
#include "engine/base/result.h"
#include "engine/debug/prove/verdict.h"
#include "engine/exec/execution_options.h"
#include "engine/tensor/compare.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace loopscope::app {

/// For a model of which `target` is run, as a session does. Of a TensorFlow model variables that nothing writes become constants, and calls
/// what they call; inputs and outputs keep their names.
FusionOptions fusionOptionsOf(const Model& model, const RunTarget& target);

struct FusionProofOptions {
    std::vector<std::string> sources; ///< of the model's inputs, as `--input` takes them; those that are missing are drawn
    int64_t samples = 8;              ///< inputs that are drawn for each rewrite, and for the model
    Tolerance tolerance;              ///< of approximate rewrites
    ExecutionOptions execution;
    std::string signature;
    bool isForced = false; ///< what misses its class stays
};

/// What the proof of one rewrite came to.
struct FusionVerdict {
    bool isDecided = false;
    bool holds = true;     ///< its class holds on ordinary numbers, or nothing is decided
    std::string undecided; ///< why nothing could be compared
    ProofVerdict verdict = ProofVerdict::exact;
    int64_t inputs = 0; ///< that were tried
    double maxAbs = 0, maxRel = 0;
    std::string difference; ///< "got 3, want 4 at [0,1] …, on NaN, inf": the first on ordinary numbers, else on others
    std::string apartOn;    ///< kinds of unusual numbers on which both differ: "extremes, NaN, inf"
    std::string domain;     ///< "equal while x <= 88.72; largest seen 4.2"
};
/// "exact", "real-equal, at most 3e-8 apart", "different: …", "not decided: …"
std::string proofText(const FusionVerdict& proof);

struct FusionProof {
    FusionReport report;                 ///< of what stays; what was rolled back is among the declined
    std::vector<FusionVerdict> proofs;   ///< of each rewrite of the report
    std::vector<Fusion> rolledBack;      ///< with what the report no longer has
    std::vector<FusionVerdict> failures; ///< of each of those
    FusionVerdict whole;                 ///< the fused model against the original
    /// Whether something differs, be it rolled back or not.
    bool differs() const;
};

/// Fuses `model` and proves what was done. What misses its class is undone and told, unless it is forced. Errors: of fusing; usage, of
/// inputs; of a run of the original model on given inputs.
Result<FusionProof> fuseAndProve(LoadedModel& file, FusionOptions options, const FusionProofOptions& asked);

/// What `original`, its calls and variables opened, and `fused` cost, in this order: as far as `options` run them, on the inputs of the
/// proof.
Result<std::vector<FusionFigures>> measureFusion(const Model& original, const Model& fused, const FusionOptions& options,
                                                 const FusionProofOptions& asked);

} // namespace loopscope::app
