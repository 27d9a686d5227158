// The one kernel registry. It may hold several kernels for one operator kind: reference, fast, Vulkan.
#pragma once

#include "engine/kernels/kernel.h"

#include <span>
#include <vector>

/// Begins the registration of an operator's CPU kernels: `LS_DEFINE_KERNELS(tfl, add) { registry.add({…}); }`.
#define LS_DEFINE_KERNELS(dialect, name) void registerCpu_##dialect##_##name(::loopscope::KernelRegistry& registry)

namespace loopscope {

class KernelRegistry {
public:
    /// All kernels built into this program. Immutable; safe from any thread.
    static const KernelRegistry& builtin();

    void add(const KernelEntry& entry) { m_entries.push_back(entry); }
    std::span<const KernelEntry> entries() const { return m_entries; }
    /// The kernel of that profile, else the reference kernel, else null.
    const KernelEntry* find(const Kind& kind, Profile profile) const;

private:
    std::vector<KernelEntry> m_entries;
};

} // namespace loopscope
