#include "engine/exec/value_state.h"

#include <cstring>
#include <string>

namespace loopscope {

ValueState stateOf(ValueId value, const Tensor& tensor)
{
    ValueState state;
    state.value = value;
    state.dtype = tensor.dtype;
    state.shape = tensor.shape;
    state.bytes = Bytes::copyOf(tensor.data, tensor.bytes);
    return state;
}

ValueState stateLike(ValueId value, const Tensor& tensor, const ValueState* known)
{
    const bool same = known && known->shape == tensor.shape && known->bytes.size() == tensor.bytes &&
                      (tensor.bytes == 0 || std::memcmp(known->bytes.data(), tensor.data, tensor.bytes) == 0);
    return same ? *known : stateOf(value, tensor);
}

Error foreignState(const char* what) { return Error(ErrorCode::usage, std::string("this state does not belong to the model: ") + what); }

Tensor tensorOf(const ValueState& state)
{
    Tensor tensor;
    tensor.dtype = state.dtype;
    tensor.shape = state.shape;
    tensor.data = const_cast<std::byte*>(state.bytes.data()); // NOLINT(cppcoreguidelines-pro-type-const-cast): only read from here
    tensor.bytes = state.bytes.size();
    return tensor;
}

bool fits(const Slot& slot, const Shape& planned, const ValueState& state)
{
    if (slot.dtype != state.dtype || !isCompatible(planned, state.shape)) return false;
    const std::optional<int64_t> count = checkedElementCount(state.shape);
    if (!count || (bitWidth(slot.dtype) > 0 && state.bytes.size() < byteSize(slot.dtype, *count))) return false;
    return !slot.fixed || (slot.shape == state.shape && slot.bytes == state.bytes.size());
}

} // namespace loopscope
