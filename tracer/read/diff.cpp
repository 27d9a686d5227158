// The first difference between two runs. By address, both are read in step; equal beginnings are skipped by their digests, and where the
// runs take different ways the comparison ends with what was different. By name, the k-th writes of equally named values are compared.
#include "tracer/api/trace_diff.h"

#include "engine/tensor/value_text.h"
#include "tracer/read/compare_values.h"
#include "tracer/read/run_view.h"
#include "tracer/schema/schema.h"

#include <algorithm>
#include <map>
#include <utility>

namespace loopscope {

namespace {

constexpr int64_t kCancelEvery = 4096;

struct StepRange {
    int64_t first = 0, last = 0;
};

/// The operator of b that stands where one of a stands.
struct Partner {
    int64_t op = 0;
    bool hasOneResult = false;
};

class Comparer {
public:
    Comparer(RunView a, RunView b, const DiffOptions& options) : m_a(std::move(a)), m_b(std::move(b)), m_options(options) {}

    Result<TraceDiff> run()
    {
        LS_CHECK_OK(readGaps(m_a, m_gapsA));
        LS_CHECK_OK(readGaps(m_b, m_gapsB));
        LS_CHECK_OK(m_options.pairing == DiffPairing::address ? compareByAddress() : compareByName());
        m_diff.equal = m_diff.differences.empty();
        return std::move(m_diff);
    }

private:
    // Pairing by address.

    Status compareByAddress()
    {
        LS_CHECK_OK(pairOperators());
        LS_TRY(const int64_t skipped, stepsWithEqualDigests());
        LS_CHECK_OK(countSkipped(skipped));
        const std::string sql = std::string("SELECT ") + kWriteColumns + " FROM event WHERE id BETWEEN ? AND ? ORDER BY id";
        LS_TRY(Statement a, m_a.database().prepare(sql));
        LS_TRY(Statement b, m_b.database().prepare(sql));
        a.bind(1, m_a.run().base + skipped);
        a.bind(2, lastOf(m_a));
        b.bind(1, m_b.run().base + skipped);
        b.bind(2, lastOf(m_b));
        LS_TRY(bool hasA, a.step());
        LS_TRY(bool hasB, b.step());
        while ((hasA || hasB) && !isFull()) {
            LS_CHECK_OK(checkCancel());
            const int64_t stepA = hasA ? a.integer(0) - m_a.run().base : INT64_MAX,
                          stepB = hasB ? b.integer(0) - m_b.run().base : INT64_MAX;
            if (stepA != stepB) {
                // One side did not record the step: that is no difference. Otherwise one run is over.
                const bool isInA = stepA < stepB;
                const int64_t step = std::min(stepA, stepB);
                if (!isInGap(isInA ? m_gapsB : m_gapsA, step)) return reportEnd(isInA ? m_a : m_b, readWrite(isInA ? a : b), isInA);
                if (isInA) {
                    LS_TRY(hasA, a.step());
                } else {
                    LS_TRY(hasB, b.step());
                }
                continue;
            }
            const auto pair = m_pairs.find(a.integer(2));
            if (pair == m_pairs.end() || pair->second.op != b.integer(2)) return reportOtherWay(readWrite(a), readWrite(b));
            if (pair->second.hasOneResult && isSameRow(a, b)) {
                ++m_diff.compared;
            } else {
                LS_CHECK_OK(compareEvent(readWrite(a), readWrite(b)));
            }
            LS_TRY(hasA, a.step());
            LS_TRY(hasB, b.step());
        }
        return {};
    }

    /// True if two rows say the same about values that the rows alone determine: equal keys, or one live element with equal numbers.
    /// Most rows of most comparisons end here, so nothing is copied out of SQLite.
    static bool isSameRow(const Statement& a, const Statement& b)
    {
        constexpr int kState = 4, kLo = 5, kHi = 6, kContent = 10;
        if (!a.isNull(kState) || !b.isNull(kState)) return false;
        if (!a.isNull(kContent) || !b.isNull(kContent))
            return !a.isNull(kContent) && !b.isNull(kContent) && a.integer(kContent) == b.integer(kContent);
        return a.isNull(kHi) && b.isNull(kHi) && a.isNumber(kLo) && b.isNumber(kLo) && a.integer(kLo) == b.integer(kLo) &&
               a.real(kLo) == b.real(kLo);
    }

    Status pairOperators()
    {
        std::map<std::pair<std::string, std::string>, int64_t> byName;
        for (const auto& [id, op] : m_b.operators()) byName[{op.graphName, op.label}] = id;
        for (const auto& [id, op] : m_a.operators()) {
            const auto found = byName.find({op.graphName, op.label});
            if (found != byName.end()) m_pairs[id] = {found->second, op.results.size() == 1};
        }
        if (!m_pairs.empty() || m_a.operators().empty()) return {};
        return Error(ErrorCode::usage, "the two runs have no operator in common; --pairing name compares different models").at("diff");
    }

    /// Steps from the start whose digests agree in both runs.
    Result<int64_t> stepsWithEqualDigests()
    {
        const int64_t start = m_a.run().first - m_a.run().base;
        // Runs of other levels hash other things; runs that started elsewhere share no beginning.
        const bool isComparable = (m_a.run().level >= 2) == (m_b.run().level >= 2) && start == m_b.run().first - m_b.run().base;
        if (!isComparable) return std::min(start, m_b.run().first - m_b.run().base);
        const auto prepare = [](RunView& view) -> Result<Statement> {
            LS_TRY(Statement s, view.database().prepare("SELECT last - ?1, hash FROM digest WHERE last BETWEEN ?2 AND ?3 ORDER BY last"));
            s.bind(1, view.run().base);
            s.bind(2, view.run().first);
            s.bind(3, lastOf(view));
            return s;
        };
        LS_TRY(Statement a, prepare(m_a));
        LS_TRY(Statement b, prepare(m_b));
        int64_t equal = start;
        for (;;) {
            LS_TRY(const bool hasA, a.step());
            LS_TRY(const bool hasB, b.step());
            if (!hasA || !hasB || a.integer(0) != b.integer(0) || a.integer(1) != b.integer(1)) return equal;
            equal = a.integer(0) + 1;
        }
    }

    Status countSkipped(int64_t end)
    {
        const int64_t first = m_a.run().first, last = m_a.run().base + end - 1;
        if (last < first) return {};
        m_diff.compared += last - first + 1;
        for (const StepRange& gap : m_gapsA) {
            if (gap.first < end) m_diff.compared -= std::min(gap.last, end - 1) - gap.first + 1;
        }
        LS_TRY(Statement s, m_a.database().prepare("SELECT count(*) FROM output WHERE event BETWEEN ? AND ?"));
        s.bind(1, first);
        s.bind(2, last);
        LS_TRY(const bool hasRow, s.step());
        if (hasRow) m_diff.compared += s.integer(0);
        return {};
    }

    Status compareEvent(const ViewedWrite& a, const ViewedWrite& b)
    {
        LS_CHECK_OK(compareWrite(a, b));
        const ViewedOperator* op = m_a.op(a.op);
        if (op == nullptr || op->results.size() < 2) return {};
        LS_TRY(const std::vector<ViewedWrite> outputsA, m_a.outputsOf(a));
        LS_TRY(const std::vector<ViewedWrite> outputsB, m_b.outputsOf(b));
        for (size_t k = 0; k < std::min(outputsA.size(), outputsB.size()) && !isFull(); ++k)
            LS_CHECK_OK(compareWrite(outputsA[k], outputsB[k]));
        return {};
    }

    // Pairing by name.

    Status compareByName()
    {
        // Names are looked up in the graph of the same name first, since subgraphs of a model repeat them.
        std::map<std::pair<std::string, std::string>, std::pair<int64_t, int>> inGraph;
        std::map<std::string, std::vector<std::pair<int64_t, int>>> anywhere;
        for (const auto& [id, op] : m_b.operators()) {
            for (size_t slot = 0; slot < op.results.size(); ++slot) {
                if (op.results[slot].name.empty()) continue;
                inGraph[{op.graphName, op.results[slot].name}] = {id, static_cast<int>(slot)};
                anywhere[op.results[slot].name].push_back({id, static_cast<int>(slot)});
            }
        }
        std::map<std::pair<int64_t, int>, std::pair<int64_t, int>> partners;
        for (const auto& [id, op] : m_a.operators()) {
            bool hasPartner = false;
            for (size_t slot = 0; slot < op.results.size(); ++slot) {
                const std::string& name = op.results[slot].name;
                const auto same = inGraph.find({op.graphName, name});
                const auto any = anywhere.find(name);
                if (same != inGraph.end()) partners[{id, static_cast<int>(slot)}] = same->second;
                else if (any != anywhere.end() && any->second.size() == 1) partners[{id, static_cast<int>(slot)}] = any->second.front();
                else continue;
                hasPartner = true;
            }
            if (!hasPartner) ++m_diff.unpaired;
        }
        if (partners.empty()) return Error(ErrorCode::usage, "no value of one run has the name of a value of the other").at("diff");
        const auto compare = [&](const ViewedWrite& a) -> Result<bool> {
            LS_CHECK_OK(checkCancel());
            const auto partner = partners.find({a.op, a.slot});
            if (partner == partners.end()) return true;
            LS_TRY(const std::optional<ViewedWrite> b, nextWriteOf(partner->second));
            if (b) LS_CHECK_OK(compareWrite(a, *b));
            else LS_CHECK_OK(report(a, "missing", "written", "not written", nullptr));
            return !isFull();
        };
        return m_a.forEachWrite(m_a.run().first, lastOf(m_a), compare);
    }

    /// Writes of one operator of b, one after the other.
    Result<std::optional<ViewedWrite>> nextWriteOf(std::pair<int64_t, int> which)
    {
        const auto [place, isNew] = m_cursors.try_emplace(which);
        if (isNew) {
            LS_TRY(place->second,
                   m_b.database().prepare("SELECT e.id, e.invocation, e.op, e.ns, e.state, e.lo, e.hi, e.mean, e.std, e.zeros, "
                                          "e.content FROM presence p CROSS JOIN event e ON e.id BETWEEN max(p.block * 4096, ?2) "
                                          "AND min(p.block * 4096 + 4095, ?3) AND e.op = p.op WHERE p.op = ?1 AND p.block "
                                          "BETWEEN ?2 / 4096 AND ?3 / 4096 ORDER BY p.block, e.id"));
            place->second.bind(1, which.first);
            place->second.bind(2, m_b.run().first);
            place->second.bind(3, lastOf(m_b));
        }
        LS_TRY(const bool hasRow, place->second.step());
        if (!hasRow) return std::optional<ViewedWrite>();
        ViewedWrite w = readWrite(place->second);
        if (which.second == 0) return std::optional(w);
        LS_TRY(const std::vector<ViewedWrite> outputs, m_b.outputsOf(w));
        for (const ViewedWrite& output : outputs) {
            if (output.slot == which.second) return std::optional(output);
        }
        return std::optional<ViewedWrite>();
    }

    // One write on both sides.

    Status compareWrite(const ViewedWrite& a, const ViewedWrite& b)
    {
        ++m_diff.compared;
        if (a.state == 3 || b.state == 3) return {}; // not taken: nothing to compare
        if (a.state != b.state) {
            const auto text = [](int64_t state) {
                return state == 0 ? "live" : state == 1 ? "dead" : state == 2 ? "failed" : "not written";
            };
            return report(a, a.state == 1 || b.state == 1 ? "dead" : "missing", text(a.state), text(b.state), nullptr);
        }
        if (a.state != 0) return {};
        if (a.content && b.content && *a.content == *b.content) return {};
        const ViewedOperator *opA = m_a.op(a.op), *opB = m_b.op(b.op);
        if (opA == nullptr || opB == nullptr || static_cast<size_t>(a.slot) >= opA->results.size() ||
            static_cast<size_t>(b.slot) >= opB->results.size())
            return {};
        const ViewedResult &ra = opA->results[static_cast<size_t>(a.slot)], &rb = opB->results[static_cast<size_t>(b.slot)];
        if (m_options.pairing == DiffPairing::address && ra.dtype != rb.dtype) return report(a, "dtype", ra.dtype, rb.dtype, nullptr);
        LS_TRY(const std::optional<std::string> shapeA, m_a.shapeAt(ra, a.event));
        LS_TRY(const std::optional<std::string> shapeB, m_b.shapeAt(rb, b.event));
        if (shapeA != shapeB) return report(a, "shape", shapeA.value_or("?"), shapeB.value_or("?"), nullptr);
        LS_TRY(const ValueDistance distance, distanceOf(a, ra, b, rb));
        if (distance.isWithin) return {};
        const auto number = [](const std::optional<double>& v, const ViewedWrite& w, const ViewedResult& result) {
            if (!v && !std::holds_alternative<double>(w.lo)) return sqlText(w.lo);
            return exactText(v ? *v : std::get<double>(w.lo), dtypeFromName(result.dtype).value_or(DType::f64));
        };
        return report(a, "value", number(distance.a, a, ra), number(distance.b, b, rb), &distance);
    }

    Result<ValueDistance> distanceOf(const ViewedWrite& a, const ViewedResult& ra, const ViewedWrite& b, const ViewedResult& rb)
    {
        const bool isSingle = !a.hi && !b.hi && !a.content && !b.content;
        if (isSingle && a.lo == b.lo) return ValueDistance();
        LS_TRY(std::optional<StoredValue> va, m_a.valueOf(a));
        LS_TRY(std::optional<StoredValue> vb, m_b.valueOf(b));
        if (va && vb && va->shape == vb->shape) {
            // A single element's number is already in real units.
            const auto quantization = [](const StoredValue& v, const ViewedResult& r) {
                return dtypeName(v.dtype) == r.dtype ? quantizationFromText(r.quantization) : std::nullopt;
            };
            const std::optional<Quantization> qa = quantization(*va, ra), qb = quantization(*vb, rb);
            return compareElements(*va, qa ? &*qa : nullptr, *vb, qb ? &*qb : nullptr, m_options.tolerance);
        }
        if (m_options.tolerance.cosine) {
            LS_TRY(const std::string address, m_a.addressOf(a));
            return Error(ErrorCode::usage, "a cosine needs stored elements; record with --level values --keep PATTERN, or --level all")
                .at(address);
        }
        ValueDistance distance = compareStatistics(a, b, m_options.tolerance);
        // The keys differ, so the bits do, even where no statistic shows it.
        if (a.content && b.content && m_options.tolerance.isExact()) distance.isWithin = false;
        return distance;
    }

    // Reports.

    bool isFull() const { return m_options.limit > 0 && static_cast<int64_t>(m_diff.differences.size()) >= m_options.limit; }

    Status report(const ViewedWrite& a, std::string kind, std::string textA, std::string textB, const ValueDistance* distance)
    {
        TraceDifference d;
        LS_TRY(d.address, m_a.addressOf(a));
        d.step = a.event - m_a.run().base;
        d.kind = std::move(kind);
        d.a = std::move(textA);
        d.b = std::move(textB);
        if (distance != nullptr) {
            d.maxAbs = distance->maxAbs;
            d.maxRel = distance->maxRel;
            d.ulp = distance->ulp;
            d.cosine = distance->cosine;
            d.at = distance->at;
            d.fromStatistics = distance->fromStatistics;
        }
        m_diff.differences.push_back(std::move(d));
        return {};
    }

    Status reportEnd(RunView& longer, const ViewedWrite& next, bool isInA)
    {
        TraceDifference d;
        LS_TRY(d.address, longer.addressOf(next));
        d.step = next.event - longer.run().base;
        d.kind = "missing";
        d.a = isInA ? "executed" : "ended (" + m_a.run().state + ")";
        d.b = isInA ? "ended (" + m_b.run().state + ")" : "executed";
        m_diff.differences.push_back(std::move(d));
        return {};
    }

    /// The two runs went different ways: where, and how?
    Status reportOtherWay(const ViewedWrite& a, const ViewedWrite& b)
    {
        LS_TRY(const std::vector<ViewedInvocation> chainA, m_a.chainOf(a.invocation));
        LS_TRY(const std::vector<ViewedInvocation> chainB, m_b.chainOf(b.invocation));
        size_t common = 0;
        while (common < chainA.size() && common < chainB.size() && sameCall(chainA[common], chainB[common]) &&
               chainA[common].iteration == chainB[common].iteration) {
            ++common;
        }
        const ViewedInvocation* nextA = common < chainA.size() ? &chainA[common] : nullptr;
        const ViewedInvocation* nextB = common < chainB.size() ? &chainB[common] : nullptr;
        TraceDifference d;
        d.step = a.event - m_a.run().base;
        const ViewedCall* callA = nextA != nullptr ? m_a.call(nextA->call) : nullptr;
        const ViewedCall* callB = nextB != nullptr ? m_b.call(nextB->call) : nullptr;
        const bool isLoopA = callA != nullptr && callA->role == "loop", isLoopB = callB != nullptr && callB->role == "loop";
        if (callA != nullptr && callB != nullptr && !isLoopA && !isLoopB && m_pairs.contains(callA->op) &&
            m_pairs.at(callA->op).op == callB->op) {
            d.kind = "branch";
            d.a = callA->role;
            d.b = callB->role;
            ViewedWrite site;
            site.invocation = nextA->parent;
            site.op = callA->op;
            LS_TRY(d.address, m_a.addressOf(site));
        } else if (isLoopA || isLoopB) {
            d.kind = "trips";
            RunView& view = isLoopA ? m_a : m_b;
            const ViewedInvocation& iteration = isLoopA ? *nextA : *nextB;
            ViewedWrite site;
            site.invocation = iteration.parent;
            site.op = (isLoopA ? callA : callB)->op;
            LS_TRY(d.address, view.addressOf(site));
            LS_TRY(d.a, tripsText(m_a, chainA, common, isLoopA ? nextA : nullptr, site.op, isLoopA));
            LS_TRY(d.b, tripsText(m_b, chainB, common, isLoopB ? nextB : nullptr, site.op, !isLoopA));
        } else {
            d.kind = "missing";
            LS_TRY(d.address, m_a.addressOf(a));
            LS_TRY(const std::string other, m_b.addressOf(b));
            d.a = "executed";
            d.b = other;
        }
        d.address = d.address.substr(0, d.address.rfind(':'));
        m_diff.differences.push_back(std::move(d));
        return {};
    }

    bool sameCall(const ViewedInvocation& a, const ViewedInvocation& b) const
    {
        const ViewedCall *ca = m_a.call(a.call), *cb = m_b.call(b.call);
        if (ca == nullptr || cb == nullptr || ca->role != cb->role || ca->frame != cb->frame) return false;
        if (ca->op == 0 || cb->op == 0) return ca->op == cb->op;
        const auto pair = m_pairs.find(ca->op);
        return pair != m_pairs.end() && pair->second.op == cb->op;
    }

    /// How many iterations the loop ran on one side: "12 iterations".
    Result<std::string> tripsText(RunView& view, const std::vector<ViewedInvocation>& chain, size_t common,
                                  const ViewedInvocation* iteration, int64_t op, bool isOwnOp)
    {
        const int64_t parent = iteration != nullptr ? iteration->parent : common > 0 ? chain[common - 1].id : 0;
        int64_t loop = op;
        if (!isOwnOp) {
            loop = 0;
            for (const auto& [a, b] : m_pairs) {
                if (a == op || b.op == op) loop = &view == &m_a ? a : b.op;
            }
        }
        LS_TRY(Statement s, view.database().prepare(
                                "SELECT max(iteration) FROM invocation WHERE parent = ? AND call IN (SELECT id FROM call WHERE op = ?)"));
        s.bind(1, parent);
        s.bind(2, loop);
        LS_TRY(const bool hasRow, s.step());
        if (!hasRow || s.isNull(0)) return std::string("no iteration");
        return std::to_string(s.integer(0)) + " iterations";
    }

    // Helpers.

    static int64_t lastOf(const RunView& view) { return view.run().last.value_or(view.run().first - 1); }

    static Status readGaps(RunView& view, std::vector<StepRange>& gaps)
    {
        LS_TRY(Statement s, view.database().prepare("SELECT first, last FROM gap WHERE run = ? ORDER BY first"));
        s.bind(1, view.run().id);
        for (;;) {
            LS_TRY(const bool hasRow, s.step());
            if (!hasRow) return {};
            gaps.push_back({s.integer(0), s.integer(1)});
        }
    }

    static bool isInGap(const std::vector<StepRange>& gaps, int64_t step)
    {
        const auto after =
            std::upper_bound(gaps.begin(), gaps.end(), step, [](int64_t value, const StepRange& gap) { return value < gap.first; });
        return after != gaps.begin() && std::prev(after)->last >= step;
    }

    Status checkCancel()
    {
        if (++m_count % kCancelEvery == 0 && m_options.cancel != nullptr && m_options.cancel->requested())
            return Error(ErrorCode::cancelled, "cancelled").at("diff");
        return {};
    }

    RunView m_a, m_b;
    const DiffOptions& m_options;
    TraceDiff m_diff;
    std::vector<StepRange> m_gapsA, m_gapsB;
    std::unordered_map<int64_t, Partner> m_pairs; ///< by operator of a
    std::map<std::pair<int64_t, int>, Statement> m_cursors;
    int64_t m_count = 0;
};

Result<const TraceRun*> chooseRun(const TraceReader& trace, std::optional<int64_t> wanted, bool isFirstOfTwo)
{
    if (wanted) {
        const TraceRun* run = trace.findRun(*wanted);
        if (run == nullptr) return Error(ErrorCode::usage, "no run " + std::to_string(*wanted)).at(trace.path());
        return run;
    }
    const TraceRun* run = trace.defaultRun();
    if (run == nullptr) return Error(ErrorCode::usage, "the trace holds no run").at(trace.path());
    if (isFirstOfTwo) {
        if (run == trace.runs().data()) return Error(ErrorCode::usage, "the trace holds one run").at(trace.path()).expected("two");
        --run;
    }
    return run;
}

struct ModelName {
    std::string name, hash;
};

Result<ModelName> modelOf(const TraceReader& trace, const TraceRun& run)
{
    LS_TRY(Statement s, trace.database().prepare("SELECT name, hash FROM model WHERE id = ?"));
    s.bind(1, run.model);
    LS_TRY(const bool hasRow, s.step());
    return hasRow ? ModelName{s.text(0), s.text(1)} : ModelName();
}

/// The names of the runs' models, if they are two.
Result<std::string> twoModels(const TraceReader& a, const TraceRun& runA, const TraceReader& b, const TraceRun& runB)
{
    LS_TRY(const ModelName x, modelOf(a, runA));
    LS_TRY(const ModelName y, modelOf(b, runB));
    const bool areSame = x.hash.empty() || y.hash.empty() ? x.name == y.name : x.hash == y.hash;
    if (areSame) return std::string();
    return x.name == y.name ? "two models called " + x.name : x.name + " and " + y.name;
}

} // namespace

Result<TraceDiff> diffTraces(const TraceReader& a, const TraceReader& b, const DiffOptions& options)
{
    const bool isOneFile = a.path() == b.path();
    LS_TRY(const TraceRun* runA, chooseRun(a, options.runA, isOneFile && !options.runB));
    LS_TRY(const TraceRun* runB, chooseRun(b, options.runB, false));
    if (runA->level < 1 || runB->level < 1) {
        return Error(ErrorCode::usage, "recorded at level control, without values")
            .at(runA->level < 1 ? a.path() : b.path())
            .expected("level statistics or higher");
    }
    LS_TRY(RunView viewA, RunView::create(a.database(), *runA));
    LS_TRY(RunView viewB, RunView::create(b.database(), *runB));
    LS_TRY(std::string models, twoModels(a, *runA, b, *runB));
    LS_TRY(TraceDiff diff, Comparer(std::move(viewA), std::move(viewB), options).run());
    diff.models = std::move(models);
    return diff;
}

} // namespace loopscope
