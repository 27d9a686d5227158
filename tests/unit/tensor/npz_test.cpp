// .npz archives: writing, reading back, and what damaged or lying archives give.
#include "engine/tensor/npz.h"

#include "engine/base/bytes.h"
#include "engine/base/memory_budget.h"
#include "tests/scratch.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zip.h>

namespace loopscope {
namespace {

class Npz : public testing::Test {
protected:
    std::string path(const std::string& name) const { return m_folder.path(name); }

    static Array ints(std::initializer_list<int32_t> values)
    {
        Array array{DType::i32, Shape{static_cast<int64_t>(values.size())}, std::vector<std::byte>(values.size() * 4)};
        std::memcpy(array.bytes.data(), std::data(values), array.bytes.size());
        return array;
    }

private:
    ScratchFolder m_folder;
};

TEST_F(Npz, written_arrays_read_back_in_order)
{
    const Array a = ints({1, 2, 3}), b = ints({4});
    const std::vector<NamedTensor> tensors = {{"x", a.view()}, {"main/add#2:0", b.view()}};
    ASSERT_TRUE(writeNpz(path("t.npz"), tensors, false).ok());
    auto file = NpzFile::open(path("t.npz"));
    ASSERT_TRUE(file.ok()) << file.error().message();
    EXPECT_THAT(file->keys(), testing::ElementsAre("x", "main/add#2:0"));
    const auto x = file->read("x");
    ASSERT_TRUE(x.ok()) << x.error().message();
    EXPECT_EQ(x->bytes, a.bytes);
    EXPECT_EQ(file->read("main/add#2:0")->bytes, b.bytes);
    const auto missing = file->read("y");
    ASSERT_FALSE(missing.ok());
    EXPECT_THAT(missing.error().message(), testing::HasSubstr("no key 'y'; keys: x, main/add#2:0"));
}

TEST_F(Npz, equal_content_gives_equal_files)
{
    const Array a = ints({1, 2, 3});
    const std::vector<NamedTensor> tensors = {{"x", a.view()}};
    ASSERT_TRUE(writeNpz(path("1.npz"), tensors, false).ok());
    ASSERT_TRUE(writeNpz(path("2.npz"), tensors, false).ok());
    const auto one = mapFile(path("1.npz")), two = mapFile(path("2.npz"));
    ASSERT_TRUE(one.ok() && two.ok());
    EXPECT_TRUE(std::ranges::equal(one->view(), two->view()));
}

TEST_F(Npz, an_empty_archive_can_be_written_and_read)
{
    ASSERT_TRUE(writeNpz(path("e.npz"), {}, false).ok());
    const auto file = NpzFile::open(path("e.npz"));
    ASSERT_TRUE(file.ok()) << file.error().message();
    EXPECT_TRUE(file->keys().empty());
}

TEST_F(Npz, an_existing_file_is_refused)
{
    const Array a = ints({1});
    const std::vector<NamedTensor> tensors = {{"x", a.view()}};
    ASSERT_TRUE(writeNpz(path("t.npz"), tensors, false).ok());
    EXPECT_FALSE(writeNpz(path("t.npz"), tensors, false).ok());
    EXPECT_TRUE(writeNpz(path("t.npz"), tensors, true).ok());
}

TEST_F(Npz, files_that_are_no_archive_are_errors)
{
    EXPECT_FALSE(NpzFile::open(path("none.npz")).ok());
    std::ofstream(path("text.npz")) << "this is no zip archive";
    const auto file = NpzFile::open(path("text.npz"));
    ASSERT_FALSE(file.ok());
    EXPECT_EQ(file.error().code(), ErrorCode::badFile);
}

TEST_F(Npz, members_that_unpack_to_more_than_the_limit_are_refused)
{
    const Array zeros{DType::u8, Shape{int64_t{96} << 20}, std::vector<std::byte>(size_t{96} << 20)};
    zip_t* const archive = zip_open(path("bomb.npz").c_str(), ZIP_CREATE, nullptr);
    ASSERT_NE(archive, nullptr);
    const std::vector<std::byte> npy = writeNpy(zeros.view()).value();
    const zip_int64_t member = zip_file_add(archive, "x.npy", zip_source_buffer(archive, npy.data(), npy.size(), 0), 0);
    zip_set_file_compression(archive, static_cast<zip_uint64_t>(member), ZIP_CM_DEFLATE, 1);
    ASSERT_EQ(zip_close(archive), 0);
    ASSERT_LT(std::filesystem::file_size(path("bomb.npz")), 1U << 20U) << "a few bytes that become many";
    setMemoryLimit(memoryInUse() + (32U << 20U));
    const auto file = NpzFile::open(path("bomb.npz"));
    const std::string message = !file.ok() ? file.error().message() : [&] {
        const auto x = file->read("x");
        return x.ok() ? std::string() : x.error().message();
    }();
    setMemoryLimit(0);
    EXPECT_THAT(message, testing::HasSubstr("needs more memory than the limit of"));
}

TEST_F(Npz, damaged_members_are_errors_not_crashes)
{
    const Array a = ints({1, 2, 3, 4, 5, 6, 7, 8});
    const std::vector<NamedTensor> tensors = {{"x", a.view()}};
    ASSERT_TRUE(writeNpz(path("t.npz"), tensors, false).ok());
    const auto original = mapFile(path("t.npz"));
    ASSERT_TRUE(original.ok());
    int errors = 0;
    for (size_t at = 0; at < original->size(); ++at) {
        std::vector<std::byte> mutant(original->view().begin(), original->view().end());
        mutant[at] ^= std::byte{0x55};
        ASSERT_TRUE(writeFile(path("m.npz"), mutant, true).ok());
        const auto file = NpzFile::open(path("m.npz"));
        if (!file.ok() || file->keys().empty() || !file->read(file->keys().front()).ok()) ++errors;
    }
    EXPECT_GT(errors, 50); // some bytes (time stamps) do not matter; most do
}

} // namespace
} // namespace loopscope
