#include "engine/kernels/registry.h"

#define LS_OP(dialect, name, file) LS_DEFINE_KERNELS(dialect, name);
#define LS_CALL(dialect, name, file)
#include "engine/ops/ops.def"
#undef LS_OP
#undef LS_CALL

namespace loopscope {

std::string_view profileName(Profile profile)
{
    switch (profile) {
    case Profile::reference: return "reference";
    case Profile::fast: return "fast";
    case Profile::vulkan: return "vulkan";
    }
    return "";
}

const KernelRegistry& KernelRegistry::builtin()
{
    static const KernelRegistry registry = [] {
        KernelRegistry r;
#define LS_OP(dialect, name, file) ::registerCpu_##dialect##_##name(r);
#define LS_CALL(dialect, name, file)
#include "engine/ops/ops.def"
#undef LS_OP
#undef LS_CALL
        return r;
    }();
    return registry;
}

const KernelEntry* KernelRegistry::find(const Kind& kind, Profile profile) const
{
    const KernelEntry* reference = nullptr;
    for (const KernelEntry& entry : m_entries) {
        if (entry.name != kind.name || entry.dialect != kind.dialect) continue;
        if (entry.profile == profile) return &entry;
        if (entry.profile == Profile::reference) reference = &entry;
    }
    return reference;
}

} // namespace loopscope
