// What recurrent kernels (LSTM, RNN, SVDF) share: weight matrices in the layout of the inner loops, and activations by name. Weights may
// be f32, or integers with one scale ("hybrid"): then the vectors they multiply are quantized to 8 bits by their own range.
#pragma once

#include "engine/base/interruption.h"
#include "engine/kernels/cpu/nn_common.h"
#include "engine/kernels/kernel.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace loopscope {

/// Activations of LiteRT's ApplyActivationToVector (kernels/internal/tensor_utils.h). Infinities stay where there is none.
enum class VectorActivation : uint8_t { none, relu, reluN1To1, relu6, tanh, sigmoid };
/// Reads the attribute `act`; SIGN_BIT, which no converter writes, counts as none.
VectorActivation vectorActivation(const AttributeList& attributes);

/// Which elements of a vector LiteRT computes by fours, with Eigen's functions: those from the first aligned one on, as far as whole fours
/// go. The others are computed one by one, which differs in the last bits of sigmoid.
class Packets {
public:
    /// `start`: where the vector begins in its buffer, in floats from an aligned place.
    Packets(int64_t start, int64_t count) : m_first(std::min((4 - start % 4) % 4, count)), m_last(m_first + (count - m_first) / 4 * 4) {}
    bool holds(int64_t i) const { return i >= m_first && i < m_last; }

private:
    int64_t m_first, m_last;
};
float activate(VectorActivation activation, float value, bool inPacket);

/// In which order the products of a row of f32 weights are added.
enum class SumOrder : uint8_t {
    inOrder, ///< one after the other from 0, then to what is there (Eigen's products of large matrices)
    lanes,   ///< four sums of every fourth product to what is there, then the rest one by one (LiteRT's tensor_utils)
    packets, ///< four sums of every fourth product and the rest, then to what is there (Eigen's products with vectors and of small
             ///< matrices)
};

/// A weight matrix [rows, columns], or a diagonal one given as a vector.
struct WeightMatrix {
    int operand = -1; ///< −1: the operand is missing
    int64_t rows = 0, columns = 0;
    bool diagonal = false;
    bool integer = false;
    float scale = 1.0F;
    std::vector<float> panels;   ///< constant f32 weights; else packed at every call
    std::vector<int16_t> packed; ///< constant integer weights

    bool present() const { return operand >= 0; }
    /// Bytes of scratch that a call needs to pack the weights.
    size_t scratchBytes() const;
};

/// Describes (and packs, if constant) the weights in `operand`. Errors: unsupported dtypes or quantization.
Result<WeightMatrix> prepareWeights(const KernelSetup& setup, int operand);

/// Puts the states of a cell back as they were if the kernel is left in the middle of a sequence, so that the operator can run anew.
class KeptStates {
public:
    /// Copies the operands that are there; nothing of sequences of one step, which are not left.
    KeptStates(const KernelArgs& args, std::initializer_list<int> operands, int64_t steps);
    ~KeptStates();
    KeptStates(const KeptStates&) = delete;
    KeptStates& operator=(const KeptStates&) = delete;
    /// Between two steps: throws if the run is to end.
    void step() const
    {
        if (m_mayStop) interruptionPoint();
    }

private:
    struct Copy {
        std::byte* state;
        std::vector<std::byte> bytes;
    };
    const bool m_mayStop;
    std::vector<Copy> m_copies;
    const int m_exceptions = std::uncaught_exceptions();
};

/// A vector that several matrices multiply: quantized once, where the matrices hold integers.
struct StepVector {
    const float* values = nullptr;
    const int16_t* quantized = nullptr; ///< padded to whole steps
    float scale = 1.0F;
};
/// Quantizes into `room` (paddedDepth(count) elements) unless `integer` is false.
StepVector stepVector(const float* values, int64_t count, bool integer, bool asymmetric, int16_t* room);

/// A matrix during a call.
class BoundWeights {
public:
    BoundWeights() = default;
    /// `room`: scratchBytes() bytes; unused for constant weights.
    BoundWeights(const WeightMatrix& matrix, const KernelArgs& args, std::byte* room);
    bool present() const { return m_matrix != nullptr && m_matrix->present(); }
    /// sums[r] += Σ weights[r, c] · x[c]. `temporary` holds paddedRows(rows) elements of 4 bytes.
    void multiplyAdd(const StepVector& x, float* sums, std::byte* temporary, SumOrder order) const;

private:
    const WeightMatrix* m_matrix = nullptr;
    const float* m_floats = nullptr;
    const int16_t* m_integers = nullptr;
};

} // namespace loopscope
