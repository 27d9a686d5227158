// Catalogue entry of the Edge TPU's operator that finds people in what PoseNet computes.
// Constraints: C1 operands are f32 or u8. C2 options. C3 shapes: heat maps [1,H,W,17], short offsets [1,H,W,34], offsets along the edges
// [1,H,W,64], with masks offsets to all key points [1,H,W,34]. C4 three operands and four results, or four and five.
#include "engine/ops/catalog.h"
#include "engine/ops/image/picture_def.h"
#include "engine/ops/image/pose_options.h"

#include <string>

using namespace loopscope;

namespace {

Status inferPoses(InferContext& context)
{
    if (context.outputCount() != context.inputCount() + 1)
        return InferContext::violated(4, std::to_string(context.inputCount()) + " operands and " + std::to_string(context.outputCount()) +
                                             " results, expected 3 and 4, or 4 and 5");
    constexpr int64_t kChannels[] = {kPoseKeypoints, int64_t{2} * kPoseKeypoints, int64_t{4} * kPoseEdges, int64_t{2} * kPoseKeypoints};
    const Shape& first = context.input(0).shape;
    for (int i = 0; i < context.inputCount(); ++i) {
        LS_CHECK_OK(requireDtype(context, 1, i, {DType::f32, DType::u8}));
        const Shape& shape = context.input(i).shape;
        if (!shape.isStatic() || !first.isStatic()) continue;
        const bool fits = shape.rank() == 4 && shape[0] == 1 && shape[1] > 0 && shape[2] > 0 && shape[3] == kChannels[i];
        if (!fits || shape[1] != first[1] || shape[2] != first[2])
            return InferContext::violated(3, "operand " + std::to_string(i) + " is " + toString(shape) + ", expected [1,H,W," +
                                                 std::to_string(kChannels[i]) + "], H and W as of operand 0");
    }
    const auto options = PoseOptions::from(context.attributes());
    if (!options) return InferContext::violated(2, "the options are not those of poses");
    context.setOutput(0, DType::f32, {1, options->most, kPoseKeypoints, 2});
    context.setOutput(1, DType::f32, {1, options->most, kPoseKeypoints});
    context.setOutput(2, DType::f32, {1, options->most});
    context.setOutput(3, DType::f32, {1});
    const bool isKnown = first.isStatic();
    if (context.outputCount() > 4)
        context.setOutput(4, DType::f32, {1, options->most, isKnown ? first[1] : kUnknownDim, isKnown ? first[2] : kUnknownDim});
    return {};
}

} // namespace

LS_DEFINE_OP(custom, PosenetDecoderOp)
{
    OpDef def =
        pictureDef(3, "heat maps [1,H,W,17], short offsets [1,H,W,34], offsets along edges [1,H,W,64], offsets to all [1,H,W,34]?",
                   "People: their key points, the scores of these and of all of them, how many there are, and which places are whose.",
                   "Google Coral's libcoral coral/pose_estimation/posenet_decoder.cc", inferPoses);
    def.maxInputs = 4;
    def.minOutputs = 4;
    def.maxOutputs = 5;
    def.floatBound = withinRelative(1e-5);
    def.differs = "what belongs to no person is 0; masks of places that are no square";
    return def;
}
