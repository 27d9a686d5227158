// Kernels of TensorFlow's ragged and sparse tensors in variants: core/kernels/ragged_tensor_to_variant_op.cc,
// ragged_tensor_from_variant_op.cc, ragged_tensor_to_tensor_op.cc, serialize_sparse_op.cc, deserialize_sparse_variant_op.cc.
#include "engine/kernels/cpu/sparse/tensor_message.h"
#include "engine/kernels/cpu/tf_support.h"
#include "engine/kernels/cpu/tf_variant.h"
#include "engine/tensor/strings.h"

#include <algorithm>
#include <cmath>
#include <deque>

using namespace loopscope;

namespace {

Status giveIntegers(const KernelArgs& args, int k, const std::vector<int64_t>& numbers, const Shape& shape)
{
    LS_CHECK_OK(tfAllocate(args, k, shape));
    for (size_t i = 0; i < numbers.size(); ++i) {
        if (args.out(k).dtype == DType::i64) args.out(k).as<int64_t>()[i] = numbers[i];
        else args.out(k).as<int32_t>()[i] = static_cast<int32_t>(numbers[i]);
    }
    return {};
}

Status giveVariants(const KernelArgs& args, const Shape& shape, const std::vector<std::string>& encoded)
{
    const std::vector<std::string_view> views(encoded.begin(), encoded.end());
    return writeStrings(*args.runtime, args.out(0), shape, views);
}

/// One tensor as a variant, or as the message that TensorFlow has for tensors.
Result<std::string> encodePart(DType as, const VariantTensor& tensor)
{
    if (as == DType::string) return tensorMessage(tensor);
    VariantValue part;
    part.kind = VariantKind::tensors;
    part.tensors = {tensor};
    return encodeVariant(part);
}

Result<VariantTensor> decodePart(DType as, std::string_view blob, std::deque<std::string>& storage)
{
    if (as == DType::string) return readTensorMessage(blob, storage);
    LS_TRY(const VariantValue part, decodeVariant(blob));
    if (part.kind != VariantKind::tensors || part.tensors.size() != 1)
        return invalidArgument("Could not get a tensor from serialized_sparse");
    return part.tensors[0];
}

Status runSerializeSparse(const KernelArgs& args)
{
    if (args.in(0).shape.rank() != 2)
        return invalidArgument("Input indices should be a matrix but received shape " + toString(args.in(0).shape));
    std::vector<std::string> parts;
    for (int i = 0; i < 3; ++i) {
        LS_TRY(std::string part, encodePart(args.out(0).dtype, variantTensor(args.in(i))));
        parts.push_back(std::move(part));
    }
    return giveVariants(args, Shape({3}), parts);
}

/// Every row of a sparse batch as a sparse tensor of its own.
Status runSerializeManySparse(const KernelArgs& args)
{
    const Shape& indices = args.in(0).shape;
    const std::vector<int64_t> dense = tfIntegers(args.in(2));
    const auto rank = static_cast<int64_t>(dense.size());
    if (indices.rank() != 2 || indices[1] != rank)
        return invalidArgument("Input indices should be a matrix but received shape " + toString(indices));
    if (!(args.in(1).shape == Shape({indices[0]})))
        return invalidArgument("Number of values must match first dimension of indices. Got " + toString(args.in(1).shape) +
                               " values, indices shape: " + toString(indices));
    if (rank < 2) return invalidArgument("Rank of input SparseTensor should be > 1, but saw rank: " + std::to_string(rank));
    const std::vector<int64_t> places = tfIntegers(args.in(0));
    if (dense[0] < 0 || dense[0] > (int64_t{1} << 24))
        return invalidArgument("Invalid shape of a sparse tensor: " + std::to_string(dense[0]) + " rows");
    std::vector<std::vector<int64_t>> rows(static_cast<size_t>(dense[0])); // entries of each
    for (int64_t entry = 0; entry < indices[0]; ++entry) {
        const int64_t row = places[static_cast<size_t>(entry * rank)];
        if (row < 0 || row >= dense[0])
            return invalidArgument("Received unexpected column 0 value " + std::to_string(row) + ", out of bounds for a batch of " +
                                   std::to_string(dense[0]));
        rows[static_cast<size_t>(row)].push_back(entry);
    }
    const int64_t each = elementBytes(args.in(1));
    std::vector<std::string_view> strings;
    if (each == 0) {
        LS_TRY(strings, readStrings(args.in(1)));
    }
    const auto* shapeBytes = reinterpret_cast<const char*>(dense.data() + 1);
    std::vector<std::string> encoded;
    for (const std::vector<int64_t>& row : rows) {
        const auto count = static_cast<int64_t>(row.size());
        std::string own, values;
        std::vector<std::string> texts;
        for (const int64_t entry : row) {
            own.append(reinterpret_cast<const char*>(&places[static_cast<size_t>(entry * rank + 1)]), static_cast<size_t>(rank - 1) * 8);
            if (each > 0) values.append(reinterpret_cast<const char*>(args.in(1).data + entry * each), static_cast<size_t>(each));
            else texts.emplace_back(strings[static_cast<size_t>(entry)]);
        }
        const std::vector<std::byte> block = each > 0 ? std::vector<std::byte>() : packStrings(texts);
        if (each == 0) values.assign(reinterpret_cast<const char*>(block.data()), block.size());
        const VariantTensor parts[] = {{DType::i64, Shape({count, rank - 1}), own},
                                       {args.in(1).dtype, Shape({count}), values},
                                       {DType::i64, Shape({rank - 1}), std::string_view(shapeBytes, static_cast<size_t>(rank - 1) * 8)}};
        for (const VariantTensor& tensor : parts) {
            LS_TRY(std::string part, encodePart(args.out(0).dtype, tensor));
            encoded.push_back(std::move(part));
        }
    }
    return giveVariants(args, Shape({dense[0], 3}), encoded);
}

/// The integers of a tensor inside a variant; its bytes may lie anywhere.
std::vector<int64_t> integersOf(const VariantTensor& tensor)
{
    std::vector<int64_t> numbers(static_cast<size_t>(tensor.shape.elementCount()));
    const bool wide = tensor.dtype == DType::i64;
    for (size_t i = 0; i < numbers.size(); ++i) {
        int32_t narrow = 0;
        if (wide) std::memcpy(&numbers[i], tensor.bytes.data() + 8 * i, 8);
        else {
            std::memcpy(&narrow, tensor.bytes.data() + 4 * i, 4);
            numbers[i] = narrow;
        }
    }
    return numbers;
}

bool isInteger32or64(const VariantTensor& tensor) { return tensor.dtype == DType::i64 || tensor.dtype == DType::i32; }

Status runDeserializeSparse(const KernelArgs& args)
{
    const Shape& shape = args.in(0).shape;
    if (shape.rank() < 1 || shape.back() != 3)
        return invalidArgument("Serialized sparse should have 3 as the last dimension " + toString(shape));
    LS_TRY(const auto blobs, readStrings(args.in(0)));
    const int64_t count = shape.countOf(0, shape.rank() - 1);
    const int outer = shape.rank() - 1;
    std::vector<int64_t> indices;
    std::vector<VariantTensor> values;
    std::vector<int64_t> dense(shape.dims().begin(), shape.dims().end() - 1);
    std::vector<int64_t> inner;
    std::deque<std::string> storage;
    int64_t total = 0;
    for (int64_t n = 0; n < count; ++n) {
        VariantTensor parts[3];
        for (size_t p = 0; p < 3; ++p) {
            LS_TRY(parts[p], decodePart(args.in(0).dtype, blobs[static_cast<size_t>(n) * 3 + p], storage));
        }
        if (!isInteger32or64(parts[0]) || !isInteger32or64(parts[2]) || parts[0].shape.rank() != 2 || parts[1].dtype != args.out(1).dtype ||
            parts[0].shape[0] != parts[1].shape.elementCount())
            return invalidArgument("serialized_sparse holds no sparse tensor of the dtype that is asked for");
        const std::vector<int64_t> own = integersOf(parts[0]);
        const std::vector<int64_t> size = integersOf(parts[2]);
        if (n == 0) inner = size;
        if (size.size() != inner.size() || parts[0].shape[1] != static_cast<int64_t>(size.size()))
            return invalidArgument("Inconsistent shape across SparseTensors: rank prior to SparseTensor[" + std::to_string(n) + "]");
        for (size_t d = 0; d < size.size(); ++d) inner[d] = std::max(inner[d], size[d]);
        for (int64_t row = 0; row < parts[0].shape[0]; ++row) {
            for (int d = 0; d < outer; ++d) indices.push_back(n / shape.countOf(d + 1, outer) % shape[d]);
            for (size_t d = 0; d < size.size(); ++d) indices.push_back(own[static_cast<size_t>(row) * size.size() + d]);
        }
        values.push_back(parts[1]);
        total += parts[0].shape[0];
    }
    dense.insert(dense.end(), inner.begin(), inner.end());
    LS_CHECK_OK(giveIntegers(args, 0, indices, Shape({total, static_cast<int64_t>(dense.size())})));
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 1, Shape({total})));
    int64_t at = 0;
    for (const VariantTensor& value : values) {
        LS_TRY(const TfSource in, TfSource::of(value.view()));
        const int64_t elements = value.shape.elementCount();
        if (elements > 0) std::memcpy(out.at(at), in.data(), static_cast<size_t>(elements * in.size()));
        at += elements;
    }
    LS_CHECK_OK(out.finish());
    return giveIntegers(args, 2, dense, Shape({static_cast<int64_t>(dense.size())}));
}

/// A ragged tensor taken apart: the splits of each level, and the values.
struct Ragged {
    std::vector<std::vector<int64_t>> splits;
    VariantTensor values;
    int64_t rows() const
    {
        return splits.empty() ? (values.shape.rank() > 0 ? values.shape[0] : 0) : static_cast<int64_t>(splits[0].size()) - 1;
    }
};

/// Splits begin with 0, grow, and end with the number of rows below them.
bool isValid(const Ragged& ragged)
{
    for (size_t level = 0; level < ragged.splits.size(); ++level) {
        const std::vector<int64_t>& splits = ragged.splits[level];
        const int64_t below = level + 1 < ragged.splits.size() ? static_cast<int64_t>(ragged.splits[level + 1].size()) - 1
                              : ragged.values.shape.rank() > 0 ? ragged.values.shape[0]
                                                               : -1;
        if (splits.empty() || splits.front() != 0 || splits.back() != below || !std::is_sorted(splits.begin(), splits.end())) return false;
    }
    return true;
}

/// Bytes of splits as the operator's Tsplits.
std::string packSplits(const std::vector<int64_t>& splits, DType dtype)
{
    std::string bytes;
    for (const int64_t s : splits) {
        const auto narrow = static_cast<int32_t>(s);
        if (dtype == DType::i32) bytes.append(reinterpret_cast<const char*>(&narrow), 4);
        else bytes.append(reinterpret_cast<const char*>(&s), 8);
    }
    return bytes;
}

std::string encodeRagged(const Ragged& ragged, DType splitsType)
{
    std::vector<std::string> storage;
    for (const auto& splits : ragged.splits) storage.push_back(packSplits(splits, splitsType));
    VariantValue value;
    value.kind = VariantKind::ragged;
    for (size_t level = 0; level < storage.size(); ++level)
        value.tensors.push_back({splitsType, Shape({static_cast<int64_t>(ragged.splits[level].size())}), storage[level]});
    value.tensors.push_back(ragged.values);
    return encodeVariant(value);
}

/// Rows `from` … `to − 1` of the values.
Result<VariantTensor> valueRows(const VariantTensor& values, int64_t from, int64_t to, std::string& storage)
{
    VariantTensor rows = values;
    rows.shape[0] = to - from;
    const int64_t each = values.shape.countOf(1, values.shape.rank());
    if (bitWidth(values.dtype) == 0) {
        LS_TRY(const auto strings, readStrings(values.view()));
        std::vector<std::string> own;
        for (int64_t i = from * each; i < to * each; ++i) own.emplace_back(strings[static_cast<size_t>(i)]);
        const std::vector<std::byte> block = packStrings(own);
        storage.assign(reinterpret_cast<const char*>(block.data()), block.size());
        rows.bytes = storage;
        return rows;
    }
    const auto size = static_cast<size_t>(each * bitWidth(values.dtype) / 8);
    rows.bytes = values.bytes.substr(static_cast<size_t>(from) * size, static_cast<size_t>(to - from) * size);
    return rows;
}

Status runToVariant(const KernelArgs& args)
{
    Ragged ragged;
    for (int i = 0; i + 1 < args.inputCount; ++i) ragged.splits.push_back(tfIntegers(args.in(i)));
    ragged.values = variantTensor(args.in(args.inputCount - 1));
    const DType splitsType = tfTypeAttribute(attributesOf(args), "Tsplits", DType::i64);
    if (!ragged.splits.empty() && !isValid(ragged))
        return invalidArgument("Invalid ragged splits: they must begin with 0, grow, and end with the number of values");
    if (!attributeBool(attributesOf(args), "batched_input", false)) return giveVariants(args, Shape(), {encodeRagged(ragged, splitsType)});
    if (ragged.splits.empty() && ragged.values.shape.rank() < 1) return invalidArgument("batched_input=True, but the values are a scalar");
    std::vector<std::string> encoded;
    for (int64_t row = 0, n = ragged.rows(); row < n; ++row) {
        Ragged part;
        std::string storage;
        int64_t from = row;
        int64_t to = row + 1;
        if (ragged.splits.empty()) { // a row of a dense tensor is a dense tensor
            LS_TRY(part.values, valueRows(ragged.values, from, to, storage));
            Shape shape;
            for (int d = 1; d < part.values.shape.rank(); ++d) shape.append(part.values.shape[d]);
            part.values.shape = shape;
        } else {
            from = ragged.splits[0][static_cast<size_t>(row)];
            to = ragged.splits[0][static_cast<size_t>(row) + 1];
            for (size_t level = 1; level < ragged.splits.size(); ++level) {
                const std::vector<int64_t>& splits = ragged.splits[level];
                std::vector<int64_t>& own = part.splits.emplace_back();
                for (int64_t i = from; i <= to; ++i) own.push_back(splits[static_cast<size_t>(i)] - splits[static_cast<size_t>(from)]);
                const int64_t begin = splits[static_cast<size_t>(from)];
                to = splits[static_cast<size_t>(to)];
                from = begin;
            }
            LS_TRY(part.values, valueRows(ragged.values, from, to, storage));
        }
        encoded.push_back(encodeRagged(part, splitsType));
    }
    return giveVariants(args, Shape({static_cast<int64_t>(encoded.size())}), encoded);
}

Status runFromVariant(const KernelArgs& args)
{
    const Shape& shape = args.in(0).shape;
    LS_TRY(const auto blobs, readStrings(args.in(0)));
    const int levels = args.outputCount - 1;
    int64_t inside = attributeInt(attributesOf(args), "input_ragged_rank", -1);
    if (inside == -1) inside = levels - shape.rank();
    if (inside < 0 || levels != inside + shape.rank())
        return invalidArgument(
            "output_ragged_rank must be equal to input_ragged_rank + encoded_ragged.dims(); output_ragged_rank: " + std::to_string(levels) +
            ", input_ragged_rank: " + std::to_string(inside) + ", encoded_ragged.dims(): " + std::to_string(shape.rank()));
    std::vector<Ragged> parts;
    for (const std::string_view blob : blobs) {
        LS_TRY(const VariantValue value, decodeVariant(blob));
        if (value.kind != VariantKind::ragged || value.tensors.size() != static_cast<size_t>(inside) + 1)
            return invalidArgument("Expected input Variant element to hold RaggedTensorVariant of ragged rank " + std::to_string(inside));
        Ragged part;
        for (size_t i = 0; i + 1 < value.tensors.size(); ++i) {
            if (!isInteger32or64(value.tensors[i])) return invalidArgument("Expected row_splits to be integers");
            part.splits.push_back(integersOf(value.tensors[i]));
        }
        part.values = value.tensors.back();
        if (part.values.dtype != args.out(levels).dtype)
            return invalidArgument("Expected values Tensor dtype: " + std::string(tfTypeName(args.out(levels).dtype)) +
                                   ", found: " + std::string(tfTypeName(part.values.dtype)));
        if (!isValid(part)) return invalidArgument("Expected valid row_splits in the encoded ragged tensor");
        parts.push_back(std::move(part));
    }
    if (shape.rank() == 0) {
        for (int k = 0; k < levels; ++k)
            LS_CHECK_OK(giveIntegers(args, k, parts[0].splits[static_cast<size_t>(k)],
                                     Shape({static_cast<int64_t>(parts[0].splits[static_cast<size_t>(k)].size())})));
        return tfCopy(args, levels, parts[0].values.view(), parts[0].values.shape);
    }
    for (int d = 0; d + 1 < shape.rank(); ++d) { // dimensions of the operand: rows of equal length
        std::vector<int64_t> splits;
        for (int64_t i = 0, n = shape.countOf(0, d + 1); i <= n; ++i) splits.push_back(i * shape[d + 1]);
        LS_CHECK_OK(giveIntegers(args, d, splits, Shape({static_cast<int64_t>(splits.size())})));
    }
    std::vector<std::vector<int64_t>> joined(static_cast<size_t>(inside) + 1, {0});
    for (const Ragged& part : parts) {
        joined[0].push_back(joined[0].back() + part.rows());
        for (size_t level = 0; level < part.splits.size(); ++level) {
            const int64_t base = joined[level + 1].back();
            for (size_t i = 1; i < part.splits[level].size(); ++i) joined[level + 1].push_back(base + part.splits[level][i]);
        }
    }
    for (size_t level = 0; level < joined.size(); ++level)
        LS_CHECK_OK(giveIntegers(args, shape.rank() - 1 + static_cast<int>(level), joined[level],
                                 Shape({static_cast<int64_t>(joined[level].size())})));
    Shape all({0});
    const auto below = [](const Shape& s) {
        Shape rest;
        for (int d = 1; d < s.rank(); ++d) rest.append(s[d]);
        return rest;
    };
    for (size_t p = 0; p < parts.size(); ++p) {
        const Shape& own = parts[p].values.shape;
        if (own.rank() < 1) return invalidArgument("The rank of values must be at least 1");
        const Shape rest = below(own);
        if (p == 0)
            for (const int64_t d : rest.dims()) all.append(d);
        if (!(rest == below(all)))
            return invalidArgument(
                "All flat_values must have compatible shapes.  Shape at index 0: " + toString(below(parts[0].values.shape)) +
                ".  Shape at index " + std::to_string(p) + ": " + toString(rest) +
                ".  If you are using tf.map_fn, then you may need to specify an explicit fn_output_signature with appropriate "
                "ragged_rank, and/or convert output tensors to RaggedTensors.");
        all[0] += own[0];
    }
    TfTarget out;
    LS_CHECK_OK(out.begin(args, levels, all));
    int64_t at = 0;
    for (const Ragged& part : parts) {
        LS_TRY(const TfSource in, TfSource::of(part.values.view()));
        const int64_t count = part.values.shape.elementCount();
        if (count > 0) std::memcpy(out.at(at), in.data(), static_cast<size_t>(count * in.size()));
        at += count;
    }
    return out.finish();
}

/// The splits of each level from the row partitions: splits, or the row of each value after the number of rows.
Result<std::vector<std::vector<int64_t>>> splitsOf(const KernelArgs& args)
{
    const Attribute* attribute = findAttribute(attributesOf(args), "row_partition_types");
    const auto* types = attribute ? attribute->as<AttributeItems>() : nullptr;
    if (!types || static_cast<int>(types->size()) != args.inputCount - 3)
        return invalidArgument("row_partition_types must name each row partition");
    std::vector<std::vector<int64_t>> levels;
    int64_t rows = -1;
    for (size_t i = 0; i < types->size(); ++i) {
        const auto* type = (*types)[i].as<std::string>();
        const std::vector<int64_t> numbers = tfIntegers(args.in(static_cast<int>(i) + 3));
        if (type && *type == "FIRST_DIM_SIZE" && numbers.size() == 1) {
            rows = numbers[0];
        } else if (type && *type == "ROW_SPLITS" && !numbers.empty() && std::is_sorted(numbers.begin(), numbers.end()) && numbers[0] == 0) {
            levels.push_back(numbers);
            rows = numbers.back();
        } else if (type && *type == "VALUE_ROWIDS" && rows >= 0 && rows < (int64_t{1} << 40) &&
                   std::is_sorted(numbers.begin(), numbers.end()) && (numbers.empty() || (numbers[0] >= 0 && numbers.back() < rows))) {
            std::vector<int64_t> splits = {0};
            for (int64_t r = 0; r < rows; ++r) splits.push_back(std::upper_bound(numbers.begin(), numbers.end(), r) - numbers.begin());
            levels.push_back(std::move(splits));
            rows = static_cast<int64_t>(numbers.size());
        } else {
            return invalidArgument("row partition " + std::to_string(i) + " is malformed or of an unknown type");
        }
    }
    return levels;
}

Status runToTensor(const KernelArgs& args)
{
    LS_TRY(const std::vector<std::vector<int64_t>> levels, splitsOf(args));
    const Tensor& values = args.in(1);
    const auto depth = static_cast<int>(levels.size());
    if (depth < 1 || values.shape.rank() < 1 || levels.back().back() != values.shape[0])
        return invalidArgument("the row partitions do not fit the values");
    LS_TRY(const Shape wanted, tfShapeOperand(args.in(0), true));
    if (args.in(2).elementCount() != 1) return Error(ErrorCode::unsupported, "a default value that is no scalar");
    Shape shape({static_cast<int64_t>(levels[0].size()) - 1});
    for (const auto& splits : levels) {
        int64_t longest = 0;
        for (size_t i = 1; i < splits.size(); ++i) longest = std::max(longest, splits[i] - splits[i - 1]);
        shape.append(longest);
    }
    for (int d = 1; d < values.shape.rank(); ++d) shape.append(values.shape[d]);
    if (wanted.hasRank() && wanted.rank() != shape.rank())
        return invalidArgument("The shape and the ragged tensor have different ranks: " + tfShapeText(wanted) + " vs. " + toString(shape));
    for (int d = 0; wanted.hasRank() && d < shape.rank(); ++d)
        if (wanted[d] >= 0) shape[d] = wanted[d];
    LS_TRY(const TfSource in, TfSource::of(values));
    LS_TRY(const TfSource empty, TfSource::of(args.in(2)));
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, shape));
    const int64_t inner = shape.countOf(depth + 1, shape.rank());
    for (int64_t i = 0, n = shape.elementCount(); i < n; ++i) std::memcpy(out.at(i), empty.at(0), static_cast<size_t>(empty.size()));
    if (values.shape.countOf(1, values.shape.rank()) != inner) return invalidArgument("the values do not fit the shape");
    for (int64_t cell = 0, n = shape.countOf(0, depth + 1); cell < n && inner > 0; ++cell) { // which value lies here, if any
        int64_t row = cell / shape.countOf(1, depth + 1);
        bool present = row < static_cast<int64_t>(levels[0].size()) - 1;
        for (int level = 0; present && level < depth; ++level) {
            const int64_t column = cell / shape.countOf(level + 2, depth + 1) % shape[level + 1];
            const std::vector<int64_t>& splits = levels[static_cast<size_t>(level)];
            present = row + 1 < static_cast<int64_t>(splits.size()) &&
                      column < splits[static_cast<size_t>(row) + 1] - splits[static_cast<size_t>(row)];
            if (present) row = splits[static_cast<size_t>(row)] + column;
        }
        if (present) std::memcpy(out.at(cell * inner), in.at(row * inner), static_cast<size_t>(inner * in.size()));
    }
    return out.finish();
}

/// One range for each row: starts, limits and deltas are scalars, or vectors of one length.
Status runRange(const KernelArgs& args)
{
    int64_t rows = -1;
    for (int i = 0; i < 3; ++i) {
        const Shape& shape = args.in(i).shape;
        if (shape.rank() > 1) return invalidArgument("starts, limits and deltas must be scalars or vectors");
        if (shape.rank() == 1 && rows >= 0 && shape[0] != rows)
            return invalidArgument("starts, limits, and deltas must have the same shape");
        if (shape.rank() == 1) rows = shape[0];
    }
    if (rows < 0) rows = 1;
    return forDType<TypeList<float, double, BFloat16, int32_t, int64_t>>(args.in(0).dtype, [&]<typename T>() -> Status {
        using C = typename Element<T>::Compute;
        const auto operand = [&](int i, int64_t row) {
            return Element<T>::load(args.in(i).as<T>()[args.in(i).shape.rank() == 0 ? 0 : row]);
        };
        const auto distance = [](C from, C to) { // f64 does not hold every i64, but every distance that counts here
            if constexpr (!std::is_integral_v<C>) return static_cast<double>(to) - static_cast<double>(from);
            else if (to < from) return -static_cast<double>(static_cast<uint64_t>(from) - static_cast<uint64_t>(to));
            else return static_cast<double>(static_cast<uint64_t>(to) - static_cast<uint64_t>(from));
        };
        constexpr double kMost = int64_t{1} << 40;
        std::vector<int64_t> splits = {0};
        for (int64_t row = 0; row < rows; ++row) {
            const C delta = operand(2, row);
            if (delta == C(0)) return invalidArgument("Requires delta != 0");
            const double length = distance(operand(0, row), operand(1, row)) / static_cast<double>(delta);
            const double count = std::max(std::ceil(length), 0.0) + static_cast<double>(splits.back());
            if (!(count <= kMost)) return invalidArgument("Requires ((limit - start) / delta) <= " + std::to_string(int64_t{1} << 40));
            splits.push_back(static_cast<int64_t>(count));
        }
        LS_CHECK_OK(giveIntegers(args, 0, splits, Shape({rows + 1})));
        LS_CHECK_OK(tfAllocate(args, 1, Shape({splits.back()})));
        for (int64_t row = 0; row < rows; ++row) {
            C value = operand(0, row);
            for (int64_t i = splits[static_cast<size_t>(row)]; i < splits[static_cast<size_t>(row) + 1];
                 ++i, value = wrappingAdd(value, operand(2, row)))
                args.out(1).as<T>()[i] = Element<T>::store(value);
        }
        return {};
    });
}

/// A value of several tensors (a RaggedTensor, an extension type) in one variant, and the tensors again.
Status runFromComponents(const KernelArgs& args)
{
    VariantValue value;
    value.kind = VariantKind::tensors;
    for (int i = 0; i < args.inputCount; ++i) value.tensors.push_back(variantTensor(args.in(i)));
    return giveVariants(args, Shape(), {encodeVariant(value)});
}

Status runToComponents(const KernelArgs& args)
{
    LS_TRY(const auto blobs, readStrings(args.in(0)));
    if (blobs.size() != 1) return invalidArgument("`encoded` must be a scalar, got shape " + toString(args.in(0).shape));
    LS_TRY(const VariantValue value, decodeVariant(blobs[0]));
    if (value.kind != VariantKind::tensors) return invalidArgument("`encoded` must be a CompositeTensorVariant.");
    if (static_cast<int>(value.tensors.size()) != args.outputCount)
        return invalidArgument("Encoded value has " + std::to_string(value.tensors.size()) + " components, expected " +
                               std::to_string(args.outputCount));
    for (int k = 0; k < args.outputCount; ++k) {
        const VariantTensor& tensor = value.tensors[static_cast<size_t>(k)];
        if (tensor.dtype != args.out(k).dtype)
            return invalidArgument("Tensor at index " + std::to_string(k) + " had incompatible dtype: expected " +
                                   std::string(tfTypeName(args.out(k).dtype)) + ", but got " + std::string(tfTypeName(tensor.dtype)) + ".");
        LS_CHECK_OK(tfCopy(args, k, tensor.view(), tensor.shape));
    }
    return {};
}

} // namespace

LS_TF_KERNEL(SerializeManySparse, runSerializeManySparse, kAllDTypes)
LS_TF_KERNEL(RaggedRange, runRange, "f32 f64 bf16 i32 i64")
LS_TF_KERNEL(CompositeTensorVariantFromComponents, runFromComponents, kAllDTypes)
LS_TF_KERNEL(CompositeTensorVariantToComponents, runToComponents, kAllDTypes)
LS_TF_KERNEL(SerializeSparse, runSerializeSparse, kAllDTypes)
LS_TF_KERNEL(DeserializeSparse, runDeserializeSparse, kAllDTypes)
LS_TF_KERNEL(DeserializeManySparse, runDeserializeSparse, kAllDTypes)
LS_TF_KERNEL(RaggedTensorToVariant, runToVariant, kAllDTypes)
LS_TF_KERNEL(RaggedTensorFromVariant, runFromVariant, kAllDTypes)
LS_TF_KERNEL(RaggedTensorToTensor, runToTensor, kAllDTypes)
