// Eight bytes at a time, by eight tables.
#include "converters/savedmodel/crc32c.h"

#include <array>
#include <cstring>

namespace loopscope::savedmodel {

namespace {

constexpr uint32_t kPolynomial = 0x82f63b78U; ///< reflected

constexpr std::array<std::array<uint32_t, 256>, 8> kTables = [] {
    std::array<std::array<uint32_t, 256>, 8> tables = {};
    for (uint32_t i = 0; i < 256; ++i) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
        tables[0][i] = crc;
    }
    for (size_t t = 1; t < 8; ++t)
        for (size_t i = 0; i < 256; ++i) tables[t][i] = (tables[t - 1][i] >> 8) ^ tables[0][tables[t - 1][i] & 0xFF];
    return tables;
}();

} // namespace

uint32_t crc32c(std::span<const std::byte> bytes, uint32_t crc)
{
    crc = ~crc;
    size_t at = 0;
    for (; at + 8 <= bytes.size(); at += 8) {
        uint64_t word = 0;
        std::memcpy(&word, bytes.data() + at, 8);
        word ^= crc;
        crc = 0;
        for (size_t i = 0; i < 8; ++i) crc ^= kTables[7 - i][(word >> (8 * i)) & 0xFF];
    }
    for (; at < bytes.size(); ++at) crc = (crc >> 8) ^ kTables[0][(crc ^ std::to_integer<uint32_t>(bytes[at])) & 0xFF];
    return ~crc;
}

} // namespace loopscope::savedmodel
