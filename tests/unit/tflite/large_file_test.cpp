// Files of gigabytes: opening one touches the tables and none of the weights.
#include "tests/unit/tflite/tiny_file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <unistd.h>

namespace loopscope {
namespace {

/// Bytes of memory that this process occupies now.
uint64_t residentBytes()
{
    uint64_t pages = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> pages >> resident;
    return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

/// A temporary file that begins with `head` and is `size` bytes long; the rest is a hole and takes no room on disk.
class SparseFile {
public:
    SparseFile(const Bytes& head, uint64_t size)
    {
        const int fd = mkstemp(m_path);
        const bool written = fd >= 0 && write(fd, head.data(), head.size()) == static_cast<ssize_t>(head.size()) &&
                             ftruncate(fd, static_cast<off_t>(size)) == 0;
        EXPECT_TRUE(written);
        close(fd);
    }
    ~SparseFile() { unlink(m_path); }
    SparseFile(const SparseFile&) = delete;
    std::string path() const { return m_path; }

private:
    char m_path[40] = "/tmp/loopscope_large_XXXXXX";
};

TEST(TfliteLargeFiles, openWithoutReadingTheWeights)
{
    constexpr uint32_t kGiB = 1U << 30;
    TinyFile f;
    const uint32_t weights = f.buffer(std::vector<uint8_t>(64, 0xaa));
    f.tensor("w", {kGiB / 4}, tflite::TensorType_FLOAT32, weights);
    const Bytes small = f.finish();
    // What is built first lies last, so the vector can be lengthened to the end of a longer file.
    std::vector<std::byte> bytes(small.view().begin(), small.view().end());
    const auto* data = tflite::GetModel(small.data())->buffers()->Get(1)->data();
    const auto at = static_cast<size_t>(reinterpret_cast<const std::byte*>(data) - small.data());
    std::memcpy(bytes.data() + at, &kGiB, sizeof kGiB);
    const SparseFile file(Bytes::copyOf(bytes), at + 4 + kGiB);
    const uint64_t before = residentBytes();
    const auto content = mapFile(file.path());
    ASSERT_TRUE(content.ok());
    const auto model = importTflite(file.path(), *content);
    ASSERT_TRUE(model.ok()) << model.error().message();
    EXPECT_LT(residentBytes() - before, 50U << 20);
    ASSERT_EQ(model->graphs[0].values[0].constant->size(), kGiB);
    EXPECT_EQ(model->graphs[0].values[0].constant->bytes().data()[5], std::byte{0xaa});
}

// Data behind the FlatBuffer may lie beyond what 31 bits reach.
TEST(TfliteLargeFiles, dataBeyondFourGibibytes)
{
    constexpr uint64_t kFar = uint64_t{5} << 30;
    TinyFile f;
    f.buffers.push_back(tflite::CreateBuffer(f.b, 0, kFar, 1 << 20));
    f.tensor("w", {1 << 18}, tflite::TensorType_FLOAT32, 1);
    const SparseFile file(f.finish(), kFar + (1 << 20));
    const auto content = mapFile(file.path());
    ASSERT_TRUE(content.ok());
    const auto model = importTflite(file.path(), *content);
    ASSERT_TRUE(model.ok()) << model.error().message();
    EXPECT_EQ(model->graphs[0].values[0].constant->bytes().data(), content->data() + kFar);
}

} // namespace
} // namespace loopscope
