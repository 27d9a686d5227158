#include "engine/base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace loopscope {

Hash128 hashBytes(std::span<const std::byte> bytes)
{
    const XXH128_hash_t h = XXH3_128bits(bytes.data(), bytes.size());
    return {h.high64, h.low64};
}

uint64_t hash64(std::span<const std::byte> bytes, uint64_t seed) { return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed); }

std::string toHex(uint64_t value)
{
    std::string text(16, '0');
    for (int i = 15; i >= 0; --i, value >>= 4) text[static_cast<size_t>(i)] = "0123456789abcdef"[value & 15];
    return text;
}

std::string toHex(const Hash128& hash) { return toHex(hash.high) + toHex(hash.low); }

} // namespace loopscope
