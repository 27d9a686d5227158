// What an expression evaluates to: a scalar, a string, a dtype, a shape, nothing, or a tensor. Tensors of the run are read where they
// lie; computed ones live in buffers that keep their size, so that evaluating again allocates nothing.
#pragma once

#include "engine/tensor/tensor.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// What one element of a value is. `any`: not known before the expression runs. `handle`: resources, variants, complex numbers and block
/// formats, of which only the accessors speak.
enum class ExpressionType : uint8_t { any, none, boolean, integer, real, text, dtype, shape, handle };

/// "bool", "int", "float", "str", …
std::string_view expressionTypeName(ExpressionType type);

/// A value. `type` none, dtype and shape have no elements; all others have `shape` and as many elements, row-major.
class ExpressionValue {
public:
    ExpressionType type() const { return m_type; }
    bool isNone() const { return m_type == ExpressionType::none; }
    bool isTensor() const { return m_isTensor; }   ///< else a scalar, whose shape is []
    const Shape& shape() const { return m_shape; } ///< of the elements; for type shape: the shape itself
    int64_t elementCount() const { return m_count; }
    /// Where the elements come from: f32 for elements of an f32 tensor, also after slicing and abs; i8 for real values of a quantized i8
    /// tensor; unknown for literals and computed numbers. For type dtype: the value itself.
    DType dtype() const { return m_dtype; }
    /// The tensor of the run that this value shows, null for computed values. Valid until the source moves on.
    const Tensor* view() const { return m_isView ? &m_view : nullptr; }
    bool isRaw() const { return m_isRaw; } ///< a view of stored integers

    /// Element `i`, 0 ≤ i < elementCount(). realAt: any number, bool 0 or 1. integerAt: integer and boolean.
    double realAt(int64_t i) const;
    int64_t integerAt(int64_t i) const;
    bool booleanAt(int64_t i) const { return integerAt(i) != 0; }
    std::string_view textAt(int64_t i) const;

    void setNone();
    void setBoolean(bool value) { setScalarInteger(ExpressionType::boolean, DType::boolean, value ? 1 : 0); }
    void setInteger(int64_t value, DType dtype = DType::unknown) { setScalarInteger(ExpressionType::integer, dtype, value); }
    void setReal(double value, DType dtype = DType::unknown);
    void setText(std::string_view value);
    void setDType(DType value);
    void setShape(const Shape& value);
    /// Shows `tensor`; `raw`: the stored integers of a quantized one.
    void setView(const Tensor& tensor, bool raw = false);
    /// A computed tensor of type boolean, integer, real or text, whose elements are to be set. `shape` passed checkedElementCount.
    void setTensor(ExpressionType type, DType dtype, const Shape& shape);
    void setIntegerAt(int64_t i, int64_t value) { m_integers[static_cast<size_t>(i)] = value; }
    void setRealAt(int64_t i, double value) { m_reals[static_cast<size_t>(i)] = value; }
    void setTextAt(int64_t i, std::string_view value) { m_texts[static_cast<size_t>(i)].assign(value); }
    /// A computed tensor without dimensions becomes a scalar.
    void collapse() { m_isTensor = m_isTensor && (m_isView || m_shape.rank() > 0); }
    /// Element `i` of this value into element `to` of `target`, which has the same type.
    void copyElement(int64_t i, ExpressionValue& target, int64_t to) const;
    /// Takes over what `other` holds; buffers are kept.
    void assign(const ExpressionValue& other);

private:
    void setScalarInteger(ExpressionType type, DType dtype, int64_t value);
    void reset(ExpressionType type, DType dtype);

    ExpressionType m_type = ExpressionType::none;
    DType m_dtype = DType::unknown;
    bool m_isTensor = false, m_isView = false, m_isRaw = false;
    int64_t m_count = 0;
    Shape m_shape;
    Tensor m_view;
    std::vector<int64_t> m_integers; ///< integer and boolean
    std::vector<double> m_reals;
    std::vector<std::string> m_texts;
};

/// As `print` shows it: "3", "0.5", "true", "\"cat\"", "[1,2]" for shapes, "i32[2] [1, 2]" for tensors (at most `limit` elements, then
/// "…").
std::string toString(const ExpressionValue& value, int64_t limit = 16);
/// "bool[4]", "float", "i8[2,2]": type and shape for messages.
std::string describe(const ExpressionValue& value);
/// The number nearest to `value` that a float `dtype` holds, f32 for quantized integers; `value` itself for others.
double roundToDType(double value, DType dtype);

} // namespace loopscope
