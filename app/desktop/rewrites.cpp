#include "app/desktop/rewrites.h"

#include "app/desktop/terminal_backend.h"
#include "app/output/fusion_report.h"
#include "app/wiring/fusion_proof.h"
#include "app/wiring/session.h"
#include "app/wiring/subject.h"
#include "app/wiring/tolerance.h"
#include "converters/formats.h"
#include "converters/fuse/fuse.h"
#include "converters/raise/raise.h"
#include "engine/transform/run_selection.h"

#include <algorithm>

namespace loopscope::app {

namespace {

Result<FusionReport> fuseFor(Model& model, const RunTarget& target, const std::vector<viewer::FusionSwitch>& off)
{
    return fuseOperators(model, fusionOptions(model, target, off));
}

viewer::FusedSide::Rewrite rowOf(const Fusion& fusion, bool isOn)
{
    return {{fusion.rule, fusion.graph, fusion.where},
            fusion.to,
            fusion.name,
            fusion.from,
            std::string(equalityText(fusion.equality)),
            isOn,
            {},
            {},
            {}};
}

} // namespace

FusionOptions fusionOptions(const Model& model, const RunTarget& target, const std::vector<viewer::FusionSwitch>& off)
{
    FusionOptions options = fusionOptionsOf(model, target);
    for (const viewer::FusionSwitch& each : off) options.forbidden.push_back({each.rule, each.graph, each.where});
    return options;
}

Result<std::shared_ptr<const viewer::FusedSide>> holdAgainstFused(DebugSubject& subject, const std::vector<viewer::FusionSwitch>& off,
                                                                  const Arguments& arguments)
{
    if (subject.isReplay) return Error(ErrorCode::unsupported, "a recording holds no model that can be fused").at(subject.name);
    LS_TRY(const ExecutionOptions options, executionOptions(arguments));
    LS_TRY(const Tolerance tolerance, toleranceOf(arguments));
    auto side = std::make_shared<viewer::FusedSide>();
    LoadedModel other;
    other.model = *subject.model;
    other.path = subject.name + ", fused";
    LS_TRY(const FusionReport report, fuseFor(other.model, subject.target, off));
    if (other.model.dialect == Dialect::tf) { // variables that are constants now, of which nothing is left
        LS_TRY(other.model, selectForRun(other.model, subject.target.graph, {}));
    }
    for (const Fusion& fusion : report.rewrites) side->rewrites.push_back(rowOf(fusion, true));
    for (const FusionDeclined& declined : report.declined) {
        const viewer::FusionSwitch place{declined.rule, declined.graph, declined.where};
        if (std::ranges::find(off, place) == off.end()) side->refusals.push_back({place, declined.to, declined.reason});
    }
    if (!off.empty()) { // how they read, were they on
        Model whole = *subject.model;
        LS_TRY(const FusionReport all, fuseFor(whole, subject.target, {}));
        std::vector<viewer::FusedSide::Rewrite> rows;
        for (const Fusion& fusion : all.rewrites) {
            viewer::FusedSide::Rewrite row = rowOf(fusion, false);
            const auto used = std::ranges::find(side->rewrites, row.place, &viewer::FusedSide::Rewrite::place);
            if (used != side->rewrites.end()) {
                rows.push_back(std::move(*used));
                side->rewrites.erase(used);
            } else if (std::ranges::find(off, row.place) != off.end()) {
                rows.push_back(std::move(row));
            }
        }
        std::ranges::move(side->rewrites, std::back_inserter(rows)); // those that came in their place
        side->rewrites = std::move(rows);
    }
    LS_CHECK_OK(holdAgainst(subject, std::move(other), tolerance, options));
    return std::shared_ptr<const viewer::FusedSide>(std::move(side));
}

Result<std::shared_ptr<const viewer::RaisedModel>> TerminalBackend::raised() const
{
    auto raised = std::make_shared<Model>(model());
    RaiseOptions visible;
    const RunTarget& target = m_terminal->target();
    for (const Port& port : target.outputs)
        if (port.value.valid()) visible.fetches.push_back(model().graph(target.graph).value(port.value).id);
    LS_TRY(const RewriteReport report, raiseControlFlow(*raised, visible));
    std::vector<viewer::LeftAsItWas> left;
    for (const Declined& declined : report.declined) left.push_back({declined.where, declined.reason});
    return std::make_shared<const viewer::RaisedModel>(model(), std::move(raised), std::move(left), report.rewrites.size());
}

Result<std::vector<std::string>> TerminalBackend::whyNotFused(std::string_view op) const
{
    const std::scoped_lock lock(m_fusionMutex);
    if (!m_fusion) {
        Model whole = model();
        LS_TRY(FusionReport report, fuseFor(whole, m_terminal->target(), {}));
        m_fusion = std::make_shared<const FusionReport>(std::move(report));
    }
    return app::whyNotFused(model(), *m_fusion, op);
}

} // namespace loopscope::app
