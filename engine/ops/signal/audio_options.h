// Options of AudioSpectrogram and Mfcc, read from their FlexBuffer maps.
#pragma once

#include "engine/ir/attribute.h"

#include <cstdint>
#include <string_view>

namespace loopscope {

/// A whole number in the map `options`; fractions are dropped, as LiteRT reads all of them as integers.
/// 0 without the key, and for what is no number or needs more than 31 bits.
inline int64_t audioOption(const AttributeList& attributes, std::string_view key)
{
    const Attribute* options = findAttribute(attributes, "options");
    const AttributeMap* map = options ? options->as<AttributeMap>() : nullptr;
    if (!map) return 0;
    for (const auto& [name, value] : *map) {
        if (name != key) continue;
        constexpr double limit = 2147483647.0;
        if (const auto* v = value.as<int64_t>()) return *v >= -2147483647 && *v <= 2147483647 ? *v : 0;
        if (const auto* v = value.as<double>()) return *v >= -limit && *v <= limit ? static_cast<int64_t>(*v) : 0;
        if (const auto* v = value.as<bool>()) return *v ? 1 : 0;
    }
    return 0;
}

struct SpectrogramOptions {
    int64_t window = 0, stride = 0; ///< in samples
    bool squared = false;

    static SpectrogramOptions from(const AttributeList& attributes)
    {
        return {audioOption(attributes, "window_size"), audioOption(attributes, "stride"),
                audioOption(attributes, "magnitude_squared") != 0};
    }

    /// Length of the transform: the window filled up to a power of two.
    int64_t length() const
    {
        int64_t n = 1;
        while (n < window) n *= 2;
        return n;
    }
};

struct MfccOptions {
    double lower = 0, upper = 0; ///< frequencies
    int64_t channels = 0;        ///< of the filter bank
    int64_t coefficients = 0;

    static MfccOptions from(const AttributeList& attributes)
    {
        return {static_cast<double>(audioOption(attributes, "lower_frequency_limit")),
                static_cast<double>(audioOption(attributes, "upper_frequency_limit")), audioOption(attributes, "filterbank_channel_count"),
                audioOption(attributes, "dct_coefficient_count")};
    }
};

} // namespace loopscope
