// Tables that stand for a real function on quantized 8- and 16-bit tensors. Source: LiteRT kernels/internal/common.h, LUTPopulate and
// LUTLookup: 256 exact entries for 8 bits; for 16 bits 513 entries with linear interpolation, biased to halve the error at midpoints.
#pragma once

#include "engine/kernels/cpu/elementwise.h"
#include "engine/kernels/cpu/quantized_math.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>

namespace loopscope {

/// Indexed by the stored element's bits as an unsigned byte.
struct LookupTable8 {
    std::array<uint8_t, 256> entries;
};
struct LookupTable16 {
    std::array<int16_t, 513> entries;
};

/// T is int8_t or uint8_t; f maps a real f32 to a real f32. A result without a scale is 0 everywhere, as the reference answers.
template <typename T, typename F> LookupTable8 makeLookupTable8(ScaleAndZero in, ScaleAndZero out, F f)
{
    LookupTable8 table = {};
    if (out.scale == 0.0F) return table;
    const float inverseScale = 1 / out.scale;
    constexpr int32_t kMin = std::numeric_limits<T>::min();
    constexpr int32_t kMax = std::numeric_limits<T>::max();
    for (int32_t stored = kMin; stored <= kMax; ++stored) {
        const float real = in.scale * static_cast<float>(wrappingSub(stored, in.zero));
        const float rescaled = std::round(f(real) * inverseScale);
        const int32_t quantized = truncateToInt32(rescaled + static_cast<float>(out.zero));
        table.entries[static_cast<uint8_t>(stored)] = static_cast<uint8_t>(std::clamp(quantized, kMin, kMax));
    }
    return table;
}

/// Real is float, or double for the tables of softmax.
template <typename Real, typename F> LookupTable16 makeLookupTable16(Real inScale, int32_t inZero, Real outScale, int32_t outZero, F f)
{
    constexpr int kSteps = 512;
    const Real inMin = inScale * static_cast<Real>(wrappingSub(-32768, inZero));
    const Real inMax = inScale * static_cast<Real>(wrappingSub(32767, inZero));
    const Real outMin = outScale * static_cast<Real>(wrappingSub(-32768, outZero));
    const Real outMax = outScale * static_cast<Real>(wrappingSub(32767, outZero));
    const Real step = (inMax - inMin) / kSteps;
    const Real halfStep = step / 2;
    const Real inverse = static_cast<Real>(65536) / (outMax - outMin);
    const auto stored = [](Real value) { // NaN, where there is no scale, gives 0
        return std::isnan(value) ? int16_t{0} : static_cast<int16_t>(std::clamp<Real>(value, -32768, 32767));
    };
    LookupTable16 table;
    for (int i = 0; i < kSteps; ++i) {
        const Real value = f(inMin + static_cast<Real>(i) * step);
        const Real middle = f(inMin + static_cast<Real>(i) * step + halfStep);
        const Real next = f(inMin + static_cast<Real>(i + 1) * step);
        const Real sample = std::round(value * inverse);
        const Real interpolated = std::round((next * inverse + std::round(value * inverse)) / 2);
        const Real error = interpolated - std::round(middle * inverse);
        table.entries[static_cast<size_t>(i)] = stored(sample - std::round(error / 2));
    }
    table.entries[kSteps] = stored(std::round(f(inMax) * inverse));
    return table;
}

inline int16_t lookUp16(int16_t value, const LookupTable16& table)
{
    const auto index = static_cast<size_t>(256 + (value >> 7));
    const int16_t base = table.entries[index];
    const auto slope = static_cast<int16_t>(table.entries[index + 1] - base);
    return static_cast<int16_t>(base + ((slope * (value & 0x7f) + 64) >> 7));
}

/// Kernel functions whose params are the table.
inline Status runLookup8(const KernelArgs& args)
{
    const auto& table = args.paramsAs<LookupTable8>();
    applyUnary<uint8_t, uint8_t>(args.in(0), args.out(0), [&table](uint8_t x) { return table.entries[x]; });
    return {};
}
inline Status runLookup16(const KernelArgs& args)
{
    const auto& table = args.paramsAs<LookupTable16>();
    applyUnary<int16_t, int16_t>(args.in(0), args.out(0), [&table](int16_t x) { return lookUp16(x, table); });
    return {};
}

/// A kernel that maps i8, u8 or i16 through a table of f. Errors: unsupported for other dtypes.
template <typename F> Result<PreparedKernel> prepareLookup(const KernelSetup& setup, F f)
{
    const auto in = scaleAndZero(setup.in(0));
    const auto out = scaleAndZero(setup.out(0));
    switch (setup.in(0).dtype) {
    case DType::i8: return PreparedKernel{runLookup8, std::make_shared<const LookupTable8>(makeLookupTable8<int8_t>(in, out, f))};
    case DType::u8: return PreparedKernel{runLookup8, std::make_shared<const LookupTable8>(makeLookupTable8<uint8_t>(in, out, f))};
    case DType::i16:
        return PreparedKernel{runLookup16,
                              std::make_shared<const LookupTable16>(makeLookupTable16<float>(in.scale, in.zero, out.scale, out.zero, f))};
    default: return unsupportedDtypes(setup);
    }
}

} // namespace loopscope
