// Kernels of TensorFlow's operators that take text and bytes apart: core/kernels/decode_csv_op.cc, string_split_op.cc, decode_raw_op.cc,
// base64_ops.cc.
#include "engine/kernels/cpu/text/tf_number.h"
#include "engine/kernels/cpu/tf_assets.h"

#include <algorithm>
#include <bit>

using namespace loopscope;

namespace {

struct CsvRules {
    char delimiter = ',';
    bool quotes = true;
    std::string missing; ///< text of a field that counts as empty
};

/// The fields of one record. Errors: InvalidArgument.
Result<std::vector<std::string>> fieldsOf(std::string_view record, const CsvRules& rules)
{
    std::vector<std::string> fields;
    const auto endsLine = [](char c) { return c == '\n' || c == '\r'; };
    for (size_t at = 0; at < record.size();) {
        if (endsLine(record[at])) { // before a field it does not count
            ++at;
            continue;
        }
        std::string& field = fields.emplace_back();
        if (rules.quotes && record[at] == '"') {
            for (++at; at < record.size(); ++at) {
                if (record[at] != '"') field += record[at];
                else if (at + 1 < record.size() && record[at + 1] == '"') field += record[at++];
                else break;
            }
            if (at >= record.size()) return invalidArgument("Quoted field has to end with quote followed by delim or end");
            if (++at < record.size() && record[at] != rules.delimiter)
                return invalidArgument("Quote inside a string has to be escaped by another quote");
        } else {
            for (; at < record.size() && record[at] != rules.delimiter; ++at) {
                if (endsLine(record[at]) || (rules.quotes && record[at] == '"'))
                    return invalidArgument("Unquoted fields cannot have quotes/CRLFs inside");
                field += record[at];
            }
        }
        ++at; // the delimiter
    }
    if (record.ends_with(rules.delimiter)) fields.emplace_back();
    return fields;
}

/// Column k of all records becomes result k; a field that is empty, or na_value, is the column's default.
Status runDecodeCsv(const KernelArgs& args)
{
    LS_TRY(const auto records, readStrings(args.in(0)));
    const AttributeList& attributes = attributesOf(args);
    CsvRules rules;
    const std::string_view delimiter = attributeString(attributes, "field_delim", ",");
    if (delimiter.size() != 1) return invalidArgument("field_delim should be only 1 char");
    rules.delimiter = delimiter[0];
    rules.quotes = attributeBool(attributes, "use_quote_delim", true);
    rules.missing = attributeString(attributes, "na_value", "");
    std::vector<int64_t> columns = attributeInts(attributes, "select_cols");
    const bool selects = !columns.empty();
    for (int k = 0; k < args.outputCount && !selects; ++k) columns.push_back(k);
    if (static_cast<int>(columns.size()) != args.outputCount) return invalidArgument("select_cols should match output size");
    std::vector<std::vector<std::string>> rows;
    for (size_t r = 0; r < records.size(); ++r) {
        LS_TRY(std::vector<std::string> fields, fieldsOf(records[r], rules));
        if (!selects && static_cast<int>(fields.size()) != args.outputCount)
            return invalidArgument("Expect " + std::to_string(args.outputCount) + " fields but have " + std::to_string(fields.size()) +
                                   " in record " + std::to_string(r));
        for (const int64_t column : columns)
            if (column < 0 || column >= static_cast<int64_t>(fields.size()))
                return invalidArgument("Expect " + std::to_string(columns.size()) + " fields but have " + std::to_string(fields.size()) +
                                       " in record " + std::to_string(r));
        rows.push_back(std::move(fields));
    }
    for (int k = 0; k < args.outputCount; ++k) {
        const Tensor& otherwise = args.in(k + 1);
        if (otherwise.elementCount() > 1)
            return invalidArgument("There should only be 1 default per field but field " + std::to_string(k) + " has " +
                                   std::to_string(otherwise.elementCount()));
        const auto fieldOf = [&](size_t r) -> const std::string& { return rows[r][static_cast<size_t>(columns[static_cast<size_t>(k)])]; };
        const auto isMissing = [&](const std::string& field) { return field.empty() || field == rules.missing; };
        for (size_t r = 0; r < rows.size(); ++r)
            if (isMissing(fieldOf(r)) && otherwise.elementCount() == 0)
                return invalidArgument("Field " + std::to_string(k) + " is required but missing in record " + std::to_string(r) + "!");
        if (otherwise.dtype == DType::string) {
            LS_TRY(const auto defaults, readStrings(otherwise));
            std::vector<std::string_view> texts;
            for (size_t r = 0; r < rows.size(); ++r) texts.push_back(isMissing(fieldOf(r)) ? defaults[0] : std::string_view(fieldOf(r)));
            LS_CHECK_OK(writeStrings(*args.runtime, args.out(k), args.in(0).shape, texts));
            continue;
        }
        LS_CHECK_OK(tfAllocate(args, k, args.in(0).shape));
        LS_CHECK_OK((forDType<TypeList<float, double, int32_t, int64_t>>(otherwise.dtype, [&]<typename T>() -> Status {
            for (size_t r = 0; r < rows.size(); ++r) {
                const std::optional<T> number = isMissing(fieldOf(r)) ? *otherwise.as<T>() : tfNumber<T>(fieldOf(r));
                if (!number)
                    return invalidArgument("Field " + std::to_string(k) + " in record " + std::to_string(r) + " is not a valid " +
                                           std::string(tfTypeName(otherwise.dtype)) + ": " + fieldOf(r));
                args.out(k).as<T>()[r] = *number;
            }
            return {};
        })));
    }
    return {};
}

/// The pieces of each string as a sparse tensor: [string, piece]. An empty separator means white space; a maxsplit below 0 is no limit.
Status runStringSplit(const KernelArgs& args)
{
    LS_TRY(const auto strings, readStrings(args.in(0)));
    LS_TRY(const auto separators, readStrings(args.in(1)));
    if (args.in(0).shape.rank() != 1) return invalidArgument("input must be a vector, got shape: " + toString(args.in(0).shape));
    if (args.in(1).shape.rank() != 0) return invalidArgument("sep must be a scalar, got shape: " + toString(args.in(1).shape));
    const std::string_view separator = separators[0];
    const int64_t most = attributeInt(attributesOf(args), "maxsplit", -1);
    std::vector<std::string_view> pieces;
    std::vector<int64_t> places;
    int64_t longest = 0;
    constexpr std::string_view kSpace = " \t\n\v\f\r";
    for (size_t s = 0; s < strings.size(); ++s) {
        std::string_view rest = strings[s];
        int64_t count = 0;
        const auto add = [&](std::string_view piece) {
            pieces.push_back(piece);
            places.insert(places.end(), {static_cast<int64_t>(s), count++});
        };
        if (most == 0) {
            add(rest);
            longest = std::max(longest, count);
            continue;
        }
        if (separator.empty()) rest.remove_prefix(std::min(rest.find_first_not_of(kSpace), rest.size()));
        while (!(separator.empty() && rest.empty())) {
            const size_t end = separator.empty() ? rest.find_first_of(kSpace) : rest.find(separator);
            if (!separator.empty() && (end == std::string_view::npos || (most > 0 && count == most))) {
                add(rest);
                break;
            }
            add(rest.substr(0, end));
            rest.remove_prefix(std::min(end + separator.size(), rest.size()));
            if (separator.empty()) rest.remove_prefix(std::min(rest.find_first_not_of(kSpace), rest.size()));
            if (separator.empty() && most > 0 && count == most) { // what is left, even if that is nothing
                add(rest);
                break;
            }
        }
        longest = std::max(longest, count);
    }
    const auto count = static_cast<int64_t>(pieces.size());
    LS_CHECK_OK(tfAllocate(args, 0, Shape({count, 2})));
    std::copy(places.begin(), places.end(), args.out(0).as<int64_t>());
    LS_CHECK_OK(writeStrings(*args.runtime, args.out(1), Shape({count}), pieces));
    LS_CHECK_OK(tfAllocate(args, 2, Shape({2})));
    args.out(2).as<int64_t>()[0] = static_cast<int64_t>(strings.size());
    args.out(2).as<int64_t>()[1] = longest;
    return {};
}

Status runReadFile(const KernelArgs& args)
{
    LS_TRY(const auto names, readStrings(args.in(0)));
    if (names.size() != 1) return invalidArgument("Input filename tensor must be scalar, but had shape: " + toString(args.in(0).shape));
    LS_TRY(const std::string_view content, args.paramsAs<TfFileParams>().read(names[0]));
    return writeStrings(*args.runtime, args.out(0), Shape(), {&content, 1});
}

/// The bytes of strings of equal length as numbers, which become the last dimension.
Status runDecodeRaw(const KernelArgs& args)
{
    LS_TRY(const auto strings, readStrings(args.in(0)));
    const auto size = static_cast<size_t>(bitWidth(args.out(0).dtype) / 8);
    if (size == 0) return Error(ErrorCode::unsupported, "bytes as " + std::string(dtypeName(args.out(0).dtype)));
    const size_t length = strings.empty() ? 0 : strings[0].size();
    for (size_t i = 0; i < strings.size(); ++i)
        if (strings[i].size() != length)
            return invalidArgument("DecodeRaw requires input strings to all be the same size, but element " + std::to_string(i) +
                                   " has size " + std::to_string(length) + " != " + std::to_string(strings[i].size()));
    if (length % size != 0)
        return invalidArgument("Input to DecodeRaw has length " + std::to_string(length) + " that is not a multiple of " +
                               std::to_string(size) + ", the size of " + std::string(tfTypeName(args.out(0).dtype)));
    Shape shape = args.in(0).shape;
    shape.append(static_cast<int64_t>(length / size));
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    const DType dtype = args.out(0).dtype;
    const size_t unit = dtype == DType::c64 || dtype == DType::c128 ? size / 2 : size; ///< what has a byte order
    const bool turns = !attributeBool(attributesOf(args), "little_endian", true);
    std::byte* out = args.out(0).data;
    for (const std::string_view text : strings)
        for (size_t i = 0; i < text.size(); ++i) *out++ = static_cast<std::byte>(text[turns ? i / unit * unit + unit - 1 - i % unit : i]);
    return {};
}

/// The first `fixed_length` bytes of strings as numbers; shorter strings are filled up with zeros.
Status runDecodePaddedRaw(const KernelArgs& args)
{
    LS_TRY(const auto strings, readStrings(args.in(0)));
    if (args.in(1).shape.rank() != 0) return invalidArgument("k must be scalar, got shape " + tfShapeText(args.in(1).shape));
    LS_TRY(const int64_t length, tfInteger(args, 1, "fixed_length"));
    const int64_t size = bitWidth(args.out(0).dtype) / 8;
    if (size == 0) return Error(ErrorCode::unsupported, "bytes as " + std::string(dtypeName(args.out(0).dtype)));
    if (length <= 0 || length % size != 0)
        return invalidArgument("fixed_length (" + std::to_string(length) +
                               ") must be greater than zero and a multiple of the size of out_type (" + std::to_string(size) + ")");
    Shape shape = args.in(0).shape;
    shape.append(length / size);
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    const bool turns = !attributeBool(attributesOf(args), "little_endian", true);
    const auto unit = static_cast<size_t>(size);
    auto* out = reinterpret_cast<char*>(args.out(0).data);
    for (const std::string_view text : strings)
        for (size_t i = 0; i < static_cast<size_t>(length); ++i) {
            const size_t from = turns ? i / unit * unit + unit - 1 - i % unit : i;
            *out++ = from < text.size() ? text[from] : '\0';
        }
    return {};
}

constexpr std::string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"; // safe in file names and addresses

Status runEncodeBase64(const KernelArgs& args)
{
    LS_TRY(const auto strings, readStrings(args.in(0)));
    const bool pads = attributeBool(attributesOf(args), "pad", false);
    std::vector<std::string> encoded;
    for (const std::string_view text : strings) {
        std::string& out = encoded.emplace_back();
        for (size_t i = 0; i < text.size(); i += 3) {
            uint32_t bits = 0;
            for (size_t k = 0; k < 3; ++k) bits = bits << 8 | (i + k < text.size() ? static_cast<unsigned char>(text[i + k]) : 0U);
            const size_t count = std::min<size_t>(text.size() - i, 3) + 1;
            for (size_t k = 0; k < 4; ++k) {
                if (k < count) out += kBase64[bits >> (18 - 6 * k) & 63];
                else if (pads) out += '=';
            }
        }
    }
    return writeStrings(*args.runtime, args.out(0), args.in(0).shape, std::vector<std::string_view>(encoded.begin(), encoded.end()));
}

Status runDecodeBase64(const KernelArgs& args)
{
    LS_TRY(const auto strings, readStrings(args.in(0)));
    std::vector<std::string> decoded;
    for (std::string_view text : strings) {
        while (text.ends_with('=') && text.size() % 4 == 0) text.remove_suffix(text.ends_with("==") ? 2 : 1);
        std::string& out = decoded.emplace_back();
        uint32_t bits = 0;
        int held = 0;
        for (const char c : text) {
            const size_t value = kBase64.find(c);
            if (value == std::string_view::npos) return invalidArgument("Invalid character found in base64.");
            bits = bits << 6 | static_cast<uint32_t>(value);
            held += 6;
            if (held < 8) continue;
            held -= 8;
            out += static_cast<char>(bits >> held & 255);
        }
        if (text.size() % 4 == 1) return invalidArgument("Base64 string length cannot be 1 modulo 4"); // bits left over are dropped
    }
    return writeStrings(*args.runtime, args.out(0), args.in(0).shape, std::vector<std::string_view>(decoded.begin(), decoded.end()));
}

} // namespace

LS_TF_KERNEL(DecodeCSV, runDecodeCsv, "f32 f64 i32 i64 str")
LS_TF_KERNEL(StringSplitV2, runStringSplit, "str")
LS_TF_KERNEL(DecodeRaw, runDecodeRaw, "numbers bool")
LS_TF_KERNEL(DecodePaddedRaw, runDecodePaddedRaw, "numbers bool")
LS_TF_KERNEL(EncodeBase64, runEncodeBase64, "str")
LS_TF_KERNEL(DecodeBase64, runDecodeBase64, "str")
LS_DEFINE_KERNELS(tf, ReadFile) { registry.add({"tf", "ReadFile", Profile::reference, prepareTfFile<runReadFile>, "str"}); }
