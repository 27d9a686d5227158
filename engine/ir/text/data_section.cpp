// Base64, and the walk over everything in a model that a hash can stand for.
#include "engine/ir/text/data_section.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <unordered_map>

namespace loopscope {

namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr size_t kLineLength = 76;
constexpr size_t kHashDigits = 16;

class Resolver {
public:
    explicit Resolver(std::span<const TextBlob> blobs)
    {
        for (const TextBlob& blob : blobs) m_blobs.emplace(blob.hash.substr(0, kHashDigits), &blob);
    }

    Status run(Model& model)
    {
        for (Metadata& metadata : model.metadata) LS_CHECK_OK(constant(metadata.data, "metadata \"" + metadata.name + "\""));
        for (Graph& graph : model.graphs) {
            for (Value& value : graph.values) {
                LS_CHECK_OK(constant(value.constant, value.id));
                LS_CHECK_OK(quantization(value.type, value.id));
                LS_CHECK_OK(list(value.attributes));
            }
            for (Operator& op : graph.operators) LS_CHECK_OK(list(op.attributes));
            LS_CHECK_OK(list(graph.attributes));
        }
        return list(model.attributes);
    }

private:
    /// The blob with that hash: 16 digits name the only one that begins so, 32 digits exactly one.
    const TextBlob* find(const std::string& digits) const
    {
        const auto [begin, end] = m_blobs.equal_range(digits.substr(0, kHashDigits));
        for (auto at = begin; at != end; ++at) {
            const std::string& hash = at->second->hash;
            const size_t common = std::min(hash.size(), digits.size());
            if (hash.compare(0, common, digits, 0, common) == 0) return at->second;
        }
        return nullptr;
    }

    static Error wrongSize(const std::string& what, const TextBlob& blob, uint64_t expected)
    {
        return Error(ErrorCode::badFile, what + ": data #" + blob.hash + " has the wrong size")
            .found(std::to_string(blob.bytes.size()) + " bytes")
            .expected(std::to_string(expected));
    }

    Status constant(ConstantPtr& pointer, const std::string& what)
    {
        if (!pointer || pointer->hasBytes() || pointer->externalBuffer() >= 0) return {};
        const TextBlob* blob = find(pointer->hexHash());
        if (blob == nullptr) return {};
        if (blob->bytes.size() != pointer->size()) return wrongSize(what, *blob, pointer->size());
        if (!pointer->sparsity) {
            ConstantPtr& shared = m_shared[blob];
            if (!shared) shared = std::make_shared<Constant>(blob->bytes);
            pointer = shared;
            return {};
        }
        auto resolved = std::make_shared<Constant>(blob->bytes);
        resolved->sparsity = pointer->sparsity;
        pointer = std::move(resolved);
        return {};
    }

    template <typename T> Status numbers(std::string& hash, std::vector<T>& list, const std::string& what)
    {
        const TextBlob* blob = hash.empty() ? nullptr : find(hash);
        if (blob == nullptr) return {};
        if (blob->bytes.size() % sizeof(T) != 0) return wrongSize(what, *blob, blob->bytes.size() / sizeof(T) * sizeof(T));
        list.resize(blob->bytes.size() / sizeof(T));
        if (!list.empty()) std::memcpy(list.data(), blob->bytes.data(), blob->bytes.size());
        hash.clear();
        return {};
    }

    Status quantization(TensorType& type, const std::string& what)
    {
        for (TensorType& element : type.elementTypes) LS_CHECK_OK(quantization(element, what));
        if (!type.quantization) return {};
        Quantization q = *type.quantization;
        if (q.scalesHash.empty() && q.zerosHash.empty() && q.minHash.empty() && q.maxHash.empty()) return {};
        LS_CHECK_OK(numbers(q.scalesHash, q.scales, what));
        LS_CHECK_OK(numbers(q.zerosHash, q.zeroPoints, what));
        LS_CHECK_OK(numbers(q.minHash, q.min, what));
        LS_CHECK_OK(numbers(q.maxHash, q.max, what));
        if (q.kind == Quantization::Kind::unresolved && q.scalesHash.empty() && q.zerosHash.empty()) q.kind = Quantization::Kind::affine;
        type.quantization = std::make_shared<Quantization>(std::move(q));
        return {};
    }

    Status list(AttributeList& attributes)
    {
        for (NamedAttribute& a : attributes) LS_CHECK_OK(attribute(a.value, a.key));
        return {};
    }

    Status attribute(Attribute& attribute, const std::string& key)
    {
        if (auto* tensor = attribute.as<TensorAttribute>()) return constant(tensor->data, key);
        if (auto* items = attribute.as<AttributeItems>())
            for (Attribute& item : *items) LS_CHECK_OK(this->attribute(item, key));
        if (auto* map = attribute.as<AttributeMap>())
            for (auto& [name, item] : *map) LS_CHECK_OK(this->attribute(item, name));
        if (auto* ref = attribute.as<GraphRef>(); ref && ref->attributes) {
            AttributeList own = *ref->attributes;
            LS_CHECK_OK(list(own));
            ref->attributes = std::make_shared<const AttributeList>(std::move(own));
        }
        return {};
    }

    std::multimap<std::string, const TextBlob*> m_blobs; ///< leading half of the hash → blob
    std::unordered_map<const TextBlob*, ConstantPtr> m_shared;
};

} // namespace

std::string encodeBase64Lines(std::span<const std::byte> bytes)
{
    std::string text;
    text.reserve(bytes.size() / 3 * 4 + bytes.size() / 48 + 16);
    size_t column = 0;
    for (size_t i = 0; i < bytes.size(); i += 3) {
        const size_t given = std::min<size_t>(3, bytes.size() - i);
        uint32_t group = 0;
        for (size_t k = 0; k < 3; ++k) group = group << 8 | (k < given ? static_cast<uint32_t>(bytes[i + k]) : 0);
        for (size_t k = 0; k < 4; ++k) text += k <= given ? kAlphabet[group >> (18 - 6 * k) & 63] : '=';
        column += 4;
        if (column == kLineLength) {
            text += '\n';
            column = 0;
        }
    }
    if (column > 0) text += '\n';
    return text;
}

std::optional<Bytes> decodeBase64(std::string_view text)
{
    static const std::array<int8_t, 256> kValues = [] {
        std::array<int8_t, 256> values = {};
        values.fill(-1);
        for (size_t i = 0; i < kAlphabet.size(); ++i) values[static_cast<unsigned char>(kAlphabet[i])] = static_cast<int8_t>(i);
        return values;
    }();
    auto bytes = std::make_shared<std::vector<std::byte>>();
    bytes->reserve(text.size() / 4 * 3);
    uint32_t group = 0;
    size_t digits = 0;
    size_t padding = 0;
    for (const char c : text) {
        if (c == ' ' || c == '\t' || c == '\r' || c == '\n') continue;
        if (c == '=') {
            ++padding;
            continue;
        }
        const int value = kValues[static_cast<unsigned char>(c)];
        if (value < 0 || padding > 0) return std::nullopt;
        group = group << 6 | static_cast<uint32_t>(value);
        if (++digits % 4 == 0)
            for (const int shift : {16, 8, 0}) bytes->push_back(static_cast<std::byte>(group >> shift & 255));
    }
    const size_t rest = digits % 4;
    if (rest == 1 || padding != (4 - rest) % 4) return std::nullopt;
    group <<= 6 * (4 - rest);
    if (rest >= 2) bytes->push_back(static_cast<std::byte>(group >> 16 & 255));
    if (rest == 3) bytes->push_back(static_cast<std::byte>(group >> 8 & 255));
    return Bytes(std::span<const std::byte>(*bytes), bytes);
}

bool isSafeSidePath(std::string_view path)
{
    if (path.empty() || path.front() == '/' || path.find('\0') != std::string_view::npos) return false;
    for (size_t at = 0; at <= path.size();) {
        const size_t slash = std::min(path.find('/', at), path.size());
        if (path.substr(at, slash - at) == "..") return false;
        at = slash + 1;
    }
    return true;
}

Status resolveBlobs(Model& model, std::span<const TextBlob> blobs) { return Resolver(blobs).run(model); }

} // namespace loopscope
