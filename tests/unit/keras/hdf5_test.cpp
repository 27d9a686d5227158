// HDF5: what h5py wrote is read, what it can also write is refused by name, and no byte of a damaged file leads outside of it.
#include "converters/keras/hdf5.h"

#include "converters/keras/keras.h"

#include "engine/base/bytes.h"

#include <algorithm>
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace loopscope::keras {
namespace {

/// small.h5 holds layers/dense/vars/{0: f32[2,3] 0…5, 1: i64[3], 2: f32[], 10: f16[1]}, `chunked` and `text`.
std::vector<std::byte> smallFile()
{
    const auto bytes = mapFile("tests/unit/keras/small.h5");
    return bytes.ok() ? std::vector<std::byte>(bytes->view().begin(), bytes->view().end()) : std::vector<std::byte>();
}

Result<Hdf5File> opened(const std::vector<std::byte>& bytes) { return Hdf5File::open(Bytes::copyOf(bytes)); }

size_t placeOf(const std::vector<std::byte>& bytes, std::string_view mark)
{
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return text.find(mark);
}

template <typename T> void put(std::vector<std::byte>& bytes, size_t at, T value) { std::memcpy(bytes.data() + at, &value, sizeof value); }

std::string messageOf(const std::vector<std::byte>& bytes)
{
    const auto file = opened(bytes);
    return file.ok() ? "opened" : file.error().message();
}

TEST(Hdf5, weights_alone_are_no_model)
{
    const auto model = importKeras("w.h5", Bytes::copyOf(smallFile()));
    ASSERT_FALSE(model.ok());
    EXPECT_EQ(model.error().message(), "w.h5: no model: the file has no attribute 'model_config'");
}

TEST(Hdf5, texts_of_attributes_are_read)
{
    const auto bytes = mapFile("tests/keras/whole.h5");
    ASSERT_TRUE(bytes.ok());
    const auto file = Hdf5File::open(*bytes);
    ASSERT_TRUE(file.ok()) << file.error().message();
    EXPECT_EQ(file->find("")->texts.at("keras_version").front().substr(0, 2), "3.");
    const auto* layer = file->find("model_weights/same");
    ASSERT_NE(layer, nullptr);
    EXPECT_THAT(layer->texts.at("weight_names"), testing::ElementsAre("same/kernel", "same/bias"));
}

TEST(Hdf5, objects_have_other_paths)
{
    auto file = opened(smallFile());
    ASSERT_TRUE(file.ok());
    EXPECT_TRUE(file->link("a/b/0", "layers/dense/vars/0"));
    EXPECT_EQ(file->read("a/b/0")->type.shape, Shape({2, 3}));
    EXPECT_FALSE(file->link("a/b/0", "layers/dense/vars/1"));   // taken
    EXPECT_FALSE(file->link("a/b/0/c", "layers/dense/vars/1")); // below a dataset
    EXPECT_FALSE(file->link("a/b/1", "layers/other"));
}

TEST(Hdf5, what_h5py_wrote_is_read)
{
    const auto file = opened(smallFile());
    ASSERT_TRUE(file.ok()) << file.error().message();
    const auto matrix = file->read("layers/dense/vars/0");
    ASSERT_TRUE(matrix.ok()) << matrix.error().message();
    EXPECT_EQ(matrix->type, TensorType(DType::f32, Shape({2, 3})));
    const auto* const values = matrix->data->bytes().as<float>();
    EXPECT_EQ(std::vector<float>(values, values + 6), (std::vector<float>{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(file->read("layers/dense/vars/1")->type, TensorType(DType::i64, Shape({3})));
    EXPECT_EQ(*file->read("layers/dense/vars/2")->data->bytes().as<float>(), 7.0F);
    EXPECT_EQ(file->read("layers/dense/vars/10")->type, TensorType(DType::f16, Shape({1})));
}

TEST(Hdf5, datasets_are_listed_by_number)
{
    const auto file = opened(smallFile());
    ASSERT_TRUE(file.ok());
    EXPECT_THAT(file->datasetsBelow("layers"),
                testing::ElementsAre("layers/dense/vars/0", "layers/dense/vars/1", "layers/dense/vars/2", "layers/dense/vars/10"));
    EXPECT_TRUE(file->datasetsBelow("nothing").empty());
}

TEST(Hdf5, what_is_not_read_is_named)
{
    const auto file = opened(smallFile());
    ASSERT_TRUE(file.ok());
    EXPECT_EQ(file->read("chunked").error().message(),
              "'chunked': a form of HDF5 that is not read, found a dataset in chunks, expected a whole dataset of numbers");
    EXPECT_THAT(file->read("text").error().message(), testing::HasSubstr("found a dataset of type variable length"));
    EXPECT_THAT(file->read("layers").error().message(), testing::HasSubstr("no such dataset"));
    std::vector<std::byte> newer = smallFile();
    put(newer, 8, uint8_t{2});
    EXPECT_EQ(messageOf(newer),
              "at 0x8: a form of HDF5 that is not read, found superblock version 2, expected 0, which h5py writes unless told otherwise");
}

TEST(Hdf5, a_file_that_is_cut_off_is_refused)
{
    const std::vector<std::byte> whole = smallFile();
    for (size_t size = 0; size < whole.size(); size += size < 3000 ? 1 : 97) {
        const std::vector<std::byte> part(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
        EXPECT_FALSE(opened(part).ok()) << size;
    }
}

TEST(Hdf5, a_tree_that_holds_itself_is_refused)
{
    std::vector<std::byte> bytes = smallFile();
    const size_t tree = placeOf(bytes, "TREE");
    put(bytes, tree + 32, uint64_t{tree});
    EXPECT_THAT(messageOf(bytes), testing::HasSubstr("a part of the file that is reached twice"));
}

TEST(Hdf5, a_group_that_holds_itself_is_refused)
{
    std::vector<std::byte> bytes = smallFile();
    uint64_t root = 0;
    std::memcpy(&root, bytes.data() + 64, 8);
    put(bytes, placeOf(bytes, "SNOD") + 16, root);
    EXPECT_THAT(messageOf(bytes), testing::HasSubstr("a part of the file that is reached twice"));
}

TEST(Hdf5, addresses_outside_of_the_file_are_refused)
{
    std::vector<std::byte> bytes = smallFile();
    put(bytes, placeOf(bytes, "TREE") + 32, uint64_t{1} << 63);
    EXPECT_THAT(messageOf(bytes), testing::HasSubstr("an address outside of the file"));
    bytes = smallFile();
    put(bytes, placeOf(bytes, "HEAP") + 24, ~uint64_t{0} - 4);
    EXPECT_THAT(messageOf(bytes), testing::HasSubstr("the heap of a group's names is damaged"));
    bytes = smallFile();
    put(bytes, placeOf(bytes, "HEAP") + 8, ~uint64_t{0});
    EXPECT_THAT(messageOf(bytes), testing::HasSubstr("the heap of a group's names is damaged"));
}

TEST(Hdf5, names_beyond_the_heap_are_refused)
{
    std::vector<std::byte> bytes = smallFile();
    put(bytes, placeOf(bytes, "SNOD") + 8, uint64_t{1} << 40);
    EXPECT_THAT(messageOf(bytes), testing::HasSubstr("a link of a group is cut off"));
}

TEST(Hdf5, every_byte_may_be_wrong)
{
    const std::vector<std::byte> whole = smallFile();
    for (size_t at = 0; at < whole.size(); ++at)
        for (const uint8_t value : {uint8_t{0}, uint8_t{0x7f}, uint8_t{0xff}}) {
            if (at > 4096 && value != 0xff) continue;
            std::vector<std::byte> bytes = whole;
            put(bytes, at, value);
            const auto file = opened(bytes);
            if (!file.ok()) continue;
            for (const std::string& path : file->datasetsBelow("")) {
                const auto data = file->read(path);
                if (data.ok()) {
                    EXPECT_LE(data->data->size(), whole.size());
                }
            }
        }
}

} // namespace
} // namespace loopscope::keras
