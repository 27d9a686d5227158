// Bytes that a Circle file stores with Huffman codes.
#pragma once

#include "engine/base/bytes.h"
#include "engine/base/result.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace loopscope {

/// Decodes `count` bytes. Layout (ONE luci/pass/src/helpers/HuffmanEncoder.h): the sizes of tree and data in bits, 8 bytes each, little
/// endian; then bits, the highest of a byte first: the tree from its root (1: two branches follow, that of code 0 first; 0: a leaf, its
/// byte follows), then one code for each byte. A tree that is one leaf has an empty code. Errors: badFile.
Result<Bytes> decodeHuffman(std::span<const std::byte> stored, uint64_t count);

} // namespace loopscope
