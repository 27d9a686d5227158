#include "converters/tflite/file_archive.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

namespace loopscope {

namespace {

using namespace std::string_view_literals;

constexpr size_t kEndSize = 22;   // end of central directory record, without its comment
constexpr size_t kEntrySize = 46; // entry of the central directory, without its names
constexpr size_t kLocalSize = 30; // header before a file's bytes, without its names
constexpr size_t kLongestComment = 0xffff;
constexpr size_t kEntryOffset = 42;     // of the local header's place within an entry of the directory
constexpr size_t kDirectoryOffset = 16; // of the directory's place within the end record

/// Little-endian number at an offset that lies inside.
template <typename T> T numberAt(std::span<const std::byte> bytes, size_t offset)
{
    T out;
    std::memcpy(&out, bytes.data() + offset, sizeof(T));
    return out;
}

bool startsAt(std::span<const std::byte> bytes, size_t offset, std::string_view mark)
{
    return offset <= bytes.size() && bytes.size() - offset >= mark.size() &&
           std::memcmp(bytes.data() + offset, mark.data(), mark.size()) == 0;
}

/// Where the end record begins; none if there is no archive.
std::optional<size_t> endOfArchive(std::span<const std::byte> bytes)
{
    if (bytes.size() < kEndSize) return std::nullopt;
    const size_t last = bytes.size() - kEndSize;
    for (size_t back = 0; back <= std::min(last, kLongestComment); ++back) {
        const size_t at = last - back;
        if (startsAt(bytes, at, "PK\x05\x06"sv) && numberAt<uint16_t>(bytes, at + 20) == back) return at;
    }
    return std::nullopt;
}

/// One file, by places in the model's file. All of it has been checked to lie before the end record.
struct Entry {
    std::string name;
    uint16_t method = 0;
    uint64_t directory = 0;        ///< of its entry
    uint64_t local = 0, data = 0;  ///< of its header and its bytes
    uint64_t packed = 0, size = 0; ///< bytes
    bool isFolder() const { return name.ends_with('/'); }
};

struct Directory {
    uint64_t end = 0; ///< of the end record
    std::vector<Entry> entries;
};

/// None where the directory makes no sense.
std::optional<Directory> readDirectory(std::span<const std::byte> bytes, size_t end)
{
    const auto count = numberAt<uint16_t>(bytes, end + 10);
    const uint64_t size = numberAt<uint32_t>(bytes, end + 12);
    const uint64_t offset = numberAt<uint32_t>(bytes, end + kDirectoryOffset);
    if (size + offset > end) return std::nullopt;
    const uint64_t base = end - size - offset; // offsets count from the archive's start or from the file's
    Directory out;
    out.end = end;
    uint64_t at = base + offset;
    for (int i = 0; i < count; ++i) {
        if (at + kEntrySize > end || !startsAt(bytes, at, "PK\x01\x02"sv)) return std::nullopt;
        const uint64_t nameSize = numberAt<uint16_t>(bytes, at + 28);
        const uint64_t next = at + kEntrySize + nameSize + numberAt<uint16_t>(bytes, at + 30) + numberAt<uint16_t>(bytes, at + 32);
        if (next > end) return std::nullopt;
        Entry entry;
        entry.name.assign(reinterpret_cast<const char*>(bytes.data()) + at + kEntrySize, nameSize);
        entry.method = numberAt<uint16_t>(bytes, at + 10);
        entry.directory = at;
        entry.local = base + numberAt<uint32_t>(bytes, at + kEntryOffset);
        entry.packed = numberAt<uint32_t>(bytes, at + 20);
        entry.size = numberAt<uint32_t>(bytes, at + 24);
        at = next;
        if (entry.local + kLocalSize > end || !startsAt(bytes, entry.local, "PK\x03\x04"sv)) return std::nullopt;
        entry.data = entry.local + kLocalSize + numberAt<uint16_t>(bytes, entry.local + 26) + numberAt<uint16_t>(bytes, entry.local + 28);
        if (entry.data > end || entry.packed > end - entry.data) return std::nullopt;
        out.entries.push_back(std::move(entry));
    }
    return out;
}

} // namespace

FileArchive readFileArchive(const Bytes& file)
{
    FileArchive out;
    const std::optional<size_t> end = endOfArchive(file.view());
    if (!end) return out;
    std::optional<Directory> directory = readDirectory(file.view(), *end);
    if (!directory) {
        out.isDamaged = true;
        return out;
    }
    for (Entry& entry : directory->entries) {
        if (entry.isFolder()) continue;
        ArchivedFile found{std::move(entry.name), entry.size, std::nullopt};
        if (entry.method == 0 && entry.packed == entry.size) found.content = file.slice(entry.data, entry.packed);
        out.files.push_back(std::move(found));
    }
    return out;
}

std::vector<std::byte> movedFileArchive(const Bytes& file, uint64_t start)
{
    const std::span<const std::byte> bytes = file.view();
    const std::optional<size_t> end = endOfArchive(bytes);
    if (!end) return {};
    const std::optional<Directory> directory = readDirectory(bytes, *end);
    if (!directory || directory->entries.empty()) return {};
    const uint64_t first = std::min(std::ranges::min(directory->entries, {}, &Entry::local).local, directory->entries.front().directory);
    const std::span<const std::byte> old = bytes.subspan(first);
    std::vector<std::byte> out(old.begin(), old.end());
    const auto put = [&](uint64_t place, uint64_t target) {
        const auto moved = static_cast<uint32_t>(target - first + start);
        std::memcpy(out.data() + (place - first), &moved, sizeof moved);
    };
    for (const Entry& entry : directory->entries) put(entry.directory + kEntryOffset, entry.local);
    put(*end + kDirectoryOffset, directory->entries.front().directory);
    return out;
}

} // namespace loopscope
