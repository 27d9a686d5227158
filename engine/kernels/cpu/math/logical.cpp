// LOGICAL_AND, LOGICAL_OR, LOGICAL_NOT on bool, with broadcasting.
#include "engine/kernels/cpu/elementwise.h"
#include "engine/kernels/registry.h"

#include <functional>

using namespace loopscope;

namespace {

template <typename Op> Status runLogical(const KernelArgs& args)
{
    applyBinary<bool, bool>(args.in(0), args.in(1), args.out(0), Op());
    return {};
}

template <typename Op> Status runLogicalScalar(const KernelArgs& args)
{
    *args.out(0).as<bool>() = Op()(*args.in(0).as<bool>(), *args.in(1).as<bool>());
    return {};
}

template <typename Op> Result<PreparedKernel> prepareLogical(const KernelSetup& setup)
{
    static constexpr DtypeCase kCases[] = {{DType::boolean, runLogical<Op>, runLogicalScalar<Op>}};
    return prepareByDtype(setup, kCases);
}

Status runNot(const KernelArgs& args)
{
    applyUnary<bool, bool>(args.in(0), args.out(0), [](bool x) { return !x; });
    return {};
}

Result<PreparedKernel> prepareNot(const KernelSetup& setup)
{
    static constexpr DtypeCase kCases[] = {{DType::boolean, runNot}};
    return prepareByDtype(setup, kCases);
}

} // namespace

LS_DEFINE_KERNELS(tfl, logical_and)
{
    registry.add({"tfl", "logical_and", Profile::reference, prepareLogical<std::logical_and<>>, "bool"});
}

LS_DEFINE_KERNELS(tfl, logical_or) { registry.add({"tfl", "logical_or", Profile::reference, prepareLogical<std::logical_or<>>, "bool"}); }

LS_DEFINE_KERNELS(tfl, logical_not) { registry.add({"tfl", "logical_not", Profile::reference, prepareNot, "bool"}); }
