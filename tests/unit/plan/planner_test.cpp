#include "engine/plan/planner.h"

#include "engine/plan/memory_planner.h"
#include "tests/unit/exec/model_builder.h"

#include <gtest/gtest.h>

namespace loopscope::testing {
namespace {

const GraphPlan& planOf(Planner& planner, const std::vector<Shape>& inputs)
{
    Result<const GraphPlan*> plan = planner.plan(GraphId(0), inputs, "main");
    EXPECT_TRUE(plan.ok()) << plan.error().message();
    return **plan;
}

TEST(Planner, computesShapesFromTheInputsAndTrustsNoStatedOnes)
{
    Model model;
    GraphBuilder main = addGraph(model, "main");
    const ValueId x = main.input(DType::f32, Shape{1, 3});
    const ValueId y = main.one("add", {x, x}, DType::f32);
    const ValueId z = main.one("add", {y, y}, DType::f32);
    main.graph().value(y).type.shape = Shape{7}; // what a careless file states
    main.returns({z});
    Planner planner(model);
    const GraphPlan& plan = planOf(planner, {Shape{5, 3}});
    EXPECT_EQ(plan.value(y).shape, (Shape{5, 3}));
    EXPECT_EQ(plan.value(y).storage, Storage::arena);
    EXPECT_EQ(plan.value(y).bytes, 60U);
    EXPECT_EQ(plan.value(z).storage, Storage::output);
    EXPECT_EQ(plan.bytes, 64U) << "inputs and outputs are the caller's";
}

/// main calls level 0 twice, that calls level 1 twice, …: 2^40 ways, 40 plans.
TEST(Planner, isLinearInGraphsThatCallEachOtherManyTimes)
{
    Model model;
    GraphBuilder main = addGraph(model, "main");
    constexpr int kLevels = 40;
    for (int level = 0; level < kLevels; ++level) {
        GraphBuilder graph = level == 0 ? main : GraphBuilder(model, GraphId(level));
        if (level + 1 < kLevels) addGraph(model, "g" + std::to_string(level + 1));
        const ValueId x = graph.input(DType::f32, Shape{64});
        if (level + 1 == kLevels) {
            graph.returns({graph.one("add", {x, x}, DType::f32)});
            break;
        }
        const NamedAttribute callee = graphAttribute("call", GraphId(level + 1));
        const ValueId once = graph.one("call", {x}, DType::f32, {callee});
        graph.returns({graph.one("call", {once}, DType::f32, {callee})});
    }
    Planner planner(model);
    const GraphPlan& plan = planOf(planner, {Shape{64}});
    EXPECT_EQ(plan.bytes, (kLevels - 1) * 256U) << "one value a level; the two calls of a level share their memory";
    EXPECT_EQ(plan.lowerBound, plan.bytes);
}

TEST(Planner, leavesDimensionsOpenThatALoopChanges)
{
    Model model;
    GraphBuilder main = addGraph(model, "main");
    GraphBuilder cond = addGraph(model, "cond");
    GraphBuilder body = addGraph(model, "body");
    for (GraphBuilder* graph : {&cond, &body}) {
        graph->input(DType::i32, Shape{});
        graph->input(DType::i32, Shape{kUnknownDim, 2});
        graph->input(DType::i32, Shape{3});
    }
    cond.returns({cond.one("less", {cond.graph().inputs[0], cond.constant<int32_t>(Shape{}, {5})}, DType::boolean)});
    const std::vector<ValueId> in = body.graph().inputs;
    const ValueId longer = body.one("concatenation", {in[1], in[1]}, DType::i32, {{"axis", int64_t{0}}});
    body.returns({body.one("add", {in[0], in[0]}, DType::i32), longer, body.one("add", {in[2], in[2]}, DType::i32)});
    const std::vector<ValueId> operands = {main.input(DType::i32, Shape{}), main.input(DType::i32, Shape{1, 2}),
                                           main.input(DType::i32, Shape{3})};
    const auto results = main.op("while", operands, {DType::i32, DType::i32, DType::i32},
                                 {graphAttribute("cond", cond.id()), graphAttribute("body", body.id())});
    const ValueId after = main.one("add", {results[1], results[1]}, DType::i32);
    main.returns({after, results[2]});

    Planner planner(model);
    const GraphPlan& plan = planOf(planner, {Shape{}, Shape{1, 2}, Shape{3}});
    EXPECT_EQ(plan.value(results[1]).shape, (Shape{kUnknownDim, 2}));
    EXPECT_EQ(plan.value(results[1]).storage, Storage::heap);
    EXPECT_EQ(plan.value(results[2]).shape, Shape{3}) << "the other values keep theirs";
    EXPECT_TRUE(plan.value(results[2]).fixed);
    const LoopPlan& loop = plan.operators[0].call->loop;
    EXPECT_TRUE(loop.direct);
    EXPECT_EQ(loop.written, (std::vector<int32_t>{0, 1, 2}));
}

TEST(Planner, reportsBrokenCallsWithTheirPlace)
{
    Model model;
    GraphBuilder main = addGraph(model, "main");
    GraphBuilder outer = addGraph(model, "outer");
    GraphBuilder inner = addGraph(model, "inner");
    inner.input(DType::f32, Shape{});
    inner.returns({inner.graph().inputs[0]});
    const ValueId y = outer.input(DType::i32, Shape{});
    outer.returns({outer.one("call", {y}, DType::f32, {graphAttribute("call", inner.id())})});
    const ValueId x = main.input(DType::i32, Shape{});
    main.returns({main.one("call", {x}, DType::f32, {graphAttribute("call", outer.id())})});
    Planner planner(model);
    const Result<const GraphPlan*> plan = planner.plan(GraphId(0), std::vector<Shape>{Shape{}}, "main");
    ASSERT_FALSE(plan.ok());
    EXPECT_EQ(plan.error().message(), "main/call#0:call/call#0: C4: operand 0 for input 'v0' f32 of 'inner', found i32, expected f32");
}

} // namespace
} // namespace loopscope::testing
