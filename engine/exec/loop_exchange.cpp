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
    m_isPlain = m_isMixed = false;
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
    m_held.assign(count, -1);
    m_newlyHeld.assign(count, -1);
    m_aimed.assign(count, -1);
    if (m_incoming.size() != count) m_incoming.assign(count, Slot());
    const auto classOf = [&](size_t position) { return homes[position]->heap ? kHeapClass : homes[position]->bytes; };
    m_pool.clear();
    for (size_t k = 0; k < count; ++k)
        if (m_plan->pooled[k]) m_pool.push_back({homes[k]->data, homes[k]->heap, classOf(k)});
    for (size_t a = 0; a < m_plan->alternates.size(); ++a) {
        const AlternateBuffer& alternate = m_plan->alternates[a];
        const auto k = static_cast<size_t>(alternate.position);
        m_pool.push_back({block + alternate.offset, homes[k]->heap ? alternateHeap(a) : nullptr, classOf(k)});
    }
    std::ranges::stable_sort(m_pool, {}, &Buffer::sizeClass);
    m_classes.clear();
    for (size_t b = 0; b < m_pool.size(); ++b)
        if (b == 0 || m_pool[b].sizeClass != m_pool[b - 1].sizeClass) m_classes.push_back({m_pool[b].sizeClass, b});
    m_classOf.clear();
    for (const int32_t position : m_plan->written) {
        const auto found = std::ranges::lower_bound(m_classes, classOf(static_cast<size_t>(position)), {}, &SizeClass::size);
        m_classOf.push_back(static_cast<size_t>(found - m_classes.begin()));
    }
    return aimOutputs();
}

/// Finds a free buffer for every output that the body writes. There is one: of each size class the pool holds as many buffers as positions
/// can hold at once, and one more for each position that is written.
Status LoopExchange::aimOutputs()
{
    for (Buffer& buffer : m_pool) buffer.used = false;
    for (const int32_t held : m_held)
        if (held >= 0) m_pool[static_cast<size_t>(held)].used = true;
    for (SizeClass& sizeClass : m_classes) sizeClass.next = sizeClass.begin;
    for (size_t w = 0; w < m_plan->written.size(); ++w) {
        const auto k = static_cast<size_t>(m_plan->written[w]);
        SizeClass& sizeClass = m_classes[m_classOf[w]];
        size_t& b = sizeClass.next;
        while (b < m_pool.size() && m_pool[b].used) ++b;
        if (b == m_pool.size() || m_pool[b].sizeClass != sizeClass.size) return Error(ErrorCode::internal, "a loop has no free buffer");
        m_aimed[k] = static_cast<int32_t>(b);
        const Buffer& buffer = m_pool[b++];
        if (m_plan->sources[k].kind == CarrySource::Kind::written) LS_CHECK_OK(aimSlot(m_body->output(k), buffer.data, buffer.heap));
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
    m_isPlain = !m_isMixed && std::ranges::all_of(m_pairs, [](const Pair& pair) {
        if (pair.heap[0]) return !pair.output->fixed && isScalarVariant(*pair.output) && !pair.input->fixed && !pair.condInput->fixed;
        return pair.output->fixed && pair.input->fixed && pair.condInput->fixed;
    });
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

const std::byte* LoopExchange::homeData(size_t position) const
{
    const Slot& home = *m_homes[position];
    return home.heap ? home.heap->data() : home.data;
}

Status LoopExchange::finish()
{
    std::vector<size_t> away; // values that are not where they belong, and hold bytes
    for (size_t k = 0; k < m_homes.size(); ++k) {
        const Slot& value = m_body->input(k);
        if (value.data == homeData(k)) {
            aliasSlot(*m_homes[k], value);
        } else if (m_plan->direct || value.bytes == 0) { // no other position's value lies in this home
            LS_CHECK_OK(copyToSlot(*m_homes[k], value));
        } else {
            away.push_back(k);
        }
    }
    return away.empty() ? Status() : moveHome(std::move(away));
}

/// Copies the values at `positions` to their homes. A home is overwritten only when no value is still to be fetched from it.
Status LoopExchange::moveHome(std::vector<size_t> positions)
{
    std::vector<std::pair<const std::byte*, size_t>> homes; // by address
    std::vector<size_t> readers(m_homes.size(), 0);         // values to be fetched from the home of a position
    for (const size_t k : positions) {
        homes.emplace_back(homeData(k), k);
        m_incoming[k].fixed = false;
        aliasSlot(m_incoming[k], m_body->input(k));
    }
    std::ranges::sort(homes);
    constexpr size_t kNone = SIZE_MAX;
    const auto homeAt = [&](const std::byte* data) {
        const auto found = std::ranges::lower_bound(homes, std::pair(data, size_t{0}));
        return found != homes.end() && found->first == data ? found->second : kNone;
    };
    for (const size_t k : positions)
        if (const size_t source = homeAt(m_incoming[k].data); source != kNone) ++readers[source];

    std::vector<size_t> ready;
    std::vector<bool> done(m_homes.size(), false);
    const auto release = [&](const std::byte* data) {
        const size_t source = homeAt(data);
        if (source != kNone && --readers[source] == 0) ready.push_back(source);
    };
    for (const size_t k : positions)
        if (readers[k] == 0) ready.push_back(k);
    for (size_t rest = 0; rest < positions.size();) {
        if (ready.empty()) {
            // Every home left is the source of exactly one value left: cycles. One value put aside opens its cycle, and is the last of it
            // to be placed.
            const size_t k = positions[rest];
            if (done[k]) {
                ++rest;
                continue;
            }
            const std::byte* const old = m_incoming[k].data;
            m_aside.assign(old, old + m_incoming[k].bytes);
            m_incoming[k].data = m_aside.data();
            release(old);
            continue;
        }
        const size_t k = ready.back();
        ready.pop_back();
        const std::byte* const from = m_incoming[k].data;
        LS_CHECK_OK(copyToSlot(*m_homes[k], m_incoming[k]));
        done[k] = true;
        release(from);
    }
    return {};
}

} // namespace loopscope
