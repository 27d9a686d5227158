// Windows that are moved over pictures, NHWC, as the rules of layers and of their gradients know them.
#pragma once

#include "converters/lower/graph_lowering.h"
#include "converters/lower/shapes.h"

#include <cstdint>
#include <vector>

namespace loopscope::lowering {

/// `padding`, `stride_h`, `stride_w` and, where they are not 1, `dilation_h_factor`, `dilation_w_factor`.
Result<AttributeList> windowOf(const GraphLowering& l, bool hasDilation);
/// Of a pool, over all four dimensions; empty: it is computed.
std::vector<int64_t> windowSize(const GraphLowering& l);
/// TFLite's convolutions take a bias: zeros, as many as the filter has along `axis`.
Result<ValueId> zeroBias(GraphLowering& l, ValueId filter, int axis);

} // namespace loopscope::lowering
