// The terms of a line but for types: ids, kinds, attribute values, constants.
#include "engine/base/text.h"
#include "engine/ir/text/parser_impl.h"
#include "engine/ir/text/printer.h"

#include <algorithm>

namespace loopscope::text {

std::string bytesOfHex(std::string_view digits)
{
    const auto value = [](char c) { return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10; };
    std::string bytes;
    for (size_t i = 0; i + 1 < digits.size(); i += 2) bytes += static_cast<char>(value(digits[i]) * 16 + value(digits[i + 1]));
    return bytes;
}

std::string lowerHash(const Token& token)
{
    std::string hash(token.text);
    for (char& c : hash)
        if (c >= 'A' && c <= 'F') c = static_cast<char>(c | 0x20);
    return hash;
}

bool Parser::isId(const Token& token) const
{
    return token.kind == TokenKind::string || (token.kind == TokenKind::word && token.text != "_");
}

bool Parser::id(std::string& text)
{
    if (!isId(peek())) return unexpected("a name");
    const Token& token = take();
    text = token.kind == TokenKind::string ? decodeString(token) : std::string(token.text);
    return true;
}

bool Parser::reference(Reference& reference)
{
    const Token at = peek();
    reference.line = at.line;
    reference.column = at.column;
    if (!id(reference.name)) return false;
    const auto colonHere = [&] { return peek().is(':') && !peek().spaceBefore && !peek(1).spaceBefore; };
    if (m_parsed.model.dialect != Dialect::tf || !colonHere()) return true;
    if (peek(1).kind == TokenKind::word) {
        take();
        reference.output = std::string(take().text) + ":";
        if (!colonHere() || peek(1).kind != TokenKind::integer) return unexpected("':' and the number of the output");
    } else if (peek(1).kind != TokenKind::integer) {
        return true;
    }
    take();
    const Token numberAt = peek();
    int64_t number = 0;
    if (!integer(number)) return false;
    if (number < 0) return fail(numberAt, "found output " + std::to_string(number));
    if (number > 0 || !reference.output.empty()) reference.output += std::to_string(number);
    return true;
}

bool Parser::kind(Kind& kind)
{
    const bool tf = m_parsed.model.dialect == Dialect::tf;
    kind.dialect = tf ? "tf" : "tfl";
    const Token& token = peek();
    if (token.kind == TokenKind::string) {
        kind.name = decodeString(take());
    } else if (token.kind == TokenKind::word) {
        take();
        const size_t dot = token.text.find('.');
        if (dot != std::string_view::npos) kind.dialect = token.text.substr(0, dot);
        kind.name = token.text.substr(dot == std::string_view::npos ? 0 : dot + 1);
        if (kind.name.empty() && peek().kind == TokenKind::string && !peek().spaceBefore) kind.name = decodeString(take());
        if (!isWordText(kind.dialect)) return fail(token, "found kind " + show(token) + ", expected DIALECT.NAME");
    } else {
        return unexpected("an operator");
    }
    if (kind.name.empty()) return fail(token, "an operator kind has no name");
    return true;
}

bool Parser::integer(int64_t& value)
{
    if (peek().kind != TokenKind::integer) return unexpected("a whole number");
    const Token& token = peek();
    const auto parsed = parseInt64(token.text);
    if (!parsed) return fail(token, std::string(token.text) + " does not fit 64 bits");
    value = *parsed;
    take();
    return true;
}

bool Parser::graphRef(GraphRef& ref, bool withAttributes, int depth)
{
    const Token at = peek();
    if (!expect('@')) return false;
    std::string name;
    if (!id(name)) return false;
    const auto found = m_graphIds.find(name);
    if (found == m_graphIds.end()) {
        const auto near = nearestNames(name, m_graphNames);
        return fail(at, "no graph @" + name + (near.empty() ? "" : "; did you mean @" + near.front() + "?"));
    }
    ref.graph = found->second;
    if (!withAttributes || !peek().is('{') || peek().spaceBefore) return true;
    AttributeList own;
    if (!expect('{') || !attributes(own, false, depth + 1) || !expect('}')) return false;
    if (!own.empty()) ref.attributes = std::make_shared<const AttributeList>(std::move(own));
    return true;
}

bool Parser::attributeStarts() const
{
    const Token& token = peek();
    if (token.is('@')) return isId(peek(1));
    return isId(token) && peek(1).is('=');
}

bool Parser::attributes(AttributeList& list, bool ofTfl, int depth, OperatorPlace* place)
{
    // Sorted once at the end: a list as long as the text must not cost its square.
    struct Written {
        NamedAttribute attribute;
        Token at;
    };
    std::vector<Written> written;
    while (attributeStarts()) {
        Written next;
        next.at = peek();
        const bool fact = accept('@');
        std::string name;
        if (!id(name)) return false;
        if (!fact && ofTfl && name == "fused_activation_function") name = "act";
        std::string& key = next.attribute.key;
        key = (fact ? "@" : "") + name;
        next.attribute.value = Attribute(true);
        if (!(key == "@stateful" && !peek().is('=')))
            if (!expect('=') || !value(next.attribute.value, key == "@intermediates", depth)) return false;
        written.push_back(std::move(next));
    }
    std::stable_sort(written.begin(), written.end(), [](const Written& a, const Written& b) { return a.attribute.key < b.attribute.key; });
    for (Written& w : written) {
        if (!list.empty() && list.back().key == w.attribute.key) return fail(w.at, "attribute '" + w.attribute.key + "' is given twice");
        list.push_back(std::move(w.attribute));
        if (place) place->attributes.push_back({w.at.line, w.at.column});
    }
    return true;
}

bool Parser::shapeAttribute(Shape& shape)
{
    if (peek(1).is('*')) {
        if (!expect('[') || !expect('*')) return false;
        shape = Shape::unknownRank();
        return expect(']');
    }
    TensorType holder;
    const Token at = peek();
    if (!dims(holder)) return false;
    if (holder.signature) return fail(at, "a shape as attribute has no declared dimensions");
    shape = holder.shape;
    return true;
}

bool Parser::tensorValue(Attribute& value)
{
    TensorAttribute tensor;
    if (!type(tensor.type) || !constantData(tensor.type, tensor.data)) return false;
    value = Attribute(std::move(tensor));
    return true;
}

bool Parser::wordValue(Attribute& value, bool bareIds)
{
    const Token token = peek();
    const Token& next = peek(1);
    if (token.text == "true" || token.text == "false") {
        take();
        value = Attribute(token.text == "true");
    } else if (token.text == "unset") {
        take();
        value = Attribute();
    } else if (token.text == "inf" || token.text == "nan") {
        take();
        value = Attribute(*parseDouble(token.text));
    } else if (token.text == "shape" && next.is('[') && !next.spaceBefore) {
        take();
        Shape shape;
        if (!shapeAttribute(shape)) return false;
        value = Attribute(shape);
    } else if (const auto dtype = dtypeFromName(token.text); dtype && !bareIds) {
        if (!next.spaceBefore && (next.is('[') || next.is('<') || next.is('&'))) return tensorValue(value);
        take();
        value = Attribute(*dtype);
    } else if (bareIds) {
        return unexpected("the id of a value");
    } else {
        if (!isPlainWord(token.text)) return fail(token, "found " + show(token) + ", expected a value; text is written in quotes");
        take();
        value = Attribute(Word{std::string(token.text)});
    }
    return true;
}

bool Parser::value(Attribute& value, bool bareIds, int depth)
{
    const Token token = peek();
    if (depth > kDeepestNesting) return fail(token, "nested deeper than " + std::to_string(kDeepestNesting));
    const auto valueRef = [&] {
        Reference written;
        if (!reference(written)) return false;
        if (!m_body) return fail(token, "a value is named outside of a graph");
        value = Attribute(ValueRef{ValueId(-2 - static_cast<int64_t>(m_body->valueRefs.size()))});
        m_body->valueRefs.push_back(std::move(written));
        return true;
    };
    if (bareIds && isId(token)) return valueRef();
    switch (token.kind) {
    case TokenKind::integer: {
        int64_t number = 0;
        if (!integer(number)) return false;
        value = Attribute(number);
        return true;
    }
    case TokenKind::real: {
        const auto number = parseDouble(token.text);
        if (!number) return fail(token, std::string(token.text) + " does not fit f64");
        take();
        value = Attribute(*number);
        return true;
    }
    case TokenKind::string: value = Attribute(decodeString(take())); return true;
    case TokenKind::hex: value = Attribute(HexBytes{bytesOfHex(take().text)}); return true;
    case TokenKind::word: return wordValue(value, bareIds);
    default: break;
    }
    if (token.is('%')) {
        take();
        if (peek().spaceBefore) return unexpected("a value's id right after '%'");
        return valueRef();
    }
    if (token.is('@')) {
        GraphRef ref;
        if (!graphRef(ref, true, depth)) return false;
        value = Attribute(std::move(ref));
        return true;
    }
    if (token.is('$')) {
        take();
        if (peek().kind != TokenKind::word || !isWordText(peek().text)) return unexpected("the name of an attribute");
        value = Attribute(Placeholder{std::string(take().text)});
        return true;
    }
    if (token.is('?')) {
        if (peek(1).is('[') && !peek(1).spaceBefore) return tensorValue(value);
        take();
        value = Attribute(DType::unknown);
        return true;
    }
    if (accept('[')) {
        AttributeItems items;
        while (!peek().is(']')) {
            if (!items.empty() && !expect(',')) return false;
            if (!this->value(items.emplace_back(), bareIds, depth + 1)) return false;
        }
        value = Attribute(std::move(items));
        return expect(']');
    }
    if (accept('{')) {
        AttributeMap map;
        while (!peek().is('}')) {
            if (!map.empty() && !expect(',')) return false;
            auto& [key, item] = map.emplace_back();
            if (!id(key) || !expect(':') || !this->value(item, false, depth + 1)) return false;
        }
        value = Attribute(std::move(map));
        return expect('}');
    }
    return unexpected("a value");
}

bool Parser::integers(std::vector<int32_t>& list)
{
    if (!expect('[')) return false;
    while (!peek().is(']')) {
        if (!list.empty() && !expect(',')) return false;
        const Token at = peek();
        int64_t number = 0;
        if (!integer(number)) return false;
        if (number < INT32_MIN || number > INT32_MAX) return fail(at, std::to_string(number) + " does not fit i32");
        list.push_back(static_cast<int32_t>(number));
    }
    return expect(']');
}

bool Parser::sparseLayout(Sparsity& sparsity)
{
    const auto key = [&](std::string_view name) {
        if (!peek().isWord(name)) return unexpected(std::string(name) + "=");
        take();
        return expect('=');
    };
    if (!expect('(') || !key("order") || !integers(sparsity.traversalOrder) || !expect(',')) return false;
    if (peek().isWord("blocks") && (!key("blocks") || !integers(sparsity.blockMap) || !expect(','))) return false;
    if (!key("dims") || !expect('[')) return false;
    while (!peek().is(']')) {
        if (!sparsity.dimensions.empty() && !expect(',')) return false;
        SparseDimension& dimension = sparsity.dimensions.emplace_back();
        const Token at = peek();
        if (at.isWord("dense")) {
            take();
            int64_t size = 0;
            const Token sizeAt = peek();
            if (!integer(size)) return false;
            if (size < 0 || size > INT32_MAX) return fail(sizeAt, "found dimension " + std::to_string(size));
            dimension.denseSize = static_cast<int32_t>(size);
        } else if (at.isWord("csr")) {
            take();
            dimension.compressed = true;
            if (!integers(dimension.segments) || !integers(dimension.indices)) return false;
        } else {
            return unexpected("dense or csr");
        }
    }
    return expect(']') && expect(')');
}

bool Parser::atScalar() const
{
    const Token& token = peek();
    if (token.kind == TokenKind::word) return token.text == "true" || token.text == "false" || token.text == "inf" || token.text == "nan";
    return token.kind == TokenKind::integer || token.kind == TokenKind::real || token.kind == TokenKind::string || token.is('(');
}

bool Parser::scalar(Scalar& scalar)
{
    const Token token = peek();
    if (!atScalar()) return unexpected("a number, true, false or a string");
    if (accept('(')) {
        const auto part = [&](std::string& text) {
            Scalar number;
            const Token at = peek();
            if (!atScalar() || at.is('(')) return unexpected("a number");
            if (!this->scalar(number)) return false;
            if (number.kind != Scalar::Kind::integer && number.kind != Scalar::Kind::real)
                return fail(at, "found " + show(at) + ", expected a number");
            text = number.text;
            return true;
        };
        scalar.kind = Scalar::Kind::complex;
        return part(scalar.text) && expect(',') && part(scalar.imaginary) && expect(')');
    }
    take();
    if (token.kind == TokenKind::string) {
        scalar.kind = Scalar::Kind::string;
        scalar.text = decodeString(token);
        return true;
    }
    scalar.kind = token.kind == TokenKind::integer                ? Scalar::Kind::integer
                  : token.text == "true" || token.text == "false" ? Scalar::Kind::boolean
                                                                  : Scalar::Kind::real;
    scalar.text = token.text;
    return true;
}

bool Parser::literal(const TensorType& type, const Sparsity* sparsity, ConstantPtr& constant)
{
    const Token at = peek();
    const bool splat = at.isWord("splat");
    if (splat) take();
    const std::string shown = typeText(TensorType(type.dtype, type.shape));
    std::optional<int64_t> needed;
    if (sparsity) needed = storedElements(*sparsity);
    else if (type.shape.hasRank()) needed = checkedElementCount(type.shape);
    if (!needed) return fail(at, shown + " holds no data: its dimensions are not all known");
    ElementEncoder encoder(type.dtype);
    const auto element = [&] {
        Scalar scalar;
        const Token token = peek();
        if (!this->scalar(scalar)) return false;
        std::string message = encoder.add(scalar);
        return message.empty() || fail(token, std::move(message));
    };
    if (splat) {
        const Token token = peek();
        if (*needed == 0) return fail(at, shown + " needs 0 elements, found splat");
        if (!element()) return false;
        const uint64_t each = type.dtype == DType::string ? 64 + token.text.size() : static_cast<uint64_t>(bitWidth(type.dtype) + 7) / 8;
        if (!expand(token, *needed, each)) return false;
        encoder.repeat(*needed);
    } else if (accept('[')) {
        while (!peek().is(']'))
            if ((encoder.count() > 0 && !expect(',')) || !element()) return false;
        if (!expect(']')) return false;
    } else if (!element()) {
        return false;
    }
    if (encoder.count() != *needed)
        return fail(at, shown + " needs " + std::to_string(*needed) + (*needed == 1 ? " element" : " elements") + ", found " +
                            std::to_string(encoder.count()));
    if (type.dtype != DType::string && bitWidth(type.dtype) == 0)
        return fail(at, shown + " has no literals; its data is written as a hash");
    auto made = std::make_shared<Constant>(encoder.finish());
    if (sparsity) made->sparsity = *sparsity;
    constant = std::move(made);
    return true;
}

bool Parser::constantData(const TensorType& type, ConstantPtr& constant)
{
    std::optional<Sparsity> sparsity;
    if (peek().isWord("sparse") && peek(1).is('(')) {
        take();
        if (!sparseLayout(sparsity.emplace())) return false;
    }
    const Token at = peek();
    if (at.isWord("external") && !sparsity) {
        take();
        const Token numberAt = peek();
        int64_t number = 0;
        if (!integer(number)) return false;
        if (number < 0 || number > INT32_MAX) return fail(numberAt, "found external buffer " + std::to_string(number));
        constant = Constant::external(static_cast<int32_t>(number));
        return true;
    }
    if (at.kind != TokenKind::hash) {
        if (at.is('[') || atScalar() || (at.isWord("splat") && !sparsity)) return literal(type, sparsity ? &*sparsity : nullptr, constant);
        return unexpected("the data: a number, a list, splat, a hash or external");
    }
    const std::string hash = lowerHash(take());
    auto size = expectedBytes(type, sparsity ? &*sparsity : nullptr);
    if (peek().isWord("bytes") && peek(1).kind == TokenKind::integer) {
        take();
        const Token numberAt = peek();
        int64_t number = 0;
        if (!integer(number)) return false;
        if (number < 0) return fail(numberAt, "found " + std::to_string(number) + " bytes");
        size = static_cast<uint64_t>(number);
    }
    if (!size)
        return fail(at, "the size of " + typeText(TensorType(type.dtype, type.shape)) + " does not follow from its type; write '#" + hash +
                            " bytes N'");
    auto made = std::make_shared<Constant>(hash, *size);
    made->sparsity = std::move(sparsity);
    constant = std::move(made);
    return true;
}

} // namespace loopscope::text
