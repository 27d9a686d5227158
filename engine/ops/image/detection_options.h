// Options of TFLite_Detection_PostProcess, read from its FlexBuffer map.
#pragma once

#include "engine/ir/attribute.h"

#include <cstdint>
#include <string_view>

namespace loopscope {

struct DetectionOptions {
    int64_t maxDetections = 0;
    int64_t maxClasses = 0; ///< of one detection, fast mode
    int64_t perClass = 100; ///< detections of one class, regular mode
    int64_t classes = 0;    ///< without background
    bool regular = false;   ///< suppress class by class; else by the best class of each box
    float scoreThreshold = 0, overlapThreshold = 0;
    float yScale = 0, xScale = 0, hScale = 0, wScale = 0;

    static DetectionOptions from(const AttributeList& attributes)
    {
        DetectionOptions o;
        const Attribute* options = findAttribute(attributes, "options");
        const AttributeMap* map = options ? options->as<AttributeMap>() : nullptr;
        if (!map) return o;
        AttributeList list;
        for (const auto& [key, value] : *map) setAttribute(list, key, value);
        const auto real = [&](std::string_view key) { return static_cast<float>(attributeFloat(list, key, 0)); };
        o.maxDetections = attributeInt(list, "max_detections", 0);
        o.maxClasses = attributeInt(list, "max_classes_per_detection", 0);
        o.perClass = attributeInt(list, "detections_per_class", 100);
        o.classes = attributeInt(list, "num_classes", 0);
        o.regular = attributeBool(list, "use_regular_nms", attributeInt(list, "use_regular_nms", 0) != 0);
        o.scoreThreshold = real("nms_score_threshold");
        o.overlapThreshold = real("nms_iou_threshold");
        o.yScale = real("y_scale");
        o.xScale = real("x_scale");
        o.hScale = real("h_scale");
        o.wScale = real("w_scale");
        return o;
    }
};

} // namespace loopscope
