#include "engine/tensor/picture.h"

#include "engine/base/memory_budget.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include <jerror.h>
#include <jpeglib.h>
#include <png.h>

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

bool beginsWith(std::span<const std::byte> content, std::string_view mark)
{
    return content.size() >= mark.size() && std::memcmp(content.data(), mark.data(), mark.size()) == 0;
}

bool isPng(std::span<const std::byte> content) { return beginsWith(content, "\x89PNG\r\n\x1a\n"); }

Array pixelArray(uint64_t height, uint64_t width, int channels)
{
    Array array;
    array.dtype = DType::u8;
    array.shape = Shape{static_cast<int64_t>(height), static_cast<int64_t>(width), channels};
    array.bytes.resize(height * width * static_cast<uint64_t>(channels));
    return array;
}

Status checkSize(uint64_t height, uint64_t width)
{
    if (height * width <= kMostPixels) return checkMemory(height * width * 4, "picture");
    return Error(ErrorCode::badFile, "picture")
        .found(std::to_string(width) + "x" + std::to_string(height) + " pixels")
        .expected("at most 2^28");
}

struct PngReader {
    png_image image = {};
    ~PngReader() { png_image_free(&image); }
};

/// RGB of RGBA.
Array withoutAlpha(const Array& pixels)
{
    Array array = pixelArray(static_cast<uint64_t>(pixels.shape[0]), static_cast<uint64_t>(pixels.shape[1]), 3);
    for (size_t i = 0; i < array.bytes.size(); ++i) array.bytes[i] = pixels.bytes[i / 3 * 4 + i % 3];
    return array;
}

Result<Array> readPng(std::span<const std::byte> content, const PictureReading& reading)
{
    PngReader reader;
    png_image& image = reader.image;
    image.version = PNG_IMAGE_VERSION;
    const auto failed = [&] { return Error(ErrorCode::badFile, "not a readable PNG: " + std::string(image.message)); };
    if (png_image_begin_read_from_memory(&image, content.data(), content.size()) == 0) return failed();
    const bool hasAlpha = (image.format & PNG_FORMAT_FLAG_ALPHA) != 0, hasColour = (image.format & PNG_FORMAT_FLAG_COLOR) != 0;
    const int channels = reading.channels != 0 ? reading.channels : hasAlpha ? 4 : hasColour ? 3 : 1;
    const bool drops = channels == 3 && hasAlpha && reading.dropsAlpha;
    image.format = channels == 1 ? PNG_FORMAT_GRAY : channels == 4 || drops ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB;
    LS_CHECK_OK(checkSize(image.height, image.width));
    Array array = pixelArray(image.height, image.width, drops ? 4 : channels);
    constexpr png_color kBlack = {0, 0, 0};
    if (png_image_finish_read(&image, &kBlack, array.bytes.data(), 0, nullptr) == 0) return failed();
    return drops ? withoutAlpha(array) : array;
}

/// libjpeg reports errors by a jump: what it jumps over is plain data only.
struct JpegReader {
    jpeg_decompress_struct state = {};
    jpeg_error_mgr errors = {};
    std::jmp_buf back = {};
    std::array<char, JMSG_LENGTH_MAX> message = {};

    ~JpegReader() { jpeg_destroy_decompress(&state); }

    /// False: `message` says why.
    bool begin(std::span<const std::byte> content, const PictureReading& reading)
    {
        state.err = jpeg_std_error(&errors);
        state.client_data = this;
        errors.error_exit = [](j_common_ptr common) {
            auto* const self = static_cast<JpegReader*>(common->client_data);
            common->err->format_message(common, self->message.data());
            std::longjmp(self->back, 1);
        };
        errors.output_message = [](j_common_ptr) {};
        errors.emit_message = [](j_common_ptr common, int level) { // of the warnings one says that pixels are missing
            if (level < 0 && common->err->msg_code == JWRN_HIT_MARKER) common->err->error_exit(common);
        };
        if (setjmp(back) != 0) return false;
        jpeg_create_decompress(&state);
        state.client_data = this;
        jpeg_mem_src(&state, reinterpret_cast<const unsigned char*>(content.data()), content.size());
        jpeg_read_header(&state, TRUE);
        const int channels = reading.channels != 0 ? reading.channels : state.num_components == 1 ? 1 : 3;
        state.scale_num = 1;
        state.scale_denom = static_cast<unsigned>(reading.ratio);
        state.do_fancy_upsampling = reading.isSmooth ? TRUE : FALSE;
        state.dct_method = reading.isFast ? JDCT_IFAST : JDCT_ISLOW;
        state.out_color_space = channels == 1 ? JCS_GRAYSCALE : channels == 4 ? JCS_EXT_RGBA : JCS_RGB;
        jpeg_calc_output_dimensions(&state);
        return true;
    }
    bool read(unsigned char* pixels, size_t stride)
    {
        if (setjmp(back) != 0) return false;
        jpeg_start_decompress(&state);
        while (state.output_scanline < state.output_height) {
            unsigned char* row = pixels + state.output_scanline * stride;
            jpeg_read_scanlines(&state, &row, 1);
        }
        jpeg_finish_decompress(&state);
        return true;
    }
};

Result<Array> readJpeg(std::span<const std::byte> content, const PictureReading& reading)
{
    const auto reader = std::make_unique<JpegReader>();
    const auto failed = [&] { return Error(ErrorCode::badFile, "not a readable JPEG: " + std::string(reader->message.data())); };
    if (!reader->begin(content, reading)) return failed();
    LS_CHECK_OK(checkSize(reader->state.image_height, reader->state.image_width));
    const uint64_t rows = reader->state.output_height;
    Array array = pixelArray(rows, reader->state.output_width, reader->state.output_components);
    if (!reader->read(reinterpret_cast<unsigned char*>(array.bytes.data()), array.bytes.size() / std::max<uint64_t>(1, rows)))
        return failed();
    return array;
}

/// libjpeg's errors again, while writing.
struct JpegWriter {
    jpeg_compress_struct state = {};
    jpeg_error_mgr errors = {};
    std::jmp_buf back = {};
    std::array<char, JMSG_LENGTH_MAX> message = {};
    unsigned char* content = nullptr;
    unsigned long size = 0;

    ~JpegWriter()
    {
        jpeg_destroy_compress(&state);
        std::free(content); // libjpeg's, by malloc
    }

    /// False: `message` says why.
    bool write(const Array& pixels, const JpegWriting& writing)
    {
        state.err = jpeg_std_error(&errors);
        state.client_data = this;
        errors.error_exit = [](j_common_ptr common) {
            auto* const self = static_cast<JpegWriter*>(common->client_data);
            common->err->format_message(common, self->message.data());
            std::longjmp(self->back, 1);
        };
        if (setjmp(back) != 0) return false;
        jpeg_create_compress(&state);
        state.client_data = this;
        jpeg_mem_dest(&state, &content, &size);
        state.image_height = static_cast<unsigned>(pixels.shape[0]);
        state.image_width = static_cast<unsigned>(pixels.shape[1]);
        state.input_components = static_cast<int>(pixels.shape[2]);
        state.in_color_space = pixels.shape[2] == 1 ? JCS_GRAYSCALE : JCS_RGB;
        jpeg_set_defaults(&state);
        jpeg_set_quality(&state, std::clamp(writing.quality, 0, 100), TRUE);
        if (writing.isProgressive) jpeg_simple_progression(&state);
        if (!writing.halvesColours) state.comp_info[0].h_samp_factor = state.comp_info[0].v_samp_factor = 1;
        state.optimize_coding = writing.optimizesSize ? TRUE : FALSE;
        state.density_unit = 1; // dots per inch, as TensorFlow writes them
        state.X_density = state.Y_density = 300;
        jpeg_start_compress(&state, TRUE);
        const auto stride = static_cast<size_t>(pixels.shape[1] * pixels.shape[2]);
        while (state.next_scanline < state.image_height) {
            auto* row =
                reinterpret_cast<unsigned char*>(const_cast<std::byte*>(pixels.bytes.data())) + state.next_scanline * stride; // read only
            jpeg_write_scanlines(&state, &row, 1);
        }
        jpeg_finish_compress(&state);
        return true;
    }
};

/// Of pictures with 16 bits a channel, which libpng's simple functions take for light, not for numbers.
struct PngWriter {
    png_structp state = nullptr;
    png_infop info = nullptr;
    std::array<char, 200> message = {};
    std::vector<std::byte> file;

    ~PngWriter() { png_destroy_write_struct(&state, &info); }

    /// False: `message` says why.
    bool write(const Array& pixels)
    {
        const auto fail = [](png_structp png, png_const_charp text) {
            auto* const self = static_cast<PngWriter*>(png_get_error_ptr(png));
            std::snprintf(self->message.data(), self->message.size(), "%s", text);
            png_longjmp(png, 1);
        };
        state = png_create_write_struct(PNG_LIBPNG_VER_STRING, this, fail, [](png_structp, png_const_charp) {});
        if (state == nullptr) return false;
        if (setjmp(png_jmpbuf(state)) != 0) return false;
        info = png_create_info_struct(state);
        const auto append = [](png_structp png, png_bytep data, size_t size) {
            auto& to = static_cast<PngWriter*>(png_get_io_ptr(png))->file;
            const auto* const from = reinterpret_cast<const std::byte*>(data);
            to.insert(to.end(), from, from + size);
        };
        constexpr int kColours[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
        constexpr int kMostMemory = 9; // as TensorFlow asks of zlib
        png_set_write_fn(state, this, append, nullptr);
        png_set_compression_mem_level(state, kMostMemory);
        png_set_IHDR(state, info, static_cast<unsigned>(pixels.shape[1]), static_cast<unsigned>(pixels.shape[0]), 16,
                     kColours[pixels.shape[2] - 1], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
        png_write_info(state, info);
        png_set_swap(state); // the file has the high byte first
        const auto stride = static_cast<size_t>(pixels.shape[1] * pixels.shape[2]) * sizeof(uint16_t);
        for (size_t y = 0; y < static_cast<size_t>(pixels.shape[0]); ++y)
            png_write_row(state, reinterpret_cast<png_const_bytep>(pixels.bytes.data() + y * stride));
        png_write_end(state, nullptr);
        return true;
    }
};

Status checkPixels(const Array& pixels, bool mayHaveAlpha)
{
    const bool isWide = mayHaveAlpha && pixels.dtype == DType::u16 && pixels.shape.rank() == 3 && pixels.shape[2] == 2;
    const bool fits = isWide || ((pixels.dtype == DType::u8 || (mayHaveAlpha && pixels.dtype == DType::u16)) && pixels.shape.rank() == 3 &&
                                 pixels.shape.elementCount() > 0 &&
                                 (pixels.shape[2] == 1 || pixels.shape[2] == 3 || (mayHaveAlpha && pixels.shape[2] == 4)));
    if (fits && pixels.shape.elementCount() > 0 && pixels.shape[0] < 65500 && pixels.shape[1] < 65500) return {};
    return Error(ErrorCode::execution, "a picture")
        .found(std::string(dtypeName(pixels.dtype)) + toString(pixels.shape))
        .expected("u8[height,width,channels] with 1 or 3 channels");
}

} // namespace

Result<std::vector<std::byte>> writePng(const Array& pixels)
{
    LS_CHECK_OK(checkPixels(pixels, true));
    if (pixels.dtype == DType::u16) {
        PngWriter wide;
        if (!wide.write(pixels)) return Error(ErrorCode::execution, "PNG: " + std::string(wide.message.data()));
        return std::move(wide.file);
    }
    PngReader writer;
    png_image& image = writer.image;
    image.version = PNG_IMAGE_VERSION;
    image.height = static_cast<unsigned>(pixels.shape[0]);
    image.width = static_cast<unsigned>(pixels.shape[1]);
    image.format = pixels.shape[2] == 1 ? PNG_FORMAT_GRAY : pixels.shape[2] == 4 ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB;
    png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
    std::vector<std::byte> file(size);
    if (png_image_write_to_memory(&image, file.data(), &size, 0, pixels.bytes.data(), 0, nullptr) == 0)
        return Error(ErrorCode::execution, "PNG: " + std::string(image.message));
    file.resize(size);
    return file;
}

Result<std::vector<std::byte>> writeJpeg(const Array& pixels, const JpegWriting& writing)
{
    LS_CHECK_OK(checkPixels(pixels, false));
    const auto writer = std::make_unique<JpegWriter>();
    if (!writer->write(pixels, writing)) return Error(ErrorCode::execution, "JPEG: " + std::string(writer->message.data()));
    const auto* const content = reinterpret_cast<const std::byte*>(writer->content);
    return std::vector<std::byte>(content, content + writer->size);
}

bool isPicture(std::span<const std::byte> content) { return isPng(content) || beginsWith(content, "\xff\xd8\xff"); }

Result<Array> readPicture(std::span<const std::byte> content, const PictureReading& reading)
{
    return isPng(content) ? readPng(content, reading) : readJpeg(content, reading);
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
