// The expression language of conditions, watches and `print`: an expression is compiled once against a source of values and then
// evaluated at each hit. Pure: it changes nothing and runs no operator. Language: docs/expressions.md.
#pragma once

#include "engine/base/result.h"
#include "engine/debug/expression/source.h"
#include "engine/debug/expression/value.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

struct ExpressionProgram;

/// What an expression costs at a hit, cheapest first; an expression has the class of its dearest part.
enum class ExpressionCost : uint8_t {
    constant,      ///< elements, shapes, `iter`, `branch`, scalars
    perWrite,      ///< reductions, statistics, elementwise work on tensors: once per write
    previousValue, ///< prev(x, n ≤ 8), changed, first: one copy or a hash is kept
    farHistory,    ///< at(k, x), other iterations, prev(x, n > 8): only what is recorded
    reference,     ///< ref(x), file
};
std::string_view expressionCostName(ExpressionCost cost);

/// prev(x, n) up to here keeps copies; beyond it needs a recording.
inline constexpr int64_t kKeptHistory = 8;

enum class ExpressionHistory : uint8_t { current, previous, atIteration, first, reference, changed };

/// One value that an expression reads, and how: what has to be kept or recorded for it.
struct ExpressionDependency {
    uint32_t place = 0;
    ExpressionHistory history = ExpressionHistory::current;
    int64_t back = 0; ///< previous: how many invocations back, −1 if only known when it runs
    bool operator==(const ExpressionDependency&) const = default;
};

enum class ExpressionUse : uint8_t { value, condition };

/// A compiled expression with the buffers for its evaluation: not for several threads at once.
class Expression {
public:
    /// Errors: usage, "LINE:COLUMN: …"; names, types and constant indices are checked here. A condition must give one bool.
    static Result<Expression> compile(std::string_view text, ExpressionSource& source, ExpressionUse use);
    /// `a, b`, as print and watches take it.
    static Result<std::vector<Expression>> compileList(std::string_view text, ExpressionSource& source);

    Expression(Expression&&) noexcept;
    Expression& operator=(Expression&&) noexcept;
    ~Expression();

    /// The value now. It belongs to the expression until it is evaluated again. Allocates nothing once buffers have their size.
    /// Errors: execution, "LINE:COLUMN: …", or what the source reports.
    Result<const ExpressionValue*> evaluate(ExpressionSource& source);
    /// The value as a condition; `none` does not hold. Errors: as evaluate, and if it is not one bool.
    Result<bool> holds(ExpressionSource& source);

    const std::string& text() const;
    ExpressionCost cost() const;
    std::span<const ExpressionDependency> dependencies() const;

private:
    friend class ExpressionCompiler;
    explicit Expression(std::unique_ptr<ExpressionProgram> program);
    std::unique_ptr<ExpressionProgram> m_program;
};

} // namespace loopscope
