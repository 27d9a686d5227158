// Observers that the commands attach to a run: how often loops went round, and where the time went.
#pragma once

#include "app/output/console.h"
#include "app/wiring/operator_work.h"
#include "app/wiring/session.h"
#include "engine/device/vulkan_memory.h"
#include "engine/kernels/selection.h"
#include "engine/observe/execution_observer.h"
#include "engine/observe/loop_totals.h"

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace loopscope::app {

/// Counts the trips of every loop by its place, iterations of outer loops summed up. What the model prints it hands on.
class LoopCounter final : public ExecutionObserver, public LoopTotals {
public:
    explicit LoopCounter(ExecutionObserver* printed = nullptr) : m_printed(printed) {}
    bool wantsOperators() const override { return false; }
    void runStarted(const RunStart& e) override;
    void invocationStarted(const InvocationStart& e) override;
    void invocationEnded(const InvocationEnd& e) override;
    void loopEnded(int64_t trips) override;
    void printed(const PrintedText& e) override
    {
        if (m_printed) m_printed->printed(e);
    }

    /// In order of first entry.
    std::vector<LoopTrips> loops() const { return m_loops; }

private:
    /// A way of going on from a place: by which call, in which role.
    struct Way {
        int32_t callerGraph, site, branch;
        CallRole role;
        int place; ///< where it leads
        bool isOf(const InvocationStart& e) const
        {
            return callerGraph == e.callerGraph.index && site == e.site.index && branch == e.branch && role == e.role;
        }
    };
    /// One way of entering a graph: parent place, call operator, role.
    struct Place {
        std::string text; ///< "main/while#0:body/if#2:then"
        GraphId body, cond;
        int loop = -1; ///< index in m_loops
        std::vector<Way> ways;
        size_t lastWay = 0; ///< loops and straight code go on where they went on before, or by the way after it
    };
    int placeOf(const InvocationStart& e);
    int newPlace(const InvocationStart& e, int parent);

    ExecutionObserver* const m_printed;
    const Model* m_model = nullptr;
    std::vector<Place> m_places; ///< the first is outside of everything
    std::vector<int> m_stack;    ///< places of the open invocations
    std::vector<LoopTrips> m_loops;
};

/// Sums durations by operator; what a call spends in its callees counts there. On a device each operator is waited for: what it took there,
/// by the device's timestamps, its dispatches and the bytes that were copied for it.
class OperatorTimes final : public ExecutionObserver {
public:
    explicit OperatorTimes(VulkanMemory* device = nullptr);
    ~OperatorTimes() override;
    OperatorTimes(const OperatorTimes&) = delete;
    OperatorTimes& operator=(const OperatorTimes&) = delete;
    bool wantsTimes() const override { return true; }
    void operatorExecuted(const OperatorEvent& e) override;

    /// What durations are held against: a column with the share of the machine's measured ceiling.
    struct Ceiling {
        WorkByOperator work;
        MachineCeiling machine;
        int threads = 1;
    };
    /// Operators by time, the slowest 20, with a last line for the rest; where other kernels than the reference's or a device run some of
    /// them, which.
    std::string table(const Model& model, const KernelReport& kernels, Profile wanted, const Ceiling* ceiling = nullptr) const;

private:
    struct Sum {
        int64_t count = 0, ns = 0;
        DeviceTraffic there;
    };
    std::map<std::pair<GraphId, OperatorId>, Sum> m_sums;
    VulkanMemory* m_device; ///< null: none, or it has no timestamps
    DeviceTraffic m_before; ///< what was counted up to the last operator
};

/// Tells the console what a model prints.
class PrintedLines final : public ExecutionObserver {
public:
    explicit PrintedLines(Console& console) : m_console(console) {}
    bool wantsOperators() const override { return false; }
    void printed(const PrintedText& e) override;

private:
    Console& m_console;
};

/// What `info` warns about: values that could not be read, loops that other runtimes compute differently. Empty for most models.
std::vector<std::string> modelWarnings(const Model& model);
/// Of what a run of `root` may reach.
std::vector<std::string> runWarnings(const Model& model, GraphId root);

/// "1.234 ms", "12.3 us", "45 ns".
std::string durationText(int64_t ns);

} // namespace loopscope::app
