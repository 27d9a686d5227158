#include "tracer/export/export.h"

#include <sys/stat.h>

namespace loopscope {

Result<SelectedWrites> SelectedWrites::create(const TraceReader& trace, const TraceExportOptions& options)
{
    std::vector<AddressPattern> patterns;
    for (const std::string& text : options.patterns) {
        LS_TRY(AddressPattern pattern, AddressPattern::parse(text));
        patterns.push_back(std::move(pattern));
    }
    const TraceRun* run = options.run ? trace.findRun(*options.run) : trace.defaultRun();
    if (run == nullptr)
        return Error(ErrorCode::usage, options.run ? "no run " + std::to_string(*options.run) : "the trace holds no run").at(trace.path());
    LS_TRY(RunView view, RunView::create(trace.database(), *run));
    return SelectedWrites(std::move(view), std::move(patterns), options.cancel);
}

Status SelectedWrites::forEach(const std::function<Status(const ViewedWrite&, const std::string&)>& handle)
{
    const TraceRun& run = m_view.run();
    const auto each = [&](const ViewedWrite& write) -> Result<bool> {
        if (m_cancel != nullptr && m_cancel->requested()) return Error(ErrorCode::cancelled, "cancelled").at("export");
        LS_TRY(const std::string address, m_view.addressOf(write));
        if (!m_patterns.empty()) {
            // A pattern may name the operator or the output.
            LS_TRY(const Address output, parseAddress(address));
            LS_TRY(const Address op, parseAddress(address.substr(0, address.rfind(':'))));
            bool isWanted = false;
            for (const AddressPattern& pattern : m_patterns) isWanted = isWanted || pattern.matches(output) || pattern.matches(op);
            if (!isWanted) return true;
        }
        LS_CHECK_OK(handle(write, address));
        return true;
    };
    return m_view.forEachWrite(run.first, run.last.value_or(run.first - 1), each);
}

Result<TraceExportSummary> exportTrace(const TraceReader& trace, const std::string& path, const TraceExportOptions& options)
{
    struct stat info = {};
    if (!options.overwrite && stat(path.c_str(), &info) == 0) return Error(ErrorCode::cannotWrite, "exists; --force overwrites").at(path);
    switch (options.format) {
    case TraceExportFormat::npz:
    case TraceExportFormat::npy: return exportArrays(trace, path, options);
    case TraceExportFormat::csv: return exportCsv(trace, path, options);
    case TraceExportFormat::perfetto: return exportPerfetto(trace, path, options);
    }
    return Error(ErrorCode::internal, "no such export format");
}

} // namespace loopscope
