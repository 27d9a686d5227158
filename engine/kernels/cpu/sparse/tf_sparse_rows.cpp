// Kernels that join, cut, fill and combine TensorFlow's sparse tensors: core/kernels/sparse_fill_empty_rows_op.cc, sparse_add_op.cc,
// sparse_concat_op.cc, sparse_slice_op.cc, sparse_split_op.cc, sparse_softmax_op.cc, sparse_reduce_op.cc,
// sparse_dense_binary_op_shared.cc, sparse_sparse_binary_op_shared.cc, sparse_tensor_dense_add_op.cc.
#include "engine/base/memory_budget.h"
#include "engine/kernels/cpu/sparse/places.h"
#include "engine/tensor/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace loopscope;

namespace {

/// What SparseFillEmptyRows and RaggedFillEmptyRows share: the entries by row, and for a row without any the default value.
struct FilledRows {
    std::vector<int64_t> rows;    ///< of each entry of the result
    std::vector<int64_t> sources; ///< the entry that it is; −1: the default
    std::vector<int64_t> goesTo;  ///< for each entry of the input
    std::vector<char> isEmpty;    ///< by row
};

/// Errors: InvalidArgument for a negative number of rows, and if memory does not do for so many.
Result<FilledRows> fillRows(int64_t rows, const std::vector<int64_t>& rowOf)
{
    if (rows < 0) return invalidArgument("the number of rows must not be negative, got " + std::to_string(rows));
    LS_CHECK_OK(checkMemory(static_cast<uint64_t>(rows) * (2 * sizeof(int64_t) + 1), "rows that are filled"));
    FilledRows filled;
    std::vector<int64_t> order(rowOf.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](int64_t e) { return rowOf[static_cast<size_t>(e)]; });
    filled.goesTo.resize(rowOf.size());
    auto next = order.begin();
    for (int64_t row = 0; row < rows; ++row) {
        const bool isEmpty = next == order.end() || rowOf[static_cast<size_t>(*next)] != row;
        filled.isEmpty.push_back(isEmpty);
        if (isEmpty) {
            filled.rows.push_back(row);
            filled.sources.push_back(-1);
        }
        for (; next != order.end() && rowOf[static_cast<size_t>(*next)] == row; ++next) {
            filled.goesTo[static_cast<size_t>(*next)] = static_cast<int64_t>(filled.rows.size());
            filled.rows.push_back(row);
            filled.sources.push_back(*next);
        }
    }
    return filled;
}

/// Results 1 … 3: values, which rows were empty, and where each entry went.
Status giveFilled(const KernelArgs& args, const FilledRows& filled)
{
    if (args.in(3).elementCount() != 1) return invalidArgument("default_value must be a scalar, saw: " + toString(args.in(3).shape));
    LS_TRY(const TfSource values, TfSource::of(args.in(1)));
    LS_TRY(const TfSource otherwise, TfSource::of(args.in(3)));
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 1, Shape({static_cast<int64_t>(filled.sources.size())})));
    for (size_t e = 0; e < filled.sources.size(); ++e) {
        const int64_t from = filled.sources[e];
        std::memcpy(out.at(static_cast<int64_t>(e)), from < 0 ? otherwise.at(0) : values.at(from), static_cast<size_t>(out.size()));
    }
    LS_CHECK_OK(out.finish());
    LS_CHECK_OK(tfAllocate(args, 2, Shape({static_cast<int64_t>(filled.isEmpty.size())})));
    std::copy(filled.isEmpty.begin(), filled.isEmpty.end(), args.out(2).as<bool>());
    return giveSparseIntegers(args, 3, Shape({static_cast<int64_t>(filled.goesTo.size())}), filled.goesTo);
}

Status checkRow(int64_t row, int64_t rows, size_t entry, const std::string& place)
{
    if (row >= 0 && row < rows) return {};
    return invalidArgument(place + std::to_string(entry) + " is invalid: " + std::to_string(row) + " is not in [0, " +
                           std::to_string(rows) + ")");
}

Status runFillEmptyRows(const KernelArgs& args)
{
    const std::vector<int64_t> dims = tfIntegers(args.in(2)), indices = tfIntegers(args.in(0));
    const Shape& shape = args.in(0).shape;
    if (dims.empty()) return invalidArgument("Dense shape cannot be empty.");
    if (shape.rank() != 2 || shape[1] != static_cast<int64_t>(dims.size()))
        return invalidArgument("indices must be a matrix of " + std::to_string(dims.size()) + " columns, saw: " + toString(shape));
    LS_CHECK_OK(checkSparseValues(args, 1, shape[0]));
    const int64_t rank = shape[1];
    std::vector<int64_t> rowOf;
    for (int64_t e = 0; e < shape[0]; ++e) {
        rowOf.push_back(indices[static_cast<size_t>(e * rank)]);
        LS_CHECK_OK(checkRow(rowOf.back(), dims[0], static_cast<size_t>(e), "indices(0) of entry "));
    }
    LS_TRY(const FilledRows filled, fillRows(dims[0], rowOf));
    std::vector<int64_t> places;
    for (size_t e = 0; e < filled.rows.size(); ++e) {
        places.push_back(filled.rows[e]);
        const int64_t from = filled.sources[e];
        for (int64_t d = 1; d < rank; ++d) places.push_back(from < 0 ? 0 : indices[static_cast<size_t>(from * rank + d)]);
    }
    LS_CHECK_OK(giveSparseIntegers(args, 0, Shape({static_cast<int64_t>(filled.rows.size()), rank}), places));
    return giveFilled(args, filled);
}

Status runRaggedFillEmptyRows(const KernelArgs& args)
{
    LS_TRY(const int64_t rows, tfInteger(args, 2, "nrows"));
    const std::vector<int64_t> rowOf = tfIntegers(args.in(0));
    LS_CHECK_OK(checkSparseValues(args, 1, static_cast<int64_t>(rowOf.size())));
    for (size_t e = 0; e < rowOf.size(); ++e) LS_CHECK_OK(checkRow(rowOf[e], rows, e, "value_rowids of entry "));
    LS_TRY(const FilledRows filled, fillRows(rows, rowOf));
    LS_CHECK_OK(giveSparseIntegers(args, 0, Shape({static_cast<int64_t>(filled.rows.size())}), filled.rows));
    return giveFilled(args, filled);
}

/// The gradient of the values, and that of the default: the sum over what no entry went to.
Status runFillEmptyRowsGrad(const KernelArgs& args)
{
    if (args.in(1).shape.rank() != 1) return invalidArgument("grad_values must be a vector, saw: " + tfShapeText(args.in(1).shape));
    const std::vector<int64_t> from = tfIntegers(args.in(0));
    const int64_t count = args.in(1).elementCount();
    for (size_t e = 0; e < from.size(); ++e) LS_CHECK_OK(checkRow(from[e], count, e, "Elements in reverse index map: entry "));
    LS_CHECK_OK(giveChosen(args, 0, 1, from));
    LS_CHECK_OK(tfAllocate(args, 1, Shape()));
    std::vector<char> isTaken(static_cast<size_t>(count), 0);
    for (const int64_t e : from) isTaken[static_cast<size_t>(e)] = 1;
    return forDType<TfFloats, TfSigned, TfUnsigned, TfComplex>(args.in(1).dtype, [&]<typename T>() -> Status {
        typename Element<T>::Compute sum(0);
        for (int64_t e = 0; e < count; ++e)
            if (isTaken[static_cast<size_t>(e)] == 0) sum = wrappingAdd(sum, Element<T>::load(args.in(1).as<T>()[e]));
        *args.out(1).as<T>() = Element<T>::store(sum);
        return {};
    });
}

/// One entry of two tensors joined in order; −1: the tensor has none there.
struct Pair {
    int64_t a, b;
};

std::vector<Pair> pairsOf(const SparsePlaces& a, const SparsePlaces& b)
{
    std::vector<Pair> pairs;
    for (int64_t i = 0, j = 0; i < a.count || j < b.count;) {
        const int order = i == a.count ? 1 : j == b.count ? -1 : a.compare(i, b, j);
        pairs.push_back({order <= 0 ? i : -1, order >= 0 ? j : -1});
        i += order <= 0 ? 1 : 0;
        j += order >= 0 ? 1 : 0;
    }
    return pairs;
}

struct SparsePair {
    SparsePlaces a, b;
};
/// Operands 0 … 5: two sparse tensors of one shape.
Result<SparsePair> sparsePair(const KernelArgs& args)
{
    LS_TRY(SparsePlaces a, sparsePlaces(args, 0, 2));
    LS_TRY(SparsePlaces b, sparsePlaces(args, 3, 5));
    LS_CHECK_OK(checkSparseValues(args, 1, a.count));
    LS_CHECK_OK(checkSparseValues(args, 4, b.count));
    if (!(a.shape == b.shape))
        return invalidArgument("Operands' shapes do not match: got " + toString(a.shape) + " and " + toString(b.shape));
    return SparsePair{std::move(a), std::move(b)};
}

/// The threshold is for what was added: an entry without a partner stays.
Status runAdd(const KernelArgs& args)
{
    LS_TRY(const SparsePair in, sparsePair(args));
    SparsePlaces sum{in.a.shape, 0, {}};
    const std::vector<Pair> pairs = pairsOf(in.a, in.b);
    const double least = elementAsReal(args.in(6), 0);
    return forDType<TfFloats, TfSigned, TfUnsigned, TfComplex>(args.in(1).dtype, [&]<typename T>() -> Status {
        using C = typename Element<T>::Compute;
        std::vector<C> kept;
        for (const Pair& pair : pairs) {
            const C a = pair.a < 0 ? C(0) : Element<T>::load(args.in(1).as<T>()[pair.a]);
            const C b = pair.b < 0 ? C(0) : Element<T>::load(args.in(4).as<T>()[pair.b]);
            const C both = wrappingAdd(a, b);
            double magnitude = 0;
            if constexpr (kIsComplex<C>) magnitude = std::abs(both);
            else magnitude = std::abs(static_cast<double>(both));
            if (pair.a >= 0 && pair.b >= 0 && magnitude < least) continue;
            kept.push_back(both);
            if (pair.a >= 0) sum.add(in.a, pair.a);
            else sum.add(in.b, pair.b);
        }
        LS_CHECK_OK(giveSparsePlaces(args, 0, 2, sum));
        LS_CHECK_OK(tfAllocate(args, 1, Shape({sum.count})));
        for (size_t e = 0; e < kept.size(); ++e) args.out(1).as<T>()[e] = Element<T>::store(kept[e]);
        return {};
    });
}

/// The larger or smaller of two values, where one is missing 0.
template <bool larger> Status runExtreme(const KernelArgs& args)
{
    LS_TRY(const SparsePair in, sparsePair(args));
    const std::vector<Pair> pairs = pairsOf(in.a, in.b);
    SparsePlaces both{in.a.shape, 0, {}};
    for (const Pair& pair : pairs) both.add(pair.a >= 0 ? in.a : in.b, pair.a >= 0 ? pair.a : pair.b);
    LS_CHECK_OK(giveSparseIntegers(args, 0, Shape({both.count, both.rank()}), both.indices));
    LS_CHECK_OK(tfAllocate(args, 1, Shape({both.count})));
    return forDType<TfFloats, TfSigned, TfUnsigned>(args.in(1).dtype, [&]<typename T>() -> Status {
        for (size_t e = 0; e < pairs.size(); ++e) {
            const auto of = [&](int operand, int64_t entry) {
                return entry < 0 ? typename Element<T>::Compute(0) : Element<T>::load(args.in(operand).as<T>()[entry]);
            };
            const auto a = of(1, pairs[e].a), b = of(4, pairs[e].b);
            args.out(1).as<T>()[e] = Element<T>::store(a != a || (larger ? b < a : a < b) ? a : b);
        }
        return {};
    });
}

/// Operands: the indices of N tensors, their values, their shapes.
Status runConcat(const KernelArgs& args)
{
    const int count = args.inputCount / 3;
    SparsePlaces all;
    std::vector<std::pair<int, int64_t>> sources; ///< the tensor and its entry
    int axis = 0;
    for (int k = 0; k < count; ++k) {
        LS_TRY(const SparsePlaces in, sparsePlaces(args, k, 2 * count + k));
        LS_CHECK_OK(checkSparseValues(args, count + k, in.count));
        if (k == 0) {
            LS_TRY(axis, tfAxis(attributeInt(attributesOf(args), "concat_dim", 0), in.rank(), "Concat dimension must be"));
            all.shape = in.shape;
            all.shape[axis] = 0;
        }
        for (int d = 0; d < std::max(in.rank(), all.rank()); ++d)
            if (in.rank() != all.rank() || (d != axis && in.shape[d] != all.shape[d]))
                return invalidArgument("Input shapes must match: expected " + toString(all.shape) + " but got " + toString(in.shape));
        for (int64_t e = 0; e < in.count; ++e) {
            all.add(in, e);
            all.indices[all.indices.size() - static_cast<size_t>(in.rank() - axis)] += all.shape[axis];
            sources.emplace_back(count + k, e);
        }
        all.shape[axis] += in.shape[axis];
    }
    std::vector<TfSource> values;
    for (int k = 0; k < count; ++k) {
        LS_TRY(TfSource source, TfSource::of(args.in(count + k)));
        values.push_back(std::move(source));
    }
    SparsePlaces sorted{all.shape, 0, {}};
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 1, Shape({all.count})));
    for (const int64_t e : all.order()) {
        const auto& [operand, entry] = sources[static_cast<size_t>(e)];
        std::memcpy(out.at(sorted.count), values[static_cast<size_t>(operand - count)].at(entry), static_cast<size_t>(out.size()));
        sorted.add(all, e);
    }
    LS_CHECK_OK(out.finish());
    return giveSparsePlaces(args, 0, 2, sorted);
}

/// The entries of `in` that lie in the box, moved to its corner.
SparsePlaces cutOut(const SparsePlaces& in, const std::vector<int64_t>& begin, const Shape& box, std::vector<int64_t>& chosen)
{
    SparsePlaces cut{box, 0, {}};
    for (int64_t e = 0; e < in.count; ++e) {
        bool isInside = true;
        for (int d = 0; d < in.rank(); ++d) {
            const int64_t at = in.at(e, d) - begin[static_cast<size_t>(d)];
            isInside = isInside && at >= 0 && at < box[d];
        }
        if (!isInside) continue;
        chosen.push_back(e);
        for (int d = 0; d < in.rank(); ++d) cut.indices.push_back(in.at(e, d) - begin[static_cast<size_t>(d)]);
        ++cut.count;
    }
    return cut;
}

Status runSlice(const KernelArgs& args)
{
    LS_TRY(const SparsePlaces in, sparsePlaces(args, 0, 2));
    LS_CHECK_OK(checkSparseValues(args, 1, in.count));
    const std::vector<int64_t> begin = tfIntegers(args.in(3)), size = tfIntegers(args.in(4));
    if (begin.size() != static_cast<size_t>(in.rank()) || size.size() != begin.size())
        return invalidArgument("Expected start and size to be vectors of " + std::to_string(in.rank()) + " elements, but got " +
                               toString(args.in(3).shape) + " and " + toString(args.in(4).shape));
    Shape box = in.shape;
    for (int d = 0; d < in.rank(); ++d) {
        const int64_t from = begin[static_cast<size_t>(d)], many = size[static_cast<size_t>(d)];
        if (from < 0 || many < 0)
            return invalidArgument("expected non-negative start and size, got " + std::to_string(from) + " and " + std::to_string(many));
        box[d] = std::max<int64_t>(0, std::min(many, in.shape[d] - std::min(from, in.shape[d])));
    }
    std::vector<int64_t> chosen;
    const SparsePlaces cut = cutOut(in, begin, box, chosen);
    LS_CHECK_OK(giveChosen(args, 1, 1, chosen));
    return giveSparsePlaces(args, 0, 2, cut);
}

/// The gradient of the values that a slice was cut out of: 0 for those outside.
Status runSliceGrad(const KernelArgs& args)
{
    const std::vector<int64_t> from = tfIntegers(args.in(1)), begin = tfIntegers(args.in(2)), to = tfIntegers(args.in(3));
    const auto rank = static_cast<int64_t>(begin.size());
    const int64_t count = args.in(1).shape.rank() == 2 ? args.in(1).shape[0] : 0,
                  kept = args.in(3).shape.rank() == 2 ? args.in(3).shape[0] : 0;
    if (static_cast<int64_t>(from.size()) != count * rank || static_cast<int64_t>(to.size()) != kept * rank)
        return invalidArgument("The input and output indices should have as many columns as input_start has elements");
    LS_TRY(const TfSource gradient, TfSource::of(args.in(0)));
    if (args.in(0).elementCount() != kept)
        return invalidArgument("# elements in backprop_val_grad and rows in output_indices should match");
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, Shape({count}), true));
    for (int64_t e = 0, next = 0; e < count && next < kept; ++e) {
        bool isSame = true;
        for (int64_t d = 0; d < rank; ++d)
            isSame = isSame &&
                     from[static_cast<size_t>(e * rank + d)] - begin[static_cast<size_t>(d)] == to[static_cast<size_t>(next * rank + d)];
        if (isSame) std::memcpy(out.at(e), gradient.at(next++), static_cast<size_t>(out.size()));
    }
    return out.finish();
}

/// Results: the indices of N tensors, their values, their shapes. The first of them are larger by one where it does not divide.
Status runSplit(const KernelArgs& args)
{
    LS_TRY(const int64_t dimension, tfInteger(args, 0, "split_dim"));
    LS_TRY(const SparsePlaces in, sparsePlaces(args, 1, 3));
    LS_CHECK_OK(checkSparseValues(args, 2, in.count));
    LS_TRY(const int axis, tfAxis(dimension, in.rank(), "Input split_dim should be"));
    const int count = args.outputCount / 3;
    if (in.shape[axis] < count || count == 0)
        return invalidArgument("Input num_split should be between 1 and the splitting dimension size (" + std::to_string(in.shape[axis]) +
                               "), got " + std::to_string(count));
    std::vector<int64_t> begin(static_cast<size_t>(in.rank()), 0);
    for (int k = 0; k < count; ++k) {
        Shape box = in.shape;
        box[axis] = in.shape[axis] / count + (k < in.shape[axis] % count ? 1 : 0);
        std::vector<int64_t> chosen;
        const SparsePlaces cut = cutOut(in, begin, box, chosen);
        LS_CHECK_OK(giveChosen(args, count + k, 2, chosen));
        LS_CHECK_OK(giveSparsePlaces(args, k, 2 * count + k, cut));
        begin[static_cast<size_t>(axis)] += box[axis];
    }
    return {};
}

/// Over the last dimension, among the entries that are there.
Status runSoftmax(const KernelArgs& args)
{
    LS_TRY(const SparsePlaces in, sparsePlaces(args, 0, 2));
    LS_CHECK_OK(checkSparseValues(args, 1, in.count));
    if (in.rank() < 2) return invalidArgument("Input should have rank >= 2, but received shape " + toString(in.shape));
    LS_CHECK_OK(tfAllocate(args, 0, Shape({in.count})));
    return forDType<TfFloats>(args.in(1).dtype, [&]<typename T>() -> Status {
        using C = typename Element<T>::Compute;
        const auto at = [&](int64_t e) { return Element<T>::load(args.in(1).as<T>()[e]); };
        for (int64_t first = 0, end = 0; first < in.count; first = end) {
            const auto isSameRow = [&](int64_t e) {
                for (int d = 0; d + 1 < in.rank(); ++d)
                    if (in.at(e, d) != in.at(first, d)) return false;
                return true;
            };
            C largest = at(first), sum(0);
            for (end = first; end < in.count && isSameRow(end); ++end) largest = std::max(largest, at(end));
            for (int64_t e = first; e < end; ++e) sum += std::exp(at(e) - largest);
            for (int64_t e = first; e < end; ++e) args.out(0).as<T>()[e] = Element<T>::store(std::exp(at(e) - largest) / sum);
        }
        return {};
    });
}

/// Sums or maxima over axes: of what is there, dense with 0 elsewhere, or sparse again.
template <bool isSum, bool isSparse> Status runReduce(const KernelArgs& args)
{
    LS_TRY(const SparsePlaces in, sparsePlaces(args, 0, 2));
    LS_CHECK_OK(checkSparseValues(args, 1, in.count));
    LS_TRY(const std::vector<bool> reduced, reducedDimensions(args, 3, in.rank()));
    const bool keeps = attributeBool(attributesOf(args), "keep_dims", false);
    SparsePlaces result; // of each entry at first
    for (int d = 0; d < in.rank(); ++d)
        if (!reduced[static_cast<size_t>(d)] || keeps) result.shape.append(reduced[static_cast<size_t>(d)] ? 1 : in.shape[d]);
    result.count = in.count;
    for (int64_t e = 0; e < in.count; ++e)
        for (int d = 0; d < in.rank(); ++d)
            if (!reduced[static_cast<size_t>(d)] || keeps) result.indices.push_back(reduced[static_cast<size_t>(d)] ? 0 : in.at(e, d));
    const std::vector<int64_t> order = result.order();
    SparsePlaces groups{result.shape, 0, {}};
    std::vector<int64_t> groupOf(order.size());
    for (size_t k = 0; k < order.size(); ++k) {
        if (k == 0 || result.compare(order[k - 1], result, order[k]) != 0) groups.add(result, order[k]);
        groupOf[k] = groups.count - 1;
    }
    groups.count = result.rank() == 0 ? std::min<int64_t>(in.count, 1) : groups.count;
    if (isSparse) LS_CHECK_OK(giveSparsePlaces(args, 0, 2, groups));
    const int to = isSparse ? 1 : 0;
    LS_CHECK_OK(tfAllocate(args, to, isSparse ? Shape({groups.count}) : result.shape));
    if (args.out(to).bytes > 0) std::memset(args.out(to).data, 0, args.out(to).bytes);
    return forDType<TfFloats, TfSigned, TfUnsigned, TfComplex>(args.in(1).dtype, [&]<typename T>() -> Status {
        for (size_t k = 0; k < order.size(); ++k) {
            int64_t flat = 0;
            for (int d = 0; d < groups.rank(); ++d) flat = flat * groups.shape[d] + groups.at(groupOf[k], d);
            T& element = args.out(to).as<T>()[isSparse ? groupOf[k] : flat];
            const bool isFirst = k == 0 || groupOf[k - 1] != groupOf[k];
            const auto x = Element<T>::load(args.in(1).as<T>()[order[k]]), before = Element<T>::load(element);
            if constexpr (isSum) element = Element<T>::store(isFirst ? x : wrappingAdd(before, x));
            else if constexpr (!kIsComplex<T>) element = Element<T>::store(isFirst || before < x ? x : before);
        }
        return {};
    });
}

enum class Binary { add, multiply, divide };

/// The values of a sparse tensor with those of a dense one at their places; the dense one is broadcast.
template <Binary how> Status runWithDense(const KernelArgs& args)
{
    LS_TRY(const SparsePlaces in, sparsePlaces(args, 0, 2));
    LS_CHECK_OK(checkSparseValues(args, 1, in.count));
    const Shape& dense = args.in(3).shape;
    const int lead = in.rank() - dense.rank();
    for (int d = 0; d < dense.rank(); ++d)
        if (lead < 0 || (dense[d] != 1 && dense[d] != in.shape[d + lead]))
            return invalidArgument("SparseDenseBinaryOpShared broadcasts dense to sparse only; got incompatible shapes: [" +
                                   toString(in.shape) + "] vs. [" + toString(dense) + "]");
    LS_CHECK_OK(tfAllocate(args, 0, Shape({in.count})));
    return forDType<TfFloats, TfSigned, TfUnsigned, TfComplex>(args.in(1).dtype, [&]<typename T>() -> Status {
        for (int64_t e = 0; e < in.count; ++e) {
            int64_t flat = 0;
            for (int d = 0; d < dense.rank(); ++d) flat = flat * dense[d] + (dense[d] == 1 ? 0 : in.at(e, d + lead));
            const auto a = Element<T>::load(args.in(1).as<T>()[e]), b = Element<T>::load(args.in(3).as<T>()[flat]);
            if constexpr (how == Binary::divide)
                if (b == decltype(b)(0))
                    return invalidArgument("SparseDenseCwiseDiv cannot divide by zero, but input dense tensor contains zero ");
            T& y = args.out(0).as<T>()[e];
            if constexpr (how == Binary::add) y = Element<T>::store(wrappingAdd(a, b));
            else if constexpr (how == Binary::multiply) y = Element<T>::store(wrappingMul(a, b));
            else if constexpr (std::is_signed_v<T> && std::is_integral_v<T>) y = b == T(-1) ? wrappingSub(T(0), a) : static_cast<T>(a / b);
            else y = Element<T>::store(static_cast<typename Element<T>::Compute>(a / b));
        }
        return {};
    });
}

Status runTensorDenseAdd(const KernelArgs& args)
{
    LS_TRY(const SparsePlaces in, sparsePlaces(args, 0, 2));
    LS_CHECK_OK(checkSparseValues(args, 1, in.count));
    if (!(in.shape == args.in(3).shape))
        return invalidArgument("Dimensions of the sparse and the dense tensor do not match: " + toString(in.shape) + " vs. " +
                               toString(args.in(3).shape));
    LS_CHECK_OK(tfCopy(args, 0, args.in(3), in.shape));
    return forDType<TfFloats, TfSigned, TfUnsigned, TfComplex>(args.in(1).dtype, [&]<typename T>() -> Status {
        for (int64_t e = 0; e < in.count; ++e) {
            int64_t flat = 0;
            for (int d = 0; d < in.rank(); ++d) flat = flat * in.shape[d] + in.at(e, d);
            T& y = args.out(0).as<T>()[flat];
            y = Element<T>::store(wrappingAdd(Element<T>::load(y), Element<T>::load(args.in(1).as<T>()[e])));
        }
        return {};
    });
}

} // namespace

LS_TF_KERNEL(SparseFillEmptyRows, runFillEmptyRows, kAllDTypes)
LS_TF_KERNEL(SparseFillEmptyRowsGrad, runFillEmptyRowsGrad, kTfNumbers)
LS_TF_KERNEL(RaggedFillEmptyRows, runRaggedFillEmptyRows, kAllDTypes)
LS_TF_KERNEL(RaggedFillEmptyRowsGrad, runFillEmptyRowsGrad, kTfNumbers)
LS_TF_KERNEL(SparseAdd, runAdd, kTfNumbers)
LS_TF_KERNEL(SparseSparseMaximum, runExtreme<true>, kTfReals)
LS_TF_KERNEL(SparseSparseMinimum, runExtreme<false>, kTfReals)
LS_TF_KERNEL(SparseConcat, runConcat, kAllDTypes)
LS_TF_KERNEL(SparseSlice, runSlice, kAllDTypes)
LS_TF_KERNEL(SparseSliceGrad, runSliceGrad, kTfNumbers)
LS_TF_KERNEL(SparseSplit, runSplit, kAllDTypes)
LS_TF_KERNEL(SparseSoftmax, runSoftmax, "f32 f64 f16")
LS_TF_KERNEL(SparseReduceMax, (runReduce<false, false>), kTfReals)
LS_TF_KERNEL(SparseReduceMaxSparse, (runReduce<false, true>), kTfReals)
LS_TF_KERNEL(SparseReduceSum, (runReduce<true, false>), kTfNumbers)
LS_TF_KERNEL(SparseReduceSumSparse, (runReduce<true, true>), kTfNumbers)
LS_TF_KERNEL(SparseDenseCwiseAdd, runWithDense<Binary::add>, kTfNumbers)
LS_TF_KERNEL(SparseDenseCwiseMul, runWithDense<Binary::multiply>, kTfNumbers)
LS_TF_KERNEL(SparseDenseCwiseDiv, runWithDense<Binary::divide>, kTfNumbers)
LS_TF_KERNEL(SparseTensorDenseAdd, runTensorDenseAdd, kTfNumbers)
