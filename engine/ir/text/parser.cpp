// The statements outside of graphs.
#include "engine/ir/text/parser.h"

#include "engine/base/text.h"
#include "engine/ir/text/data_section.h"
#include "engine/ir/text/parser_impl.h"

#include <algorithm>

namespace loopscope {

namespace text {

namespace {

constexpr int64_t kFormat = 1;

} // namespace

Parser::Parser(std::string_view text, const ParseOptions& options) : TokenReader(text), m_options(options) {}

/// Graphs may be named before they are defined: their ids are known from the beginning. No statement inside a graph begins with two ids.
void Parser::findGraphs()
{
    const std::vector<Token>& tokens = this->tokens();
    for (size_t i = 0; i + 1 < tokens.size(); ++i) {
        const bool lineStart = i == 0 || tokens[i - 1].kind == TokenKind::newline;
        if (!lineStart || !tokens[i].isWord("graph") || !isId(tokens[i + 1])) continue;
        const Token& token = tokens[i + 1];
        const std::string name = token.kind == TokenKind::string ? decodeString(token) : std::string(token.text);
        m_graphIds.emplace(name, GraphId(static_cast<int64_t>(m_graphNames.size())));
        m_graphNames.push_back(name);
    }
}

/// Without a `model` line: TensorFlow's kinds begin with an upper-case letter.
void Parser::findDialect()
{
    const std::vector<Token>& tokens = this->tokens();
    for (size_t i = 1; i + 1 < tokens.size(); ++i) {
        const Token& before = tokens[i - 1];
        if (!tokens[i + 1].is('(') || !(before.kind == TokenKind::newline || before.is('='))) continue;
        const Token& token = tokens[i];
        if (token.kind != TokenKind::word && token.kind != TokenKind::string) continue;
        const char first = token.text[token.kind == TokenKind::string ? 1 : 0];
        m_parsed.model.dialect = first >= 'A' && first <= 'Z' ? Dialect::tf : Dialect::tfl;
        return;
    }
}

ParsedText Parser::run()
{
    file();
    m_parsed.errors = takeErrors();
    return std::move(m_parsed);
}

void Parser::file()
{
    findGraphs();
    findDialect();
    skipLines();
    if (peek().isWord("lsir") && !version()) return;
    skipLines();
    if (peek().isWord("model") && !modelLine()) skipStatement();
    while (!isFull()) {
        skipLines();
        if (peek().kind == TokenKind::end) break;
        if (!statement()) skipStatement();
    }
    if (!hasErrors()) resolveSignatures();
    if (!hasErrors() && !m_blobs.empty()) {
        std::vector<TextBlob> blobs;
        for (auto& [hash, bytes] : m_blobs) blobs.push_back({hash, bytes});
        if (Status status = resolveBlobs(m_parsed.model, blobs); !status.ok()) fail(1, 1, std::move(status).takeError().message());
    }
}

bool Parser::version()
{
    take();
    const Token at = peek();
    int64_t number = 0;
    if (!integer(number)) return false;
    if (number < kFormat) return fail(at, "found text format " + std::to_string(number) + ", expected " + std::to_string(kFormat));
    if (number > kFormat)
        return fail(at, "text format " + std::to_string(number) + " is newer than this program's " + std::to_string(kFormat));
    return expectLineEnd();
}

bool Parser::modelLine()
{
    take();
    const Token& dialect = take();
    if (dialect.isWord("tfl")) m_parsed.model.dialect = Dialect::tfl;
    else if (dialect.isWord("circle")) m_parsed.model.dialect = Dialect::circle;
    else if (dialect.isWord("tf")) m_parsed.model.dialect = Dialect::tf;
    else return fail(dialect, "found dialect " + show(dialect) + ", expected tfl, circle or tf");
    return attributes(m_parsed.model.attributes) && expectLineEnd();
}

bool Parser::statement()
{
    const Token& word = peek();
    if (word.isWord("graph")) return graph();
    if (word.isWord("names")) return names();
    if (word.isWord("gradient")) return gradient();
    if (word.isWord("data")) return data();
    if (word.isWord("versions")) return versions();
    if (word.isWord("signature")) return signature();
    if (word.isWord("metadata")) return metadata();
    if (word.isWord("external")) return external();
    return unexpected("graph, names, gradient, data or a line of the header");
}

bool Parser::versions()
{
    take();
    while (!atLineEnd()) {
        const Token at = peek();
        KindVersion version;
        if (!kind(version.kind) || !expect('=') || !integer(version.version)) return false;
        if (!m_versioned.insert(version.kind.full()).second) return fail(at, "the version of " + version.kind.name + " is given twice");
        m_parsed.model.versions.push_back(std::move(version));
    }
    return expectLineEnd();
}

bool Parser::bindings(std::vector<SignatureBinding>& list, std::vector<Reference>& references)
{
    if (!expect('(')) return false;
    while (!peek().is(')')) {
        if (!list.empty() && !expect(',')) return false;
        if (peek().kind != TokenKind::string) return unexpected("a name in quotes");
        list.push_back({decodeString(take()), {}});
        Reference& written = references.emplace_back();
        if (!expect('=') || !reference(written)) return false;
    }
    return expect(')');
}

bool Parser::signature()
{
    take();
    if (peek().kind != TokenKind::string) return unexpected("the signature's key in quotes");
    Signature signature;
    signature.key = decodeString(take());
    GraphRef ref;
    SignatureReferences references;
    if (!graphRef(ref, false) || !bindings(signature.inputs, references.inputs)) return false;
    if (peek().kind != TokenKind::arrow) return unexpected("'->'");
    take();
    if (!bindings(signature.outputs, references.outputs)) return false;
    signature.graph = ref.graph;
    m_signaturesOf[ref.graph.index].push_back(m_parsed.model.signatures.size());
    m_parsed.model.signatures.push_back(std::move(signature));
    m_signatureReferences.push_back(std::move(references));
    return expectLineEnd();
}

void Parser::resolveSignatures()
{
    Model& model = m_parsed.model;
    for (const auto& [graphIndex, signatures] : m_signaturesOf) {
        if (!model.hasGraph(GraphId(graphIndex))) continue;
        const Graph& graph = model.graph(GraphId(graphIndex));
        std::unordered_map<std::string_view, ValueId> ids;
        for (size_t v = 0; v < graph.values.size(); ++v) ids.emplace(graph.values[v].id, ValueId(static_cast<int64_t>(v)));
        const auto bind = [&](std::vector<SignatureBinding>& list, const std::vector<Reference>& references) {
            for (size_t k = 0; k < list.size(); ++k) {
                const Reference& r = references[k];
                const auto found = ids.find(r.output.empty() ? r.name : r.name + ":" + r.output);
                if (found != ids.end()) list[k].value = found->second;
                else fail(r.line, r.column, "no value '" + r.name + "' in graph " + graph.id);
            }
        };
        for (const size_t i : signatures) {
            bind(model.signatures[i].inputs, m_signatureReferences[i].inputs);
            bind(model.signatures[i].outputs, m_signatureReferences[i].outputs);
        }
    }
}

bool Parser::metadata()
{
    take();
    if (peek().kind != TokenKind::string) return unexpected("the name in quotes");
    Metadata metadata;
    metadata.name = decodeString(take());
    const Token at = peek();
    std::string bytes;
    int64_t size = 0;
    if (at.kind == TokenKind::string) {
        bytes = decodeString(take());
        if (peek().isWord("pad")) {
            take();
            const Token number = peek();
            if (!integer(size)) return false;
            if (size < static_cast<int64_t>(bytes.size()) || size > 4096)
                return fail(number, "found pad " + std::to_string(size) + ", expected " + std::to_string(bytes.size()) + " to 4096");
            bytes.resize(static_cast<size_t>(size));
        }
        metadata.data = std::make_shared<Constant>(Bytes::copyOf(bytes.data(), bytes.size()));
    } else if (at.kind == TokenKind::hex) {
        Attribute value;
        if (!this->value(value, false, 0)) return false;
        const std::string& raw = value.as<HexBytes>()->bytes;
        metadata.data = std::make_shared<Constant>(Bytes::copyOf(raw.data(), raw.size()));
    } else if (at.isWord("bytes")) {
        take();
        const Token number = peek();
        if (!integer(size)) return false;
        if (size < 0) return fail(number, "found " + std::to_string(size) + " bytes");
        if (peek().kind != TokenKind::hash) return unexpected("a hash");
        metadata.data = std::make_shared<Constant>(lowerHash(take()), static_cast<uint64_t>(size));
    } else if (!atLineEnd()) {
        return unexpected("a string, hex\"…\" or bytes");
    }
    m_parsed.model.metadata.push_back(std::move(metadata));
    return expectLineEnd();
}

bool Parser::external()
{
    take();
    const Token at = peek();
    int64_t number = 0;
    if (!integer(number)) return false;
    if (number < 0 || number > INT32_MAX) return fail(at, "found external buffer " + std::to_string(number) + ", expected 0 or more");
    ExternalBuffer buffer;
    buffer.number = static_cast<int32_t>(number);
    if (!m_externals.insert(buffer.number).second) return fail(at, "external buffer " + std::to_string(number) + " is given twice");
    if (!attributes(buffer.attributes)) return false;
    m_parsed.model.externalBuffers.push_back(std::move(buffer));
    return expectLineEnd();
}

bool Parser::names()
{
    take();
    const Token at = peek();
    std::string graphName;
    if (!id(graphName)) return false;
    const auto found = m_graphIds.find(graphName);
    const bool known = found != m_graphIds.end() && m_parsed.model.hasGraph(found->second);
    if (!known) fail(at, "no graph '" + graphName + "' before its names");
    if (known && !m_named.insert(found->second.index).second) return fail(at, "the names of graph " + graphName + " are given twice");
    if (!peek().is('{')) return unexpected("'{'");
    take();
    if (!expectLineEnd()) return false;
    std::unordered_map<std::string, ValueId> ids;
    Graph* graph = known ? &m_parsed.model.graph(found->second) : nullptr;
    for (size_t v = 0; known && v < graph->values.size(); ++v) ids.emplace(graph->values[v].id, ValueId(static_cast<int64_t>(v)));
    while (!isFull()) {
        skipLines();
        if (peek().is('}')) {
            take();
            return expectLineEnd();
        }
        if (peek().kind == TokenKind::end) return unexpected("'}'");
        const Token idAt = peek();
        std::string text;
        if (!id(text) || !expect('=')) {
            skipStatement();
            continue;
        }
        if (peek().kind != TokenKind::string) {
            unexpected("a name in quotes");
            skipStatement();
            continue;
        }
        const std::string name = decodeString(take());
        if (!expectLineEnd()) skipStatement();
        if (!known) continue;
        const auto value = ids.find(text);
        if (value == ids.end()) fail(idAt, "no value '" + text + "' in graph " + graphName);
        else graph->value(value->second).name = name == text ? std::string() : name;
    }
    return true;
}

bool Parser::gradient()
{
    take();
    const Token at = peek();
    std::string function;
    std::string name;
    if (!id(function) || !expect('=') || !id(name)) return false;
    const auto found = m_graphIds.find(function);
    if (found == m_graphIds.end()) return fail(at, "no graph '" + function + "'");
    m_parsed.model.gradients.emplace_back(found->second, name);
    return expectLineEnd();
}

bool Parser::data()
{
    const Token at = take();
    if (peek().kind != TokenKind::hash) return unexpected("a hash");
    std::string hash = lowerHash(take());
    int64_t size = 0;
    const Token sizeAt = peek();
    if (!integer(size)) return false;
    if (size < 0) return fail(sizeAt, "found " + std::to_string(size) + " bytes");
    if (peek().isWord("base64")) {
        take();
        if (!peek().is('{')) return unexpected("'{'");
        take();
        if (peek().kind != TokenKind::base64) return fail(peek(), "found " + show(peek()) + ", expected base64 data");
        auto bytes = decodeBase64(take().text);
        if (!peek().is('}')) return unexpected("'}'");
        take();
        if (!bytes) return fail(at, "data #" + hash + ": not base64");
        if (bytes->size() != static_cast<size_t>(size))
            return fail(at, "data #" + hash + ": found " + std::to_string(bytes->size()) + " bytes, expected " + std::to_string(size));
        if (const std::string found = toHex(hashBytes(bytes->view())); !found.starts_with(hash))
            return fail(at, "data #" + hash + ": its bytes have the hash #" + found.substr(0, hash.size()));
        m_blobs.emplace_back(std::move(hash), std::move(*bytes));
        return expectLineEnd();
    }
    if (!peek().isWord("file")) return unexpected("base64 or file");
    take();
    const Token fileAt = peek();
    if (fileAt.kind != TokenKind::string) return unexpected("a file name in quotes");
    SideBlob blob;
    blob.file = decodeString(take());
    if (!isSafeSidePath(blob.file)) return fail(fileAt, "found file \"" + blob.file + "\", expected a path below the folder of the text");
    if (!peek().isWord("offset")) return unexpected("offset=");
    take();
    int64_t offset = 0;
    if (!expect('=')) return false;
    const Token offsetAt = peek();
    if (!integer(offset)) return false;
    if (offset < 0) return fail(offsetAt, "found offset " + std::to_string(offset));
    blob.hash = std::move(hash);
    blob.size = static_cast<uint64_t>(size);
    blob.offset = static_cast<uint64_t>(offset);
    blob.line = at.line;
    blob.column = at.column;
    m_parsed.sideBlobs.push_back(std::move(blob));
    return expectLineEnd();
}

} // namespace text

ParsedText parseText(std::string_view text, const ParseOptions& options) { return text::Parser(text, options).run(); }

Error textError(const std::vector<TextError>& errors, std::string_view fileName)
{
    const auto place = [&](const TextError& e) {
        return std::string(fileName) + ":" + std::to_string(e.line) + ":" + std::to_string(e.column);
    };
    Error error(ErrorCode::badFile, errors.front().message);
    error.at(place(errors.front()));
    for (size_t i = 1; i < errors.size(); ++i) error.detail().notes.push_back(place(errors[i]) + ": " + errors[i].message);
    return error;
}

Result<Model> parseModel(std::string_view text, std::string_view fileName)
{
    ParsedText parsed = parseText(text);
    if (!parsed.errors.empty()) return textError(parsed.errors, fileName);
    return std::move(parsed.model);
}

} // namespace loopscope
