// Rows that are neither of events nor of values: what a model says, and where values lie that are kept for long. There the writer looks, so
// that the executor does not wait for it.
#include "engine/base/memory_shares.h"
#include "engine/base/swapped_bytes.h"
#include "tracer/record/writer.h"

namespace loopscope {

namespace {

constexpr int64_t kBetweenLooksNs = 10'000'000;

} // namespace

Status TraceWriter::write(const PrintItem& item)
{
    m_sql.print.bind(1, item.event);
    m_sql.print.bind(2, item.stream);
    m_sql.print.bind(3, item.text);
    return m_sql.print.run();
}

void TraceWriter::lookWhereValuesAre(int64_t now)
{
    if (!m_run.open || now - m_lookedAt < kBetweenLooksNs) return;
    m_lookedAt = now;
    const SwapShares shares = swapShares();
    const ValuePlaces places = {static_cast<int64_t>(shares.inMemory), static_cast<int64_t>(shares.onDisk),
                                static_cast<int64_t>(shares.written), MemoryShares::all().device.load()};
    if (places == m_lastPlaces) return;
    m_lastPlaces = places;
    m_places.emplace_back(m_nextEvent, places);
}

Status TraceWriter::writePlaces()
{
    for (const auto& [event, places] : m_places) {
        m_sql.memory.bind(1, event);
        m_sql.memory.bind(2, places.memory);
        m_sql.memory.bind(3, places.disk);
        m_sql.memory.bind(4, places.file);
        m_sql.memory.bind(5, places.device);
        LS_CHECK_OK(m_sql.memory.run());
    }
    return {};
}

} // namespace loopscope
