// CPU kernel of Circle's GRU (ONE luci-interpreter, pal/linux/PALGRU.h):
//   x = Wx · input + bx, s = Ws · state + bs, three parts each;  z = σ(s0 + x0), r = σ(x1 + s1), n = tanh(r · s2 + x2)
//   state = state · z + n · (1 − z)
#include "engine/base/interruption.h"
#include "engine/kernels/cpu/elementwise.h"
#include "engine/kernels/cpu/gemm.h"
#include "engine/kernels/cpu/recurrent/recurrent.h"
#include "engine/kernels/registry.h"

#include <algorithm>
#include <cmath>
#include <memory>

using namespace loopscope;

namespace {

constexpr int kInputWeights = 1, kInputBias = 2, kStateWeights = 3, kStateBias = 4, kState = 5;

struct GruParams {
    WeightMatrix input, state;
};

/// The source's approximation at both ends.
float logistic(float x)
{
    if (x > 16.619047164916992188F) return 1.0F;
    if (x < -9.0F) return std::exp(x);
    return 1.0F / (1.0F + std::exp(-x));
}

float boundedTanh(float x) { return x > 19 ? 1.0F : x < -19 ? -1.0F : std::tanh(x); }

/// sums = weights · vector + bias.
void multiply(const BoundWeights& weights, const float* vector, const Tensor* bias, int64_t rows, float* sums, std::byte* room)
{
    std::fill(sums, sums + rows, 0.0F);
    weights.multiplyAdd(stepVector(vector, 0, false, false, nullptr), sums, room, SumOrder::inOrder);
    if (bias)
        for (int64_t r = 0; r < rows; ++r) sums[r] += bias->as<float>()[r];
}

Status runGru(const KernelArgs& args)
{
    const auto& params = args.paramsAs<GruParams>();
    const Shape& shape = args.in(0).shape;
    const int64_t rows = args.in(kStateWeights).shape[0];
    const int64_t hidden = rows / 3;
    ScratchLayout layout;
    const size_t fromInputAt = layout.add<float>(rows);
    const size_t fromStateAt = layout.add<float>(rows);
    const size_t temporaryAt = layout.add<float>(paddedRows(rows) + 16);
    const size_t inputWeightsAt = layout.add<std::byte>(static_cast<int64_t>(params.input.scratchBytes()));
    const size_t stateWeightsAt = layout.add<std::byte>(static_cast<int64_t>(params.state.scratchBytes()));
    std::byte* scratch = args.runtime->scratch(layout.bytes());
    auto* x = reinterpret_cast<float*>(scratch + fromInputAt);
    auto* s = reinterpret_cast<float*>(scratch + fromStateAt);
    const BoundWeights inputWeights(params.input, args, scratch + inputWeightsAt);
    const BoundWeights stateWeights(params.state, args, scratch + stateWeightsAt);
    const auto bias = [&](int i) { return args.has(i) ? &args.in(i) : nullptr; };
    auto* states = args.out(0).as<float>();
    std::copy_n(args.in(kState).as<float>(), shape[1] * hidden, states);
    for (int64_t t = 0; t < shape[0]; ++t)
        for (int64_t b = 0; b < shape[1]; ++b) {
            float* state = states + b * hidden;
            interruptionPoint();
            multiply(stateWeights, state, bias(kStateBias), rows, s, scratch + temporaryAt);
            multiply(inputWeights, args.in(0).as<float>() + (t * shape[1] + b) * shape[2], bias(kInputBias), rows, x,
                     scratch + temporaryAt);
            for (int64_t i = 0; i < hidden; ++i) {
                const float keep = logistic(s[i] + x[i]);
                const float reset = logistic(x[hidden + i] + s[hidden + i]);
                const float candidate = boundedTanh(reset * s[2 * hidden + i] + x[2 * hidden + i]);
                state[i] = state[i] * keep + candidate * (1.0F - keep);
            }
        }
    return {};
}

Result<PreparedKernel> prepareGru(const KernelSetup& setup)
{
    for (const Tensor* input : setup.inputs)
        if (input && input->dtype != DType::f32) return unsupportedDtypes(setup);
    auto params = std::make_shared<GruParams>();
    LS_TRY(params->input, prepareWeights(setup, kInputWeights));
    LS_TRY(params->state, prepareWeights(setup, kStateWeights));
    return PreparedKernel{runGru, std::move(params)};
}

} // namespace

LS_DEFINE_KERNELS(circle, gru) { registry.add({"circle", "gru", Profile::reference, prepareGru, "f32"}); }
