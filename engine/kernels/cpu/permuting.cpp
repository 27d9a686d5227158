// Kernels that change the order of elements by dimension or block.
#include "engine/kernels/cpu/movement.h"
#include "engine/kernels/registry.h"
#include "engine/ops/movement.h"

using namespace loopscope;

namespace {

Status runTranspose(const KernelArgs& args)
{
    const Tensor& in = args.in(0);
    Tensor& out = args.out(0);
    StridedCopy copy;
    uint64_t seen = 0;
    for (int d = 0; d < out.shape.rank(); ++d) {
        const auto axis = normalAxis(indexAt(args.in(1), d), in.shape.rank());
        if (!axis || ((seen >> *axis) & 1U) || in.shape[*axis] != out.shape[d])
            return kernelError(2, "entry " + std::to_string(d) + " of the permutation").found(std::to_string(indexAt(args.in(1), d)))
                .expected("another of the " + std::to_string(in.shape.rank()) + " dimensions");
        seen |= uint64_t{1} << *axis;
        copy.add(out.shape[d], strideOf(in.shape, *axis), strideOf(out.shape, d));
    }
    return copy.runChecked(in.data, out.data, elementBytes(out));
}

} // namespace

LS_DEFINE_KERNELS(tfl, transpose)
{
    registry.add({"tfl", "transpose", Profile::reference, [](const KernelSetup& s) { return prepareMovement(s.in(0).dtype, runTranspose); }, kAllDTypes});
}
