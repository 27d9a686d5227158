// Kernels of the gradients of resizing, and of pictures seen through a projective map: core/kernels/image/resize_bilinear_op.cc,
// resize_nearest_neighbor_op.cc, image_ops.h.
#include "engine/base/interruption.h"
#include "engine/kernels/cpu/image/resized_axis.h"
#include "engine/kernels/cpu/tf_support.h"

#include <algorithm>
#include <cmath>

using namespace loopscope;

namespace {

ResizedAxis axisOf(const KernelArgs& args, int64_t original, int64_t resized)
{
    return ResizedAxis::of(original, resized, attributeBool(attributesOf(args), "align_corners", false),
                           attributeBool(attributesOf(args), "half_pixel_centers", false));
}

Status checkPictures(const Shape& shape, const char* name)
{
    return shape.rank() == 4 && shape.elementCount() > 0
               ? Status()
               : invalidArgument(std::string(name) + " must be 4-dimensional and not empty: " + toString(shape));
}

Status runBilinearGrad(const KernelArgs& args)
{
    const Shape &grads = args.in(0).shape, &image = args.in(1).shape;
    LS_CHECK_OK(checkPictures(grads, "input_grad"));
    LS_CHECK_OK(checkPictures(image, "original_image"));
    if (grads[0] != image[0] || grads[3] != image[3])
        return invalidArgument("grads and original_image must agree in batch and channels: " + toString(grads) + " vs. " + toString(image));
    LS_CHECK_OK(tfAllocate(args, 0, image));
    const ResizedAxis down = axisOf(args, image[1], grads[1]), across = axisOf(args, image[2], grads[2]);
    const int64_t channels = image[3];
    std::vector<float> sums(static_cast<size_t>(image.elementCount()), 0.0F);
    const float* in = args.in(0).as<float>();
    for (int64_t b = 0; b < grads[0]; ++b)
        for (int64_t y = 0; y < grads[1]; ++y) {
            interruptionPoint();
            const Neighbours row = Neighbours::of(down.position(y), image[1]);
            for (int64_t x = 0; x < grads[2]; ++x) {
                const Neighbours column = Neighbours::of(across.position(x), image[2]);
                for (int64_t c = 0; c < channels; ++c, ++in) {
                    const auto add = [&](int64_t y0, int64_t x0, float part) {
                        sums[static_cast<size_t>(((b * image[1] + y0) * image[2] + x0) * channels + c)] += *in * part;
                    };
                    add(row.low, column.low, (1 - row.distance) * (1 - column.distance));
                    add(row.low, column.high, (1 - row.distance) * column.distance);
                    add(row.high, column.low, row.distance * (1 - column.distance));
                    add(row.high, column.high, row.distance * column.distance);
                }
            }
        }
    return forDType<TfFloats>(args.out(0).dtype, [&]<typename T>() -> Status {
        for (size_t i = 0; i < sums.size(); ++i)
            args.out(0).as<T>()[i] = Element<T>::store(static_cast<typename Element<T>::Compute>(sums[i]));
        return {};
    });
}

Status runNearestGrad(const KernelArgs& args)
{
    const Shape& grads = args.in(0).shape;
    LS_CHECK_OK(checkPictures(grads, "input"));
    const std::vector<int64_t> size = tfIntegers(args.in(1));
    if (size.size() != 2 || size[0] <= 0 || size[1] <= 0)
        return invalidArgument("size must be two positive numbers, got shape " + toString(args.in(1).shape));
    const Shape image({grads[0], size[0], size[1], grads[3]});
    LS_CHECK_OK(tfAllocate(args, 0, image));
    const ResizedAxis down = axisOf(args, image[1], grads[1]), across = axisOf(args, image[2], grads[2]);
    const int64_t channels = image[3];
    return forDType<TfFloats, TypeList<uint8_t, int8_t, int32_t>>(args.in(0).dtype, [&]<typename T>() -> Status {
        std::vector<typename Element<T>::Compute> sums(static_cast<size_t>(image.elementCount()), 0);
        const T* in = args.in(0).as<T>();
        for (int64_t b = 0; b < grads[0]; ++b)
            for (int64_t y = 0; y < grads[1]; ++y) {
                interruptionPoint();
                for (int64_t x = 0; x < grads[2]; ++x) {
                    const int64_t to = ((b * image[1] + down.nearest(y)) * image[2] + across.nearest(x)) * channels;
                    for (int64_t c = 0; c < channels; ++c) {
                        auto& sum = sums[static_cast<size_t>(to + c)];
                        sum = wrappingAdd(sum, Element<T>::load(*in++));
                    }
                }
            }
        for (size_t i = 0; i < sums.size(); ++i) args.out(0).as<T>()[i] = Element<T>::store(sums[i]);
        return {};
    });
}

enum class FillMode { constant, reflect, wrap, nearest };

/// A coordinate outside of [0, length − 1] as the fill mode has it.
float broughtInside(float x, int64_t length, FillMode mode)
{
    const auto size = static_cast<float>(length), last = size - 1;
    if (mode == FillMode::constant) return x;
    if (mode != FillMode::nearest && (x < 0 || x > last)) {
        if (length <= 1) return 0;
        if (mode == FillMode::reflect) {
            const float twice = 2 * size;
            if (x < 0) {
                if (x < twice) x += twice * std::trunc(-x / twice);
                x = x < -size ? x + twice : -x - 1;
            } else {
                x -= twice * std::trunc(x / twice);
                if (x >= size) x = twice - x - 1;
            }
        } else if (x < 0) {
            x += size * (std::trunc(-x / last) + 1);
        } else {
            x -= size * std::trunc(x / last);
        }
    }
    return std::clamp(x, 0.0F, last);
}

/// Pixel (x, y) is what lies at ((a0·x + a1·y + a2) / k, (b0·x + b1·y + b2) / k), where k = c0·x + c1·y + 1.
Status runProjection(const KernelArgs& args)
{
    const Shape &images = args.in(0).shape, &transforms = args.in(1).shape;
    const std::vector<int64_t> size = tfIntegers(args.in(2));
    if (images.rank() != 4) return invalidArgument("Input images must have rank 4, got " + toString(images));
    if (transforms.rank() != 2 || transforms[1] != 8 || (transforms[0] != images[0] && transforms[0] != 1))
        return invalidArgument("Input transform should be num_images x 8 or 1 x 8, got " + toString(transforms));
    if (size.size() != 2 || size[0] <= 0 || size[1] <= 0) return invalidArgument("new_height and new_width must be positive numbers");
    const AttributeList& attributes = attributesOf(args);
    const bool isNearest = attributeString(attributes, "interpolation", "") == "NEAREST";
    const std::string_view modeName = attributeString(attributes, "fill_mode", "CONSTANT");
    const FillMode mode = modeName == "REFLECT"   ? FillMode::reflect
                          : modeName == "WRAP"    ? FillMode::wrap
                          : modeName == "NEAREST" ? FillMode::nearest
                                                  : FillMode::constant;
    const float fill = args.inputCount > 3 ? *args.in(3).as<float>() : 0.0F;
    const int64_t height = images[1], width = images[2], channels = images[3];
    LS_CHECK_OK(tfAllocate(args, 0, Shape({images[0], size[0], size[1], channels})));
    return forDType<TfFloats, TypeList<uint8_t, int32_t, int64_t>>(args.in(0).dtype, [&]<typename T>() -> Status {
        using C = typename Element<T>::Compute;
        T* out = args.out(0).as<T>();
        for (int64_t b = 0; b < images[0]; ++b) {
            const float* m = args.in(1).as<float>() + (transforms[0] == 1 ? 0 : 8 * b);
            const auto read = [&](float row, float column, int64_t c) {
                const bool isInside = row >= 0 && row < static_cast<float>(height) && column >= 0 && column < static_cast<float>(width);
                if (!isInside) return static_cast<C>(fill);
                return Element<T>::load(
                    args.in(0).as<T>()[((b * height + static_cast<int64_t>(row)) * width + static_cast<int64_t>(column)) * channels + c]);
            };
            for (int64_t i = 0; i < size[0] * size[1]; ++i) {
                if (i % size[1] == 0) interruptionPoint();
                const auto x = static_cast<float>(i % size[1]), y = static_cast<float>(i / size[1]);
                const float k = m[6] * x + m[7] * y + 1.0F;
                const float atX = k == 0 ? -1.0F : broughtInside((m[0] * x + m[1] * y + m[2]) / k, width, mode);
                const float atY = k == 0 ? -1.0F : broughtInside((m[3] * x + m[4] * y + m[5]) / k, height, mode);
                const float left = std::floor(atX), top = std::floor(atY);
                for (int64_t c = 0; c < channels; ++c) {
                    if (k == 0) {
                        *out++ = Element<T>::store(static_cast<C>(fill));
                        continue;
                    }
                    if (isNearest) {
                        *out++ = Element<T>::store(read(std::round(atY), std::round(atX), c));
                        continue;
                    }
                    const auto row = [&](float at) {
                        return (left + 1 - atX) * static_cast<float>(read(at, left, c)) +
                               (atX - left) * static_cast<float>(read(at, left + 1, c));
                    };
                    *out++ = Element<T>::store(static_cast<C>((top + 1 - atY) * row(top) + (atY - top) * row(top + 1)));
                }
            }
        }
        return {};
    });
}

constexpr std::string_view kPixels = "f32 f64 f16 bf16 u8 i32 i64";

} // namespace

LS_TF_KERNEL(ResizeBilinearGrad, runBilinearGrad, "f32 f64 f16 bf16")
LS_TF_KERNEL(ResizeNearestNeighborGrad, runNearestGrad, "f32 f64 f16 bf16 u8 i8 i32")
LS_TF_KERNEL(ImageProjectiveTransformV2, runProjection, kPixels)
LS_TF_KERNEL(ImageProjectiveTransformV3, runProjection, kPixels)
