// Kernels of TensorFlow's normalizations: core/kernels/fused_batch_norm_op.cc, lrn_op.cc. Sums are kept in f64.
#include "engine/kernels/cpu/nn/tf_window.h"

#include <cmath>
#include <limits>

using namespace loopscope;

namespace {

/// The elements of an input by channel.
struct Channels {
    Shape shape;
    int64_t count = 0, step = 1, elements = 0; ///< elements of one channel

    /// The channel of a flat element.
    int64_t of(int64_t element) const { return element / step % count; }
};

Result<Channels> channelsOf(const KernelArgs& args, const Tensor& x)
{
    const int spatial = x.shape.rank() == 5 ? 3 : 2;
    if (x.shape.rank() != spatial + 2) return invalidArgument("input must be 4 or 5-dimensional" + toString(x.shape));
    LS_TRY(const TfLayout layout, tfLayout(args, spatial));
    Channels channels{x.shape, x.shape[layout.channelDim()], layout.channelStep(x.shape), 0};
    channels.elements = channels.count == 0 ? 0 : x.shape.elementCount() / channels.count;
    return channels;
}

Status checkVector(const KernelArgs& args, int operand, int64_t length, std::string_view name)
{
    if (args.in(operand).shape == Shape({length})) return {};
    return invalidArgument(std::string(name) + " must have the same number of elements as the channels of x, got " +
                           toString(args.in(operand).shape) + " and " + std::to_string(length));
}

double epsilonOf(const KernelArgs& args) { return static_cast<float>(attributeFloat(attributesOf(args), "epsilon", 0.0001)); }
bool isTraining(const KernelArgs& args) { return attributeBool(attributesOf(args), "is_training", true); }

/// Mean and variance, not corrected, of each channel.
template <typename T> void moments(const Channels& channels, const T* x, std::vector<double>& mean, std::vector<double>& variance)
{
    const auto n = static_cast<double>(channels.elements);
    for (int64_t i = 0; i < channels.shape.elementCount(); ++i) mean[static_cast<size_t>(channels.of(i))] += Element<T>::load(x[i]) / n;
    for (int64_t i = 0; i < channels.shape.elementCount(); ++i) {
        const auto c = static_cast<size_t>(channels.of(i));
        const double d = Element<T>::load(x[i]) - mean[c];
        variance[c] += d * d / n;
    }
}

/// y = (x − mean) / √(variance + ε) · scale + offset. Results: y, running mean and variance, and what the gradient needs.
template <bool hasThirdReserve> Status runFusedBatchNorm(const KernelArgs& args)
{
    const Tensor& x = args.in(0);
    LS_TRY(const Channels channels, channelsOf(args, x));
    const auto count = static_cast<size_t>(channels.count);
    const bool training = isTraining(args);
    const auto keep = static_cast<float>(attributeFloat(attributesOf(args), "exponential_avg_factor", 1.0));
    const bool readsMoments = !training || keep != 1;
    LS_CHECK_OK(checkVector(args, 1, channels.count, "scale"));
    LS_CHECK_OK(checkVector(args, 2, channels.count, "offset"));
    if (readsMoments) {
        LS_CHECK_OK(checkVector(args, 3, channels.count, "estimated_mean"));
        LS_CHECK_OK(checkVector(args, 4, channels.count, "estimated_variance"));
    }
    LS_CHECK_OK(tfAllocate(args, 0, x.shape));
    for (int k = 1; k <= 4; ++k) LS_CHECK_OK(tfAllocate(args, k, Shape({channels.count})));
    if constexpr (hasThirdReserve) {
        LS_CHECK_OK(tfAllocate(args, 5, Shape()));
        *args.out(5).as<float>() = 0;
    }
    return forDType<TypeList<float, Half, BFloat16>>(x.dtype, [&]<typename T>() -> Status {
        std::vector<double> mean(count, 0), variance(count, 0);
        const auto* givenMean = args.in(3).as<float>();
        const auto* givenVariance = args.in(4).as<float>();
        if (training) moments(channels, x.as<T>(), mean, variance);
        for (size_t c = 0; c < count; ++c) {
            if (!training) {
                mean[c] = givenMean[c];
                variance[c] = givenVariance[c];
            }
            const double corrected = training && channels.elements > 1
                                         ? variance[c] * static_cast<double>(channels.elements) / static_cast<double>(channels.elements - 1)
                                         : variance[c];
            const bool mixes = training && keep != 1;
            args.out(1).as<float>()[c] = static_cast<float>(mixes ? (1 - keep) * givenMean[c] + keep * mean[c] : mean[c]);
            args.out(2).as<float>()[c] = static_cast<float>(mixes ? (1 - keep) * givenVariance[c] + keep * corrected : corrected);
            args.out(3).as<float>()[c] = static_cast<float>(mean[c]);
            args.out(4).as<float>()[c] = static_cast<float>(variance[c]);
        }
        const double epsilon = epsilonOf(args);
        for (int64_t i = 0; i < x.shape.elementCount(); ++i) {
            const auto c = static_cast<size_t>(channels.of(i));
            const double y = (Element<T>::load(x.as<T>()[i]) - mean[c]) / std::sqrt(variance[c] + epsilon) * args.in(1).as<float>()[c] +
                             args.in(2).as<float>()[c];
            args.out(0).as<T>()[i] = Element<T>::store(static_cast<float>(y));
        }
        return {};
    });
}

/// Gradients by x, scale and offset: with x̂ = (x − mean)/σ, dx = scale/σ · (dy − mean(dy) − x̂ · mean(dy · x̂)) in training.
Status runFusedBatchNormGrad(const KernelArgs& args)
{
    const Tensor& dy = args.in(0);
    const Tensor& x = args.in(1);
    LS_TRY(const Channels channels, channelsOf(args, x));
    if (!(dy.shape == x.shape))
        return invalidArgument("x and y_backprop must have same shape, but x has shape " + toString(x.shape) +
                               " and y_backprop has shape " + toString(dy.shape));
    for (int operand = 2; operand <= 4; ++operand) LS_CHECK_OK(checkVector(args, operand, channels.count, "scale and saved moments"));
    LS_CHECK_OK(tfAllocate(args, 0, x.shape));
    LS_CHECK_OK(tfAllocate(args, 1, Shape({channels.count})));
    LS_CHECK_OK(tfAllocate(args, 2, Shape({channels.count})));
    for (const int k : {3, 4}) LS_CHECK_OK(tfAllocate(args, k, Shape({0}))); // nothing that a CPU needs
    return forDType<TypeList<float, Half, BFloat16>>(x.dtype, [&]<typename T>() -> Status {
        const auto count = static_cast<size_t>(channels.count);
        const auto n = static_cast<double>(channels.elements);
        std::vector<double> sum(count, 0), product(count, 0), inverse(count, 0);
        for (size_t c = 0; c < count; ++c) inverse[c] = 1 / std::sqrt(args.in(4).as<float>()[c] + epsilonOf(args));
        const auto centred = [&](int64_t i, size_t c) { return (Element<T>::load(x.as<T>()[i]) - args.in(3).as<float>()[c]) * inverse[c]; };
        for (int64_t i = 0; i < x.shape.elementCount(); ++i) {
            const auto c = static_cast<size_t>(channels.of(i));
            const double d = Element<T>::load(dy.as<T>()[i]);
            sum[c] += d;
            product[c] += d * centred(i, c);
        }
        const bool training = isTraining(args);
        for (int64_t i = 0; i < x.shape.elementCount(); ++i) {
            const auto c = static_cast<size_t>(channels.of(i));
            const double d = Element<T>::load(dy.as<T>()[i]);
            const double own = training ? d - sum[c] / n - centred(i, c) * product[c] / n : d;
            args.out(0).as<T>()[i] = Element<T>::store(static_cast<float>(own * args.in(2).as<float>()[c] * inverse[c]));
        }
        for (size_t c = 0; c < count; ++c) {
            args.out(1).as<float>()[c] = static_cast<float>(product[c]);
            args.out(2).as<float>()[c] = static_cast<float>(sum[c]);
        }
        return {};
    });
}

/// y = x / (bias + alpha · Σ x²)^beta, the sum over neighbouring channels.
Status runLrn(const KernelArgs& args)
{
    const Tensor& x = args.in(0);
    if (x.shape.rank() != 4) return invalidArgument("in must be 4-dimensional");
    LS_CHECK_OK(tfAllocate(args, 0, x.shape));
    const AttributeList& attributes = attributesOf(args);
    const int64_t radius = attributeInt(attributes, "depth_radius", 5);
    const double bias = attributeFloat(attributes, "bias", 1), alpha = attributeFloat(attributes, "alpha", 1),
                 beta = attributeFloat(attributes, "beta", 0.5);
    if (radius < 0 || radius > std::numeric_limits<int32_t>::max())
        return invalidArgument("depth_radius = " + std::to_string(radius) + " larger than int max");
    const int64_t depth = x.shape[3];
    return forDType<TypeList<float, Half, BFloat16>>(x.dtype, [&]<typename T>() -> Status {
        for (int64_t row = 0, rows = depth == 0 ? 0 : x.shape.elementCount() / depth; row < rows; ++row)
            for (int64_t c = 0; c < depth; ++c) {
                double sum = 0;
                for (int64_t k = std::max<int64_t>(0, c - radius); k <= std::min(depth - 1, c + radius); ++k) {
                    const double value = Element<T>::load(x.as<T>()[row * depth + k]);
                    sum += value * value;
                }
                const double value = Element<T>::load(x.as<T>()[row * depth + c]);
                args.out(0).as<T>()[row * depth + c] = Element<T>::store(static_cast<float>(value * std::pow(bias + alpha * sum, -beta)));
            }
        return {};
    });
}

/// Operands: dy, x, y. Each result of a neighbourhood has the element's square in its divisor (core/kernels/lrn_op.cc).
Status runLrnGrad(const KernelArgs& args)
{
    const Tensor &dy = args.in(0), &x = args.in(1), &y = args.in(2);
    if (x.shape.rank() != 4 || !(dy.shape == x.shape) || !(y.shape == x.shape))
        return invalidArgument("input_grads, input_image, and out_image should have the same 4-dimensional shape");
    LS_CHECK_OK(tfAllocate(args, 0, x.shape));
    const AttributeList& attributes = attributesOf(args);
    const int64_t radius = attributeInt(attributes, "depth_radius", 5), depth = x.shape[3];
    const double bias = attributeFloat(attributes, "bias", 1), alpha = attributeFloat(attributes, "alpha", 1),
                 beta = attributeFloat(attributes, "beta", 0.5);
    if (radius < 0 || radius > std::numeric_limits<int32_t>::max())
        return invalidArgument("depth_radius = " + std::to_string(radius) + " larger than int max");
    return forDType<TypeList<float, Half, BFloat16>>(x.dtype, [&]<typename T>() -> Status {
        std::vector<double> sums(static_cast<size_t>(depth));
        for (int64_t row = 0, rows = depth == 0 ? 0 : x.shape.elementCount() / depth; row < rows; ++row) {
            interruptionPoint();
            const auto of = [&](const Tensor& tensor, int64_t c) -> double { return Element<T>::load(tensor.as<T>()[row * depth + c]); };
            std::ranges::fill(sums, 0);
            for (int64_t c = 0; c < depth; ++c) {
                const int64_t first = std::max<int64_t>(0, c - radius), last = std::min(depth - 1, c + radius);
                double squares = 0;
                for (int64_t k = first; k <= last; ++k) squares += of(x, k) * of(x, k);
                const double norm = bias + alpha * squares;
                for (int64_t k = first; k <= last; ++k) {
                    const double own = k == c ? std::pow(norm, -beta) : 0;
                    sums[static_cast<size_t>(k)] += (own - 2 * alpha * beta * of(x, k) * of(y, c) / norm) * of(dy, c);
                }
            }
            for (int64_t c = 0; c < depth; ++c)
                args.out(0).as<T>()[row * depth + c] = Element<T>::store(static_cast<float>(sums[static_cast<size_t>(c)]));
        }
        return {};
    });
}

} // namespace

LS_TF_KERNEL(FusedBatchNorm, runFusedBatchNorm<false>, "f32")
LS_TF_KERNEL(FusedBatchNormV2, runFusedBatchNorm<false>, "f32 f16 bf16")
LS_TF_KERNEL(FusedBatchNormV3, runFusedBatchNorm<true>, "f32 f16 bf16")
LS_TF_KERNEL(FusedBatchNormGrad, runFusedBatchNormGrad, "f32")
LS_TF_KERNEL(FusedBatchNormGradV2, runFusedBatchNormGrad, "f32 f16 bf16")
LS_TF_KERNEL(FusedBatchNormGradV3, runFusedBatchNormGrad, "f32 f16 bf16")
LS_TF_KERNEL(LRN, runLrn, "f32 f16 bf16")
LS_TF_KERNEL(LRNGrad, runLrnGrad, "f32 f16 bf16")
