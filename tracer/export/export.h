// What the exporters share: which writes are wanted, and their addresses.
#pragma once

#include "engine/observe/address.h"
#include "tracer/api/trace_export.h"
#include "tracer/read/recorded_names.h"
#include "tracer/read/run_view.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace loopscope {

/// The writes of a run that the patterns want, in order.
class SelectedWrites {
public:
    /// Patterns, addresses, and short names that are unambiguous: `if#2`, `next_n`, `while#0@5/if#2`. Errors: usage (a pattern that cannot
    /// be read, a name that nothing has).
    static Result<SelectedWrites> create(const TraceReader& trace, const TraceExportOptions& options);

    RunView& view() { return m_view; }
    /// `handle` gets each write with its address. Errors: as it gives; cancelled.
    Status forEach(const std::function<Status(const ViewedWrite&, const std::string& address)>& handle);

private:
    SelectedWrites(RunView view, std::vector<AddressPattern> patterns, std::vector<RecordedPlace> places, const CancelFlag* cancel)
        : m_view(std::move(view)),
          m_patterns(std::move(patterns)),
          m_places(std::move(places)),
          m_cancel(cancel)
    {
    }
    bool isPlace(const ViewedWrite& write) const;
    Result<bool> isWanted(const ViewedWrite& write, const std::string& address) const;

    RunView m_view;
    std::vector<AddressPattern> m_patterns;
    std::vector<RecordedPlace> m_places; ///< of short names
    const CancelFlag* m_cancel;
};

Result<TraceExportSummary> exportArrays(const TraceReader& trace, const std::string& path, const TraceExportOptions& options);
Result<TraceExportSummary> exportCsv(const TraceReader& trace, const std::string& path, const TraceExportOptions& options);
Result<TraceExportSummary> exportPerfetto(const TraceReader& trace, const std::string& path, const TraceExportOptions& options);

} // namespace loopscope
