// What is refused, and the words for it: damaged messages, texts with mistakes, graphs that TensorFlow would refuse.
#include "converters/formats.h"
#include "tests/unit/graphdef/small_graph.h"

#include <gmock/gmock.h>

namespace loopscope {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string messageFor(const std::string& content)
{
    const auto model = importGraphDef("m.pb", bytesOf(content));
    return model.ok() ? "opens" : model.error().message();
}

TEST(GraphDefErrors, name_the_node)
{
    EXPECT_EQ(refusalOf("node { name: 'a' op: 'NoOp' } node { name: 'a' op: 'NoOp' }"), "m.pb: node 'a': its name is not unique");
    EXPECT_EQ(refusalOf("node { name: 'a' op: 'NoOp' input: 'b' }"), "m.pb: node 'a': unknown input node 'b'");
    EXPECT_EQ(refusalOf("node { name: 'a' op: 'NoOp' input: '^b' }"), "m.pb: node 'a': unknown input node '^b'");
    EXPECT_EQ(refusalOf("node { name: 'a' op: 'NoOp' } node { name: 'b' op: 'NoOp' input: 'a:1' }"),
              "m.pb: node 'b': connecting to invalid output 'a:1' of source node 'a', which has 0 outputs");
    EXPECT_EQ(refusalOf("node { name: 'a' op: 'NoOp' } node { name: 'c' op: 'X' } node { name: 'b' op: 'X' input: '^a' input: 'c' }"),
              "m.pb: node 'b': non-control input 'c' after control input '^a'");
    EXPECT_EQ(refusalOf("node { name: '' op: 'NoOp' } node { name: 'x' op: 'NoOp' } versions { producer: 1 }"),
              "m.pb: node 0 (NoOp) has no name");
    EXPECT_EQ(refusalOf("node { name: 'a' op: '' }"), "m.pb: node 'a': has no operator");
    EXPECT_EQ(refusalOf("node { name: 'a:1' op: 'NoOp' }"), "m.pb: node 'a:1': a node's name must not hold ':' or begin with '^'");
    EXPECT_EQ(refusalOf("node { name: 'a' op: 'NoOp' attr { key: '@x' value { } } }"),
              "m.pb: node 'a': attribute '@x': a name must not begin with '@'");
    EXPECT_EQ(refusalOf("node { name: 'a' op: 'Const' attr { key: 'value' value { tensor { dtype: DT_INT8 tensor_shape { } tensor_content: "
                        "'abc' } } } }"),
              "m.pb: node 'a': attribute 'value': the data of a i8[] tensor has another size, found 3 bytes, expected 1");
}

TEST(GraphDefErrors, bound_what_few_bytes_may_claim)
{
    EXPECT_EQ(refusalOf("node { name: 'a' op: 'NoSuchOp' } node { name: 'b' op: 'X' input: 'a:2000000000' }"),
              "m.pb: node 'a': output 2000000000 of it is read: more than a node can have");
    EXPECT_EQ(refusalOf("node { name: 'a' op: 'NoSuchOp' } node { name: 'b' op: 'X' input: 'a:99999999999999999999' }"),
              "m.pb: node 'b': unknown input node 'a:99999999999999999999'");
    std::string many;
    for (int i = 0; i < 6; ++i)
        many += "node { name: 'n" + std::to_string(i) +
                "' op: 'Split' attr { key: 'T' value { type: DT_FLOAT } } attr { key: 'num_split' value { i: 1000000 } } }";
    EXPECT_THAT(refusalOf(many), EndsWith("the nodes of this file claim more outputs than it can mean"));
}

TEST(GraphDefErrors, opens_what_only_executing_can_refuse)
{
    for (const char* text : {
             "node { name: 'a' op: 'NoSuchOp' }",
             "node { name: 'a' op: 'AddV2' }",                                                  // no operands, no T
             "node { name: 'a' op: 'Neg' input: 'b' } node { name: 'b' op: 'Neg' input: 'a' }", // a cycle
             "node { name: 'a' op: 'Enter' }",                                                  // no frame name
             "node { name: 'a' op: 'While' attr { key: 'body' value { func { name: 'nosuch' } } } }",
         })
        EXPECT_EQ(refusalOf(text), "opens") << text;
}

TEST(GraphDefErrors, say_where_a_message_is_damaged)
{
    const std::string whole =
        messageOf<tfpb::GraphDef>("node { name: 'first' op: 'NoOp' } node { name: 'second' op: 'NoOp' }").SerializeAsString();
    EXPECT_EQ(messageFor(whole), "opens");
    EXPECT_EQ(messageFor(whole.substr(0, whole.size() - 3)), "m.pb: at 0xf: the message is cut off or damaged");
    std::string damaged = whole;
    damaged[damaged.size() - 5] = '\x7F'; // the length of an operator's name
    EXPECT_THAT(messageFor(damaged), StartsWith("m.pb: at 0xf: field 1 of the message is damaged"));
    for (size_t length = 0; length < whole.size(); ++length) (void)messageFor(whole.substr(0, length));
}

TEST(GraphDefErrors, refuse_deep_nesting)
{
    tfpb::AttrValue value;
    value.set_b(true);
    for (int i = 0; i < 200; ++i) {
        tfpb::AttrValue outer;
        *outer.mutable_list()->add_func()->mutable_attr() = {};
        (*outer.mutable_list()->mutable_func(0)->mutable_attr())["a"].Swap(&value);
        value.Swap(&outer);
    }
    tfpb::GraphDef graph = messageOf<tfpb::GraphDef>("node { name: 'a' op: 'NoOp' }");
    (*graph.mutable_node(0)->mutable_attr())["deep"] = value;
    EXPECT_THAT(messageFor(graph.SerializeAsString()), HasSubstr("nested too deeply"));
    std::string text = "node { name: 'a' op: 'NoOp' attr { key: 'deep' value ";
    for (int i = 0; i < 2000; ++i) text += "{ list { func { attr { key: 'a' value ";
    const auto fromText = importGraphDefText("m.pbtxt", bytesOf(text));
    ASSERT_FALSE(fromText.ok());
    EXPECT_THAT(fromText.error().message(), StartsWith("m.pbtxt: "));
}

TEST(GraphDefErrors, place_mistakes_in_text)
{
    const auto model = importGraphDefText("m.pbtxt", bytesOf("node {\n  nam: 'x'\n}\n"));
    ASSERT_FALSE(model.ok());
    EXPECT_THAT(model.error().message(), StartsWith("m.pbtxt: 2:"));
    EXPECT_THAT(model.error().message(), HasSubstr("nam"));
}

TEST(GraphDefErrors, refuse_names_that_are_not_utf8)
{
    const auto fromText = importGraphDefText("m.pbtxt", bytesOf("node { name: 'a\\377' op: 'NoOp' }"));
    ASSERT_FALSE(fromText.ok());
    EXPECT_EQ(fromText.error().message(), "m.pbtxt: a name or text in it is not UTF-8");
    Model model = modelOf("node { name: 'a' op: 'NoOp' }");
    model.graphs[0].operators[0].name = "a\xff";
    const auto written = exportGraphDef(model);
    ASSERT_FALSE(written.ok());
    EXPECT_EQ(written.error().code(), ErrorCode::unsupported);
}

} // namespace
} // namespace loopscope
