// What the kernels of data movement share: one loop nest that copies elements between strided places, and wrappers that run a kernel
// written for whole-byte elements on packed integers and on strings.
#pragma once

#include "engine/kernels/kernel.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// "C2: …" of a kernel.
Error kernelError(int constraint, std::string what, const char* file = __builtin_FILE(), int line = __builtin_LINE());
/// An error of a shared rule, raised while running.
Error atRunTime(Error error);

/// Element `i` of an integer (or bool) operand, as stored. The caller keeps `i` within the operand.
int64_t indexAt(const Tensor& tensor, int64_t i);
/// Bytes of one element; the dtype has whole bytes.
inline int64_t elementBytes(const Tensor& tensor) { return bitWidth(tensor.dtype) / 8; }

/// A nest of loops that copies one element per round. Strides are in elements and may be 0 or negative. Dimensions are added outermost
/// first; those of size 1 vanish, and neighbours that continue each other on both sides become one.
class StridedCopy {
public:
    static constexpr int kMaxRank = 24;

    void add(int64_t count, int64_t sourceStride, int64_t targetStride);
    /// False if there were too many dimensions that do not merge.
    bool fits() const { return m_rank <= kMaxRank; }
    void run(const std::byte* source, std::byte* target, int64_t elementBytes) const;
    Status runChecked(const std::byte* source, std::byte* target, int64_t elementBytes) const;

private:
    struct Dim {
        int64_t count = 1, source = 0, target = 0;
    };
    int m_rank = 0;
    bool m_empty = false;
    std::array<Dim, kMaxRank> m_dims;
};

/// Elements from one index of dimension `d` to the next, row-major.
inline int64_t strideOf(const Shape& shape, int d) { return shape.countOf(d + 1, shape.rank()); }

/// `run` for elements of `dtype`. A kernel for whole-byte elements serves packed integers and strings too: it is then shown i8 elements,
/// or i32 numbers of strings (0: the empty string), in place of every operand and result of these dtypes.
/// Errors: unsupported for dtypes without a fixed size.
Result<PreparedKernel> prepareMovement(DType dtype, KernelFunction run, std::shared_ptr<const void> params = nullptr);

/// Writes strings into `output`, which gets `shape`. Errors: execution if they do not fit an int32 offset.
Status writeStrings(KernelRuntime& runtime, Tensor& output, const Shape& shape, std::span<const std::string_view> strings);
/// The strings of a tensor, as many as its shape says. Errors: execution otherwise.
Result<std::vector<std::string_view>> readStrings(const Tensor& tensor);

/// The dtypes that every kernel of data movement takes.
inline constexpr std::string_view kAllDTypes = "all";

} // namespace loopscope
