// Options of MediaPipe's operators on landmarks, which are FlexBuffer maps (MediaPipe util/tflite/operations, their second versions).
#pragma once

#include "engine/ir/attribute.h"
#include "engine/tensor/constant.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace loopscope {

/// One entry of the map `options`; null: there is none.
inline const Attribute* landmarkOption(const AttributeList& attributes, std::string_view key)
{
    const Attribute* const options = findAttribute(attributes, "options");
    const auto* const map = options != nullptr ? options->as<AttributeMap>() : nullptr;
    if (map == nullptr) return nullptr;
    for (const auto& [name, value] : *map)
        if (name == key) return &value;
    return nullptr;
}

/// A whole number between 0 and 65,536. None: it is not there, or another.
inline std::optional<int64_t> landmarkCount(const AttributeList& attributes, std::string_view key)
{
    const Attribute* const value = landmarkOption(attributes, key);
    const auto* const number = value != nullptr ? value->as<int64_t>() : nullptr;
    constexpr int64_t kMost = 1 << 16;
    return number != nullptr && *number >= 0 && *number <= kMost ? std::optional(*number) : std::nullopt;
}

/// A part of a picture, turned so that two landmarks lie level, around some others.
struct LandmarkCrop {
    int64_t left = 0, right = 0; ///< the two that say how it is turned
    int64_t height = 0, width = 0;
    float scaleX = 1, scaleY = 1; ///< of the box around the others
    float rotation = 0;           ///< radians in which the two shall lie
    std::vector<int64_t> places;  ///< the others; not empty

    /// None: something is missing, or makes no sense.
    static std::optional<LandmarkCrop> from(const AttributeList& attributes)
    {
        LandmarkCrop crop;
        const auto left = landmarkCount(attributes, "left_rotation_idx"), right = landmarkCount(attributes, "right_rotation_idx");
        const auto height = landmarkCount(attributes, "output_height"), width = landmarkCount(attributes, "output_width");
        if (!left || !right || !height || !width || *height == 0 || *width == 0) return std::nullopt;
        crop.left = *left;
        crop.right = *right;
        crop.height = *height;
        crop.width = *width;
        const auto real = [&](std::string_view key, float& to) {
            const Attribute* const value = landmarkOption(attributes, key);
            const auto* const number = value != nullptr ? value->as<double>() : nullptr;
            if (number != nullptr) to = static_cast<float>(*number);
            return number != nullptr;
        };
        if (!real("scale_x", crop.scaleX) || !real("scale_y", crop.scaleY) || !(crop.scaleX > 0) || !(crop.scaleY > 0)) return std::nullopt;
        real("target_rotation_radians", crop.rotation);
        const Attribute* const places = landmarkOption(attributes, "subset_idxs");
        const auto* const list = places != nullptr ? places->as<TensorAttribute>() : nullptr;
        if (list == nullptr || list->type.dtype != DType::i64 || !list->data || !list->data->hasBytes()) return std::nullopt;
        const auto bytes = list->data->bytes();
        crop.places.assign(bytes.as<int64_t>(), bytes.as<int64_t>() + bytes.size() / sizeof(int64_t));
        for (const int64_t place : crop.places)
            if (place < 0) return std::nullopt;
        return crop.places.empty() ? std::nullopt : std::optional(std::move(crop));
    }

    int64_t largestPlace() const
    {
        int64_t largest = left > right ? left : right;
        for (const int64_t place : places) largest = place > largest ? place : largest;
        return largest;
    }
};

} // namespace loopscope
