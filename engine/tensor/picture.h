// Pictures as arrays: a PNG or JPEG file becomes its pixels, u8[height, width, channels], and pixels are resized.
#pragma once

#include "engine/base/result.h"
#include "engine/tensor/npy.h"

#include <cstddef>
#include <span>
#include <vector>

namespace loopscope {

/// By its first bytes.
bool isPicture(std::span<const std::byte> content);

/// What becomes of a picture that is read.
struct PictureReading {
    int channels = 3;        ///< 1 (grey), 3 (RGB), 4 (RGBA); 0: as the file has them
    bool dropsAlpha = false; ///< colours without alpha as they stand in the file; else before black
    // Of JPEG files:
    int ratio = 1;        ///< 1, 2, 4 or 8: so much smaller
    bool isSmooth = true; ///< colours of halved channels are mixed
    bool isFast = false;  ///< by the quick and less exact transform
};
/// The pixels, 8 bits each. Errors: badFile.
Result<Array> readPicture(std::span<const std::byte> content, const PictureReading& reading);

/// How a JPEG file is written.
struct JpegWriting {
    int quality = 95; ///< 0 … 100
    bool isProgressive = false, optimizesSize = false, halvesColours = true;
};
/// Files of u8[height, width, channels] with 1, 3 or, in PNG, 4 channels. Errors: execution for other arrays, and where the library fails.
Result<std::vector<std::byte>> writePng(const Array& pixels);
Result<std::vector<std::byte>> writeJpeg(const Array& pixels, const JpegWriting& writing);

/// u8[height, width, channels] of another size: a triangle filter, as wide as the picture shrinks (Pillow's BILINEAR).
Array resizedPicture(const Array& pixels, int64_t height, int64_t width);

} // namespace loopscope
