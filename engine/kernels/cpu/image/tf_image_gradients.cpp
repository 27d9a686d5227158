// Kernels of the gradients of resizing, cropping and dilating pictures: core/kernels/image (scale_and_translate_op.cc,
// resize_bicubic_op.cc, crop_and_resize_op.cc), core/kernels/dilation_ops.cc.
#include "engine/base/interruption.h"
#include "engine/kernels/cpu/image/cubic_taps.h"
#include "engine/kernels/cpu/image/resized_axis.h"
#include "engine/kernels/cpu/image/sampling.h"
#include "engine/kernels/cpu/tf_support.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

using namespace loopscope;

namespace {

/// Gradients [N,h,w,C] of a picture [N,H,W,C]. Errors: InvalidArgument.
Status checkGradients(const Shape& gradients, const Shape& image)
{
    if (gradients.rank() != 4) return invalidArgument("input_grad must be 4-dimensional: " + toString(gradients));
    if (image.rank() != 4) return invalidArgument("original_image must be 4-dimensional: " + toString(image));
    if (gradients[0] != image[0] || gradients[3] != image[3])
        return invalidArgument("grads and original_image must agree in batch and channels: " + toString(gradients) + " vs. " +
                               toString(image));
    if (gradients.elementCount() == 0 || image.elementCount() == 0)
        return invalidArgument("image must be of non-zero size: " + toString(gradients) + " vs. " + toString(image));
    return {};
}

Status runScaleAndTranslateGrad(const KernelArgs& args)
{
    const Shape &gradients = args.in(0).shape, &image = args.in(1).shape;
    LS_CHECK_OK(checkGradients(gradients, image));
    for (const int i : {2, 3})
        if (args.in(i).elementCount() != 2) return invalidArgument("scale and translation must have two elements");
    const float *scale = args.in(2).as<float>(), *shift = args.in(3).as<float>();
    if (!(scale[0] > 0 && scale[1] > 0)) return invalidArgument("Scale must be greater than zero.");
    LS_TRY(const SamplingKernel kernel, samplingKernel(attributeString(attributesOf(args), "kernel_type", "lanczos3")));
    const bool antialias = attributeBool(attributesOf(args), "antialias", true);
    LS_CHECK_OK(tfAllocate(args, 0, image));
    const auto rows = sampleSpans(kernel, gradients[1], image[1], scale[0], shift[0], antialias);
    const auto columns = sampleSpans(kernel, gradients[2], image[2], scale[1], shift[1], antialias);
    float* out = args.out(0).as<float>();
    std::fill_n(out, image.elementCount(), 0.0F);
    const int64_t width = image[2], depth = image[3];
    std::vector<float> line(static_cast<size_t>(width * depth));
    LoopPace pace;
    for (int64_t b = 0; b < image[0]; ++b)
        for (int64_t y = 0; y < gradients[1]; ++y) {
            std::ranges::fill(line, 0.0F);
            for (int64_t x = 0; x < gradients[2]; ++x) {
                const SampleSpan& column = columns[static_cast<size_t>(x)];
                const float* from = args.in(0).as<float>() + ((b * gradients[1] + y) * gradients[2] + x) * depth;
                pace.did(static_cast<int64_t>(column.weights.size()) * depth);
                for (size_t k = 0; k < column.weights.size(); ++k)
                    for (int64_t c = 0; c < depth; ++c)
                        line[static_cast<size_t>((column.start + static_cast<int64_t>(k)) * depth + c)] += column.weights[k] * from[c];
            }
            const SampleSpan& row = rows[static_cast<size_t>(y)];
            for (size_t k = 0; k < row.weights.size(); ++k) {
                pace.did(static_cast<int64_t>(line.size()));
                float* to = out + (b * image[1] + row.start + static_cast<int64_t>(k)) * width * depth;
                for (size_t i = 0; i < line.size(); ++i) to[i] += row.weights[k] * line[i];
            }
        }
    return {};
}

Status runBicubicGrad(const KernelArgs& args)
{
    const Shape &gradients = args.in(0).shape, &image = args.in(1).shape;
    LS_CHECK_OK(checkGradients(gradients, image));
    LS_CHECK_OK(tfAllocate(args, 0, image));
    const bool corners = attributeBool(attributesOf(args), "align_corners", false),
               centres = attributeBool(attributesOf(args), "half_pixel_centers", false);
    const ResizedAxis down = ResizedAxis::of(image[1], gradients[1], corners, centres),
                      across = ResizedAxis::of(image[2], gradients[2], corners, centres);
    return forDType<TfWide>(args.out(0).dtype, [&]<typename T>() -> Status {
        T* out = args.out(0).as<T>();
        std::fill_n(out, image.elementCount(), T(0));
        const float* in = args.in(0).as<float>();
        for (int64_t b = 0; b < image[0]; ++b)
            for (int64_t y = 0; y < gradients[1]; ++y) {
                interruptionPoint();
                const CubicTaps row = CubicTaps::of(down.position(y), image[1], centres);
                for (int64_t x = 0; x < gradients[2]; ++x) {
                    const CubicTaps column = CubicTaps::of(across.position(x), image[2], centres);
                    for (int64_t c = 0; c < image[3]; ++c, ++in)
                        for (size_t i = 0; i < 4; ++i)
                            for (size_t k = 0; k < 4; ++k)
                                out[((b * image[1] + row.pixels[i]) * image[2] + column.pixels[k]) * image[3] + c] +=
                                    static_cast<T>(*in * row.weights[i] * column.weights[k]);
                }
            }
        return {};
    });
}

// ---- CropAndResize ----

/// Where the pixels of a crop lie in the picture along one axis.
struct CropAxis {
    float first = 0, last = 0;
    int64_t image = 0, crop = 0;

    float ratio() const { return crop > 1 ? static_cast<float>(image - 1) / static_cast<float>(crop - 1) : 0.0F; }
    float place(int64_t i) const
    {
        const auto end = static_cast<float>(image - 1);
        return crop > 1 ? first * end + static_cast<float>(i) * ((last - first) * ratio()) : 0.5F * (first + last) * end;
    }
    bool holds(float at) const { return at >= 0 && at <= static_cast<float>(image - 1); }
};

/// The boxes of crops [boxes,h,w,C], each in one picture. Errors: InvalidArgument, OutOfRange.
Status checkCrops(const Shape& gradients, const Tensor& boxes, const std::vector<int64_t>& pictures, int64_t batch)
{
    if (gradients.rank() != 4) return invalidArgument("grads image must be 4-D" + toString(gradients));
    if (gradients[1] <= 0 || gradients[2] <= 0) return invalidArgument("grads dimensions must be positive");
    if (boxes.shape.rank() != 2 || boxes.shape[1] != 4) return invalidArgument("boxes must have 4 columns" + toString(boxes.shape));
    if (boxes.shape[0] != gradients[0] || static_cast<int64_t>(pictures.size()) != gradients[0])
        return invalidArgument("boxes and grads have incompatible shape");
    for (const int64_t picture : pictures)
        if (picture < 0 || picture >= batch) return tfError(TfCode::outOfRange, "box_index has values outside [0, batch_size)");
    return {};
}

std::array<CropAxis, 2> axesOf(const float* box, int64_t height, int64_t width, const Shape& gradients)
{
    return {CropAxis{box[0], box[2], height, gradients[1]}, CropAxis{box[1], box[3], width, gradients[2]}};
}

/// To the pixels that each pixel of a crop was mixed from.
Status runCropGradImage(const KernelArgs& args)
{
    const Shape& gradients = args.in(0).shape;
    const std::vector<int64_t> pictures = tfIntegers(args.in(2)), size = tfIntegers(args.in(3));
    if (size.size() != 4) return invalidArgument("image_size must have 4 elements, got shape " + toString(args.in(3).shape));
    LS_CHECK_OK(checkCrops(gradients, args.in(1), pictures, size[0]));
    if (size[1] <= 0 || size[2] <= 0) return invalidArgument("image dimensions must be positive");
    if (size[3] != gradients[3]) return invalidArgument("image_size and grads are incompatible");
    const Shape image({size[0], size[1], size[2], size[3]});
    LS_CHECK_OK(tfAllocate(args, 0, image));
    const bool isNearest = attributeString(attributesOf(args), "method", "bilinear") == "nearest";
    return forDType<TfFloats>(args.out(0).dtype, [&]<typename T>() -> Status {
        using C = typename Element<T>::Compute;
        std::vector<C> sums(static_cast<size_t>(image.elementCount()), C(0));
        const float* in = args.in(0).as<float>();
        for (int64_t b = 0; b < gradients[0]; ++b) {
            const auto axes = axesOf(args.in(1).as<float>() + 4 * b, image[1], image[2], gradients);
            for (int64_t y = 0; y < gradients[1]; ++y) {
                interruptionPoint();
                const float atY = axes[0].place(y);
                for (int64_t x = 0; x < gradients[2]; ++x, in += gradients[3]) {
                    const float atX = axes[1].place(x);
                    if (!axes[0].holds(atY) || !axes[1].holds(atX)) continue;
                    const auto add = [&](int64_t row, int64_t column, float share) {
                        C* to = sums.data() + ((pictures[static_cast<size_t>(b)] * image[1] + row) * image[2] + column) * image[3];
                        for (int64_t c = 0; c < image[3]; ++c) to[c] += static_cast<C>(share * in[c]);
                    };
                    if (isNearest) {
                        add(static_cast<int64_t>(std::round(atY)), static_cast<int64_t>(std::round(atX)), 1);
                        continue;
                    }
                    const Neighbours row = Neighbours::of(atY, image[1]), column = Neighbours::of(atX, image[2]);
                    add(row.low, column.low, (1 - row.distance) * (1 - column.distance));
                    add(row.low, column.high, (1 - row.distance) * column.distance);
                    add(row.high, column.low, row.distance * (1 - column.distance));
                    add(row.high, column.high, row.distance * column.distance);
                }
            }
        }
        for (size_t i = 0; i < sums.size(); ++i) args.out(0).as<T>()[i] = Element<T>::store(sums[i]);
        return {};
    });
}

/// To the corners of the boxes: how a crop changes as they move.
Status runCropGradBoxes(const KernelArgs& args)
{
    const Shape &gradients = args.in(0).shape, &image = args.in(1).shape;
    const std::vector<int64_t> pictures = tfIntegers(args.in(3));
    if (image.rank() != 4) return invalidArgument("input image must be 4-D" + toString(image));
    LS_CHECK_OK(checkCrops(gradients, args.in(2), pictures, image[0]));
    if (image[1] <= 0 || image[2] <= 0) return invalidArgument("image dimensions must be positive");
    if (image[3] != gradients[3]) return invalidArgument("image, grads depth differ");
    LS_CHECK_OK(tfAllocate(args, 0, Shape({gradients[0], 4})));
    float* out = args.out(0).as<float>();
    std::fill_n(out, 4 * gradients[0], 0.0F);
    return forDType<TypeList<float, double, Half, uint8_t, int8_t, uint16_t, int16_t, int32_t, int64_t>>(
        args.in(1).dtype, [&]<typename T>() -> Status {
            const float* in = args.in(0).as<float>();
            for (int64_t b = 0; b < gradients[0]; ++b, out += 4) {
                const auto axes = axesOf(args.in(2).as<float>() + 4 * b, image[1], image[2], gradients);
                const T* picture = args.in(1).as<T>() + pictures[static_cast<size_t>(b)] * image.countOf(1, 4);
                for (int64_t y = 0; y < gradients[1]; ++y) {
                    interruptionPoint();
                    const float atY = axes[0].place(y);
                    for (int64_t x = 0; x < gradients[2]; ++x, in += gradients[3]) {
                        const float atX = axes[1].place(x);
                        if (!axes[0].holds(atY) || !axes[1].holds(atX)) continue;
                        const Neighbours row = Neighbours::of(atY, image[1]), column = Neighbours::of(atX, image[2]);
                        for (int64_t c = 0; c < image[3]; ++c) {
                            const auto pixel = [&](int64_t py, int64_t px) {
                                return static_cast<float>(Element<T>::load(picture[(py * image[2] + px) * image[3] + c]));
                            };
                            const float topLeft = pixel(row.low, column.low), topRight = pixel(row.low, column.high);
                            const float bottomLeft = pixel(row.high, column.low), bottomRight = pixel(row.high, column.high);
                            const float byY =
                                ((1 - column.distance) * (bottomLeft - topLeft) + column.distance * (bottomRight - topRight)) * in[c];
                            const float byX =
                                ((1 - row.distance) * (topRight - topLeft) + row.distance * (bottomRight - bottomLeft)) * in[c];
                            const auto move = [&](int axis, int64_t i, float by) {
                                const CropAxis& a = axes[static_cast<size_t>(axis)];
                                const auto end = static_cast<float>(a.image - 1);
                                const float part = a.crop > 1 ? static_cast<float>(i) * a.ratio() : 0.5F * end;
                                out[axis] += by * (a.crop > 1 ? end - part : part);
                                out[axis + 2] += by * part;
                            };
                            move(0, y, byY);
                            move(1, x, byX);
                        }
                    }
                }
            }
            return {};
        });
}

// ---- Dilation2D ----

/// Where windows of a dilation lie.
struct Dilation {
    std::array<int64_t, 2> size = {}, pad = {}, stride = {}, rate = {};
};
Result<Dilation> dilationOf(const KernelArgs& args)
{
    const Shape &in = args.in(0).shape, &filter = args.in(1).shape;
    const std::vector<int64_t> strides = attributeInts(attributesOf(args), "strides"), rates = attributeInts(attributesOf(args), "rates");
    if (in.rank() != 4) return invalidArgument("input must be 4-dimensional: " + toString(in));
    if (filter.rank() != 3) return invalidArgument("filter must be 3-dimensional: " + toString(filter));
    if (filter[2] != in[3])
        return invalidArgument("input and filter must have the same depth: " + std::to_string(in[3]) + " vs " + std::to_string(filter[2]));
    const auto isStep = [](int64_t n) { return n >= 1 && n <= int64_t{1} << 30; };
    if (strides.size() != 4 || rates.size() != 4 || !std::ranges::all_of(strides, isStep) || !std::ranges::all_of(rates, isStep))
        return invalidArgument("strides and rates must have four positive elements");
    const bool same = attributeString(attributesOf(args), "padding", "") == "SAME";
    Dilation dilation;
    for (size_t d = 0; d < 2; ++d) {
        const int axis = static_cast<int>(d);
        const int64_t have = in[axis + 1], reach = (filter[axis] - 1) * rates[d + 1] + 1, stride = strides[d + 1];
        dilation.stride[d] = stride;
        dilation.rate[d] = rates[d + 1];
        dilation.size[d] = same ? (have + stride - 1) / stride : (have - reach + stride) / stride;
        if (dilation.size[d] < 0) return invalidArgument("Computed output size would be negative");
        dilation.pad[d] = same ? std::max<int64_t>((dilation.size[d] - 1) * stride + reach - have, 0) / 2 : 0;
    }
    const Shape expected({in[0], dilation.size[0], dilation.size[1], in[3]});
    if (!(args.in(2).shape == expected))
        return invalidArgument("out_backprop has incompatible size. " + toString(args.in(2).shape) + ", expected " + toString(expected));
    return dilation;
}

/// What came through a window goes to the pixel, or to the tap of the filter, whose sum was the largest: the first of equal ones.
template <bool toFilter> Status runDilationGrad(const KernelArgs& args)
{
    LS_TRY(const Dilation dilation, dilationOf(args));
    const Shape &in = args.in(0).shape, &filter = args.in(1).shape;
    LS_CHECK_OK(tfAllocate(args, 0, toFilter ? filter : in));
    return forDType<TypeList<float, double, int32_t, int64_t, int8_t, int16_t, uint8_t, uint16_t, Half, BFloat16>>(
        args.in(0).dtype, [&]<typename T>() -> Status {
            using C = typename Element<T>::Compute;
            std::vector<C> sums(static_cast<size_t>(args.out(0).elementCount()), C(0));
            const T* gradient = args.in(2).as<T>();
            LoopPace pace;
            for (int64_t b = 0; b < in[0]; ++b)
                for (int64_t y = 0; y < dilation.size[0]; ++y)
                    for (int64_t x = 0; x < dilation.size[1]; ++x)
                        for (int64_t c = 0; c < in[3]; ++c) {
                            pace.did(filter[0] * filter[1]);
                            const int64_t top = y * dilation.stride[0] - dilation.pad[0], left = x * dilation.stride[1] - dilation.pad[1];
                            C most = std::numeric_limits<C>::lowest();
                            int64_t best =
                                toFilter ? c : ((b * in[1] + std::max<int64_t>(top, 0)) * in[2] + std::max<int64_t>(left, 0)) * in[3] + c;
                            for (int64_t i = 0; i < filter[0]; ++i)
                                for (int64_t k = 0; k < filter[1]; ++k) {
                                    const int64_t row = top + i * dilation.rate[0], column = left + k * dilation.rate[1];
                                    if (row < 0 || row >= in[1] || column < 0 || column >= in[2]) continue;
                                    const int64_t pixel = ((b * in[1] + row) * in[2] + column) * in[3] + c,
                                                  tap = (i * filter[1] + k) * in[3] + c;
                                    const C sum = static_cast<C>(wrappingAdd(Element<T>::load(args.in(0).as<T>()[pixel]),
                                                                             Element<T>::load(args.in(1).as<T>()[tap])));
                                    if (!(sum > most)) continue;
                                    most = sum;
                                    best = toFilter ? tap : pixel;
                                }
                            C& to = sums[static_cast<size_t>(best)];
                            to = static_cast<C>(wrappingAdd(to, Element<T>::load(*gradient++)));
                        }
            for (size_t i = 0; i < sums.size(); ++i) args.out(0).as<T>()[i] = Element<T>::store(sums[i]);
            return {};
        });
}

} // namespace

LS_TF_KERNEL(ScaleAndTranslateGrad, runScaleAndTranslateGrad, "f32")
LS_TF_KERNEL(ResizeBicubicGrad, runBicubicGrad, "f32 f64")
LS_TF_KERNEL(CropAndResizeGradImage, runCropGradImage, "f32 f64 f16 bf16")
LS_TF_KERNEL(CropAndResizeGradBoxes, runCropGradBoxes, "f32 f64 f16 u8 i8 u16 i16 i32 i64")
LS_TF_KERNEL(Dilation2DBackpropInput, runDilationGrad<false>, "f32 f64 f16 bf16 i8 u8 i16 u16 i32 i64")
LS_TF_KERNEL(Dilation2DBackpropFilter, runDilationGrad<true>, "f32 f64 f16 bf16 i8 u8 i16 u16 i32 i64")
