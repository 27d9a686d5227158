#include "app/output/operator_kernels.h"

#include "engine/kernels/registry.h"
#include "engine/ops/catalog.h"

namespace loopscope::app {

OperatorKernels::OperatorKernels(const Model& model, Profile wanted) : m_model(model), m_wanted(wanted)
{
    learn(expectedKernels(model, wanted));
}

void OperatorKernels::learn(const KernelReport& ran)
{
    for (const KernelFallback& one : ran.fallbacks())
        m_fallbacks[{one.graph, one.op}] = std::string(profileName(one.used)) + " kernel (" + one.reason + ")";
}

std::string OperatorKernels::text(GraphId graph, OperatorId op) const
{
    const Kind& kind = m_model.graph(graph).op(op).kind;
    const OpDef* const known = findOp(kind);
    if (known != nullptr && known->isCall) return "interpreter";
    if (!KernelRegistry::builtin().has(kind)) return "no kernel";
    const auto fallback = m_fallbacks.find({graph, op});
    return fallback != m_fallbacks.end() ? fallback->second : std::string(profileName(m_wanted)) + " kernel";
}

} // namespace loopscope::app
