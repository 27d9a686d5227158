// What a session is opened on, and the parts that the program hands in: the engine knows no file format and no trace.
#pragma once

#include "engine/api/inputs/inputs.h"
#include "engine/api/inputs/run_target.h"
#include "engine/base/cancel.h"
#include "engine/debug/reference/reference.h"
#include "engine/debug/timeline_info.h"
#include "engine/exec/execution_options.h"
#include "engine/exec/executor.h"
#include "engine/exec/given_results.h"
#include "engine/observe/execution_observer.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace loopscope {

/// What is asked of a recording.
struct RecordingRequest {
    std::string path;
    std::string level; ///< as the recorder names it; empty: its default
    bool overwrite = false;
    std::optional<uint64_t> seed; ///< of random inputs; none: there are none
};

/// A recording that is on, or what it came to.
struct RecordingState {
    std::string path, level;
    bool hasRun = false;    ///< a run began while it was on
    bool isOn = false;      ///< the present run is being recorded
    bool wasEdited = false; ///< the present run was edited: nothing more of it is recorded
    int64_t steps = 0;      ///< recorded of the present run
    int64_t events = 0;     ///< over all runs; known when it has ended
    int64_t runs = 0;
    std::string outcome; ///< "complete", or why not; known when it has ended
};

/// Writes a recording. It hears every step of a run once, in whatever order the user moves through it, and nothing after the first edit:
/// a recording tells one course of events. Belongs to the engine's thread from the next run on.
class RunRecorder : public ExecutionObserver {
public:
    /// Where the inputs of the next run come from.
    virtual void setFeeds(const BoundInputs& inputs) = 0;
    virtual void edited() = 0;
    /// Closes the file; nothing is heard afterwards. Errors: cannotWrite.
    virtual Status finish() = 0;
    virtual RecordingState state() const = 0;
};

/// A model with an executor, made by openModel() or by the program (recordings).
struct DebugSubject {
    std::shared_ptr<const void> owner; ///< of the model, if nobody else owns it
    std::string name;                  ///< file, for messages
    const Model* model = nullptr;      ///< outlives the session
    RunTarget target;
    std::unique_ptr<CancelFlag> cancel;
    std::unique_ptr<GivenResults> given; ///< its registry; null: every operator has a kernel
    std::unique_ptr<Executor> executor;  ///< looks at `cancel`
    bool isReplay = false;               ///< a recording: it has its inputs
    std::string note;                    ///< to be said once, before the first request; empty: nothing
    std::string selection;               ///< TensorFlow graphs: "22 of 25 nodes after pruning; …"
    std::string level;                   ///< of a recording, "level statistics": what is in it
    std::vector<std::string> inputs;     ///< as typed after --input
    uint64_t seed = 1;
    TimelineBudget budget;
    /// What the model said in those steps of a recording; asked by the engine's thread.
    std::function<std::string(int64_t first, int64_t last)> printed;
    /// Begins a recording of the runs to come. Empty: it cannot be recorded.
    std::function<Result<std::unique_ptr<RunRecorder>>(const RecordingRequest&)> record;
    /// The result `slot` of an operator in the run of a recording, by the operator's address; belongs to the engine's thread. Empty: there
    /// are no recordings here.
    std::function<Result<GivenResult>(const std::string& path, int slot)> recorded;
    /// Makes the run that this one is held against, for inputs as typed; `last` is what the run before was fed with, null: there was none.
    /// Empty: there is no reference.
    std::function<Result<std::unique_ptr<Reference>>(const std::vector<std::string>& inputs, const BoundInputs* last)> reference;
};

/// Reads a model file of any format.
using ModelReader = std::function<Result<std::shared_ptr<const Model>>(const std::string& path)>;

struct OpenOptions {
    std::string signature;           ///< empty: the primary graph
    std::vector<std::string> inputs; ///< "x=27", as after --input
    ExecutionOptions execution;      ///< signature, cancel and keepAll are set by opening
};

/// A model to be run, which outlives the subject. Errors: usage (signature), as of makeExecutor.
Result<DebugSubject> subjectOf(const Model& model, const std::string& name, OpenOptions options = {});
/// A file. Errors: of the reader; as above.
Result<DebugSubject> openModel(const std::string& path, const ModelReader& reader, OpenOptions options = {});

} // namespace loopscope
