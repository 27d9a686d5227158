// The one kernel registry. It may hold several kernels for one operator kind, one a profile.
#pragma once

#include "engine/kernels/kernel.h"

#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

/// Begins the registration of an operator's reference kernel: `LS_DEFINE_KERNELS(tfl, add) { registry.add({…}); }`. The list of the
/// reference kernels is ops.def; other profiles have lists of their own (fast/kernels.def).
#define LS_DEFINE_KERNELS(dialect, name) LS_DEFINE_PROFILE_KERNELS(reference, dialect, name)
#define LS_DEFINE_PROFILE_KERNELS(profile, dialect, name)                                                                                  \
    void registerKernels_##profile##_##dialect##_##name(::loopscope::KernelRegistry& registry)

namespace loopscope {

class KernelRegistry {
public:
    /// All kernels built into this program. Immutable; safe from any thread.
    static const KernelRegistry& builtin();

    void add(const KernelEntry& entry);
    std::span<const KernelEntry> entries() const { return m_entries; }
    /// The kernel of that profile, or null. Whoever runs operators chooses by chooseKernel (selection.h).
    const KernelEntry* find(const Kind& kind, Profile profile) const;
    /// Whether the operator runs at all: every profile falls back to the reference kernel.
    bool has(const Kind& kind) const { return find(kind, Profile::reference) != nullptr; }

private:
    std::vector<KernelEntry> m_entries;
    std::unordered_multimap<std::string_view, size_t> m_byName;
};

} // namespace loopscope
