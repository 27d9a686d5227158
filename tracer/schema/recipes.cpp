// The questions that every trace answers: one table of name, sentence, parameters and SQL. The recorder copies it into each trace, the
// query command runs it, docs/trace_schema.md prints it.
#include "tracer/schema/schema.h"

#include <array>
#include <string>

namespace loopscope {

namespace {

// Parameters: `name` must be given or has a rule (TraceReader::bindParameters), `name=N` has that default.
constexpr std::array kRecipes = std::to_array<Recipe>({
    {"first-nan", "Where does the first NaN appear?", "run",
     "SELECT step, op, value, iteration, nan, path FROM writes JOIN path ON path.id = invocation WHERE run = :run AND "
     "event = (SELECT min(event) FROM abnormal a JOIN event e ON e.id = a.event JOIN invocation i ON i.id = "
     "e.invocation WHERE i.run = :run AND nan > 0)"},
    {"first-inf", "Where does the first infinity appear?", "run",
     "SELECT step, op, value, iteration, inf FROM writes WHERE run = :run AND event = (SELECT min(event) FROM abnormal "
     "a JOIN event e ON e.id = a.event JOIN invocation i ON i.id = e.invocation WHERE i.run = :run AND pos_inf + "
     "neg_inf > 0)"},
    {"abnormal-by-op", "Which operators produce NaN or infinities, how often, since when?", "run",
     "SELECT graph, op, count(*) AS writes, sum(nan) AS nan, sum(inf) AS inf, min(step) AS since FROM writes WHERE run "
     "= :run AND nan + inf > 0 GROUP BY op_id ORDER BY since"},
    {"abnormal-per-iteration", "In which iterations of a loop are there NaN?", "run op",
     "SELECT iteration, sum(nan) AS nan FROM writes WHERE run = :run AND op_id = :op AND nan > 0 GROUP BY iteration"},
    {"value-per-iteration", "How does this tensor change over the iterations?", "run op slot=0",
     "SELECT iteration, min, max, mean, std FROM writes WHERE run = :run AND op_id = :op AND slot = :slot ORDER BY "
     "event"},
    {"value-at", "What was this value in iteration i of the loop (inside iteration j of the one around it)?", "run op outer inner i j",
     "SELECT w.min, w.max, w.mean FROM invocation o JOIN invocation i ON i.parent = o.id AND i.call = :inner AND "
     "i.iteration = :j JOIN write w ON w.op = :op AND w.invocation = i.id WHERE o.run = :run AND o.call = :outer AND "
     "o.iteration = :i"},
    {"branch-per-iteration", "Which branch was taken when?", "run op",
     "SELECT iteration, taken, step FROM branches WHERE run = :run AND op_id = :op ORDER BY step"},
    {"branch-counts", "How often was each branch taken?", "run",
     "SELECT op, taken, count(*) AS times, min(iteration) AS first, max(iteration) AS last FROM branches WHERE run = "
     ":run GROUP BY op_id, taken"},
    {"branch-changes", "In which iterations does the branch differ from the one before?", "run op",
     "SELECT iteration, taken FROM (SELECT iteration, taken, lag(taken) OVER (ORDER BY step) AS before FROM branches "
     "WHERE run = :run AND op_id = :op) WHERE before <> taken"},
    {"branch-never", "Which branches are never taken?", "run",
     "SELECT o.label AS op, c.role FROM call c JOIN op o ON o.id = c.op WHERE c.role <> 'loop' AND NOT EXISTS (SELECT "
     "1 FROM invocation i WHERE i.call = c.id AND i.run = :run)"},
    {"loop-trips", "How many iterations does each loop run, each time?", "run",
     "SELECT loop, coalesce(p.path, frame) AS inside, trips, steps FROM loops LEFT JOIN path p ON p.id = parent WHERE "
     "run = :run ORDER BY step"},
    {"loop-trips-summary", "How many iterations, over all executions of the loop?", "run",
     "SELECT loop, count(*) AS executions, min(trips) AS least, max(trips) AS most, sum(trips) AS total FROM loops "
     "WHERE run = :run GROUP BY call"},
    {"loop-condition", "Why did the loop not end: what did the condition read, per iteration?", "run op limit=20",
     "SELECT i.iteration, v.name AS operand, w.min AS value FROM carry c JOIN op l ON l.id = c.op JOIN call k ON k.op "
     "= c.op JOIN invocation i ON i.call = k.id AND i.run = :run JOIN operand o ON o.value = c.cond_input JOIN value v "
     "ON v.id = o.value JOIN result x ON x.value = c.body_output JOIN write w ON w.op = x.op AND w.slot = x.slot AND "
     "w.invocation = i.id WHERE c.op = :op ORDER BY i.iteration DESC LIMIT :limit"},
    {"loop-condition-result", "What did the condition say, per iteration?", "run op limit=20",
     "SELECT iteration, mean AS condition FROM writes WHERE run = :run AND op_id = :op ORDER BY event DESC LIMIT "
     ":limit"},
    {"loop-repeats", "Does the loop come back to a state it already had?", "run op",
     "SELECT a.iteration AS first, b.iteration AS again FROM (SELECT i.iteration, group_concat(coalesce(w.content, "
     "w.min), '|') AS state FROM invocation i JOIN carry c ON c.op = :op JOIN result x ON x.value = c.body_output JOIN "
     "write w ON w.op = x.op AND w.slot = x.slot AND w.invocation = i.id WHERE i.run = :run GROUP BY i.id) a JOIN "
     "(SELECT i.iteration, group_concat(coalesce(w.content, w.min), '|') AS state FROM invocation i JOIN carry c ON "
     "c.op = :op JOIN result x ON x.value = c.body_output JOIN write w ON w.op = x.op AND w.slot = x.slot AND "
     "w.invocation = i.id WHERE i.run = :run GROUP BY i.id) b ON b.state = a.state AND b.iteration > a.iteration ORDER "
     "BY again LIMIT 1"},
    {"loop-slowest-iterations", "Which iterations take longest?", "run op limit=20",
     "SELECT i.iteration, i.ns, i.steps FROM invocation i JOIN call c ON c.id = i.call WHERE i.run = :run AND c.op = "
     ":op ORDER BY i.ns DESC, i.iteration LIMIT :limit"},
    {"loop-odd-iterations", "Which iterations execute a different number of steps than most?", "run op",
     "WITH n AS (SELECT i.iteration, i.steps FROM invocation i JOIN call c ON c.id = i.call WHERE i.run = :run AND "
     "c.op = :op), m AS (SELECT steps FROM n GROUP BY steps ORDER BY count(*) DESC, steps LIMIT 1) SELECT iteration, "
     "steps FROM n WHERE steps <> (SELECT steps FROM m) ORDER BY iteration"},
    {"never-changes", "Which values in a loop never change (loop invariants to hoist)?", "run",
     "SELECT graph, op, value, count(*) AS writes FROM writes WHERE run = :run AND iteration IS NOT NULL AND state IS "
     "NULL AND content IS NOT NULL GROUP BY op_id, slot HAVING count(*) > 1 AND min(content) = max(content)"},
    {"largest-jump", "Where does a value jump most between two iterations?", "run op",
     "SELECT iteration, before, mean, abs(mean - before) AS jump FROM (SELECT iteration, mean, lag(mean) OVER (ORDER "
     "BY event) AS before FROM writes WHERE run = :run AND op_id = :op AND slot = 0) WHERE before IS NOT NULL ORDER BY "
     "jump DESC LIMIT 1"},
    {"last-write", "Who wrote this value last before step S?", "run op step",
     "SELECT step, iteration, mean FROM writes WHERE run = :run AND op_id = :op AND event < :step + (SELECT base FROM "
     "run WHERE id = :run) ORDER BY event DESC LIMIT 1"},
    {"next-write", "When is it written next?", "run op step",
     "SELECT step, iteration, mean FROM writes WHERE run = :run AND op_id = :op AND event >= :step + (SELECT base FROM "
     "run WHERE id = :run) ORDER BY event LIMIT 1"},
    {"last-change", "When did it last change (not only get written) before step S?", "run op step",
     "SELECT step, iteration FROM (SELECT step, iteration, content, lag(content) OVER (ORDER BY event) AS before FROM "
     "writes WHERE run = :run AND op_id = :op AND slot = 0) WHERE before IS NOT content AND step < :step ORDER BY step "
     "DESC LIMIT 1"},
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
     "SELECT g.name AS graph, o.label AS op FROM op o JOIN graph g ON g.id = o.graph JOIN run r ON r.model = g.model "
     "AND r.id = :run WHERE NOT EXISTS (SELECT 1 FROM event e JOIN invocation i ON i.id = e.invocation WHERE e.op = "
     "o.id AND i.run = :run AND e.state IS NULL)"},
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
    {"forks", "Which timelines branch off where, and what was changed?", "",
     "SELECT r.id AS run, r.parent, r.fork - p.base AS at_step, v.name AS value, e.slice FROM run r JOIN run p ON p.id "
     "= r.parent LEFT JOIN edit e ON e.run = r.id LEFT JOIN value v ON v.id = e.value"},
    {"first-difference", "Where do two runs first differ?", "a b",
     "WITH a AS (SELECT * FROM writes WHERE run = :a), b AS (SELECT * FROM writes WHERE run = :b) SELECT a.step, a.op, "
     "a.value, a.iteration, a.mean AS a_mean, b.mean AS b_mean FROM a LEFT JOIN b ON b.step = a.step AND b.slot = "
     "a.slot WHERE b.op_id IS NOT a.op_id OR b.content IS NOT a.content ORDER BY a.step, a.slot LIMIT 1"},
    {"branch-differences", "Where do two runs take different branches?", "a b",
     "SELECT a.iteration, a.op, a.taken AS a, b.taken AS b FROM branches a JOIN branches b ON b.run = :b AND b.op_id = "
     "a.op_id AND b.iteration IS a.iteration WHERE a.run = :a AND a.taken <> b.taken"},
    {"trip-differences", "Which loops run a different number of iterations in two runs?", "a b",
     "WITH a AS (SELECT *, row_number() OVER (PARTITION BY call ORDER BY step) AS k FROM loops WHERE run = :a), b AS "
     "(SELECT *, row_number() OVER (PARTITION BY call ORDER BY step) AS k FROM loops WHERE run = :b) SELECT a.loop, "
     "a.k, a.trips AS a, b.trips AS b FROM a JOIN b USING (call, k) WHERE a.trips <> b.trips"},
    {"error-per-op", "How large is the difference to the reference, operator by operator?", "compare op limit=20",
     "SELECT w.step, w.op, w.value, d.max_abs, d.snr FROM difference d JOIN writes w ON w.event = d.a AND w.slot = "
     "d.slot WHERE d.compare = :compare AND w.op_id = :op ORDER BY w.step LIMIT :limit"},
    {"error-per-iteration", "Does the error grow with the iterations?", "compare op",
     "SELECT w.iteration, max(d.max_abs) AS max_abs FROM difference d JOIN writes w ON w.event = d.a AND w.slot = "
     "d.slot JOIN call c ON c.id = w.call WHERE d.compare = :compare AND c.op = :op GROUP BY w.iteration ORDER BY "
     "w.iteration"},
    {"first-significant", "Which difference is the first beyond the tolerance?", "compare",
     "SELECT w.step, w.op, w.value, d.max_abs FROM difference d JOIN writes w ON w.event = d.a AND w.slot = d.slot "
     "WHERE d.compare = :compare AND d.significant ORDER BY d.a LIMIT 1"},
    {"not-on-device", "Which operators fell back to the CPU, and what did that cost?", "run",
     "SELECT o.label AS op, p.kernel, count(e.id) AS times, sum(e.ns) AS ns FROM placement p JOIN run r ON r.id = "
     "p.run JOIN op o ON o.id = p.op LEFT JOIN event e ON e.op = p.op AND e.invocation IN (SELECT id FROM invocation "
     "WHERE run = p.run) WHERE p.run = :run AND p.device = 'cpu' AND r.backend <> 'cpu' GROUP BY o.id"},
    {"stored-bytes", "What fills this file?", "",
     "SELECT dtype, count(*) AS blobs, sum(bytes) AS bytes, sum(stored) AS stored, round(sum(bytes) * 1.0 / "
     "sum(stored), 2) AS ratio FROM blob GROUP BY dtype"},
    {"shared-values", "Which stored values occur most often (what content sharing saved)?", "",
     "SELECT b.hash, b.bytes, count(*) AS uses, (count(*) - 1) * b.bytes AS saved FROM blob b JOIN write w ON "
     "w.content = b.hash GROUP BY b.hash ORDER BY saved DESC"},
    {"gaps", "Which steps were not recorded, and why?", "",
     "SELECT run, first, last, last - first + 1 AS steps, reason FROM gap ORDER BY run, first"},
    {"notes", "What did people mark?", "",
     "SELECT m.name, m.event - r.base AS step, m.text FROM mark m JOIN run r ON r.id = m.run ORDER BY m.event"},
    {"alerts", "What did the recorder warn about?", "run",
     "SELECT a.kind, a.event - r.base AS step, a.text FROM alert a JOIN run r ON r.id = a.run WHERE a.run = :run ORDER "
     "BY a.event"},
    {"rate", "How many steps per second, over time?", "",
     "SELECT event, ns / 1e9 AS s, (event - lag(event) OVER w) * 1e9 / (ns - lag(ns) OVER w) AS per_s FROM clock "
     "WINDOW w AS (ORDER BY event)"},
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
    " slowest-ops slowest-kinds time-per-graph macs-per-second loop-slowest-iterations rate not-on-device ",
    " first-difference branch-differences trip-differences error-per-op error-per-iteration first-significant forks ",
    " runs stored-bytes shared-values gaps notes alerts incomplete ",
};

} // namespace

std::span<const std::string_view> recipeTopics() { return kTopics; }

std::string_view Recipe::topic() const
{
    const std::string wanted = " " + std::string(name) + " ";
    for (size_t i = 0; i < kTopics.size(); ++i)
        if (kOfTopic[i].find(wanted) != std::string_view::npos) return kTopics[i];
    return {};
}

std::span<const Recipe> traceRecipes() { return kRecipes; }

} // namespace loopscope
