// CRC-32C (Castagnoli), which TensorFlow's checkpoints carry for every block and tensor, and the masking that they store it with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace loopscope::savedmodel {

/// The checksum of bytes that follow those with checksum `crc` (0: none).
uint32_t crc32c(std::span<const std::byte> bytes, uint32_t crc = 0);

/// As stored: rotated and offset, so that a checksum over data that holds checksums stays good.
inline uint32_t maskedCrc(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8U; }

} // namespace loopscope::savedmodel
