// Dense bytes of a constant that a file stores sparse.
#pragma once

#include "engine/base/result.h"
#include "engine/tensor/constant.h"
#include "engine/tensor/dtype.h"
#include "engine/tensor/shape.h"

#include <cstdint>
#include <vector>

namespace loopscope {

/// The elements that `constant.sparsity` places in a tensor of that dtype and shape, zeros elsewhere; row-major. The layout is that of
/// the TFLite schema's SparsityParameters. Errors: badFile where layout and data do not fit each other or the shape; unsupported for
/// elements that are no whole bytes. `places`, if not null, becomes the flat index of each stored element.
Result<Bytes> densify(const Constant& constant, DType dtype, const Shape& shape, std::vector<int64_t>* places = nullptr);

} // namespace loopscope
