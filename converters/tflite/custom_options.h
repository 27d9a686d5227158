// Custom options: FlexBuffer maps as attribute values. The reader is our own because it meets hostile bytes; it knows just the forms
// that the encoder writes, since anything else stays raw bytes anyway.
#pragma once

#include "engine/ir/attribute.h"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace loopscope {

/// The bytes as an AttributeMap if they are a FlexBuffer map that encodes back to the same bytes, else as HexBytes.
Attribute decodeCustomOptions(std::span<const std::byte> bytes);

/// The bytes of an AttributeMap or of HexBytes; none if the value holds something that FlexBuffers cannot say.
/// Keys are written in the order of the map. Floats that a 32-bit float says exactly, or in the same shortest digits, take 32 bits.
std::optional<std::vector<std::byte>> encodeCustomOptions(const Attribute& value);

} // namespace loopscope
