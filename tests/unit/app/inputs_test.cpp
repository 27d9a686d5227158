// `--input` in all its forms: files, archives, seeds, constants, patches, conversions, and the messages for what does not fit.
#include "engine/api/inputs/inputs.h"

#include "app/wiring/outputs.h"
#include "app/wiring/reference_inputs.h"
#include "engine/api/inputs/literal.h"
#include "engine/base/bytes.h"
#include "engine/tensor/npz.h"
#include "engine/tensor/statistics.h"
#include "engine/tensor/value_text.h"
#include "tests/scratch.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <jpeglib.h>
#include <png.h>

namespace loopscope::app {
namespace {

using testing::ElementsAre;
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
    std::string path(const std::string& name) const { return m_folder.path(name); }

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
    ScratchFolder m_folder;
};

TEST_F(Inputs, of_a_part_of_the_models_inputs)
{
    RunTarget target = targetOf({{"x", {DType::i32, Shape{}}}, {"y", {DType::i32, Shape{2}}}});
    target.inputs.erase(target.inputs.begin());
    for (const char* option : {"y=[3, 4]", "[3, 4]", "all=[3, 4]"}) {
        const auto bound = bindInputs(target, {option}, 1, 1);
        ASSERT_TRUE(bound.ok()) << bound.error().message();
        ASSERT_EQ(bound->inputs.size(), 1U);
        EXPECT_EQ(elementsText(bound->inputs[0].forRun(0).view()), "[3 4]");
    }
}

TEST_F(Inputs, of_a_reference_whose_second_input_has_another_shape)
{
    const RunTarget run = targetOf({{"x", {DType::i32, Shape{}}}, {"y", {DType::i32, Shape{2}}}}),
                    reference = targetOf({{"x", {DType::i32, Shape{}}}, {"y", {DType::i32, Shape{3}}}});
    const auto bound = referenceInputs(run, reference, {"all=7"}, 1, nullptr);
    ASSERT_TRUE(bound.ok()) << bound.error().message();
    EXPECT_EQ(elementsText(bound->inputs[0].forRun(0).view()), "7");
    EXPECT_EQ(elementsText(bound->inputs[1].forRun(0).view()), "[7 7 7]");
}

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

TEST_F(Inputs, text_files_are_read_as_tables)
{
    const auto write = [&](const std::string& name, const std::string& text) {
        EXPECT_TRUE(writeFile(path(name), std::as_bytes(std::span(text)), true).ok());
        return "x=" + path(name);
    };
    // 16 bytes: as raw floats they would fill the input, too.
    const std::string row = write("s.csv", "1.5,2.25,-3,1e2\n");
    EXPECT_EQ(bind({DType::f32, Shape{4}}, row), "f32[4] [1.5 2.25 -3 100]");
    EXPECT_EQ(bind({DType::f32, Shape{1, 2, 2}}, row), "f32[1,2,2] [[[1.5 2.25]\n  [-3 100]]]");
    EXPECT_EQ(bind({DType::f32, Shape{kUnknownDim, 2}}, row), "f32[2,2] [[1.5 2.25]\n [-3 100]]");
    EXPECT_THAT(bind({DType::f32, Shape{3}}, row), HasSubstr("found 1 row of 4 numbers, expected shape [3]"));

    const std::string table = write("t.csv", "# made by hand\nwidth;height\n 1 ; 2\r\n3;4\n\n5;6\n");
    EXPECT_EQ(bind({DType::i32, Shape{3, 2}}, table), "i32[3,2] [[1 2]\n [3 4]\n [5 6]]");
    EXPECT_EQ(bind({DType::i32, Shape{3, 1, 2}}, table), "i32[3,1,2] [[[1 2]]\n [[3 4]]\n [[5 6]]]");
    EXPECT_THAT(bind({DType::i32, Shape{2, 3}}, table), HasSubstr("found 3 rows of 2 numbers, expected shape [2,3]"));
    EXPECT_EQ(bind({DType::i32, Shape::unknownRank()}, table + ":[6]"), "i32[6] [1 2 3 4 5 6]");

    EXPECT_EQ(bind({DType::i64, Shape{4}}, write("w.txt", "1 2\t3  4")), "i64[4] [1 2 3 4]");
    EXPECT_EQ(bind({DType::i64, Shape{2, 2}}, write("n.txt", "[[1, 2],\n [3, 4]]\n")), "i64[2,2] [[1 2]\n [3 4]]");
    EXPECT_EQ(bind({DType::string, Shape{2}}, write("s.txt", "one, two\nthree\n")), "str[2] [\"one, two\" \"three\"]");
    EXPECT_EQ(bind({DType::boolean, Shape{2}}, write("b.csv", "true,0")), "bool[2] [true false]");
    EXPECT_EQ(bind({DType::u8, Shape{2}}, write("u.dat", "7,255") + ":csv"), "u8[2] [7 255]");

    EXPECT_THAT(bind({DType::f32, Shape{2}}, write("h.csv", "a,1\n2,3\n")), HasSubstr("line 1, column 1, found \"a\", expected f32"));
    EXPECT_THAT(bind({DType::f32, Shape{4}}, write("r.csv", "1,2\n3\n")), HasSubstr("line 2 has 1 number, expected 2 as in the rows"));
    EXPECT_THAT(bind({DType::u8, Shape{2}}, write("o.csv", "1,256")), HasSubstr("line 1, column 2, found \"256\", expected u8"));
    EXPECT_THAT(bind({DType::i32, Shape{2}}, write("f.csv", "1,2.5")), HasSubstr("found \"2.5\", expected i32"));
    EXPECT_EQ(bind({DType::i32, Shape{2}}, write("f.csv", "1,2.5") + ":cast"), "i32[2] [1 2]");
    EXPECT_THAT(bind({DType::f32, Shape{}}, write("e.csv", "# nothing\n")), HasSubstr("the file holds no numbers"));
    EXPECT_THAT(bind({DType::f32, Shape{2}}, "x=" + path("none.csv")), HasSubstr("no such file"));
}

TEST_F(Inputs, files_of_unknown_kind_are_refused)
{
    const std::string text = "0123456789abcdef";
    ASSERT_TRUE(writeFile(path("m.dat"), std::as_bytes(std::span(text)), true).ok());
    EXPECT_THAT(bind({DType::f32, Shape{4}}, "x=" + path("m.dat")), HasSubstr("m.dat: a file of unknown kind, expected .npy, .npz"));
    EXPECT_THAT(bind({DType::i8, Shape{16}}, "x=" + path("m.dat") + ":raw"), HasSubstr("i8[16] [48 49 50"));
    EXPECT_THAT(bind({DType::i32, Shape{4}}, "x=" + path("m.dat") + ":raw:cast"), HasSubstr("raw bytes are taken as they are"));
}

TEST_F(Inputs, quantized_ones_take_real_numbers_where_that_is_said)
{
    TensorType type{DType::i8, Shape{4}};
    type.quantization = std::make_shared<Quantization>(Quantization::perTensor(0.5F, -1));
    const std::string npy = "x=" + writeArray("r.npy", "[0.25, -0.5, 1.5, 1000]", DType::f32, Shape{4});
    EXPECT_THAT(bind(type, npy), HasSubstr("found f32, expected i8; add ':quantize' to convert"));
    EXPECT_THAT(bind(type, npy + ":cast"), HasSubstr("':cast' would change 4 of 4 elements (0.25 becomes 0); ':quantize' converts"));
    EXPECT_EQ(bind(type, npy + ":quantize"), "i8[4] [0 -2 2 127]"); // 0.25 / 0.5 = 0.5, rounded away from zero, − 1
    EXPECT_EQ(bind(type, "x=[0, 1, 2, 3]:quantize"), "i8[4] [-1 1 3 5]");
    EXPECT_EQ(bind(type, "x=@7[2,2]:quantize"), "i8[4] [3 3 3 3]");
    EXPECT_EQ(bind(type, "x=" + writeArray("s.npy", "[1, 2, 3, 4]", DType::i8, Shape{4})), "i8[4] [1 2 3 4]");
    EXPECT_EQ(bind(type, "x=" + writeArray("w.npy", "[1, 2, 3, 4]", DType::f32, Shape{4}) + ":cast"), "i8[4] [1 2 3 4]");
    EXPECT_THAT(bind(type, "x=" + path("s.npy") + ":quantize"), HasSubstr("':quantize' is for real numbers, found i8"));
    EXPECT_THAT(bind({DType::i8, Shape{4}}, npy + ":quantize"), HasSubstr("':quantize' needs a scale and a zero point"));
    EXPECT_THAT(bind(type, "x=" + writeArray("n.npy", "[nan, 0, 0, 0]", DType::f32, Shape{4}) + ":quantize"), HasSubstr("1 NaN"));

    auto channels = std::make_shared<Quantization>();
    channels->kind = Quantization::Kind::affine;
    channels->scales = {1, 0.5F};
    channels->zeroPoints = {0, 10};
    channels->axis = 1;
    type = {DType::i8, Shape{2, 2}};
    type.quantization = channels;
    EXPECT_EQ(bind(type, "x=[[1, 1], [2, 2]]:quantize"), "i8[2,2] [[1 12]\n [2 14]]");
}

TEST_F(Inputs, casts_tell_what_they_change)
{
    const std::string npy = "x=" + writeArray("c.npy", "[1.5, 2, 300]", DType::f32, Shape{3});
    const auto bound = bindInputs(targetOf({{"x", {DType::u8, Shape{3}}}}), {npy + ":cast"}, 1, 1);
    ASSERT_TRUE(bound.ok());
    EXPECT_THAT(bound->notes, testing::Contains(HasSubstr("f32 converted to u8; 2 of 3 elements change (1.5 becomes 1)")));
}

TEST_F(Inputs, quantized_outputs_as_the_reals_they_stand_for)
{
    const auto stored = parseLiteral("[1, -3]", DType::i8, Shape{2}, ScalarMeans::fill);
    const Quantization quantization = Quantization::perTensor(0.5F, -1);
    Tensor tensor = stored->view();
    tensor.quantization = &quantization;
    EXPECT_EQ(elementsText(dequantized(tensor).view()), "[1 -1]");
    EXPECT_EQ(dequantized(tensor).dtype, DType::f32);
    EXPECT_EQ(dequantized(stored->view()).dtype, DType::i8);
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
    EXPECT_THAT(inputsByName(targetOf({{"x", type}, {"y", type}, {"z", type}}), {path("a.npz") + ":cast", "z=@7", path("none.npz")}),
                ElementsAre("\"x\"=" + path("a.npz") + ":0:cast", "\"y\"=" + path("a.npz") + ":y:cast", "z=@7", path("none.npz")));
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
    EXPECT_THAT(bind({DType::i64, Shape{4, 3037000500}}, "x=@7"), HasSubstr("shape [4,3037000500] is too large"));
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

/// A PNG of two pixels, red and blue, written with libpng.
std::vector<std::byte> redAndBlue()
{
    constexpr std::array<uint8_t, 6> pixels = {255, 0, 0, 0, 0, 255};
    png_image image = {};
    image.version = PNG_IMAGE_VERSION;
    image.width = 2;
    image.height = 1;
    image.format = PNG_FORMAT_RGB;
    png_alloc_size_t size = 0;
    EXPECT_NE(png_image_write_get_memory_size(image, size, 0, pixels.data(), 0, nullptr), 0);
    std::vector<std::byte> png(size);
    EXPECT_NE(png_image_write_to_memory(&image, png.data(), &size, 0, pixels.data(), 0, nullptr), 0);
    return png;
}

TEST_F(Inputs, pictures_become_pixels)
{
    const std::vector<std::byte> png = redAndBlue();
    ASSERT_TRUE(writeFile(path("p.png"), png, true).ok());
    const std::string x = "x=" + path("p.png");
    EXPECT_EQ(bind({DType::u8, Shape{1, 1, 2, 3}}, x), "u8[1,1,2,3] [[[[255 0 0]\n   [0 0 255]]]]");
    EXPECT_EQ(bind({DType::f32, Shape{1, 2, 3}}, x + "[-1,1]"), "f32[1,2,3] [[[1 -1 -1]\n  [-1 -1 1]]]");
    EXPECT_EQ(bind({DType::f32, Shape{3, 1, 2}}, x), "f32[3,1,2] [[[1 0]]\n [[0 0]]\n [[0 1]]]") << "channels stand first";
    EXPECT_EQ(bind({DType::u8, Shape{3, 1, 3}}, x + ":fit:nchw"), "u8[3,1,3] [[[255 128 0]]\n [[0 0 0]]\n [[0 128 255]]]");
    EXPECT_THAT(bind({DType::u8, Shape{4, 4, 3}}, x), HasSubstr("found 2x1 pixels, expected 4x4 pixels; add ':fit'"));
    EXPECT_THAT(bind({DType::u8, Shape{8, 4, 4, 3}}, x), HasSubstr("found 1, expected 8"));
    EXPECT_THAT(bind({DType::u8, Shape{5, 5}}, x), HasSubstr("expected 5x5 pixels"));
    EXPECT_THAT(bind({DType::u8, Shape{2}}, x), HasSubstr("holds no picture"));
    ASSERT_TRUE(writeFile(path("cut.png"), std::span(png).first(40), true).ok());
    EXPECT_THAT(bind({DType::u8, Shape{1, 2, 3}}, "x=" + path("cut.png")), HasSubstr("not a readable PNG"));
}

TEST_F(Inputs, jpegs_become_pixels)
{
    // A grey ramp of 16 x 8 pixels, written with libjpeg: lossy, so each pixel is near what was written.
    jpeg_compress_struct state = {};
    jpeg_error_mgr errors = {};
    state.err = jpeg_std_error(&errors);
    jpeg_create_compress(&state);
    unsigned char* file = nullptr;
    unsigned long size = 0; // NOLINT(google-runtime-int): libjpeg's
    jpeg_mem_dest(&state, &file, &size);
    state.image_width = 16;
    state.image_height = 8;
    state.input_components = 1;
    state.in_color_space = JCS_GRAYSCALE;
    jpeg_set_defaults(&state);
    jpeg_set_quality(&state, 100, TRUE);
    jpeg_start_compress(&state, TRUE);
    std::array<unsigned char, 16> row = {};
    for (size_t i = 0; i < row.size(); ++i) row[i] = static_cast<unsigned char>(i * 16);
    unsigned char* rows = row.data();
    while (state.next_scanline < state.image_height) jpeg_write_scanlines(&state, &rows, 1);
    jpeg_finish_compress(&state);
    const std::vector<std::byte> jpeg(reinterpret_cast<std::byte*>(file), reinterpret_cast<std::byte*>(file) + size);
    jpeg_destroy_compress(&state);
    std::free(file);
    ASSERT_TRUE(writeFile(path("p.jpg"), jpeg, true).ok());

    const auto bound = bindInputs(targetOf({{"x", {DType::u8, Shape{1, 8, 16, 3}}}}), {"x=" + path("p.jpg")}, 1, 1);
    ASSERT_TRUE(bound.ok()) << bound.error().message();
    const Tensor view = bound->inputs[0].forRun(0).view();
    for (int64_t i = 0; i < view.elementCount(); ++i) ASSERT_NEAR(elementAsInteger(view, i), i / 3 % 16 * 16, 4) << i;
    ASSERT_TRUE(writeFile(path("cut.jpg"), std::span(jpeg).first(20), true).ok());
    EXPECT_THAT(bind({DType::u8, Shape{1, 8, 16, 3}}, "x=" + path("cut.jpg")), HasSubstr("not a readable JPEG"));
    ASSERT_TRUE(writeFile(path("half.jpg"), std::span(jpeg).first(jpeg.size() - 6), true).ok());
    EXPECT_THAT(bind({DType::u8, Shape{1, 8, 16, 3}}, "x=" + path("half.jpg")), HasSubstr("premature end of data segment"));
    ASSERT_TRUE(writeFile(path("whole.jpg"), std::span(jpeg).first(jpeg.size() - 2), true).ok());
    EXPECT_THAT(bind({DType::u8, Shape{1, 8, 16, 3}}, "x=" + path("whole.jpg")), HasSubstr("u8[1,8,16,3]"))
        << "only the mark of the end is missing";
}

TEST_F(Inputs, a_shape_may_follow_what_has_none)
{
    TensorType open;
    open.dtype = DType::f32;
    open.shape = Shape{-1, 2};
    EXPECT_EQ(bind(open, "x=0.5:[2,2]"), "f32[2,2] [[0.5 0.5]\n [0.5 0.5]]");
    EXPECT_THAT(bind(open, "x=0.5:[2]"), HasSubstr("found f32[2], expected f32[?,2]"));
    const std::array<float, 4> raw = {1, 2, 3, 4};
    ASSERT_TRUE(writeFile(path("x.bin"), std::as_bytes(std::span(raw)), true).ok());
    EXPECT_EQ(bind(open, "x=" + path("x.bin") + ":[2,2]"), "f32[2,2] [[1 2]\n [3 4]]");
    EXPECT_EQ(bind({DType::string, Shape{1}}, "x=[\"a:[2]\"]"), "str[1] [\"a:[2]\"]");
    EXPECT_THAT(bind(open, "x=" + writeArray("x.npy", "[1,2]", DType::f32, Shape{1, 2}) + ":[2,2]"), HasSubstr("the file has its own"));
}

TEST_F(Inputs, what_goes_with_pictures_goes_with_nothing_else)
{
    const TensorType two(DType::f32, Shape{2});
    const std::string npy = "x=" + writeArray("x.npy", "[1,2]", DType::f32, Shape{2});
    for (const std::string& option :
         {npy + "[0,1]", npy + ":fit", std::string("x=5:nchw"), std::string("x=@7:nhwc"), std::string("x=[1,2]:fit")})
        EXPECT_THAT(bind(two, option), HasSubstr("are for pictures")) << option;
    EXPECT_THAT(bind(two, "x=" + path("none.png") + "[0,1]:fit"), HasSubstr("no such file"));
}

TEST_F(Inputs, the_last_run_is_a_source)
{
    const RunTarget target = targetOf({{"x", {DType::i32, Shape{2}}}});
    EXPECT_FALSE(bindInputs(target, {"x=@last"}, 1, 1).ok());
    const auto first = bindInputs(target, {"x=[4,5]"}, 1, 1);
    ASSERT_TRUE(first.ok());
    const auto second = bindInputs(target, {"x=@last; x[1]=9"}, 1, 1, &*first);
    ASSERT_TRUE(second.ok());
    EXPECT_EQ(elementsText(second->inputs[0].forRun(0).view()), "[4 9]");
}

TEST(Outputs, an_archive_holds_a_value_that_is_given_twice)
{
    RunTarget target;
    for (const char* name : {"y", "y_1", "y"}) {
        Port port;
        port.name = name;
        target.outputs.push_back(port);
    }
    const std::vector<float> numbers = {1, 2, 3};
    std::vector<Tensor> outputs(3);
    for (size_t k = 0; k < outputs.size(); ++k) {
        outputs[k].dtype = DType::f32;
        outputs[k].shape = Shape{1};
        outputs[k].data = const_cast<std::byte*>(reinterpret_cast<const std::byte*>(&numbers[k]));
        outputs[k].bytes = sizeof(float);
    }
    OutputSink sink(target);
    sink.keep(outputs, 0);
    const ScratchFolder folder;
    const std::string path = folder.path("y.npz");
    Status written = sink.write(path, "", true);
    ASSERT_TRUE(written.ok()) << std::move(written).takeError().message();
    const auto archive = NpzFile::open(path);
    ASSERT_TRUE(archive.ok());
    EXPECT_TRUE(archive->has("y"));
    EXPECT_TRUE(archive->has("y_1"));
    EXPECT_TRUE(archive->has("y_2"));
}

} // namespace
} // namespace loopscope::app
