#include "engine/tensor/dtype.h"

#include <array>

namespace loopscope {

namespace {

struct Info {
    DType dtype;
    std::string_view name;
    DTypeClass kind;
    int bits;
};

using enum DTypeClass;

constexpr std::array kInfos = {
    Info{DType::unknown, "?", none, 0},
    Info{DType::f16, "f16", floating, 16},
    Info{DType::bf16, "bf16", floating, 16},
    Info{DType::f32, "f32", floating, 32},
    Info{DType::f64, "f64", floating, 64},
    Info{DType::f8e4m3fn, "f8e4m3fn", floating, 8},
    Info{DType::f8e5m2, "f8e5m2", floating, 8},
    Info{DType::i2, "i2", signedInteger, 2},
    Info{DType::i4, "i4", signedInteger, 4},
    Info{DType::i8, "i8", signedInteger, 8},
    Info{DType::i16, "i16", signedInteger, 16},
    Info{DType::i32, "i32", signedInteger, 32},
    Info{DType::i64, "i64", signedInteger, 64},
    Info{DType::u4, "u4", unsignedInteger, 4},
    Info{DType::u8, "u8", unsignedInteger, 8},
    Info{DType::u16, "u16", unsignedInteger, 16},
    Info{DType::u32, "u32", unsignedInteger, 32},
    Info{DType::u64, "u64", unsignedInteger, 64},
    Info{DType::qi8, "qi8", signedInteger, 8},
    Info{DType::qu8, "qu8", unsignedInteger, 8},
    Info{DType::qi16, "qi16", signedInteger, 16},
    Info{DType::qu16, "qu16", unsignedInteger, 16},
    Info{DType::qi32, "qi32", signedInteger, 32},
    Info{DType::boolean, "bool", DTypeClass::boolean, 8},
    Info{DType::string, "str", DTypeClass::string, 0},
    Info{DType::c64, "c64", complex, 64},
    Info{DType::c128, "c128", complex, 128},
    Info{DType::resource, "resource", handle, 32},
    Info{DType::variant, "variant", handle, 0},
    Info{DType::ggmlQ4_0, "ggml_q4_0", block, 0},
    Info{DType::ggmlQ4_1, "ggml_q4_1", block, 0},
    Info{DType::ggmlQ8_0, "ggml_q8_0", block, 0},
    Info{DType::ggmlQ8_1, "ggml_q8_1", block, 0},
    Info{DType::mxfp4, "mxfp4", block, 0},
    Info{DType::mxint8, "mxint8", block, 0},
};

constexpr bool inEnumOrder()
{
    for (size_t i = 0; i < kInfos.size(); ++i)
        if (static_cast<size_t>(kInfos[i].dtype) != i) return false;
    return true;
}
static_assert(inEnumOrder());

const Info& infoOf(DType dtype) { return kInfos[static_cast<size_t>(dtype)]; }

} // namespace

std::string_view dtypeName(DType dtype) { return infoOf(dtype).name; }

std::optional<DType> dtypeFromName(std::string_view name)
{
    for (const Info& info : kInfos)
        if (info.name == name) return info.dtype;
    return std::nullopt;
}

DTypeClass dtypeClass(DType dtype) { return infoOf(dtype).kind; }

int bitWidth(DType dtype) { return infoOf(dtype).bits; }

uint64_t byteSize(DType dtype, int64_t elements)
{
    const auto count = static_cast<uint64_t>(elements);
    const auto bits = static_cast<uint64_t>(infoOf(dtype).bits);
    return bits >= 8 ? count * (bits / 8) : (count * bits + 7) / 8;
}

int64_t integerMin(DType dtype)
{
    const Info& info = infoOf(dtype);
    return info.kind == signedInteger ? static_cast<int64_t>(~uint64_t{0} << (info.bits - 1)) : 0;
}

uint64_t integerMax(DType dtype)
{
    const Info& info = infoOf(dtype);
    if (info.kind == signedInteger) return (uint64_t{1} << (info.bits - 1)) - 1;
    return info.bits == 64 ? ~uint64_t{0} : (uint64_t{1} << info.bits) - 1;
}

} // namespace loopscope
