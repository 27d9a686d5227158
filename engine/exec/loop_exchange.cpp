// The exchange of carried values between the iterations of a loop. docs/execution.md, "Loops", has the invariants.
#include "engine/exec/call_state.h"

#include <algorithm>
#include <cstring>

namespace loopscope {

namespace {

/// The body writes to `data`, or to `heap` if the value's size changes.
Status aimSlot(Slot& output, std::byte* data, MemoryBlock* heap)
{
    if (!heap) {
        output.data = data;
        return {};
    }
    if (!output.fixed) {
        output.heap = heap;
        return {};
    }
    LS_CHECK_OK(heap->reserve(output.bytes));
    output.data = heap->data();
    return {};
}

} // namespace

Status LoopExchange::begin(const LoopPlan& plan, Activation& cond, Activation& body, std::span<const Tensor* const> initial,
                           std::span<Slot* const> homes, std::byte* block)
{
    m_plan = &plan;
    m_cond = &cond;
    m_body = &body;
    m_homes.assign(homes.begin(), homes.end());
    for (size_t k = 0; k < initial.size(); ++k) {
        aliasSlot(body.input(k), *initial[k]);
        aliasSlot(cond.input(k), *initial[k]);
    }
    return plan.direct ? beginDirect(homes, block) : beginPooled(homes, block);
}

MemoryBlock* LoopExchange::alternateHeap(size_t index)
{
    while (m_heaps.size() <= index) m_heaps.emplace_back(m_account);
    return &m_heaps[index];
}

Status LoopExchange::beginDirect(std::span<Slot* const> homes, std::byte* block)
{
    m_pairs.clear();
    m_constants.clear();
    for (size_t a = 0; a < m_plan->alternates.size(); ++a) {
        const AlternateBuffer& alternate = m_plan->alternates[a];
        const auto k = static_cast<size_t>(alternate.position);
        Slot& home = *homes[k];
        Pair pair = {};
        pair.output = &m_body->output(k);
        pair.input = &m_body->input(k);
        pair.condInput = &m_cond->input(k);
        pair.heap[0] = home.heap;
        pair.heap[1] = home.heap ? alternateHeap(a) : nullptr;
        pair.data[0] = home.data;
        pair.data[1] = block + alternate.offset;
        LS_CHECK_OK(aimSlot(*pair.output, pair.data[0], pair.heap[0]));
        m_pairs.push_back(pair);
    }
    for (size_t k = 0; k < m_plan->sources.size(); ++k)
        if (m_plan->sources[k].kind == CarrySource::Kind::constant) m_constants.push_back(static_cast<int32_t>(k));
    return {};
}

Status LoopExchange::beginPooled(std::span<Slot* const> homes, std::byte* block)
{
    const size_t count = m_plan->sources.size();
    m_pool.clear();
    m_held.assign(count, -1);
    m_newlyHeld.assign(count, -1);
    m_aimed.assign(count, -1);
    m_exchanges = 0;
    if (m_incoming.size() != count) m_incoming.assign(count, Slot());
    const auto classOf = [](const Slot& home) { return home.heap ? kHeapClass : home.bytes; };
    for (size_t k = 0; k < count; ++k)
        if (m_plan->pooled[k]) m_pool.push_back({homes[k]->data, homes[k]->heap, classOf(*homes[k]), 0});
    for (size_t a = 0; a < m_plan->alternates.size(); ++a) {
        const AlternateBuffer& alternate = m_plan->alternates[a];
        const Slot& home = *homes[static_cast<size_t>(alternate.position)];
        m_pool.push_back({block + alternate.offset, home.heap ? alternateHeap(a) : nullptr, classOf(home), 0});
    }
    return aimOutputs();
}

/// Finds a free buffer for every output that the body writes. There is one: of each size class the pool holds as many buffers as positions
/// can hold at once, and one more for each position that is written.
Status LoopExchange::aimOutputs()
{
    ++m_exchanges;
    for (const int32_t held : m_held)
        if (held >= 0) m_pool[static_cast<size_t>(held)].usedAt = m_exchanges;
    for (const int32_t position : m_plan->written) {
        const auto k = static_cast<size_t>(position);
        const uint64_t sizeClass = m_homes[k]->heap ? kHeapClass : m_homes[k]->bytes;
        const auto free = std::ranges::find_if(m_pool, [&](const Buffer& b) { return b.sizeClass == sizeClass && b.usedAt != m_exchanges; });
        if (free == m_pool.end()) return Error(ErrorCode::internal, "a loop has no free buffer");
        free->usedAt = m_exchanges;
        m_aimed[k] = static_cast<int32_t>(free - m_pool.begin());
        if (m_plan->sources[k].kind == CarrySource::Kind::written) LS_CHECK_OK(aimSlot(m_body->output(k), free->data, free->heap));
    }
    return {};
}

Status LoopExchange::next()
{
    if (!m_plan->direct) return nextPooled();
    for (Pair& pair : m_pairs) {
        aliasSlot(*pair.input, *pair.output);
        aliasSlot(*pair.condInput, *pair.output);
        pair.now ^= 1;
        if (pair.heap[0]) {
            LS_CHECK_OK(aimSlot(*pair.output, nullptr, pair.heap[pair.now]));
        } else {
            pair.output->data = pair.data[pair.now];
        }
    }
    for (const int32_t position : m_constants) {
        const auto k = static_cast<size_t>(position);
        aliasSlot(m_body->input(k), m_body->output(k));
        aliasSlot(m_cond->input(k), m_body->output(k));
    }
    return {};
}

Status LoopExchange::nextPooled()
{
    const size_t count = m_plan->sources.size();
    for (size_t k = 0; k < count; ++k) { // all new values first, then all places: one simultaneous assignment
        const CarrySource& source = m_plan->sources[k];
        const auto from = static_cast<size_t>(source.position);
        Slot& incoming = m_incoming[k];
        incoming.fixed = m_body->input(k).fixed;
        m_newlyHeld[k] = -1;
        switch (source.kind) {
        case CarrySource::Kind::written:
            aliasSlot(incoming, m_body->output(from));
            m_newlyHeld[k] = m_aimed[from];
            break;
        case CarrySource::Kind::input:
            aliasSlot(incoming, m_body->input(from));
            m_newlyHeld[k] = m_held[from];
            break;
        case CarrySource::Kind::constant: aliasSlot(incoming, m_body->output(k)); break;
        case CarrySource::Kind::variable: {
            // The variable may change before the next iteration reads the carried value: the only source that is copied.
            const Buffer& buffer = m_pool[static_cast<size_t>(m_aimed[k])];
            const Slot& variable = m_body->output(k);
            incoming.heap = buffer.heap;
            incoming.data = buffer.data;
            incoming.bytes = variable.bytes;
            LS_CHECK_OK(copyToSlot(incoming, variable));
            m_newlyHeld[k] = m_aimed[k];
            break;
        }
        }
    }
    for (size_t k = 0; k < count; ++k) {
        aliasSlot(m_body->input(k), m_incoming[k]);
        aliasSlot(m_cond->input(k), m_incoming[k]);
    }
    m_held.swap(m_newlyHeld);
    return aimOutputs();
}

Status LoopExchange::finish()
{
    const size_t count = m_homes.size();
    const auto homeData = [&](size_t k) { return m_homes[k]->heap ? m_homes[k]->heap->data() : m_homes[k]->data; };
    std::vector<Slot>& pending = m_incoming; // values that are not where they belong yet
    pending.resize(count);
    size_t left = 0;
    for (size_t k = 0; k < count; ++k) {
        const Slot& value = m_body->input(k);
        Slot& home = *m_homes[k];
        pending[k].fixed = false;
        aliasSlot(pending[k], value);
        if (value.data == homeData(k)) {
            aliasSlot(home, value);
            pending[k].data = nullptr;
        } else if (value.bytes == 0) { // may share its address with others
            LS_CHECK_OK(copyToSlot(home, value));
            pending[k].data = nullptr;
        } else {
            ++left;
        }
    }
    // A home is overwritten only when no other value is still to be fetched from it.
    const auto isSource = [&](const std::byte* data, size_t except) {
        for (size_t k = 0; k < count; ++k)
            if (k != except && pending[k].data && pending[k].data == data) return true;
        return false;
    };
    while (left > 0) {
        bool moved = false;
        for (size_t k = 0; k < count; ++k) {
            if (!pending[k].data || isSource(homeData(k), k)) continue;
            LS_CHECK_OK(copyToSlot(*m_homes[k], pending[k]));
            pending[k].data = nullptr;
            --left;
            moved = true;
        }
        if (moved) continue;
        // Every home left is the source of exactly one value left: cycles. One value put aside opens its cycle.
        const auto first = std::ranges::find_if(pending, [](const Slot& slot) { return slot.data != nullptr; });
        m_aside.assign(first->data, first->data + first->bytes);
        first->data = m_aside.data();
    }
    return {};
}

} // namespace loopscope
