// Storage and reading of expression values.
#include "engine/debug/expression/value.h"

#include "engine/ir/text/lexer.h"
#include "engine/tensor/half.h"
#include "engine/tensor/statistics.h"

#include <charconv>
#include <cmath>
#include <cstring>

namespace loopscope {

namespace {

/// Type of the elements of a tensor of the run.
ExpressionType elementTypeOf(const Tensor& tensor, bool raw)
{
    switch (dtypeClass(tensor.dtype)) {
    case DTypeClass::floating: return ExpressionType::real;
    case DTypeClass::signedInteger:
    case DTypeClass::unsignedInteger: break;
    case DTypeClass::boolean: return ExpressionType::boolean;
    case DTypeClass::string: return ExpressionType::text;
    default: return ExpressionType::handle;
    }
    const Quantization* q = tensor.quantization;
    if (!raw && q && q->kind == Quantization::Kind::affine && !q->scales.empty()) return ExpressionType::real;
    if (tensor.dtype == DType::u64) {
        const int64_t n = tensor.elementCount();
        for (int64_t i = 0; i < n; ++i) {
            if (elementAsInteger(tensor, i) < 0) return ExpressionType::real;
        }
    }
    return ExpressionType::integer;
}

std::string_view stringOf(const Tensor& tensor, int64_t i)
{
    const auto number = [&](size_t index) -> uint32_t {
        uint32_t v = 0;
        if ((index + 1) * 4 <= tensor.bytes) std::memcpy(&v, tensor.data + index * 4, 4);
        return v;
    };
    const auto at = static_cast<size_t>(i);
    if (at >= number(0)) return {};
    const uint32_t begin = number(at + 1), end = number(at + 2);
    if (begin > end || end > tensor.bytes) return {};
    return {reinterpret_cast<const char*>(tensor.data) + begin, end - begin};
}

std::string numberText(double value)
{
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
    char buffer[40];
    const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
    std::string text(buffer, end);
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return text;
}

/// Shortest digits that read back in the element's own dtype.
std::string realText(double value, DType dtype)
{
    if (dtype != DType::f32 || !std::isfinite(value)) return numberText(value);
    char buffer[40];
    const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(value));
    std::string text(buffer, end);
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return text;
}

std::string elementText(const ExpressionValue& value, int64_t i)
{
    switch (value.type()) {
    case ExpressionType::boolean: return value.booleanAt(i) ? "true" : "false";
    case ExpressionType::integer: return std::to_string(value.integerAt(i));
    case ExpressionType::real: return realText(value.realAt(i), value.dtype());
    case ExpressionType::text: return quoted(value.textAt(i));
    default: return "?";
    }
}

} // namespace

std::string_view expressionTypeName(ExpressionType type)
{
    switch (type) {
    case ExpressionType::any: return "value";
    case ExpressionType::none: return "none";
    case ExpressionType::boolean: return "bool";
    case ExpressionType::integer: return "int";
    case ExpressionType::real: return "float";
    case ExpressionType::text: return "str";
    case ExpressionType::dtype: return "dtype";
    case ExpressionType::shape: return "shape";
    case ExpressionType::handle: return "handle";
    }
    return "value";
}

double ExpressionValue::realAt(int64_t i) const
{
    if (m_isView) {
        if (m_dtype == DType::f32) return static_cast<double>(m_view.as<float>()[i]); // of these large tensors are made
        if (!m_isRaw && m_type == ExpressionType::real && m_dtype != DType::u64) return elementAsReal(m_view, i);
        const int64_t stored = elementAsInteger(m_view, i);
        return m_dtype == DType::u64 ? static_cast<double>(static_cast<uint64_t>(stored)) : static_cast<double>(stored);
    }
    if (m_type == ExpressionType::real) return m_reals[static_cast<size_t>(i)];
    return static_cast<double>(m_integers[static_cast<size_t>(i)]);
}

int64_t ExpressionValue::integerAt(int64_t i) const { return m_isView ? elementAsInteger(m_view, i) : m_integers[static_cast<size_t>(i)]; }

std::string_view ExpressionValue::textAt(int64_t i) const
{
    return m_isView ? stringOf(m_view, i) : std::string_view(m_texts[static_cast<size_t>(i)]);
}

void ExpressionValue::reset(ExpressionType type, DType dtype)
{
    m_type = type;
    m_dtype = dtype;
    m_isTensor = m_isView = m_isRaw = false;
    m_count = 1;
    m_shape.resize(0, 0);
}

void ExpressionValue::setNone()
{
    reset(ExpressionType::none, DType::unknown);
    m_count = 0;
}

void ExpressionValue::setScalarInteger(ExpressionType type, DType dtype, int64_t value)
{
    reset(type, dtype);
    m_integers.resize(1);
    m_integers[0] = value;
}

void ExpressionValue::setReal(double value, DType dtype)
{
    reset(ExpressionType::real, dtype);
    m_reals.resize(1);
    m_reals[0] = value;
}

void ExpressionValue::setText(std::string_view value)
{
    reset(ExpressionType::text, DType::string);
    if (m_texts.empty()) m_texts.resize(1);
    m_texts[0].assign(value);
}

void ExpressionValue::setDType(DType value)
{
    reset(ExpressionType::dtype, value);
    m_count = 0;
}

void ExpressionValue::setShape(const Shape& value)
{
    reset(ExpressionType::shape, DType::unknown);
    m_count = 0;
    m_shape = value;
}

void ExpressionValue::setView(const Tensor& tensor, bool raw)
{
    reset(elementTypeOf(tensor, raw), tensor.dtype);
    m_view = tensor;
    m_shape = tensor.shape;
    m_count = tensor.elementCount();
    m_isTensor = m_isView = true;
    m_isRaw = raw;
}

void ExpressionValue::setTensor(ExpressionType type, DType dtype, const Shape& shape)
{
    reset(type, dtype);
    m_isTensor = true;
    m_shape = shape;
    m_count = shape.elementCount();
    const auto n = static_cast<size_t>(m_count);
    if (type == ExpressionType::real) {
        m_reals.resize(n);
    } else if (type == ExpressionType::text) {
        if (m_texts.size() < n) m_texts.resize(n);
    } else {
        m_integers.resize(n);
    }
}

void ExpressionValue::copyElement(int64_t i, ExpressionValue& target, int64_t to) const
{
    if (m_type == ExpressionType::real) {
        target.setRealAt(to, realAt(i));
    } else if (m_type == ExpressionType::text) {
        target.setTextAt(to, textAt(i));
    } else {
        target.setIntegerAt(to, integerAt(i));
    }
}

void ExpressionValue::assign(const ExpressionValue& other)
{
    m_type = other.m_type;
    m_dtype = other.m_dtype;
    m_isTensor = other.m_isTensor;
    m_isView = other.m_isView;
    m_isRaw = other.m_isRaw;
    m_count = other.m_count;
    m_shape = other.m_shape;
    if (m_isView) {
        m_view = other.m_view;
        return;
    }
    m_integers.assign(other.m_integers.begin(), other.m_integers.end());
    m_reals.assign(other.m_reals.begin(), other.m_reals.end());
    m_texts.assign(other.m_texts.begin(), other.m_texts.end());
}

std::string toString(const ExpressionValue& value, int64_t limit)
{
    if (value.isNone()) return "none";
    if (value.type() == ExpressionType::dtype) return std::string(dtypeName(value.dtype()));
    if (value.type() == ExpressionType::shape) return toString(value.shape());
    if (!value.isTensor()) return elementText(value, 0);
    std::string text = describe(value) + " ";
    if (value.type() == ExpressionType::handle) return text + "(no elements to show)";
    if (value.shape().rank() == 0) return text + elementText(value, 0);
    text += "[";
    for (int64_t i = 0; i < value.elementCount(); ++i) {
        if (i > 0) text += ", ";
        if (i == limit) {
            text += "…";
            break;
        }
        text += elementText(value, i);
    }
    return text + "]";
}

std::string describe(const ExpressionValue& value)
{
    if (!value.isTensor()) return std::string(expressionTypeName(value.type()));
    const bool known = value.view() && value.dtype() != DType::unknown;
    const std::string_view name = known ? dtypeName(value.dtype()) : expressionTypeName(value.type());
    return std::string(name) + toString(value.shape());
}

double roundToDType(double value, DType dtype)
{
    const auto single = static_cast<float>(value);
    switch (dtype) {
    case DType::f16: return f16ToFloat(floatToF16(single));
    case DType::bf16: return bf16ToFloat(floatToBf16(single));
    case DType::f8e4m3fn: return f8e4m3fnToFloat(floatToF8e4m3fn(single));
    case DType::f8e5m2: return f8e5m2ToFloat(floatToF8e5m2(single));
    case DType::f32: return single;
    default: return value;
    }
}

} // namespace loopscope
