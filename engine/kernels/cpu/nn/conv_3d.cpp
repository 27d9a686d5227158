// CPU kernels of conv_3d and conv_3d_transpose, f32.
#include "engine/base/interruption.h"
#include "engine/kernels/cpu/gemm.h"
#include "engine/kernels/cpu/nn/conv_window.h"
#include "engine/kernels/cpu/nn_common.h"
#include "engine/kernels/registry.h"

#include <algorithm>
#include <array>
#include <memory>

using namespace loopscope;

namespace {

constexpr char kAxes[] = {'d', 'h', 'w'};

struct Conv3dParams {
    std::array<WindowAxis, 3> axes; ///< depth, height, width
    ActivationRange<float> range;
    std::vector<float> panels; ///< constant weights
};

struct Sizes {
    std::array<PlacedAxis, 3> axis; ///< of the forward convolution; transposed, its input is our output
    int64_t batches, inputChannels, channels;
    int64_t taps() const { return axis[0].filter * axis[1].filter * axis[2].filter; }
    int64_t depth() const { return taps() * inputChannels; }
};

void packFilter(const float* filter, int64_t taps, int64_t inputChannels, int64_t channels, bool transposed, float* panels)
{
    const int64_t depth = taps * inputChannels;
    if (!transposed) { // [tap][input channel][channel]
        packPanels(filter, channels, depth, 1, channels, panels);
        return;
    }
    for (int64_t row = 0; row < channels; row += kPanelRows) // [tap][channel][input channel]
        for (int64_t tap = 0; tap < taps; ++tap)
            packPanels(filter + (tap * channels + row) * inputChannels, std::min(kPanelRows, channels - row), inputChannels, inputChannels,
                       1, panels + row * depth + tap * inputChannels * kPanelRows);
}

/// The runs of products of one output of the forward convolution: depth, row, column, channel.
size_t listRuns(const Sizes& s, const std::array<int64_t, 3>& o, ProductRun* runs)
{
    size_t count = 0;
    const TapRange td = s.axis[0].taps(o[0]);
    const TapRange ty = s.axis[1].taps(o[1]);
    const TapRange tx = s.axis[2].taps(o[2]);
    for (int64_t kd = td.first; kd < td.last; ++kd)
        for (int64_t ky = ty.first; ky < ty.last; ++ky)
            for (int64_t kx = tx.first; kx < tx.last; ++kx) {
                const int64_t z = s.axis[0].origin(o[0]) + kd * s.axis[0].dilation;
                const int64_t y = s.axis[1].origin(o[1]) + ky * s.axis[1].dilation;
                const int64_t x = s.axis[2].origin(o[2]) + kx * s.axis[2].dilation;
                runs[count++] = {((z * s.axis[1].input + y) * s.axis[2].input + x) * s.inputChannels,
                                 ((kd * s.axis[1].filter + ky) * s.axis[2].filter + kx) * s.inputChannels, s.inputChannels};
            }
    return count;
}

/// Tap of window `i` that lies on index `o`, −1 if none does.
int64_t tapAt(const PlacedAxis& axis, int64_t i, int64_t o)
{
    const int64_t distance = o - axis.origin(i);
    if (distance < 0 || distance % axis.dilation != 0 || distance / axis.dilation >= axis.filter) return -1;
    return distance / axis.dilation;
}

/// Windows of the forward convolution that may reach index `o`.
TapRange sources(const PlacedAxis& axis, int64_t o)
{
    const int64_t low = o + axis.padding - (axis.filter - 1) * axis.dilation;
    TapRange range;
    range.first = low <= 0 ? 0 : (low + axis.stride - 1) / axis.stride;
    range.last = std::max(range.first, std::min(axis.output, (o + axis.padding) / axis.stride + 1));
    return range;
}

/// The runs of products of one output of the transposed convolution, in the order in which the reference adds the inputs.
size_t listTransposedRuns(const Sizes& s, const std::array<int64_t, 3>& o, ProductRun* runs)
{
    size_t count = 0;
    const TapRange zs = sources(s.axis[0], o[0]);
    const TapRange ys = sources(s.axis[1], o[1]);
    const TapRange xs = sources(s.axis[2], o[2]);
    for (int64_t z = zs.first; z < zs.last; ++z)
        for (int64_t y = ys.first; y < ys.last; ++y)
            for (int64_t x = xs.first; x < xs.last; ++x) {
                const int64_t kd = tapAt(s.axis[0], z, o[0]);
                const int64_t ky = tapAt(s.axis[1], y, o[1]);
                const int64_t kx = tapAt(s.axis[2], x, o[2]);
                if (kd < 0 || ky < 0 || kx < 0) continue;
                runs[count++] = {((z * s.axis[1].output + y) * s.axis[2].output + x) * s.inputChannels,
                                 ((kd * s.axis[1].filter + ky) * s.axis[2].filter + kx) * s.inputChannels, s.inputChannels};
            }
    return count;
}

template <bool transposed> Status run(const KernelArgs& args)
{
    const auto& params = args.paramsAs<Conv3dParams>();
    const Tensor& filter = args.in(1);
    const Tensor& input = args.in(transposed ? 2 : 0);
    const Shape& output = args.out(0).shape;
    Sizes s;
    for (size_t a = 0; a < 3; ++a) {
        const int dim = static_cast<int>(a) + 1;
        WindowAxis axis = params.axes[a];
        axis.filter = filter.shape[static_cast<int>(a)];
        axis.input = transposed ? output[dim] : input.shape[dim];
        s.axis[a] = Window2d::place(axis, axis.input, transposed ? axis.outputSize() : output[dim]);
        if (transposed) s.axis[a].output = input.shape[dim];
    }
    s.batches = input.shape[0];
    s.inputChannels = input.shape[4];
    s.channels = output[4];
    const bool packed = !params.panels.empty();
    ScratchLayout layout;
    const size_t runsAt = layout.add<ProductRun>(s.taps());
    const size_t panelsAt = layout.add<float>(packed ? 0 : panelFloats(s.channels, s.depth()));
    std::byte* scratch = args.runtime->scratch(layout.bytes());
    auto* runs = reinterpret_cast<ProductRun*>(scratch + runsAt);
    const float* panels = params.panels.data();
    if (!packed) {
        auto* own = reinterpret_cast<float*>(scratch + panelsAt);
        packFilter(filter.as<float>(), s.taps(), s.inputChannels, s.channels, transposed, own);
        panels = own;
    }
    const int biasAt = transposed ? 3 : 2;
    const float* bias = args.has(biasAt) ? args.in(biasAt).as<float>() : nullptr;
    float* out = args.out(0).as<float>();
    FloatTile tile = {};
    tile.count = 1;
    for (int64_t b = 0; b < s.batches; ++b) {
        tile.input = input.as<float>() + b * input.shape.countOf(1, 5);
        for (int64_t z = 0; z < output[1]; ++z)
            for (int64_t y = 0; y < output[2]; ++y)
                for (int64_t x = 0; x < output[3]; ++x, out += s.channels) {
                    tile.sums[0] = out;
                    const size_t count = transposed ? listTransposedRuns(s, {z, y, x}, runs) : listRuns(s, {z, y, x}, runs);
                    multiplyTile(tile, {runs, count}, panels, s.channels, s.depth());
                    interruptionPoint();
                    for (int64_t c = 0; c < s.channels; ++c) out[c] = clampTo(out[c] + (bias ? bias[c] : 0.0F), params.range);
                }
    }
    return {};
}

template <bool transposed> Result<PreparedKernel> prepare(const KernelSetup& setup)
{
    auto params = std::make_shared<Conv3dParams>();
    for (size_t a = 0; a < 3; ++a) params->axes[a] = windowAxis(setup.attributes(), kAxes[a], kUnknownDim, 1);
    params->range = activationRange<float>(fusedActivation(setup.attributes()));
    const Tensor& filter = setup.in(1);
    if (filter.data != nullptr && filter.shape.isStatic()) {
        const Shape& shape = filter.shape;
        const int64_t taps = shape.countOf(0, 3);
        const int64_t inputChannels = shape[transposed ? 4 : 3];
        const int64_t channels = shape[transposed ? 3 : 4];
        params->panels.resize(static_cast<size_t>(panelFloats(channels, taps * inputChannels)));
        packFilter(filter.as<float>(), taps, inputChannels, channels, transposed, params->panels.data());
    }
    return PreparedKernel{run<transposed>, std::move(params)};
}

} // namespace

LS_DEFINE_KERNELS(tfl, conv_3d) { registry.add({"tfl", "conv_3d", Profile::reference, prepare<false>, "f32"}); }

LS_DEFINE_KERNELS(tfl, conv_3d_transpose) { registry.add({"tfl", "conv_3d_transpose", Profile::reference, prepare<true>, "f32"}); }
