// Values that stay with the rank that computed them: of a run that rank 0 drives, and of its saved states.
#include "converters/lsir/lsir.h"
#include "engine/base/memory_shares.h"
#include "engine/distributed/memory_transport.h"
#include "engine/distributed/rank_kernels.h"
#include "engine/exec/dataflow_executor.h"
#include "engine/exec/machine_state.h"

#include <gtest/gtest.h>
#include <thread>

namespace loopscope::testing {
namespace {

/// A vector of 4 KiB that device b doubles and adds to in each iteration; what its sum is, is counted here.
constexpr const char* kLoop = R"(model tf
graph main {
  many = Const() dtype=i32 value=i32[1] [1024] : i32[1]
  one = Const() dtype=f32 value=f32[] 1.0 : f32[]
  v0 = Fill(many, one) T=f32 index_type=i32 @device="b" : f32[1024]
  zero = Const() dtype=i32 value=i32[] 0 : i32[]
  i/Enter = Enter(zero) T=i32 frame_name="loop" is_constant=false parallel_iterations=10 : i32
  v/Enter = Enter(v0) T=f32 frame_name="loop" is_constant=false parallel_iterations=10 : f32
  i = Merge(i/Enter, i/Next) N=2 T=i32 : (i32, i32)
  v = Merge(v/Enter, v/Next) N=2 T=f32 : (f32, i32)
  five = Const(^i) dtype=i32 value=i32[] 5 : i32[]
  less = Less(i, five) T=i32 : bool
  go = LoopCond(less) : bool
  i/Switch = Switch(i, go) T=i32 : (i32, i32)
  v/Switch = Switch(v, go) T=f32 : (f32, f32)
  now = Identity(i/Switch:1) T=i32 : i32
  step = Const(^now) dtype=i32 value=i32[] 1 : i32[]
  add = AddV2(now, step) T=i32 : i32
  half = Const(^now) dtype=f32 value=f32[] 0.5 : f32[]
  twice = AddV2(v/Switch:1, v/Switch:1) T=f32 @device="b" : f32
  more = AddV2(twice, half) T=f32 @device="b" : f32
  i/Next = NextIteration(add) T=i32 : i32
  v/Next = NextIteration(more) T=f32 : f32
  out = Exit(v/Switch) T=f32 : f32
  here = Neg(out) T=f32 : f32
  return here=here
}
)";

constexpr int64_t kVector = 1024 * sizeof(float);

/// Rank 0 and another one, which serves on a thread.
class Driven {
public:
    explicit Driven(const Model& model) : m_ranks(memoryTransports(2))
    {
        m_server = std::thread([this, &model] { EXPECT_TRUE(serveKernels(*m_ranks[1], model, {}).ok()); });
        m_plan.devices = {"", "b"};
        m_plan.rankOf = {{"", 0}, {"b", 1}};
        m_kernels = std::make_unique<RankKernels>(*m_ranks[0], m_plan, model, GraphId(0), nullptr);
    }
    ~Driven() { leave(); }
    void leave()
    {
        m_kernels.reset();
        if (m_server.joinable()) m_server.join();
    }
    ExecutionOptions options() const
    {
        ExecutionOptions options;
        options.remote = m_kernels.get();
        return options;
    }

private:
    std::vector<std::unique_ptr<Transport>> m_ranks;
    std::thread m_server;
    CutPlan m_plan;
    std::unique_ptr<RankKernels> m_kernels;
};

std::unique_ptr<DataflowExecutor> started(const Model& model, const ExecutionOptions& options, ExecutionObserver* observer = nullptr)
{
    Result<std::unique_ptr<DataflowExecutor>> executor = DataflowExecutor::create(model, GraphId(0), options);
    if (executor.ok()) (*executor)->setObserver(observer);
    EXPECT_TRUE(executor.ok() && (*executor)->start().ok());
    return std::move(executor).value();
}

std::vector<float> elementsOf(const Tensor& tensor) { return {tensor.as<float>(), tensor.as<float>() + tensor.elementCount()}; }

int64_t valuesOnRanks() { return MemoryShares::all().valuesOnRanks.load(); }

TEST(KeptValues, stay_where_they_were_computed_and_so_do_those_of_saved_states)
{
    const Result<Model> model = modelFromText(kLoop, "test");
    ASSERT_TRUE(model.ok()) << model.error().message();
    const auto plain = started(*model, {});
    std::vector<MachineState> wanted = {plain->snapshot()};
    while (!plain->position().finished) {
        ASSERT_TRUE(plain->step().ok());
        wanted.push_back(plain->snapshot());
    }
    const std::vector<float> expected = elementsOf(plain->output(0));
    ASSERT_EQ(expected.size(), 1024U);
    EXPECT_EQ(expected[1023], -47.5F); // five times v → 2v + 0.5

    Driven driven(*model);
    {
        const auto executor = started(*model, driven.options());
        std::vector<MachineState> states = {executor->snapshot()};
        while (!executor->position().finished) {
            ASSERT_TRUE(executor->step().ok());
            states.push_back(executor->snapshot());
        }
        ASSERT_EQ(states.size(), wanted.size());
        EXPECT_EQ(elementsOf(executor->output(0)), expected);
        // The first vector, and two of each iteration, which states of all of them have.
        EXPECT_EQ(valuesOnRanks(), 11);
        EXPECT_EQ(MemoryShares::all().onRanks.load(), 11 * kVector);
        int64_t elsewhere = 0;
        for (size_t k = 0; k < states.size(); ++k) {
            const int64_t less = static_cast<int64_t>(wanted[k].byteSize()) - static_cast<int64_t>(states[k].byteSize());
            EXPECT_EQ(less % kVector, 0) << k;
            elsewhere += less / kVector;
        }
        EXPECT_GT(elsewhere, std::ssize(states) / 2);
        for (size_t k = 0; k < states.size(); ++k) EXPECT_EQ(states[k].hash(), wanted[k].hash()) << k;
        for (const size_t back : {states.size() - 2, size_t{40}, size_t{3}, size_t{25}}) {
            ASSERT_TRUE(executor->restore(states[back]).ok());
            EXPECT_EQ(executor->snapshot().hash(), wanted[back].hash());
            ASSERT_TRUE(executor->run().ok());
            EXPECT_EQ(elementsOf(executor->output(0)), expected);
        }
    }
    EXPECT_EQ(valuesOnRanks(), 0);
}

/// Sums what it hears.
class Listener final : public ExecutionObserver {
public:
    void operatorExecuted(const OperatorEvent& event) override
    {
        for (const Tensor* result : event.results)
            if (result && result->dtype == DType::f32 && result->bytes > 0) m_sum += result->as<float>()[result->elementCount() - 1];
    }
    double m_sum = 0;
};

TEST(KeptValues, are_there_for_who_listens)
{
    const Result<Model> model = modelFromText(kLoop, "test");
    ASSERT_TRUE(model.ok());
    Listener alone, listener;
    const auto plain = started(*model, {}, &alone);
    ASSERT_TRUE(plain->run().ok());
    Driven driven(*model);
    {
        const auto executor = started(*model, driven.options(), &listener);
        ASSERT_TRUE(executor->run().ok());
        EXPECT_EQ(elementsOf(executor->output(0)), elementsOf(plain->output(0)));
    }
    EXPECT_NE(alone.m_sum, 0);
    EXPECT_EQ(listener.m_sum, alone.m_sum);
    EXPECT_EQ(valuesOnRanks(), 0);
}

TEST(KeptValues, are_told_from_those_of_a_rank_that_is_gone)
{
    const Result<Model> model = modelFromText(kLoop, "test");
    ASSERT_TRUE(model.ok());
    Driven driven(*model);
    MachineState state;
    {
        const auto executor = started(*model, driven.options());
        ASSERT_TRUE(executor->runTo(int64_t{30}).ok());
        state = executor->snapshot();
        ASSERT_GT(valuesOnRanks(), 0);
    }
    driven.leave();
    const auto alone = started(*model, {});
    Status status = alone->restore(state);
    ASSERT_FALSE(status.ok());
    EXPECT_NE(std::move(status).takeError().message().find("the rank that has this value is gone"), std::string::npos);
}

} // namespace
} // namespace loopscope::testing
