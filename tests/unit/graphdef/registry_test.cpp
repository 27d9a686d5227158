// The operator table: arguments, defaults, results from attributes, and slots by name.
#include "engine/ops/tf_registry.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace loopscope {
namespace {

using ::testing::ElementsAre;

TEST(TfRegistry, knows_every_operator_by_name)
{
    EXPECT_EQ(allTfOps().size(), 1948U);
    EXPECT_TRUE(std::ranges::is_sorted(allTfOps(), {}, &TfOpSignature::name));
    EXPECT_EQ(findTfOp("NoSuchOp"), nullptr);
    ASSERT_NE(findTfOp("While"), nullptr);
    EXPECT_TRUE(findTfOp("While")->isStateful);
    EXPECT_FALSE(findTfOp("StatelessWhile")->isStateful);
    EXPECT_TRUE(findTfOp("AddN")->isCommutative);
    EXPECT_TRUE(findTfOp("AddN")->isAggregate);
    EXPECT_TRUE(findTfOp("Assign")->allowsUninitializedInput);
    EXPECT_EQ(findTfOp("AdjustContrast")->deprecatedSince, 2);
}

TEST(TfRegistry, reads_each_form_of_argument)
{
    const TfOpSignature& add = *findTfOp("AddN");
    EXPECT_EQ(add.inputs[0].numberAttr, "N");
    EXPECT_EQ(add.inputs[0].typeAttr, "T");
    const TfOpSignature& identity = *findTfOp("IdentityN");
    EXPECT_EQ(identity.outputs[0].typeListAttr, "T");
    const TfOpSignature& assign = *findTfOp("Assign");
    EXPECT_TRUE(assign.inputs[0].isReference);
    EXPECT_EQ(assign.inputs[0].typeAttr, "T");
    EXPECT_FALSE(assign.inputs[1].isReference);
    EXPECT_EQ(findTfOp("TensorArrayV3")->outputs[0].dtype, DType::resource);
}

TEST(TfRegistry, reads_defaults_allowed_values_and_minima)
{
    const TfOpSignature& enter = *findTfOp("Enter");
    EXPECT_EQ(*enter.findAttribute("parallel_iterations")->defaultValue, Attribute(int64_t{10}));
    EXPECT_EQ(*enter.findAttribute("is_constant")->defaultValue, Attribute(false));
    EXPECT_FALSE(enter.findAttribute("frame_name")->defaultValue);
    EXPECT_EQ(enter.findAttribute("nosuch"), nullptr);
    const TfOpSignature& conv = *findTfOp("Conv2D");
    EXPECT_EQ(*conv.findAttribute("data_format")->defaultValue, Attribute(std::string("NHWC")));
    EXPECT_THAT(conv.findAttribute("data_format")->allowedTexts, ElementsAre("NHWC", "NCHW"));
    EXPECT_EQ(*conv.findAttribute("dilations")->defaultValue,
              Attribute(AttributeItems{Attribute(int64_t{1}), Attribute(int64_t{1}), Attribute(int64_t{1}), Attribute(int64_t{1})}));
    const TfAttributeDef& n = *findTfOp("AddN")->findAttribute("N");
    EXPECT_EQ(n.minimum, 1);
    const TfAttributeDef& type = *findTfOp("Abs")->findAttribute("T");
    EXPECT_EQ(type.allowedTypes.size(), 8U);
    EXPECT_EQ(*findTfOp("ArgMax")->findAttribute("output_type")->defaultValue, Attribute(DType::i64));
    EXPECT_EQ(*findTfOp("Placeholder")->findAttribute("shape")->defaultValue, Attribute(Shape::unknownRank()));
    EXPECT_EQ(*findTfOp("LeakyRelu")->findAttribute("alpha")->defaultValue, floatAttribute(0.2F));
}

TEST(TfRegistry, counts_results_from_attributes)
{
    const TfOpSignature& split = *findTfOp("Split");
    AttributeList list;
    setAttribute(list, "T", DType::f32);
    EXPECT_FALSE(tfSlotTypes(split, split.outputs, list)) << "num_split is missing";
    setAttribute(list, "num_split", int64_t{3});
    EXPECT_EQ(tfSlotTypes(split, split.outputs, list), (std::vector<TfSlotType>(3, {DType::f32, false})));
    setAttribute(list, "num_split", int64_t{-1});
    EXPECT_FALSE(tfSlotTypes(split, split.outputs, list));
    setAttribute(list, "num_split", kMostTfSlots + 1);
    EXPECT_FALSE(tfSlotTypes(split, split.outputs, list));
    const TfOpSignature& assign = *findTfOp("Assign");
    EXPECT_EQ(tfSlotTypes(assign, assign.outputs, list), (std::vector<TfSlotType>{{DType::f32, true}}));
    setAttribute(list, "T", Placeholder{"T"});
    EXPECT_EQ(tfSlotTypes(assign, assign.outputs, list), (std::vector<TfSlotType>{{DType::unknown, true}}));
}

TEST(TfRegistry, names_slots)
{
    // sparse_indices:Nsparse*int64; sparse_values:[sparse_types]; sparse_shapes:Nsparse*int64; dense_values:[Tdense]
    const TfOpSignature& parse = *findTfOp("ParseExample");
    AttributeList list;
    setAttribute(list, "Nsparse", int64_t{2});
    setAttribute(list, "sparse_types", AttributeItems{Attribute(DType::i64), Attribute(DType::string)});
    setAttribute(list, "Tdense", AttributeItems{Attribute(DType::f32)});
    EXPECT_EQ(tfSlotOf(parse, parse.outputs, list, "sparse_values", 1), 3);
    EXPECT_EQ(tfSlotOf(parse, parse.outputs, list, "dense_values", 0), 6);
    EXPECT_EQ(tfSlotOf(parse, parse.outputs, list, "dense_values", 1), std::nullopt);
    EXPECT_EQ(tfSlotOf(parse, parse.outputs, list, "nosuch", 0), std::nullopt);
    const auto name = tfSlotName(parse, parse.outputs, list, 5);
    ASSERT_TRUE(name);
    EXPECT_EQ(name->argument, "sparse_shapes");
    EXPECT_EQ(name->k, 1);
    EXPECT_FALSE(tfSlotName(parse, parse.outputs, list, 7));
}

TEST(TfRegistry, names_types_as_tensorflow_does)
{
    EXPECT_EQ(tfTypeName(DType::f32), "float");
    EXPECT_EQ(tfTypeName(DType::f16), "half");
    EXPECT_EQ(tfTypeName(DType::mxfp4), "");
    EXPECT_EQ(tfTypeFromName("quint8"), DType::qu8);
    EXPECT_EQ(tfTypeFromName("T"), std::nullopt);
}

} // namespace
} // namespace loopscope
