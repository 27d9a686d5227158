// Graph bodies: head, declarations, operators, return, and the references between them.
#include "engine/base/text.h"
#include "engine/ir/text/parser_impl.h"

#include <algorithm>

namespace loopscope::text {

namespace {

std::string textOf(const Token& token) { return token.kind == TokenKind::string ? decodeString(token) : std::string(token.text); }

} // namespace

bool Parser::head(Graph& graph)
{
    if (!id(graph.id)) return false;
    if (peek().kind == TokenKind::string && !peek(1).is('=')) graph.name = decodeString(take());
    if (graph.name == graph.id) graph.name.clear();
    if (accept('(')) {
        while (!peek().is(')')) {
            if (!graph.inputs.empty() && !expect(',')) return false;
            const Token at = peek();
            Value value;
            value.role = ValueRole::input;
            if (!id(value.id) || !expect(':') || !type(value.type)) return false;
            if (accept('{') && (!attributes(value.attributes) || !expect('}'))) return false;
            const std::string name = value.id;
            if (!define(at, name, std::move(value))) return false;
            graph.inputs.emplace_back(static_cast<int64_t>(graph.values.size()) - 1);
        }
        if (!expect(')')) return false;
    }
    if (!attributes(graph.attributes)) return false;
    if (!peek().is('{')) return unexpected("'{'");
    take();
    return expectLineEnd();
}

bool Parser::graph()
{
    take();
    const Token at = peek();
    m_body = std::make_unique<Body>();
    Graph& graph = m_body->graph;
    bool headRead = head(graph);
    if (!headRead) {
        // The body is read anyway, for its own errors; what the head defined is not known, so uses of unknown names say nothing.
        if (!skipToBody()) return false;
    }
    for (;;) {
        if (isFull()) {
            skipToEnd();
            return false;
        }
        skipLines();
        const Token& token = peek();
        if (token.kind == TokenKind::end) {
            fail(token, "found the end of the text, expected '}' of graph " + graph.id);
            break;
        }
        if (token.is('}')) {
            take();
            if (!expectLineEnd()) skipStatement();
            break;
        }
        if (token.isWord("graph") && isId(peek(1))) {
            fail(token, "found a graph inside graph " + graph.id + ", expected '}'");
            break;
        }
        if (!bodyStatement()) skipStatement();
    }
    if (headRead) finishGraph();
    const auto [line, isNew] = m_graphLines.emplace(graph.id, at.line);
    if (!isNew && headRead) fail(at, "graph '" + graph.id + "' is already defined at line " + std::to_string(line->second));
    // Graphs take their ids by order of definition, as findGraphs() numbered them.
    if (headRead && isNew) {
        m_parsed.model.graphs.push_back(std::move(graph));
        m_parsed.places.push_back(std::move(m_body->places));
    }
    m_body.reset();
    return true;
}

bool Parser::define(const Token& at, const std::string& id, Value value)
{
    const auto [known, isNew] = m_body->names.emplace(id, Definition{});
    if (!isNew) return fail(at, "value '" + id + "' is already defined at line " + std::to_string(known->second.line));
    known->second.line = at.line;
    known->second.value = ValueId(static_cast<int64_t>(m_body->graph.values.size()));
    m_body->graph.values.push_back(std::move(value));
    return true;
}

void Parser::poison(const std::vector<Token>& names)
{
    for (const Token& name : names) m_body->poisoned.insert(textOf(name));
}

bool Parser::bodyStatement()
{
    const Token first = peek();
    const Token& second = peek(1);
    if (first.isWord("return") && !second.is('=') && !second.is(',') && !second.is('(')) return returnStatement();
    std::vector<Token> names;
    const bool quotedKind =
        first.kind == TokenKind::word && first.text.ends_with('.') && second.kind == TokenKind::string && !second.spaceBefore;
    if (!second.is('(') && !quotedKind) {
        for (;;) {
            if (!isId(peek())) {
                poison(names);
                return unexpected("a name, an operator, return or '}'");
            }
            names.push_back(take());
            if (!accept(',')) break;
        }
        if (!expect('=')) {
            poison(names);
            return false;
        }
        const Token& word = peek();
        const bool isDeclaration = word.isWord("const") || word.isWord("variable") || word.isWord("absent");
        if (isDeclaration && !peek(1).is('(')) {
            if (names.size() == 1 && declaration(names.front())) return true;
            poison(names);
            return names.size() == 1 ? false : fail(names[1], "a declaration has one name");
        }
    }
    if (operation(names)) return true;
    poison(names);
    return false;
}

bool Parser::declaration(const Token& id)
{
    const std::string word(take().text);
    Value value;
    value.id = textOf(id);
    value.role = word == "const" ? ValueRole::constant : word == "variable" ? ValueRole::variable : ValueRole::absent;
    if (!type(value.type)) return false;
    const bool hasData = value.role == ValueRole::constant || (value.role == ValueRole::variable && !atLineEnd() && !attributeStarts());
    if (hasData && !constantData(value.type, value.constant)) return false;
    if (!attributes(value.attributes)) return false;
    if (!atLineEnd()) return unexpected("an attribute or the end of the line");
    const std::string name = value.id;
    return define(id, name, std::move(value)) && expectLineEnd();
}

bool Parser::operands(Operator& op, size_t index)
{
    if (!expect('(')) return false;
    bool first = true;
    while (!peek().is(')')) {
        if (!first && !expect(',')) return false;
        first = false;
        if (accept('^')) {
            Reference node;
            node.line = peek().line;
            node.column = peek().column;

            if (!id(node.name)) return false;
            m_body->controls.push_back({index, std::move(node)});
        } else if (peek().isWord("_")) {
            take();
            op.inputs.emplace_back();
        } else {
            Reference written;
            if (!reference(written)) return false;
            m_body->operands.push_back({index, op.inputs.size(), std::move(written)});
            op.inputs.emplace_back();
        }
    }
    return expect(')');
}

bool Parser::resultTypes(std::vector<Value>& results)
{
    const auto one = [&] {
        Value& value = results.emplace_back();
        value.role = ValueRole::result;
        if (!type(value.type)) return false;
        return !accept('{') || (attributes(value.attributes) && expect('}'));
    };
    if (!accept('(')) return one();
    while (!peek().is(')'))
        if ((!results.empty() && !expect(',')) || !one()) return false;
    return expect(')');
}

/// `@name="call"`: operators that are no nodes may have a name, too, by which addresses know them.
bool Parser::nameFact(Operator& op, const Token& at, OperatorPlace& place)
{
    const auto fact = std::ranges::find(op.attributes, kNameFact, &NamedAttribute::key);
    if (fact == op.attributes.end()) return true;
    const auto* const text = fact->value.as<std::string>();
    if (text == nullptr || text->empty()) return fail(at, "the fact @name is a text that is not empty");
    op.name = *text;
    place.attributes.erase(place.attributes.begin() + (fact - op.attributes.begin()));
    op.attributes.erase(fact);
    return true;
}

bool Parser::operation(const std::vector<Token>& names)
{
    Graph& graph = m_body->graph;
    const bool tf = m_parsed.model.dialect == Dialect::tf;
    const size_t operandMark = m_body->operands.size();
    const size_t controlMark = m_body->controls.size();
    const size_t index = graph.operators.size();
    const Token at = names.empty() ? peek() : names.front();
    Operator op;
    OperatorPlace place;
    std::vector<Value> results;
    const auto undo = [&] {
        m_body->operands.resize(operandMark);
        m_body->controls.resize(controlMark);
        return false;
    };
    place.kind = {peek().line, peek().column};
    if (!kind(op.kind) || !operands(op, index)) return undo();
    const bool ofTfl = op.kind.dialect == "tfl" || op.kind.dialect == "circle";
    if (!attributes(op.attributes, ofTfl, 0, &place)) return undo();
    if (!tf && !nameFact(op, at, place)) return undo();
    const bool typed = accept(':');
    if (typed && !resultTypes(results)) return undo();
    if (!atLineEnd()) {
        unexpected(typed ? "the end of the line" : "an attribute, ':' and types, or the end of the line");
        return undo();
    }
    if (tf) {
        if (names.size() != 1) {
            fail(at, "a TensorFlow node has one name, found " + std::to_string(names.size()));
            return undo();
        }
        op.name = textOf(names.front());
        const auto [known, isNew] = m_body->names.emplace(op.name, Definition{});
        if (!isNew) {
            fail(at, "value '" + op.name + "' is already defined at line " + std::to_string(known->second.line));
            return undo();
        }
        known->second.line = at.line;
        known->second.op = OperatorId(static_cast<int64_t>(index));
        m_body->nodeResults.push_back(std::move(results));
        graph.operators.push_back(std::move(op));
        m_body->places.push_back(std::move(place));
        return expectLineEnd();
    }
    if (typed && results.size() != names.size()) {
        std::vector<std::string> texts;
        for (const Token& name : names) texts.push_back(textOf(name));
        fail(at, op.kind.name + " has " + std::to_string(results.size()) + (results.size() == 1 ? " result" : " results") + ", found " +
                     std::to_string(names.size()) + (names.size() == 1 ? " name" : " names") +
                     (names.empty() ? "" : " (" + join(texts, ", ") + ")"));
        return undo();
    }
    results.resize(names.size());
    for (size_t slot = 0; slot < names.size(); ++slot) {
        Value& value = results[slot];
        value.id = textOf(names[slot]);
        value.role = ValueRole::result;
        value.producer = OperatorId(static_cast<int64_t>(index));
        value.slot = static_cast<int32_t>(slot);
        const auto next = ValueId(static_cast<int64_t>(graph.values.size()));
        const std::string name = value.id;
        if (!define(names[slot], name, std::move(value))) return undo();
        op.results.push_back(next);
    }
    graph.operators.push_back(std::move(op));
    m_body->places.push_back(std::move(place));
    return expectLineEnd();
}

bool Parser::returnStatement()
{
    take();
    bool first = true;
    while (!atLineEnd()) {
        if (!first && !expect(',')) return false;
        first = false;
        Reference written;
        std::string name;
        if (accept('^')) {
            if (!id(name) || !expect('=')) return false;
            written.line = peek().line;
            written.column = peek().column;
            if (!id(written.name)) return false;
            m_body->controlOutputs.emplace_back(name, std::move(written));
            continue;
        }
        if (!reference(written)) return false;
        if (written.output.empty() && accept('=')) {
            name = written.name;
            written = Reference();
            if (!reference(written)) return false;
        }
        m_body->outputs.emplace_back(name, std::move(written));
    }
    return expectLineEnd();
}

ValueId Parser::resolve(const Reference& reference)
{
    Body& body = *m_body;
    const auto found = body.names.find(reference.name);
    if (found == body.names.end()) {
        if (body.poisoned.count(reference.name) > 0 || isFull()) return {};
        std::vector<std::string> candidates;
        for (const auto& [name, definition] : body.names) candidates.push_back(name);
        std::sort(candidates.begin(), candidates.end());
        const auto near = nearestNames(reference.name, candidates);
        fail(reference.line, reference.column,
             "no value '" + reference.name + "' in graph " + body.graph.id +
                 (near.empty() ? "" : "; did you mean '" + near.front() + "'?"));
        return {};
    }
    const Definition& definition = found->second;
    if (!definition.op.valid() && reference.output.empty()) return definition.value;
    const std::string id = reference.output.empty() ? reference.name : reference.name + ":" + reference.output;
    size_t count = 0;
    if (definition.op.valid()) {
        if (const auto named = body.namedOutputs.find(id); named != body.namedOutputs.end()) return named->second;
        const std::vector<ValueId>& results = body.graph.op(definition.op).results;
        const auto slot = reference.output.empty() ? std::optional<int64_t>(0) : parseInt64(reference.output);
        if (slot && static_cast<size_t>(*slot) < results.size())
            if (const ValueId result = results[static_cast<size_t>(*slot)]; body.graph.value(result).id == id) return result;
        count = results.size();
    }
    fail(reference.line, reference.column,
         definition.op.valid()
             ? "node '" + reference.name + "' has " + std::to_string(count) + (count == 1 ? " output" : " outputs") + ", found '" + id + "'"
             : "value '" + reference.name + "' is no node, found '" + id + "'");
    return {};
}

OperatorId Parser::resolveNode(const Reference& reference)
{
    const auto found = m_body->names.find(reference.name);
    if (found != m_body->names.end()) {
        if (found->second.op.valid()) return found->second.op;
        if (const Value& value = m_body->graph.value(found->second.value); value.role == ValueRole::result) return value.producer;
    }
    if (m_body->poisoned.count(reference.name) == 0)
        fail(reference.line, reference.column, "no node '" + reference.name + "' in graph " + m_body->graph.id);
    return {};
}

/// Creates the values of TensorFlow nodes: first the numbered outputs, then those that references spell `node:out:k`, by that text.
void Parser::createTfResults()
{
    Body& body = *m_body;
    std::map<int32_t, std::set<std::string>> named; ///< node → "out:k"
    const auto note = [&](const Reference& reference) {
        if (reference.output.find(':') == std::string::npos) return;
        const auto found = body.names.find(reference.name);
        if (found != body.names.end() && found->second.op.valid()) named[found->second.op.index].insert(reference.output);
    };
    for (const auto& operand : body.operands) note(operand.reference);
    for (const auto& output : body.outputs) note(output.second);
    for (const Reference& reference : body.valueRefs) note(reference);
    for (const auto& [scales, zeros] : body.blockRefs) {
        note(scales);
        if (zeros) note(*zeros);
    }
    if (const auto signatures = m_signaturesOf.find(body.id.index); signatures != m_signaturesOf.end())
        for (const size_t i : signatures->second) {
            for (const Reference& reference : m_signatureReferences[i].inputs) note(reference);
            for (const Reference& reference : m_signatureReferences[i].outputs) note(reference);
        }
    for (size_t i = 0; i < body.graph.operators.size(); ++i) {
        Operator& op = body.graph.operators[i];
        std::vector<Value>& results = body.nodeResults[i];
        const auto outputs = named.find(static_cast<int32_t>(i));
        const size_t namedCount = outputs == named.end() ? 0 : outputs->second.size();
        const size_t numbered = results.size() - std::min(results.size(), namedCount);
        results.resize(numbered + namedCount);
        auto name = namedCount == 0 ? std::set<std::string>::const_iterator() : outputs->second.begin();
        for (size_t slot = 0; slot < results.size(); ++slot) {
            Value& value = results[slot];
            value.role = ValueRole::result;
            value.producer = OperatorId(static_cast<int64_t>(i));
            value.slot = static_cast<int32_t>(slot);
            value.id = slot == 0 && numbered > 0 ? op.name : op.name + ":" + (slot < numbered ? std::to_string(slot) : *name++);
            op.results.emplace_back(static_cast<int64_t>(body.graph.values.size()));
            if (slot >= numbered) body.namedOutputs.emplace(value.id, op.results.back());
            body.graph.values.push_back(std::move(value));
        }
    }
}

void Parser::resolveAttribute(Attribute& attribute)
{
    if (auto* ref = attribute.as<ValueRef>()) {
        if (ref->value.index <= -2) ref->value = resolve(m_body->valueRefs[static_cast<size_t>(-2 - ref->value.index)]);
    } else if (auto* items = attribute.as<AttributeItems>()) {
        for (Attribute& item : *items) resolveAttribute(item);
    } else if (auto* map = attribute.as<AttributeMap>()) {
        for (auto& [key, item] : *map) resolveAttribute(item);
    } else if (auto* tensor = attribute.as<TensorAttribute>()) {
        resolveBlockwise(tensor->type);
    } else if (auto* graph = attribute.as<GraphRef>(); graph && graph->attributes) {
        AttributeList own = *graph->attributes;
        resolveAttributes(own);
        graph->attributes = std::make_shared<const AttributeList>(std::move(own));
    }
}

void Parser::resolveAttributes(AttributeList& list)
{
    for (NamedAttribute& attribute : list) resolveAttribute(attribute.value);
}

void Parser::resolveBlockwise(TensorType& type)
{
    for (TensorType& element : type.elementTypes) resolveBlockwise(element);
    if (!type.quantization || type.quantization->kind != Quantization::Kind::blockwise || type.quantization->blockScales > -2) return;
    Quantization q = *type.quantization;
    const auto& [scales, zeros] = m_body->blockRefs[static_cast<size_t>(-2 - q.blockScales)];
    q.blockScales = resolve(scales).index;
    q.blockZeros = zeros ? resolve(*zeros).index : -1;
    type.quantization = std::make_shared<Quantization>(std::move(q));
}

void Parser::finishGraph()
{
    Body& body = *m_body;
    Graph& graph = body.graph;
    if (const auto known = m_graphIds.find(graph.id); known != m_graphIds.end()) body.id = known->second;
    if (m_parsed.model.dialect == Dialect::tf) createTfResults();
    for (const auto& [op, position, reference] : body.operands) graph.operators[op].inputs[position] = resolve(reference);
    for (const auto& [op, reference] : body.controls) graph.operators[op].controlInputs.push_back(resolveNode(reference));
    for (const auto& [name, reference] : body.outputs) graph.outputs.push_back({name, resolve(reference)});
    for (const auto& [name, reference] : body.controlOutputs) graph.controlOutputs.emplace_back(name, resolveNode(reference));
    if (!body.valueRefs.empty() || !body.blockRefs.empty()) {
        for (Value& value : graph.values) {
            resolveBlockwise(value.type);
            resolveAttributes(value.attributes);
        }
        for (Operator& op : graph.operators) resolveAttributes(op.attributes);
        resolveAttributes(graph.attributes);
    }
}

} // namespace loopscope::text
