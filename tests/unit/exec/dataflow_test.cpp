// The dataflow executor as an Executor: stepping, states, traps, orders, what observers hear. What graphs compute is in
// tests/control_flow/tf_*.ltest.
#include "tests/unit/exec/dataflow_models.h"

#include "engine/exec/machine_state.h"

#include <algorithm>
#include <map>
#include <random>

namespace loopscope::testing {
namespace {

int32_t sumOf(const DataflowExecutor& executor) { return *executor.output(1).as<int32_t>(); }

TEST(Dataflow, nestedFramesCompute)
{
    const auto model = dataflowModel(kNestedFrames);
    for (const int32_t n : {0, 1, 2, 5, 9}) {
        const auto executor = startedDataflow(*model, n);
        Status status = executor->run();
        ASSERT_TRUE(status.ok()) << std::move(status).takeError().message();
        EXPECT_EQ(*executor->output(0).as<int32_t>(), n);
        EXPECT_EQ(sumOf(*executor), nestedFramesSum(n)) << n;
    }
}

TEST(Dataflow, everyOrderGivesTheSameResult)
{
    const auto model = dataflowModel(kNestedFrames);
    std::map<int64_t, int> steps;
    for (uint64_t seed = 0; seed < 200; ++seed) {
        ExecutionOptions options;
        options.scheduleSeed = seed;
        options.keepAll = seed % 2 == 0;
        const auto executor = startedDataflow(*model, 6, options);
        ASSERT_TRUE(executor->run().ok()) << seed;
        EXPECT_EQ(sumOf(*executor), nestedFramesSum(6)) << seed;
        ++steps[executor->position().step];
        EXPECT_TRUE(executor->dataflow()->races().empty()) << executor->dataflow()->races()[0].text;
    }
    EXPECT_EQ(steps.size(), 1U) << "what runs does not depend on the order";
}

/// Every stop: a step adds one tick, and the stop of a restored machine is the one that was saved.
TEST(Dataflow, continuesFromEveryStateAsItDid)
{
    const auto model = dataflowModel(kNestedFrames);
    for (const uint64_t seed : {uint64_t{0}, uint64_t{5}}) {
        for (const bool keepAll : {false, true}) {
            ExecutionOptions options;
            options.scheduleSeed = seed;
            options.keepAll = keepAll;
            const auto first = startedDataflow(*model, 5, options);
            std::vector<MachineState> states;
            std::vector<std::string> addresses;
            for (;;) {
                ASSERT_EQ(first->tick(), std::ssize(states));
                states.push_back(first->snapshot());
                addresses.push_back(first->positionAddress());
                if (first->position().finished) break;
                Status status = first->step();
                ASSERT_TRUE(status.ok()) << std::move(status).takeError().message();
            }
            std::mt19937 random(11);
            const auto second = startedDataflow(*model, 1, options);
            for (int i = 0; i < 60; ++i) {
                size_t at = random() % states.size();
                Status status = second->restore(states[at]);
                ASSERT_TRUE(status.ok()) << std::move(status).takeError().message();
                for (int steps = 0; steps < 20; ++steps, ++at) {
                    ASSERT_EQ(second->positionAddress(), addresses[at]) << at;
                    ASSERT_EQ(second->snapshot().hash(), states[at].hash()) << addresses[at];
                    if (second->position().finished) {
                        EXPECT_EQ(sumOf(*second), nestedFramesSum(5));
                        break;
                    }
                    ASSERT_TRUE(second->step().ok());
                }
            }
        }
    }
}

TEST(Dataflow, runToStopsWhereStepsDo)
{
    const auto model = dataflowModel(kNestedFrames);
    const auto stepped = startedDataflow(*model, 5);
    std::vector<uint64_t> hashes = {stepped->snapshot().hash()};
    while (!stepped->position().finished) {
        ASSERT_TRUE(stepped->step().ok());
        hashes.push_back(stepped->snapshot().hash());
    }
    for (int64_t tick = 0; tick < std::ssize(hashes); tick += 7) {
        const auto executor = startedDataflow(*model, 5);
        ASSERT_TRUE(executor->runTo(tick).ok());
        ASSERT_EQ(executor->tick(), tick);
        ASSERT_EQ(executor->snapshot().hash(), hashes[static_cast<size_t>(tick)]);
    }
}

/// Counts what is announced and checks that it fits together.
class Listener final : public ExecutionObserver {
public:
    void invocationStarted(const InvocationStart& e) override
    {
        EXPECT_EQ(e.id, ++m_started);
        EXPECT_EQ(e.step, steps);
        EXPECT_TRUE(e.parent == 0 || m_open.contains(e.parent));
        m_open[e.id] = e.role;
        if (e.role == CallRole::frame) ++frames;
    }
    void invocationEnded(const InvocationEnd& e) override { EXPECT_EQ(m_open.erase(e.id), 1U); }
    void operatorExecuted(const OperatorEvent& e) override
    {
        EXPECT_EQ(e.step, steps++);
        EXPECT_TRUE(m_open.contains(e.invocation));
        if (e.state == EventState::dead) {
            ++dead;
            EXPECT_TRUE(e.results.empty());
        }
    }
    void runEnded(const RunEnd& e) override
    {
        EXPECT_EQ(e.reason, RunEnd::Reason::finished);
        EXPECT_EQ(e.steps, steps);
        EXPECT_TRUE(m_open.empty());
    }
    int64_t steps = 0, dead = 0, frames = 0;

private:
    InvocationId m_started = 0;
    std::map<InvocationId, CallRole> m_open;
};

TEST(Dataflow, observersHearIterationsAsInvocations)
{
    const auto model = dataflowModel(kNestedFrames);
    for (const uint64_t seed : {uint64_t{0}, uint64_t{3}}) {
        ExecutionOptions options;
        options.scheduleSeed = seed;
        Listener listener;
        const auto executor = startedDataflow(*model, 4, options, &listener);
        ASSERT_TRUE(executor->run().ok());
        EXPECT_EQ(listener.steps, executor->position().step);
        // Outer iterations 0 to 4; inner ones 0 to i for each of the outer 0 to 3, and what dead Enters open in the last.
        EXPECT_GE(listener.frames, 5 + 1 + 2 + 3 + 4);
        EXPECT_GT(listener.dead, 0);
    }
}

TEST(Dataflow, addressesAreTags)
{
    const auto model = dataflowModel(kNestedFrames);
    const auto executor = startedDataflow(*model, 4);
    std::vector<std::string> seen;
    while (!executor->position().finished) {
        seen.push_back(executor->positionAddress());
        const FrameInfo innermost = executor->frame(-1);
        EXPECT_EQ(innermost.next, executor->position().op);
        ASSERT_TRUE(executor->step().ok());
    }
    const auto has = [&](const char* address) { return std::ranges::find(seen, address) != seen.end(); };
    EXPECT_TRUE(has("main/outer@3:frame/inner@2:frame/i/add"));
    EXPECT_TRUE(has("main/outer@3:frame/o/call:then/w"));
    EXPECT_TRUE(has("main/outer@3:frame/o/call:then/w@0:body/y"));
    EXPECT_TRUE(has("main/outer@1:frame/o/call:else/y"));
    EXPECT_FALSE(has("main/outer@5:frame/o/less"));
}

/// Stops before the fifth and after the second time.
class Traps final : public TrapHandler {
public:
    bool beforeOperator(const OperatorEvent& event, Tick tick) override
    {
        lastBefore = tick;
        state = event.state;
        return ++before == 5;
    }
    bool afterOperator(const OperatorEvent& event, Tick tick) override
    {
        lastAfter = tick;
        results = event.results.size();
        return ++after == 2;
    }
    int before = 0, after = 0;
    int64_t lastBefore = -1, lastAfter = -1;
    EventState state = EventState::live;
    size_t results = 0;
};

TEST(Dataflow, trapsStopBeforeAndAfter)
{
    const auto model = dataflowModel(kNestedFrames);
    const Graph& graph = model->graphs[0];
    const auto find = [&](std::string_view name) { return graph.value(graph.findValue(name)).producer; };
    const auto executor = startedDataflow(*model, 4);
    Traps traps;
    TrapSet set;
    set.add(GraphId(0), find("i/twice"), trapBefore);
    set.add(GraphId(0), find("o/call"), trapAfter);
    executor->setTraps(set, &traps);
    ASSERT_TRUE(executor->run().ok());
    ASSERT_TRUE(executor->trapped());
    EXPECT_EQ(traps.after, 2);
    EXPECT_EQ(executor->tick(), traps.lastAfter);
    EXPECT_EQ(traps.results, 1U);
    ASSERT_TRUE(executor->run().ok());
    ASSERT_TRUE(executor->trapped());
    EXPECT_EQ(traps.before, 5);
    EXPECT_EQ(executor->tick(), traps.lastBefore);
    EXPECT_EQ(executor->position().op, find("i/twice"));
    ASSERT_TRUE(executor->run().ok());
    EXPECT_TRUE(executor->position().finished);
    EXPECT_EQ(sumOf(*executor), nestedFramesSum(4));
}

TEST(Dataflow, stepBudgetAndDepthEndRuns)
{
    const auto model = dataflowModel(kNestedFrames);
    ExecutionOptions options;
    options.maxSteps = 50;
    auto executor = startedDataflow(*model, 4, options);
    Status status = executor->run();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.detail().code, ErrorCode::execution);
    EXPECT_NE(std::move(status).takeError().message().find("step budget of 50"), std::string::npos);
    options = {};
    options.maxDepth = 2;
    executor = startedDataflow(*model, 4, options);
    EXPECT_FALSE(executor->run().ok());
}

/// Damages one thing of a state: a number of a random part of it, or the end of a list.
class StateDamage {
public:
    explicit StateDamage(uint32_t seed) : m_random(seed) {}

    void apply(MachineState& state)
    {
        DataflowState& flow = state.dataflow;
        switch (below(6)) {
        case 0: numbers(any(flow.calls)); break;
        case 1: numbers(any(flow.activations)); break;
        case 2: numbers(any(flow.frames)); break;
        case 3: numbers(any(any(flow.frames).iterations)); break;
        case 4: numbers(any(flow.tallies)); break;
        default: lists(flow, any(any(flow.frames).iterations)); break;
        }
    }

private:
    size_t below(size_t limit) { return m_random() % limit; }
    int32_t number() { return static_cast<int32_t>(below(9)) - 3; }
    template <typename T> T& any(std::vector<T>& list)
    {
        if (list.empty()) list.emplace_back();
        return list[below(list.size())];
    }
    template <typename T> void cut(std::vector<T>& list)
    {
        if (!list.empty()) list.resize(below(list.size()));
    }
    void cell(CellState& cell)
    {
        if (below(2) == 0) cell.kind = static_cast<CellState::Kind>(below(6));
        cell.index = number();
        cell.slot = number();
    }

    void numbers(DataflowCallState& call)
    {
        switch (below(3)) {
        case 0: call.caller = number(); break;
        case 1: call.node = number(); break;
        default: cell(any(call.arguments)); break;
        }
    }
    void numbers(ActivationState& activation)
    {
        switch (below(5)) {
        case 0: activation.graph = GraphId(number()); break;
        case 1: activation.call = number(); break;
        case 2: activation.role = static_cast<CallRole>(below(12)); break;
        case 3: activation.branch = number(); break;
        default: cell(any(activation.outputs)); break;
        }
    }
    void numbers(DataflowFrameState& frame)
    {
        switch (below(7)) {
        case 0: frame.activation = number(); break;
        case 1: frame.index = number(); break;
        case 2: frame.parent = number(); break;
        case 3: frame.pendingEnters = number(); break;
        case 4: frame.iterationCount = number(); break;
        case 5: any(frame.invariants).node = number(); break;
        default: any(frame.deadExits) = number(); break;
        }
    }
    void numbers(IterationState& iteration)
    {
        WaitingState& waiting = any(iteration.waiting);
        switch (below(8)) {
        case 0: iteration.number = number(); break;
        case 1: iteration.outstanding = number(); break;
        case 2: iteration.stackFrame = number(); break;
        case 3: waiting.position = number(); break;
        case 4: waiting.chosen = number(); break;
        case 5: any(iteration.ready) = m_random(); break;
        case 6: any(iteration.values).slot = number(); break;
        default: cell(any(iteration.values).cell); break;
        }
    }
    void numbers(TallyState& tally)
    {
        tally.graph = GraphId(number());
        tally.node = number();
    }
    void lists(DataflowState& flow, IterationState& iteration)
    {
        switch (below(8)) {
        case 0: cut(flow.calls); break;
        case 1: cut(flow.activations); break;
        case 2: cut(flow.frames); break;
        case 3: cut(any(flow.frames).iterations); break;
        case 4: cut(any(flow.activations).outputs); break;
        case 5: cut(iteration.ready); break;
        case 6: cut(iteration.dead); break;
        default: flow.parked.push_back({"key", number(), number()}); break;
        }
    }

    std::mt19937 m_random;
};

TEST(Dataflow, statesOfOthersAreRefused)
{
    const auto model = dataflowModel(kNestedFrames);
    const auto executor = startedDataflow(*model, 4);
    ASSERT_TRUE(executor->runTo(60).ok());
    const MachineState good = executor->snapshot();
    StateDamage damage(3);
    int refused = 0;
    for (int i = 0; i < 3000; ++i) {
        MachineState bad = good;
        damage.apply(bad);
        refused += executor->restore(bad).ok() ? 0 : 1; // what is possible is accepted; none does harm
    }
    EXPECT_GT(refused, 1000);
    ASSERT_TRUE(executor->restore(good).ok());
    EXPECT_EQ(executor->snapshot().dataflow, good.dataflow);
    ASSERT_TRUE(executor->run().ok());
    EXPECT_EQ(sumOf(*executor), nestedFramesSum(4));
}

TEST(Dataflow, mergesWithTwoLiveInputsAreRaces)
{
    const auto model = dataflowModel(R"(
graph main(n: i32[]) {
  one = Const() dtype=i32 value=i32[] 1 : i32
  merge = Merge(n, one) N=2 T=i32 : (i32, i32)
  return m=merge
}
)");
    const auto executor = startedDataflow(*model, 5);
    ASSERT_TRUE(executor->run().ok());
    EXPECT_EQ(*executor->output(0).as<int32_t>(), 5) << "the input is there first";
    const std::vector<DataflowRace> races = executor->dataflow()->races();
    ASSERT_EQ(races.size(), 1U);
    EXPECT_EQ(races[0].text.find("{{node merge}} has more than one live input: operand 1 came after operand 0"), 0U) << races[0].text;
}

TEST(Dataflow, theViewShowsFramesTokensAndDeadNodes)
{
    const auto model = dataflowModel(kNestedFrames);
    const Graph& graph = model->graphs[0];
    const auto find = [&](std::string_view name) { return graph.value(graph.findValue(name)).producer; };
    ExecutionOptions options;
    options.keepAll = true;
    const auto executor = startedDataflow(*model, 4, options);
    while (executor->positionAddress() != "main/outer@2:frame/inner@1:frame/i/even") ASSERT_TRUE(executor->step().ok());
    const DataflowView& view = *executor->dataflow();
    EXPECT_TRUE(view.nextIsDead());
    const std::vector<DataflowFrame> frames = view.frames();
    ASSERT_EQ(frames.size(), 3U);
    EXPECT_EQ(frames[1].name, "outer");
    EXPECT_EQ(frames[1].newestIteration, 3) << "the counter is one iteration ahead of the inner loop";
    EXPECT_EQ(frames[2].name, "inner");
    EXPECT_EQ(frames[2].parallelIterations, 2);
    ASSERT_FALSE(view.ready().empty());
    EXPECT_EQ(view.ready()[0].op, find("i/even"));
    EXPECT_TRUE(view.ready()[0].willBeDead);
    const std::vector<DataflowToken> tokens = view.tokens();
    EXPECT_TRUE(std::any_of(tokens.begin(), tokens.end(), [](const DataflowToken& token) {
        return token.isDead && token.address == "main/outer@2:frame/inner@1:frame/i/c:0";
    }));
    const Result<std::vector<DeadHop>> why = view.whyDead(GraphId(0), find("i/even"));
    ASSERT_TRUE(why.ok());
    ASSERT_EQ(why->size(), 1U);
    EXPECT_EQ((*why)[0].cause, DeadHop::Cause::untaken);
    EXPECT_EQ((*why)[0].source, find("i/c"));
    EXPECT_EQ((*why)[0].predicate, find("i/isOdd"));
    EXPECT_EQ((*why)[0].predicateText, "true");
    EXPECT_FALSE(view.whyDead(GraphId(0), find("i/less")).ok());
}

} // namespace
} // namespace loopscope::testing
