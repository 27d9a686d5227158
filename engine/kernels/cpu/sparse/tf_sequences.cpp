// Kernels of TensorFlow's operators that go through a sequence step by step: core/kernels/ctc_decoder_ops.cc, scan_ops.h.
#include "engine/kernels/cpu/tf_support.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace loopscope;

namespace {

/// Of one sequence: the classes that are left, and −Σ of the largest inputs.
template <typename T> std::pair<std::vector<int64_t>, T> decodeGreedily(const T* inputs, int64_t length, int64_t batch, int64_t classes,
                                                                        int64_t blank, bool merges)
{
    std::vector<int64_t> decoded;
    T score = 0;
    int64_t previous = -1;
    for (int64_t t = 0; t < length; ++t) {
        const T* const row = inputs + t * batch * classes;
        const int64_t best = std::max_element(row, row + classes) - row;
        score -= row[best];
        if (best != blank && !(merges && best == previous)) decoded.push_back(best);
        previous = best;
    }
    return {std::move(decoded), score};
}

Status runCtcGreedyDecoder(const KernelArgs& args)
{
    const Shape& shape = args.in(0).shape;
    if (shape.rank() != 3) return invalidArgument("inputs is not a 3-Tensor");
    if (args.in(1).shape.rank() != 1) return invalidArgument("sequence_length is not a vector");
    const int64_t steps = shape[0], batch = shape[1], classes = shape[2];
    const std::vector<int64_t> lengths = tfIntegers(args.in(1));
    if (steps == 0) return invalidArgument("max_time is 0");
    if (static_cast<int64_t>(lengths.size()) != batch)
        return invalidArgument("len(sequence_length) != batch_size.  len(sequence_length):  " + std::to_string(lengths.size()) +
                               " batch_size: " + std::to_string(batch));
    for (size_t b = 0; b < lengths.size(); ++b)
        if (lengths[b] < 0 || lengths[b] > steps)
            return tfError(TfCode::failedPrecondition, "sequence_length(" + std::to_string(b) + ") <= " + std::to_string(steps));
    int64_t blank = attributeInt(attributesOf(args), "blank_index", -1);
    if (blank < 0) blank += classes;
    if (blank < 0 || blank >= classes)
        return invalidArgument("blank_index expected to be between " + std::to_string(-classes) + " and " + std::to_string(classes - 1) +
                               " but was " + std::to_string(attributeInt(attributesOf(args), "blank_index", -1)));
    const bool merges = attributeBool(attributesOf(args), "merge_repeated", false);
    std::vector<std::vector<int64_t>> decoded;
    LS_CHECK_OK(tfAllocate(args, 3, Shape({batch, 1})));
    LS_CHECK_OK((forDType<TypeList<float, double>>(args.in(0).dtype, [&]<typename T>() -> Status {
        for (int64_t b = 0; b < batch; ++b) {
            auto [labels, score] =
                decodeGreedily(args.in(0).as<T>() + b * classes, lengths[static_cast<size_t>(b)], batch, classes, blank, merges);
            decoded.push_back(std::move(labels));
            args.out(3).as<T>()[b] = score;
        }
        return {};
    })));
    int64_t total = 0, longest = 0;
    for (const std::vector<int64_t>& labels : decoded) {
        total += std::ssize(labels);
        longest = std::max<int64_t>(longest, std::ssize(labels));
    }
    LS_CHECK_OK(tfAllocate(args, 0, Shape({total, 2})));
    LS_CHECK_OK(tfAllocate(args, 1, Shape({total})));
    LS_CHECK_OK(tfAllocate(args, 2, Shape({2})));
    auto* indices = args.out(0).as<int64_t>();
    auto* values = args.out(1).as<int64_t>();
    for (size_t b = 0; b < decoded.size(); ++b)
        for (size_t i = 0; i < decoded[b].size(); ++i) {
            *indices++ = static_cast<int64_t>(b);
            *indices++ = static_cast<int64_t>(i);
            *values++ = decoded[b][i];
        }
    args.out(2).as<int64_t>()[0] = batch;
    args.out(2).as<int64_t>()[1] = longest;
    return {};
}

/// y_i = log(exp(y_{i−1}) + exp(x_i)), from −∞ on; infinities and NaN as core/kernels/scan_ops.h (LogSumExp) has them.
Status runCumulativeLogsumexp(const KernelArgs& args)
{
    const Shape& shape = args.in(0).shape;
    if (args.in(1).shape.rank() != 0) return invalidArgument("ScanOp: axis must be a scalar, not " + tfShapeText(args.in(1).shape));
    const int64_t asked = tfIntegers(args.in(1))[0];
    const int rank = shape.rank();
    if (asked < -rank || asked >= rank)
        return invalidArgument("ScanOp: Expected scan axis in the range [" + std::to_string(-rank) + ", " + std::to_string(rank) +
                               "), but got " + std::to_string(asked));
    const auto axis = static_cast<int>(asked < 0 ? asked + rank : asked);
    const bool isExclusive = attributeBool(attributesOf(args), "exclusive", false),
               isReverse = attributeBool(attributesOf(args), "reverse", false);
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    const int64_t count = shape[axis], inner = shape.countOf(axis + 1, rank), outer = shape.countOf(0, axis);
    return forDType<TfFloats>(args.in(0).dtype, [&]<typename T>() -> Status {
        using C = typename Element<T>::Compute;
        for (int64_t o = 0; o < outer; ++o)
            for (int64_t i = 0; i < inner; ++i) {
                C sum = -std::numeric_limits<C>::infinity();
                for (int64_t n = 0; n < count; ++n) {
                    const int64_t at = (o * count + (isReverse ? count - 1 - n : n)) * inner + i;
                    const C x = Element<T>::load(args.in(0).as<T>()[at]);
                    if (isExclusive) args.out(0).as<T>()[at] = Element<T>::store(sum);
                    const C low = x < sum ? x : sum, high = sum < x ? x : sum;
                    sum = high < std::numeric_limits<C>::lowest() ? high : high + std::log1p(std::exp(low - high));
                    if (!isExclusive) args.out(0).as<T>()[at] = Element<T>::store(sum);
                }
            }
        return {};
    });
}

} // namespace

LS_TF_KERNEL(CTCGreedyDecoder, runCtcGreedyDecoder, "f32 f64")
LS_TF_KERNEL(CumulativeLogsumexp, runCumulativeLogsumexp, "f32 f64 f16 bf16")
