// A reference run of a model or a recording: it is driven to the places whose values are wanted, and keeps what it passes on the way for
// the questions that come next.
#include "engine/base/hash.h"
#include "engine/debug/inspect/write_search.h"
#include "engine/debug/reference/reference.h"
#include "engine/debug/reference/run_place.h"
#include "engine/debug/timeline.h"
#include "engine/exec/executor.h"
#include "engine/exec/machine_state.h"
#include "engine/ir/frames.h"
#include "engine/ir/stored_constant.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <set>
#include <span>
#include <unordered_map>

namespace loopscope {

namespace {

constexpr uint64_t kKeptBytes = 64 << 20; ///< of values, the oldest go
constexpr uint64_t kBatchBytes = 4 << 20; ///< that are kept ahead of what was asked for
constexpr int64_t kBatchValues = 512;

/// Values of the reference run, the newest so many bytes.
class ValueCache {
public:
    const Tensor* find(const RunPlace& place) const
    {
        const auto found = m_values.find(place);
        return found == m_values.end() ? nullptr : &found->second.tensor;
    }
    void add(const RunPlace& place, const Tensor& tensor)
    {
        const auto [entry, isNew] = m_values.try_emplace(place);
        if (!isNew) return;
        entry->second.assign(tensor);
        m_bytes += tensor.bytes + 64;
        m_order.push_back(place);
        while (m_bytes > kKeptBytes && m_order.size() > 1) {
            const auto oldest = m_values.find(m_order.front());
            m_bytes -= oldest->second.bytes.size() + 64;
            m_values.erase(oldest);
            m_order.pop_front();
        }
    }

private:
    std::map<RunPlace, KeptTensor> m_values;
    std::deque<RunPlace> m_order;
    uint64_t m_bytes = 0;
};

/// When a run came by its places, where addresses do not tell. Places are known by their hashes: a wrong time costs a search that finds
/// nothing, and no wrong value.
class PassedPlaces {
public:
    static constexpr int64_t kDead = -1; ///< came by, and wrote nothing
    void add(const std::vector<int64_t>& way, Tick tick) { m_ticks.try_emplace(keyOf(way), tick); }
    /// The last stop before it; none: not yet.
    std::optional<int64_t> find(const std::vector<int64_t>& way) const
    {
        const auto found = m_ticks.find(keyOf(way));
        return found == m_ticks.end() ? std::nullopt : std::optional(found->second);
    }

private:
    static uint64_t keyOf(const std::vector<int64_t>& way) { return hash64(std::as_bytes(std::span(way))); }
    std::unordered_map<uint64_t, int64_t> m_ticks;
};

class ReferenceRun final : public Reference, private TrapHandler {
public:
    ReferenceRun(std::string name, std::unique_ptr<Executor> executor, const Model& model, GraphId root, const Tolerance& tolerance,
                 CancelFlag* cancel)
        : Reference(std::move(name), tolerance),
          m_executor(std::move(executor)),
          m_timeline(*m_executor),
          m_pairing(ValuePairing::create(model, root, m_executor->model(), m_executor->root())),
          m_isOrdered(m_executor->stopsInAddressOrder())
    {
        m_control.cancel = cancel;
    }

    Status begin()
    {
        if (m_pairing.summary().paired == 0)
            return Error(ErrorCode::usage, "no value pairs with one of this run")
                .at(name())
                .expected("the same structure, or equal tensor names");
        const Model& there = m_executor->model();
        for (size_t g = 0; g < there.graphs.size(); ++g)
            for (size_t i = 0; i < there.graphs[g].operators.size(); ++i)
                m_traps.add(GraphId(static_cast<int64_t>(g)), OperatorId(static_cast<int64_t>(i)), trapAfter);
        // What was passed is not looked at again: what callees are given is kept from the beginning.
        for (size_t g = 0; g < there.graphs.size() && !m_isOrdered; ++g)
            if (GraphId graph(static_cast<int64_t>(g)); graph != root() && !there.graphs[g].operators.empty()) keepFormals(graph);
        return m_timeline.start();
    }

    const PairingSummary& pairing() const override { return m_pairing.summary(); }
    const Model* model() const override { return &m_executor->model(); }
    GraphId root() const override { return m_executor->root(); }
    const ValuePairing* values() const override { return &m_pairing; }

    Result<std::optional<int64_t>> tripsFor(const Executor& executor, int depth, OperatorId loop) override
    {
        const std::optional<OtherFrame> other = frameThere(executor, depth);
        if (!other) return std::optional<int64_t>();
        const Operator& op = executor.model().graph(other->graph).op(loop);
        RunPlace place;
        for (const ValueId result : op.results) {
            const ValuePairing::Partner* const partner = m_pairing.partner(other->graph, other->there, result);
            if (partner == nullptr) continue;
            place = placeOf(*other, *partner);
            break;
        }
        if (place.way.empty()) return std::optional<int64_t>();
        if (!isBehind(place)) LS_CHECK_OK(runTo(place));
        if (!isBehind(place) || (!m_isOrdered && !m_passed.find(place.way))) return std::optional<int64_t>();
        std::vector<int64_t> key = place.way;
        if (leavesFrame(op)) { // the frame that it runs in, in whatever iteration
            if (!other->isFrame) return std::optional<int64_t>();
            key.assign(other->way.begin(), other->way.end() - 2);
        }
        const auto trips = m_trips.find(key);
        return trips == m_trips.end() ? std::nullopt : std::optional(trips->second);
    }

    Result<const Tensor*> valueFor(const Executor& executor, int depth, ValueId value) override
    {
        if (depth < 0) depth = executor.position().depth - 1;
        const std::optional<OtherFrame> other = frameThere(executor, depth);
        if (!other) return nullptr;
        const ValuePairing::Partner* const partner = m_pairing.partner(other->graph, other->there, value);
        if (partner == nullptr) return nullptr;
        const GraphId there = partner->graph;
        const Value& theirs = m_executor->model().graph(there).value(partner->value);
        switch (theirs.role) {
        case ValueRole::result: return fetch(placeOf(*other, *partner), theirs);
        case ValueRole::input: {
            const std::vector<ValueId>& inputs = m_executor->model().graph(there).inputs;
            RunPlace place{wayTo(*other, *partner), static_cast<int32_t>(std::ranges::find(inputs, partner->value) - inputs.begin())};
            if (place.way.empty()) return m_executor->value(0, partner->value);
            place.way.push_back(RunPlace::kFormal);
            keepFormals(there);
            return fetch(place, theirs);
        }
        case ValueRole::constant: return constant(theirs);
        case ValueRole::variable:
        case ValueRole::absent: break;
        }
        return nullptr;
    }

private:
    /// A frame of this run and the way to its partner.
    struct OtherFrame {
        GraphId graph, there;
        std::vector<int64_t> way;
        bool isFrame = false; ///< of v1
    };
    /// The same way through the reference's calls; none: one of them has no partner.
    std::optional<OtherFrame> frameThere(const Executor& executor, int depth) const
    {
        OtherFrame other{executor.root(), m_executor->root(), {}};
        for (int d = 1; d <= depth; ++d) {
            const FrameInfo frame = executor.frame(d);
            const ValuePairing::Step step = m_pairing.into(other.graph, other.there, frame.site, frame.graph);
            if (!step.graph.valid()) return std::nullopt;
            // Calls of functions lead there; the last one is the partner of what is called here.
            for (size_t k = 0; k < step.sites.size(); ++k) {
                const auto [iteration, part] = k + 1 < step.sites.size() ? std::pair<int64_t, int64_t>() : roundOf(frame);
                other.way.insert(other.way.end(), {step.sites[k].index, iteration, part});
            }
            other.graph = frame.graph;
            other.there = step.graph;
            other.isFrame = frame.role == CallRole::frame;
        }
        return other;
    }

    /// The calls that lead to a partner from the frame in which it is looked at.
    static std::vector<int64_t> wayTo(const OtherFrame& frame, const ValuePairing::Partner& partner)
    {
        std::vector<int64_t> way = frame.way;
        for (const OperatorId site : partner.sites) way.insert(way.end(), {site.index, 0, 0});
        return way;
    }

    /// Where the partner of a value that is looked at in `frame` is written.
    RunPlace placeOf(const OtherFrame& frame, const ValuePairing::Partner& partner)
    {
        const Value& theirs = m_executor->model().graph(partner.graph).value(partner.value);
        RunPlace place{wayTo(frame, partner), theirs.slot};
        if (!partner.sites.empty()) {
            place.way.push_back(theirs.producer.index);
            return place;
        }
        const Operator& producer = m_executor->model().graph(frame.there).op(theirs.producer);
        if (frame.isFrame && (entersFrame(producer) || leavesFrame(producer))) {
            const Operator& site = m_executor->model().graph(frame.there).op(OperatorId(frame.way[frame.way.size() - 3]));
            const std::string inside = entersFrame(producer) ? std::string(frameNameOf(producer)) : frameOf(frame.there, theirs.producer);
            if (frameNameOf(site) == inside) place.way.resize(place.way.size() - 3);
        }
        place.way.push_back(theirs.producer.index);
        return place;
    }

    /// Name of the v1 frame that a node runs in.
    const std::string& frameOf(GraphId graph, OperatorId op)
    {
        auto found = m_frames.find(graph);
        if (found == m_frames.end()) found = m_frames.emplace(graph, analyzeFrames(m_executor->model().graph(graph))).first;
        const FrameAnalysis& analysis = found->second;
        return analysis.frames[static_cast<size_t>(analysis.frameOf[static_cast<size_t>(op.index)])].name;
    }

    void keepFormals(GraphId graph)
    {
        if (m_formals.insert(graph).second) m_traps.add(graph, OperatorId(0), trapBefore);
    }

    Result<const Tensor*> constant(const Value& value)
    {
        if (!value.constant || !value.constant->hasBytes() || isPacked(value) || !checkedElementCount(value.type.shape)) return nullptr;
        m_constant.dtype = value.type.dtype;
        m_constant.shape = value.type.shape;
        m_constant.quantization = value.type.quantization.get();
        const Bytes& bytes = value.constant->bytes();
        m_constant.data = const_cast<std::byte*>(bytes.data()); // NOLINT(cppcoreguidelines-pro-type-const-cast): only read from there
        m_constant.bytes = bytes.size();
        return &m_constant;
    }

    Result<const Tensor*> fetch(const RunPlace& place, const Value& value)
    {
        const Tensor* found = m_cache.find(place);
        if (!found) {
            LS_CHECK_OK(runTo(place));
            found = m_cache.find(place);
        }
        if (!found) return nullptr;
        m_answer = *found;
        m_answer.quantization = value.type.quantization.get();
        return &m_answer;
    }

    bool isBehind(const RunPlace& place) const
    {
        if (!m_isOrdered) return m_isHeardOut || m_passed.find(place.way);
        return m_timeline.finished() || isWritten(place.way, here());
    }
    std::vector<int64_t> here() const { return wayOfStop(*m_executor, m_executor->position().depth - 1); }

    /// Runs until the place was passed, from a saved state before it where it lies behind.
    Status runTo(const RunPlace& place)
    {
        if (!m_isOrdered) {
            const std::optional<int64_t> passed = m_passed.find(place.way);
            if (passed ? *passed == PassedPlaces::kDead : m_isHeardOut) return {};
            LS_CHECK_OK(m_timeline.goTo(passed.value_or(m_heard), m_control));
        } else if (isBehind(place)) {
            const std::optional<Tick> saved = m_timeline.lastSaved([&](const MachineState& state) { return !isPassed(place, state); });
            LS_CHECK_OK(m_timeline.goTo(saved.value_or(0), m_control));
        }
        m_wanted = &place;
        m_hasFound = false;
        m_batchBytes = 0;
        m_batchValues = 0;
        const Result<bool> trapped = m_timeline.run(std::numeric_limits<int64_t>::max(), m_traps, *this, m_control);
        m_wanted = nullptr;
        m_heard = std::max(m_heard, m_timeline.tick());
        const bool failed = !trapped.ok() && trapped.error().code() == ErrorCode::execution; // says nothing from there on
        m_isHeardOut |= failed || (trapped.ok() && !*trapped);
        if (trapped.ok() || failed) return {};
        return trapped.error().copy();
    }

    /// The same question as isWritten, of a saved state.
    static bool isPassed(const RunPlace& place, const MachineState& state)
    {
        if (state.finished) return true;
        std::vector<int64_t> way;
        for (size_t f = 1; f < state.frames.size(); ++f) {
            const FrameState& frame = state.frames[f];
            const bool isLoop = frame.role == CallRole::loop;
            way.push_back(frame.site.index);
            way.push_back(isLoop ? frame.iteration : 0);
            way.push_back(isLoop && !frame.inCond ? 1 : 0);
        }
        way.push_back(state.frames.back().next);
        return isWritten(place.way, way);
    }

    bool beforeOperator(const OperatorEvent& event, Tick tick) override
    {
        if (event.op.index != 0 || !m_formals.contains(event.graph)) return false;
        const int depth = framesAtTrap(*m_executor, event.step) - 1;
        RunPlace place{loopscope::wayTo(*m_executor, depth), 0};
        place.way.push_back(RunPlace::kFormal);
        if (!m_isOrdered) m_passed.add(place.way, tick);
        for (const ValueId input : m_executor->model().graph(event.graph).inputs) {
            if (const Tensor* const tensor = m_executor->value(depth, input)) keep(place, *tensor);
            ++place.slot;
        }
        return false;
    }

    bool afterOperator(const OperatorEvent& event, Tick tick) override
    {
        RunPlace place{loopscope::wayTo(*m_executor, framesAtTrap(*m_executor, event.step) - 1), 0};
        place.way.push_back(event.op.index);
        countTrips(place.way);
        if (const size_t size = place.way.size(); size > 3 && leavesFrame(m_executor->model().graph(event.graph).op(event.op)))
            place.way.erase(place.way.end() - 4, place.way.end() - 1);
        const bool isDead = event.state == EventState::dead;
        for (const Tensor* const result : event.results) {
            if (result && result->data) keep(place, *result);
            ++place.slot;
        }
        const bool isEnough = m_hasFound && (m_batchBytes >= kBatchBytes || m_batchValues >= kBatchValues);
        if (!m_isOrdered) {
            m_passed.add(place.way, isDead ? PassedPlaces::kDead : tick - 1);
            return isEnough || (!m_hasFound && place.way == m_wanted->way); // it came by and wrote nothing
        }
        std::vector<int64_t> next = place.way; // the stop after it, at the earliest
        ++next.back();
        return isEnough || (!m_hasFound && isWritten(m_wanted->way, next));
    }

    /// An operator of a condition says how many iterations are done, one of a body that another is under way.
    void countTrips(const std::vector<int64_t>& way)
    {
        for (size_t d = 0; d + 3 < way.size(); d += 3) {
            std::vector<int64_t> loop(way.begin(), way.begin() + static_cast<ptrdiff_t>(d) + 1);
            int64_t& trips = m_trips[std::move(loop)];
            trips = std::max(trips, way[d + 1] + way[d + 2]);
        }
    }

    void keep(const RunPlace& place, const Tensor& tensor)
    {
        m_cache.add(place, tensor);
        if (m_wanted && place == *m_wanted) m_hasFound = true;
        if (!m_hasFound) return;
        m_batchBytes += tensor.bytes;
        ++m_batchValues;
    }

    std::unique_ptr<Executor> m_executor;
    Timeline m_timeline;
    TravelControl m_control;
    ValuePairing m_pairing;
    bool m_isOrdered; ///< Executor::stopsInAddressOrder
    TrapSet m_traps;
    std::set<GraphId> m_formals;               ///< graphs of which what they are given is kept, too
    std::map<GraphId, FrameAnalysis> m_frames; ///< of graphs that were asked about
    PassedPlaces m_passed;                     ///< of runs that are not ordered, up to the stop m_heard
    Tick m_heard = 0;
    bool m_isHeardOut = false; ///< to the end
    ValueCache m_cache;
    std::map<std::vector<int64_t>, int64_t> m_trips; ///< by the way to the loop's operator: iterations seen
    const RunPlace* m_wanted = nullptr;
    bool m_hasFound = false;
    uint64_t m_batchBytes = 0;
    int64_t m_batchValues = 0;
    Tensor m_answer, m_constant;
};

} // namespace

std::string Reference::pairingText() const
{
    const PairingSummary& summary = pairing();
    std::string text =
        std::to_string(summary.paired) + " of " + std::to_string(summary.total) + " inputs and computed values paired by " + summary.how;
    if (summary.byStructure > 0 && summary.byStructure < summary.paired)
        text += ", " + std::to_string(summary.byStructure) + " of them by structure";
    return text + (summary.note.empty() ? "" : "; " + summary.note);
}

Result<std::unique_ptr<Reference>> referenceToRun(std::string name, std::unique_ptr<Executor> executor, const Model& model, GraphId root,
                                                  const Tolerance& tolerance, CancelFlag* cancel)
{
    auto run = std::make_unique<ReferenceRun>(std::move(name), std::move(executor), model, root, tolerance, cancel);
    LS_CHECK_OK(run->begin());
    return std::unique_ptr<Reference>(std::move(run));
}

} // namespace loopscope
