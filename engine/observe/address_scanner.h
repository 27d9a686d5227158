// Reads an address character by character, left to right. Shared by addresses, patterns and iteration sets; not for other layers.
#pragma once

#include "engine/base/result.h"
#include "engine/observe/address.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace loopscope {

class AddressScanner {
public:
    explicit AddressScanner(std::string_view text) : m_text(text) {}

    size_t position() const { return m_at; }
    void seek(size_t position) { m_at = position; }
    bool atEnd() const { return m_at == m_text.size(); }
    char peek() const { return atEnd() ? '\0' : m_text[m_at]; }
    bool atDigit() const { return peek() >= '0' && peek() <= '9'; }
    bool startsWith(std::string_view word) const { return m_text.substr(m_at).starts_with(word); }
    bool accept(std::string_view word)
    {
        if (!startsWith(word)) return false;
        m_at += word.size();
        return true;
    }
    std::string_view text() const { return m_text; }

    /// Decimal digits. Errors: usage.
    Result<int64_t> number();
    /// The longest run of name characters and %HH (and `*`, where `wildcards`), unescaped; may be empty. A wildcard becomes the byte
    /// 0x01 there, so that an escaped `%2A` stays a star.
    Result<std::string> name(bool keepSlash, bool wildcards);

    /// What stands at the position, for messages: `'@'`, or "the end".
    std::string found() const;
    /// Error with the column of `at`, counted from 1.
    Error error(size_t at, std::string what) const;

private:
    std::string_view m_text;
    size_t m_at = 0;
};

Result<IterationSet> scanIterations(AddressScanner& in);

} // namespace loopscope
