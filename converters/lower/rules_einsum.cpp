// Einsum: sums of products by names of dimensions, as one product of matrices.
#include "converters/lower/graph_lowering.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loopscope::lowering {

namespace {

bool has(std::string_view names, char name) { return names.find(name) != std::string_view::npos; }

/// A value, and what its dimensions are called.
struct Operand {
    ValueId id;
    std::string names;
};

/// Letters of the operands and of the result.
struct Equation {
    std::string text;
    std::vector<std::string> operands;
    std::string result;
};

Result<Equation> equationOf(const GraphLowering& l)
{
    Equation equation;
    equation.text = attributeString(l.op().attributes, "equation", "");
    const size_t arrow = equation.text.find("->");
    if (arrow == std::string::npos || has(equation.text, '.')) return noForm("the equation '" + equation.text + "'");
    std::string left = equation.text.substr(0, arrow);
    equation.result = equation.text.substr(arrow + 2);
    std::erase(left, ' ');
    std::erase(equation.result, ' ');
    for (size_t at = 0; at <= left.size();) {
        const size_t comma = std::min(left.find(',', at), left.size());
        equation.operands.push_back(left.substr(at, comma - at));
        at = comma + 1;
    }
    if (equation.operands.size() > 2 || std::ssize(equation.operands) != l.inputCount())
        return noForm("the equation '" + equation.text + "' of " + std::to_string(l.inputCount()) + " operands");
    for (const char name : equation.result)
        if (std::ranges::count(equation.result, name) != 1)
            return noForm("the equation '" + equation.text + "' names a dimension of the result twice");
    return equation;
}

Status turn(GraphLowering& l, Operand& operand, const std::string& names)
{
    if (operand.names == names) return {};
    std::vector<int64_t> order;
    for (const char name : names) order.push_back(static_cast<int64_t>(operand.names.find(name)));
    LS_TRY(operand.id, l.emit("transpose", {operand.id, l.integerConstant(DType::i32, order)}));
    operand.names = names;
    return {};
}

/// Of a dimension that is named twice only the diagonal counts: one row in n + 1 of both dimensions made one.
Status takeDiagonals(GraphLowering& l, Operand& operand)
{
    for (;;) {
        const std::string& names = operand.names;
        const auto twice = std::ranges::find_if(names, [&](char name) { return std::ranges::count(names, name) > 1; });
        if (twice == names.end()) return {};
        const char name = *twice;
        const Shape shape = l.type(operand.id).dynamicShape();
        if (!shape.isStatic()) return noForm("operands of unknown shape");
        const size_t first = names.find(name), second = names.find(name, first + 1);
        std::vector<int64_t> order = {static_cast<int64_t>(first), static_cast<int64_t>(second)};
        std::string rest;
        for (size_t d = 0; d < names.size(); ++d)
            if (d != first && d != second) {
                order.push_back(static_cast<int64_t>(d));
                rest += names[d];
            }
        const int64_t size = shape[static_cast<int>(first)];
        std::vector<int64_t> sizes = {size * size}, rows;
        for (size_t d = 2; d < order.size(); ++d) sizes.push_back(shape[static_cast<int>(order[d])]);
        for (int64_t i = 0; i < size; ++i) rows.push_back(i * (size + 1));
        LS_TRY(const ValueId turned, l.emit("transpose", {operand.id, l.integerConstant(DType::i32, order)}));
        LS_TRY(const ValueId flat, l.emit("reshape", {turned, l.integerConstant(DType::i32, sizes)}));
        LS_TRY(operand.id, l.emit("gather", {flat, l.integerConstant(DType::i32, rows)}, {{"axis", int64_t{0}}}));
        operand.names = name + rest;
    }
}

/// What nobody else names is summed up.
Status sumUp(GraphLowering& l, Operand& operand, const std::string& kept)
{
    std::vector<int64_t> axes;
    std::string left;
    for (size_t d = 0; d < operand.names.size(); ++d) {
        if (has(kept, operand.names[d])) left += operand.names[d];
        else axes.push_back(static_cast<int64_t>(d));
    }
    if (axes.empty()) return {};
    LS_TRY(operand.id, l.emit("sum", {operand.id, l.integerConstant(DType::i32, axes)}, {{"keep_dims", false}}));
    operand.names = left;
    return {};
}

/// The operand as a stack of matrices: each group of names is one dimension.
Result<ValueId> matrices(GraphLowering& l, Operand operand, const Shape& shape, std::string_view batch, std::string_view rows,
                         std::string_view columns)
{
    std::vector<int64_t> sizes;
    std::string names;
    for (const std::string_view group : {batch, rows, columns}) {
        int64_t size = 1;
        for (const char name : group) size *= shape[static_cast<int>(operand.names.find(name))];
        sizes.push_back(size);
        names += group;
    }
    LS_CHECK_OK(turn(l, operand, names));
    return l.emit("reshape", {operand.id, l.integerConstant(DType::i32, sizes)});
}

/// A product of stacks of matrices as they are, whatever their sizes: one dimension each of rows, of columns, and that is summed over.
Result<Operand> plainProduct(GraphLowering& l, Operand a, Operand b, const std::string& batch, char row, char summed, char column)
{
    LS_CHECK_OK(turn(l, a, batch + row + summed));
    const bool isTurned = b.names == batch + column + summed;
    if (!isTurned) LS_CHECK_OK(turn(l, b, batch + summed + column));
    Operand made{ValueId(), batch + row + column};
    LS_TRY(made.id, l.emit("batch_matmul", {a.id, b.id}, {{"adj_x", false}, {"adj_y", isTurned}}));
    return made;
}

Result<Operand> product(GraphLowering& l, const Operand& a, const Operand& b, const std::string& result)
{
    std::string both, summed, onlyA, onlyB;
    for (const char name : a.names) (has(b.names, name) ? (has(result, name) ? both : summed) : onlyA) += name;
    for (const char name : b.names)
        if (!has(a.names, name)) onlyB += name;
    if (onlyA.size() == 1 && onlyB.size() == 1 && summed.size() == 1)
        return plainProduct(l, a, b, both, onlyA.front(), summed.front(), onlyB.front());
    const Shape ofA = l.type(a.id).dynamicShape(), ofB = l.type(b.id).dynamicShape();
    if (!ofA.isStatic() || !ofB.isStatic()) return noForm("operands of unknown shape");
    LS_TRY(const ValueId left, matrices(l, a, ofA, both, onlyA, summed));
    LS_TRY(const ValueId right, matrices(l, b, ofB, both, summed, onlyB));
    LS_TRY(const ValueId multiplied, l.emit("batch_matmul", {left, right}, {{"adj_x", false}, {"adj_y", false}}));
    Operand made{ValueId(), both + onlyA + onlyB};
    std::vector<int64_t> sizes;
    for (const char name : made.names)
        sizes.push_back(has(a.names, name) ? ofA[static_cast<int>(a.names.find(name))] : ofB[static_cast<int>(b.names.find(name))]);
    LS_TRY(made.id, l.emit("reshape", {multiplied, l.integerConstant(DType::i32, sizes)}));
    return made;
}

/// One operand or two; a name that an operand has twice is its diagonal, one that only it has is summed up.
Status einsum(GraphLowering& l)
{
    LS_TRY(const Equation equation, equationOf(l));
    std::vector<Operand> operands;
    for (int k = 0; k < l.inputCount(); ++k) {
        Operand operand{l.input(k), equation.operands[static_cast<size_t>(k)]};
        const Shape shape = l.type(operand.id).dynamicShape();
        if (!shape.hasRank() || shape.rank() != std::ssize(operand.names)) return noForm("operands of unknown shape");
        LS_CHECK_OK(takeDiagonals(l, operand));
        LS_CHECK_OK(sumUp(l, operand, equation.result + (l.inputCount() == 2 ? equation.operands[static_cast<size_t>(1 - k)] : "")));
        operands.push_back(std::move(operand));
    }
    if (operands.size() == 2) {
        LS_TRY(operands[0], product(l, operands[0], operands[1], equation.result));
    }
    if (std::ranges::any_of(equation.result, [&](char name) { return !has(operands[0].names, name); }))
        return noForm("the equation '" + equation.text + "' gives a dimension that no operand has");
    LS_CHECK_OK(turn(l, operands[0], equation.result));
    l.bind(0, operands[0].id);
    return {};
}

constexpr NamedRule kEinsumRules[] = {{"Einsum", einsum}};

} // namespace

std::span<const NamedRule> einsumRules() { return kEinsumRules; }

} // namespace loopscope::lowering
