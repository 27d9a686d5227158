// Metadata and associated files behind a model: what is there is found, what is damaged is said.
#include "converters/tflite/model_metadata.h"

#include "converters/tflite/file_archive.h"
#include "metadata_schema_generated.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace loopscope {
namespace {

void putNumber(std::string& out, uint32_t value, int bytes)
{
    for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
}

/// A zip archive of stored files, as APPNOTE has it.
std::string archive(const std::vector<std::pair<std::string, std::string>>& files, uint16_t method = 0)
{
    std::string out;
    std::string directory;
    for (const auto& [name, content] : files) {
        const auto at = static_cast<uint32_t>(out.size());
        const auto size = static_cast<uint32_t>(content.size());
        const auto common = [&](std::string& to) {
            putNumber(to, 20, 2);
            putNumber(to, 0, 2);
            putNumber(to, method, 2);
            putNumber(to, 0, 4);
            putNumber(to, 0, 4);
            putNumber(to, size, 4);
            putNumber(to, size, 4);
            putNumber(to, static_cast<uint32_t>(name.size()), 2);
            putNumber(to, 0, 2);
        };
        out += "PK\x03\x04";
        common(out);
        out += name + content;
        directory += "PK\x01\x02";
        putNumber(directory, 20, 2);
        common(directory);
        putNumber(directory, 0, 2);
        putNumber(directory, 0, 2);
        putNumber(directory, 0, 2);
        putNumber(directory, 0, 4);
        putNumber(directory, at, 4);
        directory += name;
    }
    const auto start = static_cast<uint32_t>(out.size());
    out += directory + "PK\x05\x06";
    putNumber(out, 0, 4);
    putNumber(out, static_cast<uint32_t>(files.size()), 2);
    putNumber(out, static_cast<uint32_t>(files.size()), 2);
    putNumber(out, static_cast<uint32_t>(directory.size()), 4);
    putNumber(out, start, 4);
    putNumber(out, 0, 2);
    return out;
}

Bytes bytesOf(const std::string& text) { return Bytes::copyOf(text.data(), text.size()); }

/// A model whose metadata describes an input to normalize and an output with labels.
Model modelWithMetadata()
{
    flatbuffers::FlatBufferBuilder b;
    namespace meta = tflite_metadata;
    const std::vector<float> mean = {127.5F};
    const std::vector<float> deviation = {64.0F};
    const std::vector units = {meta::CreateProcessUnit(b, meta::ProcessUnitOptions_NormalizationOptions,
                                                       meta::CreateNormalizationOptionsDirect(b, &mean, &deviation).Union())};
    const std::vector inputs = {meta::CreateTensorMetadataDirect(b, "image", "A picture.", &units)};
    const std::vector files = {meta::CreateAssociatedFileDirect(b, "labels.txt", nullptr, meta::AssociatedFileType_TENSOR_AXIS_LABELS),
                               meta::CreateAssociatedFileDirect(b, "gone.txt", nullptr, meta::AssociatedFileType_VOCABULARY)};
    const std::vector outputs = {meta::CreateTensorMetadataDirect(b, "probability", nullptr, nullptr, &files)};
    const std::vector graphs = {meta::CreateSubGraphMetadataDirect(b, nullptr, nullptr, &inputs, &outputs)};
    meta::FinishModelMetadataBuffer(b, meta::CreateModelMetadataDirect(b, "Pets", "Cats and dogs.", "v2", &graphs, "Ada", "Apache"));
    Model model;
    model.metadata.push_back({"TFLITE_METADATA", std::make_shared<Constant>(Bytes::copyOf(b.GetBufferPointer(), b.GetSize()))});
    return model;
}

TEST(ModelMetadata, nothingThere)
{
    const ModelMetadata metadata = readModelMetadata(Model(), bytesOf("a model without anything behind it"));
    EXPECT_TRUE(metadata.files.empty());
    EXPECT_TRUE(metadata.problems.empty());
}

TEST(ModelMetadata, filesBehindTheModel)
{
    const ModelMetadata metadata = readModelMetadata(Model(), bytesOf("MODEL" + archive({{"a.txt", "one\r\ntwo\n"}, {"b.bin", ""}})));
    ASSERT_EQ(metadata.files.size(), 2U);
    EXPECT_EQ(metadata.files[0].name, "a.txt");
    EXPECT_EQ(metadata.files[0].role, "file");
    EXPECT_EQ(metadata.files[0].size, 9U);
    EXPECT_EQ(textLines(*metadata.files[0].content), (std::vector<std::string>{"one", "two"}));
    EXPECT_EQ(metadata.files[1].size, 0U);
}

TEST(FileArchive, goesBehindAnotherModel)
{
    const std::string packed = archive({{"a.txt", "one"}, {"b.txt", "three"}});
    for (const std::string& before : {std::string(), std::string("MODEL"), std::string(1000, 'x')}) {
        const std::vector<std::byte> moved = movedFileArchive(bytesOf("AN OLD MODEL" + packed), before.size());
        const std::string whole = before + std::string(reinterpret_cast<const char*>(moved.data()), moved.size());
        const FileArchive found = readFileArchive(bytesOf(whole));
        ASSERT_EQ(found.files.size(), 2U);
        EXPECT_EQ(found.files[1].name, "b.txt");
        EXPECT_EQ(textLines(*found.files[1].content), std::vector<std::string>{"three"});
        // Counted from the file's start: the same bytes without anything before them are the archive as it was.
        if (before.empty()) {
            EXPECT_EQ(whole, packed);
        }
    }
    EXPECT_TRUE(movedFileArchive(bytesOf("no archive"), 0).empty());
}

TEST(FileArchive, movingADamagedOneStaysInside)
{
    const std::string whole = "MODEL" + archive({{"labels.txt", "cat"}, {"b.bin", "01"}});
    for (size_t i = 0; i < whole.size(); ++i) {
        std::string damaged = whole;
        damaged[i] = static_cast<char>(~damaged[i]);
        EXPECT_LE(movedFileArchive(bytesOf(damaged), 7).size(), whole.size());
    }
}

TEST(ModelMetadata, compressedFilesAreOnlyNamed)
{
    const ModelMetadata metadata = readModelMetadata(Model(), bytesOf(archive({{"a.txt", "xx"}}, 8)));
    ASSERT_EQ(metadata.files.size(), 1U);
    EXPECT_FALSE(metadata.files[0].content.has_value());
}

TEST(ModelMetadata, tensorsAndTheirFiles)
{
    const ModelMetadata metadata = readModelMetadata(modelWithMetadata(), bytesOf("MODEL" + archive({{"labels.txt", "cat\ndog"}})));
    EXPECT_EQ(metadata.name, "Pets");
    EXPECT_EQ(metadata.description, "Cats and dogs.");
    EXPECT_EQ(metadata.version, "v2");
    EXPECT_EQ(metadata.author, "Ada");
    EXPECT_EQ(metadata.license, "Apache");
    ASSERT_EQ(metadata.tensors.size(), 1U);
    EXPECT_EQ(metadata.tensors[0].place, "input 'image'");
    EXPECT_EQ(metadata.tensors[0].mean, std::vector<float>{127.5F});
    EXPECT_EQ(metadata.tensors[0].deviation, std::vector<float>{64.0F});
    ASSERT_EQ(metadata.files.size(), 1U);
    EXPECT_EQ(metadata.files[0].role, "labels");
    EXPECT_EQ(metadata.files[0].tensor, "output 'probability'");
    EXPECT_EQ(metadata.problems,
              std::vector<std::string>{"the metadata names the file 'gone.txt', which is not in the archive behind the model"});
}

TEST(ModelMetadata, damageIsAProblemAndNoError)
{
    const std::string whole = archive({{"labels.txt", "cat\ndog"}});
    // Every byte of the archive but those of the file's own content, turned around: no answer is fine, reading elsewhere is not.
    for (size_t i = 0; i < whole.size(); ++i) {
        std::string damaged = whole;
        damaged[i] = static_cast<char>(~damaged[i]);
        for (const AssociatedFile& file : readModelMetadata(Model(), bytesOf(damaged)).files) {
            EXPECT_LE(file.name.size(), whole.size());
        }
    }
    std::string broken = whole;
    broken[broken.size() - 10] = '\x7f'; // size of the directory
    EXPECT_EQ(readModelMetadata(Model(), bytesOf(broken)).problems,
              std::vector<std::string>{"the zip archive behind the model is damaged"});
    Model model;
    model.metadata.push_back({"TFLITE_METADATA", std::make_shared<Constant>(bytesOf("no flatbuffer at all"))});
    EXPECT_EQ(readModelMetadata(model, bytesOf("MODEL")).problems, std::vector<std::string>{"the metadata is damaged"});
}

} // namespace
} // namespace loopscope
