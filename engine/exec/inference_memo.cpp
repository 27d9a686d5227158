#include "engine/exec/inference_memo.h"

#include <algorithm>
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

/// What describes no sizes, as a rule.
bool isContent(DType dtype) { return isFloat(dtype) || dtype == DType::variant; }

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

/// Whether inference finds less where it cannot see the contents of operands.
bool InferenceMemo::looksAtValues(const KernelArgs& args, const Operator& op, const OpDef* def, std::span<const InferredType> found)
{
    if (!def || !def->infer) return true;
    std::vector<Tensor> operands(static_cast<size_t>(args.inputCount));
    std::vector<const Tensor*> blind(operands.size(), nullptr);
    for (size_t i = 0; i < operands.size(); ++i) {
        if (!args.has(static_cast<int>(i))) continue;
        operands[i] = args.in(static_cast<int>(i));
        if (isContent(operands[i].dtype)) operands[i].data = nullptr;
        blind[i] = &operands[i];
    }
    std::vector<InferredType> seen(found.begin(), found.end());
    for (InferredType& type : seen) type.shape = Shape::unknownRank();
    InferContext context(op, blind, seen);
    if (!def->infer(context).ok()) return true;
    return !std::ranges::equal(seen, found, [](const InferredType& a, const InferredType& b) { return a.shape == b.shape; });
}

void InferenceMemo::keep(const KernelArgs& args, const Operator& op, const OpDef* def, const GraphPlan& plan,
                         std::span<const InferredType> found)
{
    m_isKept = false;
    m_results.clear();
    for (size_t k = 0; k < found.size(); ++k) {
        m_results.push_back({found[k].shape, !found[k].shape.isStatic() || bitWidth(args.outputs[k]->dtype) == 0});
    }
    m_operands.resize(static_cast<size_t>(args.inputCount));
    bool isTried = false;
    for (int i = 0; i < args.inputCount; ++i) {
        if (!args.has(i)) continue;
        const Tensor& now = args.in(i);
        Operand& operand = m_operands[static_cast<size_t>(i)];
        operand.shape = now.shape;
        operand.isCompared = false;
        if (plan.value(op.inputs[static_cast<size_t>(i)]).storage == Storage::constant) continue;
        if (isContent(now.dtype) && !m_looksAtValues) {
            m_looksAtValues = !isTried && looksAtValues(args, op, def, found);
            isTried = true;
            if (!m_looksAtValues) continue;
        }
        if (now.bytes > kMostBytes || now.dtype == DType::string || now.dtype == DType::variant) {
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
