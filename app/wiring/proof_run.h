// One proof that a command line asks for: which inputs, given and drawn, both programs run on, what came of it, and how it is told. `prove`
// and `raise --prove` share it.
#pragma once

#include "app/wiring/proof.h"
#include "engine/base/result.h"
#include "engine/exec/execution_options.h"
#include "engine/tensor/npy.h"

#include <cstdint>
#include <string>
#include <vector>

namespace loopscope::app {

class Arguments;
class Console;
class JsonWriter;

struct ProofRequest {
    ProofPair pair;
    ExecutionOptions options;
    Profile profile = Profile::reference; ///< of the second program
    ProofOptions proof;
    std::vector<Array> given; ///< inputs of the first program; empty where it has some and none were given
    bool isGiven = false;
    int64_t samples = 0;
    bool minimizes = false;
};

/// What the outputs become when one operator has kernels of the other profile, and all others the reference's.
struct OperatorEffect {
    std::string place; ///< GRAPH/LABEL
    GraphId graph;
    OperatorId op;
    double maxAbs = 0; ///< of all outputs, in real units
    double steps = 0;  ///< the same in steps of the output's scale; 0: it has none
    int64_t different = 0, elements = 0;
    std::string why;   ///< what its kernel does otherwise
    std::string apart; ///< by how much its own results differ for that: "1 step at channel 7"; of the first few only
};
struct OperatorEffects {
    std::vector<OperatorEffect> changing; ///< the largest first
    int64_t tried = 0, total = 0;         ///< operators; fewer than all where the time was not enough
};

/// What came of it.
struct ProofOutcome {
    Proof proof;
    int64_t inputs = 0, refused = 0, undecided = 0;
    std::string untried;        ///< why an input could not be tried; empty: all were
    std::vector<Array> refuted; ///< inputs that show a difference
    bool isMinimized = false;
    OperatorEffects effects; ///< between profiles: which operators make it

    int64_t decided() const { return inputs - undecided; }
    bool isRefuted() const { return proof.verdict == ProofVerdict::different; }
};

/// What `--input`, `--feed`, `--samples`, `--minimize`, `--seed`, the tolerance and the budgets say; the pair is left open. `samples`: how
/// many inputs are drawn where nothing says so and the program needs inputs that nobody gave. Errors: usage.
Result<ProofRequest> proofRequest(Console& console, const Arguments& arguments, const RunTarget& target, int64_t samples);

/// Tries one set of inputs after the other until one shows a difference, and tells each. Errors: an input that was given cannot be tried,
/// no input could; cancelled.
Result<ProofOutcome> proveAll(Console& console, const ProofRequest& asked);

/// 0 proved, 1 refuted, 5 where no run ended.
int exitCodeOf(const ProofOutcome& outcome);
/// "exact", …, "undecided".
std::string verdictWord(const ProofOutcome& outcome);
/// Where two profiles of kernels part: what the kernel of the operator there does otherwise, and by how many steps of its scale its results
/// differ for that, in which channel; empty: nothing that is known.
std::string whyOf(const ProofRequest& asked, const Proof& proof);
/// How many values pair, and which have no partner; then what came of it. Lines for people.
std::vector<std::string> pairingLines(const ProofRequest& asked);
std::vector<std::string> outcomeLines(const Console& console, const ProofRequest& asked, const ProofOutcome& outcome);
/// Members of an open object, from "equal" on, as docs/commands.md says.
void addProof(JsonWriter& json, const ProofRequest& asked, const ProofOutcome& outcome);

} // namespace loopscope::app
