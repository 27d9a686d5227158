// Tensors of a checkpoint that are stored in parts, as partitioned variables are, and parts of tensors.
// Keys of parts: TensorFlow's util/saved_tensor_slice_util.cc in the encoding of lib/strings/ordered_code.cc.
#include "converters/graphdef/convert_values.h"
#include "converters/savedmodel/checkpoint.h"
#include "engine/base/memory_budget.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>

namespace loopscope::savedmodel {

namespace {

Error damaged(std::string what) { return Error(ErrorCode::badFile, std::move(what)); }

/// A number as its bytes behind their count.
void writeCount(std::string& out, uint64_t value)
{
    const int bytes = (std::bit_width(value) + 7) / 8;
    out.push_back(static_cast<char>(bytes));
    for (int i = bytes - 1; i >= 0; --i) out.push_back(static_cast<char>(value >> (8 * i) & 0xff));
}

/// A signed number: as many ones in front as it has bytes, then a zero or its sign.
void writeSigned(std::string& out, int64_t value)
{
    const uint64_t size = static_cast<uint64_t>(value < 0 ? ~value : value);
    const int bytes = 1 + static_cast<int>(std::bit_width(size)) / 7;
    const size_t begin = out.size();
    for (int i = bytes - 1; i >= 0; --i) out.push_back(static_cast<char>(i > 7 ? (value < 0 ? 0xff : 0) : value >> (8 * i) & 0xff));
    const int first = std::min(bytes, 8), second = bytes - first;
    out[begin] = static_cast<char>(out[begin] ^ static_cast<char>(0xff << (8 - first) & 0xff));
    if (second > 0) out[begin + 1] = static_cast<char>(out[begin + 1] ^ static_cast<char>(0xff << (8 - second) & 0xff));
}

std::string keyOf(std::string_view name, const TensorSlice& slice)
{
    std::string key;
    writeCount(key, 0);
    for (const char c : name) {
        key.push_back(c);
        if (c == '\0') key.push_back('\xff');
        else if (c == '\xff') key.push_back('\0');
    }
    key += std::string_view("\0\1", 2);
    writeCount(key, slice.starts.size());
    for (size_t d = 0; d < slice.starts.size(); ++d) {
        writeSigned(key, slice.starts[d]);
        writeSigned(key, slice.lengths[d]);
    }
    return key;
}

/// A part with its lengths, inside of a shape. Errors: badFile.
Result<TensorSlice> placed(TensorSlice slice, const Shape& whole)
{
    if (static_cast<int>(slice.starts.size()) != whole.rank())
        return damaged("a part has " + std::to_string(slice.starts.size()) + " dimensions").expected(std::to_string(whole.rank()));
    for (int d = 0; d < whole.rank(); ++d) {
        const auto at = static_cast<size_t>(d);
        if (slice.lengths[at] == -1) slice.lengths[at] = whole[d];
        if (slice.starts[at] < 0 || slice.lengths[at] < 0 || slice.starts[at] > whole[d] || slice.lengths[at] > whole[d] - slice.starts[at])
            return damaged("a part reaches from " + std::to_string(slice.starts[at]) + " over " + std::to_string(slice.lengths[at]))
                .expected("inside of " + toString(whole));
    }
    return slice;
}

/// Calls row(place in the whole, place in the part) for every run of elements along the last dimension; both in elements.
template <typename F> void forRows(const Shape& whole, const TensorSlice& slice, F&& row)
{
    const int rank = whole.rank();
    if (rank == 0) {
        row(0, 0);
        return;
    }
    int64_t rows = 1;
    for (int d = 0; d + 1 < rank; ++d) rows *= slice.lengths[static_cast<size_t>(d)];
    const int64_t length = slice.lengths.back();
    for (int64_t r = 0; r < rows && length > 0; ++r) {
        int64_t at = slice.starts.back(), rest = r;
        for (int d = rank - 2; d >= 0; --d) {
            const int64_t size = slice.lengths[static_cast<size_t>(d)];
            at += (slice.starts[static_cast<size_t>(d)] + rest % size) * whole.countOf(d + 1, rank);
            rest /= size;
        }
        row(at, r * length);
    }
}

Result<int64_t> number(std::string_view text)
{
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
        return damaged("a slice").found("'" + std::string(text) + "'").expected("a number");
    return value;
}

/// "4 2 0,2:-": the slice behind the dimensions of the whole. Errors: badFile.
Result<TensorSlice> parsed(std::string_view text)
{
    const size_t space = text.rfind(' ');
    std::string_view rest = space == std::string_view::npos ? text : text.substr(space + 1);
    TensorSlice slice;
    while (!rest.empty()) {
        const size_t colon = rest.find(':');
        const std::string_view part = rest.substr(0, colon);
        rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
        int64_t start = 0, length = -1;
        if (part != "-") {
            const size_t comma = part.find(',');
            LS_TRY(start, number(part.substr(0, comma)));
            LS_TRY(length, number(comma == std::string_view::npos ? std::string_view() : part.substr(comma + 1)));
        }
        slice.starts.push_back(start);
        slice.lengths.push_back(length);
    }
    return slice;
}

} // namespace

Result<TensorAttribute> Checkpoint::readParts(std::string_view key, const CheckpointEntry& entry)
{
    const auto count = entry.shape.isStatic() ? checkedElementCount(entry.shape) : std::nullopt;
    if (!count) return damaged("its shape is damaged").found(toString(entry.shape));
    std::vector<std::byte> bytes;
    std::optional<DType> dtype;
    int64_t covered = 0;
    const auto type = graphdef::typeOfNumber(entry.dtypeNumber);
    if (*count == 0 && type) return TensorAttribute{TensorType(type->dtype, entry.shape), std::make_shared<Constant>(Bytes())};
    for (const TensorSlice& one : entry.slices) {
        LS_TRY(const TensorSlice slice, placed(one, entry.shape));
        const std::string partKey = keyOf(key, one);
        if (const auto part = m_entries.find(partKey); part != m_entries.end() && !part->second.slices.empty())
            return damaged("a part of it is stored in parts itself");
        LS_TRY(const TensorAttribute part, read(partKey));
        if (!dtype) {
            dtype = part.type.dtype;
            if (*dtype == DType::string) return Error(ErrorCode::unsupported, "strings stored in parts are not read");
            MemoryMeter meter("variable");
            LS_CHECK_OK(meter.grow(byteSize(*dtype, *count)));
            bytes.resize(byteSize(*dtype, *count));
        }
        int64_t elements = 1;
        for (const int64_t length : slice.lengths) elements *= length;
        const size_t unit = bitWidth(*dtype) / 8;
        if (part.type.dtype != *dtype || part.data->bytes().size() != static_cast<size_t>(elements) * unit)
            return damaged("a part of it has another size")
                .found(std::to_string(part.data->bytes().size()) + " bytes")
                .expected(std::to_string(static_cast<size_t>(elements) * unit));
        const std::byte* from = part.data->bytes().data();
        const auto length = static_cast<size_t>(slice.lengths.empty() ? 1 : slice.lengths.back());
        forRows(entry.shape, slice, [&](int64_t whole, int64_t own) {
            std::memcpy(bytes.data() + static_cast<size_t>(whole) * unit, from + static_cast<size_t>(own) * unit, length * unit);
        });
        covered += elements;
    }
    if (covered < *count) return damaged("its parts hold " + std::to_string(covered) + " elements").expected(std::to_string(*count));
    return TensorAttribute{TensorType(*dtype, entry.shape), std::make_shared<Constant>(Bytes::copyOf(bytes))};
}

Result<TensorAttribute> Checkpoint::readSlice(std::string_view key, std::string_view text)
{
    const auto at = [&](Error error) -> Error { return std::move(error).at(m_prefix + ": entry '" + std::string(key) + "'"); };
    LS_TRY(TensorAttribute whole, read(key));
    Result<TensorSlice> asked = parsed(text);
    if (asked.ok()) asked = placed(std::move(asked).value(), whole.type.shape);
    if (!asked.ok()) return at(std::move(asked).takeError());
    if (whole.type.dtype == DType::string) return at(Error(ErrorCode::unsupported, "parts of strings are not read"));
    const Shape shape{std::span<const int64_t>(asked->lengths)};
    const size_t unit = bitWidth(whole.type.dtype) / 8;
    std::vector<std::byte> bytes(static_cast<size_t>(shape.elementCount()) * unit);
    const std::byte* from = whole.data->bytes().data();
    const auto length = static_cast<size_t>(asked->lengths.empty() ? 1 : asked->lengths.back());
    forRows(whole.type.shape, *asked, [&](int64_t place, int64_t own) {
        std::memcpy(bytes.data() + static_cast<size_t>(own) * unit, from + static_cast<size_t>(place) * unit, length * unit);
    });
    return TensorAttribute{TensorType(whole.type.dtype, shape), std::make_shared<Constant>(Bytes::copyOf(bytes))};
}

} // namespace loopscope::savedmodel
