// Proofs that the window asks for: what was raised or fused against the model that is open, in runs beside its session.
#include "app/desktop/rewrites.h"
#include "app/desktop/terminal_backend.h"
#include "app/output/console.h"
#include "app/wiring/fusion_proof.h"
#include "app/wiring/proof_run.h"
#include "converters/formats.h"

#include <cstdio>

namespace loopscope::app {

namespace {

constexpr int64_t kDrawn = 8; ///< inputs beside those of the last run

} // namespace

Result<viewer::ProvedForm> TerminalBackend::proveRaised(const std::stop_token& stop) const
{
    if (isReplay()) return Error(ErrorCode::unsupported, "a recording holds no model that runs").at(name());
    LS_TRY(const std::shared_ptr<const viewer::RaisedModel> raised, this->raised());
    const RunTarget& target = m_terminal->target();
    LS_TRY(const RunTarget other, selectTarget(raised->model(), target.signature));
    CancelFlag cancel;
    const std::stop_callback stopped(stop, [&cancel] { cancel.request(); });
    ProofRequest asked;
    asked.options.seed = seed();
    asked.options.cancel = &cancel;
    asked.samples = kDrawn;
    if (const std::shared_ptr<const BoundInputs> last = m_terminal->session().lastInputs()) {
        asked.isGiven = true;
        for (const BoundInput& input : last->inputs) asked.given.push_back(input.forRun(0));
    } else if (target.inputs.empty()) {
        asked.isGiven = true;
    }
    LS_TRY(asked.pair, pairForProof(model(), target, raised->model(), other));
    Console quiet(stdout, stderr);
    quiet.configure(ColorMode::never, ProgressMode::never, true, false, false);
    LS_TRY(const ProofOutcome outcome, proveAll(quiet, asked));
    viewer::ProvedForm proved{verdictWord(outcome), outcome.isRefuted(), pairingLines(asked)};
    for (std::string& line : outcomeLines(quiet, asked, outcome)) proved.lines.push_back(std::move(line));
    return proved;
}

Result<std::vector<viewer::ProvedRewrite>> TerminalBackend::proveFused(const std::stop_token& stop) const
{
    if (!m_fusedSide || !m_fusedSide->file.empty())
        return Error(ErrorCode::unsupported, "the other side is no fused form of the model").at(name());
    std::vector<viewer::FusionSwitch> off;
    for (const viewer::FusedSide::Rewrite& rewrite : m_fusedSide->rewrites)
        if (!rewrite.isOn) off.push_back(rewrite.place);
    LoadedModel file;
    file.model = model();
    file.path = m_path;
    CancelFlag cancel;
    const std::stop_callback stopped(stop, [&cancel] { cancel.request(); });
    FusionProofOptions asked;
    asked.sources = m_terminal->session().inputs();
    asked.execution.seed = seed();
    asked.execution.cancel = &cancel;
    asked.signature = m_terminal->target().signature;
    asked.isForced = true; // the verdict is told; nothing is undone
    LS_TRY(const FusionProof proof, fuseAndProve(file, fusionOptions(file.model, m_terminal->target(), off), asked));
    std::vector<viewer::ProvedRewrite> proved;
    for (size_t i = 0; i < proof.report.rewrites.size() && i < proof.proofs.size(); ++i) {
        const Fusion& fusion = proof.report.rewrites[i];
        proved.push_back({{fusion.rule, fusion.graph, fusion.where}, proofText(proof.proofs[i]), proof.proofs[i].holds});
    }
    return proved;
}

} // namespace loopscope::app
