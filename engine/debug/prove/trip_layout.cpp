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
    cells.emplace_back();
    rowBytes = (rowBytes + 15) / 16 * 16;
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
