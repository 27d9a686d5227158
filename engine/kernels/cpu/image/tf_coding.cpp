// Kernels that read and write picture files held in strings: core/kernels/image/decode_image_op.cc, encode_png_op.cc, encode_jpeg_op.cc,
// extract_jpeg_shape_op.cc. The libraries are those of pictures as inputs.
#include "engine/kernels/cpu/image/gif.h"
#include "engine/kernels/cpu/tf_support.h"
#include "engine/tensor/picture.h"
#include "engine/tensor/strings.h"

#include <cmath>

using namespace loopscope;

namespace {

Result<std::string_view> contentOf(const KernelArgs& args)
{
    if (args.in(0).elementCount() != 1) return invalidArgument("`contents` must be scalar but got shape" + toString(args.in(0).shape));
    LS_TRY(const auto texts, readStrings(args.in(0)));
    return texts[0];
}

std::span<const std::byte> bytesOf(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }

int64_t littleEndian(std::string_view file, size_t at, size_t bytes)
{
    uint64_t value = 0;
    for (size_t i = 0; i < bytes && at + i < file.size(); ++i)
        value |= static_cast<uint64_t>(static_cast<unsigned char>(file[at + i])) << (8 * i);
    return bytes == 4 ? static_cast<int32_t>(value) : static_cast<int64_t>(value);
}

/// Uncompressed pictures of 8, 24 or 32 bits a pixel; rows from below, unless the height is negative.
Result<Array> readBmp(std::string_view file, int channels)
{
    const int64_t begin = littleEndian(file, 10, 4), width = littleEndian(file, 18, 4), height = littleEndian(file, 22, 4);
    const int64_t each = littleEndian(file, 28, 2) / 8, rows = std::abs(height);
    if (file.size() < 54 || begin < 0 || width <= 0 || rows == 0 || (each != 1 && each != 3 && each != 4) || width > (1 << 27) ||
        rows > (1 << 27) || width * rows > (1 << 28))
        return invalidArgument("Incomplete bmp content: width " + std::to_string(width) + ", height " + std::to_string(height) + ", " +
                               std::to_string(each) + " bytes a pixel");
    if (channels != 0 && channels != each)
        return invalidArgument("channels attribute " + std::to_string(channels) + " does not match bits per pixel from file " +
                               std::to_string(each));
    const int64_t stride = (width * each + 3) / 4 * 4;
    if (begin + stride * rows > static_cast<int64_t>(file.size()))
        return invalidArgument("Incomplete bmp content, requires at least " + std::to_string(begin + stride * rows) + " bytes, got " +
                               std::to_string(file.size()));
    Array pixels{DType::u8, Shape({rows, width, each}), std::vector<std::byte>(static_cast<size_t>(rows * width * each))};
    for (int64_t y = 0; y < rows; ++y)
        for (int64_t i = 0; i < width * each; ++i) {
            const int64_t channel = i % each, from = channel == 3 || each == 1 ? channel : 2 - channel; // blue comes first
            const int64_t at = begin + (height < 0 ? y : rows - 1 - y) * stride + i / each * each + from;
            pixels.bytes[static_cast<size_t>(y * width * each + i)] = static_cast<std::byte>(file[static_cast<size_t>(at)]);
        }
    return pixels;
}

/// Grey as libpng makes it where TensorFlow asks: by the weights of sight, not of light.
Array greyOfColours(const Array& pixels)
{
    constexpr int64_t kRed = 9797, kGreen = 19234, kBlue = 32768 - kRed - kGreen; // of 2^15
    Array grey{DType::u8, Shape({pixels.shape[0], pixels.shape[1], 1}), std::vector<std::byte>(pixels.bytes.size() / 3)};
    const auto at = [&](size_t i) { return static_cast<int64_t>(pixels.bytes[i]); };
    for (size_t i = 0; i < grey.bytes.size(); ++i)
        grey.bytes[i] = static_cast<std::byte>((kRed * at(3 * i) + kGreen * at(3 * i + 1) + kBlue * at(3 * i + 2)) >> 15);
    return grey;
}

Result<Array> readPngAsTf(std::string_view file, PictureReading reading)
{
    if (reading.channels != 1) return readPicture(bytesOf(file), reading);
    reading.channels = 0;
    LS_TRY(Array own, readPicture(bytesOf(file), reading));
    if (own.shape[2] == 1) return own;
    reading.channels = 3;
    LS_TRY(Array colours, readPicture(bytesOf(file), reading));
    return greyOfColours(colours);
}

/// Bytes become parts of 1 or of 65,535 where the result's dtype has these.
Status givePixels(const KernelArgs& args, const Array& pixels)
{
    LS_CHECK_OK(tfAllocate(args, 0, pixels.shape));
    Tensor& out = args.out(0);
    for (size_t i = 0; i < pixels.bytes.size(); ++i) {
        const auto value = static_cast<uint8_t>(pixels.bytes[i]);
        if (out.dtype == DType::u16) out.as<uint16_t>()[i] = static_cast<uint16_t>(value * 257);
        else if (out.dtype == DType::f32) out.as<float>()[i] = static_cast<float>(value) / 255.0F;
        else out.as<uint8_t>()[i] = value;
    }
    return {};
}

/// All frames; the only one, or the first one, as a picture where one is wanted.
Status decodeGif(const KernelArgs& args, std::string_view file, int64_t channels)
{
    const std::string_view name = args.paramsAs<Operator>().kind.name;
    if (name == "DecodeBmp") return invalidArgument("Trying to decode GIF format using DecodeBmp op. Use `decode_image` instead.");
    if (channels != 0 && channels != 3) return invalidArgument("channels must be 0 or 3 for GIF, got " + std::to_string(channels));
    const bool isAnimation = name == "DecodeGif" || (name == "DecodeImage" && attributeBool(attributesOf(args), "expand_animations", true));
    LS_TRY(Array frames, GifReader(file).read(name == "DecodeImage" && !isAnimation));
    if (isAnimation) return givePixels(args, frames);
    if (frames.shape[0] != 1)
        return invalidArgument("Got " + std::to_string(frames.shape[0]) +
                               " frames, but animated gifs can only be decoded by tf.io.decode_gif or tf.io.decode_image");
    frames.shape = Shape({frames.shape[1], frames.shape[2], 3});
    return givePixels(args, frames);
}

Status runDecodeGif(const KernelArgs& args)
{
    LS_TRY(const std::string_view file, contentOf(args));
    if (!file.starts_with("GIF8"))
        return invalidArgument("Trying to decode a file that is no GIF using DecodeGif op. Use `decode_image` instead.");
    return decodeGif(args, file, 0);
}

/// Window y, x, height, width of a JPEG file, without what lies beside it.
Status runDecodeCropped(const KernelArgs& args)
{
    LS_TRY(const std::string_view file, contentOf(args));
    const std::vector<int64_t> window = tfIntegers(args.in(1));
    if (window.size() != 4) return invalidArgument("crop_window must have four elements: " + toString(args.in(1).shape));
    const AttributeList& attributes = attributesOf(args);
    const int64_t channels = attributeInt(attributes, "channels", 0), ratio = attributeInt(attributes, "ratio", 1);
    if (channels != 0 && channels != 1 && channels != 3)
        return invalidArgument("channels must be 0, 1, or 3, got " + std::to_string(channels));
    if (ratio != 1 && ratio != 2 && ratio != 4 && ratio != 8)
        return invalidArgument("ratio must be 1, 2, 4, or 8, got " + std::to_string(ratio));
    const Result<Array> pixels = readPicture(bytesOf(file), {static_cast<int>(channels), true, static_cast<int>(ratio),
                                                             attributeBool(attributes, "fancy_upscaling", true),
                                                             attributeString(attributes, "dct_method", "") != "INTEGER_ACCURATE"});
    if (!pixels.ok()) return invalidArgument(pixels.error().message());
    const Shape& shape = pixels->shape;
    if (window[0] < 0 || window[1] < 0 || window[2] <= 0 || window[3] <= 0 || window[2] > shape[0] - window[0] ||
        window[3] > shape[1] - window[1])
        return invalidArgument("jpeg::Uncompress failed. Invalid JPEG data or crop window. Data size " + std::to_string(file.size()));
    Array part{DType::u8, Shape({window[2], window[3], shape[2]}), {}};
    for (int64_t y = 0; y < window[2]; ++y) {
        const auto from = pixels->bytes.begin() + ((window[0] + y) * shape[1] + window[1]) * shape[2];
        part.bytes.insert(part.bytes.end(), from, from + window[3] * shape[2]);
    }
    return givePixels(args, part);
}

Status runDecode(const KernelArgs& args)
{
    LS_TRY(const std::string_view file, contentOf(args));
    const AttributeList& attributes = attributesOf(args);
    const int64_t channels = attributeInt(attributes, "channels", 0), ratio = attributeInt(attributes, "ratio", 1);
    if (channels != 0 && channels != 1 && channels != 3 && channels != 4)
        return invalidArgument("channels must be 0, 1, 3 or 4, got " + std::to_string(channels));
    if (ratio != 1 && ratio != 2 && ratio != 4 && ratio != 8)
        return invalidArgument("ratio must be 1, 2, 4, or 8, got " + std::to_string(ratio));
    PictureReading reading{static_cast<int>(channels), true, static_cast<int>(ratio), attributeBool(attributes, "fancy_upscaling", true),
                           attributeString(attributes, "dct_method", "") != "INTEGER_ACCURATE"};
    if (file.starts_with("GIF8")) return decodeGif(args, file, channels);
    const bool isBmp = file.starts_with("BM");
    if (!isBmp && !isPicture(bytesOf(file))) return invalidArgument("Unknown image file format. One of JPEG, PNG, GIF, BMP required.");
    Result<Array> pixels = isBmp                         ? readBmp(file, reading.channels)
                           : file.starts_with("\x89PNG") ? readPngAsTf(file, reading)
                                                         : readPicture(bytesOf(file), reading);
    if (!pixels.ok()) return invalidArgument(pixels.error().message());
    return givePixels(args, *pixels);
}

/// One file of each picture [..,H,W,C].
template <bool isJpeg> Status runEncode(const KernelArgs& args)
{
    const Tensor& image = args.in(0);
    const Shape& shape = image.shape;
    if (shape.rank() < 3) return invalidArgument("image must be at least rank 3: " + toString(shape));
    const AttributeList& attributes = attributesOf(args);
    const JpegWriting writing{static_cast<int>(attributeInt(attributes, "quality", 95)), attributeBool(attributes, "progressive", false),
                              attributeBool(attributes, "optimize_size", false), attributeBool(attributes, "chroma_downsampling", true)};
    const int first = shape.rank() - 3;
    const int64_t each = shape.countOf(first, shape.rank()) * elementBytes(image);
    std::vector<std::string> files;
    for (int64_t k = 0, n = shape.countOf(0, first); k < n; ++k) {
        Array pixels{image.dtype, Shape({shape[first], shape[first + 1], shape[first + 2]}),
                     std::vector<std::byte>(image.data + k * each, image.data + (k + 1) * each)};
        const Result<std::vector<std::byte>> file = isJpeg ? writeJpeg(pixels, writing) : writePng(pixels);
        if (!file.ok()) return invalidArgument(file.error().message());
        files.emplace_back(reinterpret_cast<const char*>(file->data()), file->size());
    }
    const std::vector<std::string_view> views(files.begin(), files.end());
    return writeStrings(*args.runtime, args.out(0), Shape(shape.dims().first(static_cast<size_t>(first))), views);
}

Status runJpegShape(const KernelArgs& args)
{
    LS_TRY(const std::string_view file, contentOf(args));
    const Result<Array> pixels = readPicture(bytesOf(file), {.channels = 0});
    if (!pixels.ok()) return invalidArgument(pixels.error().message());
    LS_CHECK_OK(tfAllocate(args, 0, Shape({3})));
    for (int d = 0; d < 3; ++d) {
        if (args.out(0).dtype == DType::i64) args.out(0).as<int64_t>()[d] = pixels->shape[d];
        else args.out(0).as<int32_t>()[d] = static_cast<int32_t>(pixels->shape[d]);
    }
    return {};
}

} // namespace

LS_TF_KERNEL(DecodePng, runDecode, "str u8 u16")
LS_TF_KERNEL(DecodeJpeg, runDecode, "str u8")
LS_TF_KERNEL(DecodeImage, runDecode, "str u8 u16 f32")
LS_TF_KERNEL(DecodeBmp, runDecode, "str u8")
LS_TF_KERNEL(EncodePng, runEncode<false>, "u8 u16 str")
LS_TF_KERNEL(EncodeJpeg, runEncode<true>, "u8 str")
LS_TF_KERNEL(ExtractJpegShape, runJpegShape, "str i32 i64")
LS_TF_KERNEL(DecodeGif, runDecodeGif, "str u8")
LS_TF_KERNEL(DecodeAndCropJpeg, runDecodeCropped, "str i32 u8")
