// Catalogue entry of embedding_lookup.
#include "engine/ops/catalog.h"

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
        if (q->kind == Quantization::Kind::affine && scales > 1 && table.shape.hasRank() && table.shape[0] != kUnknownDim && scales != table.shape[0])
            return InferContext::violated(3, "table has " + std::to_string(scales) + " scales, expected one, or one for each of " +
                                                 std::to_string(table.shape[0]) + " rows");
    }
    Shape output = table.shape;
    if (output.hasRank()) output[0] = ids.shape.hasRank() ? ids.shape[0] : kUnknownDim;
    context.setOutput(0, dequantizes ? stated : table.dtype, output);
    return {};
}

} // namespace

LS_DEFINE_OP(tfl, embedding_lookup)
{
    OpDef def;
    def.minInputs = def.maxInputs = 2;
    def.operands = "ids [N], table [rows,…]";
    def.summary = "Copies rows of a table; integer rows with scales are dequantized where the result is float.";
    def.source = "LiteRT kernels/embedding_lookup.cc";
    def.floatBound = "exact";
    def.infer = inferEmbeddingLookup;
    return def;
}
