// The invariants of a recording, each as a query that finds what breaks it; contents and digests of stored bytes are computed again.
#include "tracer/api/trace_check.h"

#include "tracer/read/run_view.h"
#include "tracer/record/content.h"
#include "tracer/sqlite/database.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace loopscope {

namespace {

/// A rule as SQL that yields a sentence per violation.
struct Rule {
    const char* name;
    const char* sql;
};

constexpr Rule kRules[] = {
    {"references", R"(
SELECT 'event ' || e.id || ' names operator ' || e.op || ', which is not there' FROM event e WHERE e.op NOT IN (SELECT id FROM op)
UNION ALL SELECT 'event ' || e.id || ' names invocation ' || e.invocation || ', which is not there' FROM event e
 WHERE NOT EXISTS (SELECT 1 FROM invocation i WHERE i.id = e.invocation)
UNION ALL SELECT 'invocation ' || i.id || ' names call ' || i.call || ', which is not there' FROM invocation i
 WHERE i.call NOT IN (SELECT id FROM call)
UNION ALL SELECT 'invocation ' || i.id || ' names run ' || i.run || ', which is not there' FROM invocation i
 WHERE i.run NOT IN (SELECT id FROM run)
UNION ALL SELECT 'output of event ' || o.event || ', which is not there' FROM output o
 WHERE NOT EXISTS (SELECT 1 FROM event e WHERE e.id = o.event))"},
    {"events-in-range", R"(
SELECT 'run ' || r.id || ': event ' || e.id || ' lies outside ' || r.first || ' to ' || r.last
FROM event e JOIN invocation i ON i.id = e.invocation JOIN run r ON r.id = i.run
WHERE r.last IS NOT NULL AND (e.id < r.first OR e.id > r.last))"},
    {"children-inside-parents", R"(
SELECT 'invocation ' || i.id || ' is not inside its parent ' || p.id
FROM invocation i JOIN invocation p ON p.id = i.parent JOIN call c ON c.id = i.call
WHERE c.role <> 'frame' AND (i.parent >= i.id OR i.first < p.first OR i.run <> p.run
 OR (i.steps IS NOT NULL AND p.steps IS NOT NULL AND i.first + i.steps > p.first + p.steps)))"},
    {"iterations-dense", R"(
SELECT 'invocation ' || parent || ', call ' || call || ': ' || count(*) || ' iterations, numbered up to ' || max(iteration)
FROM invocation WHERE iteration IS NOT NULL GROUP BY parent, call
HAVING min(iteration) <> 0 OR max(iteration) + 1 <> count(*) OR count(DISTINCT iteration) <> count(*))"},
    {"loops-end-with-condition", R"(
SELECT 'invocation ' || i.id || ': the last iteration of a loop executed its body'
FROM (SELECT parent, call, max(iteration) AS iteration, run FROM invocation WHERE iteration IS NOT NULL GROUP BY parent, call) l
JOIN call c ON c.id = l.call AND c.role = 'loop' AND c.cond <> c.graph JOIN run r ON r.id = l.run AND r.state = 'complete'
JOIN invocation i ON i.parent = l.parent AND i.call = l.call AND i.iteration = l.iteration
WHERE EXISTS (SELECT 1 FROM event e JOIN op o ON o.id = e.op WHERE e.invocation = i.id AND o.graph <> c.cond))"},
    {"root-steps", R"(
SELECT 'run ' || r.id || ': its root made ' || i.steps || ' steps, the run ' || (r.last - r.first + 1)
FROM run r JOIN invocation i ON i.run = r.id AND i.parent IS NULL
WHERE r.state = 'complete' AND r.last IS NOT NULL AND i.steps <> r.last - r.first + 1)"},
    {"every-step-accounted", R"(
SELECT 'run ' || r.id || ': ' || (r.last - r.first + 1) || ' steps, ' || n.events || ' events and ' || n.gaps || ' steps in gaps'
FROM run r JOIN (SELECT q.id, (SELECT count(*) FROM event e WHERE e.id BETWEEN q.first AND q.last) AS events,
 (SELECT coalesce(sum(g.last - g.first + 1), 0) FROM gap g WHERE g.run = q.id) AS gaps FROM run q) n ON n.id = r.id
WHERE r.last IS NOT NULL AND r.state <> 'incomplete' AND r.last - r.first + 1 <> n.events + n.gaps)"},
};

/// Who wrote what so far. A graph's values belong to one invocation of it; in a graph with v1 frames all are of one graph, and a value that
/// an operator reads may come from another frame, so there it need only have been written in the run.
class Causality {
public:
    struct Event {
        int64_t id = 0, invocation = 0, op = 0;
        bool isLive = false;
        std::optional<int64_t> end; ///< event after the last of the invocation; none: it is open
    };

    static Result<Causality> create(Database& database, const TraceRun& run)
    {
        Causality made;
        LS_TRY(Statement reads,
               database.prepare("SELECT d.op, x.op, v.name FROM operand d JOIN result x ON x.value = d.value JOIN value v ON v.id = "
                                "d.value JOIN op o ON o.id = d.op JOIN op w ON w.id = x.op AND w.graph = o.graph JOIN graph g ON g.id "
                                "= o.graph WHERE g.model = ? AND o.kind <> 'tf.Merge'"));
        reads.bind(1, run.model);
        for (;;) {
            LS_TRY(const bool hasRow, reads.step());
            if (!hasRow) break;
            made.m_reads[reads.integer(0)].push_back({reads.integer(1), reads.text(2)});
        }
        LS_TRY(Statement frames, database.prepare("SELECT o.id FROM op o WHERE o.graph IN (SELECT graph FROM call WHERE role = 'frame')"));
        for (;;) {
            LS_TRY(const bool hasRow, frames.step());
            if (!hasRow) return made;
            made.m_inFrames.insert(frames.integer(0));
        }
    }

    /// The value that this event reads too early; empty: none.
    std::string take(const Event& event)
    {
        const bool isShared = m_inFrames.contains(event.op);
        Written& written = isShared ? m_shared : m_written[event.invocation];
        if (event.end) written.end = *event.end;
        std::string missing;
        if (event.isLive) {
            const auto reads = m_reads.find(event.op);
            if (reads != m_reads.end())
                for (const auto& [writer, name] : reads->second)
                    if (!written.ops.contains(writer)) missing = name;
        }
        written.ops.insert(event.op);
        if (m_written.size() > m_mostWritten) {
            std::erase_if(m_written, [&](const auto& entry) { return entry.second.end <= event.id; });
            m_mostWritten = std::max<size_t>(1024, m_written.size() * 2);
        }
        return missing;
    }

private:
    struct Written {
        std::unordered_set<int64_t> ops;
        int64_t end = INT64_MAX;
    };
    std::unordered_map<int64_t, std::vector<std::pair<int64_t, std::string>>> m_reads; ///< by operator: who writes it, and its name
    std::unordered_set<int64_t> m_inFrames;
    std::unordered_map<int64_t, Written> m_written; ///< by invocation
    Written m_shared;
    size_t m_mostWritten = 1024;
};

class Checker {
public:
    Checker(const TraceReader& trace, const CancelFlag* cancel)
        : m_trace(trace),
          m_database(trace.database()),
          m_limits(m_database, 0, cancel),
          m_cancel(cancel)
    {
    }

    Result<TraceCheck> run()
    {
        LS_CHECK_OK(checkIntegrity());
        for (const Rule& rule : kRules) LS_CHECK_OK(checkRule(rule));
        LS_CHECK_OK(checkCausality());
        LS_CHECK_OK(checkBlobs());
        return std::move(m_check);
    }

private:
    Status stopIfCancelled() const
    {
        if (m_cancel != nullptr && m_cancel->requested()) return Error(ErrorCode::cancelled, "cancelled").at("check");
        return {};
    }

    void conclude(const char* rule, const std::string& first, int64_t count)
    {
        if (count == 0) {
            m_check.passed.emplace_back(rule);
            return;
        }
        m_check.violations.push_back({rule, first + (count > 1 ? " (" + std::to_string(count) + " such)" : "")});
    }

    Status checkIntegrity()
    {
        LS_TRY(Statement s, m_database.prepare("PRAGMA integrity_check(1)"));
        LS_TRY(const bool hasRow, s.step());
        const std::string answer = hasRow ? s.text(0) : "";
        conclude("integrity", answer, answer == "ok" ? 0 : 1);
        return {};
    }

    Status checkRule(const Rule& rule)
    {
        LS_CHECK_OK(stopIfCancelled());
        LS_TRY(Statement s, m_database.prepare(rule.sql));
        std::string first;
        int64_t count = 0;
        for (;;) {
            Result<bool> hasRow = s.step();
            LS_CHECK_OK(stopIfCancelled()); // a cancelled statement fails: say why
            if (!hasRow.ok()) return std::move(hasRow).takeError();
            if (!*hasRow) break;
            if (++count == 1) first = s.text(0);
        }
        conclude(rule.name, first, count);
        return {};
    }

    /// What an operator reads was written before, where every step was recorded.
    Status checkCausality()
    {
        m_first.clear();
        m_count = 0;
        for (const TraceRun& run : m_trace.runs()) {
            LS_TRY(Statement gaps, m_database.prepare("SELECT count(*) FROM gap WHERE run = ?"));
            gaps.bind(1, run.id);
            LS_TRY(const bool hasRow, gaps.step());
            if (hasRow && gaps.integer(0) == 0 && run.level > 0 && run.last) LS_CHECK_OK(checkCausality(run));
        }
        conclude("written-before-read", m_first, m_count);
        return {};
    }

    Status checkCausality(const TraceRun& run)
    {
        LS_TRY(Causality causality, Causality::create(m_database, run));
        LS_TRY(Statement s,
               m_database.prepare("SELECT e.id, e.invocation, e.op, e.state, i.first + i.steps FROM event e LEFT JOIN invocation i ON "
                                  "i.id = e.invocation WHERE e.id BETWEEN ? AND ? ORDER BY e.id"));
        s.bind(1, run.first);
        s.bind(2, run.last);
        for (;;) {
            LS_CHECK_OK(stopIfCancelled());
            LS_TRY(const bool hasRow, s.step());
            if (!hasRow) return {};
            const std::string missing = causality.take({s.integer(0), s.integer(1), s.integer(2), s.isNull(3), s.optionalInteger(4)});
            if (missing.empty()) continue;
            if (++m_count == 1) m_first = "event " + std::to_string(s.integer(0)) + " reads " + missing + ", which was not written before";
        }
    }

    /// Every blob unpacks and hashes to its key.
    Status checkBlobs()
    {
        if (m_trace.runs().empty()) {
            m_check.skipped.emplace_back("blobs: the trace holds no run");
            return {};
        }
        LS_TRY(RunView view, RunView::create(m_database, m_trace.runs().front()));
        LS_TRY(Statement s, m_database.prepare("SELECT hash, guard FROM blob"));
        std::string first;
        int64_t count = 0;
        for (;;) {
            LS_CHECK_OK(stopIfCancelled());
            LS_TRY(const bool hasRow, s.step());
            if (!hasRow) break;
            const ContentKey expected{s.integer(0), s.integer(1)};
            Result<std::optional<StoredValue>> value = view.load(expected.key);
            std::string what;
            if (!value.ok()) what = value.error().detail().what;
            else if (!*value) what = "blob " + std::to_string(expected.key) + " cannot be found by its key";
            else if (!(contentKey((*value)->dtype, (*value)->shape, (*value)->bytes) == expected))
                what = "blob " + std::to_string(expected.key) + " does not hash to its key";
            if (what.empty()) continue;
            if (++count == 1) first = what;
        }
        conclude("blobs", first, count);
        return {};
    }

    const TraceReader& m_trace;
    Database& m_database;
    Database::Limits m_limits; ///< reads everything: as long as it takes
    const CancelFlag* m_cancel;
    TraceCheck m_check;
    std::string m_first; ///< of a rule that is not one query
    int64_t m_count = 0;
};

} // namespace

Result<TraceCheck> checkTrace(const TraceReader& trace, const CancelFlag* cancel) { return Checker(trace, cancel).run(); }

} // namespace loopscope
