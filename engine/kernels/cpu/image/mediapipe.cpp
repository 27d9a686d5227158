// CPU kernels of MediaPipe's custom operators (MediaPipe util/tflite/operations).
#include "engine/kernels/cpu/elementwise.h"
#include "engine/kernels/cpu/movement.h"
#include "engine/kernels/cpu/nn_common.h"
#include "engine/kernels/registry.h"
#include "engine/ops/pooling_options.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>

using namespace loopscope;

namespace {

/// out = max over the window; index = row · filter width + column + 0.1, so that its whole part survives half floats.
Status runMaxPooling(const KernelArgs& args)
{
    const auto& window = args.paramsAs<StructWindow>();
    const Shape& in = args.in(0).shape;
    const Shape& shape = args.out(0).shape;
    const int64_t padH = window.height(in[1]).paddingBefore(shape[1]);
    const int64_t padW = window.width(in[2]).paddingBefore(shape[2]);
    const int64_t depth = in[3];
    for (int64_t pixel = 0; pixel < shape.countOf(0, 3); ++pixel) {
        const int64_t x0 = pixel % shape[2] * window.strideW - padW;
        const int64_t y0 = pixel / shape[2] % shape[1] * window.strideH - padH;
        const float* image = args.in(0).as<float>() + pixel / (shape[1] * shape[2]) * in[1] * in[2] * depth;
        for (int64_t c = 0; c < depth; ++c) {
            float most = std::numeric_limits<float>::lowest();
            int64_t place = 0;
            for (int64_t ky = std::max<int64_t>(0, -y0); ky < std::min(window.filterH, in[1] - y0); ++ky)
                for (int64_t kx = std::max<int64_t>(0, -x0); kx < std::min(window.filterW, in[2] - x0); ++kx) {
                    const float value = image[((y0 + ky) * in[2] + x0 + kx) * depth + c];
                    if (!(value > most)) continue;
                    most = value;
                    place = ky * window.filterW + kx;
                }
            args.out(0).as<float>()[pixel * depth + c] = most;
            args.out(1).as<float>()[pixel * depth + c] = static_cast<float>(place) + 0.1F;
        }
    }
    return {};
}

Status runMaxUnpooling(const KernelArgs& args)
{
    const auto& window = args.paramsAs<StructWindow>();
    const Shape& in = args.in(0).shape;
    const Shape& shape = args.out(0).shape;
    // The windows are those of the pooling that gave this input.
    const int64_t padH = window.height(shape[1]).paddingBefore(in[1]);
    const int64_t padW = window.width(shape[2]).paddingBefore(in[2]);
    auto* out = args.out(0).as<float>();
    std::fill_n(out, shape.elementCount(), 0.0F);
    const int64_t depth = in[3];
    for (int64_t i = 0; i < in.elementCount(); ++i) {
        const int64_t pixel = i / depth;
        const float index = args.in(1).as<float>()[i];
        const bool valid = index > -1 && index < static_cast<float>(window.filterH * window.filterW); // false for NaN
        const int64_t place = valid ? static_cast<int64_t>(index) : 0;
        const int64_t x = pixel % in[2] * window.strideW - padW + place % window.filterW;
        const int64_t y = pixel / in[2] % in[1] * window.strideH - padH + place / window.filterW;
        if (!valid || x < 0 || y < 0 || x >= shape[2] || y >= shape[1])
            return kernelError(5, "index " + std::to_string(index) + " of element " + std::to_string(i) + " is outside of the result");
        out[((pixel / (in[1] * in[2]) * shape[1] + y) * shape[2] + x) * depth + i % depth] = args.in(0).as<float>()[i];
    }
    return {};
}

/// Indices of i32 are elements of a result's image, as TensorFlow's MaxPoolWithArgmax gives them (LiteRT kernels/perception).
Status runFlatUnpooling(const KernelArgs& args)
{
    const Shape& in = args.in(0).shape;
    const int64_t image = args.out(0).shape.countOf(1, 4), perImage = in.countOf(1, 4);
    auto* out = args.out(0).as<float>();
    std::fill_n(out, args.out(0).shape.elementCount(), 0.0F);
    for (int64_t i = 0; i < in.elementCount(); ++i) {
        const int64_t index = args.in(1).as<int32_t>()[i];
        if (index < 0 || index >= image)
            return kernelError(5, "index " + std::to_string(index) + " of element " + std::to_string(i) + " is outside of the result");
        out[i / perImage * image + index] = args.in(0).as<float>()[i];
    }
    return {};
}

/// out = bias + Σ over the inputs that reach the pixel, in their order: row, column, channel.
Status runTransposeConvBias(const KernelArgs& args)
{
    auto window = args.paramsAs<StructWindow>();
    const Shape& in = args.in(0).shape;
    const Shape& filter = args.in(1).shape;
    const Shape& shape = args.out(0).shape;
    window.filterH = filter[1];
    window.filterW = filter[2];
    const int64_t padH = window.height(shape[1]).paddingBefore(in[1]);
    const int64_t padW = window.width(shape[2]).paddingBefore(in[2]);
    const int64_t depth = in[3];
    const int64_t cost = shape[2] * shape[3] * depth * filter[1] * filter[2] / (window.strideH * window.strideW);
    shareWork(args, shape[0] * shape[1], std::max<int64_t>(1, cost), [&](int64_t begin, int64_t end, int) {
        for (int64_t line = begin; line < end; ++line) {
            const float* image = args.in(0).as<float>() + line / shape[1] * in[1] * in[2] * depth;
            const int64_t y = line % shape[1] + padH;
            for (int64_t ox = 0; ox < shape[2]; ++ox) {
                const int64_t x = ox + padW;
                for (int64_t c = 0; c < shape[3]; ++c) {
                    float sum = args.in(2).as<float>()[c];
                    const int64_t firstY = std::max<int64_t>(0, (y - filter[1] + window.strideH) / window.strideH);
                    const int64_t firstX = std::max<int64_t>(0, (x - filter[2] + window.strideW) / window.strideW);
                    for (int64_t iy = firstY; iy < std::min(in[1], y / window.strideH + 1); ++iy)
                        for (int64_t ix = firstX; ix < std::min(in[2], x / window.strideW + 1); ++ix) {
                            const float* pixel = image + (iy * in[2] + ix) * depth;
                            const int64_t tap = (y - iy * window.strideH) * filter[2] + x - ix * window.strideW;
                            const float* weights = args.in(1).as<float>() + (c * filter[1] * filter[2] + tap) * depth;
                            for (int64_t d = 0; d < depth; ++d) sum += pixel[d] * weights[d];
                        }
                    args.out(0).as<float>()[(line * shape[2] + ox) * shape[3] + c] = sum;
                }
            }
        }
    });
    return {};
}

/// `indices`: the operand that holds integers; −1: none does.
Result<PreparedKernel> prepare(const KernelSetup& setup, bool withFilter, KernelFunction run, int indices = -1)
{
    for (size_t i = 0; i < setup.inputs.size(); ++i)
        if (static_cast<int>(i) != indices && setup.inputs[i] && setup.inputs[i]->dtype != DType::f32) return unsupportedDtypes(setup);
    const auto window = StructWindow::from(setup.attributes(), withFilter);
    if (!window) return Error(ErrorCode::unsupported, "options of a window").expected("padding, strides and filter");
    return PreparedKernel{run, std::make_shared<const StructWindow>(*window)};
}

} // namespace

LS_DEFINE_KERNELS(custom, MaxPoolingWithArgmax2D)
{
    registry.add({"custom", "MaxPoolingWithArgmax2D", Profile::reference,
                  [](const KernelSetup& setup) { return prepare(setup, true, runMaxPooling); }, "f32"});
}

LS_DEFINE_KERNELS(custom, MaxUnpooling2D)
{
    registry.add({"custom", "MaxUnpooling2D", Profile::reference,
                  [](const KernelSetup& setup) {
                      const bool isFlat = setup.has(1) && setup.in(1).dtype == DType::i32;
                      return prepare(setup, true, isFlat ? runFlatUnpooling : runMaxUnpooling, isFlat ? 1 : -1);
                  },
                  "f32"});
}

LS_DEFINE_KERNELS(custom, Convolution2DTransposeBias)
{
    registry.add({"custom", "Convolution2DTransposeBias", Profile::reference,
                  [](const KernelSetup& setup) { return prepare(setup, false, runTransposeConvBias); }, "f32"});
}
