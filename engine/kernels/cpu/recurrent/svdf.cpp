// CPU kernels of svdf: f32, hybrid (f32 with i8 or u8 feature weights) and i8.
#include "engine/kernels/cpu/gemm.h"
#include "engine/kernels/cpu/recurrent/recurrent.h"
#include "engine/kernels/registry.h"

#include <algorithm>
#include <memory>
#include <string>

using namespace loopscope;

namespace {

struct SvdfParams {
    WeightMatrix feature; ///< float activations
    VectorActivation activation = VectorActivation::none;
    bool asymmetric = false;
    int64_t rank = 1;
    QuantizedMultiplier toState, toOutput; ///< i8
    int32_t inputZero = 0, outputZero = 0;
};

constexpr int kState = 4;

struct Sizes {
    int64_t batches, inputs, filters, memory, units;
};

Sizes sizesOf(const KernelArgs& args, int64_t rank)
{
    const int64_t filters = args.in(1).shape[0];
    return {args.in(0).shape[0], args.in(0).shape[1], filters, args.in(2).shape[1], filters / rank};
}

/// Moves every filter's memory on by one: the newest cell is written next. The state is a variable (the planner has checked that).
template <typename T> T* shiftedState(const KernelArgs& args, const Sizes& s)
{
    T* state = reinterpret_cast<T*>(args.in(kState).data);
    for (int64_t f = 0; f < s.batches * s.filters; ++f)
        std::copy(state + f * s.memory + 1, state + (f + 1) * s.memory, state + f * s.memory);
    return state;
}

Status runFloat(const KernelArgs& args)
{
    const auto& params = args.paramsAs<SvdfParams>();
    const Sizes s = sizesOf(args, params.rank);
    ScratchLayout layout;
    const size_t weightsAt = layout.add<std::byte>(static_cast<int64_t>(params.feature.scratchBytes()));
    const size_t temporaryAt = layout.add<float>(paddedRows(s.filters));
    const size_t featuresAt = layout.add<float>(s.filters);
    const size_t quantizedAt = layout.add<int16_t>(paddedDepth(s.inputs));
    const size_t timeAt = layout.add<float>(args.in(2).dtype == DType::f32 ? 0 : s.filters * s.memory);
    std::byte* scratch = args.runtime->scratch(layout.bytes());
    const BoundWeights weights(params.feature, args, scratch + weightsAt);
    auto* features = reinterpret_cast<float*>(scratch + featuresAt);
    auto* quantized = reinterpret_cast<int16_t*>(scratch + quantizedAt);
    const float* time = args.in(2).as<float>();
    if (args.in(2).dtype != DType::f32) { // i8, or u8 read as i8: dequantized first, as the reference does
        auto* dequantized = reinterpret_cast<float*>(scratch + timeAt);
        const float scale = scaleAndZero(args.in(2)).scale;
        for (int64_t i = 0; i < s.filters * s.memory; ++i) dequantized[i] = static_cast<float>(args.in(2).as<int8_t>()[i]) * scale;
        time = dequantized;
    }
    const float* bias = args.has(3) ? args.in(3).as<float>() : nullptr;
    const KeptStates kept(args, {kState}, s.batches);
    float* state = shiftedState<float>(args, s);
    float* out = args.out(0).as<float>();
    const Packets packets(0, s.batches * s.units);
    for (int64_t b = 0; b < s.batches; ++b, state += s.filters * s.memory, out += s.units) {
        kept.step();
        std::fill(features, features + s.filters, 0.0F);
        const float* input = args.in(0).as<float>() + b * s.inputs;
        weights.multiplyAdd(stepVector(input, s.inputs, params.feature.integer, params.asymmetric, quantized), features,
                            scratch + temporaryAt, SumOrder::lanes);
        for (int64_t u = 0; u < s.units; ++u) {
            float sum = 0.0F;
            for (int64_t f = u * params.rank; f < (u + 1) * params.rank; ++f) {
                float* memory = state + f * s.memory;
                memory[s.memory - 1] = features[f];
                float filtered = 0.0F;
                for (int64_t m = 0; m < s.memory; ++m) filtered += time[f * s.memory + m] * memory[m];
                sum += filtered;
            }
            out[u] = activate(params.activation, bias ? sum + bias[u] : sum, packets.holds(b * s.units + u));
        }
    }
    return {};
}

/// i8 input and feature weights, i16 time weights and state (LiteRT internal/reference/svdf.h, EvalIntegerSVDF).
Status runInteger(const KernelArgs& args)
{
    const auto& params = args.paramsAs<SvdfParams>();
    const Sizes s = sizesOf(args, params.rank);
    const int8_t* weights = args.in(1).as<int8_t>();
    const int16_t* time = args.in(2).as<int16_t>();
    const int32_t* bias = args.has(3) ? args.in(3).as<int32_t>() : nullptr;
    const KeptStates kept(args, {kState}, s.batches);
    int16_t* state = shiftedState<int16_t>(args, s);
    int8_t* out = args.out(0).as<int8_t>();
    for (int64_t b = 0; b < s.batches; ++b, state += s.filters * s.memory, out += s.units) {
        kept.step();
        const int8_t* input = args.in(0).as<int8_t>() + b * s.inputs;
        for (int64_t u = 0; u < s.units; ++u) {
            uint32_t sum = 0;
            for (int64_t f = u * params.rank; f < (u + 1) * params.rank; ++f) {
                uint32_t feature = 0;
                for (int64_t c = 0; c < s.inputs; ++c)
                    feature += static_cast<uint32_t>(weights[f * s.inputs + c] * (input[c] - params.inputZero));
                int16_t* memory = state + f * s.memory;
                memory[s.memory - 1] = static_cast<int16_t>(
                    std::clamp(multiplyByQuantizedMultiplier(static_cast<int32_t>(feature), params.toState), -32768, 32767));
                for (int64_t m = 0; m < s.memory; ++m) sum += static_cast<uint32_t>(time[f * s.memory + m] * memory[m]);
            }
            if (bias) sum += static_cast<uint32_t>(bias[u]);
            const int64_t scaled = int64_t{multiplyByQuantizedMultiplier(static_cast<int32_t>(sum), params.toOutput)} + params.outputZero;
            out[u] = static_cast<int8_t>(std::clamp<int64_t>(scaled, -128, 127));
        }
    }
    return {};
}

Result<PreparedKernel> prepareInteger(const KernelSetup& setup, std::shared_ptr<SvdfParams> params)
{
    constexpr DType kWanted[] = {DType::i8, DType::i8, DType::i16, DType::i32, DType::i16};
    for (int i = 0; i < 5; ++i) {
        if (!setup.has(i)) continue;
        if (setup.in(i).dtype != kWanted[i])
            return Error(ErrorCode::unsupported, "operand " + std::to_string(i) + " of an i8 svdf")
                .found(std::string(dtypeName(setup.in(i).dtype)))
                .expected(std::string(dtypeName(kWanted[i])));
        if (i != 3 && !isQuantized(setup.in(i))) return Error(ErrorCode::unsupported, "operand " + std::to_string(i) + " has no scale");
    }
    if (!isQuantized(setup.out(0))) return Error(ErrorCode::unsupported, "result has no scale");
    const auto scale = [&](int i) { return scaleAndZero(setup.in(i)).scale; };
    // The reference multiplies these in float (kernels/svdf.cc, Prepare).
    params->toState = quantizeMultiplier(static_cast<double>(scale(0) * scale(1) / scale(4)));
    params->toOutput = quantizeMultiplier(static_cast<double>(scale(4) * scale(2) / scaleAndZero(setup.out(0)).scale));
    params->inputZero = scaleAndZero(setup.in(0)).zero;
    params->outputZero = scaleAndZero(setup.out(0)).zero;
    if (params->inputZero < -128 || params->inputZero > 127)
        return Error(ErrorCode::unsupported, "zero point is no i8").found(std::to_string(params->inputZero));
    return PreparedKernel{runInteger, std::move(params)};
}

Result<PreparedKernel> prepareSvdf(const KernelSetup& setup)
{
    auto params = std::make_shared<SvdfParams>();
    params->rank = attributeInt(setup.attributes(), "rank", 1);
    if (setup.in(0).dtype == DType::i8) return prepareInteger(setup, std::move(params));
    const auto unsupported = [&](int i, std::string_view expected) {
        return Error(ErrorCode::unsupported, "operand " + std::to_string(i) + " of an f32 svdf")
            .found(std::string(dtypeName(setup.in(i).dtype)))
            .expected(std::string(expected));
    };
    const DType time = setup.in(2).dtype;
    if (time != DType::f32 && ((time != DType::i8 && time != DType::u8) || !isQuantized(setup.in(2))))
        return unsupported(2, "f32, or i8 or u8 with a scale");
    if (setup.in(4).dtype != DType::f32) return unsupported(4, "f32");
    LS_TRY(params->feature, prepareWeights(setup, 1));
    params->activation = vectorActivation(setup.attributes());
    params->asymmetric = attributeBool(setup.attributes(), "asymmetric_quantize_inputs", false);
    return PreparedKernel{runFloat, std::move(params)};
}

} // namespace

LS_DEFINE_KERNELS(tfl, svdf) { registry.add({"tfl", "svdf", Profile::reference, prepareSvdf, "f32 i8"}); }
