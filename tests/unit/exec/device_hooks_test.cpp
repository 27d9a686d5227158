// What a device backend hooks into: where memory comes from, and the moments at which its work must be done.
#include "engine/exec/interpreter.h"
#include "engine/exec/machine_state.h"
#include "tests/unit/exec/random_model.h"

#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace loopscope::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

/// Counts what it hands out, and ends at a limit.
class CountingAllocator final : public BlockAllocator {
public:
    std::byte* allocate(uint64_t bytes) override
    {
        if (bytes > left) return nullptr;
        used += bytes;
        ++blocks;
        return static_cast<std::byte*>(std::aligned_alloc(64, bytes));
    }
    void release(std::byte* block, uint64_t bytes) override
    {
        used -= bytes;
        std::free(block);
    }
    uint64_t used = 0, left = UINT64_MAX;
    int blocks = 0;
};

class Points final : public Synchroniser {
public:
    void reach(SyncPoint point) override { list.push_back(point); }
    std::vector<SyncPoint> list;
};

/// Every event must come right behind a point of its own.
class EventListener final : public ExecutionObserver {
public:
    explicit EventListener(Points& points) : m_points(points) {}
    void operatorExecuted(const OperatorEvent&) override
    {
        EXPECT_THAT(m_points.list, Contains(SyncPoint::event));
        m_points.list.clear();
        ++events;
    }
    int events = 0;

private:
    Points& m_points;
};

Model twoAdds()
{
    Model model;
    GraphBuilder main = addGraph(model, "main");
    const ValueId x = main.input(DType::i32, Shape({2}));
    const ValueId y = main.one("add", {x, x}, DType::i32);
    main.returns({main.one("add", {y, x}, DType::i32)});
    return model;
}

std::unique_ptr<Interpreter> interpreterOf(const Model& model, const ExecutionOptions& options, std::vector<int32_t>& x)
{
    Result<std::unique_ptr<Interpreter>> made = Interpreter::create(model, GraphId(0), options);
    EXPECT_TRUE(made.ok() && (*made)->setInput(0, tensorOver(x, Shape({2}))).ok());
    return std::move(made).value();
}

TEST(DeviceHooks, allMemoryComesFromTheAllocatorAndGoesBack)
{
    CountingAllocator allocator;
    ExecutionOptions options;
    options.allocator = &allocator;
    const Model model = twoAdds();
    std::vector<int32_t> x = {3, 4};
    {
        const auto interpreter = interpreterOf(model, options, x);
        ASSERT_TRUE(interpreter->start().ok() && interpreter->run().ok());
        EXPECT_EQ(elements<int32_t>(interpreter->output(0)), (std::vector<int32_t>{9, 12}));
        EXPECT_GT(allocator.blocks, 0);
        EXPECT_GT(allocator.used, 0U);
    }
    EXPECT_EQ(allocator.used, 0U);
}

TEST(DeviceHooks, anAllocatorWithoutMemoryIsAnError)
{
    CountingAllocator allocator;
    ExecutionOptions options;
    options.allocator = &allocator;
    const Model model = twoAdds();
    std::vector<int32_t> x = {3, 4};
    const auto interpreter = interpreterOf(model, options, x);
    allocator.left = 0;
    const Status status = interpreter->start();
    ASSERT_FALSE(status.ok());
    EXPECT_THAT(status.detail().what, ::testing::HasSubstr("out of memory"));
}

TEST(DeviceHooks, whoeverLooksHasAPointInFront)
{
    Points points;
    ExecutionOptions options;
    options.synchroniser = &points;
    const Model model = twoAdds();
    std::vector<int32_t> x = {3, 4};
    const auto interpreter = interpreterOf(model, options, x);
    ASSERT_TRUE(interpreter->start().ok() && interpreter->run().ok());
    EXPECT_THAT(points.list, ElementsAre()) << "with nobody looking a device may run ahead";
    (void)interpreter->output(0);
    const MachineState state = interpreter->snapshot();
    EXPECT_THAT(points.list, ElementsAre(SyncPoint::value, SyncPoint::snapshot));
    EventListener listener(points);
    interpreter->setObserver(&listener);
    ASSERT_TRUE(interpreter->start().ok() && interpreter->run().ok());
    EXPECT_EQ(listener.events, 2);
    points.list.clear();
    ASSERT_TRUE(interpreter->restore(state).ok());
    EXPECT_THAT(points.list, Contains(SyncPoint::restore));
}

} // namespace
} // namespace loopscope::testing
