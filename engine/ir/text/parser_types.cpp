// Types: dtype, dimensions, signature, quantization, recorded range.
#include "engine/base/text.h"
#include "engine/ir/text/parser_impl.h"

#include <algorithm>

namespace loopscope::text {

namespace {

const std::vector<std::string>& dtypeNames()
{
    static const std::vector<std::string> kNames = [] {
        std::vector<std::string> names;
        for (int d = 1; d <= static_cast<int>(DType::mxint8); ++d) names.emplace_back(dtypeName(static_cast<DType>(d)));
        return names;
    }();
    return kNames;
}

std::string didYouMean(std::string_view name, std::span<const std::string> candidates)
{
    const auto near = nearestNames(name, candidates);
    return near.empty() ? "" : "; did you mean '" + near.front() + "'?";
}

} // namespace

bool Parser::dims(TensorType& type)
{
    type.shape = Shape();
    if (!expect('[')) return false;
    Shape signature;
    bool dynamic = false;
    while (!peek().is(']')) {
        if (type.shape.rank() > 0 && !expect(',')) return false;
        if (accept('?')) {
            type.shape.append(kUnknownDim);
            signature.append(kUnknownDim);
            continue;
        }
        const Token at = peek();
        int64_t dim = 0;
        if (!integer(dim)) return false;
        if (dim < 0) return fail(at, "found dimension " + std::to_string(dim) + ", expected 0 or more, or ?");
        type.shape.append(dim);
        const bool open = accept('?');
        dynamic = dynamic || open;
        signature.append(open ? kUnknownDim : dim);
    }
    if (dynamic) type.signature = signature;
    return expect(']');
}

bool Parser::type(TensorType& type, int depth)
{
    if (depth > kDeepestNesting) return fail(peek(), "types nested deeper than " + std::to_string(kDeepestNesting));
    if (accept('?')) {
        type.dtype = DType::unknown;
    } else if (accept('$')) {
        if (peek().kind != TokenKind::word || !isWordText(peek().text)) return unexpected("the name of a type parameter");
        const std::string name(take().text);
        if (accept('*')) {
            // The dimensions belong to the element's type, which is read whole.
            if (!this->type(type, depth + 1)) return false;
            type.parameter = name + (type.parameter.empty() ? "" : "*" + type.parameter);
            return true;
        }
        type.parameter = name;
    } else {
        const Token token = peek();
        if (token.kind != TokenKind::word) return unexpected("a type");
        const auto dtype = dtypeFromName(token.text);
        if (!dtype) return fail(token, "unknown dtype '" + std::string(token.text) + "'" + didYouMean(token.text, dtypeNames()));
        take();
        type.dtype = *dtype;
        if (peek().is('<') && accept('<')) {
            while (!peek().is('>')) {
                if (!type.elementTypes.empty() && !expect(',')) return false;
                if (!this->type(type.elementTypes.emplace_back(), depth + 1)) return false;
            }
            if (!expect('>')) return false;
        }
    }
    if (peek().is('&')) type.isReference = accept('&');
    if (peek().is('[') && !peek().spaceBefore && !dims(type)) return false;
    if (peek().isWord("sig") && peek(1).is('[')) {
        take();
        Shape signature;
        if (!expect('[')) return false;
        while (!peek().is(']')) {
            if (signature.rank() > 0 && !expect(',')) return false;
            const Token at = peek();
            int64_t dim = 0;
            if (!integer(dim)) return false;
            if (dim < kUnknownDim) return fail(at, "found dimension " + std::to_string(dim) + ", expected -1 or more");
            signature.append(dim);
        }
        if (!expect(']')) return false;
        if (std::ranges::count(signature.dims(), kUnknownDim) > 0) type.signature = signature;
    }
    return quantization(type);
}

bool Parser::expand(const Token& at, int64_t count, uint64_t bytesEach)
{
    uint64_t bytes = 0;
    if (count < 0 || __builtin_mul_overflow(static_cast<uint64_t>(count), bytesEach, &bytes) ||
        bytes > m_options.largestExpansion - std::min(m_expanded, m_options.largestExpansion))
        return fail(at, "one value stands for " + std::to_string(count) + " elements: the text grows beyond " +
                            formatBytes(m_options.largestExpansion));
    m_expanded += bytes;
    return true;
}

bool Parser::scales(std::vector<float>& list, std::string& hash, int64_t count)
{
    const Token at = peek();
    const auto one = [&](std::vector<float>& into) {
        Scalar scalar;
        const Token token = peek();
        if (!this->scalar(scalar)) return false;
        const bool number = scalar.kind == Scalar::Kind::real || scalar.kind == Scalar::Kind::integer;
        const auto value = number ? parseFloat(scalar.text) : std::nullopt;
        if (!value) return fail(token, "found " + show(token) + ", expected a number that fits f32");
        into.push_back(*value);
        return true;
    };
    if (at.kind == TokenKind::hash) {
        hash = lowerHash(take());
        return true;
    }
    if (!accept('[')) {
        if (count < 0) return fail(at, "one number stands for all channels, but their count is unknown");
        if (!expand(at, count, sizeof(float)) || !one(list)) return false;
        list.resize(static_cast<size_t>(count), list.front());
        return true;
    }
    while (!peek().is(']'))
        if ((!list.empty() && !expect(',')) || !one(list)) return false;
    return expect(']');
}

bool Parser::zeros(std::vector<int64_t>& list, std::string& hash, int64_t count)
{
    const Token at = peek();
    if (at.isWord("_")) {
        take();
        return true;
    }
    if (at.kind == TokenKind::hash) {
        hash = lowerHash(take());
        return true;
    }
    int64_t value = 0;
    if (!accept('[')) {
        if (count < 0) return fail(at, "one number stands for all channels, but their count is unknown");
        if (!expand(at, count, sizeof(int64_t)) || !integer(value)) return false;
        list.assign(static_cast<size_t>(count), value);
        return true;
    }
    while (!peek().is(']')) {
        if ((!list.empty() && !expect(',')) || !integer(value)) return false;
        list.push_back(value);
    }
    return expect(']');
}

bool Parser::quantizationBody(Quantization& q, const TensorType& type, const Token& at)
{
    q.kind = Quantization::Kind::affine;
    const bool keyed = peek().kind == TokenKind::word && peek(1).is('=');
    if (!keyed) {
        if (peek().kind == TokenKind::hash || peek().is('[')) return unexpected("one number; several scales are written q(axis=A, …)");
        if (!scales(q.scales, q.scalesHash, 1) || !expect(',')) return false;
        if (peek().kind == TokenKind::hash || peek().is('[')) return unexpected("one number or _");
        return zeros(q.zeroPoints, q.zerosHash, 1);
    }
    const std::string key(take().text);
    accept('=');
    if (key == "custom") {
        if (peek().kind != TokenKind::hex) return unexpected("hex\"…\"");
        q.kind = Quantization::Kind::custom;
        q.custom = bytesOfHex(take().text);
        return true;
    }
    const Token numberAt = peek();
    int64_t number = 0;
    if (key != "axis" && key != "block") return fail(at, "found q(" + key + "=…), expected axis, block or custom");
    if (!integer(number)) return false;
    if (number < 0 || number > INT32_MAX)
        return fail(key == "axis" ? at : numberAt, "q(" + key + "=" + std::to_string(number) + "): " + key + " out of range");
    if (!expect(',')) return false;
    if (key == "axis") {
        if (type.shape.hasRank() && number >= type.shape.rank())
            return fail(at, "q(axis=" + std::to_string(number) + "): axis out of range for rank " + std::to_string(type.shape.rank()));
        q.axis = static_cast<int32_t>(number);
        q.perChannel = true;
        const int64_t count = type.shape.hasRank() ? type.shape[static_cast<int>(number)] : -1;
        return scales(q.scales, q.scalesHash, count) && expect(',') && zeros(q.zeroPoints, q.zerosHash, count);
    }
    if (!m_body) return fail(at, "blockwise quantization outside of a graph");
    q.kind = Quantization::Kind::blockwise;
    q.blockSize = static_cast<int32_t>(number);
    std::pair<Reference, std::optional<Reference>> references;
    if (!peek().isWord("scales")) return unexpected("scales=");
    take();
    if (!expect('=') || !reference(references.first) || !expect(',')) return false;
    if (!peek().isWord("zeros")) return unexpected("zeros=");
    take();
    if (!expect('=')) return false;
    if (peek().isWord("_")) take();
    else if (!reference(references.second.emplace())) return false;
    q.blockScales = -2 - static_cast<int32_t>(m_body->blockRefs.size());
    m_body->blockRefs.push_back(std::move(references));
    return true;
}

bool Parser::quantization(TensorType& type)
{
    Quantization q;
    bool any = false;
    if (peek().isWord("q") && peek(1).is('(')) {
        const Token at = take();
        any = true;
        if (!expect('(') || !quantizationBody(q, type, at) || !expect(')')) return false;
    }
    if (peek().isWord("range") && peek(1).is('(')) {
        take();
        any = true;
        if (!expect('(') || !scales(q.min, q.minHash, 1) || !expect(',') || !scales(q.max, q.maxHash, 1) || !expect(')')) return false;
    }
    // A range has no effect on execution: only scales and zero points that are elsewhere leave a value unresolved.
    if (!q.scalesHash.empty() || !q.zerosHash.empty()) q.kind = Quantization::Kind::unresolved;
    if (any) type.quantization = std::make_shared<Quantization>(std::move(q));
    return true;
}

} // namespace loopscope::text
