// `x=cat.png[-1,1]:fit:nchw`: the pixels of a picture become the elements of an input.
#pragma once

#include "engine/api/inputs/run_target.h"
#include "engine/tensor/npy.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace loopscope {

struct PictureOptions {
    enum class Layout : uint8_t { declared, nhwc, nchw } layout = Layout::declared; ///< declared: where 1, 3 or 4 channels fit
    bool fit = false;                                                               ///< resized where the size differs
    std::optional<std::pair<double, double>> range; ///< what 0 and 255 become; none: 0 … 1 for floats, pixels as they are for integers
};

/// Errors: usage (the input holds no picture, another size), badFile.
Result<Array> arrayOfPicture(const Port& port, std::span<const std::byte> file, const PictureOptions& options,
                             std::vector<std::string>& notes);

} // namespace loopscope
