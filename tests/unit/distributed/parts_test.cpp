// Parts of a cut graph, each run by an executor of its own on a thread, compute what the whole does; a part that fails, or that waits for
// what nobody sends, ends all of them.
#include "converters/lsir/lsir.h"
#include "engine/base/bytes.h"
#include "engine/distributed/memory_transport.h"
#include "engine/distributed/rank_peers.h"
#include "engine/exec/make_executor.h"
#include "engine/transform/partition/partition.h"
#include "engine/transform/run_selection.h"

#include <gtest/gtest.h>
#include <map>
#include <thread>

namespace loopscope::testing {
namespace {

constexpr GraphId kMain(0);

using Outputs = std::map<std::string, std::string>; ///< bytes, by name

Model modelOf(const std::string& text)
{
    Result<Model> model = modelFromText(text, "test");
    EXPECT_TRUE(model.ok()) << model.error().message();
    return model.ok() ? std::move(model).value() : Model();
}

Model sample(const std::string& path, const std::vector<std::string>& feeds, const std::vector<std::string>& fetches)
{
    const auto content = mapFile(path);
    if (!content.ok()) return ADD_FAILURE() << path, Model();
    const Model whole = modelOf(std::string(content->as<char>(), content->size()));
    Result<Model> selected = selectForRun(whole, kMain, {feeds, fetches, {}});
    return selected.ok() ? std::move(selected).value() : (ADD_FAILURE() << selected.error().message(), Model());
}

std::string bytesOf(const Tensor& tensor) { return {reinterpret_cast<const char*>(tensor.data), tensor.bytes}; }

Status giveInputs(Executor& executor, int32_t number)
{
    for (size_t i = 0; i < executor.model().graph(executor.root()).inputs.size(); ++i) {
        Tensor input;
        input.dtype = DType::i32;
        input.shape = Shape();
        input.data = reinterpret_cast<std::byte*>(&number);
        input.bytes = sizeof(number);
        LS_CHECK_OK(executor.setInput(static_cast<int>(i), input));
    }
    return {};
}

Outputs whole(const Model& model, int32_t input)
{
    Result<std::unique_ptr<Executor>> executor = makeExecutor(model, kMain);
    Outputs outputs;
    if (!executor.ok() || !giveInputs(**executor, input).ok() || !(*executor)->start().ok() || !(*executor)->run().ok())
        return ADD_FAILURE(), outputs;
    const Graph& graph = model.graph(kMain);
    for (size_t k = 0; k < graph.outputs.size(); ++k) outputs[graph.outputs[k].name] = bytesOf((*executor)->output(static_cast<int>(k)));
    return outputs;
}

/// What one part comes to.
Status runPart(const Model& part, RankPeers& peers, int32_t input, PartOutcome& outcome)
{
    ExecutionOptions options;
    options.peers = &peers;
    LS_TRY(const std::unique_ptr<Executor> executor, makeExecutor(part, kMain, options));
    LS_CHECK_OK(giveInputs(*executor, input));
    LS_CHECK_OK(executor->start());
    LS_CHECK_OK(executor->run());
    const Graph& graph = part.graph(kMain);
    for (size_t k = 0; k < graph.outputs.size(); ++k)
        outcome.outputs.emplace_back(graph.outputs[k].name, copyOf(executor->output(static_cast<int>(k))));
    return {};
}

struct ThreadedRun {
    std::vector<PartOutcome> outcomes;
    int64_t messages = 0;
    Outputs outputs;
};

ThreadedRun onThreads(const Model& cut, int32_t ranks, int32_t input)
{
    const CutPlan plan = planCut(cut.graph(kMain), ranks);
    const auto transports = memoryTransports(ranks);
    CancelFlag cancel;
    ThreadedRun run;
    std::vector<int64_t> messages(static_cast<size_t>(ranks));
    const auto work = [&](int32_t rank) {
        RankPeers peers(*transports[static_cast<size_t>(rank)], plan, cancel);
        peers.begin();
        PartOutcome outcome;
        Status status;
        if (!plan.devicesOf(rank).empty()) {
            Result<Model> part = partOf(cut, kMain, plan.devicesOf(rank));
            status = part.ok() ? runPart(*part, peers, input, outcome) : Status(std::move(part).takeError());
        }
        if (!status.ok()) {
            outcome.failure = status.detail().code;
            outcome.message = std::move(status).takeError().message();
        }
        Result<std::vector<PartOutcome>> all = peers.finish(std::move(outcome));
        messages[static_cast<size_t>(rank)] = peers.messagesSent();
        if (rank == 0 && all.ok()) run.outcomes = std::move(all).value();
    };
    std::vector<std::thread> others;
    for (int32_t rank = 1; rank < ranks; ++rank) others.emplace_back(work, rank);
    work(0);
    for (std::thread& other : others) other.join();
    for (const int64_t count : messages) run.messages += count;
    for (const PartOutcome& outcome : run.outcomes)
        for (const auto& [name, value] : outcome.outputs) run.outputs[name] = bytesOf(value.view());
    return run;
}

TEST(Parts, compute_the_same_bits_each_by_its_own_executor)
{
    const Model models[] = {sample("tests/cli/nested_frames.lsir", {"n"}, {"total"}),
                            sample("samples/text/v1_collatz.lsir", {"n"}, {"count"})};
    for (const Model& model : models) {
        const Outputs want = whole(model, 7);
        ASSERT_FALSE(want.empty());
        for (uint64_t seed = 0; seed < 10; ++seed)
            for (const int32_t ranks : {2, 3}) {
                Model cut = model;
                ASSERT_TRUE(cutGraph(cut, kMain, placeAtRandom(cut.graph(kMain), 3, seed)).ok());
                const ThreadedRun run = onThreads(cut, ranks, 7);
                for (const PartOutcome& outcome : run.outcomes) EXPECT_FALSE(outcome.failure) << outcome.message;
                EXPECT_EQ(run.outputs, want) << "seed " << seed << ", " << ranks << " ranks";
            }
    }
}

constexpr const char* kTwoWay = R"(model tf
graph main {
  zero = Const() dtype=i32 value=i32[] 0 : i32[]
  i/Enter = Enter(zero) T=i32 frame_name="loop" is_constant=false parallel_iterations=10 : i32
  i = Merge(i/Enter, i/Next) N=2 T=i32 : (i32, i32)
  many = Const(^i) dtype=i32 value=i32[] 100 : i32[]
  less = Less(i, many) T=i32 : bool
  go = LoopCond(less) : bool
  i/Switch = Switch(i, go) T=i32 : (i32, i32)
  out = Exit(i/Switch) T=i32 : i32
  one = Const(^i/Switch) dtype=i32 value=i32[] 1 : i32[]
  i/add = AddV2(i/Switch:1, one) T=i32 : i32
  i/Next = NextIteration(i/add) T=i32 : i32
  done = Identity(out) T=i32 : i32
}
)";

TEST(Parts, send_two_messages_a_trip_for_a_value_that_goes_there_and_back)
{
    const Result<Model> selected = selectForRun(modelOf(kTwoWay), kMain, {{}, {"done"}, {}});
    ASSERT_TRUE(selected.ok());
    Model cut = *selected;
    std::vector<std::string> wanted(cut.graph(kMain).operators.size());
    for (size_t o = 0; o < wanted.size(); ++o)
        if (cut.graph(kMain).operators[o].name == "i/add") wanted[o] = "b";
    const Result<DevicePlacement> placement = decidePlacement(cut.graph(kMain), wanted, "a");
    ASSERT_TRUE(placement.ok());
    ASSERT_TRUE(cutGraph(cut, kMain, *placement).ok());
    const ThreadedRun run = onThreads(cut, 2, 0);
    EXPECT_EQ(run.outputs, whole(*selected, 0));
    // The predicate, which starts the iterations of the other rank, is not carried: value there, sum back, and it.
    const int64_t trips = 101;
    EXPECT_LE(run.messages, (2 + 1 + 1) * trips + 4);
}

TEST(Parts, that_wait_for_each_other_say_so_and_end)
{
    Model cut = modelOf(R"(model tf
graph main {
  a = _Recv() recv_device="a" send_device="b" send_device_incarnation=1 tensor_name="to_a" tensor_type=i32 client_terminated=false @device="a" : i32
  to_b = _Send(a) T=i32 recv_device="b" send_device="a" send_device_incarnation=1 tensor_name="to_b" client_terminated=false @device="a"
  b = _Recv() recv_device="b" send_device="a" send_device_incarnation=1 tensor_name="to_b" tensor_type=i32 client_terminated=false @device="b" : i32
  to_a = _Send(b) T=i32 recv_device="a" send_device="b" send_device_incarnation=1 tensor_name="to_a" client_terminated=false @device="b"
}
)");
    const ThreadedRun run = onThreads(cut, 2, 0);
    ASSERT_EQ(run.outcomes.size(), 2U);
    for (const PartOutcome& outcome : run.outcomes) {
        ASSERT_TRUE(outcome.failure);
        EXPECT_NE(outcome.message.find("nobody sends what this Recv waits for"), std::string::npos) << outcome.message;
    }
}

} // namespace
} // namespace loopscope::testing
