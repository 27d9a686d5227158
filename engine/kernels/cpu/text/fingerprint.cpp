#include "engine/kernels/cpu/text/fingerprint.h"

#include <bit>
#include <cstring>
#include <utility>

namespace loopscope {

namespace {

constexpr uint64_t k0 = 0xc3a5c85c97cb3127ULL, k1 = 0xb492b66fbe98f273ULL, k2 = 0x9ae16a3b2f90404fULL;

uint64_t word(const char* at)
{
    uint64_t value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
}

uint64_t shortWord(const char* at)
{
    uint32_t value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
}

uint64_t fold(uint64_t value) { return value ^ (value >> 47); }

uint64_t mix(uint64_t u, uint64_t v, uint64_t multiplier)
{
    const uint64_t a = fold((u ^ v) * multiplier);
    return fold((v ^ a) * multiplier) * multiplier;
}

/// Two numbers of the hash of a long text, and 32 bytes of it.
std::pair<uint64_t, uint64_t> mixBlock(const char* at, uint64_t a, uint64_t b)
{
    a += word(at);
    b = std::rotr(b + a + word(at + 24), 21);
    const uint64_t c = a;
    a += word(at + 8) + word(at + 16);
    b += std::rotr(a, 44);
    return {a + word(at + 24), b + c};
}

uint64_t ofUpTo16(const char* s, uint64_t length)
{
    const uint64_t multiplier = k2 + length * 2;
    if (length >= 8) {
        const uint64_t a = word(s) + k2, b = word(s + length - 8);
        return mix(std::rotr(b, 37) * multiplier + a, (std::rotr(a, 25) + b) * multiplier, multiplier);
    }
    if (length >= 4) return mix(length + (shortWord(s) << 3), shortWord(s + length - 4), multiplier);
    if (length == 0) return k2;
    const auto byte = [&](uint64_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(s[i])); };
    const uint32_t y = byte(0) + (byte(length >> 1) << 8);
    const auto z = static_cast<uint32_t>(length + (byte(length - 1) << 2));
    return fold(y * k2 ^ z * k0) * k2;
}

uint64_t ofUpTo32(const char* s, uint64_t length)
{
    const uint64_t multiplier = k2 + length * 2;
    const uint64_t a = word(s) * k1, b = word(s + 8), c = word(s + length - 8) * multiplier, d = word(s + length - 16) * k2;
    return mix(std::rotr(a + b, 43) + std::rotr(c, 30) + d, a + std::rotr(b + k2, 18) + c, multiplier);
}

uint64_t ofUpTo64(const char* s, uint64_t length)
{
    const uint64_t multiplier = k2 + length * 2;
    const uint64_t a = word(s) * k2, b = word(s + 8), c = word(s + length - 8) * multiplier, d = word(s + length - 16) * k2;
    const uint64_t y = std::rotr(a + b, 43) + std::rotr(c, 30) + d;
    const uint64_t z = mix(y, a + std::rotr(b + k2, 18) + c, multiplier);
    const uint64_t e = word(s + 16) * multiplier, f = word(s + 24);
    const uint64_t g = (y + word(s + length - 32)) * multiplier, h = (z + word(s + length - 24)) * multiplier;
    return mix(std::rotr(e + f, 43) + std::rotr(g, 30) + h, e + std::rotr(f + a, 18) + g, multiplier);
}

} // namespace

uint64_t fingerprint64(std::string_view text)
{
    const char* s = text.data();
    const uint64_t length = text.size();
    if (length <= 16) return ofUpTo16(s, length);
    if (length <= 32) return ofUpTo32(s, length);
    if (length <= 64) return ofUpTo64(s, length);
    constexpr uint64_t kSeed = 81;
    uint64_t x = kSeed * k2 + word(s), y = kSeed * k1 + 113, z = fold(y * k2 + 113) * k2;
    std::pair<uint64_t, uint64_t> v, w;
    const auto round = [&](uint64_t multiplier, uint64_t scale) {
        x = std::rotr(x + y + v.first + word(s + 8), 37) * multiplier;
        y = std::rotr(y + v.second + word(s + 48), 42) * multiplier;
        x ^= w.second * scale;
        y += v.first * scale + word(s + 40);
        z = std::rotr(z + w.first, 33) * multiplier;
        v = mixBlock(s, v.second * multiplier, x + w.first);
        w = mixBlock(s + 32, z + w.second, y + word(s + 16));
        std::swap(z, x);
    };
    const char* const end = s + (length - 1) / 64 * 64; // blocks of 64 but the last, which is the last 64 bytes
    for (; s != end; s += 64) round(k1, 1);
    s = text.data() + length - 64;
    const uint64_t multiplier = k1 + ((z & 255) << 1);
    w.first += (length - 1) & 63;
    v.first += w.first;
    w.first += v.first;
    round(multiplier, 9);
    return mix(mix(v.first, w.first, multiplier) + fold(y) * k0 + z, mix(v.second, w.second, multiplier) + x, multiplier);
}

} // namespace loopscope
