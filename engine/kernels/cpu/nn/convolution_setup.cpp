#include "engine/kernels/cpu/nn/convolution_setup.h"

namespace loopscope {

Result<KernelFunction> setUpConvolution(const KernelSetup& setup, ConvolutionOperands operands, int64_t channels,
                                        const ConvolutionLoops& loops, ConvolutionSetup& out)
{
    const Tensor& input = setup.in(operands.input);
    const Tensor& filter = setup.in(operands.filter);
    out.window = Window2d::fromAttributes(setup.attributes(), 1, 1);
    const FusedActivation activation = fusedActivation(setup.attributes());
    out.range = activationRange<float>(activation);
    if (input.dtype == DType::f32) {
        if (filter.dtype == DType::f32) return loops.f32;
        if (!filter.quantization || filter.quantization->scales.empty()) return Error(ErrorCode::unsupported, "filter has no scale");
        out.scales = filter.quantization->scales;
        return setup.profile == Profile::xnnpack && loops.dynamic != nullptr ? loops.dynamic : loops.hybrid;
    }
    const bool legacy = input.dtype == DType::u8; // one scale for all channels, and filters with a zero point
    if (legacy && setup.has(operands.bias)) LS_CHECK_OK(checkBiasScale(8, input, filter, setup.in(operands.bias), setup.out(0)));
    const Scaling scaling = setup.profile == Profile::xnnpack ? Scaling::single : legacy ? Scaling::floatProduct : Scaling::perChannel;
    LS_TRY(out.stage, makeOutputStage(input, filter, setup.out(0), channels, activation, scaling));
    out.inputZero = scaleAndZero(input).zero;
    if (legacy) out.filterZero = scaleAndZero(filter).zero;
    if (legacy) return loops.u8;
    if (input.dtype == DType::i8) return loops.i8;
    return setup.has(operands.bias) && setup.in(operands.bias).dtype == DType::i32 ? loops.i16WithI32Bias : loops.i16;
}

} // namespace loopscope
