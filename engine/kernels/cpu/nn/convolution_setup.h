// What conv_2d, depthwise_conv_2d and transpose_conv decide alike when they are prepared: which loop for which dtypes, and how its sums
// become results.
#pragma once

#include "engine/kernels/cpu/nn/conv_window.h"
#include "engine/kernels/cpu/nn_common.h"
#include "engine/kernels/kernel.h"

#include <cstdint>
#include <vector>

namespace loopscope {

/// Both axes of a window, placed on the shapes of a call.
struct PlacedWindow {
    PlacedAxis y, x;
    int64_t taps() const { return y.filter * x.filter; }
};

/// Parameters that all three have.
struct ConvolutionSetup {
    Window2d window;
    ActivationRange<float> range;
    OutputStage stage; ///< integer activations
    int32_t inputZero = 0;
    int32_t filterZero = 0;
    std::vector<float> scales; ///< hybrid: of the filter, one or one for each channel

    /// Where the windows of a forward convolution lie; shapes are [N,H,W,C], the filter's sides are its dimensions 1 and 2.
    PlacedWindow place(const Shape& input, const Shape& filter, const Shape& output) const
    {
        WindowAxis height = window.height, width = window.width;
        height.filter = filter[1];
        width.filter = filter[2];
        return {Window2d::place(height, input[1], output[1]), Window2d::place(width, input[2], output[2])};
    }
};

/// Which operands hold what; the bias may be missing.
struct ConvolutionOperands {
    int input, filter, bias;
};

/// The loops of an operator, by the dtype of its input. i16 sums are as wide as the bias, 64 bits without one.
struct ConvolutionLoops {
    KernelFunction f32, hybrid, u8, i8, i16, i16WithI32Bias;
    KernelFunction dynamic = nullptr; ///< hybrid as XNNPACK does it; null: it leaves that alone
};

/// Fills `out` and chooses the loop; `channels` are those of the result. Errors: unsupported, if scales are missing or do not fit;
/// badFile (C8), if that of the bias does not.
Result<KernelFunction> setUpConvolution(const KernelSetup& setup, ConvolutionOperands operands, int64_t channels,
                                        const ConvolutionLoops& loops, ConvolutionSetup& out);

/// How kernels of these operators are prepared, in the arithmetic of the setup's profile.
Result<PreparedKernel> prepareConv2d(const KernelSetup& setup);
Result<PreparedKernel> prepareDepthwise(const KernelSetup& setup);
Result<PreparedKernel> prepareTransposeConv(const KernelSetup& setup);

} // namespace loopscope
