// Dimension lists of StableHLO's dot_general and convolution, shared by inference and kernels.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/attribute.h"
#include "engine/tensor/shape.h"

#include <cstdint>
#include <vector>

namespace loopscope {

/// The result's dimensions are those of the batch, the free ones of lhs, the free ones of rhs (StableHLO specification, dot_general).
struct DotGeneral {
    std::vector<int64_t> lhsBatch, rhsBatch, lhsContracting, rhsContracting, lhsFree, rhsFree;

    /// Errors: C2 lists that do not fit the shapes, whose ranks must be known.
    static Result<DotGeneral> create(const AttributeList& attributes, const Shape& lhs, const Shape& rhs);
};

/// Dimension numbers and window of a convolution over any number of spatial dimensions (StableHLO specification, convolution).
struct HloConvolution {
    std::vector<int64_t> strides, padLow, padHigh, inputDilation, filterDilation;
    std::vector<bool> reversed;
    std::vector<int64_t> inputSpatial, filterSpatial, outputSpatial;
    int64_t inputBatch = 0, inputFeature = 0, filterInput = 0, filterOutput = 0, outputBatch = 0, outputFeature = 0;
    int64_t featureGroups = 1, batchGroups = 1;

    /// Errors: C2 lists or numbers that do not fit the shapes, whose ranks must be known.
    static Result<HloConvolution> create(const AttributeList& attributes, const Shape& input, const Shape& filter);
    /// Errors: C3 sizes that do not fit each other.
    Result<Shape> result(const Shape& input, const Shape& filter) const;
};

} // namespace loopscope
