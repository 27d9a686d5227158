// Whole files as messages: reading binary and text with errors that say where, and telling the kinds of files apart. Inside of
// converters/graphdef and converters/savedmodel only.
#pragma once

#include "engine/base/bytes.h"
#include "engine/base/result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace google::protobuf {
class Message;
}

namespace loopscope::graphdef {

/// One field on the wire.
struct WireField {
    uint32_t number = 0;
    uint32_t wireType = 0;
    std::string_view payload; ///< of length-delimited fields
};

/// Reads the fields of a message one after another.
class WireReader {
public:
    explicit WireReader(std::string_view bytes) : m_bytes(bytes) {}
    bool atEnd() const { return m_at == m_bytes.size(); }
    size_t offset() const { return m_at; }
    /// None if no whole field follows; the offset is then that of the field. Groups are not read.
    std::optional<WireField> next();

private:
    std::optional<uint64_t> varint(size_t& at) const;
    std::string_view m_bytes;
    size_t m_at = 0;
};

/// Reads a binary message. Errors: badFile, with the offset of the field that does not fit.
Status parseBinary(google::protobuf::Message& message, std::span<const std::byte> content);
/// Whether bytes that a message of this type was written to (at most 2 GiB) can be read again: names that are not UTF-8 cannot.
bool readsBack(const google::protobuf::Message& message, std::string_view bytes);

/// What becomes of names in a text that the message does not have.
enum class UnknownNames : uint8_t { refuse, skip };
/// Reads the text form. Errors: badFile, `LINE:COLUMN: …`.
Status parseText(google::protobuf::Message& message, std::span<const std::byte> content, UnknownNames unknown = UnknownNames::refuse);
/// Writes the text form. Errors: unsupported (unknown fields, which text has no names for).
Result<std::string> textOf(const google::protobuf::Message& message);

/// Kinds of messages that a text begins with.
enum class TextKind : uint8_t { none, graphDef, metaGraph, savedModel };
TextKind textKind(std::span<const std::byte> content);

} // namespace loopscope::graphdef
