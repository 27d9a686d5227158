// What a reference run is fed with: which input pairs with which, and its numbers in the other representation.
#include "app/wiring/reference_inputs.h"

#include "engine/api/inputs/literal.h"
#include "engine/tensor/value_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace loopscope::app {
namespace {

TensorType quantized(Shape shape, float scale, int64_t zero)
{
    auto quantization = std::make_shared<Quantization>();
    quantization->kind = Quantization::Kind::affine;
    quantization->scales = {scale};
    quantization->zeroPoints = {zero};
    return {DType::i8, std::move(shape), quantization};
}

Port portOf(std::string name, TensorType type, int index = 0)
{
    Port port;
    port.name = std::move(name);
    port.index = index;
    port.type = std::move(type);
    return port;
}

RunTarget targetOf(const std::vector<std::pair<std::string, TensorType>>& inputs)
{
    RunTarget target;
    for (const auto& [name, type] : inputs) target.inputs.push_back(portOf(name, type, static_cast<int>(target.inputs.size())));
    return target;
}

Array arrayOf(const std::string& literal, DType dtype, const Shape& shape)
{
    auto array = parseLiteral(literal, dtype, shape, ScalarMeans::fill);
    EXPECT_TRUE(array.ok());
    return std::move(array).value();
}

std::string textOf(const std::optional<Array>& array)
{
    return array ? shortType(array->view()) + " " + elementsText(array->view()) : "none";
}

std::string textOf(const BoundInputs& bound, size_t i) { return textOf(bound.inputs[i].forRun(0)); }

TEST(ReferenceInputs, numbers_in_the_units_of_the_other_model)
{
    const Port real = portOf("x", {DType::f32, Shape{3}}), coarse = portOf("x", quantized(Shape{3}, 0.5F, 10));
    EXPECT_EQ(textOf(inOtherUnits(arrayOf("[0.25,-1,1000]", DType::f32, Shape{3}), real, coarse)), "i8[3] [11 8 127]")
        << "halves are rounded away from 0, what does not fit is the nearest that does";
    EXPECT_EQ(textOf(inOtherUnits(arrayOf("[11,8,127]", DType::i8, Shape{3}), coarse, real)), "f32[3] [0.5 -1 58.5]");
    EXPECT_EQ(textOf(inOtherUnits(arrayOf("[11,8,127]", DType::i8, Shape{3}), coarse, portOf("x", quantized(Shape{3}, 1, 0)))),
              "i8[3] [1 -1 59]");
    EXPECT_EQ(textOf(inOtherUnits(arrayOf("[11,8,127]", DType::i8, Shape{3}), coarse, coarse)), "i8[3] [11 8 127]");
}

TEST(ReferenceInputs, what_cannot_be_taken_over)
{
    const Array three = arrayOf("[1,2,3]", DType::f32, Shape{3});
    const Port real = portOf("x", {DType::f32, Shape{3}});
    EXPECT_EQ(textOf(inOtherUnits(three, real, portOf("x", {DType::f32, Shape{4}}))), "none");
    EXPECT_EQ(textOf(inOtherUnits(three, real, portOf("x", {DType::f32, Shape{3, 1}}))), "none");
    EXPECT_EQ(textOf(inOtherUnits(three, real, portOf("x", {DType::i32, Shape{3}}))), "none");
    EXPECT_EQ(textOf(inOtherUnits(three, real, portOf("x", {DType::f32, Shape{-1}}))), "f32[3] [1 2 3]");
}

TEST(ReferenceInputs, pair_by_name_and_else_by_position)
{
    const TensorType one(DType::f32, Shape{1});
    const RunTarget run = targetOf({{"a", one}, {"b", one}, {"c", one}}), reference = targetOf({{"c", one}, {"other", one}, {"a", one}});
    const auto bound = referenceInputs(run, reference, {"a=1", "b=2", "c=3"}, 1, nullptr);
    ASSERT_TRUE(bound.ok()) << bound.error().message();
    EXPECT_EQ(textOf(*bound, 0), "f32[1] [3]");
    EXPECT_EQ(textOf(*bound, 1), "f32[1] [2]") << "the only one at its place whose name is not taken";
    EXPECT_EQ(textOf(*bound, 2), "f32[1] [1]");
}

TEST(ReferenceInputs, of_a_run_that_repeats_the_last_one)
{
    const RunTarget run = targetOf({{"x", {DType::f32, Shape{2}}}}), reference = targetOf({{"x", quantized(Shape{2}, 0.5F, 0)}});
    BoundInputs last;
    last.inputs.push_back({{arrayOf("[1,2]", DType::f32, Shape{2})}, "[1,2]"});
    const auto bound = referenceInputs(run, reference, {"x=@last; x[1]=3"}, 1, &last);
    ASSERT_TRUE(bound.ok()) << bound.error().message();
    EXPECT_EQ(textOf(*bound, 0), "i8[2] [2 6]");
}

TEST(ReferenceInputs, of_another_shape_are_bound_as_typed)
{
    const RunTarget run = targetOf({{"a", {DType::f32, Shape{1}}}, {"x", {DType::f32, Shape{2}}}}),
                    reference = targetOf({{"a", {DType::f32, Shape{1}}}, {"y", {DType::f32, Shape{3}}}});
    const auto bound = referenceInputs(run, reference, {"a=1", "x=0.5"}, 1, nullptr);
    ASSERT_TRUE(bound.ok()) << bound.error().message();
    EXPECT_EQ(textOf(*bound, 0), "f32[1] [1]");
    EXPECT_EQ(textOf(*bound, 1), "f32[3] [0.5 0.5 0.5]");
}

} // namespace
} // namespace loopscope::app
