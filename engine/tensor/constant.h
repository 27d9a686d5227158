// The data of a constant: mapped or owned bytes, their content hash, and, where the file has it, a sparse layout or a place in an
// external weight file.
#pragma once

#include "engine/base/bytes.h"
#include "engine/base/hash.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace loopscope {

/// One stored dimension of a sparse tensor.
struct SparseDimension {
    bool compressed = false;                ///< csr; else dense
    int32_t denseSize = 0;                  ///< dense
    std::vector<int32_t> segments, indices; ///< csr
    bool operator==(const SparseDimension&) const = default;
};

/// TFLite's sparse layout (TACO-like): traversal order, optional blocks, one entry per stored dimension.
struct Sparsity {
    std::vector<int32_t> traversalOrder;
    std::vector<int32_t> blockMap;
    std::vector<SparseDimension> dimensions;
    bool operator==(const Sparsity&) const = default;
};

/// Immutable; shared between values by shared_ptr. The hash is computed when first asked for (that reads a mapped file).
class Constant {
public:
    explicit Constant(Bytes bytes) : m_bytes(std::move(bytes)), m_size(m_bytes->size()) {}
    /// Known by hash and size only: its data is not in the file that was read.
    Constant(std::string hexHash, uint64_t size) : m_size(size), m_hex(std::move(hexHash)) {}
    /// Lies in an external buffer (`external N` in text).
    static std::shared_ptr<Constant> external(int32_t number);

    bool hasBytes() const { return m_bytes.has_value(); }
    const Bytes& bytes() const { return *m_bytes; } ///< only if hasBytes()
    uint64_t size() const { return m_size; }
    int32_t externalBuffer() const { return m_external; } ///< −1 if none
    /// 16 or 32 hex digits, as the text had them; computed from the bytes where they are known. Thread-safe.
    std::string hexHash() const;

    std::optional<Sparsity> sparsity; ///< set before the constant is shared

    /// Same content: bytes where both have them, else hash and size.
    bool sameContent(const Constant& other) const;

private:
    std::optional<Bytes> m_bytes;
    uint64_t m_size = 0;
    int32_t m_external = -1;
    mutable std::once_flag m_hashed;
    mutable std::string m_hex;
};

using ConstantPtr = std::shared_ptr<const Constant>;

} // namespace loopscope
