// CPU kernels of fully_connected: f32, hybrid (f32 with integer weights), u8, i8 and i16; weights also in the shuffled formats.
#include "engine/kernels/cpu/linear/fully_connected.h"

#include "engine/kernels/cpu/gemm.h"
#include "engine/kernels/cpu/nn_common.h"
#include "engine/kernels/registry.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

using namespace loopscope;

namespace {

int32_t addModulo(int32_t a, int32_t b) { return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b)); }

int64_t addModulo(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }

/// How the weights lie in memory.
enum class WeightsFormat : uint8_t {
    rows,       ///< one after the other
    blocks4x16, ///< SHUFFLED4x16INT8: 16 numbers of 4 rows side by side
    columns16,  ///< SHUFFLED16x1FLOAT32: one number of 16 rows side by side
};

struct FullyConnectedParams {
    WeightsFormat format = WeightsFormat::rows;
    ActivationRange<float> range;
    std::string act; ///< hybrid: applied as it is
    bool hybrid = false;
    bool asymmetric = false; ///< hybrid: asymmetric_quantize_inputs
    bool isDynamic = false;  ///< hybrid as XNNPACK does it
    OutputStage stage;
    int32_t inputZero = 0;
    int32_t filterZero = 0;
    std::vector<float> scales; ///< hybrid
    std::vector<float> panels; ///< f32 with constant weights
    std::vector<int16_t> rows; ///< integer weights, constant
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

void packFloats(const FullyConnectedParams& params, const Tensor& filter, int64_t units, int64_t depth, float* panels)
{
    if (params.format == WeightsFormat::columns16)
        std::copy_n(filter.as<float>(), units * depth, panels); // the units are a multiple of 16: these are our panels
    else packPanels(filter.as<float>(), units, depth, depth, 1, panels);
}

Status runF32(const KernelArgs& args)
{
    const auto& params = args.paramsAs<FullyConnectedParams>();
    const Sizes s = sizesOf(args);
    const float* panels = params.panels.data();
    if (params.panels.empty()) {
        auto* own = reinterpret_cast<float*>(args.runtime->scratch(static_cast<size_t>(panelFloats(s.units, s.depth)) * sizeof(float)));
        packFloats(params, args.in(1), s.units, s.depth, own);
        panels = own;
    }
    const float* bias = args.has(2) ? args.in(2).as<float>() : nullptr;
    float* out = args.out(0).as<float>();
    const ProductRun run = {0, 0, s.depth};
    const int64_t panelCount = panelFloats(s.units, 1) / kPanelRows;
    shareWork(args, panelCount, kPanelRows * s.depth * s.batches, [&](int64_t begin, int64_t end, int) {
        const int64_t first = begin * kPanelRows;
        const int64_t count = std::min(end * kPanelRows, s.units) - first;
        for (int64_t b = 0; b < s.batches; b += kTilePositions) {
            FloatTile tile = {};
            tile.input = args.in(0).as<float>();
            tile.count = static_cast<int>(std::min<int64_t>(kTilePositions, s.batches - b));
            for (int p = 0; p < tile.count; ++p) {
                tile.positions[p] = (b + p) * s.depth;
                tile.sums[p] = out + (b + p) * s.units + first;
            }
            multiplyTile(tile, {&run, 1}, panels + first * s.depth, count, s.depth);
            for (int p = 0; p < tile.count; ++p)
                for (int64_t c = 0; c < count; ++c)
                    tile.sums[p][c] = clampTo(tile.sums[p][c] + (bias ? bias[first + c] : 0.0F), params.range);
        }
    });
    return {};
}

struct IntegerScratch {
    size_t inputs, sums, scales, rows;
    ScratchLayout layout;

    IntegerScratch(const Sizes& s, bool packed, int threads)
    {
        inputs = layout.add<int16_t>(s.batches * paddedDepth(s.depth));
        sums = layout.add<int64_t>(paddedRows(s.units) * threads);
        scales = layout.add<float>(s.batches);
        rows = layout.add<int16_t>(packed ? 0 : s.rowElements());
    }
};

/// Integer weights relative to their zero point. LiteRT's hybrid path reads u8 weights as if they were i8.
void packRows(const FullyConnectedParams& params, const Tensor& filter, int64_t units, int64_t depth, int16_t* rows)
{
    if (params.format == WeightsFormat::blocks4x16) {
        // 4 rows of 16 numbers lie together; 128 is taken off the numbers already, as if they were i8 (LiteRT reference/fully_connected.h)
        const int64_t stride = paddedDepth(depth);
        for (int64_t c = 0; c < units; ++c)
            for (int64_t d = 0; d < depth; ++d)
                rows[c * stride + d] = filter.as<int8_t>()[c / 4 * 4 * depth + d / 16 * 64 + c % 4 * 16 + d % 16];
        return;
    }
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

/// Calls `store(batch, first unit, count, sums)` for blocks of units, from all threads. The inputs are in the scratch block.
template <typename Sum, typename Store>
void sumUnits(const KernelArgs& args, const Sizes& s, const IntegerScratch& parts, std::byte* scratch, Store store)
{
    const auto& params = args.paramsAs<FullyConnectedParams>();
    const int64_t stride = paddedDepth(s.depth);
    const auto* inputs = reinterpret_cast<const int16_t*>(scratch + parts.inputs);
    const int16_t* weights = weightRows(params, s, args.in(1), reinterpret_cast<int16_t*>(scratch + parts.rows));
    const bool wideWeights = args.in(1).dtype == DType::i16;
    constexpr int64_t kBlock = 4; // rows that dotRows takes at once
    shareWork(args, paddedRows(s.units) / kBlock, kBlock * s.depth * s.batches, [&](int64_t begin, int64_t end, int thread) {
        Sum* sums = reinterpret_cast<Sum*>(reinterpret_cast<int64_t*>(scratch + parts.sums) + thread * paddedRows(s.units));
        const int64_t first = begin * kBlock;
        const int64_t count = std::min(end * kBlock, s.units) - first;
        const int16_t* w = weights + first * stride;
        for (int64_t b = 0; b < s.batches; ++b) {
            const int16_t* x = inputs + b * stride;
            if constexpr (sizeof(Sum) == 4) {
                dotRows(x, w, count, stride, stride, sums, false);
            } else if (!wideWeights) {
                dotRows64(x, w, count, stride, stride, sums, false);
            } else {
                for (int64_t c = 0; c < count; ++c) {
                    uint64_t sum = 0;
                    for (int64_t d = 0; d < s.depth; ++d) sum += static_cast<uint64_t>(int64_t{x[d]} * int64_t{w[c * stride + d]});
                    sums[c] = static_cast<Sum>(sum);
                }
            }
            store(b, first, count, sums);
        }
    });
}

/// Each row of the input as 16-bit numbers relative to `zero`, padded with zeros.
void widenInputs(const Tensor& input, const Sizes& s, int32_t zero, int16_t* rows)
{
    const int64_t stride = paddedDepth(s.depth);
    for (int64_t b = 0; b < s.batches; ++b) {
        widen(input, b * s.depth, s.depth, zero, rows + b * stride);
        std::fill(rows + b * stride + s.depth, rows + (b + 1) * stride, int16_t{0});
    }
}

/// u8 and i8 activations; a u8 input may give an i16 result.
template <typename Out> Status run8(const KernelArgs& args)
{
    const auto& params = args.paramsAs<FullyConnectedParams>();
    const Sizes s = sizesOf(args);
    const IntegerScratch parts(s, !params.rows.empty(), args.runtime->threads());
    std::byte* scratch = args.runtime->scratch(parts.layout.bytes());
    const int32_t* bias = args.has(2) ? args.in(2).as<int32_t>() : nullptr;
    widenInputs(args.in(0), s, params.inputZero, reinterpret_cast<int16_t*>(scratch + parts.inputs));
    sumUnits<int32_t>(args, s, parts, scratch, [&](int64_t b, int64_t first, int64_t count, const int32_t* sums) {
        Out* out = args.out(0).as<Out>() + b * s.units + first;
        for (int64_t c = 0; c < count; ++c)
            out[c] = static_cast<Out>(params.stage.apply(addModulo(sums[c], bias ? bias[first + c] : 0), first + c));
    });
    return {};
}

/// Shuffled weights: the second result is the input as the reference lays it out for them, blocks of 16 numbers of 4 rows side by side.
Status runShuffled(const KernelArgs& args)
{
    LS_CHECK_OK(run8<int16_t>(args));
    const Sizes s = sizesOf(args);
    const auto* in = args.in(0).as<uint8_t>();
    auto* out = args.out(1).as<uint8_t>();
    for (int64_t b = 0; b < s.batches; ++b)
        for (int64_t d = 0; d < s.depth; ++d) {
            const int64_t at = s.batches % 4 == 0 ? b / 4 * 4 * s.depth + d / 16 * 64 + b % 4 * 16 + d % 16 : b * s.depth + d;
            out[at] = in[b * s.depth + d] ^ 0x80U;
        }
    return {};
}

/// i16 activations. The reference adds in the width of the bias, 64 bits if there is none.
template <typename Bias> Status run16(const KernelArgs& args)
{
    const auto& params = args.paramsAs<FullyConnectedParams>();
    const Sizes s = sizesOf(args);
    const bool wideWeights = args.in(1).dtype == DType::i16;
    const IntegerScratch parts(s, !params.rows.empty(), args.runtime->threads());
    std::byte* scratch = args.runtime->scratch(parts.layout.bytes());
    const Bias* bias = args.has(2) ? args.in(2).as<Bias>() : nullptr;
    widenInputs(args.in(0), s, 0, reinterpret_cast<int16_t*>(scratch + parts.inputs));
    sumUnits<int64_t>(args, s, parts, scratch, [&](int64_t b, int64_t first, int64_t count, const int64_t* sums) {
        int16_t* out = args.out(0).as<int16_t>() + b * s.units + first;
        for (int64_t i = 0; i < count; ++i) {
            const int64_t c = first + i;
            if (sizeof(Bias) == 4 && !wideWeights)
                out[i] = static_cast<int16_t>(
                    params.stage.apply(addModulo(static_cast<int32_t>(sums[i]), static_cast<int32_t>(bias ? bias[c] : 0)), c));
            else out[i] = static_cast<int16_t>(params.stage.apply64(addModulo(sums[i], int64_t{bias ? bias[c] : 0}), c));
        }
    });
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
    const IntegerScratch parts(s, !params.rows.empty(), args.runtime->threads());
    std::byte* scratch = args.runtime->scratch(parts.layout.bytes());
    const float* bias = args.has(2) ? args.in(2).as<float>() : nullptr;
    const int64_t stride = paddedDepth(s.depth);
    const bool perChannel = params.scales.size() > 1;
    auto* rows = reinterpret_cast<int16_t*>(scratch + parts.inputs);
    auto* inputScales = reinterpret_cast<float*>(scratch + parts.scales);
    for (int64_t b = 0; b < s.batches; ++b) {
        int16_t* row = rows + b * stride;
        const std::span<const float> values(args.in(0).as<float>() + b * s.depth, static_cast<size_t>(s.depth));
        const HybridInput input = params.isDynamic    ? quantizeDynamic(values, row)
                                  : params.asymmetric ? quantizeAsymmetric(values, row)
                                                      : quantizeSymmetric(values, row);
        for (int64_t d = 0; d < s.depth; ++d) row[d] = static_cast<int16_t>(row[d] - input.zero);
        std::fill(row + s.depth, row + stride, int16_t{0});
        inputScales[b] = input.scale;
    }
    sumUnits<int32_t>(args, s, parts, scratch, [&](int64_t b, int64_t first, int64_t count, const int32_t* sums) {
        float* out = args.out(0).as<float>() + b * s.units;
        for (int64_t i = 0; i < count; ++i) {
            const int64_t c = first + i;
            if (params.isDynamic) {
                const float filterScale = perChannel ? params.scales[static_cast<size_t>(c)] : params.scales.front();
                const float value = std::fma(static_cast<float>(sums[i]) * inputScales[b], filterScale, bias ? bias[c] : 0.0F);
                out[c] = clampTo(value, params.range);
                continue;
            }
            const float scale = inputScales[b] * (perChannel ? params.scales[static_cast<size_t>(c)] : params.scales.front());
            out[c] = activated((bias ? bias[c] : 0.0F) + static_cast<float>(sums[i]) * scale, params.act);
        }
    });
    return {};
}

} // namespace

Result<PreparedKernel> loopscope::prepareFullyConnected(const KernelSetup& setup)
{
    const Tensor& input = setup.in(0);
    const Tensor& filter = setup.in(1);
    auto params = std::make_shared<FullyConnectedParams>();
    const std::string_view format = attributeWord(setup.attributes(), "weights_format", "DEFAULT");
    if (format == "SHUFFLED4x16INT8") params->format = WeightsFormat::blocks4x16;
    if (format == "SHUFFLED16x1FLOAT32") params->format = WeightsFormat::columns16;
    const FusedActivation activation = fusedActivation(setup.attributes());
    params->range = activationRange<float>(activation);
    const int64_t units = filter.shape[0];
    if (input.dtype != DType::f32 && setup.has(2)) LS_CHECK_OK(checkBiasScale(5, input, filter, setup.in(2), setup.out(0)));
    PreparedKernel kernel;
    if (input.dtype == DType::f32 && filter.dtype == DType::f32) {
        kernel.run = runF32;
    } else if (input.dtype == DType::f32) {
        kernel.run = runHybrid;
        params->hybrid = true;
        // LiteRT's reference kernel reads no scales of blocks: it sees a scale of 0, so that only the bias is left.
        if (filter.quantization && filter.quantization->kind == Quantization::Kind::blockwise) params->scales = {0.0F};
        else if (filter.quantization) params->scales = filter.quantization->scales;
        if (params->scales.empty()) return Error(ErrorCode::unsupported, "filter has no scale");
        params->act = attributeWord(setup.attributes(), "act", "NONE");
        params->isDynamic = setup.profile == Profile::xnnpack;
        params->asymmetric = attributeBool(setup.attributes(), "asymmetric_quantize_inputs", false);
    } else if (params->format == WeightsFormat::blocks4x16) {
        // The reference adds no zero point to the result, and takes 128 for that of the operands.
        LS_TRY(params->stage, makeOutputStage(input, filter, setup.out(0), units, activation, Scaling::floatProduct));
        params->stage.zero = 0;
        params->inputZero = 128;
        kernel.run = runShuffled;
    } else {
        const Scaling scaling = setup.profile == Profile::xnnpack ? Scaling::single : Scaling::real;
        LS_TRY(params->stage, makeOutputStage(input, filter, setup.out(0), units, activation, scaling));
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
            packFloats(*params, filter, units, depth, params->panels.data());
        } else {
            params->rows.resize(static_cast<size_t>(paddedRows(units) * paddedDepth(depth)));
            packRows(*params, filter, units, depth, params->rows.data());
        }
    }
    kernel.params = std::move(params);
    return kernel;
}

LS_DEFINE_KERNELS(tfl, fully_connected)
{
    registry.add({"tfl", "fully_connected", Profile::reference, prepareFullyConnected, "f32 u8 i8 i16"});
}
