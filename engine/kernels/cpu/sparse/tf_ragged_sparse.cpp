// Kernels between ragged, sparse and dense tensors, and of gradients of theirs: core/kernels (ragged_tensor_to_sparse_kernel.cc,
// ragged_tensor_to_variant_op.cc, sparse_add_grad_op.cc, sparse_matmul_op.cc).
#include "engine/base/interruption.h"
#include "engine/kernels/cpu/sparse/places.h"
#include "engine/kernels/cpu/tf_variant.h"
#include "engine/tensor/strings.h"

#include <algorithm>

using namespace loopscope;

namespace {

/// The splits of all levels, the outermost first. Errors: InvalidArgument.
Result<std::vector<std::vector<int64_t>>> nestedSplits(const KernelArgs& args, int levels, int64_t values)
{
    std::vector<std::vector<int64_t>> splits;
    for (int i = 0; i < levels; ++i) {
        splits.push_back(tfIntegers(args.in(i)));
        if (splits.back().empty()) return invalidArgument("ragged splits may not be empty");
        if (splits.back().front() != 0) return invalidArgument("First value of ragged splits must be 0.");
        if (!std::ranges::is_sorted(splits.back())) return invalidArgument("Ragged splits should be non decreasing");
    }
    for (int i = 0; i < levels; ++i) {
        const auto at = static_cast<size_t>(i);
        const int64_t below = i + 1 < levels ? static_cast<int64_t>(splits[at + 1].size()) - 1 : values;
        if (splits[at].back() != below)
            return invalidArgument("Final value of ragged splits must match the length the corresponding ragged values.");
    }
    return splits;
}

/// Each value with the row and column of every level it lies in.
Status runRaggedToSparse(const KernelArgs& args)
{
    const int levels = args.inputCount - 1;
    const Tensor& values = args.in(levels);
    if (values.shape.rank() < 1) return invalidArgument("flat values must have at least one dimension");
    LS_TRY(const auto splits, nestedSplits(args, levels, values.shape[0]));
    const int inner = values.shape.rank() - 1, rank = levels + 1 + inner;
    const int64_t each = values.shape.countOf(1, values.shape.rank()), count = values.shape[0] * each;
    std::vector<int64_t> shape{static_cast<int64_t>(splits[0].size()) - 1};
    for (const auto& level : splits) {
        int64_t longest = 0;
        for (size_t i = 1; i < level.size(); ++i) longest = std::max(longest, level[i] - level[i - 1]);
        shape.push_back(longest);
    }
    for (int d = 1; d <= inner; ++d) shape.push_back(values.shape[d]);
    std::vector<int64_t> indices;
    LoopPace pace;
    for (int64_t value = 0; value < values.shape[0]; ++value) {
        std::vector<int64_t> place(static_cast<size_t>(levels) + 1);
        int64_t at = value;
        for (int level = levels - 1; level >= 0; --level) {
            const auto& own = splits[static_cast<size_t>(level)];
            const int64_t row = std::ranges::upper_bound(own, at) - own.begin() - 1;
            place[static_cast<size_t>(level) + 1] = at - own[static_cast<size_t>(row)];
            at = row;
        }
        place[0] = at;
        pace.did(each * rank);
        for (int64_t k = 0; k < each; ++k) {
            indices.insert(indices.end(), place.begin(), place.end());
            for (int d = 1; d <= inner; ++d) indices.push_back(k / strideOf(values.shape, d) % values.shape[d]);
        }
    }
    LS_CHECK_OK(giveSparseIntegers(args, 0, Shape({count, rank}), indices));
    LS_CHECK_OK(tfCopy(args, 1, values, Shape({count})));
    return giveSparseIntegers(args, 2, Shape({rank}), shape);
}

/// The values of the ragged gradients, one after the other; where there is none, zeros for as many rows as were taken.
Status runToVariantGradient(const KernelArgs& args)
{
    LS_TRY(const Shape shape, tfShapeOperand(args.in(2)));
    LS_TRY(const auto blobs, readStrings(args.in(0)));
    const std::vector<int64_t> splits = tfIntegers(args.in(1));
    if (shape.rank() < 1) return invalidArgument("dense_values_shape must have at least one dimension");
    const bool isBatch = args.in(0).shape.rank() > 0;
    if (isBatch && splits.size() != blobs.size() + 1)
        return invalidArgument("row_splits has " + std::to_string(splits.size()) + " elements, expected " +
                               std::to_string(blobs.size() + 1));
    const int64_t each = strideOf(shape, 0);
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, shape, true));
    int64_t at = 0;
    for (size_t i = 0; i < blobs.size(); ++i) {
        LS_TRY(const VariantValue value, decodeVariant(blobs[i]));
        const bool isThere = value.kind == VariantKind::ragged && !value.tensors.empty();
        int64_t count = isBatch ? (splits[i + 1] - splits[i]) * each : shape.elementCount();
        if (isThere) {
            const VariantTensor& values = value.tensors.back();
            if (values.dtype != args.out(0).dtype) return invalidArgument("encoded_ragged_grad holds values of another dtype");
            LS_TRY(const TfSource in, TfSource::of(values.view()));
            count = values.shape.elementCount();
            if (count > shape.elementCount() - at) return invalidArgument("encoded_ragged_grad holds more values than dense_values_shape");
            if (count > 0) std::memcpy(out.at(at), in.data(), static_cast<size_t>(count * in.size()));
        }
        if (count < 0 || count > shape.elementCount() - at) return invalidArgument("row_splits do not fit dense_values_shape");
        at += count;
    }
    if (at != shape.elementCount())
        return invalidArgument("encoded_ragged_grad holds " + std::to_string(at) + " values, expected " +
                               std::to_string(shape.elementCount()));
    return out.finish();
}

/// The gradient of a sum of two sparse tensors: to each entry of theirs that of the entry of the sum at its place, 0 if it was dropped.
Status runAddGrad(const KernelArgs& args)
{
    for (const int i : {1, 2, 3})
        if (args.in(i).shape.rank() != 2)
            return invalidArgument("Input indices should be matrices but received shape " + toString(args.in(i).shape));
    const int64_t rank = args.in(1).shape[1];
    if (args.in(2).shape[1] != rank || args.in(3).shape[1] != rank)
        return invalidArgument("The densified operands should have the same ndims; got indices of " + toString(args.in(1).shape) + ", " +
                               toString(args.in(2).shape) + " and " + toString(args.in(3).shape));
    const int64_t sums = args.in(3).shape[0];
    if (args.in(0).shape.rank() != 1 || args.in(0).shape[0] != sums)
        return invalidArgument("# elements of backprop_val_grad and # rows of sum_indices should match (#nnz of sum): got " +
                               std::to_string(args.in(0).elementCount()) + " and " + std::to_string(sums));
    const auto row = [&](int operand, int64_t i) {
        return std::span(args.in(operand).as<int64_t>() + i * rank, static_cast<size_t>(rank));
    };
    LS_TRY(const TfSource gradient, TfSource::of(args.in(0)));
    for (const int side : {0, 1}) {
        const int64_t count = args.in(side + 1).shape[0];
        TfTarget out;
        LS_CHECK_OK(out.begin(args, side, Shape({count}), true));
        int64_t s = 0; // indices of all three are in order
        for (int64_t i = 0; i < count; ++i) {
            const auto own = row(side + 1, i);
            while (s < sums && std::ranges::lexicographical_compare(row(3, s), own)) ++s;
            if (s < sums && std::ranges::equal(row(3, s), own))
                std::memcpy(out.at(i), gradient.at(s), static_cast<size_t>(gradient.size()));
        }
        LS_CHECK_OK(out.finish());
    }
    return {};
}

/// A product of matrices that are mostly zeros: the same numbers as of any.
Status runSparseProduct(const KernelArgs& args)
{
    const AttributeList& attributes = attributesOf(args);
    const Shape &a = args.in(0).shape, &b = args.in(1).shape;
    if (a.rank() != 2) return invalidArgument("a is not a matrix");
    if (b.rank() != 2) return invalidArgument("b is not a matrix");
    const bool turnA = attributeBool(attributes, "transpose_a", false), turnB = attributeBool(attributes, "transpose_b", false);
    const int64_t rows = a[turnA ? 1 : 0], depth = a[turnA ? 0 : 1], columns = b[turnB ? 0 : 1];
    if (depth != b[turnB ? 1 : 0]) return invalidArgument("Matrix size incompatible: a: " + toString(a) + ", b: " + toString(b));
    LS_CHECK_OK(tfAllocate(args, 0, Shape({rows, columns})));
    const auto read = [&](int operand, int64_t at) {
        const Tensor& t = args.in(operand);
        return t.dtype == DType::bf16 ? Element<BFloat16>::load(t.as<BFloat16>()[at]) : t.as<float>()[at];
    };
    LoopPace pace;
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c) {
            pace.did(depth);
            float sum = 0;
            for (int64_t k = 0; k < depth; ++k)
                sum += read(0, turnA ? k * rows + r : r * depth + k) * read(1, turnB ? c * depth + k : k * columns + c);
            args.out(0).as<float>()[r * columns + c] = sum;
        }
    return {};
}

} // namespace

LS_TF_KERNEL(RaggedTensorToSparse, runRaggedToSparse, kAllDTypes)
LS_TF_KERNEL(RaggedTensorToVariantGradient, runToVariantGradient, kAllDTypes)
LS_TF_KERNEL(SparseAddGrad, runAddGrad, kTfNumbers)
LS_TF_KERNEL(SparseMatMul, runSparseProduct, "f32 bf16")
