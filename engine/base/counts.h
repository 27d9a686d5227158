// Strong types for what a run counts: a step cannot be passed where a tick is meant. docs/glossary.md says what each is and where it
// begins.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>

namespace loopscope {

/// A number that counts one kind of thing. Files, text and arithmetic take it and give it as a plain number; one kind never becomes
/// another, and two kinds are never compared.
template <typename Tag> struct StrongNumber {
    int64_t number = 0;

    constexpr StrongNumber() = default;
    template <std::integral Number> constexpr StrongNumber(Number n) : number(static_cast<int64_t>(n)) {}
    constexpr operator int64_t() const { return number; }
    constexpr StrongNumber& operator++()
    {
        ++number;
        return *this;
    }
    constexpr StrongNumber operator++(int) { return number++; }
    constexpr StrongNumber& operator--()
    {
        --number;
        return *this;
    }
    constexpr StrongNumber operator--(int) { return number--; }
    constexpr StrongNumber& operator+=(int64_t distance)
    {
        number += distance;
        return *this;
    }
    constexpr StrongNumber& operator-=(int64_t distance)
    {
        number -= distance;
        return *this;
    }
};

template <typename A, typename B>
requires(!std::is_same_v<A, B>) bool operator==(StrongNumber<A>, StrongNumber<B>) = delete;
template <typename A, typename B>
requires(!std::is_same_v<A, B>) std::strong_ordering operator<=>(StrongNumber<A>, StrongNumber<B>) = delete;

using Step = StrongNumber<struct StepTag>;               ///< operators completed in a run, from 0
using Tick = StrongNumber<struct TickTag>;               ///< which stop of a run, from 0
using InvocationId = StrongNumber<struct InvocationTag>; ///< which execution of a graph or iteration of a loop, from 1; 0: none
using TimelineId = StrongNumber<struct TimelineTag>;     ///< which course of events of a run, from 1; 0: none

} // namespace loopscope

template <typename Tag> struct std::hash<loopscope::StrongNumber<Tag>> {
    size_t operator()(loopscope::StrongNumber<Tag> number) const noexcept { return std::hash<int64_t>()(number.number); }
};
