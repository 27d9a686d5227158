// Kernels that make a tensor larger around or by repetition.
#include "engine/kernels/cpu/movement.h"
#include "engine/kernels/registry.h"

#include <algorithm>
#include <cstring>

using namespace loopscope;

namespace {

/// Elements put before dimension `d`.
int64_t before(const KernelArgs& args, int d) { return indexAt(args.in(1), 2 * d); }

/// C2 again: paddings that are computed while running need not be those that the shapes were planned with.
Status checkPaddings(const KernelArgs& args)
{
    const Shape& in = args.in(0).shape;
    const Shape& out = args.out(0).shape;
    for (int d = 0; d < in.rank(); ++d) {
        const int64_t first = indexAt(args.in(1), 2 * d);
        const int64_t last = indexAt(args.in(1), 2 * d + 1);
        if (first < 0 || last < 0 || first > out[d] || last > out[d] || first + in[d] + last != out[d])
            return kernelError(2, "paddings of dimension " + std::to_string(d))
                .found(std::to_string(first) + " and " + std::to_string(last))
                .expected("together " + std::to_string(out[d] - in[d]));
    }
    return {};
}

/// Copies the input to its place in the result.
Status copyInterior(const KernelArgs& args)
{
    const Tensor& in = args.in(0);
    Tensor& out = args.out(0);
    StridedCopy copy;
    int64_t offset = 0;
    for (int d = 0; d < in.shape.rank(); ++d) {
        offset += before(args, d) * strideOf(out.shape, d);
        copy.add(in.shape[d], strideOf(in.shape, d), strideOf(out.shape, d));
    }
    const int64_t size = elementBytes(out);
    return in.elementCount() == 0 ? Status() : copy.runChecked(in.data, out.data + offset * size, size);
}

struct PadParams {
    std::array<std::byte, 16> value = {}; ///< without operand 2: zero, or the zero point
};

Status runPad(const KernelArgs& args)
{
    LS_CHECK_OK(checkPaddings(args));
    Tensor& out = args.out(0);
    const std::byte* value = args.has(2) ? args.in(2).data : args.paramsAs<PadParams>().value.data();
    StridedCopy fill;
    fill.add(out.elementCount(), 0, 1);
    fill.run(value, out.data, elementBytes(out));
    return copyInterior(args);
}

Result<PreparedKernel> preparePad(const KernelSetup& setup)
{
    auto params = std::make_shared<PadParams>();
    const Tensor& out = setup.out(0);
    const bool quantized = setup.in(0).quantization && (out.dtype == DType::u8 || out.dtype == DType::i8 || out.dtype == DType::i16);
    const auto scaleOf = [](const Tensor& t) { return t.quantization ? t.quantization->scale() : 0.0F; };
    const auto zeroOf = [](const Tensor& t) { return t.quantization ? t.quantization->zeroPoint() : 0; };
    if (quantized && setup.has(2) && (scaleOf(setup.in(2)) != scaleOf(out) || zeroOf(setup.in(2)) != zeroOf(out)))
        return Error(ErrorCode::badFile, "C4: quantization of the pad value")
            .found(std::to_string(scaleOf(setup.in(2))) + ", " + std::to_string(zeroOf(setup.in(2))))
            .expected(std::to_string(scaleOf(out)) + ", " + std::to_string(zeroOf(out)) + ", as the result has");
    if (quantized && !setup.has(2)) {
        const int64_t zero = zeroOf(out);
        if (zero < integerMin(out.dtype) || zero > static_cast<int64_t>(integerMax(out.dtype)))
            return Error(ErrorCode::badFile, "C4: zero point of the result")
                .found(std::to_string(zero))
                .expected("within " + std::string(dtypeName(out.dtype)));
        std::memcpy(params->value.data(), &zero, 2);
    }
    return prepareMovement(setup.in(0).dtype, runPad, std::move(params));
}

struct MirrorParams {
    int64_t edge = 0; ///< 1: the edge itself is not repeated
};

Status runMirrorPad(const KernelArgs& args)
{
    LS_CHECK_OK(checkPaddings(args));
    const Tensor& in = args.in(0);
    Tensor& out = args.out(0);
    const int64_t edge = args.paramsAs<MirrorParams>().edge;
    const int64_t size = elementBytes(out);
    for (int d = 0; d < in.shape.rank(); ++d) {
        const int64_t last = indexAt(args.in(1), 2 * d + 1);
        if (before(args, d) > std::max<int64_t>(0, in.shape[d] - edge) || last > std::max<int64_t>(0, in.shape[d] - edge))
            return kernelError(2, "paddings of dimension " + std::to_string(d))
                .found(std::to_string(before(args, d)) + " and " + std::to_string(last))
                .expected("at most " + std::to_string(std::max<int64_t>(0, in.shape[d] - edge)));
    }
    if (out.elementCount() == 0) return {};
    LS_CHECK_OK(copyInterior(args));
    // From the last dimension to the first: what lies inside dimension d is complete, so its margins are copies of whole rows.
    for (int d = in.shape.rank() - 1; d >= 0; --d) {
        const int64_t stride = strideOf(out.shape, d);
        const int64_t first = before(args, d);
        int64_t base = 0;
        StridedCopy rows;
        for (int o = 0; o < d; ++o) {
            base += before(args, o) * strideOf(out.shape, o);
            rows.add(in.shape[o], strideOf(out.shape, o), strideOf(out.shape, o));
        }
        rows.add(stride, 1, 1);
        const auto mirror = [&](int64_t from, int64_t to) {
            return rows.runChecked(out.data + (base + from * stride) * size, out.data + (base + to * stride) * size, size);
        };
        const int64_t end = first + in.shape[d];
        for (int64_t i = 0; i < first; ++i) LS_CHECK_OK(mirror(first + edge + i, first - 1 - i));
        for (int64_t i = 0; i < out.shape[d] - end; ++i) LS_CHECK_OK(mirror(end - 1 - edge - i, end + i));
    }
    return {};
}

Status runTile(const KernelArgs& args)
{
    const Tensor& in = args.in(0);
    Tensor& out = args.out(0);
    StridedCopy copy;
    for (int d = 0; d < in.shape.rank(); ++d) {
        const int64_t times = indexAt(args.in(1), d);
        if (times < 0 || (in.shape[d] > 0 && (out.shape[d] / in.shape[d] != times || out.shape[d] % in.shape[d] != 0)))
            return kernelError(2, "multiple of dimension " + std::to_string(d)).found(std::to_string(times));
        copy.add(times, 0, in.shape[d] * strideOf(out.shape, d));
        copy.add(in.shape[d], strideOf(in.shape, d), strideOf(out.shape, d));
    }
    return copy.runChecked(in.data, out.data, elementBytes(out));
}

Status runBroadcastTo(const KernelArgs& args)
{
    const Tensor& in = args.in(0);
    Tensor& out = args.out(0);
    StridedCopy copy;
    const int lead = out.shape.rank() - in.shape.rank();
    for (int d = 0; d < out.shape.rank(); ++d) {
        const int64_t from = d < lead ? 1 : in.shape[d - lead];
        copy.add(out.shape[d], from == 1 ? 0 : strideOf(in.shape, d - lead), strideOf(out.shape, d));
    }
    return copy.runChecked(in.data, out.data, elementBytes(out));
}

template <typename T> Status runBroadcastArgs(const KernelArgs& args)
{
    const Tensor& a = args.in(0);
    const Tensor& b = args.in(1);
    Tensor& out = args.out(0);
    const int64_t rank = out.shape[0];
    for (int64_t i = 1; i <= rank; ++i) {
        const T x = i <= a.shape[0] ? a.as<T>()[a.shape[0] - i] : T{1};
        const T y = i <= b.shape[0] ? b.as<T>()[b.shape[0] - i] : T{1};
        if (x != y && x != 1 && y != 1)
            return kernelError(2, "dimension " + std::to_string(i) + " from the end")
                .found(std::to_string(x) + " and " + std::to_string(y))
                .expected("equal ones, or a 1");
        out.as<T>()[rank - i] = x == 1 ? y : x;
    }
    return {};
}

} // namespace

LS_DEFINE_KERNELS(tfl, tile)
{
    registry.add(
        {"tfl", "tile", Profile::reference, [](const KernelSetup& s) { return prepareMovement(s.in(0).dtype, runTile); }, kAllDTypes});
}

LS_DEFINE_KERNELS(tfl, broadcast_to)
{
    registry.add({"tfl", "broadcast_to", Profile::reference,
                  [](const KernelSetup& s) { return prepareMovement(s.in(0).dtype, runBroadcastTo); }, kAllDTypes});
}

LS_DEFINE_KERNELS(tfl, broadcast_args)
{
    registry.add({"tfl", "broadcast_args", Profile::reference,
                  [](const KernelSetup& s) -> Result<PreparedKernel> {
                      return PreparedKernel{s.in(0).dtype == DType::i64 ? runBroadcastArgs<int64_t> : runBroadcastArgs<int32_t>, nullptr};
                  },
                  "i32 i64"});
}

LS_DEFINE_KERNELS(tfl, pad) { registry.add({"tfl", "pad", Profile::reference, preparePad, kAllDTypes}); }

LS_DEFINE_KERNELS(tfl, padv2) { registry.add({"tfl", "padv2", Profile::reference, preparePad, kAllDTypes}); }

LS_DEFINE_KERNELS(tfl, mirror_pad)
{
    registry.add({"tfl", "mirror_pad", Profile::reference,
                  [](const KernelSetup& s) {
                      const int64_t edge = attributeWord(s.attributes(), "mode", "REFLECT") == "SYMMETRIC" ? 0 : 1;
                      return prepareMovement(s.in(0).dtype, runMirrorPad, std::make_shared<MirrorParams>(MirrorParams{edge}));
                  },
                  kAllDTypes});
}
