// Kernels of TensorFlow's operators on pictures: core/kernels/image (adjust_*, resize_*, crop_and_resize_op.cc, non_max_suppression_op.cc).
#include "engine/base/interruption.h"
#include "engine/kernels/cpu/image/cubic_taps.h"
#include "engine/kernels/cpu/image/resized_axis.h"
#include "engine/kernels/cpu/tf_support.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <queue>

using namespace loopscope;

namespace {

/// Hue in sixths of a turn from 0 to 6, saturation and value.
template <typename T> std::array<T, 3> toHsv(T r, T g, T b)
{
    const T value = std::max({r, g, b});
    const T range = value - std::min({r, g, b});
    T hue = 0;
    if (range > 0) {
        if (r == value) hue = (g - b) / range;
        else if (g == value) hue = (b - r) / range + 2;
        else hue = (r - g) / range + 4;
        if (hue < 0) hue += 6;
    }
    return {hue, value > 0 ? range / value : 0, value};
}

/// Hue turned by sixths of a turn, between the largest and the smallest channel, with the operations of
/// core/kernels/image/adjust_hue_op.cc.
std::array<float, 3> turnHue(const std::array<float, 3>& rgb, float sixths)
{
    const auto [least, most] = std::minmax({rgb[0], rgb[1], rgb[2]});
    float hue = 0;
    if (most > least) {
        // Sixth k of the turn rises or falls in one channel, between the two others; where two are equal either side will do.
        const auto [r, g, b] = rgb;
        const int sixth = r < g ? (b < r ? 1 : b > g ? 3 : 2) : (b < g ? 0 : b > r ? 4 : 5);
        const float middle = std::max(std::min(r, g), std::min(std::max(r, g), b));
        const float share = (middle - least) / (most - least);
        hue = static_cast<float>(sixth) + (sixth % 2 == 0 ? share : 1.0F - share);
    }
    hue += sixths;
    if (!(std::abs(hue) < 1e6F)) hue = std::fmod(hue, 6.0F); // the loops below would not end
    while (hue < 0.0F) hue += 6.0F;
    while (hue >= 6.0F) hue -= 6.0F;
    const int sixth = std::isnan(hue) ? 0 : static_cast<int>(hue);
    const float share = hue - static_cast<float>(sixth);
    const float middle = least + (sixth % 2 == 0 ? share : 1.0F - share) * (most - least);
    switch (sixth) {
    case 0: return {most, middle, least};
    case 1: return {middle, most, least};
    case 2: return {least, most, middle};
    case 3: return {least, middle, most};
    case 4: return {middle, least, most};
    default: return {most, least, middle};
    }
}

/// The saturation times a factor, with the operations of core/kernels/image/adjust_saturation_op.cc.
std::array<float, 3> scaleSaturation(const std::array<float, 3>& rgb, float factor)
{
    const auto [r, g, b] = rgb;
    const float value = std::max({r, g, b}), range = value - std::min({r, g, b});
    const float norm = 1.0F / (6.0F * range);
    float hue = 0;
    if (r == value) hue = norm * (g - b);
    else if (g == value) hue = static_cast<float>(static_cast<double>(norm * (b - r)) + 2.0 / 6.0);
    else hue = static_cast<float>(static_cast<double>(norm * (r - g)) + 4.0 / 6.0);
    if (range <= 0.0F) hue = 0.0F;
    if (hue < 0.0F) hue = hue + 1.0F;
    const float saturation = std::min(1.0F, std::max(0.0F, (value > 0.0F ? range / value : 0.0F) * factor));
    const float chroma = saturation * value, least = value - chroma, sixths = hue * 6.0F;
    if (!(sixths >= 0.0F && sixths < 6.0F)) return {least, least, least};
    float turned = sixths; // in (0, 2), as far as the exact multiples of 2 allow
    while (turned <= 0.0F) turned += 2.0F;
    while (turned >= 2.0F) turned -= 2.0F;
    const float other = chroma * (1.0F - std::abs(turned - 1.0F));
    const float high = chroma + least, middle = other + least;
    switch (static_cast<int>(sixths)) {
    case 0: return {high, middle, least};
    case 1: return {middle, high, least};
    case 2: return {least, high, middle};
    case 3: return {least, middle, high};
    case 4: return {middle, least, high};
    default: return {high, least, middle};
    }
}

template <bool turnsHue> Status runAdjust(const KernelArgs& args)
{
    const Shape& shape = args.in(0).shape;
    if (shape.rank() < 3 || shape.back() != 3)
        return invalidArgument("input must have 3 channels but instead has shape " + toString(shape));
    if (args.in(1).elementCount() != 1) return invalidArgument("delta must be scalar: " + toString(args.in(1).shape));
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    const float amount = *args.in(1).as<float>();
    return forDType<TypeList<float, Half>>(args.in(0).dtype, [&]<typename T>() -> Status {
        const T* in = args.in(0).as<T>();
        T* out = args.out(0).as<T>();
        for (int64_t i = 0, n = shape.elementCount(); i < n; i += 3) {
            const std::array<float, 3> given = {Element<T>::load(in[i]), Element<T>::load(in[i + 1]), Element<T>::load(in[i + 2])};
            const std::array<float, 3> rgb = turnsHue ? turnHue(given, amount * 6.0F) : scaleSaturation(given, amount);
            for (int64_t c = 0; c < 3; ++c) out[i + c] = Element<T>::store(rgb[static_cast<size_t>(c)]);
        }
        return {};
    });
}

/// (x − mean) · factor + mean, the mean of each channel of a picture.
Status runAdjustContrast(const KernelArgs& args)
{
    const Shape& shape = args.in(0).shape;
    if (shape.rank() < 3) return invalidArgument("input must be at least 3-D, got shape " + toString(shape));
    if (args.in(1).elementCount() != 1) return invalidArgument("contrast_factor must be scalar: " + toString(args.in(1).shape));
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    const double factor = *args.in(1).as<float>();
    const int64_t channels = shape.back(), pixels = shape[shape.rank() - 3] * shape[shape.rank() - 2];
    const int64_t pictures = shape.countOf(0, shape.rank() - 3);
    return forDType<TypeList<float, Half>>(args.in(0).dtype, [&]<typename T>() -> Status {
        for (int64_t p = 0; p < pictures; ++p)
            for (int64_t c = 0; c < channels; ++c) {
                const T* in = args.in(0).as<T>() + p * pixels * channels + c;
                T* out = args.out(0).as<T>() + p * pixels * channels + c;
                double mean = 0;
                for (int64_t i = 0; i < pixels; ++i) mean += Element<T>::load(in[i * channels]) / static_cast<double>(pixels);
                for (int64_t i = 0; i < pixels; ++i)
                    out[i * channels] = Element<T>::store(static_cast<float>((Element<T>::load(in[i * channels]) - mean) * factor + mean));
            }
        return {};
    });
}

struct Resize {
    std::array<ResizedAxis, 2> axes;
    Shape shape;
};

Result<Resize> resizeOf(const KernelArgs& args)
{
    const Shape& in = args.in(0).shape;
    if (in.rank() != 4) return invalidArgument("input must be 4-dimensional" + toString(in));
    const std::vector<int64_t> size = tfIntegers(args.in(1));
    if (args.in(1).shape.rank() != 1 || size.size() != 2)
        return invalidArgument("shape_t must have two elements" + toString(args.in(1).shape));
    if (size[0] < 1 || size[1] < 1) return invalidArgument("output dimensions must be positive");
    if (in[1] < 1 || in[2] < 1) return invalidArgument("input image must be of non-zero size");
    const bool corners = attributeBool(attributesOf(args), "align_corners", false);
    const bool centres = attributeBool(attributesOf(args), "half_pixel_centers", false);
    if (corners && centres) return invalidArgument("If half_pixel_centers is True, align_corners must be False.");
    Resize resize;
    resize.shape = Shape({in[0], size[0], size[1], in[3]});
    for (int a = 0; a < 2; ++a) {
        const int64_t from = in[a + 1], to = size[static_cast<size_t>(a)];
        resize.axes[static_cast<size_t>(a)] = ResizedAxis::of(from, to, corners, centres);
    }
    return resize;
}

/// Between four pixels of a picture of `width`, for channel c.
template <typename T> float between(const T* picture, int64_t width, int64_t channels, int64_t c, const Neighbours& y, const Neighbours& x)
{
    const auto pixel = [&](int64_t row, int64_t column) {
        return static_cast<float>(Element<T>::load(picture[(row * width + column) * channels + c]));
    };
    const float top = pixel(y.low, x.low) + (pixel(y.low, x.high) - pixel(y.low, x.low)) * x.distance;
    const float bottom = pixel(y.high, x.low) + (pixel(y.high, x.high) - pixel(y.high, x.low)) * x.distance;
    return top + (bottom - top) * y.distance;
}

using Reals = TypeList<float, double, Half, BFloat16, uint8_t, int8_t, uint16_t, int16_t, int32_t, int64_t>;

Status runResizeBilinear(const KernelArgs& args)
{
    LS_TRY(const Resize resize, resizeOf(args));
    LS_CHECK_OK(tfAllocate(args, 0, resize.shape));
    const Shape& in = args.in(0).shape;
    float* out = args.out(0).as<float>();
    return forDType<Reals>(args.in(0).dtype, [&]<typename T>() -> Status {
        for (int64_t b = 0; b < in[0]; ++b)
            for (int64_t y = 0; y < resize.shape[1]; ++y) {
                interruptionPoint();
                const Neighbours row = Neighbours::of(resize.axes[0].position(y), in[1]);
                for (int64_t x = 0; x < resize.shape[2]; ++x) {
                    const Neighbours column = Neighbours::of(resize.axes[1].position(x), in[2]);
                    for (int64_t c = 0; c < in[3]; ++c)
                        *out++ = between(args.in(0).as<T>() + b * in.countOf(1, 4), in[2], in[3], c, row, column);
                }
            }
        return {};
    });
}

Status runResizeNearest(const KernelArgs& args)
{
    LS_TRY(const Resize resize, resizeOf(args));
    LS_TRY(const TfSource in, TfSource::of(args.in(0)));
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, resize.shape));
    const Shape& shape = args.in(0).shape;
    for (int64_t i = 0, pixels = resize.shape.countOf(0, 3); i < pixels && shape[3] > 0; ++i) {
        const int64_t x = resize.axes[1].nearest(i % resize.shape[2]), y = resize.axes[0].nearest(i / resize.shape[2] % resize.shape[1]);
        const int64_t from = (i / resize.shape.countOf(1, 3) * shape[1] + y) * shape[2] + x;
        std::memcpy(out.at(i * shape[3]), in.at(from * shape[3]), static_cast<size_t>(shape[3] * in.size()));
    }
    return out.finish();
}

Status runResizeBicubic(const KernelArgs& args)
{
    LS_TRY(const Resize resize, resizeOf(args));
    LS_CHECK_OK(tfAllocate(args, 0, resize.shape));
    const Shape& in = args.in(0).shape;
    const bool isKeys = resize.axes[0].centres;
    std::vector<CubicTaps> columns;
    for (int64_t x = 0; x < resize.shape[2]; ++x) columns.push_back(CubicTaps::of(resize.axes[1].position(x), in[2], isKeys));
    float* out = args.out(0).as<float>();
    return forDType<Reals>(args.in(0).dtype, [&]<typename T>() -> Status {
        for (int64_t b = 0; b < in[0]; ++b)
            for (int64_t y = 0; y < resize.shape[1]; ++y) {
                interruptionPoint();
                const CubicTaps row = CubicTaps::of(resize.axes[0].position(y), in[1], isKeys);
                for (const CubicTaps& column : columns)
                    for (int64_t c = 0; c < in[3]; ++c) {
                        const auto pixel = [&](int64_t py, int64_t px) {
                            return static_cast<float>(Element<T>::load(args.in(0).as<T>()[((b * in[1] + py) * in[2] + px) * in[3] + c]));
                        };
                        std::array<float, 4> across = {};
                        for (size_t k = 0; k < 4; ++k)
                            across[k] = row.mix({pixel(row.pixels[0], column.pixels[k]), pixel(row.pixels[1], column.pixels[k]),
                                                 pixel(row.pixels[2], column.pixels[k]), pixel(row.pixels[3], column.pixels[k])});
                        *out++ = column.mix(across);
                    }
            }
        return {};
    });
}

/// The pixels that a pixel of the result covers along one axis, and how much of each.
struct Cover {
    int64_t first = 0;
    std::vector<float> shares;

    static Cover of(int64_t i, float scale)
    {
        const float begin = static_cast<float>(i) * scale, end = static_cast<float>(i + 1) * scale;
        Cover cover{static_cast<int64_t>(std::floor(begin)), {}};
        for (auto at = cover.first, stop = static_cast<int64_t>(std::ceil(end)); at < stop; ++at) {
            const auto low = static_cast<float>(at), high = static_cast<float>(at + 1);
            cover.shares.push_back(low < begin ? (high > end ? scale : high - begin) : high > end ? end - low : 1.0F);
        }
        return cover;
    }
};

Status runResizeArea(const KernelArgs& args)
{
    LS_TRY(Resize resize, resizeOf(args));
    LS_CHECK_OK(tfAllocate(args, 0, resize.shape));
    const Shape& in = args.in(0).shape;
    for (int a = 0; a < 2; ++a) // a single pixel with its corners aligned covers all there is
        if (ResizedAxis& axis = resize.axes[static_cast<size_t>(a)]; axis.scale == 0)
            axis.scale = static_cast<float>(in[a + 1]) / static_cast<float>(resize.shape[a + 1]);
    const float whole = 1 / (resize.axes[0].scale * resize.axes[1].scale);
    float* out = args.out(0).as<float>();
    return forDType<Reals>(args.in(0).dtype, [&]<typename T>() -> Status {
        LoopPace pace;
        for (int64_t b = 0; b < in[0]; ++b)
            for (int64_t y = 0; y < resize.shape[1]; ++y) {
                const Cover rows = Cover::of(y, resize.axes[0].scale);
                for (int64_t x = 0; x < resize.shape[2]; ++x) {
                    const Cover columns = Cover::of(x, resize.axes[1].scale);
                    for (int64_t c = 0; c < in[3]; ++c) {
                        float sum = 0;
                        pace.did(static_cast<int64_t>(rows.shares.size() * columns.shares.size()));
                        for (size_t r = 0; r < rows.shares.size(); ++r)
                            for (size_t k = 0; k < columns.shares.size(); ++k) {
                                const int64_t py = std::min(rows.first + static_cast<int64_t>(r), in[1] - 1);
                                const int64_t px = std::min(columns.first + static_cast<int64_t>(k), in[2] - 1);
                                const auto pixel =
                                    static_cast<float>(Element<T>::load(args.in(0).as<T>()[((b * in[1] + py) * in[2] + px) * in[3] + c]));
                                sum += pixel * rows.shares[r] * columns.shares[k] * whole;
                            }
                        *out++ = sum;
                    }
                }
            }
        return {};
    });
}

/// Between red, green, blue and hue, saturation, value; all from 0 to 1 (core/kernels/image/colorspace_op.h).
template <bool toHue> Status runColours(const KernelArgs& args)
{
    const Shape& shape = args.in(0).shape;
    if (shape.rank() < 1) return invalidArgument("input must be at least 1D" + toString(shape));
    if (shape.back() != 3)
        return tfError(TfCode::failedPrecondition,
                       "input must have 3 channels but input only has " + std::to_string(shape.back()) + " channels.");
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    return forDType<TfFloats>(args.in(0).dtype, [&]<typename T>() -> Status {
        for (int64_t i = 0, n = shape.elementCount(); i < n; i += 3) {
            using C = typename Element<T>::Compute;
            const auto part = [&](int64_t k) { return Element<T>::load(args.in(0).as<T>()[i + k]); };
            std::array<C, 3> result = {};
            if (toHue) {
                result = toHsv(part(0), part(1), part(2));
                result[0] /= 6;
            } else {
                const C hue = part(0) * 6;
                const std::array<C, 3> shares = {std::abs(hue - 3) - 1, 2 - std::abs(hue - 2), 2 - std::abs(hue - 4)};
                for (size_t k = 0; k < 3; ++k) result[k] = (1 - part(1) + part(1) * std::clamp(shares[k], C(0), C(1))) * part(2);
            }
            for (int64_t k = 0; k < 3; ++k) args.out(0).as<T>()[i + k] = Element<T>::store(result[static_cast<size_t>(k)]);
        }
        return {};
    });
}

/// Boxes in parts of the picture's size, each resized to one size; what lies outside becomes extrapolation_value.
Status runCropAndResize(const KernelArgs& args)
{
    const Shape& in = args.in(0).shape;
    const Shape& boxes = args.in(1).shape;
    if (in.rank() != 4) return invalidArgument("input image must be 4-D" + toString(in));
    if (boxes.rank() != 2 || boxes[1] != 4) return invalidArgument("boxes must have 4 columns" + toString(boxes));
    const std::vector<int64_t> pictures = tfIntegers(args.in(2)), size = tfIntegers(args.in(3));
    if (static_cast<int64_t>(pictures.size()) != boxes[0]) return invalidArgument("box_index has incompatible shape");
    if (size.size() != 2) return invalidArgument("crop_size must have two elements, got shape " + toString(args.in(3).shape));
    if (size[0] < 1 || size[1] < 1) return invalidArgument("crop dimensions must be positive");
    if (in[1] < 1 || in[2] < 1) return invalidArgument("image dimensions must be positive");
    for (const int64_t picture : pictures)
        if (picture < 0 || picture >= in[0]) return tfError(TfCode::outOfRange, "box_index has values outside [0, batch_size)");
    LS_CHECK_OK(tfAllocate(args, 0, Shape({boxes[0], size[0], size[1], in[3]})));
    const bool nearest = attributeString(attributesOf(args), "method", "bilinear") == "nearest";
    const auto outside = static_cast<float>(attributeFloat(attributesOf(args), "extrapolation_value", 0));
    float* out = args.out(0).as<float>();
    return forDType<Reals>(args.in(0).dtype, [&]<typename T>() -> Status {
        LoopPace pace;
        for (int64_t b = 0; b < boxes[0]; ++b) {
            const float* box = args.in(1).as<float>() + 4 * b;
            const T* picture = args.in(0).as<T>() + pictures[static_cast<size_t>(b)] * in.countOf(1, 4);
            const auto place = [&](int axis, int64_t i) {
                const auto last = static_cast<float>(in[axis + 1] - 1);
                const int64_t count = size[static_cast<size_t>(axis)];
                if (count == 1) return 0.5F * (box[axis] + box[axis + 2]) * last;
                return box[axis] * last + static_cast<float>(i) * ((box[axis + 2] - box[axis]) * last / static_cast<float>(count - 1));
            };
            const auto pixelAt = [&](int axis, float at) { return std::min(static_cast<int64_t>(std::round(at)), in[axis + 1] - 1); };
            const auto isInside = [&](int axis, float at) { return at >= 0 && at <= static_cast<float>(in[axis + 1] - 1); };
            for (int64_t y = 0; y < size[0]; ++y)
                for (int64_t x = 0; x < size[1]; ++x) {
                    pace.did(in[3]);
                    const float atY = place(0, y), atX = place(1, x);
                    const bool inside = isInside(0, atY) && isInside(1, atX);
                    for (int64_t c = 0; c < in[3]; ++c) {
                        if (!inside) *out++ = outside;
                        else if (nearest)
                            *out++ = static_cast<float>(Element<T>::load(picture[(pixelAt(0, atY) * in[2] + pixelAt(1, atX)) * in[3] + c]));
                        else *out++ = between(picture, in[2], in[3], c, Neighbours::of(atY, in[1]), Neighbours::of(atX, in[2]));
                    }
                }
        }
        return {};
    });
}

/// Intersection over union of two boxes of two opposite corners each.
float overlap(const float* a, const float* b)
{
    const auto low = [](const float* box, int axis) { return std::min(box[axis], box[axis + 2]); };
    const auto high = [](const float* box, int axis) { return std::max(box[axis], box[axis + 2]); };
    const auto area = [&](const float* box) { return (high(box, 0) - low(box, 0)) * (high(box, 1) - low(box, 1)); };
    if (area(a) <= 0 || area(b) <= 0) return 0;
    const float height = std::max(std::min(high(a, 0), high(b, 0)) - std::max(low(a, 0), low(b, 0)), 0.0F);
    const float width = std::max(std::min(high(a, 1), high(b, 1)) - std::max(low(a, 1), low(b, 1)), 0.0F);
    return height * width / (area(a) + area(b) - height * width);
}

struct SuppressionLimits {
    int64_t most = 0;
    float overlap = 0.5F, score = -std::numeric_limits<float>::infinity(), sigma = 0;
};

struct Chosen {
    std::vector<int32_t> boxes;
    std::vector<float> scores;
};

/// Boxes by falling score that no better one overlaps too much; with a sigma, overlaps lower a score instead. `sharedBy` says how much
/// two share.
template <typename Shared> Chosen suppress(const Shared& sharedBy, const std::vector<float>& scores, const SuppressionLimits& limits)
{
    struct Candidate {
        float score;
        int32_t box;
        size_t compared; ///< boxes chosen before this one that it has been compared with
        bool operator<(const Candidate& other) const { return score != other.score ? score < other.score : box > other.box; }
    };
    std::priority_queue<Candidate> waiting;
    for (size_t i = 0; i < scores.size(); ++i)
        if (scores[i] > limits.score) waiting.push({scores[i], static_cast<int32_t>(i), 0});
    Chosen chosen;
    LoopPace pace;
    while (static_cast<int64_t>(chosen.boxes.size()) < limits.most && !waiting.empty()) {
        Candidate next = waiting.top();
        waiting.pop();
        pace.did(static_cast<int64_t>(chosen.boxes.size() - next.compared));
        const float before = next.score;
        bool dropped = false;
        for (size_t j = chosen.boxes.size(); j-- > next.compared && !dropped;) {
            const float shared = sharedBy(static_cast<size_t>(next.box), static_cast<size_t>(chosen.boxes[j]));
            if (limits.sigma > 0) next.score *= std::exp(-0.5F / limits.sigma * shared * shared); // however much they share
            dropped = limits.sigma > 0 ? next.score <= limits.score : shared > limits.overlap;
        }
        next.compared = chosen.boxes.size();
        if (dropped) continue;
        if (next.score == before) {
            chosen.boxes.push_back(next.box);
            chosen.scores.push_back(next.score);
        } else if (next.score > limits.score) {
            waiting.push(next);
        }
    }
    return chosen;
}

std::vector<float> floatsOf(const Tensor& tensor)
{
    std::vector<float> values(static_cast<size_t>(tensor.elementCount()));
    for (size_t i = 0; i < values.size(); ++i)
        values[i] = tensor.dtype == DType::f16 ? f16ToFloat(tensor.as<uint16_t>()[i]) : tensor.as<float>()[i];
    return values;
}

/// NonMaxSuppression to its fifth version: operands came one by one, and from the fourth on results.
template <int version> Status runSuppression(const KernelArgs& args)
{
    const Shape& boxes = args.in(0).shape;
    if (boxes.rank() != 2 || boxes[1] != 4) return invalidArgument("boxes must have 4 columns but has shape " + toString(boxes));
    if (!(args.in(1).shape == Shape({boxes[0]}))) return invalidArgument("scores has incompatible shape");
    SuppressionLimits limits;
    LS_TRY(limits.most, tfInteger(args, 2, "max_output_size"));
    if (limits.most < 0) return invalidArgument("output size must be non-negative");
    limits.most = std::min(limits.most, boxes[0]);
    const auto limit = [&](int operand) { return floatsOf(args.in(operand)).at(0); };
    for (int operand = 3; operand < args.inputCount; ++operand)
        if (args.in(operand).elementCount() != 1) return invalidArgument("iou_threshold, score_threshold and soft_nms_sigma must be 0-D");
    limits.overlap = version == 1 ? static_cast<float>(attributeFloat(attributesOf(args), "iou_threshold", 0.5)) : limit(3);
    if (limits.overlap < 0 || limits.overlap > 1) return invalidArgument("iou_threshold must be in [0, 1]");
    if (version >= 3) limits.score = limit(4);
    if (version >= 5) limits.sigma = limit(5);
    if (limits.sigma < 0) return invalidArgument("soft_nms_sigma_ must be non-negative");
    const std::vector<float> corners = floatsOf(args.in(0));
    const auto sharedBy = [&](size_t a, size_t b) { return overlap(&corners[4 * a], &corners[4 * b]); };
    const Chosen chosen = suppress(sharedBy, floatsOf(args.in(1)), limits);
    const auto found = static_cast<int64_t>(chosen.boxes.size());
    const bool pads = version >= 4 && attributeBool(attributesOf(args), "pad_to_max_output_size", false);
    LS_TRY(const int64_t most, tfInteger(args, 2, "max_output_size"));
    const Shape shape({pads ? most : found});
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    for (int64_t i = 0; i < shape[0]; ++i) args.out(0).as<int32_t>()[i] = i < found ? chosen.boxes[static_cast<size_t>(i)] : 0;
    if (version >= 5) {
        LS_CHECK_OK(tfAllocate(args, 1, shape));
        for (int64_t i = 0; i < shape[0]; ++i) {
            const float score = i < found ? chosen.scores[static_cast<size_t>(i)] : 0;
            if (args.out(1).dtype == DType::f16) args.out(1).as<uint16_t>()[i] = floatToF16(score);
            else args.out(1).as<float>()[i] = score;
        }
    }
    if (version < 4) return {};
    constexpr int kCount = version >= 5 ? 2 : 1;
    LS_CHECK_OK(tfAllocate(args, kCount, Shape()));
    *args.out(kCount).as<int32_t>() = static_cast<int32_t>(found);
    return {};
}

/// The same where a matrix says how much two boxes share, whatever that means.
Status runSuppressionWithOverlaps(const KernelArgs& args)
{
    const Shape& shape = args.in(0).shape;
    if (shape.rank() != 2 || shape[0] != shape[1]) return invalidArgument("overlaps must be square, got shape " + tfShapeText(shape));
    if (!(args.in(1).shape == Shape({shape[0]}))) return invalidArgument("scores has incompatible shape");
    for (int operand = 2; operand < 5; ++operand)
        if (args.in(operand).shape.rank() != 0)
            return invalidArgument("max_output_size, overlap_threshold and score_threshold must be 0-D");
    SuppressionLimits limits;
    LS_TRY(limits.most, tfInteger(args, 2, "max_output_size"));
    if (limits.most < 0) return invalidArgument("output size must be non-negative");
    limits.overlap = *args.in(3).as<float>();
    limits.score = *args.in(4).as<float>();
    const auto sharedBy = [&](size_t a, size_t b) { return args.in(0).as<float>()[a * static_cast<size_t>(shape[0]) + b]; };
    const Chosen chosen = suppress(sharedBy, floatsOf(args.in(1)), limits);
    LS_CHECK_OK(tfAllocate(args, 0, Shape({static_cast<int64_t>(chosen.boxes.size())})));
    std::ranges::copy(chosen.boxes, args.out(0).as<int32_t>());
    return {};
}

constexpr std::string_view kReals = "f32 f64 f16 bf16 u8 i8 u16 i16 i32 i64";

} // namespace

LS_TF_KERNEL(AdjustHue, runAdjust<true>, "f32 f16")
LS_TF_KERNEL(AdjustSaturation, runAdjust<false>, "f32 f16")
LS_TF_KERNEL(AdjustContrastv2, runAdjustContrast, "f32 f16")
LS_TF_KERNEL(ResizeBilinear, runResizeBilinear, kReals)
LS_TF_KERNEL(ResizeNearestNeighbor, runResizeNearest, kReals)
LS_TF_KERNEL(ResizeBicubic, runResizeBicubic, kReals)
LS_TF_KERNEL(ResizeArea, runResizeArea, kReals)
LS_TF_KERNEL(RGBToHSV, runColours<true>, "f32 f64 f16 bf16")
LS_TF_KERNEL(HSVToRGB, runColours<false>, "f32 f64 f16 bf16")
LS_TF_KERNEL(CropAndResize, runCropAndResize, kReals)
LS_TF_KERNEL(NonMaxSuppression, runSuppression<1>, "f32")
LS_TF_KERNEL(NonMaxSuppressionV2, runSuppression<2>, "f32 f16")
LS_TF_KERNEL(NonMaxSuppressionV3, runSuppression<3>, "f32 f16")
LS_TF_KERNEL(NonMaxSuppressionV4, runSuppression<4>, "f32 f16")
LS_TF_KERNEL(NonMaxSuppressionV5, runSuppression<5>, "f32 f16")
LS_TF_KERNEL(NonMaxSuppressionWithOverlaps, runSuppressionWithOverlaps, "f32")
