// Circle's GRU of f32 with constant weights: the products of all inputs at once, then step by step those of the state, and the gates in
// vectors (cpu/recurrent/circle_gru.cpp has the formulas).
#include "engine/base/interruption.h"
#include "engine/base/vectorised.h"
#include "engine/kernels/fast/functions.h"
#include "engine/kernels/fast/rows.h"
#include "engine/kernels/registry.h"

#include <algorithm>
#include <memory>

using namespace loopscope;
using namespace loopscope::fast;

namespace {

constexpr int kInputWeights = 1, kInputBias = 2, kStateWeights = 3, kStateBias = 4, kState = 5;

struct FastGruParams {
    std::shared_ptr<const PackedWeights> input, state;
    int64_t hidden = 0, inputs = 0;
};

/// state = state · z + n · (1 − z) from the sums [3 · hidden] of the input and of the state.
LS_VECTORISED void moveState(const float* x, const float* s, int64_t hidden, float* state)
{
    for (int64_t i = 0; i < hidden; ++i) {
        const float keep = sigmoid(s[i] + x[i]), reset = sigmoid(x[hidden + i] + s[hidden + i]);
        const float candidate = hyperbolicTangent(reset * s[2 * hidden + i] + x[2 * hidden + i]);
        state[i] = state[i] * keep + candidate * (1.0F - keep);
    }
}

Status runGru(const KernelArgs& args)
{
    const auto& p = args.paramsAs<FastGruParams>();
    const Shape& shape = args.in(0).shape; // [time, batch, inputs]
    const int64_t columns = 3 * p.hidden, rows = shape[0] * shape[1];
    ScratchLayout layout;
    const size_t inputAt = layout.add<float>(rows * columns), sumsAt = layout.add<float>(columns);
    std::byte* const scratch = args.runtime->scratch(layout.bytes());
    auto* const fromInput = reinterpret_cast<float*>(scratch + inputAt);
    auto* const sums = reinterpret_cast<float*>(scratch + sumsAt);
    const auto bias = [&](int i) { return args.has(i) ? args.in(i).as<float>() : nullptr; };
    FloatFinish ofInput, ofState;
    ofInput.bias = bias(kInputBias);
    ofState.bias = bias(kStateBias);
    auto* const states = args.out(0).as<float>();
    std::copy_n(args.in(kState).as<float>(), shape[1] * p.hidden, states);
    multiplyByPanels(args, args.in(0).as<float>(), rows, p.inputs, columns, p.input->as<float>(), [&](int64_t row) {
        return FloatOutput{ofInput, fromInput + row * columns, columns, columns};
    });
    for (int64_t t = 0; t < shape[0]; ++t)
        for (int64_t b = 0; b < shape[1]; ++b) {
            interruptionPoint();
            float* const state = states + b * p.hidden;
            multiplyRow(state, p.hidden, p.state->as<float>(), columns, ofState, sums);
            moveState(fromInput + (t * shape[1] + b) * columns, sums, p.hidden, state);
        }
    return {};
}

Result<PreparedKernel> prepareFastGru(const KernelSetup& setup)
{
    for (const Tensor* const operand : setup.inputs)
        if (operand && operand->dtype != DType::f32)
            return Error(ErrorCode::unsupported, "f32 only").found(std::string(dtypeName(operand->dtype)));
    auto params = std::make_shared<FastGruParams>();
    for (const int operand : {kInputWeights, kStateWeights}) {
        const Tensor& weights = setup.in(operand);
        if (weights.data == nullptr) return Error(ErrorCode::unsupported, "weights that are computed");
        if (weights.elementCount() == 0) return Error(ErrorCode::unsupported, "weights without elements");
        LS_CHECK_OK(checkFinite(weights));
    }
    const Shape &input = setup.in(kInputWeights).shape, &state = setup.in(kStateWeights).shape;
    params->hidden = state[1];
    params->inputs = input[1];
    LS_TRY(params->input, packedRows(setup.in(kInputWeights), 1, input[0], input[1], 0));
    LS_TRY(params->state, packedRows(setup.in(kStateWeights), 1, state[0], state[1], 0));
    return PreparedKernel{runGru, std::move(params)};
}

constexpr ErrorBounds kGruBound =
    ErrorBounds(withinOfLargest(2e-5)).because("sums have another order, and each step adds to the last one's error");

} // namespace

LS_DEFINE_PROFILE_KERNELS(fast, circle, gru) { registry.add({"circle", "gru", Profile::fast, prepareFastGru, "f32", kGruBound}); }
