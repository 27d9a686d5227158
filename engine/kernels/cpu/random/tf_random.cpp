// Kernels of TensorFlow's random numbers: Philox 4x32-10 with TensorFlow's seeds, and its way from bits to numbers
// (core/lib/random/random_distributions.h, philox_random.h, core/kernels/random_op.cc, stateless_random_ops.cc).
#include "engine/kernels/cpu/state/tf_variables.h"
#include "engine/kernels/cpu/tf_streams.h"

#include "engine/ir/random_stream.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

using namespace loopscope;

namespace loopscope {

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

/// The stream of a seed. The seed is scrambled by a stream of its own, so that weak seeds do no harm.
Result<PhiloxStream> streamOfSeed(const KernelArgs& args, int i)
{
    const std::vector<int64_t> seed = tfIntegers(args.in(i));
    if (seed.size() != 2) return invalidArgument("seed must have shape [2], not " + toString(args.in(i).shape));
    PhiloxStream scrambler{0x02461e293ec8f720ULL, static_cast<uint64_t>(seed[0]), static_cast<uint64_t>(seed[1])};
    const std::array<uint32_t, 4> mix = scrambler.next();
    return PhiloxStream{(uint64_t{mix[1]} << 32) | mix[0], 0, (uint64_t{mix[3]} << 32) | mix[2]};
}

/// The stream of operands 1 to 3: key, counter, algorithm.
Result<PhiloxStream> streamOfKey(const KernelArgs& args)
{
    constexpr int64_t kPhilox = 1, kAny = 3;
    LS_TRY(const int64_t algorithm, tfInteger(args, 3, "alg"));
    if (algorithm != kPhilox && algorithm != kAny) return invalidArgument("Unsupported algorithm id: " + std::to_string(algorithm));
    const std::vector<int64_t> key = tfIntegers(args.in(1)), counter = tfIntegers(args.in(2));
    if (key.size() != 1) return invalidArgument("key must have shape [1], not " + toString(args.in(1).shape));
    if (counter.size() < 2) return invalidArgument("counter must have at least 2 elements, got shape " + toString(args.in(2).shape));
    return PhiloxStream{static_cast<uint64_t>(key[0]), static_cast<uint64_t>(counter[0]), static_cast<uint64_t>(counter[1])};
}

PhiloxStream reserveBlocks(const KernelArgs& args, int64_t blocks)
{
    const auto seed = static_cast<uint64_t>(attributeInt(attributesOf(args), "seed", 0));
    const auto seed2 = static_cast<uint64_t>(attributeInt(attributesOf(args), "seed2", 0));
    const uint64_t identity = randomStreamIdentity(args.paramsAs<Operator>());
    PhiloxStream& stream =
        seed == 0 && seed2 == 0 ? args.runtime->random().session() : args.runtime->random().stream(identity, seed, seed2);
    const PhiloxStream mine = stream;
    stream.skip(static_cast<uint64_t>(blocks));
    return mine;
}

} // namespace loopscope

namespace {

/// As much as TensorFlow reserves for a result: 256 blocks of four words for each number.
PhiloxStream reserve(const KernelArgs& args, int64_t count) { return reserveBlocks(args, count * kReservedPerNumber); }

enum class Distribution { uniform, normal, truncated };

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
                const auto v = static_cast<float>(2.0 * std::numbers::pi * static_cast<double>(uniformFloat(block[i + 1])));
                const float radius = std::sqrt(-2.0F * std::log(u));
                numbers[i] = std::sin(v) * radius;
                numbers[i + 1] = std::cos(v) * radius;
            }
        }
        return 4;
    }
}

/// How many bits of a word make a uniform number: the mantissa's.
template <typename T> constexpr int kMantissaBits = std::is_same_v<T, Half> ? 10 : std::is_same_v<T, BFloat16> ? 7 : 23;

/// Those of a block as they are stored. Small floats are f32 rounded, but for uniform ones, which take as many bits as they have.
template <typename T> size_t storedNumbersOf(const std::array<uint32_t, 4>& block, Distribution distribution, std::array<T, 4>& stored)
{
    std::array<typename Element<T>::Compute, 4> numbers = {};
    size_t count = 4;
    if (kMantissaBits<T> < 23 && distribution == Distribution::uniform) {
        constexpr uint32_t kSteps = 1U << kMantissaBits<T>;
        for (size_t i = 0; i < 4; ++i) numbers[i] = static_cast<float>(block[i] % kSteps) / static_cast<float>(kSteps);
    } else {
        count = numbersOf(block, distribution, numbers);
    }
    for (size_t i = 0; i < count; ++i) stored[i] = Element<T>::store(numbers[i]);
    return count;
}

/// Normal numbers closer than 2 to 0. Each group of a block's size has a region of the stream to itself, since nobody knows how many it
/// takes.
template <typename T> void fillTruncated(T* out, int64_t count, const PhiloxStream& stream)
{
    using C = typename Element<T>::Compute;
    constexpr int64_t kGroup = sizeof(T) == 8 ? 2 : 4, kBlocksOfGroup = kGroup * 256 / 4;
    for (int64_t first = 0; first < count; first += kGroup) {
        PhiloxStream own = stream;
        own.skip(static_cast<uint64_t>(first / kGroup * kBlocksOfGroup));
        for (int64_t i = first; i < std::min(first + kGroup, count);) {
            std::array<C, 4> numbers = {};
            const size_t got = numbersOf(own.next(), Distribution::normal, numbers);
            for (size_t k = 0; k < got && i < std::min(first + kGroup, count); ++k)
                if (std::abs(numbers[k]) < 2) out[i++] = Element<T>::store(numbers[k]);
        }
    }
}

Status fill(const KernelArgs& args, PhiloxStream& stream, Distribution distribution)
{
    return forDType<TfFloats>(args.out(0).dtype, [&]<typename T>() -> Status {
        std::array<T, 4> numbers = {};
        const int64_t count = args.out(0).elementCount();
        if (distribution == Distribution::truncated) {
            fillTruncated(args.out(0).as<T>(), count, stream);
            return {};
        }
        for (int64_t i = 0; i < count;) {
            const size_t got = storedNumbersOf(stream.next(), distribution, numbers);
            for (size_t k = 0; k < got && i < count; ++k, ++i) args.out(0).as<T>()[i] = numbers[k];
        }
        return {};
    });
}

template <Distribution distribution> Status runRandom(const KernelArgs& args)
{
    LS_TRY(const Shape shape, tfShapeOperand(args.in(0)));
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    PhiloxStream stream = reserve(args, shape.elementCount());
    return fill(args, stream, distribution);
}

/// Integers from low to high, high excluded; all there are if these are equal.
Status fillIntegers(const KernelArgs& args, PhiloxStream stream, int64_t low, int64_t high)
{
    const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
    const bool wide = bitWidth(args.out(0).dtype) == 64;
    for (int64_t i = 0, count = args.out(0).elementCount(); i < count;) {
        const std::array<uint32_t, 4> block = stream.next();
        for (size_t k = 0; k < (wide ? 2U : 4U) && i < count; ++k, ++i) {
            const uint64_t bits = wide ? (uint64_t{block[2 * k + 1]} << 32) | block[2 * k] : block[k];
            const uint64_t value = static_cast<uint64_t>(low) + (range == 0 ? bits : bits % range);
            if (wide) args.out(0).as<int64_t>()[i] = static_cast<int64_t>(value);
            else args.out(0).as<int32_t>()[i] = static_cast<int32_t>(value);
        }
    }
    return {};
}

struct Bounds {
    int64_t low = 0, high = 0;
};

/// Bounds in operands `i` and `i + 1`; the result of that shape has at least one element.
Result<Bounds> boundsOf(const KernelArgs& args, int i, const Shape& shape)
{
    Bounds bounds;
    LS_TRY(bounds.low, tfInteger(args, i, "minval"));
    LS_TRY(bounds.high, tfInteger(args, i + 1, "maxval"));
    const bool isLess =
        args.in(i).dtype == DType::u64 ? static_cast<uint64_t>(bounds.low) < static_cast<uint64_t>(bounds.high) : bounds.low < bounds.high;
    if (shape.elementCount() == 0 || isLess) return bounds;
    return invalidArgument("Need minval < maxval, got " + std::to_string(bounds.low) + " >= " + std::to_string(bounds.high));
}

Status runUniformInt(const KernelArgs& args)
{
    LS_TRY(const Shape shape, tfShapeOperand(args.in(0)));
    LS_TRY(const Bounds bounds, boundsOf(args, 1, shape));
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    if (shape.elementCount() == 0) return {};
    return fillIntegers(args, reserve(args, shape.elementCount()), bounds.low, bounds.high);
}

/// The first version of an operator has a seed, the second a key, a counter and an algorithm.
template <Distribution distribution, bool second> Status runStateless(const KernelArgs& args)
{
    LS_TRY(const Shape shape, tfShapeOperand(args.in(0)));
    LS_TRY(PhiloxStream stream, second ? streamOfKey(args) : streamOfSeed(args, 1));
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    return fill(args, stream, distribution);
}

template <bool second> Status runStatelessInt(const KernelArgs& args)
{
    LS_TRY(const Shape shape, tfShapeOperand(args.in(0)));
    LS_TRY(const Bounds bounds, boundsOf(args, second ? 4 : 2, shape));
    LS_TRY(const PhiloxStream stream, second ? streamOfKey(args) : streamOfSeed(args, 1));
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    return shape.elementCount() == 0 ? Status() : fillIntegers(args, stream, bounds.low, bounds.high);
}

template <bool second> Status runStatelessFullInt(const KernelArgs& args)
{
    LS_TRY(const Shape shape, tfShapeOperand(args.in(0)));
    LS_TRY(const PhiloxStream stream, second ? streamOfKey(args) : streamOfSeed(args, 1));
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    return fillIntegers(args, stream, 0, 0);
}

/// The stream of a tf.random.Generator, whose variable i64[3] holds the counter and the key; the variable is left as if `numbers` more had
/// been drawn. Errors: InvalidArgument.
Result<PhiloxStream> drawFrom(const KernelArgs& args, int64_t numbers)
{
    LS_TRY(Variable* const variable, tfAssignedVariable(args));
    LS_TRY(const int64_t algorithm, tfInteger(args, 1, "algorithm"));
    if (algorithm != 1)
        return Error(ErrorCode::unsupported, "random numbers by another algorithm than Philox").found(std::to_string(algorithm));
    if (variable->dtype != DType::i64 || variable->shape.rank() != 1 || variable->shape[0] < 3)
        return invalidArgument("For the Philox algorithm, the size of state must be at least 3; got " + toString(variable->shape));
    auto* const state = reinterpret_cast<uint64_t*>(variable->bytes.data());
    const PhiloxStream stream{state[2], state[0], state[1]};
    PhiloxStream behind = stream;
    behind.skip(static_cast<uint64_t>(numbers) * static_cast<uint64_t>(kReservedPerNumber));
    state[0] = behind.counterLow;
    state[1] = behind.counterHigh;
    tfTellWritten(args, *variable);
    return stream;
}

template <Distribution distribution> Status runGenerator(const KernelArgs& args)
{
    LS_TRY(const Shape shape, tfShapeOperand(args.in(2)));
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    LS_TRY(PhiloxStream stream, drawFrom(args, shape.elementCount()));
    return fill(args, stream, distribution);
}

template <bool isFull> Status runGeneratorInt(const KernelArgs& args)
{
    LS_TRY(const Shape shape, tfShapeOperand(args.in(2)));
    Bounds bounds;
    if (!isFull) {
        LS_TRY(bounds, boundsOf(args, 3, shape));
    }
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    LS_TRY(const PhiloxStream stream, drawFrom(args, shape.elementCount()));
    return fillIntegers(args, stream, bounds.low, bounds.high);
}

/// The state before so many numbers are passed over.
Status runSkip(const KernelArgs& args)
{
    LS_TRY(const Variable* const variable, tfAssignedVariable(args));
    if (args.outputCount > 0) LS_CHECK_OK(tfCopy(args, 0, tfValueOf(*variable), variable->shape));
    LS_TRY(const int64_t numbers, tfInteger(args, 2, "delta"));
    LS_TRY([[maybe_unused]] const PhiloxStream passed, drawFrom(args, numbers));
    return {};
}

/// Key and counter of a seed, and the algorithm that takes them.
Status runGetKeyCounter(const KernelArgs& args)
{
    LS_TRY(const PhiloxStream stream, streamOfSeed(args, 0));
    LS_CHECK_OK(tfAllocate(args, 0, Shape({1})));
    LS_CHECK_OK(tfAllocate(args, 1, Shape({2})));
    args.out(0).as<uint64_t>()[0] = stream.key;
    args.out(1).as<uint64_t>()[0] = stream.counterLow;
    args.out(1).as<uint64_t>()[1] = stream.counterHigh;
    if (args.outputCount < 3) return {};
    LS_CHECK_OK(tfAllocate(args, 2, Shape()));
    *args.out(2).as<int32_t>() = 1;
    return {};
}

Status runGetAlgorithm(const KernelArgs& args)
{
    LS_CHECK_OK(tfAllocate(args, 0, Shape()));
    *args.out(0).as<int32_t>() = 1;
    return {};
}

} // namespace

LS_TF_KERNEL(RandomUniform, runRandom<Distribution::uniform>, kTfFloats)
LS_TF_KERNEL(RandomStandardNormal, runRandom<Distribution::normal>, kTfFloats)
LS_TF_KERNEL(RandomUniformInt, runUniformInt, "i32 i64")
LS_TF_KERNEL(TruncatedNormal, runRandom<Distribution::truncated>, kTfFloats)
LS_TF_KERNEL(StatelessRandomUniform, (runStateless<Distribution::uniform, false>), kTfFloats)
LS_TF_KERNEL(StatelessRandomUniformV2, (runStateless<Distribution::uniform, true>), kTfFloats)
LS_TF_KERNEL(StatelessRandomNormal, (runStateless<Distribution::normal, false>), kTfFloats)
LS_TF_KERNEL(StatelessRandomNormalV2, (runStateless<Distribution::normal, true>), kTfFloats)
LS_TF_KERNEL(StatelessTruncatedNormal, (runStateless<Distribution::truncated, false>), kTfFloats)
LS_TF_KERNEL(StatelessTruncatedNormalV2, (runStateless<Distribution::truncated, true>), kTfFloats)
LS_TF_KERNEL(StatelessRandomUniformInt, runStatelessInt<false>, "i32 i64")
LS_TF_KERNEL(StatelessRandomUniformIntV2, runStatelessInt<true>, "i32 i64 u32 u64")
LS_TF_KERNEL(StatelessRandomGetKeyCounter, runGetKeyCounter, "i32 i64")
LS_TF_KERNEL(StatelessRandomGetKeyCounterAlg, runGetKeyCounter, "i32 i64")
LS_TF_KERNEL(StatelessRandomGetAlg, runGetAlgorithm, "i32")
LS_TF_KERNEL(StatelessRandomUniformFullInt, runStatelessFullInt<false>, "i32 i64 u32 u64")
LS_TF_KERNEL(StatelessRandomUniformFullIntV2, runStatelessFullInt<true>, "i32 i64 u32 u64")
LS_TF_KERNEL(StatefulUniform, runGenerator<Distribution::uniform>, kTfFloats)
LS_TF_KERNEL(StatefulStandardNormalV2, runGenerator<Distribution::normal>, kTfFloats)
LS_TF_KERNEL(StatefulTruncatedNormal, runGenerator<Distribution::truncated>, kTfFloats)
LS_TF_KERNEL(StatefulUniformInt, runGeneratorInt<false>, "i32 i64 u32 u64")
LS_TF_KERNEL(StatefulUniformFullInt, runGeneratorInt<true>, "i32 i64 u32 u64")
LS_TF_KERNEL(RngReadAndSkip, runSkip, "i32 i64 u64")
LS_TF_KERNEL(RngSkip, runSkip, "i64")
