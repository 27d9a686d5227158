// The 64-bit fingerprint that TensorFlow hashes strings with (FarmHash's Fingerprint64): the same on every machine and in every version.
#pragma once

#include <cstdint>
#include <string_view>

namespace loopscope {

uint64_t fingerprint64(std::string_view text);

} // namespace loopscope
