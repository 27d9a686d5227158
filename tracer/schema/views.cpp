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
    {"writes",
     "The same with names: run, step, operator, value, iteration, counts of NaN and infinities, rank (NULL: of a run that is not cut).",
     R"(SELECT i.run, w.event - r.base AS step, w.event, w.slot, i.id AS invocation, i.parent, i.call, i.iteration, op.label AS op,
   op.kind, v.name AS value, v.dtype, w.state, w.min, w.max, w.mean, w.std, w.zeros, coalesce(a.nan, 0) AS nan,
   coalesce(a.pos_inf, 0) + coalesce(a.neg_inf, 0) AS inf, w.content, w.ns, w.op AS op_id, g.name AS graph, p.rank
 FROM write w JOIN invocation i ON i.id = w.invocation JOIN run r ON r.id = i.run JOIN op ON op.id = w.op
 JOIN graph g ON g.id = op.graph LEFT JOIN result x ON x.op = w.op AND x.slot = w.slot LEFT JOIN value v ON v.id = x.value
 LEFT JOIN abnormal a ON a.event = w.event AND a.slot = w.slot LEFT JOIN placement p ON p.run = i.run AND p.op = w.op)"},
    // From one operator to its events: by the blocks that hold some, in the order in which they happened.
    {"writes_of", "The same, to be asked with `op_id = …`: goes to the events of that operator without reading the others.",
     R"(SELECT i.run, e.id - r.base AS step, e.id AS event, 0 AS slot, i.id AS invocation, i.parent, i.call, i.iteration, o.label AS op,
   o.kind, v.name AS value, v.dtype, e.state, e.lo AS min, coalesce(e.hi, e.lo) AS max, coalesce(e.mean, e.lo) AS mean,
   iif(e.hi IS NULL, 0, e.std) AS std, coalesce(e.zeros, e.lo = 0) AS zeros, coalesce(a.nan, 0) AS nan,
   coalesce(a.pos_inf, 0) + coalesce(a.neg_inf, 0) AS inf, e.content, e.ns, p.op AS op_id, g.name AS graph
 FROM presence p CROSS JOIN event e ON e.id BETWEEN p.block * 4096 AND p.block * 4096 + 4095 AND e.op = p.op
 CROSS JOIN invocation i ON i.id = e.invocation CROSS JOIN run r ON r.id = i.run CROSS JOIN op o ON o.id = p.op
 CROSS JOIN graph g ON g.id = o.graph LEFT JOIN result x ON x.op = p.op AND x.slot = 0 LEFT JOIN value v ON v.id = x.value
 LEFT JOIN abnormal a ON a.event = e.id AND a.slot = 0
 UNION ALL
 SELECT i.run, e.id - r.base, e.id, q.slot, i.id, i.parent, i.call, i.iteration, o.label, o.kind, v.name, v.dtype, q.state, q.lo,
   coalesce(q.hi, q.lo), coalesce(q.mean, q.lo), iif(q.hi IS NULL, 0, q.std), coalesce(q.zeros, q.lo = 0), coalesce(a.nan, 0),
   coalesce(a.pos_inf, 0) + coalesce(a.neg_inf, 0), q.content, NULL, p.op, g.name
 FROM presence p CROSS JOIN event e ON e.id BETWEEN p.block * 4096 AND p.block * 4096 + 4095 AND e.op = p.op
 CROSS JOIN output q ON q.event = e.id CROSS JOIN invocation i ON i.id = e.invocation CROSS JOIN run r ON r.id = i.run
 CROSS JOIN op o ON o.id = p.op CROSS JOIN graph g ON g.id = o.graph LEFT JOIN result x ON x.op = p.op AND x.slot = q.slot
 LEFT JOIN value v ON v.id = x.value LEFT JOIN abnormal a ON a.event = e.id AND a.slot = q.slot)"},
    // What the loop around a model calls is written as `call@3/main`, without the graph in front and the roles (docs/host_loop.md).
    {"host_loop", "The loop around a model, where there is one: its call, its body and its condition.",
     R"(SELECT c.id AS call, c.graph AS body, c.cond FROM call c JOIN op o ON o.id = c.op JOIN graph g ON g.id = o.graph
 WHERE c.role = 'loop' AND o.label = 'call' AND g.name = 'host' AND g.id IN (SELECT m.graph FROM call m WHERE m.role = 'main'))"},
    {"invocation_segment", "The part of an address that an invocation adds, which graphs it runs, and how its body is marked.",
     R"(SELECT i.id, CASE c.role WHEN 'main' THEN replace(g.name, '/', '%2F') WHEN 'loop' THEN o.label || '@' || i.iteration
   WHEN 'frame' THEN c.frame || '@' || i.iteration || ':frame'
   WHEN 'call' THEN iif(o.graph IN (SELECT body FROM host_loop), replace(o.label, '/', '%2F'), o.label || ':call')
   ELSE o.label || ':' || c.role END AS segment, c.graph, c.cond, c.role = 'loop' AS is_loop,
   iif(c.role <> 'loop' OR c.id IN (SELECT call FROM host_loop), '', ':body') AS body_mark
 FROM invocation i JOIN call c ON c.id = i.call JOIN graph g ON g.id = c.graph LEFT JOIN op o ON o.id = c.op)"},
    // From each invocation upwards, by rowid alone: no index is needed, and the joins are in the one order that stays linear.
    {"path", "The address of every invocation.",
     R"(WITH RECURSIVE p(id, parent, caller, text) AS (
   SELECT i.id, i.parent, o.graph, s.segment
   FROM invocation i CROSS JOIN invocation_segment s ON s.id = i.id CROSS JOIN call c ON c.id = i.call LEFT JOIN op o ON o.id = c.op
   UNION ALL
   SELECT p.id, i.parent, o.graph, iif(p.text LIKE 'call@%' AND s.segment = 'host', '',
     s.segment || iif(s.is_loop AND p.caller = s.cond, ':cond', s.body_mark) || '/') || p.text
   FROM p CROSS JOIN invocation i ON i.id = p.parent CROSS JOIN invocation_segment s ON s.id = i.id CROSS JOIN call c ON c.id = i.call
   LEFT JOIN op o ON o.id = c.op)
 SELECT id, text AS path FROM p WHERE parent IS NULL)"},
    // Every execution has an iteration 0. What is added up is so only where it is asked for.
    {"loops", "Every execution of a loop or frame: how many iterations, steps, and how long.",
     R"(SELECT f.run, f.parent, f.call, coalesce(o.label, c.frame) AS loop, c.frame,
   (SELECT max(i.iteration) FROM invocation i WHERE i.call = f.call AND i.parent = f.parent) AS trips, f.id AS first_invocation,
   f.first - r.base AS step,
   iif(c.role = 'loop', (SELECT i.first + i.steps FROM invocation i WHERE i.call = f.call AND i.parent = f.parent
     ORDER BY i.iteration DESC LIMIT 1) - f.first,
    (SELECT sum(i.steps) FROM invocation i WHERE i.call = f.call AND i.parent = f.parent)) AS steps,
   (SELECT sum(i.ns) FROM invocation i WHERE i.call = f.call AND i.parent = f.parent) AS ns
 FROM call c CROSS JOIN invocation f ON f.call = c.id AND f.iteration = 0 CROSS JOIN run r ON r.id = f.run LEFT JOIN op o ON o.id = c.op
 WHERE c.role IN ('loop', 'frame'))"},
    {"branches", "Every branch taken.",
     R"(SELECT i.run, i.id AS invocation, i.parent, p.iteration, o.id AS op_id, o.label AS op, c.role AS taken, i.first - r.base AS step
 FROM invocation i JOIN call c ON c.id = i.call JOIN op o ON o.id = c.op JOIN run r ON r.id = i.run
 LEFT JOIN invocation p ON p.id = i.parent WHERE c.role IN ('then', 'else') OR c.role LIKE 'branch%')"},
    {"value_history", "Every write with its address. Ids hold inside one file; between files use run and address.",
     R"(SELECT w.run, w.step, w.iteration,
   p.path || iif(s.is_loop AND o.graph = s.cond, ':cond', s.body_mark) || '/' || w.op || ':' || w.slot AS address,
   w.value, w.dtype, w.min, w.max, w.mean, w.std, w.zeros, w.nan, w.inf, w.content
 FROM writes w JOIN op o ON o.id = w.op_id JOIN path p ON p.id = w.invocation JOIN invocation_segment s ON s.id = w.invocation)"},
});

constexpr std::array kIndexes = std::to_array<TraceIndex>({
    {"invocation_at", "the executions of a call, and an iteration of a loop", "invocation(call, parent, iteration)"},
});

} // namespace

std::span<const TraceView> traceViews() { return kViews; }

std::span<const TraceIndex> traceIndexes() { return kIndexes; }

} // namespace loopscope
