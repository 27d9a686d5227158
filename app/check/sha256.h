// SHA-256 (FIPS 180-4): golden cases name the digest of outputs that are too large to be stored whole.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace loopscope::app {

/// 64 lower-case hex digits.
std::string sha256Hex(std::span<const std::byte> data);

} // namespace loopscope::app
