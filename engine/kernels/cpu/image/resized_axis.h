// Where the pixels of a resized picture lie in the one that it was, as TensorFlow's operators and their gradients have it
// (core/util/image_resizer_state.h).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace loopscope {

/// Where the pixels of a result lie in a picture of another size, along one axis.
struct ResizedAxis {
    int64_t input = 0, output = 0;
    float scale = 1;
    bool corners = false, centres = false;

    static ResizedAxis of(int64_t input, int64_t output, bool corners, bool centres)
    {
        const float scale = corners && output > 1 ? static_cast<float>(input - 1) / static_cast<float>(output - 1)
                                                  : static_cast<float>(input) / static_cast<float>(output);
        return {input, output, scale, corners, centres};
    }

    float position(int64_t i) const { return centres ? (static_cast<float>(i) + 0.5F) * scale - 0.5F : static_cast<float>(i) * scale; }
    int64_t nearest(int64_t i) const
    {
        const float at = centres ? (static_cast<float>(i) + 0.5F) * scale : static_cast<float>(i) * scale;
        return std::clamp<int64_t>(static_cast<int64_t>(corners ? std::round(at) : std::floor(at)), 0, input - 1);
    }
};

/// The two neighbours of a position among `size` pixels, and how far it is from the first.
struct Neighbours {
    int64_t low, high;
    float distance;
    static Neighbours of(float position, int64_t size)
    {
        const float floor = std::floor(position); // of more than 2^24 pixels the last one's position may be rounded to `size`
        return {std::clamp<int64_t>(static_cast<int64_t>(floor), 0, size - 1),
                std::clamp<int64_t>(static_cast<int64_t>(std::ceil(position)), 0, size - 1), position - floor};
    }
};

} // namespace loopscope
