// Sums of f32 and f64 in the order in which Eigen adds on AVX, as TensorFlow's build does: several running sums side by side, which are
// then added in a fixed order. The order is part of the answer's last bits.
#pragma once

#include <algorithm>
#include <cstdint>

namespace loopscope::eigen {

/// Elements of a 32-byte vector.
template <typename T> inline constexpr int64_t kLanes = 32 / static_cast<int64_t>(sizeof(T));

/// The sum of a vector's elements: halves are added until one element is left.
template <typename T> T sumOfLanes(const T* lanes)
{
    T sums[kLanes<T>];
    std::copy(lanes, lanes + kLanes<T>, sums);
    for (int64_t half = kLanes<T> / 2; half > 0; half /= 2)
        for (int64_t i = 0; i < half; ++i) sums[i] = sums[i] + sums[i + half];
    return sums[0];
}

/// The sum of f(first) … f(first + count − 1), of which f(0) is the first of the tensor: InnerMostDimReducer of Eigen's TensorReduction.h.
/// Many are halved at a whole vector, few are added into two vectors in turn.
template <typename T, typename F> T sumInnermost(int64_t first, int64_t count, F&& f)
{
    constexpr int64_t kWidth = kLanes<T>, kLeaf = 1024;
    if (count > kWidth * kLeaf) {
        const int64_t middle = first + (count + 1) / 2;
        const int64_t split = (middle + kWidth - 1) / kWidth * kWidth;
        const int64_t left = std::min(split - first, count);
        T sum = T(0) + sumInnermost<T>(first, left, f);
        if (left < count) sum += sumInnermost<T>(split, count - left, f);
        return sum;
    }
    const int64_t pairs = count / (2 * kWidth) * (2 * kWidth), whole = count / kWidth * kWidth;
    T even[kWidth] = {}, odd[kWidth] = {};
    for (int64_t i = 0; i < pairs; i += 2 * kWidth)
        for (int64_t k = 0; k < kWidth; ++k) {
            even[k] += f(first + i + k);
            odd[k] += f(first + i + kWidth + k);
        }
    for (int64_t i = pairs; i < whole; i += kWidth)
        for (int64_t k = 0; k < kWidth; ++k) even[k] += f(first + i + k);
    for (int64_t k = 0; k < kWidth; ++k) even[k] += odd[k];
    T rest(0);
    for (int64_t i = whole; i < count; ++i) rest += f(first + i);
    return rest + sumOfLanes(even);
}

/// The sum of f(0), f(1), … f(count − 1), each a row's element in one column (InnerMostDimPreserver): four sums in turn from 16 rows on,
/// for columns that are computed by whole vectors.
template <typename T, typename F> T sumColumn(int64_t count, bool inVector, F&& f)
{
    T sums[4] = {};
    int64_t i = 0;
    if (inVector && count >= 16) {
        for (; i + 4 <= count; i += 4)
            for (int64_t k = 0; k < 4; ++k) sums[k] += f(i + k);
        for (int64_t k = 1; k < 4; ++k) sums[0] += sums[k];
    }
    for (; i < count; ++i) sums[0] += f(i);
    return sums[0];
}

} // namespace loopscope::eigen
