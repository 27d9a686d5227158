// Kernels of different slices along an axis, and of elements by rank: core/kernels/unique_op.cc, nth_element_op.cc.
#include "engine/kernels/cpu/tf_support.h"

#include <algorithm>
#include <map>

using namespace loopscope;

namespace {

/// Different slices in the order in which they come first, the number of each slice, and how often each occurs if a third result asks.
Status runUniqueSlices(const KernelArgs& args)
{
    const Shape& shape = args.in(0).shape;
    const std::vector<int64_t> axes = tfIntegers(args.in(1));
    if (axes.size() > 1) return invalidArgument("axis does not support input tensors larger than 1 element");
    if (axes.empty() && shape.rank() != 1) return invalidArgument("unique expects a 1D vector, or an axis, got " + toString(shape));
    LS_TRY(const int axis, tfAxis(axes.empty() ? 0 : axes[0], shape.rank(), "axis should be"));
    LS_TRY(const TfSource in, TfSource::of(args.in(0)));
    if (args.in(0).dtype == DType::string) return Error(ErrorCode::unsupported, "different slices of strings");
    const int64_t outer = shape.countOf(0, axis), count = shape[axis], inner = shape.countOf(axis + 1, shape.rank());
    const auto size = static_cast<size_t>(inner * in.size());
    std::map<std::string, int64_t> seen;
    std::vector<int64_t> first, which, counts;
    for (int64_t i = 0; i < count; ++i) {
        std::string slice;
        for (int64_t o = 0; o < outer; ++o) slice.append(reinterpret_cast<const char*>(in.at((o * count + i) * inner)), size);
        const auto [at, isNew] = seen.emplace(std::move(slice), static_cast<int64_t>(first.size()));
        if (isNew) {
            first.push_back(i);
            counts.push_back(0);
        }
        which.push_back(at->second);
        ++counts[static_cast<size_t>(at->second)];
    }
    Shape result = shape;
    result[axis] = static_cast<int64_t>(first.size());
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, result));
    for (int64_t o = 0; o < outer; ++o)
        for (size_t k = 0; k < first.size() && size > 0; ++k)
            std::memcpy(out.at((o * result[axis] + static_cast<int64_t>(k)) * inner), in.at((o * count + first[k]) * inner), size);
    LS_CHECK_OK(out.finish());
    const auto give = [&](int k, const std::vector<int64_t>& numbers) -> Status {
        LS_CHECK_OK(tfAllocate(args, k, Shape({static_cast<int64_t>(numbers.size())})));
        for (size_t i = 0; i < numbers.size(); ++i) {
            if (args.out(k).dtype == DType::i64) args.out(k).as<int64_t>()[i] = numbers[i];
            else args.out(k).as<int32_t>()[i] = static_cast<int32_t>(numbers[i]);
        }
        return {};
    };
    LS_CHECK_OK(give(1, which));
    return args.outputCount > 2 ? give(2, counts) : Status();
}

/// The n-th smallest of each row, or the n-th largest.
Status runNthElement(const KernelArgs& args)
{
    LS_TRY(int64_t n, tfInteger(args, 1, "n"));
    const Shape& shape = args.in(0).shape;
    if (shape.rank() < 1) return invalidArgument("input must be at least rank 1 but got shape: " + toString(shape));
    if (n < 0 || n >= shape.back())
        return invalidArgument("Input must have at least n+1 = " + std::to_string(n + 1) + " columns, got " + std::to_string(shape.back()));
    if (attributeBool(attributesOf(args), "reverse", false)) n = shape.back() - n - 1;
    const Shape result(shape.dims().first(static_cast<size_t>(shape.rank() - 1)));
    LS_CHECK_OK(tfAllocate(args, 0, result));
    return forDType<TfFloats, TfSigned, TfUnsigned>(args.in(0).dtype, [&]<typename T>() -> Status {
        for (int64_t r = 0, rows = result.elementCount(); r < rows; ++r) {
            const T* from = args.in(0).as<T>() + r * shape.back();
            std::vector<T> row(from, from + shape.back());
            const auto before = [](const T& a, const T& b) { return Element<T>::load(a) < Element<T>::load(b); };
            std::nth_element(row.begin(), row.begin() + n, row.end(), before);
            args.out(0).as<T>()[r] = row[static_cast<size_t>(n)];
        }
        return {};
    });
}

} // namespace

LS_TF_KERNEL(UniqueV2, runUniqueSlices, "numbers bool")
LS_TF_KERNEL(UniqueWithCountsV2, runUniqueSlices, "numbers bool")
LS_TF_KERNEL(NthElement, runNthElement, "f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64")
