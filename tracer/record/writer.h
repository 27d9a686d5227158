// The writer's side of a recording: one thread, one connection. It takes records out of the ring, gathers them into batches and commits
// one every 10,000 rows or 50 ms.
#pragma once

#include "engine/base/cancel.h"
#include "engine/base/result.h"
#include "tracer/record/batch_table.h"
#include "tracer/record/ring.h"
#include "tracer/sqlite/database.h"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace loopscope {

/// What the executor's side may still send. Rises only.
enum class Throttle : int { none, noValues, noEvents, nothing };

struct WriterOptions {
    std::string path;
    std::string policy; ///< iterations as typed, for gap rows and run.policy
    std::string backend, profile, reason;
    std::optional<int64_t> seed;
    int level = 1;
    uint64_t quotaBytes = 0;
    bool noIndex = false;
    int64_t model = 1; ///< row id
    const CancelFlag* cancel = nullptr;
};

/// Bytes of values that are kept for long.
struct ValuePlaces {
    int64_t memory = 0, disk = 0, file = 0, device = 0;
    bool operator==(const ValuePlaces&) const = default;
};

class TraceWriter {
public:
    TraceWriter(std::unique_ptr<Database> database, WriterOptions options);
    ~TraceWriter();

    /// Prepares statements and starts the thread.
    Status start();
    /// Stops the thread when everything in the ring is written, then closes the file. Errors: cannotWrite.
    Status finish();

    RecordRing ring;
    std::atomic<Throttle> throttle = Throttle::none;
    /// Bytes of blobs on their way; the executor waits above kMostInFlight.
    std::atomic<int64_t> inFlight = 0;
    static constexpr int64_t kMostInFlight = int64_t{256} * 1024 * 1024;

    // Counts, readable at any time.
    std::atomic<int64_t> events = 0, invocations = 0, gaps = 0, alerts = 0;
    uint64_t fileBytes() const;
    uint64_t diskBytes() const; ///< of the file and its log
    /// Worst state of the runs; after finish().
    const std::string& state() const { return m_state; }

private:
    struct Run {
        int64_t id = 0, base = 0, startNs = 0, first = 0;
        bool open = false;
    };
    struct Statements {
        Statement presence, insertEvents, insertInvocations, closeInvocation, output, abnormal, reshape, access, blob, findBlob, chunk,
            digest, clock, gap, memory, print, alert, call, run, endRun, feed, placement, pages;
    };

    void loop();
    void take(const RingSlot& slot);
    void takeItem(std::unique_ptr<Item> item);
    void takeValue(const ValueRecord& record);
    bool isBatchDue(int64_t now) const;
    void commit();
    Status writeBatch();
    Status writeItems();
    Status write(BlobItem& item);
    Status write(const ReshapeItem& item);
    Status write(const AccessItem& item);
    Status write(const PrintItem& item);
    Status write(const AlertItem& item);
    Status write(const CallItem& item);
    Status write(const RunItem& item);
    Status write(const RunEndItem& item);
    Status writeGap(const GapRecord& gap);
    void lookWhereValuesAre(int64_t now);
    Status writePlaces();
    void notePresence(int32_t op, int64_t block);
    void takeGap(const GapRecord& gap);
    void dropSteps(int64_t first, int64_t last);
    void checkQuota();
    void reserve();
    void releaseReserve();
    void raiseAlert(std::string kind, std::string text);
    void fail(const Status& status);
    Status closeFile();
    Status indexFile();
    Status afterFailure();
    Status buildIndexes();
    std::string reasonText(GapReason reason) const;

    std::unique_ptr<Database> m_database;
    WriterOptions m_options;
    Statements m_sql;
    std::thread m_thread;
    std::mutex m_mutex;
    std::condition_variable m_wake;
    bool m_stop = false; ///< under m_mutex
    bool m_finished = false;

    // The batch being gathered. Invocations are held until the batch commits, so that they are inserted in order of their ids.
    struct Closing {
        int64_t id, steps, ns;
    };
    Batch m_batch;
    std::vector<EventRow> m_outputs;
    std::vector<AbnormalRecord> m_abnormal;
    std::vector<Closing> m_closings; ///< of invocations that an earlier batch inserted open
    std::vector<DigestRecord> m_digests;
    std::vector<std::pair<int64_t, int64_t>> m_presence; ///< rows to come: operator, block
    std::vector<int64_t> m_latestBlock;                  ///< by operator: the newest of its rows
    std::vector<GapRecord> m_gaps;
    std::vector<std::pair<int64_t, ValuePlaces>> m_places; ///< next event, where values were then
    ValuePlaces m_lastPlaces;
    int64_t m_lookedAt = 0;
    std::vector<std::unique_ptr<Item>> m_items;
    EventRow* m_lastRow = nullptr; ///< where a RangeRecord belongs
    EventRow m_ignoredRow;
    bool m_continues = false;
    bool m_dropping = false; ///< records of the present event are thrown away
    int64_t m_blobBytes = 0;
    int64_t m_lastCommit = 0;
    int64_t m_rowsPerCommit = 10000;
    int64_t m_logPages = 512; ///< of the log, before they go into the file
    int m_reserve = -1;       ///< descriptor of what is kept free

    Run m_run;
    int64_t m_nextEvent = 0;      ///< id after the last event seen
    int64_t m_committedEvent = 0; ///< id after the last event committed
    int64_t m_nextChunk = 1, m_nextAlert = 1;
    std::optional<GapRecord> m_droppedHere; ///< open gap of events that the writer itself dropped
    bool m_lostEvents = false;              ///< the run in hand lost events to the quota
    bool m_failed = false;
    std::string m_failure;
    bool m_diskFull = false;
    std::string m_state = "complete";
};

} // namespace loopscope
