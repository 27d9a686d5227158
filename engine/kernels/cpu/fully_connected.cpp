// CPU kernels of fully_connected: f32, hybrid (f32 with integer weights), u8, i8 and i16.
#include "engine/kernels/cpu/gemm.h"
#include "engine/kernels/cpu/nn_common.h"
#include "engine/kernels/registry.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

using namespace loopscope;

namespace {

int32_t wrappingAdd(int32_t a, int32_t b)
{
    return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}

int64_t wrappingAdd(int64_t a, int64_t b)
{
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

struct FullyConnectedParams {
    ActivationRange<float> range;
    std::string act;             ///< hybrid: applied as it is
    bool hybrid = false;
    bool asymmetric = false;     ///< hybrid: asymmetric_quantize_inputs
    OutputStage stage;
    int32_t inputZero = 0;
    int32_t filterZero = 0;
    std::vector<float> scales;   ///< hybrid
    std::vector<float> panels;   ///< f32 with constant weights
    std::vector<int16_t> rows;   ///< integer weights, constant
};

struct Sizes {
    int64_t batches, units, depth;
    int64_t rowElements() const { return paddedRows(units) * paddedDepth(depth); }
};

Sizes sizesOf(const KernelArgs& args)
{
    Sizes s;
    s.units = args.in(1).shape[0];
    s.depth = args.in(1).shape[1];
    s.batches = s.units == 0 ? 0 : args.out(0).elementCount() / s.units;
    return s;
}

Status runF32(const KernelArgs& args)
{
    const auto& params = args.paramsAs<FullyConnectedParams>();
    const Sizes s = sizesOf(args);
    const float* panels = params.panels.data();
    if (params.panels.empty()) {
        auto* own = reinterpret_cast<float*>(args.runtime->scratch(static_cast<size_t>(panelFloats(s.units, s.depth)) * sizeof(float)));
        packPanels(args.in(1).as<float>(), s.units, s.depth, s.depth, 1, own);
        panels = own;
    }
    const float* bias = args.has(2) ? args.in(2).as<float>() : nullptr;
    float* out = args.out(0).as<float>();
    const ProductRun run = {0, 0, s.depth};
    for (int64_t b = 0; b < s.batches; b += kTilePositions) {
        FloatTile tile = {};
        tile.input = args.in(0).as<float>();
        tile.count = static_cast<int>(std::min<int64_t>(kTilePositions, s.batches - b));
        for (int p = 0; p < tile.count; ++p) {
            tile.positions[p] = (b + p) * s.depth;
            tile.sums[p] = out + (b + p) * s.units;
        }
        multiplyTile(tile, {&run, 1}, panels, s.units, s.depth);
    }
    for (int64_t b = 0; b < s.batches; ++b, out += s.units)
        for (int64_t c = 0; c < s.units; ++c) out[c] = clampTo(out[c] + (bias ? bias[c] : 0.0F), params.range);
    return {};
}

struct IntegerScratch {
    size_t row, sums, rows;
    ScratchLayout layout;

    IntegerScratch(const Sizes& s, bool packed)
    {
        row = layout.add<int16_t>(paddedDepth(s.depth));
        sums = layout.add<int64_t>(paddedRows(s.units));
        rows = layout.add<int16_t>(packed ? 0 : s.rowElements());
    }
};

/// Integer weights relative to their zero point. LiteRT's hybrid path reads u8 weights as if they were i8.
void packRows(const FullyConnectedParams& params, const Tensor& filter, int64_t units, int64_t depth, int16_t* rows)
{
    Tensor weights = filter;
    if (params.hybrid && weights.dtype == DType::u8) weights.dtype = DType::i8;
    packIntegerRows(weights, 0, units, depth, params.filterZero, paddedDepth(depth), paddedRows(units), rows);
}

const int16_t* weightRows(const FullyConnectedParams& params, const Sizes& s, const Tensor& filter, int16_t* own)
{
    if (!params.rows.empty()) return params.rows.data();
    packRows(params, filter, s.units, s.depth, own);
    return own;
}

/// u8 and i8 activations; a u8 input may give an i16 result.
template <typename Out> Status run8(const KernelArgs& args)
{
    const auto& params = args.paramsAs<FullyConnectedParams>();
    const Sizes s = sizesOf(args);
    const IntegerScratch parts(s, !params.rows.empty());
    std::byte* scratch = args.runtime->scratch(parts.layout.bytes());
    auto* row = reinterpret_cast<int16_t*>(scratch + parts.row);
    auto* sums = reinterpret_cast<int32_t*>(scratch + parts.sums);
    const int16_t* weights = weightRows(params, s, args.in(1), reinterpret_cast<int16_t*>(scratch + parts.rows));
    const int32_t* bias = args.has(2) ? args.in(2).as<int32_t>() : nullptr;
    const int64_t stride = paddedDepth(s.depth);
    std::fill(row, row + stride, int16_t{0});
    for (int64_t b = 0; b < s.batches; ++b) {
        widen(args.in(0), b * s.depth, s.depth, params.inputZero, row);
        dotRows(row, weights, s.units, stride, stride, sums, false);
        Out* out = args.out(0).as<Out>() + b * s.units;
        for (int64_t c = 0; c < s.units; ++c) out[c] = static_cast<Out>(params.stage.apply(wrappingAdd(sums[c], bias ? bias[c] : 0), c));
    }
    return {};
}

/// i16 activations. The reference adds in the width of the bias, 64 bits if there is none.
template <typename Bias> Status run16(const KernelArgs& args)
{
    const auto& params = args.paramsAs<FullyConnectedParams>();
    const Sizes s = sizesOf(args);
    const bool wideWeights = args.in(1).dtype == DType::i16;
    const IntegerScratch parts(s, !params.rows.empty());
    std::byte* scratch = args.runtime->scratch(parts.layout.bytes());
    auto* row = reinterpret_cast<int16_t*>(scratch + parts.row);
    auto* sums = reinterpret_cast<int64_t*>(scratch + parts.sums);
    const int16_t* weights = weightRows(params, s, args.in(1), reinterpret_cast<int16_t*>(scratch + parts.rows));
    const Bias* bias = args.has(2) ? args.in(2).as<Bias>() : nullptr;
    const int64_t stride = paddedDepth(s.depth);
    std::fill(row, row + stride, int16_t{0});
    for (int64_t b = 0; b < s.batches; ++b) {
        const int16_t* in = args.in(0).as<int16_t>() + b * s.depth;
        std::copy(in, in + s.depth, row);
        if (wideWeights) {
            for (int64_t c = 0; c < s.units; ++c) {
                const int16_t* w = weights + c * stride;
                uint64_t sum = 0;
                for (int64_t d = 0; d < s.depth; ++d) sum += static_cast<uint64_t>(int64_t{row[d]} * int64_t{w[d]});
                sums[c] = static_cast<int64_t>(sum);
            }
        } else {
            dotRows64(row, weights, s.units, stride, stride, sums, false);
        }
        int16_t* out = args.out(0).as<int16_t>() + b * s.units;
        for (int64_t c = 0; c < s.units; ++c) {
            if (sizeof(Bias) == 4 && !wideWeights)
                out[c] = static_cast<int16_t>(params.stage.apply(wrappingAdd(static_cast<int32_t>(sums[c]), static_cast<int32_t>(bias ? bias[c] : 0)), c));
            else
                out[c] = static_cast<int16_t>(params.stage.apply64(wrappingAdd(sums[c], int64_t{bias ? bias[c] : 0}), c));
        }
    }
    return {};
}

/// LiteRT's ApplyActivationToVector: unlike the float kernels it leaves infinities alone where there is no activation.
float activated(float value, std::string_view act)
{
    if (act == "RELU") return std::max(0.0F, value);
    if (act == "RELU6") return std::min(std::max(0.0F, value), 6.0F);
    if (act == "RELU_N1_TO_1") return std::min(std::max(-1.0F, value), 1.0F);
    if (act == "TANH") return std::tanh(value);
    return value;
}

/// f32 activations on integer weights: each row is quantized by its own range (LiteRT's EvalHybridDense).
Status runHybrid(const KernelArgs& args)
{
    const auto& params = args.paramsAs<FullyConnectedParams>();
    const Sizes s = sizesOf(args);
    const IntegerScratch parts(s, !params.rows.empty());
    std::byte* scratch = args.runtime->scratch(parts.layout.bytes());
    auto* row = reinterpret_cast<int16_t*>(scratch + parts.row);
    auto* sums = reinterpret_cast<int32_t*>(scratch + parts.sums);
    const int16_t* weights = weightRows(params, s, args.in(1), reinterpret_cast<int16_t*>(scratch + parts.rows));
    const float* bias = args.has(2) ? args.in(2).as<float>() : nullptr;
    const int64_t stride = paddedDepth(s.depth);
    const bool perChannel = params.scales.size() > 1;
    std::fill(row, row + stride, int16_t{0});
    for (int64_t b = 0; b < s.batches; ++b) {
        const std::span<const float> values(args.in(0).as<float>() + b * s.depth, static_cast<size_t>(s.depth));
        const HybridInput input = params.asymmetric ? quantizeAsymmetric(values, row) : quantizeSymmetric(values, row);
        for (int64_t d = 0; d < s.depth; ++d) row[d] = static_cast<int16_t>(row[d] - input.zero);
        dotRows(row, weights, s.units, stride, stride, sums, false);
        float* out = args.out(0).as<float>() + b * s.units;
        for (int64_t c = 0; c < s.units; ++c) {
            const float scale = input.scale * (perChannel ? params.scales[static_cast<size_t>(c)] : params.scales.front());
            out[c] = activated((bias ? bias[c] : 0.0F) + static_cast<float>(sums[c]) * scale, params.act);
        }
    }
    return {};
}

Result<PreparedKernel> prepareFullyConnected(const KernelSetup& setup)
{
    const Tensor& input = setup.in(0);
    const Tensor& filter = setup.in(1);
    if (attributeWord(setup.attributes(), "weights_format", "DEFAULT") != "DEFAULT")
        return Error(ErrorCode::unsupported, "shuffled weights").expected("weights_format DEFAULT");
    auto params = std::make_shared<FullyConnectedParams>();
    const Activation activation = fusedActivation(setup.attributes());
    params->range = activationRange<float>(activation);
    const int64_t units = filter.shape[0];
    PreparedKernel kernel;
    if (input.dtype == DType::f32 && filter.dtype == DType::f32) {
        kernel.run = runF32;
    } else if (input.dtype == DType::f32) {
        kernel.run = runHybrid;
        params->hybrid = true;
        // LiteRT's reference kernel reads no scales of blocks: it sees a scale of 0, so that only the bias is left.
        if (filter.quantization && filter.quantization->kind == Quantization::Kind::blockwise)
            params->scales = {0.0F};
        else if (filter.quantization)
            params->scales = filter.quantization->scales;
        if (params->scales.empty()) return Error(ErrorCode::unsupported, "filter has no scale");
        params->act = attributeWord(setup.attributes(), "act", "NONE");
        params->asymmetric = attributeBool(setup.attributes(), "asymmetric_quantize_inputs", false);
    } else {
        LS_TRY(params->stage, makeOutputStage(input, filter, setup.out(0), units, activation, Scaling::real));
        params->inputZero = scaleAndZero(input).zero;
        // Weights with a scale for each channel are symmetric by definition; their zero points are not read.
        if (filter.quantization->scales.size() == 1) params->filterZero = scaleAndZero(filter).zero;
        if (input.dtype == DType::u8) kernel.run = setup.out(0).dtype == DType::i16 ? run8<int16_t> : run8<uint8_t>;
        if (input.dtype == DType::i8) kernel.run = run8<int8_t>;
        if (input.dtype == DType::i16) kernel.run = setup.has(2) && setup.in(2).dtype == DType::i32 ? run16<int32_t> : run16<int64_t>;
    }
    if (filter.data != nullptr && filter.shape.isStatic()) {
        const int64_t depth = filter.shape[1];
        if (kernel.run == runF32) {
            params->panels.resize(static_cast<size_t>(panelFloats(units, depth)));
            packPanels(filter.as<float>(), units, depth, depth, 1, params->panels.data());
        } else {
            params->rows.resize(static_cast<size_t>(paddedRows(units) * paddedDepth(depth)));
            packRows(*params, filter, units, depth, params->rows.data());
        }
    }
    kernel.params = std::move(params);
    return kernel;
}

} // namespace

LS_DEFINE_KERNELS(tfl, fully_connected)
{
    registry.add({"tfl", "fully_connected", Profile::reference, prepareFullyConnected, "f32 u8 i8 i16"});
}
