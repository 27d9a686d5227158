// What `debug` opens: a model to run, and what it is held against.
#pragma once

#include "app/wiring/command_line.h"
#include "engine/api/debug_subject.h"

#include <functional>
#include <string>

namespace loopscope {
struct LoadedModel;
}

namespace loopscope::app {

/// A model to be run, which outlives it, and can be recorded. Errors: as of subjectOf().
Result<DebugSubject> liveSubject(const Model& model, const std::string& name, const std::string& signature, ExecutionOptions options);

/// Makes `subject` be held against another model or the arrays of an .npz, which are opened now; the reference run begins with each run.
/// Errors: as of opening them.
Status holdAgainst(DebugSubject& subject, const std::string& path, const Tolerance& tolerance, const ExecutionOptions& options);

/// The same against a model that is there. `subject`'s model is alike: the same inputs and outputs by name or place.
Status holdAgainst(DebugSubject& subject, LoadedModel other, const Tolerance& tolerance, const ExecutionOptions& options);

/// From the options of `debug`. It owns its model. Errors: usage, badFile, unsupported.
/// `prepare`: told of the model before its executor is made with these options; empty: nobody is.
Result<DebugSubject> openSubject(const Arguments& arguments,
                                 const std::function<void(const Model& model, GraphId root, ExecutionOptions& options)>& prepare = {});

} // namespace loopscope::app
