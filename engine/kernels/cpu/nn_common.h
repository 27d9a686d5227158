// What convolutions and matrix products share: from accumulators to stored results, weights as 16-bit rows, and inputs that are quantized
// on the fly ("hybrid": float activations, integer weights).
#pragma once

#include "engine/base/interruption.h"
#include "engine/kernels/cpu/quantized_math.h"
#include "engine/kernels/kernel.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace loopscope {

/// How the factor input scale · filter scale / output scale is formed and applied.
enum class Scaling : uint8_t {
    perChannel,   ///< fixed point of the product in double (LiteRT kernel_util.cc, PopulateConvolutionQuantizationParams)
    floatProduct, ///< fixed point; input scale · filter scale in float (same file, GetQuantizedConvolutionMultipler)
    real,         ///< a double; results are std::round(accumulator · factor) (internal/reference/integer_ops/fully_connected.h)
    single,       ///< one float multiplication, rounded to even: XNNPACK's "fp32" requantization (src/qs8-gemm, src/operators)
};

/// Turns accumulators into stored results: rescale, add the output's zero point, clamp by the activation.
struct OutputStage {
    std::vector<QuantizedMultiplier> multipliers; ///< one for each channel
    std::vector<double> factors;                  ///< the same as real numbers
    Scaling scaling = Scaling::perChannel;
    int32_t zero = 0;
    int32_t min = 0, max = 0;

    int32_t apply(int32_t sum, int64_t channel) const
    {
        const auto c = static_cast<size_t>(channel);
        if (scaling == Scaling::single) return finish(single(sum, factors[c]));
        return finish(scaling == Scaling::real ? rounded(sum * factors[c]) : multiplyByQuantizedMultiplier(sum, multipliers[c]));
    }
    int32_t apply64(int64_t sum, int64_t channel) const
    {
        const auto c = static_cast<size_t>(channel);
        return finish(scaling == Scaling::real ? rounded(static_cast<double>(sum) * factors[c])
                                               : multiplyByQuantizedMultiplier64(sum, multipliers[c]));
    }

    /// out[i] = apply(sums[i] + bias[i] modulo 2³², first + i) for a row of channels; `bias` starts at channel `first`, null: none.
    void applyRow(const int32_t* sums, const int32_t* bias, int64_t first, int64_t count, int8_t* out) const;
    void applyRow(const int32_t* sums, const int32_t* bias, int64_t first, int64_t count, uint8_t* out) const;

    /// The fields of `multipliers`, side by side for vectors.
    std::vector<int32_t> fixed, left, right;

private:
    static int32_t rounded(double value);
    static int32_t single(int32_t sum, double factor)
    {
        // Far outside of what 8 bits hold all results are the same.
        return static_cast<int32_t>(std::lrint(std::clamp(static_cast<float>(sum) * static_cast<float>(factor), -32768.0F, 32767.0F)));
    }
    int32_t finish(int32_t scaled) const { return static_cast<int32_t>(std::clamp<int64_t>(int64_t{scaled} + zero, min, max)); }
};

/// Errors: unsupported, if an operand or the result lacks its scale or the filter's scales do not fit the channels.
Result<OutputStage> makeOutputStage(const Tensor& input, const Tensor& filter, const Tensor& output, int64_t channels,
                                    FusedActivation activation, Scaling scaling);

/// Where one scale holds for the whole filter, that of the bias is the product of those of input and filter, to 2 % of the result's
/// (LiteRT kernel_util.cc, GetQuantizedConvolutionMultipler). A bias without a scale is taken at its word. Errors: badFile, the constraint.
Status checkBiasScale(int constraint, const Tensor& input, const Tensor& filter, const Tensor& bias, const Tensor& output);

/// Element r · elements + d of integer weights (i2, i4, i8, u8, i16) minus `zero`, as 16-bit rows of `rowStride`: row r at rows[r ·
/// rowStride]. The rest of each row, and rows up to `paddedCount`, are zeros.
void packIntegerRows(const Tensor& weights, int64_t firstRow, int64_t rowCount, int64_t elements, int32_t zero, int64_t rowStride,
                     int64_t paddedCount, int16_t* rows);

/// to[i] = from[i] − zero, for i8, u8 and i16 tensors; `first` and `count` are elements.
void widen(const Tensor& from, int64_t first, int64_t count, int32_t zero, int16_t* to);

/// KernelRuntime::parallel for `count` items of about `cost` multiplications each, or on this thread alone if that is too little to share.
template <typename Work> void shareWork(const KernelArgs& args, int64_t count, int64_t cost, Work work)
{
    constexpr int64_t kWorthSharing = int64_t{1} << 18; // some 50 µs, against some 10 µs for waking threads
    constexpr int64_t kBetweenLooks = int64_t{1} << 27; // of each thread: some 20 ms
    constexpr int64_t kTogether = 16;                   // items that a kernel may do better side by side
    const int64_t threads = args.runtime->threads();
    const bool isShared = threads > 1 && count > 1 && cost > 0 && count > kWorthSharing / cost;
    int64_t part = std::max<int64_t>(1, kBetweenLooks / std::max<int64_t>(cost, 1));
    if (isShared) part = part > count / threads ? count : part * threads;
    if (part > kTogether) part -= part % kTogether;
    for (int64_t from = 0; from < count; from += part) {
        if (from > 0) interruptionPoint();
        const int64_t items = std::min(part, count - from);
        if (isShared)
            args.runtime->parallel(items, [&](int64_t begin, int64_t end, int thread) { work(from + begin, from + end, thread); });
        else work(from, from + items, 0);
    }
}

/// An input quantized to 8 bits by its own range.
struct HybridInput {
    float scale = 1.0F;
    int32_t zero = 0;
};
/// −127 … 127 around 0 (LiteRT internal/reference/portable_tensor_utils.cc, PortableSymmetricQuantizeFloats).
HybridInput quantizeSymmetric(std::span<const float> values, int16_t* quantized);
/// −128 … 127 with a zero point (same file, PortableAsymmetricQuantizeFloats).
HybridInput quantizeAsymmetric(std::span<const float> values, int16_t* quantized);
/// The same as XNNPACK does it for its dynamically quantized operators ("qd8": src/microparams-init, f32-qs8-vcvt): all in float, rounded
/// to even. The scale is the inverse of what values were multiplied by.
HybridInput quantizeDynamic(std::span<const float> values, int16_t* quantized);

/// Lays out parts of one scratch block.
class ScratchLayout {
public:
    /// Reserves `count` elements of T; returns the offset in bytes.
    template <typename T> size_t add(int64_t count)
    {
        const size_t offset = m_bytes;
        m_bytes += (static_cast<size_t>(count) * sizeof(T) + 63) / 64 * 64;
        return offset;
    }
    size_t bytes() const { return m_bytes; }

private:
    size_t m_bytes = 0;
};

/// Scratch memory with a part for each thread.
struct ThreadScratch {
    std::byte* common;
    std::byte* first; ///< part of thread 0
    size_t apart;     ///< bytes from part to part

    template <typename T> T* of(int thread, size_t offset) const
    {
        return reinterpret_cast<T*>(first + static_cast<size_t>(thread) * apart + offset);
    }
};
/// The parts lie in front and at the same places for all kernels, if they are not uncommonly large: what a thread writes into its part is
/// in the cache of its own core then. To take lines out of another core's cost more than what a small kernel computes.
inline ThreadScratch takeScratch(KernelRuntime& runtime, const ScratchLayout& common, const ScratchLayout& each)
{
    constexpr size_t kPart = size_t{1} << 18;
    const auto threads = static_cast<size_t>(runtime.threads());
    const size_t apart = threads == 1 ? each.bytes() : (each.bytes() + kPart - 1) / kPart * kPart;
    std::byte* const block = runtime.scratch(threads * apart + common.bytes());
    return {block + threads * apart, block, apart};
}

} // namespace loopscope
