// A recorded run on one page, for people who have nothing installed: the graph with the time of its operators, what the loops computed, the
// first NaN, the slowest operators, memory. It only reads the recording, which may be a stranger's: what cannot be read there is said.
#pragma once

#include "app/output/report_page.h"
#include "engine/base/cancel.h"
#include "tracer/api/trace_reader.h"

namespace loopscope::app {

struct RunReportOptions {
    double seconds = 5;  ///< for each question to the recording
    bool isDrawn = true; ///< else no picture and no plots
    const CancelFlag* cancel = nullptr;
};

/// Errors: cancelled. Whatever else goes wrong stands where the answer would.
Result<ReportPage> runReport(const TraceReader& trace, const TraceRun& run, const RunReportOptions& options);

} // namespace loopscope::app
