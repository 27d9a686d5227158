// Kernels of TensorFlow's convolutions, pooling, softmax and their gradients, for NHWC. Sums are kept in f64 and rounded once.
#include "engine/kernels/cpu/conv_window.h"
#include "engine/kernels/cpu/tf_support.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace loopscope;

namespace {

/// Windows over the pixels of [N,H,W,C].
struct Windows {
    int64_t batches = 0;
    PlacedAxis height, width;

    /// Calls visit(input pixel, output pixel, tap) for every tap that lies inside; pixels are flat over [N,H,W], taps over [KH,KW].
    template <typename F> void forEach(F&& visit) const
    {
        for (int64_t n = 0; n < batches; ++n)
            for (int64_t y = 0; y < height.output; ++y) {
                const TapRange rows = height.taps(y);
                for (int64_t x = 0; x < width.output; ++x) {
                    const TapRange columns = width.taps(x);
                    const int64_t out = (n * height.output + y) * width.output + x;
                    for (int64_t ky = rows.first; ky < rows.last; ++ky)
                        for (int64_t kx = columns.first; kx < columns.last; ++kx) {
                            const int64_t iy = height.origin(y) + ky * height.dilation;
                            const int64_t ix = width.origin(x) + kx * width.dilation;
                            visit((n * height.input + iy) * width.input + ix, out, ky * width.filter + kx);
                        }
                }
            }
    }
    int64_t outputs() const { return batches * height.output * width.output; }
};

/// Entry `i` of a list of four that belong to N, H, W and C; `otherwise` if the attribute is absent.
Result<int64_t> entry(const KernelArgs& args, std::string_view key, size_t i, int64_t otherwise)
{
    const std::vector<int64_t> list = attributeInts(attributesOf(args), key);
    if (list.empty()) return otherwise;
    if (list.size() != 4 || list[i] < 1 || list[i] > (int64_t{1} << 30)) return invalidArgument(std::string(key) + " must hold four numbers > 0");
    return list[i];
}

/// One axis: TensorFlow's SAME puts the odd element of the padding behind (core/framework/kernel_shape_util.cc).
Result<PlacedAxis> axisOf(const KernelArgs& args, int64_t input, int64_t filter, size_t dim)
{
    PlacedAxis axis;
    axis.input = input;
    axis.filter = filter;
    LS_TRY(axis.stride, entry(args, "strides", dim, 1));
    LS_TRY(axis.dilation, entry(args, "dilations", dim, 1));
    if (filter < 1 || filter > (int64_t{1} << 30)) return invalidArgument("window size must be > 0, got " + std::to_string(filter));
    const int64_t reach = (filter - 1) * axis.dilation + 1;
    const std::string_view padding = attributeString(attributesOf(args), "padding", "VALID");
    if (padding == "SAME") {
        axis.output = (input + axis.stride - 1) / axis.stride;
        axis.padding = std::max<int64_t>((axis.output - 1) * axis.stride + reach - input, 0) / 2;
        return axis;
    }
    int64_t both = 0;
    if (padding == "EXPLICIT") {
        const std::vector<int64_t> list = attributeInts(attributesOf(args), "explicit_paddings");
        if (list.size() != 8 || list[2 * dim] < 0 || list[2 * dim + 1] < 0 || list[2 * dim] + list[2 * dim + 1] > (int64_t{1} << 30))
            return invalidArgument("explicit_paddings attribute must contain 8 values that are >= 0");
        axis.padding = list[2 * dim];
        both = list[2 * dim] + list[2 * dim + 1];
    }
    axis.output = (input + both - reach + axis.stride) / axis.stride;
    if (input + both < reach)
        return invalidArgument("Computed output size would be negative: " + std::to_string(axis.output) + " [input_size: " + std::to_string(input) +
                               ", effective_filter_size: " + std::to_string(reach) + ", stride: " + std::to_string(axis.stride) + "]");
    return axis;
}

Result<Windows> windowsOf(const KernelArgs& args, const Shape& input, int64_t filterHeight, int64_t filterWidth)
{
    if (attributeString(attributesOf(args), "data_format", "NHWC") != "NHWC") return Error(ErrorCode::unsupported, "data_format other than NHWC");
    if (input.rank() != 4) return invalidArgument("input must be 4-dimensional: " + toString(input));
    Windows windows;
    windows.batches = input[0];
    LS_TRY(windows.height, axisOf(args, input[1], filterHeight, 1));
    LS_TRY(windows.width, axisOf(args, input[2], filterWidth, 2));
    return windows;
}

Shape outputShape(const Windows& windows, int64_t channels)
{
    return Shape({windows.batches, windows.height.output, windows.width.output, channels});
}

/// Result 0 becomes `sums`, rounded to its dtype.
template <typename T> void store(const KernelArgs& args, const std::vector<double>& sums)
{
    for (size_t i = 0; i < sums.size(); ++i)
        args.out(0).as<T>()[i] = Element<T>::store(static_cast<typename Element<T>::Compute>(sums[i]));
}

/// What a convolution connects: for each tap, channel c of the input with channel o of the output by an element of the filter.
struct Connections {
    Windows windows;
    int64_t channels = 0, outputs = 0, perGroup = 0, outputsPerGroup = 0;
    bool depthwise = false;

    template <typename F> void forEach(F&& visit) const
    {
        windows.forEach([&](int64_t in, int64_t out, int64_t tap) {
            if (depthwise) {
                for (int64_t o = 0; o < outputs; ++o) visit(in * channels + o / outputsPerGroup, out * outputs + o, tap * outputs + o);
                return;
            }
            for (int64_t c = 0; c < perGroup; ++c)
                for (int64_t o = 0; o < outputs; ++o)
                    visit(in * channels + o / outputsPerGroup * perGroup + c, out * outputs + o, (tap * perGroup + c) * outputs + o);
        });
    }
};

Result<Connections> connect(const KernelArgs& args, const Shape& input, const Shape& filter, bool depthwise)
{
    if (filter.rank() != 4) return invalidArgument("filter must be 4-dimensional: " + toString(filter));
    Connections all;
    LS_TRY(all.windows, windowsOf(args, input, filter[0], filter[1]));
    all.channels = input[3];
    all.depthwise = depthwise;
    all.perGroup = filter[2];
    if (depthwise) {
        if (filter[2] != input[3] || filter[3] < 1) return invalidArgument("input and filter must have the same depth: " + std::to_string(input[3]) + " vs " + std::to_string(filter[2]));
        all.outputs = filter[2] * filter[3];
        all.outputsPerGroup = filter[3];
        return all;
    }
    if (filter[2] < 1 || filter[3] < 1 || input[3] % filter[2] != 0 || filter[3] % (input[3] / filter[2]) != 0)
        return invalidArgument("input depth must be evenly divisible by filter depth: " + std::to_string(input[3]) + " vs " + std::to_string(filter[2]));
    all.outputs = filter[3];
    all.outputsPerGroup = filter[3] / std::max<int64_t>(input[3] / filter[2], 1);
    return all;
}

template <bool depthwise> Status runConv(const KernelArgs& args)
{
    LS_TRY(const Connections all, connect(args, args.in(0).shape, args.in(1).shape, depthwise));
    LS_CHECK_OK(tfAllocate(args, 0, outputShape(all.windows, all.outputs)));
    return forDType<TfFloats, TypeList<int32_t>>(args.in(0).dtype, [&]<typename T>() -> Status {
        std::vector<double> sums(static_cast<size_t>(all.windows.outputs() * all.outputs), 0);
        const T* x = args.in(0).as<T>();
        const T* w = args.in(1).as<T>();
        all.forEach([&](int64_t in, int64_t out, int64_t weight) {
            sums[static_cast<size_t>(out)] += static_cast<double>(Element<T>::load(x[in])) * static_cast<double>(Element<T>::load(w[weight]));
        });
        store<T>(args, sums);
        return {};
    });
}

/// Gradients: dx[in] += dy[out] · w, dw += dy[out] · x[in].
template <bool depthwise, bool byFilter> Status runConvGrad(const KernelArgs& args)
{
    LS_TRY(const Shape asked, tfShapeOperand(args.in(byFilter ? 1 : 0)));
    const Shape& input = byFilter ? args.in(0).shape : asked;
    const Shape& filter = byFilter ? asked : args.in(1).shape;
    if (input.rank() != 4 || filter.rank() != 4) return invalidArgument("input and filter must be 4-dimensional: " + toString(input) + " and " + toString(filter));
    LS_TRY(const Connections all, connect(args, input, filter, depthwise));
    const Tensor& dy = args.in(2);
    if (!(dy.shape == outputShape(all.windows, all.outputs)))
        return invalidArgument("Size of out_backprop doesn't match computed: actual = " + toString(dy.shape) + ", computed = " +
                               toString(outputShape(all.windows, all.outputs)));
    LS_CHECK_OK(tfAllocate(args, 0, asked));
    return forDType<TfFloats>(dy.dtype, [&]<typename T>() -> Status {
        std::vector<double> sums(static_cast<size_t>(asked.elementCount()), 0);
        const T* other = args.in(byFilter ? 0 : 1).as<T>();
        const T* back = dy.as<T>();
        all.forEach([&](int64_t in, int64_t out, int64_t weight) {
            sums[static_cast<size_t>(byFilter ? weight : in)] += static_cast<double>(Element<T>::load(back[out])) *
                                                                  static_cast<double>(Element<T>::load(other[byFilter ? in : weight]));
        });
        store<T>(args, sums);
        return {};
    });
}

Result<Windows> poolOf(const KernelArgs& args, const Shape& input)
{
    LS_TRY(const int64_t height, entry(args, "ksize", 1, 1));
    LS_TRY(const int64_t width, entry(args, "ksize", 2, 1));
    return windowsOf(args, input, height, width);
}

/// How many elements each window holds.
std::vector<int64_t> countsOf(const Windows& windows)
{
    std::vector<int64_t> counts(static_cast<size_t>(windows.outputs()), 0);
    windows.forEach([&](int64_t, int64_t out, int64_t) { ++counts[static_cast<size_t>(out)]; });
    return counts;
}

Status runAvgPool(const KernelArgs& args)
{
    LS_TRY(const Windows windows, poolOf(args, args.in(0).shape));
    const int64_t channels = args.in(0).shape[3];
    LS_CHECK_OK(tfAllocate(args, 0, outputShape(windows, channels)));
    return forDType<TfFloats>(args.in(0).dtype, [&]<typename T>() -> Status {
        std::vector<double> sums(static_cast<size_t>(windows.outputs() * channels), 0);
        windows.forEach([&](int64_t in, int64_t out, int64_t) {
            for (int64_t c = 0; c < channels; ++c) sums[static_cast<size_t>(out * channels + c)] += Element<T>::load(args.in(0).as<T>()[in * channels + c]);
        });
        const std::vector<int64_t> counts = countsOf(windows);
        for (size_t i = 0; i < sums.size(); ++i) sums[i] /= static_cast<double>(counts[i / static_cast<size_t>(channels)]);
        store<T>(args, sums);
        return {};
    });
}

Status runAvgPoolGrad(const KernelArgs& args)
{
    LS_TRY(const Shape shape, tfShapeOperand(args.in(0)));
    LS_TRY(const Windows windows, poolOf(args, shape));
    const int64_t channels = shape[3];
    const Tensor& dy = args.in(1);
    if (!(dy.shape == outputShape(windows, channels)))
        return invalidArgument("Expected grad shape to be " + toString(outputShape(windows, channels)) + ", but got " + toString(dy.shape));
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    return forDType<TfFloats>(dy.dtype, [&]<typename T>() -> Status {
        const std::vector<int64_t> counts = countsOf(windows);
        std::vector<double> sums(static_cast<size_t>(shape.elementCount()), 0);
        windows.forEach([&](int64_t in, int64_t out, int64_t) {
            for (int64_t c = 0; c < channels; ++c)
                sums[static_cast<size_t>(in * channels + c)] +=
                    static_cast<double>(Element<T>::load(dy.as<T>()[out * channels + c])) / static_cast<double>(counts[static_cast<size_t>(out)]);
        });
        store<T>(args, sums);
        return {};
    });
}

/// For each result the flat input element that is the largest of its window.
template <typename T> std::vector<int64_t> largest(const Windows& windows, const T* x, int64_t channels)
{
    std::vector<int64_t> best(static_cast<size_t>(windows.outputs() * channels), -1);
    windows.forEach([&](int64_t in, int64_t out, int64_t) {
        for (int64_t c = 0; c < channels; ++c) {
            int64_t& at = best[static_cast<size_t>(out * channels + c)];
            if (at < 0 || Element<T>::load(x[in * channels + c]) > Element<T>::load(x[at])) at = in * channels + c;
        }
    });
    return best;
}

Status runMaxPool(const KernelArgs& args)
{
    LS_TRY(const Windows windows, poolOf(args, args.in(0).shape));
    const int64_t channels = args.in(0).shape[3];
    LS_CHECK_OK(tfAllocate(args, 0, outputShape(windows, channels)));
    return forDType<TfFloats, TfSigned, TfUnsigned>(args.in(0).dtype, [&]<typename T>() -> Status {
        const T* x = args.in(0).as<T>();
        const std::vector<int64_t> best = largest(windows, x, channels);
        for (size_t i = 0; i < best.size(); ++i) args.out(0).as<T>()[i] = best[i] < 0 ? T() : x[best[i]];
        return {};
    });
}

Status runMaxPoolGrad(const KernelArgs& args)
{
    const Shape& shape = args.in(0).shape;
    LS_TRY(const Windows windows, poolOf(args, shape));
    const int64_t channels = shape[3];
    const Tensor& dy = args.in(2);
    if (!(dy.shape == outputShape(windows, channels)))
        return invalidArgument("Expected grad shape to be " + toString(outputShape(windows, channels)) + ", but got " + toString(dy.shape));
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    return forDType<TfFloats>(dy.dtype, [&]<typename T>() -> Status {
        const std::vector<int64_t> best = largest(windows, args.in(0).as<T>(), channels);
        std::vector<double> sums(static_cast<size_t>(shape.elementCount()), 0);
        for (size_t i = 0; i < best.size(); ++i)
            if (best[i] >= 0) sums[static_cast<size_t>(best[i])] += Element<T>::load(dy.as<T>()[i]);
        store<T>(args, sums);
        return {};
    });
}

/// Softmax of one row, and the logarithm of the sum that it was divided by (with the maximum added back).
template <typename T> double softmaxRow(const T* x, int64_t width, std::vector<double>& result)
{
    double most = -std::numeric_limits<double>::infinity();
    for (int64_t i = 0; i < width; ++i) most = std::max(most, static_cast<double>(Element<T>::load(x[i])));
    double sum = 0;
    result.resize(static_cast<size_t>(width));
    for (int64_t i = 0; i < width; ++i) sum += result[static_cast<size_t>(i)] = std::exp(static_cast<double>(Element<T>::load(x[i])) - most);
    for (double& value : result) value /= sum;
    return most + std::log(sum);
}

template <bool logarithm> Status runSoftmax(const KernelArgs& args)
{
    const Shape& shape = args.in(0).shape;
    if (shape.rank() < 1) return invalidArgument("logits must have >= 1 dimension, got []");
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    const int64_t width = shape.back();
    return forDType<TfFloats>(args.in(0).dtype, [&]<typename T>() -> Status {
        using C = typename Element<T>::Compute;
        std::vector<double> row;
        for (int64_t r = 0, n = width == 0 ? 0 : shape.elementCount() / width; r < n; ++r) {
            const T* x = args.in(0).as<T>() + r * width;
            T* out = args.out(0).as<T>() + r * width;
            const double total = softmaxRow(x, width, row);
            for (int64_t i = 0; i < width; ++i)
                out[i] = Element<T>::store(static_cast<C>(logarithm ? static_cast<double>(Element<T>::load(x[i])) - total : row[static_cast<size_t>(i)]));
        }
        return {};
    });
}

template <bool sparse> Status runCrossEntropy(const KernelArgs& args)
{
    const Shape& shape = args.in(0).shape;
    const Shape& labels = args.in(1).shape;
    if (shape.rank() != 2) return invalidArgument("logits must be 2-dimensional, but got shape " + toString(shape));
    if (sparse ? labels.rank() != 1 || labels[0] != shape[0] : !(labels == shape))
        return invalidArgument("logits and labels must have the same first dimension, got logits shape " + toString(shape) +
                               " and labels shape " + toString(labels));
    const int64_t width = shape[1];
    std::vector<int64_t> classes;
    if (sparse) classes = tfIntegers(args.in(1));
    for (const int64_t c : classes)
        if (c < 0 || c >= width)
            return invalidArgument("Received a label value of " + std::to_string(c) + " which is outside the valid range of [0, " + std::to_string(width) + ").");
    LS_CHECK_OK(tfAllocate(args, 0, Shape({shape[0]})));
    LS_CHECK_OK(tfAllocate(args, 1, shape));
    return forDType<TfFloats>(args.in(0).dtype, [&]<typename T>() -> Status {
        using C = typename Element<T>::Compute;
        std::vector<double> row;
        for (int64_t r = 0; r < shape[0]; ++r) {
            const T* x = args.in(0).as<T>() + r * width;
            const double total = softmaxRow(x, width, row);
            double loss = 0;
            for (int64_t i = 0; i < width; ++i) {
                const double label = sparse ? (classes[static_cast<size_t>(r)] == i ? 1.0 : 0.0)
                                            : static_cast<double>(Element<T>::load(args.in(1).as<T>()[r * width + i]));
                if (label != 0) loss += label * (total - static_cast<double>(Element<T>::load(x[i])));
                args.out(1).as<T>()[r * width + i] = Element<T>::store(static_cast<C>(row[static_cast<size_t>(i)] - label));
            }
            args.out(0).as<T>()[r] = Element<T>::store(static_cast<C>(loss));
        }
        return {};
    });
}

constexpr std::string_view kFloats = "f32 f64 f16 bf16";

} // namespace

LS_TF_KERNEL(Conv2D, runConv<false>, "f32 f64 f16 bf16 i32")
LS_TF_KERNEL(Conv2DBackpropInput, (runConvGrad<false, false>), kFloats)
LS_TF_KERNEL(Conv2DBackpropFilter, (runConvGrad<false, true>), kFloats)
LS_TF_KERNEL(DepthwiseConv2dNative, runConv<true>, kFloats)
LS_TF_KERNEL(DepthwiseConv2dNativeBackpropInput, (runConvGrad<true, false>), kFloats)
LS_TF_KERNEL(DepthwiseConv2dNativeBackpropFilter, (runConvGrad<true, true>), kFloats)
LS_TF_KERNEL(AvgPool, runAvgPool, kFloats)
LS_TF_KERNEL(AvgPoolGrad, runAvgPoolGrad, kFloats)
LS_TF_KERNEL(MaxPool, runMaxPool, "f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16")
LS_TF_KERNEL(MaxPoolGrad, runMaxPoolGrad, kFloats)
LS_TF_KERNEL(Softmax, runSoftmax<false>, kFloats)
LS_TF_KERNEL(LogSoftmax, runSoftmax<true>, kFloats)
LS_TF_KERNEL(SoftmaxCrossEntropyWithLogits, runCrossEntropy<false>, kFloats)
LS_TF_KERNEL(SparseSoftmaxCrossEntropyWithLogits, runCrossEntropy<true>, kFloats)
