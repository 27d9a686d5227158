// What the window needs from the program around it. app/desktop implements it over the terminal debugger; tests may implement it over
// anything. Nothing here knows of widgets.
#pragma once

#include "engine/api/debug_session.h"
#include "engine/base/result.h"
#include "engine/ir/model.h"
#include "engine/tensor/npy.h"
#include "tracer/api/trace_reader.h"
#include "viewer/bridge/compared_run.h"
#include "viewer/bridge/fused_side.h"
#include "viewer/bridge/raised_model.h"

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope::viewer {

/// What a command line said, while it ran.
struct ConsoleEvent {
    enum class Kind : uint8_t { echo, stopped, reply, log, error } kind = Kind::reply;
    std::string text;    ///< lines are ended
    std::string message; ///< of an error: the line alone
};
using ConsoleSink = std::function<void(const ConsoleEvent&)>;

/// One input of the run.
struct InputPort {
    std::string name;
    std::string type; ///< "f32[48,2,3]"; unknown dimensions as in the text language
    DType dtype = DType::unknown;
    Shape shape;         ///< −1: unknown dimension
    std::string source;  ///< as after `--input NAME=`: "@7", "in.npy", "3"; empty: not given yet
    std::string problem; ///< why the source does not fit; empty: it does or is not given
};

/// One opened model or recording with its debugger. Threads: perform() and execute() on one thread at a time (the bridge's), session() from
/// any, the rest on the GUI thread while neither runs.
class Backend {
public:
    virtual ~Backend() = default;
    virtual const Model& model() const = 0;       ///< outlives every user of the backend
    virtual std::string path() const = 0;         ///< as opened
    virtual std::string name() const = 0;         ///< "lstm_seq.tflite"
    virtual std::string contentHash() const = 0;  ///< under which view, breakpoints and inputs are remembered
    virtual bool isReplay() const = 0;            ///< a recording
    virtual const TraceReader* trace() const = 0; ///< of a recording, else null

    virtual std::vector<InputPort> inputs() const = 0;
    /// Checked when the run begins; the port then says its problem.
    virtual void setInput(std::string_view name, std::string_view source) = 0;
    /// What a source would give. From any thread. Errors: usage, badFile.
    virtual Result<Array> previewInput(std::string_view name, std::string_view source) const = 0;

    /// Carries out what was clicked. Events come on the calling thread. False if it failed.
    virtual bool perform(const Request& request, const ConsoleSink& sink) = 0;
    /// The same of a line that a person typed (docs/debugging.md).
    virtual bool execute(std::string_view line, const ConsoleSink& sink) = 0;
    virtual std::string prompt() const = 0;
    /// Completions of the last word of a line that is being typed.
    virtual std::vector<std::string> complete(std::string_view line) const = 0;
    virtual DebugSession& session() = 0;
    virtual bool isStarted() const = 0;
    virtual bool isRecording() const = 0;
    /// Of the last stop; read where perform() is called, between two calls. Null: there was none.
    virtual const StopReport* lastReport() const { return nullptr; }
    /// Read where lastReport() is.
    virtual ComparedRun compared() const { return {}; }
    /// Of a TensorFlow 1 graph: what raising makes of it. From any thread; takes a while. Errors: unsupported, usage (another dialect).
    virtual Result<std::shared_ptr<const RaisedModel>> raised() const
    {
        return Error(ErrorCode::unsupported, "this model cannot be raised");
    }
    /// What the other side is, where that is the model itself, fused; null: it is something else, or there is none.
    virtual std::shared_ptr<const FusedSide> fused() const { return nullptr; }
    /// Why the operator of that name was not fused with others, or what it was fused into, in lines. From any thread; the first time
    /// takes a while. Errors: of fusing.
    virtual Result<std::vector<std::string>> whyNotFused(std::string_view) const { return std::vector<std::string>(); }
    virtual uint64_t seed() const { return 1; }
    virtual std::string profile() const { return "reference"; }
};

/// Opens things. Called on a worker thread; must be safe there.
class Services {
public:
    virtual ~Services() = default;
    /// A model file, a SavedModel folder or a recording, recognised by content. Errors: badFile, usage.
    virtual Result<std::unique_ptr<Backend>> open(const std::string& path, std::stop_token stop) = 0;
    /// Arguments for `loopscope` as the CLI takes them, run in this process: what exports and comparisons use. Returns its output.
    virtual Result<std::string> runCommand(const std::vector<std::string>& words) = 0;
    struct Sample {
        std::string title, text, button; ///< of the card on the welcome page
        std::string path;
        std::string other;                 ///< Compare: the second file
        std::vector<std::string> commands; ///< of the debugger, run after opening
        std::string task;                  ///< "Debug", …
    };
    virtual std::vector<Sample> samples() const = 0;
};

} // namespace loopscope::viewer
