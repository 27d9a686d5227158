// Catalogue entries of TF Text's custom operators: words between white space, n-grams, and hashes of n-grams projected by seeds.
// Constraints of all: C1 dtypes and ranks of operands. C2 options. C3 as many row splits come out as the operator wants.
#include "engine/ops/catalog.h"
#include "engine/ops/inference_helpers.h"
#include "engine/ops/text/custom_options.h"

#include <limits>
#include <string>

using namespace loopscope;

namespace {

Status requireSplits(const InferContext& context, int i)
{
    LS_CHECK_OK(requireDtype(context, 1, i, {DType::i64}));
    const Shape& shape = context.input(i).shape;
    if (!shape.hasRank() || shape.rank() == 1) return {};
    return InferContext::violated(1, "row splits have rank " + std::to_string(shape.rank()) + ", expected 1");
}

Status inferNgrams(InferContext& context)
{
    LS_CHECK_OK(requireDtype(context, 1, 0, {DType::string}));
    for (int i = 1; i < context.inputCount(); ++i) LS_CHECK_OK(requireSplits(context, i));
    const NgramOptions options = NgramOptions::from(context.attributes());
    if (options.width < 1 || options.width > std::numeric_limits<int32_t>::max())
        return InferContext::violated(2, "width is " + std::to_string(options.width) + ", expected at least 1");
    if (options.reduction != "STRING_JOIN" || options.axis != -1)
        return InferContext::violated(2, "reduction_type is '" + options.reduction + "' along axis " + std::to_string(options.axis) +
                                             ", expected 'STRING_JOIN' along axis -1");
    if (context.outputCount() != context.inputCount())
        return InferContext::violated(3,
                                      std::to_string(context.outputCount()) + " results, expected " + std::to_string(context.inputCount()));
    for (int k = 1; k < context.outputCount(); ++k) context.setOutput(k, DType::i64, context.input(k).shape);
    Shape shape = context.input(0).shape;
    if (shape.hasRank() && shape.rank() == 0) return InferContext::violated(1, "one string alone has no n-grams");
    if (context.inputCount() > 1) {
        if (shape.hasRank() && shape.rank() != 1)
            return InferContext::violated(1, "values with row splits have rank " + std::to_string(shape.rank()) + ", expected 1");
        context.setOutput(0, DType::string, {kUnknownDim});
        return {};
    }
    if (shape.hasRank()) {
        int64_t& last = shape[shape.rank() - 1];
        if (last != kUnknownDim) last = std::max<int64_t>(0, last - options.width + 1);
    }
    context.setOutput(0, DType::string, shape);
    return {};
}

Status inferTokens(InferContext& context)
{
    LS_CHECK_OK(requireDtype(context, 1, 0, {DType::string}));
    const Shape& texts = context.input(0).shape;
    if (context.outputCount() == 1) { // filled up with empty words
        Shape padded = texts;
        if (padded.hasRank()) padded.append(kUnknownDim);
        context.setOutput(0, DType::string, padded);
        return {};
    }
    if (texts.hasRank() && texts.rank() != context.outputCount() - 1)
        return InferContext::violated(3, std::to_string(context.outputCount() - 1) + " row splits of texts of rank " +
                                             std::to_string(texts.rank()));
    context.setOutput(0, DType::string, {kUnknownDim});
    for (int k = 1; k < context.outputCount(); ++k) {
        const int64_t rows = texts.isStatic() ? texts.countOf(0, k) : kUnknownDim;
        context.setOutput(k, DType::i64, {rows == kUnknownDim ? kUnknownDim : rows + 1});
    }
    return {};
}

Status inferProjection(InferContext& context)
{
    LS_CHECK_OK(requireDtype(context, 1, 0, {DType::string}));
    LS_CHECK_OK(requireSplits(context, 1));
    const ProjectionOptions options = ProjectionOptions::from(context.attributes());
    if (options.buckets < 2 || options.buckets > std::numeric_limits<int32_t>::max())
        return InferContext::violated(2, "buckets is " + std::to_string(options.buckets) + ", expected 2 to 2147483647");
    if (options.seeds.empty()) return InferContext::violated(2, "hash_seed has no numbers");
    for (const int64_t seed : options.seeds)
        if (seed < std::numeric_limits<int32_t>::min() || seed > std::numeric_limits<int32_t>::max())
            return InferContext::violated(2, "hash_seed holds " + std::to_string(seed) + ", expected 32 bits");
    const Shape& splits = context.input(1).shape;
    if (splits.hasRank() && splits[0] == 0) return InferContext::violated(1, "there are no row splits");
    const bool isKnown = splits.hasRank() && splits[0] != kUnknownDim;
    context.setOutput(0, DType::f32, {isKnown ? splits[0] - 1 : kUnknownDim, static_cast<int64_t>(options.seeds.size())});
    return {};
}

OpDef textDef(std::string_view name, std::string_view operands, std::string_view summary, std::string_view source,
              Status (*infer)(InferContext&))
{
    OpDef def;
    def.name = name;
    def.minInputs = def.maxInputs = 1;
    def.operands = operands;
    def.summary = summary;
    def.source = source;
    def.floatBound = kExact;
    def.infer = infer;
    return def;
}

} // namespace

LS_DEFINE_OP(custom, tftext_Ngrams)
{
    OpDef def = textDef("tftext:Ngrams", "values [N] or […,N], row splits [R]…",
                        "Runs of `width` strings, joined; with row splits within rows, which get new ones.",
                        "TFLite Support custom_ops/kernel/ngrams.cc", inferNgrams);
    def.maxInputs = def.maxOutputs = -1;
    return def;
}

LS_DEFINE_OP(custom, tftext_WhitespaceTokenizer)
{
    OpDef def = textDef("tftext:WhitespaceTokenizer", "texts",
                        "The words of texts, with row splits for each dimension of the texts, or filled up with empty ones.",
                        "TFLite Support custom_ops/kernel/whitespace_tokenizer.cc", inferTokens);
    def.maxOutputs = -1;
    def.differs = "white space is what Unicode calls so today";
    return def;
}

LS_DEFINE_OP(custom, tftext_SgnnProjection)
{
    OpDef def = textDef("tftext:custom:SgnnProjection", "values [N], row splits [R]",
                        "For each row and seed, the mean of the hashes of its strings times the seed: [R − 1,seeds].",
                        "TensorFlow models seq_flow_lite sgnn_projection.cc", inferProjection);
    def.minInputs = def.maxInputs = 2;
    return def;
}
