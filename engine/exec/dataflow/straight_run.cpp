// Whole iterations of loops whose nodes run in one fixed order: one after the other, with nothing noted about what waits for what. Where
// an iteration cannot go on so, what is noted otherwise is made up for, and the loop over ready nodes goes on there.
#include "engine/exec/dataflow/machine.h"

#include <algorithm>

namespace loopscope {

using dataflow::Edge;
using dataflow::FrameCode;
using dataflow::NodeKind;
using dataflow::programOf;
using dataflow::StraightCode;
using dataflow::Tally;

/// The iteration has not begun, everything that it waits for is there, and nobody wants to hear of its nodes or to stop among them.
bool DataflowExecutor::Impl::mayRunWhole(const Iteration& iteration) const
{
    const dataflow::Frame& frame = *iteration.frame;
    const StraightCode& straight = frame.code->straight;
    if (!straight.isStraight || iteration.invocation != 0 || iteration.number == 0) return false;
    if (m_flow.schedule() != 0 || m_replay.isOn() || m_options.device || m_options.remote) return false;
    if (m_asking && programOf(iteration).hasTraps[static_cast<size_t>(frame.index)]) return false;
    if (m_audience.ofOperators() || mustHalt(frame.code->nodeCount)) return false;
    if (frame.alive.size() != 1 || frame.pendingEnters > 0) return false;
    if (std::ssize(frame.invariants) != straight.invariantCount) return false;
    return std::ranges::none_of(frame.invariants, [](const dataflow::Held& held) { return held.cell->isDead; }) &&
           std::ranges::all_of(straight.heads, [&](int32_t at) { return iteration.waiting[static_cast<size_t>(at)].chosen >= 0; });
}

/// Runs all nodes of the iteration, which is then over, or those before an Exit that hands on its value, a Merge with two of them, or a
/// node that fails: there the machine stands.
Status DataflowExecutor::Impl::runWhole(Iteration& iteration)
{
    dataflow::Program& program = programOf(iteration);
    const FrameCode& code = *iteration.frame->code;
    const Node* const nodes = program.code.nodes.data() + code.firstNode;
    Tally* const tallies = program.tallies.data() + code.firstNode;
    const int32_t* release = code.straight.releases.data();
    m_calls.startInvocation(iteration);
    m_flow.beginWhole(iteration);
    for (int32_t p = 0; p < code.nodeCount; ++p) {
        const Node& node = nodes[p];
        bool isDead = m_flow.isPassedOver(p);
        if (node.isMerge) {
            const int32_t live = m_flow.chooseOperand(iteration, node);
            if (live > 1) [[unlikely]]
                return m_flow.leaveWhole(iteration, p);
            isDead = live == 0;
        }
        if (node.kind == NodeKind::exit && !isDead) return m_flow.leaveWhole(iteration, p);
        m_flow.standing().node = &node; // kernels ask where they are
        Tally& tally = tallies[p];
        ++tally.runs;
        if (isDead) {
            ++tally.dead;
            tally.lastDead = iteration.number;
            if (node.kind == NodeKind::send) LS_CHECK_OK(m_runner.sendDead(iteration, node));
        } else {
            tally.lastLive = iteration.number;
            if (Status status = m_runner.run(iteration, node); !status.ok()) [[unlikely]] {
                LS_CHECK_OK(m_flow.leaveWhole(iteration, p));
                dataflow::Flow::unmark(iteration, node);
                m_untouched = true;
                return attemptFailed(iteration, node, std::move(status).takeError());
            }
        }
        LS_CHECK_OK(m_flow.keepResults(iteration, node, isDead));
        for (const int32_t* const end = code.straight.releases.data() + code.straight.releaseEnds[static_cast<size_t>(p)]; release != end;
             ++release)
            m_flow.forget(iteration, *release);
        ++m_step;
    }
    m_flow.endWhole(iteration);
    return m_calls.finishNode(iteration);
}

} // namespace loopscope
