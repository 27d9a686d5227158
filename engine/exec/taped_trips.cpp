// Whole iterations of a loop for an observer that takes them as rows of bytes: results are written to a tape, or compared with one where
// they lie, before something else is written there. The kernels between run as in any other loop.
#include "engine/exec/machine.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace loopscope {

namespace {

constexpr int64_t kRowsUntilAsked = 16; ///< whether the run is cancelled

constexpr size_t kWord = sizeof(uint32_t); ///< what loops of scalars give most

bool isSame(const std::byte* row, const TripCell& cell) { return std::memcmp(row + cell.offset, cell.result->data, cell.bytes) == 0; }

/// Writes results, or compares them: bits that differ.
template <bool Compares, typename Bits>
[[gnu::always_inline]] inline Bits takeBits(std::byte* row, const TripCell* cell, const TripCell* end)
{
    Bits differs = 0;
#pragma GCC unroll 4
    for (; cell != end; ++cell) {
        Bits mine, theirs;
        std::memcpy(&mine, cell->result->data, sizeof mine);
        if constexpr (Compares) {
            std::memcpy(&theirs, row + cell->offset, sizeof theirs);
            differs |= mine ^ theirs;
        } else {
            std::memcpy(row + cell->offset, &mine, sizeof mine);
        }
    }
    return differs;
}

/// The same for those of other sizes; false: one is not the same.
template <bool Compares> [[gnu::noinline]] bool takeOthers(std::byte* row, const TripCell* cell, const TripCell* end)
{
    for (; cell != end; ++cell) {
        if constexpr (!Compares) std::memcpy(row + cell->offset, cell->result->data, cell->bytes);
        else if (!isSame(row, *cell)) return false;
    }
    return true;
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
        const size_t ofBody = split(tape);
        const bool isSingle = ofBody == 1 && m_machine.m_tripSegments.size() == 2; // mostly
        isSingle ? runRows<Compares, true>(tape, ofBody) : runRows<Compares, false>(tape, ofBody);
    }

    const Instruction* endOfCond() const { return m_cond + m_ofCond; }

    int64_t rows = 0;
    int32_t kernels = -1;               ///< of the row that is not complete; −1: there is none
    const Instruction* first = nullptr; ///< where it stops: failed, or its result differs; null: nowhere
    const Instruction* next = nullptr;  ///< the first from there on that has not run, or has failed
    Status status;
    bool isOver = false; ///< cond said so

private:
    template <bool Compares, bool Single> void runRows(const TripTape& tape, size_t ofBody)
    {
        const TripSegment *const bodySegments = m_machine.m_tripSegments.data(), *const condSegments = bodySegments + ofBody,
                                 *const endSegments = bodySegments + m_machine.m_tripSegments.size();
        Impl& machine = m_machine; // these need not be read back from memory for each operator
        CallFrame& frame = m_frame;
        CallState& call = m_call;
        const int64_t end = std::min(tape.count, most());
        std::byte* row = tape.rows;
        int64_t step = machine.m_step;
        for (; rows < end; row += tape.rowBytes) {
            if (rows % kRowsUntilAsked == 0 && machine.m_cancel.requested()) return;
            if (!runSegments<Compares, Single>(machine, frame, bodySegments, condSegments, row, step)) [[unlikely]]
                return;
            call.exchange.nextPlain();
            machine.nextIteration(frame, nullptr);
            if (!runSegments<Compares, Single>(machine, frame, condSegments, endSegments, row, step)) [[unlikely]]
                return;
            ++rows;
            if (*call.verdictSlot->as<uint8_t>() == 0) {
                isOver = true;
                return;
            }
            frame.inCond = false;
            frame.activation = call.body;
        }
    }

    /// Splits a row where something has to be taken; returns into how many segments the body.
    size_t split(const TripTape& tape)
    {
        std::vector<TripSegment>& segments = m_machine.m_tripSegments;
        std::vector<TripCell>& cells = m_machine.m_tripCells;
        segments.clear();
        cells.clear();
        size_t count = 0;
        while (tape.cells[count].kernel < m_ofBody + m_ofCond) ++count;
        cells.reserve(count); // they stay where they are
        const TripCell* cell = tape.cells;
        const auto add = [&](const Instruction* code, std::span<const int32_t> points, int64_t before) {
            int32_t done = 0;
            for (const int32_t point : points) {
                const TripCell* const first = cell;
                while (cell->kernel < before + point) ++cell;
                const std::span<const TripCell> own(first, cell);
                const TripCell* const begin = cells.data() + cells.size();
                const auto addOf = [&](auto isWanted) {
                    std::ranges::copy_if(own, std::back_inserter(cells), isWanted);
                    return cells.data() + cells.size();
                };
                const TripCell* const wordsEnd = addOf([](const TripCell& c) { return c.bytes == kWord; });
                const TripCell* const bytesEnd = addOf([](const TripCell& c) { return c.bytes == 1; });
                const TripCell* const cellsEnd = addOf([](const TripCell& c) { return c.bytes != kWord && c.bytes != 1; });
                segments.push_back({code + done, code + point, begin, wordsEnd, bytesEnd, cellsEnd});
                done = point;
            }
        };
        add(m_body, m_call.body->program().lookPoints(), 0);
        const size_t ofBody = segments.size();
        add(m_cond, m_call.cond->program().lookPoints(), m_ofBody);
        return ofBody;
    }

    /// False: it stops in one of them.
    template <bool Compares, bool Single> [[gnu::always_inline]] inline bool
    runSegments(Impl& machine, CallFrame& frame, const TripSegment* segment, const TripSegment* end, std::byte* row, int64_t& step)
    {
        if constexpr (Single) return runSegment<Compares>(machine, frame, *segment, row, step);
        for (; segment != end; ++segment)
            if (!runSegment<Compares>(machine, frame, *segment, row, step)) return false;
        return true;
    }

    template <bool Compares> [[gnu::always_inline]] inline bool runSegment(Impl& machine, CallFrame& frame, const TripSegment& segment,
                                                                           std::byte* row, int64_t& step)
    {
        if (Status ran = machine.runKernels(frame, segment.begin, segment.end, step); !ran.ok()) [[unlikely]] {
            failed<Compares>(segment, row, std::move(ran));
            return false;
        }
        const uint32_t differs = takeBits<Compares, uint32_t>(row, segment.cells, segment.wordsEnd) |
                                 takeBits<Compares, uint8_t>(row, segment.wordsEnd, segment.bytesEnd);
        const bool hasOthers = segment.bytesEnd != segment.cellsEnd;
        if (differs == 0 && (!hasOthers || takeOthers<Compares>(row, segment.bytesEnd, segment.cellsEnd))) [[likely]]
            return true;
        stopAt(*firstDifference(segment, row, INT32_MAX), segment.end);
        return false;
    }

    template <bool Compares> [[gnu::noinline]] void failed(const TripSegment& segment, std::byte* row, Status error)
    {
        status = std::move(error);
        next = segment.begin;
        while (next->index != m_frame.next) ++next;
        first = next;
        kernels = static_cast<int32_t>(m_frame.inCond ? m_ofBody + (next - m_cond) : next - m_body);
        if constexpr (Compares) {
            if (const TripCell* const cell = firstDifference(segment, row, kernels)) stopAt(*cell, next);
        } else {
            for (const TripCell* cell = segment.cells; cell != segment.cellsEnd; ++cell)
                if (cell->kernel < kernels) std::memcpy(row + cell->offset, cell->result->data, cell->bytes);
        }
    }

    /// Of what operators before `end` gave; null: nothing differs.
    static const TripCell* firstDifference(const TripSegment& segment, const std::byte* row, int32_t end)
    {
        const TripCell* found = nullptr;
        for (const TripCell* cell = segment.cells; cell != segment.cellsEnd; ++cell)
            if (cell->kernel < end && (!found || cell->kernel < found->kernel) && !isSame(row, *cell)) found = cell;
        return found;
    }

    /// What differs is told of, and so is what has run behind it.
    [[gnu::noinline]] void stopAt(const TripCell& cell, const Instruction* done)
    {
        kernels = cell.kernel;
        first = m_frame.inCond ? m_cond + (kernels - m_ofBody) : m_body + kernels;
        next = done;
        m_machine.m_step -= done - first;
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
        if (run.first) {
            for (at = run.first; at != run.next; ++at) { // what has run behind it is told of, too
                OperatorEvent event = eventOf(frame, OperatorId(at->index));
                event.results = {at->args.outputs, static_cast<size_t>(at->args.outputCount)};
                if (m_audience.ofOperators()) m_audience.ofOperators()->operatorExecuted(event);
                ++m_step;
            }
            if (run.status.ok()) return {};
            OperatorEvent event = eventOf(frame, OperatorId(at->index));
            event.state = EventState::failed;
            frame.next = at->index;
            if (m_audience.ofOperators()) m_audience.ofOperators()->operatorExecuted(event);
            return std::move(run.status);
        }
        if (run.isOver) {
            at = run.endOfCond();
            return {};
        }
    }
}

} // namespace loopscope
