// Elements of constants as text and back: every dtype, the shortest digits that read back to the same bits in it.
#pragma once

#include "engine/base/bytes.h"
#include "engine/tensor/constant.h"
#include "engine/tensor/tensor_type.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// "0.1", "-0.0", "1e20", "inf", "nan", "nan(0x7fc00001)": always with a point or an exponent unless it is no number.
std::string realText(float value);
std::string realText(double value);

/// One element as the parser sees it: what was written, not yet what it means in a dtype.
struct Scalar {
    enum class Kind : uint8_t { integer, real, boolean, string, complex } kind = Kind::integer;
    std::string text;      ///< the digits, `true`, the bytes of a string, the real part
    std::string imaginary; ///< complex
};

/// Collects the elements of one constant.
class ElementEncoder {
public:
    explicit ElementEncoder(DType dtype) : m_dtype(dtype) {}
    /// Empty, or why the scalar cannot be an element ("300 does not fit i8 (-128 to 127)").
    std::string add(const Scalar& scalar);
    /// `count` times the element that was added.
    void repeat(int64_t count);
    int64_t count() const { return m_count; }
    Bytes finish();

private:
    DType m_dtype;
    int64_t m_count = 0;
    std::vector<std::byte> m_bytes;     ///< fixed-size elements; packed types: one byte per element until finish()
    std::vector<std::string> m_strings; ///< str
};

/// Parses a number of text into the dtype's bits. Empty message: done.
std::string parseReal(std::string_view text, DType dtype, uint64_t& bits);
/// The same for integers, which must fit.
std::string parseInteger(std::string_view text, DType dtype, uint64_t& bits);
std::optional<double> parseDouble(std::string_view text);
std::optional<float> parseFloat(std::string_view text);
std::optional<int64_t> parseInt64(std::string_view text);

/// The elements of a constant as text.
class ElementReader {
public:
    /// None if the elements cannot be written so that they read back to the same bytes: a dtype without literals, bytes that do not
    /// fit the count, a bool that is neither 0 nor 1, strings packed in another way.
    static std::optional<ElementReader> create(DType dtype, int64_t count, std::span<const std::byte> bytes);

    int64_t count() const { return m_count; }
    std::string text(int64_t index) const;
    /// All elements are bit-equal. Stops at the first that is not.
    bool allEqual() const;

private:
    ElementReader(DType dtype, int64_t count, std::span<const std::byte> bytes) : m_dtype(dtype), m_count(count), m_bytes(bytes) {}
    uint64_t bits(int64_t index) const; ///< of an element of at most 64 bits

    DType m_dtype;
    int64_t m_count;
    std::span<const std::byte> m_bytes;
    std::vector<std::string_view> m_strings;
};

/// Number of stored elements of a sparse constant; none if its tables make no sense.
std::optional<int64_t> storedElements(const Sparsity& sparsity);

/// Bytes that a constant of this type holds; none where they do not follow from the type (strings, unknown dimensions, block formats).
std::optional<uint64_t> expectedBytes(const TensorType& type, const Sparsity* sparsity);

} // namespace loopscope
