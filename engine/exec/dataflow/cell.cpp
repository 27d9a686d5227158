#include "engine/exec/dataflow/cell.h"

#include <algorithm>
#include <cstring>
#include <utility>

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

Status CellPool::fetch(Cell& cell)
{
    LS_CHECK_OK(reserve(cell, cell.remote->bytes()));
    Status status = cell.remote->bring({cell.data, cell.bytes});
    if (!status.ok()) cell.data = nullptr;
    return status;
}

Cell* CellPool::elsewhere(const Tensor& type, RemoteValuePtr remote)
{
    Cell* const cell = take();
    static_cast<Tensor&>(*cell) = type;
    cell->data = nullptr;
    cell->bytes = remote->bytes();
    cell->remote = std::move(remote);
    return cell;
}

Cell* CellPool::takeRoomy(size_t bytes)
{
    const auto isBetter = [bytes](const Cell* a, const Cell* b) {
        if (bytes == 0) return a->block.capacity() > b->block.capacity();
        if ((a->block.capacity() >= bytes) != (b->block.capacity() >= bytes)) return a->block.capacity() >= bytes;
        return a->block.capacity() < b->block.capacity();
    };
    const auto best = std::ranges::min_element(m_roomy, isBetter);
    if (best == m_roomy.end() || (*best)->block.capacity() < bytes) return take();
    Cell* const cell = *best;
    m_keptBytes -= cell->block.capacity();
    *best = m_roomy.back();
    m_roomy.pop_back();
    cell->references = 1;
    return cell;
}

void CellPool::keepBlock(Cell& cell)
{
    if (m_roomy.size() < kKeptBlocks && m_keptBytes + cell.block.capacity() <= kKeptBytes) {
        m_keptBytes += cell.block.capacity();
        m_roomy.push_back(&cell);
        return;
    }
    cell.block.release();
    cell.nextFree = m_free;
    m_free = &cell;
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

Cell* CellPool::recorded(Step step, int32_t slot)
{
    Cell* const cell = take();
    static_cast<Tensor&>(*cell) = Tensor();
    cell->shape = Shape{0};
    cell->recordedStep = step;
    cell->recordedSlot = slot;
    return cell;
}

} // namespace loopscope::dataflow
