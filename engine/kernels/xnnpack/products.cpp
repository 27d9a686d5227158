// Convolutions and matrix products on 8-bit integers, and on floats with integer weights, as XNNPACK computes them: the sums are those of
// the reference kernels, whose loops run here, too; one float multiplication rounded to even makes results of them, where the reference has
// two roundings in fixed point.
#include "engine/kernels/cpu/linear/fully_connected.h"
#include "engine/kernels/cpu/nn/convolution_setup.h"
#include "engine/kernels/registry.h"
#include "engine/kernels/xnnpack/xnnpack.h"

using namespace loopscope;

namespace {

/// Which operand is what. The filter has to be constant: the delegate packs it once.
struct Operands {
    int input, filter;
    bool isDynamicAllowed; ///< floats on integer weights
};

/// Errors: unsupported, why the delegate leaves this operator alone, or why its floats are those of the reference here.
Status checkProduct(const KernelSetup& setup, Operands operands)
{
    const Tensor& input = setup.in(operands.input);
    const Tensor& filter = setup.in(operands.filter);
    if (filter.data == nullptr) return Error(ErrorCode::unsupported, "weights that are computed");
    if (input.dtype == DType::f32) {
        const bool isInteger = filter.dtype == DType::i8 || filter.dtype == DType::i4;
        if (!isInteger)
            return Error(ErrorCode::unsupported, "quantized operands only").found("weights of " + std::string(dtypeName(filter.dtype)));
        if (!operands.isDynamicAllowed) return Error(ErrorCode::unsupported, "floats on integer weights");
        if (filter.quantization && filter.quantization->kind == Quantization::Kind::blockwise)
            return Error(ErrorCode::unsupported, "scales of blocks");
        return {};
    }
    LS_CHECK_OK(checkQuantized8({&input, &setup.out(0)}));
    if (filter.dtype != input.dtype && !(filter.dtype == DType::i4 && input.dtype == DType::i8))
        return Error(ErrorCode::unsupported, "weights of the input's dtype").found(std::string(dtypeName(filter.dtype)));
    if (!filter.quantization) return Error(ErrorCode::unsupported, "filter has no scale");
    for (const float scale : filter.quantization->scales)
        LS_CHECK_OK(checkFactor(scaleAndZero(input).scale * scale / scaleAndZero(setup.out(0)).scale, -32, 8));
    return {};
}

template <Result<PreparedKernel> (*prepare)(const KernelSetup&), int input, int filter, bool isDynamicAllowed>
Result<PreparedKernel> prepareProduct(const KernelSetup& setup)
{
    LS_CHECK_OK(checkProduct(setup, {input, filter, isDynamicAllowed}));
    return prepare(setup);
}

Result<PreparedKernel> prepareMatrixProduct(const KernelSetup& setup)
{
    if (attributeWord(setup.attributes(), "weights_format", "DEFAULT") != "DEFAULT")
        return Error(ErrorCode::unsupported, "weights in another order");
    return prepareProduct<prepareFullyConnected, 0, 1, true>(setup);
}

constexpr ErrorBounds kFloatScaleOrDynamic =
    ErrorBounds(kExact).because("requantized by a float scale, rounded once and to even: the reference rounds twice in fixed point; floats "
                                "on integer weights are quantized row by row with a zero point");

void add(KernelRegistry& registry, std::string_view name, Result<PreparedKernel> (*prepare)(const KernelSetup&), ErrorBounds bounds)
{
    registry.add({"tfl", name, Profile::xnnpack, prepare, "i8 u8", bounds});
}

} // namespace

LS_DEFINE_PROFILE_KERNELS(xnnpack, tfl, conv_2d)
{
    add(registry, "conv_2d", prepareProduct<prepareConv2d, 0, 1, true>, kFloatScaleOrDynamic);
}
LS_DEFINE_PROFILE_KERNELS(xnnpack, tfl, depthwise_conv_2d)
{
    add(registry, "depthwise_conv_2d", prepareProduct<prepareDepthwise, 0, 1, false>, kFloatScale);
}
LS_DEFINE_PROFILE_KERNELS(xnnpack, tfl, transpose_conv)
{
    add(registry, "transpose_conv", prepareProduct<prepareTransposeConv, 2, 1, false>, kFloatScale);
}
LS_DEFINE_PROFILE_KERNELS(xnnpack, tfl, fully_connected) { add(registry, "fully_connected", prepareMatrixProduct, kFloatScaleOrDynamic); }
