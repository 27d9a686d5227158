// What the kernels of TensorFlow operators share: results that get their size from the kernel, element types by dtype, and parameters that
// are simply the operator's attributes.
#pragma once

#include "engine/kernels/cpu/elementwise.h"
#include "engine/kernels/cpu/movement.h"
#include "engine/kernels/registry.h"
#include "engine/ops/tf_rules.h"

#include <complex>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace loopscope {

/// The element types that a template is instantiated for.
template <typename... T> struct TypeList {
};
using TfFloats = TypeList<float, double, Half, BFloat16>;
using TfWide = TypeList<float, double>; ///< what floats are computed in
using TfSigned = TypeList<int32_t, int64_t, int8_t, int16_t>;
using TfUnsigned = TypeList<uint8_t, uint16_t, uint32_t, uint64_t>;
using TfComplex = TypeList<std::complex<float>, std::complex<double>>;

// The same, as kernels register them.
inline constexpr std::string_view kTfFloats = "f32 f64 f16 bf16";
inline constexpr std::string_view kTfReals = "f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64";
inline constexpr std::string_view kTfNumbers = "f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64 c64 c128";

template <typename T> constexpr DType tfDTypeOf()
{
    if constexpr (std::is_same_v<T, Half>) return DType::f16;
    else if constexpr (std::is_same_v<T, BFloat16>) return DType::bf16;
    else if constexpr (std::is_same_v<T, std::complex<float>>) return DType::c64;
    else if constexpr (std::is_same_v<T, std::complex<double>>) return DType::c128;
    else return dtypeOf<T>();
}
template <typename T> inline constexpr bool kIsComplex = std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

/// Calls f.operator()<T>() for the type of the lists that `dtype` is. None if it is in no list.
template <typename F, typename... T> bool tryTypes(DType dtype, TypeList<T...>, std::optional<Status>& status, F&& f)
{
    return ((dtype == tfDTypeOf<T>() && (status = f.template operator()<T>(), true)) || ...);
}
template <typename... Lists, typename F> Status forDType(DType dtype, F&& f)
{
    std::optional<Status> status;
    if ((tryTypes(dtype, Lists(), status, f) || ...)) return std::move(*status);
    return Error(ErrorCode::unsupported, "there is no kernel for dtype " + std::string(dtypeName(dtype)));
}

/// Gives result k a shape, and memory where its elements have a fixed size. Errors: InvalidArgument if it has too many elements.
Status tfAllocate(const KernelArgs& args, int k, const Shape& shape);
/// Result k becomes a copy of `source` with another shape of as many elements.
Status tfCopy(const KernelArgs& args, int k, const Tensor& source, const Shape& shape);

/// Runs a kernel as TensorFlow does, with denormal operands and results of f32 and f64 as zero.
Status runFlushed(KernelFunction function, const KernelArgs& args);
template <KernelFunction function> Status flushedKernel(const KernelArgs& args) { return runFlushed(function, args); }
bool hasFloats(const KernelSetup& setup);

/// A kernel whose parameters are the operator itself, which has been held against its signature; `flushed` runs where there are floats.
/// Errors: as checkTfSignature.
Result<PreparedKernel> prepareTf(const KernelSetup& setup, KernelFunction function, KernelFunction flushed);
template <KernelFunction function> Result<PreparedKernel> prepareTf(const KernelSetup& setup)
{
    return prepareTf(setup, function, flushedKernel<function>);
}
inline const AttributeList& attributesOf(const KernelArgs& args) { return args.paramsAs<Operator>().attributes; }
inline const std::string& nodeOf(const KernelArgs& args) { return args.paramsAs<Operator>().name; }

/// The elements of an operand as equally large pieces of memory: those of strings and variants are views of them.
class TfSource {
public:
    /// Errors: execution if a block of strings is malformed, unsupported for packed integers.
    static Result<TfSource> of(const Tensor& tensor);
    const std::byte* data() const { return m_strings.empty() ? m_data : reinterpret_cast<const std::byte*>(m_strings.data()); }
    const std::byte* at(int64_t element) const { return data() + element * m_size; }
    int64_t size() const { return m_size; } ///< bytes of one element

private:
    const std::byte* m_data = nullptr;
    int64_t m_size = 0;
    std::vector<std::string_view> m_strings;
};

/// The same for a result: begin, write elements, finish. Elements are zero or empty where nothing is written, if `clear` says so.
class TfTarget {
public:
    Status begin(const KernelArgs& args, int k, const Shape& shape, bool clear = false);
    std::byte* data() { return m_data; }
    std::byte* at(int64_t element) { return m_data + element * m_size; }
    int64_t size() const { return m_size; }
    Status finish();

private:
    const KernelArgs* m_args = nullptr;
    int m_index = 0;
    Shape m_shape;
    std::byte* m_data = nullptr;
    int64_t m_size = 0;
    std::vector<std::string_view> m_strings;
};

/// All elements of an integer operand as int64.
std::vector<int64_t> tfIntegers(const Tensor& tensor);
/// Element 0 of an integer operand. Errors: InvalidArgument if it has none.
Result<int64_t> tfInteger(const KernelArgs& args, int i, std::string_view name);
/// The shape that an integer vector spells; −1 gives an unknown dimension, a scalar −1 an unknown rank. Errors: InvalidArgument.
Result<Shape> tfShapeOperand(const Tensor& tensor, bool mayBeUnknown = false);
/// `axis` from the front. Errors: InvalidArgument in `what`'s name.
Result<int> tfAxis(int64_t axis, int rank, std::string_view what);

#define LS_TF_KERNEL(name, function, dtypes)                                                                                               \
    LS_DEFINE_KERNELS(tf, name)                                                                                                            \
    {                                                                                                                                      \
        registry.add({"tf", #name, ::loopscope::Profile::reference, ::loopscope::prepareTf<(function)>, dtypes});                          \
    }
/// The same for one that only moves values: denormal numbers pass as they are.
#define LS_TF_MOVING_KERNEL(name, function, dtypes)                                                                                        \
    LS_DEFINE_KERNELS(tf, name)                                                                                                            \
    {                                                                                                                                      \
        constexpr auto prepare = [](const ::loopscope::KernelSetup& setup) { return ::loopscope::prepareTf(setup, function, function); };  \
        registry.add({"tf", #name, ::loopscope::Profile::reference, prepare, dtypes});                                                     \
    }

} // namespace loopscope
