// Rows of two operands that broadcast to a result: as few and as long as their shapes allow, shared by all threads.
#pragma once

#include "engine/kernels/cpu/broadcast.h"
#include "engine/kernels/kernel.h"

#include <algorithm>
#include <cstdint>

namespace loopscope::fast {

/// Which operand is one number for all elements of a row.
enum class Repeated : uint8_t { none, first, second };

/// Below this many elements a block costs more to hand out than to compute.
inline constexpr int64_t kSmallestBlock = int64_t{1} << 14;

/// How often an operand's elements come again, as they are, to make the result: 0, if that is not how it broadcasts, else at least 2.
inline int64_t repetitions(const Shape& operand, const Shape& result)
{
    int first = 0;
    while (first < operand.rank() && operand[first] == 1) ++first;
    for (int i = 1; i <= operand.rank() - first; ++i)
        if (i > result.rank() || operand[operand.rank() - i] != result[result.rank() - i]) return 0;
    const int64_t count = operand.elementCount(), all = result.elementCount();
    return count > 1 && all > count ? all / count : 0;
}

/// Copies a short operand side by side until it makes a row worth a loop. `to` has room for kLongRow elements and one operand more.
inline constexpr int64_t kLongRow = 1024;
template <typename T> int64_t lengthened(const T* from, int64_t count, int64_t all, T* to)
{
    int64_t length = 0;
    while (length < kLongRow && length + count <= all) {
        std::copy_n(from, count, to + length);
        length += count;
    }
    return length;
}

/// Calls row(a, b, y, count, which is repeated) until all elements are done.
template <typename T, typename Row> void visitRows(const KernelArgs& args, Row row)
{
    const T *a = args.in(0).as<T>(), *b = args.in(1).as<T>();
    T* const y = args.out(0).as<T>();
    const Shape &shapeA = args.in(0).shape, &shapeB = args.in(1).shape, &shape = args.out(0).shape;
    const int64_t count = shape.elementCount(), countA = shapeA.elementCount(), countB = shapeB.elementCount();
    if (count == 0) return;
    const auto inBlocks = [&](int64_t blockLength, const auto& work) {
        const int64_t blocks = (count + blockLength - 1) / blockLength;
        if (blocks == 1) return work(0, 1, 0);
        args.runtime->parallel(blocks, work);
    };
    if ((countA == count || countA == 1) && (countB == count || countB == 1)) {
        const Repeated repeated = countA == countB ? Repeated::none : countA == 1 ? Repeated::first : Repeated::second;
        return inBlocks(kSmallestBlock, [&](int64_t begin, int64_t end, int) {
            const int64_t first = begin * kSmallestBlock, length = std::min(end * kSmallestBlock, count) - first;
            row(repeated == Repeated::first ? a : a + first, repeated == Repeated::second ? b : b + first, y + first, length, repeated);
        });
    }
    const bool repeatsB = countA == count && repetitions(shapeB, shape) > 0, repeatsA = countB == count && repetitions(shapeA, shape) > 0;
    if (repeatsA || repeatsB) {
        const T* const from = repeatsB ? b : a;
        const int64_t own = repeatsB ? countB : countA;
        int64_t length = own;
        const T* again = from;
        if (own < kLongRow / 2) {
            T* const longer = reinterpret_cast<T*>(args.runtime->scratch(static_cast<size_t>(kLongRow + own) * sizeof(T)));
            length = lengthened(from, own, count, longer);
            again = longer;
        }
        const int64_t together = (kSmallestBlock + length - 1) / length * length;
        return inBlocks(together, [&](int64_t begin, int64_t end, int) {
            for (int64_t at = begin * together; at < std::min(end * together, count); at += length) {
                const int64_t some = std::min(length, count - at);
                row(repeatsB ? a + at : again, repeatsB ? again : b + at, y + at, some, Repeated::none);
            }
        });
    }
    const BroadcastLoop<2> loop(shape, {&shapeA, &shapeB});
    const int64_t length = loop.rowLength(), rows = count / length, together = std::max<int64_t>(1, kSmallestBlock / length);
    const Repeated repeated = loop.rowStride(0) == 0 ? Repeated::first : loop.rowStride(1) == 0 ? Repeated::second : Repeated::none;
    inBlocks(together * length, [&](int64_t begin, int64_t end, int) {
        loop.forRows(begin * together, std::min(end * together, rows),
                     [&](int64_t o, const int64_t(&offset)[2]) { row(a + offset[0], b + offset[1], y + o, length, repeated); });
    });
}

} // namespace loopscope::fast
