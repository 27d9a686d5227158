// A recorded run, row by row.
#include "tracer/api/trace_replay.h"

#include "tracer/read/run_view.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

namespace loopscope {

namespace {

constexpr int64_t kBlock = 1024;                                          ///< steps that are read at once
constexpr int64_t kDead = 1, kFailed = 2, kNotTaken = 3, kNotWritten = 4; ///< event.state

RecordedValue recorded(StoredValue stored)
{
    RecordedValue value;
    value.hasElements = true;
    value.dtype = stored.dtype;
    value.shape = stored.shape;
    value.bytes = std::move(stored.bytes);
    return value;
}

} // namespace

class RecordedRun::Impl {
public:
    Impl(RunView view) : m_view(std::move(view)) {}

    Status read()
    {
        Database& database = m_view.database();
        {
            LS_TRY(Statement s, database.prepare("SELECT format FROM model WHERE id = ?"));
            s.bind(1, m_view.run().model);
            LS_TRY(const bool hasRow, s.step());
            if (hasRow) m_format = s.text(0);
        }
        LS_TRY(Statement graphs, database.prepare("SELECT id, name, listing FROM graph WHERE model = ? ORDER BY ordinal"));
        graphs.bind(1, m_view.run().model);
        for (;;) {
            LS_TRY(const bool hasRow, graphs.step());
            if (!hasRow) break;
            m_graphIndex[graphs.integer(0)] = static_cast<int>(m_graphs.size());
            m_graphs.push_back({graphs.text(1), graphs.text(2), 0});
            m_rows.emplace_back();
        }
        LS_TRY(Statement ops,
               database.prepare(
                   "SELECT o.id, o.graph FROM op o JOIN graph g ON g.id = o.graph WHERE g.model = ? ORDER BY o.graph, o.ordinal"));
        ops.bind(1, m_view.run().model);
        for (;;) {
            LS_TRY(const bool hasRow, ops.step());
            if (!hasRow) break;
            const auto graph = m_graphIndex.find(ops.integer(1));
            if (graph == m_graphIndex.end()) continue;
            Rows& rows = m_rows[static_cast<size_t>(graph->second)];
            m_opIndex[ops.integer(0)] = {graph->second, static_cast<int>(rows.ops.size())};
            rows.ops.push_back(ops.integer(0));
            ++m_graphs[static_cast<size_t>(graph->second)].operators;
        }
        LS_TRY(Statement values, database.prepare("SELECT v.graph, v.name, v.constant FROM value v JOIN graph g ON g.id = v.graph WHERE "
                                                  "g.model = ? AND v.constant IS NOT NULL"));
        values.bind(1, m_view.run().model);
        for (;;) {
            LS_TRY(const bool hasRow, values.step());
            if (!hasRow) break;
            const auto graph = m_graphIndex.find(values.integer(0));
            if (graph != m_graphIndex.end()) m_rows[static_cast<size_t>(graph->second)].constants[values.text(1)] = values.integer(2);
        }
        const char* const columns = "SELECT id, run, parent, call, iteration, first, steps FROM invocation WHERE ";
        LS_TRY(m_some, database.prepare(std::string(columns) + "id BETWEEN ? AND ? ORDER BY id"));
        LS_TRY(m_byId, database.prepare(std::string(columns) + "id = ?"));
        LS_TRY(m_first, database.prepare(std::string(columns) + "run = ? ORDER BY id LIMIT 1"));
        LS_TRY(m_last, database.prepare(std::string(columns) + "run = ? ORDER BY id DESC LIMIT 1"));
        LS_TRY(m_sibling, database.prepare(std::string(columns) +
                                           "parent IS ? AND call = ? AND iteration = ? AND id BETWEEN ? AND ? ORDER BY id LIMIT 1"));
        LS_TRY(m_step, database.prepare("SELECT e.id FROM presence p CROSS JOIN event e ON e.id BETWEEN max(p.block * 4096, ?3) AND "
                                        "min(p.block * 4096 + 4095, ?4) AND e.op = p.op AND e.invocation = ?2 WHERE p.op = ?1 AND p.block "
                                        "BETWEEN ?3 / 4096 AND ?4 / 4096 LIMIT 1"));
        // By id, and not by the index: a loop's iterations lie side by side.
        LS_TRY(m_iterations,
               database.prepare("SELECT i.id, i.iteration, i.first, i.steps FROM invocation i WHERE i.id BETWEEN ?1 AND ?2 AND "
                                "+i.parent = ?3 AND +i.call IN (SELECT c.id FROM call c WHERE c.op = ?4 AND c.role = 'loop') "
                                "AND i.run = ?5 ORDER BY i.id"));
        LS_TRY(m_writes, database.prepare("SELECT e.id, e.invocation, e.op, e.ns, e.state, e.lo, e.hi, e.mean, e.std, e.zeros, e.content "
                                          "FROM presence p CROSS JOIN event e ON e.id BETWEEN max(p.block * 4096, ?2) AND "
                                          "min(p.block * 4096 + 4095, ?3) AND e.op = p.op WHERE p.op = ?1 AND p.block BETWEEN ?2 / 4096 "
                                          "AND ?3 / 4096 ORDER BY p.block, e.id"));
        LS_TRY(m_event, database.prepare(std::string("SELECT ") + kWriteColumns + " FROM event WHERE id = ?"));
        LS_TRY(m_block, database.prepare("SELECT id, invocation, op, state FROM event WHERE id BETWEEN ? AND ?"));
        LS_TRY(const int64_t prints, database.integer("SELECT count(*) FROM sqlite_master WHERE name = 'print'")); // since schema 2
        if (prints > 0) {
            LS_TRY(m_prints, database.prepare("SELECT text FROM print WHERE event BETWEEN ? AND ? ORDER BY event"));
        }
        m_hasPrints = prints > 0;
        LS_TRY(m_feed, database.prepare("SELECT dtype, shape, content FROM feed WHERE run = ? AND position = ?"));
        LS_TRY(
            m_abnormal,
            database.prepare("SELECT nan, pos_inf, neg_inf, denormal, saturated, first_index FROM abnormal WHERE event = ? AND slot = ?"));
        return {};
    }

    Result<std::optional<RecordedInvocation>> rowOf(Statement& s) const
    {
        LS_TRY(const bool hasRow, s.step());
        if (!hasRow || s.integer(1) != m_view.run().id) {
            s.reset();
            return std::optional<RecordedInvocation>();
        }
        Result<RecordedInvocation> row = presentRow(s);
        s.reset();
        if (!row.ok()) return std::move(row).takeError();
        return std::optional(std::move(row).value());
    }

    /// Who goes through a run asks for one invocation after the other: they are read in blocks. What is not among them, or damaged, is
    /// asked for by itself.
    Result<std::optional<RecordedInvocation>> invocation(int64_t id)
    {
        const auto known = [this](int64_t wanted) -> const RecordedInvocation* {
            const auto found = std::lower_bound(m_ahead.begin(), m_ahead.end(), wanted,
                                                [](const RecordedInvocation& row, int64_t value) { return row.id < value; });
            return found != m_ahead.end() && found->id == wanted ? &*found : nullptr;
        };
        const RecordedInvocation* row = known(id);
        if (row == nullptr && std::exchange(m_latest, id) == id - 1) {
            LS_CHECK_OK(readAhead(id));
            row = known(id);
        }
        m_latest = id;
        if (row != nullptr) return std::optional(*row);
        m_byId.reset();
        m_byId.bind(1, id);
        return rowOf(m_byId);
    }

    Status readAhead(int64_t first)
    {
        m_ahead.clear();
        m_some.reset();
        m_some.bind(1, first);
        m_some.bind(2, first + kBlock - 1);
        for (;;) {
            LS_TRY(const bool hasRow, m_some.step());
            if (!hasRow) break;
            if (m_some.integer(1) != m_view.run().id) continue;
            if (Result<RecordedInvocation> row = presentRow(m_some); row.ok()) m_ahead.push_back(std::move(row).value());
        }
        m_some.reset();
        return {};
    }

    Result<RecordedInvocation> presentRow(const Statement& s) const
    {
        RecordedInvocation row;
        row.id = s.integer(0);
        row.parent = s.integer(2);
        const int64_t callId = s.integer(3);
        row.iteration = s.isNull(4) ? -1 : s.integer(4);
        row.firstStep = s.integer(5) - m_view.run().base;
        const std::optional<int64_t> steps = s.optionalInteger(6);
        const ViewedCall* const call = m_view.call(callId);
        const auto graphOf = [this](int64_t id) {
            const auto found = m_graphIndex.find(id);
            return found == m_graphIndex.end() ? -1 : found->second;
        };
        if (!call || row.parent >= row.id)
            return Error(ErrorCode::badFile, "invocation " + std::to_string(row.id) + " is damaged").at(m_view.database().path());
        row.graph = graphOf(call->graph);
        row.cond = call->cond != 0 ? graphOf(call->cond) : -1;
        row.role = call->role;
        if (const auto op = m_opIndex.find(call->op); op != m_opIndex.end()) {
            row.callerGraph = op->second.first;
            row.site = op->second.second;
        }
        const int64_t last = m_view.run().last.value_or(m_view.run().base - 1) - m_view.run().base;
        row.steps = steps.value_or(std::max<int64_t>(last + 1 - row.firstStep, 0));
        if (row.graph < 0 || (row.parent != 0 && row.site < 0 && row.role != "frame"))
            return Error(ErrorCode::badFile, "invocation " + std::to_string(row.id) + " enters no graph of its model")
                .at(m_view.database().path());
        return row;
    }

    /// The last invocation that started inside another one. They start in the order of their ids.
    Result<int64_t> lastInside(int64_t caller)
    {
        LS_TRY(const std::optional<RecordedInvocation> around, invocation(caller));
        m_last.reset();
        m_last.bind(1, m_view.run().id);
        LS_TRY(const std::optional<RecordedInvocation> last, rowOf(m_last));
        if (!around || !last) return caller;
        const int64_t end = around->firstStep + around->steps;
        int64_t low = caller, high = last->id;
        while (low < high) {
            const int64_t middle = low + (high - low + 1) / 2;
            LS_TRY(const std::optional<RecordedInvocation> row, invocation(middle));
            if (!row || row->firstStep > end) high = middle - 1;
            else low = middle;
        }
        return low;
    }

    std::optional<int64_t> rowOfOperator(int graph, int op) const
    {
        const std::vector<int64_t>& ops = m_rows[static_cast<size_t>(graph)].ops;
        if (op < 0 || static_cast<size_t>(op) >= ops.size()) return std::nullopt;
        return ops[static_cast<size_t>(op)];
    }

    Status readBlock(int64_t first)
    {
        m_events.assign(static_cast<size_t>(kBlock), std::nullopt);
        m_firstEvent = first;
        const int64_t base = m_view.run().base;
        const int64_t last = std::min(base + first + kBlock - 1, m_view.run().last.value_or(INT64_MAX));
        m_block.reset();
        m_block.bind(1, base + first);
        m_block.bind(2, last);
        for (;;) {
            LS_TRY(const bool hasRow, m_block.step());
            if (!hasRow) break;
            const int64_t step = m_block.integer(0) - base;
            const auto op = m_opIndex.find(m_block.integer(2));
            if (op == m_opIndex.end()) {
                m_block.reset();
                return Error(ErrorCode::badFile, "step " + std::to_string(step) + " is of no operator of its model")
                    .at(m_view.database().path());
            }
            const int64_t state = m_block.isNull(3) ? 0 : m_block.integer(3);
            m_events[static_cast<size_t>(step - first)] = {m_block.integer(1), op->second.first, op->second.second, state == kDead,
                                                           state == kFailed};
        }
        m_block.reset();
        return {};
    }

    Result<std::optional<RecordedValue>> valueOf(const ViewedWrite& write)
    {
        RecordedValue value;
        if (write.state == kNotWritten) return std::optional<RecordedValue>();
        if (write.state == kDead) {
            value.isDead = true;
            return std::optional(std::move(value));
        }
        LS_TRY(std::optional<StoredValue> stored, m_view.valueOf(write));
        if (stored) return std::optional(recorded(std::move(*stored)));
        if (write.state == kNotTaken || !write.hi) return std::optional(std::move(value));
        TensorStatistics& s = value.statistics.emplace();
        s.min = realOf(write.lo).value_or(0);
        s.max = *write.hi;
        s.mean = write.mean.value_or(0);
        s.std = write.std.value_or(0);
        s.zeros = write.zeros.value_or(0);
        m_abnormal.reset();
        m_abnormal.bind(1, write.event);
        m_abnormal.bind(2, write.slot);
        LS_TRY(const bool hasRow, m_abnormal.step());
        s.firstAbnormal = -1;
        if (hasRow) {
            s.nan = m_abnormal.integer(0);
            s.positiveInf = m_abnormal.integer(1);
            s.negativeInf = m_abnormal.integer(2);
            s.denormal = m_abnormal.integer(3);
            s.saturated = m_abnormal.integer(4);
            s.firstAbnormal = m_abnormal.integer(5);
        }
        m_abnormal.reset();
        const ViewedOperator* const op = m_view.op(write.op);
        if (op && static_cast<size_t>(write.slot) < op->results.size()) {
            LS_TRY(const std::optional<std::string> shape, m_view.shapeAt(op->results[static_cast<size_t>(write.slot)], write.event));
            if (const std::optional<Shape> known = shape ? shapeFromText(*shape) : std::nullopt) {
                value.shape = *known;
                s.elements = known->elementCount();
                s.finite = s.elements - s.nan - s.positiveInf - s.negativeInf;
            }
        }
        return std::optional(std::move(value));
    }

    struct Rows {
        std::vector<int64_t> ops;
        std::map<std::string, int64_t> constants; ///< content keys by id
    };

    mutable RunView m_view;
    std::string m_format;
    std::vector<RecordedGraph> m_graphs;
    std::vector<Rows> m_rows;
    std::unordered_map<int64_t, int> m_graphIndex;
    std::unordered_map<int64_t, std::pair<int, int>> m_opIndex;
    std::vector<std::optional<RecordedEvent>> m_events; ///< of a block of steps
    int64_t m_firstEvent = INT64_MIN;
    bool m_hasPrints = false;
    std::vector<RecordedInvocation> m_ahead; ///< of a block of ids
    int64_t m_latest = -1;                   ///< id that was asked for last
    mutable Statement m_prints, m_block, m_byId, m_some, m_last, m_first, m_sibling, m_step, m_event, m_feed, m_abnormal, m_iterations,
        m_writes;
};

Result<std::unique_ptr<RecordedRun>> RecordedRun::open(const TraceReader& trace, const TraceRun* run)
{
    if (!run) run = trace.defaultRun();
    if (!run) return Error(ErrorCode::usage, "holds no run").at(trace.path());
    LS_TRY(RunView view, RunView::create(trace.database(), *run));
    auto impl = std::make_unique<Impl>(std::move(view));
    LS_CHECK_OK(impl->read());
    return std::unique_ptr<RecordedRun>(new RecordedRun(std::move(impl)));
}

RecordedRun::RecordedRun(std::unique_ptr<Impl> impl) : m_impl(std::move(impl)) {}
RecordedRun::~RecordedRun() = default;

const TraceRun& RecordedRun::run() const { return m_impl->m_view.run(); }

const std::string& RecordedRun::modelFormat() const { return m_impl->m_format; }

const std::vector<RecordedGraph>& RecordedRun::graphs() const { return m_impl->m_graphs; }

Result<std::optional<RecordedValue>> RecordedRun::constant(int graph, const std::string& id) const
{
    if (graph < 0 || static_cast<size_t>(graph) >= m_impl->m_rows.size()) return std::optional<RecordedValue>();
    const auto& constants = m_impl->m_rows[static_cast<size_t>(graph)].constants;
    const auto found = constants.find(id);
    if (found == constants.end()) return std::optional<RecordedValue>();
    LS_TRY(std::optional<StoredValue> stored, m_impl->m_view.load(found->second));
    if (!stored) return std::optional<RecordedValue>();
    return std::optional(recorded(std::move(*stored)));
}

Result<std::optional<RecordedInvocation>> RecordedRun::invocation(int64_t id) const { return m_impl->invocation(id); }

Result<std::optional<RecordedInvocation>> RecordedRun::firstInvocation() const
{
    m_impl->m_first.reset();
    m_impl->m_first.bind(1, run().id);
    return m_impl->rowOf(m_impl->m_first);
}

Result<std::optional<RecordedInvocation>> RecordedRun::lastInvocation() const
{
    m_impl->m_last.reset();
    m_impl->m_last.bind(1, run().id);
    return m_impl->rowOf(m_impl->m_last);
}

Result<std::optional<RecordedInvocation>> RecordedRun::sibling(const RecordedInvocation& of, int64_t iteration) const
{
    // Iterations of one execution start one after the other, with what they call in between.
    ViewedInvocation row;
    LS_TRY(row, m_impl->m_view.invocation(of.id));
    const int64_t low = iteration <= of.iteration ? of.parent : of.id, high = iteration <= of.iteration ? of.id : INT64_MAX;
    Statement& s = m_impl->m_sibling;
    s.reset();
    s.bind(1, of.parent);
    s.bind(2, row.call);
    s.bind(3, iteration);
    s.bind(4, low);
    s.bind(5, high);
    return m_impl->rowOf(s);
}

Result<std::optional<int64_t>> RecordedRun::stepOf(const RecordedInvocation& invocation, int graph, int op) const
{
    const std::optional<int64_t> row = m_impl->rowOfOperator(graph, op);
    if (!row) return std::optional<int64_t>();
    Statement& s = m_impl->m_step;
    s.reset();
    s.bind(1, *row);
    s.bind(2, invocation.id);
    s.bind(3, run().base + invocation.firstStep);
    s.bind(4, run().base + invocation.firstStep + invocation.steps);
    LS_TRY(const bool hasRow, s.step());
    std::optional<int64_t> step;
    if (hasRow) step = s.integer(0) - run().base;
    s.reset();
    return step;
}

Result<std::vector<RecordedIteration>> RecordedRun::iterations(int64_t caller, int graph, int op) const
{
    const std::optional<int64_t> row = m_impl->rowOfOperator(graph, op);
    std::vector<RecordedIteration> all;
    if (!row) return all;
    const int64_t base = run().base, last = run().last.value_or(base - 1);
    LS_TRY(const int64_t end, m_impl->lastInside(caller));
    Statement& s = m_impl->m_iterations;
    s.reset();
    s.bind(1, caller + 1);
    s.bind(2, end);
    s.bind(3, caller);
    s.bind(4, *row);
    s.bind(5, run().id);
    for (;;) {
        LS_TRY(const bool hasRow, s.step());
        if (!hasRow) break;
        const int64_t first = s.integer(2);
        all.push_back({s.integer(0), s.integer(1), first - base, s.optionalInteger(3).value_or(std::max<int64_t>(last + 1 - first, 0))});
    }
    s.reset();
    return all;
}

Status RecordedRun::eachWrite(int graph, int op, int slot, int64_t first, int64_t last, const WriteHandler& handle) const
{
    const std::optional<int64_t> row = m_impl->rowOfOperator(graph, op);
    if (!row) return {};
    const int64_t base = run().base;
    Statement& s = m_impl->m_writes;
    s.reset();
    s.bind(1, *row);
    s.bind(2, base + first);
    s.bind(3, base + last);
    for (bool goesOn = true; goesOn;) {
        LS_TRY(const bool hasRow, s.step());
        if (!hasRow) break;
        if (slot == 0 && s.isNull(6) && s.isNull(10) && (s.isNull(4) || s.integer(4) == 0)) { // a single element, which is most common
            if (const std::optional<double> number = realOf(s.value(5))) {
                goesOn = handle({s.integer(0) - base, s.integer(1), number, {}});
                continue;
            }
        }
        ViewedWrite write = readWrite(s);
        if (slot > 0) {
            LS_TRY(const std::vector<ViewedWrite> others, m_impl->m_view.outputsOf(write));
            const auto wanted = std::ranges::find(others, slot, &ViewedWrite::slot);
            if (wanted == others.end()) continue;
            write = *wanted;
        }
        RecordedWrite told{write.event - base, write.invocation, {}, {}};
        if (!write.content && !write.hi && write.state == 0) told.number = realOf(write.lo);
        if (!told.number) {
            LS_TRY(told.value, m_impl->valueOf(write));
        }
        if (told.number || told.value) goesOn = handle(std::move(told));
    }
    s.reset();
    return {};
}

Result<std::optional<RecordedEvent>> RecordedRun::event(int64_t step) const
{
    if (step < 0) return std::optional<RecordedEvent>();
    if (step - step % kBlock != m_impl->m_firstEvent) LS_CHECK_OK(m_impl->readBlock(step - step % kBlock));
    return m_impl->m_events[static_cast<size_t>(step % kBlock)];
}

Result<std::optional<RecordedValue>> RecordedRun::value(int64_t step, int slot) const
{
    Statement& s = m_impl->m_event;
    s.reset();
    s.bind(1, run().base + step);
    LS_TRY(const bool hasRow, s.step());
    if (!hasRow) {
        s.reset();
        return std::optional<RecordedValue>();
    }
    ViewedWrite write = readWrite(s);
    s.reset();
    if (slot > 0) {
        LS_TRY(const std::vector<ViewedWrite> others, m_impl->m_view.outputsOf(write));
        bool found = false;
        for (const ViewedWrite& other : others)
            if (other.slot == slot) {
                write = other;
                found = true;
            }
        if (!found) return std::optional<RecordedValue>();
    }
    return m_impl->valueOf(write);
}

Result<std::string> RecordedRun::printed(int64_t first, int64_t last) const
{
    std::string text;
    if (!m_impl->m_hasPrints) return text;
    Statement& s = m_impl->m_prints;
    s.reset();
    s.bind(1, run().base + first);
    s.bind(2, run().base + last);
    for (;;) {
        LS_TRY(const bool hasRow, s.step());
        if (!hasRow) break;
        text += s.text(0);
    }
    s.reset();
    return text;
}

Result<std::optional<RecordedValue>> RecordedRun::feed(int position) const
{
    Statement& s = m_impl->m_feed;
    s.reset();
    s.bind(1, run().id);
    s.bind(2, position);
    LS_TRY(const bool hasRow, s.step());
    std::optional<int64_t> content;
    if (hasRow) content = s.optionalInteger(2);
    s.reset();
    if (!content) return std::optional<RecordedValue>();
    LS_TRY(std::optional<StoredValue> stored, m_impl->m_view.load(*content));
    if (!stored) return std::optional<RecordedValue>();
    return std::optional(recorded(std::move(*stored)));
}

} // namespace loopscope
