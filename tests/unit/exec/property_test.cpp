// Properties that hold for every model: runs agree with a naive evaluator, stepping with running, restored states with the run that they
// were taken from, observed runs with unobserved ones.
#include "engine/exec/interpreter.h"
#include "engine/exec/machine_state.h"
#include "tests/unit/exec/random_model.h"

#include <gtest/gtest.h>

namespace loopscope::testing {
namespace {

constexpr uint32_t kModels = 150;

std::unique_ptr<Interpreter> started(const Model& model, std::vector<Plain> inputs, ExecutionOptions options = {},
                                     ExecutionObserver* observer = nullptr)
{
    Result<std::unique_ptr<Interpreter>> interpreter = Interpreter::create(model, GraphId(0), options);
    EXPECT_TRUE(interpreter.ok());
    (*interpreter)->setObserver(observer);
    for (size_t i = 0; i < inputs.size(); ++i) {
        const Status status = (*interpreter)->setInput(static_cast<int>(i), tensorOver(inputs[i].data, inputs[i].shape));
        EXPECT_TRUE(status.ok());
    }
    Status status = (*interpreter)->start();
    EXPECT_TRUE(status.ok()) << std::move(status).takeError().message();
    return std::move(interpreter).value();
}

std::vector<Plain> outputsOf(const Interpreter& interpreter)
{
    std::vector<Plain> outputs;
    for (int k = 0; k < 8; ++k) outputs.push_back({interpreter.output(k).shape, elements<int32_t>(interpreter.output(k))});
    return outputs;
}

TEST(RandomModels, agreeWithANaiveEvaluator)
{
    for (uint32_t seed = 0; seed < kModels; ++seed) {
        SCOPED_TRACE(seed);
        RandomModel random(seed);
        for (int round = 0; round < 2; ++round) {
            const std::vector<Plain> inputs = random.inputs();
            ExecutionOptions options;
            options.keepAll = round == 1;
            const auto interpreter = started(random.model(), inputs, options);
            ASSERT_TRUE(interpreter->run().ok());
            ASSERT_EQ(outputsOf(*interpreter), evaluate(random.model(), GraphId(0), inputs));
        }
    }
}

/// Counts and checks the order of what it hears.
class Listener final : public ExecutionObserver {
public:
    void invocationStarted(const InvocationStart& e) override
    {
        EXPECT_EQ(e.id, ++m_started);
        EXPECT_EQ(e.step, steps);
        EXPECT_EQ(e.parent, m_open.empty() ? InvocationId() : m_open.back()) << "callers start before their callees";
        m_open.push_back(e.id);
    }
    void invocationEnded(const InvocationEnd& e) override
    {
        ASSERT_FALSE(m_open.empty());
        EXPECT_EQ(e.id, m_open.back());
        EXPECT_EQ(e.step, steps);
        m_open.pop_back();
    }
    void operatorExecuted(const OperatorEvent& e) override
    {
        EXPECT_EQ(e.step, steps++);
        EXPECT_EQ(e.invocation, m_open.back());
    }
    void runEnded(const RunEnd& e) override
    {
        EXPECT_EQ(e.reason, RunEnd::Reason::finished);
        EXPECT_EQ(e.steps, steps);
        EXPECT_TRUE(m_open.empty());
        ++ended;
    }
    int64_t steps = 0;
    int ended = 0;

private:
    InvocationId m_started = 0;
    std::vector<InvocationId> m_open;
};

TEST(RandomModels, observedAndSteppedRunsAgreeWithPlainOnes)
{
    for (uint32_t seed = 0; seed < kModels; ++seed) {
        SCOPED_TRACE(seed);
        RandomModel random(seed);
        const std::vector<Plain> inputs = random.inputs();
        const auto plain = started(random.model(), inputs);
        ASSERT_TRUE(plain->run().ok());
        Listener listener;
        const auto observed = started(random.model(), inputs, {}, &listener);
        while (!observed->position().finished) {
            const int64_t before = observed->position().step;
            const int32_t depth = observed->position().depth;
            ASSERT_TRUE(observed->step().ok());
            ASSERT_TRUE(observed->position().step > before || observed->position().depth > depth)
                << "a step completes an operator or enters one";
            ASSERT_EQ(observed->position().step, listener.steps);
        }
        EXPECT_EQ(listener.ended, 1);
        ASSERT_EQ(outputsOf(*observed), outputsOf(*plain));
        ASSERT_EQ(observed->snapshot().hash(), plain->snapshot().hash());
    }
}

TEST(RandomModels, continueFromASnapshotAsTheyDid)
{
    for (uint32_t seed = 0; seed < kModels; ++seed) {
        SCOPED_TRACE(seed);
        RandomModel random(seed);
        const std::vector<Plain> inputs = random.inputs();
        const auto first = started(random.model(), inputs);
        std::vector<uint64_t> hashes;
        std::vector<std::string> addresses;
        std::vector<MachineState> states;
        constexpr size_t kSteps = 200;
        while (!first->position().finished && hashes.size() < kSteps) {
            states.push_back(first->snapshot());
            hashes.push_back(states.back().hash());
            addresses.push_back(first->positionAddress());
            ASSERT_TRUE(first->step().ok());
        }
        std::mt19937 choice(seed);
        for (int attempt = 0; attempt < 3; ++attempt) {
            const size_t from = choice() % states.size();
            // In the same interpreter, and in one that has never run.
            Result<std::unique_ptr<Interpreter>> fresh = Interpreter::create(random.model(), GraphId(0));
            ASSERT_TRUE(fresh.ok());
            Interpreter& second = attempt == 0 ? *first : **fresh;
            Status status = second.restore(states[from]);
            ASSERT_TRUE(status.ok()) << std::move(status).takeError().message();
            for (size_t i = from; i < hashes.size(); ++i) {
                ASSERT_EQ(second.positionAddress(), addresses[i]);
                ASSERT_EQ(second.snapshot().hash(), hashes[i]) << "at " << addresses[i] << ", from " << addresses[from];
                ASSERT_TRUE(second.step().ok());
            }
            if (!second.position().finished) {
                ASSERT_TRUE(second.run().ok());
            }
            ASSERT_EQ(outputsOf(second), evaluate(random.model(), GraphId(0), inputs));
        }
    }
}

/// States that no run produced: restoring says so, or what it restores runs to some end.
TEST(RandomModels, surviveDamagedStates)
{
    ExecutionOptions options;
    options.maxSteps = 3000;
    int refused = 0;
    for (uint32_t seed = 0; seed < kModels; ++seed) {
        SCOPED_TRACE(seed);
        RandomModel random(seed);
        std::mt19937 choice(seed);
        const auto below = [&](size_t limit) { return static_cast<size_t>(choice() % limit); };
        const auto interpreter = started(random.model(), random.inputs(), options);
        const size_t steps = below(60);
        for (size_t i = 0; i < steps && !interpreter->position().finished; ++i) ASSERT_TRUE(interpreter->step().ok());
        const MachineState sound = interpreter->snapshot();
        for (int attempt = 0; attempt < 10; ++attempt) {
            MachineState state = sound;
            FrameState& frame = state.frames[below(state.frames.size())];
            const auto damage = [&](ValueState& value) {
                switch (below(4)) {
                case 0: value.value = ValueId(static_cast<int64_t>(below(40)) - 2); break;
                case 1: value.shape.append(static_cast<int64_t>(below(3))); break;
                case 2: value.bytes = Bytes::copyOf(value.bytes.data(), below(value.bytes.size() + 1)); break;
                default: value.dtype = DType::string;
                }
            };
            switch (below(9)) {
            case 0: frame.next = static_cast<int32_t>(below(12)) - 1; break;
            case 1: frame.site = OperatorId(static_cast<int64_t>(below(12)) - 1); break;
            case 2: frame.graph = GraphId(static_cast<int64_t>(below(12))); break;
            case 3: frame.role = static_cast<CallRole>(below(9)); break;
            case 4: frame.inCond = !frame.inCond; break;
            case 5:
                if (!frame.values.empty()) damage(frame.values[below(frame.values.size())]);
                break;
            case 6:
                if (!frame.values.empty())
                    frame.values.erase(frame.values.begin() + static_cast<std::ptrdiff_t>(below(frame.values.size())));
                break;
            case 7:
                if (!frame.carried.empty()) damage(frame.carried[below(frame.carried.size())]);
                break;
            default: state.frames.erase(state.frames.begin() + static_cast<std::ptrdiff_t>(below(state.frames.size())));
            }
            const Status restored = interpreter->restore(state);
            refused += restored.ok() ? 0 : 1;
            if (!restored.ok() || state.frames.empty() || interpreter->position().finished) continue;
            static_cast<void>(interpreter->run().ok()); // it may end in an error; it must end
        }
        ASSERT_TRUE(interpreter->restore(sound).ok()) << "the interpreter is none the worse";
    }
    EXPECT_GT(refused, 300);
}

} // namespace
} // namespace loopscope::testing
