// Recording the script into a file of its own, and small tools to look at what came out.
#pragma once

#include "script.h"
#include "tracer/api/trace_reader.h"
#include "tracer/record/recorder.h"

#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

namespace loopscope::test {

/// A path in a fresh folder of the running test.
std::string tracePath(const std::string& name = "t.lstrace");

/// A recording of the script and the facts that it wrote down.
struct Recording {
    std::string path;
    std::vector<Fact> facts; ///< of the last run, as the members below
    std::vector<std::vector<Fact>> factsOfRuns;
    std::vector<InvocationFact> invocations;
    std::vector<std::pair<int64_t, std::vector<int64_t>>> shapes;
    int64_t steps = 0;
    RecordingSummary summary;
    std::unique_ptr<TraceReader> reader;

    /// Rows as text, cells joined by "|", NULL as "NULL". Fails the test on an error.
    std::vector<std::string> rows(std::string_view sql, const QueryParameters& parameters = {}) const;
    std::vector<std::string> recipe(std::string_view name, const QueryParameters& parameters = {}) const;
    int64_t number(std::string_view sql) const;
};

RecorderOptions optionsFor(const std::string& path, TraceLevel level = TraceLevel::statistics);
/// Records one run per entry into one file.
Recording record(RecorderOptions options, const std::vector<ScriptOptions>& runs = {ScriptOptions()});
/// Runs statements on a closed trace, as a tool that adds rows would.
void change(const std::string& path, const std::string& sql);
/// The same, and opens it again.
void edit(Recording& recording, const std::string& sql);
/// Reads the rows of an open reader, as Recording::rows does.
std::vector<std::string> rowsOf(const TraceReader& reader, std::string_view sql, const QueryParameters& parameters = {});

/// "1", "0.5": as sqlText prints a number that a query computed.
std::string cell(double value);
std::string cell(int64_t value);

} // namespace loopscope::test
