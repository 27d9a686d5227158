// softmax over the last dimension: f32 with a power of our own, i8 and u8 with the reference's fixed point, whose powers of all 256
// differences are computed once.
#include "engine/kernels/cpu/nn/softmax.h"

#include "engine/base/vectorised.h"
#include "engine/kernels/cpu/fixed_point.h"
#include "engine/kernels/cpu/nn_common.h"
#include "engine/kernels/fast/functions.h"
#include "engine/kernels/registry.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <memory>

using namespace loopscope;
using namespace loopscope::fast;

namespace {

/// The largest element and then sums in sixteen lanes, which are added up at the end: an order that depends on the length alone.
LS_VECTORISED_WIDEST void softmaxRow(const float* x, float* y, int64_t count, float beta)
{
    constexpr int64_t kLanes = 16;
    float largest = std::numeric_limits<float>::lowest();
    float lanes[kLanes];
    const int64_t whole = count / kLanes * kLanes;
    for (float& lane : lanes) lane = largest;
    for (int64_t i = 0; i < whole; i += kLanes)
        for (int64_t l = 0; l < kLanes; ++l) lanes[l] = lanes[l] < x[i + l] ? x[i + l] : lanes[l];
    for (const float lane : lanes) largest = std::max(largest, lane);
    for (int64_t i = whole; i < count; ++i) largest = std::max(largest, x[i]);
    for (int64_t i = 0; i < count; ++i) y[i] = exponential((x[i] - largest) * beta);
    for (float& lane : lanes) lane = 0.0F;
    for (int64_t i = 0; i < whole; i += kLanes)
        for (int64_t l = 0; l < kLanes; ++l) lanes[l] += y[i + l];
    float sum = 0.0F;
    for (const float lane : lanes) sum += lane;
    for (int64_t i = whole; i < count; ++i) sum += y[i];
    for (int64_t i = 0; i < count; ++i) y[i] = y[i] / sum;
}

Status runSoftmax(const KernelArgs& args)
{
    const auto beta = args.paramsAs<float>();
    const Shape& shape = args.in(0).shape;
    const int64_t length = shape.rank() > 0 ? shape.back() : 1;
    if (length == 0) return {};
    shareWork(args, shape.elementCount() / length, 8 * length, [&](int64_t begin, int64_t end, int) {
        for (int64_t r = begin; r < end; ++r)
            softmaxRow(args.in(0).as<float>() + r * length, args.out(0).as<float>() + r * length, length, beta);
    });
    return {};
}

/// Powers of −d, d = 0 … 255, in both forms that sums and results take. Differences from `counted` on count as nothing.
struct Powers {
    std::array<int32_t, 256> summands, factors;
    int counted = 256;
};

Powers powersOf(const FixedSoftmaxParams& p)
{
    Powers powers = {};
    for (int d = 0; d < 256; ++d) {
        if (-d < p.diffMin) {
            powers.counted = d;
            break;
        }
        const Fixed<0> power = expOnNegative(Fixed<5>{multiplyByQuantizedMultiplier(-d, p.input)});
        powers.factors[static_cast<size_t>(d)] = power.raw;
        powers.summands[static_cast<size_t>(d)] = rescale<12>(power).raw;
    }
    return powers;
}

/// Source: LiteRT kernels/internal/reference/softmax.h, Softmax on integers.
template <typename T> Status runFixedSoftmax(const KernelArgs& args)
{
    constexpr int32_t kMin = std::numeric_limits<T>::min(), kMax = std::numeric_limits<T>::max();
    const auto& powers = args.paramsAs<Powers>();
    const Shape& shape = args.in(0).shape;
    const int64_t length = shape.rank() > 0 ? shape.back() : 1;
    if (length == 0) return {};
    std::atomic<bool> isTooLong = false; // depends on what is in a row
    shareWork(args, shape.elementCount() / length, 4 * length, [&](int64_t begin, int64_t end, int) {
        for (int64_t r = begin; r < end; ++r) {
            const T* const x = args.in(0).as<T>() + r * length;
            T* const y = args.out(0).as<T>() + r * length;
            const int32_t most = *std::max_element(x, x + length);
            uint32_t sum = 0;
            for (int64_t c = 0; c < length; ++c) sum += static_cast<uint32_t>(powers.summands[static_cast<size_t>(most - x[c])]);
            int bitsOverUnit = 0;
            const Fixed<0> scale = {fixedReciprocal(static_cast<int32_t>(sum), 12, bitsOverUnit)};
            const int exponent = bitsOverUnit + 31 - 8;
            if (exponent < 0 || exponent > 31) {
                isTooLong = true;
                return;
            }
            for (int64_t c = 0; c < length; ++c) {
                const int32_t d = most - x[c];
                if (d >= powers.counted) {
                    y[c] = static_cast<T>(kMin);
                    continue;
                }
                const int32_t part = roundingDivideByPowerOfTwo((scale * Fixed<0>{powers.factors[static_cast<size_t>(d)]}).raw, exponent);
                y[c] = static_cast<T>(std::clamp(part + kMin, kMin, kMax));
            }
        }
    });
    if (isTooLong) return softmaxRowTooLong(length);
    return {};
}

Result<PreparedKernel> prepareFastSoftmax(const KernelSetup& setup)
{
    const DType dtype = setup.in(0).dtype;
    const auto beta = static_cast<float>(attributeFloat(setup.attributes(), "beta", 0.0));
    if (dtype == DType::f32) return PreparedKernel{runSoftmax, std::make_shared<const float>(beta)};
    if ((dtype != DType::i8 && dtype != DType::u8) || setup.out(0).dtype != dtype)
        return Error(ErrorCode::unsupported, "f32, i8 and u8 only").found(std::string(dtypeName(dtype)));
    LS_CHECK_OK(prepareSoftmax(setup)); // the reference kernel's own preparation says what is wrong with scales
    auto powers = std::make_shared<Powers>(powersOf(fixedSoftmaxParams(static_cast<double>(beta), scaleAndZero(setup.in(0)).scale)));
    return PreparedKernel{dtype == DType::i8 ? runFixedSoftmax<int8_t> : runFixedSoftmax<uint8_t>, std::move(powers)};
}

} // namespace

LS_DEFINE_PROFILE_KERNELS(fast, tfl, softmax)
{
    registry.add({"tfl", "softmax", Profile::fast, prepareFastSoftmax, "f32 i8 u8", withinRelative(2e-6)});
}
