// Damaged files are read as far as they go: whatever was cut off or overwritten, what is left is a model that obeys the rules.
#include "converters/formats.h"
#include "converters/graphdef/graphdef.h"
#include "converters/partial_model.h"
#include "converters/tflite/tflite.h"
#include "engine/ir/verifier.h"
#include "tests/scratch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace loopscope {
namespace {

class PartialModelTest : public ::testing::Test {
protected:
    static std::vector<std::byte> sample(const std::string& name)
    {
        Result<LoadedModel> loaded = loadModel("samples/text/" + name);
        EXPECT_TRUE(loaded.ok());
        Result<std::vector<std::byte>> bytes = exportTflite(loaded->model);
        EXPECT_TRUE(bytes.ok());
        return std::move(bytes).value();
    }
    std::string write(const std::vector<std::byte>& bytes)
    {
        std::string path = m_folder.path("m.tflite");
        std::ofstream file(path, std::ios::binary | std::ios::trunc);
        file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        return path;
    }
    Result<PartialModel> part(const std::vector<std::byte>& bytes) { return loadWhatCanBeRead(write(bytes)); }
    static size_t operatorsOf(const Model& model)
    {
        size_t count = 0;
        for (const Graph& graph : model.graphs) count += graph.operators.size();
        return count;
    }

    ScratchFolder m_folder;
};

TEST_F(PartialModelTest, aWholeFileHasNothingToBeMended)
{
    const Result<PartialModel> read = part(sample("collatz.lsir"));
    ASSERT_FALSE(read.ok());
    EXPECT_NE(read.error().message().find("the file is whole"), std::string::npos);
}

TEST_F(PartialModelTest, whatIsNoModelHasNoParts)
{
    EXPECT_EQ(loadWhatCanBeRead("README.md").error().code(), ErrorCode::unsupported);
    EXPECT_NE(loadWhatCanBeRead("samples/text/collatz.lsir").error().message().find("the file is whole"), std::string::npos);
}

// A graph of TensorFlow: nodes until the file ends; what they read and is gone stands there under its name.
TEST_F(PartialModelTest, aGraphDefThatEndsTooEarly)
{
    const Result<LoadedModel> loaded = loadModel("samples/text/v1_collatz.lsir");
    ASSERT_TRUE(loaded.ok());
    const Result<std::string> whole = exportGraphDef(loaded->model);
    ASSERT_TRUE(whole.ok());
    const std::span<const std::byte> bytes = std::as_bytes(std::span(*whole));
    size_t shown = 0, most = 0, lost = 0;
    for (size_t size = 16; size < bytes.size(); size += 24) {
        const Result<PartialModel> read = part({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)});
        if (!read.ok()) continue; // before the first node ends, or between two nodes: that is a whole graph
        ++shown;
        EXPECT_TRUE(verifyModel(read->file.model).ok()) << size;
        most = std::max(most, operatorsOf(read->file.model));
        for (const Operator& op : read->file.model.graphs.front().operators) lost += op.kind.name == "Lost" ? 1 : 0;
    }
    EXPECT_GT(shown, 20U);
    EXPECT_GT(lost, 0U);
    EXPECT_GE(most + 2, operatorsOf(loaded->model));
}

TEST_F(PartialModelTest, aGraphDefWithBytesOverwritten)
{
    std::mt19937 random(7);
    const Result<LoadedModel> loaded = loadModel("samples/text/v1_collatz.lsir");
    ASSERT_TRUE(loaded.ok());
    const Result<std::string> whole = exportGraphDef(loaded->model);
    ASSERT_TRUE(whole.ok());
    size_t shown = 0;
    for (int round = 0; round < 300; ++round) {
        const std::span<const std::byte> bytes = std::as_bytes(std::span(*whole));
        std::vector<std::byte> changed(bytes.begin(), bytes.end());
        for (int i = 0; i < 1 + round % 8; ++i) changed[random() % changed.size()] = std::byte(random() % 256);
        const Result<PartialModel> read = part(changed);
        if (!read.ok()) continue;
        ++shown;
        EXPECT_FALSE(read->faults.empty()) << round;
        EXPECT_TRUE(verifyModel(read->file.model).ok()) << round;
    }
    EXPECT_GT(shown, 100U);
}

// Of a text the lines that are wrong are passed over, with what hangs on them.
TEST_F(PartialModelTest, aTextWithWrongLines)
{
    const auto write = [this](const std::string& text) {
        std::string path = m_folder.path("m.lsir");
        std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
        return path;
    };
    const Result<PartialModel> wrong =
        loadWhatCanBeRead(write("graph main(x: f32[2]) {\n  a = neg(x) : f32[2]\n  b = neg(nothing) : f32[2]\n"
                                "  c = neg(a) : f32[2]\n  return c\n}\n"));
    ASSERT_TRUE(wrong.ok()) << wrong.error().message();
    EXPECT_EQ(operatorsOf(wrong->file.model), 2U);
    ASSERT_EQ(wrong->faults.size(), 1U);
    EXPECT_NE(wrong->faults.front().message().find("m.lsir:3:"), std::string::npos) << wrong->faults.front().message();
    const Result<PartialModel> cut = loadWhatCanBeRead(write("graph main(x: f32[2]) {\n  a = neg(x) : f32[2]\n  b = ne"));
    ASSERT_TRUE(cut.ok()) << cut.error().message();
    EXPECT_EQ(operatorsOf(cut->file.model), 1U);
    EXPECT_FALSE(loadWhatCanBeRead(write("graph main(x: f32[2]) {\n")).ok());
}

// Wherever a download ends, what came until then is shown, and the longer it was, the more.
TEST_F(PartialModelTest, aFileThatEndsTooEarly)
{
    const std::vector<std::byte> whole = sample("collatz.lsir");
    size_t shown = 0, most = 0;
    for (size_t size = 16; size < whole.size(); size += 12) {
        const Result<PartialModel> read = part({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
        if (!read.ok()) {
            EXPECT_EQ(read.error().code(), ErrorCode::badFile);
            continue;
        }
        ++shown;
        EXPECT_FALSE(read->faults.empty()) << size;
        EXPECT_TRUE(verifyModel(read->file.model).ok()) << size;
        most = std::max(most, operatorsOf(read->file.model));
    }
    EXPECT_GT(shown, 20U); // what is cut off before the list of subgraphs has none
    EXPECT_GT(most, operatorsOf(loadModel("samples/text/collatz.lsir")->model) / 2);
}

TEST_F(PartialModelTest, bytesThatWereOverwritten)
{
    std::mt19937 random(7);
    for (const char* const name : {"collatz.lsir", "layers_int8.lsir", "conv_classifier.lsir"}) {
        const std::vector<std::byte> whole = sample(name);
        size_t shown = 0;
        for (int round = 0; round < 400; ++round) {
            std::vector<std::byte> bytes = whole;
            for (int i = 0; i < 1 + round % 8; ++i) bytes[8 + random() % (bytes.size() - 8)] = std::byte(random() % 256);
            const Result<PartialModel> read = part(bytes);
            if (!read.ok()) continue;
            ++shown;
            EXPECT_TRUE(verifyModel(read->file.model).ok()) << name << " " << round;
        }
        EXPECT_GT(shown, 40U) << name;
    }
}

// An operand out of range is one fault, and the rest of the operator stays.
TEST_F(PartialModelTest, oneWrongIndexIsOneFault)
{
    std::vector<std::byte> bytes = sample("layers_float.lsir");
    const Result<LoadedModel> whole = loadModel("samples/text/layers_float.lsir");
    ASSERT_TRUE(whole.ok());
    bool found = false;
    for (size_t at = 8; at + 4 <= bytes.size() && !found; at += 4) {
        std::vector<std::byte> changed = bytes;
        changed[at] = std::byte{99};
        const Result<PartialModel> read = part(changed);
        if (!read.ok() || read->faults.size() != 1) continue;
        found = read->faults.front().message().find("is tensor 99") != std::string::npos &&
                operatorsOf(read->file.model) == operatorsOf(whole->model);
    }
    EXPECT_TRUE(found);
}

} // namespace
} // namespace loopscope
