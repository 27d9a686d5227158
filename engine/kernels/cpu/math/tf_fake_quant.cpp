// Kernels of TensorFlow's simulated quantization: core/kernels/fake_quant_ops.cc, fake_quant_ops_functor.h.
#include "engine/kernels/cpu/tf_support.h"

#include <algorithm>
#include <cmath>

using namespace loopscope;

namespace {

/// Evenly spaced numbers, one of them 0: the range that was asked for, moved by less than a step. `scale` 0: everything becomes 0.
struct Grid {
    float least = 0, most = 0, scale = 0, inverse = 0, zero = 0;

    float rounded(float x) const
    {
        if (scale == 0) return 0;
        // no std::clamp: nothing says that min is less than max
        return std::floor((std::max(std::min(x, most), least) - least) * inverse - zero + 0.5F) * scale;
    }
    bool holds(float x) const { return x >= least && x <= most; }
};

Grid gridOf(float min, float max, int64_t bits, bool isNarrow)
{
    if (min == 0 && max == 0) return {};
    const float first = isNarrow ? 1.0F : 0.0F;
    const auto last = static_cast<float>((int64_t{1} << bits) - 1);
    Grid grid;
    grid.scale = (max - min) / (last - first);
    grid.inverse = (last - first) / (max - min);
    const float zero = std::clamp(std::round(first - min / grid.scale), first, last);
    grid.least = (first - zero) * grid.scale;
    grid.most = (last - zero) * grid.scale;
    grid.zero = std::floor(-grid.least * grid.inverse + 0.5F);
    return grid;
}

/// False: attributes give the range.
bool hasRangeOperands(const KernelArgs& args) { return args.paramsAs<Operator>().kind.name.find("Args") == std::string::npos; }

/// One grid, or one for each channel.
Result<std::vector<Grid>> gridsOf(const KernelArgs& args, int input)
{
    const AttributeList& attributes = attributesOf(args);
    const int64_t bits = attributeInt(attributes, "num_bits", 8);
    const bool isNarrow = attributeBool(attributes, "narrow_range", false);
    if (bits < 2 || bits > 16) return invalidArgument("num_bits must be between 2 and 16, inclusive");
    const int min = input + 1;
    if (!hasRangeOperands(args)) {
        const auto low = static_cast<float>(attributeFloat(attributes, "min", -6));
        const auto high = static_cast<float>(attributeFloat(attributes, "max", 6));
        if (!(low < high))
            return invalidArgument("min has to be smaller than max, was: " + std::to_string(low) + " >= " + std::to_string(high));
        return std::vector{gridOf(low, high, bits, isNarrow)};
    }
    const bool perChannel = args.paramsAs<Operator>().kind.name.find("PerChannel") != std::string::npos;
    const Shape& shape = args.in(input).shape;
    if (perChannel && shape.rank() < 1) return invalidArgument("inputs must be at least 1-D, got shape []");
    const int64_t channels = perChannel ? shape.back() : 1;
    for (const int i : {min, min + 1})
        if (args.in(i).elementCount() != channels || args.in(i).shape.rank() != (perChannel ? 1 : 0))
            return invalidArgument(std::string(i == min ? "min" : "max") + " has incorrect size, expected " + std::to_string(channels) +
                                   " was " + toString(args.in(i).shape));
    std::vector<Grid> grids;
    for (int64_t c = 0; c < channels; ++c)
        grids.push_back(gridOf(args.in(min).as<float>()[c], args.in(min + 1).as<float>()[c], bits, isNarrow));
    return grids;
}

Status runFakeQuant(const KernelArgs& args)
{
    LS_TRY(const std::vector<Grid> grids, gridsOf(args, 0));
    LS_CHECK_OK(tfAllocate(args, 0, args.in(0).shape));
    const float* in = args.in(0).as<float>();
    float* out = args.out(0).as<float>();
    for (int64_t i = 0, n = args.in(0).elementCount(); i < n; ++i) out[i] = grids[static_cast<size_t>(i) % grids.size()].rounded(in[i]);
    return {};
}

/// What lies outside of the grid does not depend on the input, but on the end of the range that it was moved to.
Status runFakeQuantGradient(const KernelArgs& args)
{
    LS_TRY(const std::vector<Grid> grids, gridsOf(args, 1));
    if (!(args.in(0).shape == args.in(1).shape))
        return invalidArgument("gradient and input must be the same size, got " + toString(args.in(0).shape) + " and " +
                               toString(args.in(1).shape));
    LS_CHECK_OK(tfAllocate(args, 0, args.in(1).shape));
    const float* gradients = args.in(0).as<float>();
    const float* in = args.in(1).as<float>();
    float* out = args.out(0).as<float>();
    std::vector<float> below(grids.size()), above(grids.size());
    for (int64_t i = 0, n = args.in(1).elementCount(); i < n; ++i) {
        const size_t c = static_cast<size_t>(i) % grids.size();
        const Grid& grid = grids[c];
        const bool inside = grid.scale == 0 || grid.holds(in[i]);
        out[i] = gradients[i] * (inside ? 1 : 0); // TensorFlow multiplies, too: an infinite gradient becomes NaN
        if (grid.scale == 0) continue;
        below[c] += gradients[i] * (in[i] < grid.least ? 1 : 0);
        above[c] += gradients[i] * (in[i] > grid.most ? 1 : 0); // a NaN is neither
    }
    if (!hasRangeOperands(args)) return {};
    for (const int k : {1, 2}) {
        LS_CHECK_OK(tfAllocate(args, k, args.in(k + 1).shape));
        std::ranges::copy(k == 1 ? below : above, args.out(k).as<float>());
    }
    return {};
}

} // namespace

LS_TF_KERNEL(FakeQuantWithMinMaxArgs, runFakeQuant, "f32")
LS_TF_KERNEL(FakeQuantWithMinMaxArgsGradient, runFakeQuantGradient, "f32")
LS_TF_KERNEL(FakeQuantWithMinMaxVars, runFakeQuant, "f32")
LS_TF_KERNEL(FakeQuantWithMinMaxVarsGradient, runFakeQuantGradient, "f32")
LS_TF_KERNEL(FakeQuantWithMinMaxVarsPerChannel, runFakeQuant, "f32")
LS_TF_KERNEL(FakeQuantWithMinMaxVarsPerChannelGradient, runFakeQuantGradient, "f32")
