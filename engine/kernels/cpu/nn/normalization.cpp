// L2_NORMALIZATION and LOCAL_RESPONSE_NORMALIZATION, over the last dimension.
#include "engine/base/interruption.h"
#include "engine/kernels/cpu/elementwise.h"
#include "engine/kernels/cpu/fixed_point.h"
#include "engine/kernels/registry.h"

#include <cmath>

using namespace loopscope;

namespace {

/// Calls row(in, out, length) for each run of the last dimension.
template <typename T, typename Row> void forEachChannelRow(const KernelArgs& args, Row row)
{
    const Shape& shape = args.in(0).shape;
    const int64_t length = shape.rank() > 0 ? shape.back() : 1;
    const int64_t count = length > 0 ? shape.elementCount() / length : 0;
    LoopPace pace;
    for (int64_t r = 0; r < count; ++r) {
        row(args.in(0).as<T>() + r * length, args.out(0).as<T>() + r * length, length);
        pace.did(length);
    }
}

Status runL2(const KernelArgs& args)
{
    forEachChannelRow<float>(args, [](const float* in, float* out, int64_t length) {
        float sum = 0.0F;
        for (int64_t c = 0; c < length; ++c) sum += in[c] * in[c];
        const float norm = std::max(std::sqrt(sum), 1e-6F);
        for (int64_t c = 0; c < length; ++c) out[c] = in[c] / norm;
    });
    return {};
}

/// Results are stored with scale 1/128. Source: LiteRT kernels/internal/reference/integer_ops/l2normalization.h for int8;
/// kernels/internal/reference/l2normalization.h for uint8.
template <typename T> Status runQuantizedL2(const KernelArgs& args)
{
    const auto zero = args.paramsAs<int32_t>();
    forEachChannelRow<T>(args, [zero](const T* in, T* out, int64_t length) {
        int32_t sum = 0;
        for (int64_t c = 0; c < length; ++c) {
            const auto difference = wrappingSub<int32_t>(in[c], zero);
            sum = wrappingAdd(sum, wrappingMul(difference, difference));
        }
        QuantizedMultiplier root = fixedInverseSqrt(sum);
        for (int64_t c = 0; c < length; ++c) {
            const auto difference = wrappingSub<int32_t>(in[c], zero);
            if constexpr (std::is_same_v<T, int8_t>) {
                const int32_t scaled = multiplyByQuantizedMultiplier(difference, root.multiplier, root.shift + 7);
                out[c] = static_cast<int8_t>(std::clamp(scaled, -128, 127));
            } else {
                const int32_t scaled = multiplyByQuantizedMultiplier(wrappingMul(128, difference), root);
                out[c] = static_cast<uint8_t>(std::clamp(wrappingAdd(128, scaled), 0, 255));
            }
        }
    });
    return {};
}

Result<PreparedKernel> prepareL2(const KernelSetup& setup)
{
    const DType dtype = setup.in(0).dtype;
    if (dtype == DType::f32) return PreparedKernel{runL2, nullptr};
    if (dtype != DType::i8 && dtype != DType::u8) return unsupportedDtypes(setup);
    const auto out = scaleAndZero(setup.out(0));
    if (out.scale != 1.0F / 128 || out.zero != (dtype == DType::i8 ? 0 : 128))
        return Error(ErrorCode::unsupported, "an 8-bit result needs the scale 1/128 and zero point 0 (int8) or 128 (uint8)")
            .found(std::to_string(out.scale) + ", " + std::to_string(out.zero));
    auto params = std::make_shared<const int32_t>(scaleAndZero(setup.in(0)).zero);
    return dtype == DType::i8 ? PreparedKernel{runQuantizedL2<int8_t>, params} : PreparedKernel{runQuantizedL2<uint8_t>, params};
}

struct LocalResponseParams {
    int64_t radius = 0;
    float bias = 0, alpha = 0, beta = 0;
};

Status runLocalResponse(const KernelArgs& args)
{
    const auto& p = args.paramsAs<LocalResponseParams>();
    forEachChannelRow<float>(args, [&p](const float* in, float* out, int64_t length) {
        for (int64_t c = 0; c < length; ++c) {
            const int64_t begin = std::max<int64_t>(0, c - p.radius);
            const int64_t end = std::min(length, c + p.radius + 1);
            float sum = 0.0F;
            for (int64_t k = begin; k < end; ++k) sum += in[k] * in[k];
            out[c] = in[c] * std::pow(p.bias + p.alpha * sum, -p.beta);
        }
    });
    return {};
}

Result<PreparedKernel> prepareLocalResponse(const KernelSetup& setup)
{
    if (setup.in(0).dtype != DType::f32) return unsupportedDtypes(setup);
    auto params = std::make_shared<LocalResponseParams>();
    params->radius = std::clamp<int64_t>(attributeInt(setup.attributes(), "radius", 0), 0, int64_t{1} << 32);
    params->bias = static_cast<float>(attributeFloat(setup.attributes(), "bias", 0.0));
    params->alpha = static_cast<float>(attributeFloat(setup.attributes(), "alpha", 0.0));
    params->beta = static_cast<float>(attributeFloat(setup.attributes(), "beta", 0.0));
    return PreparedKernel{runLocalResponse, params};
}

} // namespace

LS_DEFINE_KERNELS(tfl, l2_normalization) { registry.add({"tfl", "l2_normalization", Profile::reference, prepareL2, "f32 i8 u8"}); }

LS_DEFINE_KERNELS(tfl, local_response_normalization)
{
    registry.add({"tfl", "local_response_normalization", Profile::reference, prepareLocalResponse, "f32"});
}
