// lstm and unidirectional_sequence_lstm of f32 with constant weights, four gates and nothing beside them: the products of all inputs at
// once, then step by step those of the states, and the gates in vectors.
#include "engine/base/vectorised.h"
#include "engine/kernels/cpu/recurrent/lstm_cell.h"
#include "engine/kernels/fast/functions.h"
#include "engine/kernels/fast/rows.h"
#include "engine/kernels/registry.h"

#include <algorithm>
#include <array>
#include <memory>

using namespace loopscope;
using namespace loopscope::fast;

namespace {

struct FastLstmParams {
    std::array<std::shared_ptr<const PackedWeights>, kGateCount> input, recurrent;
    int64_t cells = 0, inputs = 0;
    float cellClip = 0;
    bool hasTanh = true; ///< else no activation
    bool isTimeMajor = false, isSequence = false, isStateless = false;

    int64_t padded() const { return panelsOf(cells) * kTileColumns; }
};

/// sums[gate][cell] of a step, padded, to the new states: c = f·c + i·g, h = o·tanh c.
LS_VECTORISED void moveStates(const float* fromInput, const float* fromState, int64_t cells, int64_t padded, float clip, bool hasTanh,
                              float* c, float* h)
{
    const float limit = clip > 0 ? clip : std::numeric_limits<float>::infinity();
    for (int64_t k = 0; k < cells; ++k) {
        const auto sum = [=](int gate) { return fromInput[gate * padded + k] + fromState[gate * padded + k]; };
        const float write = sigmoid(sum(kInputGate)), keep = sigmoid(sum(kForgetGate)), show = sigmoid(sum(kOutputGate));
        const float update = sum(kCellGate), bounded = hyperbolicTangent(update);
        const float state = keep * c[k] + (hasTanh ? bounded : update) * write;
        const float below = state < limit ? state : limit; // a NaN becomes the limit, as in the reference
        c[k] = clip > 0 ? (below > -limit ? below : -limit) : state;
        const float shown = hyperbolicTangent(c[k]);
        h[k] = show * (hasTanh ? shown : c[k]);
    }
}

Status runLstm(const KernelArgs& args)
{
    const auto& p = args.paramsAs<FastLstmParams>();
    const Shape& shape = args.in(0).shape;
    const int64_t times = p.isSequence ? shape[p.isTimeMajor ? 0 : 1] : 1, batches = p.isSequence ? shape[p.isTimeMajor ? 1 : 0] : shape[0];
    const int64_t padded = p.padded(), stride = kGateCount * padded, rows = times * batches;
    const bool timeFirst = p.isTimeMajor || !p.isSequence;
    ScratchLayout layout;
    const size_t inputAt = layout.add<float>(rows * stride), sumsAt = layout.add<float>(stride + 4 * kTileColumns);
    const size_t outputAt = layout.add<float>(p.isStateless ? batches * p.cells : 0),
                 cellAt = layout.add<float>(p.isStateless ? batches * p.cells : 0);
    std::byte* const scratch = args.runtime->scratch(layout.bytes());
    auto* const fromInput = reinterpret_cast<float*>(scratch + inputAt);
    auto* const sums = reinterpret_cast<float*>(scratch + sumsAt);
    // States are variables of the graph: the planner has checked that these operands may be written.
    auto* h = reinterpret_cast<float*>(args.in(kLstmOperands.outputState).data);
    auto* c = reinterpret_cast<float*>(args.in(kLstmOperands.cellState).data);
    if (p.isStateless) {
        auto* const ownH = reinterpret_cast<float*>(scratch + outputAt);
        auto* const ownC = reinterpret_cast<float*>(scratch + cellAt);
        std::copy_n(h, batches * p.cells, ownH);
        std::copy_n(c, batches * p.cells, ownC);
        h = ownH;
        c = ownC;
    }
    for (size_t g = 0; g < kGateCount; ++g) {
        const int operand = kLstmOperands.bias[g];
        const float* const bias = args.has(operand) ? args.in(operand).as<float>() : nullptr;
        multiplyByPanels(args, args.in(0).as<float>(), rows, p.inputs, p.cells, p.input[g]->as<float>(), [&](int64_t row) {
            FloatFinish finish;
            finish.bias = bias;
            return FloatOutput{finish, fromInput + row * stride + static_cast<int64_t>(g) * padded, stride, p.cells};
        });
    }
    for (int64_t b = 0; b < batches; ++b)
        for (int64_t t = 0; t < times; ++t) {
            const int64_t row = timeFirst ? t * batches + b : b * times + t;
            float* const state = h + b * p.cells;
            for (size_t g = 0; g < kGateCount; ++g)
                multiplyRow(state, p.cells, p.recurrent[g]->as<float>(), panelsOf(p.cells), false, sums + static_cast<int64_t>(g) * padded);
            moveStates(fromInput + row * stride, sums, p.cells, padded, p.cellClip, p.hasTanh, c + b * p.cells, state);
            std::copy_n(state, p.cells, args.out(0).as<float>() + row * p.cells);
        }
    return {};
}

Error notOurs(const char* what) { return Error(ErrorCode::unsupported, what); }

Result<PreparedKernel> prepareFastLstm(const KernelSetup& setup)
{
    if (attributeWord(setup.attributes(), "kernel_type", "FULL") == "BASIC") return notOurs("kernel_type BASIC");
    if (setup.in(0).dtype != DType::f32) return notOurs("f32 only").found(std::string(dtypeName(setup.in(0).dtype)));
    const LstmOperands& operands = kLstmOperands;
    for (size_t g = 0; g < kGateCount; ++g) {
        if (!setup.has(operands.input[g]) || !setup.has(operands.recurrent[g])) return notOurs("a cell without an input gate");
        for (const int operand : {operands.input[g], operands.recurrent[g]}) {
            const Tensor& weights = setup.in(operand);
            if (weights.dtype != DType::f32 || weights.shape.rank() != 2) return notOurs("weights that are no matrices of f32");
            if (weights.data == nullptr) return notOurs("weights that are computed");
            LS_CHECK_OK(checkFinite(weights));
        }
        if (setup.has(operands.peephole[g])) return notOurs("peephole weights");
        if (setup.has(operands.norm[g])) return notOurs("layer normalization");
    }
    if (setup.has(operands.projection)) return notOurs("a projection");
    const VectorActivation activation = vectorActivation(setup.attributes());
    if (activation != VectorActivation::tanh && activation != VectorActivation::none) return notOurs("an activation other than TANH");
    auto params = std::make_shared<FastLstmParams>();
    const Shape& weights = setup.in(operands.input[kOutputGate]).shape;
    params->cells = weights[0];
    params->inputs = weights[1];
    if (setup.in(operands.recurrent[kOutputGate]).shape[1] != params->cells || params->cells == 0 || params->inputs == 0)
        return notOurs("outputs that are not the cells");
    for (size_t g = 0; g < kGateCount; ++g) {
        LS_TRY(params->input[g], packedRows(setup.in(operands.input[g]), 1, params->cells, params->inputs, 0));
        LS_TRY(params->recurrent[g], packedRows(setup.in(operands.recurrent[g]), 1, params->cells, params->cells, 0));
    }
    params->cellClip = static_cast<float>(attributeFloat(setup.attributes(), "cell_clip", 0));
    params->hasTanh = activation == VectorActivation::tanh;
    params->isTimeMajor = attributeBool(setup.attributes(), "time_major", false);
    params->isStateless = attributeBool(setup.attributes(), "@stateless", false);
    if (!setup.in(0).shape.hasRank()) return notOurs("an input of unknown rank");
    params->isSequence = setup.in(0).shape.rank() == 3;
    return PreparedKernel{runLstm, std::move(params)};
}

constexpr ErrorBounds kLstmBound =
    ErrorBounds(withinOfLargest(2e-5)).because("sums have another order, and each step adds to the last one's error");

} // namespace

LS_DEFINE_PROFILE_KERNELS(fast, tfl, lstm) { registry.add({"tfl", "lstm", Profile::fast, prepareFastLstm, "f32", kLstmBound}); }
LS_DEFINE_PROFILE_KERNELS(fast, tfl, unidirectional_sequence_lstm)
{
    registry.add({"tfl", "unidirectional_sequence_lstm", Profile::fast, prepareFastLstm, "f32", kLstmBound});
}
