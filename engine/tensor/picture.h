// Pictures as arrays: a PNG or JPEG file becomes its pixels, u8[height, width, channels], and pixels are resized.
#pragma once

#include "engine/base/result.h"
#include "engine/tensor/npy.h"

#include <cstddef>
#include <span>

namespace loopscope {

/// By its first bytes.
bool isPicture(std::span<const std::byte> content);

/// The pixels with 1 (grey), 3 (RGB) or 4 (RGBA) channels, 8 bits each; what is transparent stands before black where no alpha is asked
/// for. Errors: badFile.
Result<Array> readPicture(std::span<const std::byte> content, int channels);

/// u8[height, width, channels] of another size: a triangle filter, as wide as the picture shrinks (Pillow's BILINEAR).
Array resizedPicture(const Array& pixels, int64_t height, int64_t width);

} // namespace loopscope
