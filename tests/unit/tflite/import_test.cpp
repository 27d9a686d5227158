// What files say in unusual ways and still mean: the traps of the format, one test each.
#include "tests/unit/tflite/tiny_file.h"

#include "converters/tflite/flat_format.h"
#include "engine/ir/text/printer.h"
#include "engine/ir/verifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace loopscope {
namespace {

using testing::HasSubstr;
using testing::Not;

/// The text of a file that must open, and must come back equal from an export.
std::string textOf(const Bytes& file)
{
    const auto model = importTflite("m.tflite", file);
    if (!model.ok()) return "error: " + model.error().message();
    if (Status status = verifyModel(*model); !status.ok()) return "verifyModel: " + std::move(status).takeError().message();
    const auto written = exportTflite(*model);
    if (!written.ok()) return "export: " + written.error().message();
    flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(written->data()), written->size());
    EXPECT_TRUE(tflite::VerifyModelBuffer(verifier));
    const auto again = importTflite("again", Bytes::copyOf(*written));
    if (!again.ok()) return "again: " + again.error().message();
    EXPECT_EQ(firstDifference(*model, *again), "");
    return printModel(*model);
}

// Trap 1: the real code is the larger of the two fields.
TEST(TfliteImport, takesTheLargerOperatorCode)
{
    TinyFile f;
    f.codes.push_back(tflite::CreateOperatorCode(f.b, 19, 0, 1, tflite::BuiltinOperator_ADD));     // old file: RELU
    f.codes.push_back(tflite::CreateOperatorCode(f.b, 127, 0, 1, tflite::BuiltinOperator_CUMSUM)); // placeholder and 128
    f.codes.push_back(tflite::CreateOperatorCode(f.b, 0, f.b.CreateString("Dispatch"), 1, tflite::BuiltinOperator_CUSTOM)); // not ADD
    const int32_t x = f.tensor("x");
    f.inputs = {x};
    for (uint32_t code = 0; code < 3; ++code) f.op(code, {x}, {f.tensor("y" + std::to_string(code))});
    const std::string text = textOf(f.finish());
    EXPECT_THAT(text, HasSubstr("y0 = relu(x)"));
    EXPECT_THAT(text, HasSubstr("y1 = cumsum(x)"));
    EXPECT_THAT(text, HasSubstr("y2 = custom.Dispatch(x)"));
}

TEST(TfliteImport, keepsUnknownOperatorCodes)
{
    TinyFile f;
    f.code(static_cast<tflite::BuiltinOperator>(4321), 9);
    f.op(0, {f.tensor("x")}, {f.tensor("y")});
    EXPECT_THAT(textOf(f.finish()), testing::AllOf(HasSubstr("y = builtin_4321(x)"), HasSubstr("versions builtin_4321=9")));
}

// Traps 6 and 7: absent options mean defaults; defaults are not stored; SAME is a default that text always says.
TEST(TfliteImport, readsAbsentOptionsAsDefaults)
{
    TinyFile f;
    const uint32_t conv = f.code(tflite::BuiltinOperator_CONV_2D);
    const uint32_t add = f.code(tflite::BuiltinOperator_ADD);
    const uint32_t loop = f.code(tflite::BuiltinOperator_WHILE);
    const int32_t x = f.tensor("x");
    f.inputs = {x};
    f.op(conv, {x, x}, {f.tensor("a")});
    f.op(add, {x, x}, {f.tensor("b")});
    f.op(conv, {x, x}, {f.tensor("c")}, tflite::BuiltinOptions_Conv2DOptions,
         tflite::CreateConv2DOptions(f.b, tflite::Padding_VALID, 2, 3).Union());
    f.op(add, {x, x}, {f.tensor("d")}, tflite::BuiltinOptions_AddOptions,
         tflite::CreateAddOptions(f.b, tflite::ActivationFunctionType_RELU6, false).Union());
    f.op(loop, {x}, {f.tensor("e")});
    const std::string text = textOf(f.finish());
    EXPECT_THAT(text, HasSubstr("a = conv_2d(x, x) padding=SAME :"));
    EXPECT_THAT(text, HasSubstr("b = add(x, x) :"));
    EXPECT_THAT(text, HasSubstr("c = conv_2d(x, x) padding=VALID stride_h=3 stride_w=2 :"));
    EXPECT_THAT(text, HasSubstr("d = add(x, x) act=RELU6 pot_scale_int16=false :"));
    EXPECT_THAT(text, HasSubstr("e = while(x) :")); // no graphs named: not a loop of main
}

// Trap 7: has_rank is false in old files, also for scalars; in others it tells an unknown rank.
TEST(TfliteImport, tellsScalarsFromUnknownRanks)
{
    const auto file = [](bool writerKnowsRank) {
        TinyFile f;
        const auto none = f.b.CreateVector(std::vector<int32_t>{});
        f.tensors.push_back(tflite::CreateTensor(f.b, none, tflite::TensorType_FLOAT32, 0, f.b.CreateString("x")));
        f.tensors.push_back(tflite::CreateTensor(f.b, none, tflite::TensorType_RESOURCE, 0, f.b.CreateString("r")));
        const auto dims = f.b.CreateVector(std::vector<int32_t>{2});
        f.tensors.push_back(
            tflite::CreateTensor(f.b, dims, tflite::TensorType_FLOAT32, 0, f.b.CreateString("y"), 0, false, 0, 0, writerKnowsRank));
        f.inputs = {0, 1, 2};
        return f.finish();
    };
    EXPECT_THAT(textOf(file(false)), HasSubstr("main(x: f32[], r: resource[], y: f32[2])"));
    EXPECT_THAT(textOf(file(true)), HasSubstr("main(x: f32, r: resource[], y: f32[2])"));
}

// Trap 9: optional operands are −1, or the list is shorter.
TEST(TfliteImport, keepsMissingOperands)
{
    TinyFile f;
    const uint32_t fc = f.code(tflite::BuiltinOperator_FULLY_CONNECTED);
    const int32_t x = f.tensor("x");
    f.inputs = {x};
    f.op(fc, {x, x, -1}, {f.tensor("a")});
    f.op(fc, {x, x}, {f.tensor("b")});
    const std::string text = textOf(f.finish());
    EXPECT_THAT(text, HasSubstr("a = fully_connected(x, x, _) :"));
    EXPECT_THAT(text, HasSubstr("b = fully_connected(x, x) :"));
}

// Trap 10: tensors share buffers; data may lie behind the FlatBuffer.
TEST(TfliteImport, sharesBuffersAndReadsDataBehindTheFlatBuffer)
{
    TinyFile f;
    const uint32_t shared = f.buffer({0, 0, 128, 63});
    f.tensor("a", {1}, tflite::TensorType_FLOAT32, shared);
    f.tensor("b", {1}, tflite::TensorType_FLOAT32, shared);
    f.buffers.push_back(tflite::CreateBuffer(f.b, 0, 1'000'000, 8));
    f.tensor("far", {2}, tflite::TensorType_INT32, 2);
    const Bytes front = f.finish();
    std::vector<std::byte> all(1'000'008);
    std::copy(front.view().begin(), front.view().end(), all.begin());
    all[1'000'000] = std::byte{7};
    all[1'000'004] = std::byte{9};
    const Bytes file = Bytes::copyOf(all);
    const auto model = importTflite("m.tflite", file);
    ASSERT_TRUE(model.ok());
    EXPECT_EQ(model->graphs[0].values[0].constant, model->graphs[0].values[1].constant);
    EXPECT_EQ(model->graphs[0].values[2].constant->bytes().data(), file.data() + 1'000'000); // a slice, no copy
    EXPECT_THAT(textOf(file), HasSubstr("const i32[2] [7, 9]"));
    EXPECT_EQ(
        importError(front), "m.tflite: buffers[2] lies at 0xf4240 and has 8 bytes, file ends at 0x" + [&] {
            char hex[32];
            std::snprintf(hex, sizeof hex, "%zx", front.size());
            return std::string(hex);
        }());
}

// Trap 14: the signature is kept beside the shape, where it says something.
TEST(TfliteImport, keepsShapeSignatures)
{
    TinyFile f;
    const auto add = [&f](const char* name, std::vector<int32_t> shape, std::vector<int32_t> signature) {
        const auto s = f.b.CreateVector(shape);
        const auto g = f.b.CreateVector(signature);
        f.inputs.push_back(static_cast<int32_t>(f.tensors.size()));
        f.tensors.push_back(tflite::CreateTensor(f.b, s, tflite::TensorType_FLOAT32, 0, f.b.CreateString(name), 0, false, 0, g, true));
    };
    add("a", {1, 3}, {-1, 3});
    add("b", {1, 3}, {1, 3});
    add("c", {-1, 3}, {});
    add("d", {4}, {-1, -1});
    EXPECT_THAT(textOf(f.finish()), HasSubstr("main(a: f32[1?,3], b: f32[1,3], c: f32[1?,3], d: f32[4] sig[-1, -1])"));
}

// Trap 15: block-wise zero points that are not stored are tensor 0.
TEST(TfliteImport, readsBlockwiseQuantization)
{
    TinyFile f;
    const auto quantized = [&f](int32_t zeros) {
        const auto details = tflite::CreateBlockwiseQuantization(f.b, 1, zeros, 32).Union();
        return tflite::CreateQuantizationParameters(f.b, 0, 0, 0, 0, tflite::QuantizationDetails_BlockwiseQuantization, details);
    };
    f.tensor("z");
    f.tensor("s");
    f.tensor("a", {1}, tflite::TensorType_INT8, 0, quantized(0));
    f.tensor("b", {1}, tflite::TensorType_INT8, 0, quantized(-1));
    const std::string text = textOf(f.finish());
    EXPECT_THAT(text, HasSubstr("a = absent i8[1] q(block=32, scales=s, zeros=z)"));
    EXPECT_THAT(text, HasSubstr("b = absent i8[1] q(block=32, scales=s, zeros=_)"));
}

TEST(TfliteImport, readsPerTensorAndPerChannelQuantization)
{
    TinyFile f;
    const auto quantized = [&f](std::vector<float> scales, std::vector<int64_t> zeros, int32_t axis) {
        const auto s = f.b.CreateVector(scales);
        return tflite::CreateQuantizationParameters(f.b, 0, 0, s, f.b.CreateVector(zeros), tflite::QuantizationDetails_NONE, 0, axis);
    };
    f.tensor("a", {2}, tflite::TensorType_INT8, 0, quantized({0.5F}, {-3}, 0));
    f.tensor("b", {2, 3}, tflite::TensorType_INT8, 0, quantized({1, 2, 3}, {7}, 1)); // one zero point for all
    f.tensor("c", {2}, tflite::TensorType_INT32, 0, quantized({1, 2}, {0, 0}, 3));   // the axis of the filter, repeated on the bias
    const auto range =
        tflite::CreateQuantizationParameters(f.b, f.b.CreateVector(std::vector<float>{-1}), f.b.CreateVector(std::vector<float>{2}));
    f.tensor("d", {2}, tflite::TensorType_UINT8, 0, range);
    f.tensor("e", {2}, tflite::TensorType_UINT8, 0, tflite::CreateQuantizationParameters(f.b));
    const std::string text = textOf(f.finish());
    EXPECT_THAT(text, HasSubstr("a = absent i8[2] q(0.5, -3)\n"));
    EXPECT_THAT(text, HasSubstr("b = absent i8[2,3] q(axis=1, [1.0, 2.0, 3.0], 7)\n"));
    EXPECT_THAT(text, HasSubstr("c = absent i32[2] q(axis=0, [1.0, 2.0], 0) quantized_dimension=3\n"));
    EXPECT_THAT(text, HasSubstr("d = absent u8[2] range(-1.0, 2.0)\n"));
    EXPECT_THAT(text, HasSubstr("e = absent u8[2]\n"));
}

// Traps 5 and 17: the second union; the signature's subgraph index is field 4.
TEST(TfliteImport, readsTheSecondUnionAndSignatures)
{
    TinyFile f;
    const uint32_t code = f.code(tflite::BuiltinOperator_STABLEHLO_COMPOSITE);
    const int32_t x = f.tensor("x");
    const int32_t y = f.tensor("y");
    f.inputs = {x};
    const auto options = tflite::CreateStableHLOCompositeOptionsDirect(f.b, "odml.rms_norm", 1).Union();
    const auto in = f.b.CreateVector(std::vector<int32_t>{x});
    const auto out = f.b.CreateVector(std::vector<int32_t>{y});
    f.operators.push_back(tflite::CreateOperator(f.b, code, in, out, tflite::BuiltinOptions_NONE, 0, 0,
                                                 tflite::CustomOptionsFormat_FLEXBUFFERS, 0, 0, 0, 0,
                                                 tflite::BuiltinOptions2_StableHLOCompositeOptions, options));
    const auto inner = f.b.CreateVector(std::vector{tflite::CreateTensorDirect(f.b, nullptr, tflite::TensorType_INT32, 0, "i")});
    const auto innerIn = f.b.CreateVector(std::vector<int32_t>{0});
    f.moreGraphs.push_back(tflite::CreateSubGraph(f.b, inner, innerIn, innerIn, 0, f.b.CreateString("rms")));
    const std::vector maps{tflite::CreateTensorMapDirect(f.b, "input", 0)};
    f.signatures.push_back(tflite::CreateSignatureDef(f.b, f.b.CreateVector(maps), 0, f.b.CreateString("run"), 1));
    const std::string text = textOf(f.finish());
    EXPECT_THAT(text, HasSubstr("y = stablehlo_composite(x) call=@rms name=\"odml.rms_norm\" :"));
    EXPECT_THAT(text, HasSubstr("signature \"run\" @rms(\"input\"=i) -> ()"));
}

// Trap 16: custom options are usually a FlexBuffer map, and sometimes raw bytes.
TEST(TfliteImport, keepsRawCustomOptions)
{
    TinyFile f;
    const uint32_t code = f.code(tflite::BuiltinOperator_CUSTOM, 1, "MaxUnpooling2D");
    const std::vector<uint8_t> raw{1, 0, 0, 0, 2, 0, 0, 0};
    f.op(code, {}, {f.tensor("y")}, tflite::BuiltinOptions_NONE, 0, &raw);
    EXPECT_THAT(textOf(f.finish()), HasSubstr("y = custom.MaxUnpooling2D() options=hex\"0100000002000000\" :"));
}

// Trap 17: bare metadata buffers beside named ones.
TEST(TfliteImport, readsBothListsOfMetadata)
{
    TinyFile f;
    const uint32_t a = f.buffer({'a', 'b'});
    const uint32_t c = f.buffer({1, 2});
    f.metadata.push_back(tflite::CreateMetadata(f.b, f.b.CreateString("note"), a));
    f.metadataBuffers = {static_cast<int32_t>(c), static_cast<int32_t>(a)};
    const std::string text = textOf(f.finish());
    EXPECT_THAT(text, HasSubstr("metadata \"note\" \"ab\"\n"));
    EXPECT_THAT(text, HasSubstr("metadata_buffer=[hex\"0102\", 0]"));
}

// Trap 12, and `versions`: the lowest version in use, or declared by kinds that nothing uses.
TEST(TfliteImport, gathersVersions)
{
    TinyFile f;
    const uint32_t add3 = f.code(tflite::BuiltinOperator_ADD, 3);
    const uint32_t add2 = f.code(tflite::BuiltinOperator_ADD, 2);
    f.code(tflite::BuiltinOperator_ADD, 1); // not used: says nothing about the operators that are
    f.code(tflite::BuiltinOperator_SUB, 1); // not used at all
    f.code(tflite::BuiltinOperator_CUSTOM, 4, "Mine");
    const int32_t x = f.tensor("x");
    f.op(add3, {x, x}, {f.tensor("a")});
    f.op(add2, {x, x}, {f.tensor("b")});
    const std::string text = textOf(f.finish());
    EXPECT_THAT(text, HasSubstr("versions add=2 custom.Mine=4 sub=1\n"));
    EXPECT_THAT(text, HasSubstr("a = add(x, x) @version=3 :"));
    EXPECT_THAT(text, HasSubstr("b = add(x, x) :"));
}

TEST(TfliteImport, opensFilesWithoutGraphsNamesAndBuffers)
{
    TinyFile none;
    none.hasMainGraph = false;
    EXPECT_THAT(textOf(none.finish()), Not(HasSubstr("graph")));
    TinyFile nameless;
    nameless.tensors.push_back(tflite::CreateTensor(nameless.b, nameless.b.CreateVector(std::vector<int32_t>{1, 3})));
    nameless.inputs = {0};
    nameless.buffers.clear();
    EXPECT_THAT(textOf(nameless.finish()), HasSubstr("graph main(t0: f32[1,3])"));
}

TEST(TfliteImport, keepsFactsThatHaveNoOtherPlace)
{
    TinyFile f;
    const uint32_t relu = f.code(tflite::BuiltinOperator_RELU);
    const auto dims = f.b.CreateVector(std::vector<int32_t>{1});
    f.tensors.push_back(tflite::CreateTensor(f.b, dims, tflite::TensorType_FLOAT32, 0, f.b.CreateString("x"), 0, true));
    f.tensors.push_back(tflite::CreateTensor(f.b, dims, tflite::TensorType_FLOAT32, 0, f.b.CreateString("y"), 0, true));
    f.inputs = {0};
    f.op(relu, {0}, {1});
    const std::string text = textOf(f.finish());
    EXPECT_THAT(text, HasSubstr("x: f32[1] {is_variable=true}"));
    EXPECT_THAT(text, HasSubstr("y = relu(x) @results=[{is_variable: true}] :"));
}

TEST(TfliteImport, knowsTheOptionTableOfEveryOperator)
{
    const tflite_format::FormatSchema& schema = tflite_format::tfliteFormat().schema;
    int with = 0;
    for (int code = 0; code < 210; ++code) {
        const Kind kind = schema.kindOf(code);
        EXPECT_EQ(schema.codeOf(kind), code) << kind.full();
        if (schema.usualOptions(code)) ++with;
    }
    EXPECT_EQ(with, 161); // 160 that writers use, and StablehloShiftLeftOptions
    const auto table = [&schema](const char* op) {
        const tflite_format::OptionTable* usual = schema.usualOptions(*schema.codeOf({"tfl", op}));
        return usual ? usual->name : "none";
    };
    EXPECT_EQ(table("average_pool_2d"), "Pool2DOptions");
    EXPECT_EQ(table("reduce_all"), "ReducerOptions");
    EXPECT_EQ(table("stablehlo_case"), "StablehloCaseOptions");
    EXPECT_EQ(table("stablehlo_composite"), "StableHLOCompositeOptions");
    EXPECT_EQ(table("atan2"), "ATan2Options");
    EXPECT_EQ(table("relu"), "none");
    EXPECT_EQ(schema.kindOf(210).full(), "tfl.builtin_210");
    EXPECT_EQ(schema.codeOf({"tfl", "builtin_-1"}), std::nullopt);
    EXPECT_EQ(schema.codeOf({"circle", "rope"}), std::nullopt);
}

} // namespace
} // namespace loopscope
