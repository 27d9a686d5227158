// Small text helpers shared by messages, printers and commands.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// "1,234,567": for prose and terminals only, never for files or pipes.
std::string groupThousands(int64_t value);
/// "12 bytes", "3.4 KiB", "52.1 MiB": powers of 1024.
std::string formatBytes(uint64_t bytes);
std::string join(std::span<const std::string> parts, std::string_view separator);

/// Number of single-character insertions, deletions and replacements between a and b, at most `limit + 1`.
int editDistance(std::string_view a, std::string_view b, int limit);
/// The names a user may have meant: edit distance ≤ 2, the same letters in other case, or the unique one that `name` begins.
/// At most three, nearest first.
std::vector<std::string> nearestNames(std::string_view name, std::span<const std::string> candidates);

} // namespace loopscope
