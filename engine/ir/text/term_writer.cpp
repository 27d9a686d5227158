// Types, attribute values and constants as text.
#include "engine/ir/text/term_writer.h"

#include "engine/base/hash.h"
#include "engine/ir/text/lexer.h"
#include "engine/ir/text/literals.h"

#include <algorithm>
#include <cstring>
#include <span>

namespace loopscope {

namespace {

constexpr int64_t kLongestList = 8; ///< elements that are written out
constexpr size_t kHashDigits = 16;
constexpr size_t kLongestMetadata = 64; ///< bytes that are written out

std::string hexText(std::string_view bytes)
{
    constexpr char kDigits[] = "0123456789abcdef";
    std::string text = "hex\"";
    for (const char c : bytes) {
        text += kDigits[static_cast<unsigned char>(c) >> 4];
        text += kDigits[static_cast<unsigned char>(c) & 15];
    }
    return text + "\"";
}

template <typename T, typename Write> std::string listText(const T& items, Write write)
{
    std::string text = "[";
    bool first = true;
    for (const auto& item : items) {
        if (!first) text += ", ";
        first = false;
        text += write(item);
    }
    return text + "]";
}

std::string dimText(int64_t dim) { return dim == kUnknownDim ? "?" : std::to_string(dim); }

std::string numberText(float value) { return realText(value); }
std::string numberText(int64_t value) { return std::to_string(value); }
std::string numberText(int32_t value) { return std::to_string(value); }

/// `1?` says both: the dimension is 1 now and declared dynamic. Possible if the signature differs from the shape only in that.
bool fitsInline(const Shape& shape, const Shape& signature)
{
    if (!shape.hasRank() || shape.rank() != signature.rank()) return false;
    bool any = false;
    for (int i = 0; i < shape.rank(); ++i) {
        if (signature[i] == shape[i]) continue;
        if (signature[i] != kUnknownDim) return false;
        any = true;
    }
    return any;
}

bool isPrintable(std::string_view text)
{
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7F; });
}

} // namespace

std::string HashNames::name(const std::string& digits, const Bytes* bytes)
{
    const std::string high = digits.substr(0, kHashDigits);
    const std::string low = digits.substr(std::min(digits.size(), kHashDigits));
    if (!low.empty()) {
        const auto [known, isNew] = m_lowHalves.emplace(high, low);
        if (!isNew && known->second != low && m_clashes.insert(high).second) m_foundClash = true;
    }
    const std::string& shown = m_clashes.count(high) > 0 ? digits : high;
    if (bytes) m_blobs.emplace(shown, *bytes);
    return "#" + shown;
}

void HashNames::restart()
{
    m_foundClash = false;
    m_blobs.clear();
}

std::vector<TextBlob> HashNames::blobs() const
{
    std::vector<TextBlob> blobs;
    for (const auto& [hash, bytes] : m_blobs) blobs.push_back({hash, bytes});
    return blobs;
}

template <typename T> std::string TermWriter::numbers(const std::vector<T>& list, const std::string& hash, bool oneNumber)
{
    if (!hash.empty()) return m_hashes.name(hash, nullptr);
    const auto same = [&](const T& v) { return std::memcmp(&v, &list.front(), sizeof v) == 0; };
    if (oneNumber && !list.empty() && std::all_of(list.begin(), list.end(), same)) return numberText(list.front());
    if (list.size() <= kLongestList) return listText(list, [](const T& v) { return numberText(v); });
    const Bytes bytes = Bytes::copyOf(list.data(), list.size() * sizeof(T));
    return m_hashes.name(toHex(hashBytes(bytes.view())), &bytes);
}

std::string TermWriter::quantization(const Quantization& q, const TensorType& type)
{
    std::string text;
    const bool affine = q.kind == Quantization::Kind::affine || q.kind == Quantization::Kind::unresolved;
    if (affine && !q.perChannel && q.scales.size() == 1 && q.zeroPoints.size() <= 1) {
        text = " q(" + realText(q.scales.front()) + ", " + (q.zeroPoints.empty() ? "_" : std::to_string(q.zeroPoints.front())) + ")";
    } else if (affine) {
        // One number stands for as many as the axis is long, so only that many may be written so.
        const bool axisKnown = type.shape.hasRank() && q.axis >= 0 && q.axis < type.shape.rank() && type.shape[q.axis] >= 0;
        const auto channels = axisKnown ? static_cast<size_t>(type.shape[q.axis]) : 0;
        text =
            " q(axis=" + std::to_string(q.axis) + ", " + numbers(q.scales, q.scalesHash, axisKnown && q.scales.size() == channels) + ", ";
        const bool noZeros = q.zeroPoints.empty() && q.zerosHash.empty();
        text += noZeros ? "_" : numbers(q.zeroPoints, q.zerosHash, axisKnown && q.zeroPoints.size() == channels);
        text += ")";
    } else if (q.kind == Quantization::Kind::blockwise) {
        text = " q(block=" + std::to_string(q.blockSize) + ", scales=" + valueRef(ValueId(q.blockScales)) +
               ", zeros=" + (q.blockZeros < 0 ? "_" : valueRef(ValueId(q.blockZeros))) + ")";
    } else if (q.kind == Quantization::Kind::custom) {
        text = " q(custom=" + hexText(q.custom) + ")";
    }
    if (q.min.empty() && q.max.empty() && q.minHash.empty() && q.maxHash.empty()) return text;
    return text + " range(" + numbers(q.min, q.minHash, q.min.size() == 1) + ", " + numbers(q.max, q.maxHash, q.max.size() == 1) + ")";
}

std::string TermWriter::type(const TensorType& type)
{
    std::string text;
    if (type.parameter.empty()) {
        text = dtypeName(type.dtype);
    } else if (const size_t star = type.parameter.find('*'); star != std::string::npos) {
        text = "$" + type.parameter.substr(0, star) + "*$" + type.parameter.substr(star + 1);
    } else {
        text = "$" + type.parameter;
        if (type.dtype != DType::unknown) text += "*" + std::string(dtypeName(type.dtype));
    }
    if (!type.elementTypes.empty()) {
        const std::string list = listText(type.elementTypes, [&](const TensorType& t) { return this->type(t); });
        text += "<" + list.substr(1, list.size() - 2) + ">";
    }
    if (type.isReference) text += "&";
    const bool hasSignature = type.signature && std::ranges::count(type.signature->dims(), kUnknownDim) > 0;
    const bool inlineSignature = hasSignature && fitsInline(type.shape, *type.signature);
    if (type.shape.hasRank()) {
        text += "[";
        for (int i = 0; i < type.shape.rank(); ++i) {
            if (i > 0) text += ",";
            text += dimText(type.shape[i]);
            if (inlineSignature && (*type.signature)[i] != type.shape[i]) text += "?";
        }
        text += "]";
    }
    if (hasSignature && !inlineSignature) text += " sig" + listText(type.signature->dims(), [](int64_t d) { return std::to_string(d); });
    if (type.quantization) text += quantization(*type.quantization, type);
    return text;
}

std::string TermWriter::data(const TensorType& type, const Constant& constant)
{
    if (constant.externalBuffer() >= 0) return "external " + std::to_string(constant.externalBuffer());
    std::string text;
    if (constant.sparsity) {
        const auto ints = [](const std::vector<int32_t>& list) { return listText(list, [](int32_t v) { return numberText(v); }); };
        text = "sparse(order=" + ints(constant.sparsity->traversalOrder);
        if (!constant.sparsity->blockMap.empty()) text += ", blocks=" + ints(constant.sparsity->blockMap);
        text +=
            ", dims=" +
            listText(constant.sparsity->dimensions,
                     [&](const SparseDimension& d) {
                         return d.compressed ? "csr " + ints(d.segments) + " " + ints(d.indices) : "dense " + std::to_string(d.denseSize);
                     }) +
            ") ";
    }
    const bool sparse = constant.sparsity.has_value();
    std::optional<int64_t> count;
    if (sparse) count = storedElements(*constant.sparsity);
    else if (type.shape.hasRank()) count = checkedElementCount(type.shape);
    if (count && constant.hasBytes()) {
        const auto reader = ElementReader::create(type.dtype, *count, constant.bytes().view());
        if (reader && *count == 1 && type.shape.rank() == 0 && !sparse) return text + reader->text(0);
        const bool few = reader && (*count <= kLongestList || m_full);
        if (reader && *count > 1 && !sparse && !m_full && reader->allEqual()) return text + "splat " + reader->text(0);
        if (few) {
            text += "[";
            for (int64_t i = 0; i < *count; ++i) {
                if (i > 0) text += ", ";
                text += reader->text(i);
            }
            return text + "]";
        }
    }
    text += m_hashes.name(constant.hexHash(), constant.hasBytes() ? &constant.bytes() : nullptr);
    const auto expected = expectedBytes(type, sparse ? &*constant.sparsity : nullptr);
    if (!expected || *expected != constant.size()) text += " bytes " + std::to_string(constant.size());
    return text;
}

std::string TermWriter::metadata(const Constant& data)
{
    if (data.hasBytes() && data.size() <= kLongestMetadata) {
        const std::string_view bytes(reinterpret_cast<const char*>(data.bytes().data()), data.bytes().size());
        if (isPrintable(bytes)) return quoted(bytes);
        const size_t end = bytes.find_last_not_of('\0') + 1; // npos + 1 == 0
        if (bytes.size() == 16 && end > 0 && isPrintable(bytes.substr(0, end))) return quoted(bytes.substr(0, end)) + " pad 16";
        return hexText(bytes);
    }
    return "bytes " + std::to_string(data.size()) + " " + m_hashes.name(data.hexHash(), data.hasBytes() ? &data.bytes() : nullptr);
}

std::string TermWriter::attribute(const Attribute& attribute, bool bareIds)
{
    const auto& value = attribute.value();
    if (std::holds_alternative<std::monostate>(value)) return "unset";
    if (const auto* v = attribute.as<bool>()) return *v ? "true" : "false";
    if (const auto* v = attribute.as<int64_t>()) return std::to_string(*v);
    if (const auto* v = attribute.as<double>()) return realText(*v);
    if (const auto* v = attribute.as<std::string>()) return quoted(*v);
    if (const auto* v = attribute.as<HexBytes>()) return hexText(v->bytes);
    if (const auto* v = attribute.as<Word>()) return v->text;
    if (const auto* v = attribute.as<DType>()) return std::string(dtypeName(*v));
    if (const auto* v = attribute.as<Placeholder>()) return "$" + v->name;
    if (const auto* v = attribute.as<ValueRef>()) return (bareIds ? "" : "%") + valueRef(v->value);
    if (const auto* v = attribute.as<TensorAttribute>()) return type(v->type) + " " + data(v->type, *v->data);
    if (const auto* v = attribute.as<Shape>()) return v->hasRank() ? "shape" + toString(*v) : "shape[*]";
    if (const auto* v = attribute.as<GraphRef>()) {
        std::string text = graphRef(v->graph);
        if (!v->attributes || v->attributes->empty()) return text;
        return text + "{" + attributes(*v->attributes).substr(1) + "}";
    }
    if (const auto* v = attribute.as<AttributeItems>())
        return listText(*v, [&](const Attribute& item) { return this->attribute(item, bareIds); });
    const auto& map = *attribute.as<AttributeMap>();
    const std::string list = listText(map, [&](const auto& entry) { return keyText(entry.first) + ": " + this->attribute(entry.second); });
    return "{" + list.substr(1, list.size() - 2) + "}";
}

std::string TermWriter::attributes(const AttributeList& list)
{
    std::string text;
    for (const NamedAttribute& a : list) {
        const bool fact = a.key.starts_with('@');
        const std::string_view key = std::string_view(a.key).substr(fact ? 1 : 0);
        text += fact ? " @" : " ";
        text += keyText(key);
        if (const auto* flag = a.value.as<bool>(); flag && *flag && a.key == "@stateful") continue;
        text += "=" + attribute(a.value, a.key == "@intermediates");
    }
    return text;
}

std::string TermWriter::graphRef(GraphId graph) const { return "@" + (m_model.hasGraph(graph) ? idText(m_model.graph(graph).id) : "\"\""); }

std::string TermWriter::valueRef(ValueId id) const
{
    if (!id.valid() || m_graph == nullptr) return "_";
    const Value& value = m_graph->value(id);
    if (m_model.dialect != Dialect::tf || value.role != ValueRole::result) return idText(value.id);
    // In a TensorFlow graph the id of an output is its node's, then the number.
    const std::string& node = m_graph->op(value.producer).name;
    return idText(node) + value.id.substr(std::min(node.size(), value.id.size()));
}

std::string TermWriter::operatorRef(OperatorId id) const
{
    const Operator& op = m_graph->op(id);
    if (m_model.dialect == Dialect::tf) return idText(op.name);
    return op.results.empty() ? "#" + std::to_string(id.index) : idText(m_graph->value(op.results.front()).id);
}

std::string typeText(const TensorType& type, const Graph* graph)
{
    static const Model kNone;
    HashNames hashes;
    TermWriter writer(kNone, hashes, false);
    writer.enter(graph);
    return writer.type(type);
}

std::string attributeText(const Attribute& attribute, const Model& model, const Graph* graph)
{
    HashNames hashes;
    TermWriter writer(model, hashes, false);
    writer.enter(graph);
    return writer.attribute(attribute);
}

std::string kindText(const Kind& kind, Dialect dialect)
{
    const bool plain = dialect == Dialect::tf ? kind.dialect == "tf" : kind.dialect == "tfl";
    if (plain) return keyText(kind.name);
    return kind.dialect + "." + (isWordText(kind.name) ? kind.name : quoted(kind.name));
}

} // namespace loopscope
