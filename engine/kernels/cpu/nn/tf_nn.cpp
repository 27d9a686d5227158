// Kernels of TensorFlow's softmax and cross entropies. Sums are kept in f64 and rounded once.
#include "engine/base/interruption.h"
#include "engine/kernels/cpu/rounded.h"
#include "engine/kernels/cpu/tf_support.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace loopscope;

namespace {

/// Softmax of one row, and the logarithm of the sum that it was divided by (with the maximum added back).
template <typename T> double softmaxRow(const T* x, int64_t width, std::vector<double>& result)
{
    double most = -std::numeric_limits<double>::infinity();
    for (int64_t i = 0; i < width; ++i) most = std::max(most, static_cast<double>(Element<T>::load(x[i])));
    double sum = 0;
    result.resize(static_cast<size_t>(width));
    for (int64_t i = 0; i < width; ++i)
        sum += result[static_cast<size_t>(i)] = std::exp(static_cast<double>(Element<T>::load(x[i])) - most);
    for (double& value : result) value /= sum;
    return most + std::log(sum);
}

/// Of halves each step is rounded, as TensorFlow does; it computes the softmax of bfloat16 in f32.
template <bool logarithm, typename Stored> void roundedSoftmax(const Tensor& x, Tensor& y, int64_t width)
{
    using R = Rounded<Stored>;
    std::vector<R> shifted(static_cast<size_t>(width)), terms(static_cast<size_t>(width));
    for (int64_t first = 0, count = y.elementCount(); first < count; first += width) {
        const auto* in = x.as<Stored>() + first;
        auto* out = y.as<Stored>() + first;
        R most(-std::numeric_limits<float>::infinity());
        for (int64_t i = 0; i < width; ++i) most = most < R(in[i]) ? R(in[i]) : most;
        for (size_t i = 0; i < terms.size(); ++i) {
            shifted[i] = R(in[i]) - most;
            terms[i] = exp(shifted[i]);
        }
        const R sum = sumOfRounded(terms.data(), first, width), by = logarithm ? log(sum) : R(1) / sum;
        for (size_t i = 0; i < terms.size(); ++i) out[i] = (logarithm ? shifted[i] - by : terms[i] * by).stored();
        interruptionPoint();
    }
}

template <bool logarithm> Status runSoftmax(const KernelArgs& args)
{
    const Shape& shape = args.in(0).shape;
    if (shape.rank() < 1) return invalidArgument("logits must have >= 1 dimension, got []");
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    const int64_t width = shape.back();
    const bool isBrain = logarithm && args.in(0).dtype == DType::bf16;
    if (width > 0 && (isBrain || args.in(0).dtype == DType::f16)) {
        if (isBrain) roundedSoftmax<logarithm, BFloat16>(args.in(0), args.out(0), width);
        else roundedSoftmax<logarithm, Half>(args.in(0), args.out(0), width);
        return {};
    }
    return forDType<TfFloats>(args.in(0).dtype, [&]<typename T>() -> Status {
        using C = typename Element<T>::Compute;
        std::vector<double> row;
        for (int64_t r = 0, n = width == 0 ? 0 : shape.elementCount() / width; r < n; ++r) {
            const T* x = args.in(0).as<T>() + r * width;
            T* out = args.out(0).as<T>() + r * width;
            const double total = softmaxRow(x, width, row);
            for (int64_t i = 0; i < width; ++i)
                out[i] = Element<T>::store(
                    static_cast<C>(logarithm ? static_cast<double>(Element<T>::load(x[i])) - total : row[static_cast<size_t>(i)]));
        }
        return {};
    });
}

/// Where an operand of one or two dimensions has the element of a row and a column of what it is broadcast to.
struct Broadcast2 {
    int64_t row = 0, column = 0;

    explicit Broadcast2(const Shape& shape)
        : row(shape.rank() == 2 && shape[0] != 1 ? shape[1] : 0),
          column(shape.rank() > 0 && shape.back() != 1 ? 1 : 0)
    {
    }
};

/// Labels by class, or (sparse) the number of the class of each row. The former and the logits are broadcast to each other.
template <bool sparse> Status runCrossEntropy(const KernelArgs& args)
{
    Shape shape = args.in(0).shape;
    const Shape& labels = args.in(1).shape;
    if (!sparse) {
        LS_TRY(shape, tfBroadcast(shape, labels));
    }
    if (shape.rank() != 2) return invalidArgument("logits must be 2-dimensional, but got shape " + toString(shape));
    if (sparse && (labels.rank() != 1 || labels[0] != shape[0]))
        return invalidArgument("logits and labels must have the same first dimension, got logits shape " + toString(shape) +
                               " and labels shape " + toString(labels));
    const int64_t width = shape[1];
    std::vector<int64_t> classes;
    if (sparse) classes = tfIntegers(args.in(1));
    for (const int64_t c : classes)
        if (c < 0 || c >= width)
            return invalidArgument("Received a label value of " + std::to_string(c) + " which is outside the valid range of [0, " +
                                   std::to_string(width) + ").");
    LS_CHECK_OK(tfAllocate(args, 0, Shape({shape[0]})));
    LS_CHECK_OK(tfAllocate(args, 1, shape));
    const Broadcast2 ofLogits(args.in(0).shape), ofLabels(labels);
    return forDType<TfFloats>(args.in(0).dtype, [&]<typename T>() -> Status {
        using C = typename Element<T>::Compute;
        std::vector<double> row;
        std::vector<T> x(static_cast<size_t>(width));
        for (int64_t r = 0; r < shape[0]; ++r) {
            for (int64_t i = 0; i < width; ++i) x[static_cast<size_t>(i)] = args.in(0).as<T>()[r * ofLogits.row + i * ofLogits.column];
            const double total = softmaxRow(x.data(), width, row);
            double loss = 0;
            for (int64_t i = 0; i < width; ++i) {
                const double label =
                    sparse ? (classes[static_cast<size_t>(r)] == i ? 1.0 : 0.0)
                           : static_cast<double>(Element<T>::load(args.in(1).as<T>()[r * ofLabels.row + i * ofLabels.column]));
                if (label != 0) loss += label * (total - static_cast<double>(Element<T>::load(x[static_cast<size_t>(i)])));
                args.out(1).as<T>()[r * width + i] = Element<T>::store(static_cast<C>(row[static_cast<size_t>(i)] - label));
            }
            args.out(0).as<T>()[r] = Element<T>::store(static_cast<C>(loss));
        }
        return {};
    });
}

} // namespace

LS_TF_KERNEL(Softmax, runSoftmax<false>, kTfFloats)
LS_TF_KERNEL(LogSoftmax, runSoftmax<true>, kTfFloats)
LS_TF_KERNEL(SoftmaxCrossEntropyWithLogits, runCrossEntropy<false>, kTfFloats)
LS_TF_KERNEL(SparseSoftmaxCrossEntropyWithLogits, runCrossEntropy<true>, kTfFloats)
