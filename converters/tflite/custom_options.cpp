#include "converters/tflite/custom_options.h"

#include "engine/tensor/strings.h"

#include <flatbuffers/flexbuffers.h>

#include <algorithm>
#include <cstring>

namespace loopscope {

namespace {

constexpr int kMaxDepth = 32;

/// Reads one FlexBuffer. Every function gives none for bytes that do not fit, or for a form that we do not write.
class FlexReader {
public:
    explicit FlexReader(std::span<const std::byte> bytes) : m_bytes(bytes), m_budget(4 * bytes.size()) {}

    std::optional<Attribute> root()
    {
        // The last byte is the width of the root, the one before it the root's packed type, before that the root itself.
        const size_t n = m_bytes.size();
        if (n < 3) return std::nullopt;
        const size_t width = byteAt(n - 1);
        if (!isWidth(width) || width > n - 2 || (byteAt(n - 2) >> 2) != flexbuffers::FBT_MAP) return std::nullopt;
        return value(n - 2 - width, width, byteAt(n - 2), 0);
    }

private:
    static bool isWidth(size_t width) { return width == 1 || width == 2 || width == 4 || width == 8; }
    uint8_t byteAt(size_t at) const { return std::to_integer<uint8_t>(m_bytes[at]); }

    std::optional<uint64_t> number(size_t at, size_t width) const
    {
        if (!isWidth(width) || at > m_bytes.size() || width > m_bytes.size() - at) return std::nullopt;
        uint64_t out = 0; // little-endian, as the host
        std::memcpy(&out, m_bytes.data() + at, width);
        return out;
    }

    static int64_t extendSign(uint64_t bits, size_t width)
    {
        const auto unused = static_cast<int>(64 - 8 * width);
        return static_cast<int64_t>(bits << unused) >> unused;
    }

    /// Where an offset stored at `at` points: offsets count backwards from their own place.
    std::optional<size_t> target(size_t at, size_t width) const
    {
        const auto offset = number(at, width);
        if (!offset || *offset > at) return std::nullopt;
        return at - static_cast<size_t>(*offset);
    }

    /// The length stored in front of a string, blob or vector, if `elementWidth` times as many bytes follow.
    std::optional<size_t> length(size_t start, size_t width, size_t elementWidth) const
    {
        if (start < width) return std::nullopt;
        const auto count = number(start - width, width);
        if (!count || *count > (m_bytes.size() - start) / elementWidth) return std::nullopt;
        return static_cast<size_t>(*count);
    }

    /// Hostile bytes may point at one part again and again: what is read in all is limited by the size of the buffer.
    bool spend(size_t bytes)
    {
        if (bytes > m_budget) return false;
        m_budget -= bytes;
        return true;
    }

    std::string text(size_t start, size_t size) const { return {reinterpret_cast<const char*>(m_bytes.data()) + start, size}; }

    std::optional<Attribute> value(size_t at, size_t parentWidth, uint8_t packed, int depth)
    {
        if (depth > kMaxDepth || !spend(1)) return std::nullopt;
        const size_t width = size_t{1} << (packed & 3);
        switch (packed >> 2) {
        case flexbuffers::FBT_NULL: return Attribute();
        case flexbuffers::FBT_BOOL:
            if (const auto bits = number(at, parentWidth)) return Attribute(*bits != 0);
            return std::nullopt;
        case flexbuffers::FBT_INT:
            if (const auto bits = number(at, parentWidth)) return Attribute(extendSign(*bits, parentWidth));
            return std::nullopt;
        case flexbuffers::FBT_FLOAT: return real(at, parentWidth);
        case flexbuffers::FBT_STRING:
        case flexbuffers::FBT_BLOB: {
            const auto start = target(at, parentWidth);
            const auto size = start ? length(*start, width, 1) : std::nullopt;
            if (!size || !spend(*size)) return std::nullopt;
            if (packed >> 2 == flexbuffers::FBT_STRING) return Attribute(text(*start, *size));
            return Attribute(HexBytes{text(*start, *size)});
        }
        case flexbuffers::FBT_VECTOR:
        case flexbuffers::FBT_MAP: {
            const auto start = target(at, parentWidth);
            // A type byte follows for each element.
            const auto size = start ? length(*start, width, width + 1) : std::nullopt;
            if (!size) return std::nullopt;
            return packed >> 2 == flexbuffers::FBT_MAP ? map(*start, width, *size, depth) : vector(*start, width, *size, depth);
        }
        case flexbuffers::FBT_VECTOR_INT: {
            const auto start = target(at, parentWidth);
            const auto size = start ? length(*start, width, width) : std::nullopt;
            return size && spend(*size * sizeof(int64_t)) ? integers(*start, width, *size) : std::nullopt;
        }
        case flexbuffers::FBT_VECTOR_STRING_DEPRECATED: {
            const auto start = target(at, parentWidth);
            const auto size = start ? length(*start, width, width) : std::nullopt;
            return size ? strings(*start, width, *size) : std::nullopt;
        }
        default: return std::nullopt;
        }
    }

    /// A list of strings that has one type for all: the lengths of its strings have one byte.
    std::optional<Attribute> strings(size_t start, size_t width, size_t size)
    {
        std::vector<std::string> list;
        for (size_t i = 0; i < size; ++i) {
            const auto first = target(start + i * width, width);
            const auto bytes = first ? length(*first, 1, 1) : std::nullopt;
            if (!bytes || !spend(*bytes + sizeof(std::string))) return std::nullopt;
            list.push_back(text(*first, *bytes));
        }
        const auto packed = packStrings(list);
        return Attribute(TensorAttribute{TensorType(DType::string, Shape({static_cast<int64_t>(size)})),
                                         std::make_shared<const Constant>(Bytes::copyOf(packed.data(), packed.size()))});
    }

    /// A list of whole numbers that has one type for all.
    std::optional<Attribute> integers(size_t start, size_t width, size_t size) const
    {
        std::vector<int64_t> list;
        for (size_t i = 0; i < size; ++i) {
            const auto bits = number(start + i * width, width);
            if (!bits) return std::nullopt;
            list.push_back(extendSign(*bits, width));
        }
        const auto bytes = std::as_bytes(std::span(list));
        return Attribute(TensorAttribute{TensorType(DType::i64, Shape({static_cast<int64_t>(size)})),
                                         std::make_shared<const Constant>(Bytes::copyOf(bytes.data(), bytes.size()))});
    }

    std::optional<Attribute> real(size_t at, size_t width) const
    {
        const auto bits = number(at, width);
        if (!bits || width < 4) return std::nullopt;
        if (width == 4) {
            float value = 0;
            std::memcpy(&value, m_bytes.data() + at, sizeof value);
            return floatAttribute(value);
        }
        double value = 0;
        std::memcpy(&value, m_bytes.data() + at, sizeof value);
        return Attribute(value);
    }

    std::optional<Attribute> vector(size_t start, size_t width, size_t size, int depth)
    {
        AttributeItems items;
        for (size_t i = 0; i < size; ++i) {
            auto item = value(start + i * width, width, byteAt(start + size * width + i), depth + 1);
            if (!item) return std::nullopt;
            items.push_back(std::move(*item));
        }
        return Attribute(std::move(items));
    }

    std::optional<Attribute> map(size_t start, size_t width, size_t size, int depth)
    {
        // In front of the length: the offset of the key vector and the width of its entries.
        if (start < 3 * width) return std::nullopt;
        const auto keys = target(start - 3 * width, width);
        const auto keyWidth = number(start - 2 * width, width);
        if (!keys || !keyWidth || !isWidth(*keyWidth)) return std::nullopt;
        struct Entry {
            size_t keyAt;
            std::string key;
            Attribute value;
        };
        std::vector<Entry> entries;
        for (size_t i = 0; i < size; ++i) {
            const auto keyAt = target(*keys + i * *keyWidth, *keyWidth);
            if (!keyAt) return std::nullopt;
            const auto rest = m_bytes.subspan(*keyAt);
            const auto end = std::find(rest.begin(), rest.end(), std::byte{0});
            auto item = value(start + i * width, width, byteAt(start + size * width + i), depth + 1);
            const auto keySize = static_cast<size_t>(end - rest.begin());
            if (end == rest.end() || !item || !spend(keySize)) return std::nullopt;
            entries.push_back({*keyAt, text(*keyAt, keySize), std::move(*item)});
        }
        // The format sorts its keys; the order in which they were written is that of their bytes.
        std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.keyAt < b.keyAt; });
        AttributeMap out;
        for (Entry& e : entries) out.emplace_back(std::move(e.key), std::move(e.value));
        return Attribute(std::move(out));
    }

    std::span<const std::byte> m_bytes;
    size_t m_budget;
};

/// A list that has one type for all.
bool writeList(flexbuffers::Builder& builder, const TensorAttribute& list)
{
    if (list.type.shape.rank() != 1 || !list.data || !list.data->hasBytes()) return false;
    const Bytes& bytes = list.data->bytes();
    if (list.type.dtype == DType::string) {
        const auto texts = unpackStrings(bytes.view());
        if (!texts.ok() || texts.value().empty()) return false;
        const size_t start = builder.StartVector();
        for (const std::string_view text : texts.value()) builder.String(std::string(text)); // takes the 0 behind it along
        builder.EndVector(start, true, false);
        return true;
    }
    if (list.type.dtype != DType::i64) return false;
    const size_t start = builder.StartVector();
    for (size_t i = 0; i < bytes.size() / sizeof(int64_t); ++i) builder.Int(bytes.as<int64_t>()[i]);
    builder.EndVector(start, true, false);
    return true;
}

/// Writes one value after its key, if it has one. False for a value that FlexBuffers cannot say.
bool write(flexbuffers::Builder& builder, const Attribute& attribute, int depth)
{
    if (depth > kMaxDepth) return false;
    if (attribute.as<std::monostate>()) builder.Null();
    else if (const auto* b = attribute.as<bool>()) builder.Bool(*b);
    else if (const auto* i = attribute.as<int64_t>()) builder.Int(*i);
    else if (const auto* d = attribute.as<double>()) {
        const auto narrow = static_cast<float>(*d);
        if (floatAttribute(narrow) == attribute) builder.Float(narrow);
        else builder.Double(*d);
    } else if (const auto* s = attribute.as<std::string>()) builder.String(s->data(), s->size());
    else if (const auto* h = attribute.as<HexBytes>()) builder.Blob(h->bytes.data(), h->bytes.size());
    else if (const auto* list = attribute.as<TensorAttribute>()) return writeList(builder, *list);
    else if (const auto* items = attribute.as<AttributeItems>()) {
        const size_t start = builder.StartVector();
        for (const Attribute& item : *items)
            if (!write(builder, item, depth + 1)) return false;
        builder.EndVector(start, false, false);
    } else if (const auto* map = attribute.as<AttributeMap>()) {
        const size_t start = builder.StartMap();
        for (const auto& [key, item] : *map) {
            if (key.find('\0') != std::string::npos) return false;
            builder.Key(key.c_str(), key.size());
            if (!write(builder, item, depth + 1)) return false;
        }
        builder.EndMap(start);
    } else return false;
    return true;
}

} // namespace

Attribute decodeCustomOptions(std::span<const std::byte> bytes)
{
    if (auto decoded = FlexReader(bytes).root()) {
        const auto again = encodeCustomOptions(*decoded);
        if (again && std::ranges::equal(*again, bytes)) return std::move(*decoded);
    }
    return HexBytes{std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size())};
}

std::optional<std::vector<std::byte>> encodeCustomOptions(const Attribute& value)
{
    if (const auto* raw = value.as<HexBytes>()) {
        const auto* first = reinterpret_cast<const std::byte*>(raw->bytes.data());
        return std::vector<std::byte>(first, first + raw->bytes.size());
    }
    if (!value.as<AttributeMap>()) return std::nullopt;
    flexbuffers::Builder builder;
    if (!write(builder, value, 0)) return std::nullopt;
    builder.Finish();
    const auto* first = reinterpret_cast<const std::byte*>(builder.GetBuffer().data());
    return std::vector<std::byte>(first, first + builder.GetBuffer().size());
}

} // namespace loopscope
