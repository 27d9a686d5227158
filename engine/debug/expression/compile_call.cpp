// Calls: functions, casts, history and position functions.
#include "engine/debug/expression/compiler.h"

#include "engine/base/text.h"

#include <algorithm>

namespace loopscope {

namespace {

using Type = ExpressionType;
using Function = ExpressionFunction;

bool isCastTarget(DType dtype) { return isFloat(dtype) || isInteger(dtype) || dtype == DType::boolean; }

/// Type of a reduction's result over elements of type `x`.
Type reducedType(Function function, Type x)
{
    switch (function) {
    case Function::any:
    case Function::all: return Type::boolean;
    case Function::count:
    case Function::argmin:
    case Function::argmax: return Type::integer;
    case Function::min:
    case Function::max:
    case Function::sum: return x;
    default: return Type::real;
    }
}

/// Where a keyword argument may stand.
bool takesKeyword(const FunctionEntry& entry, std::string_view keyword)
{
    if (keyword == "axis") return entry.group == FunctionGroup::reduction;
    return (keyword == "rtol" || keyword == "atol") && entry.function == Function::close;
}

/// Whether a function has a meaning for elements of this type. Values of unknown type are looked at when it runs.
bool takesElements(const FunctionEntry& entry, Type type)
{
    const bool isNumber = type == Type::integer || type == Type::real;
    if (type == Type::any || type == Type::none) return true;
    switch (entry.group) {
    case FunctionGroup::reduction:
        if (entry.function == Function::any || entry.function == Function::all || entry.function == Function::count) {
            return type == Type::boolean;
        }
        return isNumber || (type == Type::boolean && entry.function == Function::mean);
    case FunctionGroup::statistic:
    case FunctionGroup::elementwise: return isNumber;
    case FunctionGroup::comparison: return isNumber || entry.function == Function::same;
    case FunctionGroup::strings: return type == Type::text || (entry.function == Function::len && type != Type::dtype);
    default: return true;
    }
}

} // namespace

Status ExpressionCompiler::checkArguments(const SyntaxNode& syntax, const FunctionEntry& entry) const
{
    size_t positional = 0;
    std::vector<std::string_view> seen;
    for (const uint32_t child : syntax.children) {
        const SyntaxNode& argument = m_syntax.nodes[child];
        if (argument.kind != SyntaxKind::keyword) {
            if (!seen.empty()) return errorAt(argument.begin, "arguments with a keyword come last");
            ++positional;
            continue;
        }
        if (!takesKeyword(entry, argument.text)) return errorAt(argument.begin, syntax.text + " takes no argument '" + argument.text + "'");
        if (std::ranges::find(seen, argument.text) != seen.end()) return errorAt(argument.begin, "'" + argument.text + "' is given twice");
        seen.push_back(argument.text);
    }
    if (positional >= entry.least && positional <= entry.most) return {};
    std::string wanted = std::to_string(entry.least);
    if (entry.most != entry.least) wanted += " to " + std::to_string(entry.most);
    wanted += wanted == "1" ? " argument" : " arguments";
    return errorAt(syntax.begin, syntax.text + " takes " + wanted).found(std::to_string(positional));
}

Result<uint32_t> ExpressionCompiler::compileCall(const SyntaxNode& syntax, const History& history)
{
    const auto cast = dtypeFromName(syntax.text);
    if (cast && isCastTarget(*cast)) return compileCast(syntax, *cast, history);
    const FunctionEntry* entry = findExpressionFunction(syntax.text);
    if (!entry) {
        std::vector<std::string> names;
        for (const FunctionEntry& f : expressionFunctions()) names.emplace_back(f.name);
        return errorAt(syntax.begin, "no function '" + syntax.text + "'").nearest(nearestNames(syntax.text, names));
    }
    LS_CHECK_OK(checkArguments(syntax, *entry));
    switch (entry->group) {
    case FunctionGroup::history: return compileHistory(syntax, entry->function, history);
    case FunctionGroup::position: return compilePosition(syntax, entry->function);
    case FunctionGroup::accessor: {
        LS_TRY(const uint32_t value, compile(syntax.children[0], history));
        return compileAccessor(*entry, value, syntax);
    }
    default: return entry->function == Function::file ? compileFile(syntax) : compilePlain(syntax, *entry, history);
    }
}

Result<uint32_t> ExpressionCompiler::compileCast(const SyntaxNode& syntax, DType to, const History& history)
{
    const FunctionEntry entry{syntax.text, Function::cast, FunctionGroup::elementwise, 1, 1};
    LS_CHECK_OK(checkArguments(syntax, entry));
    LS_TRY(const uint32_t value, compile(syntax.children[0], history));
    const StaticType operand = m_program->nodes[value].type;
    if (operand.type != Type::boolean && !takesElements(entry, operand.type)) {
        return errorAt(syntax.begin, syntax.text + " needs numbers").found(describe(operand));
    }
    ProgramNode node = nodeFor(syntax, ProgramKind::function);
    node.function = Function::cast;
    node.castTo = to;
    node.operands = {value};
    node.type = {to == DType::boolean ? Type::boolean : isFloat(to) ? Type::real : Type::integer, operand.shape};
    raiseCost(node, operand.shape);
    return pushPure(std::move(node));
}

Result<uint32_t> ExpressionCompiler::compileHistory(const SyntaxNode& syntax, Function function, const History& outer)
{
    if (outer.kind != ExpressionHistory::current) {
        return errorAt(syntax.begin, syntax.text + " cannot stand inside " + outer.call->text + "( )");
    }
    History history;
    history.call = &syntax;
    uint32_t argument = syntax.children[0];
    switch (function) {
    case Function::prev:
    case Function::changed:
    case Function::delta: history.kind = ExpressionHistory::previous; break;
    case Function::first: history.kind = ExpressionHistory::first; break;
    case Function::ref: history.kind = ExpressionHistory::reference; break;
    default: // at
        history.kind = ExpressionHistory::atIteration;
        argument = syntax.children[1];
        break;
    }
    const bool isAt = function == Function::at;
    if (isAt || (function == Function::prev && syntax.children.size() == 2)) {
        const uint32_t amount = syntax.children[isAt ? 0 : 1];
        LS_TRY(history.node, compile(amount, {}));
        const ProgramNode& made = m_program->nodes[history.node];
        if (made.type.type != Type::integer && made.type.type != Type::any && made.type.type != Type::none) {
            return errorAt(made.begin, std::string(isAt ? "an iteration" : "the number of invocations") + " must be an int")
                .found(describe(made.type));
        }
        if (!isAt && constantInt(history.node).value_or(1) < 1) return errorAt(made.begin, "prev goes back by 1 or more");
    }
    if (isAt && syntax.children.size() == 3) {
        LS_TRY(const uint32_t loop, site(m_syntax.nodes[syntax.children[2]], false));
        history.loop = loop;
    }

    const size_t before = m_program->nodes.size();
    LS_TRY(const uint32_t then, compile(argument, history));
    const auto isVersioned = [&](const ProgramNode& n) { return n.kind == ProgramKind::load && n.history == history.kind; };
    if (std::none_of(m_program->nodes.begin() + static_cast<std::ptrdiff_t>(before), m_program->nodes.end(), isVersioned)) {
        return errorAt(m_syntax.nodes[argument].begin, syntax.text + " needs a value of the model");
    }
    if (function != Function::changed && function != Function::delta) return then;
    LS_TRY(const uint32_t now, compile(argument, {}));
    if (function == Function::delta) return pushBinary(syntax, BinaryOperator::subtract, now, then);

    ProgramNode node = nodeFor(syntax, ProgramKind::function);
    node.function = Function::changed;
    node.type = {Type::boolean, Shape{}};
    const ProgramNode& current = m_program->nodes[now];
    if (current.kind == ProgramKind::load) {
        // The source compares hashes: no copy of the previous value is needed.
        node.kind = ProgramKind::placeFact;
        node.place = current.place;
        node.cost = ExpressionCost::previousValue;
        std::erase_if(m_program->dependencies, [&](const ExpressionDependency& d) {
            return d == ExpressionDependency{current.place, ExpressionHistory::previous, 1} && !isReadBefore(d, before);
        });
        depend({node.place, ExpressionHistory::changed, 0});
    } else {
        node.operands = {now, then};
        raiseCost(node, current.type.shape);
    }
    return push(std::move(node));
}

/// Whether one of the first `count` nodes reads what `dependency` stands for.
bool ExpressionCompiler::isReadBefore(const ExpressionDependency& dependency, size_t count) const
{
    const auto& nodes = m_program->nodes;
    return std::any_of(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(count), [&](const ProgramNode& n) {
        return n.kind == ProgramKind::load && n.place == dependency.place && n.history == dependency.history &&
               (n.historyNode == kNoNode ? 1 : constantInt(n.historyNode).value_or(-1)) == dependency.back;
    });
}

Result<uint32_t> ExpressionCompiler::site(const SyntaxNode& operatorName, bool isBranch)
{
    if (operatorName.kind != SyntaxKind::word && operatorName.kind != SyntaxKind::string) {
        return errorAt(operatorName.begin,
                       std::string("an operator is named here, as in ") + (isBranch ? "branch(if#3)" : "trip(while#7)"));
    }
    auto found = isBranch ? m_source.findBranch(operatorName.text) : m_source.findLoop(operatorName.text);
    if (!found.ok()) return placed(std::move(found).takeError(), operatorName.begin);
    return *found;
}

Result<uint32_t> ExpressionCompiler::compilePosition(const SyntaxNode& syntax, Function function)
{
    const bool isBranch = function == Function::branch;
    LS_TRY(const uint32_t place, site(m_syntax.nodes[syntax.children[0]], isBranch));
    ProgramNode node = nodeFor(syntax, ProgramKind::position);
    node.function = function;
    node.site = place;
    node.type = {isBranch ? Type::text : Type::integer, Shape{}};
    return push(std::move(node));
}

Result<uint32_t> ExpressionCompiler::compileFile(const SyntaxNode& syntax)
{
    const SyntaxNode& path = m_syntax.nodes[syntax.children[0]];
    if (path.kind != SyntaxKind::string) return errorAt(path.begin, "file needs a path in quotes");
    auto place = m_source.findFile(path.text);
    if (!place.ok()) return placed(std::move(place).takeError(), path.begin);
    LS_TRY(const uint32_t node, load(syntax, *place, {}));
    m_program->nodes[node].cost = ExpressionCost::reference;
    return node;
}

Result<uint32_t> ExpressionCompiler::compilePlain(const SyntaxNode& syntax, const FunctionEntry& entry, const History& history)
{
    ProgramNode node = nodeFor(syntax, ProgramKind::function);
    node.function = entry.function;
    for (const uint32_t child : syntax.children) {
        const SyntaxNode& argument = m_syntax.nodes[child];
        if (argument.kind == SyntaxKind::keyword) {
            LS_TRY(const uint32_t value, compile(argument.children[0], history));
            (argument.text == "axis" ? node.axis : argument.text == "rtol" ? node.rtol : node.atol) = value;
        } else {
            LS_TRY(const uint32_t value, compile(child, history));
            const ProgramNode& made = m_program->nodes[value];
            if (!takesElements(entry, made.type.type)) {
                return errorAt(made.begin, syntax.text + " cannot take " + describe(made.type));
            }
            node.operands.push_back(value);
        }
    }
    const ProgramNode& first = m_program->nodes[node.operands[0]];
    const StaticType operand = first.type;
    node.type.shape = Shape{};
    switch (entry.group) {
    case FunctionGroup::reduction:
        node.type.type = reducedType(entry.function, operand.type);
        if (node.axis != kNoNode) node.type.shape = Shape::unknownRank();
        raiseCost(node, operand.shape);
        break;
    case FunctionGroup::statistic:
        node.type.type = entry.function == Function::finite ? Type::boolean : Type::integer;
        node.cost = ExpressionCost::perWrite;
        if (first.kind == ProgramKind::load && first.history == ExpressionHistory::current) {
            node.kind = ProgramKind::placeFact;
            node.place = first.place;
        }
        break;
    case FunctionGroup::elementwise: {
        const Function f = entry.function;
        const bool isTest = f == Function::isnan || f == Function::isinf;
        const bool isRoot = f == Function::sqrt || f == Function::exp || f == Function::log;
        node.type = {isTest ? Type::boolean : isRoot ? Type::real : f == Function::bits ? Type::integer : operand.type, operand.shape};
        if (f == Function::clamp) node.type.type = Type::any;
        raiseCost(node, operand.shape);
        break;
    }
    case FunctionGroup::strings:
        node.type.type = entry.function == Function::len ? Type::integer : Type::boolean;
        if (entry.function != Function::len) node.type.shape = operand.shape;
        break;
    default:
        node.type.type = entry.function == Function::same || entry.function == Function::close ? Type::boolean
                         : entry.function == Function::ulp                                     ? Type::integer
                                                                                               : Type::real;
        raiseCost(node, operand.shape);
        break;
    }
    if (entry.function == Function::matches) {
        const uint32_t pattern = node.operands[1];
        if (m_program->nodes[pattern].kind != ProgramKind::constant) {
            return errorAt(m_program->nodes[pattern].begin, "matches needs its pattern in quotes");
        }
        auto compiled = TextPattern::compile(m_program->values[pattern].textAt(0));
        if (!compiled.ok()) return placed(std::move(compiled).takeError(), m_program->nodes[pattern].begin);
        node.pattern = static_cast<uint32_t>(m_program->patterns.size());
        m_program->patterns.push_back(std::move(compiled).value());
    }
    return pushPure(std::move(node));
}

} // namespace loopscope
