#include "engine/base/bytes.h"
#include "tests/scratch.h"

#include <fstream>
#include <gtest/gtest.h>

namespace loopscope {
namespace {

struct TemporaryFile {
    ScratchFolder folder;
    std::string path = folder.path("bytes");
    void write(std::string_view text) const { std::ofstream(path, std::ios::binary) << text; }
};

std::string_view textOf(const Bytes& bytes) { return {bytes.as<char>(), bytes.size()}; }

TEST(MapFile, givesTheContentAlignedForTensors)
{
    const TemporaryFile file;
    file.write("weights");
    const Result<Bytes> bytes = mapFile(file.path);
    ASSERT_TRUE(bytes.ok());
    EXPECT_EQ(textOf(*bytes), "weights");
    EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes->data()) % 64, 0U);
}

// An exporter truncates the file that is open here and writes it anew. Mapped pages would change, and end the program where there are none.
TEST(MapFile, fileThatIsWrittenAnewDoesNotChangeWhatWasRead)
{
    const TemporaryFile file;
    const std::string before(20'000, 'a');
    file.write(before);
    const Result<Bytes> bytes = mapFile(file.path);
    ASSERT_TRUE(bytes.ok());
    file.write("b");
    EXPECT_EQ(textOf(*bytes), before);
}

TEST(MapFile, emptyFilesFoldersAndMissingFiles)
{
    const TemporaryFile file;
    file.write("");
    EXPECT_TRUE(mapFile(file.path).ok());
    const Result<Bytes> folder = mapFile("/");
    ASSERT_FALSE(folder.ok());
    EXPECT_NE(folder.error().message().find("is a folder"), std::string::npos);
    const Result<Bytes> missing = mapFile(file.path + "/none");
    EXPECT_FALSE(missing.ok());
}

} // namespace
} // namespace loopscope
