// Loops: every way in which a body may hand on its values.
#include "engine/exec/interpreter.h"
#include "engine/exec/machine_state.h"
#include "tests/unit/exec/model_builder.h"

#include <gtest/gtest.h>

namespace loopscope::testing {
namespace {

/// main(n, a, b, …): while (i < n) { i + 1, body(a, b, …) } over i32 scalars; returns a, b, ….
struct Loop {
    Model model;

    /// `body` gets the builder and the carried values without counter and limit, and returns their successors.
    template <typename Body> explicit Loop(size_t values, Body body)
    {
        GraphBuilder main = addGraph(model, "main");
        GraphBuilder cond = addGraph(model, "cond");
        GraphBuilder loop = addGraph(model, "body");
        std::vector<ValueId> initial;
        const ValueId limit = main.input(DType::i32, Shape{});
        initial.push_back(main.constant<int32_t>(Shape{}, {0}));
        initial.push_back(limit);
        for (size_t v = 0; v < values; ++v) initial.push_back(main.input(DType::i32, Shape{}));

        std::vector<ValueId> formals;
        for (size_t v = 0; v < initial.size(); ++v) {
            formals.push_back(loop.input(DType::i32, Shape{}));
            cond.input(DType::i32, Shape{});
        }
        cond.returns({cond.one("less", {cond.graph().inputs[0], cond.graph().inputs[1]}, DType::boolean)});
        const ValueId one = loop.constant<int32_t>(Shape{}, {1});
        std::vector<ValueId> next = {loop.one("add", {formals[0], one}, DType::i32), formals[1]};
        for (const ValueId value : body(loop, std::vector<ValueId>(formals.begin() + 2, formals.end()))) next.push_back(value);
        loop.returns(next);
        const auto results = main.op("while", initial, std::vector<DType>(initial.size(), DType::i32),
                                     {graphAttribute("cond", cond.id()), graphAttribute("body", loop.id())});
        main.returns({results.begin() + 2, results.end()});
    }

    std::vector<int32_t> run(int32_t trips, std::vector<int32_t> initial)
    {
        auto interpreter = Interpreter::create(model, GraphId(0));
        EXPECT_TRUE(interpreter.ok());
        std::vector<int32_t> values = {trips};
        values.insert(values.end(), initial.begin(), initial.end());
        for (size_t i = 0; i < values.size(); ++i) {
            std::vector<int32_t> one = {values[i]};
            EXPECT_TRUE((*interpreter)->setInput(static_cast<int>(i), tensorOver(one, Shape{})).ok());
        }
        Status status = (*interpreter)->start();
        if (status.ok()) status = (*interpreter)->run();
        EXPECT_TRUE(status.ok()) << std::move(status).takeError().message();
        std::vector<int32_t> results;
        for (size_t k = 0; k < initial.size(); ++k) results.push_back(elements<int32_t>((*interpreter)->output(static_cast<int>(k))).at(0));
        return results;
    }
};

using Values = std::vector<ValueId>;
using Numbers = std::vector<int32_t>;

TEST(Loop, sums)
{
    Loop loop(1, [](GraphBuilder& b, const Values& v) { return Values{b.one("add", {v[0], b.graph().inputs[0]}, DType::i32)}; });
    EXPECT_EQ(loop.run(0, {7}), Numbers{7});
    EXPECT_EQ(loop.run(1, {7}), Numbers{7});
    EXPECT_EQ(loop.run(101, {0}), Numbers{5050});
}

/// Whole iterations run without a look at each operator: where a run stops must not show it.
TEST(Loop, stopsWhereStepsDoWhateverRunsInOnePiece)
{
    const Loop loop(1, [](GraphBuilder& b, const Values& v) { return Values{b.one("add", {v[0], b.graph().inputs[0]}, DType::i32)}; });
    const auto started = [&] {
        auto made = Interpreter::create(loop.model, GraphId(0));
        std::unique_ptr<Interpreter> interpreter = std::move(*made);
        for (int i = 0; i < 2; ++i) {
            std::vector<int32_t> one = {i == 0 ? 9 : 0};
            EXPECT_TRUE(interpreter->setInput(i, tensorOver(one, Shape{})).ok());
        }
        EXPECT_TRUE(interpreter->start().ok());
        return interpreter;
    };
    const auto stepped = started();
    for (Tick tick = stepped->tick(); !stepped->position().finished; tick = stepped->tick()) {
        const auto ran = started();
        ASSERT_TRUE(ran->runTo(tick).ok());
        ASSERT_EQ(ran->tick(), tick);
        ASSERT_EQ(ran->positionAddress(), stepped->positionAddress());
        ASSERT_EQ(ran->snapshot().hash(), stepped->snapshot().hash()) << stepped->positionAddress();
        ASSERT_TRUE(ran->run().ok());
        EXPECT_EQ(elements<int32_t>(ran->output(0)).at(0), 36);
        ASSERT_TRUE(stepped->step().ok());
    }
}

TEST(Loop, swapsItsValues)
{
    Loop loop(2, [](GraphBuilder&, const Values& v) { return Values{v[1], v[0]}; });
    EXPECT_EQ(loop.run(0, {1, 2}), (Numbers{1, 2}));
    EXPECT_EQ(loop.run(1, {1, 2}), (Numbers{2, 1}));
    EXPECT_EQ(loop.run(2, {1, 2}), (Numbers{1, 2}));
}

TEST(Loop, computesReversedFibonacci)
{
    Loop loop(2, [](GraphBuilder& b, const Values& v) { return Values{b.one("add", {v[0], v[1]}, DType::i32), v[0]}; });
    EXPECT_EQ(loop.run(1, {1, 2}), (Numbers{3, 1}));
    EXPECT_EQ(loop.run(2, {1, 2}), (Numbers{4, 3}));
    EXPECT_EQ(loop.run(3, {1, 2}), (Numbers{7, 4}));
    EXPECT_EQ(loop.run(5, {1, 2}), (Numbers{18, 11}));
}

TEST(Loop, rotatesThreeValues)
{
    Loop left(3, [](GraphBuilder&, const Values& v) { return Values{v[2], v[0], v[1]}; });
    EXPECT_EQ(left.run(1, {1, 2, 3}), (Numbers{3, 1, 2}));
    EXPECT_EQ(left.run(2, {1, 2, 3}), (Numbers{2, 3, 1}));
    Loop mixed(3, [](GraphBuilder& b, const Values& v) { return Values{b.one("add", {v[0], v[2]}, DType::i32), v[0], v[1]}; });
    EXPECT_EQ(mixed.run(1, {1, 2, 3}), (Numbers{4, 1, 2}));
    EXPECT_EQ(mixed.run(2, {1, 2, 3}), (Numbers{6, 4, 1}));
    EXPECT_EQ(mixed.run(3, {1, 2, 3}), (Numbers{7, 6, 4}));
}

TEST(Loop, handsOnConstantsDuplicatesAndRepetitions)
{
    Loop constant(2, [](GraphBuilder& b, const Values& v) { return Values{b.constant<int32_t>(Shape{}, {7}), v[0]}; });
    EXPECT_EQ(constant.run(0, {1, 2}), (Numbers{1, 2}));
    EXPECT_EQ(constant.run(1, {1, 2}), (Numbers{7, 1}));
    EXPECT_EQ(constant.run(2, {1, 2}), (Numbers{7, 7}));
    Loop twice(2, [](GraphBuilder& b, const Values& v) {
        const ValueId sum = b.one("add", {v[0], v[1]}, DType::i32);
        return Values{sum, sum};
    });
    EXPECT_EQ(twice.run(1, {1, 2}), (Numbers{3, 3}));
    EXPECT_EQ(twice.run(3, {1, 2}), (Numbers{12, 12}));
    Loop first(2, [](GraphBuilder&, const Values& v) { return Values{v[0], v[0]}; });
    EXPECT_EQ(first.run(2, {1, 2}), (Numbers{1, 1}));
}

} // namespace
} // namespace loopscope::testing
