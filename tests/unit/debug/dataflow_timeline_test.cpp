// Time travel over v1 graphs: wherever random requests lead, the state is the one that a forward run has there.
#include "engine/debug/timeline.h"
#include "tests/unit/exec/dataflow_models.h"

#include <random>

namespace loopscope::testing {
namespace {

TEST(DataflowTimeline, leadsToTheStatesOfAForwardRun)
{
    const auto model = dataflowModel(kNestedFrames);
    for (const uint64_t scheduleSeed : {uint64_t{0}, uint64_t{9}}) {
        ExecutionOptions options;
        options.scheduleSeed = scheduleSeed;
        options.keepAll = scheduleSeed == 0;
        const auto plain = startedDataflow(*model, 6, options);
        std::vector<uint64_t> hashes = {plain->snapshot().hash()};
        while (!plain->position().finished) {
            ASSERT_TRUE(plain->step().ok());
            hashes.push_back(plain->snapshot().hash());
        }
        const auto end = std::ssize(hashes) - 1;
        std::mt19937 random(5);
        for (int round = 0; round < 6; ++round) {
            Result<std::unique_ptr<DataflowExecutor>> made = DataflowExecutor::create(*model, GraphId(0), options);
            ASSERT_TRUE(made.ok());
            DataflowExecutor* const executor = made->get();
            int32_t six = 6;
            ASSERT_TRUE(executor->setInput(0, scalarOf(six)).ok());
            TimelineBudget budget;
            budget.spacingNs = 1 << (random() % 16);
            budget.overhead = 1000;
            budget.undoStates = round % 2 == 0 ? 2 : 64;
            Timeline timeline(*executor, budget);
            ASSERT_TRUE(timeline.start().ok());
            for (int i = 0; i < 120; ++i) {
                const int64_t from = timeline.tick();
                int64_t wanted = from;
                switch (random() % 4) {
                case 0:
                    if (timeline.forward().ok()) ++wanted;
                    break;
                case 1:
                case 2:
                    if (timeline.back().ok()) --wanted;
                    break;
                default: wanted = static_cast<int64_t>(random() % hashes.size()); ASSERT_TRUE(timeline.goTo(wanted).ok());
                }
                ASSERT_EQ(timeline.tick(), std::min(wanted, end));
                ASSERT_EQ(executor->snapshot().hash(), hashes[static_cast<size_t>(timeline.tick())]) << executor->positionAddress();
            }
        }
    }
}

TEST(DataflowTimeline, editsForkTheRun)
{
    const auto model = dataflowModel(kNestedFrames);
    ExecutionOptions options;
    options.keepAll = true;
    const auto executor = startedDataflow(*model, 4, options);
    Timeline timeline(*executor);
    ASSERT_TRUE(timeline.start().ok());
    const Graph& graph = model->graphs[0];
    // The last outer iteration, before its Switch: the sum becomes 100 there.
    while (executor->positionAddress() != "main/outer@4:frame/o/sum_s") ASSERT_TRUE(timeline.forward().ok());
    const int64_t here = timeline.tick();
    int32_t hundred = 100;
    Result<TimelineId> fork = timeline.edit(-1, graph.findValue("o/sum"), scalarOf(hundred));
    ASSERT_TRUE(fork.ok()) << fork.error().message();
    ASSERT_TRUE(timeline.goToEnd().ok());
    EXPECT_EQ(*executor->output(1).as<int32_t>(), 100);
    ASSERT_TRUE(timeline.switchTo(1).ok());
    EXPECT_EQ(timeline.tick(), here);
    ASSERT_TRUE(timeline.goToEnd().ok());
    EXPECT_EQ(*executor->output(1).as<int32_t>(), nestedFramesSum(4));
}

} // namespace
} // namespace loopscope::testing
