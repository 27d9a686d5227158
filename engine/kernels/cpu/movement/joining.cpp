// Kernels that put tensors together and take them apart: both are blocks of whole rows, `outer` times.
#include "engine/kernels/cpu/movement.h"
#include "engine/kernels/cpu/quantized_math.h"
#include "engine/kernels/registry.h"
#include "engine/ops/movement.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace loopscope;

namespace {

/// What an axis means for the shape of the joined tensor: `outer` rows, each made of one piece per part.
struct Axis {
    int axis = 0;
};

/// How one u8 operand of a concatenation becomes the result's quantization.
struct Rescale {
    bool needed = false;
    float scale = 1, bias = 0;
    int32_t zeroPoint = 0;
};

struct ConcatenationParams {
    int64_t axis = 0;
    std::vector<Rescale> rescale; ///< per operand; empty if none needs it
};

/// round(q · s_in / s_out − z_in · s_in / s_out) + z_out, clamped; in f32 (LiteRT internal/reference/concatenation.h,
/// ConcatenationWithScaling).
void rescaleRun(const Rescale& r, const std::byte* source, std::byte* target, int64_t count)
{
    const auto* in = reinterpret_cast<const uint8_t*>(source);
    auto* out = reinterpret_cast<uint8_t*>(target);
    for (int64_t i = 0; i < count; ++i) {
        const float real = std::round(static_cast<float>(in[i]) * r.scale + r.bias);
        const float bounded = std::clamp(real, -1e6F, 1e6F); // far outside u8 either way
        out[i] = static_cast<uint8_t>(std::clamp<int64_t>(int64_t{truncateToInt32(bounded)} + r.zeroPoint, 0, 255));
    }
}

Status runConcatenation(const KernelArgs& args)
{
    const auto& params = args.paramsAs<ConcatenationParams>();
    Tensor& out = args.out(0);
    const int axis = static_cast<int>(params.axis < 0 ? params.axis + out.shape.rank() : params.axis);
    const int64_t size = elementBytes(out);
    const int64_t outer = out.shape.countOf(0, axis);
    const int64_t inner = out.shape.countOf(axis + 1, out.shape.rank()) * size;
    const int64_t row = out.shape[axis] * inner;
    std::byte* target = out.data;
    for (int i = 0; i < args.inputCount; ++i) {
        const Tensor& in = args.in(i);
        const int64_t piece = (in.shape.rank() == 0 ? 1 : in.shape[axis]) * inner;
        if (piece == 0) continue;
        const Rescale* rescale =
            params.rescale.empty() || !params.rescale[static_cast<size_t>(i)].needed ? nullptr : &params.rescale[static_cast<size_t>(i)];
        for (int64_t o = 0; o < outer; ++o) {
            if (rescale) rescaleRun(*rescale, in.data + o * piece, target + o * row, piece);
            else std::memcpy(target + o * row, in.data + o * piece, static_cast<size_t>(piece));
        }
        target += piece;
    }
    return {};
}

Result<PreparedKernel> prepareConcatenation(const KernelSetup& setup)
{
    auto params = std::make_shared<ConcatenationParams>();
    params->axis = attributeInt(setup.attributes(), "axis", 0);
    const DType dtype = setup.in(0).dtype;
    const auto scaleOf = [](const Tensor& t) { return t.quantization ? t.quantization->scale() : 0.0F; };
    const auto zeroOf = [](const Tensor& t) { return t.quantization ? t.quantization->zeroPoint() : 0; };
    const Tensor& out = setup.out(0);
    for (size_t i = 0; i < setup.inputs.size(); ++i) {
        const Tensor& in = setup.in(static_cast<int>(i));
        const bool same = scaleOf(in) == scaleOf(out) && zeroOf(in) == zeroOf(out);
        if (dtype == DType::i8 && !same)
            return Error(ErrorCode::badFile, "C5: quantization of operand " + std::to_string(i))
                .found(std::to_string(scaleOf(in)) + ", " + std::to_string(zeroOf(in)))
                .expected(std::to_string(scaleOf(out)) + ", " + std::to_string(zeroOf(out)) + ", as the result has");
        if (dtype == DType::i16 && (zeroOf(in) != 0 || zeroOf(out) != 0))
            return Error(ErrorCode::badFile, "C5: zero point of i16")
                .found(std::to_string(zeroOf(in) != 0 ? zeroOf(in) : zeroOf(out)))
                .expected("0");
        if (dtype == DType::u8 && !same) {
            params->rescale.resize(setup.inputs.size());
            const float scale = scaleOf(in) * (1.0F / scaleOf(out));
            params->rescale[i] = {true, scale, -static_cast<float>(zeroOf(in)) * scale, static_cast<int32_t>(zeroOf(out))};
        }
    }
    return prepareMovement(dtype, runConcatenation, std::move(params));
}

/// Shared by split, split_v and unpack: results are consecutive pieces along `axis` of `in`.
void takeApart(const KernelArgs& args, const Tensor& in, int axis, bool drops)
{
    const int64_t size = elementBytes(in);
    const int64_t outer = in.shape.countOf(0, axis);
    const int64_t inner = in.shape.countOf(axis + 1, in.shape.rank()) * size;
    const int64_t row = in.shape[axis] * inner;
    const std::byte* source = in.data;
    for (int k = 0; k < args.outputCount; ++k) {
        Tensor& out = args.out(k);
        const int64_t piece = (drops ? 1 : out.shape[axis]) * inner;
        if (piece == 0) continue;
        for (int64_t o = 0; o < outer; ++o) std::memcpy(out.data + o * piece, source + o * row, static_cast<size_t>(piece));
        source += piece;
    }
}

Status runSplit(const KernelArgs& args)
{
    const Tensor& in = args.in(1);
    const auto axis = normalAxis(indexAt(args.in(0), 0), in.shape.rank());
    if (!axis) return kernelError(1, "axis").found(std::to_string(indexAt(args.in(0), 0)));
    if (in.shape[*axis] != args.out(0).shape[*axis] * args.outputCount)
        return kernelError(3, "dimension " + std::to_string(*axis))
            .found(std::to_string(in.shape[*axis]))
            .expected(std::to_string(args.outputCount) + " times " + std::to_string(args.out(0).shape[*axis]));
    takeApart(args, in, *axis, false);
    return {};
}

/// Equal pieces of known size, which loops take off again and again.
struct SplitPlan {
    size_t row, piece; ///< bytes
    int64_t outer;
};
Status runPlannedSplit(const KernelArgs& args)
{
    const auto& plan = args.paramsAs<SplitPlan>();
    const std::byte* source = args.in(1).data;
    for (int k = 0; k < args.outputCount; ++k, source += plan.piece)
        for (int64_t o = 0; o < plan.outer; ++o)
            std::memcpy(args.out(k).data + static_cast<size_t>(o) * plan.piece, source + static_cast<size_t>(o) * plan.row, plan.piece);
    return {};
}

Result<PreparedKernel> prepareSplit(const KernelSetup& setup)
{
    const Tensor &axisTensor = setup.in(0), &in = setup.in(1);
    const int64_t count = std::ssize(setup.outputs);
    if (setup.shapesAreStatic && axisTensor.data && in.dtype != DType::string && elementBytes(in) > 0) {
        const auto axis = normalAxis(indexAt(axisTensor, 0), in.shape.rank());
        if (axis && count > 0 && in.shape[*axis] == setup.out(0).shape[*axis] * count) {
            const auto row = static_cast<size_t>(in.shape.countOf(*axis, in.shape.rank()) * elementBytes(in));
            if (row > 0)
                return PreparedKernel{runPlannedSplit, std::make_shared<const SplitPlan>(
                                                           SplitPlan{row, row / static_cast<size_t>(count), in.shape.countOf(0, *axis)})};
        }
    }
    return prepareMovement(in.dtype, runSplit);
}

Status runSplitV(const KernelArgs& args)
{
    const Tensor& in = args.in(0);
    const auto axis = normalAxis(indexAt(args.in(2), 0), in.shape.rank());
    if (!axis) return kernelError(1, "axis").found(std::to_string(indexAt(args.in(2), 0)));
    int64_t sum = 0;
    for (int k = 0; k < args.outputCount; ++k) sum += args.out(k).shape[*axis];
    if (sum != in.shape[*axis])
        return kernelError(3, "sum of the sizes").found(std::to_string(sum)).expected(std::to_string(in.shape[*axis]));
    takeApart(args, in, *axis, false);
    return {};
}

Status runUnpack(const KernelArgs& args)
{
    const Tensor& in = args.in(0);
    const int64_t axis = args.paramsAs<Axis>().axis;
    takeApart(args, in, static_cast<int>(axis < 0 ? axis + in.shape.rank() : axis), true);
    return {};
}

Status runPack(const KernelArgs& args)
{
    Tensor& out = args.out(0);
    const int64_t wanted = args.paramsAs<Axis>().axis;
    const int axis = static_cast<int>(wanted < 0 ? wanted + out.shape.rank() : wanted);
    const int64_t outer = out.shape.countOf(0, axis);
    const int64_t piece = out.shape.countOf(axis + 1, out.shape.rank()) * elementBytes(out);
    if (piece == 0) return {};
    for (int i = 0; i < args.inputCount; ++i)
        for (int64_t o = 0; o < outer; ++o)
            std::memcpy(out.data + (o * args.inputCount + i) * piece, args.in(i).data + o * piece, static_cast<size_t>(piece));
    return {};
}

std::shared_ptr<const Axis> axisOf(const KernelSetup& setup)
{
    return std::make_shared<Axis>(Axis{static_cast<int>(attributeInt(setup.attributes(), "axis", 0))});
}

} // namespace

LS_DEFINE_KERNELS(tfl, concatenation) { registry.add({"tfl", "concatenation", Profile::reference, prepareConcatenation, kAllDTypes}); }

LS_DEFINE_KERNELS(tfl, split) { registry.add({"tfl", "split", Profile::reference, prepareSplit, kAllDTypes}); }

LS_DEFINE_KERNELS(tfl, split_v)
{
    registry.add(
        {"tfl", "split_v", Profile::reference, [](const KernelSetup& s) { return prepareMovement(s.in(0).dtype, runSplitV); }, kAllDTypes});
}

LS_DEFINE_KERNELS(tfl, pack)
{
    registry.add({"tfl", "pack", Profile::reference,
                  [](const KernelSetup& s) { return prepareMovement(s.in(0).dtype, runPack, axisOf(s)); }, kAllDTypes});
}

LS_DEFINE_KERNELS(tfl, unpack)
{
    registry.add({"tfl", "unpack", Profile::reference,
                  [](const KernelSetup& s) { return prepareMovement(s.in(0).dtype, runUnpack, axisOf(s)); }, kAllDTypes});
}
