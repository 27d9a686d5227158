// The invariants of a recording, each as a query that finds what breaks it; contents and digests of stored bytes are computed again.
#include "tracer/api/trace_check.h"

#include "tracer/read/run_view.h"
#include "tracer/record/content.h"
#include "tracer/sqlite/database.h"

#include <sqlite3.h>

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
    {"written-before-read", R"(
SELECT 'event ' || e.id || ' reads ' || v.name || ', which was not written before'
FROM event e JOIN operand d ON d.op = e.op JOIN result x ON x.value = d.value JOIN value v ON v.id = d.value JOIN op w ON w.id = x.op
JOIN op o ON o.id = e.op AND o.graph = w.graph JOIN invocation i ON i.id = e.invocation JOIN call c ON c.id = i.call
WHERE e.state IS NULL AND c.role <> 'frame' AND NOT EXISTS (SELECT 1 FROM gap g WHERE g.run = i.run)
 AND NOT EXISTS (SELECT 1 FROM event p WHERE p.op = x.op AND p.invocation = e.invocation AND p.id >= i.first AND p.id < e.id))"},
};

/// The progress handler of SQLite: not 0 ends the running statement.
int isCancelled(void* flag) { return static_cast<const CancelFlag*>(flag)->requested() ? 1 : 0; }

class Checker {
public:
    Checker(const TraceReader& trace, const CancelFlag* cancel) : m_trace(trace), m_database(trace.database()), m_cancel(cancel)
    {
        if (cancel != nullptr) sqlite3_progress_handler(m_database.handle(), 100'000, isCancelled, const_cast<CancelFlag*>(cancel));
    }
    ~Checker() { sqlite3_progress_handler(m_database.handle(), 0, nullptr, nullptr); }
    Checker(const Checker&) = delete;
    Checker& operator=(const Checker&) = delete;

    Result<TraceCheck> run()
    {
        LS_CHECK_OK(checkIntegrity());
        for (const Rule& rule : kRules) LS_CHECK_OK(checkRule(rule));
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
    const CancelFlag* m_cancel;
    TraceCheck m_check;
};

} // namespace

Result<TraceCheck> checkTrace(const TraceReader& trace, const CancelFlag* cancel) { return Checker(trace, cancel).run(); }

} // namespace loopscope
