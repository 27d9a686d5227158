// Frames, loops and guards of v1 graphs, found without running them.
#include "engine/ir/frames.h"

#include "engine/ir/text/parser.h"

#include <gmock/gmock.h>

namespace loopscope {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Graph graphOf(const std::string& body)
{
    auto model = parseModel("lsir 1\nmodel tf\n\ngraph main {\n" + body + "}\n", "test");
    EXPECT_TRUE(model.ok()) << model.error().message();
    return model.ok() ? model->graphs.front() : Graph();
}

OperatorId node(const Graph& graph, const std::string& name)
{
    for (size_t i = 0; i < graph.operators.size(); ++i)
        if (graph.operators[i].name == name) return OperatorId(static_cast<int64_t>(i));
    return {};
}

/// The names of the predicates that a node needs, `!` before those that must be false.
std::vector<std::string> guardsOf(const Graph& graph, const FrameAnalysis& analysis, const std::string& name)
{
    std::vector<std::string> texts;
    for (const Guard& guard : analysis.guards[static_cast<size_t>(node(graph, name).index)])
        texts.push_back((guard.branch ? "" : "!") + graph.value(guard.predicate).id);
    return texts;
}

bool neverLives(const Graph& graph, const FrameAnalysis& analysis, const std::string& name)
{
    return analysis.neverLives[static_cast<size_t>(node(graph, name).index)];
}

const std::string kLoop = R"(
  n = Placeholder() dtype=i32 : i32
  e = Enter(n) T=i32 frame_name="f" parallel_iterations=3 : i32
  c = Enter(n) T=i32 frame_name="f" is_constant=true : i32
  m = Merge(e, next) N=2 T=i32 : (i32, i32)
  less = Less(m, c) T=i32 : bool
  cond = LoopCond(less) : bool
  s = Switch(m, cond) T=i32 : (i32, i32)
  out = Exit(s) T=i32 : i32
  body = Neg(s:1) T=i32 : i32
  next = NextIteration(body) T=i32 : i32
  y = Neg(out) T=i32 : i32
)";

TEST(Frames, finds_the_parts_of_a_loop)
{
    const Graph graph = graphOf(kLoop);
    const FrameAnalysis analysis = analyzeFrames(graph);
    ASSERT_EQ(analysis.frames.size(), 2U);
    const Frame& frame = analysis.frames[1];
    EXPECT_EQ(frame.name, "f");
    EXPECT_EQ(frame.parallelIterations, 3);
    EXPECT_EQ(frame.irregular, "");
    EXPECT_EQ(frame.condition, node(graph, "cond"));
    ASSERT_EQ(frame.variables.size(), 1U);
    EXPECT_EQ(frame.variables[0].enter, node(graph, "e"));
    EXPECT_EQ(frame.variables[0].merge, node(graph, "m"));
    EXPECT_EQ(frame.variables[0].gate, node(graph, "s"));
    EXPECT_EQ(frame.variables[0].next, node(graph, "next"));
    EXPECT_THAT(frame.variables[0].exits, ElementsAre(node(graph, "out")));
    EXPECT_THAT(frame.invariants, ElementsAre(node(graph, "c")));
    EXPECT_EQ(analysis.frameOf[static_cast<size_t>(node(graph, "e").index)], 0) << "an Enter runs outside";
    EXPECT_EQ(analysis.frameOf[static_cast<size_t>(node(graph, "out").index)], 1) << "an Exit runs inside";
    EXPECT_EQ(analysis.frameOf[static_cast<size_t>(node(graph, "y").index)], 0);
    EXPECT_THAT(analysis.problems, IsEmpty());
    EXPECT_EQ(analysis.conditionals, 0) << "the gate of a loop is no conditional";
    EXPECT_EQ(analysis.order.size(), graph.operators.size());
}

TEST(Frames, says_why_a_frame_is_no_loop)
{
    const auto why = [](const std::string& from, const std::string& to) {
        std::string text = kLoop;
        text.replace(text.find(from), from.size(), to);
        return analyzeFrames(graphOf(text)).frames[1].irregular;
    };
    EXPECT_EQ(why("LoopCond(less)", "Identity(less) T=bool"), "it has no LoopCond");
    EXPECT_EQ(why("  body = Neg(s:1) T=i32 : i32\n", "  body = Neg(s:1) T=i32 : i32\n  more = LoopCond(less) : bool\n"),
              "it has more than one LoopCond: 'cond' and 'more'");
    EXPECT_EQ(why("Exit(s)", "Exit(m)"), "Exit 'out' does not read a variable's Switch");
    EXPECT_EQ(why("is_constant=true", "is_constant=false"), "Enter 'c' is used without a Merge");
    EXPECT_EQ(why("Switch(m, cond)", "Switch(c, cond)"), "Switch 's' gates no loop variable of this frame");
    EXPECT_EQ(why("Merge(e, next) N=2", "Merge(e, next, next) N=3"), "Merge 'm' does not join one Enter and one NextIteration");
}

TEST(Frames, finds_what_nodes_need)
{
    const Graph graph = graphOf(R"(
  p = Placeholder() dtype=bool : bool
  q = Placeholder() dtype=bool : bool
  x = Placeholder() dtype=f32 : f32
  copy = Identity(p) T=bool : bool
  s = Switch(x, copy) T=f32 : (f32, f32)
  t = Switch(s:1, q) T=f32 : (f32, f32)
  a = Neg(t) T=f32 : f32
  b = Neg(s) T=f32 : f32
  both = AddV2(s:1, b) T=f32 : f32
  after = NoOp(^both)
  trigger = ControlTrigger(^both)
  m = Merge(a, b) N=2 T=f32 : (f32, i32)
  w = Merge(both, both) N=2 T=f32 : (f32, i32)
)");
    const FrameAnalysis analysis = analyzeFrames(graph);
    EXPECT_THAT(guardsOf(graph, analysis, "a"), ElementsAre("p", "!q")) << "through the copy of p";
    EXPECT_THAT(guardsOf(graph, analysis, "b"), ElementsAre("!p"));
    EXPECT_THAT(guardsOf(graph, analysis, "m"), IsEmpty()) << "one live operand is enough";
    EXPECT_TRUE(neverLives(graph, analysis, "both")) << "p and not p";
    EXPECT_TRUE(neverLives(graph, analysis, "after")) << "death goes along control edges";
    EXPECT_FALSE(neverLives(graph, analysis, "trigger")) << "but not through a ControlTrigger";
    EXPECT_TRUE(neverLives(graph, analysis, "w")) << "no operand can live";
    EXPECT_FALSE(neverLives(graph, analysis, "a"));
    EXPECT_EQ(analysis.conditionals, 2);
}

TEST(Frames, knows_constant_predicates)
{
    const Graph graph = graphOf(R"(
  p = Const() dtype=bool value=bool[] true : bool[]
  x = Placeholder() dtype=f32 : f32
  s = Switch(x, p) T=f32 : (f32, f32)
  no = Neg(s) T=f32 : f32
  yes = Neg(s:1) T=f32 : f32
)");
    const FrameAnalysis analysis = analyzeFrames(graph);
    EXPECT_TRUE(neverLives(graph, analysis, "no"));
    EXPECT_FALSE(neverLives(graph, analysis, "yes"));
}

TEST(Frames, survive_graphs_that_make_no_sense)
{
    std::string deep = "  n = Placeholder() dtype=i32 : i32\n";
    std::string before = "n";
    for (int i = 0; i < 200; ++i) {
        const std::string name = "e" + std::to_string(i);
        deep += "  " + name + " = Enter(" + before + ") T=i32 frame_name=\"f" + std::to_string(i) + "\" : i32\n";
        before = name;
    }
    const FrameAnalysis analysis = analyzeFrames(graphOf(deep));
    EXPECT_EQ(analysis.frames.size(), 65U);
    EXPECT_THAT(analysis.problems.front(), "frame 'f64' is nested deeper than 64");
    EXPECT_THAT(analyzeFrames(graphOf("  a = Neg(b) T=i32 : i32\n  b = Neg(a) T=i32 : i32\n")).problems,
                ElementsAre("node 'a' is on a cycle without NextIteration"));
    EXPECT_THAT(
        analyzeFrames(graphOf("  x = Exit(x) T=i32 : i32\n  s = Switch(_, _) T=i32 : (i32, i32)\n  y = Neg(s) T=i32 : i32\n")).problems,
        ElementsAre("node 'x' is on a cycle without NextIteration"));
    EXPECT_THAT(analyzeFrames(graphOf("  n = Placeholder() dtype=i32 : i32\n  e = Enter(n) T=i32 : i32\n")).problems,
                ElementsAre("node 'e' is an Enter without a frame name"));
}

} // namespace
} // namespace loopscope
