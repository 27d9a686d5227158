// SymbolicGradient becomes a call before a run (engine/transform/function_calls.h); what is left of it has no gradient, and says why.
#include "engine/kernels/cpu/tf_support.h"

using namespace loopscope;

namespace {

Status runSymbolicGradient(const KernelArgs& args)
{
    const Attribute* const f = findAttribute(attributesOf(args), "f");
    if (const auto* primitive = f ? f->as<AttributeMap>() : nullptr)
        for (const auto& [key, name] : *primitive)
            if (const auto* kind = name.as<std::string>(); kind && key == "function")
                return tfError(TfCode::notFound, "No gradient defined for op: " + *kind);
    const int64_t given = attributeInt(attributesOf(args), "@results", 0);
    return invalidArgument("SymGrad expects to return " + std::to_string(args.outputCount) + " tensor(s), but get " +
                           std::to_string(given) + " tensor(s) instead.");
}

} // namespace

LS_TF_KERNEL(SymbolicGradient, runSymbolicGradient, kAllDTypes)
