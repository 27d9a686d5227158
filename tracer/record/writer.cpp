#include "tracer/record/writer.h"

#include "engine/base/clock.h"
#include "engine/base/hash.h"
#include "engine/base/text.h"
#include "tracer/record/model_tables.h"
#include "tracer/schema/schema.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

namespace loopscope {

namespace {

constexpr int64_t kCommitNs = 10'000'000; ///< what a killed process may lose, with the time that a commit takes, stays below 50 ms
constexpr int64_t kBlobBytesPerCommit = int64_t{8} * 1024 * 1024;
constexpr size_t kCompressFrom = 16 * 1024, kCompressTrial = 64 * 1024;
constexpr int64_t kPageSize = 16384;
/// Pages of the log that are moved into the file at once: a few milliseconds, so that commits do not wait long behind it.
constexpr int64_t kMostLogPages = 512;
/// Kept free on the disk, to write down that it is full.
constexpr off_t kReserve = off_t{1} << 20;

template <typename T> T recordOf(const RingSlot& slot)
{
    static_assert(kIsRecord<T>);
    T record;
    std::memcpy(static_cast<void*>(&record), slot.bytes, sizeof(T));
    return record;
}

void bindNumber(Statement& statement, int parameter, uint8_t flags, int64_t bits)
{
    if ((flags & kHasLo) == 0) statement.bindNull(parameter);
    else if ((flags & kLoIsInteger) != 0) statement.bind(parameter, bits);
    else statement.bind(parameter, std::bit_cast<double>(bits));
}

void bindIf(Statement& statement, int parameter, bool present, auto value)
{
    if (present) statement.bind(parameter, value);
    else statement.bindNull(parameter);
}

/// Compressed bytes if that saves an eighth, tried on the beginning first; else empty.
std::vector<std::byte> compress(std::span<const std::byte> bytes)
{
    if (bytes.size() < kCompressFrom) return {};
    const auto attempt = [](std::span<const std::byte> part) {
        std::vector<std::byte> out(ZSTD_compressBound(part.size()));
        const size_t size = ZSTD_compress(out.data(), out.size(), part.data(), part.size(), -1);
        out.resize(ZSTD_isError(size) != 0 || size > part.size() - part.size() / 8 ? 0 : size);
        return out;
    };
    std::vector<std::byte> out = attempt(bytes.first(std::min(bytes.size(), kCompressTrial)));
    if (out.empty() || bytes.size() <= kCompressTrial) return out;
    return attempt(bytes);
}

} // namespace

TraceWriter::TraceWriter(std::unique_ptr<Database> database, WriterOptions options)
    : m_database(std::move(database)),
      m_options(std::move(options))
{
    // With a small quota a full batch would jump over its limits.
    if (m_options.quotaBytes > 0) {
        m_rowsPerCommit = std::clamp<int64_t>(static_cast<int64_t>(m_options.quotaBytes / 5000), 100, 10000);
        m_logPages = std::clamp<int64_t>(static_cast<int64_t>(m_options.quotaBytes / 20) / kPageSize, 4, kMostLogPages);
    }
}

TraceWriter::~TraceWriter()
{
    // Only reached with the thread running if finish() could not be called; its error has nowhere to go then.
    if (!m_finished) static_cast<void>(finish());
    releaseReserve();
}

/// Takes blocks of the disk for a file without a name, where the file system can: freed when the disk is full, or with the process.
void TraceWriter::reserve()
{
    const size_t slash = m_options.path.find_last_of('/');
    const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : m_options.path.substr(0, slash);
    m_reserve = open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (m_reserve >= 0 && fallocate(m_reserve, 0, 0, kReserve) != 0) releaseReserve();
}

void TraceWriter::releaseReserve()
{
    if (m_reserve >= 0) close(m_reserve);
    m_reserve = -1;
}

Status TraceWriter::start()
{
    LS_CHECK_OK(addBatchTables(*m_database, m_batch));
    LS_CHECK_OK(m_database->execute("PRAGMA wal_autocheckpoint = " + std::to_string(m_logPages)));
    reserve();
    const auto prepare = [this](Statement& statement, const char* sql) -> Status {
        LS_TRY(statement, m_database->prepare(sql));
        return {};
    };
    LS_CHECK_OK(prepare(m_sql.insertEvents, kInsertEvents));
    LS_CHECK_OK(prepare(m_sql.insertInvocations, kInsertInvocations));
    // Values that waited for the end of a loop come late.
    LS_CHECK_OK(prepare(m_sql.presence, "INSERT OR IGNORE INTO presence VALUES (?, ?)"));
    LS_CHECK_OK(prepare(m_sql.closeInvocation, "UPDATE invocation SET steps = ?2, ns = ?3 WHERE id = ?1"));
    LS_CHECK_OK(prepare(m_sql.output, "INSERT INTO output VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    LS_CHECK_OK(prepare(m_sql.abnormal, "INSERT INTO abnormal VALUES (?, ?, ?, ?, ?, ?, ?, ?)"));
    LS_CHECK_OK(prepare(m_sql.reshape, "INSERT OR REPLACE INTO reshape VALUES (?, ?, ?)"));
    LS_CHECK_OK(prepare(m_sql.access, "INSERT OR REPLACE INTO access VALUES (?, ?, ?, ?, ?, ?, ?)"));
    LS_CHECK_OK(prepare(m_sql.findBlob, "SELECT guard FROM blob WHERE hash = ?"));
    LS_CHECK_OK(prepare(m_sql.blob, "INSERT INTO blob VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    LS_CHECK_OK(prepare(m_sql.chunk, "INSERT INTO chunk VALUES (?, ?)"));
    LS_CHECK_OK(prepare(m_sql.digest, "INSERT OR REPLACE INTO digest VALUES (?, ?)"));
    LS_CHECK_OK(prepare(m_sql.clock, "INSERT OR REPLACE INTO clock VALUES (?, ?)"));
    LS_CHECK_OK(prepare(m_sql.gap, "INSERT INTO gap VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE SET last = max(last, ?3)"));
    LS_CHECK_OK(prepare(m_sql.memory, "INSERT OR REPLACE INTO memory VALUES (?, ?, ?, ?, ?)"));
    LS_CHECK_OK(prepare(m_sql.print, "INSERT OR REPLACE INTO print VALUES (?, ?, ?)"));
    LS_CHECK_OK(prepare(m_sql.alert, "INSERT INTO alert VALUES (?, ?, ?, ?, ?, ?)"));
    LS_CHECK_OK(prepare(m_sql.call, "INSERT INTO call VALUES (?, ?, ?, ?, ?, ?)"));
    LS_CHECK_OK(prepare(m_sql.run,
                        "INSERT INTO run(id, model, base, first, reason, state, level, policy, backend, profile, signature, seed, started) "
                        "VALUES (?, ?, ?, ?, ?, 'recording', ?, ?, ?, ?, ?, ?, ?)"));
    LS_CHECK_OK(prepare(m_sql.endRun, "UPDATE run SET last = ?2, state = ?3, ns = ?4, error = ?5 WHERE id = ?1"));
    LS_CHECK_OK(prepare(m_sql.placement, "INSERT OR IGNORE INTO placement VALUES (?, ?, ?, ?, ?)"));
    LS_CHECK_OK(prepare(m_sql.feed, "INSERT INTO feed VALUES (?, ?, ?, ?, ?, ?, ?)"));
    LS_CHECK_OK(prepare(m_sql.pages, "PRAGMA page_count"));
    LS_TRY(m_nextChunk, m_database->integer("SELECT coalesce(max(id), 0) + 1 FROM chunk"));
    LS_TRY(m_nextAlert, m_database->integer("SELECT coalesce(max(id), 0) + 1 FROM alert"));
    m_lastCommit = nowNs();
    m_thread = std::thread([this] { loop(); });
    return {};
}

void TraceWriter::loop()
{
    auto idle = std::chrono::microseconds(500);
    for (;;) {
        bool stopping = false;
        {
            const std::lock_guard lock(m_mutex);
            stopping = m_stop;
        }
        const uint64_t taken = ring.consume(4096, [this](const RingSlot& slot) { take(slot); });
        const int64_t now = nowNs();
        lookWhereValuesAre(now);
        if (isBatchDue(now) || (stopping && taken == 0)) commit();
        if (taken >= 1024) {
            idle = std::chrono::microseconds(500);
            continue;
        }
        if (stopping && taken == 0) return;
        // Sleeping and then taking many at once costs the executor less than a reader that spins on its cache lines.
        std::unique_lock lock(m_mutex);
        m_wake.wait_for(lock, idle, [this] { return m_stop; });
        idle = taken == 0 ? std::min(idle * 2, std::chrono::microseconds(20'000)) : std::chrono::microseconds(500);
    }
}

bool TraceWriter::isBatchDue(int64_t now) const
{
    if (m_continues) return false;
    const auto rows = static_cast<int64_t>(m_batch.events.size() + m_batch.invocations.size() + m_outputs.size());
    if (rows >= m_rowsPerCommit || m_blobBytes >= kBlobBytesPerCommit) return true;
    const bool isEmpty = rows == 0 && m_items.empty() && m_closings.empty() && m_gaps.empty() && m_digests.empty();
    return !isEmpty && now - m_lastCommit >= kCommitNs;
}

void TraceWriter::take(const RingSlot& slot)
{
    const auto head = recordOf<RecordHead>(slot);
    switch (head.kind) {
    case RecordKind::event:
    case RecordKind::output: takeValue(recordOf<ValueRecord>(slot)); return;
    case RecordKind::range: {
        const auto record = recordOf<RangeRecord>(slot);
        m_continues = (head.flags & kContinues) != 0;
        m_lastRow->hi = record.hi;
        m_lastRow->mean = record.mean;
        m_lastRow->std = record.std;
        m_lastRow->zeros = record.zeros;
        return;
    }
    case RecordKind::abnormal:
        m_continues = (head.flags & kContinues) != 0;
        if (!m_dropping) m_abnormal.push_back(recordOf<AbnormalRecord>(slot));
        return;
    case RecordKind::started: {
        if (throttle.load(std::memory_order_relaxed) == Throttle::nothing) return;
        const auto record = recordOf<StartedRecord>(slot);
        InvocationRow row;
        row.id = record.id;
        row.run = record.run;
        row.parent = record.parent;
        row.call = record.call;
        row.iteration = record.iteration;
        row.first = record.first;
        m_batch.invocations.push_back(row);
        return;
    }
    case RecordKind::ended: {
        const auto record = recordOf<EndedRecord>(slot);
        // Ids are dense, so the row is found by its distance from the first one held.
        const int64_t place = m_batch.invocations.empty() ? -1 : record.id - m_batch.invocations.front().id;
        if (place >= 0 && place < static_cast<int64_t>(m_batch.invocations.size()) &&
            m_batch.invocations[static_cast<size_t>(place)].id == record.id) {
            m_batch.invocations[static_cast<size_t>(place)].steps = record.steps;
            m_batch.invocations[static_cast<size_t>(place)].ns = record.ns;
        } else {
            m_closings.push_back({record.id, record.steps, record.ns});
        }
        return;
    }
    case RecordKind::digest: m_digests.push_back(recordOf<DigestRecord>(slot)); return;
    case RecordKind::gap: takeGap(recordOf<GapRecord>(slot)); return;
    case RecordKind::item: takeItem(std::unique_ptr<Item>(recordOf<ItemRecord>(slot).item)); return;
    }
}

void TraceWriter::takeValue(const ValueRecord& record)
{
    m_continues = (record.head.flags & kContinues) != 0;
    const bool isEvent = record.head.kind == RecordKind::event;
    if (isEvent) {
        m_nextEvent = std::max(m_nextEvent, record.event + 1);
        m_dropping = throttle.load(std::memory_order_relaxed) >= Throttle::noEvents;
        if (m_dropping) dropSteps(record.event - m_run.base, record.event - m_run.base);
    }
    if (m_dropping) {
        m_lastRow = &m_ignoredRow;
        return;
    }
    if (isEvent) notePresence(record.op, record.event / kDigestBlock);
    std::vector<EventRow>& rows = isEvent ? m_batch.events : m_outputs;
    EventRow& row = rows.emplace_back();
    row.id = record.event;
    row.invocation = record.invocation;
    row.ns = record.ns;
    row.op = record.op;
    row.state = record.head.state;
    row.flags = record.head.flags;
    row.lo = record.lo;
    row.content = record.content;
    m_lastRow = &row;
}

void TraceWriter::notePresence(int32_t op, int64_t block)
{
    const auto place = static_cast<size_t>(op);
    if (place >= m_latestBlock.size()) m_latestBlock.resize(place + 1, -1);
    if (std::exchange(m_latestBlock[place], block) != block) m_presence.emplace_back(op, block);
}

void TraceWriter::takeGap(const GapRecord& gap)
{
    m_nextEvent = std::max(m_nextEvent, m_run.base + gap.last + 1);
    // Gaps of a filter must not fill the space that the quota keeps back.
    if (throttle.load(std::memory_order_relaxed) >= Throttle::noEvents) dropSteps(gap.first, gap.last);
    else m_gaps.push_back(gap);
}

void TraceWriter::dropSteps(int64_t first, int64_t last)
{
    m_lostEvents = true;
    if (m_droppedHere && m_droppedHere->last + 1 == first) {
        m_droppedHere->last = last;
        return;
    }
    if (m_droppedHere) m_gaps.push_back(*m_droppedHere);
    GapRecord gap;
    gap.head.kind = RecordKind::gap;
    gap.reason = GapReason::quota;
    gap.run = m_run.id;
    gap.first = first;
    gap.last = last;
    m_droppedHere = gap;
}

void TraceWriter::takeItem(std::unique_ptr<Item> item)
{
    if (auto* blob = std::get_if<BlobItem>(&item->content)) {
        const auto size = static_cast<int64_t>(blob->bytes.size());
        inFlight.fetch_sub(size, std::memory_order_relaxed);
        inFlight.notify_one();
        if (throttle.load(std::memory_order_relaxed) >= Throttle::noValues) return;
        m_blobBytes += size;
    } else if (auto* run = std::get_if<RunItem>(&item->content)) {
        m_run = {run->id, run->base, run->startNs, run->first, true};
        m_nextEvent = run->first;
        m_lostEvents = false;
    } else if (auto* end = std::get_if<RunEndItem>(&item->content)) {
        m_run.open = false;
        m_nextEvent = m_run.base + end->steps;
        if (m_droppedHere) m_gaps.push_back(*std::exchange(m_droppedHere, std::nullopt));
        if (m_lostEvents && std::string_view(end->state) == "complete") end->state = "quota";
    } else if (std::holds_alternative<ReshapeItem>(item->content) || std::holds_alternative<AccessItem>(item->content) ||
               std::holds_alternative<PrintItem>(item->content)) {
        // They belong to events, and end with them.
        if (throttle.load(std::memory_order_relaxed) >= Throttle::noEvents) return;
    } else if (std::holds_alternative<AlertItem>(item->content)) {
        alerts.fetch_add(1, std::memory_order_relaxed);
    }
    m_items.push_back(std::move(item));
}

void TraceWriter::commit()
{
    if (!m_failed) {
        if (const Status status = writeBatch(); !status.ok()) fail(status);
    }
    if (!m_failed) {
        events.fetch_add(static_cast<int64_t>(m_batch.events.size()), std::memory_order_relaxed);
        invocations.fetch_add(static_cast<int64_t>(m_batch.invocations.size()), std::memory_order_relaxed);
        gaps.fetch_add(static_cast<int64_t>(m_gaps.size()), std::memory_order_relaxed);
        m_committedEvent = m_nextEvent;
    }
    m_batch.events.clear();
    m_batch.invocations.clear();
    m_outputs.clear();
    m_abnormal.clear();
    m_closings.clear();
    m_digests.clear();
    m_presence.clear();
    m_gaps.clear();
    m_places.clear();
    m_items.clear();
    m_lastRow = &m_ignoredRow;
    m_blobBytes = 0;
    m_lastCommit = nowNs();
    if (!m_failed) checkQuota();
}

Status TraceWriter::writeBatch()
{
    LS_CHECK_OK(m_database->execute("BEGIN IMMEDIATE"));
    LS_CHECK_OK(writeItems());
    if (!m_batch.invocations.empty()) LS_CHECK_OK(m_sql.insertInvocations.run());
    if (!m_batch.events.empty()) LS_CHECK_OK(m_sql.insertEvents.run());
    for (const EventRow& row : m_outputs) {
        Statement& s = m_sql.output;
        const bool hasRange = (row.flags & kHasRange) != 0;
        s.bind(1, row.id);
        s.bind(2, static_cast<int64_t>(row.op));
        bindIf(s, 3, row.state != WriteState::live, static_cast<int64_t>(row.state));
        bindNumber(s, 4, row.flags, row.lo);
        bindIf(s, 5, hasRange, row.hi);
        bindIf(s, 6, hasRange, row.mean);
        bindIf(s, 7, hasRange, row.std);
        bindIf(s, 8, hasRange, row.zeros);
        bindIf(s, 9, (row.flags & kHasContent) != 0, row.content);
        LS_CHECK_OK(s.run());
    }
    for (const AbnormalRecord& row : m_abnormal) {
        Statement& s = m_sql.abnormal;
        s.bind(1, row.event);
        s.bind(2, static_cast<int64_t>(row.slot));
        s.bind(3, row.nan);
        s.bind(4, row.positiveInf);
        s.bind(5, row.negativeInf);
        s.bind(6, row.denormal);
        s.bind(7, row.saturated);
        s.bind(8, row.firstIndex);
        LS_CHECK_OK(s.run());
    }
    for (const Closing& closing : m_closings) {
        m_sql.closeInvocation.bind(1, closing.id);
        m_sql.closeInvocation.bind(2, closing.steps);
        bindIf(m_sql.closeInvocation, 3, closing.ns >= 0, closing.ns);
        LS_CHECK_OK(m_sql.closeInvocation.run());
    }
    for (const DigestRecord& digest : m_digests) {
        m_sql.digest.bind(1, digest.last);
        m_sql.digest.bind(2, std::bit_cast<int64_t>(digest.hash));
        LS_CHECK_OK(m_sql.digest.run());
    }
    for (const auto& [op, block] : m_presence) {
        m_sql.presence.bind(1, op);
        m_sql.presence.bind(2, block);
        LS_CHECK_OK(m_sql.presence.run());
    }
    for (const GapRecord& gap : m_gaps) LS_CHECK_OK(writeGap(gap));
    LS_CHECK_OK(writePlaces());
    if (m_run.id != 0) {
        m_sql.clock.bind(1, m_nextEvent);
        m_sql.clock.bind(2, nowNs() - m_run.startNs);
        LS_CHECK_OK(m_sql.clock.run());
    }
    return m_database->execute("COMMIT");
}

Status TraceWriter::writeItems()
{
    for (const std::unique_ptr<Item>& item : m_items) {
        LS_CHECK_OK(std::visit([this](auto& content) { return write(content); }, item->content));
    }
    return {};
}

Status TraceWriter::write(BlobItem& item)
{
    m_sql.findBlob.bind(1, item.key);
    LS_TRY(const bool isThere, m_sql.findBlob.step());
    const bool clashes = isThere && m_sql.findBlob.integer(0) != item.guard;
    m_sql.findBlob.reset();
    if (clashes)
        raiseAlert("clash", "two values have the content key " + toHex(std::bit_cast<uint64_t>(item.key)) + "; only the first is stored");
    if (isThere) return {};

    const std::vector<std::byte> packed = compress(item.bytes);
    const std::span<const std::byte> data = packed.empty() ? std::span<const std::byte>(item.bytes) : std::span<const std::byte>(packed);
    const int64_t first = m_nextChunk;
    size_t offset = 0;
    do {
        const size_t size = std::min(kChunkBytes, data.size() - offset);
        m_sql.chunk.bind(1, m_nextChunk++);
        m_sql.chunk.bindBlob(2, data.subspan(offset, size));
        LS_CHECK_OK(m_sql.chunk.run());
        offset += size;
    } while (offset < data.size());
    m_sql.blob.bind(1, item.key);
    m_sql.blob.bind(2, item.guard);
    m_sql.blob.bind(3, dtypeName(item.dtype));
    m_sql.blob.bind(4, toString(item.shape));
    m_sql.blob.bind(5, static_cast<int64_t>(item.bytes.size()));
    m_sql.blob.bind(6, packed.empty() ? 0 : 1);
    m_sql.blob.bind(7, static_cast<int64_t>(data.size()));
    m_sql.blob.bind(8, first);
    m_sql.blob.bind(9, m_nextChunk - first);
    return m_sql.blob.run();
}

Status TraceWriter::write(const ReshapeItem& item)
{
    m_sql.reshape.bind(1, item.value);
    m_sql.reshape.bind(2, item.event);
    m_sql.reshape.bind(3, toString(item.shape));
    return m_sql.reshape.run();
}

Status TraceWriter::write(const AccessItem& item)
{
    const bool hasRange = (item.flags & kHasRange) != 0;
    m_sql.access.bind(1, item.event);
    m_sql.access.bind(2, item.variable);
    m_sql.access.bind(3, item.kind);
    bindNumber(m_sql.access, 4, item.flags, item.lo);
    bindIf(m_sql.access, 5, hasRange, item.hi);
    // The table has no view that fills in the mean of a single element.
    if (hasRange) m_sql.access.bind(6, item.mean);
    else bindNumber(m_sql.access, 6, item.flags, item.lo);
    bindIf(m_sql.access, 7, (item.flags & kHasContent) != 0, item.content);
    return m_sql.access.run();
}

Status TraceWriter::write(const AlertItem& item)
{
    m_sql.alert.bind(1, m_nextAlert++);
    m_sql.alert.bind(2, item.run);
    m_sql.alert.bind(3, item.event);
    bindIf(m_sql.alert, 4, item.slot >= 0, static_cast<int64_t>(item.slot));
    m_sql.alert.bind(5, item.kind);
    m_sql.alert.bind(6, item.text);
    return m_sql.alert.run();
}

Status TraceWriter::write(const CallItem& item)
{
    m_sql.call.bind(1, item.id);
    bindIf(m_sql.call, 2, item.op != 0, item.op);
    m_sql.call.bind(3, item.role);
    m_sql.call.bind(4, item.graph);
    bindIf(m_sql.call, 5, item.cond != 0, item.cond);
    bindIf(m_sql.call, 6, !item.frame.empty(), std::string_view(item.frame));
    return m_sql.call.run();
}

Status TraceWriter::write(const RunItem& item)
{
    Statement& s = m_sql.run;
    s.bind(1, item.id);
    s.bind(2, m_options.model);
    s.bind(3, item.base);
    s.bind(4, item.first);
    s.bind(5, m_options.reason);
    s.bind(6, m_options.level);
    s.bind(7, m_options.policy);
    s.bind(8, m_options.backend);
    s.bind(9, m_options.profile);
    bindIf(s, 10, !item.signature.empty(), std::string_view(item.signature));
    s.bind(11, m_options.seed);
    s.bind(12, item.started);
    LS_CHECK_OK(s.run());
    for (const FeedItem& feed : item.feeds) {
        m_sql.feed.bind(1, item.id);
        m_sql.feed.bind(2, static_cast<int64_t>(feed.position));
        m_sql.feed.bind(3, feed.name);
        m_sql.feed.bind(4, feed.source);
        m_sql.feed.bind(5, feed.dtype);
        m_sql.feed.bind(6, feed.shape);
        bindIf(m_sql.feed, 7, feed.hasContent, feed.content);
        LS_CHECK_OK(m_sql.feed.run());
    }
    for (const PlaceItem& place : item.places) LS_CHECK_OK(writePlace(m_sql.placement, item.id, place, m_options.profile));
    return {};
}

Status TraceWriter::write(const RunEndItem& item)
{
    m_sql.endRun.bind(1, item.id);
    bindIf(m_sql.endRun, 2, item.base + item.steps > item.first, item.base + item.steps - 1);
    m_sql.endRun.bind(3, item.state);
    bindIf(m_sql.endRun, 4, item.ns >= 0, item.ns);
    bindIf(m_sql.endRun, 5, !item.error.empty(), std::string_view(item.error));
    // The worst state speaks for the file.
    constexpr std::string_view kOrder[] = {"complete", "quota", "cancelled", "failed", "incomplete"};
    const auto rank = [&](std::string_view state) { return std::find(std::begin(kOrder), std::end(kOrder), state); };
    if (rank(item.state) > rank(m_state)) m_state = item.state;
    return m_sql.endRun.run();
}

std::string TraceWriter::reasonText(GapReason reason) const
{
    switch (reason) {
    case GapReason::policy: return "policy " + m_options.policy;
    case GapReason::filter: return "filter";
    case GapReason::quota: return "quota";
    case GapReason::fullDisk: return "full disk";
    case GapReason::level: return "level";
    }
    return "";
}

Status TraceWriter::writeGap(const GapRecord& gap)
{
    m_sql.gap.bind(1, gap.run);
    m_sql.gap.bind(2, gap.first);
    m_sql.gap.bind(3, gap.last);
    m_sql.gap.bind(4, reasonText(gap.reason));
    return m_sql.gap.run();
}

void TraceWriter::raiseAlert(std::string kind, std::string text)
{
    AlertItem alert;
    alert.run = m_run.id;
    alert.event = m_nextEvent;
    alert.kind = std::move(kind);
    alert.text = std::move(text);
    alerts.fetch_add(1, std::memory_order_relaxed);
    if (const Status status = write(alert); !status.ok()) fail(status);
}

void TraceWriter::checkQuota()
{
    if (m_options.quotaBytes == 0) return;
    Result<bool> row = m_sql.pages.step();
    const uint64_t pages = row.ok() && *row ? static_cast<uint64_t>(m_sql.pages.integer(0) * kPageSize) : 0;
    m_sql.pages.reset();
    // What lies on the disk now, and what will when the log has gone into the file.
    const uint64_t used = std::max(pages, diskBytes());
    // Closing writes some pages more: statistics for the planner, the last rows of runs and gaps.
    const uint64_t usable = m_options.quotaBytes - std::min<uint64_t>(m_options.quotaBytes / 20, 4 * kPageSize);
    const auto reached = [&](uint64_t percent) { return used >= usable / 100 * percent; };
    const Throttle now = throttle.load(std::memory_order_relaxed);
    const std::string of = " of the quota of " + formatBytes(m_options.quotaBytes) + " are used: ";
    if (reached(99) && now < Throttle::nothing) {
        throttle.store(Throttle::nothing, std::memory_order_relaxed);
        raiseAlert("quota", "99 %" + of + "nothing more is recorded");
    } else if (reached(95) && now < Throttle::noEvents) {
        throttle.store(Throttle::noEvents, std::memory_order_relaxed);
        raiseAlert("quota", "95 %" + of + "events are no longer recorded, control flow still is");
    } else if (reached(80) && now < Throttle::noValues) {
        throttle.store(Throttle::noValues, std::memory_order_relaxed);
        raiseAlert("quota", "80 %" + of + "values are no longer stored");
    }
}

void TraceWriter::fail(const Status& status)
{
    m_diskFull = m_database->isDiskFull() || status.detail().what.find("disk full") != std::string::npos;
    m_failed = true;
    m_failure = status.detail().what;
    throttle.store(Throttle::nothing, std::memory_order_relaxed);
    if (sqlite3_get_autocommit(m_database->handle()) == 0) static_cast<void>(m_database->execute("ROLLBACK"));
}

} // namespace loopscope
