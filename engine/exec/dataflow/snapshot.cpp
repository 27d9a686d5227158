// The machine's state as a plain value, and back.
#include "engine/exec/dataflow/machine.h"

namespace loopscope {

MachineState DataflowExecutor::Impl::snapshot() const
{
    MachineState state;
    state.resources = m_resources;
    state.random = m_random;
    return state;
}

Status DataflowExecutor::Impl::restore(const MachineState& state)
{
    clear();
    m_phase = Phase::idle;
    ResourceListener* const listener = m_resources.listener;
    m_resources = state.resources;
    m_resources.listener = listener;
    m_random = state.random;
    updatePosition();
    return {};
}

} // namespace loopscope
