#include "engine/ops/flex.h"

#include "engine/base/wire_reader.h"
#include "engine/ops/catalog.h"
#include "engine/ops/op_traits.h"
#include "engine/ops/tf_registry.h"
#include "engine/tensor/strings.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <map>

namespace loopscope {

namespace {

using ByteSpan = std::span<const uint8_t>;

Error malformed(const std::string& what) { return Error(ErrorCode::badFile, "the options of a Flex operator " + what); }

/// The two strings of the FlexBuffer vector [name of the operator, its serialized node].
std::optional<std::pair<std::string, ByteSpan>> flexVector(ByteSpan bytes)
{
    constexpr uint8_t kVector = 10;
    const size_t n = bytes.size();
    if (n < 3) return std::nullopt;
    const auto number = [&](size_t at, size_t width) -> std::optional<size_t> {
        if ((width != 1 && width != 2 && width != 4 && width != 8) || at > n || width > n - at) return std::nullopt;
        uint64_t value = 0;
        std::memcpy(&value, bytes.data() + at, width);
        return value <= n ? std::optional<size_t>(static_cast<size_t>(value)) : std::nullopt;
    };
    const size_t rootWidth = bytes[n - 1], width = size_t{1} << (bytes[n - 2] & 3);
    if ((bytes[n - 2] >> 2) != kVector || rootWidth + 2 > n) return std::nullopt;
    const size_t rootAt = n - 2 - rootWidth;
    const auto back = number(rootAt, rootWidth);
    if (!back || *back > rootAt) return std::nullopt;
    const size_t vector = rootAt - *back;
    const auto count = vector >= width ? number(vector - width, width) : std::nullopt;
    if (!count || *count < 2 || vector + 2 * width + *count > n) return std::nullopt;
    std::array<ByteSpan, 2> parts;
    for (size_t i = 0; i < 2; ++i) {
        const size_t at = vector + i * width;
        const size_t partWidth = size_t{1} << (bytes[vector + *count * width + i] & 3);
        const auto offset = number(at, width);
        if (!offset || *offset > at || at - *offset < partWidth) return std::nullopt;
        const size_t start = at - *offset;
        const auto length = number(start - partWidth, partWidth);
        if (!length || *length > n - start) return std::nullopt;
        parts[i] = bytes.subspan(start, *length);
    }
    return std::pair(std::string(parts[0].begin(), parts[0].end()), parts[1]);
}

std::string textOf(ByteSpan bytes) { return {bytes.begin(), bytes.end()}; }

/// types.proto's DataType. References, 100 more, do not occur in TFLite files.
DType wireType(uint64_t number)
{
    static constexpr std::array kTypes = {DType::unknown, DType::f32,    DType::f64,      DType::i32,     DType::u8,      DType::i16,
                                          DType::i8,      DType::string, DType::c64,      DType::i64,     DType::boolean, DType::qi8,
                                          DType::qu8,     DType::qi32,   DType::bf16,     DType::qi16,    DType::qu16,    DType::u16,
                                          DType::c128,    DType::f16,    DType::resource, DType::variant, DType::u32,     DType::u64};
    return number < kTypes.size() ? kTypes[number] : DType::unknown;
}

Attribute realAttribute(uint64_t bits)
{
    const auto low = static_cast<uint32_t>(bits);
    float value = 0;
    std::memcpy(&value, &low, sizeof value);
    return floatAttribute(value);
}

/// TensorShapeProto: dimensions (2, their size 1) or unknown rank (3).
std::optional<Shape> wireShape(ByteSpan bytes)
{
    Shape shape;
    for (WireReader reader(bytes); !reader.atEnd();) {
        const auto field = reader.field();
        if (!field) return std::nullopt;
        if (field->number == 3 && field->value != 0) return Shape::unknownRank();
        if (field->number != 2) continue;
        int64_t size = 0;
        for (WireReader dim(field->bytes); !dim.atEnd();) {
            const auto part = dim.field();
            if (!part) return std::nullopt;
            if (part->number == 1) size = static_cast<int64_t>(part->value);
        }
        if (shape.rank() > 250) return std::nullopt;
        shape.append(size < 0 ? kUnknownDim : size);
    }
    return shape;
}

/// A single value of AttrValue's oneof, or an element of its list, where fields have the same numbers. None: malformed or of a kind that
/// has no form here.
std::optional<Attribute> wireScalar(const WireField& field)
{
    switch (field.number) {
    case 2: return Attribute(textOf(field.bytes));
    case 3: return Attribute(static_cast<int64_t>(field.value));
    case 4: return realAttribute(field.value);
    case 5: return Attribute(field.value != 0);
    case 6: return Attribute(wireType(field.value));
    case 7: {
        auto shape = wireShape(field.bytes);
        return shape ? std::optional<Attribute>(Attribute(*shape)) : std::nullopt;
    }
    default: return std::nullopt;
    }
}

std::optional<Attribute> wireList(ByteSpan bytes)
{
    AttributeItems items;
    for (WireReader reader(bytes); !reader.atEnd();) {
        auto field = reader.field();
        if (!field) return std::nullopt;
        const bool isNumber = field->number >= 3 && field->number <= 6;
        if (field->type != 2 || !isNumber) {
            auto item = wireScalar(*field);
            if (!item) return std::nullopt;
            items.push_back(std::move(*item));
            continue;
        }
        for (WireReader packed(field->bytes); !packed.atEnd();) {
            const auto value = field->number == 4 ? packed.fixed(4) : packed.varint();
            if (!value) return std::nullopt;
            items.push_back(*wireScalar({field->number, 0, *value, {}}));
        }
    }
    return Attribute(std::move(items));
}

/// An entry of NodeDef's map of attributes: key 1, value 2.
Status readAttribute(ByteSpan bytes, AttributeList& out)
{
    std::string key;
    std::optional<Attribute> value;
    for (WireReader reader(bytes); !reader.atEnd();) {
        const auto field = reader.field();
        if (!field) return malformed("hold a damaged attribute");
        if (field->number == 1) key = textOf(field->bytes);
        if (field->number != 2) continue;
        for (WireReader content(field->bytes); !content.atEnd();) {
            const auto part = content.field();
            if (!part) return malformed("hold a damaged attribute");
            value = part->number == 1 ? wireList(part->bytes) : wireScalar(*part);
            if (!value) return Error(ErrorCode::unsupported, "attribute '" + key + "' of a Flex operator is a tensor or a function");
        }
    }
    if (value && !key.starts_with("_")) setAttribute(out, std::move(key), std::move(*value));
    return {};
}

/// Inference by TensorFlow's operator. What its options hold is found when a kernel is prepared, too.
Status inferFlex(InferContext& context)
{
    LS_TRY(const Operator node, flexNode(context.op()));
    const OpDef* def = findOp(node.kind);
    if (!def || !def->infer) return {};
    InferContext asNode = context.withOperator(node);
    return def->infer(asNode);
}

/// A list that has one type for all, as TensorFlow's attributes have it.
Result<AttributeItems> itemsOf(const TensorAttribute& list)
{
    AttributeItems items;
    if (!list.data || !list.data->hasBytes()) return items;
    const Bytes& bytes = list.data->bytes();
    if (list.type.dtype == DType::string) {
        LS_TRY(const auto texts, unpackStrings(bytes.view()));
        for (const std::string_view text : texts) items.emplace_back(std::string(text));
    } else if (list.type.dtype == DType::i64) {
        for (size_t i = 0; i < bytes.size() / sizeof(int64_t); ++i) items.emplace_back(bytes.as<int64_t>()[i]);
    }
    return items;
}

/// The map of a ported operator as attributes; types stand there as numbers of TFLite's and are left out.
Result<Operator> portedNode(const Operator& op, const Attribute* options)
{
    Operator node = op;
    node.attributes.clear();
    node.kind = Kind{"tf", std::string(flexName(op.kind))};
    // Resources go by their node's name, which these files do not have.
    if (node.name.empty() && !op.results.empty()) node.name = op.kind.name + "#" + std::to_string(op.results.front().index);
    const TfOpSignature* const signature = findTfOp(node.kind.name);
    const auto* const map = options ? options->as<AttributeMap>() : nullptr;
    if (!map || !signature) return node;
    for (const auto& [key, value] : *map) {
        const TfAttributeDef* const known = signature->findAttribute(key);
        if (!known || known->kind == "type") continue;
        const auto* const list = value.as<TensorAttribute>();
        if (!list) {
            setAttribute(node.attributes, key, value);
            continue;
        }
        LS_TRY(AttributeItems items, itemsOf(*list));
        setAttribute(node.attributes, key, Attribute(std::move(items)));
    }
    return node;
}

} // namespace

std::span<const PortedOp> portedOps()
{
    static constexpr PortedOp kPorted[] = {
        {"TFSentencepieceTokenizeOp", "TFText>FastSentencepieceTokenize"},
        {"TFSentencepieceDetokenizeOp", "TFText>FastSentencepieceDetokenize"},
    };
    return kPorted;
}

std::string_view flexName(const Kind& kind)
{
    if (kind.dialect != "custom") return {};
    constexpr std::string_view kPrefix = "Flex";
    if (kind.name.starts_with(kPrefix)) return std::string_view(kind.name).substr(kPrefix.size());
    const auto found = std::ranges::find(portedOps(), kind.name, &PortedOp::custom);
    if (found != portedOps().end()) return found->tensorflow;
    const bool isNode = findTfOp(kind.name) != nullptr && !hasTrait({"tf", kind.name}, OpTrait::dataflow);
    return isNode ? std::string_view(kind.name) : std::string_view();
}

const OpDef* findFlexOp(const Kind& kind)
{
    struct FlexDefs {
        std::deque<std::string> names;
        std::map<std::string_view, OpDef> byName;
    };
    static const FlexDefs* const defs = [] {
        auto* made = new FlexDefs; // lives as long as the program, as the catalogue does
        for (const OpDef& def : allOps()) {
            if (def.dialect != "tf" || def.isCall) continue;
            OpDef flex = def;
            flex.dialect = "custom";
            flex.name = made->names.emplace_back("Flex" + std::string(def.name));
            flex.infer = inferFlex;
            made->byName.emplace(flex.name, flex);
            flex.name = def.name;
            made->byName.emplace(flex.name, flex);
            for (const PortedOp& ported : portedOps()) {
                if (ported.tensorflow != def.name) continue;
                flex.name = ported.custom;
                made->byName.emplace(flex.name, flex);
            }
        }
        return made;
    }();
    if (flexName(kind).empty()) return nullptr;
    const auto found = defs->byName.find(kind.name);
    return found == defs->byName.end() ? nullptr : &found->second;
}

Result<Operator> flexNode(const Operator& op)
{
    const Attribute* options = findAttribute(op.attributes, "options");
    if (!op.kind.name.starts_with("Flex")) return portedNode(op, options);
    const auto* raw = options ? options->as<HexBytes>() : nullptr;
    if (!raw) return malformed("are missing");
    const auto parts = flexVector({reinterpret_cast<const uint8_t*>(raw->bytes.data()), raw->bytes.size()});
    if (!parts) return malformed("are not the name and node of a TensorFlow operator");
    Operator node = op;
    node.attributes.clear();
    node.kind = Kind{"tf", parts->first};
    for (WireReader reader(parts->second); !reader.atEnd();) {
        const auto field = reader.field();
        if (!field) return malformed("hold a damaged node");
        if (field->number == 1) node.name = textOf(field->bytes);
        if (field->number == 5) LS_CHECK_OK(readAttribute(field->bytes, node.attributes));
    }
    if (node.kind.name != flexName(op.kind))
        return malformed("hold another operator").found(node.kind.name).expected(std::string(flexName(op.kind)));
    return node;
}

void addTypes(Operator& node, std::span<const Tensor* const> inputs, std::span<const Tensor* const> outputs)
{
    const TfOpSignature* const signature = findTfOp(node.kind.name);
    if (!signature) return;
    const auto add = [&](std::span<const TfArgument> arguments, std::span<const Tensor* const> tensors) {
        size_t at = 0;
        for (const TfArgument& argument : arguments) {
            const int64_t count = tfArgumentCount(*signature, argument, node.attributes).value_or(0);
            const Tensor* const first = count > 0 && at < tensors.size() ? tensors[at] : nullptr;
            if (first && !argument.typeAttr.empty() && !findAttribute(node.attributes, argument.typeAttr))
                setAttribute(node.attributes, argument.typeAttr, Attribute(first->dtype));
            at += static_cast<size_t>(count);
        }
    };
    add(signature->inputs, inputs);
    add(signature->outputs, outputs);
}

} // namespace loopscope
