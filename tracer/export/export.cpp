#include "tracer/export/export.h"

#include <algorithm>
#include <sys/stat.h>

namespace loopscope {

namespace {

/// Whether a text is neither a pattern nor an address, which begin with a graph.
Result<bool> isShortName(const TraceReader& trace, const std::string& text)
{
    if (text.starts_with(".../") || text.starts_with("**") || text.find_first_of("*?\"") != std::string::npos) return false;
    LS_TRY(Statement graph, trace.database().prepare("SELECT 1 FROM graph WHERE name = ?"));
    graph.bind(1, text.substr(0, text.find_first_of("/@")));
    LS_TRY(const bool isGraph, graph.step());
    return !isGraph;
}

} // namespace

Result<SelectedWrites> SelectedWrites::create(const TraceReader& trace, const TraceExportOptions& options)
{
    std::vector<AddressPattern> patterns;
    std::vector<RecordedPlace> places;
    for (const std::string& text : options.patterns) {
        LS_TRY(const bool isShort, isShortName(trace, text));
        if (isShort && text.find('@') == std::string::npos) {
            Result<RecordedPlace> place = findPlace(trace, text);
            if (!place.ok()) return std::move(place).takeError().at("export");
            places.push_back(*place);
            continue;
        }
        LS_TRY(AddressPattern pattern, AddressPattern::parse(isShort ? ".../" + text : text));
        patterns.push_back(std::move(pattern));
    }
    const TraceRun* run = options.run ? trace.findRun(*options.run) : trace.defaultRun();
    if (run == nullptr)
        return Error(ErrorCode::usage, options.run ? "no run " + std::to_string(*options.run) : "the trace holds no run").at(trace.path());
    LS_TRY(RunView view, RunView::create(trace.database(), *run));
    return SelectedWrites(std::move(view), std::move(patterns), std::move(places), options.cancel);
}

bool SelectedWrites::isPlace(const ViewedWrite& write) const
{
    return std::ranges::any_of(
        m_places, [&](const RecordedPlace& place) { return place.op == write.op && (!place.slot || *place.slot == write.slot); });
}

Result<bool> SelectedWrites::isWanted(const ViewedWrite& write, const std::string& address) const
{
    if (m_patterns.empty() && m_places.empty()) return true;
    if (isPlace(write)) return true;
    if (m_patterns.empty()) return false;
    // A pattern may name the operator or the output.
    LS_TRY(const Address output, parseAddress(address));
    LS_TRY(const Address op, parseAddress(address.substr(0, address.rfind(':'))));
    return std::ranges::any_of(m_patterns, [&](const AddressPattern& pattern) { return pattern.matches(output) || pattern.matches(op); });
}

Status SelectedWrites::forEach(const std::function<Status(const ViewedWrite&, const std::string&)>& handle)
{
    const TraceRun& run = m_view.run();
    const auto each = [&](const ViewedWrite& write) -> Result<bool> {
        if (m_cancel != nullptr && m_cancel->requested()) return Error(ErrorCode::cancelled, "cancelled").at("export");
        LS_TRY(const std::string address, m_view.addressOf(write));
        LS_TRY(const bool wanted, isWanted(write, address));
        if (!wanted) return true;
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
