// TensorFlow's message for a tensor (TensorProto), which kernels write into strings and read from them.
#pragma once

#include "engine/base/result.h"
#include "engine/tensor/variants.h"

#include <deque>
#include <string>
#include <string_view>

namespace loopscope {

/// Errors: unsupported, for a dtype that has none.
Result<std::string> tensorMessage(const VariantTensor& tensor);
/// What the content needs beyond the message is kept in `storage`. Errors: InvalidArgument; unsupported, for numbers one by one.
Result<VariantTensor> readTensorMessage(std::string_view message, std::deque<std::string>& storage);

} // namespace loopscope
