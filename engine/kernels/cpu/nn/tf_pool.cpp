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

template <int spatial> Status runMaxPool(const KernelArgs& args)
{
    LS_TRY(const Pool pool, poolOf(args, args.in(0).shape, spatial));
    LS_CHECK_OK(tfAllocate(args, 0, pool.outputShape()));
    return forDType<TfFloats, TfSigned, TfUnsigned>(args.in(0).dtype, [&]<typename T>() -> Status {
        const T* x = args.in(0).as<T>();
        const std::vector<int64_t> best = largest(pool, x);
        for (size_t i = 0; i < best.size(); ++i) args.out(0).as<T>()[i] = best[i] < 0 ? T() : x[best[i]];
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

/// dy goes to the largest element of each window.
template <int spatial> Status runMaxPoolGrad(const KernelArgs& args)
{
    const Shape& shape = args.in(0).shape;
    LS_TRY(const Pool pool, poolOf(args, shape, spatial));
    const Tensor& dy = args.in(2);
    LS_CHECK_OK(checkShape(dy.shape, pool.outputShape()));
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    return forDType<TfFloats>(dy.dtype, [&]<typename T>() -> Status {
        const std::vector<int64_t> best = largest(pool, args.in(0).as<T>());
        std::vector<double> sums(static_cast<size_t>(shape.elementCount()), 0);
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
    LS_CHECK_OK(tfAllocate(args, 0, pool.outputShape()));
    return forDType<TfFloats, TfSigned, TfUnsigned>(gradient.dtype, [&]<typename T>() -> Status {
        const std::vector<int64_t> best = largest(pool, args.in(0).as<T>());
        for (size_t i = 0; i < best.size(); ++i) args.out(0).as<T>()[i] = best[i] < 0 ? T() : gradient.as<T>()[best[i]];
        return {};
    });
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
    LS_TRY(const TfSource source, TfSource::of(args.in(0)));
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, windows.outputShape(patch), true));
    windows.forEach(channels, patch, [&](int64_t from, int64_t to, int64_t tap) {
        std::memcpy(out.at(to + tap * channels), source.at(from), static_cast<size_t>(channels * source.size()));
    });
    return out.finish();
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
