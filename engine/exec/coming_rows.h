// Products of the rows that a loop takes from a sequence, made for several iterations at once: y = fully_connected(gather(x, i), w), where
// the loop hands x on as it is, as converters write recurrent layers. One row by one the weights would come from memory in each iteration.
// docs/execution.md, "Rows to come".
#pragma once

#include "engine/exec/memory_block.h"
#include "engine/kernels/kernel.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace loopscope {

struct Graph;
struct GraphPlan;

/// Such a pair of operators, by index.
struct RowProduct {
    int32_t gather = -1, product = -1;
};
/// All of a graph; `mayUse` says whose products do not depend on how many rows there are, bit for bit.
std::vector<RowProduct> findRowProducts(const Graph& graph, const GraphPlan& plan, const std::vector<bool>& mayUse);

/// Stands before the kernel of one product in one activation. A product that was made ahead is taken only where the operand has the very
/// bytes that it was made of, so nothing need be told when the sequence changes, or the loop begins anew. Not thread-safe.
class ComingRows {
public:
    static constexpr int64_t kMostTrips = 12; ///< whole tiles of rows

    /// `product`: its operands and kernel; `gather`: those of what gives its first one. Both outlive this.
    ComingRows(KernelFunction kernel, const KernelArgs& product, const KernelArgs& gather, MemoryAccount& account);

    /// Instead of the kernel; `params` is the object itself.
    static Status run(const KernelArgs& args);

private:
    Status runNext(const KernelArgs& args);
    bool fetch(int64_t index, int64_t step);
    int64_t indexNow() const;
    std::byte* operandAt(int64_t trip) const { return m_block.data() + trip * m_operandBytes; }
    std::byte* resultAt(int64_t trip) const { return m_block.data() + kMostTrips * m_operandBytes + trip * m_resultBytes; }

    KernelFunction m_kernel;
    const void* m_params; ///< the kernel's
    const KernelArgs& m_gather;
    int64_t m_operandBytes, m_resultBytes; ///< of one iteration
    int64_t m_rows;                        ///< of one iteration
    MemoryBlock m_block;                   ///< operands, then results, of kMostTrips iterations
    Tensor m_operand, m_result;            ///< of all of them
    std::vector<const Tensor*> m_inputs;
    Tensor* m_output = &m_result;
    int64_t m_at = 0, m_count = 0; ///< the next one that was made ahead, and how many were
    int64_t m_last = -1;           ///< index of the row that was used last
    int m_wasted = 0;              ///< times in a row that what was made ahead was not what was asked for
};

} // namespace loopscope
