// The bytes of a file under import, and errors that say where in it they are.
#pragma once

#include "engine/base/bytes.h"
#include "engine/base/result.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

namespace loopscope::tflite_format {

/// "0x1a4"
std::string hexNumber(uint64_t value);

/// Element `i` of a vector that starts at `data`. Verified files may still hold 8-byte elements at addresses that are aligned to 4 only.
template <typename T> T elementAt(const uint8_t* data, size_t i)
{
    T out;
    std::memcpy(&out, data + i * sizeof(T), sizeof(T));
    return out;
}

/// The bytes of one file, and how much of them has been read. Not copyable: one per import.
class FileView {
public:
    explicit FileView(Bytes content) : m_content(std::move(content)), m_budget(16 * (m_content.size() + 4096)) {}
    FileView(const FileView&) = delete;

    const Bytes& content() const { return m_content; }
    uint64_t size() const { return m_content.size(); }
    uint64_t offsetOf(const void* inside) const { return static_cast<uint64_t>(static_cast<const std::byte*>(inside) - m_content.data()); }

    /// "at 0x1a4: WHAT"; `inside` points into the file.
    Error fault(const void* inside, std::string what, const char* file = __builtin_FILE(), int line = __builtin_LINE()) const;

    /// Accounts for `bytes` of the file turned into objects. A hostile file may point at one part from thousands of places; reading
    /// more than 16 times the file's size is refused.
    Status spend(const void* inside, uint64_t bytes);

private:
    Bytes m_content;
    uint64_t m_budget;
};

} // namespace loopscope::tflite_format
