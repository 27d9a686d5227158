// Options of PosenetDecoderOp, read from its FlexBuffer map, and the skeleton that its results are made of.
#pragma once

#include "engine/ops/image/landmark_options.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace loopscope {

inline constexpr int kPoseKeypoints = 17; ///< nose, eyes, ears, shoulders, elbows, wrists, hips, knees, ankles
inline constexpr int kPoseEdges = 16;     ///< between them; each is walked in both directions

struct PoseOptions {
    int64_t most = 0;      ///< poses
    int64_t stride = 0;    ///< pixels of the picture for each place of the operands
    float radius = 0;      ///< pixels within which a key point of another pose is the same one
    float threshold = 0.5; ///< of a pose's score

    /// None: an option is missing, or makes no sense.
    static std::optional<PoseOptions> from(const AttributeList& attributes)
    {
        const auto most = landmarkCount(attributes, "max_detections"), stride = landmarkCount(attributes, "stride");
        if (!most || !stride || *most == 0 || *stride == 0) return std::nullopt;
        PoseOptions options{*most, *stride};
        const auto real = [&](std::string_view key, float& to) {
            const Attribute* const value = landmarkOption(attributes, key);
            const auto* const number = value ? value->as<double>() : nullptr;
            const auto* const whole = value ? value->as<int64_t>() : nullptr;
            if (number) to = static_cast<float>(*number);
            if (whole) to = static_cast<float>(*whole);
            return number || whole;
        };
        if (!real("nms_radius", options.radius) || !real("score_threshold", options.threshold)) return std::nullopt;
        return options;
    }
};

} // namespace loopscope
