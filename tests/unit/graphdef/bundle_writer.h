// Writes small checkpoints for the tests, byte by byte from the description of the format.
#pragma once

#include "bundle.pb.h"
#include "converters/savedmodel/crc32c.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace loopscope {

class BundleWriter {
public:
    /// Adds a tensor to shard 0.
    void add(const std::string& key, tfpb::DataType dtype, std::initializer_list<int64_t> shape, const std::string& bytes)
    {
        tfpb::BundleEntryProto entry;
        entry.set_dtype(dtype);
        for (const int64_t dim : shape) entry.mutable_shape()->add_dim()->set_size(dim);
        entry.set_offset(static_cast<int64_t>(data.size()));
        entry.set_size(static_cast<int64_t>(bytes.size()));
        entry.set_crc32c(savedmodel::maskedCrc(savedmodel::crc32c(std::as_bytes(std::span(bytes)))));
        data += bytes;
        entries[key] = entry;
    }

    /// A scalar string: its length, the checksum of that, its bytes.
    void addString(const std::string& key, const std::string& text)
    {
        const auto masked = [](uint32_t crc) {
            const uint32_t value = savedmodel::maskedCrc(crc);
            return std::string(reinterpret_cast<const char*>(&value), 4);
        };
        const auto length = static_cast<uint32_t>(text.size());
        const uint32_t lengthCrc = savedmodel::crc32c(std::as_bytes(std::span(&length, 1)));
        const std::string stored = masked(lengthCrc) + text;
        add(key, tfpb::DT_STRING, {}, varint(length) + stored);
        entries[key].set_crc32c(savedmodel::maskedCrc(savedmodel::crc32c(std::as_bytes(std::span(stored)), lengthCrc)));
    }

    /// `PREFIX.index` and `PREFIX.data-00000-of-00001`.
    void write(const std::string& prefix) const
    {
        put(prefix + ".index", index());
        put(prefix + ".data-00000-of-00001", data);
    }

    std::string index() const
    {
        tfpb::BundleHeaderProto header;
        header.set_num_shards(1);
        if (isBigEndian) header.set_endianness(tfpb::BundleHeaderProto::BIG);
        std::string block = blockEntry("", header.SerializeAsString());
        for (const auto& [key, entry] : entries) block += blockEntry(key, entry.SerializeAsString());
        std::string file;
        const std::string place = append(file, block, isCompressed);
        const std::string indexPlace = append(file, blockEntry("zzz", place), isCompressed);
        std::string footer = std::string(2, '\0') + indexPlace; // no meta index
        footer.resize(40);
        const uint64_t magic = 0xdb4775248b80fb57ULL;
        return file + footer + std::string(reinterpret_cast<const char*>(&magic), 8);
    }

    static void put(const std::string& path, const std::string& content)
    {
        std::filesystem::create_directories(std::filesystem::path(path).parent_path());
        std::ofstream(path, std::ios::binary) << content;
    }

    std::map<std::string, tfpb::BundleEntryProto> entries;
    std::string data;
    bool isBigEndian = false;
    bool isCompressed = false;

private:
    static std::string varint(uint64_t value)
    {
        std::string out;
        for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
        return out + static_cast<char>(value);
    }

    /// Snappy's format by hand: literals of up to 60 bytes, and a copy where four zeros follow four zeros.
    static std::string snappy(const std::string& plain)
    {
        std::string out = varint(plain.size());
        for (size_t at = 0; at < plain.size();) {
            if (at >= 4 && plain.substr(at - 4, 4) == std::string(4, '\0') && plain.substr(at, 4) == std::string(4, '\0')) {
                out += {'\1', '\4'}; // four bytes from four bytes before
                at += 4;
                continue;
            }
            const size_t length = std::min<size_t>(at % 2 == 0 ? 7 : 60, plain.size() - at);
            out += static_cast<char>((length - 1) << 2);
            out += plain.substr(at, length);
            at += length;
        }
        return out;
    }

    static std::string blockEntry(const std::string& key, const std::string& value)
    {
        return varint(0) + varint(key.size()) + varint(value.size()) + key + value;
    }

    /// A block with no restarts but the first; gives its place.
    static std::string append(std::string& file, std::string block, bool isCompressed)
    {
        const uint32_t restarts[] = {0, 1};
        block.append(reinterpret_cast<const char*>(restarts), sizeof restarts);
        if (isCompressed) block = snappy(block);
        const std::string place = varint(file.size()) + varint(block.size());
        block += isCompressed ? '\1' : '\0';
        const uint32_t crc = savedmodel::maskedCrc(savedmodel::crc32c(std::as_bytes(std::span(block))));
        block.append(reinterpret_cast<const char*>(&crc), sizeof crc);
        file += block;
        return place;
    }
};

} // namespace loopscope
