// Files of somebody else: links that lead elsewhere, pipes, and large files that are written while they are mapped.
#include "engine/base/file_guard.h"
#include "tests/scratch.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace loopscope {
namespace {

namespace fs = std::filesystem;

class FileGuard : public testing::Test {
protected:
    void SetUp() override { fs::create_directories(m_folder / "model"); }
    std::string at(const std::string& name) const { return (m_folder / name).string(); }
    bool isChanged(const std::string& name) const
    {
        const std::vector<std::string> changed = changedFiles();
        return std::ranges::find(changed, at(name)) != changed.end();
    }
    void write(const std::string& name, std::string_view text) const { std::ofstream(at(name), std::ios::binary) << text; }

    ScratchFolder m_scratch;
    fs::path m_folder = m_scratch.path();
};

std::string messageOf(const Result<Bytes>& bytes) { return bytes.ok() ? "" : bytes.error().message(); }

TEST_F(FileGuard, what_lies_in_the_folder_is_read)
{
    write("model/data.bin", "weights");
    fs::create_symlink("data.bin", at("model/link.bin"));
    for (const char* name : {"data.bin", "link.bin", "../model/data.bin"}) {
        const Result<Bytes> bytes = mapFileWithin(at("model"), name);
        ASSERT_TRUE(bytes.ok()) << bytes.error().message();
        EXPECT_EQ(bytes->size(), 7U);
    }
}

TEST_F(FileGuard, what_leads_out_of_the_folder_is_not_followed)
{
    write("secret", "secret");
    fs::create_symlink(at("secret"), at("model/link.bin"));
    fs::create_directory_symlink(m_folder, at("model/up"));
    for (const std::string& name : {std::string("link.bin"), std::string("up/secret"), std::string("../secret"), at("secret")})
        EXPECT_NE(messageOf(mapFileWithin(at("model"), name)).find("leads out of its folder"), std::string::npos) << name;
    // A name that only begins like the folder's.
    write("model2", "secret");
    EXPECT_NE(messageOf(mapFileWithin(at("model"), "../model2")).find("leads out of its folder"), std::string::npos);
}

TEST_F(FileGuard, pipes_and_devices_are_refused_at_once)
{
    ASSERT_EQ(mkfifo(at("pipe").c_str(), 0600), 0);
    EXPECT_NE(messageOf(mapFile(at("pipe"))).find("is a device or a pipe"), std::string::npos);
    EXPECT_NE(messageOf(mapFile("/dev/zero")).find("is a device or a pipe"), std::string::npos);
    ASSERT_EQ(mkfifo(at("model/pipe").c_str(), 0600), 0);
    EXPECT_NE(messageOf(mapFileWithin(at("model"), "pipe")).find("is a device or a pipe"), std::string::npos);
}

constexpr uintmax_t kMapped = uintmax_t{65} << 20; ///< bytes of a file that is mapped, not read

/// The last number of a mapped file.
int64_t lastOf(const Bytes& bytes) { return reinterpret_cast<const volatile int64_t*>(bytes.data())[bytes.size() / 8 - 1]; }

TEST_F(FileGuard, a_mapped_file_that_is_written_is_told)
{
    write("large", "x");
    fs::resize_file(at("large"), kMapped);
    const Result<Bytes> bytes = mapFile(at("large"));
    ASSERT_TRUE(bytes.ok()) << bytes.error().message();
    EXPECT_TRUE(checkFilesUnchanged().ok());
    {
        std::ofstream file(at("large"), std::ios::binary | std::ios::app);
        file << "more";
    }
    EXPECT_EQ(changedFiles(), std::vector<std::string>{at("large")});
    const Status status = checkFilesUnchanged();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.detail().code, ErrorCode::badFile);
    EXPECT_EQ(status.detail().where, at("large"));
}

TEST_F(FileGuard, a_mapped_file_that_becomes_shorter_does_not_end_the_program)
{
    write("large", "x");
    fs::resize_file(at("large"), kMapped);
    {
        guardMappedFiles();
        const Result<Bytes> bytes = mapFile(at("large"));
        ASSERT_TRUE(bytes.ok()) << bytes.error().message();
        fs::resize_file(at("large"), 4096);
        EXPECT_EQ(lastOf(*bytes), 0);
        EXPECT_TRUE(isChanged("large"));
    }
    // What was read of it holds no longer, although it is closed: the error names it.
    EXPECT_TRUE(isChanged("large"));
    EXPECT_FALSE(checkFilesUnchanged().ok());
}

} // namespace
} // namespace loopscope
