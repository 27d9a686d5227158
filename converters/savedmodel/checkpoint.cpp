// The index is a table in LevelDB's format: blocks of entries whose keys share prefixes, an index block of block places, and a footer.
#include "converters/savedmodel/checkpoint.h"

#include "converters/graphdef/convert_values.h"
#include "converters/graphdef/messages.h"
#include "converters/savedmodel/crc32c.h"
#include "converters/savedmodel/snappy.h"
#include "engine/tensor/strings.h"

#include "bundle.pb.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>

namespace loopscope::savedmodel {

namespace {

constexpr size_t kFooterSize = 48;
constexpr uint64_t kLargestBlock = 1 << 28; ///< plain bytes; writers begin a new block after some kilobytes
constexpr size_t kBlockTrailer = 5;         ///< kind of compression, checksum
constexpr uint64_t kTableMagic = 0xdb4775248b80fb57ULL;

Error damaged(std::string what) { return Error(ErrorCode::badFile, std::move(what)); }

std::optional<uint64_t> takeVarint(std::string_view& bytes)
{
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
        const auto byte = static_cast<unsigned char>(bytes.front());
        bytes.remove_prefix(1);
        value |= static_cast<uint64_t>(byte & 0x7F) << shift;
        if ((byte & 0x80) == 0) return value;
    }
    return std::nullopt;
}

template <typename T> T littleEndian(std::string_view bytes)
{
    T value = 0;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
}

/// A number as its bytes lie in memory here or on a big-endian machine.
template <typename T> T inOrder(T value, bool isBigEndian)
{
    if (!isBigEndian) return value;
    T swapped = 0;
    for (size_t i = 0; i < sizeof value; ++i) swapped = static_cast<T>(swapped << 8 | (value >> (8 * i) & 0xFF));
    return swapped;
}

bool isComplex(DType dtype) { return dtype == DType::c64 || dtype == DType::c128; }

struct BlockPlace {
    uint64_t offset = 0, size = 0;
};

std::optional<BlockPlace> takePlace(std::string_view& bytes)
{
    const auto offset = takeVarint(bytes);
    const auto size = takeVarint(bytes);
    if (!offset || !size) return std::nullopt;
    return BlockPlace{*offset, *size};
}

std::string hex(uint32_t value)
{
    char text[16];
    std::snprintf(text, sizeof text, "%08x", value);
    return text;
}

} // namespace

Result<Checkpoint> Checkpoint::open(const std::string& prefix)
{
    Checkpoint checkpoint(prefix);
    const std::string path = prefix + ".index";
    LS_TRY(const Bytes file, mapFile(path));
    if (Status status = checkpoint.readIndex(file); !status.ok()) return std::move(status).takeError().at(path);
    return checkpoint;
}

Status Checkpoint::readIndex(const Bytes& file)
{
    const std::string_view bytes(reinterpret_cast<const char*>(file.data()), file.size());
    if (bytes.size() < kFooterSize || littleEndian<uint64_t>(bytes.substr(bytes.size() - 8)) != kTableMagic)
        return damaged("not the index of a checkpoint, or its end is missing");
    std::string_view footer = bytes.substr(bytes.size() - kFooterSize, kFooterSize - 8);
    const auto meta = takePlace(footer);
    const auto index = meta ? takePlace(footer) : std::nullopt;
    if (!index) return damaged("the footer is damaged");
    std::vector<std::pair<std::string, std::string_view>> blocks;
    LS_CHECK_OK(readBlock(bytes, index->offset, index->size, blocks));
    for (auto& [last, value] : blocks) {
        const auto place = takePlace(value);
        if (!place) return damaged("the place of a block is damaged");
        std::vector<std::pair<std::string, std::string_view>> entries;
        LS_CHECK_OK(readBlock(bytes, place->offset, place->size, entries));
        for (auto& [key, entry] : entries) LS_CHECK_OK(addEntry(std::move(key), entry));
    }
    return m_hasHeader ? Status() : Status(damaged("the index has no header"));
}

Status Checkpoint::readBlock(std::string_view file, uint64_t offset, uint64_t size,
                             std::vector<std::pair<std::string, std::string_view>>& out)
{
    const std::string where = "block at offset " + std::to_string(offset);
    if (offset > file.size() || size > file.size() - offset || file.size() - offset - size < kBlockTrailer)
        return damaged("reaches beyond the end").at(where).found(std::to_string(file.size()) + " bytes");
    std::string_view block = file.substr(offset, size);
    const std::string_view trailer = file.substr(offset + size, kBlockTrailer);
    const uint32_t crc = maskedCrc(crc32c(std::as_bytes(std::span(file.substr(offset, size + 1)))));
    if (const auto stored = littleEndian<uint32_t>(trailer.substr(1)); stored != crc)
        return damaged("its checksum does not fit").at(where).found(hex(crc)).expected(hex(stored));
    if (trailer.front() == 1) {
        Result<std::string> plain = unpackSnappy(block, kLargestBlock);
        if (!plain.ok()) return std::move(plain).takeError().at(where);
        LS_CHECK_OK(m_memory.grow(plain->size()));
        block = m_unpacked.emplace_back(std::move(plain).value());
    } else if (trailer.front() != 0) {
        return damaged("unknown compression").at(where).found(std::to_string(trailer.front())).expected("0 or 1");
    }
    if (block.size() < 4) return damaged("is too short").at(where);
    const uint64_t restarts = littleEndian<uint32_t>(block.substr(block.size() - 4));
    if (restarts > (block.size() - 4) / 4) return damaged("its restarts reach beyond it").at(where);
    std::string_view rest = block.substr(0, block.size() - 4 - restarts * 4);
    std::string key;
    while (!rest.empty()) {
        const auto shared = takeVarint(rest);
        const auto fresh = takeVarint(rest);
        const auto length = takeVarint(rest);
        if (!shared || !fresh || !length || *shared > key.size() || *fresh > rest.size() || *length > rest.size() - *fresh)
            return damaged("an entry is damaged").at(where);
        key.resize(*shared);
        key += rest.substr(0, *fresh);
        LS_CHECK_OK(m_memory.grow(2 * key.size() + sizeof(CheckpointEntry)));
        out.emplace_back(key, rest.substr(*fresh, *length));
        rest.remove_prefix(*fresh + *length);
    }
    return {};
}

Status Checkpoint::addEntry(std::string key, std::string_view value)
{
    const auto bytes = std::as_bytes(std::span(value));
    if (key.empty()) {
        tfpb::BundleHeaderProto header;
        if (Status status = graphdef::parseBinary(header, bytes); !status.ok()) return std::move(status).takeError().at("header");
        m_isBigEndian = header.endianness() != tfpb::BundleHeaderProto::LITTLE;
        m_shardCount = header.num_shards();
        m_hasHeader = true;
        return {};
    }
    tfpb::BundleEntryProto message;
    if (Status status = graphdef::parseBinary(message, bytes); !status.ok()) return std::move(status).takeError().at("entry '" + key + "'");
    CheckpointEntry entry;
    entry.dtypeNumber = message.dtype();
    entry.shape = graphdef::shapeOf(message.shape()).value_or(Shape::unknownRank());
    entry.shard = message.shard_id();
    entry.offset = message.offset();
    entry.size = message.size();
    entry.maskedCrc = message.crc32c();
    for (const tfpb::TensorSliceProto& part : message.slices()) {
        TensorSlice slice;
        for (const tfpb::TensorSliceProto::Extent& extent : part.extent()) {
            slice.starts.push_back(extent.start());
            slice.lengths.push_back(extent.has_length() ? extent.length() : -1);
        }
        entry.slices.push_back(std::move(slice));
    }
    m_entries.insert_or_assign(std::move(key), std::move(entry));
    return {};
}

std::string Checkpoint::shardName(int32_t number) const
{
    char text[64];
    std::snprintf(text, sizeof text, ".data-%05d-of-%05d", number, m_shardCount);
    return m_prefix + text;
}

Result<Bytes> Checkpoint::shard(int32_t number)
{
    if (const auto open = m_shards.find(number); open != m_shards.end()) return open->second;
    LS_TRY(Bytes file, mapFile(shardName(number)));
    m_shards.emplace(number, file);
    return file;
}

namespace {

/// Strings: their lengths as varints, the masked checksum of the lengths, the bytes. The entry's checksum covers the lengths as 32-bit
/// numbers (64-bit where they need it) in the order of the writer's machine, the stored checksum, and the bytes (TensorFlow
/// util/tensor_bundle).
Result<ConstantPtr> readStrings(std::string_view bytes, int64_t count, uint32_t storedCrc, bool isBigEndian)
{
    std::vector<uint64_t> lengths;
    uint64_t total = 0;
    uint32_t crc = 0;
    std::string_view rest = bytes;
    for (int64_t i = 0; i < count; ++i) {
        const auto length = takeVarint(rest);
        if (!length || *length > bytes.size()) return damaged("the lengths of its strings are damaged");
        lengths.push_back(*length);
        total += *length;
        const auto shortLength = inOrder(static_cast<uint32_t>(*length), isBigEndian);
        const uint64_t longLength = inOrder(*length, isBigEndian);
        crc = *length <= UINT32_MAX ? crc32c(std::as_bytes(std::span(&shortLength, 1)), crc)
                                    : crc32c(std::as_bytes(std::span(&longLength, 1)), crc);
    }
    if (rest.size() < 4 || rest.size() - 4 != total)
        return damaged("its strings have another length").found(std::to_string(rest.size())).expected(std::to_string(total + 4) + " bytes");
    if (const auto stored = inOrder(littleEndian<uint32_t>(rest), isBigEndian); stored != maskedCrc(crc))
        return damaged("the checksum of its lengths does not fit").found(hex(maskedCrc(crc))).expected(hex(stored));
    crc = maskedCrc(crc32c(std::as_bytes(std::span(rest)), crc));
    if (crc != storedCrc) return damaged("its checksum does not fit").found(hex(crc)).expected(hex(storedCrc));
    rest.remove_prefix(4);
    std::vector<std::string> strings;
    for (const uint64_t length : lengths) {
        strings.emplace_back(rest.substr(0, length));
        rest.remove_prefix(length);
    }
    if (total + (lengths.size() + 2) * 4 > INT32_MAX) return damaged("its strings are longer than 2 GiB");
    const auto packed = packStrings(strings);
    return ConstantPtr(std::make_shared<Constant>(Bytes::copyOf(packed)));
}

} // namespace

Result<TensorAttribute> Checkpoint::read(std::string_view key)
{
    const auto found = m_entries.find(key);
    if (found == m_entries.end()) return damaged("no entry '" + std::string(key) + "'").at(m_prefix + ".index");
    const CheckpointEntry& entry = found->second;
    const auto fail = [&](Error error) -> Error { return std::move(error).at(m_prefix + ": entry '" + std::string(key) + "'"); };
    const auto type = graphdef::typeOfNumber(entry.dtypeNumber);
    const bool readable = type && type->dtype != DType::unknown && type->dtype != DType::variant && type->dtype != DType::resource &&
                          (type->dtype == DType::string || bitWidth(type->dtype) >= 8);
    if (!readable) return fail(Error(ErrorCode::unsupported, "type " + std::to_string(entry.dtypeNumber) + " is not read"));
    if (!entry.slices.empty()) {
        Result<TensorAttribute> whole = readParts(key, entry);
        return whole.ok() ? std::move(whole) : Result<TensorAttribute>(fail(std::move(whole).takeError()));
    }
    const auto count = entry.shape.isStatic() ? checkedElementCount(entry.shape) : std::nullopt;
    if (!count) return fail(damaged("its shape is damaged").found(toString(entry.shape)));
    if (entry.shard < 0 || entry.shard >= m_shardCount)
        return fail(damaged("shard").found(std::to_string(entry.shard)).expected("0 to " + std::to_string(m_shardCount - 1)));
    LS_TRY(const Bytes file, shard(entry.shard));
    const auto size = static_cast<uint64_t>(entry.size);
    if (entry.offset < 0 || entry.size < 0 || static_cast<uint64_t>(entry.offset) > file.size() ||
        size > file.size() - static_cast<uint64_t>(entry.offset))
        return fail(damaged("its bytes reach beyond the end of " + shardName(entry.shard))
                        .found(std::to_string(file.size()) + " bytes")
                        .expected("at least " + std::to_string(entry.offset) + " + " + std::to_string(entry.size)));
    const Bytes bytes = file.slice(static_cast<size_t>(entry.offset), static_cast<size_t>(size));
    TensorAttribute tensor{TensorType(type->dtype, entry.shape), nullptr};
    if (type->dtype == DType::string) {
        if (static_cast<uint64_t>(*count) > size) return fail(damaged("the lengths of its strings are damaged"));
        Result<ConstantPtr> strings =
            readStrings({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, *count, entry.maskedCrc, m_isBigEndian);
        if (!strings.ok()) return fail(std::move(strings).takeError());
        tensor.data = std::move(strings).value();
        return tensor;
    }
    if (const uint64_t wanted = byteSize(type->dtype, *count); wanted != size)
        return fail(damaged("its data has another size").found(std::to_string(size) + " bytes").expected(std::to_string(wanted)));
    if (const uint32_t crc = maskedCrc(crc32c(bytes.view())); crc != entry.maskedCrc)
        return fail(damaged("its checksum does not fit").found(hex(crc)).expected(hex(entry.maskedCrc)));
    if (const size_t unit = isComplex(type->dtype) ? bitWidth(type->dtype) / 16 : bitWidth(type->dtype) / 8; m_isBigEndian && unit > 1) {
        std::vector<std::byte> swapped(bytes.data(), bytes.data() + bytes.size());
        for (size_t at = 0; at + unit <= swapped.size(); at += unit)
            std::reverse(swapped.begin() + static_cast<ptrdiff_t>(at), swapped.begin() + static_cast<ptrdiff_t>(at + unit));
        tensor.data = std::make_shared<Constant>(Bytes::copyOf(swapped));
        return tensor;
    }
    // Kernels read elements where they lie, so they must lie aligned; shards do not promise it.
    const bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % 16 == 0;
    tensor.data = std::make_shared<Constant>(aligned ? bytes : Bytes::copyOf(bytes.view()));
    return tensor;
}

} // namespace loopscope::savedmodel
