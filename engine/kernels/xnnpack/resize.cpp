// RESIZE_BILINEAR of 8-bit integers as XNNPACK computes it: weights with eleven bits, both steps in 32 bits, rounded once. Source: XNNPACK
// src/s8-ibilinear, src/indirection.c (xnn_indirection_init_resize_bilinear2d_hwc_q11).
#include "engine/base/interruption.h"
#include "engine/kernels/registry.h"
#include "engine/kernels/xnnpack/xnnpack.h"

#include <memory>

using namespace loopscope;

namespace {

struct ResizeRule {
    bool alignCorners = false, halfPixelCenters = false;
};

/// Two neighbouring source pixels of a target index along one axis, and the weight of the second in 1/2048.
struct Neighbours {
    int64_t low, high;
    int32_t weight;
};

Neighbours neighbours(const ResizeRule& rule, int64_t index, int64_t input, int64_t output)
{
    const int64_t less = rule.alignCorners && output != 1 ? 1 : 0;
    const float scale = static_cast<float>(input - less) / static_cast<float>(output - less);
    float position = static_cast<float>(index) * scale;
    if (rule.halfPixelCenters) position = std::max(static_cast<float>(index) * scale + (0.5F * scale - 0.5F), 0.0F);
    position = std::min(position, static_cast<float>(input - 1));
    const auto low = static_cast<int64_t>(position);
    return {low, std::min(low + 1, input - 1), static_cast<int32_t>(std::lrint((position - static_cast<float>(low)) * 2048.0F))};
}

template <typename T> Status runBilinear(const KernelArgs& args)
{
    const auto& rule = args.paramsAs<ResizeRule>();
    const Shape& input = args.in(0).shape;
    const Shape& output = args.out(0).shape;
    const int64_t channels = input[3];
    T* out = args.out(0).as<T>();
    auto* columns = reinterpret_cast<Neighbours*>(args.runtime->scratch(static_cast<size_t>(output[2]) * sizeof(Neighbours)));
    for (int64_t x = 0; x < output[2]; ++x) columns[x] = neighbours(rule, x, input[2], output[2]);
    for (int64_t b = 0; b < output[0]; ++b) {
        const T* const image = args.in(0).as<T>() + b * input[1] * input[2] * channels;
        for (int64_t y = 0; y < output[1]; ++y) {
            interruptionPoint();
            const Neighbours row = neighbours(rule, y, input[1], output[1]);
            const T* const upper = image + row.low * input[2] * channels;
            const T* const lower = image + row.high * input[2] * channels;
            for (int64_t x = 0; x < output[2]; ++x, out += channels) {
                const Neighbours& column = columns[x];
                for (int64_t c = 0; c < channels; ++c) {
                    const auto across = [&](const T* line) {
                        const int32_t left = line[column.low * channels + c], right = line[column.high * channels + c];
                        return left * 2048 + (right - left) * column.weight;
                    };
                    const int32_t top = across(upper);
                    const int32_t sum = top * 2048 + (across(lower) - top) * row.weight;
                    out[c] = static_cast<T>((sum + (1 << 21)) >> 22);
                }
            }
        }
    }
    return {};
}

Result<PreparedKernel> prepareBilinear(const KernelSetup& setup)
{
    LS_CHECK_OK(checkQuantized8({&setup.in(0), &setup.out(0)}));
    if (setup.in(1).data == nullptr) return Error(ErrorCode::unsupported, "a size that is computed");
    auto rule = std::make_shared<ResizeRule>();
    rule->alignCorners = attributeBool(setup.attributes(), "align_corners", false);
    rule->halfPixelCenters = attributeBool(setup.attributes(), "half_pixel_centers", false);
    return PreparedKernel{setup.in(0).dtype == DType::i8 ? runBilinear<int8_t> : runBilinear<uint8_t>, std::move(rule)};
}

} // namespace

LS_DEFINE_PROFILE_KERNELS(xnnpack, tfl, resize_bilinear)
{
    registry.add(
        {"tfl", "resize_bilinear", Profile::xnnpack, prepareBilinear, "i8 u8",
         ErrorBounds(kExact).because("weights have eleven bits, results are rounded once: the reference has weights of ten bits")});
}
