// A run as the JSON that Perfetto and chrome://tracing open: operators and invocations as slices, alerts as instants, chosen values as
// counters. Times are put together from durations, since a trace stores no start times.
#include "engine/base/json_text.h"
#include "tracer/export/export.h"
#include "tracer/export/output_file.h"
#include "tracer/schema/json.h"

#include <algorithm>
#include <map>
#include <set>

namespace loopscope {

namespace {

/// Nanoseconds as microseconds with three decimals.
std::string micros(int64_t ns)
{
    const std::string digits = std::to_string(ns % 1000);
    return std::to_string(ns / 1000) + "." + std::string(3 - digits.size(), '0') + digits;
}

struct OpenSlice {
    int64_t invocation = 0;
    int64_t start = 0;  ///< ns
    int64_t cursor = 0; ///< where the next thing inside begins
};

class PerfettoWriter {
public:
    PerfettoWriter(SelectedWrites& writes, OutputFile& file, std::set<int64_t> counters)
        : m_writes(writes),
          m_view(writes.view()),
          m_file(file),
          m_counters(std::move(counters))
    {
    }

    Status write(TraceExportSummary& summary)
    {
        m_file.write("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
        const std::string model = m_view.run().backend + " run " + std::to_string(m_view.run().id);
        emit("{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":" + pid() + ",\"args\":{\"name\":" + jsonQuoted(model) + "}}");
        emit("{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":" + pid() +
             ",\"tid\":1,\"args\":{\"name\":" + jsonQuoted(m_view.run().backend) + "}}");
        LS_CHECK_OK(m_writes.forEach([&](const ViewedWrite& w, const std::string& address) -> Status {
            ++summary.writes;
            return w.slot == 0 ? writeEvent(w, address) : writeCounter(w, m_view.op(w.op), m_lastStart);
        }));
        while (!m_open.empty()) close();
        LS_CHECK_OK(writeAlerts());
        m_file.write("\n]}\n");
        return {};
    }

private:
    std::string pid() const { return std::to_string(m_view.run().id); }

    void emit(const std::string& object)
    {
        if (m_hasObject) m_file.write(",\n");
        m_hasObject = true;
        m_file.write(object);
    }

    /// Closes and opens slices until `chain` is what is open.
    Status align(const std::vector<ViewedInvocation>& chain)
    {
        size_t common = 0;
        while (common < m_open.size() && common < chain.size() && m_open[common].invocation == chain[common].id) ++common;
        while (m_open.size() > common) close();
        for (size_t i = common; i < chain.size(); ++i) {
            OpenSlice slice;
            slice.invocation = chain[i].id;
            slice.start = slice.cursor = m_open.empty() ? m_end : m_open.back().cursor;
            m_open.push_back(slice);
            m_details[chain[i].id] = chain[i];
        }
        return {};
    }

    void close()
    {
        const OpenSlice slice = m_open.back();
        m_open.pop_back();
        const ViewedInvocation row = m_details[slice.invocation];
        m_details.erase(slice.invocation);
        const ViewedCall* call = m_view.call(row.call);
        const ViewedOperator* caller = call != nullptr ? m_view.op(call->op) : nullptr;
        std::string name = caller != nullptr ? caller->label : call != nullptr ? call->role : "?";
        if (call != nullptr && call->role == "frame") name = call->frame;
        if (row.iteration >= 0) name += "@" + std::to_string(row.iteration);
        else if (caller != nullptr) name += ":" + call->role;
        const int64_t duration = std::max(row.ns.value_or(0), slice.cursor - slice.start);
        emit("{\"ph\":\"X\",\"name\":" + jsonQuoted(name) + ",\"cat\":\"invocation\",\"pid\":" + pid() + ",\"tid\":1,\"ts\":" +
             micros(slice.start) + ",\"dur\":" + micros(duration) + ",\"args\":{\"steps\":" + std::to_string(row.steps.value_or(0)) + "}}");
        const int64_t end = slice.start + duration;
        if (m_open.empty()) m_end = end;
        else m_open.back().cursor = std::max(m_open.back().cursor, end);
    }

    Status writeEvent(const ViewedWrite& w, const std::string& address)
    {
        LS_TRY(const std::vector<ViewedInvocation> chain, m_view.chainOf(w.invocation));
        LS_CHECK_OK(align(chain));
        const ViewedOperator* op = m_view.op(w.op);
        if (op == nullptr || m_open.empty()) return {};
        OpenSlice& frame = m_open.back();
        m_lastStart = frame.cursor;
        const int64_t duration = w.ns.value_or(0);
        // The slices of the invocations that a call made say how long it took: no slice of its own around them.
        if (!op->isCall) {
            const std::string part = address.substr(0, address.rfind(':'));
            std::string args = "\"address\":" + jsonQuoted(part) + ",\"step\":" + std::to_string(w.event - m_view.run().base);
            if (!op->results.empty()) {
                LS_TRY(const std::optional<std::string> shape, m_view.shapeAt(op->results[0], w.event));
                if (shape) args += ",\"shape\":" + jsonQuoted(*shape);
            }
            const std::optional<double> lo = realOf(w.lo);
            if (lo) {
                args += ",\"min\":" + jsonNumber(*lo) + ",\"max\":" + jsonNumber(w.hi.value_or(*lo)) +
                        ",\"mean\":" + jsonNumber(w.mean.value_or(*lo));
            }
            emit("{\"ph\":\"X\",\"name\":" + jsonQuoted(op->label) + ",\"cat\":" + jsonQuoted(w.state == 1 ? "dead" : op->kind) +
                 ",\"pid\":" + pid() + ",\"tid\":1,\"ts\":" + micros(frame.cursor) + ",\"dur\":" + micros(duration) + ",\"args\":{" + args +
                 "}}");
            frame.cursor += duration;
        }
        m_starts[w.event] = m_lastStart;
        if (m_starts.size() > kMostStarts) m_starts.erase(m_starts.begin());
        return writeCounter(w, op, m_lastStart);
    }

    Status writeCounter(const ViewedWrite& w, const ViewedOperator* op, int64_t at)
    {
        const std::optional<double> lo = realOf(w.lo);
        if (op == nullptr || !lo || !m_counters.contains(op->id)) return {};
        const std::string name =
            static_cast<size_t>(w.slot) < op->results.size() ? op->results[static_cast<size_t>(w.slot)].name : op->label;
        emit("{\"ph\":\"C\",\"name\":" + jsonQuoted(name) + ",\"pid\":" + pid() + ",\"ts\":" + micros(at) +
             ",\"args\":{\"mean\":" + jsonNumber(w.mean.value_or(*lo)) + "}}");
        return {};
    }

    Status writeAlerts()
    {
        LS_TRY(Statement s, m_view.database().prepare("SELECT event, kind, text FROM alert WHERE run = ? ORDER BY id"));
        s.bind(1, m_view.run().id);
        for (;;) {
            LS_TRY(const bool hasRow, s.step());
            if (!hasRow) return {};
            const auto start = m_starts.lower_bound(s.integer(0));
            emit("{\"ph\":\"i\",\"s\":\"p\",\"name\":" + jsonQuoted(s.text(1)) + ",\"pid\":" + pid() + ",\"tid\":1,\"ts\":" +
                 micros(start == m_starts.end() ? m_end : start->second) + ",\"args\":{\"text\":" + jsonQuoted(s.text(2)) + "}}");
        }
    }

    static constexpr size_t kMostStarts = 1'000'000;
    SelectedWrites& m_writes;
    RunView& m_view;
    OutputFile& m_file;
    std::set<int64_t> m_counters;
    std::vector<OpenSlice> m_open;
    std::map<int64_t, ViewedInvocation> m_details;
    std::map<int64_t, int64_t> m_starts; ///< event id → ns, for alerts
    int64_t m_end = 0, m_lastStart = 0;
    bool m_hasObject = false;
};

} // namespace

Result<TraceExportSummary> exportPerfetto(const TraceReader& trace, const std::string& path, const TraceExportOptions& options)
{
    std::set<int64_t> counters;
    for (const std::string& counter : options.counters) {
        LS_TRY(const int64_t op, trace.resolveOperator(counter));
        counters.insert(op);
    }
    LS_TRY(SelectedWrites writes, SelectedWrites::create(trace, options));
    LS_TRY(OutputFile file, OutputFile::create(path));
    TraceExportSummary summary;
    LS_CHECK_OK(PerfettoWriter(writes, file, std::move(counters)).write(summary));
    if (summary.writes == 0 && !options.patterns.empty()) return Error(ErrorCode::usage, "nothing matches").at("export");
    LS_CHECK_OK(file.finish());
    return summary;
}

} // namespace loopscope
