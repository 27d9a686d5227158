// Catalogue entries of operators that make features of text: skip_gram, lsh_projection.
#include "engine/ops/catalog.h"
#include "engine/ops/recurrent_checks.h"

#include <string>

using namespace loopscope;

namespace {

/// Constraints: C1 operand, C2 attributes. The number of results depends on the text.
Status inferSkipGram(InferContext& context)
{
    LS_CHECK_OK(requireDtypeIfPresent(context, 1, 0, DType::string));
    for (const char* key : {"ngram_size", "max_skip_size"}) {
        const int64_t value = attributeInt(context.attributes(), key, 0);
        if (value < 0) return InferContext::violated(2, std::string(key) + " is " + std::to_string(value) + ", expected at least 0");
    }
    context.setOutput(0, DType::string, {kUnknownDim});
    return {};
}

/// Constraints: C1 shapes, C2 dtypes, C3 type.
Status inferLshProjection(InferContext& context)
{
    const int64_t hashes = dimensionFromEnd(context, 0, 2);
    const int64_t bits = dimensionFromEnd(context, 0, 1);
    LS_CHECK_OK(requireShape(context, 1, 0, {hashes, bits}));
    if (bits > 32) return InferContext::violated(1, "hashes have " + std::to_string(bits) + " bits, expected at most 32");
    const Shape& input = context.input(1).shape;
    if (input.hasRank() && (input.rank() < 1 || input[0] == 0))
        return InferContext::violated(1, "input " + toString(input) + " has no items");
    LS_CHECK_OK(requireShape(context, 1, 2, {input.hasRank() ? input[0] : kUnknownDim}));
    LS_CHECK_OK(requireDtypeIfPresent(context, 2, 0, DType::f32));
    LS_CHECK_OK(requireDtypeIfPresent(context, 2, 2, DType::f32));
    const DType dtype = context.input(1).dtype;
    if (dtype != DType::unknown && (bitWidth(dtype) == 0 || bitWidth(dtype) % 8 != 0))
        return InferContext::violated(2, "input is " + std::string(dtypeName(dtype)) + ", expected elements of whole bytes");
    const std::string_view type = attributeWord(context.attributes(), "type", "UNKNOWN");
    if (type != "SPARSE" && type != "DENSE")
        return InferContext::violated(3, "type is " + std::string(type) + ", expected SPARSE or DENSE");
    context.setOutput(0, DType::i32, {type == "DENSE" ? productOf(hashes, bits) : hashes});
    return {};
}

} // namespace

LS_DEFINE_OP(tfl, skip_gram)
{
    OpDef def;
    def.minInputs = def.maxInputs = 1;
    def.operands = "text [1]";
    def.summary = "All runs of ngram_size words of a text, up to max_skip_size words left out between two.";
    def.source = "LiteRT kernels/skip_gram.cc";
    def.floatBound = kExact;
    def.infer = inferSkipGram;
    return def;
}

LS_DEFINE_OP(tfl, lsh_projection)
{
    OpDef def;
    def.minInputs = 2;
    def.maxInputs = 3;
    def.operands = "hash functions [N,bits], input [items,…], weights? [items]";
    def.summary = "Locality-sensitive hash: a bit for each hash function, the sign of a weighted sum of hashes of the items.";
    def.source = "LiteRT kernels/lsh_projection.cc, FarmHash (farmhashna::Hash64)";
    def.differs = "items of more than 28 bytes are refused";
    def.floatBound = kExact;
    def.infer = inferLshProjection;
    return def;
}
