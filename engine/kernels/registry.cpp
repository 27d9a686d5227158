#include "engine/kernels/registry.h"

#define LS_OP(dialect, name, file) LS_DEFINE_KERNELS(dialect, name);
#define LS_CALL(dialect, name, file)
#include "engine/ops/ops.def"
#undef LS_OP
#undef LS_CALL
#define LS_FAST_KERNEL(dialect, name, file) LS_DEFINE_PROFILE_KERNELS(fast, dialect, name);
#include "engine/kernels/fast/kernels.def"
#undef LS_FAST_KERNEL

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
#define LS_OP(dialect, name, file) ::registerKernels_reference_##dialect##_##name(r);
#define LS_CALL(dialect, name, file)
#include "engine/ops/ops.def"
#undef LS_OP
#undef LS_CALL
#define LS_FAST_KERNEL(dialect, name, file) ::registerKernels_fast_##dialect##_##name(r);
#include "engine/kernels/fast/kernels.def"
#undef LS_FAST_KERNEL
        return r;
    }();
    return registry;
}

void KernelRegistry::add(const KernelEntry& entry)
{
    m_byName.emplace(entry.name, m_entries.size());
    m_entries.push_back(entry);
}

const KernelEntry* KernelRegistry::find(const Kind& kind, Profile profile) const
{
    const auto [begin, end] = m_byName.equal_range(kind.name);
    for (auto at = begin; at != end; ++at)
        if (const KernelEntry& entry = m_entries[at->second]; entry.dialect == kind.dialect && entry.profile == profile) return &entry;
    return nullptr;
}

} // namespace loopscope
