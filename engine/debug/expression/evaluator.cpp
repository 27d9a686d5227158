// Evaluation of a compiled expression: each node computes its register from those of its operands.
#include "engine/debug/expression/program.h"

#include <algorithm>
#include <array>
#include <string>

namespace loopscope {

namespace {

using Type = ExpressionType;
using Function = ExpressionFunction;

/// Most indices of one x[…]; ranks beyond are refused anyway.
constexpr size_t kMostIndices = 40;

class Evaluator {
public:
    Evaluator(ExpressionProgram& program, ExpressionSource& source) : m_program(program), m_source(source) {}

    Status evaluate(uint32_t index)
    {
        const ProgramNode& node = m_program.nodes[index];
        ExpressionValue& result = m_program.values[index];
        switch (node.kind) {
        case ProgramKind::constant: return {};
        case ProgramKind::load: return load(node, result);
        case ProgramKind::placeFact: return placed(placeFact(node, result), node.at);
        case ProgramKind::position: position(node, result); return {};
        case ProgramKind::logicalAnd:
        case ProgramKind::logicalOr: return logical(node, result);
        default: break;
        }
        for (const uint32_t operand : node.operands) LS_CHECK_OK(evaluate(operand));
        switch (node.kind) {
        case ProgramKind::binary: {
            const ProgramNode& left = m_program.nodes[node.operands[0]];
            const ProgramNode& right = m_program.nodes[node.operands[1]];
            return placed(computeBinary(node.op, operand(node, 0), operand(node, 1), left.isLiteral, right.isLiteral, result), node.at);
        }
        case ProgramKind::negate: return placed(computeNegation(operand(node, 0), result), node.at);
        case ProgramKind::logicalNot: {
            LS_TRY(const std::optional<bool> value, oneBool(node.operands[0]));
            if (value) result.setBoolean(!*value);
            else result.setNone();
            return {};
        }
        case ProgramKind::list: return list(node, result);
        case ProgramKind::index: return indexInto(node, result);
        default: return placed(function(node, result), node.at);
        }
    }

private:
    const ExpressionValue& operand(const ProgramNode& node, size_t i) const { return m_program.values[node.operands[i]]; }

    Status placed(Status status, uint32_t at) const
    {
        if (status.ok()) return status;
        Error error = std::move(status).takeError();
        error.at(expressionPosition(m_program.whole, at));
        return error;
    }

    Status load(const ProgramNode& node, ExpressionValue& result)
    {
        std::optional<int64_t> amount;
        if (node.historyNode != kNoNode) {
            LS_CHECK_OK(evaluate(node.historyNode));
            const ExpressionValue& value = m_program.values[node.historyNode];
            if (value.isNone()) {
                result.setNone();
                return {};
            }
            if (value.type() != Type::integer || value.elementCount() != 1) {
                return placed(Error(ErrorCode::execution, "an iteration or distance must be one int").found(describe(value)),
                              m_program.nodes[node.historyNode].begin);
            }
            amount = value.integerAt(0);
        }
        auto tensor = ask(node, amount);
        if (!tensor.ok()) return placed(std::move(tensor).takeError(), node.begin);
        if (!*tensor || !(*tensor)->data) result.setNone();
        else result.setView(**tensor);
        return {};
    }

    Result<const Tensor*> ask(const ProgramNode& node, std::optional<int64_t> amount)
    {
        switch (node.history) {
        case ExpressionHistory::previous:
            if (amount.value_or(1) < 1) return Error(ErrorCode::execution, "prev goes back by 1 or more").found(std::to_string(*amount));
            return m_source.previous(node.place, amount.value_or(1));
        case ExpressionHistory::atIteration:
            if (*amount < 0) return nullptr; // there was none before the first
            return m_source.atIteration(node.place, *amount, node.site);
        case ExpressionHistory::first: return m_source.first(node.place);
        case ExpressionHistory::reference: return m_source.reference(node.place);
        default: return m_source.current(node.place);
        }
    }

    Status placeFact(const ProgramNode& node, ExpressionValue& result)
    {
        switch (node.function) {
        case Function::dead: result.setBoolean(m_source.write(node.place).isDead); return {};
        case Function::step: {
            const int64_t step = m_source.write(node.place).step;
            if (step < 0) result.setNone();
            else result.setInteger(step);
            return {};
        }
        case Function::writer: {
            const std::string_view writer = m_source.write(node.place).writer;
            if (writer.empty()) result.setNone();
            else result.setText(writer);
            return {};
        }
        case Function::name: result.setText(m_source.name(node.place)); return {};
        case Function::changed: {
            LS_TRY(const bool changed, m_source.changed(node.place));
            result.setBoolean(changed);
            return {};
        }
        default: break;
        }
        LS_TRY(const TensorStatistics* statistics, m_source.statistics(node.place));
        if (!statistics) {
            result.setNone();
            return {};
        }
        const int64_t infinities = statistics->positiveInf + statistics->negativeInf;
        if (node.function == Function::finite) result.setBoolean(statistics->nan + infinities == 0);
        else if (node.function == Function::nans) result.setInteger(statistics->nan);
        else if (node.function == Function::infs) result.setInteger(infinities);
        else if (node.function == Function::zeros) result.setInteger(statistics->zeros);
        else result.setInteger(statistics->saturated);
        return {};
    }

    void position(const ProgramNode& node, ExpressionValue& result)
    {
        std::optional<int64_t> number;
        switch (node.function) {
        case Function::branch:
            if (const auto taken = m_source.branchTaken(*node.site)) result.setText(*taken);
            else result.setNone();
            return;
        case Function::iter: number = m_source.iteration(node.site); break;
        case Function::trip: number = m_source.tripCount(*node.site); break;
        case Function::step: number = m_source.step(); break;
        case Function::run: number = m_source.run(); break;
        case Function::hits: number = m_source.hits(); break;
        default: number = m_source.depth(); break;
        }
        if (number) result.setInteger(*number);
        else result.setNone();
    }

    /// The value of a node as a truth value; none stays none.
    Result<std::optional<bool>> oneBool(uint32_t index) const
    {
        const ExpressionValue& value = m_program.values[index];
        if (value.isNone()) return std::optional<bool>();
        if (value.type() == Type::boolean && value.elementCount() == 1) return std::optional<bool>(value.booleanAt(0));
        const ProgramNode& node = m_program.nodes[index];
        return Error(ErrorCode::execution,
                     std::string(m_program.textOf(node)) + " gives " + describe(value) + "; and, or, not need one bool")
            .at(expressionPosition(m_program.whole, node.begin));
    }

    /// The right side is evaluated only if the left does not decide. none does not hold, so that `none or true` is true.
    Status logical(const ProgramNode& node, ExpressionValue& result)
    {
        const bool decides = node.kind == ProgramKind::logicalOr;
        LS_CHECK_OK(evaluate(node.operands[0]));
        LS_TRY(const std::optional<bool> left, oneBool(node.operands[0]));
        if (left == decides) {
            result.setBoolean(decides);
            return {};
        }
        LS_CHECK_OK(evaluate(node.operands[1]));
        LS_TRY(const std::optional<bool> right, oneBool(node.operands[1]));
        if (right == decides) result.setBoolean(decides);
        else if (!left || !right) result.setNone();
        else result.setBoolean(!decides);
        return {};
    }

    Status list(const ProgramNode& node, ExpressionValue& result)
    {
        Type type = node.operands.empty() ? Type::integer : operand(node, 0).type();
        for (size_t i = 0; i < node.operands.size(); ++i) {
            const ExpressionValue& element = operand(node, i);
            if (element.isNone()) {
                result.setNone();
                return {};
            }
            const Type found = element.type();
            const bool areNumbers = (type == Type::integer || type == Type::real) && (found == Type::integer || found == Type::real);
            const bool hasElements = areNumbers || found == Type::boolean || found == Type::text;
            if (element.elementCount() != 1 || !hasElements || (found != type && !areNumbers)) {
                return placed(Error(ErrorCode::execution, "a list holds single elements of one type").found(describe(element)),
                              m_program.nodes[node.operands[i]].begin);
            }
            if (found == Type::real) type = Type::real;
        }
        result.setTensor(type, DType::unknown, Shape{static_cast<int64_t>(node.operands.size())});
        for (size_t i = 0; i < node.operands.size(); ++i) {
            const auto to = static_cast<int64_t>(i);
            if (type == Type::real) result.setRealAt(to, operand(node, i).realAt(0));
            else operand(node, i).copyElement(0, result, to);
        }
        return {};
    }

    /// The int that a node holds. False: it is none.
    Result<bool> indexNumber(uint32_t index, int64_t& number)
    {
        LS_CHECK_OK(evaluate(index));
        const ExpressionValue& value = m_program.values[index];
        if (value.isNone()) return false;
        if (value.type() != Type::integer || value.elementCount() != 1) {
            return Error(ErrorCode::execution, "an index must be one int")
                .found(describe(value))
                .at(expressionPosition(m_program.whole, m_program.nodes[index].begin));
        }
        number = value.integerAt(0);
        return true;
    }

    Status indexInto(const ProgramNode& node, ExpressionValue& result)
    {
        const ExpressionValue& x = operand(node, 0);
        if (x.isNone()) {
            result.setNone();
            return {};
        }
        if (node.indices.size() > kMostIndices) return placed(Error(ErrorCode::execution, "too many indices"), node.indices.back().at);
        if (node.indices.size() == 1 && node.indices[0].kind == ProgramIndex::Kind::single) {
            LS_CHECK_OK(evaluate(node.indices[0].nodes[0]));
            const ExpressionValue& mask = m_program.values[node.indices[0].nodes[0]];
            if (mask.type() == Type::boolean && x.type() != Type::shape && x.type() != Type::dtype && x.type() != Type::handle) {
                return placed(computeMask(x, mask, result), node.indices[0].at);
            }
        }
        std::array<IndexValue, kMostIndices> values;
        for (size_t i = 0; i < node.indices.size(); ++i) {
            const ProgramIndex& index = node.indices[i];
            IndexValue& value = values[i];
            value.kind = static_cast<IndexValue::Kind>(index.kind);
            int64_t* const parts[] = {&value.begin, &value.end, &value.step};
            value.hasBegin = index.nodes[0] != kNoNode;
            value.hasEnd = index.nodes[1] != kNoNode;
            for (size_t k = 0; k < 3; ++k) {
                if (index.nodes[k] == kNoNode) continue;
                LS_TRY(const bool hasNumber, indexNumber(index.nodes[k], *parts[k]));
                if (hasNumber) continue;
                result.setNone();
                return {};
            }
            if (value.step == 0) return placed(Error(ErrorCode::execution, "the step of a slice cannot be 0"), index.at);
        }
        if (x.type() == Type::shape) return dimensionOf(node, x.shape(), values[0], result);
        if (x.type() == Type::dtype || x.type() == Type::handle) {
            return placed(Error(ErrorCode::execution, "it has no elements to index").found(describe(x)), node.begin);
        }
        size_t bad = 0;
        Status status = computeIndex(x, {values.data(), node.indices.size()}, bad, result);
        return placed(std::move(status), node.indices[std::min(bad, node.indices.size() - 1)].at);
    }

    Status dimensionOf(const ProgramNode& node, const Shape& shape, const IndexValue& index, ExpressionValue& result) const
    {
        if (node.indices.size() != 1 || index.kind != IndexValue::Kind::single) {
            return placed(Error(ErrorCode::execution, "a shape takes one int as index"), node.indices[0].at);
        }
        const int64_t at = index.begin < 0 ? index.begin + shape.rank() : index.begin;
        if (at < 0 || at >= shape.rank()) {
            return placed(Error(ErrorCode::execution, "index " + std::to_string(index.begin) + " out of range for a shape of rank " +
                                                          std::to_string(shape.rank())),
                          node.indices[0].at);
        }
        result.setInteger(shape[static_cast<int>(at)]);
        return {};
    }

    /// A keyword argument as a number.
    Result<double> keyword(uint32_t index, double otherwise)
    {
        if (index == kNoNode) return otherwise;
        LS_CHECK_OK(evaluate(index));
        const ExpressionValue& value = m_program.values[index];
        const bool isNumber = value.type() == Type::integer || value.type() == Type::real;
        if (!isNumber || value.elementCount() != 1) {
            return Error(ErrorCode::execution, "a tolerance must be one number").found(describe(value));
        }
        return value.realAt(0);
    }

    Status function(const ProgramNode& node, ExpressionValue& result)
    {
        if (node.function == Function::changed) {
            Status compared = computeComparison(Function::same, "changed", operand(node, 0), operand(node, 1), 0, 0, result);
            const bool same = compared.ok() && !operand(node, 0).isNone() && !operand(node, 1).isNone() && result.booleanAt(0);
            result.setBoolean(!same);
            return {};
        }
        const ExpressionValue& x = operand(node, 0);
        for (const uint32_t i : node.operands) {
            if (!m_program.values[i].isNone()) continue;
            result.setNone();
            return {};
        }
        if (node.function == Function::cast) return computeCast(node.castTo, x, result);
        const FunctionEntry& entry = entryOf(node.function);
        switch (entry.group) {
        case FunctionGroup::accessor: return computeAccessor(node.function, m_program.textOf(m_program.nodes[node.operands[0]]), x, result);
        case FunctionGroup::reduction: return reduce(node, entry.name, x, result);
        case FunctionGroup::statistic: return computeStatistic(node.function, entry.name, x, result);
        case FunctionGroup::elementwise:
            if (node.function == Function::clamp) return computeClamp(x, operand(node, 1), operand(node, 2), result);
            return computeElementwise(node.function, entry.name, x, result);
        case FunctionGroup::comparison: {
            LS_TRY(const double rtol, keyword(node.rtol, 1e-5));
            LS_TRY(const double atol, keyword(node.atol, 1e-6));
            return computeComparison(node.function, entry.name, x, operand(node, 1), rtol, atol, result);
        }
        default: return strings(node, entry.name, x, result);
        }
    }

    static const FunctionEntry& entryOf(Function function)
    {
        const auto all = expressionFunctions();
        size_t i = 0;
        while (all[i].function != function) ++i;
        return all[i];
    }

    Status reduce(const ProgramNode& node, std::string_view name, const ExpressionValue& x, ExpressionValue& result)
    {
        const ExpressionValue* axis = nullptr;
        if (node.axis != kNoNode) {
            LS_CHECK_OK(evaluate(node.axis));
            axis = &m_program.values[node.axis];
        }
        double fraction = 0;
        if (node.function == Function::quantile) {
            const ExpressionValue& p = operand(node, 1);
            const bool isNumber = p.type() == Type::integer || p.type() == Type::real;
            if (!isNumber || p.elementCount() != 1 || !(p.realAt(0) >= 0 && p.realAt(0) <= 1)) {
                return Error(ErrorCode::execution, "quantile needs a number from 0 to 1");
            }
            fraction = p.realAt(0);
        }
        return computeReduction(node.function, name, x, axis, fraction, m_program.scratch, result);
    }

    Status strings(const ProgramNode& node, std::string_view name, const ExpressionValue& x, ExpressionValue& result)
    {
        if (node.function == Function::len) {
            if (x.type() == Type::shape) result.setInteger(x.shape().rank());
            else if (x.type() == Type::text && x.elementCount() == 1) result.setInteger(static_cast<int64_t>(x.textAt(0).size()));
            else if (x.isTensor() && x.shape().rank() > 0) result.setInteger(x.shape()[0]);
            else return Error(ErrorCode::execution, "len needs a string, a shape or a tensor with dimensions").found(describe(x));
            return {};
        }
        const ExpressionValue& pattern = operand(node, 1);
        if (x.type() != Type::text || pattern.type() != Type::text || pattern.elementCount() != 1) {
            return Error(ErrorCode::execution, std::string(name) + " needs strings").found(describe(x) + " and " + describe(pattern));
        }
        result.setTensor(Type::boolean, DType::boolean, x.shape());
        for (int64_t i = 0; i < x.elementCount(); ++i) {
            const std::string_view text = x.textAt(i), wanted = pattern.textAt(0);
            const bool holds = node.function == Function::contains     ? text.find(wanted) != std::string_view::npos
                               : node.function == Function::startswith ? text.starts_with(wanted)
                                                                       : m_program.patterns[node.pattern].search(text);
            result.setIntegerAt(i, holds ? 1 : 0);
        }
        result.collapse();
        return {};
    }

    ExpressionProgram& m_program;
    ExpressionSource& m_source;
};

} // namespace

Status evaluateNode(ExpressionProgram& program, ExpressionSource& source, uint32_t node)
{
    return Evaluator(program, source).evaluate(node);
}

Error notOneBool(const ExpressionProgram& program, std::string_view gives, bool isBooleanTensor)
{
    std::string what = program.text + " gives " + std::string(gives) + "; a condition needs one bool";
    if (isBooleanTensor) what += ": any(...) or all(...)";
    return Error(ErrorCode::execution, std::move(what)).at(expressionPosition(program.whole, program.nodes[program.root].begin));
}

Expression::Expression(std::unique_ptr<ExpressionProgram> program) : m_program(std::move(program)) {}
Expression::Expression(Expression&&) noexcept = default;
Expression& Expression::operator=(Expression&&) noexcept = default;
Expression::~Expression() = default;

Result<const ExpressionValue*> Expression::evaluate(ExpressionSource& source)
{
    LS_CHECK_OK(evaluateNode(*m_program, source, m_program->root));
    return &m_program->values[m_program->root];
}

Result<bool> Expression::holds(ExpressionSource& source)
{
    LS_TRY(const ExpressionValue* value, evaluate(source));
    if (value->isNone()) return false;
    if (value->type() == ExpressionType::boolean && value->elementCount() == 1) return value->booleanAt(0);
    return notOneBool(*m_program, describe(*value), value->type() == ExpressionType::boolean);
}

const std::string& Expression::text() const { return m_program->text; }
ExpressionCost Expression::cost() const { return m_program->nodes[m_program->root].cost; }
std::span<const ExpressionDependency> Expression::dependencies() const { return m_program->dependencies; }

std::string_view expressionCostName(ExpressionCost cost)
{
    constexpr std::string_view kNames[] = {"constant", "per write", "previous value", "far history", "reference"};
    return kNames[static_cast<size_t>(cost)];
}

} // namespace loopscope
