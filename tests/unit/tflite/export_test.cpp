// What is written comes back, passes FlatBuffers' verifier, and shares and aligns its data; what the format cannot say is refused by name.
#include "converters/formats.h"
#include "converters/lsir/lsir.h"
#include "converters/tflite/tflite.h"
#include "engine/ir/text/parser.h"
#include "engine/ir/text/printer.h"
#include "schema_generated.h"
#include "tests/scratch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace loopscope {
namespace {

using testing::HasSubstr;

Model everyFeature()
{
    auto loaded = loadModel("tests/unit/tflite/every_feature.lsir");
    EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().message());
    return loaded.ok() ? std::move(loaded->model) : Model();
}

Model fromText(const std::string& text)
{
    auto model = modelFromText(text, "test");
    EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().message());
    return model.ok() ? std::move(*model) : Model();
}

bool passesVerifier(const std::vector<std::byte>& file)
{
    flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(file.data()), file.size());
    return tflite::VerifyModelBuffer(verifier);
}

TEST(TfliteExport, everyFeatureComesBack)
{
    const Model model = everyFeature();
    const auto file = exportTflite(model);
    ASSERT_TRUE(file.ok()) << file.error().message();
    EXPECT_TRUE(passesVerifier(*file));
    const auto again = importTflite("again", Bytes::copyOf(*file));
    ASSERT_TRUE(again.ok()) << again.error().message();
    EXPECT_EQ(firstDifference(model, *again), "");
    EXPECT_EQ(printModel(model), printModel(*again));
    const auto twice = exportTflite(*again);
    ASSERT_TRUE(twice.ok());
    EXPECT_TRUE(*exportTflite(*importTflite("twice", Bytes::copyOf(*twice))) == *twice); // from the second writing on, not a byte changes
}

TEST(TfliteExport, dataBehindTheFlatBufferComesBack)
{
    const Model model = everyFeature();
    const auto file = exportTflite(model, 0);
    ASSERT_TRUE(file.ok()) << file.error().message();
    EXPECT_TRUE(passesVerifier(*file));
    for (const tflite::Buffer* buffer : *tflite::GetModel(file->data())->buffers()) {
        EXPECT_EQ(buffer->data(), nullptr);
        EXPECT_EQ(buffer->offset() % 16, 0U);
        EXPECT_LE(buffer->offset() + buffer->size(), file->size());
    }
    const auto again = importTflite("again", Bytes::copyOf(*file));
    ASSERT_TRUE(again.ok()) << again.error().message();
    EXPECT_EQ(firstDifference(model, *again), "");
}

TEST(TfliteExport, equalDataIsStoredOnceAndAligned)
{
    const Model model =
        fromText("graph main() {\n a = const f32[5] [1.0, 2.0, 3.0, 4.0, 5.0]\n b = const f32[5] [1.0, 2.0, 3.0, 4.0, 5.0]\n"
                 " c = const f32[1] [1.0]\n return a, b, c\n}\n");
    const auto file = exportTflite(model);
    ASSERT_TRUE(file.ok());
    const auto& buffers = *tflite::GetModel(file->data())->buffers();
    ASSERT_EQ(buffers.size(), 3U);
    EXPECT_EQ(buffers.Get(0)->data(), nullptr); // the empty sentinel
    for (unsigned i = 1; i < 3; ++i) EXPECT_EQ((reinterpret_cast<const std::byte*>(buffers.Get(i)->data()->Data()) - file->data()) % 16, 0);
}

TEST(TfliteExport, writesBothOperatorCodeFields)
{
    const Model model =
        fromText("graph main(x: f32[1]) {\n a = relu(x) : f32[1]\n b = cumsum(a) : f32[1]\n c = custom.Mine(b) : f32[1]\n return c\n}\n");
    const auto file = exportTflite(model);
    ASSERT_TRUE(file.ok());
    const auto& codes = *tflite::GetModel(file->data())->operator_codes();
    ASSERT_EQ(codes.size(), 3U);
    EXPECT_EQ(codes.Get(0)->deprecated_builtin_code(), 19);
    EXPECT_EQ(codes.Get(1)->deprecated_builtin_code(), 127);
    EXPECT_EQ(codes.Get(1)->builtin_code(), 128);
    EXPECT_EQ(codes.Get(2)->builtin_code(), 32);
    EXPECT_EQ(codes.Get(2)->custom_code()->str(), "Mine");
}

/// The message of a refused export; empty if it succeeds.
std::string refusal(const std::string& text)
{
    const auto model = parseModel(text, "test"); // reads what no registry knows, too
    EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().message());
    if (!model.ok()) return "";
    const auto file = exportTflite(*model);
    if (file.ok()) return "";
    EXPECT_EQ(file.error().code(), ErrorCode::unsupported);
    return file.error().message();
}

TEST(TfliteExport, refusesByName)
{
    EXPECT_EQ(
        refusal("graph main(x: f32[1]) {\n a = tf.CTCLoss(x) : f32[1]\n b = relu(a) : f32[1]\n c = nosuch(b) : f32[1]\n return c\n}\n"),
        "cannot convert to tflite: 2 operators have no form there: main/CTCLoss#0, main/nosuch#2");
    EXPECT_EQ(refusal("graph main(x: qi8[1]) {\n return x\n}\n"), "cannot convert to tflite: main/x: dtype qi8 has no form there");
    EXPECT_EQ(refusal("graph main(x: f32[1]) {\n a = add(x, x) colour=3 : f32[1]\n return a\n}\n"),
              "cannot convert to tflite: main/add#0: attribute 'colour' has no field in AddOptions");
    EXPECT_EQ(refusal("graph main(x: f32[1]) {\n a = add(x, x) act=SHINY : f32[1]\n return a\n}\n"),
              "cannot convert to tflite: main/add#0: attribute 'act' does not fit its field, expected one of the enumerators of "
              "ActivationFunctionType, found SHINY");
    EXPECT_EQ(refusal("graph main(x: f32[1]) {\n a = pack(x) axis=5000000000 : f32[1]\n return a\n}\n"),
              "cannot convert to tflite: main/pack#0: attribute 'axis' does not fit its field, expected a number that fits the field, "
              "found 5000000000");
    EXPECT_EQ(refusal("graph main(x: f32[1]) {\n a = add(x, x) @version=5000000000 : f32[1]\n return a\n}\n"),
              "cannot convert to tflite: main/add#0: attribute '@version' does not fit its field, expected a number from -2147483648 to "
              "2147483647");
    EXPECT_EQ(refusal("graph main(p: bool[], x: f32[1]) {\n a = if(p, x) then=@main : f32[1]\n return a\n}\n"),
              "cannot convert to tflite: main/if#0: attribute 'else' is missing, expected a graph");
}

TEST(TfliteExport, refusesDataThatIsElsewhere)
{
    const auto file = exportTflite(fromText("graph main() {\n w = const f32[640] #8c1f03d2aa4e9b10\n return w\n}\n"));
    ASSERT_FALSE(file.ok());
    EXPECT_EQ(file.error().message(),
              "cannot convert to tflite: main/w: constant w (#8c1f03d2aa4e9b10, 2,560 bytes): its data is not in this file");
}

class Formats : public testing::Test {
protected:
    std::string path(const std::string& name) const { return m_folder.path(name); }
    /// The message for a file with that content, without the path.
    std::string messageFor(std::string_view content)
    {
        EXPECT_TRUE(writeFile(path("file"), content, true).ok());
        const auto loaded = loadModel(path("file"));
        return loaded.ok() ? "" : loaded.error().message().substr(path("file: ").size());
    }
    ScratchFolder m_folder;
};

TEST_F(Formats, contentDecidesNotTheName)
{
    const Model model = everyFeature();
    SaveOptions options;
    options.format = "tflite";
    ASSERT_TRUE(saveModel(model, path("misnamed.lsir"), options).ok());
    const auto loaded = loadModel(path("misnamed.lsir"));
    ASSERT_TRUE(loaded.ok()) << loaded.error().message();
    EXPECT_EQ(loaded->formatName, "TFLite");
    EXPECT_TRUE(sameModel(model, loaded->model));
    ASSERT_TRUE(saveModel(model, path("m.lsir")).ok());
    const auto text = loadModel(path("m.lsir"));
    ASSERT_TRUE(text.ok()) << text.error().message();
    EXPECT_EQ(text->formatName, "lsir");
    EXPECT_TRUE(sameModel(model, text->model));
}

TEST_F(Formats, saysWhatAFileIsInstead)
{
    using namespace std::string_view_literals;
    EXPECT_EQ(messageFor("PK\x03\x04....."sv), "not a model: found 'PK\\x03\\x04' at offset 0 (a zip archive), expected a model (TFLite, "
                                               "Circle, GraphDef, GraphDef text, MetaGraph, Keras, lsir, SavedModel)");
    EXPECT_EQ(
        messageFor(""sv),
        "not a model: the file is empty, expected a model (TFLite, Circle, GraphDef, GraphDef text, MetaGraph, Keras, lsir, SavedModel)");
    EXPECT_EQ(messageFor("hello there, this is no model"sv), "not a model: found 'hello th' at offset 0, expected a model (TFLite, Circle, "
                                                             "GraphDef, GraphDef text, MetaGraph, Keras, lsir, SavedModel)");
    EXPECT_THAT(loadModel(path("missing")).error().message(), HasSubstr("no such file"));
}

TEST_F(Formats, refusesUnknownExtensionsAndExistingFiles)
{
    const Model model = fromText("graph main(x: f32[1]) {\n return x\n}\n");
    const Status unknown = saveModel(model, path("m.tflit"));
    ASSERT_FALSE(unknown.ok());
    EXPECT_EQ(unknown.detail().code, ErrorCode::usage);
    EXPECT_EQ(unknown.detail().nearest, std::vector<std::string>{"tflite"});
    ASSERT_TRUE(saveModel(model, path("m.tflite")).ok());
    const Status exists = saveModel(model, path("m.tflite"));
    ASSERT_FALSE(exists.ok());
    EXPECT_EQ(exists.detail().code, ErrorCode::cannotWrite);
}

} // namespace
} // namespace loopscope
