#include "engine/api/inputs/picture_input.h"

#include "engine/api/inputs/filled_array.h"
#include "engine/tensor/picture.h"
#include "engine/tensor/value_text.h"

#include <cmath>

namespace loopscope {

namespace {

bool holdsChannels(int64_t size) { return size == 1 || size == 3 || size == 4; }

/// Where height, width and channels stand in the input's shape; −1: it has no such axis.
struct Axes {
    int height = -1, width = -1, channels = -1;
};

Result<Axes> axesOf(const Port& port, const Shape& shape, PictureOptions::Layout layout)
{
    const int rank = shape.rank();
    const auto chosen = [&](const Axes& axes) -> Result<Axes> {
        if (rank == 2 || shape[axes.channels] < 0 || holdsChannels(shape[axes.channels])) return axes;
        return Error(ErrorCode::usage, "the input holds no picture")
            .found(shortType(port.type))
            .expected("[N,]height,width and 1, 3 or 4 channels, last or with :nchw");
    };
    if (rank == 2) return chosen({0, 1, -1});
    if (rank != 3 && rank != 4)
        return Error(ErrorCode::usage, "the input holds no picture").found(shortType(port.type)).expected("[N,]height,width and channels");
    if (rank == 4 && shape[0] > 1)
        return Error(ErrorCode::usage, "a picture is one of a batch").found("1").expected(std::to_string(shape[0]));
    const Axes last = {rank - 3, rank - 2, rank - 1}, first = {rank - 2, rank - 1, rank - 3};
    if (layout == PictureOptions::Layout::nchw) return chosen(first);
    if (layout == PictureOptions::Layout::declared && !holdsChannels(shape[last.channels]) && holdsChannels(shape[first.channels]))
        return first;
    return chosen(last);
}

} // namespace

Result<Array> arrayOfPicture(const Port& port, std::span<const std::byte> file, const PictureOptions& options,
                             std::vector<std::string>& notes)
{
    const DType dtype = port.type.dtype;
    if (!isFloat(dtype) && !isInteger(dtype))
        return Error(ErrorCode::usage, "a picture gives numbers").expected(std::string(dtypeName(dtype)));
    Shape shape = port.type.dynamicShape();
    if (!shape.hasRank()) shape = options.layout == PictureOptions::Layout::nchw ? Shape{1, 3, -1, -1} : Shape{1, -1, -1, 3};
    LS_TRY(const Axes axes, axesOf(port, shape, options.layout));
    const int64_t channels = axes.channels < 0 ? 1 : shape[axes.channels] < 0 ? 3 : shape[axes.channels];
    LS_TRY(Array pixels, readPicture(file, {.channels = static_cast<int>(channels)}));
    const int64_t height = shape[axes.height] < 0 ? pixels.shape[0] : shape[axes.height];
    const int64_t width = shape[axes.width] < 0 ? pixels.shape[1] : shape[axes.width];
    if (height != pixels.shape[0] || width != pixels.shape[1]) {
        const auto size = [](int64_t w, int64_t h) { return std::to_string(w) + "x" + std::to_string(h) + " pixels"; };
        if (!options.fit || height <= 0 || width <= 0)
            return Error(ErrorCode::usage, "found " + size(pixels.shape[1], pixels.shape[0]) + ", expected " + size(width, height) +
                                               "; add ':fit' to resize");
        pixels = resizedPicture(pixels, height, width);
    }
    for (int axis = 0; axis < shape.rank(); ++axis)
        shape[axis] = axis == axes.height ? height : axis == axes.width ? width : axis == axes.channels ? channels : 1;

    const bool affine = port.type.quantization && port.type.quantization->kind == Quantization::Kind::affine && isInteger(dtype);
    const bool ranged = options.range.has_value() || isFloat(dtype);
    const auto [low, high] = options.range.value_or(std::pair(0.0, 1.0));
    if (ranged) notes.push_back("input '" + port.name + "': pixels 0 to 255 become " + realText(low, 7) + " to " + realText(high, 7));
    const double least = dtype == DType::i8 ? -128 : 0;
    const bool channelsFirst = axes.channels >= 0 && axes.channels < axes.height;
    const auto* const bytes = reinterpret_cast<const uint8_t*>(pixels.bytes.data());
    return filledWith(dtype, shape, height * width * channels, [&](int64_t i) -> double {
        const int64_t from = channelsFirst ? i % (height * width) * channels + i / (height * width) : i;
        const double pixel = bytes[from];
        if (!ranged) return pixel + least;
        const double real = low + (high - low) * pixel / 255;
        if (isFloat(dtype)) return real;
        return affine ? std::round(real / port.type.quantization->scale()) + static_cast<double>(port.type.quantization->zeroPoint())
                      : std::round(real);
    });
}

} // namespace loopscope
