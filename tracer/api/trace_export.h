// Traces in other forms: arrays for NumPy, rows for spreadsheets, timelines for Perfetto and Chrome.
#pragma once

#include "engine/base/cancel.h"
#include "engine/base/result.h"
#include "engine/tensor/npz.h"
#include "tracer/api/trace_reader.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace loopscope {

enum class TraceExportFormat : unsigned char { npz, npy, csv, perfetto };

struct TraceExportOptions {
    TraceExportFormat format = TraceExportFormat::csv;
    std::vector<std::string> patterns{}; ///< address patterns of the writes wanted; empty: all
    std::vector<std::string> counters{}; ///< perfetto: values shown as counters, addresses or labels
    std::optional<int64_t> run{};        ///< default: TraceReader::defaultRun
    /// npz: what is written of a value, with names behind its own; not given: the value itself, as far as it has a form in NumPy's files.
    std::function<std::vector<NamedTensor>(NamedTensor)> parts{};
    bool overwrite = false;
    const CancelFlag* cancel = nullptr;
};

struct TraceExportSummary {
    int64_t writes = 0;    ///< exported
    int64_t notStored = 0; ///< npz, npy: matching writes whose elements are not in the trace
    int64_t noForm = 0;    ///< npz: values of which `parts` gave nothing
};

/// Writes `path` aside and renames it. npz: one array per write, the key is its address; a value of a single element that the pattern
/// finds in several iterations also works without stored values. npy: exactly one write, or all iterations of one operator stacked.
/// Errors: usage (pattern, nothing matches), cannotWrite, cancelled.
Result<TraceExportSummary> exportTrace(const TraceReader& trace, const std::string& path, const TraceExportOptions& options);

} // namespace loopscope
