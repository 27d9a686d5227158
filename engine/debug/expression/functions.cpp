// The table of functions, and the accessors.
#include "engine/debug/expression/functions.h"

#include "engine/tensor/quantization.h"

#include <algorithm>
#include <string>

namespace loopscope {

namespace {

using Type = ExpressionType;
using Function = ExpressionFunction;
using Group = FunctionGroup;

constexpr FunctionEntry kFunctions[] = {
    {"shape", Function::shape, Group::accessor, 1, 1},        {"rank", Function::rank, Group::accessor, 1, 1},
    {"size", Function::size, Group::accessor, 1, 1},          {"bytes", Function::bytes, Group::accessor, 1, 1},
    {"dtype", Function::dtype, Group::accessor, 1, 1},        {"q", Function::q, Group::accessor, 1, 1},
    {"scale", Function::scale, Group::accessor, 1, 1},        {"zero", Function::zero, Group::accessor, 1, 1},
    {"axis", Function::axis, Group::accessor, 1, 1},          {"dead", Function::dead, Group::accessor, 1, 1},
    {"writer", Function::writer, Group::accessor, 1, 1},      {"step", Function::step, Group::accessor, 1, 1},
    {"name", Function::name, Group::accessor, 1, 1},          {"min", Function::min, Group::reduction, 1, 1},
    {"max", Function::max, Group::reduction, 1, 1},           {"sum", Function::sum, Group::reduction, 1, 1},
    {"mean", Function::mean, Group::reduction, 1, 1},         {"std", Function::std, Group::reduction, 1, 1},
    {"var", Function::var, Group::reduction, 1, 1},           {"norm", Function::norm, Group::reduction, 1, 1},
    {"median", Function::median, Group::reduction, 1, 1},     {"any", Function::any, Group::reduction, 1, 1},
    {"all", Function::all, Group::reduction, 1, 1},           {"count", Function::count, Group::reduction, 1, 1},
    {"argmin", Function::argmin, Group::reduction, 1, 1},     {"argmax", Function::argmax, Group::reduction, 1, 1},
    {"quantile", Function::quantile, Group::reduction, 2, 2}, {"nans", Function::nans, Group::statistic, 1, 1},
    {"infs", Function::infs, Group::statistic, 1, 1},         {"zeros", Function::zeros, Group::statistic, 1, 1},
    {"sats", Function::sats, Group::statistic, 1, 1},         {"finite", Function::finite, Group::statistic, 1, 1},
    {"abs", Function::abs, Group::elementwise, 1, 1},         {"sqrt", Function::sqrt, Group::elementwise, 1, 1},
    {"exp", Function::exp, Group::elementwise, 1, 1},         {"log", Function::log, Group::elementwise, 1, 1},
    {"floor", Function::floor, Group::elementwise, 1, 1},     {"ceil", Function::ceil, Group::elementwise, 1, 1},
    {"round", Function::round, Group::elementwise, 1, 1},     {"sign", Function::sign, Group::elementwise, 1, 1},
    {"clamp", Function::clamp, Group::elementwise, 3, 3},     {"isnan", Function::isnan, Group::elementwise, 1, 1},
    {"isinf", Function::isinf, Group::elementwise, 1, 1},     {"bits", Function::bits, Group::elementwise, 1, 1},
    {"prev", Function::prev, Group::history, 1, 2},           {"at", Function::at, Group::history, 2, 3},
    {"first", Function::first, Group::history, 1, 1},         {"changed", Function::changed, Group::history, 1, 1},
    {"delta", Function::delta, Group::history, 1, 1},         {"ref", Function::ref, Group::history, 1, 1},
    {"iter", Function::iter, Group::position, 1, 1},          {"trip", Function::trip, Group::position, 1, 1},
    {"branch", Function::branch, Group::position, 1, 1},      {"same", Function::same, Group::comparison, 2, 2},
    {"ulp", Function::ulp, Group::comparison, 2, 2},          {"maxdiff", Function::maxdiff, Group::comparison, 2, 2},
    {"close", Function::close, Group::comparison, 2, 2},      {"cosine", Function::cosine, Group::comparison, 2, 2},
    {"file", Function::file, Group::comparison, 1, 1},        {"len", Function::len, Group::strings, 1, 1},
    {"contains", Function::contains, Group::strings, 2, 2},   {"startswith", Function::startswith, Group::strings, 2, 2},
    {"matches", Function::matches, Group::strings, 2, 2},
};

/// The dtype that `.dtype` tells.
DType dtypeOfValue(const ExpressionValue& x)
{
    if (x.dtype() != DType::unknown) return x.dtype();
    return x.type() == Type::integer ? DType::i64 : x.type() == Type::real ? DType::f64 : DType::boolean;
}

/// Scales or zero points: a number, or for quantization per channel a tensor that broadcasts along the axis.
template <typename Set>
void setPerChannel(const Quantization& q, const Shape& shape, Type type, DType dtype, ExpressionValue& result, Set set)
{
    if (q.scales.size() == 1) {
        result.setTensor(type, dtype, Shape{});
    } else {
        Shape channels = Shape::ofRank(std::max(shape.rank() - std::max(q.axis, 0), 1), 1);
        channels[0] = static_cast<int64_t>(q.scales.size());
        result.setTensor(type, dtype, channels);
    }
    for (size_t i = 0; i < q.scales.size(); ++i) set(i);
    result.collapse();
}

Status quantizationAccessor(Function function, std::string_view text, const ExpressionValue& x, ExpressionValue& result)
{
    const Tensor* view = x.view();
    if (function == Function::q) {
        if (!view) {
            return Error(ErrorCode::execution,
                         std::string(text) + " is computed and has no stored integers; write .q before other operations");
        }
        if (!isInteger(view->dtype)) return Error(ErrorCode::execution, std::string(text) + " has no stored integers").found(describe(x));
        result.setView(*view, true);
        return {};
    }
    const Quantization* q = view ? view->quantization : nullptr;
    if (!q || q->kind != Quantization::Kind::affine || q->scales.empty()) {
        return Error(ErrorCode::execution, std::string(text) + " is not quantized with scales and zero points").found(describe(x));
    }
    if (function == Function::axis) {
        if (q->isPerTensor()) result.setNone();
        else result.setInteger(q->axis);
    } else if (function == Function::scale) {
        setPerChannel(*q, x.shape(), Type::real, DType::f32, result,
                      [&](size_t i) { result.setRealAt(static_cast<int64_t>(i), q->scales[i]); });
    } else {
        setPerChannel(*q, x.shape(), Type::integer, DType::unknown, result,
                      [&](size_t i) { result.setIntegerAt(static_cast<int64_t>(i), i < q->zeroPoints.size() ? q->zeroPoints[i] : 0); });
    }
    return {};
}

} // namespace

std::span<const FunctionEntry> expressionFunctions() { return kFunctions; }

const FunctionEntry* findExpressionFunction(std::string_view name)
{
    const auto* found = std::ranges::find(kFunctions, name, &FunctionEntry::name);
    return found == std::end(kFunctions) ? nullptr : found;
}

Status computeAccessor(Function function, std::string_view text, const ExpressionValue& x, ExpressionValue& result)
{
    if (x.isNone()) {
        result.setNone();
        return {};
    }
    if (x.type() == Type::dtype || (x.type() == Type::shape && function != Function::rank && function != Function::size)) {
        return Error(ErrorCode::execution, "a " + describe(x) + " has no such property");
    }
    switch (function) {
    case Function::shape: result.setShape(x.shape()); return {};
    case Function::rank: result.setInteger(x.shape().rank()); return {};
    case Function::size:
        result.setInteger(x.type() == Type::shape ? checkedElementCount(x.shape()).value_or(0) : x.elementCount());
        return {};
    case Function::bytes:
        result.setInteger(static_cast<int64_t>(x.view() ? x.view()->bytes : byteSize(dtypeOfValue(x), x.elementCount())));
        return {};
    case Function::dtype: result.setDType(dtypeOfValue(x)); return {};
    default: return quantizationAccessor(function, text, x, result);
    }
}

} // namespace loopscope
