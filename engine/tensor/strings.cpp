#include "engine/tensor/strings.h"

#include <cstring>

namespace loopscope {

std::vector<std::byte> packStrings(std::span<const std::string> strings)
{
    const size_t header = 4 * (strings.size() + 2);
    size_t total = header;
    for (const std::string& s : strings) total += s.size();
    std::vector<std::byte> block(total);
    const auto put = [&](size_t slot, size_t value) {
        const auto word = static_cast<int32_t>(value);
        std::memcpy(block.data() + 4 * slot, &word, 4);
    };
    put(0, strings.size());
    size_t at = header;
    for (size_t i = 0; i < strings.size(); ++i) {
        put(1 + i, at);
        std::memcpy(block.data() + at, strings[i].data(), strings[i].size());
        at += strings[i].size();
    }
    put(1 + strings.size(), at);
    return block;
}

Result<std::vector<std::string_view>> unpackStrings(std::span<const std::byte> block)
{
    if (block.empty()) return std::vector<std::string_view>();
    const auto word = [&](size_t slot) {
        int32_t value = 0;
        std::memcpy(&value, block.data() + 4 * slot, 4);
        return static_cast<int64_t>(value);
    };
    const auto size = static_cast<int64_t>(block.size());
    if (size < 8) return Error(ErrorCode::badFile, "string tensor too short").found(std::to_string(size) + " bytes").expected("at least 8");
    const int64_t count = word(0);
    if (count < 0 || 4 * (count + 2) > size)
        return Error(ErrorCode::badFile, "string tensor with a wrong count")
            .found(std::to_string(count))
            .expected("0 to " + std::to_string(size / 4 - 2));
    std::vector<std::string_view> strings;
    strings.reserve(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
        const int64_t begin = word(static_cast<size_t>(1 + i));
        const int64_t end = word(static_cast<size_t>(2 + i));
        if (begin < 0 || end < begin || end > size)
            return Error(ErrorCode::badFile, "string " + std::to_string(i) + " lies outside its tensor")
                .found(std::to_string(begin) + " to " + std::to_string(end))
                .expected("within " + std::to_string(size) + " bytes");
        strings.emplace_back(reinterpret_cast<const char*>(block.data()) + begin, static_cast<size_t>(end - begin));
    }
    return strings;
}

} // namespace loopscope
