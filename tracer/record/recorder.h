// The recorder: an ExecutionObserver that writes what happens into a trace file, without ever stopping the run.
#pragma once

#include "engine/base/cancel.h"
#include "engine/base/result.h"
#include "engine/ir/derivation.h"
#include "engine/ir/model.h"
#include "engine/observe/address.h"
#include "engine/observe/execution_observer.h"
#include "tracer/api/trace_types.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace loopscope {

/// What is known of the file that a model came from.
struct TraceModelInfo {
    std::string path;   ///< as opened; empty: built in memory
    std::string format; ///< "tflite", "circle", "pb", "pbtxt", "meta", "saved_model", "lsir"
    uint64_t bytes = 0;
    std::string hash;                    ///< XXH3-128, 32 hex digits; empty: not known
    std::vector<Derivation> derivedFrom; ///< what it was raised, fused or lowered from, the nearest first
};

/// Where one input of a run came from, as the user wrote it.
struct TraceFeed {
    int32_t position = 0; ///< among the root graph's inputs
    std::string source;   ///< "in.npy", "@7", "[1,2]"
};

/// A graph as text: the lines that a debugger lists, and which line each operator is on (from 0; −1: none).
struct TraceListing {
    std::string text;
    std::vector<int32_t> operatorLines;
};

/// Where an operator of a graph that is cut between devices stands.
struct TracePlace {
    GraphId graph;
    OperatorId op;
    std::string device;
    int64_t rank = 0;
};

struct RecorderOptions {
    std::string path;       ///< created; NAME.lstrace
    bool overwrite = false; ///< an existing file is refused otherwise
    bool append = false;    ///< an existing trace gets further runs; a file that is not there is created
    TraceLevel level = TraceLevel::statistics;
    std::vector<AddressPattern> keep;         ///< level values: whose bytes are stored, beside carried values, inputs and outputs
    std::vector<AddressPattern> only, except; ///< operators without an event row: those that no `only` or an `except` matches
    /// Iterations whose values are stored, of every loop on the way. Default at levels values and all: 0..63,pow2,last-63..last.
    std::optional<IterationSet> iterations;
    bool sparse = false;     ///< events outside `iterations` are dropped too
    int64_t onAlert = 0;     ///< store values of so many iterations around an alert
    uint64_t quotaBytes = 0; ///< 0: half the free space, at most 8 GiB
    bool durable = false;    ///< synchronous FULL: survives a power cut, not only a killed process
    bool noIndex = false;
    bool allConstants = false; ///< constants above 64 KiB too
    bool times = true;         ///< durations of operators and invocations
    std::optional<uint64_t> seed;
    std::string backend = "cpu", profile = "reference", reason = "record", inputsNote;
    TraceModelInfo model;
    std::vector<TracePlace> places; ///< of operators, where the graph is cut between devices
    std::vector<TraceFeed> feeds;   ///< of the first run; setFeeds for later ones
    /// Text of a graph for graph.listing; empty: none. Called while create() runs.
    std::function<TraceListing(const Model&, GraphId)> listing;
    /// Stops building indexes when the user wants out. The recording stays valid.
    const CancelFlag* cancel = nullptr;
};

/// What a recording came to.
struct RecordingSummary {
    std::string path;
    int64_t events = 0; ///< event rows
    int64_t invocations = 0;
    int64_t steps = 0; ///< over all runs
    int64_t runs = 0;
    uint64_t bytes = 0;             ///< size of the file
    std::string state = "complete"; ///< worst state of the runs
    int64_t gaps = 0;               ///< gap rows
    int64_t alerts = 0;
};

/// Attach with Interpreter::setObserver. Callbacks come on the executor's thread and cost tens of nanoseconds; one writer thread of its
/// own does the rest. Nothing is dropped while the disk can follow: a full ring makes the executor wait. A quota, a full disk or an
/// error of SQLite never stops the run: recording ends and finish() says so. Several runs, one after the other, share a file.
class TraceRecorder final : public ExecutionObserver {
public:
    /// Creates the file and writes what the model is. `model` must outlive the recorder.
    /// Errors: cannotWrite (exists, read-only, disk full).
    static Result<std::unique_ptr<TraceRecorder>> create(const Model& model, RecorderOptions options);
    /// Finishes if finish() was not called.
    ~TraceRecorder() override;
    TraceRecorder(const TraceRecorder&) = delete;
    TraceRecorder& operator=(const TraceRecorder&) = delete;

    bool wantsTimes() const override;
    bool wantsElements() const override;
    void runStarted(const RunStart& e) override;
    void invocationStarted(const InvocationStart& e) override;
    void operatorExecuted(const OperatorEvent& e) override;
    void variableAccessed(const VariableAccess& e) override;
    void printed(const PrintedText& e) override;
    void invocationEnded(const InvocationEnd& e) override;
    void runEnded(const RunEnd& e) override;

    /// Where the inputs of the next run come from.
    void setFeeds(std::vector<TraceFeed> feeds);

    /// Closes the file: open rows, indexes, statistics for the planner, one file without a journal. A run that has not ended is
    /// `cancelled`. Errors: cannotWrite ("disk full after 1.2 GiB; the trace is valid up to step 48,113,920").
    Status finish();
    /// Valid after finish(); while recording, what has been committed so far.
    RecordingSummary summary() const;

private:
    class Impl;
    explicit TraceRecorder(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> m_impl; ///< null after finish(): who keeps a recorder for its summary keeps nothing else
    RecordingSummary m_summary;
};

} // namespace loopscope
