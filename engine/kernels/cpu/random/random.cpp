// Random kernels. An operator with seeds has a Philox stream of its own, as in LiteRT (kernels/random_ops.cc); without seeds it draws from
// the session's.
#include "engine/ir/random_stream.h"
#include "engine/kernels/cpu/movement.h"
#include "engine/kernels/registry.h"
#include "engine/kernels/resources.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

using namespace loopscope;

namespace {

struct RandomParams {
    uint64_t seed = 0, seed2 = 0;
    uint64_t identity = 0; ///< of the operator, the same in every session of the model
};

PhiloxStream& streamOf(const KernelArgs& args)
{
    const auto& params = args.paramsAs<RandomParams>();
    RandomState& random = args.runtime->random();
    return params.seed == 0 && params.seed2 == 0 ? random.session() : random.stream(params.identity, params.seed, params.seed2);
}

/// 23 bits of the mantissa of a number in [1, 2), less 1.
float unitFloat(uint32_t bits) { return std::bit_cast<float>((bits & 0x7FFFFFU) | 0x3F800000U) - 1.0F; }

/// 52 bits likewise.
double unitDouble(uint32_t high, uint32_t low)
{
    return std::bit_cast<double>((uint64_t{high & 0xFFFFFU} << 32) | low | 0x3FF0000000000000U) - 1.0;
}

Status runUniform(const KernelArgs& args)
{
    PhiloxStream& stream = streamOf(args);
    float* out = args.out(0).as<float>();
    const int64_t count = args.out(0).elementCount();
    for (int64_t i = 0; i < count; i += 4) {
        const auto block = stream.next();
        for (int64_t j = 0; j < std::min<int64_t>(4, count - i); ++j) out[i + j] = unitFloat(block[static_cast<size_t>(j)]);
    }
    return {};
}

/// Box–Muller on each pair of numbers.
Status runNormal(const KernelArgs& args)
{
    PhiloxStream& stream = streamOf(args);
    float* out = args.out(0).as<float>();
    const int64_t count = args.out(0).elementCount();
    for (int64_t i = 0; i < count; i += 4) {
        const auto block = stream.next();
        for (int64_t j = 0; j < std::min<int64_t>(4, count - i); j += 2) {
            const float u = std::max(unitFloat(block[static_cast<size_t>(j)]), 1.0e-7F);
            // 2π is a double in the reference: the product is rounded once
            const auto angle =
                static_cast<float>(2.0 * std::numbers::pi * static_cast<double>(unitFloat(block[static_cast<size_t>(j + 1)])));
            const float radius = std::sqrt(-2.0F * std::log(u));
            out[i + j] = std::sin(angle) * radius;
            if (i + j + 1 < count) out[i + j + 1] = std::cos(angle) * radius;
        }
    }
    return {};
}

/// Inverse of the cumulative distribution, two numbers of the stream a sample.
template <typename T> Status runMultinomial(const KernelArgs& args)
{
    const Tensor& logits = args.in(0);
    Tensor& out = args.out(0);
    const int64_t batches = logits.shape[0];
    const int64_t classes = logits.shape[1];
    const int64_t samples = out.shape[1];
    PhiloxStream& stream = streamOf(args);
    PhiloxStream draws = stream;
    // LiteRT reserves this much of the stream for each call, whatever is used of it.
    stream.skip(static_cast<uint64_t>(batches) * ((static_cast<uint64_t>(samples) + 3) / 4 * 4) * 2 * 256);
    auto* cumulative = reinterpret_cast<double*>(args.runtime->scratch(static_cast<size_t>(classes) * sizeof(double)));
    std::array<uint32_t, 4> block = {};
    size_t used = block.size();
    for (int64_t b = 0; b < batches; ++b) {
        const float* row = logits.as<float>() + b * classes;
        float top = std::numeric_limits<float>::lowest();
        for (int64_t i = 0; i < classes; ++i)
            if (std::isfinite(row[i])) top = std::max(top, row[i]);
        double total = 0;
        for (int64_t i = 0; i < classes; ++i) {
            if (std::isfinite(row[i])) total += std::exp(static_cast<double>(row[i]) - static_cast<double>(top));
            cumulative[i] = total;
        }
        for (int64_t s = 0; s < samples; ++s) {
            if (used == block.size()) {
                block = draws.next();
                used = 0;
            }
            const double sought = unitDouble(block[used], block[used + 1]) * total;
            used += 2;
            out.as<T>()[b * samples + s] = static_cast<T>(std::upper_bound(cumulative, cumulative + classes, sought) - cumulative);
        }
    }
    return {};
}

std::shared_ptr<const RandomParams> paramsOf(const KernelSetup& setup)
{
    auto params = std::make_shared<RandomParams>();
    params->seed = static_cast<uint64_t>(attributeInt(setup.attributes(), "seed", 0));
    params->seed2 = static_cast<uint64_t>(attributeInt(setup.attributes(), "seed2", 0));
    params->identity = randomStreamIdentity(setup.op);
    return params;
}

} // namespace

LS_DEFINE_KERNELS(tfl, random_uniform)
{
    registry.add({"tfl", "random_uniform", Profile::reference,
                  [](const KernelSetup& s) -> Result<PreparedKernel> {
                      return PreparedKernel{runUniform, paramsOf(s)};
                  },
                  "f32"});
}

LS_DEFINE_KERNELS(tfl, random_standard_normal)
{
    registry.add({"tfl", "random_standard_normal", Profile::reference,
                  [](const KernelSetup& s) -> Result<PreparedKernel> {
                      return PreparedKernel{runNormal, paramsOf(s)};
                  },
                  "f32"});
}

LS_DEFINE_KERNELS(tfl, multinomial)
{
    registry.add({"tfl", "multinomial", Profile::reference,
                  [](const KernelSetup& s) -> Result<PreparedKernel> {
                      return PreparedKernel{s.out(0).dtype == DType::i32 ? runMultinomial<int32_t> : runMultinomial<int64_t>, paramsOf(s)};
                  },
                  "f32"});
}
