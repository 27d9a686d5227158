// What ranks say to each other as bytes, and the lifelines by which a rank that dies is told from one that leaves.
#include "engine/distributed/bytes.h"
#include "engine/distributed/lifelines.h"

#include <chrono>
#include <gtest/gtest.h>
#include <thread>

namespace loopscope::testing {
namespace {

TEST(MessageBytes, come_back_as_they_were)
{
    std::vector<float> elements = {1, 2, 3, 4, 5, 6};
    Tensor tensor;
    tensor.dtype = DType::f32;
    tensor.shape = Shape{2, 3};
    tensor.data = reinterpret_cast<std::byte*>(elements.data());
    tensor.bytes = elements.size() * sizeof(float);
    std::vector<std::byte> room;
    MessageWriter writer(room);
    writer.number(int32_t{-5});
    writer.text("loop@3");
    writer.numbers(std::vector<int64_t>{7, 8});
    writer.tensor(tensor);
    const std::span<const std::byte> message = writer.bytes();
    MessageReader reader(message);
    EXPECT_EQ(reader.number<int32_t>(), -5);
    EXPECT_EQ(reader.text(), "loop@3");
    std::vector<int64_t> numbers;
    reader.numbers(numbers);
    EXPECT_EQ(numbers, (std::vector<int64_t>{7, 8}));
    const Tensor back = reader.tensor();
    ASSERT_TRUE(reader.isWhole());
    EXPECT_EQ(toString(back.shape), "[2,3]");
    EXPECT_EQ(std::vector<float>(back.as<float>(), back.as<float>() + 6), elements);
    for (size_t size = 0; size < message.size(); ++size) { // cut anywhere, nothing beyond the end is read
        MessageReader cut(message.first(size));
        cut.number<int32_t>();
        cut.text();
        cut.numbers(numbers);
        cut.tensor();
        EXPECT_FALSE(cut.isWhole()) << size;
    }
}

TEST(Lifelines, tell_who_dies_from_who_leaves)
{
    Lifelines first;
    const Result<std::string> offered = first.offer(3, true);
    ASSERT_TRUE(offered.ok()) << offered.error().message();
    auto leaver = std::make_unique<Lifelines>(), victim = std::make_unique<Lifelines>();
    std::thread others([&] {
        EXPECT_FALSE(Lifelines().connect("127.0.0.1 1 0123456789abcdef0123456789abcdef", 1).ok());
        EXPECT_TRUE(leaver->connect(*offered, 1).ok());
        EXPECT_TRUE(victim->connect(*offered, 2).ok());
    });
    first.accept(10'000'000'000);
    others.join();
    EXPECT_FALSE(first.isLost(1));
    EXPECT_FALSE(first.isLost(2));
    leaver->sayGoodbye(true);
    victim.reset();
    for (int look = 0; look < 1000 && !first.isLost(2); ++look) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_FALSE(first.isLost(1));
    EXPECT_TRUE(first.isLost(2));
    first.sayGoodbye(false);
    for (int look = 0; look < 1000; ++look) EXPECT_FALSE(leaver->isLost(0)); // looking does not swallow the word
    EXPECT_FALSE(leaver->hearsThatAllLeave(10'000'000'000));                 // MPI would wait for the one that is lost
}

} // namespace
} // namespace loopscope::testing
