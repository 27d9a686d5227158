// Parsing with places in errors, and recognising files that have no mark of their own.
#include "converters/graphdef/messages.h"

#include "converters/graphdef/convert_values.h"
#include "converters/graphdef/graphdef.h"

#include <google/protobuf/arena.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/unknown_field_set.h>

#include <algorithm>
#include <array>
#include <climits>

namespace loopscope::graphdef {

namespace {

constexpr int kDeepestMessage = 100; ///< messages inside messages

constexpr uint32_t kVarint = 0;
constexpr uint32_t kFixed64 = 1;
constexpr uint32_t kLength = 2;
constexpr uint32_t kFixed32 = 5;

std::string_view textOfBytes(std::span<const std::byte> content) { return {reinterpret_cast<const char*>(content.data()), content.size()}; }

std::string hexOffset(size_t offset)
{
    constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    do {
        text.insert(text.begin(), kDigits[offset & 15]);
        offset >>= 4;
    } while (offset > 0);
    return "at 0x" + text;
}

bool isPrintableName(std::string_view text)
{
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7F; });
}

/// A NodeDef begins with its name and its operator; both are text. (A MetaInfoDef has an OpList in the operator's place.)
bool looksLikeNode(std::string_view payload)
{
    WireReader reader(payload);
    const auto name = reader.next();
    if (!name || name->number != 1 || name->wireType != kLength || !isPrintableName(name->payload)) return false;
    const auto op = reader.next();
    return op && op->number == 2 && op->wireType == kLength && isPrintableName(op->payload);
}

bool isGraphField(const WireField& field)
{
    return field.number == 3 ? field.wireType == kVarint : field.number >= 1 && field.number <= 5 && field.wireType == kLength;
}

/// The first complaint of the text parser.
class FirstError : public google::protobuf::io::ErrorCollector {
public:
    void AddError(int line, int column, const std::string& message) override
    {
        if (found) return;
        found = true;
        place = line < 0 ? std::string() : std::to_string(line + 1) + ":" + std::to_string(column + 1);
        text = message;
    }
    bool found = false;
    std::string place, text;
};

bool hasUnknownFields(const google::protobuf::Message& message)
{
    const auto* reflection = message.GetReflection();
    if (!reflection->GetUnknownFields(message).empty()) return true;
    std::vector<const google::protobuf::FieldDescriptor*> fields;
    reflection->ListFields(message, &fields);
    for (const auto* field : fields) {
        if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) continue;
        if (!field->is_repeated()) {
            if (hasUnknownFields(reflection->GetMessage(message, field))) return true;
            continue;
        }
        for (int i = 0; i < reflection->FieldSize(message, field); ++i)
            if (hasUnknownFields(reflection->GetRepeatedMessage(message, field, i))) return true;
    }
    return false;
}

} // namespace

std::optional<uint64_t> WireReader::varint(size_t& at) const
{
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && at < m_bytes.size(); shift += 7) {
        const auto byte = static_cast<unsigned char>(m_bytes[at++]);
        value |= static_cast<uint64_t>(byte & 0x7F) << shift;
        if ((byte & 0x80) == 0) return value;
    }
    return std::nullopt;
}

std::optional<WireField> WireReader::next()
{
    size_t at = m_at;
    const auto tag = varint(at);
    if (!tag || *tag > UINT32_MAX || *tag < 8) return std::nullopt;
    WireField field;
    field.number = static_cast<uint32_t>(*tag >> 3);
    field.wireType = static_cast<uint32_t>(*tag & 7);
    size_t size = 0;
    switch (field.wireType) {
    case kVarint:
        if (!varint(at)) return std::nullopt;
        break;
    case kFixed64: size = 8; break;
    case kFixed32: size = 4; break;
    case kLength: {
        const auto length = varint(at);
        if (!length || *length > m_bytes.size() - at) return std::nullopt;
        size = static_cast<size_t>(*length);
        field.payload = m_bytes.substr(at, size);
        break;
    }
    default: return std::nullopt;
    }
    if (size > m_bytes.size() - at) return std::nullopt;
    m_at = at + size;
    return field;
}

Status parseBinary(google::protobuf::Message& message, std::span<const std::byte> content)
{
    silenceProtobuf();
    if (content.size() > INT_MAX)
        return Error(ErrorCode::badFile, "a protobuf message is at most 2 GiB long").found(std::to_string(content.size()) + " bytes");
    google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(content.data()), static_cast<int>(content.size()));
    stream.SetRecursionLimit(kDeepestMessage);
    if (message.ParsePartialFromCodedStream(&stream) && stream.ConsumedEntireMessage()) return {};
    // The library does not say where. The first field that is not whole does, or else the first that does not parse alone.
    WireReader reader(textOfBytes(content));
    while (!reader.atEnd()) {
        const size_t offset = reader.offset();
        const auto field = reader.next();
        if (!field) return Error(ErrorCode::badFile, "the message is cut off or damaged").at(hexOffset(offset));
        const std::string_view one = textOfBytes(content).substr(offset, reader.offset() - offset);
        const std::unique_ptr<google::protobuf::Message> part(message.New());
        google::protobuf::io::CodedInputStream alone(reinterpret_cast<const uint8_t*>(one.data()), static_cast<int>(one.size()));
        alone.SetRecursionLimit(kDeepestMessage);
        if (part->ParsePartialFromCodedStream(&alone) && alone.ConsumedEntireMessage()) continue;
        return Error(ErrorCode::badFile,
                     "field " + std::to_string(field->number) + " of the message is damaged, nested too deeply, or its text is not UTF-8")
            .at(hexOffset(offset));
    }
    return Error(ErrorCode::badFile, "the message is damaged");
}

bool readsBack(const google::protobuf::Message& message, std::string_view bytes)
{
    silenceProtobuf();
    google::protobuf::Arena arena;
    google::protobuf::Message* again = message.New(&arena);
    google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size()));
    stream.SetRecursionLimit(kDeepestMessage);
    return again->MergePartialFromCodedStream(&stream) && stream.ConsumedEntireMessage();
}

Status parseText(google::protobuf::Message& message, std::span<const std::byte> content, UnknownNames unknown)
{
    silenceProtobuf();
    if (content.size() > INT_MAX)
        return Error(ErrorCode::badFile, "a protobuf text is at most 2 GiB long").found(std::to_string(content.size()) + " bytes");
    FirstError errors;
    google::protobuf::TextFormat::Parser parser;
    parser.RecordErrorsTo(&errors);
    parser.SetRecursionLimit(kDeepestMessage);
    parser.AllowPartialMessage(true);
    parser.AllowUnknownField(unknown == UnknownNames::skip);
    google::protobuf::io::ArrayInputStream stream(content.data(), static_cast<int>(content.size()));
    if (parser.Parse(&stream, &message) && !errors.found) {
        // Text may hold bytes where names must be UTF-8; the binary form may not.
        if (readsBack(message, message.SerializePartialAsString())) return {};
        return Error(ErrorCode::badFile, "a name or text in it is not UTF-8");
    }
    Error error(ErrorCode::badFile, errors.text.empty() ? std::string("the text cannot be read") : errors.text);
    return errors.place.empty() ? std::move(error) : std::move(error).at(errors.place);
}

Result<std::string> textOf(const google::protobuf::Message& message)
{
    silenceProtobuf();
    if (hasUnknownFields(message))
        return Error(ErrorCode::unsupported, "fields without a name cannot be written as text; write the binary form");
    google::protobuf::TextFormat::Printer printer;
    printer.SetUseUtf8StringEscaping(true);
    std::string text;
    if (!printer.PrintToString(message, &text)) return Error(ErrorCode::internal, "the message cannot be written as text");
    return text;
}

TextKind textKind(std::span<const std::byte> content)
{
    std::string_view text = textOfBytes(content);
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    for (;;) {
        const size_t begin = text.find_first_not_of(" \t\r\n");
        if (begin == std::string_view::npos) return TextKind::none;
        text.remove_prefix(begin);
        if (text.front() != '#') break;
        text.remove_prefix(std::min(text.find('\n'), text.size()));
    }
    const size_t end = std::min(text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), text.size());
    const std::string_view word = text.substr(0, end);
    const size_t after = text.find_first_not_of(" \t\r\n", end);
    if (after == std::string_view::npos || (text[after] != '{' && text[after] != ':' && text[after] != '<')) return TextKind::none;
    const auto among = [&](std::span<const std::string_view> words) { return std::ranges::find(words, word) != words.end(); };
    constexpr std::array<std::string_view, 5> kGraph = {"node", "versions", "version", "library", "debug_info"};
    constexpr std::array<std::string_view, 7> kMeta = {"meta_info_def", "graph_def",      "saver_def",       "collection_def",
                                                       "signature_def", "asset_file_def", "object_graph_def"};
    constexpr std::array<std::string_view, 2> kSaved = {"saved_model_schema_version", "meta_graphs"};
    if (among(kGraph)) return TextKind::graphDef;
    if (among(kMeta)) return TextKind::metaGraph;
    return among(kSaved) ? TextKind::savedModel : TextKind::none;
}

} // namespace loopscope::graphdef

namespace loopscope {

using graphdef::TextKind;
using graphdef::WireReader;

bool looksLikeGraphDef(std::span<const std::byte> content)
{
    // Files may be cut off: only the beginning must be right. A graph may begin with its library or versions, then all of it must fit.
    WireReader reader(graphdef::textOfBytes(content));
    for (int fields = 0; fields < 64 && !reader.atEnd(); ++fields) {
        const auto field = reader.next();
        if (!field || !graphdef::isGraphField(*field)) return false;
        if (field->number == 1) return graphdef::looksLikeNode(field->payload);
        if (field->number == 2 && field->payload.starts_with('\n') && looksLikeGraphDef(std::as_bytes(std::span(field->payload))))
            return false; // a MetaGraphDef without its info
    }
    return reader.atEnd() && !content.empty();
}

bool looksLikeMetaGraph(std::span<const std::byte> content)
{
    WireReader reader(graphdef::textOfBytes(content));
    for (int fields = 0; fields < 64 && !reader.atEnd(); ++fields) {
        const auto field = reader.next();
        if (!field || field->wireType != graphdef::kLength || field->number == 0 || field->number > 7) return false;
        if (field->number == 1 && graphdef::looksLikeNode(field->payload)) return false;
        if (field->number == 2) return looksLikeGraphDef(std::as_bytes(std::span(field->payload)));
    }
    return false;
}

bool looksLikeGraphDefText(std::span<const std::byte> content)
{
    const TextKind kind = graphdef::textKind(content);
    return kind == TextKind::graphDef || kind == TextKind::metaGraph;
}

bool looksLikeSavedModel(std::span<const std::byte> content)
{
    if (graphdef::textKind(content) == TextKind::savedModel) return true;
    WireReader reader(graphdef::textOfBytes(content));
    const auto version = reader.next();
    if (!version || version->number != 1 || version->wireType != graphdef::kVarint) return false;
    const auto graph = reader.next();
    if (!graph || graph->number != 2 || graph->wireType != graphdef::kLength) return false;
    const auto first = WireReader(graph->payload).next();
    return first && first->number >= 1 && first->number <= 7 && first->wireType == graphdef::kLength;
}

} // namespace loopscope
