// Reads protocol buffers field by field, for who needs a few fields of a message that stands in an attribute: whole files are read by
// libprotobuf (converters/graphdef).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace loopscope {

/// One field of a protocol buffer: a number (varint or fixed) or the bytes of a string, message or packed list.
struct WireField {
    int number = 0;
    int type = 0; ///< 0 varint, 1 64 bits, 2 bytes, 5 32 bits
    uint64_t value = 0;
    std::span<const uint8_t> bytes;
};

class WireReader {
public:
    explicit WireReader(std::span<const uint8_t> bytes) : m_bytes(bytes) {}

    bool atEnd() const { return m_bytes.empty(); }

    std::optional<uint64_t> varint()
    {
        uint64_t value = 0;
        for (int shift = 0; shift < 64 && !m_bytes.empty(); shift += 7) {
            const uint8_t byte = m_bytes.front();
            m_bytes = m_bytes.subspan(1);
            value |= uint64_t{byte & 0x7fU} << shift;
            if (byte < 0x80) return value;
        }
        return std::nullopt;
    }

    std::optional<uint64_t> fixed(size_t width)
    {
        if (m_bytes.size() < width) return std::nullopt;
        uint64_t value = 0;
        std::memcpy(&value, m_bytes.data(), width);
        m_bytes = m_bytes.subspan(width);
        return value;
    }

    std::optional<WireField> field()
    {
        const auto tag = varint();
        if (!tag || *tag >> 3 > 1'000'000) return std::nullopt;
        WireField out{static_cast<int>(*tag >> 3), static_cast<int>(*tag & 7), 0, {}};
        if (out.type == 2) {
            const auto length = varint();
            if (!length || *length > m_bytes.size()) return std::nullopt;
            out.bytes = m_bytes.subspan(0, static_cast<size_t>(*length));
            m_bytes = m_bytes.subspan(static_cast<size_t>(*length));
            return out;
        }
        const auto value = out.type == 0 ? varint() : out.type == 1 ? fixed(8) : out.type == 5 ? fixed(4) : std::nullopt;
        if (!value) return std::nullopt;
        out.value = *value;
        return out;
    }

private:
    std::span<const uint8_t> m_bytes;
};

} // namespace loopscope
