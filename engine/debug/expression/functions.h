// The functions of the expression language and the arithmetic on values. Errors here have no place yet: the evaluator adds it.
#pragma once

#include "engine/base/result.h"
#include "engine/debug/expression/syntax.h"
#include "engine/debug/expression/value.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

enum class ExpressionFunction : uint8_t {
    shape,
    rank,
    size,
    bytes,
    dtype,
    q,
    scale,
    zero,
    axis,
    dead,
    writer,
    step,
    name,
    min,
    max,
    sum,
    mean,
    std,
    var,
    norm,
    median,
    any,
    all,
    count,
    argmin,
    argmax,
    quantile,
    nans,
    infs,
    zeros,
    sats,
    finite,
    abs,
    sqrt,
    exp,
    log,
    floor,
    ceil,
    round,
    sign,
    clamp,
    isnan,
    isinf,
    bits,
    cast,
    prev,
    at,
    first,
    changed,
    delta,
    iter,
    trip,
    branch,
    run,
    hits,
    depth,
    same,
    ulp,
    maxdiff,
    close,
    cosine,
    ref,
    file,
    len,
    contains,
    startswith,
    matches,
};

enum class FunctionGroup : uint8_t { accessor, reduction, statistic, elementwise, history, position, comparison, strings };

struct FunctionEntry {
    std::string_view name;
    ExpressionFunction function;
    FunctionGroup group;
    uint8_t least, most; ///< positional arguments
};

/// All functions but the casts, which are called like dtypes.
std::span<const FunctionEntry> expressionFunctions();
const FunctionEntry* findExpressionFunction(std::string_view name);

/// Largest tensor that an expression makes.
inline constexpr int64_t kLargestComputed = int64_t{1} << 28;

/// Why `a op b` has no meaning for these types ("cannot compare str and int"); none if it may have one.
std::optional<std::string> refuseBinary(BinaryOperator op, ExpressionType a, ExpressionType b);
/// Type of the elements of `a op b`; `any` if it depends on values.
ExpressionType binaryType(BinaryOperator op, ExpressionType a, ExpressionType b);

/// `roundA`, `roundB`: that side is a float literal and is rounded to the other side's dtype.
Status computeBinary(BinaryOperator op, const ExpressionValue& a, const ExpressionValue& b, bool roundA, bool roundB,
                     ExpressionValue& result);
Status computeNegation(const ExpressionValue& x, ExpressionValue& result);
/// Functions of group elementwise but clamp and casts.
Status computeElementwise(ExpressionFunction function, std::string_view name, const ExpressionValue& x, ExpressionValue& result);
Status computeClamp(const ExpressionValue& x, const ExpressionValue& low, const ExpressionValue& high, ExpressionValue& result);
Status computeCast(DType to, const ExpressionValue& x, ExpressionValue& result);

/// `axis`: null for all; one int or a list of ints. `fraction`: of quantile.
Status computeReduction(ExpressionFunction function, std::string_view name, const ExpressionValue& x, const ExpressionValue* axis,
                        double fraction, std::vector<double>& scratch, ExpressionValue& result);
/// nans, infs, zeros, sats, finite of a value without kept statistics.
Status computeStatistic(ExpressionFunction function, std::string_view name, const ExpressionValue& x, ExpressionValue& result);

/// shape to axis.
Status computeAccessor(ExpressionFunction function, std::string_view text, const ExpressionValue& x, ExpressionValue& result);

/// same, ulp, maxdiff, close, cosine.
Status computeComparison(ExpressionFunction function, std::string_view name, const ExpressionValue& a, const ExpressionValue& b,
                         double rtol, double atol, ExpressionValue& result);

/// One index of x[…] with its numbers.
struct IndexValue {
    enum class Kind : uint8_t { single, slice, ellipsis } kind = Kind::single;
    bool hasBegin = false, hasEnd = false;
    int64_t begin = 0, end = 0, step = 1; ///< single: begin
};
/// Selects as NumPy does. `badIndex`: which of `indices` an error is about.
Status computeIndex(const ExpressionValue& x, std::span<const IndexValue> indices, size_t& badIndex, ExpressionValue& result);
Status computeMask(const ExpressionValue& x, const ExpressionValue& mask, ExpressionValue& result);
/// The shape that the indices leave of a shape with unknown dimensions. Constant ones are checked: those that are `known`.
Result<Shape> indexedShape(const Shape& shape, std::span<const IndexValue> indices, std::span<const bool> known, size_t& badIndex);

} // namespace loopscope
