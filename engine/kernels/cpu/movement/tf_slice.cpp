#include "engine/kernels/cpu/movement/tf_slice.h"

#include "engine/kernels/cpu/movement.h"

#include <algorithm>
#include <span>

namespace loopscope {

Result<StridedSlicePlan> tfPlanSlice(const KernelArgs& args, const Shape& input, int first)
{
    const std::vector<int64_t> begin = tfIntegers(args.in(first));
    const std::vector<int64_t> end = tfIntegers(args.in(first + 1));
    const std::vector<int64_t> strides = tfIntegers(args.in(first + 2));
    if (begin.size() != end.size() || begin.size() != strides.size() || begin.size() > 31)
        return invalidArgument("Expected begin, end, and strides to be 1D equal size tensors, but got shapes " +
                               toString(args.in(first).shape) + ", " + toString(args.in(first + 1).shape) + ", and " +
                               toString(args.in(first + 2).shape) + " instead.");
    StridedSliceMasks masks = stridedSliceMasks(attributesOf(args));
    masks.offset = false;
    const auto view = [](const std::vector<int64_t>& v) { return std::optional<std::span<const int64_t>>(v); };
    Result<StridedSlicePlan> plan = planStridedSlice(input, masks, static_cast<int>(begin.size()), view(begin), view(end), view(strides));
    if (plan.ok()) return plan;
    const std::string what = plan.error().detail().what;
    if (what.starts_with("C3")) {
        for (size_t i = 0; i < strides.size(); ++i)
            if (strides[i] == 0) return invalidArgument("strides[" + std::to_string(i) + "] must be non-zero");
        return invalidArgument("only stride 1 allowed on non-range indexing.");
    }
    if (what.starts_with("C4"))
        for (int i = 0, d = 0; i < static_cast<int>(begin.size()); ++i) {
            if (((masks.newAxis | masks.ellipsis) >> i) & 1U) {
                d += ((masks.ellipsis >> i) & 1U) ? std::max(0, input.rank() - static_cast<int>(begin.size()) + 1) : 0;
                continue;
            }
            const int64_t b = begin[static_cast<size_t>(i)];
            if (((masks.shrink >> i) & 1U) && d < input.rank() && (b < -input[d] || b >= input[d]))
                return invalidArgument("slice index " + std::to_string(b) + " of dimension " + std::to_string(d) + " out of bounds.");
            ++d;
        }
    return invalidArgument("Index out of range using input dim " + std::to_string(input.rank()) + "; input has only " +
                           std::to_string(input.rank()) + " dims");
}

void tfCopySlice(const StridedSlicePlan& plan, const Shape& whole, const std::byte* source, std::byte* target, int64_t size, bool intoWhole)
{
    StridedCopy copy;
    const Shape result = [&] {
        Shape all;
        for (int i = 0; i < plan.rank; ++i) all.append(plan.dims[static_cast<size_t>(i)].count);
        return all;
    }();
    if (result.elementCount() == 0) return;
    int64_t origin = 0;
    for (int i = 0, d = 0; i < plan.rank; ++i) {
        const StridedSliceDim& dim = plan.dims[static_cast<size_t>(i)];
        int64_t step = 0;
        if (!dim.newAxis) {
            origin += dim.begin * strideOf(whole, d);
            step = dim.stride * strideOf(whole, d);
            ++d;
        }
        if (intoWhole) copy.add(dim.count, strideOf(result, i), step);
        else copy.add(dim.count, step, strideOf(result, i));
    }
    copy.run(intoWhole ? source : source + origin * size, intoWhole ? target + origin * size : target, size);
}

} // namespace loopscope
