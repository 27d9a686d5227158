// Names of operands and texts of attributes, as pictures and lists write them.
#include "engine/ir/text/parser.h"
#include "viewer/scene/operand_names.h"

#include <gtest/gtest.h>

namespace loopscope::viewer {

namespace {

Operator operatorOf(const std::string& name, size_t inputs)
{
    Operator op;
    op.kind = {"tfl", name};
    op.inputs.assign(inputs, ValueId(0));
    return op;
}

} // namespace

TEST(OperandNames, AreThoseOfTheCatalogue)
{
    EXPECT_EQ(operandNames(operatorOf("conv_2d", 3)), (std::vector<std::string>{"input", "filter", "bias"}));
    EXPECT_EQ(operandNames(operatorOf("add", 2)), (std::vector<std::string>{"lhs", "rhs"}));
    EXPECT_TRUE(operandNames(operatorOf("concatenation", 5)).empty()); // any number of them
    EXPECT_TRUE(operandNames(operatorOf("no_such_operator", 1)).empty());
}

TEST(OperandNames, AttributesAreShortAndFew)
{
    const Result<Model> model =
        parseModel("graph main(x: f32[1,4,4,1]) {\n  y = max_pool_2d(x) padding=SAME stride_w=2 stride_h=2 filter_width=2 "
                   "filter_height=2 : f32[1,2,2,1]\n  return y\n}\n",
                   "pool");
    ASSERT_TRUE(model.ok()) << model.error().message();
    const Graph& graph = model->graphs.front();
    EXPECT_EQ(attributeTexts(*model, graph, graph.operators[0], 2), (std::vector<std::string>{"filter_height=2", "filter_width=2"}));
    EXPECT_EQ(attributeTexts(*model, graph, graph.operators[0], 9).size(), graph.operators[0].attributes.size());
}

} // namespace loopscope::viewer
