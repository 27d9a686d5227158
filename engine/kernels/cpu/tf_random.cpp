// Kernels of TensorFlow's random numbers: Philox 4x32-10 with TensorFlow's seeds, and its way from bits to numbers
// (core/lib/random/random_distributions.h, philox_random.h, core/kernels/random_op.cc, stateless_random_ops.cc).
#include "engine/kernels/cpu/tf_support.h"
#include "engine/kernels/resources.h"
#include "engine/base/hash.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

using namespace loopscope;

namespace {

/// 23 bits become the mantissa of a number from 1 to 2.
float uniformFloat(uint32_t bits)
{
    const uint32_t word = (bits & 0x7fffffU) | 0x3f800000U;
    float value = 0;
    std::memcpy(&value, &word, sizeof value);
    return value - 1.0F;
}

double uniformDouble(uint32_t low, uint32_t high)
{
    const uint64_t word = (uint64_t{low & 0xfffffU} << 32) | high | (uint64_t{1023} << 52);
    double value = 0;
    std::memcpy(&value, &word, sizeof value);
    return value - 1.0;
}

enum class Distribution { uniform, normal };

/// Four f32, or two f64, from the block of a stream.
template <typename T> size_t numbersOf(const std::array<uint32_t, 4>& block, Distribution distribution, std::array<T, 4>& numbers)
{
    if constexpr (std::is_same_v<T, double>) {
        if (distribution == Distribution::uniform) {
            for (size_t i = 0; i < 2; ++i) numbers[i] = uniformDouble(block[2 * i], block[2 * i + 1]);
        } else {
            const double u = std::max(uniformDouble(block[0], block[1]), 1.0e-7);
            const double v = 2 * std::numbers::pi * uniformDouble(block[2], block[3]);
            const double radius = std::sqrt(-2.0 * std::log(u));
            numbers = {std::sin(v) * radius, std::cos(v) * radius, 0, 0};
        }
        return 2;
    } else {
        if (distribution == Distribution::uniform) {
            for (size_t i = 0; i < 4; ++i) numbers[i] = uniformFloat(block[i]);
        } else {
            for (size_t i = 0; i < 4; i += 2) {
                const float u = std::max(uniformFloat(block[i]), 1.0e-7F);
                const float v = 2.0F * std::numbers::pi_v<float> * uniformFloat(block[i + 1]);
                const float radius = std::sqrt(-2.0F * std::log(u));
                numbers[i] = std::sin(v) * radius;
                numbers[i + 1] = std::cos(v) * radius;
            }
        }
        return 4;
    }
}

Status fill(const KernelArgs& args, PhiloxStream& stream, Distribution distribution)
{
    return forDType<TypeList<float, double>>(args.out(0).dtype, [&]<typename T>() -> Status {
        std::array<T, 4> numbers = {};
        const int64_t count = args.out(0).elementCount();
        for (int64_t i = 0; i < count;) {
            const size_t got = numbersOf<T>(stream.next(), distribution, numbers);
            for (size_t k = 0; k < got && i < count; ++k, ++i) args.out(0).as<T>()[i] = numbers[k];
        }
        return {};
    });
}

/// The stream of the operator; a copy to draw from. The stream itself moves on by as much as TensorFlow reserves for a result.
PhiloxStream reserve(const KernelArgs& args, int64_t count)
{
    const auto seed = static_cast<uint64_t>(attributeInt(attributesOf(args), "seed", 0));
    const auto seed2 = static_cast<uint64_t>(attributeInt(attributesOf(args), "seed2", 0));
    const std::string& node = nodeOf(args);
    const uint64_t identity = hash64(std::as_bytes(std::span(node.data(), node.size())));
    PhiloxStream& stream = seed == 0 && seed2 == 0 ? args.runtime->random().session() : args.runtime->random().stream(identity, seed, seed2);
    const PhiloxStream mine = stream;
    constexpr int64_t kReservedPerNumber = 256;
    stream.skip(static_cast<uint64_t>((count * kReservedPerNumber + 3) / 4));
    return mine;
}

template <Distribution distribution> Status runRandom(const KernelArgs& args)
{
    LS_TRY(const Shape shape, tfShapeOperand(args.in(0)));
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    PhiloxStream stream = reserve(args, shape.elementCount());
    return fill(args, stream, distribution);
}

Status runUniformInt(const KernelArgs& args)
{
    LS_TRY(const Shape shape, tfShapeOperand(args.in(0)));
    LS_TRY(const int64_t low, tfInteger(args, 1, "minval"));
    LS_TRY(const int64_t high, tfInteger(args, 2, "maxval"));
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    const int64_t count = shape.elementCount();
    if (count == 0) return {};
    if (low >= high) return invalidArgument("Need minval < maxval, got " + std::to_string(low) + " >= " + std::to_string(high));
    PhiloxStream stream = reserve(args, count);
    const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
    const bool wide = args.out(0).dtype == DType::i64;
    for (int64_t i = 0; i < count;) {
        const std::array<uint32_t, 4> block = stream.next();
        for (size_t k = 0; k < (wide ? 2U : 4U) && i < count; ++k, ++i) {
            const uint64_t bits = wide ? (uint64_t{block[2 * k + 1]} << 32) | block[2 * k] : block[k];
            const uint64_t value = static_cast<uint64_t>(low) + bits % range;
            if (wide) args.out(0).as<int64_t>()[i] = static_cast<int64_t>(value);
            else args.out(0).as<int32_t>()[i] = static_cast<int32_t>(value);
        }
    }
    return {};
}

/// The seed is scrambled by a stream of its own, so that weak seeds do no harm.
template <Distribution distribution> Status runStateless(const KernelArgs& args)
{
    LS_TRY(const Shape shape, tfShapeOperand(args.in(0)));
    const std::vector<int64_t> seed = tfIntegers(args.in(1));
    if (seed.size() != 2) return invalidArgument("seed must have shape [2], not " + toString(args.in(1).shape));
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    PhiloxStream scrambler{0x02461e293ec8f720ULL, static_cast<uint64_t>(seed[0]), static_cast<uint64_t>(seed[1])};
    const std::array<uint32_t, 4> mix = scrambler.next();
    PhiloxStream stream{(uint64_t{mix[1]} << 32) | mix[0], 0, (uint64_t{mix[3]} << 32) | mix[2]};
    return fill(args, stream, distribution);
}

} // namespace

LS_TF_KERNEL(RandomUniform, runRandom<Distribution::uniform>, "f32 f64")
LS_TF_KERNEL(RandomStandardNormal, runRandom<Distribution::normal>, "f32 f64")
LS_TF_KERNEL(RandomUniformInt, runUniformInt, "i32 i64")
LS_TF_KERNEL(StatelessRandomUniform, runStateless<Distribution::uniform>, "f32 f64")
LS_TF_KERNEL(StatelessRandomNormal, runStateless<Distribution::normal>, "f32 f64")
