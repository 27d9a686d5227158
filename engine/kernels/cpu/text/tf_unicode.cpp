// Kernels of TensorFlow's operators on Unicode text: core/kernels/unicode_ops.cc. Malformed UTF-8 counts one error for each maximal
// part of a character, as ICU does.
#include "engine/kernels/cpu/text/utf8_characters.h"
#include "engine/kernels/cpu/tf_support.h"
#include "engine/tensor/strings.h"

#include <algorithm>
#include <array>

using namespace loopscope;

namespace {

enum class TextEncoding { utf8, utf16, utf32, latin1, ascii };

Result<TextEncoding> encodingOf(std::string_view name)
{
    if (name == "UTF-8" || name == "UTF8" || name == "utf-8") return TextEncoding::utf8;
    if (name == "UTF-16-BE" || name == "UTF-16BE") return TextEncoding::utf16;
    if (name == "UTF-32-BE" || name == "UTF-32BE") return TextEncoding::utf32;
    if (name == "ISO-8859-1" || name == "latin1") return TextEncoding::latin1;
    if (name == "US-ASCII" || name == "ASCII") return TextEncoding::ascii;
    return invalidArgument("Could not create converter for input encoding: " + std::string(name));
}

TextCharacter readUtf16(std::string_view text)
{
    const auto unit = [&](size_t i) { return (uint32_t{static_cast<uint8_t>(text[i])} << 8) | static_cast<uint8_t>(text[i + 1]); };
    if (text.size() < 2) return {0, text.size(), true};
    const uint32_t first = unit(0);
    if (first < 0xd800 || first > 0xdfff) return {first, 2};
    if (first > 0xdbff || text.size() < 4) return {0, 2, true};
    const uint32_t second = unit(2);
    if (second < 0xdc00 || second > 0xdfff) return {0, 2, true};
    return {0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00), 4};
}

TextCharacter readUtf32(std::string_view text)
{
    if (text.size() < 4) return {0, text.size(), true};
    uint32_t code = 0;
    for (size_t i = 0; i < 4; ++i) code = (code << 8) | static_cast<uint8_t>(text[i]);
    return {code, 4, code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)};
}

TextCharacter readCharacter(TextEncoding encoding, std::string_view text)
{
    switch (encoding) {
    case TextEncoding::utf8: return readUtf8(text);
    case TextEncoding::utf16: return readUtf16(text);
    case TextEncoding::utf32: return readUtf32(text);
    case TextEncoding::latin1: return {static_cast<uint8_t>(text[0]), 1};
    case TextEncoding::ascii: return {static_cast<uint8_t>(text[0]), 1, static_cast<uint8_t>(text[0]) > 0x7f};
    }
    return {};
}

void writeCharacter(TextEncoding encoding, uint32_t code, std::string& out)
{
    const auto put = [&out](uint32_t byte) { out += static_cast<char>(static_cast<uint8_t>(byte)); };
    if (encoding == TextEncoding::utf32) {
        for (const int shift : {24, 16, 8, 0}) put(code >> shift & 0xff);
    } else if (encoding == TextEncoding::utf16) {
        const auto unit = [&](uint32_t value) {
            put(value >> 8);
            put(value & 0xff);
        };
        if (code >= 0x10000) unit(0xd800 + ((code - 0x10000) >> 10));
        unit(code >= 0x10000 ? 0xdc00 + ((code - 0x10000) & 0x3ff) : code);
    } else if (code < 0x80) {
        put(code);
    } else if (code < 0x800) {
        put(0xc0 | code >> 6);
        put(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        put(0xe0 | code >> 12);
        put(0x80 | (code >> 6 & 0x3f));
        put(0x80 | (code & 0x3f));
    } else {
        put(0xf0 | code >> 18);
        for (const int shift : {12, 6, 0}) put(0x80 | (code >> shift & 0x3f));
    }
}

/// What to do with what is malformed, and with control characters.
struct TextErrors {
    bool strict = false, ignore = false, replaceControls = false;
    uint32_t replacement = 0xfffd;

    static TextErrors of(const KernelArgs& args)
    {
        const AttributeList& attributes = attributesOf(args);
        const std::string_view mode = attributeString(attributes, "errors", "replace");
        return {mode == "strict", mode == "ignore", attributeBool(attributes, "replace_control_characters", false),
                static_cast<uint32_t>(attributeInt(attributes, "replacement_char", 0xfffd))};
    }
};

/// Calls found(code, offset) for the characters that are left. Errors: InvalidArgument for what is malformed, where that is asked for.
template <typename F> Status eachCharacter(TextEncoding encoding, const TextErrors& errors, std::string_view text, F&& found)
{
    for (size_t at = 0; at < text.size();) {
        const TextCharacter c = readCharacter(encoding, text.substr(at));
        if (c.isMalformed && errors.strict) return invalidArgument("Invalid formatting on input string");
        const bool replaced = c.isMalformed || (errors.replaceControls && c.code <= 0x1f);
        if (!replaced || !errors.ignore) found(replaced ? errors.replacement : c.code, at);
        at += std::max<size_t>(c.bytes, 1);
    }
    return {};
}

template <bool hasOffsets> Status runUnicodeDecode(const KernelArgs& args)
{
    LS_TRY(const TextEncoding encoding, encodingOf(attributeString(attributesOf(args), "input_encoding", "UTF-8")));
    const TextErrors errors = TextErrors::of(args);
    LS_TRY(const auto strings, readStrings(args.in(0)));
    std::vector<int64_t> splits = {0}, offsets;
    std::vector<uint32_t> codes;
    for (const std::string_view text : strings) {
        LS_CHECK_OK(eachCharacter(encoding, errors, text, [&](uint32_t code, size_t at) {
            codes.push_back(code);
            offsets.push_back(static_cast<int64_t>(at));
        }));
        splits.push_back(static_cast<int64_t>(codes.size()));
    }
    LS_CHECK_OK(tfAllocate(args, 0, Shape({static_cast<int64_t>(splits.size())})));
    LS_CHECK_OK(tfAllocate(args, 1, Shape({static_cast<int64_t>(codes.size())})));
    for (size_t i = 0; i < splits.size(); ++i)
        if (args.out(0).dtype == DType::i64) args.out(0).as<int64_t>()[i] = splits[i];
        else args.out(0).as<int32_t>()[i] = static_cast<int32_t>(splits[i]);
    for (size_t i = 0; i < codes.size(); ++i) args.out(1).as<int32_t>()[i] = static_cast<int32_t>(codes[i]);
    if constexpr (hasOffsets) {
        LS_CHECK_OK(tfAllocate(args, 2, Shape({static_cast<int64_t>(codes.size())})));
        std::ranges::copy(offsets, args.out(2).as<int64_t>());
    }
    return {};
}

Status runUnicodeEncode(const KernelArgs& args)
{
    LS_TRY(const TextEncoding encoding, encodingOf(attributeString(attributesOf(args), "output_encoding", "UTF-8")));
    const TextErrors errors = TextErrors::of(args);
    const std::vector<int64_t> codes = tfIntegers(args.in(0)), splits = tfIntegers(args.in(1));
    if (splits.empty()) return invalidArgument("Input_splits should contain elements, but given input_values has 0 elements");
    if (splits.front() != 0) return invalidArgument("First value in input_splits must be zero.");
    for (size_t i = 1; i < splits.size(); ++i)
        if (splits[i] < splits[i - 1]) return invalidArgument("Values in input_splits must be equal or in ascending order.");
    if (splits.back() != static_cast<int64_t>(codes.size()))
        return invalidArgument("Last value in input_splits must be equal to num_values: " + std::to_string(codes.size()));
    std::vector<std::string> rows(splits.size() - 1);
    for (size_t row = 0; row + 1 < splits.size(); ++row)
        for (int64_t i = splits[row]; i < splits[row + 1]; ++i) {
            const int64_t code = codes[static_cast<size_t>(i)];
            const bool isCharacter = code >= 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
            if (!isCharacter && errors.strict) return invalidArgument("Code point is out of range for Unicode, or is a surrogate.");
            if (isCharacter || !errors.ignore)
                writeCharacter(encoding, isCharacter ? static_cast<uint32_t>(code) : errors.replacement, rows[row]);
        }
    const std::vector<std::string_view> views(rows.begin(), rows.end());
    return writeStrings(*args.runtime, args.out(0), Shape({static_cast<int64_t>(rows.size())}), views);
}

Status runUnicodeTranscode(const KernelArgs& args)
{
    LS_TRY(const TextEncoding from, encodingOf(attributeString(attributesOf(args), "input_encoding", "UTF-8")));
    LS_TRY(const TextEncoding to, encodingOf(attributeString(attributesOf(args), "output_encoding", "UTF-8")));
    const TextErrors errors = TextErrors::of(args);
    LS_TRY(const auto strings, readStrings(args.in(0)));
    std::vector<std::string> results(strings.size());
    for (size_t i = 0; i < strings.size(); ++i)
        LS_CHECK_OK(eachCharacter(from, errors, strings[i], [&](uint32_t code, size_t) { writeCharacter(to, code, results[i]); }));
    const std::vector<std::string_view> views(results.begin(), results.end());
    return writeStrings(*args.runtime, args.out(0), args.in(0).shape, views);
}

} // namespace

LS_TF_KERNEL(UnicodeDecode, runUnicodeDecode<false>, "str")
LS_TF_KERNEL(UnicodeDecodeWithOffsets, runUnicodeDecode<true>, "str")
LS_TF_KERNEL(UnicodeEncode, runUnicodeEncode, "i32")
LS_TF_KERNEL(UnicodeTranscode, runUnicodeTranscode, "str")
