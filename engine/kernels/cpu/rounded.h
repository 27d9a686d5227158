// Halves and bfloat16 as TensorFlow computes with them, which is as Eigen does: each operation in f32, each result rounded.
#pragma once

#include "engine/kernels/cpu/elementwise.h"
#include "engine/kernels/cpu/math/eigen_functions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace loopscope {

/// `Stored` is Half or BFloat16.
template <typename Stored> class Rounded {
public:
    Rounded() = default;
    template <typename T> explicit Rounded(T value) : m_value(Element<Stored>::load(Element<Stored>::store(static_cast<float>(value)))) {}
    explicit Rounded(Stored stored) : m_value(Element<Stored>::load(stored)) {}

    float value() const { return m_value; }
    Stored stored() const { return Element<Stored>::store(m_value); }

    friend Rounded operator+(Rounded a, Rounded b) { return Rounded(a.m_value + b.m_value); }
    friend Rounded operator-(Rounded a, Rounded b) { return Rounded(a.m_value - b.m_value); }
    friend Rounded operator*(Rounded a, Rounded b) { return Rounded(a.m_value * b.m_value); }
    friend Rounded operator/(Rounded a, Rounded b) { return Rounded(a.m_value / b.m_value); }
    friend Rounded operator-(Rounded a) { return Rounded(-a.m_value); }
    friend bool operator==(Rounded a, Rounded b) { return a.m_value == b.m_value; }
    friend std::partial_ordering operator<=>(Rounded a, Rounded b) { return a.m_value <=> b.m_value; }

    friend Rounded abs(Rounded a) { return Rounded(std::abs(a.m_value)); }
    friend Rounded floor(Rounded a) { return Rounded(std::floor(a.m_value)); }
    friend Rounded exp(Rounded a) { return Rounded(eigen::exp(a.m_value)); }
    friend Rounded log(Rounded a) { return Rounded(eigen::log(a.m_value)); }
    friend Rounded log1p(Rounded a) { return Rounded(eigen::log1p(a.m_value)); }

private:
    float m_value = 0;
};

/// The sum of count terms, of which first is the number of the first in its tensor, in the order of Eigen's InnerMostDimReducer on AVX:
/// four running vectors, whose lanes are added in f32; of many terms both halves by themselves.
template <typename Stored> Rounded<Stored> sumOfRounded(const Rounded<Stored>* terms, int64_t first, int64_t count)
{
    using R = Rounded<Stored>;
    constexpr int64_t kWidth = eigen::kPacket, kLeaf = kWidth * (std::is_same_v<Stored, Half> ? 200 : 128);
    if (count > kLeaf) {
        const int64_t middle = first + (count + 1) / 2, split = (middle + kWidth - 1) / kWidth * kWidth,
                      left = std::min(split - first, count);
        const R sum = R(0) + sumOfRounded(terms, first, left);
        return left < count ? sum + sumOfRounded(terms + left, split, count - left) : sum;
    }
    std::array<std::array<R, kWidth>, 4> sums;
    for (auto& lanes : sums) lanes.fill(R(0));
    const auto add = [&](std::array<R, kWidth>& lanes, const R* more) {
        for (size_t k = 0; k < lanes.size(); ++k) lanes[k] = lanes[k] + more[k];
    };
    int64_t i = 0;
    for (; i + 4 * kWidth <= count; i += 4 * kWidth)
        for (size_t k = 0; k < 4; ++k) add(sums[k], terms + i + static_cast<int64_t>(k) * kWidth);
    for (size_t k = 1; i > 0 && k < 4; ++k) add(sums[0], sums[k].data());
    for (; i + kWidth <= count; i += kWidth) add(sums[0], terms + i);
    R rest(0);
    for (; i < count; ++i) rest = rest + terms[i];
    const auto pair = [&](size_t k) { return sums[0][k].value() + sums[0][k + 4].value(); };
    return rest + R((pair(0) + pair(2)) + (pair(1) + pair(3)));
}

} // namespace loopscope
