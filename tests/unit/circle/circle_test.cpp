// Where Circle differs from TFLite: operator codes, element types, quantization details, fields at other places, and what the one format
// has no form for in the other.
#include "circle_schema_generated.h"
#include "converters/circle/circle.h"
#include "converters/formats.h"
#include "converters/lsir/lsir.h"
#include "engine/ir/text/parser.h"
#include "engine/ir/text/printer.h"
#include "tests/scratch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace loopscope {
namespace {

using testing::HasSubstr;
using testing::Not;
template <typename T> using Offset = flatbuffers::Offset<T>;

/// A file with one subgraph, made by hand.
class TinyCircle {
public:
    flatbuffers::FlatBufferBuilder b;
    std::vector<Offset<circle::OperatorCode>> codes;
    std::vector<Offset<circle::Tensor>> tensors;
    std::vector<Offset<circle::Operator>> operators;
    std::vector<Offset<circle::Buffer>> buffers{circle::CreateBuffer(b)};
    std::vector<int32_t> inputs, outputs;
    circle::DataFormat layout = circle::DataFormat_CHANNELS_LAST;
    int32_t debug = -1;
    uint32_t version = 0;

    int32_t tensor(const char* name, circle::TensorType type = circle::TensorType_FLOAT32, uint32_t buffer = 0,
                   Offset<circle::QuantizationParameters> quantization = 0,
                   circle::CompressionType compression = circle::CompressionType_NONE, const std::vector<int32_t>& shape = {4})
    {
        const auto dims = b.CreateVector(shape);
        const auto nameAt = b.CreateString(name);
        tensors.push_back(circle::CreateTensor(b, dims, type, buffer, nameAt, quantization, false, 0, 0, true, 0, compression));
        return static_cast<int32_t>(tensors.size() - 1);
    }

    uint32_t buffer(const std::vector<uint8_t>& bytes)
    {
        b.ForceVectorAlignment(bytes.size(), 1, 16);
        buffers.push_back(circle::CreateBuffer(b, b.CreateVector(bytes)));
        return static_cast<uint32_t>(buffers.size() - 1);
    }

    uint32_t code(int8_t old, int32_t wide)
    {
        codes.push_back(circle::CreateOperatorCode(b, old, 0, 1, static_cast<circle::BuiltinOperator>(wide)));
        return static_cast<uint32_t>(codes.size() - 1);
    }

    void op(uint32_t number, const std::vector<int32_t>& in, const std::vector<int32_t>& out,
            circle::BuiltinOptions tag = circle::BuiltinOptions_NONE, Offset<void> options = 0)
    {
        const auto inAt = b.CreateVector(in);
        operators.push_back(circle::CreateOperator(b, number, inAt, b.CreateVector(out), tag, options));
    }

    Bytes finish()
    {
        const auto t = b.CreateVector(tensors);
        const auto i = b.CreateVector(inputs);
        const auto o = b.CreateVector(outputs);
        const auto ops = b.CreateVector(operators);
        const auto graph = circle::CreateSubGraph(b, t, i, o, ops, b.CreateString("main"), layout, debug);
        const auto graphs = b.CreateVector(&graph, 1);
        const auto c = b.CreateVector(codes);
        circle::FinishModelBuffer(b, circle::CreateModel(b, version, c, graphs, 0, b.CreateVector(buffers)));
        return Bytes::copyOf(b.GetBufferPointer(), b.GetSize());
    }
};

/// The model of a file. It must come back equal from Circle and from text.
Model modelOf(const Bytes& file)
{
    auto model = importCircle("m.circle", file);
    if (!model.ok()) {
        ADD_FAILURE() << model.error().message();
        return {};
    }
    const auto written = exportCircle(*model);
    if (written.ok()) {
        flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(written->data()), written->size());
        EXPECT_TRUE(circle::VerifyModelBuffer(verifier));
        const auto again = importCircle("again", Bytes::copyOf(*written));
        EXPECT_EQ(again.ok() ? firstDifference(*model, *again) : again.error().message(), "");
    } else {
        ADD_FAILURE() << written.error().message();
    }
    const auto parsed = parseModel(printModel(*model), "text");
    EXPECT_EQ(parsed.ok() ? firstDifference(*model, *parsed) : parsed.error().message(), "");
    return std::move(*model);
}

std::string importError(const Bytes& file)
{
    const auto model = importCircle("m.circle", file);
    return model.ok() ? "" : model.error().message();
}

Model fromText(const std::string& text)
{
    auto model = modelFromText(text, "test");
    EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().message());
    return model.ok() ? std::move(*model) : Model();
}

template <typename Written> std::string messageOf(const Written& written) { return written.ok() ? "" : written.error().message(); }

/// The kind that an operator code stands for.
std::string kindOf(int8_t old, int32_t wide)
{
    TinyCircle f;
    f.inputs = {f.tensor("x")};
    f.outputs = {f.tensor("y")};
    f.op(f.code(old, wide), {0}, {1});
    const Model model = modelOf(f.finish());
    return model.graphs.empty() ? "" : model.graphs[0].operators[0].kind.full();
}

TEST(Circle, operatorCodeIsTheByteUnlessThatIsThePlaceholder)
{
    EXPECT_EQ(kindOf(19, 19), "tfl.relu");
    EXPECT_EQ(kindOf(19, 0), "tfl.relu");
    EXPECT_EQ(kindOf(19, 21), "tfl.relu"); // the larger would be relu6
    EXPECT_EQ(kindOf(127, 150), "tfl.gelu");
    EXPECT_EQ(kindOf(-6, -6), "circle.rms_norm");
    EXPECT_EQ(kindOf(-2, 0), "circle.instance_norm"); // older files have it in the byte alone
    EXPECT_EQ(kindOf(127, -9), "circle.attention");
    EXPECT_EQ(kindOf(127, 1000), "tfl.builtin_1000");
}

TEST(Circle, refusesCodesThatMeanNothing)
{
    const auto errorFor = [](int8_t old, int32_t wide) {
        TinyCircle f;
        f.code(old, wide);
        return importError(f.finish());
    };
    EXPECT_THAT(errorFor(-1, 5), HasSubstr("operator_codes[0] is builtin operator -1, expected -9 to -2, or 0 or more"));
    EXPECT_THAT(errorFor(-10, 0), HasSubstr("is builtin operator -10"));
    EXPECT_THAT(errorFor(127, -1), HasSubstr("is builtin operator -1"));
}

TEST(Circle, ownOperatorsHaveTheirOptions)
{
    TinyCircle f;
    f.inputs = {f.tensor("x")};
    for (const char* name : {"a", "b", "c", "d", "e", "g", "h", "i"}) f.tensor(name);
    using O = circle::BuiltinOptions;
    f.op(f.code(-2, -2), {0}, {1}, O::BuiltinOptions_InstanceNormOptions,
         circle::CreateInstanceNormOptions(f.b, 0.5F, circle::ActivationFunctionType_RELU).Union());
    f.op(f.code(-3, -3), {0}, {2}, O::BuiltinOptions_BCQFullyConnectedOptions,
         circle::CreateBCQFullyConnectedOptions(f.b, 7, circle::ActivationFunctionType_TANH).Union());
    f.op(f.code(-4, -4), {0}, {3}, O::BuiltinOptions_BCQGatherOptions, circle::CreateBCQGatherOptions(f.b, 8, 1).Union());
    f.op(f.code(-5, -5), {0}, {4}, O::BuiltinOptions_GRUOptions,
         circle::CreateGRUOptions(f.b, circle::ActivationFunctionType_NONE, true, true).Union());
    f.op(f.code(-6, -6), {0}, {5}, O::BuiltinOptions_RmsNormOptions, circle::CreateRmsNormOptions(f.b, 0.25F).Union());
    f.op(f.code(-7, -7), {0}, {6}, O::BuiltinOptions_RoPEOptions, circle::CreateRoPEOptions(f.b, circle::RoPEMode_GPT_J).Union());
    const auto location = f.b.CreateString("sub.circle");
    f.op(f.code(-8, -8), {0}, {7}, O::BuiltinOptions_RunModelOptions,
         circle::CreateRunModelOptions(f.b, location, f.b.CreateString("s")).Union());
    f.op(f.code(-9, -9), {0}, {8}, O::BuiltinOptions_AttentionOptions, circle::CreateAttentionOptions(f.b).Union());
    f.outputs = {1, 2, 3, 4, 5, 6, 7, 8};
    const std::string text = printModel(modelOf(f.finish()));
    EXPECT_THAT(text, HasSubstr("model circle schema=0"));
    EXPECT_THAT(text, HasSubstr("a = circle.instance_norm(x) act=RELU epsilon=0.5 :"));
    EXPECT_THAT(text, HasSubstr("b = circle.bcq_fully_connected(x) act=TANH weights_hidden_size=7 :"));
    EXPECT_THAT(text, HasSubstr("c = circle.bcq_gather(x) axis=1 input_hidden_size=8 :"));
    EXPECT_THAT(text, HasSubstr("d = circle.gru(x) return_sequences=true time_major=true :"));
    EXPECT_THAT(text, HasSubstr("e = circle.rms_norm(x) epsilon=0.25 :"));
    EXPECT_THAT(text, HasSubstr("g = circle.rope(x) mode=GPT_J :"));
    EXPECT_THAT(text, HasSubstr("h = circle.run_model(x) location=\"sub.circle\" signature=\"s\" :"));
    EXPECT_THAT(text, HasSubstr("i = circle.attention(x) :"));
}

TEST(Circle, elementTypesHaveTheirOwnNumbers)
{
    TinyCircle f;
    const uint32_t data = f.buffer({1, 2});
    const uint32_t blocks = f.buffer(std::vector<uint8_t>(18, 3));
    const std::vector<int32_t> row = {32};
    f.tensor("u", circle::TensorType_UINT4, data);
    f.tensor("q40", circle::TensorType_GGML_Q4_0, blocks, 0, circle::CompressionType_NONE, row);
    f.tensor("q41", circle::TensorType_GGML_Q4_1);
    f.tensor("q80", circle::TensorType_GGML_Q8_0);
    f.tensor("q81", circle::TensorType_GGML_Q8_1);
    f.tensor("mx4", circle::TensorType_MXFP4);
    f.tensor("mx8", circle::TensorType_MXINT8);
    f.tensor("b", circle::TensorType_BFLOAT16);
    const Model model = modelOf(f.finish());
    ASSERT_EQ(model.graphs.size(), 1U);
    std::vector<DType> found;
    for (const Value& v : model.graphs[0].values) found.push_back(v.type.dtype);
    EXPECT_EQ(found, (std::vector<DType>{DType::u4, DType::ggmlQ4_0, DType::ggmlQ4_1, DType::ggmlQ8_0, DType::ggmlQ8_1, DType::mxfp4,
                                         DType::mxint8, DType::bf16}));
    for (const int type : {19, 20, 21, 22, -8}) {
        TinyCircle other;
        other.tensor("x", static_cast<circle::TensorType>(type));
        EXPECT_THAT(importError(other.finish()), HasSubstr(".type is " + std::to_string(type) + ", expected -7 to 18"));
    }
}

TEST(Circle, quantizationDetailsHaveTheirOwnTags)
{
    TinyCircle f;
    f.tensor("s");
    const auto blocks = circle::CreateBlockwiseQuantization(f.b, 0, -1, 2).Union();
    f.tensor("w", circle::TensorType_INT8, 0,
             circle::CreateQuantizationParameters(f.b, 0, 0, 0, 0, circle::QuantizationDetails_BlockwiseQuantization, blocks));
    for (const int axis : {0, 3}) {
        const auto mx = circle::CreateMXQuantization(f.b, axis).Union();
        f.inputs.push_back(f.tensor(axis == 0 ? "m0" : "m3", circle::TensorType_MXINT8, 0,
                                    circle::CreateQuantizationParameters(f.b, 0, 0, 0, 0, circle::QuantizationDetails_MXQuantization, mx)));
    }
    const std::string text = printModel(modelOf(f.finish()));
    EXPECT_THAT(text, HasSubstr("q(block=2, scales=s, zeros=_)"));
    EXPECT_THAT(text, HasSubstr("m0: mxint8[4] {mx_axis=0}"));
    EXPECT_THAT(text, HasSubstr("m3: mxint8[4] {mx_axis=3}"));
}

TEST(Circle, fieldsAtOtherPlaces)
{
    TinyCircle f;
    f.layout = circle::DataFormat_CHANNELS_FIRST;
    f.debug = 5;
    f.inputs = {f.tensor("x")};
    f.tensor("w", circle::TensorType_FLOAT32, f.buffer({1, 2, 3}), 0, circle::CompressionType_HUFFMAN);
    f.tensor("y");
    f.tensor("z");
    const auto fc = circle::CreateFullyConnectedOptions(f.b, circle::ActivationFunctionType_NONE,
                                                        circle::FullyConnectedOptionsWeightsFormat_SHUFFLED16x1FLOAT32);
    f.op(f.code(9, 9), {0, 1}, {2}, circle::BuiltinOptions_FullyConnectedOptions, fc.Union());
    f.op(f.code(126, 126), {2, 0}, {3}, circle::BuiltinOptions_BatchMatMulOptions,
         circle::CreateBatchMatMulOptions(f.b, true, false).Union());
    f.outputs = {3};
    const Model model = modelOf(f.finish());
    const std::string text = printModel(model);
    EXPECT_THAT(text, HasSubstr("@data_format=CHANNELS_FIRST @debug=5"));
    EXPECT_THAT(text, HasSubstr("compression_type=HUFFMAN"));
    EXPECT_THAT(text, HasSubstr("weights_format=SHUFFLED16x1FLOAT32"));
    EXPECT_THAT(text, HasSubstr("z = batch_matmul(y, x) adj_x=true :"));
    EXPECT_THAT(text, Not(HasSubstr("external")));
}

TEST(Circle, refusesForeignAndNewerFiles)
{
    TinyCircle f;
    f.version = 4;
    EXPECT_THAT(importError(f.finish()), HasSubstr("schema version is 4, expected at most 3"));
    const auto tfl = exportTflite(fromText("graph main(x: f32[1]) {\n return x\n}\n"));
    ASSERT_TRUE(tfl.ok());
    EXPECT_THAT(importError(Bytes::copyOf(*tfl)), HasSubstr("not a Circle model, expected the identifier CIR0 at offset 4"));
}

TEST(Circle, namesTheBrokenPlace)
{
    TinyCircle f;
    f.inputs = {f.tensor("x")};
    f.outputs = {f.tensor("y")};
    f.op(f.code(-6, -6), {0}, {1}, circle::BuiltinOptions_RmsNormOptions, circle::CreateRmsNormOptions(f.b, 0.25F).Union());
    const Bytes file = f.finish();
    // Each byte turned over in turn: opens or is refused, and nothing is read outside of the file.
    for (size_t at = 0; at < file.size(); ++at) {
        std::vector<std::byte> mutant(file.view().begin(), file.view().end());
        mutant[at] ^= std::byte{0xff};
        const auto model = importCircle("m.circle", Bytes::copyOf(mutant));
        if (!model.ok()) {
            EXPECT_THAT(model.error().message(), HasSubstr("m.circle: "));
        }
    }
}

TEST(Circle, tfliteModelsConvertBothWays)
{
    const std::string text = "graph main(x: f32[2,2]) {\n w = const u4[2] [1, 2]\n\n y = batch_matmul(x, x) adj_y=true : f32[2,2]\n"
                             " z = add(y, x) act=RELU : f32[2,2]\n return z\n}\n";
    const Model model = fromText(text);
    const auto circle = exportCircle(model);
    ASSERT_TRUE(circle.ok()) << circle.error().message();
    const auto imported = importCircle("m.circle", Bytes::copyOf(*circle));
    ASSERT_TRUE(imported.ok()) << imported.error().message();
    EXPECT_EQ(imported->dialect, Dialect::circle);
    EXPECT_EQ(attributeInt(imported->attributes, "schema", -1), 0);
    const auto back = exportTflite(*imported);
    ASSERT_TRUE(back.ok()) << back.error().message();
    const auto again = importTflite("m.tflite", Bytes::copyOf(*back));
    ASSERT_TRUE(again.ok()) << again.error().message();
    const auto direct = exportTflite(model);
    ASSERT_TRUE(direct.ok());
    const auto expected = importTflite("m.tflite", Bytes::copyOf(*direct));
    ASSERT_TRUE(expected.ok());
    EXPECT_EQ(firstDifference(*expected, *again), "");
}

TEST(Circle, refusesByNameWhatTheOtherFormatLacks)
{
    const auto toCircle = [](const std::string& body) { return messageOf(exportCircle(fromText(body))); };
    const auto toTflite = [](const std::string& body) { return messageOf(exportTflite(fromText("lsir 1\nmodel circle\n\n" + body))); };
    EXPECT_THAT(toCircle("graph main(x: f8e5m2[1]) {\n return x\n}\n"),
                HasSubstr("cannot convert to circle: main/x: dtype f8e5m2 has no form"));
    EXPECT_THAT(toCircle("graph main(x: i2[1]) {\n return x\n}\n"), HasSubstr("dtype i2 has no form"));
    EXPECT_THAT(toTflite("graph main(x: mxint8[4]) {\n return x\n}\n"),
                HasSubstr("cannot convert to tflite: main/x: dtype mxint8 has no form"));
    EXPECT_THAT(toTflite("graph main(x: f32[4]) {\n y = circle.rope(x) mode=GPT_J : f32[4]\n return y\n}\n"),
                HasSubstr("cannot convert to tflite: 1 operator has no form there: main/rope#0"));
    EXPECT_THAT(toTflite("graph main(x: f32[4] {mx_axis=1}) {\n return x\n}\n"), HasSubstr("attribute 'mx_axis' has no form"));
    EXPECT_THAT(toTflite("graph main(x: f32[4]) @data_format=CHANNELS_FIRST {\n return x\n}\n"), HasSubstr("'@data_format' of graph main"));
    EXPECT_THAT(toTflite("graph main(x: f32[1,4]) {\n"
                         " y = fully_connected(x, x) weights_format=SHUFFLED16x1FLOAT32 : f32[1,1]\n"
                         " return y\n}\n"),
                HasSubstr("found SHUFFLED16x1FLOAT32"));
}

TEST(Circle, isOpenedByContentAndWrittenByExtension)
{
    const ScratchFolder folder;
    const std::string path = folder.path("m.circle");
    SaveOptions options;
    options.overwrite = true;
    ASSERT_TRUE(saveModel(fromText("graph main(x: f32[1]) {\n y = relu(x) : f32[1]\n return y\n}\n"), path, options).ok());
    const auto loaded = loadModel(path);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message();
    EXPECT_EQ(loaded->formatName, "Circle");
}

} // namespace
} // namespace loopscope
