// Functions of the library: parameters, results by argument name, polymorphic types, control outputs, what stays as bytes.
#include "engine/ir/text/parser.h"
#include "engine/ir/text/printer.h"
#include "engine/ir/verifier.h"
#include "tests/unit/graphdef/small_graph.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>

namespace loopscope {
namespace {

using google::protobuf::util::MessageDifferencer;
using ::testing::HasSubstr;
using ::testing::Not;

/// A function and a call of it by its name; `body` are further fields of the FunctionDef.
std::string withFunction(const std::string& signature, const std::string& body)
{
    return "library { function { signature { name: 'f' " + signature + " } " + body + " } } node { name: 'c' op: 'f' }";
}

void expectSameAgain(const std::string& text)
{
    const auto message = messageOf<tfpb::GraphDef>(text);
    const auto model = importMessage(message);
    ASSERT_TRUE(model.ok()) << model.error().message();
    ASSERT_TRUE(verifyModel(*model).ok());
    EXPECT_TRUE(MessageDifferencer::Equals(message, exported(*model))) << exported(*model).DebugString();
    const auto parsed = parseModel(printModel(*model), "printed");
    ASSERT_TRUE(parsed.ok()) << parsed.error().message();
    EXPECT_TRUE(sameModel(*model, *parsed)) << firstDifference(*model, *parsed);
}

TEST(FunctionDef, becomes_a_graph)
{
    const std::string text = withFunction(
        "input_arg { name: 'x' type: DT_FLOAT } input_arg { name: 'v' type: DT_RESOURCE handle_data { dtype: DT_FLOAT shape { dim { size: "
        "2 } } } }"
        "output_arg { name: 'top' type: DT_INT32 } output_arg { name: 'same' type: DT_FLOAT } control_output: 'wrote' is_stateful: true",
        R"(attr { key: '_input_shapes' value { list { shape { dim { size: 4 } } shape { } } } }
           arg_attr { key: 0 value { attr { key: '_user_specified_name' value { s: 'the x' } } } }
           resource_arg_unique_id { key: 1 value: 3 }
           node_def { name: 'k' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } }
                      attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 1 } } } }
           node_def { name: 'best' op: 'TopKV2' input: 'x' input: 'k:output:0' attr { key: 'T' value { type: DT_FLOAT } } }
           node_def { name: 'write' op: 'AssignVariableOp' input: 'v' input: 'best:values:0' attr { key: 'dtype' value { type: DT_FLOAT } } }
           ret { key: 'top' value: 'best:indices:0' } ret { key: 'same' value: 'x' } control_ret { key: 'wrote' value: 'write' })");
    EXPECT_THAT(printModel(modelOf(text)),
                HasSubstr("graph f(\n"
                          "    x: f32[4] {_user_specified_name=\"the x\"},\n"
                          "    v: resource<f32[2]>[] {@resource_id=3}) @stateful _input_shapes=[shape[4], shape[]] {\n"
                          "  k = Const() dtype=i32 value=i32[] 1 : i32[]\n"
                          "  best = TopKV2(x, k) T=f32 : (f32, i32)\n"
                          "  write = AssignVariableOp(v, best) dtype=f32\n"
                          "  return top=best:1, same=x, ^wrote=write\n"
                          "}\n"));
    expectSameAgain(text);
}

TEST(FunctionDef, call_has_the_results_of_the_function)
{
    const std::string text = withFunction(
        "input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type: DT_FLOAT } output_arg { name: 'z' type: DT_BOOL }",
        "ret { key: 'y' value: 'x' } ret { key: 'z' value: 'n:z:0' }"
        "node_def { name: 'n' op: 'IsNan' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } }");
    EXPECT_EQ(refusalOf(text), "m.pb: function 'f': output 'z' returns unknown tensor 'n:z:0'");
    std::string right = text;
    right.replace(right.find("n:z:0"), 5, "n:y:0");
    EXPECT_THAT(printModel(modelOf(right)), HasSubstr("c = f() : (f32, bool)\n"));
    expectSameAgain(right);
}

TEST(FunctionDef, keeps_polymorphic_signatures)
{
    const std::string text = withFunction(
        R"(input_arg { name: 'x' type_attr: 'T' } input_arg { name: 'many' type: DT_FLOAT number_attr: 'N' } input_arg { name: 'rest' type_list_attr: 'Ts' }
           input_arg { name: 'both' type_attr: 'T' number_attr: 'M' }
           output_arg { name: 'y' type_attr: 'T' } attr { name: 'T' type: 'type' } attr { name: 'N' type: 'int' has_minimum: true minimum: 1 }
           description: 'what it does')",
        R"(node_def { name: 'n' op: 'Neg' input: 'x' attr { key: 'T' value { placeholder: 'T' } } } ret { key: 'y' value: 'n:y:0' })");
    const std::string printed = printModel(modelOf(text));
    EXPECT_THAT(printed, HasSubstr("graph f(\n    x: $T,\n    many: $N*f32,\n    rest: $Ts,\n    both: $M*$T) @signature=hex\""));
    EXPECT_THAT(printed, HasSubstr("  n = Neg(x) T=$T : ?\n"));
    expectSameAgain(text);
}

TEST(FunctionDef, keeps_references_of_open_types_and_odd_handles)
{
    expectSameAgain(withFunction("input_arg { name: 'r' type_attr: 'T' is_ref: true } input_arg { name: 'u' is_ref: true }"
                                 "input_arg { name: 'x' type: DT_FLOAT handle_data { dtype: DT_FLOAT shape { } } }",
                                 "node_def { name: 'n' op: 'Assign' input: 'r' input: 'x' }"));
}

TEST(FunctionDef, spells_outputs_of_unknown_operators_as_the_file_does)
{
    const std::string text = withFunction(
        "output_arg { name: 'y' type: DT_FLOAT } output_arg { name: 'z' type: DT_FLOAT }",
        R"(node_def { name: 'n' op: 'NoSuchOp' } node_def { name: 'm' op: 'Neg' input: 'n:out:1' attr { key: 'T' value { type: DT_FLOAT } } }
                                             ret { key: 'y' value: 'm:y:0' } ret { key: 'z' value: 'n:other:0' })");
    const std::string printed = printModel(modelOf(text));
    EXPECT_THAT(printed, HasSubstr("  n = NoSuchOp() : (?, ?)\n  m = Neg(n:out:1) T=f32 : f32\n  return y=m, z=n:other:0\n"));
    expectSameAgain(text);
}

TEST(FunctionDef, is_named_by_attributes)
{
    const std::string text = R"(
        library { function { signature { name: 'g' } } function { signature { name: 'a function, oddly named' } }
                  gradient { function_name: 'g' gradient_func: 'g_grad' } gradient { function_name: 'elsewhere' gradient_func: 'h' }
                  registered_gradients { gradient_func: 'x' registered_op_type: 'Y' } }
        node { name: 'c' op: 'PartitionedCall' attr { key: 'Tin' value { list { } } } attr { key: 'Tout' value { list { type: DT_FLOAT } } }
               attr { key: 'f' value { func { name: 'g' attr { key: 'a' value { b: true } } } } } }
        node { name: 'd' op: 'Case' attr { key: 'Tin' value { list { } } } attr { key: 'Tout' value { list { } } }
               attr { key: 'branches' value { list { func { name: 'g' } func { name: 'a function, oddly named' } } } } })";
    const std::string printed = printModel(modelOf(text));
    EXPECT_THAT(printed, HasSubstr("f=@g{a=true} : f32\n"));
    EXPECT_THAT(printed, HasSubstr("branches=[@g, @\"a function, oddly named\"]\n"));
    EXPECT_THAT(printed, HasSubstr("\ngradient g = g_grad\n"));
    EXPECT_THAT(printed, HasSubstr("model tf @library=hex\""));
    expectSameAgain(text);
}

TEST(FunctionDef, control_input_may_name_an_argument)
{
    const std::string text = withFunction("input_arg { name: 'x' type: DT_FLOAT }", "node_def { name: 'n' op: 'NoOp' input: '^x' }");
    EXPECT_THAT(printModel(modelOf(text)), HasSubstr("  n = NoOp() @control_arguments=[\"x\"]\n"));
    expectSameAgain(text);
}

TEST(FunctionDef, called_main_does_not_hide_the_graph)
{
    const std::string text = "library { function { signature { name: 'main' } } } node { name: 'n' op: 'NoOp' }";
    EXPECT_THAT(printModel(modelOf(text)), HasSubstr("graph main_1 {\n  n = NoOp()\n}\n"));
    expectSameAgain(text);
}

TEST(FunctionDef, refuses_what_does_not_fit)
{
    EXPECT_EQ(refusalOf(withFunction("output_arg { name: 'y' type: DT_FLOAT }", "")), "m.pb: function 'f': output 'y' is not returned");
    EXPECT_EQ(refusalOf(withFunction("input_arg { name: 'x' type: DT_FLOAT }", "ret { key: 'y' value: 'x' }")),
              "m.pb: function 'f': returns, found 1 tensors, expected 0");
    EXPECT_EQ(refusalOf(withFunction("input_arg { name: 'x' type: DT_FLOAT } input_arg { name: 'x' type: DT_FLOAT }", "")),
              "m.pb: function 'f': two arguments have the name 'x'");
    EXPECT_EQ(refusalOf(withFunction("", "arg_attr { key: 4 value { } }")),
              "m.pb: function 'f': attributes of argument 4, expected one of 0");
    EXPECT_EQ(refusalOf(withFunction("control_output: 'c'", "")), "m.pb: function 'f': control output 'c' names no node");
    EXPECT_EQ(refusalOf("library { function { signature { name: 'f' } } function { signature { name: 'f' } } } node { name: 'n' op: 'f' }"),
              "m.pb: two functions have the name 'f'");
    EXPECT_EQ(refusalOf("library { function { } } node { name: 'n' op: 'f' }"), "m.pb: function 0 of the library has no name");
    EXPECT_EQ(refusalOf(withFunction("input_arg { name: 'x' number_attr: 'N' type: DT_FLOAT }",
                                     "node_def { name: 'n' op: 'Neg' input: 'x:1' attr { key: 'T' value { type: DT_FLOAT } } }")),
              "m.pb: function 'f': node 'n': unknown input node 'x:1'");
}

} // namespace
} // namespace loopscope
