// The executor's side of the recorder: turns announcements into records. Everything here runs on the executor's thread.
#pragma once

#include "engine/base/clock.h"
#include "tracer/record/content.h"
#include "tracer/record/loop_ring.h"
#include "tracer/record/model_index.h"
#include "tracer/record/recorder.h"
#include "tracer/record/recording_lock.h"
#include "tracer/record/writer.h"

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace loopscope {

class TraceRecorder::Impl {
public:
    Impl(const Model& model, RecorderOptions options, const ModelRows& rows, std::unique_ptr<TraceWriter> writer, RecordingLock lock);

    /// Numbers go on behind those that a file holds already.
    void goOnBehind(int64_t lastRun, int64_t nextEvent, int64_t nextInvocation)
    {
        m_run = lastRun;
        m_nextEvent = nextEvent;
        m_nextInvocation = nextInvocation;
    }
    void runStarted(const RunStart& e);
    void invocationStarted(const InvocationStart& e);
    bool wantsElements() const { return m_hashesAll; }
    void operatorExecuted(const OperatorEvent& e);
    void variableAccessed(const VariableAccess& e);
    void printed(const PrintedText& e);
    void invocationEnded(const InvocationEnd& e);
    void runEnded(const RunEnd& e);
    Status finish();
    RecordingSummary summary() const;

    RecorderOptions m_options;

private:
    /// An invocation that has started and not ended.
    struct Open {
        InvocationId id = 0, parent = 0;
        int64_t row = 0;
        int64_t firstStep = 0;
        int64_t iteration = -1;
        CallRole role = CallRole::main;
        int32_t branch = -1;
        Sampled sampled = Sampled::yes;
        GraphId callerGraph, graph, cond;
        OperatorId site;
        uint64_t pathHash = 0;    ///< of the address, iterations included
        uint64_t staticHash = 0;  ///< without iterations
        LoopRing* ring = nullptr; ///< where values wait if sampled is maybe
        int64_t ringIteration = -1;
        LoopRing* loop = nullptr; ///< the ring of the loop that this is an iteration of
    };

    Open* find(InvocationId id)
    {
        for (size_t i = m_open.size(); i-- > 0;) {
            if (m_open[i].id == id) return &m_open[i];
        }
        return nullptr;
    }
    int64_t callOf(const InvocationStart& e);
    void closeInvocation(size_t place, int64_t step, int64_t ns);

    // Events.
    void recordSlowly(const OperatorEvent& e, Open& open, OperatorInfo& op);
    /// False: it was lost with the device, which holds it alone; null: there is none.
    bool describe(const Tensor& tensor, DeviceMemory* device, ValueRecord& record, RangeRecord& range, AbnormalRecord& abnormal,
                  bool& needsBytes) const;
    void takeShape(ResultInfo& result, const Shape& shape, int64_t event);
    void raiseValueAlerts(const AbnormalRecord& abnormal, const Open& open, const OperatorEvent& e, ResultInfo& result, int slot);
    void alert(const char* kind, int64_t event, int slot, std::string text, const Open* where);
    void dropStep(int64_t step, GapReason reason);
    void flushGap();
    void endStep(int64_t step);
    template <typename T> void addToGroup(const T& record) { std::memcpy(m_group.emplace_back().bytes, &record, sizeof(T)); }
    void pushGroup(const std::vector<RingSlot>& group);
    void pushItem(Item item);

    // Values.
    bool wantsBytes(const Open& open, const OperatorEvent& e, const ResultInfo& result, int slot);
    void storeBytes(const Tensor& tensor, const ContentKey& key, LoopRing* ring, int64_t iteration);
    void pushBlob(std::unique_ptr<Item> item);

    // Sampling.
    Sampled ownSampling(int64_t iteration, const LoopRing* ring) const;
    LoopRing* ringOf(const Open& parent, OperatorId site);
    void sampleLoop(Open& open, const Open* parent);
    void hold(LoopRing& ring, HeldEntry entry);
    void evict(LoopRing& ring, int64_t before);
    void release(LoopRing* outer, int64_t outerIteration, HeldEntry entry);
    void discard(const HeldEntry& entry);
    void closeRing(InvocationId parent, OperatorId site);
    void flushAround(const Open& open);

    // Addresses, for patterns and alerts.
    bool isSelected(const Open& open, const OperatorEvent& e, const OperatorInfo& op);
    bool isKept(const Open& open, const OperatorEvent& e, int slot);
    Address addressOf(const Open& open, GraphId graph, OperatorId op, int slot);
    OperatorName operatorName(GraphId graph, OperatorId op) const;

    ModelIndex m_index;
    const ModelRows m_rows;
    RecordingLock m_lock; ///< until the file is closed
    std::unique_ptr<TraceWriter> m_writer;
    std::map<std::string, int64_t> m_madeCalls; ///< calls that the model does not name: roots, frames
    int64_t m_nextCall = 1;

    // What the options come down to.
    int m_level = 1;
    bool m_hasFilter = false; ///< only or except
    bool m_patternsUseIterations = false;
    bool m_samples = false;   ///< iterations matter
    bool m_hashesAll = false; ///< every result gets a content key

    // The run in hand.
    int64_t m_run = 0, m_base = 0, m_nextEvent = 0, m_nextInvocation = 1, m_invocationOffset = 0, m_firstStep = 0, m_lastStep = 0,
            m_runStart = 0;
    bool m_isRunning = false, m_seenInvocation = false;
    int64_t m_stepsOfAllRuns = 0, m_runs = 0;
    std::vector<Open> m_open;
    uint64_t m_digest = 0;
    GapRecord m_gap; ///< first > last: none
    std::vector<RingSlot> m_group;
    ContentSet m_stored;
    std::vector<std::unique_ptr<LoopRing>> m_rings;
    size_t m_heldBytes = 0;
    bool m_saidRingIsFull = false;
    std::map<std::string, int64_t, std::less<>> m_alertCounts;
    std::unordered_map<uint64_t, bool> m_selectedCache, m_keptCache;
    bool m_finished = false;
};

} // namespace loopscope
