// Reads a table of a FlatBuffer that stands in an operand, field by field: the engine needs a few of them, and not the library for that.
// Nothing is read beyond the buffer: a field that does not fit is none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace loopscope {

class FlatTable {
public:
    using Bytes = std::span<const std::byte>;

    /// None: the buffer is too small for one.
    static std::optional<FlatTable> root(Bytes buffer) { return follow(buffer, 0); }

    template <typename T> T number(int field, T otherwise) const
    {
        const auto at = place(field);
        const auto value = at ? load<T>(m_buffer, *at) : std::nullopt;
        return value.value_or(otherwise);
    }
    std::optional<FlatTable> table(int field) const
    {
        const auto at = place(field);
        return at ? follow(m_buffer, *at) : std::nullopt;
    }
    /// The elements of a vector, `size` bytes each; none if there is no such field.
    std::optional<Bytes> vector(int field, size_t size) const
    {
        const auto at = place(field);
        return at ? elements(m_buffer, *at, size) : std::nullopt;
    }
    /// Number `i` of a vector of strings, of which vector(field, 4) has as many as `vector` says.
    std::optional<Bytes> string(Bytes vector, size_t i) const
    {
        const auto start = static_cast<size_t>(vector.data() - m_buffer.data());
        return i < vector.size() / 4 ? elements(m_buffer, start + 4 * i, 1) : std::nullopt;
    }

private:
    FlatTable(Bytes buffer, size_t start) : m_buffer(buffer), m_start(start) {}

    template <typename T> static std::optional<T> load(Bytes buffer, size_t at)
    {
        if (at > buffer.size() || sizeof(T) > buffer.size() - at) return std::nullopt;
        T value;
        std::memcpy(&value, buffer.data() + at, sizeof value);
        return value;
    }
    static std::optional<size_t> target(Bytes buffer, size_t at)
    {
        const auto offset = load<uint32_t>(buffer, at);
        if (!offset || at + *offset > buffer.size()) return std::nullopt;
        return at + *offset;
    }
    static std::optional<FlatTable> follow(Bytes buffer, size_t at)
    {
        const auto start = target(buffer, at);
        return start && load<int32_t>(buffer, *start) ? std::optional<FlatTable>(FlatTable(buffer, *start)) : std::nullopt;
    }
    static std::optional<Bytes> elements(Bytes buffer, size_t at, size_t size)
    {
        const auto start = target(buffer, at);
        const auto count = start ? load<uint32_t>(buffer, *start) : std::nullopt;
        if (!count || *count > (buffer.size() - *start - 4) / size) return std::nullopt;
        return buffer.subspan(*start + 4, *count * size);
    }
    /// Where a field lies; none: it has its default.
    std::optional<size_t> place(int field) const
    {
        const auto back = load<int32_t>(m_buffer, m_start);
        const int64_t fields = static_cast<int64_t>(m_start) - back.value_or(0);
        if (!back || fields < 0) return std::nullopt;
        const auto bytes = load<uint16_t>(m_buffer, static_cast<size_t>(fields));
        const size_t entry = 4 + 2 * static_cast<size_t>(field);
        if (!bytes || entry + 2 > *bytes) return std::nullopt;
        const auto offset = load<uint16_t>(m_buffer, static_cast<size_t>(fields) + entry);
        if (!offset || *offset == 0) return std::nullopt;
        return m_start + *offset;
    }

    Bytes m_buffer;
    size_t m_start = 0;
};

} // namespace loopscope
