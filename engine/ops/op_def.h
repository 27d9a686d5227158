// What the catalogue knows of an operator: arity, constraints, shape inference, work, documentation. One OpDef per operator kind;
// several kinds of one family share a file. ops.def lists them all; docs/add_an_op.md is the checklist.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/model.h"
#include "engine/tensor/error_bound.h"
#include "engine/tensor/tensor.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loopscope {

/// Dtype and shape that inference gives a result.
struct InferredType {
    DType dtype = DType::unknown;
    Shape shape = Shape::unknownRank();
};

/// What inference sees of one operator: attributes, operands with their types and, where known, their data.
/// The same function serves the planner (shapes may have unknown dimensions, data is known for constants only) and the running
/// interpreter (everything is known). It must therefore answer "unknown" where it lacks data, never guess.
class InferContext {
public:
    InferContext(const Operator& op, std::span<const Tensor* const> inputs, std::span<InferredType> outputs)
        : m_op(op),
          m_inputs(inputs),
          m_outputs(outputs)
    {
    }

    const Operator& op() const { return m_op; }
    const AttributeList& attributes() const { return m_op.attributes; }
    int inputCount() const { return static_cast<int>(m_inputs.size()); }
    int outputCount() const { return static_cast<int>(m_outputs.size()); }
    /// False for an optional operand that is missing (index −1, or the list is shorter).
    bool has(int i) const { return i < inputCount() && m_inputs[static_cast<size_t>(i)] != nullptr; }
    const Tensor& input(int i) const { return *m_inputs[static_cast<size_t>(i)]; }
    /// True if the operand's bytes can be read now.
    bool dataKnown(int i) const { return has(i) && input(i).data != nullptr && input(i).shape.isStatic(); }
    /// The elements of an i32 or i64 (or narrower integer) operand; none if its data is not known or it is no integer tensor.
    std::optional<std::vector<int64_t>> intValues(int i) const;

    /// The same operands and results seen by another operator.
    InferContext withOperator(const Operator& op) const { return {op, m_inputs, m_outputs}; }

    InferredType& output(int k) { return m_outputs[static_cast<size_t>(k)]; }
    void setOutput(int k, DType dtype, Shape shape)
    {
        output(k).dtype = dtype;
        output(k).shape = std::move(shape);
    }

    /// A labelled constraint that does not hold: "C3: dimension 1 of input 1 is 5, …". The caller adds the operator's address.
    static Error violated(int constraint, std::string what, const char* file = __builtin_FILE(), int line = __builtin_LINE());

private:
    const Operator& m_op;
    std::span<const Tensor* const> m_inputs;
    std::span<InferredType> m_outputs;
};

/// One operator kind.
struct OpDef {
    std::string_view dialect;         ///< "tfl", "circle", "tf", "custom"
    std::string_view name;            ///< "conv_2d"
    int minInputs = 0, maxInputs = 0; ///< missing optional operands count; −1: any number
    int minOutputs = 1, maxOutputs = 1;
    std::string_view operands;                ///< "input [N,H,W,C], filter [O,KH,KW,I], bias? [O]": for --help, docs and messages
    std::string_view summary;                 ///< one sentence
    std::string_view source;                  ///< where the rules come from: "LiteRT kernels/conv.cc"
    std::string_view differs;                 ///< known deliberate differences to the source, empty if none
    ErrorBounds floatBound;                   ///< of float results against the implementation that `source` names
    Status (*infer)(InferContext&) = nullptr; ///< null for calls: the planner infers through the callee
    bool isCall = false;                      ///< executed by the interpreter itself (While, If, …): has no kernel
    std::span<const int> stateOperands;       ///< operands that the kernel also writes: they must be variables of the graph, or missing
    std::span<const int> (*stateOperandsOf)(const Operator&) = nullptr; ///< instead, where attributes decide which
    bool hasSideEffects = false;                    ///< reads or writes session state; never removed, reordered or folded
    int64_t (*macs)(const InferContext&) = nullptr; ///< multiply-adds at static shapes; null: none worth counting
};

} // namespace loopscope
