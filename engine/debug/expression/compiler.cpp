// From the syntax tree to a program: names are resolved, types and constant indices checked, constant parts computed.
#include "engine/debug/expression/compiler.h"

#include "engine/base/text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

namespace loopscope {

namespace {

using Type = ExpressionType;
using Function = ExpressionFunction;

constexpr std::array<std::string_view, 12> kWords = {"iter",  "trip", "branch", "step", "run", "hits",
                                                     "depth", "true", "false",  "inf",  "nan", "none"};

StaticType staticTypeOf(const TensorType& declared)
{
    StaticType result;
    result.shape = declared.dynamicShape();
    switch (dtypeClass(declared.dtype)) {
    case DTypeClass::none: return result;
    case DTypeClass::floating: result.type = Type::real; return result;
    case DTypeClass::boolean: result.type = Type::boolean; return result;
    case DTypeClass::string: result.type = Type::text; return result;
    case DTypeClass::signedInteger:
    case DTypeClass::unsignedInteger: break;
    default: result.type = Type::handle; return result;
    }
    const Quantization* q = declared.quantization.get();
    const bool isQuantized = q && q->kind == Quantization::Kind::affine && !q->scales.empty();
    if (declared.dtype == DType::u64 && !isQuantized) return result; // int or float, by value
    result.type = isQuantized ? Type::real : Type::integer;
    return result;
}

bool isOneElement(const Shape& shape) { return shape.isStatic() && checkedElementCount(shape).value_or(0) == 1; }

bool isScalar(const StaticType& type) { return type.shape.hasRank() && type.shape.rank() == 0; }

} // namespace

Error ExpressionCompiler::errorAt(uint32_t at, std::string what) const
{
    return Error(ErrorCode::usage, std::move(what)).at(expressionPosition(m_text, at));
}

Error ExpressionCompiler::placed(Error error, uint32_t at) const { return std::move(error.at(expressionPosition(m_text, at))); }

uint32_t ExpressionCompiler::push(ProgramNode node)
{
    for (const uint32_t operand : node.operands) node.cost = std::max(node.cost, m_program->nodes[operand].cost);
    for (const ProgramIndex& index : node.indices) {
        for (const uint32_t n : index.nodes) {
            if (n != kNoNode) node.cost = std::max(node.cost, m_program->nodes[n].cost);
        }
    }
    if (node.historyNode != kNoNode) node.cost = std::max(node.cost, m_program->nodes[node.historyNode].cost);
    m_program->nodes.push_back(std::move(node));
    m_program->values.emplace_back();
    return static_cast<uint32_t>(m_program->nodes.size() - 1);
}

/// Adds a node that depends on its operands alone; if those are constant it is computed here.
Result<uint32_t> ExpressionCompiler::pushPure(ProgramNode node)
{
    const auto isConstant = [&](uint32_t n) { return n == kNoNode || m_program->nodes[n].kind == ProgramKind::constant; };
    bool foldable =
        std::ranges::all_of(node.operands, isConstant) && isConstant(node.axis) && isConstant(node.rtol) && isConstant(node.atol);
    for (const ProgramIndex& index : node.indices) foldable = foldable && std::ranges::all_of(index.nodes, isConstant);
    const uint32_t at = push(std::move(node));
    if (!foldable) return at;
    if (Status status = evaluateNode(*m_program, m_source, at); !status.ok()) {
        Error error = std::move(status).takeError();
        error.detail().code = ErrorCode::usage;
        return error;
    }
    ProgramNode& made = m_program->nodes[at];
    made.kind = ProgramKind::constant;
    const ExpressionValue& value = m_program->values[at];
    made.type = {value.type(), value.type() == Type::shape ? Shape{} : value.shape()};
    return at;
}

ProgramNode ExpressionCompiler::nodeFor(const SyntaxNode& syntax, ProgramKind kind) const
{
    ProgramNode node;
    node.kind = kind;
    node.begin = syntax.begin;
    node.end = syntax.end;
    node.at = syntax.at;
    return node;
}

uint32_t ExpressionCompiler::pushConstant(const SyntaxNode& syntax, Type type)
{
    ProgramNode node = nodeFor(syntax, ProgramKind::constant);
    node.type = {type, Shape{}};
    return push(std::move(node));
}

std::optional<int64_t> ExpressionCompiler::constantInt(uint32_t node) const
{
    if (node == kNoNode || m_program->nodes[node].kind != ProgramKind::constant) return std::nullopt;
    const ExpressionValue& value = m_program->values[node];
    if (value.type() != Type::integer || value.elementCount() != 1) return std::nullopt;
    return value.integerAt(0);
}

void ExpressionCompiler::depend(ExpressionDependency dependency)
{
    auto& all = m_program->dependencies;
    if (std::ranges::find(all, dependency) == all.end()) all.push_back(dependency);
}

Result<uint32_t> ExpressionCompiler::load(const SyntaxNode& syntax, const ExpressionPlace& place, const History& history)
{
    ProgramNode node = nodeFor(syntax, ProgramKind::load);
    node.place = place.handle;
    node.type = staticTypeOf(place.type);
    node.history = history.kind;
    node.historyNode = history.node;
    node.site = history.loop;
    const std::optional<int64_t> amount = constantInt(history.node);
    ExpressionDependency dependency{place.handle, history.kind, 0};
    Status allowed;
    switch (history.kind) {
    case ExpressionHistory::previous:
        dependency.back = history.node == kNoNode ? 1 : amount.value_or(-1);
        node.cost = dependency.back >= 0 && dependency.back <= kKeptHistory ? ExpressionCost::previousValue : ExpressionCost::farHistory;
        if (node.cost == ExpressionCost::farHistory) allowed = m_source.checkFarHistory(place.handle, std::nullopt);
        break;
    case ExpressionHistory::atIteration:
        node.cost = ExpressionCost::farHistory;
        allowed = m_source.checkFarHistory(place.handle, amount);
        break;
    case ExpressionHistory::first: node.cost = ExpressionCost::previousValue; break;
    case ExpressionHistory::reference:
        node.cost = ExpressionCost::reference;
        allowed = m_source.checkReference(place.handle);
        break;
    default:
        if (!place.isFarHistory) break;
        node.cost = ExpressionCost::farHistory;
        allowed = m_source.checkFarHistory(place.handle, std::nullopt);
        break;
    }
    if (!allowed.ok()) {
        const uint32_t begin = history.call ? history.call->begin : syntax.begin;
        const uint32_t end = history.call ? history.call->end : syntax.end;
        Error error = std::move(allowed).takeError();
        error.at(std::string(m_text.substr(begin, end - begin)));
        return placed(std::move(error), begin);
    }
    depend(dependency);
    return push(std::move(node));
}

Result<uint32_t> ExpressionCompiler::compileMembers(uint32_t value, std::string_view members, const SyntaxNode& syntax)
{
    while (!members.empty()) {
        members.remove_prefix(1); // the dot
        const std::string_view member = members.substr(0, members.find('.'));
        members.remove_prefix(member.size());
        SyntaxNode part = syntax;
        part.end -= static_cast<uint32_t>(members.size());
        part.at = part.end - static_cast<uint32_t>(member.size());
        LS_TRY(value, compileMember(value, member, part));
    }
    return value;
}

Result<uint32_t> ExpressionCompiler::compileMember(uint32_t value, std::string_view member, const SyntaxNode& syntax)
{
    const FunctionEntry* entry = findExpressionFunction(member);
    if (entry && entry->group == FunctionGroup::accessor) return compileAccessor(*entry, value, syntax);
    std::vector<std::string> names;
    for (const FunctionEntry& f : expressionFunctions()) {
        if (f.group == FunctionGroup::accessor) names.emplace_back(f.name);
    }
    return errorAt(syntax.at, "no accessor '" + std::string(member) + "'").nearest(nearestNames(member, names));
}

Result<uint32_t> ExpressionCompiler::compileAccessor(const FunctionEntry& entry, uint32_t value, const SyntaxNode& syntax)
{
    ProgramNode node = nodeFor(syntax, ProgramKind::function);
    node.function = entry.function;
    const ProgramNode& operand = m_program->nodes[value];
    const bool isFact = entry.function == Function::dead || entry.function == Function::writer || entry.function == Function::step ||
                        entry.function == Function::name;
    if (isFact) {
        if (operand.kind != ProgramKind::load || operand.history != ExpressionHistory::current) {
            return errorAt(syntax.at,
                           std::string(m_program->textOf(operand)) + " is no value of the model that has a " + std::string(entry.name));
        }
        node.kind = ProgramKind::placeFact;
        node.place = operand.place;
        const bool isText = entry.function == Function::writer || entry.function == Function::name;
        node.type = {entry.function == Function::dead ? Type::boolean : isText ? Type::text : Type::integer, Shape{}};
        return push(std::move(node));
    }
    node.operands = {value};
    switch (entry.function) {
    case Function::shape: node.type = {Type::shape, Shape{}}; break;
    case Function::dtype: node.type = {Type::dtype, Shape{}}; break;
    case Function::q:
        node.type = {Type::integer, operand.type.shape};
        if (operand.kind != ProgramKind::load) {
            return errorAt(syntax.at, std::string(m_program->textOf(operand)) +
                                          " is computed and has no stored integers; write .q before other operations");
        }
        break;
    case Function::scale: node.type = {Type::real, Shape::unknownRank()}; break;
    case Function::zero: node.type = {Type::integer, Shape::unknownRank()}; break;
    default: node.type = {Type::integer, Shape{}}; break;
    }
    return pushPure(std::move(node));
}

Result<uint32_t> ExpressionCompiler::compileWord(const SyntaxNode& syntax, const History& history)
{
    const std::string& word = syntax.text;
    if (std::ranges::find(kWords, word) != kWords.end()) return compileReservedWord(syntax);
    for (size_t cut = word.size(); cut != std::string::npos && cut > 0; cut = word.rfind('.', cut - 1)) {
        const std::string_view id = std::string_view(word).substr(0, cut);
        if (std::ranges::find(kWords, id) != kWords.end()) continue;
        const auto place = m_source.findValue(id);
        if (!place) continue;
        SyntaxNode value = syntax;
        value.end = syntax.begin + static_cast<uint32_t>(cut);
        LS_TRY(const uint32_t loaded, load(value, *place, history));
        return compileMembers(loaded, std::string_view(word).substr(cut), syntax);
    }
    if (const auto dtype = dtypeFromName(word)) {
        const uint32_t node = pushConstant(syntax, Type::dtype);
        m_program->values[node].setDType(*dtype);
        return node;
    }
    return noValue(syntax.begin, word);
}

/// The part before accessors is what the user thinks of as the name.
Error ExpressionCompiler::noValue(uint32_t at, std::string_view written) const
{
    std::string_view name = written;
    for (size_t dot = name.rfind('.'); dot != std::string_view::npos; dot = name.rfind('.')) {
        const FunctionEntry* entry = findExpressionFunction(name.substr(dot + 1));
        if (!entry || entry->group != FunctionGroup::accessor) break;
        name = name.substr(0, dot);
    }
    std::vector<std::string> near = nearestNames(name, m_source.valueNames());
    const auto isWord = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; };
    for (std::string& one : near) // as an expression writes it
        if (!std::ranges::all_of(one, isWord)) one = "%\"" + one + '"';
    return errorAt(at, "no value '" + std::string(name) + "' here").nearest(std::move(near));
}

Result<uint32_t> ExpressionCompiler::compileReservedWord(const SyntaxNode& syntax)
{
    const std::string& word = syntax.text;
    const auto constant = [&](Type type, auto set) {
        const uint32_t node = pushConstant(syntax, type);
        set(m_program->values[node]);
        return node;
    };
    if (word == "true" || word == "false") return constant(Type::boolean, [&](ExpressionValue& v) { v.setBoolean(word == "true"); });
    if (word == "inf" || word == "nan") {
        return constant(Type::real, [&](ExpressionValue& v) { v.setReal(word == "inf" ? HUGE_VAL : NAN); });
    }
    if (word == "none") return constant(Type::none, [](ExpressionValue& v) { v.setNone(); });
    if (word == "trip" || word == "branch") {
        return errorAt(syntax.begin, word + " needs an operator, as in " + (word == "trip" ? "trip(while#7)" : "branch(if#3)"));
    }
    ProgramNode node = nodeFor(syntax, ProgramKind::position);
    node.function = word == "iter"   ? Function::iter
                    : word == "step" ? Function::step
                    : word == "run"  ? Function::run
                    : word == "hits" ? Function::hits
                                     : Function::depth;
    node.type = {Type::integer, Shape{}};
    return push(std::move(node));
}

Result<uint32_t> ExpressionCompiler::compileNamed(const SyntaxNode& syntax, const History& history)
{
    if (syntax.quoted) {
        auto place = m_source.findNamed(syntax.text);
        if (!place.ok()) return placed(std::move(place).takeError(), syntax.begin);
        return load(syntax, *place, history);
    }
    // %iter.shape: accessors as behind a bare word.
    const std::string& word = syntax.text;
    for (size_t cut = word.size(); cut != std::string::npos && cut > 0; cut = word.rfind('.', cut - 1)) {
        const auto place = m_source.findValue(std::string_view(word).substr(0, cut));
        if (!place) continue;
        SyntaxNode value = syntax;
        value.end = syntax.begin + 1 + static_cast<uint32_t>(cut);
        LS_TRY(const uint32_t loaded, load(value, *place, history));
        return compileMembers(loaded, std::string_view(word).substr(cut), syntax);
    }
    return noValue(syntax.begin, word);
}

/// Elementwise work on more than one element is done once per write.
void ExpressionCompiler::raiseCost(ProgramNode& node, const Shape& worked) const
{
    if (!isOneElement(worked)) node.cost = std::max(node.cost, ExpressionCost::perWrite);
}

Result<uint32_t> ExpressionCompiler::pushBinary(const SyntaxNode& syntax, BinaryOperator op, uint32_t left, uint32_t right)
{
    const StaticType a = m_program->nodes[left].type, b = m_program->nodes[right].type;
    if (auto refused = refuseBinary(op, a.type, b.type)) return errorAt(syntax.at, std::move(*refused));
    ProgramNode node = nodeFor(syntax, ProgramKind::binary);
    node.op = op;
    node.operands = {left, right};
    node.type.type = binaryType(op, a.type, b.type);
    const bool areWholes = a.type == Type::shape || b.type == Type::shape || a.type == Type::dtype || b.type == Type::dtype;
    const bool mayBeNone = a.type == Type::none || b.type == Type::none;
    if (areWholes || mayBeNone) {
        node.type.shape = Shape{};
    } else if (a.shape.hasRank() && b.shape.hasRank()) {
        const auto shape = broadcastShapes(a.shape, b.shape);
        if (!shape) return errorAt(syntax.at, "shapes " + toString(a.shape) + " and " + toString(b.shape) + " do not broadcast");
        node.type.shape = *shape;
    }
    raiseCost(node, node.type.shape);
    return pushPure(std::move(node));
}

Result<uint32_t> ExpressionCompiler::compileIndex(const SyntaxNode& syntax, const History& history)
{
    LS_TRY(const uint32_t base, compile(syntax.children[0], history));
    ProgramNode node = nodeFor(syntax, ProgramKind::index);
    node.operands = {base};
    std::vector<IndexValue> values;
    std::vector<uint8_t> known;
    bool mayBeMask = false;
    for (size_t i = 1; i < syntax.children.size(); ++i) {
        const SyntaxNode& part = m_syntax.nodes[syntax.children[i]];
        ProgramIndex index;
        index.at = part.begin;
        IndexValue value;
        bool isKnown = true;
        if (part.kind == SyntaxKind::ellipsis) {
            index.kind = ProgramIndex::Kind::ellipsis;
            value.kind = IndexValue::Kind::ellipsis;
        } else if (part.kind == SyntaxKind::slice) {
            index.kind = ProgramIndex::Kind::slice;
            value.kind = IndexValue::Kind::slice;
            for (size_t k = 0; k < part.children.size(); ++k) {
                const uint32_t child = part.children[k];
                if (m_syntax.nodes[child].kind == SyntaxKind::missing) continue;
                LS_TRY(index.nodes[k], compile(child, history));
                LS_CHECK_OK(checkIndexType(index.nodes[k], false));
                const auto number = constantInt(index.nodes[k]);
                isKnown = isKnown && number.has_value();
                (k == 0 ? value.begin : k == 1 ? value.end : value.step) = number.value_or(1);
                if (k == 0) value.hasBegin = true;
                if (k == 1) value.hasEnd = true;
                if (k == 2 && number == 0) return errorAt(m_syntax.nodes[child].begin, "the step of a slice cannot be 0");
            }
        } else {
            LS_TRY(index.nodes[0], compile(syntax.children[i], history));
            LS_CHECK_OK(checkIndexType(index.nodes[0], syntax.children.size() == 2));
            const Type type = m_program->nodes[index.nodes[0]].type.type;
            mayBeMask = mayBeMask || type == Type::boolean || type == Type::any;
            const auto number = constantInt(index.nodes[0]);
            isKnown = number.has_value();
            value.begin = number.value_or(0);
        }
        values.push_back(value);
        known.push_back(isKnown ? 1 : 0);
        node.indices.push_back(index);
    }
    const StaticType& type = m_program->nodes[base].type;
    if (type.type == Type::dtype || type.type == Type::handle || (type.type != Type::any && type.type != Type::shape && isScalar(type))) {
        return errorAt(syntax.begin, std::string(m_program->textOf(m_program->nodes[base])) + " is a " +
                                         std::string(expressionTypeName(type.type)) + " and has no elements to index");
    }
    node.type.type = type.type == Type::shape ? Type::integer : type.type;
    if (type.type == Type::shape) {
        node.type.shape = Shape{};
    } else if (mayBeMask) {
        node.cost = ExpressionCost::perWrite;
    } else if (type.shape.hasRank()) {
        size_t bad = 0;
        const auto flags = std::make_unique<bool[]>(known.size());
        std::copy(known.begin(), known.end(), flags.get());
        auto shape = indexedShape(type.shape, values, {flags.get(), known.size()}, bad);
        if (!shape.ok()) {
            Error error = std::move(shape).takeError();
            error.detail().code = ErrorCode::usage;
            return placed(std::move(error), node.indices[std::min(bad, node.indices.size() - 1)].at);
        }
        node.type.shape = *shape;
    }
    return pushPure(std::move(node));
}

Status ExpressionCompiler::checkIndexType(uint32_t node, bool mayBeMask) const
{
    const ProgramNode& index = m_program->nodes[node];
    const Type type = index.type.type;
    if (type == Type::integer || type == Type::any || type == Type::none || (type == Type::boolean && mayBeMask)) return {};
    if (type == Type::boolean) return errorAt(index.begin, "a mask must be the only index");
    return errorAt(index.begin, "an index must be an int").found(std::string(expressionTypeName(type)));
}

Result<uint32_t> ExpressionCompiler::compileLogical(const SyntaxNode& syntax, const History& history)
{
    ProgramNode node = nodeFor(syntax, syntax.kind == SyntaxKind::logicalNot   ? ProgramKind::logicalNot
                                       : syntax.kind == SyntaxKind::logicalAnd ? ProgramKind::logicalAnd
                                                                               : ProgramKind::logicalOr);
    for (const uint32_t child : syntax.children) {
        LS_TRY(const uint32_t operand, compile(child, history));
        const ProgramNode& made = m_program->nodes[operand];
        const Type type = made.type.type;
        const bool isTensor = made.type.shape.isStatic() && !isOneElement(made.type.shape);
        if ((type != Type::boolean && type != Type::any && type != Type::none) || (type == Type::boolean && isTensor)) {
            return errorAt(made.begin, std::string(m_program->textOf(made)) + " gives " + describe(made.type) +
                                           "; and, or, not need one bool" + (type == Type::boolean ? ": any(...) or all(...)" : ""));
        }
        node.operands.push_back(operand);
    }
    node.type = {Type::boolean, Shape{}};
    return pushPure(std::move(node));
}

std::string ExpressionCompiler::describe(const StaticType& type)
{
    std::string text(expressionTypeName(type.type));
    if (type.shape.hasRank() && type.shape.rank() > 0) text += toString(type.shape);
    return text;
}

Result<uint32_t> ExpressionCompiler::compileList(const SyntaxNode& syntax, const History& history)
{
    ProgramNode node = nodeFor(syntax, ProgramKind::list);
    Type type = Type::integer;
    for (const uint32_t child : syntax.children) {
        LS_TRY(const uint32_t element, compile(child, history));
        const ProgramNode& made = m_program->nodes[element];
        const bool isFirst = node.operands.empty();
        const Type found = made.type.type;
        const bool fits =
            found == Type::any || found == Type::integer || found == Type::real || found == Type::boolean || found == Type::text;
        if (!fits) return errorAt(made.begin, "a list holds numbers, bools or strings").found(std::string(expressionTypeName(found)));
        if (isFirst) {
            type = found;
        } else if (type != found) {
            const bool isNumeric = (type == Type::integer || type == Type::real) && (found == Type::integer || found == Type::real);
            if (isNumeric) type = Type::real;
            else if (type != Type::any && found != Type::any) return errorAt(made.begin, "a list holds elements of one type");
            else type = Type::any;
        }
        node.operands.push_back(element);
    }
    node.type = {type, Shape{static_cast<int64_t>(syntax.children.size())}};
    return pushPure(std::move(node));
}

Result<uint32_t> ExpressionCompiler::compile(uint32_t index, const History& history)
{
    const SyntaxNode& syntax = m_syntax.nodes[index];
    switch (syntax.kind) {
    case SyntaxKind::integer: {
        const uint32_t node = pushConstant(syntax, Type::integer);
        m_program->values[node].setInteger(syntax.integer);
        return node;
    }
    case SyntaxKind::real: {
        const uint32_t node = pushConstant(syntax, Type::real);
        m_program->nodes[node].isLiteral = true;
        m_program->values[node].setReal(syntax.real);
        return node;
    }
    case SyntaxKind::string: {
        const uint32_t node = pushConstant(syntax, Type::text);
        m_program->values[node].setText(syntax.text);
        return node;
    }
    case SyntaxKind::word: return compileWord(syntax, history);
    case SyntaxKind::named: return compileNamed(syntax, history);
    case SyntaxKind::address: {
        auto place = m_source.findAddress(syntax.text);
        if (!place.ok()) return placed(std::move(place).takeError(), syntax.begin);
        return load(syntax, *place, history);
    }
    case SyntaxKind::list: return compileList(syntax, history);
    case SyntaxKind::call: return compileCall(syntax, history);
    case SyntaxKind::member: {
        LS_TRY(const uint32_t value, compile(syntax.children[0], history));
        return compileMember(value, syntax.text, syntax);
    }
    case SyntaxKind::index: return compileIndex(syntax, history);
    case SyntaxKind::negate:
    case SyntaxKind::plus: {
        LS_TRY(const uint32_t operand, compile(syntax.children[0], history));
        const StaticType type = m_program->nodes[operand].type;
        if (type.type != Type::integer && type.type != Type::real && type.type != Type::any && type.type != Type::none) {
            return errorAt(syntax.at, std::string("cannot compute ") + (syntax.kind == SyntaxKind::negate ? "-" : "+") +
                                          std::string(expressionTypeName(type.type)));
        }
        if (syntax.kind == SyntaxKind::plus) return operand;
        ProgramNode node = nodeFor(syntax, ProgramKind::negate);
        node.operands = {operand};
        node.type = type;
        node.isLiteral = m_program->nodes[operand].isLiteral;
        raiseCost(node, type.shape);
        return pushPure(std::move(node));
    }
    case SyntaxKind::logicalNot:
    case SyntaxKind::logicalAnd:
    case SyntaxKind::logicalOr: return compileLogical(syntax, history);
    case SyntaxKind::binary: {
        LS_TRY(const uint32_t left, compile(syntax.children[0], history));
        LS_TRY(const uint32_t right, compile(syntax.children[1], history));
        return pushBinary(syntax, syntax.op, left, right);
    }
    default: return errorAt(syntax.begin, "this has no value of its own");
    }
}

Result<Expression> ExpressionCompiler::run(uint32_t root, ExpressionUse use)
{
    m_program = std::make_unique<ExpressionProgram>();
    const SyntaxNode& syntax = m_syntax.nodes[root];
    m_program->whole = m_text;
    m_program->text = m_text.substr(syntax.begin, syntax.end - syntax.begin);
    // The whole text may be a node's name, whose signs would otherwise be operators: while/add_1.
    const bool isWord = std::ranges::find(kWords, m_program->text) != kWords.end();
    const bool isLiteral = syntax.kind == SyntaxKind::integer || syntax.kind == SyntaxKind::string;
    const auto node = isWord || isLiteral ? std::nullopt : m_source.findValue(m_program->text);
    Result<uint32_t> made = node ? load(syntax, *node, {}) : compile(root, {});
    if (!made.ok()) return std::move(made).takeError();
    m_program->root = *made;
    const StaticType& type = m_program->nodes[*made].type;
    if (use == ExpressionUse::condition && type.type != Type::any && type.type != Type::none) {
        const bool isTensor = type.shape.isStatic() && !isOneElement(type.shape);
        if (type.type != Type::boolean || isTensor) {
            Error error = notOneBool(*m_program, describe(type), type.type == Type::boolean);
            error.detail().code = ErrorCode::usage;
            return error;
        }
    }
    return Expression(std::move(m_program));
}

Result<Expression> Expression::compile(std::string_view text, ExpressionSource& source, ExpressionUse use)
{
    LS_TRY(const Syntax syntax, parseExpression(text, false));
    return ExpressionCompiler(text, syntax, source).run(syntax.roots.front(), use);
}

Result<std::vector<Expression>> Expression::compileList(std::string_view text, ExpressionSource& source)
{
    LS_TRY(const Syntax syntax, parseExpression(text, true));
    std::vector<Expression> all;
    for (const uint32_t root : syntax.roots) {
        LS_TRY(Expression one, ExpressionCompiler(text, syntax, source).run(root, ExpressionUse::value));
        all.push_back(std::move(one));
    }
    return all;
}

} // namespace loopscope
