// Immutable bytes with shared ownership: a slice of a memory-mapped file or of a heap block. Copying shares, never copies bytes.
#pragma once

#include "engine/base/result.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loopscope {

/// A read-only run of bytes that keeps its backing store alive. Thread-safe to copy and read.
class Bytes {
public:
    Bytes() = default;
    Bytes(std::span<const std::byte> view, std::shared_ptr<const void> owner) : m_view(view), m_owner(std::move(owner)) {}

    /// Copies `source` into a block of its own, aligned to 64 bytes.
    static Bytes copyOf(std::span<const std::byte> source);
    static Bytes copyOf(const void* data, size_t size) { return copyOf({static_cast<const std::byte*>(data), size}); }

    const std::byte* data() const { return m_view.data(); }
    size_t size() const { return m_view.size(); }
    bool empty() const { return m_view.empty(); }
    std::span<const std::byte> view() const { return m_view; }
    /// Part of these bytes with the same owner. `offset + size` must lie within; the caller has checked it.
    Bytes slice(size_t offset, size_t size) const { return Bytes(m_view.subspan(offset, size), m_owner); }
    template <typename T> const T* as() const { return reinterpret_cast<const T*>(m_view.data()); }

private:
    std::span<const std::byte> m_view;
    std::shared_ptr<const void> m_owner;
};

/// The content of a file. Up to 64 MiB are read at once: a mapped file that another program writes anew changes under its reader, and one
/// that becomes shorter ends it. A larger file is mapped, so that it opens at once, whatever its size; it must stay as it is.
/// Errors: badFile ("no such file", "is a folder", the system's reason).
Result<Bytes> mapFile(const std::string& path);

/// Writes `content` to `path` by way of a file beside it and a rename, so that nothing half-written is ever seen.
/// An existing file is refused unless `overwrite`. Errors: cannotWrite.
Status writeFile(const std::string& path, std::span<const std::byte> content, bool overwrite);
Status writeFile(const std::string& path, std::string_view content, bool overwrite);

} // namespace loopscope
