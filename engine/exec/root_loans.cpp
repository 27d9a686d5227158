// Values of the root graph that change hands without being copied: inputs that are the caller's, outputs that become the caller's.
#include "engine/exec/machine.h"

namespace loopscope {

Status Interpreter::lendInput(int index, const Tensor& value)
{
    constexpr uintptr_t kAlignment = 16;
    const bool isAligned = reinterpret_cast<uintptr_t>(value.data) % kAlignment == 0;
    if (m_impl->m_options.device || value.bytes == 0 || !isAligned) return m_impl->setInput(index, value);
    LS_TRY(const Value* const declared, m_impl->settableInput(index));
    LS_CHECK_OK(checkInput(*declared, declared->type.dtype, value));
    RootValue& input = m_impl->m_inputs[static_cast<size_t>(index)];
    input.slot.data = value.data;
    input.slot.bytes = value.bytes;
    input.slot.shape = value.shape;
    input.set = input.lent = true;
    return {};
}

void Interpreter::endLoans()
{
    for (RootValue& input : m_impl->m_inputs) {
        if (!input.lent) continue;
        m_impl->m_frames.clear(); // they point there
        input.slot.data = nullptr;
        input.slot.bytes = 0;
        input.set = input.lent = false;
    }
}

bool Interpreter::swapOutput(int index, MemoryBlock& block)
{
    RootValue& output = m_impl->m_outputs[static_cast<size_t>(index)];
    if (m_impl->m_options.device || output.slot.data == nullptr || output.slot.data != output.block.data()) return false;
    m_impl->m_frames.clear(); // they point there
    output.block.swap(block);
    output.slot.data = nullptr;
    return true;
}

MemoryBlock Interpreter::emptyBlock() const { return MemoryBlock(m_impl->m_account); }

} // namespace loopscope
