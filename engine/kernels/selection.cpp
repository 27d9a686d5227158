#include "engine/kernels/selection.h"

#include "engine/ops/catalog.h"

#include <algorithm>

namespace loopscope {

namespace {

/// Whether a kernel states that its results may differ from the reference kernel's.
bool isInexact(const KernelEntry& entry, const KernelSetup& setup)
{
    return std::ranges::any_of(setup.outputs,
                               [&](const Tensor* result) { return result != nullptr && !entry.bounds.of(result->dtype).isExact(); });
}

} // namespace

Result<ChosenKernel> chooseKernel(const KernelRegistry& registry, const KernelSetup& setup, Profile wanted)
{
    ChosenKernel chosen;
    if (wanted != Profile::reference) {
        const KernelEntry* const entry = registry.find(setup.op.kind, wanted);
        if (entry && wanted == Profile::fast && setup.isQuantizedLater && !entry->keepsBitsWhereAsked && isInexact(*entry, setup)) {
            chosen.reason = "its floats are quantized further on";
        } else if (entry) {
            KernelSetup own = setup;
            own.profile = wanted;
            Result<PreparedKernel> prepared = entry->prepare(own);
            if (prepared.ok()) {
                chosen.kernel = std::move(prepared).value();
                chosen.used = wanted;
                return chosen;
            }
            if (prepared.error().code() != ErrorCode::unsupported) return std::move(prepared).takeError();
            chosen.reason = prepared.error().message();
        } else {
            chosen.reason = "no " + std::string(profileName(wanted)) + " kernel";
        }
    }
    const KernelEntry* const reference = registry.find(setup.op.kind, Profile::reference);
    if (!reference) return Error(ErrorCode::unsupported, "no kernel");
    LS_TRY(chosen.kernel, reference->prepare(setup));
    return chosen;
}

void KernelReport::note(GraphId graph, OperatorId op, Profile wanted, const ChosenKernel& chosen)
{
    if (wanted == Profile::reference) return; // there is nothing to fall back to
    const bool fellBack = chosen.used != wanted;
    const auto [at, isNew] = m_seen.try_emplace({graph, op}, false);
    if (!fellBack || at->second) return;
    at->second = true;
    m_fallbacks.push_back({graph, op, wanted, chosen.used, chosen.reason});
}

KernelReport expectedKernels(const Model& model, Profile wanted)
{
    KernelReport report;
    const KernelRegistry& registry = KernelRegistry::builtin();
    for (size_t g = 0; g < model.graphs.size(); ++g)
        for (size_t o = 0; o < model.graphs[g].operators.size(); ++o) {
            const Operator& op = model.graphs[g].operators[o];
            if (!registry.find(op.kind, Profile::reference)) continue; // calls, and what cannot run
            ChosenKernel chosen;
            if (registry.find(op.kind, wanted)) chosen.used = wanted;
            else chosen.reason = "no " + std::string(profileName(wanted)) + " kernel";
            report.note(GraphId(static_cast<int64_t>(g)), OperatorId(static_cast<int64_t>(o)), wanted, chosen);
        }
    return report;
}

std::string fallbackText(const Model& model, const KernelReport& report, Profile wanted)
{
    if (report.fallbacks().empty()) return {};
    std::map<std::pair<std::string, std::string>, int> groups; // by kind and reason
    for (const KernelFallback& fallback : report.fallbacks()) {
        const Kind& kind = model.graph(fallback.graph).op(fallback.op).kind;
        ++groups[{kind.dialect == "custom" || kind.dialect == "tfl" || kind.dialect == "tf" ? kind.name : kind.full(), fallback.reason}];
    }
    constexpr size_t kMostNamed = 8;
    const size_t others = report.fallbacks().size();
    const bool isDevice = wanted == Profile::vulkan;
    std::string text = (isDevice ? "backend '" : "profile '") + std::string(profileName(wanted)) + "': ";
    text += report.asWanted() == 0 ? "no operator has a kernel of it"
                                   : std::to_string(report.asWanted()) + (report.asWanted() == 1 ? " operator" : " operators");
    text += (isDevice ? "; on the cpu " : "; with reference kernels ") + std::to_string(others) + ": ";
    size_t named = 0;
    for (const auto& [what, count] : groups) {
        if (named++ == kMostNamed) return text + ", and " + std::to_string(groups.size() - kMostNamed) + " other kinds";
        text += (named > 1 ? ", " : "") + what.first + (count > 1 ? " ×" + std::to_string(count) : "") + " (" + what.second + ")";
    }
    return text;
}

} // namespace loopscope
