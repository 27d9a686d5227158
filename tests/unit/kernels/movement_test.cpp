// The machinery under the data movement kernels: strided copies, packed integers, strings. What each operator means is in tests/ops.
#include "engine/kernels/cpu/movement.h"
#include "engine/ops/movement.h"
#include "engine/tensor/strings.h"
#include "tests/unit/kernels/kernel_harness.h"

#include <gtest/gtest.h>

namespace loopscope {
namespace {

TestTensor stringTensor(Shape shape, const std::vector<std::string>& values)
{
    TestTensor t;
    t.dtype = DType::string;
    t.shape = std::move(shape);
    t.data = packStrings(values);
    return t;
}

std::vector<std::string> stringsOf(const TestTensor& t)
{
    const auto views = unpackStrings(t.data);
    std::vector<std::string> out;
    if (views.ok())
        for (const auto v : views.value()) out.emplace_back(v);
    return out;
}

RunOptions with(AttributeList attributes, size_t results = 1)
{
    RunOptions options;
    options.attributes = std::move(attributes);
    options.results.resize(results);
    return options;
}

TEST(StridedCopy, everyElementWidthTransposes)
{
    for (const int64_t size : {1, 2, 4, 8, 16}) {
        std::vector<std::byte> in(static_cast<size_t>(6 * size));
        for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::byte>(i / static_cast<size_t>(size));
        std::vector<std::byte> out(in.size());
        StridedCopy copy; // [2,3] to [3,2]
        copy.add(3, 1, 2);
        copy.add(2, 3, 1);
        copy.run(in.data(), out.data(), size);
        for (size_t i = 0; i < 6; ++i)
            EXPECT_EQ(static_cast<int>(out[i * static_cast<size_t>(size)]), static_cast<int>((std::array{0, 3, 1, 4, 2, 5})[i]));
    }
}

TEST(StridedCopy, tooManyDimensionsAreAnError)
{
    StridedCopy copy;
    for (int i = 0; i < 2 * StridedCopy::kMaxRank; ++i) copy.add(2, i % 2, 1);
    std::byte byte = {};
    EXPECT_FALSE(copy.runChecked(&byte, &byte, 1).ok());
}

TEST(Movement, packedIntegersMoveAsElements)
{
    TestTensor x;
    x.dtype = DType::i4;
    x.shape = {3, 3};
    x.data = {std::byte{0x21}, std::byte{0x43}, std::byte{0x65}, std::byte{0x87}, std::byte{0x09}}; // 1 2 3 / 4 5 6 / 7 -8 -7
    const auto perm = tensorOf<int32_t>({2}, {1, 0});
    auto out = runOperator("transpose", {&x, &perm});
    ASSERT_TRUE(out.ok());
    EXPECT_EQ(out->front().data,
              (std::vector<std::byte>{std::byte{0x41}, std::byte{0x27}, std::byte{0x85}, std::byte{0x63}, std::byte{0x09}}));
}

TEST(Movement, stringsMoveAsElements)
{
    const auto x = stringTensor({2, 2}, {"a", "", "ccc", "dd"});
    const auto y = stringTensor({1, 2}, {"e", "f"});
    auto joined = runOperator("concatenation", {&x, &y}, with({{"axis", int64_t{0}}}));
    ASSERT_TRUE(joined.ok()) << joined.error().message();
    EXPECT_EQ(joined->front().shape, (Shape{3, 2}));
    EXPECT_EQ(stringsOf(joined->front()), (std::vector<std::string>{"a", "", "ccc", "dd", "e", "f"}));
    const auto paddings = tensorOf<int32_t>({2, 2}, {0, 0, 1, 0});
    auto padded = runOperator("pad", {&y, &paddings});
    ASSERT_TRUE(padded.ok());
    EXPECT_EQ(stringsOf(padded->front()), (std::vector<std::string>{"", "e", "f"}));
}

TEST(Movement, stringBlockWithAnotherCountIsAnError)
{
    auto x = stringTensor({3}, {"a", "b"});
    const auto axis = tensorOf<int32_t>({1}, {0});
    EXPECT_NE(messageOf("reverse_v2", {&x, &axis}).find("found 2, expected 3"), std::string::npos);
    x.data.resize(6);
    EXPECT_NE(messageOf("reverse_v2", {&x, &axis}), "");
}

TEST(Movement, stridedSliceFollowsPython)
{
    // Every begin, end and stride of a small dimension against Python's own rule.
    constexpr int64_t kExtent = 5;
    const auto x = tensorOf<int32_t>({kExtent}, {0, 1, 2, 3, 4});
    for (int64_t begin = -7; begin <= 7; ++begin)
        for (int64_t end = -7; end <= 7; ++end)
            for (const int64_t stride : {-3, -2, -1, 1, 2, 3}) {
                const auto clip = [&](int64_t v) {
                    if (v < 0) v += kExtent;
                    return stride > 0 ? std::clamp<int64_t>(v, 0, kExtent) : std::clamp<int64_t>(v, -1, kExtent - 1);
                };
                std::vector<int32_t> expected;
                for (int64_t i = clip(begin); stride > 0 ? i < clip(end) : i > clip(end); i += stride)
                    expected.push_back(static_cast<int32_t>(i));
                const auto b = tensorOf<int32_t>({1}, {static_cast<int32_t>(begin)});
                const auto e = tensorOf<int32_t>({1}, {static_cast<int32_t>(end)});
                const auto s = tensorOf<int32_t>({1}, {static_cast<int32_t>(stride)});
                auto out = runOperator("strided_slice", {&x, &b, &e, &s});
                ASSERT_TRUE(out.ok());
                EXPECT_EQ(out->front().values<int32_t>(), expected) << begin << ":" << end << ":" << stride;
            }
}

TEST(Movement, indicesOnlyKnownWhileRunningAreChecked)
{
    const auto x = tensorOf<float>({3}, {1, 2, 3});
    for (const int32_t bad : {-1, 3, INT32_MAX, INT32_MIN}) {
        const auto i = tensorOf<int32_t>({1}, {bad});
        EXPECT_NE(messageOf("gather", {&x, &i}).find("C4: position 0, found " + std::to_string(bad) + ", expected 0 to 2"),
                  std::string::npos);
    }
}

TEST(Variables, roundTripAndListener)
{
    struct Listener : ResourceListener {
        std::string heard;
        void accessed(const std::string& name, AccessKind kind, const Tensor*) override
        {
            heard += name + ":" + "crw"[static_cast<int>(kind)] + " ";
        }
    } listener;
    TestRuntime runtime;
    runtime.resources().listener = &listener;
    Operator op;
    op.kind = {"tfl", "var_handle"};
    op.attributes = {{"container", std::string("box")}, {"shared_name", std::string("v")}};
    int32_t handle = -1;
    Tensor h;
    h.data = reinterpret_cast<std::byte*>(&handle);
    h.bytes = 4;
    h.dtype = DType::resource;
    const Tensor* in[] = {&h, nullptr};
    Tensor* out[] = {&h};
    const auto run = [&](const std::string& name, int inputs, int outputs) {
        op.kind.name = name;
        const KernelEntry* entry = KernelRegistry::builtin().find(op.kind, Profile::reference);
        auto kernel = entry->prepare(KernelSetup{op, {in, static_cast<size_t>(inputs)}, {}, true});
        return kernel->run(KernelArgs{in, out, kernel->params.get(), &runtime, inputs, outputs});
    };
    ASSERT_TRUE(run("var_handle", 0, 1).ok());
    ASSERT_TRUE(run("var_handle", 0, 1).ok());
    EXPECT_EQ(handle, 0);
    Tensor got;
    got.dtype = DType::f32;
    out[0] = &got;
    const Status early = run("read_variable", 1, 1);
    ASSERT_FALSE(early.ok());
    EXPECT_EQ(early.detail().what, "C2: variable 'box/v' is read before it was assigned");
    float value[] = {1.5F, -2.0F};
    Tensor v;
    v.data = reinterpret_cast<std::byte*>(value);
    v.bytes = sizeof value;
    v.dtype = DType::f32;
    v.shape = {2};
    in[1] = &v;
    ASSERT_TRUE(run("assign_variable", 2, 0).ok());
    ASSERT_TRUE(run("read_variable", 1, 1).ok());
    EXPECT_EQ(got.shape, (Shape{2}));
    EXPECT_EQ(got.as<float>()[1], -2.0F);
    EXPECT_EQ(listener.heard, "box/v:c box/v:w box/v:r ");
    got.dtype = DType::i32;
    EXPECT_FALSE(run("read_variable", 1, 1).ok());
    handle = 7;
    EXPECT_FALSE(run("read_variable", 1, 1).ok());
}

} // namespace
} // namespace loopscope
