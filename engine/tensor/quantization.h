// How stored integers stand for real numbers: real = scale · (stored − zero point), per tensor, per channel or per block.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace loopscope {

/// The quantization of one value. Immutable once attached; shared between values and views.
struct Quantization {
    enum class Kind : uint8_t {
        none,      ///< only `min`/`max` are present
        affine,    ///< `scales`, `zeroPoints`, `axis`
        blockwise, ///< scales and zero points are values (tensors) of the same graph
        custom,    ///< `custom` bytes that only some writer understands
        unresolved ///< a text form whose numbers are elsewhere (a hash): prints, compares, cannot run
    };

    Kind kind = Kind::none;
    std::vector<float> scales;       ///< one entry: per tensor; else one for each index along `axis`
    std::vector<int64_t> zeroPoints; ///< as long as `scales`, or empty: the file has no zero points (they count as 0)
    int32_t axis = 0;                ///< meaningful if there is more than one scale
    bool perChannel = false;         ///< printed `q(axis=…)`; true also for a single scale whose file says a non-zero axis
    int32_t blockSize = 0;           ///< blockwise: elements that share a scale
    int32_t blockScales = -1;        ///< blockwise: ValueId of the scales
    int32_t blockZeros = -1;         ///< blockwise: ValueId of the zero points, −1 if none
    std::vector<float> min, max;     ///< recorded range; no effect on execution
    std::string custom;              ///< custom: raw bytes
    std::string scalesHash, zerosHash, minHash, maxHash; ///< unresolved: the 16 digits; the vectors are empty then

    /// True if there is one scale for the whole tensor.
    bool isPerTensor() const { return kind == Kind::affine && scales.size() == 1; }
    float scale() const { return scales.empty() ? 0.0F : scales.front(); }
    int64_t zeroPoint() const { return zeroPoints.empty() ? 0 : zeroPoints.front(); }

    bool operator==(const Quantization&) const = default;

    static Quantization perTensor(float scale, int64_t zeroPoint)
    {
        Quantization q;
        q.kind = Kind::affine;
        q.scales = {scale};
        q.zeroPoints = {zeroPoint};
        return q;
    }
};

/// Null means "not quantized".
using QuantizationPtr = std::shared_ptr<const Quantization>;

/// Compares contents; two nulls are equal.
inline bool sameQuantization(const QuantizationPtr& a, const QuantizationPtr& b) { return a == b || (a && b && *a == *b); }

} // namespace loopscope
