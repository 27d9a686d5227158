// Dimension lists of StableHLO's gather and scatter, shared by inference and kernels.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/attribute.h"
#include "engine/tensor/shape.h"

#include <cstdint>
#include <vector>

namespace loopscope {

/// stablehlo.gather (StableHLO specification, gather).
struct StablehloGather {
    std::vector<int64_t> offsetDims;    ///< dimensions of the result that run within a slice
    std::vector<int64_t> batchDims;     ///< the others: they run over the start indices
    std::vector<int64_t> keptDims;      ///< operand dimension of each offset dimension
    std::vector<int64_t> startIndexMap; ///< operand dimension of each number of a start index
    std::vector<int64_t> sliceSizes;    ///< per operand dimension
    int64_t indexVectorDim = 0;         ///< of the start indices; their rank: each is a single number

    /// Errors: C2 slice sizes, C3 offset dimensions, C4 start indices do not fit the shapes, whose ranks must be known.
    static Result<StablehloGather> create(const AttributeList& attributes, const Shape& operand, const Shape& indices);
};

/// stablehlo.scatter (StableHLO specification, scatter).
struct StablehloScatter {
    std::vector<int64_t> windowDims;      ///< dimensions of the updates that run within a window
    std::vector<int64_t> scatterDims;     ///< the others: they run over the scatter indices
    std::vector<int64_t> windowToOperand; ///< operand dimension of each window dimension
    std::vector<int64_t> indexToOperand;  ///< operand dimension of each number of a scatter index
    int64_t indexVectorDim = 0;

    /// Errors: C2 window dimensions, C3 scatter indices do not fit the shapes, whose ranks must be known.
    static Result<StablehloScatter> create(const AttributeList& attributes, const Shape& operand, const Shape& indices,
                                           const Shape& updates);
};

} // namespace loopscope
