// Catalogue entries of MediaPipe's operators on landmarks: where in a picture a part of a face is, that part, and places in it as places of
// the picture.
// Constraints: C1 all operands are f32. C2 options: what the operator's are, in bounds. C3 shapes: landmarks [1,N,D], D 2 or 3 (of
// Landmarks2TransformMatrix 3), pictures [1,H,W,C], matrices of 16 elements.
#include "engine/ops/catalog.h"
#include "engine/ops/image/landmark_options.h"
#include "engine/ops/image/picture_def.h"
#include "engine/ops/inference_helpers.h"

#include <string>

using namespace loopscope;

namespace {

Status checkFloats(const InferContext& context)
{
    for (int i = 0; i < context.inputCount(); ++i) LS_CHECK_OK(requireDtype(context, 1, i, {DType::f32}));
    return {};
}

Status checkLandmarks(const InferContext& context, int64_t least, int64_t most)
{
    const Shape& shape = context.input(0).shape;
    if (!shape.isStatic()) return {};
    if (shape.rank() != 3 || shape[0] != 1 || shape[2] < least || shape[2] > most)
        return InferContext::violated(3, "landmarks are " + toString(shape) + ", expected [1,N," + std::to_string(most) + "]");
    return {};
}

Status checkMatrix(const InferContext& context)
{
    const Shape& shape = context.input(1).shape;
    if (!shape.isStatic() || shape.elementCount() == 16) return {};
    return InferContext::violated(3, "the matrix is " + toString(shape) + ", expected 16 elements");
}

Status inferToMatrix(InferContext& context)
{
    LS_CHECK_OK(checkFloats(context));
    LS_CHECK_OK(checkLandmarks(context, 3, 3));
    const auto crop = LandmarkCrop::from(context.attributes());
    if (!crop) return InferContext::violated(2, "the options are no places, scales and size of a part");
    const Shape& shape = context.input(0).shape;
    if (shape.isStatic() && crop->largestPlace() >= shape[1])
        return InferContext::violated(2,
                                      "place " + std::to_string(crop->largestPlace()) + " of " + std::to_string(shape[1]) + " landmarks");
    context.setOutput(0, DType::f32, {1, 4, 4});
    return {};
}

Status inferTransform(InferContext& context)
{
    LS_CHECK_OK(checkFloats(context));
    LS_CHECK_OK(checkLandmarks(context, 2, 3));
    LS_CHECK_OK(checkMatrix(context));
    context.setOutput(0, DType::f32, context.input(0).shape);
    return {};
}

Status inferBilinear(InferContext& context)
{
    LS_CHECK_OK(checkFloats(context));
    LS_CHECK_OK(checkMatrix(context));
    const Shape& shape = context.input(0).shape;
    if (shape.isStatic() && (shape.rank() != 4 || shape[0] != 1))
        return InferContext::violated(3, "the picture is " + toString(shape) + ", expected [1,H,W,C]");
    const auto height = landmarkCount(context.attributes(), "output_height"), width = landmarkCount(context.attributes(), "output_width");
    if (!height || !width || *height == 0 || *width == 0) return InferContext::violated(2, "the options are no size");
    context.setOutput(0, DType::f32, {1, *height, *width, shape.hasRank() && shape.rank() == 4 ? shape[3] : kUnknownDim});
    return {};
}

OpDef definition(int operandCount, std::string_view operands, std::string_view summary, std::string_view source,
                 Status (*infer)(InferContext&))
{
    OpDef def = pictureDef(operandCount, operands, summary, source, infer);
    def.floatBound = withinRelative(1e-5);
    return def;
}

} // namespace

LS_DEFINE_OP(custom, Landmarks2TransformMatrix)
{
    return definition(1, "landmarks [1,N,3]", "The matrix that takes pixels of a part around some landmarks to places of the picture.",
                      "MediaPipe util/tflite/operations/landmarks_to_transform_matrix.cc, version 2", inferToMatrix);
}

LS_DEFINE_OP(custom, TransformLandmarks)
{
    return definition(2, "landmarks [1,N,2 or 3], matrix [1,4,4]", "Landmarks of a part as places of the picture.",
                      "MediaPipe util/tflite/operations/transform_landmarks.cc, version 2", inferTransform);
}

LS_DEFINE_OP(custom, TransformTensorBilinear)
{
    return definition(2, "picture [1,H,W,C], matrix [1,4,4]", "A part of the picture, read between its pixels; zeros outside.",
                      "MediaPipe util/tflite/operations/transform_tensor_bilinear.cc, version 2", inferBilinear);
}
