// Kernels of TensorFlow's convolutions and their gradients. In f32 they add as TensorFlow's build does: products of matrices by oneDNN,
// which does not round products, depthwise ones by loops of its own, which do. Other sums are kept in f64 and rounded once.
#include "engine/kernels/cpu/gemm.h"
#include "engine/kernels/cpu/nn/tf_window.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

using namespace loopscope;

namespace {

enum class Convolution { plain, depthwise, volume };
constexpr int spatialOf(Convolution kind) { return kind == Convolution::volume ? 3 : 2; }

/// What a convolution connects: for each tap, channel c of the input with channel o of the output by an element of the filter.
struct Connections {
    TfWindows windows;
    int64_t channels = 0, outputs = 0, perGroup = 0, outputsPerGroup = 0;
    int64_t inStep = 1, outStep = 1; ///< elements from channel to channel
    bool depthwise = false;

    Shape outputShape() const { return windows.outputShape(outputs); }
    /// Every input channel goes to all output channels, which lie side by side like those of the filter.
    bool hasRows() const { return !depthwise && outStep == 1 && outputsPerGroup == outputs; }
    /// visit(input element, first output element, first filter element) for rows of `outputs` elements.
    template <typename F> void forEachRow(F&& visit) const
    {
        windows.forEach(channels, outputs, [&](int64_t in, int64_t out, int64_t tap) {
            for (int64_t c = 0; c < perGroup; ++c) visit(in + c * inStep, out, (tap * perGroup + c) * outputs);
        });
    }

    template <typename F> void forEach(F&& visit) const
    {
        windows.forEach(channels, outputs, [&](int64_t in, int64_t out, int64_t tap) {
            if (depthwise) {
                for (int64_t o = 0; o < outputs; ++o) visit(in + o / outputsPerGroup * inStep, out + o * outStep, tap * outputs + o);
                return;
            }
            for (int64_t c = 0; c < perGroup; ++c)
                for (int64_t o = 0; o < outputs; ++o)
                    visit(in + (o / outputsPerGroup * perGroup + c) * inStep, out + o * outStep, (tap * perGroup + c) * outputs + o);
        });
    }
};

Result<Connections> connect(const KernelArgs& args, const Shape& input, const Shape& filter, Convolution kind)
{
    const int rank = spatialOf(kind) + 2;
    if (filter.rank() != rank) return invalidArgument("filter must be " + std::to_string(rank) + "-dimensional: " + toString(filter));
    if (input.rank() != rank) return invalidArgument("input must be " + std::to_string(rank) + "-dimensional: " + toString(input));
    LS_TRY(const TfLayout layout, tfLayout(args, rank - 2));
    TfWindowSpec spec = tfWindowSpec(args, rank);
    spec.sizes.assign(static_cast<size_t>(rank), 1);
    for (int axis = 0; axis < rank - 2; ++axis) spec.sizes[static_cast<size_t>(layout.spatialDim(axis))] = filter[axis];
    Connections all;
    LS_TRY(all.windows, TfWindows::over(input, layout, spec));
    all.channels = input[layout.channelDim()];
    all.depthwise = kind == Convolution::depthwise;
    all.perGroup = filter[rank - 2];
    const int64_t last = filter[rank - 1];
    const std::string depths = ": " + std::to_string(all.channels) + " vs " + std::to_string(all.perGroup);
    if (all.depthwise) {
        if (all.perGroup != all.channels || last < 1) return invalidArgument("input and filter must have the same depth" + depths);
        all.outputs = all.channels * last;
        all.outputsPerGroup = last;
    } else {
        if (all.perGroup < 1 || last < 1 || all.channels % all.perGroup != 0 || all.channels == 0 ||
            last % (all.channels / all.perGroup) != 0)
            return invalidArgument("input depth must be evenly divisible by filter depth" + depths);
        all.outputs = last;
        all.outputsPerGroup = last / (all.channels / all.perGroup);
    }
    all.inStep = layout.channelStep(input);
    all.outStep = layout.channelStep(all.outputShape());
    return all;
}

float multiplyAddOne(bool fused, float a, float b, float sum) { return fused ? std::fma(a, b, sum) : sum + a * b; }

void convolveFloats(const Connections& all, const float* x, const float* w, float* out)
{
    std::fill_n(out, all.outputShape().elementCount(), 0.0F);
    if (all.hasRows())
        all.forEachRow([&](int64_t in, int64_t to, int64_t weight) { fusedMultiplyAdd(x[in], w + weight, all.outputs, out + to); });
    else all.forEach([&](int64_t in, int64_t to, int64_t weight) { out[to] = multiplyAddOne(!all.depthwise, x[in], w[weight], out[to]); });
}

template <Convolution kind> Status runConv(const KernelArgs& args)
{
    LS_TRY(const Connections all, connect(args, args.in(0).shape, args.in(1).shape, kind));
    const Shape shape = all.outputShape();
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    if (args.in(0).dtype == DType::f32)
        return convolveFloats(all, args.in(0).as<float>(), args.in(1).as<float>(), args.out(0).as<float>()), Status();
    return forDType<TfFloats, TypeList<int32_t>>(args.in(0).dtype, [&]<typename T>() -> Status {
        std::vector<double> sums(static_cast<size_t>(shape.elementCount()), 0);
        const T* x = args.in(0).as<T>();
        const T* w = args.in(1).as<T>();
        all.forEach([&](int64_t in, int64_t out, int64_t weight) {
            sums[static_cast<size_t>(out)] +=
                static_cast<double>(Element<T>::load(x[in])) * static_cast<double>(Element<T>::load(w[weight]));
        });
        tfStore<T>(args, 0, sums);
        return {};
    });
}

/// The gradient of a depthwise convolution by the filter: one sum for each batch entry, which are then added
/// (core/kernels/depthwise_conv_grad_op.cc).
void depthwiseFilterGradient(const Connections& all, const float* x, const float* back, std::span<float> out)
{
    const Shape shape = all.outputShape();
    const int64_t entries = std::max<int64_t>(shape[0], 1), each = std::max<int64_t>(shape.elementCount() / entries, 1);
    std::vector<float> sums(static_cast<size_t>(entries) * out.size());
    all.forEach([&](int64_t in, int64_t from, int64_t weight) {
        float& sum = sums[static_cast<size_t>(from / each) * out.size() + static_cast<size_t>(weight)];
        sum = sum + x[in] * back[from];
    });
    for (size_t i = 0; i < sums.size(); ++i) out[i % out.size()] += sums[i];
}

/// By the input: an element has a sum for each of its output channels, of products in the order of the filter, which is from the last
/// window to the first. The sums are then added.
void depthwiseInputGradient(const Connections& all, const float* w, const float* back, std::span<float> out)
{
    struct Visit {
        int64_t in, out, tap;
    };
    std::vector<Visit> visits;
    all.windows.forEach(all.channels, all.outputs, [&](int64_t in, int64_t to, int64_t tap) { visits.push_back({in, to, tap}); });
    const int64_t each = all.outputsPerGroup;
    std::vector<float> sums(out.size() * static_cast<size_t>(each));
    for (auto visit = visits.rbegin(); visit != visits.rend(); ++visit)
        for (int64_t o = 0; o < all.outputs; ++o) {
            float& sum = sums[static_cast<size_t>((visit->in + o / each * all.inStep) * each + o % each)];
            sum = sum + w[visit->tap * all.outputs + o] * back[visit->out + o * all.outStep];
        }
    for (size_t i = 0; i < sums.size(); ++i) out[i / static_cast<size_t>(each)] += sums[i];
}

/// The gradient by the filter or by the input in f32; `other` is the one of the two that is given.
void convolveGradient(const Connections& all, bool byFilter, const float* other, const float* back, std::span<float> out)
{
    if (all.depthwise) return byFilter ? depthwiseFilterGradient(all, other, back, out) : depthwiseInputGradient(all, other, back, out);
    if (byFilter && all.hasRows())
        return all.forEachRow(
            [&](int64_t in, int64_t from, int64_t weight) { fusedMultiplyAdd(other[in], back + from, all.outputs, out.data() + weight); });
    all.forEach([&](int64_t in, int64_t from, int64_t weight) {
        float& sum = out[static_cast<size_t>(byFilter ? weight : in)];
        sum = std::fma(back[from], other[byFilter ? in : weight], sum);
    });
}

/// Gradients: dx[in] += dy[out] · w, dw += dy[out] · x[in].
template <Convolution kind, bool byFilter> Status runConvGrad(const KernelArgs& args)
{
    LS_TRY(const Shape asked, tfShapeOperand(args.in(byFilter ? 1 : 0)));
    const Shape& input = byFilter ? args.in(0).shape : asked;
    const Shape& filter = byFilter ? asked : args.in(1).shape;
    LS_TRY(const Connections all, connect(args, input, filter, kind));
    const Tensor& dy = args.in(2);
    if (!(dy.shape == all.outputShape()))
        return invalidArgument("Size of out_backprop doesn't match computed: actual = " + toString(dy.shape) +
                               ", computed = " + toString(all.outputShape()));
    LS_CHECK_OK(tfAllocate(args, 0, asked));
    if (dy.dtype == DType::f32) {
        std::fill_n(args.out(0).as<float>(), asked.elementCount(), 0.0F);
        convolveGradient(all, byFilter, args.in(byFilter ? 0 : 1).as<float>(), dy.as<float>(),
                         {args.out(0).as<float>(), static_cast<size_t>(asked.elementCount())});
        return {};
    }
    return forDType<TfFloats>(dy.dtype, [&]<typename T>() -> Status {
        std::vector<double> sums(static_cast<size_t>(asked.elementCount()), 0);
        const T* other = args.in(byFilter ? 0 : 1).as<T>();
        const T* back = dy.as<T>();
        all.forEach([&](int64_t in, int64_t out, int64_t weight) {
            sums[static_cast<size_t>(byFilter ? weight : in)] +=
                static_cast<double>(Element<T>::load(back[out])) * static_cast<double>(Element<T>::load(other[byFilter ? in : weight]));
        });
        tfStore<T>(args, 0, sums);
        return {};
    });
}

} // namespace

LS_TF_KERNEL(Conv2D, runConv<Convolution::plain>, "f32 f64 f16 bf16 i32")
LS_TF_KERNEL(Conv2DBackpropInput, (runConvGrad<Convolution::plain, false>), kTfFloats)
LS_TF_KERNEL(Conv2DBackpropFilter, (runConvGrad<Convolution::plain, true>), kTfFloats)
LS_TF_KERNEL(DepthwiseConv2dNative, runConv<Convolution::depthwise>, kTfFloats)
LS_TF_KERNEL(DepthwiseConv2dNativeBackpropInput, (runConvGrad<Convolution::depthwise, false>), kTfFloats)
LS_TF_KERNEL(DepthwiseConv2dNativeBackpropFilter, (runConvGrad<Convolution::depthwise, true>), kTfFloats)
LS_TF_KERNEL(Conv3D, runConv<Convolution::volume>, kTfFloats)
LS_TF_KERNEL(Conv3DBackpropInputV2, (runConvGrad<Convolution::volume, false>), kTfFloats)
LS_TF_KERNEL(Conv3DBackpropFilterV2, (runConvGrad<Convolution::volume, true>), kTfFloats)
