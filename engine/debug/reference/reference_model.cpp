// A reference run of a model or a recording: it is driven to the places whose values are wanted, and keeps what it passes on the way for
// the questions that come next.
#include "engine/debug/inspect/call_path.h"
#include "engine/debug/inspect/write_search.h"
#include "engine/debug/reference/reference.h"
#include "engine/debug/reference/run_place.h"
#include "engine/debug/timeline.h"
#include "engine/ir/stored_constant.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <set>

namespace loopscope {

namespace {

constexpr uint64_t kKeptBytes = 64 << 20;  ///< of values, the oldest go
constexpr uint64_t kBatchBytes = 4 << 20;  ///< that are kept ahead of what was asked for
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

class ReferenceRun final : public Reference, private TrapHandler {
public:
    ReferenceRun(std::string name, std::unique_ptr<Executor> executor, const Model& model, GraphId root, const Tolerance& tolerance,
                 CancelFlag* cancel)
        : Reference(std::move(name), tolerance), m_executor(std::move(executor)), m_timeline(*m_executor),
          m_pairing(ValuePairing::create(model, root, m_executor->model(), m_executor->root()))
    {
        m_control.cancel = cancel;
    }

    Status begin()
    {
        if (m_pairing.summary().paired == 0)
            return Error(ErrorCode::usage, "no value pairs with one of this run").at(name()).expected("the same structure, or equal tensor names");
        const Model& there = m_executor->model();
        for (size_t g = 0; g < there.graphs.size(); ++g)
            for (size_t i = 0; i < there.graphs[g].operators.size(); ++i)
                m_traps.add(GraphId(static_cast<int64_t>(g)), OperatorId(static_cast<int64_t>(i)), trapAfter);
        return m_timeline.start();
    }

    const PairingSummary& pairing() const override { return m_pairing.summary(); }

    Result<const Tensor*> valueFor(const Executor& executor, int depth, ValueId value) override
    {
        if (depth < 0) depth = executor.position().depth - 1;
        // The same way through the reference's calls.
        GraphId graph = executor.root(), there = m_executor->root();
        RunPlace place;
        for (int d = 1; d <= depth; ++d) {
            const FrameInfo frame = executor.frame(d);
            const ValuePairing::Step step = m_pairing.into(graph, there, frame.site, frame.graph);
            if (!step.site.valid()) return nullptr;
            const bool isLoop = frame.role == CallRole::loop;
            place.way.push_back(step.site.index);
            place.way.push_back(isLoop ? frame.iteration : 0);
            place.way.push_back(isLoop && !frame.inCond ? 1 : 0);
            graph = frame.graph;
            there = step.graph;
        }
        const ValueId partner = m_pairing.partner(graph, there, value);
        if (!partner.valid()) return nullptr;
        const Value& theirs = m_executor->model().graph(there).value(partner);
        switch (theirs.role) {
        case ValueRole::result:
            place.way.push_back(theirs.producer.index);
            place.slot = theirs.slot;
            return fetch(place, theirs);
        case ValueRole::input: {
            const std::vector<ValueId>& inputs = m_executor->model().graph(there).inputs;
            if (depth == 0) return m_executor->value(0, partner);
            place.way.push_back(RunPlace::kFormal);
            place.slot = static_cast<int32_t>(std::ranges::find(inputs, partner) - inputs.begin());
            if (m_formals.insert(there).second) m_traps.add(there, OperatorId(0), trapBefore);
            return fetch(place, theirs);
        }
        case ValueRole::constant: return constant(theirs);
        case ValueRole::variable:
        case ValueRole::absent: break;
        }
        return nullptr;
    }

private:
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

    std::vector<int64_t> here() const { return wayOfStop(*m_executor, m_executor->position().depth - 1); }

    /// Runs until the place was passed, from a saved state before it where it lies behind.
    Status runTo(const RunPlace& place)
    {
        if (m_timeline.finished() || isWritten(place.way, here())) {
            const std::optional<int64_t> saved = m_timeline.lastSaved([&](const MachineState& state) { return !isPassed(place, state); });
            LS_CHECK_OK(m_timeline.goTo(saved.value_or(0), m_control));
        }
        m_wanted = &place;
        m_hasFound = false;
        m_batchBytes = 0;
        m_batchValues = 0;
        const Result<bool> trapped = m_timeline.run(std::numeric_limits<int64_t>::max(), m_traps, *this, m_control);
        m_wanted = nullptr;
        if (trapped.ok() || trapped.error().code() == ErrorCode::execution) return {}; // a reference that fails says nothing from there on
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

    bool beforeOperator(const OperatorEvent& event, int64_t) override
    {
        if (event.op.index != 0 || !m_formals.contains(event.graph)) return false;
        const int depth = frameCount(*m_executor, event.step) - 1;
        RunPlace place{wayTo(*m_executor, depth), 0};
        place.way.push_back(RunPlace::kFormal);
        for (const ValueId input : m_executor->model().graph(event.graph).inputs) {
            if (const Tensor* const tensor = m_executor->value(depth, input)) keep(place, *tensor);
            ++place.slot;
        }
        return false;
    }

    bool afterOperator(const OperatorEvent& event, int64_t) override
    {
        RunPlace place{wayTo(*m_executor, frameCount(*m_executor, event.step) - 1), 0};
        place.way.push_back(event.op.index);
        for (const Tensor* const result : event.results) {
            if (result && result->data) keep(place, *result);
            ++place.slot;
        }
        std::vector<int64_t> next = place.way; // the stop after it, at the earliest
        ++next.back();
        const bool isPast = m_hasFound || isWritten(m_wanted->way, next);
        return isPast && (!m_hasFound || m_batchBytes >= kBatchBytes || m_batchValues >= kBatchValues);
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
    TrapSet m_traps;
    std::set<GraphId> m_formals; ///< graphs of which what they are given is kept, too
    ValueCache m_cache;
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
    return std::to_string(summary.paired) + " of " + std::to_string(summary.total) + " inputs and computed values paired by " + summary.how +
           (summary.note.empty() ? "" : "; " + summary.note);
}

Result<std::unique_ptr<Reference>> referenceToRun(std::string name, std::unique_ptr<Executor> executor, const Model& model, GraphId root,
                                                  const Tolerance& tolerance, CancelFlag* cancel)
{
    auto run = std::make_unique<ReferenceRun>(std::move(name), std::move(executor), model, root, tolerance, cancel);
    LS_CHECK_OK(run->begin());
    return std::unique_ptr<Reference>(std::move(run));
}

} // namespace loopscope
