// A recorded run and the model it was made of, opened to be stepped through.
#pragma once

#include "app/replay/recorded_model.h"
#include "engine/observe/events.h"
#include "tracer/api/trace_reader.h"

#include <memory>
#include <string>

namespace loopscope::app {

struct RecordingFile {
    std::unique_ptr<TraceReader> reader;
    std::unique_ptr<RecordedRun> run; ///< of `reader`
    Model model;
    GraphId root;

    /// "level statistics, iterations 0..63"; for messages about what is not there.
    std::string level() const;
};

/// `runId` 0: the newest complete run. Errors: badFile; usage: there is no such run, or nothing in it.
Result<RecordingFile> openRecording(const std::string& path, int64_t runId);

/// How a recorded invocation was entered.
struct RecordedRole {
    CallRole role = CallRole::main;
    int32_t branch = -1;
};
RecordedRole recordedRole(const std::string& text);

/// Why nothing follows at `address`, after the last recorded step.
Error recordingEnds(const TraceRun& run, const std::string& address);

} // namespace loopscope::app
