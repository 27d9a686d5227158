#include "engine/debug/prove/lock_step.h"

#include "engine/debug/prove/run_follower.h"
#include "engine/debug/prove/write_stream.h"
#include "engine/tensor/statistics.h"
#include "engine/tensor/value_text.h"

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
constexpr int64_t kFewestTicks = 1, kMostTicks = 256;
constexpr int64_t kMostOrder = 1024; ///< writes that came in another order, until nothing more is laid in order
constexpr uint64_t kBytesAtOnce = 256 << 10;
constexpr size_t kMostInStream = 64 << 10; ///< larger values have memory of their own, which goes as soon as they are compared

/// A tensor with bytes of its own, which are kept where they fit, unless they are many.
struct Held {
    Tensor tensor;
    std::vector<std::byte> bytes;
    void assign(const Tensor& from)
    {
        bytes.assign(from.data, from.data + from.bytes);
        tensor = from;
        tensor.data = bytes.data();
    }
    void release()
    {
        if (bytes.capacity() > kMostInStream) bytes = {};
    }
};

/// A write that waits for that of the other run.
struct Waiting {
    RunMap::Side side = RunMap::here;
    uint64_t chain = 0;
    std::shared_ptr<ProofCall> call;
    GraphId graph;
    OperatorId op;
    int32_t slot = 0;
    Step step;
    double roundings = 0;
    Held value;
};

/// Those of one key, in order. Both runs come by the iterations of a place in much the same order, so that a partner is near the front;
/// where one is far behind, it is found by its chain.
class Queue {
public:
    bool empty() const { return m_first == m_end; }
    bool holds(RunMap::Side side) const { return m_count[side] > 0; }

    /// A place for one more.
    Waiting& add(uint64_t chain, RunMap::Side side)
    {
        ++m_count[side];
        if (m_end == m_items.size()) m_items.emplace_back();
        if (m_isIndexed) m_index[chain] = m_erased + m_end;
        Waiting& waiting = m_items[m_end++];
        waiting.chain = chain;
        waiting.side = side;
        return waiting;
    }

    /// What waits for a write of `side`; null: nothing.
    Waiting* find(uint64_t chain, RunMap::Side side)
    {
        if (m_count[side == RunMap::here ? RunMap::there : RunMap::here] == 0) return nullptr;
        const auto isIt = [&](const Waiting& waiting) { return waiting.call && waiting.chain == chain && waiting.side != side; };
        const size_t near = std::min(m_end, m_first + kNear);
        for (size_t i = m_first; i < near; ++i)
            if (isIt(m_items[i])) return &m_items[i];
        if (near == m_end) return nullptr;
        if (!m_isIndexed) {
            m_isIndexed = true;
            for (size_t i = m_first; i < m_end; ++i)
                if (m_items[i].call) m_index[m_items[i].chain] = m_erased + i;
        }
        const auto found = m_index.find(chain);
        if (found == m_index.end() || found->second < m_erased + m_first) return nullptr;
        Waiting& waiting = m_items[found->second - m_erased];
        return isIt(waiting) ? &waiting : nullptr;
    }

    /// It has met its partner.
    void done(Waiting& waiting)
    {
        --m_count[waiting.side];
        if (m_isIndexed) m_index.erase(waiting.chain);
        waiting.call.reset();
        waiting.value.release();
        while (m_first < m_end && !m_items[m_first].call) ++m_first;
        if (empty()) { // the places stay, with their memory
            m_first = m_end = m_erased = 0;
            if (m_isIndexed) m_index.clear();
            m_isIndexed = false;
        } else if (m_first > 1024 && 2 * m_first > m_end) {
            m_items.erase(m_items.begin(), m_items.begin() + static_cast<ptrdiff_t>(m_first));
            m_erased += m_first;
            m_end -= m_first;
            m_first = 0;
        }
    }

    /// Everything that still waits.
    template <typename Use> void drain(Use use)
    {
        for (size_t i = m_first; i < m_end; ++i)
            if (m_items[i].call) use(m_items[i]);
        *this = Queue();
    }

private:
    static constexpr size_t kNear = 8;
    std::vector<Waiting> m_items; ///< those from `m_first` to `m_end` wait, or are done; behind are free places
    size_t m_first = 0, m_end = 0;
    size_t m_erased = 0;
    std::array<size_t, 2> m_count = {0, 0};       ///< by side
    std::unordered_map<uint64_t, size_t> m_index; ///< by chain: position, what was erased included
    bool m_isIndexed = false;
};

bool isHandle(DType dtype) { return dtype == DType::resource || dtype == DType::variant; }

bool sameBits(const Tensor& a, const Tensor& b)
{
    return a.dtype == b.dtype && a.bytes == b.bytes && a.shape == b.shape && std::memcmp(a.data, b.data, a.bytes) == 0 &&
           (a.quantization == b.quantization || (a.quantization && b.quantization && *a.quantization == *b.quantization));
}

double largestOf(const Tensor& tensor)
{
    double most = 0;
    const int64_t count = tensor.elementCount();
    for (int64_t i = 0; i < count; ++i)
        if (const double value = std::fabs(elementAsReal(tensor, i)); std::isfinite(value)) most = std::max(most, value);
    return most;
}

/// Half the distance between neighbours at 1: what one rounding may do.
double unitRoundoff(DType dtype)
{
    switch (dtype) {
    case DType::f64:
    case DType::c128: return 0x1p-53;
    case DType::f16: return 0x1p-11;
    case DType::bf16: return 0x1p-8;
    case DType::f8e4m3fn: return 0x1p-4;
    case DType::f8e5m2: return 0x1p-3;
    default: return 0x1p-24;
    }
}

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
            end(next, executor.runTo(executor.tick().number + m_ticks));
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
        Queue& queue = m_queues[write.key];
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
            spill(ahead);
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

    static RunMap::Side otherThan(RunMap::Side side) { return side == RunMap::here ? RunMap::there : RunMap::here; }

    /// False if the other run's write of that place does not wait in `queue`.
    bool matchWaiting(RunMap::Side side, const ProofWrite& write, Queue& queue)
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

    /// The runs come by their writes in different orders: what waits is looked up from now on.
    void spill(RunMap::Side side)
    {
        WriteStream& stream = m_streams[side];
        m_sameOrder -= static_cast<int64_t>(stream.size());
        for (; !stream.empty(); stream.pop()) {
            const WriteStream::Entry& entry = stream.front();
            const Tensor tensor = stream.tensorOf(entry);
            m_bytes[side] -= WriteStream::costOf(entry.bytes);
            wait(side,
                 {entry.key, entry.chain, &stream.callOf(entry), entry.graph, entry.op, entry.slot, entry.step, &tensor, entry.roundings},
                 m_queues[entry.key]);
        }
    }

    void wait(RunMap::Side side, const ProofWrite& write, Queue& queue)
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
            bound = roundings * unitRoundoff(a.dtype) * std::max(largestOf(a), largestOf(b));
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

    static ProofDifference differenceOf(const Tensor& a, const Tensor& b, const Comparison& figures, std::string address, std::string there,
                                        Step step)
    {
        ProofDifference difference;
        difference.address = std::move(address);
        difference.there = std::move(there);
        difference.step = step;
        difference.figures = figures;
        if (!figures.mismatch.empty()) {
            const bool isShape = a.dtype == b.dtype;
            difference.kind = isShape ? "shape" : "dtype";
            difference.a = isShape ? toString(a.shape) : std::string(dtypeName(a.dtype));
            difference.b = isShape ? toString(b.shape) : std::string(dtypeName(b.dtype));
            return difference;
        }
        difference.kind = "value";
        const int64_t at = std::max<int64_t>(figures.worst >= 0 ? figures.worst : figures.first, 0);
        NumberFormat exact; // what differs must not look alike
        exact.digits = NumberFormat::kExact;
        difference.a = elementText(a, at, exact);
        difference.b = elementText(b, at, exact);
        difference.at = elementIndexText(a.shape, at);
        return difference;
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
        for (Queue& queue : m_queues)
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
            const auto roundings = static_cast<double>(m_executors[0]->position().step + m_executors[1]->position().step);
            compare(a, b, "output " + graph.value(graph.outputs[k].value).id, "output " + graphThere.value(graphThere.outputs[k].value).id,
                    -1, roundings, true);
        }
    }

    void compareVariables()
    {
        for (const auto& [name, held] : m_variables[RunMap::here]) {
            const auto other = m_variables[RunMap::there].find(name);
            if (other == m_variables[RunMap::there].end()) continue;
            ++m_proof.variables;
            if (sameBits(held.tensor, other->second.tensor)) continue;
            const auto roundings = static_cast<double>(m_executors[0]->position().step + m_executors[1]->position().step);
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
    std::vector<Queue> m_queues;          ///< by key: what is ahead otherwise
    int64_t m_ticks = 16;                 ///< that a run goes on at a time
    int m_roundsSince = 0;                ///< that a difference is known
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
