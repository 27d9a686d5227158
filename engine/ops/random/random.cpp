// Random operators: random_uniform, random_standard_normal, multinomial.
#include "engine/ops/catalog.h"
#include "engine/ops/movement.h"

using namespace loopscope;

namespace {

Status inferRandom(InferContext& c)
{
    LS_TRY(Shape out, shapeFromOperand(c, 0, 1));
    c.setOutput(0, DType::f32, std::move(out));
    return {};
}

Status inferMultinomial(InferContext& c)
{
    const Tensor& logits = c.input(0);
    LS_CHECK_OK(requireRank(c, 0, 2, 1));
    if (logits.dtype != DType::f32 && logits.dtype != DType::unknown)
        return InferContext::violated(1, "dtype of operand 0").found(std::string(dtypeName(logits.dtype))).expected("f32");
    if (logits.shape.hasRank() && logits.shape[1] == 0)
        return InferContext::violated(1, "number of classes").found("0").expected("1 or more");
    LS_TRY(const auto samples, scalarOperand(c, 1, 2));
    if (samples && (*samples < 0 || *samples > INT32_MAX))
        return InferContext::violated(2, "number of samples").found(std::to_string(*samples)).expected("0 or more");
    Shape out{logits.shape.hasRank() ? logits.shape[0] : kUnknownDim, samples.value_or(kUnknownDim)};
    if (out.isStatic() && !checkedElementCount(out))
        return InferContext::violated(2, "the result " + toString(out) + " has too many elements");
    // Nothing but the declaration says whether classes are numbered in i32 or i64.
    c.setOutput(0, c.output(0).dtype == DType::i32 ? DType::i32 : DType::i64, std::move(out));
    return {};
}

constexpr std::string_view kSource = "LiteRT kernels/random_ops.cc";
constexpr std::string_view kDiffers = "without seeds the numbers follow the session's seed and are repeatable; LiteRT's are not";

} // namespace

LS_DEFINE_OP(tfl, random_uniform)
{
    // C1: the shape is a vector of dimensions.
    OpDef def = movementDef<inferRandom>(1, "shape [rank]", "Random numbers from [0, 1); seeds give LiteRT's.", kSource);
    def.differs = kDiffers;
    def.hasSideEffects = true;
    return def;
}

LS_DEFINE_OP(tfl, random_standard_normal)
{
    // C1: the shape is a vector of dimensions.
    OpDef def = movementDef<inferRandom>(1, "shape [rank]", "Random numbers of mean 0 and deviation 1; seeds give LiteRT's.", kSource);
    def.differs = kDiffers;
    def.floatBound = withinRelative(1e-6);
    def.hasSideEffects = true;
    return def;
}

LS_DEFINE_OP(tfl, multinomial)
{
    // C1: logits are f32 [batch,classes] of one class or more. C2: the number of samples is one integer, not negative.
    OpDef def = movementDef<inferMultinomial>(2, "logits [B,classes], num_samples []",
                                              "Samples of classes with probabilities softmax(logits); seeds give LiteRT's.", kSource);
    def.differs = kDiffers;
    def.hasSideEffects = true;
    return def;
}
