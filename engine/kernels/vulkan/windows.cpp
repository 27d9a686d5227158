// Depthwise and transposed convolutions and pooling: an invocation for each element of the result.
#include "engine/kernels/vulkan/quantized.h"
#include "engine/ops/window.h"

#include <algorithm>
#include <cstring>

namespace loopscope::vulkan {

namespace {

/// The push constants of window.comp.
struct WindowParameters {
    uint32_t count = 0, inHeight = 0, inWidth = 0, inChannels = 0, outHeight = 0, outWidth = 0, outChannels = 0;
    uint32_t filterHeight = 1, filterWidth = 1, strides = 0, dilations = 0, paddingY = 0, paddingX = 0;
    uint32_t low = 0, high = 0;
    uint32_t zeroIn = 0, zeroFilter = 0, zeroOut = 0, least = 0, most = 0;
};

struct Windows {
    Place in, filter, bias;
    bool hasBias = false;
    Code storeFilter = storeF32;
    std::vector<uint32_t> stages;
    WindowParameters p;
};

Result<PreparedKernel> plannedWindows(PlanBuilder builder, Code op, const Tensor& input, const WindowAxis& y, const WindowAxis& x,
                                      Windows w)
{
    const Tensor& result = builder.setup().out(0);
    const std::optional<Code> store = storeOf(input.dtype), out = storeOf(result.dtype);
    if (!store || !out || input.shape.rank() != 4 || result.shape.rank() != 4) return wrongDtypes(builder.setup());
    WindowParameters& p = w.p;
    p.count = static_cast<uint32_t>(result.elementCount());
    p.inHeight = static_cast<uint32_t>(input.shape[1]);
    p.inWidth = static_cast<uint32_t>(input.shape[2]);
    p.inChannels = static_cast<uint32_t>(input.shape[3]);
    p.outHeight = static_cast<uint32_t>(result.shape[1]);
    p.outWidth = static_cast<uint32_t>(result.shape[2]);
    p.outChannels = static_cast<uint32_t>(result.shape[3]);
    p.filterHeight = static_cast<uint32_t>(y.filter);
    p.filterWidth = static_cast<uint32_t>(x.filter);
    if (std::max({y.stride, x.stride, y.dilation, x.dilation}) > 65'535) return unsupported("steps of more than 65535");
    const int64_t inner = op == windowTransposed ? input.shape[3] + 1 : 0; // a loop over channels, and its exit
    if (y.filter * (x.filter * (inner + 1) + 2) > kMostTrips) return unsupported("windows of more than 60000 elements");
    p.strides = static_cast<uint32_t>(y.stride | x.stride << 16);
    p.dilations = static_cast<uint32_t>(y.dilation | x.dilation << 16);
    std::vector<uint32_t> push(sizeof(p) / 4);
    std::memcpy(push.data(), &p, sizeof(p));
    const Place stage = w.stages.empty() ? w.in : builder.constant(std::span<const uint32_t>(w.stages));
    const bool isPlain = *store == storeF32 && w.storeFilter == storeF32 && *out == storeF32;
    const bool readsFours = op == windowDepthwise && isPlain && p.inChannels == p.outChannels && p.inChannels % 4 == 0;
    LS_CHECK_OK(builder.addElements(
        Shader::window,
        {op, isFloat(input.dtype) ? inFloat : inInt, *store, w.storeFilter, *out, w.hasBias ? 1U : 0U, readsFours ? 1U : 0U},
        {w.in, w.filter, w.hasBias ? w.bias : w.in, PlanBuilder::out(0), stage}, std::move(push),
        readsFours ? result.elementCount() / 4 : result.elementCount()));
    return builder.done();
}

/// Operands, scales and bounds of a convolution. Errors: unsupported.
Status setUp(PlanBuilder& builder, int input, int filter, int bias, int64_t channels, Windows& w)
{
    const KernelSetup& setup = builder.setup();
    const Tensor &in = setup.in(input), &weights = setup.in(filter), &result = setup.out(0);
    w.hasBias = setup.has(bias);
    const bool isReal = in.dtype == DType::f32 && weights.dtype == DType::f32 && result.dtype == DType::f32;
    const bool isByte = (in.dtype == DType::i8 || in.dtype == DType::u8) && weights.dtype == in.dtype && result.dtype == in.dtype;
    if (!isReal && (!isByte || (w.hasBias && setup.in(bias).dtype != DType::i32))) return wrongDtypes(setup);
    w.storeFilter = *storeOf(weights.dtype);
    if (isReal) {
        const RealRange range = realRange(setup.attributes());
        w.p.low = bitsOf(range.low);
        w.p.high = bitsOf(range.high);
    } else {
        const bool isLegacy = in.dtype == DType::u8;
        if (isLegacy && w.hasBias && !hasScaleOfBias(in, weights, setup.in(bias), result)) return unsupported("another scale of the bias");
        LS_TRY(w.stages, stageOf(in, weights, result, channels, isLegacy, false));
        LS_TRY(const StoredRange range, storedRange(setup.attributes(), result));
        w.p.zeroIn = zeroOf(in);
        w.p.zeroFilter = isLegacy ? zeroOf(weights) : 0;
        w.p.zeroOut = zeroOf(result);
        w.p.least = static_cast<uint32_t>(range.least);
        w.p.most = static_cast<uint32_t>(range.most);
    }
    w.in = builder.in(input);
    w.filter = builder.in(filter);
    if (w.hasBias) w.bias = builder.in(bias);
    return {};
}

} // namespace

Result<PreparedKernel> planDepthwise(const KernelSetup& setup, const KernelLine&)
{
    LS_TRY(PlanBuilder builder, PlanBuilder::create(setup));
    const Shape &in = setup.in(0).shape, &filter = setup.in(1).shape, &out = setup.out(0).shape;
    if (in.rank() != 4 || filter.rank() != 4 || in[3] == 0 || out.rank() != 4) return wrongDtypes(setup);
    Windows w;
    LS_CHECK_OK(setUp(builder, 0, 1, 2, filter[3], w));
    const WindowAxis y = windowAxis(setup.attributes(), 'h', in[1], filter[1]), x = windowAxis(setup.attributes(), 'w', in[2], filter[2]);
    w.p.paddingY = static_cast<uint32_t>(y.paddingBefore(out[1]));
    w.p.paddingX = static_cast<uint32_t>(x.paddingBefore(out[2]));
    return plannedWindows(std::move(builder), windowDepthwise, setup.in(0), y, x, std::move(w));
}

Result<PreparedKernel> planTransposeConv(const KernelSetup& setup, const KernelLine&)
{
    LS_TRY(PlanBuilder builder, PlanBuilder::create(setup));
    const Shape &filter = setup.in(1).shape, &out = setup.out(0).shape;
    if (out.rank() != 4 || filter.rank() != 4) return wrongDtypes(setup);
    Windows w;
    LS_CHECK_OK(setUp(builder, 2, 1, 3, filter[0], w));
    // The padding is that of the convolution that would make an image of the result's size smaller.
    WindowAxis y = windowAxis(setup.attributes(), 'h', out[1], filter[1]), x = windowAxis(setup.attributes(), 'w', out[2], filter[2]);
    y.dilation = x.dilation = 1;
    if (y.stride < 1 || x.stride < 1) return unsupported("strides below 1");
    w.p.paddingY = static_cast<uint32_t>(y.paddingBefore(y.outputSize()));
    w.p.paddingX = static_cast<uint32_t>(x.paddingBefore(x.outputSize()));
    return plannedWindows(std::move(builder), windowTransposed, setup.in(2), y, x, std::move(w));
}

Result<PreparedKernel> planPool(const KernelSetup& setup, const KernelLine& line)
{
    const Tensor &input = setup.in(0), &result = setup.out(0);
    if (!does(line, input.dtype) || input.dtype != result.dtype || input.shape.rank() != 4) return wrongDtypes(setup);
    LS_TRY(PlanBuilder builder, PlanBuilder::create(setup));
    Windows w;
    WindowAxis y = windowAxis(setup.attributes(), 'h', input.shape[1], attributeInt(setup.attributes(), "filter_height", 0));
    WindowAxis x = windowAxis(setup.attributes(), 'w', input.shape[2], attributeInt(setup.attributes(), "filter_width", 0));
    y.dilation = x.dilation = 1;
    w.p.paddingY = static_cast<uint32_t>(y.paddingBefore(result.shape[1]));
    w.p.paddingX = static_cast<uint32_t>(x.paddingBefore(result.shape[2]));
    if (w.p.paddingY >= y.filter || w.p.paddingX >= x.filter) return unsupported("windows that hold no element");
    const RealRange range = realRange(setup.attributes());
    w.p.low = bitsOf(range.low);
    w.p.high = bitsOf(range.high);
    if (!isFloat(input.dtype)) {
        LS_TRY(const StoredRange stored, storedRange(setup.attributes(), result));
        w.p.least = static_cast<uint32_t>(stored.least);
        w.p.most = static_cast<uint32_t>(stored.most);
    }
    w.in = w.filter = builder.in(0);
    return plannedWindows(std::move(builder), line.code, input, y, x, std::move(w));
}

} // namespace loopscope::vulkan
