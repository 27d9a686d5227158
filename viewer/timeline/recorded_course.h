// The course of a recorded run, read from the recording itself: its timeline is there before anything is replayed.
#pragma once

#include "engine/api/inspector.h"
#include "engine/ir/model.h"

#include <stop_token>
#include <string>

namespace loopscope::viewer {

/// The newest complete run of the trace as one part of a survey, from tick 0. `model`: as the trace describes it. Empty where the trace
/// cannot be read, or not before `stop`. From any thread.
RunSurvey recordedSurvey(const Model& model, const std::string& path, std::stop_token stop = {});

} // namespace loopscope::viewer
