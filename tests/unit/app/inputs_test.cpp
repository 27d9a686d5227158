// `--input` in all its forms: files, archives, seeds, constants, patches, conversions, and the messages for what does not fit.
#include "app/wiring/inputs.h"

#include "app/wiring/literal.h"
#include "engine/base/bytes.h"
#include "engine/tensor/npz.h"
#include "engine/tensor/value_text.h"

#include <cstring>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace loopscope::app {
namespace {

using testing::HasSubstr;

RunTarget targetOf(const std::vector<std::pair<std::string, TensorType>>& inputs)
{
    RunTarget target;
    for (const auto& [name, type] : inputs) {
        Port port;
        port.name = name;
        port.aliases = {name, "full/" + name};
        port.index = static_cast<int>(target.inputs.size());
        port.type = type;
        target.inputs.push_back(port);
    }
    return target;
}

class Inputs : public testing::Test {
protected:
    void SetUp() override { std::filesystem::create_directories(m_folder); }
    void TearDown() override { std::filesystem::remove_all(m_folder); }
    std::string path(const std::string& name) const { return (m_folder / name).string(); }

    /// The only input's value, or the message.
    static std::string bind(const TensorType& type, const std::string& option, int64_t runs = 1, uint64_t seed = 1)
    {
        const auto bound = bindInputs(targetOf({{"x", type}}), {option}, seed, runs);
        if (!bound.ok()) return bound.error().message();
        const Tensor view = bound->inputs[0].forRun(runs - 1).view();
        return shortType(view) + " " + elementsText(view);
    }

    std::string writeArray(const std::string& name, const std::string& literal, DType dtype, const Shape& shape)
    {
        const auto array = parseLiteral(literal, dtype, shape, ScalarMeans::fill);
        EXPECT_TRUE(array.ok());
        const auto npy = writeNpy(array->view());
        EXPECT_TRUE(npy.ok() && writeFile(path(name), *npy, true).ok());
        return path(name);
    }

private:
    std::filesystem::path m_folder = std::filesystem::temp_directory_path() / ("inputs_test." + std::to_string(getpid()));
};

TEST_F(Inputs, constants)
{
    EXPECT_EQ(bind({DType::i32, Shape{}}, "x=27"), "i32[] 27");
    EXPECT_EQ(bind({DType::i32, Shape{}}, "27"), "i32[] 27");
    EXPECT_EQ(bind({DType::i32, Shape{3}}, "[1,2,3]"), "i32[3] [1 2 3]");
    EXPECT_EQ(bind({DType::f32, Shape{3}}, "x=0.5"), "f32[3] [0.5 0.5 0.5]");
    EXPECT_EQ(bind({DType::string, Shape{}}, "x=\"a=b; c\""), "str[] \"a=b; c\"");
    EXPECT_EQ(bind({DType::f32, Shape{}}, "full/x=nan"), "f32[] nan");
    EXPECT_EQ(bind({DType::f32, Shape{}}, "\"full/x\"=1"), "f32[] 1");
}

TEST_F(Inputs, files_are_known_by_their_content)
{
    const std::string npy = writeArray("a.dat", "[1.5, 2.5]", DType::f32, Shape{2});
    EXPECT_EQ(bind({DType::f32, Shape{2}}, "x=" + npy), "f32[2] [1.5 2.5]");
    EXPECT_THAT(bind({DType::f32, Shape{1, 2}}, "x=" + npy), HasSubstr("input 'x': found f32[2], expected f32[1,2]"));
    EXPECT_THAT(bind({DType::i32, Shape{2}}, "x=" + npy), HasSubstr("found f32, expected i32; add ':cast' to convert"));
    EXPECT_EQ(bind({DType::i32, Shape{2}}, "x=" + npy + ":cast"), "i32[2] [1 2]");
    EXPECT_THAT(bind({DType::f32, Shape{2}}, "x=" + path("none.npy")), HasSubstr("no such file"));
    EXPECT_EQ(bind({DType::f32, Shape{kUnknownDim}}, "x=" + npy), "f32[2] [1.5 2.5]");
}

TEST_F(Inputs, archives_by_key_name_or_position)
{
    const auto a = parseLiteral("[1, 2]", DType::i32, Shape{2}, ScalarMeans::fill),
               b = parseLiteral("[3, 4]", DType::i32, Shape{2}, ScalarMeans::fill);
    const std::vector<NamedTensor> tensors = {{"0", a->view()}, {"y", b->view()}};
    ASSERT_TRUE(writeNpz(path("a.npz"), tensors, true).ok());
    EXPECT_EQ(bind({DType::i32, Shape{2}}, "x=" + path("a.npz") + ":y"), "i32[2] [3 4]");
    EXPECT_THAT(bind({DType::i32, Shape{2}}, "x=" + path("a.npz") + ":z"), HasSubstr("no key 'z'; keys: 0, y"));
    const TensorType type{DType::i32, Shape{2}};
    const auto whole = bindInputs(targetOf({{"x", type}, {"y", type}}), {path("a.npz")}, 1, 1);
    ASSERT_TRUE(whole.ok()) << whole.error().message();
    EXPECT_EQ(elementsText(whole->inputs[0].forRun(0).view()), "[1 2]");
    EXPECT_EQ(elementsText(whole->inputs[1].forRun(0).view()), "[3 4]");
}

TEST_F(Inputs, raw_files_hold_exactly_the_bytes_of_all_runs)
{
    const std::vector<int32_t> values = {1, 2, 3, 4};
    ASSERT_TRUE(writeFile(path("d.raw"), std::as_bytes(std::span(values)), true).ok());
    EXPECT_EQ(bind({DType::i32, Shape{2}}, "x=" + path("d.raw"), 2), "i32[2] [3 4]");
    EXPECT_EQ(bind({DType::i32, Shape{4}}, "x=" + path("d.raw")), "i32[4] [1 2 3 4]");
    EXPECT_THAT(bind({DType::i32, Shape{2}}, "x=" + path("d.raw")),
                HasSubstr("d.raw: holds 16 bytes, expected 8 (x: i32[2] is 8 bytes a run, --runs 1)"));
}

TEST_F(Inputs, seeds_repeat_and_ranges_hold)
{
    const TensorType floats{DType::f32, Shape{50}}, ints{DType::i32, Shape{200}}, coin{DType::boolean, Shape{200}};
    EXPECT_EQ(bind(floats, "x=@7"), bind(floats, "x=@7"));
    EXPECT_NE(bind(floats, "x=@7"), bind(floats, "x=@8"));
    EXPECT_EQ(bind(floats, "x=@rand", 1, 5), bind(floats, "x=@5"));
    const auto check = [&](const TensorType& type, const std::string& source, double low, double high, bool reachesBoth) {
        const auto bound = bindInputs(targetOf({{"x", type}}), {source}, 1, 1);
        ASSERT_TRUE(bound.ok()) << bound.error().message();
        const Tensor view = bound->inputs[0].forRun(0).view();
        double least = 1e9, most = -1e9;
        for (int64_t i = 0; i < view.elementCount(); ++i) {
            const double value =
                std::stod(type.dtype == DType::boolean ? std::to_string(std::to_integer<int>(view.data[i])) : elementText(view, i));
            least = std::min(least, value);
            most = std::max(most, value);
        }
        EXPECT_GE(least, low);
        EXPECT_LE(most, high);
        if (reachesBoth) {
            EXPECT_EQ(least, low);
            EXPECT_EQ(most, high);
        }
    };
    check(floats, "@7[-1,1]", -1, 1, false);
    check(ints, "@7", 0, 9, true);
    check(ints, "@7[-3,3]", -3, 3, true);
    check(coin, "@7", 0, 1, true);
    EXPECT_THAT(bind({DType::f32, Shape{kUnknownDim, 2}}, "x=@7[0,0]:[3,2]"), HasSubstr("f32[3,2]"));
    EXPECT_THAT(bind({DType::i8, Shape{2}}, "x=@7[0,300]"), HasSubstr("does not fit i8"));
    EXPECT_THAT(bind(floats, "x=@7[1"), HasSubstr("random source"));
    EXPECT_THAT(bind({DType::f32, Shape{2, 2}}, "x=@7:[4]"), HasSubstr("found shape [4]"));
}

TEST_F(Inputs, inputs_that_share_rand_differ)
{
    const TensorType type{DType::f32, Shape{4}};
    const auto bound = bindInputs(targetOf({{"a", type}, {"b", type}}), {"all=@rand"}, 1, 1);
    ASSERT_TRUE(bound.ok());
    EXPECT_TRUE(bound->usedSeed);
    EXPECT_NE(bound->inputs[0].arrays[0].bytes, bound->inputs[1].arrays[0].bytes);
}

TEST_F(Inputs, patches_apply_left_to_right)
{
    EXPECT_EQ(bind({DType::f32, Shape{2, 2}}, "x=0; x[0,1]=nan; x[-1,-1]=3"), "f32[2,2] [[0 nan]\n [0 3]]");
    EXPECT_EQ(bind({DType::i32, Shape{2}}, "x=[1,2]; x[0]=5; x[0]=6"), "i32[2] [6 2]");
    EXPECT_THAT(bind({DType::f32, Shape{2}}, "x=0; x[2]=1"), HasSubstr("index 2 out of range for dimension 0 of size 2"));
    EXPECT_THAT(bind({DType::f32, Shape{2}}, "x=0; x[0,0]=1"), HasSubstr("wrong number of indices"));
    EXPECT_THAT(bind({DType::f32, Shape{2, 2}}, "x=0; x[0]=1"), HasSubstr("wrong number of indices"));
    EXPECT_THAT(bind({DType::i32, Shape{2}}, "x=0; x[0]=1.5"), HasSubstr("expected i32"));
    EXPECT_THAT(bind({DType::i32, Shape{2}}, "x=0; nonsense"), HasSubstr("patch"));
}

TEST_F(Inputs, mistakes_in_names_are_helped)
{
    EXPECT_EQ(bind({DType::i32, Shape{}}, "X=1"), "input 'X': no such input (inputs: x: i32[]); did you mean 'x'?");
    const TensorType type{DType::i32, Shape{}};
    const auto missing = bindInputs(targetOf({{"n", type}, {"m", type}}), {"n=1"}, 1, 1);
    ASSERT_FALSE(missing.ok());
    EXPECT_EQ(missing.error().message(), "input 'm': missing; give --input m=VALUE or m=@rand");
    EXPECT_FALSE(bindInputs(targetOf({{"n", type}, {"m", type}}), {"1"}, 1, 1).ok());
    EXPECT_FALSE(bindInputs(targetOf({}), {"1"}, 1, 1).ok());
    EXPECT_FALSE(splitInputOption("=1").ok());
    EXPECT_FALSE(splitInputOption("x=").ok());
}

} // namespace
} // namespace loopscope::app
