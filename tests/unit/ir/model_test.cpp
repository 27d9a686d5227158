// Comparison, look-ups and the verifier: what counts as equal, and each rule that a model may break.
#include "engine/ir/text/parser.h"
#include "engine/ir/verifier.h"

#include <gmock/gmock.h>

#include <functional>

namespace loopscope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Model parsed(const std::string& text)
{
    auto model = parseModel(text, "test");
    EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().message());
    return model.ok() ? std::move(model).value() : Model();
}

constexpr const char* kLoop = R"(model tfl description="d"
versions add=2 while=3
signature "s" @main("n"=n) -> ("r"=r)
metadata "m" "text"

graph main(n: i32[]) {
  zero = const i32[] 0

  i, r = while(zero, n) body=@step cond=@more : (i32[], i32[])
  return r
}
names main {
  zero = "a/zero"
}

graph more(i: i32[], n: i32[]) {
  go = less(i, n) : bool[]
  return go
}

graph step(i: i32[], n: i32[]) {
  w = const i8[2,3] q(axis=1, [0.1, 0.2, 0.3], 0) [1, 2, 3, 4, 5, 6]
  j = add(i, n) act=RELU : i32[]
  return j, n
}
)";

TEST(Compare, SeesEveryPart)
{
    const Model model = parsed(kLoop);
    EXPECT_TRUE(sameModel(model, parsed(kLoop)));
    const auto difference = [&](const std::string& from, const std::string& to) {
        std::string text = kLoop;
        text.replace(text.find(from), from.size(), to);
        return firstDifference(model, parsed(text));
    };
    EXPECT_EQ(difference("model tfl", "model circle"), "dialect");
    EXPECT_EQ(difference("description=\"d\"", "description=\"e\""), "model: attribute 'description'");
    EXPECT_EQ(difference("add=2", "add=4"), "versions");
    EXPECT_EQ(difference("(\"n\"=n)", "(\"n\"=zero)"), "signature \"s\"");
    EXPECT_EQ(difference("\"text\"", "\"tex\""), "metadata \"m\"");
    EXPECT_EQ(difference("a/zero", "b/zero"), "graph main: value zero: name");
    EXPECT_EQ(difference("const i32[] 0", "const i32[] 1"), "graph main: value zero: data");
    EXPECT_EQ(difference("body=@step cond=@more", "body=@more cond=@more"), "graph main: operator 0: attribute 'body'");
    EXPECT_EQ(difference("less(i, n)", "less(n, i)"), "graph more: operator 0: operands");
    EXPECT_EQ(difference("less(i, n)", "equal(i, n)"), "graph more: operator 0: kind: tfl.less and tfl.equal");
    EXPECT_EQ(difference("go = less(i, n) : bool[]", "go = less(i, n) : bool[1]"), "graph more: value go: type");
    EXPECT_EQ(difference("0.2, 0.3", "0.2, 0.4"), "graph step: value w: type");
    EXPECT_EQ(difference("act=RELU", "act=RELU6"), "graph step: operator 0: attribute 'act'");
    EXPECT_EQ(difference("act=RELU", ""), "graph step: operator 0: attribute 'act'");
    EXPECT_EQ(difference("return j, n", "return n, j"), "graph step: outputs");
    EXPECT_EQ(difference("w = const", "v = const"), "graph step: value w: only in one");
    EXPECT_EQ(difference("graph step(i: i32[], n: i32[])", "graph step \"x\"(i: i32[], n: i32[])"), "graph step: name");
}

TEST(Compare, IsBlindToNumbering)
{
    const Model a = parsed("graph g(x: f32[]) {\n  c = const f32[] 1.0\n  d = const f32[] 2.0\n  y = add(c, d) : f32[]\n  return y\n}\n");
    Model b = parsed("graph g(x: f32[]) {\n  d = const f32[] 2.0\n  c = const f32[] 1.0\n  y = add(c, d) : f32[]\n  return y\n}\n");
    EXPECT_NE(a.graphs[0].operators[0].inputs, b.graphs[0].operators[0].inputs);
    b.graphs[0].operators[0].origin = {"elsewhere"};
    EXPECT_EQ(firstDifference(a, b), "");
}

TEST(Compare, TakesHashesForBytes)
{
    const std::vector<float> scales = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    const std::string hash = toHex(hashBytes(std::as_bytes(std::span(scales))));
    const std::string list = "[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]";
    const auto model = [&](const std::string& data) {
        return parsed("graph g {\n  c = const f32[9] " + data + "\n  q = absent i8[9] q(axis=0, " + data + ", 0)\n}\n");
    };
    EXPECT_EQ(firstDifference(model(list), model("#" + hash.substr(0, 16))), "");
    EXPECT_EQ(firstDifference(model("#" + hash), model("#" + hash.substr(0, 16))), "");
    EXPECT_EQ(firstDifference(model(list), model("#0123456789abcdef")), "graph g: value c: data");
}

TEST(Model, CalleesComeInTheOrderOfExecution)
{
    const Model model = parsed("graph g(p: bool[]) {\n"
                               "  a = while(p) body=@g cond=@h : bool[]\n"
                               "  b = if(p) else=@h then=@g : bool[]\n"
                               "  c = stablehlo_case(p) branch0=@g branch1=@h branch10=@h branch2=@g : bool[]\n"
                               "  d = stablehlo_reduce(p) region=@h : bool[]\n"
                               "  e = add(p) note=@g : bool[]\n"
                               "  f = tf.While(p) body=@g cond=@h : bool[]\n"
                               "}\ngraph h {\n}\n");
    const auto roles = [&](size_t op) {
        std::vector<std::string> list;
        for (const Callee& callee : calleesOf(model.graphs[0].operators[op]))
            list.push_back(callee.role + "@" + model.graph(callee.graph).id);
        return list;
    };
    EXPECT_THAT(roles(0), ElementsAre("cond@h", "body@g"));
    EXPECT_THAT(roles(1), ElementsAre("then@g", "else@h"));
    EXPECT_THAT(roles(2), ElementsAre("branch0@g", "branch1@h", "branch2@g", "branch10@h"));
    EXPECT_THAT(roles(3), ElementsAre("region@h"));
    EXPECT_THAT(roles(4), ElementsAre());
    EXPECT_THAT(roles(5), ElementsAre("cond@h", "body@g"));
}

TEST(Model, FindsById)
{
    const Model model = parsed(kLoop);
    EXPECT_EQ(model.findGraph("step").index, 2);
    EXPECT_FALSE(model.findGraph("nosuch").valid());
    EXPECT_EQ(model.graphs[0].value(model.graphs[0].findValue("r")).slot, 1);
    EXPECT_FALSE(model.graphs[0].findValue("nosuch").valid());
}

TEST(Verifier, NamesWhatIsBroken)
{
    struct Row {
        std::function<void(Model&)> breakIt;
        std::string message;
    };
    const std::vector<Row> rows = {
        {[](Model& m) { m.graphs[1].id = "main"; }, "two graphs have the id 'main'"},
        {[](Model& m) { m.graphs[1].id.clear(); }, "a graph has no id"},
        {[](Model& m) { m.graphs[0].values[1].id = "n"; }, "graph main: two values have the id 'n'"},
        {[](Model& m) { m.graphs[0].inputs[0] = ValueId(99); }, "graph main: input is out of range, found 99, expected 0 to 3"},
        {[](Model& m) { m.graphs[0].inputs.push_back(ValueId(0)); }, "graph main: value 'n' is an input twice"},
        {[](Model& m) { m.graphs[0].inputs.clear(); }, "graph main: value 'n': has the role of a graph input and is none"},
        {[](Model& m) { m.graphs[0].inputs.push_back(ValueId(1)); }, "graph main: value 'zero': is a graph input, its role says otherwise"},
        {[](Model& m) { m.graphs[0].outputs[0].value = ValueId(-1); }, "graph main: output is out of range, found -1, expected 0 to 3"},
        {[](Model& m) { m.graphs[0].operators[0].inputs[0] = ValueId(4); },
         "graph main: while#0: operand 0 is out of range, found 4, expected 0 to 3"},
        {[](Model& m) { m.graphs[0].operators[0].inputs[0] = ValueId(2); },
         "graph main: while#0: operand 0 is 'i', which operator 0 writes later"},
        {[](Model& m) { m.graphs[0].operators[0].results[1] = ValueId(2); },
         "graph main: value 'r': operator 0 does not have it as result 1"},
        {[](Model& m) { m.graphs[0].values[2].producer = OperatorId(7); },
         "graph main: value 'i': producer is out of range, found 7, expected 0 to 0"},
        {[](Model& m) { m.graphs[0].values[2].slot = -1; }, "graph main: value 'i': slot is out of range, found -1, expected 0 to 1"},
        {[](Model& m) { m.graphs[0].values[1].constant = nullptr; }, "graph main: value 'zero': is a constant without data"},
        {[](Model& m) { m.graphs[0].values[1].constant = Constant::external(5); }, "graph main: value 'zero': no external buffer 5"},
        {[](Model& m) { m.graphs[0].operators[0].controlInputs.emplace_back(3); },
         "graph main: while#0: control input is out of range, found 3, expected 0 to 0"},
        {[](Model& m) {
             setAttribute(m.graphs[0].operators[0].attributes, "body", GraphRef{GraphId(9), nullptr});
         },
         "graph main: while#0: attribute 'body': graph is out of range, found 9, expected 0 to 2"},
        {[](Model& m) { setAttribute(m.graphs[0].operators[0].attributes, "x", ValueRef{ValueId(9)}); },
         "graph main: while#0: attribute 'x': value is out of range, found 9, expected 0 to 3"},
        {[](Model& m) { setAttribute(m.graphs[0].operators[0].attributes, "x", Word{"f32"}); },
         "graph main: while#0: attribute 'x': 'f32' is not a word"},
        {[](Model& m) {
             m.graphs[0].operators[0].attributes.push_back({"body", Attribute(true)});
         },
         "graph main: while#0: attribute 'body' is not in the order of keys"},
        {[](Model& m) {
             m.attributes = {{"a", Attribute(true)}, {"a", Attribute(true)}};
         },
         "attribute 'a' is given twice"},
        {[](Model& m) {
             Attribute nested(true);
             for (int i = 0; i < 100; ++i) nested = AttributeItems{nested};
             setAttribute(m.attributes, "x", nested);
         },
         "attribute 'x': nested deeper than 64"},
        {[](Model& m) { m.graphs[2].values[2].type.shape = Shape{-5}; }, "graph step: value 'w': a dimension is negative, found -5"},
        {[](Model& m) { m.graphs[2].values[2].type.shape = Shape{2}; },
         "graph step: value 'w': quantization axis out of range for rank 1, found 1"},
        {[](Model& m) { m.signatures[0].outputs[0].value = ValueId(44); },
         "signature \"s\": value of output \"r\" is out of range, found 44, expected 0 to 3"},
        {[](Model& m) { m.signatures[0].graph = GraphId(44); }, "signature \"s\": graph is out of range, found 44, expected 0 to 2"},
        {[](Model& m) { m.gradients.emplace_back(GraphId(3), "g"); }, "function of gradient 'g' is out of range, found 3, expected 0 to 2"},
    };
    const Model intact = parsed(kLoop);
    EXPECT_TRUE(verifyModel(intact).ok());
    for (const Row& row : rows) {
        Model model = intact;
        row.breakIt(model);
        Status status = verifyModel(model);
        ASSERT_FALSE(status.ok()) << row.message;
        EXPECT_EQ(std::move(status).takeError().message(), row.message);
    }
}

TEST(Verifier, DemandsOrderOutsideOfTensorFlowOnly)
{
    EXPECT_TRUE(verifyModel(parsed("graph g {\n  a = Merge(b) : f32\n  b = NextIteration(a) : f32\n}\n")).ok());
    EXPECT_FALSE(verifyModel(parsed("graph g {\n  a = add(b, b) : f32\n  b = neg(a) : f32\n}\n")).ok());
}

TEST(Verifier, KnowsTheIdsOfNodeOutputs)
{
    Model model = parsed("graph g {\n  a = Split() : (f32, f32)\n}\n");
    EXPECT_TRUE(verifyModel(model).ok());
    model.graphs[0].values[1].id = "a:2";
    Status status = verifyModel(model);
    ASSERT_FALSE(status.ok());
    EXPECT_THAT(std::move(status).takeError().message(), HasSubstr("result of node 'a', found id 'a:2', expected 'a:1'"));
}

} // namespace
} // namespace loopscope
