// Malformed files: one line that names the thing, what was found and what was expected.
#include "tests/unit/tflite/tiny_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace loopscope {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// x → relu → y, with the operands given.
Bytes relu(const std::vector<int32_t>& in, const std::vector<int32_t>& out)
{
    TinyFile f;
    const uint32_t code = f.code(tflite::BuiltinOperator_RELU);
    f.tensor("x");
    f.tensor("y");
    f.inputs = {0};
    f.op(code, in, out);
    return f.finish();
}

TEST(TfliteImportErrors, namesTheIndexAndItsOffset)
{
    const Bytes file = relu({0, 91}, {1});
    const auto model = importTflite("m.tflite", file);
    ASSERT_FALSE(model.ok());
    EXPECT_EQ(model.error().code(), ErrorCode::badFile);
    uint64_t offset = 0;
    char rest[100] = {};
    ASSERT_EQ(std::sscanf(model.error().message().c_str(), "m.tflite: at 0x%lx: %99[^\n]", &offset, rest), 2);
    EXPECT_STREQ(rest, "subgraphs[0].operators[0].inputs[1] is tensor 91, expected -1 to 1");
    int32_t there = 0;
    std::memcpy(&there, file.data() + offset, sizeof there);
    EXPECT_EQ(there, 91);
}

TEST(TfliteImportErrors, indices)
{
    EXPECT_EQ(importError(relu({0}, {-1})), "m.tflite: subgraphs[0].operators[0].outputs[0] is tensor -1, expected 0 to 1");
    EXPECT_EQ(importError(relu({0}, {0})), "m.tflite: subgraphs[0].operators[0].outputs[0] is tensor 0, which is an input of the subgraph");
    EXPECT_EQ(importError(relu({0}, {1, 1})), "m.tflite: subgraphs[0].operators[0].outputs[1] is tensor 1, which operator 0 writes too");
    TinyFile noCode;
    noCode.op(0, {}, {});
    EXPECT_EQ(importError(noCode.finish()),
              "m.tflite: subgraphs[0].operators[0].opcode_index is operator code 0, expected none, since there are no operator codes");
    TinyFile buffer;
    buffer.tensor("x", {1}, tflite::TensorType_FLOAT32, 17);
    EXPECT_EQ(importError(buffer.finish()), "m.tflite: subgraphs[0].tensors[0].buffer is buffer 17, expected 0 to 0");
    TinyFile graph;
    graph.op(graph.code(tflite::BuiltinOperator_WHILE), {}, {}, tflite::BuiltinOptions_WhileOptions,
             tflite::CreateWhileOptions(graph.b, 0, 9).Union());
    EXPECT_EQ(importError(graph.finish()),
              "m.tflite: subgraphs[0].operators[0].builtin_options.body_subgraph_index is subgraph 9, expected 0 to 0");
    TinyFile signature;
    signature.signatures.push_back(tflite::CreateSignatureDef(signature.b, 0, 0, 0, 3));
    EXPECT_EQ(importError(signature.finish()), "m.tflite: signature_defs[0].subgraph_index is subgraph 3, expected 0 to 0");
}

TEST(TfliteImportErrors, shortBuffer)
{
    TinyFile f;
    const uint32_t buffer = f.buffer(std::vector<uint8_t>(12));
    f.tensor("w", {2, 2}, tflite::TensorType_FLOAT32, buffer);
    EXPECT_EQ(importError(f.finish()), "m.tflite: buffer 1 holds 12 bytes, tensor 'w' f32[2,2] needs 16");
    TinyFile strings;
    strings.tensor("s", {2}, tflite::TensorType_STRING, strings.buffer({1, 0, 0, 0, 12, 0, 0, 0, 13, 0, 0, 0, 'a'}));
    EXPECT_EQ(importError(strings.finish()), "m.tflite: buffer 1 holds 1 strings, tensor 's' str[2] needs 2");
    TinyFile huge;
    huge.tensor("h", {INT32_MAX, INT32_MAX, INT32_MAX}, tflite::TensorType_FLOAT32, huge.buffer({1}));
    EXPECT_THAT(importError(huge.finish()), HasSubstr("expected a static shape of a size that memory can hold"));
}

TEST(TfliteImportErrors, types)
{
    TinyFile f;
    f.tensor("x", {1}, static_cast<tflite::TensorType>(99));
    EXPECT_EQ(importError(f.finish()), "m.tflite: subgraphs[0].tensors[0].type is 99, expected 0 to 22");
    TinyFile shape;
    shape.tensor("x", {1, -2});
    EXPECT_EQ(importError(shape.finish()), "m.tflite: subgraphs[0].tensors[0].shape[1] is -2, expected -1 or more");
    TinyFile version;
    version.version = 4;
    EXPECT_EQ(importError(version.finish()), "m.tflite: schema version is 4, expected at most 3");
    TinyFile zeros;
    const auto scales = zeros.b.CreateVector(std::vector<float>{1, 2, 3});
    const auto points = zeros.b.CreateVector(std::vector<int64_t>{0, 0});
    zeros.tensor("q", {3}, tflite::TensorType_INT8, 0, tflite::CreateQuantizationParameters(zeros.b, 0, 0, scales, points));
    EXPECT_EQ(importError(zeros.finish()),
              "m.tflite: subgraphs[0].tensors[0].quantization has 2 zero points, expected none, 1 or 3, one for each scale");
}

TEST(TfliteImportErrors, scalesThatDoNotMatchTheirAxis)
{
    TinyFile f;
    const auto scales = f.b.CreateVector(std::vector<float>{1, 2, 3});
    f.tensor("q", {2, 4}, tflite::TensorType_INT8, 0,
             tflite::CreateQuantizationParameters(f.b, 0, 0, scales, 0, tflite::QuantizationDetails_NONE, 0, 1));
    EXPECT_EQ(importError(f.finish()),
              "m.tflite: subgraphs[0].tensors[0].quantization has 3 scales, expected 1 or 4, the size of dimension 1");
}

TEST(TfliteImportErrors, truncation)
{
    const Bytes file = relu({0}, {1});
    EXPECT_EQ(importError(file.slice(0, 4)), "m.tflite: not a TFLite model, expected the identifier TFL3 at offset 4");
    uint32_t root = 0;
    std::memcpy(&root, file.data(), sizeof root);
    char expected[100];
    std::snprintf(expected, sizeof expected, "m.tflite: truncated: root table at 0x%x, file ends at 0x8", root);
    EXPECT_EQ(importError(file.slice(0, 8)), expected);
    for (size_t size = 8; size < file.size(); ++size) EXPECT_NE(importError(Bytes::copyOf(file.slice(0, size).view())), "") << size;
    EXPECT_EQ(importError(file), "");
}

// FlatBuffers' verifier says only that something is wrong; the message says what and where.
TEST(TfliteImportErrors, structureIsNamed)
{
    const Bytes good = relu({0}, {1});
    std::vector<std::byte> bytes(good.view().begin(), good.view().end());
    const auto* source = tflite::GetModel(good.data());
    const auto* name = source->subgraphs()->Get(0)->tensors()->Get(1)->name();
    const size_t at = static_cast<size_t>(reinterpret_cast<const std::byte*>(name) - good.data());
    bytes[at + 2] = std::byte{0x77}; // the length of the name
    EXPECT_THAT(importError(Bytes::copyOf(bytes)),
                StartsWith("m.tflite: subgraphs[0].tensors[1].name: string of 7798785 bytes, file ends at 0x"));
}

// A few bytes that point at one another could stand for any amount of work.
TEST(TfliteImportErrors, sharedPartsAreLimited)
{
    TinyFile f;
    const uint32_t code = f.code(tflite::BuiltinOperator_RELU);
    const auto in = f.b.CreateVector(std::vector<int32_t>(20'000, -1));
    for (int i = 0; i < 20'000; ++i) f.operators.push_back(tflite::CreateOperator(f.b, code, in));
    EXPECT_THAT(importError(f.finish()), HasSubstr("the same parts of the file are used too often"));
}

} // namespace
} // namespace loopscope
