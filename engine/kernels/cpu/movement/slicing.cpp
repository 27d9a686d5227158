// Kernels that take part of a tensor, write into part of one, or turn one around.
#include "engine/kernels/cpu/movement.h"
#include "engine/kernels/registry.h"
#include "engine/ops/movement.h"
#include "engine/ops/movement/strided_slice.h"

#include <algorithm>
#include <cstring>

using namespace loopscope;

namespace {

/// What is copied from where.
struct Cut {
    StridedCopy copy;
    int64_t offset = 0; ///< of the first element
    bool isEmpty = false;

    Status run(const Tensor& in, const Tensor& out) const
    {
        const int64_t size = elementBytes(out);
        return isEmpty ? Status() : copy.runChecked(in.data + offset * size, out.data, size);
    }
};

/// Whose places and shapes are constant: loops take them again and again.
Status runCut(const KernelArgs& args) { return args.paramsAs<Cut>().run(args.in(0), args.out(0)); }

/// `run`, or what `plan` makes of operands 1 to `last`, if these are constant and fit.
template <typename Plan>
Result<PreparedKernel> prepareCut(const KernelSetup& setup, int last, KernelFunction run, std::shared_ptr<const void> params, Plan plan)
{
    bool isKnown = setup.shapesAreStatic && bitWidth(setup.in(0).dtype) >= 8;
    for (int i = 1; i <= last; ++i) isKnown = isKnown && setup.in(i).data;
    if (isKnown)
        if (Result<Cut> cut = plan(); cut.ok() && cut->copy.fits())
            return PreparedKernel{runCut, std::make_shared<const Cut>(std::move(cut).value())};
    return prepareMovement(setup.in(0).dtype, run, std::move(params));
}

Result<Cut> planSlice(const Tensor& in, const Tensor& begins, const Tensor& out)
{
    Cut cut;
    for (int d = 0; d < in.shape.rank(); ++d) {
        const int64_t begin = indexAt(begins, d);
        if (begin < 0 || begin > in.shape[d])
            return kernelError(2, "begin of dimension " + std::to_string(d))
                .found(std::to_string(begin))
                .expected("0 to " + std::to_string(in.shape[d]));
        if (out.shape[d] > in.shape[d] - begin)
            return kernelError(3, "size of dimension " + std::to_string(d))
                .found(std::to_string(out.shape[d]))
                .expected("at most " + std::to_string(in.shape[d] - begin));
        cut.offset += begin * strideOf(in.shape, d);
        cut.copy.add(out.shape[d], strideOf(in.shape, d), strideOf(out.shape, d));
    }
    return cut;
}

Status runSlice(const KernelArgs& args)
{
    LS_TRY(const Cut cut, planSlice(args.in(0), args.in(1), args.out(0)));
    return cut.run(args.in(0), args.out(0));
}

/// `places`: begins, ends and strides.
Result<Cut> planStrided(const Tensor& in, const Tensor* const* places, const StridedSliceMasks& masks, const Tensor& out)
{
    const int specs = static_cast<int>(places[0]->elementCount()); // at most 31, as inference found
    std::array<int64_t, StridedSlicePlan::kLimit> values[3];
    if (specs > StridedSlicePlan::kLimit) return kernelError(2, "number of indices").found(std::to_string(specs)).expected("at most 31");
    for (int i = 0; i < 3; ++i)
        for (int s = 0; s < specs; ++s) values[i][static_cast<size_t>(s)] = indexAt(*places[i], s);
    const auto view = [&](int i) { return std::span<const int64_t>(values[i].data(), static_cast<size_t>(specs)); };
    auto planned = planStridedSlice(in.shape, masks, specs, view(0), view(1), view(2));
    if (!planned.ok()) return atRunTime(std::move(planned).takeError());
    const StridedSlicePlan& plan = planned.value();
    if (plan.result() != out.shape)
        return kernelError(4, "result of shape " + toString(plan.result()) + " does not fit the planned " + toString(out.shape));
    Cut cut;
    int axis = 0;
    int64_t target = out.elementCount();
    for (int i = 0; i < plan.rank; ++i) {
        const StridedSliceDim& dim = plan.dims[static_cast<size_t>(i)];
        if (dim.newAxis) continue;
        const int64_t stride = strideOf(in.shape, axis++);
        if (dim.count == 0) {
            cut.isEmpty = true;
            return cut;
        }
        cut.offset += dim.begin * stride;
        target /= dim.count;
        cut.copy.add(dim.count, dim.stride * stride, target);
    }
    return cut;
}

Status runStridedSlice(const KernelArgs& args)
{
    LS_TRY(const Cut cut, planStrided(args.in(0), args.inputs + 1, args.paramsAs<StridedSliceMasks>(), args.out(0)));
    return cut.run(args.in(0), args.out(0));
}

Result<PreparedKernel> prepareSlice(const KernelSetup& setup)
{
    return prepareCut(setup, 1, runSlice, nullptr, [&] { return planSlice(setup.in(0), setup.in(1), setup.out(0)); });
}

Result<PreparedKernel> prepareStridedSlice(const KernelSetup& setup)
{
    const auto masks = std::make_shared<const StridedSliceMasks>(stridedSliceMasks(setup.attributes()));
    return prepareCut(setup, 3, runStridedSlice, masks,
                      [&] { return planStrided(setup.in(0), setup.inputs.data() + 1, *masks, setup.out(0)); });
}

Status runDynamicUpdateSlice(const KernelArgs& args)
{
    const Tensor& operand = args.in(0);
    const Tensor& update = args.in(1);
    Tensor& out = args.out(0);
    const int64_t size = elementBytes(out);
    if (operand.data != out.data && out.bytes > 0) std::memcpy(out.data, operand.data, out.bytes);
    StridedCopy copy;
    int64_t offset = 0;
    for (int d = 0; d < out.shape.rank(); ++d) {
        const int64_t start = std::min(std::max<int64_t>(0, indexAt(args.in(2), d)), out.shape[d] - update.shape[d]);
        offset += start * strideOf(out.shape, d);
        copy.add(update.shape[d], strideOf(update.shape, d), strideOf(out.shape, d));
    }
    return copy.runChecked(update.data, out.data + offset * size, size);
}

Status runReverse(const KernelArgs& args)
{
    const Tensor& in = args.in(0);
    Tensor& out = args.out(0);
    const int rank = in.shape.rank();
    uint64_t reversed = 0;
    const int64_t count = args.in(1).elementCount();
    for (int64_t i = 0; i < count; ++i) {
        const int64_t value = indexAt(args.in(1), i);
        const auto axis = normalAxis(value, rank);
        if (!axis || *axis >= kMaxRank || ((reversed >> *axis) & 1U))
            return kernelError(1, "axis")
                .found(std::to_string(value))
                .expected("another of the " + std::to_string(rank) + " dimensions of the input");
        reversed |= uint64_t{1} << *axis;
    }
    if (in.elementCount() == 0) return {};
    StridedCopy copy;
    int64_t offset = 0;
    for (int d = 0; d < rank; ++d) {
        const int64_t stride = strideOf(in.shape, d);
        const bool back = d < kMaxRank && ((reversed >> d) & 1U);
        if (back) offset += (in.shape[d] - 1) * stride;
        copy.add(in.shape[d], back ? -stride : stride, stride);
    }
    const int64_t size = elementBytes(out);
    return copy.runChecked(in.data + offset * size, out.data, size);
}

struct SequenceParams {
    int64_t seq = 0, batch = 0;
};

Status runReverseSequence(const KernelArgs& args)
{
    const Tensor& in = args.in(0);
    Tensor& out = args.out(0);
    const auto& params = args.paramsAs<SequenceParams>();
    const int rank = in.shape.rank();
    const int seq = static_cast<int>(params.seq < 0 ? params.seq + rank : params.seq);
    const int batch = static_cast<int>(params.batch < 0 ? params.batch + rank : params.batch);
    const int64_t size = elementBytes(out);
    const int64_t seqStride = strideOf(in.shape, seq);
    const int64_t batchStride = strideOf(in.shape, batch);
    for (int64_t b = 0; b < in.shape[batch]; ++b) {
        const int64_t length = indexAt(args.in(1), b);
        if (length < 0 || length > in.shape[seq])
            return kernelError(3, "sequence length").found(std::to_string(length)).expected("0 to " + std::to_string(in.shape[seq]));
        // Two copies per batch: the turned beginning and the rest.
        for (const bool turned : {true, false}) {
            const int64_t count = turned ? length : in.shape[seq] - length;
            if (count == 0) continue;
            StridedCopy copy;
            for (int d = 0; d < rank; ++d) {
                const int64_t stride = strideOf(in.shape, d);
                if (d == batch) continue;
                if (d == seq) copy.add(count, turned ? -stride : stride, stride);
                else copy.add(in.shape[d], stride, stride);
            }
            const int64_t target = b * batchStride + (turned ? 0 : length * seqStride);
            const int64_t source = turned ? b * batchStride + (length - 1) * seqStride : target;
            LS_CHECK_OK(copy.runChecked(in.data + source * size, out.data + target * size, size));
        }
    }
    return {};
}

} // namespace

LS_DEFINE_KERNELS(tfl, slice) { registry.add({"tfl", "slice", Profile::reference, prepareSlice, kAllDTypes}); }

LS_DEFINE_KERNELS(tfl, strided_slice) { registry.add({"tfl", "strided_slice", Profile::reference, prepareStridedSlice, kAllDTypes}); }

LS_DEFINE_KERNELS(tfl, dynamic_update_slice)
{
    registry.add({"tfl", "dynamic_update_slice", Profile::reference,
                  [](const KernelSetup& s) { return prepareMovement(s.in(0).dtype, runDynamicUpdateSlice); }, kAllDTypes});
}

LS_DEFINE_KERNELS(tfl, reverse_v2)
{
    registry.add({"tfl", "reverse_v2", Profile::reference, [](const KernelSetup& s) { return prepareMovement(s.in(0).dtype, runReverse); },
                  kAllDTypes});
}

LS_DEFINE_KERNELS(tfl, reverse_sequence)
{
    registry.add({"tfl", "reverse_sequence", Profile::reference,
                  [](const KernelSetup& s) {
                      return prepareMovement(
                          s.in(0).dtype, runReverseSequence,
                          std::make_shared<SequenceParams>(
                              SequenceParams{attributeInt(s.attributes(), "seq_dim", 0), attributeInt(s.attributes(), "batch_dim", 0)}));
                  },
                  kAllDTypes});
}
