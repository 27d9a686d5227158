// Text IR files: types filled in, data in the text, beside it, or left out, and what is refused.
#include "converters/lsir/lsir.h"
#include "engine/ir/text/printer.h"
#include "tests/scratch.h"

#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace loopscope {
namespace {

using testing::HasSubstr;

/// A folder of its own for each test, removed at its end.
class LsirFiles : public testing::Test {
protected:
    std::string path(const std::string& name) const { return m_folder.path(name); }
    static std::string read(const std::string& path)
    {
        std::ifstream file(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    static Result<Model> load(const std::string& path)
    {
        LS_TRY(Bytes content, mapFile(path));
        return importLsir(path, std::move(content));
    }

    ScratchFolder m_folder;
};

/// Two constants of 400 bytes whose elements differ, one of them used twice, and per-channel scales.
Model modelWithData()
{
    std::string list;
    for (int i = 0; i < 100; ++i) list += (i == 0 ? "" : ", ") + std::to_string(i) + ".5";
    std::string scales;
    for (int i = 0; i < 10; ++i) scales += (i == 0 ? "" : ", ") + std::to_string(i + 1) + ".0";
    auto model =
        modelFromText("graph main(x: f32[100]) {\n  a = const f32[100] [" + list + "]\n  b = const f32[10,10] [" + list +
                          "]\n  c = const i8[10,10] q(axis=0, [" + scales + "], 0) splat 1\n  y = add(x, a) : f32[100]\n  return y\n}\n",
                      "model");
    EXPECT_TRUE(model.ok());
    return std::move(model).value();
}

TEST_F(LsirFiles, FillsInTypes)
{
    const auto model = modelFromText("graph main(x: f32[2,3]) {\n  y = add(x, x)\n  z = custom.Mine(y)\n  return z\n}\n", "t");
    ASSERT_TRUE(model.ok());
    EXPECT_EQ(typeText(model->graphs[0].values[1].type), "f32[2,3]");
    EXPECT_EQ(typeText(model->graphs[0].values[2].type), "?"); // nobody knows; no error until it runs
}

TEST_F(LsirFiles, NamesThePlaceOfErrors)
{
    const auto parse = modelFromText("graph main(x: f32[2]) {\n  y = add(x, z)\n  w = add(x, q)\n}\n", "m.lsir");
    ASSERT_FALSE(parse.ok());
    EXPECT_EQ(parse.error().message(), "m.lsir:2:14: no value 'z' in graph main");
    ASSERT_EQ(parse.error().detail().notes.size(), 1U);
    EXPECT_EQ(parse.error().detail().notes[0], "m.lsir:3:14: no value 'q' in graph main");
    const auto order = modelFromText("graph main(x: f32[2]) {\n  y = add(x, z)\n  z = add(x, x)\n}\n", "m.lsir");
    ASSERT_FALSE(order.ok());
    EXPECT_EQ(order.error().message(), "m.lsir: graph main: add#0: operand 1 is 'z', which operator 1 writes later");
}

/// What is told of a text that is right but for the names in it; "" if nothing.
std::string toldOf(const std::string& head, const std::string& line)
{
    const auto model = modelFromText(head + "graph main(x: f32[2]) {\n  y = " + line + " : f32[2]\n  return y\n}\n", "m");
    return model.ok() ? "" : model.error().message();
}

TEST_F(LsirFiles, UnknownNamesAreToldWhereTheyStand)
{
    EXPECT_EQ(toldOf("", "softmax(x) bta=1.0"), "m:2:18: softmax has no attribute 'bta'; did you mean 'beta'?");
    EXPECT_EQ(toldOf("", "softmax(x) scale=1.0"), "m:2:18: softmax has no attribute 'scale', expected one of beta");
    EXPECT_EQ(toldOf("", "sin(x) beta=1.0"), "m:2:14: sin has no attribute 'beta', it has none");
    EXPECT_EQ(toldOf("", "sofmax(x) beta=1.0"), "m:2:7: unknown operator 'sofmax'; did you mean 'softmax'?");
    EXPECT_EQ(toldOf("", "tlf.neg(x)"), "m:2:7: unknown dialect 'tlf', expected tfl, circle, tf or custom");
    EXPECT_EQ(toldOf("model circle\n", "circle.instance_nrm(x)"), "m:3:7: unknown operator 'instance_nrm'; did you mean 'instance_norm'?");
    EXPECT_EQ(toldOf("model circle\n", "bcq_gathr(x)"), "m:3:7: unknown operator 'bcq_gathr'; did you mean 'circle.bcq_gather'?");
    EXPECT_EQ(toldOf("model tf\n", "Softmx(x) T=f32"), "m:3:7: unknown operator 'Softmx'; did you mean 'Softmax'?");
    // Nor what its attribute cannot be: it would be passed over.
    EXPECT_EQ(toldOf("", "softmax(x) beta=\"x\""), "m:2:18: softmax: 'beta' cannot be \"x\", expected a number");
    EXPECT_EQ(toldOf("", "softmax(x) beta=2"), "");
    EXPECT_EQ(toldOf("", "add(x, x) act=\"RELU\""),
              "m:2:17: add: 'act' cannot be \"RELU\", expected one of NONE, RELU, RELU_N1_TO_1, RELU6, TANH, SIGN_BIT");
    EXPECT_EQ(toldOf("", "add(x, x) act=1"),
              "m:2:17: add: 'act' cannot be 1, expected one of NONE, RELU, RELU_N1_TO_1, RELU6, TANH, SIGN_BIT");
    EXPECT_EQ(toldOf("", "concatenation(x, x) axis=1.5"), "m:2:27: concatenation: 'axis' cannot be 1.5, expected a whole number that fits");
    EXPECT_EQ(toldOf("", "reshape(x) new_shape=[\"a\"]"),
              "m:2:18: reshape: 'new_shape' cannot be [\"a\"], expected a list, of each a whole number that fits");
    EXPECT_EQ(toldOf("model tf\n", "MatMul(x, x) T=f32 transpose_a=1"),
              "m:3:26: MatMul: 'transpose_a' cannot be 1, expected a value of kind bool");
    EXPECT_EQ(toldOf("model tf\n", "Squeeze(x) T=f32 squeeze_dims=[0.5]"),
              "m:3:24: Squeeze: 'squeeze_dims' cannot be [0.5], expected a value of kind list(int)");
    EXPECT_EQ(toldOf("model tf\n", "PlaceholderWithDefault(x) dtype=f32 shape=[2]"),
              "m:3:43: PlaceholderWithDefault: 'shape' cannot be [2], expected a shape, such as shape[2,?]");
    EXPECT_EQ(toldOf("", "fully_connected(x, x) weights_format=SHUFFLED16x1FLOAT32"), "") << "an enumerator of Circle";
    EXPECT_EQ(toldOf("model tf\n", "Ad(x, x) T=f32"), "m:3:7: unknown operator 'Ad'; did you mean 'Add'?");
    EXPECT_EQ(toldOf("model tf\n", "LeakyRelu(x) T=f32 alpa=0.1"), "m:3:26: LeakyRelu has no attribute 'alpa'; did you mean 'alpha'?");
}

TEST_F(LsirFiles, NamesThatFilesMayHaveAreKept)
{
    EXPECT_EQ(toldOf("", "custom.Sofmax(x) bta=1.0"), "");
    EXPECT_EQ(toldOf("", "builtin_900(x) @note=1"), "") << "an operator of a newer schema";
    EXPECT_EQ(toldOf("", "sin(x) @options=SoftmaxOptions beta=1.0"), "") << "a file may say another table";
    EXPECT_EQ(toldOf("model circle\n", "add(x, x) act=RELU"), "");
    EXPECT_EQ(toldOf("model tf\n", "MyOwnOperator(x) anything=1"), "");
    EXPECT_EQ(toldOf("model tf\n", "RaggedBincountV2(x) T=f32"), "") << "of a newer release";
    EXPECT_EQ(toldOf("model tf\n", "Relu(x) T=f32 _class=[\"a\"] novelty=1"), "");
    const auto call = modelFromText("model tf\ngraph Relo(x: f32[2]) {\n  y = Relu(x) T=f32 : f32[2]\n  return y\n}\n"
                                    "graph main(x: f32[2]) {\n  y = Relo(x) : f32[2]\n  return y\n}\n",
                                    "m");
    EXPECT_TRUE(call.ok()) << "the name of a function";
}

TEST_F(LsirFiles, DataInsideTheText)
{
    const Model model = modelWithData();
    ASSERT_TRUE(exportLsir(model, path("m.lsir"), DataMode::automatic, false).ok());
    const std::string text = read(path("m.lsir"));
    EXPECT_THAT(text, HasSubstr(" 400 base64 {\n"));
    EXPECT_EQ(text.find(" 400 base64"), text.rfind(" 400 base64")) << "one block for each distinct content";
    const auto back = load(path("m.lsir"));
    ASSERT_TRUE(back.ok()) << back.error().message();
    EXPECT_EQ(firstDifference(*back, model), "");
    EXPECT_TRUE(back->graphs[0].values[1].constant->hasBytes());
    EXPECT_EQ(back->graphs[0].values[3].type.quantization->kind, Quantization::Kind::affine);
    EXPECT_EQ(lsirText(*back, DataMode::inlineData), text);
    EXPECT_FALSE(exportLsir(model, path("m.lsir"), DataMode::automatic, false).ok());
    EXPECT_TRUE(exportLsir(model, path("m.lsir"), DataMode::automatic, true).ok());
}

TEST_F(LsirFiles, DataBesideTheText)
{
    const Model model = modelWithData();
    ASSERT_TRUE(exportLsir(model, path("m.lsir"), DataMode::side, false).ok());
    EXPECT_THAT(read(path("m.lsir")), HasSubstr(" 400 file \"m.lsir.bin\" offset="));
    const auto back = load(path("m.lsir"));
    ASSERT_TRUE(back.ok()) << back.error().message();
    ASSERT_TRUE(back->graphs[0].values[1].constant->hasBytes());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(back->graphs[0].values[1].constant->bytes().data()) % 64, 0U) << "entries are aligned";
    EXPECT_EQ(firstDifference(*back, model), "");

    // One changed byte in the side file, a side file that is too short, one that is missing.
    std::string side = read(path("m.lsir.bin"));
    side[side.size() - 1] ^= 1;
    std::ofstream(path("m.lsir.bin"), std::ios::binary) << side;
    auto damaged = load(path("m.lsir"));
    ASSERT_FALSE(damaged.ok());
    EXPECT_THAT(damaged.error().message(), HasSubstr("does not match its hash, found #"));
    std::ofstream(path("m.lsir.bin"), std::ios::binary) << side.substr(0, 100);
    damaged = load(path("m.lsir"));
    ASSERT_FALSE(damaged.ok());
    EXPECT_THAT(damaged.error().message(), HasSubstr("lies beyond the end of m.lsir.bin, found 100 bytes"));
    std::filesystem::remove(path("m.lsir.bin"));
    damaged = load(path("m.lsir"));
    ASSERT_FALSE(damaged.ok());
    EXPECT_THAT(damaged.error().message(), HasSubstr("m.lsir.bin: no such file"));
}

TEST_F(LsirFiles, DataLeftOut)
{
    const Model model = modelWithData();
    ASSERT_TRUE(exportLsir(model, path("m.lsir"), DataMode::none, false).ok());
    const auto back = load(path("m.lsir"));
    ASSERT_TRUE(back.ok()) << back.error().message();
    EXPECT_FALSE(back->graphs[0].values[1].constant->hasBytes());
    EXPECT_EQ(firstDifference(*back, model), "") << "equal by hash and size";
}

TEST_F(LsirFiles, RefusesSideFilesElsewhere)
{
    for (const char* file : {"/etc/passwd", "../x", "a/../../x", ""}) {
        const auto model = modelFromText("graph g {\n}\ndata #0123456789abcdef 4 file \"" + std::string(file) + "\" offset=0\n", "m");
        ASSERT_FALSE(model.ok()) << file;
        EXPECT_THAT(model.error().message(), HasSubstr("expected a path below the folder of the text")) << file;
    }
    const auto model = modelFromText("graph g {\n}\ndata #0123456789abcdef 4 file \"x\" offset=0\n", "m");
    ASSERT_FALSE(model.ok());
    EXPECT_THAT(model.error().message(), HasSubstr("a text without a file has no side file"));
}

TEST_F(LsirFiles, KnowsItsOwnFiles)
{
    const auto looks = [](std::string_view text) { return looksLikeLsir(std::as_bytes(std::span(text))); };
    EXPECT_TRUE(looks("lsir 1\n"));
    EXPECT_TRUE(looks("; a comment\n\n  graph main {\n}\n"));
    EXPECT_FALSE(looks("graphics"));
    EXPECT_FALSE(looks("PK\x03\x04"));
    EXPECT_FALSE(looks(""));
}

} // namespace
} // namespace loopscope
