// XXH3-128 of bytes: the content key of constants, blobs and files.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace loopscope {

/// 128 bits; `high` is the leading half that text and traces show (16 hex digits).
struct Hash128 {
    uint64_t high = 0;
    uint64_t low = 0;
    auto operator<=>(const Hash128&) const = default;
};

Hash128 hashBytes(std::span<const std::byte> bytes);
/// 64-bit hash for in-memory tables and rolling digests.
uint64_t hash64(std::span<const std::byte> bytes, uint64_t seed = 0);

std::string toHex(uint64_t value);      ///< 16 lower-case digits
std::string toHex(const Hash128& hash); ///< 32 lower-case digits

} // namespace loopscope
