// Two tensors and what lies between them, cut to what is shown: computed on the engine's thread, plain values. No widgets.
#pragma once

#include "engine/tensor/tensor.h"
#include "viewer/tensor/tensor_slice.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace loopscope::viewer {

struct DifferenceRequest {
    std::optional<AxisChoice> axes; ///< none: the plane with the largest difference
    size_t largest = 6;             ///< of the list
};

struct LargeDifference {
    int64_t flat = 0;
    double here = 0, there = 0;
};

/// Differences are `there` − `here`, in real units.
struct TensorDifference {
    bool present = false;
    std::string why; ///< why not
    Shape shape;
    std::string typeHere, typeThere; ///< "f32[1,7,7,256]"
    bool quantizedHere = false, quantizedThere = false;
    AxisChoice axes;
    Grid here, there, difference;         ///< of one plane, blocks of large ones
    std::vector<LargeDifference> largest; ///< the largest first
    int64_t elements = 0;
    std::vector<int64_t> bins; ///< of the differences of all elements, from `low` to `high`
    double low = 0, high = 0, median = 0;
    std::vector<std::pair<std::string, std::string>> facts; ///< "B scale, zero" → "0.023528, 0"
    int64_t notFinite = 0;                                  ///< elements where a NaN or infinity stands on one side; in no bin
};

/// Both with data and static shapes.
TensorDifference differenceOf(const Tensor& here, const Tensor& there, const DifferenceRequest& request);

} // namespace loopscope::viewer
