#include "engine/debug/prove/trip_layout.h"

#include "engine/tensor/quantization.h"

#include <algorithm>
#include <span>

namespace loopscope {

bool isSameType(const Tensor& a, const Tensor& b)
{
    const std::span<const int64_t> dims = a.shape.dims(), others = b.shape.dims(); // of values that are there: ranks are known
    return a.dtype == b.dtype && dims.size() == others.size() && std::equal(dims.begin(), dims.end(), others.begin()) &&
           (a.quantization == b.quantization || (a.quantization && b.quantization && *a.quantization == *b.quantization));
}

bool isHandle(DType dtype) { return dtype == DType::resource || dtype == DType::variant; }

void TripLayout::close()
{
    using Leaves = TripKernel::Leaves;
    cells.emplace_back();
    rowBytes = (rowBytes + 15) / 16 * 16;
    kernels.resize(static_cast<size_t>(kernelCount()));
    for (size_t c = 0; c < cellCount(); ++c) {
        const TripCell& cell = cells[c];
        TripKernel& kernel = kernels[static_cast<size_t>(cell.kernel)];
        if (kernel.cells) {
            kernel.leaves = Leaves::cells;
            continue;
        }
        kernel.cells = &cell;
        kernel.result = cell.result;
        kernel.offset = cell.offset;
        kernel.leaves = cell.bytes == 1   ? Leaves::oneByte
                        : cell.bytes == 4 ? Leaves::fourBytes
                        : cell.bytes == 8 ? Leaves::eightBytes
                                          : Leaves::cells;
    }
}

bool TripLayout::agreesWith(const TripLayout& other) const
{
    if (this == &other) return true;
    if (cellCount() != other.cellCount() || rowBytes != other.rowBytes) return false;
    for (size_t c = 0; c < cellCount(); ++c)
        if (results[c].key != other.results[c].key || cells[c].bytes != other.cells[c].bytes || isInCond(c) != other.isInCond(c) ||
            !isSameType(results[c].type, other.results[c].type))
            return false;
    return true;
}

} // namespace loopscope
