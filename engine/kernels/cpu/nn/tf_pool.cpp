// Kernels of TensorFlow's pooling and its gradients. Means are added up in f32 as TensorFlow does, those of other dtypes in f64.
#include "engine/kernels/cpu/nn/tf_window.h"

#include <algorithm>

using namespace loopscope;

namespace {

/// Windows over an input with its channels. MaxPoolV2 and its gradients have sizes and strides as their last two operands.
struct Pool {
    TfWindows windows;
    int64_t channels = 0, inStep = 1, outStep = 1;
    Shape outputShape() const { return windows.outputShape(channels); }

    /// Calls visit(input element, result element) for every element of every window.
    template <typename F> void forEach(F&& visit) const
    {
        windows.forEach(channels, channels, [&](int64_t in, int64_t out, int64_t) {
            for (int64_t c = 0; c < channels; ++c) visit(in + c * inStep, out + c * outStep);
        });
    }
};

Result<Pool> poolOf(const KernelArgs& args, const Shape& input, int spatial)
{
    LS_TRY(const TfLayout layout, tfLayout(args, spatial));
    if (input.rank() != spatial + 2) return invalidArgument("tensor_in must be " + std::to_string(spatial + 2) + "-dimensional");
    TfWindowSpec spec = tfWindowSpec(args, spatial + 2);
    if (spec.sizes.empty() && args.inputCount >= 3) {
        spec.sizes = tfIntegers(args.in(args.inputCount - 2));
        spec.strides = tfIntegers(args.in(args.inputCount - 1));
    }
    if (spec.padding == "EXPLICIT" && static_cast<int>(spec.explicitPadding.size()) == 2 * input.rank() &&
        static_cast<int>(spec.sizes.size()) == input.rank())
        for (int k = 0; k < 2 * spatial; ++k) {
            const auto dim = static_cast<size_t>(layout.spatialDim(k / 2)), isBehind = static_cast<size_t>(k % 2);
            const int64_t padding = spec.explicitPadding[2 * dim + isBehind], size = spec.sizes[dim];
            constexpr const char* kSides[] = {"Top", "Bottom", "Left", "Right"};
            if (padding >= size)
                return invalidArgument(kSides[k % 4] + (" padding " + std::to_string(padding)) +
                                       " needs to be smaller than the window size " + std::to_string(size));
        }
    Pool pool;
    LS_TRY(pool.windows, TfWindows::over(input, layout, spec));
    pool.channels = input[layout.channelDim()];
    pool.inStep = layout.channelStep(input);
    pool.outStep = layout.channelStep(pool.outputShape());
    return pool;
}

Status checkShape(const Shape& found, const Shape& expected)
{
    if (found == expected) return {};
    return invalidArgument("Expected grad shape to be " + toString(expected) + ", but got " + toString(found));
}

/// Means of f32 are added up in f32 as TensorFlow does (core/kernels/pooling_ops_common.h, avgpooling_op.cc), others in f64.
template <typename T> using PoolSum = std::conditional_t<std::is_same_v<T, float>, float, double>;

/// How many elements the window of each result holds.
std::vector<int64_t> countsOf(const Pool& pool)
{
    std::vector<int64_t> counts(static_cast<size_t>(pool.outputShape().elementCount()), 0);
    pool.forEach([&](int64_t, int64_t out) { ++counts[static_cast<size_t>(out)]; });
    return counts;
}

template <int spatial> Status runAvgPool(const KernelArgs& args)
{
    LS_TRY(const Pool pool, poolOf(args, args.in(0).shape, spatial));
    LS_CHECK_OK(tfAllocate(args, 0, pool.outputShape()));
    return forDType<TfFloats>(args.in(0).dtype, [&]<typename T>() -> Status {
        const std::vector<int64_t> counts = countsOf(pool);
        std::vector<PoolSum<T>> sums(counts.size(), 0);
        pool.forEach([&](int64_t in, int64_t out) { sums[static_cast<size_t>(out)] += Element<T>::load(args.in(0).as<T>()[in]); });
        for (size_t i = 0; i < sums.size(); ++i) sums[i] /= static_cast<PoolSum<T>>(counts[i]);
        tfStore<T>(args, 0, std::vector<double>(sums.begin(), sums.end()));
        return {};
    });
}

template <int spatial> Status runAvgPoolGrad(const KernelArgs& args)
{
    LS_TRY(const Shape shape, tfShapeOperand(args.in(0)));
    LS_TRY(const Pool pool, poolOf(args, shape, spatial));
    const Tensor& dy = args.in(1);
    LS_CHECK_OK(checkShape(dy.shape, pool.outputShape()));
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    return forDType<TfFloats>(dy.dtype, [&]<typename T>() -> Status {
        const std::vector<int64_t> counts = countsOf(pool);
        std::vector<PoolSum<T>> sums(static_cast<size_t>(shape.elementCount()), 0);
        pool.forEach([&](int64_t in, int64_t out) {
            const auto share = static_cast<PoolSum<T>>(1.0 / static_cast<double>(counts[static_cast<size_t>(out)]));
            sums[static_cast<size_t>(in)] += static_cast<PoolSum<T>>(Element<T>::load(dy.as<T>()[out])) * share;
        });
        tfStore<T>(args, 0, std::vector<double>(sums.begin(), sums.end()));
        return {};
    });
}

/// For each result the element of the input that is the largest of its window: the first, if there are several.
template <typename T> std::vector<int64_t> largest(const Pool& pool, const T* x)
{
    std::vector<int64_t> best(static_cast<size_t>(pool.outputShape().elementCount()), -1);
    pool.forEach([&](int64_t in, int64_t out) {
        int64_t& at = best[static_cast<size_t>(out)];
        if (at < 0 || Element<T>::load(x[in]) > Element<T>::load(x[at])) at = in;
    });
    return best;
}

/// Windows over channels alone, side by side: the way of TensorFlow to take the largest of each group of them.
Status runDepthPool(const KernelArgs& args, int64_t group, int64_t stride)
{
    Shape shape = args.in(0).shape;
    if (group != stride)
        return tfError(TfCode::unimplemented, "Depthwise max pooling requires the depth window to equal the depth stride.");
    if (shape.back() % group != 0)
        return tfError(TfCode::unimplemented, "Depthwise max pooling requires the depth window to evenly divide the input depth");
    shape[3] /= group;
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    return forDType<TfFloats, TfSigned, TfUnsigned>(args.in(0).dtype, [&]<typename T>() -> Status {
        const T* x = args.in(0).as<T>();
        for (int64_t i = 0, n = shape.elementCount(); i < n; ++i, x += group)
            args.out(0).as<T>()[i] =
                *std::max_element(x, x + group, [](const T& a, const T& b) { return Element<T>::load(a) < Element<T>::load(b); });
        return {};
    });
}

/// The smallest number that a maximum starts from; that of f64 starts from f32's.
template <typename C> using Least = std::conditional_t<std::is_floating_point_v<C>, float, C>;

template <int spatial> Status runMaxPool(const KernelArgs& args)
{
    if (spatial == 2 && args.in(0).shape.rank() == 4) {
        const TfWindowSpec spec = tfWindowSpec(args, 4);
        const bool fits =
            spec.sizes.size() == 4 && spec.strides.size() == 4 && attributeString(attributesOf(args), "data_format", "NHWC") == "NHWC";
        if (fits && spec.sizes[3] > 1 && spec.strides[3] > 0) {
            if (spec.sizes[0] != 1 || spec.sizes[1] != 1 || spec.sizes[2] != 1)
                return tfError(TfCode::unimplemented,
                               "MaxPooling supports exactly one of pooling across depth or pooling across width/height.");
            return runDepthPool(args, spec.sizes[3], spec.strides[3]);
        }
    }
    LS_TRY(const Pool pool, poolOf(args, args.in(0).shape, spatial));
    LS_CHECK_OK(tfAllocate(args, 0, pool.outputShape()));
    return forDType<TfFloats, TfSigned, TfUnsigned>(args.in(0).dtype, [&]<typename T>() -> Status {
        using C = typename Element<T>::Compute;
        const T* x = args.in(0).as<T>();
        // From the smallest number on, so that a NaN counts for nothing, and -infinity for no more than that number.
        std::vector<C> best(static_cast<size_t>(args.out(0).elementCount()), static_cast<C>(std::numeric_limits<Least<C>>::lowest()));
        pool.forEach([&](int64_t in, int64_t out) {
            C& most = best[static_cast<size_t>(out)];
            if (const auto value = Element<T>::load(x[in]); value > most) most = value;
        });
        for (size_t i = 0; i < best.size(); ++i) args.out(0).as<T>()[i] = Element<T>::store(best[i]);
        return {};
    });
}

/// The largest elements, and where they are: flat in the picture, or in the batch.
Status runMaxPoolWithArgmax(const KernelArgs& args)
{
    const Shape& shape = args.in(0).shape;
    LS_TRY(const Pool pool, poolOf(args, shape, 2));
    const int64_t picture = attributeBool(attributesOf(args), "include_batch_in_index", false) ? shape.elementCount() : shape.countOf(1, 4);
    LS_CHECK_OK(tfAllocate(args, 0, pool.outputShape()));
    LS_CHECK_OK(tfAllocate(args, 1, pool.outputShape()));
    return forDType<TfFloats, TfSigned, TfUnsigned>(args.in(0).dtype, [&]<typename T>() -> Status {
        const T* x = args.in(0).as<T>();
        const std::vector<int64_t> best = largest(pool, x);
        Tensor& places = args.out(1);
        for (size_t i = 0; i < best.size(); ++i) {
            args.out(0).as<T>()[i] = best[i] < 0 ? T() : x[best[i]];
            const int64_t place = best[i] < 0 ? 0 : best[i] % picture;
            if (places.dtype == DType::i64) places.as<int64_t>()[i] = place;
            else places.as<int32_t>()[i] = static_cast<int32_t>(place);
        }
        return {};
    });
}

/// dy goes to the largest element of each window: to the first of a picture's, to all of a volume's that are as large.
template <int spatial> Status runMaxPoolGrad(const KernelArgs& args)
{
    const Shape& shape = args.in(0).shape;
    LS_TRY(const Pool pool, poolOf(args, shape, spatial));
    const Tensor& dy = args.in(2);
    if (args.in(0).dtype != dy.dtype) // MaxPool3DGrad has an attribute for each
        return Error(ErrorCode::unsupported,
                     "a gradient of " + std::string(dtypeName(dy.dtype)) + " for windows of " + std::string(dtypeName(args.in(0).dtype)));
    LS_CHECK_OK(checkShape(dy.shape, pool.outputShape()));
    LS_CHECK_OK(checkShape(args.in(1).shape, pool.outputShape()));
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    return forDType<TfFloats>(dy.dtype, [&]<typename T>() -> Status {
        std::vector<double> sums(static_cast<size_t>(shape.elementCount()), 0);
        if constexpr (spatial == 3) {
            const T *x = args.in(0).as<T>(), *y = args.in(1).as<T>();
            pool.forEach([&](int64_t in, int64_t out) {
                if (Element<T>::load(x[in]) == Element<T>::load(y[out])) sums[static_cast<size_t>(in)] += Element<T>::load(dy.as<T>()[out]);
            });
            tfStore<T>(args, 0, sums);
            return {};
        }
        const std::vector<int64_t> best = largest(pool, args.in(0).as<T>());
        for (size_t i = 0; i < best.size(); ++i)
            if (best[i] >= 0) sums[static_cast<size_t>(best[i])] += Element<T>::load(dy.as<T>()[i]);
        tfStore<T>(args, 0, sums);
        return {};
    });
}

/// The gradient of that by dy: what the largest elements got.
Status runMaxPoolGradGrad(const KernelArgs& args)
{
    const Shape& shape = args.in(0).shape;
    LS_TRY(const Pool pool, poolOf(args, shape, 2));
    const Tensor& gradient = args.in(2);
    LS_CHECK_OK(checkShape(gradient.shape, shape));
    if (!(args.in(1).shape == pool.outputShape()))
        return invalidArgument("Expected orig_output shape to be " + toString(pool.outputShape()) + ", but got " +
                               toString(args.in(1).shape));
    LS_CHECK_OK(tfAllocate(args, 0, pool.outputShape()));
    return forDType<TfFloats, TfSigned, TfUnsigned>(gradient.dtype, [&]<typename T>() -> Status {
        const T *x = args.in(0).as<T>(), *y = args.in(1).as<T>();
        std::vector<int64_t> best(static_cast<size_t>(args.out(0).elementCount()), -1); // the first that is as large as what MaxPool gave
        pool.forEach([&](int64_t in, int64_t out) {
            int64_t& at = best[static_cast<size_t>(out)];
            if (at < 0 && Element<T>::load(x[in]) == Element<T>::load(y[out])) at = in;
        });
        for (size_t i = 0; i < best.size(); ++i) args.out(0).as<T>()[i] = best[i] < 0 ? T() : gradient.as<T>()[best[i]];
        return {};
    });
}

/// Copies what each window covers into `patch` channels of a place, tap by tap.
Status takePatches(const KernelArgs& args, const TfWindows& windows, int64_t channels, int64_t patch)
{
    LS_TRY(const TfSource source, TfSource::of(args.in(0)));
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, windows.outputShape(patch), true));
    windows.forEach(channels, patch, [&](int64_t from, int64_t to, int64_t tap) {
        std::memcpy(out.at(to + tap * channels), source.at(from), static_cast<size_t>(channels * source.size()));
    });
    return out.finish();
}

/// The pixels of each window as channels of one; zeros where it reaches beyond the picture.
Status runExtractPatches(const KernelArgs& args)
{
    const Shape& in = args.in(0).shape;
    TfWindowSpec spec;
    spec.sizes = attributeInts(attributesOf(args), "ksizes");
    spec.strides = attributeInts(attributesOf(args), "strides");
    spec.dilations = attributeInts(attributesOf(args), "rates");
    spec.padding = attributeString(attributesOf(args), "padding", "VALID");
    LS_TRY(const TfWindows windows, TfWindows::over(in, TfLayout(), spec));
    const int64_t channels = in[3];
    int64_t patch = 0;
    if (__builtin_mul_overflow(spec.sizes[1] * spec.sizes[2], channels, &patch))
        return invalidArgument("a patch would have too many elements: " + std::to_string(spec.sizes[1]) + " x " +
                               std::to_string(spec.sizes[2]));
    return takePatches(args, windows, channels, patch);
}

/// The cubes of each window as channels of one voxel.
Status runExtractVolumePatches(const KernelArgs& args)
{
    const Shape& in = args.in(0).shape;
    TfWindowSpec spec;
    spec.sizes = attributeInts(attributesOf(args), "ksizes");
    spec.strides = attributeInts(attributesOf(args), "strides");
    spec.dilations.assign(5, 1);
    spec.padding = attributeString(attributesOf(args), "padding", "VALID");
    LS_TRY(const TfWindows windows, TfWindows::over(in, TfLayout{3, false}, spec));
    const int64_t channels = in[4];
    int64_t patch = 0;
    if (__builtin_mul_overflow(spec.sizes[1] * spec.sizes[2], spec.sizes[3], &patch) || __builtin_mul_overflow(patch, channels, &patch))
        return invalidArgument("a patch would have too many elements: " + std::to_string(spec.sizes[1]) + " x " +
                               std::to_string(spec.sizes[2]) + " x " + std::to_string(spec.sizes[3]));
    return takePatches(args, windows, channels, patch);
}

/// dy goes to the places that MaxPoolWithArgmax named.
Status runMaxPoolGradWithArgmax(const KernelArgs& args)
{
    const Shape &shape = args.in(0).shape, &gradient = args.in(1).shape;
    LS_TRY(const Pool pool, poolOf(args, shape, 2));
    LS_CHECK_OK(checkShape(gradient, pool.outputShape()));
    if (!(args.in(2).shape == pool.outputShape()))
        return invalidArgument("Expected argmax shape to be " + toString(pool.outputShape()) + ", but got " + toString(args.in(2).shape));
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    const bool isOfBatch = attributeBool(attributesOf(args), "include_batch_in_index", false);
    const std::vector<int64_t> places = tfIntegers(args.in(2));
    const int64_t picture = isOfBatch ? shape.elementCount() : shape.countOf(1, 4), windows = gradient.countOf(1, 4);
    return forDType<TfFloats, TfSigned, TfUnsigned>(args.in(1).dtype, [&]<typename T>() -> Status {
        using C = typename Element<T>::Compute;
        std::vector<C> sums(static_cast<size_t>(shape.elementCount()), C(0));
        for (size_t i = 0; i < places.size(); ++i) {
            if (places[i] < 0 || places[i] >= picture)
                return invalidArgument("Encountered invalid argmax value: " + std::to_string(places[i]) + ", it must be in [0, " +
                                       std::to_string(picture) + ")");
            C& sum = sums[static_cast<size_t>(places[i] + (isOfBatch ? 0 : static_cast<int64_t>(i) / windows * picture))];
            sum = static_cast<C>(wrappingAdd(sum, Element<T>::load(args.in(1).as<T>()[i])));
        }
        for (size_t i = 0; i < sums.size(); ++i) args.out(0).as<T>()[i] = Element<T>::store(sums[i]);
        return {};
    });
}

} // namespace

LS_TF_KERNEL(AvgPool, runAvgPool<2>, kTfFloats)
LS_TF_KERNEL(AvgPoolGrad, runAvgPoolGrad<2>, kTfFloats)
LS_TF_KERNEL(AvgPool3D, runAvgPool<3>, kTfFloats)
LS_TF_KERNEL(AvgPool3DGrad, runAvgPoolGrad<3>, kTfFloats)
LS_TF_KERNEL(MaxPool, runMaxPool<2>, kTfReals)
LS_TF_KERNEL(MaxPoolV2, runMaxPool<2>, kTfReals)
LS_TF_KERNEL(MaxPool3D, runMaxPool<3>, kTfFloats)
LS_TF_KERNEL(MaxPoolWithArgmax, runMaxPoolWithArgmax, kTfReals)
LS_TF_KERNEL(MaxPoolGrad, runMaxPoolGrad<2>, kTfFloats)
LS_TF_KERNEL(MaxPoolGradV2, runMaxPoolGrad<2>, kTfFloats)
LS_TF_KERNEL(MaxPool3DGrad, runMaxPoolGrad<3>, kTfFloats)
LS_TF_KERNEL(MaxPoolGradGrad, runMaxPoolGradGrad, kTfReals)
LS_TF_KERNEL(MaxPoolGradGradV2, runMaxPoolGradGrad, kTfReals)
LS_TF_KERNEL(ExtractImagePatches, runExtractPatches, "numbers bool")
LS_TF_KERNEL(ExtractVolumePatches, runExtractVolumePatches, kTfReals)
LS_TF_KERNEL(MaxPoolGradWithArgmax, runMaxPoolGradWithArgmax, kTfReals)
