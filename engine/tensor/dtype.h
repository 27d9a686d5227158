// Element types of every dialect: TFLite, Circle and TensorFlow. Names are those of the text IR (docs/text_ir.md, "Types").
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace loopscope {

enum class DType : uint8_t {
    unknown, ///< not stated and not inferred; printed `?`
    f16,
    bf16,
    f32,
    f64,
    f8e4m3fn,
    f8e5m2,
    i2,
    i4,
    i8,
    i16,
    i32,
    i64,
    u4,
    u8,
    u16,
    u32,
    u64,
    qi8,
    qu8,
    qi16,
    qu16,
    qi32, ///< TensorFlow's quantized types
    boolean,
    string,
    c64,
    c128,
    resource,
    variant,
    ggmlQ4_0,
    ggmlQ4_1,
    ggmlQ8_0,
    ggmlQ8_1,
    mxfp4,
    mxint8, ///< Circle's block formats
};

enum class DTypeClass : uint8_t { none, floating, signedInteger, unsignedInteger, boolean, string, complex, handle, block };

/// "f32", "bool", "str", …; "?" for unknown.
std::string_view dtypeName(DType dtype);
/// The inverse; none if `name` is no dtype.
std::optional<DType> dtypeFromName(std::string_view name);
DTypeClass dtypeClass(DType dtype);
/// Bits of one element: 2 and 4 for the packed types; 0 where elements have no fixed size (strings, variants, block formats).
/// A resource is a 32-bit number of the running session.
int bitWidth(DType dtype);

inline bool isFloat(DType d) { return dtypeClass(d) == DTypeClass::floating; }
inline bool isInteger(DType d) { return dtypeClass(d) == DTypeClass::signedInteger || dtypeClass(d) == DTypeClass::unsignedInteger; }
/// Bytes that `elements` elements take, packed types rounded up to a whole byte. 0 for types without a fixed size.
/// `elements` must not be negative and must come from checkedElementCount (shape.h).
uint64_t byteSize(DType dtype, int64_t elements);
/// Smallest and largest stored integer of an integer type.
int64_t integerMin(DType dtype);
uint64_t integerMax(DType dtype);

/// The dtype of a C++ element type: dtypeOf<float>() == DType::f32.
template <typename T> constexpr DType dtypeOf();
template <> constexpr DType dtypeOf<float>() { return DType::f32; }
template <> constexpr DType dtypeOf<double>() { return DType::f64; }
template <> constexpr DType dtypeOf<int8_t>() { return DType::i8; }
template <> constexpr DType dtypeOf<int16_t>() { return DType::i16; }
template <> constexpr DType dtypeOf<int32_t>() { return DType::i32; }
template <> constexpr DType dtypeOf<int64_t>() { return DType::i64; }
template <> constexpr DType dtypeOf<uint8_t>() { return DType::u8; }
template <> constexpr DType dtypeOf<uint16_t>() { return DType::u16; }
template <> constexpr DType dtypeOf<uint32_t>() { return DType::u32; }
template <> constexpr DType dtypeOf<uint64_t>() { return DType::u64; }
template <> constexpr DType dtypeOf<bool>() { return DType::boolean; }

} // namespace loopscope
