// Kernels of TensorFlow's operators on boxes and pictures beyond resizing: core/kernels/non_max_suppression_op.cc,
// draw_bounding_box_op.cc, scale_and_translate_op.cc, dilation_ops.cc, quantize_and_dequantize_op.h.
#include "engine/base/interruption.h"
#include "engine/kernels/cpu/image/sampling.h"
#include "engine/kernels/cpu/tf_support.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

using namespace loopscope;

namespace {

// ---- CombinedNonMaxSuppression ----

struct BoxCandidate {
    float score = 0;
    int64_t box = 0, category = 0;
};

float boxOverlap(const float* a, const float* b)
{
    const auto area = [](const float* box) {
        return (std::max(box[0], box[2]) - std::min(box[0], box[2])) * (std::max(box[1], box[3]) - std::min(box[1], box[3]));
    };
    if (area(a) <= 0 || area(b) <= 0) return 0;
    const float height =
        std::max(std::min(std::max(a[0], a[2]), std::max(b[0], b[2])) - std::max(std::min(a[0], a[2]), std::min(b[0], b[2])), 0.0F);
    const float width =
        std::max(std::min(std::max(a[1], a[3]), std::max(b[1], b[3])) - std::max(std::min(a[1], a[3]), std::min(b[1], b[3])), 0.0F);
    const float shared = height * width;
    return shared / (area(a) + area(b) - shared);
}

struct CombinedLimits {
    int64_t perClass = 0, total = 0;
    float overlap = 0, score = 0;
};

/// The boxes of one picture and class that stay.
void keepBest(const float* boxes, int64_t boxStride, const float* scores, int64_t scoreStride, int64_t count, int64_t category,
              const CombinedLimits& limits, std::vector<BoxCandidate>& kept)
{
    std::vector<BoxCandidate> open;
    for (int64_t i = 0; i < count; ++i)
        if (scores[i * scoreStride] > limits.score) open.push_back({scores[i * scoreStride], i, category});
    std::ranges::stable_sort(open, [](const BoxCandidate& a, const BoxCandidate& b) { return a.score > b.score; });
    const size_t first = kept.size();
    for (const BoxCandidate& candidate : open) {
        if (static_cast<int64_t>(kept.size() - first) >= limits.perClass) break;
        interruptionPoint();
        const bool overlaps = std::any_of(kept.begin() + static_cast<int64_t>(first), kept.end(), [&](const BoxCandidate& other) {
            return boxOverlap(boxes + candidate.box * boxStride, boxes + other.box * boxStride) > limits.overlap;
        });
        if (!overlaps) kept.push_back(candidate);
    }
}

Result<float> realScalar(const KernelArgs& args, int i, std::string_view name)
{
    if (args.in(i).elementCount() != 1 || args.in(i).dtype != DType::f32)
        return invalidArgument(std::string(name) + " must be 0-D, got shape " + tfShapeText(args.in(i).shape));
    return *args.in(i).as<float>();
}

Status runCombinedSuppression(const KernelArgs& args)
{
    const Shape& boxes = args.in(0).shape;
    const Shape& scores = args.in(1).shape;
    if (boxes.rank() != 4) return invalidArgument("boxes must be 4-D" + toString(boxes));
    if (scores.rank() != 3) return invalidArgument("scores must be 3-D" + toString(scores));
    if (boxes[0] != scores[0] || boxes[1] != scores[1] || boxes[3] != 4)
        return invalidArgument("boxes and scores must have same batch size and as many boxes");
    if (boxes[2] != 1 && boxes[2] != scores[2]) return invalidArgument("third dimension of boxes must be either 1 or num classes");
    CombinedLimits limits;
    LS_TRY(limits.perClass, tfInteger(args, 2, "max_size_per_class"));
    LS_TRY(limits.total, tfInteger(args, 3, "max_total_size"));
    LS_TRY(limits.overlap, realScalar(args, 4, "iou_threshold"));
    LS_TRY(limits.score, realScalar(args, 5, "score_threshold"));
    if (limits.perClass <= 0) return invalidArgument("max_size_per_class must be positive");
    if (limits.total <= 0) return invalidArgument("max_total_size must be > 0");
    if (!(limits.overlap >= 0 && limits.overlap <= 1)) return invalidArgument("iou_threshold must be in [0, 1]");
    const bool pads = attributeBool(attributesOf(args), "pad_per_class", false),
               clips = attributeBool(attributesOf(args), "clip_boxes", true);
    const int64_t batch = boxes[0], count = boxes[1], groups = boxes[2], classes = scores[2];
    const int64_t rows = pads ? std::min(limits.total, limits.perClass * classes) : limits.total;
    LS_CHECK_OK(tfAllocate(args, 0, Shape({batch, rows, 4})));
    LS_CHECK_OK(tfAllocate(args, 1, Shape({batch, rows})));
    LS_CHECK_OK(tfAllocate(args, 2, Shape({batch, rows})));
    LS_CHECK_OK(tfAllocate(args, 3, Shape({batch})));
    for (int k = 0; k < 4; ++k)
        if (args.out(k).bytes > 0) std::memset(args.out(k).data, 0, args.out(k).bytes);
    for (int64_t b = 0; b < batch; ++b) {
        std::vector<BoxCandidate> kept;
        const float* allBoxes = args.in(0).as<float>() + b * count * groups * 4;
        for (int64_t c = 0; c < classes; ++c)
            keepBest(allBoxes + (groups == 1 ? 0 : c) * 4, groups * 4, args.in(1).as<float>() + b * count * classes + c, classes, count, c,
                     limits, kept);
        std::ranges::stable_sort(kept, [](const BoxCandidate& x, const BoxCandidate& y) { return x.score > y.score; });
        const int64_t valid = std::min(static_cast<int64_t>(kept.size()), rows);
        args.out(3).as<int32_t>()[b] = static_cast<int32_t>(valid);
        for (int64_t i = 0; i < valid; ++i) {
            const BoxCandidate& one = kept[static_cast<size_t>(i)];
            const float* box = allBoxes + (one.box * groups + (groups == 1 ? 0 : one.category)) * 4;
            for (int64_t d = 0; d < 4; ++d)
                args.out(0).as<float>()[(b * rows + i) * 4 + d] = clips ? std::max(std::min(box[d], 1.0F), 0.0F) : box[d];
            args.out(1).as<float>()[b * rows + i] = one.score;
            args.out(2).as<float>()[b * rows + i] = static_cast<float>(one.category);
        }
    }
    return {};
}

// ---- DrawBoundingBoxes ----

using BoxColour = std::array<float, 4>;

template <bool hasColours> Status runDrawBoxes(const KernelArgs& args)
{
    const Shape& pictures = args.in(0).shape;
    const Shape& boxes = args.in(1).shape;
    if (pictures.rank() != 4) return invalidArgument("The rank of the images should be 4");
    if (boxes.rank() != 3 || boxes[2] != 4)
        return invalidArgument("The size of the third dimension of the box must be 4. Received: " + toString(boxes));
    if (boxes[0] != pictures[0]) return invalidArgument("The batch sizes should be the same");
    const int64_t height = pictures[1], width = pictures[2], depth = pictures[3];
    if (depth != 1 && depth != 3 && depth != 4) return invalidArgument("Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA)");
    std::vector<BoxColour> colours = {{1, 1, 0, 1},     {0, 0, 1, 1},   {1, 0, 0, 1},   {0, 1, 0, 1}, {0.5, 0, 0.5, 1},
                                      {0.5, 0.5, 0, 1}, {0.5, 0, 0, 1}, {0, 0, 0.5, 1}, {0, 1, 1, 1}, {1, 0, 1, 1}};
    if (hasColours && args.in(2).elementCount() > 0) {
        const Shape& given = args.in(2).shape;
        if (given.rank() != 2 || given[1] < depth) return invalidArgument("colors must be a 2-D matrix with a column for each channel");
        colours.assign(static_cast<size_t>(given[0]), {});
        for (int64_t i = 0; i < given[0]; ++i)
            for (int64_t c = 0; c < std::min<int64_t>(given[1], 4); ++c)
                colours[static_cast<size_t>(i)][static_cast<size_t>(c)] = args.in(2).as<float>()[i * given[1] + c];
    }
    if (depth == 1 && !hasColours)
        for (BoxColour& colour : colours) colour[0] = 1;
    LS_CHECK_OK(tfCopy(args, 0, args.in(0), pictures));
    return forDType<TypeList<float, Half>>(args.in(0).dtype, [&]<typename T>() -> Status {
        T* out = args.out(0).as<T>();
        for (int64_t b = 0; b < pictures[0]; ++b)
            for (int64_t k = 0; k < boxes[1]; ++k) {
                const float* box = args.in(1).as<float>() + (b * boxes[1] + k) * 4;
                for (int d = 0; d < 4; ++d)
                    if (!(std::abs(box[d]) < 1e9F)) return invalidArgument("a box is not finite");
                const auto top = static_cast<int64_t>(box[0] * static_cast<float>(height - 1)),
                           left = static_cast<int64_t>(box[1] * static_cast<float>(width - 1));
                const auto bottom = static_cast<int64_t>(box[2] * static_cast<float>(height - 1)),
                           right = static_cast<int64_t>(box[3] * static_cast<float>(width - 1));
                if (top > bottom || left > right || top >= height || bottom < 0 || left >= width || right < 0) continue;
                const BoxColour& colour = colours[static_cast<size_t>(k) % colours.size()];
                const auto paint = [&](int64_t row, int64_t column) {
                    for (int64_t c = 0; c < depth; ++c)
                        out[((b * height + row) * width + column) * depth + c] = Element<T>::store(colour[static_cast<size_t>(c)]);
                };
                for (const int64_t row : {top, bottom})
                    if (row >= 0 && row < height)
                        for (int64_t x = std::max<int64_t>(left, 0); x <= std::min(right, width - 1); ++x) paint(row, x);
                for (const int64_t column : {left, right})
                    if (column >= 0 && column < width)
                        for (int64_t y = std::max<int64_t>(top, 0); y <= std::min(bottom, height - 1); ++y) paint(y, column);
            }
        return {};
    });
}

// ---- ScaleAndTranslate ----

Status runScaleAndTranslate(const KernelArgs& args)
{
    const Shape& in = args.in(0).shape;
    if (in.rank() != 4) return invalidArgument("input must be 4-dimensional" + toString(in));
    const std::vector<int64_t> size = tfIntegers(args.in(1));
    if (size.size() != 2 || size[0] <= 0 || size[1] <= 0) return invalidArgument("output dimensions must be positive");
    for (const int i : {2, 3})
        if (args.in(i).elementCount() != 2) return invalidArgument("scale and translation must have two elements");
    const float* scale = args.in(2).as<float>();
    const float* shift = args.in(3).as<float>();
    if (!(scale[0] > 0 && scale[1] > 0)) return invalidArgument("Scale must be greater than zero.");
    if (in[1] <= 0 || in[2] <= 0 || in[3] <= 0) return invalidArgument("image must be of non-zero size");
    LS_TRY(const SamplingKernel kernel, samplingKernel(attributeString(attributesOf(args), "kernel_type", "lanczos3")));
    const bool antialias = attributeBool(attributesOf(args), "antialias", true);
    LS_CHECK_OK(tfAllocate(args, 0, Shape({in[0], size[0], size[1], in[3]})));
    const auto rows = sampleSpans(kernel, size[0], in[1], scale[0], shift[0], antialias);
    const auto columns = sampleSpans(kernel, size[1], in[2], scale[1], shift[1], antialias);
    const int64_t width = in[2], depth = in[3];
    return forDType<TypeList<float, double, Half, BFloat16, int8_t, uint8_t, int16_t, uint16_t, int32_t, int64_t>>(
        args.in(0).dtype, [&]<typename T>() -> Status {
            std::vector<float> line(static_cast<size_t>(width * depth));
            float* out = args.out(0).as<float>();
            LoopPace pace;
            for (int64_t b = 0; b < in[0]; ++b)
                for (const SampleSpan& row : rows) {
                    interruptionPoint();
                    std::ranges::fill(line, 0.0F);
                    for (size_t k = 0; k < row.weights.size(); ++k) {
                        const T* source = args.in(0).as<T>() + (b * in[1] + row.start + static_cast<int64_t>(k)) * width * depth;
                        for (size_t i = 0; i < line.size(); ++i)
                            line[i] += row.weights[k] * static_cast<float>(Element<T>::load(source[i]));
                    }
                    for (const SampleSpan& column : columns)
                        for (int64_t c = 0; c < depth; ++c) {
                            pace.did(static_cast<int64_t>(column.weights.size()));
                            float sum = 0;
                            for (size_t k = 0; k < column.weights.size(); ++k)
                                sum += column.weights[k] * line[static_cast<size_t>((column.start + static_cast<int64_t>(k)) * depth + c)];
                            *out++ = sum;
                        }
                }
            return {};
        });
}

// ---- Dilation2D ----

Status runDilation(const KernelArgs& args)
{
    const Shape& in = args.in(0).shape;
    const Shape& filter = args.in(1).shape;
    const std::vector<int64_t> strides = attributeInts(attributesOf(args), "strides"), rates = attributeInts(attributesOf(args), "rates");
    if (in.rank() != 4) return invalidArgument("input must be 4-dimensional: " + toString(in));
    if (filter.rank() != 3) return invalidArgument("filter must be 3-dimensional: " + toString(filter));
    if (filter[2] != in[3])
        return invalidArgument("input and filter must have the same depth: " + std::to_string(in[3]) + " vs " + std::to_string(filter[2]));
    if (strides.size() != 4 || rates.size() != 4 || strides[1] < 1 || strides[2] < 1 || rates[1] < 1 || rates[2] < 1 ||
        std::ranges::any_of(strides, [](int64_t s) { return s > int64_t{1} << 30; }) ||
        std::ranges::any_of(rates, [](int64_t r) { return r > int64_t{1} << 30; }))
        return invalidArgument("strides and rates must have four positive elements");
    const bool same = attributeString(attributesOf(args), "padding", "") == "SAME";
    std::array<int64_t, 2> size = {}, pad = {};
    for (size_t d = 0; d < 2; ++d) {
        const int64_t have = in[static_cast<int>(d) + 1], reach = (filter[static_cast<int>(d)] - 1) * rates[d + 1] + 1,
                      stride = strides[d + 1];
        size[d] = same ? (have + stride - 1) / stride : (have - reach + stride) / stride;
        if (size[d] < 0) return invalidArgument("Computed output size would be negative");
        pad[d] = same ? std::max<int64_t>((size[d] - 1) * stride + reach - have, 0) / 2 : 0;
    }
    LS_CHECK_OK(tfAllocate(args, 0, Shape({in[0], size[0], size[1], in[3]})));
    return forDType<TypeList<float, double, int32_t, int64_t, int8_t, int16_t, uint8_t, uint16_t, Half, BFloat16>>(
        args.in(0).dtype, [&]<typename T>() -> Status {
            using C = typename Element<T>::Compute;
            T* out = args.out(0).as<T>();
            LoopPace pace;
            for (int64_t b = 0; b < in[0]; ++b)
                for (int64_t y = 0; y < size[0]; ++y)
                    for (int64_t x = 0; x < size[1]; ++x)
                        for (int64_t c = 0; c < in[3]; ++c) {
                            pace.did(filter[0] * filter[1]);
                            C most = std::is_floating_point_v<C> ? -std::numeric_limits<C>::max() : std::numeric_limits<C>::min();
                            for (int64_t i = 0; i < filter[0]; ++i)
                                for (int64_t k = 0; k < filter[1]; ++k) {
                                    const int64_t row = y * strides[1] - pad[0] + i * rates[1],
                                                  column = x * strides[2] - pad[1] + k * rates[2];
                                    if (row < 0 || row >= in[1] || column < 0 || column >= in[2]) continue;
                                    const C value = Element<T>::load(args.in(0).as<T>()[((b * in[1] + row) * in[2] + column) * in[3] + c]);
                                    const C sum = static_cast<C>(wrappingAdd(
                                        value, static_cast<C>(Element<T>::load(args.in(1).as<T>()[(i * filter[1] + k) * in[3] + c]))));
                                    if (sum > most) most = sum;
                                }
                            *out++ = Element<T>::store(most);
                        }
            return {};
        });
}

// ---- QuantizeAndDequantize ----

template <typename T> struct FakeQuantRange {
    T low = 0, high = 0, scale = 0, inverse = 0;
};

/// The largest scale with which the range fits the integers; zero stays zero.
template <typename T> FakeQuantRange<T> fakeQuantRange(T low, T high, bool isSigned, int64_t bits, bool narrow)
{
    const int64_t least = isSigned ? -(int64_t{1} << (bits - 1)) + (narrow ? 1 : 0) : 0;
    const int64_t most = isSigned ? (int64_t{1} << (bits - 1)) - 1 : (int64_t{1} << bits) - 1;
    const T lowest = static_cast<T>(least), highest = static_cast<T>(most);
    const T fromLow = lowest * low > 0 ? lowest / low : std::numeric_limits<T>::max();
    const T fromHigh = highest * high > 0 ? highest / high : std::numeric_limits<T>::max();
    if (fromLow < fromHigh) return {low, highest * (low / lowest), fromLow, low / lowest};
    return {lowest * (high / highest), high, fromHigh, high / highest};
}

Status runQuantizeAndDequantize(const KernelArgs& args)
{
    const AttributeList& attributes = attributesOf(args);
    const Shape& shape = args.in(0).shape;
    int64_t bits = attributeInt(attributes, "num_bits", 8);
    if (args.inputCount > 3) {
        LS_TRY(bits, tfInteger(args, 3, "num_bits"));
    }
    const bool isSigned = attributeBool(attributes, "signed_input", true), given = attributeBool(attributes, "range_given", false);
    const bool narrow = attributeBool(attributes, "narrow_range", false),
               halfUp = attributeString(attributes, "round_mode", "HALF_TO_EVEN") == "HALF_UP";
    if (bits <= 0 || bits >= (isSigned ? 62 : 63))
        return invalidArgument("num_bits is out of range: " + std::to_string(bits) + " with signed_input_ " + std::to_string(isSigned));
    const int64_t axis = attributeInt(attributes, "axis", -1);
    if (axis < -1 || axis >= shape.rank())
        return invalidArgument("Axis should be at least -1 and less than the rank. Found: " + std::to_string(axis));
    const int64_t slices = axis < 0 ? 1 : shape[static_cast<int>(axis)];
    int64_t inner = 1;
    for (int d = static_cast<int>(axis) + 1; axis >= 0 && d < shape.rank(); ++d) inner *= shape[d];
    if (given && (args.in(1).elementCount() != slices || args.in(2).elementCount() != slices))
        return invalidArgument("input_min and input_max must have an element for each slice");
    return forDType<TypeList<float, double>>(args.in(0).dtype, [&]<typename T>() -> Status {
        const int64_t count = args.in(0).elementCount();
        const T* in = args.in(0).as<T>();
        const auto sliceOf = [&](int64_t i) { return axis < 0 ? size_t{0} : static_cast<size_t>(i / inner % slices); };
        std::vector<FakeQuantRange<T>> ranges(static_cast<size_t>(slices),
                                              {std::numeric_limits<T>::max(), std::numeric_limits<T>::lowest(), 0, 0});
        for (int64_t i = 0; given && i < slices; ++i) {
            ranges[static_cast<size_t>(i)] = {args.in(1).as<T>()[i], args.in(2).as<T>()[i], 0, 0};
            if (args.in(1).as<T>()[i] > args.in(2).as<T>()[i]) return invalidArgument("Invalid range: input_min > input_max");
        }
        for (int64_t i = 0; !given && i < count; ++i) {
            FakeQuantRange<T>& range = ranges[sliceOf(i)];
            range.low = std::min(range.low, in[i]);
            range.high = std::max(range.high, in[i]);
        }
        for (FakeQuantRange<T>& range : ranges) range = fakeQuantRange<T>(range.low, range.high, isSigned, bits, narrow);
        for (int64_t i = 0; i < count; ++i) {
            const FakeQuantRange<T>& range = ranges[sliceOf(i)];
            const T x = given ? std::max(std::min(in[i], range.high), range.low) : in[i];
            const T scaled = x * range.scale;
            args.out(0).as<T>()[i] = (halfUp ? std::floor(scaled + T(0.5)) : std::nearbyint(scaled)) * range.inverse;
        }
        return {};
    });
}

/// What lies in the range is passed on; the range itself gets nothing.
Status runQuantizeAndDequantizeGrad(const KernelArgs& args)
{
    const Shape &shape = args.in(1).shape, &range = args.in(2).shape;
    if (!(args.in(0).shape == shape))
        return invalidArgument("gradient and input must be the same size: " + toString(args.in(0).shape) + " vs. " + toString(shape));
    const int64_t asked = attributeInt(attributesOf(args), "axis", -1);
    int64_t each = 1, depth = 1; // how many elements lie side by side under one range, and how many ranges there are
    if (asked == -1) {
        for (const int i : {2, 3})
            if (args.in(i).shape.rank() != 0)
                return invalidArgument(std::string(i == 2 ? "input_min" : "input_max") + " must be a scalar if axis is unspecified");
    } else {
        LS_TRY(const int axis, tfAxis(asked, shape.rank(), "axis"));
        each = strideOf(shape, axis), depth = shape[axis];
        for (const int i : {2, 3})
            if (args.in(i).shape.rank() != 1 || args.in(i).shape[0] != depth)
                return invalidArgument(std::string(i == 2 ? "min" : "max") + " has incorrect size, expected " + std::to_string(depth) +
                                       " was " + std::to_string(args.in(i).elementCount()));
    }
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    for (const int k : {1, 2}) LS_CHECK_OK(tfAllocate(args, k, range));
    return forDType<TfFloats>(args.in(0).dtype, [&]<typename T>() -> Status {
        for (int64_t i = 0, n = shape.elementCount(); i < n; ++i) {
            const auto at = static_cast<size_t>(asked == -1 ? 0 : i / each % depth);
            const auto x = Element<T>::load(args.in(1).as<T>()[i]);
            const bool isOutside = x < Element<T>::load(args.in(2).as<T>()[at]) || x > Element<T>::load(args.in(3).as<T>()[at]);
            const auto share = static_cast<typename Element<T>::Compute>(isOutside ? 0 : 1);
            args.out(0).as<T>()[i] = Element<T>::store(Element<T>::load(args.in(0).as<T>()[i]) * share);
        }
        for (const int k : {1, 2}) std::fill_n(args.out(k).as<T>(), range.elementCount(), Element<T>::store(0));
        return {};
    });
}

} // namespace

LS_TF_KERNEL(CombinedNonMaxSuppression, runCombinedSuppression, "f32")
LS_TF_KERNEL(DrawBoundingBoxes, runDrawBoxes<false>, "f32 f16")
LS_TF_KERNEL(DrawBoundingBoxesV2, runDrawBoxes<true>, "f32 f16")
LS_TF_KERNEL(ScaleAndTranslate, runScaleAndTranslate, "f32 f64 f16 bf16 i8 u8 i16 u16 i32 i64")
LS_TF_KERNEL(Dilation2D, runDilation, "f32 f64 f16 bf16 i8 u8 i16 u16 i32 i64")
LS_TF_KERNEL(QuantizeAndDequantizeV2, runQuantizeAndDequantize, "f32 f64")
LS_TF_KERNEL(QuantizeAndDequantizeV3, runQuantizeAndDequantize, "f32 f64")
LS_TF_KERNEL(QuantizeAndDequantizeV4, runQuantizeAndDequantize, "f32 f64")
LS_TF_KERNEL(QuantizeAndDequantizeV4Grad, runQuantizeAndDequantizeGrad, "f32 f64 f16 bf16")
