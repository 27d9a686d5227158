// Kernels of TensorFlow's recurrent cells in one operator: core/kernels/rnn/lstm_ops.h, gru_ops.h.
#include "engine/base/interruption.h"
#include "engine/kernels/cpu/math/eigen_functions.h"
#include "engine/kernels/cpu/tf_support.h"

#include <algorithm>
#include <array>

using namespace loopscope;

namespace {

/// out[columns] = (x, h) · w + b: the weights' rows are those of the input, then those of the state.
void multiply(const float* x, int64_t inputs, const float* h, int64_t hidden, const Tensor& w, const Tensor& b, std::vector<float>& out)
{
    const auto columns = static_cast<int64_t>(out.size());
    std::fill(out.begin(), out.end(), 0.0F);
    for (int64_t k = 0; k < inputs + hidden; ++k) {
        const float factor = k < inputs ? x[k] : h[k - inputs];
        const float* row = w.as<float>() + k * columns;
        for (int64_t c = 0; c < columns; ++c) out[static_cast<size_t>(c)] += factor * row[c];
    }
    for (int64_t c = 0; c < columns; ++c) out[static_cast<size_t>(c)] += b.as<float>()[c];
}

/// What differs between the three LSTM operators.
struct LstmForm {
    int first = 0;                 ///< operand x; cs_prev, h_prev, w, wci, wcf, wco and b follow
    bool isSequence = false;       ///< x has a leading dimension of time
    int candidate = 1, forget = 2; ///< their places among the four gates
    double forgetBias = 1;
};

enum LstmResult { kInputGate, kCell, kForgetGate, kOutputGate, kCandidate, kCellTanh, kHidden };

Status checkShapes(const KernelArgs& args, const LstmForm& form)
{
    const Shape &x = args.in(form.first).shape, &state = args.in(form.first + 2).shape;
    if (x.rank() != (form.isSequence ? 3 : 2) || state.rank() != 2)
        return invalidArgument("x must be " + std::string(form.isSequence ? "3" : "2") + "D and h_prev 2D, got " + toString(x) + " and " +
                               toString(state));
    const int64_t hidden = state[1];
    const std::array<std::pair<int, Shape>, 4> wanted = {{{form.first + 1, state},
                                                          {form.first + 3, Shape({x.back() + hidden, 4 * hidden})},
                                                          {form.first + 7, Shape({4 * hidden})},
                                                          {form.first + 2, Shape({x[x.rank() - 2], hidden})}}};
    for (const auto& [i, shape] : wanted)
        if (!(args.in(i).shape == shape))
            return invalidArgument("operand " + std::to_string(i) + " has shape " + toString(args.in(i).shape) + ", expected " +
                                   toString(shape));
    for (int i = form.first + 4; attributeBool(attributesOf(args), "use_peephole", false) && i < form.first + 7; ++i)
        if (args.in(i).elementCount() != hidden)
            return invalidArgument("peephole weights have shape " + toString(args.in(i).shape) + ", expected [" + std::to_string(hidden) +
                                   "]");
    return {};
}

Status runLstm(const KernelArgs& args, const LstmForm& form, int64_t steps)
{
    LS_CHECK_OK(checkShapes(args, form));
    const AttributeList& attributes = attributesOf(args);
    const bool peeps = attributeBool(attributes, "use_peephole", false);
    const auto clip = static_cast<float>(attributeFloat(attributes, "cell_clip", form.forgetBias == 0 ? 0 : 3));
    const auto forgetBias = static_cast<float>(form.forgetBias);
    const Shape& x = args.in(form.first).shape;
    const int64_t batch = x[x.rank() - 2], inputs = x.back(), hidden = args.in(form.first + 2).shape[1];
    const int64_t times = form.isSequence ? x[0] : 1;
    const Shape shape = form.isSequence ? Shape({times, batch, hidden}) : Shape({batch, hidden});
    std::array<float*, 7> to = {};
    for (int k = 0; k < 7; ++k) {
        LS_CHECK_OK(tfAllocate(args, k, shape));
        to[static_cast<size_t>(k)] = args.out(k).as<float>();
        std::fill_n(to[static_cast<size_t>(k)], shape.elementCount(),
                    0.0F); // TensorFlow clears states behind the end, and leaves the gates as they are
    }
    std::vector<float> gates(static_cast<size_t>(4 * hidden));
    for (int64_t t = 0; t < std::min(steps, times); ++t)
        for (int64_t b = 0; b < batch; ++b) {
            interruptionPoint();
            const int64_t at = (t * batch + b) * hidden, before = at - batch * hidden;
            const float* cell = t > 0 ? to[kCell] + before : args.in(form.first + 1).as<float>() + b * hidden;
            const float* state = t > 0 ? to[kHidden] + before : args.in(form.first + 2).as<float>() + b * hidden;
            multiply(args.in(form.first).as<float>() + (t * batch + b) * inputs, inputs, state, hidden, args.in(form.first + 3),
                     args.in(form.first + 7), gates);
            for (int64_t i = 0; i < hidden; ++i) {
                const auto gate = [&](int place) { return gates[static_cast<size_t>(place * hidden + i)]; };
                const auto peephole = [&](int operand, float value) {
                    return peeps ? args.in(form.first + operand).as<float>()[i] * value : 0.0F;
                };
                const float input = eigen::scalarLogistic(gate(0) + peephole(4, cell[i])), candidate = eigen::tanh(gate(form.candidate));
                const float forget = eigen::scalarLogistic(gate(form.forget) + forgetBias + peephole(5, cell[i]));
                float now = candidate * input + forget * cell[i];
                if (clip > 0) now = std::clamp(now, -clip, clip);
                const float output = eigen::scalarLogistic(gate(3) + peephole(6, now)), squashed = eigen::tanh(now);
                const std::array<float, 7> values = {input, now, forget, output, candidate, squashed, output * squashed};
                for (size_t k = 0; k < values.size(); ++k) to[k][at + i] = values[k];
            }
        }
    return {};
}

Status runLstmBlockCell(const KernelArgs& args)
{
    return runLstm(args, {.forgetBias = attributeFloat(attributesOf(args), "forget_bias", 1)}, 1);
}

template <int version> Status runBlockLstm(const KernelArgs& args)
{
    LS_TRY(const int64_t steps, tfInteger(args, 0, "seq_len_max"));
    if (version == 2) return runLstm(args, {1, true, 2, 1, 0}, steps);
    return runLstm(args, {1, true, 1, 2, attributeFloat(attributesOf(args), "forget_bias", 1)}, steps);
}

/// x, h_prev, w_ru, w_c, b_ru, b_c.
Status runGruBlockCell(const KernelArgs& args)
{
    const Shape &x = args.in(0).shape, &state = args.in(1).shape;
    if (x.rank() != 2 || state.rank() != 2 || x[0] != state[0])
        return invalidArgument("x and h_prev must be 2D with one batch size, got " + toString(x) + " and " + toString(state));
    const int64_t batch = x[0], inputs = x[1], hidden = state[1];
    const std::array<Shape, 4> wanted = {Shape({inputs + hidden, 2 * hidden}), Shape({inputs + hidden, hidden}), Shape({2 * hidden}),
                                         Shape({hidden})};
    for (int i = 0; i < 4; ++i)
        if (!(args.in(i + 2).shape == wanted[static_cast<size_t>(i)]))
            return invalidArgument("operand " + std::to_string(i + 2) + " has shape " + toString(args.in(i + 2).shape) + ", expected " +
                                   toString(wanted[static_cast<size_t>(i)]));
    for (int k = 0; k < 4; ++k) LS_CHECK_OK(tfAllocate(args, k, state));
    std::vector<float> gates(static_cast<size_t>(2 * hidden)), candidates(static_cast<size_t>(hidden)), kept(static_cast<size_t>(hidden));
    for (int64_t b = 0; b < batch; ++b) {
        interruptionPoint();
        const float *from = args.in(0).as<float>() + b * inputs, *h = args.in(1).as<float>() + b * hidden;
        multiply(from, inputs, h, hidden, args.in(2), args.in(4), gates);
        for (float& gate : gates) gate = eigen::scalarLogistic(gate);
        for (int64_t i = 0; i < hidden; ++i) kept[static_cast<size_t>(i)] = h[i] * gates[static_cast<size_t>(i)];
        multiply(from, inputs, kept.data(), hidden, args.in(3), args.in(5), candidates);
        for (int64_t i = 0; i < hidden; ++i) {
            const float u = gates[static_cast<size_t>(hidden + i)], c = eigen::tanh(candidates[static_cast<size_t>(i)]);
            const std::array<float, 4> values = {gates[static_cast<size_t>(i)], u, c, u * h[i] + (1.0F - u) * c};
            for (int k = 0; k < 4; ++k) args.out(k).as<float>()[b * hidden + i] = values[static_cast<size_t>(k)];
        }
    }
    return {};
}

} // namespace

LS_TF_KERNEL(LSTMBlockCell, runLstmBlockCell, "f32")
LS_TF_KERNEL(BlockLSTM, runBlockLstm<1>, "f32 i64")
LS_TF_KERNEL(BlockLSTMV2, runBlockLstm<2>, "f32 i64")
LS_TF_KERNEL(GRUBlockCell, runGruBlockCell, "f32")
