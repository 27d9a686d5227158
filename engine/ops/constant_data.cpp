#include "engine/ops/constant_data.h"

#include <cstddef>

namespace loopscope {

void showConstant(const Operator& op, Tensor& result)
{
    if (op.kind.name != "Const" || !result.shape.isStatic() || bitWidth(result.dtype) == 0) return;
    const Attribute* const value = findAttribute(op.attributes, "value");
    const auto* const tensor = value ? value->as<TensorAttribute>() : nullptr;
    if (!tensor || !tensor->data || !tensor->data->hasBytes()) return;
    const Bytes& bytes = tensor->data->bytes();
    if (bytes.size() != byteSize(result.dtype, result.elementCount())) return;
    static std::byte nothing = {}; // an empty constant is known all the same: it is the shape of a scalar
    result.data = bytes.empty()
                      ? &nothing
                      : const_cast<std::byte*>(bytes.data()); // NOLINT(cppcoreguidelines-pro-type-const-cast): operands are read only
    result.bytes = bytes.size();
}

} // namespace loopscope
