// QUANTIZE and LEAKY_RELU of 8-bit integers as XNNPACK computes them. Source: XNNPACK src/f32-qs8-vcvt, src/qs8-vcvt, src/qs8-vlrelu and
// src/microparams-init.c.
#include "engine/kernels/cpu/elementwise.h"
#include "engine/kernels/registry.h"
#include "engine/kernels/xnnpack/xnnpack.h"

#include <limits>
#include <memory>

using namespace loopscope;

namespace {

template <typename T> ActivationRange<int32_t> storedRange() { return {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()}; }

struct FromRealParams {
    float inverse = 0; ///< one over the scale, by which values are multiplied: the reference divides
    int32_t zero = 0;
};

template <typename T> Status runFromReal(const KernelArgs& args)
{
    const auto p = args.paramsAs<FromRealParams>();
    applyUnary<float, T>(args.in(0), args.out(0),
                         [p](float x) { return static_cast<T>(storedOf(x * p.inverse, p.zero, storedRange<T>())); });
    return {};
}

/// Fixed point with eight bits behind the point, one factor for either sign.
struct RescaleParams {
    int32_t positive = 0, negative = 0, zeroIn = 0, zeroOut = 0;
};

template <typename In, typename Out> Status runRescale(const KernelArgs& args)
{
    const auto p = args.paramsAs<RescaleParams>();
    applyUnary<In, Out>(args.in(0), args.out(0), [p](In x) {
        const int32_t value = x - p.zeroIn;
        const int32_t scaled = (value * (value >= 0 ? p.positive : p.negative) + 0x80) >> 8;
        const ActivationRange<int32_t> range = storedRange<Out>();
        return static_cast<Out>(std::clamp(scaled + p.zeroOut, range.min, range.max));
    });
    return {};
}

std::shared_ptr<RescaleParams> rescaleParams(const KernelSetup& setup, float negative)
{
    const auto in = scaleAndZero(setup.in(0)), out = scaleAndZero(setup.out(0));
    const float factor = in.scale / out.scale;
    auto params = std::make_shared<RescaleParams>();
    params->positive = static_cast<int32_t>(std::lrint(256.0F * factor));
    params->negative = static_cast<int32_t>(std::lrint(256.0F * (factor * negative)));
    params->zeroIn = in.zero;
    params->zeroOut = out.zero;
    return params;
}

Result<PreparedKernel> prepareQuantize(const KernelSetup& setup)
{
    if (setup.in(0).dtype != DType::f32) {
        LS_CHECK_OK(checkQuantized8({&setup.in(0), &setup.out(0)}));
        LS_CHECK_OK(checkFactor(scaleAndZero(setup.in(0)).scale / scaleAndZero(setup.out(0)).scale, -8, 7));
        return PreparedKernel{setup.in(0).dtype == DType::i8 ? runRescale<int8_t, int8_t> : runRescale<uint8_t, uint8_t>,
                              rescaleParams(setup, 1.0F)};
    }
    LS_CHECK_OK(checkQuantized8({&setup.out(0)}));
    auto params = std::make_shared<FromRealParams>();
    params->inverse = 1.0F / scaleAndZero(setup.out(0)).scale;
    params->zero = scaleAndZero(setup.out(0)).zero;
    return PreparedKernel{setup.out(0).dtype == DType::i8 ? runFromReal<int8_t> : runFromReal<uint8_t>, std::move(params)};
}

Result<PreparedKernel> prepareLeakyRelu(const KernelSetup& setup)
{
    LS_CHECK_OK(checkQuantized8({&setup.in(0), &setup.out(0)}));
    const auto alpha = static_cast<float>(attributeFloat(setup.attributes(), "alpha", 0.0));
    const float factor = scaleAndZero(setup.in(0)).scale / scaleAndZero(setup.out(0)).scale;
    LS_CHECK_OK(checkFactor(factor, -8, 7));
    if (!(std::fabs(factor * alpha) >= std::ldexp(1.0F, -8) && factor * alpha > -127.99609375F && factor * alpha <= 128.0F))
        return Error(ErrorCode::unsupported, "factor of negative values").found(std::to_string(factor * alpha));
    return PreparedKernel{setup.in(0).dtype == DType::i8 ? runRescale<int8_t, int8_t> : runRescale<uint8_t, uint8_t>,
                          rescaleParams(setup, alpha)};
}

} // namespace

LS_DEFINE_PROFILE_KERNELS(xnnpack, tfl, quantize)
{
    registry.add({"tfl", "quantize", Profile::xnnpack, prepareQuantize, "f32 i8 u8",
                  ErrorBounds(kExact).because("floats are multiplied by one over the scale and rounded to even, bytes by a factor with "
                                              "eight bits behind the point: the reference divides, and rounds twice")});
}
LS_DEFINE_PROFILE_KERNELS(xnnpack, tfl, leaky_relu)
{
    registry.add({"tfl", "leaky_relu", Profile::xnnpack, prepareLeakyRelu, "i8 u8",
                  ErrorBounds(kExact).because(
                      "factors have eight bits behind the point and results are rounded once: the reference rounds twice in fixed point")});
}
