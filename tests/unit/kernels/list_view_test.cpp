// Lists that are written into memory where older lists lie: whatever lay there, the result is what a list written anew would be.
#include "engine/kernels/cpu/tf_list_view.h"
#include "engine/kernels/resources.h"

#include <cstring>
#include <gtest/gtest.h>
#include <random>

namespace loopscope {
namespace {

/// Memory that a result is written to again and again, as executors keep it: its content stays as long as it does not have to grow.
struct Memory : Tensor {
    std::vector<std::byte> block;
};

class KeepingRuntime final : public KernelRuntime {
public:
    std::byte* scratch(size_t) override { return nullptr; }
    Status resize(Tensor& output, const Shape& shape, size_t bytes) override
    {
        auto& memory = static_cast<Memory&>(output);
        if (bytes > memory.block.size()) memory.block.assign(bytes + bytes / 2, std::byte{0});
        output.shape = shape;
        output.bytes = bytes;
        output.data = memory.block.data();
        return {};
    }
    ResourceStore& resources() override { return m_resources; }
    RandomState& random() override { return m_random; }

private:
    ResourceStore m_resources;
    RandomState m_random;
};

/// What a list should be: elements of one or two floats, or not set.
using Expected = std::vector<std::vector<float>>;

void expectList(const Memory& memory, const Expected& expected)
{
    const Tensor* const in[] = {&memory};
    const KernelArgs args{in, nullptr, nullptr, nullptr, 1, 0};
    const Result<VariantValue> list = listOperand(args, 0);
    ASSERT_TRUE(list.ok());
    ASSERT_EQ(list->tensors.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
        ASSERT_EQ(list->tensors[i].isSet(), !expected[i].empty());
        if (expected[i].empty()) continue;
        ASSERT_EQ(list->tensors[i].bytes.size(), expected[i].size() * sizeof(float));
        ASSERT_EQ(std::memcmp(list->tensors[i].bytes.data(), expected[i].data(), list->tensors[i].bytes.size()), 0) << i;
    }
    // Taken apart and put together again it has the same bytes: header and hash are right. "Sizes differ" may be said where they do no
    // more.
    std::string again = encodeVariant(*list);
    ASSERT_EQ(memory.bytes, again.size() + 12);
    constexpr size_t kElementSize = 6 * sizeof(int64_t); // of a list of unknown element shape
    int64_t size = 0;
    std::memcpy(&size, memory.data + 12 + kElementSize, sizeof size);
    if (size == -1) std::memcpy(again.data() + kElementSize, &size, sizeof size);
    ASSERT_EQ(std::memcmp(memory.data + 12, again.data(), again.size()), 0);
}

TEST(ListView, writesTheSameWhateverLiesInItsMemory)
{
    for (uint32_t seed = 1; seed <= 40; ++seed) {
        std::mt19937 random(seed);
        KeepingRuntime runtime;
        std::vector<Memory> memories(4);
        std::vector<Expected> lists(4);
        const bool mixesSizes = seed % 4 == 0;
        for (size_t m = 0; m < memories.size(); ++m) {
            memories[m].dtype = DType::variant;
            VariantValue list;
            list.kind = VariantKind::list;
            list.elementType = DType::f32;
            list.tensors.resize(m * 3);
            lists[m].resize(m * 3);
            Tensor* const out[] = {&memories[m]};
            ASSERT_TRUE(writeVariant({nullptr, out, nullptr, &runtime, 0, 1}, 0, list).ok());
        }
        size_t from = 3;
        int64_t next = 0; // the element that a loop would set
        for (int step = 0; step < 400; ++step) {
            size_t to = random() % 8 == 0 ? random() % memories.size() : (from + 1) % 2; // mostly two that take turns
            if (to == from) to = (from + 1) % memories.size();
            const Tensor* const in[] = {&memories[from]};
            Tensor* const out[] = {&memories[to]};
            const KernelArgs args{in, out, nullptr, &runtime, 1, 1};
            const Result<ListView> view = ListView::of(args, 0);
            ASSERT_TRUE(view.ok());
            Expected expected = lists[from];
            const auto count = static_cast<int64_t>(expected.size());
            const uint32_t choice = random() % 10;
            if (choice < 2 && count > 0) {
                ASSERT_TRUE(view->writeWithoutLast(args, 0).ok());
                expected.pop_back();
            } else {
                std::vector<float> values(mixesSizes ? 1 + random() % 2 : 1);
                for (float& value : values) value = static_cast<float>(random() % 5);
                VariantTensor element;
                element.dtype = DType::f32;
                element.shape = Shape({static_cast<int64_t>(values.size())});
                element.bytes = {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
                int64_t i = count;
                if (choice < 7 && count > 0) i = choice < 6 ? next++ % count : static_cast<int64_t>(random()) % count;
                ASSERT_TRUE(view->writeWith(args, 0, i, element).ok());
                if (i == count) expected.emplace_back();
                expected[static_cast<size_t>(i)] = values;
            }
            lists[to] = expected;
            ASSERT_NO_FATAL_FAILURE(expectList(memories[to], expected)) << "seed " << seed << " step " << step;
            ASSERT_NO_FATAL_FAILURE(expectList(memories[from], lists[from]));
            from = to;
        }
    }
}

TEST(ListView, doesNotTrustMemoryThatOnlyLooksLikeAnOlderList)
{
    KeepingRuntime runtime;
    Memory memory[2];
    const auto listOf = [&](Memory& into, const std::vector<float>& values) {
        VariantValue list;
        list.kind = VariantKind::list;
        list.elementType = DType::f32;
        for (const float& value : values)
            list.tensors.push_back({DType::f32, Shape(), {reinterpret_cast<const char*>(&value), sizeof value}, -1});
        into.dtype = DType::variant;
        Tensor* const out[] = {&into};
        ASSERT_TRUE(writeVariant({nullptr, out, nullptr, &runtime, 0, 1}, 0, list).ok());
    };
    listOf(memory[1], {1, 2, 3, 4, 5});
    listOf(memory[1], {7, 2, 9}); // another list of the same form
    listOf(memory[0], {1, 2, 3, 4});
    const Tensor* const in[] = {&memory[0]};
    Tensor* const out[] = {&memory[1]};
    const KernelArgs args{in, out, nullptr, &runtime, 1, 1};
    const float five = 5;
    const VariantTensor element{DType::f32, Shape(), {reinterpret_cast<const char*>(&five), sizeof five}, -1};
    const Result<ListView> view = ListView::of(args, 0);
    ASSERT_TRUE(view.ok());
    ASSERT_TRUE(view->writeWith(args, 0, 4, element).ok());
    expectList(memory[1], {{1}, {2}, {3}, {4}, {5}});
}

TEST(ListView, refusesMoreElementsThanThereAreBytesFor)
{
    KeepingRuntime runtime;
    const float value = 3;
    VariantValue list;
    list.kind = VariantKind::list;
    list.elementType = DType::f32;
    list.tensors.push_back({DType::f32, Shape(), {reinterpret_cast<const char*>(&value), sizeof value}, -1});
    Memory memory;
    memory.dtype = DType::variant;
    Tensor* const out[] = {&memory};
    ASSERT_TRUE(writeVariant({nullptr, out, nullptr, &runtime, 0, 1}, 0, list).ok());
    const Tensor* const in[] = {&memory};
    const KernelArgs args{in, nullptr, nullptr, nullptr, 1, 0};
    ASSERT_TRUE(ListView::of(args, 0).ok());
    const int64_t count = 1000;
    std::memcpy(memory.data + 12 + 5 * sizeof count, &count, sizeof count);
    EXPECT_FALSE(ListView::of(args, 0).ok());
}

} // namespace
} // namespace loopscope
