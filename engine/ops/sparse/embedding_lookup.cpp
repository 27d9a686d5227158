// Catalogue entries of embedding_lookup, embedding_lookup_sparse and hashtable_lookup.
#include "engine/ops/catalog.h"
#include "engine/ops/recurrent_checks.h"

#include <string>

using namespace loopscope;

namespace {

/// Constraints: C1 ids, C2 table, C3 dtypes and scales.
Status inferEmbeddingLookup(InferContext& context)
{
    const Tensor& ids = context.input(0);
    const Tensor& table = context.input(1);
    if (ids.shape.hasRank() && ids.shape.rank() != 1)
        return InferContext::violated(1, "ids have rank " + std::to_string(ids.shape.rank()) + ", expected 1");
    if (ids.dtype != DType::i32 && ids.dtype != DType::unknown)
        return InferContext::violated(1, "ids are " + std::string(dtypeName(ids.dtype)) + ", expected i32");
    if (table.shape.hasRank() && table.shape.rank() < 2)
        return InferContext::violated(2, "table has rank " + std::to_string(table.shape.rank()) + ", expected at least 2");
    const DType stated = context.output(0).dtype;
    const bool dequantizes = isInteger(table.dtype) && (stated == DType::f32 || stated == DType::f16);
    if (!dequantizes && bitWidth(table.dtype) == 0 && table.dtype != DType::unknown)
        return InferContext::violated(3, "table is " + std::string(dtypeName(table.dtype)) + ", expected elements of fixed size");
    if (dequantizes) {
        const Quantization* q = table.quantization;
        if (q == nullptr) return InferContext::violated(3, "an integer table for float results has no scale");
        const auto scales = static_cast<int64_t>(q->scales.size());
        if (q->kind == Quantization::Kind::affine && scales > 1 && table.shape.hasRank() && table.shape[0] != kUnknownDim &&
            scales != table.shape[0])
            return InferContext::violated(3, "table has " + std::to_string(scales) + " scales, expected one, or one for each of " +
                                                 std::to_string(table.shape[0]) + " rows");
    }
    Shape output = table.shape;
    if (output.hasRank()) output[0] = ids.shape.hasRank() ? ids.shape[0] : kUnknownDim;
    context.setOutput(0, dequantizes ? stated : table.dtype, output);
    return {};
}

/// Constraints: C1 shapes, C2 dtypes, C3 dense shape.
Status inferEmbeddingLookupSparse(InferContext& context)
{
    const int64_t count = dimensionFromEnd(context, 0, 1);
    const int64_t lookupRank = dimensionFromEnd(context, 1, 1);
    LS_CHECK_OK(requireShape(context, 1, 0, {count}));
    LS_CHECK_OK(requireShape(context, 1, 1, {count, lookupRank}));
    LS_CHECK_OK(requireShape(context, 1, 2, {lookupRank}));
    LS_CHECK_OK(requireShape(context, 1, 3, {count}));
    const Shape& table = context.input(4).shape;
    if (table.hasRank() && table.rank() < 2)
        return InferContext::violated(1, "table has rank " + std::to_string(table.rank()) + ", expected at least 2");
    for (const int i : {0, 1, 2}) LS_CHECK_OK(requireDtypeIfPresent(context, 2, i, DType::i32));
    for (const int i : {3, 4}) LS_CHECK_OK(requireDtypeIfPresent(context, 2, i, DType::f32));
    Shape output = Shape::unknownRank();
    if (table.hasRank() && lookupRank != kUnknownDim) {
        if (lookupRank < 1) return InferContext::violated(1, "indices have no columns");
        output = {};
        const auto dense = context.intValues(2);
        for (int64_t i = 0; i + 1 < lookupRank; ++i) {
            const int64_t dim = dense ? (*dense)[static_cast<size_t>(i)] : kUnknownDim;
            if (dense && dim < 0) return InferContext::violated(3, "the dense shape holds " + std::to_string(dim));
            output.append(dim);
        }
        for (int i = 1; i < table.rank(); ++i) output.append(table[i]);
    }
    context.setOutput(0, DType::f32, output);
    return {};
}

/// Constraints: C1 lookups and keys, C2 rows.
Status inferHashtableLookup(InferContext& context)
{
    for (const int i : {0, 1}) {
        const Tensor& numbers = context.input(i);
        if (numbers.shape.hasRank() && numbers.shape.rank() != 1)
            return InferContext::violated(1, "operand " + std::to_string(i) + " has rank " + std::to_string(numbers.shape.rank()) +
                                                 ", expected 1");
        LS_CHECK_OK(requireDtypeIfPresent(context, 1, i, DType::i32));
    }
    const Tensor& rows = context.input(2);
    const Shape& keys = context.input(1).shape;
    Shape output = rows.shape;
    if (output.hasRank()) {
        if (output.rank() < 1) return InferContext::violated(2, "values have rank 0, expected at least 1");
        if (keys.hasRank() && keys[0] != kUnknownDim && output[0] != kUnknownDim && keys[0] != output[0])
            return InferContext::violated(2, "values have " + std::to_string(output[0]) + " rows, expected one for each of " +
                                                 std::to_string(keys[0]) + " keys");
        if (rows.dtype == DType::string && output.rank() != 1)
            return InferContext::violated(2, "strings have rank " + std::to_string(output.rank()) + ", expected 1");
    }
    const Shape& lookups = context.input(0).shape;
    const int64_t count = lookups.hasRank() ? lookups[0] : kUnknownDim;
    if (output.hasRank()) output[0] = count;
    context.setOutput(0, rows.dtype, output);
    context.setOutput(1, DType::u8, Shape({count}));
    return {};
}

} // namespace

LS_DEFINE_OP(tfl, hashtable_lookup)
{
    OpDef def;
    def.minInputs = def.maxInputs = 3;
    def.minOutputs = def.maxOutputs = 2;
    def.operands = "lookups [N], keys [M], values [M,…]";
    def.summary = "Copies the row of values of each key that is found, in keys sorted upwards; others get zeros and a hit of 0.";
    def.source = "LiteRT kernels/hashtable_lookup.cc";
    def.floatBound = kExact;
    def.infer = inferHashtableLookup;
    return def;
}

LS_DEFINE_OP(tfl, embedding_lookup_sparse)
{
    OpDef def;
    def.minInputs = def.maxInputs = 5;
    def.operands = "ids [N], indices [N,R], dense shape [R], weights [N], table [rows,…]";
    def.summary = "Adds weighted rows of a table into the places that the indices name; optionally their weighted mean.";
    def.source = "LiteRT kernels/embedding_lookup_sparse.cc";
    def.floatBound = kExact;
    def.infer = inferEmbeddingLookupSparse;
    return def;
}

LS_DEFINE_OP(tfl, embedding_lookup)
{
    OpDef def;
    def.minInputs = def.maxInputs = 2;
    def.operands = "ids [N], table [rows,…]";
    def.summary = "Copies rows of a table; integer rows with scales are dequantized where the result is float.";
    def.source = "LiteRT kernels/embedding_lookup.cc";
    def.floatBound = kExact;
    def.infer = inferEmbeddingLookup;
    return def;
}
