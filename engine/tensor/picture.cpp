#include "engine/tensor/picture.h"

#include <png.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace loopscope {

namespace {

constexpr uint64_t kMostPixels = uint64_t{1} << 28;

/// What the samples of one axis weigh in one place of the resized axis.
struct Weights {
    int64_t first = 0;
    std::vector<float> of;
};

std::vector<Weights> weightsOf(int64_t from, int64_t to)
{
    std::vector<Weights> all(static_cast<size_t>(to));
    const double scale = static_cast<double>(from) / static_cast<double>(to), reach = std::max(1.0, scale);
    for (int64_t i = 0; i < to; ++i) {
        const double middle = (static_cast<double>(i) + 0.5) * scale;
        Weights& weights = all[static_cast<size_t>(i)];
        weights.first = std::max<int64_t>(0, std::llround(middle - reach));
        const int64_t end = std::clamp<int64_t>(std::llround(middle + reach), weights.first + 1, from);
        weights.first = std::min(weights.first, end - 1);
        float sum = 0;
        for (int64_t at = weights.first; at < end; ++at) {
            const double away = std::fabs((static_cast<double>(at) + 0.5 - middle) / reach);
            weights.of.push_back(static_cast<float>(std::max(0.0, 1 - away)));
            sum += weights.of.back();
        }
        for (float& weight : weights.of) weight = sum > 0 ? weight / sum : 1 / static_cast<float>(weights.of.size());
    }
    return all;
}

} // namespace

bool isPng(std::span<const std::byte> content)
{
    return content.size() >= 8 && std::memcmp(content.data(), "\x89PNG\r\n\x1a\n", 8) == 0;
}

Result<Array> readPng(std::span<const std::byte> content, int channels)
{
    png_image image = {};
    image.version = PNG_IMAGE_VERSION;
    const auto failed = [&] {
        Error error(ErrorCode::badFile, "not a readable PNG: " + std::string(image.message));
        png_image_free(&image);
        return error;
    };
    if (png_image_begin_read_from_memory(&image, content.data(), content.size()) == 0) return failed();
    image.format = channels == 1 ? PNG_FORMAT_GRAY : channels == 4 ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB;
    if (uint64_t{image.width} * image.height > kMostPixels) {
        png_image_free(&image);
        return Error(ErrorCode::badFile, "picture").found(std::to_string(image.width) + "x" + std::to_string(image.height) + " pixels").expected("at most 2^28");
    }
    Array array;
    array.dtype = DType::u8;
    array.shape = Shape{image.height, image.width, channels};
    array.bytes.resize(size_t{image.height} * image.width * static_cast<size_t>(channels));
    constexpr png_color kBlack = {0, 0, 0};
    if (png_image_finish_read(&image, &kBlack, array.bytes.data(), 0, nullptr) == 0) return failed();
    return array;
}

Array resizedPicture(const Array& pixels, int64_t height, int64_t width)
{
    const int64_t rows = pixels.shape[0], columns = pixels.shape[1], channels = pixels.shape[2];
    const std::vector<Weights> across = weightsOf(columns, width), down = weightsOf(rows, height);
    const auto* const from = reinterpret_cast<const uint8_t*>(pixels.bytes.data());
    std::vector<float> narrow(static_cast<size_t>(rows * width * channels)); // as high as before, as wide as wanted
    for (int64_t y = 0; y < rows; ++y)
        for (int64_t x = 0; x < width; ++x)
            for (int64_t c = 0; c < channels; ++c) {
                const Weights& weights = across[static_cast<size_t>(x)];
                float sum = 0;
                for (size_t k = 0; k < weights.of.size(); ++k)
                    sum += weights.of[k] * static_cast<float>(from[(y * columns + weights.first + static_cast<int64_t>(k)) * channels + c]);
                narrow[static_cast<size_t>((y * width + x) * channels + c)] = sum;
            }
    Array out;
    out.dtype = DType::u8;
    out.shape = Shape{height, width, channels};
    out.bytes.resize(static_cast<size_t>(height * width * channels));
    const int64_t line = width * channels;
    for (int64_t y = 0; y < height; ++y)
        for (int64_t at = 0; at < line; ++at) {
            const Weights& weights = down[static_cast<size_t>(y)];
            float sum = 0;
            for (size_t k = 0; k < weights.of.size(); ++k)
                sum += weights.of[k] * narrow[static_cast<size_t>((weights.first + static_cast<int64_t>(k)) * line + at)];
            out.bytes[static_cast<size_t>(y * line + at)] = static_cast<std::byte>(std::clamp(std::lround(sum), 0L, 255L));
        }
    return out;
}

} // namespace loopscope
