// How far float results may be from what they are held against, as numbers: of an operator against the reference implementation, of a
// kernel profile against the reference kernels. The status page prints it, text tests and golden cases compare with it.
#pragma once

#include "engine/tensor/compare.h"
#include "engine/tensor/dtype.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace loopscope {

/// The bound of one dtype. An element may differ by the largest of what is given.
struct ErrorBound {
    int64_t ulp = 0;      ///< units in the last place of the element
    double relative = 0;  ///< times the element
    double ofLargest = 0; ///< times the largest element of the tensor
    constexpr bool isExact() const { return ulp == 0 && relative == 0 && ofLargest == 0; }
    constexpr bool operator==(const ErrorBound&) const = default;

    /// "exact", "2 ulp", "1e-6 relative", "1e-6 of the largest result".
    std::string text() const;
};

/// The bounds of an operator or a kernel.
struct ErrorBounds {
    ErrorBound f32;                ///< of the 16-bit floats and complex64, too: they are computed in f32
    std::optional<ErrorBound> f64; ///< none: as f32
    std::string_view remark;       ///< why, or when it is worse; empty: nothing to say
    bool isStated = true;          ///< false: there is nothing to hold it against

    constexpr ErrorBounds() = default;
    constexpr ErrorBounds(ErrorBound bound) : f32(bound) {} // NOLINT(google-explicit-constructor): `def.bounds = kExact` reads well

    constexpr ErrorBounds withF64(ErrorBound bound) const
    {
        ErrorBounds changed = *this;
        changed.f64 = bound;
        return changed;
    }
    constexpr ErrorBounds because(std::string_view why) const
    {
        ErrorBounds changed = *this;
        changed.remark = why;
        return changed;
    }
    /// Integers, strings and all that is no float are exact.
    ErrorBound of(DType dtype) const;
    /// "2 ulp", "f32 2 ulp; f64 1e-11 relative", "exact (remark)", "no reference".
    std::string text() const;
};

inline constexpr ErrorBound kExact;
constexpr ErrorBound withinUlp(int64_t ulp) { return {ulp, 0, 0}; }
constexpr ErrorBound withinRelative(double relative) { return {0, relative, 0}; }
constexpr ErrorBound withinOfLargest(double ofLargest) { return {0, 0, ofLargest}; }
constexpr ErrorBounds noReference()
{
    ErrorBounds bounds;
    bounds.isStated = false;
    return bounds;
}

/// The bound that holds where both hold.
ErrorBound widest(const ErrorBound& a, const ErrorBound& b);

/// What a comparison with `want` may overlook: `tolerance`, widened to the bound if it is narrower. A tolerance by cosine stays as it is.
Tolerance widenedTo(Tolerance tolerance, const ErrorBound& bound, const Tensor& want);

} // namespace loopscope
