#include "engine/debug/prove/lock_step.h"

#include "engine/debug/prove/run_follower.h"
#include "engine/debug/prove/waiting_queue.h"
#include "engine/debug/prove/write_pair.h"
#include "engine/debug/prove/write_stream.h"
#include "engine/exec/executor.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <unordered_map>

namespace loopscope {

namespace {

constexpr int kRoundsAfter = 4; ///< for what comes before a difference in the first run, and is compared after it
// How far one run goes on before it is asked which of the two is behind: as long as what waits stays in a processor's cache.
constexpr int64_t kFewestTicks = 1, kMostTicks = 8192;
constexpr int64_t kMostOrder = 1024; ///< writes that came in another order, until nothing more is laid in order
constexpr uint64_t kBytesAtOnce = 256 << 10;
constexpr int64_t kMostUnlike = 64; ///< iterations that are not taken whole after one that was not the same bits

class LockStep final : public ProofListener {
public:
    LockStep(Executor& here, Executor& there, const RunMap& map, const ProofOptions& options)
        : m_executors{&here, &there},
          m_map(map),
          m_options(options),
          m_queues(map.keyCount()),
          m_followers{std::make_unique<RunFollower>(RunMap::here, here, map, *this),
                      std::make_unique<RunFollower>(RunMap::there, there, map, *this)}
    {
    }
    ~LockStep() override
    {
        for (Executor* executor : m_executors) executor->setObserver(nullptr);
    }

    Result<Proof> prove()
    {
        for (const RunMap::Side side : {RunMap::here, RunMap::there}) {
            m_executors[side]->setObserver(m_followers[side].get());
            end(side, m_executors[side]->start());
        }
        while (!m_isEnded[RunMap::here] || !m_isEnded[RunMap::there]) {
            // The one goes on that the other waits for.
            RunMap::Side next = m_bytes[RunMap::here] <= m_bytes[RunMap::there] ? RunMap::here : RunMap::there;
            if (m_isEnded[next]) next = next == RunMap::here ? RunMap::there : RunMap::here;
            Executor& executor = *m_executors[next];
            end(next, executor.runTo(executor.tick().number + ticksOf(next)));
            if (const uint64_t waiting = std::max(m_bytes[RunMap::here], m_bytes[RunMap::there]); waiting > kBytesAtOnce)
                m_ticks = std::max(m_ticks / 2, kFewestTicks);
            else if (waiting < kBytesAtOnce / 4) m_ticks = std::min(m_ticks * 2, kMostTicks);
            if (m_bytes[RunMap::here] + m_bytes[RunMap::there] > m_options.mostBytes) letGo();
            if (m_proof.verdict == ProofVerdict::different && ++m_roundsSince > kRoundsAfter) break; // the rest would say nothing new
        }
        for (const Status& status : m_status)
            if (!status.ok() && status.detail().code == ErrorCode::cancelled) return Error(ErrorCode::cancelled, status.detail().what);
        for (const auto& follower : m_followers) follower->finish();
        conclude();
        return std::move(m_proof);
    }

    void wrote(RunMap::Side side, const ProofWrite& write) override
    {
        if (isHandle(write.tensor->dtype)) {
            m_proof.handles += side == RunMap::here ? 1 : 0;
            return;
        }
        const RunMap::Side ahead = otherThan(side);
        WaitingQueue& queue = m_queues[write.key];
        if (queue.holds(ahead) && matchWaiting(side, write, queue)) return;
        WriteStream& stream = m_streams[ahead];
        if (!stream.empty()) {
            if (const WriteStream::Entry& front = stream.front(); front.key == write.key && front.chain == write.chain) {
                m_bytes[ahead] -= WriteStream::costOf(front.bytes);
                if (stream.isSame(front, *write.tensor)) ++m_proof.values;
                else match(side, write, stream.tensorOf(front), partOf(stream, front));
                stream.pop();
                m_sameOrder = std::min(m_sameOrder + 1, kMostOrder);
                return;
            }
            if (!stream.isTape(stream.front()) || !opensRow(ahead, write)) spill(ahead);
            if (matchWaiting(side, write, queue)) return;
        }
        if (m_sameOrder < 0 || write.tensor->bytes > kMostInStream) {
            wait(side, write, queue);
            return;
        }
        m_bytes[side] += WriteStream::costOf(write.tensor->bytes);
        m_streams[side].push(write);
    }

    void chose(RunMap::Side side, const ProofChoice& choice) override
    {
        const auto [known, isNew] = m_choices.try_emplace(choice.place, Choice{side, choice});
        if (isNew) return;
        if (known->second.side == side) { // the same call once more, such as a frame that is entered again
            known->second.choice = choice;
            return;
        }
        const ProofChoice& other = known->second.choice;
        const ProofChoice &mine = side == RunMap::here ? choice : other, &theirs = side == RunMap::here ? other : choice;
        ++(choice.isLoop ? m_proof.trips : m_proof.branches);
        if (mine.number != theirs.number) {
            ProofDifference difference;
            difference.address = m_followers[RunMap::here]->addressOf(mine);
            difference.there = m_followers[RunMap::there]->addressOf(theirs);
            difference.step = mine.step;
            difference.kind = choice.isLoop ? "trips" : "branch";
            difference.a = std::to_string(mine.number);
            difference.b = std::to_string(theirs.number);
            m_counts.push_back({std::move(difference), choice.isLoop});
        }
        m_choices.erase(known);
    }

    void iterates(RunMap::Side side, uint64_t place, int64_t trips, const ProofCall& iteration) override
    {
        const RunMap::Side ended = side == RunMap::here ? RunMap::there : RunMap::here;
        if (!m_isEnded[ended] || !m_status[ended].ok()) return;
        const auto known = m_choices.find(place);
        if (known == m_choices.end() || known->second.side != ended || trips <= known->second.choice.number) return;
        ProofDifference difference; // it may go round for ever
        const std::string more = std::to_string(trips) + " or more", all = std::to_string(known->second.choice.number);
        const std::string loop = m_followers[side]->addressOfLoop(iteration), other = m_followers[ended]->addressOf(known->second.choice);
        difference.kind = "trips";
        difference.address = side == RunMap::here ? loop : other;
        difference.there = side == RunMap::here ? other : loop;
        difference.a = side == RunMap::here ? more : all;
        difference.b = side == RunMap::here ? all : more;
        difference.step = side == RunMap::here ? iteration.start.step : known->second.choice.step;
        m_choices.erase(known);
        found(std::move(difference), true);
    }

    bool takesTrips(RunMap::Side side, const std::shared_ptr<ProofCall>& call, const std::shared_ptr<const TripLayout>& layout,
                    TripTape& tape) override
    {
        if (m_sameOrder < 0) return false;
        if (m_unlike > 0) {
            --m_unlike;
            return false;
        }
        const RunMap::Side ahead = otherThan(side);
        for (const TripLayout::Result& result : layout->results)
            if (m_queues[result.key].holds(ahead)) return false;
        m_taking = {};
        m_taking.layout = layout;
        m_taking.call = call;
        if (WriteStream& stream = m_streams[ahead]; !stream.empty()) {
            if (!stream.isTape(stream.front())) return false;
            Tape& other = stream.tapeOf(stream.front());
            if (RunFollower::chainOf(other.call->place, other.call->start.iteration + other.first) != call->chain) return false;
            if (!layout->agreesWith(*other.layout)) return false;
            tape.compares = true;
            tape.rows = other.row(other.first);
            tape.count = other.rows - other.first;
            return true;
        }
        if (m_isEnded[ahead]) return false; // nobody would come to read it
        tape.count = m_tapeMemory[side].begin(m_taking);
        tape.rows = m_taking.bytes;
        return true;
    }

    void tookTrips(RunMap::Side side, int64_t rows, int32_t kernels, Step step, double roundings) override
    {
        Tape tape = std::move(m_taking);
        tape.step = step;
        tape.roundings = roundings;
        tape.rows = rows;
        const auto isDone = [kernels](int32_t kernel) { return kernel < kernels; };
        if (side == RunMap::here) {
            const std::vector<int32_t>& handles = tape.layout->handles;
            m_proof.handles += rows * std::ssize(handles) + std::ranges::count_if(handles, isDone);
        }
        m_lastRow[side] = {step + rows * tape.layout->kernelCount(), tape.layout->kernelCount()};
        if (!tape.memory) {
            compared(otherThan(side), rows, kernels);
            return;
        }
        m_tapeMemory[side].end(tape);
        if (rows > 0) {
            m_bytes[side] += bytesOf(tape);
            m_streams[side].push(tape);
        }
        if (kernels > 0) asWrites(side, tape, rows, isDone, [&](const ProofWrite& write) { wrote(side, write); });
    }

    void wroteVariable(RunMap::Side side, std::string_view name, const Tensor& value) override
    {
        if (isHandle(value.dtype)) return;
        m_variables[side][std::string(name)].assign(value);
    }

private:
    void end(RunMap::Side side, Status status)
    {
        m_isEnded[side] = !status.ok() || m_executors[side]->position().finished;
        m_status[side] = std::move(status);
    }

    /// How many ticks a run goes on: where it goes through whole iterations, it stops between two of them.
    int64_t ticksOf(RunMap::Side side) const
    {
        const auto [end, ofRow] = m_lastRow[side];
        if (ofRow == 0) return m_ticks;
        const int64_t beyond = (m_executors[side]->position().step - end + m_ticks) % ofRow;
        return beyond > 0 && beyond < m_ticks ? m_ticks - beyond : m_ticks;
    }

    static RunMap::Side otherThan(RunMap::Side side) { return side == RunMap::here ? RunMap::there : RunMap::here; }

    /// False if the other run's write of that place does not wait in `queue`.
    bool matchWaiting(RunMap::Side side, const ProofWrite& write, WaitingQueue& queue)
    {
        Waiting* const other = queue.find(write.chain, side);
        if (!other) return false;
        match(side, write, other->value.tensor, {*other->call, other->graph, other->op, other->slot, other->step, other->roundings});
        m_bytes[otherThan(side)] -= other->value.bytes.size() + sizeof(Waiting);
        queue.done(*other);
        return true;
    }

    /// Where a write was, and in which run.
    struct Part {
        const ProofCall& call;
        GraphId graph;
        OperatorId op;
        int32_t slot;
        Step step;
        double roundings;
    };
    static Part partOf(const WriteStream& stream, const WriteStream::Entry& entry)
    {
        return {*stream.callOf(entry), entry.graph, entry.op, entry.slot, entry.step, entry.roundings};
    }

    static uint64_t bytesOf(const Tape& tape) { return static_cast<uint64_t>(tape.rows - tape.first) * tape.layout->rowBytes; }

    /// The results of a row one by one: of those operators of it that are `wanted`.
    template <typename Wanted, typename Use> void asWrites(RunMap::Side side, const Tape& tape, int64_t row, Wanted wanted, Use use)
    {
        const TripLayout& layout = *tape.layout;
        const std::shared_ptr<ProofCall> ofBody = m_followers[side]->iterationAfter(tape.call, row);
        const std::shared_ptr<ProofCall> ofCond = m_followers[side]->iterationAfter(tape.call, row + 1);
        const double before = tape.roundings + static_cast<double>(row) * layout.roundings.back();
        for (size_t c = 0; c < layout.cellCount(); ++c) {
            const TripCell& cell = layout.cells[c];
            if (!wanted(cell.kernel)) continue;
            const TripLayout::Result& result = layout.results[c];
            Tensor tensor = result.type;
            tensor.data = tape.row(row) + cell.offset;
            tensor.bytes = cell.bytes;
            const std::shared_ptr<ProofCall>& call = layout.isInCond(c) ? ofCond : ofBody;
            use(ProofWrite{result.key, call->chain, &call, result.graph, result.op, result.slot,
                           tape.step + row * layout.kernelCount() + cell.kernel, &tensor,
                           before + layout.roundings[static_cast<size_t>(cell.kernel) + 1]});
        }
    }

    template <typename Wanted> void spillRow(RunMap::Side side, const Tape& tape, int64_t row, Wanted wanted)
    {
        asWrites(side, tape, row, wanted, [&](const ProofWrite& write) { wait(side, write, m_queues[write.key]); });
    }

    /// So many rows of the tape at the front have met their partners.
    void passRows(RunMap::Side side, int64_t rows)
    {
        WriteStream& stream = m_streams[side];
        Tape& tape = stream.tapeOf(stream.front());
        tape.first += rows;
        m_bytes[side] -= static_cast<uint64_t>(rows) * tape.layout->rowBytes;
        if (tape.first < tape.rows) return;
        tape.memory.reset();
        stream.pop();
    }

    /// The other run has come that far along the tape at the front of `side`.
    void compared(RunMap::Side side, int64_t rows, int32_t kernels)
    {
        const Tape& tape = m_streams[side].tapeOf(m_streams[side].front());
        const auto cells = static_cast<int64_t>(tape.layout->cellCount());
        m_proof.values += rows * cells;
        m_sameOrder = std::min(m_sameOrder + rows * cells, kMostOrder);
        if (kernels < 0) {
            m_unlikeNext = rows > kMostUnlike ? 1 : m_unlikeNext;
            passRows(side, rows);
            return;
        }
        // One is not the same, or fails: the rest of its row is compared one by one, and if that goes on, so are some rows that follow.
        m_unlike = m_unlikeNext;
        m_unlikeNext = std::min(2 * m_unlikeNext, kMostUnlike);
        const auto isLeft = [kernels](int32_t kernel) { return kernel >= kernels; };
        for (size_t c = 0; c < tape.layout->cellCount(); ++c)
            if (!isLeft(tape.layout->cells[c].kernel)) ++m_proof.values;
        spillRow(side, tape, tape.first + rows, isLeft);
        passRows(side, rows + 1);
    }

    /// Whether `write` has its partner in the row of the tape at the front, whose results can then be looked up.
    bool opensRow(RunMap::Side side, const ProofWrite& write)
    {
        const Tape& tape = m_streams[side].tapeOf(m_streams[side].front());
        const auto chainOf = [&](bool inCond) {
            return RunFollower::chainOf(tape.call->place, tape.call->start.iteration + tape.first + (inCond ? 1 : 0));
        };
        for (size_t c = 0; c < tape.layout->cellCount(); ++c)
            if (tape.layout->results[c].key == write.key && chainOf(tape.layout->isInCond(c)) == write.chain) {
                spillRow(side, tape, tape.first, [](int32_t) { return true; });
                passRows(side, 1);
                return true;
            }
        return false;
    }

    /// The runs come by their writes in different orders: what waits is looked up from now on.
    void spill(RunMap::Side side)
    {
        WriteStream& stream = m_streams[side];
        while (!stream.empty()) {
            if (stream.isTape(stream.front())) {
                Tape& tape = stream.tapeOf(stream.front());
                m_sameOrder -= (tape.rows - tape.first) * static_cast<int64_t>(tape.layout->cellCount());
                for (int64_t row = tape.first; row < tape.rows; ++row) spillRow(side, tape, row, [](int32_t) { return true; });
                passRows(side, tape.rows - tape.first);
                continue;
            }
            --m_sameOrder;
            const WriteStream::Entry& entry = stream.front();
            const Tensor tensor = stream.tensorOf(entry);
            m_bytes[side] -= WriteStream::costOf(entry.bytes);
            wait(side,
                 {entry.key, entry.chain, &stream.callOf(entry), entry.graph, entry.op, entry.slot, entry.step, &tensor, entry.roundings},
                 m_queues[entry.key]);
            stream.pop();
        }
    }

    void wait(RunMap::Side side, const ProofWrite& write, WaitingQueue& queue)
    {
        Waiting& waiting = queue.add(write.chain, side);
        waiting.call = *write.call;
        waiting.graph = write.graph;
        waiting.op = write.op;
        waiting.slot = write.slot;
        waiting.step = write.step;
        waiting.roundings = write.roundings;
        waiting.value.assign(*write.tensor);
        m_bytes[side] += waiting.value.bytes.size() + sizeof(Waiting);
    }

    void match(RunMap::Side side, const ProofWrite& write, const Tensor& waited, const Part& other)
    {
        const bool isHere = side == RunMap::here;
        const Tensor& a = isHere ? *write.tensor : waited;
        const Tensor& b = isHere ? waited : *write.tensor;
        if (sameBits(a, b)) {
            ++m_proof.values;
            return;
        }
        std::string mine = m_followers[side]->addressOf(**write.call, write.graph, write.op, write.slot);
        std::string others = m_followers[otherThan(side)]->addressOf(other.call, other.graph, other.op, other.slot);
        if (!isHere) std::swap(mine, others);
        compare(a, b, std::move(mine), std::move(others), isHere ? write.step : other.step, write.roundings + other.roundings,
                m_map.decides(write.key));
    }

    /// Two tensors that are not the same bits.
    void compare(const Tensor& a, const Tensor& b, std::string address, std::string there, Step step, double roundings, bool decides)
    {
        const bool isReal = isFloat(a.dtype) && a.dtype == b.dtype && a.shape == b.shape;
        Tolerance explained;
        double bound = 0;
        if (isReal) {
            bound = boundOf(a, b, roundings);
            explained.close = Tolerance::Close{0, bound};
        }
        const bool isQuantized = a.quantization || b.quantization; // stands for real numbers, too
        const Comparison figures = compareTensors(a, b, explained, isQuantized);
        if (figures.mismatch.empty() && figures.different == 0) { // NaNs of other bits
            ++m_proof.values;
            return;
        }
        ProofVerdict verdict = ProofVerdict::different;
        if (figures.equal && isReal) verdict = ProofVerdict::realEqual;
        else if ((isReal || isQuantized) && figures.mismatch.empty() && !m_options.tolerance.isExact() &&
                 compareTensors(a, b, m_options.tolerance, isQuantized).equal)
            verdict = ProofVerdict::approximate;
        if (verdict == ProofVerdict::different) {
            if (step.number < 0 && !m_proof.output) m_proof.output = differenceOf(a, b, figures, address, there, step);
            found(differenceOf(a, b, figures, std::move(address), std::move(there), step), decides);
            return;
        }
        ++m_proof.values;
        if (!decides) return;
        ++m_proof.inexact;
        m_proof.maxAbs = std::max(m_proof.maxAbs, figures.maxAbs);
        m_proof.maxRel = std::max(m_proof.maxRel, figures.maxRel);
        if (figures.maxUlp) m_proof.maxUlp = std::max(m_proof.maxUlp.value_or(0), *figures.maxUlp);
        const double part = bound > 0 ? figures.maxAbs / bound : std::numeric_limits<double>::infinity();
        if (part > m_proof.ofBound) {
            m_proof.ofBound = part;
            m_proof.bound = bound;
            m_proof.worst = address;
        }
        m_proof.verdict = std::max(m_proof.verdict, verdict);
    }

    /// The one that comes first in the first run stays.
    void found(ProofDifference difference, bool decides)
    {
        if (!decides) ++m_proof.apart;
        else m_proof.verdict = ProofVerdict::different;
        std::optional<ProofDifference>& first = decides ? m_proof.first : m_proof.firstApart;
        const auto order = [](const ProofDifference& d) { return d.step.number < 0 ? INT64_MAX : d.step.number; };
        if (!first || order(difference) < order(*first)) first = std::move(difference);
    }

    /// Values that nothing has asked for by now are those that nothing will ask for.
    void letGo()
    {
        for (const RunMap::Side side : {RunMap::here, RunMap::there}) spill(side);
        for (WaitingQueue& queue : m_queues)
            if (!queue.empty()) queue.drain([this](Waiting& waiting) { drop(waiting); });
    }

    void drop(Waiting& waiting)
    {
        const bool isHere = waiting.side == RunMap::here;
        std::string& first = isHere ? m_proof.firstOnlyHere : m_proof.firstOnlyThere;
        ++(isHere ? m_proof.onlyHere : m_proof.onlyThere);
        if (first.empty()) first = m_followers[waiting.side]->addressOf(*waiting.call, waiting.graph, waiting.op, waiting.slot);
        m_bytes[waiting.side] -= waiting.value.bytes.size() + sizeof(Waiting);
        waiting.call.reset();
    }

    void conclude()
    {
        m_proof.steps = std::max(m_executors[0]->position().step.number, m_executors[1]->position().step.number);
        if (!m_isEnded[RunMap::here] || !m_isEnded[RunMap::there]) return;
        letGo();
        const bool isOk[2] = {m_status[0].ok(), m_status[1].ok()};
        for (const RunMap::Side side : {RunMap::here, RunMap::there})
            if (m_followers[side]->end() == RunEnd::Reason::budget && !isOk[side])
                m_proof.undecided = std::move(m_status[side]).takeError().message();
        if (!m_proof.undecided.empty()) {
            // Both stopped somewhere: what they wrote counts, what is missing does not.
            m_proof.onlyHere = m_proof.onlyThere = 0;
            m_proof.firstOnlyHere.clear();
            m_proof.firstOnlyThere.clear();
        } else if (isOk[0] != isOk[1]) {
            ProofDifference difference;
            difference.address = placeOf(*m_executors[RunMap::here]);
            difference.there = placeOf(*m_executors[RunMap::there]);
            difference.step = m_executors[RunMap::here]->position().step;
            difference.kind = "outcome";
            difference.a = isOk[0] ? "finished" : std::move(m_status[0]).takeError().message();
            difference.b = isOk[1] ? "finished" : std::move(m_status[1]).takeError().message();
            found(std::move(difference), true);
        } else if (!isOk[0]) {
            m_proof.refused = std::move(m_status[0]).takeError().message();
        } else {
            for (auto& [difference, isLoop] : m_counts) found(std::move(difference), true);
            compareOutputs();
            compareVariables();
        }
        // Where outputs differ, a guess says where that begins.
        if (m_proof.output && m_proof.firstApart && m_proof.first && m_proof.first->step.number < 0) m_proof.first = m_proof.firstApart;
    }

    static std::string placeOf(const Executor& executor)
    {
        return executor.position().started ? executor.positionAddress() : executor.model().graph(executor.root()).id;
    }

    void compareOutputs()
    {
        const Model& model = m_executors[RunMap::here]->model();
        const Model& other = m_executors[RunMap::there]->model();
        const Graph& graph = model.graph(m_executors[RunMap::here]->root());
        const Graph& graphThere = other.graph(m_executors[RunMap::there]->root());
        for (size_t k = 0; k < graph.outputs.size() && k < graphThere.outputs.size(); ++k) {
            const Tensor& a = m_executors[RunMap::here]->output(static_cast<int>(k));
            const Tensor& b = m_executors[RunMap::there]->output(static_cast<int>(k));
            if (isHandle(a.dtype) && isHandle(b.dtype)) continue;
            ++m_proof.outputs;
            if (sameBits(a, b)) {
                ++m_proof.values;
                continue;
            }
            const double roundings = roundingsOfRuns();
            compare(a, b, "output " + graph.value(graph.outputs[k].value).id, "output " + graphThere.value(graphThere.outputs[k].value).id,
                    -1, roundings, true);
        }
    }

    /// Of both runs up to their ends: what their operators add, at least one for each step.
    double roundingsOfRuns() const
    {
        double all = 0;
        for (const size_t side : {0, 1})
            all += std::max(m_followers[side]->roundings(), static_cast<double>(m_executors[side]->position().step));
        return all;
    }

    void compareVariables()
    {
        for (const auto& [name, held] : m_variables[RunMap::here]) {
            const auto other = m_variables[RunMap::there].find(name);
            if (other == m_variables[RunMap::there].end()) continue;
            ++m_proof.variables;
            if (sameBits(held.tensor, other->second.tensor)) continue;
            const double roundings = roundingsOfRuns();
            compare(held.tensor, other->second.tensor, "variable " + name, "variable " + name, -1, roundings, true);
        }
    }

    struct Choice {
        RunMap::Side side;
        ProofChoice choice;
    };
    struct Counted {
        ProofDifference difference;
        bool isLoop;
    };

    std::array<Executor*, 2> m_executors;
    const RunMap& m_map;
    const ProofOptions& m_options;
    Proof m_proof;
    std::array<WriteStream, 2> m_streams; ///< what one run is ahead, as long as the other follows in the same order
    int64_t m_sameOrder = kMostOrder;     ///< below 0: the runs come by their writes in orders of their own
    Tape m_taking;                        ///< what runs now; without bytes: is compared with what the other run has written
    std::array<TapeMemory, 2> m_tapeMemory;
    std::array<std::pair<Step, int32_t>, 2> m_lastRow = {}; ///< where it ended, and its operators
    int64_t m_unlike = 0, m_unlikeNext = 1;                 ///< iterations that are not taken whole, and how many the next time
    std::vector<WaitingQueue> m_queues;                     ///< by key: what is ahead otherwise
    int64_t m_ticks = 16;                                   ///< that a run goes on at a time
    int m_roundsSince = 0;                                  ///< that a difference is known
    std::array<uint64_t, 2> m_bytes = {0, 0};
    std::array<bool, 2> m_isEnded = {false, false};
    std::array<Status, 2> m_status;
    std::unordered_map<uint64_t, Choice> m_choices;
    std::vector<Counted> m_counts;
    std::array<std::map<std::string, Held>, 2> m_variables;
    std::array<std::unique_ptr<RunFollower>, 2> m_followers;
};

} // namespace

Result<Proof> proveRuns(Executor& here, Executor& there, const RunMap& map, const ProofOptions& options)
{
    return LockStep(here, there, map, options).prove();
}

} // namespace loopscope
