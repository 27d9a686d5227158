// Whole iterations of a loop for an observer that takes them as rows of bytes: results are written to a tape, or compared with one where
// they lie, right behind the kernel that wrote them.
#include "engine/exec/machine.h"

#include <algorithm>
#include <cstring>

namespace loopscope {

namespace {

constexpr int64_t kRowsUntilAsked = 16; ///< whether the run is cancelled

template <bool Compares, typename Bits> [[gnu::always_inline]] inline bool takeBits(std::byte* row, const TripKernel& kernel)
{
    Bits mine;
    std::memcpy(&mine, kernel.result->data, sizeof mine);
    if constexpr (!Compares) {
        std::memcpy(row + kernel.offset, &mine, sizeof mine);
        return true;
    }
    Bits theirs;
    std::memcpy(&theirs, row + kernel.offset, sizeof theirs);
    return mine == theirs;
}

[[gnu::noinline]] bool takeCells(bool compares, std::byte* row, const TripCell* cell)
{
    for (const int32_t kernel = cell->kernel; cell->kernel == kernel; ++cell) {
        if (compares && std::memcmp(row + cell->offset, cell->result->data, cell->bytes) != 0) return false;
        if (!compares) std::memcpy(row + cell->offset, cell->result->data, cell->bytes);
    }
    return true;
}

/// Writes what an operator has computed, or compares it; false: it is not the same.
template <bool Compares> [[gnu::always_inline]] inline bool take(std::byte* row, const TripKernel& kernel)
{
    using Leaves = TripKernel::Leaves;
    if (kernel.leaves == Leaves::oneByte) return takeBits<Compares, uint8_t>(row, kernel);
    if (kernel.leaves == Leaves::eightBytes) return takeBits<Compares, uint64_t>(row, kernel);
    return kernel.leaves == Leaves::nothing || takeCells(Compares, row, kernel.cells);
}

} // namespace

/// The iterations of one tape.
class Interpreter::Impl::TapedRun {
public:
    TapedRun(Impl& machine, CallFrame& frame)
        : m_machine(machine),
          m_frame(frame),
          m_call(*frame.call),
          m_body(m_call.body->code()),
          m_cond(m_call.cond->code()),
          m_ofBody(std::ssize(m_call.body->plan().operators)),
          m_ofCond(std::ssize(m_call.cond->plan().operators))
    {
    }

    /// How many may run before a limit.
    int64_t most() const
    {
        return std::min(m_machine.m_limits.stepsLeft(m_machine.m_step) / std::max<int64_t>(m_ofBody + m_ofCond, 1),
                        m_machine.m_options.maxSteps - m_frame.iteration);
    }

    const TripTape* start(TripTaker& taker)
    {
        std::vector<std::span<const Tensor* const>>& results = m_machine.m_tripResults;
        results.clear();
        const auto collect = [&](const Instruction* code, int64_t count) {
            for (int64_t i = 0; i < count; ++i) results.emplace_back(code[i].args.outputs, static_cast<size_t>(code[i].args.outputCount));
        };
        collect(m_body, m_ofBody);
        collect(m_cond, m_ofCond);
        const std::span<const std::span<const Tensor* const>> all(results);
        return taker.tripsStarted({m_frame.invocation, m_machine.nextInvocation(), m_machine.m_step, m_call.body->plan().graph,
                                   m_call.cond->plan().graph, all.first(static_cast<size_t>(m_ofBody)),
                                   all.subspan(static_cast<size_t>(m_ofBody))});
    }

    template <bool Compares> void run(const TripTape& tape)
    {
        Impl& machine = m_machine; // these need not be read back from memory for each operator
        CallFrame& frame = m_frame;
        CallState& call = m_call;
        const Instruction *const body = m_body, *const cond = m_cond;
        const int64_t ofBody = m_ofBody, ofCond = m_ofCond, end = std::min(tape.count, most());
        std::byte* row = tape.rows;
        int64_t step = machine.m_step;
        for (; rows < end; row += tape.rowBytes) {
            if (rows % kRowsUntilAsked == 0 && machine.m_cancel.requested()) return;
            stoppedAt = runKernels<Compares>(machine, frame, body, ofBody, tape.kernels, row, step, status);
            if (stoppedAt) [[unlikely]] {
                kernels = static_cast<int32_t>(stoppedAt - body);
                return;
            }
            call.exchange.nextPlain();
            machine.nextIteration(frame, nullptr);
            stoppedAt = runKernels<Compares>(machine, frame, cond, ofCond, tape.kernels + ofBody, row, step, status);
            if (stoppedAt) [[unlikely]] {
                kernels = static_cast<int32_t>(ofBody + (stoppedAt - cond));
                return;
            }
            ++rows;
            if (*call.verdictSlot->as<uint8_t>() == 0) {
                isOver = true;
                return;
            }
            frame.inCond = false;
            frame.activation = call.body;
        }
    }

    const Instruction* endOfCond() const { return m_cond + m_ofCond; }

    int64_t rows = 0;
    int32_t kernels = -1;                   ///< of the row that is not complete; −1: there is none
    const Instruction* stoppedAt = nullptr; ///< failed, or its result differs
    bool isOver = false;                    ///< cond said so
    Status status;

private:
    /// The operators of a body or a condition; `kernel` is the first of them in the row. Returns the one at which it stops, which has run;
    /// null: none. `step` is m_step, as in runKernels of the machine.
    template <bool Compares> [[gnu::always_inline]] static inline const Instruction* runKernels(Impl& machine, CallFrame& frame,
                                                                                                const Instruction* code, int64_t count,
                                                                                                const TripKernel* kernel, std::byte* row,
                                                                                                int64_t& step, Status& status)
    {
        for (const Instruction* const end = code + count; code != end; ++code, ++kernel) {
            frame.next = code->index;
            if (Status done = code->run(code->args); !done.ok()) [[unlikely]] {
                status = std::move(done);
                return code;
            }
            if (kernel->leaves == TripKernel::Leaves::fourBytes) [[likely]] { // what loops of scalars do most: one comparison, one branch
                if (!takeBits<Compares, uint32_t>(row, *kernel)) [[unlikely]]
                    return code;
            } else if (!take<Compares>(row, *kernel)) [[unlikely]] {
                return code;
            }
            machine.m_step = ++step;
        }
        return nullptr;
    }

    Impl& m_machine;
    CallFrame& m_frame;
    CallState& m_call;
    const Instruction *m_body, *m_cond;
    int64_t m_ofBody, m_ofCond;
};

Status Interpreter::Impl::runTapedTrips(CallFrame& frame, TripTaker& taker, const Instruction*& at)
{
    for (;;) {
        TapedRun run(*this, frame);
        if (run.most() <= 0 || m_cancel.requested()) return {};
        const TripTape* const tape = run.start(taker);
        if (!tape || tape->count <= 0) return {};
        if (tape->compares) run.run<true>(*tape);
        else run.run<false>(*tape);
        taker.tripsEnded(run.rows, run.kernels);
        if (run.stoppedAt) {
            OperatorEvent event = eventOf(frame, OperatorId(run.stoppedAt->index));
            if (run.status.ok()) event.results = {run.stoppedAt->args.outputs, static_cast<size_t>(run.stoppedAt->args.outputCount)};
            else event.state = EventState::failed;
            if (m_audience.ofOperators()) m_audience.ofOperators()->operatorExecuted(event);
            LS_CHECK_OK(std::move(run.status));
            ++m_step;
            at = run.stoppedAt + 1;
            return {};
        }
        if (run.isOver) {
            at = run.endOfCond();
            return {};
        }
    }
}

} // namespace loopscope
