#include "tests/fuzz/mutators.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>

namespace loopscope {

namespace {

void flipBits(Content& file, Random& random)
{
    for (size_t n = 1 + random.below(3); n > 0; --n) file[random.below(file.size())] ^= static_cast<std::byte>(1U << random.below(8));
}

void overwriteBytes(Content& file, Random& random)
{
    for (size_t n = 1 + random.below(2); n > 0; --n) file[random.below(file.size())] = static_cast<std::byte>(random.below(256));
}

/// Puts a number that tends to break things where one may be.
void overwriteInteger(Content& file, Random& random)
{
    const size_t width = size_t{1} << random.below(4);
    if (file.size() < width) return;
    const size_t at = random.below((file.size() - width) / width + 1) * width;
    const std::array<uint64_t, 14> odd = {0,      1,          2,          4,          0x7f,         0x80,        0xff,
                                          0x7fff, 0x7fffffff, 0x80000000, 0xffffffff, ~uint64_t{0}, file.size(), file.size() - at};
    uint64_t value = odd[random.below(odd.size())];
    if (random.below(3) == 0) {
        value = 0;
        std::memcpy(&value, file.data() + at, width); // a little beside what is there
        value += random.below(65) - 32;
    }
    std::memcpy(file.data() + at, &value, width);
}

void splice(Content& file, const Content& other, Random& random)
{
    if (other.empty()) return;
    const size_t size = 1 + random.below(std::min<size_t>(64, std::min(file.size(), other.size())));
    const size_t from = random.below(other.size() - size + 1);
    const size_t to = random.below(file.size() - size + 1);
    std::memmove(file.data() + to, other.data() + from, size);
}

void insertOrErase(Content& file, Random& random)
{
    const auto at = static_cast<std::ptrdiff_t>(random.below(file.size()));
    const size_t size = 1 + random.below(16);
    if (random.below(2) == 0) file.insert(file.begin() + at, size, static_cast<std::byte>(random.below(256)));
    else
        file.erase(file.begin() + at,
                   file.begin() + at + static_cast<std::ptrdiff_t>(std::min(size, file.size() - static_cast<size_t>(at))));
}

/// Lines, or words with what is between them; put together they are the text.
std::vector<std::string> partsOf(std::string_view text, bool asLines)
{
    const auto isWord = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
    };
    std::vector<std::string> parts;
    for (size_t at = 0; at < text.size();) {
        size_t end = at + 1;
        if (asLines) end = std::min(text.find('\n', at), text.size() - 1) + 1;
        else
            while (end < text.size() && isWord(text[end]) == isWord(text[at])) ++end;
        parts.emplace_back(text.substr(at, end - at));
        at = end;
    }
    return parts;
}

std::string oddNumber(Random& random)
{
    constexpr std::array<std::string_view, 14> odd = {
        "0",  "-1",   "1",    "2147483647",          "2147483648",           "-9223372036854775808",
        "99", "1e9",  "1e-9", "9223372036854775807", "18446744073709551616", "nan",
        "-",  "1e999"};
    return std::string(odd[random.below(odd.size())]);
}

std::string_view textOf(const Content& content) { return {reinterpret_cast<const char*>(content.data()), content.size()}; }

} // namespace

uint64_t Random::next()
{
    m_state += 0x9e3779b97f4a7c15U;
    uint64_t z = m_state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

Content mutateBytes(const Content& source, const Content& other, Random& random)
{
    Content file = source;
    // Mostly one small change: files with many do not get far.
    for (size_t n = random.below(4) == 0 ? 3 : 1; n > 0 && !file.empty(); --n) {
        switch (random.below(16)) {
        case 0: file.resize(random.below(file.size())); break;
        case 1: splice(file, other, random); break;
        case 2: insertOrErase(file, random); break;
        case 3:
        case 4:
        case 5: flipBits(file, random); break;
        case 6:
        case 7:
        case 8: overwriteBytes(file, random); break;
        default: overwriteInteger(file, random); break;
        }
    }
    return file;
}

Content mutateText(const Content& source, const Content& other, Random& random)
{
    if (random.below(8) == 0) return mutateBytes(source, other, random);
    const bool asLines = random.below(3) == 0;
    std::vector<std::string> parts = partsOf(textOf(source), asLines), others = partsOf(textOf(other), asLines);
    if (parts.empty() || others.empty()) return source;
    for (size_t n = random.below(4) == 0 ? 3 : 1; n > 0 && !parts.empty(); --n) {
        const size_t at = random.below(parts.size()), second = random.below(parts.size());
        switch (random.below(6)) {
        case 0: parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at)); break;
        case 1: parts.insert(parts.begin() + static_cast<std::ptrdiff_t>(at), std::string(parts[second])); break;
        case 2: std::swap(parts[at], parts[second]); break;
        case 3: parts[at] = oddNumber(random) + (asLines ? "\n" : ""); break;
        default: parts[at] = others[random.below(others.size())]; break;
        }
    }
    Content text;
    for (const std::string& part : parts) {
        const auto* first = reinterpret_cast<const std::byte*>(part.data());
        text.insert(text.end(), first, first + part.size());
    }
    return text;
}

} // namespace loopscope
