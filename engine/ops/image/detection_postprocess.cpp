// Catalogue entry of the custom operator TFLite_Detection_PostProcess.
#include "engine/ops/catalog.h"
#include "engine/ops/image/detection_options.h"
#include "engine/ops/recurrent_checks.h"

#include <algorithm>
#include <limits>
#include <string>

using namespace loopscope;

namespace {

/// Constraints: C1 shapes, C2 dtypes, C3 options, C4 number of classes.
Status inferDetectionPostprocess(InferContext& context)
{
    const int64_t boxes = dimensionFromEnd(context, 0, 2);
    LS_CHECK_OK(requireShape(context, 1, 0, {1, boxes, kUnknownDim}));
    LS_CHECK_OK(requireShape(context, 1, 1, {1, boxes, kUnknownDim}));
    LS_CHECK_OK(requireShape(context, 1, 2, {boxes, 4}));
    const int64_t coordinates = dimensionFromEnd(context, 0, 1);
    if (coordinates != kUnknownDim && coordinates < 4)
        return InferContext::violated(1, "boxes have " + std::to_string(coordinates) + " coordinates, expected at least 4");
    for (const int i : {0, 1, 2}) {
        const DType dtype = context.input(i).dtype;
        if (dtype != DType::f32 && dtype != DType::u8 && dtype != DType::unknown)
            return InferContext::violated(2,
                                          "operand " + std::to_string(i) + " is " + std::string(dtypeName(dtype)) + ", expected f32 or u8");
    }
    LS_CHECK_OK(requireDtypeIfPresent(context, 2, 2, context.input(0).dtype));
    const DetectionOptions options = DetectionOptions::from(context.attributes());
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max() / 8;
    const auto outside = [](int64_t v) { return v < 0 || v > kMost; };
    if (outside(options.maxDetections) || outside(options.maxClasses) || outside(options.perClass) ||
        options.maxDetections * options.maxClasses > kMost)
        return InferContext::violated(3, "max_detections is " + std::to_string(options.maxDetections) + ", max_classes_per_detection " +
                                             std::to_string(options.maxClasses) + ", detections_per_class " +
                                             std::to_string(options.perClass));
    if (options.maxClasses < 1 || (options.regular && std::min(options.perClass, options.maxDetections) < 1))
        return InferContext::violated(3, options.maxClasses < 1 ? "max_classes_per_detection is 0" : "no detections are wanted of a class");
    if (!(options.overlapThreshold > 0 && options.overlapThreshold <= 1))
        return InferContext::violated(3, "nms_iou_threshold is " + std::to_string(options.overlapThreshold) +
                                             ", expected above 0 and at most 1");
    const int64_t columns = dimensionFromEnd(context, 1, 1);
    if (options.classes < 1 || (columns != kUnknownDim && columns != options.classes && columns != options.classes + 1))
        return InferContext::violated(4, "num_classes is " + std::to_string(options.classes) + ", the scores have " +
                                             std::to_string(columns) + " columns");
    const int64_t detections = options.maxDetections * options.maxClasses;
    context.setOutput(0, DType::f32, {1, detections, 4});
    context.setOutput(1, DType::f32, {1, detections});
    context.setOutput(2, DType::f32, {1, detections});
    context.setOutput(3, DType::f32, {1});
    return {};
}

} // namespace

LS_DEFINE_OP(custom, TFLite_Detection_PostProcess)
{
    OpDef def;
    def.minInputs = def.maxInputs = 3;
    def.minOutputs = def.maxOutputs = 4;
    def.operands = "box encodings [1,N,≥4], class scores [1,N,classes (+ background)], anchors [N,4]";
    def.summary = "Decodes boxes against anchors and keeps the best ones that do not overlap: boxes, classes, scores and their number.";
    def.source = "LiteRT kernels/detection_postprocess.cc";
    def.differs = "unused places are zero in fast mode too (LiteRT leaves them as they were)";
    def.floatBound = kExact;
    def.infer = inferDetectionPostprocess;
    return def;
}
