// ADD, SUB and MUL of 8-bit integers as XNNPACK computes them. Source: XNNPACK src/qs8-vaddc, src/qs8-vmul, src/microparams-init.c
// (xnn_init_qs8_add_minmax, xnn_init_qs8_mul_minmax), src/operators/binary-elementwise-nd.c.
#include "engine/kernels/cpu/elementwise.h"
#include "engine/kernels/registry.h"
#include "engine/kernels/xnnpack/xnnpack.h"

#include <memory>

using namespace loopscope;

namespace {

/// (bias + a · first + b · second) >> shift: both factors in fixed point with one exponent, the larger one with 21 bits.
struct SumParams {
    int32_t bias = 0, first = 0, second = 0, shift = 0, zero = 0;
    ActivationRange<int32_t> range;
};

template <typename T> Status runSum(const KernelArgs& args)
{
    const auto p = args.paramsAs<SumParams>();
    applyBinary<T, T>(args.in(0), args.in(1), args.out(0), [p](T a, T b) {
        const int32_t sum = (p.bias + a * p.first + b * p.second) >> p.shift;
        return static_cast<T>(std::clamp(sum + p.zero, p.range.min, p.range.max));
    });
    return {};
}

/// `sign`: of the second operand.
template <int sign> Result<PreparedKernel> prepareSum(const KernelSetup& setup)
{
    LS_CHECK_OK(checkQuantized8({&setup.in(0), &setup.in(1), &setup.out(0)}));
    const auto a = scaleAndZero(setup.in(0)), b = scaleAndZero(setup.in(1)), y = scaleAndZero(setup.out(0));
    const float first = a.scale / y.scale, second = b.scale / y.scale;
    LS_CHECK_OK(checkFactor(first, -10, 8));
    LS_CHECK_OK(checkFactor(second, -10, 8));
    auto params = std::make_shared<SumParams>();
    LS_TRY(params->range, roundedActivationRange(fusedActivation(setup.attributes()), setup.out(0)));
    const int exponent = std::ilogb(std::max(first, second));
    params->shift = std::min(20 - exponent, 31);
    params->first = static_cast<int32_t>(std::lrint(std::ldexp(first, params->shift)));
    params->second = sign * static_cast<int32_t>(std::lrint(std::ldexp(second, params->shift)));
    params->bias = (1 << (params->shift - 1)) - params->first * a.zero - params->second * b.zero;
    params->zero = y.zero;
    return PreparedKernel{setup.in(0).dtype == DType::i8 ? runSum<int8_t> : runSum<uint8_t>, std::move(params)};
}

struct ProductParams {
    int32_t first = 0, second = 0, zero = 0; ///< zero points
    float factor = 0;
    ActivationRange<int32_t> range;
};

template <typename T> Status runProduct(const KernelArgs& args)
{
    const auto p = args.paramsAs<ProductParams>();
    applyBinary<T, T>(args.in(0), args.in(1), args.out(0), [p](T a, T b) {
        const int32_t product = (a - p.first) * (b - p.second);
        return static_cast<T>(storedOf(static_cast<float>(product) * p.factor, p.zero, p.range));
    });
    return {};
}

Result<PreparedKernel> prepareProduct(const KernelSetup& setup)
{
    LS_CHECK_OK(checkQuantized8({&setup.in(0), &setup.in(1), &setup.out(0)}));
    const auto a = scaleAndZero(setup.in(0)), b = scaleAndZero(setup.in(1)), y = scaleAndZero(setup.out(0));
    auto params = std::make_shared<ProductParams>();
    params->factor = a.scale * b.scale / y.scale;
    LS_CHECK_OK(checkFactor(params->factor, -16, 8));
    LS_TRY(params->range, roundedActivationRange(fusedActivation(setup.attributes()), setup.out(0)));
    params->first = a.zero;
    params->second = b.zero;
    params->zero = y.zero;
    return PreparedKernel{setup.in(0).dtype == DType::i8 ? runProduct<int8_t> : runProduct<uint8_t>, std::move(params)};
}

} // namespace

static constexpr ErrorBounds kOneExponent = ErrorBounds(kExact).because(
    "operands are scaled in fixed point with one exponent, and their sum rounded once: the reference rounds each of them, too");

LS_DEFINE_PROFILE_KERNELS(xnnpack, tfl, add) { registry.add({"tfl", "add", Profile::xnnpack, prepareSum<1>, "i8 u8", kOneExponent}); }
LS_DEFINE_PROFILE_KERNELS(xnnpack, tfl, sub) { registry.add({"tfl", "sub", Profile::xnnpack, prepareSum<-1>, "i8 u8", kOneExponent}); }
LS_DEFINE_PROFILE_KERNELS(xnnpack, tfl, mul) { registry.add({"tfl", "mul", Profile::xnnpack, prepareProduct, "i8 u8", kFloatScale}); }
