// Reductions over all elements or some axes, and statistics of computed values. NaN behaves as in NumPy: it is the minimum, the maximum,
// the sum and the mean of whatever it is among.
#include "engine/debug/expression/functions.h"
#include "engine/debug/expression/walk.h"
#include "engine/tensor/statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

namespace loopscope {

namespace {

using Type = ExpressionType;
using Function = ExpressionFunction;

bool isOrderStatistic(Function f) { return f == Function::median || f == Function::quantile; }
bool isPosition(Function f) { return f == Function::argmin || f == Function::argmax; }
bool isLogical(Function f) { return f == Function::any || f == Function::all || f == Function::count; }
bool isExtreme(Function f) { return f == Function::min || f == Function::max; }

/// One cell of a reduction: the elements that `walk` passes.
class Cell {
public:
    Cell(const ExpressionValue& x, Odometer& walk, int64_t base) : m_x(x), m_walk(walk), m_n(walk.count()) { m_walk.reset(base); }
    int64_t size() const { return m_n; }

    template <typename F> void each(F f)
    {
        if (m_n == m_x.elementCount()) { // all of them, in order
            for (int64_t i = 0; i < m_n; ++i) f(i, i);
            return;
        }
        for (int64_t i = 0; i < m_n; ++i) {
            f(i, m_walk.offset());
            m_walk.next();
        }
    }
    double sum()
    {
        double total = 0;
        each([&](int64_t, int64_t at) { total += m_x.realAt(at); });
        return total;
    }
    double mean() { return sum() / static_cast<double>(m_n); }
    double variance()
    {
        const double mean = this->mean();
        double squares = 0;
        each([&](int64_t, int64_t at) { squares += (m_x.realAt(at) - mean) * (m_x.realAt(at) - mean); });
        return squares / static_cast<double>(m_n);
    }
    double norm()
    {
        double squares = 0;
        each([&](int64_t, int64_t at) { squares += m_x.realAt(at) * m_x.realAt(at); });
        return std::sqrt(squares);
    }
    Result<int64_t> integerSum()
    {
        int64_t total = 0;
        bool fits = true;
        each([&](int64_t, int64_t at) { fits = !__builtin_add_overflow(total, m_x.integerAt(at), &total) && fits; });
        if (!fits) return Error(ErrorCode::execution, "the sum does not fit 64 bits");
        return total;
    }
    /// Index within the cell and offset of the extreme element; the first of equals, a NaN before all.
    std::pair<int64_t, int64_t> extreme(bool isLargest)
    {
        std::pair<int64_t, int64_t> best{0, 0};
        bool isFirst = true;
        each([&](int64_t i, int64_t at) {
            if (isFirst || isBetter(at, best.second, isLargest)) best = {i, at};
            isFirst = false;
        });
        return best;
    }
    /// Linear interpolation between the elements at (n − 1) · fraction, NumPy's default.
    double quantile(double fraction, std::vector<double>& scratch)
    {
        scratch.clear();
        bool hasNan = false;
        each([&](int64_t, int64_t at) {
            scratch.push_back(m_x.realAt(at));
            hasNan = hasNan || std::isnan(scratch.back());
        });
        if (hasNan) return NAN;
        const double position = fraction * static_cast<double>(m_n - 1);
        const auto low = static_cast<size_t>(position);
        std::nth_element(scratch.begin(), scratch.begin() + static_cast<std::ptrdiff_t>(low), scratch.end());
        const double below = scratch[low];
        if (static_cast<double>(low) == position || low + 1 >= scratch.size()) return below;
        const double above = *std::min_element(scratch.begin() + static_cast<std::ptrdiff_t>(low) + 1, scratch.end());
        if (above == below) return below; // also two equal infinities
        return below + (above - below) * (position - static_cast<double>(low));
    }

private:
    bool isBetter(int64_t at, int64_t best, bool isLargest) const
    {
        if (m_x.type() != Type::real) return isLargest ? m_x.integerAt(at) > m_x.integerAt(best) : m_x.integerAt(at) < m_x.integerAt(best);
        const double v = m_x.realAt(at), b = m_x.realAt(best);
        if (std::isnan(b)) return false;
        return std::isnan(v) || (isLargest ? v > b : v < b);
    }

    const ExpressionValue& m_x;
    Odometer& m_walk;
    int64_t m_n;
};

Status reduceCell(Function function, Cell cell, const ExpressionValue& x, double fraction, std::vector<double>& scratch,
                  ExpressionValue& result, int64_t to)
{
    switch (function) {
    case Function::min:
    case Function::max: x.copyElement(cell.extreme(function == Function::max).second, result, to); return {};
    case Function::argmin:
    case Function::argmax: result.setIntegerAt(to, cell.extreme(function == Function::argmax).first); return {};
    case Function::sum:
        if (result.type() == Type::integer) {
            LS_TRY(const int64_t total, cell.integerSum());
            result.setIntegerAt(to, total);
        } else {
            result.setRealAt(to, cell.sum());
        }
        return {};
    case Function::any:
    case Function::all:
    case Function::count: {
        LS_TRY(const int64_t trues, cell.integerSum());
        result.setIntegerAt(to, function == Function::count ? trues : function == Function::any ? trues > 0 : trues == cell.size());
        return {};
    }
    case Function::mean: result.setRealAt(to, cell.mean()); return {};
    case Function::std: result.setRealAt(to, std::sqrt(cell.variance())); return {};
    case Function::var: result.setRealAt(to, cell.variance()); return {};
    case Function::norm: result.setRealAt(to, cell.norm()); return {};
    default: result.setRealAt(to, cell.quantile(function == Function::median ? 0.5 : fraction, scratch)); return {};
    }
}

/// Which dimensions are reduced.
Result<std::array<bool, kMostDimensions>> reducedAxes(const ExpressionValue* axis, int rank)
{
    std::array<bool, kMostDimensions> reduced{};
    if (!axis) {
        reduced.fill(true);
        return reduced;
    }
    if (axis->type() != Type::integer || axis->shape().rank() > 1) {
        return Error(ErrorCode::execution, "axis needs an int or a list of ints").found(describe(*axis));
    }
    for (int64_t i = 0; i < axis->elementCount(); ++i) {
        const int64_t written = axis->integerAt(i);
        const int64_t at = written < 0 ? written + rank : written;
        if (at < 0 || at >= rank) {
            return Error(ErrorCode::execution, "axis " + std::to_string(written) + " out of range for rank " + std::to_string(rank));
        }
        if (reduced[static_cast<size_t>(at)]) return Error(ErrorCode::execution, "axis " + std::to_string(written) + " is named twice");
        reduced[static_cast<size_t>(at)] = true;
    }
    return reduced;
}

} // namespace

Status computeReduction(Function function, std::string_view name, const ExpressionValue& x, const ExpressionValue* axis, double fraction,
                        std::vector<double>& scratch, ExpressionValue& result)
{
    const bool isNumeric = x.type() == Type::integer || x.type() == Type::real;
    const bool isShare = x.type() == Type::boolean && function == Function::mean;
    const bool fits = isLogical(function) ? x.type() == Type::boolean : isNumeric || isShare;
    if (!fits) {
        return Error(ErrorCode::execution, std::string(name) + " needs " + (isLogical(function) ? "bools" : "numbers")).found(describe(x));
    }
    const Shape& shape = x.shape();
    if (shape.rank() > kMostDimensions) return Error(ErrorCode::execution, "rank " + std::to_string(shape.rank()) + " is too large");
    LS_TRY(const auto reduced, reducedAxes(axis, shape.rank()));

    Odometer kept, inner;
    Shape out;
    for (int i = 0; i < shape.rank(); ++i) {
        const int64_t stride = shape.countOf(i + 1, shape.rank());
        if (reduced[static_cast<size_t>(i)]) {
            inner.addDimension(shape[i], stride);
        } else {
            kept.addDimension(shape[i], stride);
            out.append(shape[i]);
        }
    }
    const bool needsElements = isExtreme(function) || isPosition(function) || isOrderStatistic(function);
    const int64_t cells = checkedElementCount(out).value_or(INT64_MAX);
    if (needsElements && inner.count() == 0 && cells > 0) return Error(ErrorCode::execution, std::string(name) + " of no elements");
    if (cells > kLargestComputed) return Error(ErrorCode::execution, "the result " + toString(out) + " is too large");

    const bool keepsType = isExtreme(function) || function == Function::sum;
    const bool givesInteger = isPosition(function) || function == Function::count || (x.type() == Type::integer && keepsType);
    const bool givesBoolean = function == Function::any || function == Function::all;
    const Type type = givesBoolean ? Type::boolean : givesInteger ? Type::integer : Type::real;
    result.setTensor(type, isExtreme(function) ? x.dtype() : DType::unknown, out);
    for (int64_t to = 0; to < cells; ++to) {
        LS_CHECK_OK(reduceCell(function, Cell(x, inner, kept.offset()), x, fraction, scratch, result, to));
        kept.next();
    }
    result.collapse();
    return {};
}

Status computeStatistic(Function function, std::string_view name, const ExpressionValue& x, ExpressionValue& result)
{
    if (x.type() != Type::integer && x.type() != Type::real) {
        return Error(ErrorCode::execution, std::string(name) + " needs numbers").found(describe(x));
    }
    if (function == Function::sats) {
        if (!x.view()) return Error(ErrorCode::execution, "sats needs a value of the model, not a computed one");
        int64_t count = 0;
        if (isInteger(x.dtype())) {
            const auto low = integerMin(x.dtype());
            const auto high = static_cast<int64_t>(integerMax(x.dtype()));
            for (int64_t i = 0; i < x.elementCount(); ++i) {
                const int64_t stored = elementAsInteger(*x.view(), i);
                count += stored == low || stored == high;
            }
        }
        result.setInteger(count);
        return {};
    }
    int64_t nans = 0, infinities = 0, zeros = 0;
    for (int64_t i = 0; i < x.elementCount(); ++i) {
        const double v = x.realAt(i);
        nans += std::isnan(v);
        infinities += std::isinf(v);
        zeros += v == 0;
    }
    if (function == Function::finite) result.setBoolean(nans + infinities == 0);
    else result.setInteger(function == Function::nans ? nans : function == Function::infs ? infinities : zeros);
    return {};
}

} // namespace loopscope
