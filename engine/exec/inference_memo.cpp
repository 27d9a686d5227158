#include "engine/exec/inference_memo.h"

#include <cstring>

namespace loopscope {

namespace {

/// Elements that say nothing about sizes, however many there are.
bool isActivation(const Tensor& tensor)
{
    switch (tensor.dtype) {
    case DType::f32:
    case DType::f16:
    case DType::bf16: return true;
    case DType::i8:
    case DType::u8:
    case DType::i16: return tensor.quantization != nullptr;
    default: return false;
    }
}

} // namespace

bool InferenceMemo::holds(const KernelArgs& args) const
{
    if (!m_isKept) return false;
    for (size_t i = 0; i < m_operands.size(); ++i) {
        const Operand& kept = m_operands[i];
        if (!args.has(static_cast<int>(i))) continue;
        const Tensor& now = args.in(static_cast<int>(i));
        if (!(now.shape == kept.shape)) return false;
        if (kept.isCompared && (now.bytes != kept.count || std::memcmp(now.data, kept.bytes.data(), kept.count) != 0)) return false;
    }
    return true;
}

void InferenceMemo::keep(const KernelArgs& args, const Operator& op, const GraphPlan& plan, std::span<const InferredType> found)
{
    m_isKept = false;
    m_results.clear();
    for (size_t k = 0; k < found.size(); ++k) {
        if (!found[k].shape.isStatic() || bitWidth(args.outputs[k]->dtype) == 0) return; // the kernel sizes it
        m_results.push_back(found[k].shape);
    }
    m_operands.resize(static_cast<size_t>(args.inputCount));
    for (int i = 0; i < args.inputCount; ++i) {
        if (!args.has(i)) continue;
        const Tensor& now = args.in(i);
        Operand& operand = m_operands[static_cast<size_t>(i)];
        operand.shape = now.shape;
        operand.isCompared = false;
        if (plan.value(op.inputs[static_cast<size_t>(i)]).storage == Storage::constant) continue;
        if (now.bytes > kMostBytes || now.dtype == DType::string) {
            if (!isActivation(now)) return;
            continue;
        }
        operand.isCompared = now.bytes > 0;
        operand.count = now.bytes;
        if (operand.isCompared) std::memcpy(operand.bytes.data(), now.data, now.bytes);
    }
    m_isKept = true;
}

} // namespace loopscope
