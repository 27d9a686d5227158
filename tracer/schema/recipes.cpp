// The questions that every trace answers: one table of name, sentence, parameters and SQL. The recorder copies it into each trace, the
// query command runs it, docs/trace_schema.md prints it.
#include "tracer/schema/schema.h"

#include <algorithm>
#include <array>
#include <string>

namespace loopscope {

namespace {

// The address of one invocation, upwards from it: the view `path` makes those of all.
#define LS_PATH_OF(ID)                                                                                                                     \
    "(WITH RECURSIVE up(id, parent, caller, text) AS (SELECT y.id, y.parent, z.graph, s.segment FROM invocation y CROSS JOIN "             \
    "invocation_segment s ON s.id = y.id CROSS JOIN call c ON c.id = y.call LEFT JOIN op z ON z.id = c.op WHERE y.id = " ID                \
    " UNION ALL SELECT up.id, y.parent, z.graph, iif(up.text LIKE 'call@%' AND s.segment = 'host', '', s.segment || iif(s.is_loop AND "    \
    "up.caller = s.cond, ':cond', s.body_mark) || '/') || "                                                                                \
    "up.text FROM up CROSS JOIN invocation y ON y.id = up.parent CROSS JOIN invocation_segment s ON s.id = y.id CROSS JOIN call c ON "     \
    "c.id = y.call LEFT JOIN op z ON z.id = c.op) SELECT text FROM up WHERE parent IS NULL)"

// Parameters: `name` must be given or has a rule (TraceReader::bindParameters), `name=N` has that default. `op:branch` takes operators that
// choose a branch only; `loop`, and what ends in `:loop`, is bound to the id of a loop's or frame's call. The only one there is taken
// unasked.
constexpr std::array kRecipes = std::to_array<Recipe>({
    {"first-nan", "Where does the first NaN appear?", "run",
     "SELECT step, op, value, iteration, nan, " LS_PATH_OF(
         "invocation") " AS path FROM writes WHERE run = :run AND event = (SELECT min(a.event) FROM abnormal a CROSS JOIN event e ON e.id "
                       "= "
                       "a.event CROSS JOIN invocation i ON i.id = e.invocation WHERE i.run = :run AND a.nan > 0)"},
    {"first-inf", "Where does the first infinity appear?", "run",
     "SELECT step, op, value, iteration, inf FROM writes WHERE run = :run AND event = (SELECT min(a.event) FROM abnormal a "
     "CROSS JOIN event e ON e.id = a.event CROSS JOIN invocation i ON i.id = e.invocation WHERE i.run = :run AND a.pos_inf "
     "+ a.neg_inf > 0)"},
    {"abnormal-by-op", "Which operators produce NaN or infinities, how often, since when?", "run",
     "SELECT g.name AS graph, o.label AS op, count(*) AS writes, sum(a.nan) AS nan, sum(a.pos_inf + a.neg_inf) AS inf, "
     "min(e.id - r.base) AS since FROM abnormal a CROSS JOIN event e ON e.id = a.event CROSS JOIN invocation i ON i.id = "
     "e.invocation CROSS JOIN run r ON r.id = i.run CROSS JOIN op o ON o.id = e.op CROSS JOIN graph g ON g.id = o.graph "
     "WHERE i.run = :run AND a.nan + a.pos_inf + a.neg_inf > 0 GROUP BY o.id ORDER BY since"},
    {"abnormal-per-iteration", "In which iterations of a loop are there NaN?", "run op",
     "SELECT iteration, sum(nan) AS nan FROM writes_of WHERE run = :run AND op_id = :op AND nan > 0 GROUP BY iteration"},
    {"value-per-iteration", "How does this tensor change over the iterations?", "run op slot=0",
     "SELECT i.iteration, iif(:slot = 0, e.lo, q.lo) AS min, iif(:slot = 0, coalesce(e.hi, e.lo), coalesce(q.hi, q.lo)) AS "
     "max, iif(:slot = 0, coalesce(e.mean, e.lo), coalesce(q.mean, q.lo)) AS mean, iif(:slot = 0, iif(e.hi IS NULL, 0, "
     "e.std), iif(q.hi IS NULL, 0, q.std)) AS std FROM presence p CROSS JOIN event e ON e.id BETWEEN p.block * 4096 AND "
     "p.block * 4096 + 4095 AND e.op = p.op CROSS JOIN invocation i ON i.id = e.invocation LEFT JOIN output q ON :slot > 0 "
     "AND q.event = e.id AND q.slot = :slot WHERE p.op = :op AND p.block BETWEEN (SELECT first FROM run WHERE id = :run) / "
     "4096 AND (SELECT last FROM run WHERE id = :run) / 4096 AND i.run = :run AND (:slot = 0 OR q.event IS NOT NULL) ORDER "
     "BY p.block, e.id"},
    {"value-at", "What was this value in iteration i of the loop (inside it, in iteration j of another)?",
     "run op outer:loop inner:loop i j slot=0",
     "SELECT iif(:slot = 0, e.lo, q.lo) AS min, iif(:slot = 0, coalesce(e.hi, e.lo), coalesce(q.hi, q.lo)) AS max, "
     "iif(:slot = 0, coalesce(e.mean, e.lo), coalesce(q.mean, q.lo)) AS mean FROM invocation o CROSS JOIN invocation i ON "
     "i.call = :inner AND i.parent = o.id AND i.iteration = :j CROSS JOIN event e ON e.id BETWEEN i.first AND i.first + "
     "i.steps - 1 AND e.invocation = i.id AND e.op = :op LEFT JOIN output q ON q.event = e.id AND q.slot = :slot WHERE "
     "o.run = :run AND o.call = :outer AND o.iteration = :i"},
    {"branch-per-iteration", "Which branch was taken when?", "run op:branch",
     "SELECT iteration, taken, step FROM branches WHERE run = :run AND op_id = :op ORDER BY step"},
    {"branch-counts", "How often was each branch taken?", "run",
     "SELECT op, taken, count(*) AS times, min(iteration) AS first, max(iteration) AS last FROM branches WHERE run = "
     ":run GROUP BY op_id, taken"},
    {"branch-changes", "In which iterations does the branch differ from the one before?", "run op:branch",
     "SELECT iteration, taken FROM (SELECT iteration, taken, lag(taken) OVER (ORDER BY step) AS before FROM branches WHERE "
     "run = :run AND op_id = :op) WHERE before <> taken"},
    {"branch-never", "Which branches are never taken?", "run",
     "SELECT o.label AS op, c.role FROM call c JOIN op o ON o.id = c.op JOIN graph g ON g.id = o.graph JOIN run r ON "
     "r.model = g.model AND r.id = :run WHERE (c.role IN ('then', 'else') OR c.role LIKE 'branch%') AND NOT EXISTS (SELECT "
     "1 FROM invocation i WHERE i.call = c.id AND i.run = :run)"},
    {"loop-trips", "How many iterations does each loop run, each time?", "run",
     "SELECT loop, " LS_PATH_OF("l.parent") " AS inside, trips, steps FROM loops l WHERE run = :run ORDER BY step"},
    {"loop-trips-summary", "How many iterations, over all executions of the loop?", "run",
     "SELECT loop, count(*) AS executions, min(trips) AS least, max(trips) AS most, sum(trips) AS total FROM loops WHERE "
     "run = :run GROUP BY call"},
    {"loop-condition", "Why did the loop not end: what did the condition read, per iteration?", "run loop limit=20",
     "SELECT i.iteration, v.name AS operand, iif(x.slot = 0, e.lo, q.lo) AS value FROM call k CROSS JOIN carry c ON c.op = "
     "k.op CROSS JOIN operand d ON d.value = c.cond_input CROSS JOIN value v ON v.id = d.value CROSS JOIN result x ON "
     "x.value = c.body_output CROSS JOIN invocation i ON i.call = k.id AND i.run = :run CROSS JOIN event e ON e.id BETWEEN "
     "i.first AND i.first + i.steps - 1 AND e.invocation = i.id AND e.op = x.op LEFT JOIN output q ON q.event = e.id AND "
     "q.slot = x.slot WHERE k.id = :loop UNION ALL SELECT i.iteration, v.name, e.lo FROM call k CROSS JOIN op n ON n.graph "
     "= k.graph AND n.kind = 'tf.LoopCond' CROSS JOIN operand d ON d.op = n.id CROSS JOIN result x ON x.value = d.value "
     "CROSS JOIN value v ON v.id = d.value CROSS JOIN presence p ON p.op = x.op CROSS JOIN event e ON e.id BETWEEN p.block "
     "* 4096 AND p.block * 4096 + 4095 AND e.op = p.op CROSS JOIN invocation i ON i.id = e.invocation WHERE k.id = :loop "
     "AND k.role = 'frame' AND i.call = :loop AND i.run = :run ORDER BY 1 DESC LIMIT :limit"},
    {"loop-condition-result", "What did the condition say, per iteration?", "run loop limit=20",
     "SELECT i.iteration, e.lo AS condition FROM call k CROSS JOIN op n ON n.id IN (SELECT x.op FROM value v JOIN result x "
     "ON x.value = v.id WHERE v.graph = k.cond AND v.role = 'output') OR (k.role = 'frame' AND n.graph = k.graph AND n.kind "
     "= 'tf.LoopCond') CROSS JOIN presence p ON p.op = n.id CROSS JOIN event e ON e.id BETWEEN p.block * 4096 AND p.block * "
     "4096 + 4095 AND e.op = p.op CROSS JOIN invocation i ON i.id = e.invocation WHERE k.id = :loop AND i.call = :loop AND "
     "i.run = :run ORDER BY e.id DESC LIMIT :limit"},
    {"loop-repeats", "Does the loop come back to a state it already had?", "run loop",
     "WITH carried(op, slot, value) AS (SELECT x.op, x.slot, x.value FROM call k JOIN carry c ON c.op = k.op JOIN result x "
     "ON x.value = c.body_output WHERE k.id = :loop UNION SELECT n.id, 0, x.value FROM call k JOIN op n ON n.graph = "
     "k.graph AND n.kind = 'tf.NextIteration' JOIN result x ON x.op = n.id AND x.slot = 0 WHERE k.id = :loop AND k.role = "
     "'frame'), written AS (SELECT i.iteration, i.parent, e.op, w.slot, coalesce(e.content, e.lo || ',' || e.hi || ',' || "
     "e.mean || ',' || e.std || ',' || e.zeros, e.lo) AS state FROM carried w CROSS JOIN presence p ON p.op = w.op CROSS "
     "JOIN event e ON e.id BETWEEN p.block * 4096 AND p.block * 4096 + 4095 AND e.op = w.op CROSS JOIN invocation i ON i.id "
     "= e.invocation WHERE w.slot = 0 AND i.call = :loop AND i.run = :run AND e.state IS NULL UNION ALL SELECT i.iteration, "
     "i.parent, e.op, w.slot, coalesce(q.content, q.lo || ',' || q.hi || ',' || q.mean || ',' || q.std || ',' || q.zeros, "
     "q.lo) FROM carried w CROSS JOIN presence p ON p.op = w.op CROSS JOIN event e ON e.id BETWEEN p.block * 4096 AND "
     "p.block * 4096 + 4095 AND e.op = w.op CROSS JOIN output q ON q.event = e.id AND q.slot = w.slot CROSS JOIN invocation "
     "i ON i.id = e.invocation WHERE w.slot > 0 AND i.call = :loop AND i.run = :run AND q.state IS NULL), states AS (SELECT "
     "parent, iteration, group_concat(state, '|') AS state FROM (SELECT * FROM written ORDER BY parent, iteration, op, "
     "slot) GROUP BY parent, iteration) SELECT first, again FROM (SELECT min(iteration) OVER (PARTITION BY parent, state) "
     "AS first, iteration AS again FROM states) WHERE first < again ORDER BY again LIMIT 1"},
    {"loop-slowest-iterations", "Which iterations take longest?", "run loop limit=20",
     "SELECT iteration, ns, steps FROM invocation WHERE run = :run AND call = :loop ORDER BY ns DESC, iteration LIMIT :limit"},
    {"loop-odd-iterations", "Which iterations execute a different number of steps than most?", "run loop",
     "WITH n AS (SELECT iteration, steps FROM invocation WHERE run = :run AND call = :loop), m AS (SELECT steps FROM n "
     "GROUP BY steps ORDER BY count(*) DESC, steps LIMIT 1) SELECT iteration, steps FROM n WHERE steps <> (SELECT steps "
     "FROM m) ORDER BY iteration"},
    {"never-changes", "Which values in a loop never change (loop invariants to hoist)?", "run",
     "SELECT graph, op, value, count(*) AS writes FROM writes WHERE run = :run AND iteration IS NOT NULL AND state IS NULL "
     "GROUP BY op_id, slot HAVING count(*) > 1 AND iif(count(content) = count(*), min(content) = max(content), count(min) = "
     "count(*) AND min(min) = max(max) AND sum(nan + inf) = 0)"},
    {"largest-jump", "Where does a value jump most between two iterations?", "run op slot=0",
     "SELECT iteration, before, mean, abs(mean - before) AS jump FROM (SELECT iteration, mean, lag(mean) OVER (ORDER BY "
     "event) AS before FROM writes_of WHERE run = :run AND op_id = :op AND slot = :slot) WHERE before IS NOT NULL ORDER BY "
     "jump DESC LIMIT 1"},
    {"last-write", "Who wrote this value last before step S?", "run op step slot=0",
     "SELECT e.id - (SELECT base FROM run WHERE id = :run) AS step, i.iteration, iif(:slot = 0, coalesce(e.mean, e.lo), "
     "coalesce(q.mean, q.lo)) AS mean FROM presence p CROSS JOIN event e ON e.id BETWEEN max(p.block * 4096, (SELECT first "
     "FROM run WHERE id = :run)) AND min(p.block * 4096 + 4095, (SELECT base FROM run WHERE id = :run) + :step - 1) AND "
     "e.op = p.op CROSS JOIN invocation i ON i.id = e.invocation LEFT JOIN output q ON q.event = e.id AND q.slot = :slot "
     "WHERE p.op = :op AND p.block <= ((SELECT base FROM run WHERE id = :run) + :step) / 4096 ORDER BY p.block DESC, e.id "
     "DESC LIMIT 1"},
    {"next-write", "When is it written next?", "run op step slot=0",
     "SELECT e.id - (SELECT base FROM run WHERE id = :run) AS step, i.iteration, iif(:slot = 0, coalesce(e.mean, e.lo), "
     "coalesce(q.mean, q.lo)) AS mean FROM presence p CROSS JOIN event e ON e.id BETWEEN max(p.block * 4096, (SELECT base "
     "FROM run WHERE id = :run) + :step) AND min(p.block * 4096 + 4095, (SELECT last FROM run WHERE id = :run)) AND e.op = "
     "p.op CROSS JOIN invocation i ON i.id = e.invocation LEFT JOIN output q ON q.event = e.id AND q.slot = :slot WHERE "
     "p.op = :op AND p.block >= ((SELECT base FROM run WHERE id = :run) + :step) / 4096 ORDER BY p.block, e.id LIMIT 1"},
    {"last-change", "When did it last change (not only get written) before step S?", "run op step slot=0",
     "SELECT step, iteration FROM (SELECT event, step, iteration, coalesce(content, min || ',' || max || ',' || mean || ',' "
     "|| std || ',' || zeros) AS now, lag(coalesce(content, min || ',' || max || ',' || mean || ',' || std || ',' || "
     "zeros)) OVER (ORDER BY event) AS before FROM writes_of WHERE run = :run AND op_id = :op AND slot = :slot AND step < "
     ":step) WHERE before IS NOT now ORDER BY event DESC LIMIT 1"},
    {"slowest-ops", "Which operators cost most time?", "run limit=20",
     "SELECT g.name AS graph, o.label AS op, count(*) AS times, sum(e.ns) AS ns, sum(e.ns) * 100.0 / sum(sum(e.ns)) "
     "OVER () AS percent FROM event e JOIN invocation i ON i.id = e.invocation JOIN op o ON o.id = e.op JOIN graph g "
     "ON g.id = o.graph WHERE i.run = :run AND o.id NOT IN (SELECT op FROM call WHERE op IS NOT NULL) GROUP BY o.id "
     "ORDER BY ns DESC LIMIT :limit"},
    {"slowest-kinds", "Which kinds of operator cost most?", "run",
     "SELECT kind, count(*) AS times, sum(ns) AS ns FROM writes WHERE run = :run AND slot = 0 AND op_id NOT IN (SELECT "
     "op FROM call WHERE op IS NOT NULL) GROUP BY kind ORDER BY ns DESC"},
    {"time-per-graph", "How much time goes to each graph?", "run",
     "SELECT g.name AS graph, count(DISTINCT i.id) AS calls, sum(i.ns) AS ns_with_callees FROM invocation i JOIN call "
     "c ON c.id = i.call JOIN graph g ON g.id = c.graph WHERE i.run = :run GROUP BY g.id ORDER BY ns_with_callees DESC"},
    {"macs-per-second", "How fast do the heavy operators run?", "run",
     "SELECT o.label AS op, count(*) AS times, sum(o.macs) AS macs, round(sum(o.macs) * 1.0 / sum(e.ns), 3) AS "
     "gmac_per_s FROM event e JOIN invocation i ON i.id = e.invocation JOIN op o ON o.id = e.op WHERE i.run = :run AND "
     "o.macs > 0 GROUP BY o.id ORDER BY macs DESC"},
    {"op-counts", "How often was each operator executed?", "run",
     "SELECT g.name AS graph, o.label AS op, count(*) AS times FROM event e JOIN invocation i ON i.id = e.invocation "
     "JOIN op o ON o.id = e.op JOIN graph g ON g.id = o.graph WHERE i.run = :run AND e.state IS NULL GROUP BY o.id "
     "ORDER BY times DESC, o.id"},
    {"never-executed", "Which operators never ran?", "run",
     "SELECT g.name AS graph, o.label AS op FROM run r JOIN graph g ON g.model = r.model JOIN op o ON o.graph = g.id WHERE "
     "r.id = :run AND NOT EXISTS (SELECT 1 FROM presence p CROSS JOIN event e ON e.id BETWEEN max(p.block * 4096, r.first) "
     "AND min(p.block * 4096 + 4095, r.last) AND e.op = o.id AND e.state IS NULL WHERE p.op = o.id AND p.block BETWEEN "
     "r.first / 4096 AND r.last / 4096) AND NOT (EXISTS (SELECT 1 FROM gap WHERE gap.run = r.id) AND EXISTS (SELECT 1 FROM call c "
     "CROSS JOIN invocation i ON i.call = c.id AND i.run = r.id WHERE g.id IN (c.graph, c.cond)))"},
    {"dead-nodes", "Which nodes of a v1 graph got dead tokens, and how often?", "run",
     "SELECT o.name, sum(e.state = 1) AS dead, count(*) AS fired FROM event e JOIN invocation i ON i.id = e.invocation "
     "JOIN op o ON o.id = e.op WHERE i.run = :run GROUP BY o.id HAVING dead > 0 ORDER BY dead DESC, o.name"},
    {"dead-always", "Which nodes only ever got dead tokens?", "run",
     "SELECT o.name, count(*) AS fired FROM event e JOIN invocation i ON i.id = e.invocation JOIN op o ON o.id = e.op "
     "WHERE i.run = :run GROUP BY o.id HAVING sum(e.state = 1) = count(*)"},
    {"dead-per-iteration", "How many nodes are dead in each iteration of a frame?", "run",
     "SELECT c.frame, i.iteration, sum(e.state = 1) AS dead, count(*) AS fired FROM event e JOIN invocation i ON i.id "
     "= e.invocation JOIN call c ON c.id = i.call WHERE i.run = :run AND c.role = 'frame' GROUP BY i.id"},
    {"ranges", "What range does each value take over the whole run (calibration)?", "run",
     "SELECT graph, value, min(min) AS min, max(max) AS max, count(*) AS writes FROM writes WHERE run = :run AND min "
     "IS NOT NULL GROUP BY op_id, slot"},
    {"saturated", "Which quantized values sit at the limits of their type?", "run",
     "SELECT w.graph, w.value, sum(a.saturated) AS elements, max(a.saturated) AS most FROM abnormal a JOIN writes w ON "
     "w.event = a.event AND w.slot = a.slot WHERE w.run = :run AND a.saturated > 0 GROUP BY w.op_id, w.slot ORDER BY "
     "elements DESC"},
    {"all-zero", "Which values are zero everywhere, all the time (dead activations)?", "run",
     "SELECT graph, value, count(*) AS writes FROM writes WHERE run = :run AND state IS NULL AND min IS NOT NULL GROUP "
     "BY op_id, slot HAVING min(min) = 0 AND max(max) = 0"},
    {"constant-tensors", "Which writes hold one single number in all elements?", "run limit=20",
     "SELECT step, op, value, min FROM writes WHERE run = :run AND min = max AND EXISTS (SELECT 1 FROM result x JOIN "
     "value v ON v.id = x.value WHERE x.op = op_id AND x.slot = writes.slot AND v.shape <> '[]') ORDER BY step LIMIT "
     ":limit"},
    {"shape-changes", "Where do shapes change while running?", "run",
     "SELECT e.id - r.base AS step, v.name AS value, s.shape FROM reshape s JOIN value v ON v.id = s.value JOIN event "
     "e ON e.id = s.event JOIN invocation i ON i.id = e.invocation JOIN run r ON r.id = i.run WHERE r.id = :run AND "
     "EXISTS (SELECT 1 FROM reshape t WHERE t.value = s.value AND t.event < s.event AND t.event >= r.first) ORDER BY "
     "step"},
    {"variable-history", "What was written to this variable, and by whom?", "run name",
     "SELECT e.id - r.base AS step, o.label AS op, i.iteration, a.mean FROM access a JOIN event e ON e.id = a.event "
     "JOIN op o ON o.id = e.op JOIN invocation i ON i.id = e.invocation JOIN run r ON r.id = i.run WHERE r.id = :run "
     "AND a.variable = :name AND a.kind = 'write' ORDER BY step"},
    {"call-stack", "Where were we at step S?", "run step",
     "WITH RECURSIVE up(id, depth) AS (SELECT invocation, 0 FROM event WHERE id = (SELECT min(id) FROM event WHERE id "
     ">= :step + (SELECT base FROM run WHERE id = :run)) UNION ALL SELECT i.parent, depth + 1 FROM up JOIN invocation "
     "i ON i.id = up.id WHERE i.parent IS NOT NULL) SELECT depth, s.segment, i.first - (SELECT base FROM run WHERE id "
     "= :run) AS since FROM up JOIN invocation i ON i.id = up.id JOIN invocation_segment s ON s.id = up.id ORDER BY "
     "depth"},
    {"around", "What happened around step S?", "run step",
     "SELECT step, op, value, mean FROM writes WHERE run = :run AND event BETWEEN :step - 5 + (SELECT base FROM run "
     "WHERE id = :run) AND :step + 5 + (SELECT base FROM run WHERE id = :run) ORDER BY event, slot"},
    {"runs", "What is in this file?", "",
     "SELECT id, model, reason, backend, state, last - first + 1 AS steps, parent FROM run ORDER BY id"},
    {"models", "What models ran, and what were they raised, fused or lowered from?", "",
     "SELECT m.id, m.name, m.format, s.name AS derived_from, (SELECT count(*) FROM run r WHERE r.model = m.id) AS runs, m.hash FROM model "
     "m LEFT JOIN model s ON s.id = m.derived_from ORDER BY m.id"},
    {"origins", "Which operators of the source does each one that ran stand for, and how often did it run?", "run",
     "SELECT g.name AS graph, o.label AS op, o.origin AS source, count(*) AS times FROM event e JOIN invocation i ON i.id = e.invocation "
     "JOIN op o ON o.id = e.op JOIN graph g ON g.id = o.graph WHERE i.run = :run AND o.origin IS NOT NULL GROUP BY o.id ORDER BY o.id"},
    {"first-difference", "Where do two runs first differ?", "a b",
     "WITH found(a, b, slot) AS (SELECT * FROM (SELECT e.id, f.id, 0 FROM run ra CROSS JOIN run rb CROSS JOIN event e ON "
     "e.id BETWEEN ra.first AND ra.last LEFT JOIN event f ON f.id = e.id - ra.base + rb.base AND f.id BETWEEN rb.first AND "
     "rb.last WHERE ra.id = :a AND rb.id = :b AND (f.op IS NOT e.op OR (coalesce(e.state, 0) <> 3 AND coalesce(f.state, 0) "
     "<> 3 AND (f.state IS NOT e.state OR iif(e.content IS NULL OR f.content IS NULL, f.lo IS NOT e.lo OR f.hi IS NOT e.hi "
     "OR f.mean IS NOT e.mean OR f.std IS NOT e.std OR f.zeros IS NOT e.zeros OR (ra.level = rb.level AND (e.content IS "
     "NULL) <> (f.content IS NULL)), f.content <> e.content)))) AND NOT (f.id IS NULL AND EXISTS (SELECT 1 FROM gap g WHERE "
     "g.run = :b AND e.id - ra.base BETWEEN g.first AND g.last)) ORDER BY e.id LIMIT 1) UNION ALL SELECT * FROM (SELECT "
     "e.id, f.id, p.slot FROM run ra CROSS JOIN run rb CROSS JOIN output p ON p.event BETWEEN ra.first AND ra.last CROSS "
     "JOIN event e ON e.id = p.event CROSS JOIN event f ON f.id = e.id - ra.base + rb.base AND f.id BETWEEN rb.first AND "
     "rb.last LEFT JOIN output q ON q.event = f.id AND q.slot = p.slot WHERE ra.id = :a AND rb.id = :b AND (f.op IS NOT "
     "e.op OR (coalesce(p.state, 0) <> 3 AND coalesce(q.state, 0) <> 3 AND (q.state IS NOT p.state OR iif(p.content IS NULL "
     "OR q.content IS NULL, q.lo IS NOT p.lo OR q.hi IS NOT p.hi OR q.mean IS NOT p.mean OR q.std IS NOT p.std OR q.zeros "
     "IS NOT p.zeros OR (ra.level = rb.level AND (p.content IS NULL) <> (q.content IS NULL)), q.content <> p.content)))) "
     "ORDER BY p.event, p.slot LIMIT 1)) SELECT w.step, w.op, w.value, w.iteration, w.mean AS a_mean, (SELECT z.mean FROM "
     "write z WHERE z.event = d.b AND z.slot = d.slot) AS b_mean FROM (SELECT a, b, slot FROM found ORDER BY a, slot LIMIT "
     "1) d CROSS JOIN writes w ON w.event = d.a AND w.slot = d.slot"},
    {"branch-differences", "Where do two runs take different branches?", "a b",
     "SELECT a.iteration, a.op, a.taken AS a, b.taken AS b FROM branches a JOIN branches b ON b.run = :b AND b.op_id = "
     "a.op_id AND b.iteration IS a.iteration WHERE a.run = :a AND a.taken <> b.taken"},
    {"trip-differences", "Which loops run a different number of iterations in two runs?", "a b",
     "WITH a AS (SELECT *, row_number() OVER (PARTITION BY call ORDER BY step) AS k FROM loops WHERE run = :a), b AS "
     "(SELECT *, row_number() OVER (PARTITION BY call ORDER BY step) AS k FROM loops WHERE run = :b) SELECT a.loop, "
     "a.k, a.trips AS a, b.trips AS b FROM a JOIN b USING (call, k) WHERE a.trips <> b.trips"},
    {"stored-bytes", "What fills this file?", "",
     "SELECT dtype, count(*) AS blobs, sum(bytes) AS bytes, sum(stored) AS stored, round(sum(bytes) * 1.0 / "
     "sum(stored), 2) AS ratio FROM blob GROUP BY dtype"},
    {"shared-values", "Which stored values occur most often (what content sharing saved)?", "",
     "SELECT b.hash, b.bytes, count(*) AS uses, (count(*) - 1) * b.bytes AS saved FROM blob b JOIN write w ON "
     "w.content = b.hash GROUP BY b.hash ORDER BY saved DESC"},
    {"gaps", "Which steps were not recorded, and why?", "",
     "SELECT run, first, last, last - first + 1 AS steps, reason FROM gap ORDER BY run, first"},
    {"alerts", "What did the recorder warn about?", "run",
     "SELECT a.kind, a.event - r.base AS step, a.text FROM alert a JOIN run r ON r.id = a.run WHERE a.run = :run ORDER "
     "BY a.event"},
    {"rate", "How many steps per second, over time?", "",
     "SELECT event, ns / 1e9 AS s, (event - lag(event) OVER w) * 1e9 / (ns - lag(ns) OVER w) AS per_s FROM clock "
     "WINDOW w AS (ORDER BY event)"},
    {"kept-values", "Where did kept values lie over time: in memory, on disk, on a device?", "run",
     "SELECT m.event - r.base AS step, m.memory, m.disk, m.file, m.device FROM memory m JOIN run r ON m.event BETWEEN r.first AND "
     "coalesce(r.last + 1, m.event) WHERE r.id = :run ORDER BY m.event"},
    {"incomplete", "Is this recording whole?", "", "SELECT id, state, error FROM run WHERE state <> 'complete'"},
});

constexpr std::array kTopics = std::to_array<std::string_view>({"Control flow", "Values", "Time", "Compare", "Recording"});

/// The names of a topic, between blanks.
constexpr std::array<std::string_view, kTopics.size()> kOfTopic = {
    " branch-per-iteration branch-counts branch-changes branch-never loop-trips loop-trips-summary loop-condition loop-condition-result "
    "loop-repeats loop-odd-iterations never-executed dead-nodes dead-always dead-per-iteration call-stack around op-counts ",
    " first-nan first-inf abnormal-by-op abnormal-per-iteration value-per-iteration value-at never-changes largest-jump last-write "
    "next-write "
    "last-change ranges saturated all-zero constant-tensors shape-changes variable-history ",
    " slowest-ops slowest-kinds time-per-graph macs-per-second loop-slowest-iterations rate ",
    " first-difference branch-differences trip-differences ",
    " runs models origins stored-bytes shared-values kept-values gaps alerts incomplete ",
};

#undef LS_PATH_OF

} // namespace

std::span<const std::string_view> recipeTopics() { return kTopics; }

std::string_view Recipe::topic() const
{
    const std::string wanted = " " + std::string(name) + " ";
    for (size_t i = 0; i < kTopics.size(); ++i)
        if (kOfTopic[i].find(wanted) != std::string_view::npos) return kTopics[i];
    return {};
}

bool Recipe::readsOperators() const
{
    if (name == "never-executed") return false; // invocations say which graphs did not run
    const std::vector<RecipeParameter> list = parameterList();
    const bool isOfRuns = std::any_of(list.begin(), list.end(), [](const RecipeParameter& p) { return p.name == "run" || p.name == "a"; });
    return isOfRuns && (sql.find("event e ") != sql.npos || sql.find("writes") != sql.npos || sql.find("FROM event ") != sql.npos);
}

std::vector<RecipeParameter> Recipe::parameterList() const
{
    std::vector<RecipeParameter> list;
    for (size_t at = 0; at < parameters.size();) {
        const size_t end = std::min(parameters.find(' ', at), parameters.size());
        const std::string_view word = parameters.substr(at, end - at);
        at = end + 1;
        RecipeParameter parameter;
        const size_t equals = std::min(word.find('='), word.size());
        if (equals < word.size()) parameter.otherwise = word.substr(equals + 1);
        const size_t colon = std::min(word.find(':'), equals);
        parameter.name = word.substr(0, colon);
        if (colon < equals) parameter.kind = word.substr(colon + 1, equals - colon - 1);
        else if (parameter.name == "loop") parameter.kind = "loop";
        list.push_back(parameter);
    }
    return list;
}

std::span<const Recipe> traceRecipes() { return kRecipes; }

} // namespace loopscope
