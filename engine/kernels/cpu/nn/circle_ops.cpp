// Circle's own operators: INSTANCE_NORM, RMS_NORM, ROPE, in float. Means are taken in double, as ONE's kernels do.
#include "engine/kernels/cpu/elementwise.h"
#include "engine/kernels/cpu/quantized_math.h"
#include "engine/kernels/registry.h"

#include <cmath>

using namespace loopscope;

namespace {

struct NormParams {
    double epsilon = 0;
    ActivationRange<float> range;
};

/// Element c of an operand that has one element for all channels, or one for each.
float ofChannel(const Tensor& tensor, int64_t c) { return tensor.as<float>()[tensor.shape.elementCount() == 1 ? 0 : c]; }

Status runInstanceNorm(const KernelArgs& args)
{
    const auto& p = args.paramsAs<NormParams>();
    const Shape& shape = args.in(0).shape;
    const int64_t channels = shape[3];
    const int64_t pixels = shape[1] * shape[2];
    for (int64_t n = 0; n < shape[0]; ++n) {
        for (int64_t c = 0; c < channels; ++c) {
            const int64_t start = n * pixels * channels + c;
            const float* in = args.in(0).as<float>() + start;
            float* out = args.out(0).as<float>() + start;
            double sum = 0;
            for (int64_t i = 0; i < pixels; ++i) sum += in[i * channels];
            const double mean = sum / static_cast<double>(pixels);
            double squares = 0;
            for (int64_t i = 0; i < pixels; ++i) squares += (in[i * channels] - mean) * (in[i * channels] - mean);
            const double scale = ofChannel(args.in(1), c) / std::sqrt(squares / static_cast<double>(pixels) + p.epsilon);
            const double offset = ofChannel(args.in(2), c);
            for (int64_t i = 0; i < pixels; ++i)
                out[i * channels] = clampTo(static_cast<float>((in[i * channels] - mean) * scale + offset), p.range);
        }
    }
    return {};
}

Status runRmsNorm(const KernelArgs& args)
{
    const auto& p = args.paramsAs<NormParams>();
    const Shape& shape = args.in(0).shape;
    const int64_t length = shape.back();
    const int64_t rows = length > 0 ? shape.elementCount() / length : 0;
    for (int64_t r = 0; r < rows; ++r) {
        const float* in = args.in(0).as<float>() + r * length;
        float* out = args.out(0).as<float>() + r * length;
        double squares = 0;
        for (int64_t c = 0; c < length; ++c) squares += static_cast<double>(in[c]) * in[c];
        const double root = std::sqrt(squares / static_cast<double>(length) + p.epsilon);
        for (int64_t c = 0; c < length; ++c) out[c] = static_cast<float>(in[c] / root * ofChannel(args.in(1), c));
    }
    return {};
}

Status runRope(const KernelArgs& args)
{
    const bool isAdjacent = args.paramsAs<bool>();
    const Shape& shape = args.in(0).shape;
    const int64_t length = shape.back();
    const int64_t rows = length > 0 ? shape.elementCount() / length : 0;
    const float* sine = args.in(1).as<float>();
    const float* cosine = args.in(2).as<float>();
    for (int64_t r = 0; r < rows; ++r) {
        const float* in = args.in(0).as<float>() + r * length;
        float* out = args.out(0).as<float>() + r * length;
        for (int64_t i = 0; i < length / 2; ++i) {
            const int64_t first = isAdjacent ? 2 * i : i;
            const int64_t second = isAdjacent ? 2 * i + 1 : i + length / 2;
            const float a = in[first];
            const float b = in[second];
            out[first] = a * cosine[first] - b * sine[first];
            out[second] = a * sine[second] + b * cosine[second];
        }
    }
    return {};
}

bool areFloat(const KernelSetup& setup)
{
    for (const Tensor* input : setup.inputs)
        if (input && input->dtype != DType::f32) return false;
    return true;
}

Result<PreparedKernel> prepareNorm(const KernelSetup& setup, KernelFunction run)
{
    if (!areFloat(setup)) return unsupportedDtypes(setup);
    auto params = std::make_shared<NormParams>();
    params->epsilon = attributeFloat(setup.attributes(), "epsilon", 0.0);
    const FusedActivation activation = fusedActivation(setup.attributes());
    if (activation == FusedActivation::none && attributeWord(setup.attributes(), "act", "NONE") != "NONE")
        return Error(ErrorCode::unsupported, "the fused activation")
            .found(std::string(attributeWord(setup.attributes(), "act", "")))
            .expected("NONE, RELU, RELU6 or RELU_N1_TO_1");
    params->range = activationRange<float>(activation);
    return PreparedKernel{run, params};
}

Result<PreparedKernel> prepareInstanceNorm(const KernelSetup& setup) { return prepareNorm(setup, runInstanceNorm); }

Result<PreparedKernel> prepareRmsNorm(const KernelSetup& setup) { return prepareNorm(setup, runRmsNorm); }

Result<PreparedKernel> prepareRope(const KernelSetup& setup)
{
    if (!areFloat(setup)) return unsupportedDtypes(setup);
    return PreparedKernel{runRope, std::make_shared<const bool>(attributeWord(setup.attributes(), "mode", "GPT_NEOX") == "GPT_J")};
}

} // namespace

LS_DEFINE_KERNELS(circle, instance_norm) { registry.add({"circle", "instance_norm", Profile::reference, prepareInstanceNorm, "f32"}); }

LS_DEFINE_KERNELS(circle, rms_norm) { registry.add({"circle", "rms_norm", Profile::reference, prepareRmsNorm, "f32"}); }

LS_DEFINE_KERNELS(circle, rope) { registry.add({"circle", "rope", Profile::reference, prepareRope, "f32"}); }
