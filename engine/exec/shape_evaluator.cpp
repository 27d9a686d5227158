#include "engine/exec/shape_evaluator.h"

#include "engine/kernels/registry.h"
#include "engine/kernels/resources.h"

#include <vector>

namespace loopscope {

namespace {

/// For kernels that only compute: no state is shared with a session.
class PlanningRuntime final : public KernelRuntime {
public:
    std::byte* scratch(size_t bytes) override
    {
        m_scratch.resize(bytes / sizeof(Line) + 1);
        return m_scratch.front().bytes;
    }
    Status resize(Tensor&, const Shape&, size_t) override { return Error(ErrorCode::internal, "a size is asked for while planning"); }
    ResourceStore& resources() override { return m_resources; }
    RandomState& random() override { return m_random; }

private:
    struct alignas(64) Line {
        std::byte bytes[64];
    };
    std::vector<Line> m_scratch;
    ResourceStore m_resources;
    RandomState m_random;
};

} // namespace

bool evaluateAtPlanning(const Operator& op, std::span<const Tensor* const> inputs, std::span<Tensor* const> results)
{
    const KernelEntry* const entry = KernelRegistry::builtin().find(op.kind, Profile::reference);
    if (!entry) return false;
    const std::vector<const Tensor*> outputs(results.begin(), results.end());
    const Result<PreparedKernel> kernel = entry->prepare(KernelSetup{op, inputs, outputs, true});
    if (!kernel.ok()) return false;
    PlanningRuntime runtime;
    const KernelArgs args = {
        inputs.data(), results.data(), kernel->params.get(), &runtime, static_cast<int>(inputs.size()), static_cast<int>(results.size())};
    return kernel->run(args).ok();
}

} // namespace loopscope
