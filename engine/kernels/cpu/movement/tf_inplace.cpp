// Kernels of operators that replace rows, put tensors on top of each other, turn layouts into one another or keep elements in a range:
// core/kernels (inplace_ops.cc, data_format_ops.cc, cwise_op_clip.cc).
#include "engine/base/interruption.h"
#include "engine/kernels/cpu/tf_support.h"

#include <algorithm>

using namespace loopscope;

namespace {

enum class InPlace { update, add, sub };

/// Rows of x by index; an index from the end is negative, and any index counts modulo the number of rows.
template <InPlace how> Status runInPlace(const KernelArgs& args)
{
    const Tensor &x = args.in(0), &v = args.in(2);
    if (args.in(1).shape.rank() != 1) return invalidArgument("i must be a vector. " + toString(args.in(1).shape));
    if (x.shape.rank() < 1 || x.shape.rank() != v.shape.rank())
        return invalidArgument("x and v shape doesn't match (ranks differ): " + toString(x.shape) + " vs. " + toString(v.shape));
    for (int d = 1; d < x.shape.rank(); ++d)
        if (x.shape[d] != v.shape[d])
            return invalidArgument("x and v shape doesn't match at index " + std::to_string(d) + " : " + toString(x.shape) + " vs. " +
                                   toString(v.shape));
    const std::vector<int64_t> rows = tfIntegers(args.in(1));
    if (static_cast<int64_t>(rows.size()) != v.shape[0])
        return invalidArgument("i and x shape doesn't match at index 0: " + toString(args.in(1).shape) + " vs. " + toString(v.shape));
    const int64_t count = x.shape[0], width = strideOf(x.shape, 0);
    if (count == 0 && !rows.empty()) return invalidArgument("x has no rows to change");
    const auto rowOf = [&](int64_t i) { return (i % count + count) % count; };
    if constexpr (how == InPlace::update) {
        LS_TRY(const TfSource old, TfSource::of(x));
        LS_TRY(const TfSource given, TfSource::of(v));
        TfTarget out;
        LS_CHECK_OK(out.begin(args, 0, x.shape));
        const auto bytes = static_cast<size_t>(width * old.size());
        if (count > 0) std::memcpy(out.data(), old.data(), bytes * static_cast<size_t>(count));
        for (size_t i = 0; i < rows.size(); ++i)
            std::memcpy(out.at(rowOf(rows[i]) * width), given.at(static_cast<int64_t>(i) * width), bytes);
        return out.finish();
    } else {
        LS_CHECK_OK(tfCopy(args, 0, x, x.shape));
        return forDType<TfFloats, TfSigned, TfUnsigned, TfComplex>(x.dtype, [&]<typename T>() -> Status {
            for (size_t i = 0; i < rows.size(); ++i)
                for (int64_t c = 0; c < width; ++c) {
                    T& to = args.out(0).as<T>()[rowOf(rows[i]) * width + c];
                    const T by = v.as<T>()[static_cast<int64_t>(i) * width + c];
                    if constexpr (kIsComplex<T>) to = how == InPlace::add ? to + by : to - by;
                    else {
                        const auto a = Element<T>::load(to), b = Element<T>::load(by);
                        using C = typename Element<T>::Compute;
                        to = Element<T>::store(static_cast<C>(how == InPlace::add ? wrappingAdd(a, b) : wrappingSub(a, b)));
                    }
                }
            return {};
        });
    }
}

/// Operands [1,…] become the rows of one tensor.
Status runParallelConcat(const KernelArgs& args)
{
    const Shape& first = args.in(0).shape;
    if (first.rank() < 1) return invalidArgument("All input shapes must be at least rank 1");
    for (int i = 0; i < args.inputCount; ++i) {
        if (!(args.in(i).shape == first))
            return invalidArgument("All input shapes must be the same: " + toString(first) + " vs. " + toString(args.in(i).shape));
        if (first[0] != 1) return invalidArgument("Size of first dimension must be 1, got " + std::to_string(first[0]));
    }
    Shape shape = first;
    shape[0] = args.inputCount;
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, shape));
    const int64_t width = strideOf(shape, 0);
    std::vector<TfSource> sources; // strings are views until the result is written
    for (int i = 0; i < args.inputCount; ++i) {
        LS_TRY(TfSource source, TfSource::of(args.in(i)));
        sources.push_back(std::move(source));
        if (width > 0) std::memcpy(out.at(i * width), sources.back().data(), static_cast<size_t>(width * out.size()));
    }
    return out.finish();
}

/// The two layouts of an operator, letter by letter. Errors: InvalidArgument.
struct Layouts {
    std::string_view from, to;
};
Result<Layouts> layoutsOf(const KernelArgs& args)
{
    const Layouts layouts{attributeString(attributesOf(args), "src_format", "NHWC"),
                          attributeString(attributesOf(args), "dst_format", "NCHW")};
    const bool fits = layouts.from.size() == layouts.to.size() && (layouts.from.size() == 4 || layouts.from.size() == 5) &&
                      std::ranges::is_permutation(layouts.from, layouts.to);
    if (!fits)
        return invalidArgument("Destination and source format must determine a permutation, got " + std::string(layouts.from) + " and " +
                               std::string(layouts.to));
    return layouts;
}

/// Dimensions of one layout as those of another.
Status runDimMap(const KernelArgs& args)
{
    LS_TRY(const Layouts layouts, layoutsOf(args));
    const auto rank = static_cast<int64_t>(layouts.from.size());
    LS_CHECK_OK(tfAllocate(args, 0, args.in(0).shape));
    const std::vector<int64_t> dims = tfIntegers(args.in(0));
    for (size_t i = 0; i < dims.size(); ++i) {
        // TensorFlow does not look whether a dimension is one; what it is counts modulo the rank.
        const int64_t d = (dims[i] % rank + rank) % rank;
        const auto to = static_cast<int64_t>(layouts.to.find(layouts.from[static_cast<size_t>(d)]));
        if (args.out(0).dtype == DType::i64) args.out(0).as<int64_t>()[i] = to;
        else args.out(0).as<int32_t>()[i] = static_cast<int32_t>(to);
    }
    return {};
}

/// A vector, or rows of a matrix, with one entry for each dimension, or for each spatial one.
Status runVecPermute(const KernelArgs& args)
{
    LS_TRY(const Layouts layouts, layoutsOf(args));
    const Shape& shape = args.in(0).shape;
    if (shape.rank() != 1 && shape.rank() != 2)
        return invalidArgument("input must be a vector or 2D tensor, but got shape " + toString(shape));
    if (shape.rank() == 2 && shape[1] != 2) return invalidArgument("second dimension must be of size 2, but got shape " + toString(shape));
    std::string from(layouts.from), to(layouts.to);
    const auto full = static_cast<int64_t>(from.size());
    if (shape[0] == full - 2)
        for (std::string* each : {&from, &to}) std::erase_if(*each, [](char c) { return c == 'N' || c == 'C'; });
    else if (shape[0] != full)
        return invalidArgument(std::to_string(shape.rank()) + "D input must be of size " + std::to_string(full - 2) + " or " +
                               std::to_string(full) + ", but got shape " + toString(shape));
    if (static_cast<int64_t>(from.size()) != shape[0])
        return invalidArgument("Format specifier must contain C and N, got " + std::string(layouts.from));
    LS_TRY(const TfSource source, TfSource::of(args.in(0)));
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, shape));
    const int64_t width = strideOf(shape, 0);
    for (size_t i = 0; i < to.size(); ++i)
        std::memcpy(out.at(static_cast<int64_t>(i) * width), source.at(static_cast<int64_t>(from.find(to[i])) * width),
                    static_cast<size_t>(width * source.size()));
    return out.finish();
}

/// Limits are scalars or as large as the operand.
Status runClip(const KernelArgs& args)
{
    const Shape& shape = args.in(0).shape;
    for (const int i : {1, 2})
        if (args.in(i).shape.rank() != 0 && !(args.in(i).shape == shape))
            return invalidArgument(
                "clip_value_min and clip_value_max must be either of the same shape as input, or a scalar. input shape: " +
                toString(shape) + ", got " + toString(args.in(i).shape));
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    // Of complex numbers both parts are clipped.
    const DType dtype = args.in(0).dtype, part = dtype == DType::c64 ? DType::f32 : dtype == DType::c128 ? DType::f64 : dtype;
    const int64_t parts = part == dtype ? 1 : 2;
    return forDType<TfFloats, TfSigned, TfUnsigned>(part, [&]<typename T>() -> Status {
        const auto limit = [&](int operand, int64_t i) {
            return Element<T>::load(args.in(operand).as<T>()[args.in(operand).shape.rank() == 0 ? i % parts : i]);
        };
        for (int64_t i = 0, n = shape.elementCount() * parts; i < n; ++i) {
            const auto low = limit(1, i), high = limit(2, i), x = Element<T>::load(args.in(0).as<T>()[i]);
            const auto least = x > high ? high : x; // NaN stays
            args.out(0).as<T>()[i] = Element<T>::store(least < low ? low : least);
        }
        return {};
    });
}

/// The nearest rows that do not rise: neighbours that rise are pooled to their mean.
Status runIsotonic(const KernelArgs& args)
{
    const Shape& shape = args.in(0).shape;
    if (shape.rank() < 1) return invalidArgument("input must be at least a vector, got shape " + toString(shape));
    const int64_t count = shape.back(), rows = shape.countOf(0, shape.rank() - 1);
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    LS_CHECK_OK(tfAllocate(args, 1, shape));
    struct Pooled {
        double sum = 0;
        int64_t count = 0;
        double mean() const { return sum / static_cast<double>(count); }
    };
    return forDType<TfFloats, TfSigned, TypeList<uint8_t, uint16_t>>(args.in(0).dtype, [&]<typename T>() -> Status {
        return forDType<TfFloats>(args.out(0).dtype, [&]<typename O>() -> Status {
            LoopPace pace;
            for (int64_t row = 0; row < rows; ++row) {
                std::vector<Pooled> pools;
                pace.did(count);
                for (int64_t i = 0; i < count; ++i) {
                    pools.push_back({static_cast<double>(Element<T>::load(args.in(0).as<T>()[row * count + i])), 1});
                    while (pools.size() > 1 && pools[pools.size() - 2].mean() < pools.back().mean()) {
                        pools[pools.size() - 2].sum += pools.back().sum;
                        pools[pools.size() - 2].count += pools.back().count;
                        pools.pop_back();
                    }
                }
                int64_t at = row * count;
                for (size_t p = 0; p < pools.size(); ++p)
                    for (int64_t k = 0; k < pools[p].count; ++k, ++at) {
                        args.out(0).as<O>()[at] = Element<O>::store(static_cast<typename Element<O>::Compute>(pools[p].mean()));
                        args.out(1).as<int32_t>()[at] = static_cast<int32_t>(p);
                    }
            }
            return {};
        });
    });
}

} // namespace

LS_TF_KERNEL(InplaceUpdate, runInPlace<InPlace::update>, "all")
LS_TF_KERNEL(InplaceAdd, runInPlace<InPlace::add>, kTfNumbers)
LS_TF_KERNEL(InplaceSub, runInPlace<InPlace::sub>, kTfNumbers)
LS_TF_KERNEL(ParallelConcat, runParallelConcat, "all")
LS_TF_KERNEL(DataFormatDimMap, runDimMap, "i32 i64")
LS_TF_KERNEL(DataFormatVecPermute, runVecPermute, "i32 i64")
LS_TF_KERNEL(ClipByValue, runClip, kTfNumbers)
LS_TF_KERNEL(IsotonicRegression, runIsotonic, "f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16")
