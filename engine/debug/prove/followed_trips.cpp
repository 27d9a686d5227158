// How a run of a proof is followed where whole iterations are taken at once: a row holds what is compared, and the iterations that it
// stands for have calls only if somebody asks for them.
#include "engine/debug/prove/run_follower.h"

#include <algorithm>

namespace loopscope {

namespace {

constexpr size_t kMostLayouts = 64;
constexpr size_t kMostRow = 8 << 10; ///< bytes: where values are larger, telling of each costs nothing beside them

size_t alignmentOf(size_t bytes) { return bytes >= 16 ? 16 : bytes >= 8 ? 8 : bytes >= 4 ? 4 : 1; }

bool isStillThat(const TripLayout& layout, std::span<const std::span<const Tensor* const>> ofBody,
                 std::span<const std::span<const Tensor* const>> ofCond)
{
    if (layout.kernelCount() != static_cast<int32_t>(ofBody.size() + ofCond.size())) return false;
    for (size_t c = 0; c < layout.cellCount(); ++c) {
        const TripCell& cell = layout.cells[c];
        const auto k = static_cast<size_t>(cell.kernel);
        const auto results = k < ofBody.size() ? ofBody[k] : ofCond[k - ofBody.size()];
        const auto slot = static_cast<size_t>(layout.results[c].slot);
        if (slot >= results.size() || results[slot] != cell.result || cell.result->bytes != cell.bytes ||
            !isSameType(layout.results[c].type, *cell.result))
            return false;
    }
    return true;
}

} // namespace

/// Adds a graph's operators to a row; false: there is something among their results that has no place in one.
bool RunFollower::addCells(TripLayout& layout, const RunMap::Scope* scope, GraphId graph,
                           std::span<const std::span<const Tensor* const>> results)
{
    const std::vector<Facts>& facts = m_facts[static_cast<size_t>(graph.index)];
    const ScopeResults* const own = scope ? &m_results[static_cast<size_t>(scope - m_map.scopes(m_side).data())] : nullptr;
    for (size_t op = 0; op < results.size(); ++op) {
        const int32_t kernel = layout.kernelCount();
        layout.roundings.push_back(layout.roundings.back() + facts[op].roundings);
        if (!own || op + 1 >= own->firsts.size()) continue;
        for (uint32_t i = own->firsts[op]; i < own->firsts[op + 1]; ++i) {
            const auto [key, slot] = own->results[i];
            const Tensor* const tensor = static_cast<size_t>(slot) < results[op].size() ? results[op][static_cast<size_t>(slot)] : nullptr;
            if (!tensor || bitWidth(tensor->dtype) == 0 || tensor->bytes == 0) return false;
            if (isHandle(tensor->dtype)) {
                layout.handles.push_back(kernel);
                continue;
            }
            const size_t alignment = alignmentOf(tensor->bytes);
            const size_t offset = (layout.rowBytes + alignment - 1) / alignment * alignment;
            layout.rowBytes = offset + tensor->bytes;
            if (layout.rowBytes > kMostRow) return false;
            layout.cells.push_back({tensor, offset, tensor->bytes, kernel});
            Tensor type = *tensor;
            type.data = nullptr;
            layout.results.push_back({key, graph, OperatorId(static_cast<int64_t>(op)), slot, std::move(type)});
        }
    }
    return true;
}

std::shared_ptr<const TripLayout> RunFollower::layoutOf(const ProofCall& call, const TripsStart& start)
{
    for (auto& known : m_layouts) {
        if (known->body != call.body || known->cond != call.cond) continue;
        if (isStillThat(*known, start.ofBody, start.ofCond)) return known;
    }
    const auto layout = std::make_shared<TripLayout>();
    layout->body = call.body;
    layout->cond = call.cond;
    layout->ofBody = static_cast<int32_t>(start.ofBody.size());
    layout->roundings = {0};
    if (!addCells(*layout, call.body, start.body, start.ofBody) || !addCells(*layout, call.cond, start.cond, start.ofCond)) return nullptr;
    layout->close();
    if (m_layouts.size() >= kMostLayouts) m_layouts.clear();
    m_layouts.push_back(layout);
    return layout;
}

const TripTape* RunFollower::tripsStarted(const TripsStart& start)
{
    const std::shared_ptr<ProofCall>& call = callOf(start.invocation);
    if (!call || !call->pairs || call->place == 0) return nullptr;
    m_layout = layoutOf(*call, start);
    if (!m_layout) return nullptr;
    m_tape = {};
    m_tape.cells = m_layout->cells.data();
    m_tape.rowBytes = m_layout->rowBytes;
    m_tapeCall = start.invocation;
    m_following = start.following;
    m_tapeStep = start.step;
    return m_listener.takesTrips(m_side, call, m_layout, m_tape) ? &m_tape : nullptr;
}

std::shared_ptr<ProofCall> RunFollower::iterationAfter(const std::shared_ptr<ProofCall>& call, int64_t iterations)
{
    if (iterations == 0) return call;
    std::shared_ptr<ProofCall> later = freshCall();
    later->parent = call->parent;
    later->start = call->start;
    later->start.iteration += iterations;
    later->place = call->place;
    later->chain = chainOf(call->place, later->start.iteration);
    later->parentInCond = call->parentInCond;
    later->body = call->body;
    later->cond = call->cond;
    return later;
}

void RunFollower::tripsEnded(int64_t rows, int32_t kernels)
{
    const TripLayout& layout = *m_layout;
    const int64_t passed = rows + (kernels >= layout.ofBody ? 1 : 0); // a row goes on into the next iteration
    const double before = m_roundings;
    m_roundings += static_cast<double>(rows) * layout.roundings.back() + layout.roundings[static_cast<size_t>(std::max(kernels, 0))];
    m_listener.tookTrips(m_side, rows, kernels, m_tapeStep, before);
    if (passed == 0) return;
    const auto open = std::find_if(m_calls.rbegin(), m_calls.rend(), [&](const auto& call) { return call->start.id == m_tapeCall; });
    if (open == m_calls.rend()) return;
    std::shared_ptr<ProofCall> now = iterationAfter(*open, passed);
    now->start.id = InvocationId(m_following.number + passed - 1);
    now->start.step = m_tapeStep + passed * layout.kernelCount() - (layout.kernelCount() - layout.ofBody);
    for (ProofCall::Loop& loop : now->parent->loops)
        if (loop.site == now->start.site && loop.graph == now->start.callerGraph) loop.trips = std::max(loop.trips, now->start.iteration);
    m_last = now->start.id;
    m_lastCall = now;
    if (m_spares.size() < kMostSpares) m_spares.push_back(std::move(*open));
    *open = std::move(now);
    m_listener.iterates(m_side, m_lastCall->place, m_lastCall->start.iteration, *m_lastCall);
}

} // namespace loopscope
