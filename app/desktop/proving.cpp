// Proofs that the window asks for: what was raised or fused against the model that is open, in runs beside its session.
#include "app/desktop/rewrites.h"
#include "app/desktop/terminal_backend.h"
#include "app/output/console.h"
#include "app/wiring/fusion_proof.h"
#include "app/wiring/operator_effects.h"
#include "app/wiring/proof_run.h"
#include "converters/formats.h"

#include <cstdio>
#include <optional>
#include <string_view>

namespace loopscope::app {

namespace {

constexpr int64_t kDrawn = 8; ///< inputs beside those of the last run

/// A proof on what the last run was fed with, where there was one.
ProofRequest onLastInputs(const DebugSession& session, const RunTarget& target)
{
    ProofRequest asked;
    if (const std::shared_ptr<const BoundInputs> last = session.lastInputs()) {
        asked.isGiven = true;
        for (const BoundInput& input : last->inputs) asked.given.push_back(input.forRun(0));
    } else if (target.inputs.empty()) {
        asked.isGiven = true;
    }
    return asked;
}

void silence(Console& console) { console.configure(ColorMode::never, ProgressMode::never, true, false, false); }

std::optional<Profile> profileNamed(std::string_view name)
{
    for (const Profile profile : {Profile::reference, Profile::fast, Profile::xnnpack})
        if (name == profileName(profile)) return profile;
    return std::nullopt;
}

} // namespace

Result<viewer::ProvedForm> TerminalBackend::proveRaised(const std::stop_token& stop) const
{
    if (isReplay()) return Error(ErrorCode::unsupported, "a recording holds no model that runs").at(name());
    LS_TRY(const std::shared_ptr<const viewer::RaisedModel> raised, this->raised());
    const RunTarget& target = m_terminal->target();
    LS_TRY(const RunTarget other, selectTarget(raised->model(), target.signature));
    CancelFlag cancel;
    const std::stop_callback stopped(stop, [&cancel] { cancel.request(); });
    ProofRequest asked = onLastInputs(m_terminal->session(), target);
    asked.options.seed = seed();
    asked.options.cancel = &cancel;
    asked.samples = kDrawn;
    LS_TRY(asked.pair, pairForProof(model(), target, raised->model(), other));
    Console quiet(stdout, stderr);
    silence(quiet);
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

Result<viewer::KernelsApart> TerminalBackend::kernelsApart(const std::stop_token& stop) const
{
    const bool isKernels = m_against.starts_with(viewer::kKernelsSide);
    const std::optional<Profile> there = isKernels ? profileNamed(m_against.substr(viewer::kKernelsSide.size())) : std::nullopt;
    const std::optional<Profile> here = profileNamed(m_profile);
    if (!here || !there) return Error(ErrorCode::unsupported, "the other side is not the model on other kernels of the CPU").at(name());
    const RunTarget& target = m_terminal->target();
    CancelFlag cancel;
    const std::stop_callback stopped(stop, [&cancel] { cancel.request(); });
    ProofRequest asked = onLastInputs(m_terminal->session(), target);
    if (!asked.isGiven) return Error(ErrorCode::usage, "has not run yet").at(name());
    asked.options.seed = seed();
    asked.options.cancel = &cancel;
    asked.options.profile = *here;
    asked.profile = *there;
    LS_TRY(asked.pair, pairForProof(model(), target, model(), target));
    Console quiet(stdout, stderr);
    silence(quiet);
    LS_TRY(const ProofOutcome outcome, proveAll(quiet, asked));
    viewer::KernelsApart apart;
    apart.tried = outcome.effects.tried;
    apart.total = outcome.effects.total;
    if (outcome.isRefuted() && outcome.proof.first) {
        apart.first = outcome.proof.first->address;
        apart.difference = differenceLine(*outcome.proof.first);
        apart.why = whyOf(asked, outcome.proof);
    }
    for (const OperatorEffect& effect : outcome.effects.changing)
        apart.effects.push_back(
            {effect.graph, effect.op, effect.place, changeText(effect), effect.different, effect.elements, effect.why, effect.apart});
    return apart;
}

} // namespace loopscope::app
