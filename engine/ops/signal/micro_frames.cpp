// Catalogue entries of the custom operators of front ends for microcontrollers that remember samples from run to run (tflite-micro's
// signal library). Constraints: C1 options, C2 shapes, C3 dtypes.
#include "engine/ops/catalog.h"
#include "engine/ops/inference_helpers.h"
#include "engine/ops/signal/audio_options.h"
#include "engine/ops/tf_rules.h"

#include <string>

using namespace loopscope;

namespace {

constexpr int64_t kMost = 1 << 24; ///< samples that are remembered

/// An option in bounds. Errors: C1.
Result<int64_t> optionIn(const InferContext& context, std::string_view key, int64_t low, int64_t high)
{
    const int64_t value = audioOption(context.attributes(), key);
    if (value >= low && value <= high) return value;
    return InferContext::violated(1, std::string(key) + " is " + std::to_string(value) + ", expected " + std::to_string(low) + " to " +
                                         std::to_string(high));
}

/// The operand's shape, of `rank` dimensions at least; none if it is not known yet. Errors: C2, C3.
Result<std::optional<Shape>> frames(const InferContext& context, int rank, std::initializer_list<DType> dtypes)
{
    LS_CHECK_OK(requireDtype(context, 3, 0, dtypes));
    const Shape& shape = context.input(0).shape;
    if (!shape.hasRank()) return std::optional<Shape>();
    if (shape.rank() >= rank) return std::optional(shape);
    return InferContext::violated(2, "input is " + toString(shape) + ", expected " + std::to_string(rank) + " dimensions or more");
}

Status inferDelay(InferContext& context)
{
    LS_CHECK_OK(frames(context, 1, {DType::i16}));
    LS_CHECK_OK(optionIn(context, "delay_length", 0, kMost));
    context.setOutput(0, DType::i16, context.input(0).shape);
    return {};
}

Status inferFramer(InferContext& context)
{
    LS_TRY(const auto shape, frames(context, 1, {DType::i16}));
    LS_TRY(const int64_t step, optionIn(context, "frame_step", 1, kMost));
    LS_TRY(const int64_t size, optionIn(context, "frame_size", audioOption(context.attributes(), "prefill") != 0 ? step : 1, kMost));
    context.setOutput(0, DType::i16, Shape::unknownRank());
    context.setOutput(1, DType::boolean, Shape());
    if (!shape) return {};
    Shape out = *shape;
    int64_t& last = out[out.rank() - 1];
    if (last != kUnknownDim && (last < step || last % step != 0))
        return InferContext::violated(2, "input has " + std::to_string(last) + " samples, expected a multiple of " + std::to_string(step));
    if (last != kUnknownDim) last /= step;
    out.append(size);
    context.setOutput(0, DType::i16, out);
    return {};
}

Status inferStacker(InferContext& context)
{
    LS_TRY(const auto shape, frames(context, 1, {DType::i16}));
    constexpr int64_t kMostFrames = 1 << 12;
    LS_TRY(const int64_t channels, optionIn(context, "num_channels", 1, kMostFrames));
    LS_TRY(const int64_t left, optionIn(context, "stacker_left_context", 0, kMostFrames));
    LS_TRY(const int64_t right, optionIn(context, "stacker_right_context", 0, kMostFrames));
    LS_CHECK_OK(optionIn(context, "stacker_step", 1, left + right + 1));
    if (shape && (shape->rank() != 1 || ((*shape)[0] != kUnknownDim && (*shape)[0] != channels)))
        return InferContext::violated(2, "input is " + toString(*shape) + ", expected [" + std::to_string(channels) + "]");
    context.setOutput(0, DType::i16, {channels * (left + right + 1)});
    context.setOutput(1, DType::boolean, Shape());
    return {};
}

Status inferOverlapAdd(InferContext& context)
{
    LS_TRY(const auto shape, frames(context, 2, {DType::i16, DType::f32}));
    const int64_t length = shape ? (*shape)[shape->rank() - 1] : kUnknownDim;
    LS_TRY(const int64_t step, optionIn(context, "frame_step", 1, length == kUnknownDim ? kMost : length));
    const DType dtype = context.input(0).dtype;
    context.setOutput(0, dtype, Shape::unknownRank());
    if (!shape) return {};
    Shape out(shape->dims().first(shape->dims().size() - 1));
    int64_t& count = out[out.rank() - 1];
    if (count != kUnknownDim) count *= step;
    context.setOutput(0, dtype, out);
    return {};
}

OpDef framesDef(int results, std::string_view operands, std::string_view summary, Status (*infer)(InferContext&))
{
    OpDef def = tfStatefulDef({1, 1, results, results}, operands, summary);
    def.source = "tflite-micro signal/micro/kernels";
    def.infer = infer;
    return def;
}

} // namespace

LS_DEFINE_OP(custom, SignalDelay)
{
    return framesDef(1, "input [..,N]", "What came `delay_length` samples before, zeros at first.", inferDelay);
}
LS_DEFINE_OP(custom, SignalFramer)
{
    OpDef def =
        framesDef(2, "input [..,N]", "Frames that overlap, out of samples as they come, and whether all of them are full.", inferFramer);
    def.differs = "frames that are not full are zeros";
    return def;
}
LS_DEFINE_OP(custom, SignalStacker)
{
    OpDef def = framesDef(2, "input [N]", "A frame beside those before and behind it, and whether they have come.", inferStacker);
    def.differs = "frames that have not come are zeros";
    return def;
}
LS_DEFINE_OP(custom, SignalOverlapAdd)
{
    return framesDef(1, "input [..,F,N]", "Samples out of frames that overlap, added where they do.", inferOverlapAdd);
}
