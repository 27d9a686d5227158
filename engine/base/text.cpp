#include "engine/base/text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>

namespace loopscope {

std::string groupThousands(int64_t value)
{
    std::string digits = std::to_string(value);
    for (auto at = static_cast<int64_t>(digits.size()) - 3; at > (value < 0 ? 1 : 0); at -= 3) digits.insert(static_cast<size_t>(at), ",");
    return digits;
}

std::string formatBytes(uint64_t bytes)
{
    if (bytes < 1024) return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
    constexpr std::array units = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double scaled = static_cast<double>(bytes) / 1024;
    size_t unit = 0;
    while (scaled >= 1024 && unit + 1 < units.size()) {
        scaled /= 1024;
        ++unit;
    }
    std::array<char, 32> text = {};
    std::snprintf(text.data(), text.size(), "%.1f %s", scaled, units[unit]);
    return text.data();
}

std::string join(std::span<const std::string> parts, std::string_view separator)
{
    std::string text;
    for (size_t i = 0; i < parts.size(); ++i) {
        if (i > 0) text += separator;
        text += parts[i];
    }
    return text;
}

int editDistance(std::string_view a, std::string_view b, int limit)
{
    const auto difference = static_cast<int64_t>(a.size()) - static_cast<int64_t>(b.size());
    if (std::abs(difference) > limit) return limit + 1;
    std::vector<int> row(b.size() + 1);
    for (size_t j = 0; j < row.size(); ++j) row[j] = static_cast<int>(j);
    for (size_t i = 1; i <= a.size(); ++i) {
        int diagonal = row[0];
        row[0] = static_cast<int>(i);
        for (size_t j = 1; j <= b.size(); ++j) {
            const int replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
        }
    }
    return std::min(row.back(), limit + 1);
}

std::vector<std::string> nearestNames(std::string_view name, std::span<const std::string> candidates)
{
    const auto lower = [](std::string_view text) {
        std::string out(text);
        std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::tolower(c); });
        return out;
    };
    const std::string wanted = lower(name);
    std::vector<std::pair<int, std::string>> found;
    const std::string* beginsWith = nullptr;
    int beginnings = 0;
    for (const std::string& candidate : candidates) {
        if (candidate == name) continue;
        // A two-letter word is within distance 2 of every other: demand that most of it agrees.
        const int limit = std::min<int>(2, static_cast<int>(std::max(name.size(), candidate.size())) / 2);
        const int distance = lower(candidate) == wanted ? 0 : editDistance(name, candidate, limit);
        if (distance <= limit) found.emplace_back(distance, candidate);
        if (!name.empty() && candidate.starts_with(name)) {
            beginsWith = &candidate;
            ++beginnings;
        }
    }
    // Of those that are as near, who begins as it does: 'Ad' is Add rather than A.
    const auto agrees = [&](const std::string& candidate) {
        return std::mismatch(name.begin(), name.end(), candidate.begin(), candidate.end()).first - name.begin();
    };
    std::stable_sort(found.begin(), found.end(), [&](const auto& l, const auto& r) {
        return l.first != r.first ? l.first < r.first : agrees(l.second) > agrees(r.second);
    });
    std::vector<std::string> names;
    for (const auto& [distance, candidate] : found) {
        if (names.size() == 3) break;
        if (std::find(names.begin(), names.end(), candidate) == names.end()) names.push_back(candidate);
    }
    if (names.empty() && beginnings == 1) names.push_back(*beginsWith);
    return names;
}

} // namespace loopscope
