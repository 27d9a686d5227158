#include "engine/exec/dataflow/cell.h"

#include <cstring>

namespace loopscope::dataflow {

Result<Cell*> CellPool::copy(const Tensor& tensor)
{
    Cell* const cell = take();
    static_cast<Tensor&>(*cell) = tensor;
    if (Status status = reserve(*cell, tensor.bytes); !status.ok()) {
        release(cell);
        return std::move(status).takeError();
    }
    if (tensor.bytes > 0) std::memcpy(cell->data, tensor.data, tensor.bytes);
    return cell;
}

Cell* CellPool::over(const Tensor& type, const Bytes& bytes)
{
    Cell* const cell = take();
    cell->dtype = type.dtype;
    cell->shape = type.shape;
    cell->quantization = type.quantization;
    cell->data = const_cast<std::byte*>(bytes.data()); // NOLINT(cppcoreguidelines-pro-type-const-cast): operands are read only
    cell->bytes = bytes.size();
    cell->saved = bytes;
    return cell;
}

Cell* CellPool::recorded(int64_t step, int32_t slot)
{
    Cell* const cell = take();
    static_cast<Tensor&>(*cell) = Tensor();
    cell->shape = Shape{0};
    cell->recordedStep = step;
    cell->recordedSlot = slot;
    return cell;
}

} // namespace loopscope::dataflow
