// Numbers, texts and tensors as bytes of a message, and back. What comes from another rank is looked at before it is believed.
#pragma once

#include "engine/base/result.h"
#include "engine/tensor/tensor.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace loopscope {

/// Writes into room that is used again by the next message: a token between two ranks costs as much as a few copies of words.
class MessageWriter {
public:
    explicit MessageWriter(std::vector<std::byte>& room) : m_room(room) {}
    /// Behind `header` bytes for the transport, a multiple of 16.
    MessageWriter(std::vector<std::byte>& room, size_t header) : m_room(room), m_size(header), m_header(header)
    {
        if (m_room.size() < header) grow(0);
    }
    template <typename T> void number(T value)
    {
        static_assert(std::is_trivially_copyable_v<T>);
        if (sizeof(value) > m_room.size() - m_size) [[unlikely]]
            grow(sizeof(value));
        std::memcpy(m_room.data() + m_size, &value, sizeof(value));
        m_size += sizeof(value);
    }
    void numbers(std::span<const int64_t> values)
    {
        number(static_cast<int32_t>(values.size()));
        raw(values.data(), values.size_bytes());
    }
    void text(std::string_view value)
    {
        number(static_cast<uint64_t>(value.size()));
        raw(value.data(), value.size());
    }
    void tensor(const Tensor& tensor);
    /// The same for somebody who has nothing of this process: with what lists refer to.
    void whole(const Tensor& tensor);
    /// The message; the room may be larger.
    std::span<const std::byte> bytes() const { return std::span<const std::byte>(m_room.data(), m_size).subspan(m_header); }
    std::span<std::byte> withHeader() const { return {m_room.data(), m_size}; }

private:
    void raw(const void* data, size_t size)
    {
        if (size > m_room.size() - m_size) [[unlikely]]
            grow(size);
        if (size > 0) std::memcpy(m_room.data() + m_size, data, size);
        m_size += size;
    }
    void grow(size_t more);

    std::vector<std::byte>& m_room;
    size_t m_size = 0;
    const size_t m_header = 0;
};

/// After the first thing that is not there nothing is: `isWhole()` says so.
class MessageReader {
public:
    explicit MessageReader(std::span<const std::byte> bytes) : m_bytes(bytes) {}
    template <typename T> T number()
    {
        T value = {};
        if (const std::byte* const from = take(sizeof(T))) std::memcpy(&value, from, sizeof(T));
        return value;
    }
    void numbers(std::vector<int64_t>& values);
    std::string text();
    /// A view of the message's bytes.
    Tensor tensor()
    {
        Tensor tensor;
        this->tensor(tensor);
        return tensor;
    }
    void tensor(Tensor& tensor);
    bool isWhole() const { return m_isWhole; }

private:
    const std::byte* take(size_t size)
    {
        if (!m_isWhole || size > m_bytes.size() - m_at) {
            m_isWhole = false;
            return nullptr;
        }
        m_at += size;
        return m_bytes.data() + m_at - size;
    }
    std::span<const std::byte> m_bytes;
    size_t m_at = 0;
    bool m_isWhole = true;
};

} // namespace loopscope
