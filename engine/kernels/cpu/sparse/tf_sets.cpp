// Kernels of TensorFlow's sets, which are the last dimension of sparse or dense tensors, of counts of numbers, and of crossed features:
// core/kernels/set_kernels.cc, count_ops.cc, sparse_cross_op.cc, ragged_cross_op.cc.
#include "engine/base/interruption.h"
#include "engine/base/memory_budget.h"
#include "engine/kernels/cpu/sparse/places.h"
#include "engine/kernels/cpu/text/fingerprint.h"
#include "engine/tensor/strings.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <set>
#include <utility>

using namespace loopscope;

namespace {

/// An element as something that sorts as TensorFlow sorts it: numbers by value, strings by their bytes.
struct Key {
    int64_t number = 0;
    std::string_view text;
    auto operator<=>(const Key&) const = default;
};

Result<std::vector<Key>> keysOf(const Tensor& tensor)
{
    std::vector<Key> keys;
    if (tensor.dtype == DType::string) {
        LS_TRY(const auto texts, readStrings(tensor));
        for (const std::string_view text : texts) keys.push_back({0, text});
        return keys;
    }
    for (const int64_t number : tfIntegers(tensor)) keys.push_back({number, {}});
    return keys;
}

/// Sets by the place of their group: all dimensions but the last.
struct Groups {
    Shape shape; ///< of the groups
    std::map<std::vector<int64_t>, std::set<Key>> sets;
};

Result<Groups> denseGroups(const KernelArgs& args, int i)
{
    const Shape& shape = args.in(i).shape;
    if (shape.rank() < 2) return invalidArgument("Invalid shape " + toString(shape) + ": a set tensor has at least 2 dimensions.");
    LS_TRY(const std::vector<Key> keys, keysOf(args.in(i)));
    Groups groups{Shape(shape.dims().first(static_cast<size_t>(shape.rank() - 1))), {}};
    for (int64_t g = 0, n = groups.shape.elementCount(), each = shape.back(); g < n; ++g) {
        std::vector<int64_t> place;
        for (int d = 0; d < groups.shape.rank(); ++d) place.push_back(g / strideOf(groups.shape, d) % groups.shape[d]);
        groups.sets[place].insert(keys.begin() + g * each, keys.begin() + (g + 1) * each);
    }
    return groups;
}

Result<Groups> sparseGroups(const KernelArgs& args, int i)
{
    LS_TRY(const SparsePlaces in, sparsePlaces(args, i, i + 2));
    LS_CHECK_OK(checkSparseValues(args, i + 1, in.count));
    if (in.rank() < 2) return invalidArgument("Invalid shape " + toString(in.shape) + ": a set tensor has at least 2 dimensions.");
    LS_TRY(const std::vector<Key> keys, keysOf(args.in(i + 1)));
    Groups groups{Shape(in.shape.dims().first(static_cast<size_t>(in.rank() - 1))), {}};
    for (int64_t e = 0; e < in.count; ++e) {
        std::vector<int64_t> place;
        for (int d = 0; d + 1 < in.rank(); ++d) place.push_back(in.at(e, d));
        groups.sets[place].insert(keys[static_cast<size_t>(e)]);
    }
    return groups;
}

Status setOperation(const KernelArgs& args, const Groups& a, const Groups& b)
{
    if (!(a.shape == b.shape)) return invalidArgument("Mismatched group shapes " + toString(a.shape) + " vs " + toString(b.shape));
    const std::string_view how = attributeString(attributesOf(args), "set_operation", "");
    std::set<std::vector<int64_t>> places;
    for (const Groups* groups : {&a, &b})
        for (const auto& [place, set] : groups->sets) places.insert(place);
    SparsePlaces result;
    std::vector<Key> values;
    int64_t widest = 0;
    const auto setAt = [](const Groups& groups, const std::vector<int64_t>& place) {
        const auto found = groups.sets.find(place);
        return found == groups.sets.end() ? std::set<Key>() : found->second;
    };
    for (const std::vector<int64_t>& place : places) {
        const std::set<Key> x = setAt(a, place), y = setAt(b, place);
        std::vector<Key> kept;
        if (how == "a-b") std::ranges::set_difference(x, y, std::back_inserter(kept));
        else if (how == "b-a") std::ranges::set_difference(y, x, std::back_inserter(kept));
        else if (how == "intersection") std::ranges::set_intersection(x, y, std::back_inserter(kept));
        else if (how == "union") std::ranges::set_union(x, y, std::back_inserter(kept));
        else return invalidArgument("Invalid set_operation " + std::string(how) + ".");
        for (size_t k = 0; k < kept.size(); ++k) {
            result.indices.insert(result.indices.end(), place.begin(), place.end());
            result.indices.push_back(static_cast<int64_t>(k));
        }
        values.insert(values.end(), kept.begin(), kept.end());
        widest = std::max(widest, static_cast<int64_t>(kept.size()));
    }
    result.count = static_cast<int64_t>(values.size());
    result.shape = a.shape;
    result.shape.append(widest);
    LS_CHECK_OK(giveSparsePlaces(args, 0, 2, result));
    if (args.out(1).dtype == DType::string) {
        std::vector<std::string_view> texts;
        for (const Key& key : values) texts.push_back(key.text);
        return writeStrings(*args.runtime, args.out(1), Shape({result.count}), texts);
    }
    LS_CHECK_OK(tfAllocate(args, 1, Shape({result.count})));
    return forDType<TfSigned, TfUnsigned>(args.out(1).dtype, [&]<typename T>() -> Status {
        for (size_t e = 0; e < values.size(); ++e) args.out(1).as<T>()[e] = static_cast<T>(values[e].number);
        return {};
    });
}

Status runDenseToDense(const KernelArgs& args)
{
    LS_TRY(const Groups a, denseGroups(args, 0));
    LS_TRY(const Groups b, denseGroups(args, 1));
    return setOperation(args, a, b);
}
Status runDenseToSparse(const KernelArgs& args)
{
    LS_TRY(const Groups a, denseGroups(args, 0));
    LS_TRY(const Groups b, sparseGroups(args, 1));
    return setOperation(args, a, b);
}
Status runSparseToSparse(const KernelArgs& args)
{
    LS_TRY(const Groups a, sparseGroups(args, 0));
    LS_TRY(const Groups b, sparseGroups(args, 3));
    return setOperation(args, a, b);
}

Status runSetSize(const KernelArgs& args)
{
    LS_TRY(const Groups sets, sparseGroups(args, 0));
    LS_CHECK_OK(tfAllocate(args, 0, sets.shape));
    std::fill_n(args.out(0).as<int32_t>(), sets.shape.elementCount(), 0);
    for (const auto& [place, set] : sets.sets) {
        int64_t flat = 0;
        for (int d = 0; d < sets.shape.rank(); ++d) flat = flat * sets.shape[d] + place[static_cast<size_t>(d)];
        args.out(0).as<int32_t>()[flat] = static_cast<int32_t>(set.size());
    }
    return {};
}

/// Counts by row and number, in order. `rowOf` gives −1 for what is in no row.
Status giveCounts(const KernelArgs& args, const Tensor& values, const Tensor& weights, const std::vector<int64_t>& rowOf, int64_t rows,
                  bool isVector)
{
    const std::vector<int64_t> numbers = tfIntegers(values);
    if (weights.elementCount() > 0 && weights.elementCount() != values.elementCount())
        return invalidArgument("Weights and values must have the same number of elements, got " + toString(weights.shape) + " and " +
                               toString(values.shape));
    const AttributeList& attributes = attributesOf(args);
    const int64_t fewest = attributeInt(attributes, "minlength", -1), most = attributeInt(attributes, "maxlength", -1);
    const bool isBinary = attributeBool(attributes, "binary_output", false);
    int64_t width = 1; // also of no numbers
    std::map<std::pair<int64_t, int64_t>, std::vector<size_t>> entries;
    for (size_t e = 0; e < numbers.size(); ++e) {
        if (numbers[e] < 0) return invalidArgument("Input values must all be non-negative");
        if (most >= 0 && numbers[e] >= most) continue;
        entries[{rowOf[e], numbers[e]}].push_back(e);
        width = std::max(width, numbers[e] + 1);
    }
    if (most > 0) width = most;
    else width = std::max(width, fewest);
    SparsePlaces places{isVector ? Shape({width}) : Shape({rows, width}), 0, {}};
    for (const auto& [place, own] : entries) {
        if (!isVector) places.indices.push_back(place.first);
        places.indices.push_back(place.second);
        ++places.count;
    }
    LS_CHECK_OK(giveSparsePlaces(args, 0, 2, places));
    LS_CHECK_OK(tfAllocate(args, 1, Shape({places.count})));
    return forDType<TypeList<int32_t, int64_t, float, double>>(args.out(1).dtype, [&]<typename T>() -> Status {
        T* to = args.out(1).as<T>();
        for (const auto& [place, own] : entries) {
            T sum(0);
            for (const size_t e : own) sum = wrappingAdd(sum, weights.elementCount() > 0 ? weights.as<T>()[e] : T(1));
            *to++ = isBinary ? T(1) : sum;
        }
        return {};
    });
}

Status runDenseCount(const KernelArgs& args)
{
    const Shape& shape = args.in(0).shape;
    if (shape.rank() < 1 || shape.rank() > 2) return invalidArgument("Input must be a 1 or 2-dimensional tensor. Got: " + toString(shape));
    if (shape.rank() == 2 && shape.elementCount() == 0) return invalidArgument("Invalid input: Shapes dimension cannot be 0.");
    std::vector<int64_t> rowOf;
    for (int64_t e = 0, n = shape.elementCount(); e < n; ++e) rowOf.push_back(shape.rank() == 1 ? 0 : e / shape[1]);
    return giveCounts(args, args.in(0), args.in(1), rowOf, shape[0], shape.rank() == 1);
}

Status runSparseCount(const KernelArgs& args)
{
    LS_TRY(const SparsePlaces in, sparsePlaces(args, 0, 2));
    LS_CHECK_OK(checkSparseValues(args, 1, in.count));
    if (in.rank() < 1 || in.rank() > 2) return invalidArgument("Input must be a 1 or 2-dimensional tensor. Got: " + toString(in.shape));
    std::vector<int64_t> rowOf;
    for (int64_t e = 0; e < in.count; ++e) rowOf.push_back(in.rank() == 1 ? 0 : in.at(e, 0));
    return giveCounts(args, args.in(1), args.in(3), rowOf, in.shape[0], in.rank() == 1);
}

/// The row of each value. Errors: InvalidArgument.
Result<std::vector<int64_t>> rowsOfSplits(const Tensor& splits, int64_t values)
{
    const std::vector<int64_t> ends = tfIntegers(splits);
    if (ends.empty() || ends.front() != 0 || ends.back() != values || !std::ranges::is_sorted(ends))
        return invalidArgument("Splits must start with 0, be in order and end with the number of values (" + std::to_string(values) + ")");
    std::vector<int64_t> rowOf(static_cast<size_t>(values));
    for (size_t row = 0; row + 1 < ends.size(); ++row)
        std::fill(rowOf.begin() + ends[row], rowOf.begin() + ends[row + 1], static_cast<int64_t>(row));
    return rowOf;
}

Status runRaggedCount(const KernelArgs& args)
{
    LS_TRY(const std::vector<int64_t> rowOf, rowsOfSplits(args.in(0), args.in(1).elementCount()));
    return giveCounts(args, args.in(1), args.in(2), rowOf, args.in(0).elementCount() - 1, false);
}

/// Counts of numbers by row, dense.
Status runSparseBincount(const KernelArgs& args)
{
    LS_TRY(const SparsePlaces in, sparsePlaces(args, 0, 2));
    LS_CHECK_OK(checkSparseValues(args, 1, in.count));
    LS_TRY(const int64_t size, tfInteger(args, 3, "size"));
    if (size < 0) return invalidArgument("size (" + std::to_string(size) + ") must be non-negative");
    if (in.rank() < 1 || in.rank() > 2) return invalidArgument("dense_shape must have 1 or 2 elements, got " + toString(in.shape));
    const Tensor& weights = args.in(4);
    if (weights.elementCount() > 0 && weights.elementCount() != in.count)
        return invalidArgument("weights must have as many elements as values, or none, got " + toString(weights.shape));
    LS_CHECK_OK(tfAllocate(args, 0, in.rank() == 1 ? Shape({size}) : Shape({in.shape[0], size})));
    const std::vector<int64_t> numbers = tfIntegers(args.in(1));
    const bool isBinary = attributeBool(attributesOf(args), "binary_output", false);
    return forDType<TypeList<int32_t, int64_t, float, double>>(args.out(0).dtype, [&]<typename T>() -> Status {
        std::fill_n(args.out(0).as<T>(), args.out(0).elementCount(), T(0));
        for (int64_t e = 0; e < in.count; ++e) {
            const int64_t number = numbers[static_cast<size_t>(e)];
            if (number < 0) return invalidArgument("Input values must all be non-negative");
            if (number >= size) continue;
            T& sum = args.out(0).as<T>()[(in.rank() == 1 ? 0 : in.at(e, 0)) * size + number];
            sum = isBinary ? T(1) : wrappingAdd(sum, weights.elementCount() > 0 ? weights.as<T>()[e] : T(1));
        }
        return {};
    });
}

/// A column of features: for each row those that it has, as texts or as numbers.
struct Column {
    std::vector<std::vector<Key>> rows;
    bool isText = false;
};

struct Columns {
    std::vector<Column> columns;
    int64_t rows = -1;

    Status add(const Tensor& values, const std::vector<int64_t>& rowOf, int64_t count)
    {
        if (rows >= 0 && rows != count)
            return invalidArgument("Expected batch size " + std::to_string(rows) + ", got " + std::to_string(count));
        rows = count;
        LS_CHECK_OK(checkMemory(static_cast<uint64_t>(count) * sizeof(std::vector<Key>), "rows of features"));
        Column column{std::vector<std::vector<Key>>(static_cast<size_t>(count)), values.dtype == DType::string};
        LS_TRY(const std::vector<Key> keys, keysOf(values));
        for (size_t e = 0; e < keys.size(); ++e) column.rows[static_cast<size_t>(rowOf[e])].push_back(keys[e]);
        columns.push_back(std::move(column));
        return {};
    }
    Status addSparse(const KernelArgs& args, int i, int v, int s)
    {
        LS_TRY(const SparsePlaces in, sparsePlaces(args, i, s));
        LS_CHECK_OK(checkSparseValues(args, v, in.count));
        if (in.rank() != 2) return invalidArgument("shape should imply a 2D tensor, but got shape " + toString(in.shape));
        std::vector<int64_t> rowOf;
        for (int64_t e = 0; e < in.count; ++e) rowOf.push_back(in.at(e, 0));
        return add(args.in(v), rowOf, in.shape[0]);
    }
    Status addDense(const Tensor& values)
    {
        if (values.shape.rank() != 2)
            return invalidArgument("Dense inputs should be a matrix but received shape " + toString(values.shape));
        std::vector<int64_t> rowOf;
        for (int64_t e = 0, n = values.elementCount(); e < n; ++e) rowOf.push_back(e / values.shape[1]);
        return add(values, rowOf, values.shape[0]);
    }
    Status addRagged(const Tensor& values, const Tensor& splits)
    {
        LS_TRY(const std::vector<int64_t> rowOf, rowsOfSplits(splits, values.elementCount()));
        return add(values, rowOf, splits.elementCount() - 1);
    }
};

/// FarmHash's FingerprintCat64.
uint64_t joinedFingerprint(uint64_t a, uint64_t b)
{
    constexpr uint64_t kFactor = 0xc6a4a7935bd1e995ULL;
    const auto mixed = [](uint64_t x) { return x ^ (x >> 47); };
    uint64_t x = a ^ kFactor;
    x ^= mixed(b * kFactor) * kFactor;
    x *= kFactor;
    x = mixed(x) * kFactor;
    return mixed(x);
}

/// What a cross gives of one choice of a feature from every column.
struct CrossRule {
    bool isHashed = false;
    uint64_t key = 0, buckets = 0;
    std::string separator = "_X_";
};

struct Crossed {
    std::vector<std::string> texts;
    std::vector<int64_t> numbers;
    std::vector<int64_t> counts; ///< by row
};

uint64_t fingerprintOf(const Key& key, bool isText) { return isText ? fingerprint64(key.text) : static_cast<uint64_t>(key.number); }

Result<Crossed> cross(const Columns& in, const CrossRule& rule)
{
    Crossed out;
    LoopPace pace;
    for (int64_t row = 0; row < in.rows; ++row) {
        int64_t count = in.columns.empty() ? 0 : 1;
        for (const Column& column : in.columns) count *= static_cast<int64_t>(column.rows[static_cast<size_t>(row)].size());
        if (count > (int64_t{1} << 31)) return invalidArgument("Too many cross terms: " + std::to_string(count));
        out.counts.push_back(count);
        for (int64_t k = 0; k < count; ++k) { // the last column goes fastest
            pace.did(1);
            std::vector<const Key*> chosen(in.columns.size());
            int64_t rest = k;
            for (size_t c = in.columns.size(); c-- > 0;) {
                const std::vector<Key>& keys = in.columns[c].rows[static_cast<size_t>(row)];
                chosen[c] = &keys[static_cast<size_t>(rest) % keys.size()];
                rest /= static_cast<int64_t>(keys.size());
            }
            if (!rule.isHashed) {
                std::string text;
                for (size_t c = 0; c < chosen.size(); ++c) {
                    if (c > 0) text += rule.separator;
                    if (in.columns[c].isText) text += chosen[c]->text;
                    else text += std::to_string(chosen[c]->number);
                }
                out.texts.push_back(std::move(text));
                continue;
            }
            uint64_t hash = rule.key;
            for (size_t c = 0; c < chosen.size(); ++c) hash = joinedFingerprint(hash, fingerprintOf(*chosen[c], in.columns[c].isText));
            // Without buckets the number must not be negative: TensorFlow takes the rest by its largest.
            const uint64_t limit = rule.buckets > 0 ? rule.buckets : static_cast<uint64_t>(INT64_MAX);
            out.numbers.push_back(static_cast<int64_t>(hash % limit));
        }
    }
    return out;
}

Status giveCrossed(const KernelArgs& args, int k, const Crossed& crossed)
{
    if (args.out(k).dtype == DType::string) {
        const std::vector<std::string_view> views(crossed.texts.begin(), crossed.texts.end());
        return writeStrings(*args.runtime, args.out(k), Shape({static_cast<int64_t>(views.size())}), views);
    }
    return giveSparseIntegers(args, k, Shape({static_cast<int64_t>(crossed.numbers.size())}), crossed.numbers);
}

Status giveSparseCross(const KernelArgs& args, const Columns& in, const CrossRule& rule)
{
    LS_TRY(const Crossed crossed, cross(in, rule));
    SparsePlaces places;
    int64_t widest = 0;
    for (size_t row = 0; row < crossed.counts.size(); ++row) {
        for (int64_t k = 0; k < crossed.counts[row]; ++k) {
            places.indices.push_back(static_cast<int64_t>(row));
            places.indices.push_back(k);
            ++places.count;
        }
        widest = std::max(widest, crossed.counts[row]);
    }
    places.shape = Shape({std::max<int64_t>(in.rows, 0), widest});
    LS_CHECK_OK(giveCrossed(args, 1, crossed));
    return giveSparsePlaces(args, 0, 2, places);
}

/// Operands: indices, values and shapes of N sparse tensors, then dense ones, the last `behind` operands being none of these.
Result<Columns> sparseColumns(const KernelArgs& args, int behind)
{
    const auto count = static_cast<int>(attributeInt(attributesOf(args), "N", 0));
    if (count < 0 || 3 * count + behind > args.inputCount) return invalidArgument("N does not fit the number of operands");
    Columns in;
    for (int k = 0; k < count; ++k) LS_CHECK_OK(in.addSparse(args, k, count + k, 2 * count + k));
    for (int i = 3 * count; i < args.inputCount - behind; ++i) LS_CHECK_OK(in.addDense(args.in(i)));
    return in;
}

CrossRule hashedRule(const KernelArgs& args)
{
    const AttributeList& attributes = attributesOf(args);
    CrossRule rule;
    rule.isHashed = attributeBool(attributes, "hashed_output", false);
    rule.key = static_cast<uint64_t>(attributeInt(attributes, "hash_key", 0));
    rule.buckets = static_cast<uint64_t>(std::max<int64_t>(attributeInt(attributes, "num_buckets", 0), 0));
    return rule;
}

Status runSparseCross(const KernelArgs& args)
{
    LS_TRY(const Columns in, sparseColumns(args, 0));
    return giveSparseCross(args, in, hashedRule(args));
}

Status runSparseCrossV2(const KernelArgs& args)
{
    LS_TRY(const Columns in, sparseColumns(args, 1));
    LS_TRY(const auto separator, readStrings(args.in(args.inputCount - 1)));
    if (separator.size() != 1) return invalidArgument("Input separator should be a scalar");
    CrossRule rule;
    rule.separator = separator[0];
    return giveSparseCross(args, in, rule);
}

/// `input_order` names the columns: a ragged, sparse or dense one.
Status runRaggedCross(const KernelArgs& args)
{
    const AttributeList& attributes = attributesOf(args);
    const std::string_view order = attributeString(attributes, "input_order", "");
    const auto countOf = [&](char kind) { return static_cast<int>(std::ranges::count(order, kind)); };
    const int ragged = countOf('R'), sparse = countOf('S'), dense = countOf('D');
    if (2 * ragged + 3 * sparse + dense != args.inputCount) return invalidArgument("input_order does not fit the number of operands");
    Columns in;
    int r = 0, s = 0, d = 0;
    for (const char kind : order) {
        if (kind == 'R') {
            LS_CHECK_OK(in.addRagged(args.in(r), args.in(ragged + r)));
            ++r;
        } else if (kind == 'S') {
            const int first = 2 * ragged + s++;
            LS_CHECK_OK(in.addSparse(args, first, first + sparse, first + 2 * sparse));
        } else {
            LS_CHECK_OK(in.addDense(args.in(2 * ragged + 3 * sparse + d++)));
        }
    }
    LS_TRY(const Crossed crossed, cross(in, hashedRule(args)));
    LS_CHECK_OK(giveCrossed(args, 0, crossed));
    LS_CHECK_OK(tfAllocate(args, 1, Shape({static_cast<int64_t>(crossed.counts.size()) + 1})));
    int64_t end = 0;
    for (size_t row = 0; row <= crossed.counts.size(); ++row) {
        if (args.out(1).dtype == DType::i32) args.out(1).as<int32_t>()[row] = static_cast<int32_t>(end);
        else args.out(1).as<int64_t>()[row] = end;
        end += row < crossed.counts.size() ? crossed.counts[row] : 0;
    }
    return {};
}

constexpr std::string_view kSets = "i8 i16 i32 i64 u8 u16 str", kCounts = "i32 i64 f32 f64";

} // namespace

LS_TF_KERNEL(DenseToDenseSetOperation, runDenseToDense, kSets)
LS_TF_KERNEL(DenseToSparseSetOperation, runDenseToSparse, kSets)
LS_TF_KERNEL(SparseToSparseSetOperation, runSparseToSparse, kSets)
LS_TF_KERNEL(SetSize, runSetSize, kSets)
LS_TF_KERNEL(DenseCountSparseOutput, runDenseCount, kCounts)
LS_TF_KERNEL(SparseCountSparseOutput, runSparseCount, kCounts)
LS_TF_KERNEL(RaggedCountSparseOutput, runRaggedCount, kCounts)
LS_TF_KERNEL(SparseBincount, runSparseBincount, kCounts)
LS_TF_KERNEL(SparseCross, runSparseCross, "i64 str")
LS_TF_KERNEL(SparseCrossV2, runSparseCrossV2, "i64 str")
LS_TF_KERNEL(RaggedCross, runRaggedCross, "i64 str")
