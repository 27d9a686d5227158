// Element-wise comparison of two tensors: whether they agree within a tolerance, by how much they differ, and where.
#pragma once

#include "engine/tensor/tensor.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace loopscope {

/// What counts as equal. Everything that is given must hold; nothing given means exact: the same bits, except that any NaN equals any
/// NaN. Under every tolerance NaN equals NaN and an infinity only itself.
struct Tolerance {
    /// |got − want| ≤ atol + rtol · |want|
    struct Close {
        double rtol = 1e-5, atol = 1e-6;
        /// `atol` is at most this part of the largest finite |want| of the element's row (its last dimension; of the whole tensor where
        /// the row is zero), so that tensors of small numbers are compared, too. Infinite: atol as it is.
        double neighbourhood = std::numeric_limits<double>::infinity();
    };
    std::optional<Close> close;
    std::optional<int64_t> ulp;   ///< units in the last place, floats only; integers then compare exactly
    std::optional<double> cosine; ///< least cosine similarity of the whole tensors
    bool isExact() const { return !close && !ulp && !cosine; }
};

/// How two tensors differ. Figures are over all elements, within tolerance or not.
struct Comparison {
    bool equal = false;
    std::string mismatch; ///< "shape [2,3], want [3,2]" or dtype; nothing else is meaningful then
    int64_t elements = 0;
    int64_t beyond = 0;            ///< elements beyond the tolerance
    int64_t different = 0;         ///< elements that are not the same, within tolerance or not
    int64_t first = -1;            ///< flat index of the first element beyond the tolerance (or that differs at all, if none is)
    int64_t worst = -1;            ///< flat index of the largest difference; −1 if no element differs
    double got = 0, want = 0;      ///< the worst element, in real units
    double maxAbs = 0;             ///< infinite where one side is NaN or an infinity and the other is not
    double maxRel = 0;             ///< |got − want| / |want|
    std::optional<int64_t> maxUlp; ///< floats of one dtype only; the largest int64 where a NaN meets a number
    double cosine = 1;             ///< of the whole tensors in real units; 1 if both are zero
};

/// Compares as real numbers where both sides are quantized per tensor or channel, otherwise as stored. dtypes must agree unless both
/// sides are numbers and `anyDtype`. Both tensors must have data and static shapes.
Comparison compareTensors(const Tensor& got, const Tensor& want, const Tolerance& tolerance, bool anyDtype = false);

/// "[1,0]" for flat index `flat` in `shape`; "[]" for a scalar.
std::string elementIndexText(const Shape& shape, int64_t flat);

} // namespace loopscope
