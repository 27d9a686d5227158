#include "engine/kernels/registry.h"

#include "engine/kernels/vulkan/kernels.h"
#include "engine/ops/flex.h"
#include "engine/ops/tf_registry.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#define LS_OP(dialect, name, ...) LS_DEFINE_KERNELS(dialect, name);
#define LS_CALL(...)
#include "engine/ops/ops.def"
#undef LS_OP
#undef LS_CALL
#define LS_FAST_KERNEL(dialect, name, file) LS_DEFINE_PROFILE_KERNELS(fast, dialect, name);
#include "engine/kernels/fast/kernels.def"
#undef LS_FAST_KERNEL
#define LS_XNNPACK_KERNEL(dialect, name, file) LS_DEFINE_PROFILE_KERNELS(xnnpack, dialect, name);
#include "engine/kernels/xnnpack/kernels.def"
#undef LS_XNNPACK_KERNEL

namespace loopscope {

namespace {

/// The kernel of the node that the options hold.
Result<PreparedKernel> prepareFlexKernel(const KernelSetup& setup)
{
    LS_TRY(Operator node, flexNode(setup.op));
    addTypes(node, setup.inputs, setup.outputs);
    const KernelEntry* entry = KernelRegistry::builtin().find(node.kind, Profile::reference);
    if (!entry) return Error(ErrorCode::unsupported, "no kernel for " + node.kind.full());
    // Older files hold handles of resources as the integers that they are.
    std::deque<Tensor> handles;
    const auto withHandles = [&](std::span<const TfArgument> arguments, std::span<const Tensor* const> tensors) {
        std::vector<const Tensor*> all(tensors.begin(), tensors.end());
        const bool isPlain = std::ranges::none_of(arguments, &TfArgument::isList);
        for (size_t i = 0; isPlain && i < std::min(all.size(), arguments.size()); ++i)
            if (arguments[i].dtype == DType::resource && all[i] && all[i]->dtype == DType::i32) {
                all[i] = &handles.emplace_back(*all[i]);
                handles.back().dtype = DType::resource;
            }
        return all;
    };
    const TfOpSignature* const signature = findTfOp(node.kind.name);
    if (!signature) return entry->prepare({node, setup.inputs, setup.outputs, setup.shapesAreStatic, setup.model});
    const auto inputs = withHandles(signature->inputs, setup.inputs), outputs = withHandles(signature->outputs, setup.outputs);
    return entry->prepare({node, inputs, outputs, setup.shapesAreStatic, setup.model});
}

/// TensorFlow's kernels under the names of TFLite's custom operators.
const KernelEntry* findFlexKernel(const Kind& kind)
{
    static const auto entries = [] {
        std::map<std::string, KernelEntry, std::less<>> made;
        for (const KernelEntry& entry : KernelRegistry::builtin().entries()) {
            if (entry.dialect != "tf" || entry.profile != Profile::reference) continue;
            KernelEntry flex = entry;
            const auto at = made.emplace("Flex" + std::string(entry.name), flex).first;
            at->second.dialect = "custom";
            at->second.name = at->first;
            at->second.prepare = prepareFlexKernel;
            flex = at->second;
            flex.name = entry.name;
            made.emplace(entry.name, flex);
            for (const PortedOp& ported : portedOps()) {
                if (ported.tensorflow != entry.name) continue;
                flex = at->second;
                flex.name = ported.custom;
                made.emplace(ported.custom, flex);
            }
        }
        return made;
    }();
    const auto found = entries.find(kind.name);
    return found == entries.end() ? nullptr : &found->second;
}

} // namespace

std::string_view profileName(Profile profile)
{
    switch (profile) {
    case Profile::reference: return "reference";
    case Profile::fast: return "fast";
    case Profile::xnnpack: return "xnnpack";
    case Profile::vulkan: return "vulkan";
    }
    return "";
}

const KernelRegistry& KernelRegistry::builtin()
{
    static const KernelRegistry registry = [] {
        KernelRegistry r;
#define LS_OP(dialect, name, ...) ::registerKernels_reference_##dialect##_##name(r);
#define LS_CALL(...)
#include "engine/ops/ops.def"
#undef LS_OP
#undef LS_CALL
#define LS_FAST_KERNEL(dialect, name, file) ::registerKernels_fast_##dialect##_##name(r);
#include "engine/kernels/fast/kernels.def"
#undef LS_FAST_KERNEL
#define LS_XNNPACK_KERNEL(dialect, name, file) ::registerKernels_xnnpack_##dialect##_##name(r);
#include "engine/kernels/xnnpack/kernels.def"
#undef LS_XNNPACK_KERNEL
        registerVulkanKernels(r);
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
    return profile == Profile::reference && !flexName(kind).empty() ? findFlexKernel(kind) : nullptr;
}

} // namespace loopscope
