// Kernels of TensorFlow's operators that find where values belong: core/kernels/{searchsorted,bucketize,histogram,in_topk,listdiff}_op.cc.
#include "engine/kernels/cpu/tf_support.h"
#include "engine/tensor/statistics.h"

#include <algorithm>
#include <cmath>
#include <set>

using namespace loopscope;

namespace {

using Countable = TypeList<float, double, int32_t, int64_t>;

/// Writes element i of result k, which is i32 or i64.
void storeIndex(const KernelArgs& args, int k, int64_t i, int64_t value)
{
    if (args.out(k).dtype == DType::i64) args.out(k).as<int64_t>()[i] = value;
    else args.out(k).as<int32_t>()[i] = static_cast<int32_t>(value);
}

template <bool isUpper> Status runBound(const KernelArgs& args)
{
    const Shape& rows = args.in(0).shape;
    const Shape& values = args.in(1).shape;
    if (rows.rank() != 2) return invalidArgument("sorted input argument must be a matrix");
    if (values.rank() != 2) return invalidArgument("values argument must be a matrix");
    if (rows[0] != values[0]) return invalidArgument("Leading dim_size of both tensors must match.");
    LS_CHECK_OK(tfAllocate(args, 0, values));
    return forDType<TfFloats, TfSigned, TfUnsigned>(args.in(0).dtype, [&]<typename T>() -> Status {
        for (int64_t i = 0, n = values.elementCount(); i < n; ++i) {
            const T* row = args.in(0).as<T>() + i / values[1] * rows[1];
            const auto value = Element<T>::load(args.in(1).as<T>()[i]);
            const T* found = std::partition_point(row, row + rows[1], [&](const T& element) {
                return isUpper ? !(value < Element<T>::load(element)) : Element<T>::load(element) < value;
            });
            storeIndex(args, 0, i, found - row);
        }
        return {};
    });
}

Status runBucketize(const KernelArgs& args)
{
    std::vector<float> boundaries;
    const Attribute* const attribute = findAttribute(attributesOf(args), "boundaries");
    if (const AttributeItems* const items = attribute != nullptr ? attribute->as<AttributeItems>() : nullptr)
        for (const Attribute& item : *items) {
            if (const double* const real = item.as<double>()) boundaries.push_back(static_cast<float>(*real));
            if (const int64_t* const whole = item.as<int64_t>()) boundaries.push_back(static_cast<float>(*whole));
        }
    if (!std::ranges::is_sorted(boundaries)) return invalidArgument("Expected sorted boundaries");
    LS_CHECK_OK(tfAllocate(args, 0, args.in(0).shape));
    return forDType<Countable>(args.in(0).dtype, [&]<typename T>() -> Status {
        for (int64_t i = 0, n = args.in(0).elementCount(); i < n; ++i) {
            const auto value = static_cast<std::common_type_t<T, float>>(args.in(0).as<T>()[i]);
            const auto above = std::ranges::upper_bound(boundaries, value, {},
                                                        [](float boundary) { return static_cast<std::common_type_t<T, float>>(boundary); });
            args.out(0).as<int32_t>()[i] = static_cast<int32_t>(above - boundaries.begin());
        }
        return {};
    });
}

Status runHistogram(const KernelArgs& args)
{
    if (args.in(1).elementCount() != 2 || args.in(1).shape.rank() != 1)
        return invalidArgument("value_range should be a vector of 2 elements, got shape " + toString(args.in(1).shape));
    LS_TRY(const int64_t bins, tfInteger(args, 2, "nbins"));
    if (bins <= 0) return invalidArgument("nbins should be a positive number, but got '" + std::to_string(bins) + "'");
    LS_CHECK_OK(tfAllocate(args, 0, Shape({bins})));
    return forDType<Countable>(args.in(0).dtype, [&]<typename T>() -> Status {
        const T low = args.in(1).as<T>()[0], high = args.in(1).as<T>()[1];
        if (!(low < high))
            return invalidArgument("value_range should satisfy value_range[0] < value_range[1], but got '[" + std::to_string(low) + ", " +
                                   std::to_string(high) + "]'");
        const auto above = [low](T value) { // floats are subtracted as they are, integers where nothing overflows
            if constexpr (std::is_integral_v<T>) return static_cast<double>(value) - static_cast<double>(low);
            else return static_cast<double>(value - low);
        };
        const double step = above(high) / static_cast<double>(bins);
        std::vector<int64_t> counts(static_cast<size_t>(bins));
        for (int64_t i = 0, n = args.in(0).elementCount(); i < n; ++i) {
            const T value = args.in(0).as<T>()[i];
            if (value != value) continue;
            const double place = above(std::max(value, low)) / step;
            ++counts[static_cast<size_t>(std::min(place, static_cast<double>(bins - 1)))];
        }
        for (int64_t b = 0; b < bins; ++b) storeIndex(args, 0, b, counts[static_cast<size_t>(b)]);
        return {};
    });
}

Status runInTopK(const KernelArgs& args)
{
    const Shape& shape = args.in(0).shape;
    int64_t k = attributeInt(attributesOf(args), "k", 0);
    if (args.inputCount > 2) {
        LS_TRY(k, tfInteger(args, 2, "k"));
    }
    if (shape.rank() != 2) return invalidArgument("predictions must be 2-dimensional");
    if (args.in(1).shape.rank() != 1) return invalidArgument("targets must be 1-dimensional");
    if (shape[0] != args.in(1).shape[0])
        return invalidArgument("First dimension of predictions " + std::to_string(shape[0]) + " must match length of targets " +
                               std::to_string(args.in(1).shape[0]));
    const std::vector<int64_t> targets = tfIntegers(args.in(1));
    LS_CHECK_OK(tfAllocate(args, 0, Shape({shape[0]})));
    for (int64_t b = 0; b < shape[0]; ++b) {
        const std::span<const float> row(args.in(0).as<float>() + b * shape[1], static_cast<size_t>(shape[1]));
        const int64_t target = targets[static_cast<size_t>(b)];
        bool& isIn = args.out(0).as<bool>()[b];
        isIn = target >= 0 && target < shape[1] && std::ranges::all_of(row, [](float x) { return std::isfinite(x); });
        if (isIn) isIn = std::ranges::count_if(row, [&](float x) { return x > row[static_cast<size_t>(target)]; }) < k;
    }
    return {};
}

Status runListDiff(const KernelArgs& args)
{
    if (args.in(0).shape.rank() != 1) return invalidArgument("x should be a 1D vector.");
    if (args.in(1).shape.rank() != 1) return invalidArgument("y should be a 1D vector.");
    LS_TRY(const TfSource x, TfSource::of(args.in(0)));
    LS_TRY(const TfSource y, TfSource::of(args.in(1)));
    const bool isText = args.in(0).dtype == DType::string;
    const auto bytesAt = [isText](const TfSource& source, int64_t i) {
        return isText ? *reinterpret_cast<const std::string_view*>(source.at(i))
                      : std::string_view(reinterpret_cast<const char*>(source.at(i)), static_cast<size_t>(source.size()));
    };
    std::set<std::string_view> known;
    std::set<double> reals; // the zeros of either sign are one, NaN equals nothing
    const bool isReal = isFloat(args.in(0).dtype);
    for (int64_t i = 0, n = args.in(1).elementCount(); i < n; ++i) {
        if (!isReal) known.insert(bytesAt(y, i));
        else if (const double value = elementAsReal(args.in(1), i); !std::isnan(value)) reals.insert(value);
    }
    std::vector<int64_t> kept;
    for (int64_t i = 0, n = args.in(0).elementCount(); i < n; ++i) {
        const double value = isReal ? elementAsReal(args.in(0), i) : 0;
        if (isReal ? std::isnan(value) || !reals.contains(value) : !known.contains(bytesAt(x, i))) kept.push_back(i);
    }
    const Shape shape({static_cast<int64_t>(kept.size())});
    LS_CHECK_OK(tfAllocate(args, 1, shape));
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, shape));
    for (int64_t i = 0; i < shape[0]; ++i) {
        std::memcpy(out.at(i), x.at(kept[static_cast<size_t>(i)]), static_cast<size_t>(x.size()));
        storeIndex(args, 1, i, kept[static_cast<size_t>(i)]);
    }
    return out.finish();
}

} // namespace

LS_TF_KERNEL(LowerBound, runBound<false>, "f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64")
LS_TF_KERNEL(UpperBound, runBound<true>, "f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64")
LS_TF_KERNEL(Bucketize, runBucketize, "f32 f64 i32 i64")
LS_TF_KERNEL(HistogramFixedWidth, runHistogram, "f32 f64 i32 i64")
LS_TF_KERNEL(InTopK, runInTopK, "f32")
LS_TF_KERNEL(InTopKV2, runInTopK, "f32")
LS_TF_KERNEL(ListDiff, runListDiff, "numbers bool str")
