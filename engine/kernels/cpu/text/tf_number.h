// Numbers as TensorFlow reads them from text: StringToNumber, DecodeCSV and the files of lookup tables have one way.
#pragma once

#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>

namespace loopscope {

/// What a number is that is too large or too small for T, by its exponent: an infinity or a zero.
template <typename T> T beyondRange(std::string_view digits)
{
    double wide = 0;
    if constexpr (sizeof(T) < sizeof(double))
        if (std::from_chars(digits.data(), digits.data() + digits.size(), wide).ec == std::errc()) return static_cast<T>(wide);
    const size_t exponent = digits.find_first_of("eE");
    const bool isSmall = exponent != std::string_view::npos && digits.substr(exponent + 1).starts_with('-');
    const T size = isSmall ? T(0) : std::numeric_limits<T>::infinity();
    return digits.starts_with('-') ? -size : size;
}

/// Spaces around it and a plus in front are left out; reals may be hexadecimal (0x1p3) and out of range, integers are decimal and may not.
/// None if the text is no such number (tsl/platform/numbers.cc: safe_strtof, safe_strto32, …).
template <typename T> std::optional<T> tfNumber(std::string_view text)
{
    constexpr std::string_view kSpaces = " \t\n\v\f\r";
    const size_t first = text.find_first_not_of(kSpaces);
    if (first == std::string_view::npos) return std::nullopt;
    text = text.substr(first, text.find_last_not_of(kSpaces) + 1 - first);
    if (text.starts_with('+')) {
        text.remove_prefix(1);
        if (text.starts_with('-')) return std::nullopt;
    }
    T value = {};
    std::from_chars_result read;
    if constexpr (std::is_floating_point_v<T>) {
        const bool isNegative = text.starts_with('-');
        const std::string_view size = text.substr(isNegative ? 1 : 0);
        if (size.starts_with("0x") || size.starts_with("0X")) {
            const std::string_view digits = size.substr(2);
            if (digits.starts_with('-')) return std::nullopt;
            read = std::from_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::hex);
            if (isNegative) value = -value;
        } else {
            read = std::from_chars(text.data(), text.data() + text.size(), value);
            if (read.ec == std::errc::result_out_of_range && read.ptr == text.data() + text.size()) return beyondRange<T>(text);
        }
    } else {
        read = std::from_chars(text.data(), text.data() + text.size(), value);
    }
    if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
    return value;
}

} // namespace loopscope
