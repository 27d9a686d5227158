// Kernels of different slices along an axis, and of elements by rank: core/kernels/unique_op.cc, nth_element_op.cc.
#include "engine/kernels/cpu/tf_support.h"
#include "engine/ops/movement.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

using namespace loopscope;

namespace {

/// For each element the first that equals it; a NaN equals nothing. Errors: as readStrings.
Result<std::vector<int64_t>> firstEqualElements(const Tensor& tensor)
{
    if (tensor.dtype != DType::string) {
        std::vector<int64_t> equal = firstOccurrences(tensor);
        if (!isFloat(tensor.dtype)) return equal;
        LS_CHECK_OK(forDType<TfFloats>(tensor.dtype, [&]<typename T>() -> Status {
            for (size_t i = 0; i < equal.size(); ++i)
                if (std::isnan(Element<T>::load(tensor.as<T>()[i]))) equal[i] = static_cast<int64_t>(i);
            return {};
        }));
        return equal;
    }
    LS_TRY(const auto strings, readStrings(tensor));
    std::map<std::string_view, int64_t> seen;
    std::vector<int64_t> first;
    first.reserve(strings.size());
    for (const std::string_view text : strings) first.push_back(seen.emplace(text, static_cast<int64_t>(first.size())).first->second);
    return first;
}

/// The same for the slices along `axis`.
Result<std::vector<int64_t>> firstEqualSlices(const Tensor& tensor, int axis)
{
    LS_TRY(std::vector<int64_t> elements, firstEqualElements(tensor));
    const Shape& shape = tensor.shape;
    const int64_t outer = shape.countOf(0, axis), count = shape[axis], inner = shape.countOf(axis + 1, shape.rank());
    if (outer == 1 && inner == 1) return elements;
    std::map<std::vector<int64_t>, int64_t> seen;
    std::vector<int64_t> first;
    for (int64_t i = 0; i < count; ++i) {
        std::vector<int64_t> slice;
        for (int64_t o = 0; o < outer; ++o)
            slice.insert(slice.end(), elements.begin() + (o * count + i) * inner, elements.begin() + (o * count + i + 1) * inner);
        first.push_back(seen.emplace(std::move(slice), i).first->second);
    }
    return first;
}

/// Result k becomes a vector of i32 or i64.
Status giveNumbers(const KernelArgs& args, int k, const std::vector<int64_t>& numbers)
{
    LS_CHECK_OK(tfAllocate(args, k, Shape({static_cast<int64_t>(numbers.size())})));
    for (size_t i = 0; i < numbers.size(); ++i) {
        if (args.out(k).dtype == DType::i64) args.out(k).as<int64_t>()[i] = numbers[i];
        else args.out(k).as<int32_t>()[i] = static_cast<int32_t>(numbers[i]);
    }
    return {};
}

/// Different slices in the order in which they come first, the number of each slice, and how often each occurs if a third result asks.
Status giveUniqueSlices(const KernelArgs& args, int axis)
{
    const Shape& shape = args.in(0).shape;
    LS_TRY(const std::vector<int64_t> equal, firstEqualSlices(args.in(0), axis));
    LS_TRY(const TfSource in, TfSource::of(args.in(0)));
    std::vector<int64_t> first, counts, which(equal.size());
    for (size_t i = 0; i < equal.size(); ++i) {
        if (equal[i] == static_cast<int64_t>(i)) {
            which[i] = static_cast<int64_t>(first.size());
            first.push_back(equal[i]);
            counts.push_back(0);
        } else {
            which[i] = which[static_cast<size_t>(equal[i])];
        }
        ++counts[static_cast<size_t>(which[i])];
    }
    const int64_t outer = shape.countOf(0, axis), count = shape[axis], inner = shape.countOf(axis + 1, shape.rank());
    const auto size = static_cast<size_t>(inner * in.size());
    Shape result = shape;
    result[axis] = static_cast<int64_t>(first.size());
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, result));
    for (int64_t o = 0; o < outer; ++o)
        for (size_t k = 0; k < first.size() && size > 0; ++k)
            std::memcpy(out.at((o * result[axis] + static_cast<int64_t>(k)) * inner), in.at((o * count + first[k]) * inner), size);
    LS_CHECK_OK(out.finish());
    LS_CHECK_OK(giveNumbers(args, 1, which));
    return args.outputCount > 2 ? giveNumbers(args, 2, counts) : Status();
}

Status runUnique(const KernelArgs& args)
{
    if (args.in(0).shape.rank() != 1) return invalidArgument("unique expects a 1D vector.");
    return giveUniqueSlices(args, 0);
}

Status runUniqueSlices(const KernelArgs& args)
{
    const Shape& shape = args.in(0).shape;
    if (args.in(1).shape.rank() != 1) return invalidArgument("axis expects a 1D vector.");
    const std::vector<int64_t> axes = tfIntegers(args.in(1));
    if (axes.size() > 1) return invalidArgument("axis does not support input tensors larger than 1 element");
    if (axes.empty() && shape.rank() != 1) return invalidArgument("unique expects a 1D vector, or an axis, got " + toString(shape));
    LS_TRY(const int axis, tfAxis(axes.empty() ? 0 : axes[0], shape.rank(), "axis should be"));
    return giveUniqueSlices(args, axis);
}

/// The n-th smallest of each row, or the n-th largest.
Status runNthElement(const KernelArgs& args)
{
    if (args.in(1).shape.rank() != 0) return invalidArgument("N must be scalar but has rank " + std::to_string(args.in(1).shape.rank()));
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

LS_TF_KERNEL(Unique, runUnique, "numbers bool str")
LS_TF_KERNEL(UniqueWithCounts, runUnique, "numbers bool str")
LS_TF_KERNEL(UniqueV2, runUniqueSlices, "numbers bool str")
LS_TF_KERNEL(UniqueWithCountsV2, runUniqueSlices, "numbers bool str")
LS_TF_KERNEL(NthElement, runNthElement, "f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64")
