// Kernels of TensorFlow's further operators on strings, ragged and sparse tensors: core/kernels/string_split_op.cc,
// string_to_hash_bucket_op.h, edit_distance_op.cc, unravel_index_op.cc, bincount_op.cc, ragged_gather_op.cc,
// unsorted_segment_join_op.cc.
#include "engine/base/interruption.h"
#include "engine/kernels/cpu/text/fingerprint.h"
#include "engine/kernels/cpu/tf_support.h"
#include "engine/tensor/strings.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <numeric>

using namespace loopscope;

namespace {

Status runStringSplitOld(const KernelArgs& args)
{
    if (args.in(0).shape.rank() != 1) return invalidArgument("input must be a vector, got shape: " + toString(args.in(0).shape));
    if (args.in(1).shape.rank() != 0) return invalidArgument("delimiter must be a scalar, got shape: " + toString(args.in(1).shape));
    LS_TRY(const auto strings, readStrings(args.in(0)));
    LS_TRY(const auto delimiters, readStrings(args.in(1)));
    const std::string_view delimiter = delimiters[0];
    const bool skips = attributeBool(attributesOf(args), "skip_empty", true);
    std::vector<std::string_view> parts;
    std::vector<std::array<int64_t, 2>> places;
    int64_t widest = 0;
    for (size_t row = 0; row < strings.size(); ++row) {
        const std::string_view text = strings[row];
        int64_t column = 0;
        const auto add = [&](std::string_view part) {
            if (part.empty() && skips) return;
            parts.push_back(part);
            places.push_back({static_cast<int64_t>(row), column++});
        };
        if (delimiter.empty()) {
            for (size_t i = 0; i < text.size(); ++i) add(text.substr(i, 1));
        } else if (!text.empty()) {
            for (size_t begin = 0; begin <= text.size();) {
                const size_t end = std::min(text.find_first_of(delimiter, begin), text.size());
                add(text.substr(begin, end - begin));
                begin = end + 1;
            }
        }
        widest = std::max(widest, column);
    }
    const auto count = static_cast<int64_t>(parts.size());
    LS_CHECK_OK(tfAllocate(args, 0, Shape({count, 2})));
    for (size_t i = 0; i < places.size(); ++i) std::ranges::copy(places[i], args.out(0).as<int64_t>() + 2 * i);
    LS_CHECK_OK(tfAllocate(args, 2, Shape({2})));
    args.out(2).as<int64_t>()[0] = static_cast<int64_t>(strings.size());
    args.out(2).as<int64_t>()[1] = widest;
    return writeStrings(*args.runtime, args.out(1), Shape({count}), parts);
}

/// SipHash-2-4 (Aumasson and Bernstein).
uint64_t sipHash(std::string_view text, uint64_t key0, uint64_t key1)
{
    uint64_t v0 = key0 ^ 0x736f6d6570736575ULL, v1 = key1 ^ 0x646f72616e646f6dULL, v2 = key0 ^ 0x6c7967656e657261ULL,
             v3 = key1 ^ 0x7465646279746573ULL;
    const auto round = [&] {
        v0 += v1;
        v1 = std::rotl(v1, 13) ^ v0;
        v0 = std::rotl(v0, 32);
        v2 += v3;
        v3 = std::rotl(v3, 16) ^ v2;
        v0 += v3;
        v3 = std::rotl(v3, 21) ^ v0;
        v2 += v1;
        v1 = std::rotl(v1, 17) ^ v2;
        v2 = std::rotl(v2, 32);
    };
    const auto absorb = [&](uint64_t word) {
        v3 ^= word;
        round();
        round();
        v0 ^= word;
    };
    size_t at = 0;
    for (; at + 8 <= text.size(); at += 8) {
        uint64_t word = 0;
        std::memcpy(&word, text.data() + at, 8);
        absorb(word);
    }
    uint64_t last = uint64_t{text.size()} << 56;
    for (size_t i = 0; at + i < text.size(); ++i) last |= uint64_t{static_cast<uint8_t>(text[at + i])} << (8 * i);
    absorb(last);
    v2 ^= 0xff;
    for (int i = 0; i < 4; ++i) round();
    return v0 ^ v1 ^ v2 ^ v3;
}

Status runHashStrong(const KernelArgs& args)
{
    LS_TRY(const auto strings, readStrings(args.in(0)));
    const std::vector<int64_t> key = attributeInts(attributesOf(args), "key");
    const int64_t buckets = attributeInt(attributesOf(args), "num_buckets", 1);
    if (key.size() != 2) return invalidArgument("Key must have 2 elements");
    if (buckets < 1) return invalidArgument("num_buckets must be at least 1");
    LS_CHECK_OK(tfAllocate(args, 0, args.in(0).shape));
    for (size_t i = 0; i < strings.size(); ++i)
        args.out(0).as<int64_t>()[i] = static_cast<int64_t>(
            sipHash(strings[i], static_cast<uint64_t>(key[0]), static_cast<uint64_t>(key[1])) % static_cast<uint64_t>(buckets));
    return {};
}

/// The 64 bits that TensorFlow's first versions hashed strings with (core/lib/hash/hash.cc: MurmurHash64A).
uint64_t oldHash(std::string_view text)
{
    constexpr uint64_t kFactor = 0xc6a4a7935bd1e995;
    uint64_t hash = 0xDECAFCAFFE ^ (text.size() * kFactor);
    for (; text.size() >= sizeof(uint64_t); text.remove_prefix(sizeof(uint64_t))) {
        uint64_t word = 0;
        std::memcpy(&word, text.data(), sizeof word);
        word *= kFactor;
        word ^= word >> 47;
        hash = (hash ^ word * kFactor) * kFactor;
    }
    if (!text.empty()) {
        uint64_t rest = 0;
        std::memcpy(&rest, text.data(), text.size());
        hash = (hash ^ rest) * kFactor;
    }
    hash = (hash ^ (hash >> 47)) * kFactor;
    return hash ^ (hash >> 47);
}

Status runHashOld(const KernelArgs& args)
{
    LS_TRY(const auto strings, readStrings(args.in(0)));
    const int64_t buckets = attributeInt(attributesOf(args), "num_buckets", 1);
    if (buckets < 1) return invalidArgument("num_buckets must be at least 1");
    LS_CHECK_OK(tfAllocate(args, 0, args.in(0).shape));
    for (size_t i = 0; i < strings.size(); ++i)
        args.out(0).as<int64_t>()[i] = static_cast<int64_t>(oldHash(strings[i]) % static_cast<uint64_t>(buckets));
    return {};
}

/// Eight bytes for each slice along the first dimension: of its bytes, or of the fingerprints of its strings if there are several.
Status runFingerprint(const KernelArgs& args)
{
    const Tensor& data = args.in(0);
    if (data.shape.rank() < 1) return invalidArgument("data must have rank >= 1, got []");
    if (args.in(1).elementCount() != 1) return invalidArgument("method must be scalar: " + toString(args.in(1).shape));
    LS_TRY(const auto method, readStrings(args.in(1)));
    if (method[0] != "farmhash64") return invalidArgument("Unsupported fingerprint method: " + std::string(method[0]));
    const int64_t rows = data.shape[0], each = strideOf(data.shape, 0);
    LS_CHECK_OK(tfAllocate(args, 0, Shape({rows, 8})));
    std::vector<std::string_view> slices;
    std::string prints;
    const auto append = [&](std::string_view text) {
        const uint64_t print = fingerprint64(text);
        prints.append(reinterpret_cast<const char*>(&print), sizeof print);
    };
    if (data.dtype == DType::string) {
        LS_TRY(slices, readStrings(data));
        if (each != 1) {
            for (const std::string_view text : slices) append(text);
            slices.clear();
            for (int64_t i = 0; i < rows; ++i)
                slices.push_back(std::string_view(prints).substr(static_cast<size_t>(i * each * 8), static_cast<size_t>(each * 8)));
        }
    } else {
        const auto bytes = static_cast<size_t>(rows > 0 ? static_cast<int64_t>(data.bytes) / rows : 0);
        for (int64_t i = 0; i < rows; ++i)
            slices.emplace_back(reinterpret_cast<const char*>(data.data) + static_cast<size_t>(i) * bytes, bytes);
    }
    for (size_t i = 0; i < slices.size(); ++i) {
        const uint64_t print = fingerprint64(slices[i]);
        std::memcpy(args.out(0).data + i * sizeof print, &print, sizeof print);
    }
    return {};
}

// ---- EditDistance ----

/// The sequences of a sparse tensor by the coordinates in front of the last one: positions of their elements.
using SequenceGroups = std::map<std::vector<int64_t>, std::vector<size_t>>;

Result<SequenceGroups> sequencesOf(const KernelArgs& args, int first, const std::vector<int64_t>& shape)
{
    const Shape& indices = args.in(first).shape;
    if (indices.rank() != 2 || indices[1] != static_cast<int64_t>(shape.size()) || args.in(first + 1).elementCount() != indices[0])
        return invalidArgument("indices, values and shape of a sparse tensor do not fit each other");
    const std::vector<int64_t> all = tfIntegers(args.in(first));
    SequenceGroups groups;
    for (size_t i = 0; i < static_cast<size_t>(indices[0]); ++i) {
        const auto begin = all.begin() + static_cast<int64_t>(i * shape.size());
        for (size_t d = 0; d < shape.size(); ++d)
            if (begin[static_cast<int64_t>(d)] < 0 || begin[static_cast<int64_t>(d)] >= shape[d])
                return invalidArgument("index " + std::to_string(i) + " is out of bounds of its sparse tensor");
        groups[{begin, begin + static_cast<int64_t>(shape.size()) - 1}].push_back(i);
    }
    return groups;
}

template <typename Equal> int64_t levenshtein(size_t a, size_t b, const Equal& equal)
{
    std::vector<int64_t> row(b + 1);
    std::iota(row.begin(), row.end(), 0);
    LoopPace pace;
    for (size_t i = 1; i <= a; ++i) {
        int64_t diagonal = row[0];
        row[0] = static_cast<int64_t>(i);
        pace.did(static_cast<int64_t>(b));
        for (size_t j = 1; j <= b; ++j) {
            const int64_t above = row[j];
            row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (equal(i - 1, j - 1) ? 0 : 1)});
            diagonal = above;
        }
    }
    return row[b];
}

Status runEditDistance(const KernelArgs& args)
{
    const std::vector<int64_t> hypothesisShape = tfIntegers(args.in(2)), truthShape = tfIntegers(args.in(5));
    if (hypothesisShape.size() != truthShape.size() || truthShape.empty())
        return invalidArgument("hypothesis_shape and truth_shape should have the same rank, got " + std::to_string(hypothesisShape.size()) +
                               " and " + std::to_string(truthShape.size()));
    if (truthShape.size() < 2)
        return invalidArgument("Input SparseTensors must have rank at least 2, but truth_shape rank is: " +
                               std::to_string(truthShape.size()));
    LS_TRY(const SequenceGroups hypotheses, sequencesOf(args, 0, hypothesisShape));
    LS_TRY(const SequenceGroups truths, sequencesOf(args, 3, truthShape));
    LS_TRY(const TfSource hypothesisValues, TfSource::of(args.in(1)));
    LS_TRY(const TfSource truthValues, TfSource::of(args.in(4)));
    const bool normalizes = attributeBool(attributesOf(args), "normalize", true), strings = args.in(1).dtype == DType::string;
    Shape shape;
    for (size_t d = 0; d + 1 < truthShape.size(); ++d) {
        if (hypothesisShape[d] < 0 || truthShape[d] < 0) return invalidArgument("a shape has a negative dimension");
        shape.append(std::max(hypothesisShape[d], truthShape[d]));
    }
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    float* out = args.out(0).as<float>();
    std::fill_n(out, shape.elementCount(), 0.0F);
    const auto flat = [&](const std::vector<int64_t>& place) {
        int64_t at = 0;
        for (size_t d = 0; d < place.size(); ++d) at = at * shape[static_cast<int>(d)] + place[d];
        return at;
    };
    static const std::vector<size_t> none;
    for (const auto& [place, truth] : truths) {
        const auto found = hypotheses.find(place);
        const std::vector<size_t>& hypothesis = found == hypotheses.end() ? none : found->second;
        const auto equal = [&](size_t i, size_t j) {
            const std::byte* a = truthValues.at(static_cast<int64_t>(truth[i]));
            const std::byte* b = hypothesisValues.at(static_cast<int64_t>(hypothesis[j]));
            if (strings) return *reinterpret_cast<const std::string_view*>(a) == *reinterpret_cast<const std::string_view*>(b);
            return std::memcmp(a, b, static_cast<size_t>(truthValues.size())) == 0;
        };
        const auto distance = static_cast<float>(levenshtein(truth.size(), hypothesis.size(), equal));
        out[flat(place)] = normalizes ? distance / static_cast<float>(truth.size()) : distance;
    }
    for (const auto& [place, hypothesis] : hypotheses)
        if (!truths.contains(place))
            out[flat(place)] = normalizes ? std::numeric_limits<float>::infinity() : static_cast<float>(hypothesis.size());
    return {};
}

Status runUnravelIndex(const KernelArgs& args)
{
    const std::vector<int64_t> indices = tfIntegers(args.in(0)), dims = tfIntegers(args.in(1));
    if (args.in(1).shape.rank() != 1) return invalidArgument("The indices can only be 1-D, got \"" + toString(args.in(1).shape) + "\"");
    if (args.in(0).shape.rank() > 1)
        return invalidArgument("The indices can only be scalar or vector, got \"" + toString(args.in(0).shape) + "\"");
    int64_t count = 1;
    for (const int64_t dim : dims) {
        if (dim == 0) return invalidArgument("Input dims cannot contain a dim of zero, but dims contains zero");
        if (dim < 0 || __builtin_mul_overflow(count, dim, &count)) return invalidArgument("Input dims product is causing integer overflow");
    }
    const auto n = static_cast<int64_t>(indices.size()), rank = static_cast<int64_t>(dims.size());
    LS_CHECK_OK(tfAllocate(args, 0, args.in(0).shape.rank() == 0 ? Shape({rank}) : Shape({rank, n})));
    for (int64_t i = 0; i < n; ++i) {
        int64_t rest = indices[static_cast<size_t>(i)];
        if (rest < 0 || rest >= count) return invalidArgument("index is out of bound as with dims");
        for (int64_t d = rank; d-- > 0; rest /= dims[static_cast<size_t>(d)]) {
            const int64_t place = rest % dims[static_cast<size_t>(d)];
            if (args.out(0).dtype == DType::i64) args.out(0).as<int64_t>()[d * n + i] = place;
            else args.out(0).as<int32_t>()[d * n + i] = static_cast<int32_t>(place);
        }
    }
    return {};
}

Status runRaggedBincount(const KernelArgs& args)
{
    const std::vector<int64_t> splits = tfIntegers(args.in(0)), values = tfIntegers(args.in(1));
    LS_TRY(const int64_t size, tfInteger(args, 2, "size"));
    if (size < 0) return invalidArgument("size (" + std::to_string(size) + ") must be non-negative");
    if (splits.empty()) return invalidArgument("Splits must be non-empty");
    if (splits.front() != 0) return invalidArgument("Splits must start with 0, not with " + std::to_string(splits.front()));
    if (splits.back() != static_cast<int64_t>(values.size()))
        return invalidArgument("Splits must end with the number of values, got " + std::to_string(splits.back()) + " instead of " +
                               std::to_string(values.size()));
    const bool isWeighted = args.in(3).elementCount() > 0, isBinary = attributeBool(attributesOf(args), "binary_output", false);
    if (isWeighted && args.in(3).elementCount() != static_cast<int64_t>(values.size()))
        return invalidArgument("weights must have the shape of values or be empty");
    const auto rows = static_cast<int64_t>(splits.size()) - 1;
    LS_CHECK_OK(tfAllocate(args, 0, Shape({rows, size})));
    return forDType<TypeList<float, double, int32_t, int64_t>>(args.out(0).dtype, [&]<typename T>() -> Status {
        T* out = args.out(0).as<T>();
        std::fill_n(out, rows * size, T(0));
        for (int64_t row = 0; row < rows; ++row)
            for (int64_t i = splits[static_cast<size_t>(row)]; i < splits[static_cast<size_t>(row) + 1]; ++i) {
                if (i < 0 || i >= static_cast<int64_t>(values.size())) return invalidArgument("Splits must be sorted");
                const int64_t bin = values[static_cast<size_t>(i)];
                if (bin < 0) return invalidArgument("Input must be non-negative");
                if (bin >= size) continue;
                T& count = out[row * size + bin];
                count = isBinary ? T(1) : static_cast<T>(count + (isWeighted ? args.in(3).as<T>()[i] : T(1)));
            }
        return {};
    });
}

/// Rows `indices` of the outermost dimension; splits of every level follow.
Status runRaggedGather(const KernelArgs& args)
{
    const int levels = args.inputCount - 2;
    const std::vector<int64_t> indices = tfIntegers(args.in(levels + 1));
    std::vector<std::vector<int64_t>> splits;
    for (int i = 0; i < levels; ++i) {
        splits.push_back(tfIntegers(args.in(i)));
        if (splits.back().empty()) return invalidArgument("Ragged splits may not be empty.");
    }
    const Tensor& values = args.in(levels);
    if (values.shape.rank() < 1) return invalidArgument("params.rank must be nonzero");
    // Ranges of rows, level by level.
    std::vector<std::pair<int64_t, int64_t>> ranges;
    const auto rows = static_cast<int64_t>(splits.empty() ? 0 : splits[0].size()) - 1;
    for (const int64_t index : indices) {
        if (index < 0 || index >= rows)
            return invalidArgument("indices[" + std::to_string(ranges.size()) + "] = " + std::to_string(index) + " is not in [0, " +
                                   std::to_string(rows) + ")");
        ranges.emplace_back(index, index + 1);
    }
    std::vector<std::vector<int64_t>> outSplits;
    // The result's outer dimensions are those of the indices: each but the first gives splits of its own.
    const Shape& shape = args.in(levels + 1).shape;
    for (int d = 0; d + 1 < shape.rank(); ++d) {
        int64_t count = 1;
        for (int k = 0; k <= d; ++k) count *= shape[k];
        std::vector<int64_t> own = {0};
        for (int64_t i = 0; i < count; ++i) own.push_back(own.back() + shape[d + 1]);
        outSplits.push_back(std::move(own));
    }
    for (const std::vector<int64_t>& level : splits) {
        std::vector<int64_t> own = {0};
        std::vector<std::pair<int64_t, int64_t>> next;
        for (const auto& [begin, end] : ranges)
            for (int64_t row = begin; row < end; ++row) {
                if (row + 1 >= static_cast<int64_t>(level.size()))
                    return invalidArgument("Ragged splits must point past the end of the next level");
                const int64_t from = level[static_cast<size_t>(row)], to = level[static_cast<size_t>(row) + 1];
                if (to > int64_t{1} << 40) return invalidArgument("Ragged splits must not point past values");
                if (from < 0 || to < from) return invalidArgument("Ragged splits must be sorted");
                own.push_back(own.back() + to - from);
                next.emplace_back(from, to);
            }
        outSplits.push_back(std::move(own));
        ranges = std::move(next);
    }
    if (static_cast<int>(outSplits.size()) + 1 != args.outputCount) return invalidArgument("OUTPUT_RAGGED_RANK does not fit the operands");
    for (size_t k = 0; k < outSplits.size(); ++k) {
        LS_CHECK_OK(tfAllocate(args, static_cast<int>(k), Shape({static_cast<int64_t>(outSplits[k].size())})));
        for (size_t i = 0; i < outSplits[k].size(); ++i)
            if (args.out(static_cast<int>(k)).dtype == DType::i64) args.out(static_cast<int>(k)).as<int64_t>()[i] = outSplits[k][i];
            else args.out(static_cast<int>(k)).as<int32_t>()[i] = static_cast<int32_t>(outSplits[k][i]);
    }
    int64_t inner = 1, total = 0;
    for (int d = 1; d < values.shape.rank(); ++d) inner *= values.shape[d];
    for (const auto& [begin, end] : ranges) {
        if (end > values.shape[0]) return invalidArgument("Ragged splits must not point past values");
        total += end - begin;
    }
    Shape outShape = values.shape;
    outShape[0] = total;
    LS_TRY(const TfSource source, TfSource::of(values));
    TfTarget target;
    LS_CHECK_OK(target.begin(args, args.outputCount - 1, outShape));
    int64_t at = 0;
    for (const auto& [begin, end] : ranges)
        for (int64_t i = begin * inner; i < end * inner; ++i, ++at) std::copy_n(source.at(i), source.size(), target.at(at));
    return target.finish();
}

Status runSegmentJoin(const KernelArgs& args)
{
    LS_TRY(const auto strings, readStrings(args.in(0)));
    const std::vector<int64_t> ids = tfIntegers(args.in(1));
    LS_TRY(const int64_t segments, tfInteger(args, 2, "num_segments"));
    if (segments < 0 || segments > int64_t{1} << 28) return invalidArgument("num_segments must be non-negative");
    const Shape& in = args.in(0).shape;
    const Shape& idShape = args.in(1).shape;
    if (idShape.rank() > in.rank()) return invalidArgument("segment_ids' rank may not be above the input's");
    for (int d = 0; d < idShape.rank(); ++d)
        if (idShape[d] != in[d]) return invalidArgument("the shape of segment_ids must be a prefix of the input's");
    const std::string separator(attributeString(attributesOf(args), "separator", ""));
    Shape shape({segments});
    int64_t inner = 1;
    for (int d = idShape.rank(); d < in.rank(); ++d) {
        shape.append(in[d]);
        inner *= in[d];
    }
    if (!checkedElementCount(shape) || *checkedElementCount(shape) > int64_t{1} << 24)
        return invalidArgument("too many strings: " + toString(shape));
    std::vector<std::string> joined(static_cast<size_t>(segments * inner));
    for (size_t i = 0; i < ids.size(); ++i) {
        if (ids[i] < 0) continue;
        if (ids[i] >= segments)
            return invalidArgument("segment_ids[" + std::to_string(i) + "] = " + std::to_string(ids[i]) + " is out of range [0, " +
                                   std::to_string(segments) + ")");
        for (int64_t k = 0; k < inner; ++k) {
            const auto to = static_cast<size_t>(ids[i] * inner + k);
            if (!joined[to].empty()) joined[to] += separator; // so none behind empty strings
            joined[to] += strings[i * static_cast<size_t>(inner) + static_cast<size_t>(k)];
        }
    }
    const std::vector<std::string_view> views(joined.begin(), joined.end());
    return writeStrings(*args.runtime, args.out(0), shape, views);
}

} // namespace

LS_TF_KERNEL(StringSplit, runStringSplitOld, "str")
LS_TF_KERNEL(StringToHashBucketStrong, runHashStrong, "str")
LS_TF_KERNEL(EditDistance, runEditDistance, "all")
LS_TF_KERNEL(UnravelIndex, runUnravelIndex, "i32 i64")
LS_TF_KERNEL(RaggedBincount, runRaggedBincount, "f32 f64 i32 i64")
LS_TF_KERNEL(RaggedGather, runRaggedGather, "all")
LS_TF_KERNEL(UnsortedSegmentJoin, runSegmentJoin, "str")
LS_TF_KERNEL(StringToHashBucket, runHashOld, "str i64")
LS_TF_KERNEL(Fingerprint, runFingerprint, "all")
