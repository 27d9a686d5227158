// Values in flight: tensors with a reference count, from a pool. A value that moves through Switch, Merge, Enter and NextIteration is one
// cell all the way.
#pragma once

#include "engine/base/bytes.h"
#include "engine/base/counts.h"
#include "engine/exec/memory_block.h"
#include "engine/exec/remote_value.h"
#include "engine/tensor/device_memory.h"
#include "engine/tensor/tensor.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace loopscope::dataflow {

/// Immutable once its node has run.
struct Cell : Tensor {
    static constexpr Step kComputed = -2; ///< as recordedStep: of no recording
    explicit Cell(MemoryAccount& account) : block(account) {}
    int32_t references = 0;
    bool isDead = false;           ///< stands where a value is dead; there is one such cell
    Step recordedStep = kComputed; ///< where it was recorded, RecordedResults::kInputs included; its data come when they are asked for
    int32_t recordedSlot = 0;
    int32_t alias = -1;    ///< handle of a variable whose contents this is, whatever they become (TensorFlow 1 shares its buffer)
    mutable Bytes saved;   ///< what snapshots share of it; if the cell came out of one, its data, too
    RemoteValuePtr remote; ///< another rank has it; `data` come when they are asked for (bring)
    MemoryBlock block;     ///< of larger values
    alignas(16) std::byte small[64];
    Cell* nextFree = nullptr;
};

/// Not thread-safe. Cells must not outlive it.
class CellPool {
public:
    /// `device`: told of places that are given up; null: there is none.
    explicit CellPool(MemoryAccount& account, DeviceMemory* device = nullptr) : m_account(account), m_device(device), m_dead(account)
    {
        m_dead.isDead = true;
        m_dead.references = 1;
        m_dead.shape = Shape{0};
    }

    /// A cell with one reference and no data. Its dtype and shape are those of an earlier use.
    Cell* take()
    {
        Cell* cell = m_free;
        if (cell) [[likely]] {
            m_free = cell->nextFree;
        } else {
            cell = &m_cells.emplace_back(m_account);
        }
        cell->references = 1;
        return cell;
    }
    /// The same with the block of a value that is gone: the smallest one that holds `bytes`, or for a size that is not known yet (0) the
    /// largest one, which mostly is that of an older version of the same list (tf_list_view.h).
    Cell* takeRoomy(size_t bytes);
    /// Room for `bytes` bytes, whose content is undefined. Errors: execution, no memory.
    static Status reserve(Cell& cell, size_t bytes)
    {
        cell.bytes = bytes;
        if (bytes <= sizeof(cell.small)) [[likely]] {
            cell.data = cell.small;
            return {};
        }
        LS_CHECK_OK(cell.block.reserve(bytes));
        cell.data = cell.block.data();
        return {};
    }
    /// Data that another rank has are here as well then. Errors: execution, no memory; that rank is lost.
    static Status bring(Cell& cell) { return !cell.remote || cell.data ? Status() : fetch(cell); }
    static Cell* share(Cell* cell)
    {
        ++cell->references;
        return cell;
    }
    void release(Cell* cell)
    {
        if (--cell->references == 0) free(*cell);
    }
    /// A copy of `tensor`. Errors: execution, no memory.
    Result<Cell*> copy(const Tensor& tensor);
    /// A cell whose data are `bytes`, shared.
    Cell* over(const Tensor& type, const Bytes& bytes);
    /// A value that another rank has.
    Cell* elsewhere(const Tensor& type, RemoteValuePtr remote);
    /// A value of a recording, without data.
    Cell* recorded(Step step, int32_t slot);
    /// Calls `visit` with each value that is there.
    template <typename Visit> void forEach(Visit visit) const
    {
        for (const Cell& cell : m_cells)
            if (cell.references > 0 && cell.recordedStep == Cell::kComputed && cell.alias < 0) visit(cell);
    }
    /// What stands where a value is dead. Counted like any other, never freed.
    Cell* dead() { return &m_dead; }

private:
    static constexpr uint64_t kKeptBytes = 1 << 28; ///< in blocks of free cells
    static constexpr size_t kKeptBlocks = 32;
    void keepBlock(Cell& cell);
    static Status fetch(Cell& cell);
    void free(Cell& cell)
    {
        if (m_device) [[unlikely]]
            m_device->written(cell); // whatever comes here next, the device does not have it
        cell.alias = -1;
        cell.recordedStep = Cell::kComputed;
        if (cell.saved.size() > 0) [[unlikely]]
            cell.saved = Bytes();
        if (cell.remote) [[unlikely]]
            cell.remote.reset();
        if (cell.block.capacity() > 0) [[unlikely]]
            return keepBlock(cell);
        cell.nextFree = m_free;
        m_free = &cell;
    }

    MemoryAccount& m_account;
    DeviceMemory* const m_device;
    Cell* m_free = nullptr;
    std::deque<Cell> m_cells;
    std::vector<Cell*> m_roomy; ///< free, with blocks
    uint64_t m_keptBytes = 0;   ///< in m_roomy
    Cell m_dead;
};

} // namespace loopscope::dataflow
