// The views and indexes of a trace: how its narrow tables are read as writes, paths, loops and branches.
#include "tracer/schema/schema.h"

#include <array>

namespace loopscope {

namespace {

constexpr std::array kViews = std::to_array<TraceView>({
    {"write",
     "Every result of every event: slot 0 from `event`, the others from `output`. The statistics of a single element are filled in.",
     R"(SELECT id AS event, 0 AS slot, invocation, op, state, lo AS min, coalesce(hi, lo) AS max, coalesce(mean, lo) AS mean,
   iif(hi IS NULL, 0, std) AS std, coalesce(zeros, lo = 0) AS zeros, content, ns
 FROM event
 UNION ALL
 SELECT o.event, o.slot, e.invocation, e.op, o.state, o.lo, coalesce(o.hi, o.lo), coalesce(o.mean, o.lo),
   iif(o.hi IS NULL, 0, o.std), coalesce(o.zeros, o.lo = 0), o.content, NULL
 FROM output o JOIN event e ON e.id = o.event)"},
    {"writes", "The same with names: run, step, operator, value, iteration, counts of NaN and infinities.",
     R"(SELECT i.run, w.event - r.base AS step, w.event, w.slot, i.id AS invocation, i.parent, i.call, i.iteration, op.label AS op,
   op.kind, v.name AS value, v.dtype, w.state, w.min, w.max, w.mean, w.std, w.zeros, coalesce(a.nan, 0) AS nan,
   coalesce(a.pos_inf, 0) + coalesce(a.neg_inf, 0) AS inf, w.content, w.ns, w.op AS op_id, g.name AS graph
 FROM write w JOIN invocation i ON i.id = w.invocation JOIN run r ON r.id = i.run JOIN op ON op.id = w.op
 JOIN graph g ON g.id = op.graph LEFT JOIN result x ON x.op = w.op AND x.slot = w.slot LEFT JOIN value v ON v.id = x.value
 LEFT JOIN abnormal a ON a.event = w.event AND a.slot = w.slot)"},
    {"invocation_segment", "The part of an address that an invocation adds, and which graphs it runs.",
     R"(SELECT i.id, CASE c.role WHEN 'main' THEN replace(g.name, '/', '%2F') WHEN 'loop' THEN o.label || '@' || i.iteration
   WHEN 'frame' THEN c.frame || '@' || i.iteration || ':frame' ELSE o.label || ':' || c.role END AS segment,
   c.graph, c.cond, c.role = 'loop' AS is_loop
 FROM invocation i JOIN call c ON c.id = i.call JOIN graph g ON g.id = c.graph LEFT JOIN op o ON o.id = c.op)"},
    // From each invocation upwards, by rowid alone: no index is needed, and the joins are in the one order that stays linear.
    {"path", "The address of every invocation.",
     R"(WITH RECURSIVE p(id, parent, caller, text) AS (
   SELECT i.id, i.parent, o.graph, s.segment
   FROM invocation i CROSS JOIN invocation_segment s ON s.id = i.id CROSS JOIN call c ON c.id = i.call LEFT JOIN op o ON o.id = c.op
   UNION ALL
   SELECT p.id, i.parent, o.graph, s.segment || iif(s.is_loop, iif(p.caller = s.cond, ':cond', ':body'), '') || '/' || p.text
   FROM p CROSS JOIN invocation i ON i.id = p.parent CROSS JOIN invocation_segment s ON s.id = i.id CROSS JOIN call c ON c.id = i.call
   LEFT JOIN op o ON o.id = c.op)
 SELECT id, text AS path FROM p WHERE parent IS NULL)"},
    {"loops", "Every execution of a loop: how many iterations, steps, and how long.",
     R"(SELECT i.run, i.parent, i.call, o.label AS loop, c.frame, max(i.iteration) AS trips, min(i.id) AS first_invocation,
   min(i.first) - min(r.base) AS step, sum(i.steps) AS steps, sum(i.ns) AS ns
 FROM invocation i JOIN call c ON c.id = i.call JOIN run r ON r.id = i.run LEFT JOIN op o ON o.id = c.op
 WHERE c.role IN ('loop', 'frame') GROUP BY i.parent, i.call)"},
    {"branches", "Every branch taken.",
     R"(SELECT i.run, i.id AS invocation, i.parent, p.iteration, o.id AS op_id, o.label AS op, c.role AS taken, i.first - r.base AS step
 FROM invocation i JOIN call c ON c.id = i.call JOIN op o ON o.id = c.op JOIN run r ON r.id = i.run
 LEFT JOIN invocation p ON p.id = i.parent WHERE c.role IN ('then', 'else') OR c.role LIKE 'branch%')"},
    {"value_history", "Every write with its address. Ids hold inside one file; between files use run and address.",
     R"(SELECT w.run, w.step, w.iteration,
   p.path || iif(s.is_loop, iif(o.graph = s.cond, ':cond', ':body'), '') || '/' || w.op || ':' || w.slot AS address,
   w.value, w.dtype, w.min, w.max, w.mean, w.std, w.zeros, w.nan, w.inf, w.content
 FROM writes w JOIN op o ON o.id = w.op_id JOIN path p ON p.id = w.invocation JOIN invocation_segment s ON s.id = w.invocation)"},
});

constexpr std::array kIndexes = std::to_array<TraceIndex>({
    {"invocation_at", "an iteration of a loop", "invocation(parent, call, iteration)"},
    {"event_at", "the events of an operator", "event(op, invocation)"},
    {"invocation_call", "the executions of a call", "invocation(call, run)"},
});

} // namespace

std::span<const TraceView> traceViews() { return kViews; }

std::span<const TraceIndex> traceIndexes() { return kIndexes; }

} // namespace loopscope
