#include "converters/savedmodel/snappy.h"

#include "engine/base/memory_budget.h"

namespace loopscope::savedmodel {

namespace {

constexpr uint64_t kAskedAbove = 1 << 20; ///< plain bytes

/// The bytes of a block from the front; what is not there fails.
class Input {
public:
    explicit Input(std::string_view bytes) : m_bytes(bytes) {}
    bool ok() const { return m_ok; }
    bool empty() const { return m_bytes.empty(); }
    /// A number of `count` bytes, the lowest first.
    uint64_t number(int count)
    {
        uint64_t value = 0;
        const std::string_view bytes = take(static_cast<uint64_t>(count));
        for (size_t i = 0; i < bytes.size(); ++i) value |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
        return value;
    }
    uint64_t varint()
    {
        uint64_t value = 0;
        for (int shift = 0; shift < 35 && m_ok; shift += 7) {
            const uint64_t byte = number(1);
            value |= (byte & 0x7F) << shift;
            if ((byte & 0x80) == 0) return value;
        }
        m_ok = false;
        return 0;
    }
    std::string_view take(uint64_t count)
    {
        if (count > m_bytes.size()) {
            m_ok = false;
            return {};
        }
        const std::string_view taken = m_bytes.substr(0, count);
        m_bytes.remove_prefix(count);
        return taken;
    }

private:
    std::string_view m_bytes;
    bool m_ok = true;
};

} // namespace

Result<std::string> unpackSnappy(std::string_view block, uint64_t most)
{
    const auto damaged = [] { return Error(ErrorCode::badFile, "its compressed data is damaged"); };
    Input in(block);
    const uint64_t size = in.varint();
    if (!in.ok()) return damaged();
    if (size > most)
        return Error(ErrorCode::badFile, "its plain data is too large")
            .found(std::to_string(size))
            .expected("at most " + std::to_string(most));
    if (size > kAskedAbove) LS_CHECK_OK(checkMemory(size, "compressed data"));
    std::string out;
    while (in.ok() && !in.empty()) {
        const uint64_t tag = in.number(1);
        if ((tag & 3) == 0) { // literal: the length less one, in the tag or in one to four bytes behind it
            uint64_t length = tag >> 2;
            if (length >= 60) length = in.number(static_cast<int>(length - 59));
            const std::string_view bytes = in.take(length + 1);
            if (!in.ok() || bytes.size() > size - out.size()) return damaged();
            out += bytes;
            continue;
        }
        uint64_t length = (tag >> 2) + 1, offset = 0; // copy of what came before, which it may overlap
        if ((tag & 3) == 1) {
            length = (tag >> 2 & 7) + 4;
            offset = (tag >> 5) << 8 | in.number(1);
        } else {
            offset = in.number((tag & 3) == 2 ? 2 : 4);
        }
        if (!in.ok() || offset == 0 || offset > out.size() || length > size - out.size()) return damaged();
        for (uint64_t i = 0; i < length; ++i) out += out[out.size() - offset];
    }
    if (!in.ok() || out.size() != size) return damaged();
    return out;
}

} // namespace loopscope::savedmodel
