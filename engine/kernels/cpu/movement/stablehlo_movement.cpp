// Kernels of StableHLO's data movement.
#include "engine/kernels/cpu/movement.h"
#include "engine/kernels/registry.h"
#include "engine/kernels/resources.h"
#include "engine/ops/movement.h"

#include <algorithm>
#include <bit>
#include <cstring>

using namespace loopscope;

namespace {

/// Fills the result with `value` and puts the input's elements at low + i · pace, where that lies inside.
template <typename Low, typename Pace> Status spread(const Tensor& in, const Tensor& value, Tensor& out, Low low, Pace pace)
{
    const int64_t size = elementBytes(out);
    StridedCopy fill;
    fill.add(out.elementCount(), 0, 1);
    fill.run(value.data, out.data, size);
    StridedCopy copy;
    int64_t source = 0;
    int64_t target = 0;
    for (int d = 0; d < in.shape.rank(); ++d) {
        const int64_t first = low(d) >= 0 ? 0 : (-low(d) + pace(d) - 1) / pace(d);
        const int64_t end = std::min(in.shape[d], out.shape[d] - low(d) <= 0 ? 0 : (out.shape[d] - low(d) - 1) / pace(d) + 1);
        if (end <= first) return {};
        source += first * strideOf(in.shape, d);
        target += (low(d) + first * pace(d)) * strideOf(out.shape, d);
        copy.add(end - first, strideOf(in.shape, d), pace(d) * strideOf(out.shape, d));
    }
    return copy.runChecked(in.data + source * size, out.data + target * size, size);
}

struct PadParams {
    std::vector<int64_t> low, interior;
};

Status runPad(const KernelArgs& args)
{
    const auto& params = args.paramsAs<PadParams>();
    return spread(
        args.in(0), args.in(1), args.out(0), [&](int d) { return params.low[static_cast<size_t>(d)]; },
        [&](int d) { return params.interior[static_cast<size_t>(d)] + 1; });
}

Status runDilate(const KernelArgs& args)
{
    for (int d = 0; d < args.in(0).shape.rank(); ++d)
        if (indexAt(args.in(1), d) < 1)
            return kernelError(2, "dilation of dimension " + std::to_string(d))
                .found(std::to_string(indexAt(args.in(1), d)))
                .expected("1 or more");
    return spread(
        args.in(0), args.in(2), args.out(0), [](int) { return int64_t{0}; }, [&](int d) { return indexAt(args.in(1), d); });
}

struct SliceParams {
    std::vector<int64_t> start, strides;
};

Status runSlice(const KernelArgs& args)
{
    const auto& params = args.paramsAs<SliceParams>();
    const Tensor& in = args.in(0);
    Tensor& out = args.out(0);
    if (out.elementCount() == 0) return {};
    StridedCopy copy;
    int64_t offset = 0;
    for (int d = 0; d < in.shape.rank(); ++d) {
        const auto at = static_cast<size_t>(d);
        offset += params.start[at] * strideOf(in.shape, d);
        copy.add(out.shape[d], params.strides[at] * strideOf(in.shape, d), strideOf(out.shape, d));
    }
    const int64_t size = elementBytes(out);
    return copy.runChecked(in.data + offset * size, out.data, size);
}

/// The block of `block`'s shape in `whole`, at the start indices from operand `first` on, moved to where it fits.
int64_t blockOffset(const KernelArgs& args, int first, const Shape& whole, const Shape& block, StridedCopy& copy, bool fromWhole)
{
    int64_t offset = 0;
    for (int d = 0; d < whole.rank(); ++d) {
        const int64_t start = std::clamp<int64_t>(indexAt(args.in(first + d), 0), 0, std::max<int64_t>(0, whole[d] - block[d]));
        offset += start * strideOf(whole, d);
        if (fromWhole) copy.add(block[d], strideOf(whole, d), strideOf(block, d));
        else copy.add(block[d], strideOf(block, d), strideOf(whole, d));
    }
    return offset;
}

Status runDynamicSlice(const KernelArgs& args)
{
    const Tensor& in = args.in(0);
    Tensor& out = args.out(0);
    StridedCopy copy;
    const int64_t offset = blockOffset(args, 1, in.shape, out.shape, copy, true);
    return copy.runChecked(in.data + offset * elementBytes(out), out.data, elementBytes(out));
}

Status runDynamicUpdateSlice(const KernelArgs& args)
{
    Tensor& out = args.out(0);
    if (args.in(0).data != out.data && out.bytes > 0) std::memcpy(out.data, args.in(0).data, out.bytes);
    StridedCopy copy;
    const int64_t offset = blockOffset(args, 2, out.shape, args.in(1).shape, copy, false);
    return copy.runChecked(args.in(1).data, out.data + offset * elementBytes(out), elementBytes(out));
}

struct DimsParams {
    std::vector<int64_t> dims;
};

Status runTranspose(const KernelArgs& args)
{
    const auto& perm = args.paramsAs<DimsParams>().dims;
    Tensor& out = args.out(0);
    StridedCopy copy;
    for (int d = 0; d < out.shape.rank(); ++d)
        copy.add(out.shape[d], strideOf(args.in(0).shape, static_cast<int>(perm[static_cast<size_t>(d)])), strideOf(out.shape, d));
    return copy.runChecked(args.in(0).data, out.data, elementBytes(out));
}

Status runConcatenate(const KernelArgs& args)
{
    Tensor& out = args.out(0);
    const int axis = static_cast<int>(args.paramsAs<DimsParams>().dims.front());
    const int64_t size = elementBytes(out);
    int64_t offset = 0;
    for (int i = 0; i < args.inputCount; ++i) {
        const Tensor& in = args.in(i);
        StridedCopy copy;
        for (int d = 0; d < out.shape.rank(); ++d) copy.add(in.shape[d], strideOf(in.shape, d), strideOf(out.shape, d));
        LS_CHECK_OK(copy.runChecked(in.data, out.data + offset * strideOf(out.shape, axis) * size, size));
        offset += in.shape[axis];
    }
    return {};
}

Status runReshape(const KernelArgs& args)
{
    Tensor& out = args.out(0);
    StridedCopy copy;
    copy.add(out.elementCount(), 1, 1);
    return copy.runChecked(args.in(0).data, out.data, elementBytes(out));
}

Status runBroadcast(const KernelArgs& args)
{
    const auto& dims = args.paramsAs<DimsParams>().dims;
    const Tensor& in = args.in(0);
    Tensor& out = args.out(0);
    StridedCopy copy;
    for (int d = 0; d < out.shape.rank(); ++d) {
        const auto at = std::find(dims.begin(), dims.end(), d);
        const int from = at == dims.end() ? -1 : static_cast<int>(at - dims.begin());
        copy.add(out.shape[d], from < 0 || in.shape[from] == 1 ? 0 : strideOf(in.shape, from), strideOf(out.shape, d));
    }
    return copy.runChecked(in.data, out.data, elementBytes(out));
}

Result<PreparedKernel> prepareReshape(const KernelSetup& setup)
{
    const Shape& from = setup.in(0).shape;
    const Shape& to = setup.out(0).shape;
    if (!setup.shapesAreStatic || checkedElementCount(from) != checkedElementCount(to))
        return Error(ErrorCode::badFile, "C1: declared shape").found(toString(to)).expected("as many elements as " + toString(from));
    return prepareMovement(setup.in(0).dtype, runReshape);
}

Result<PreparedKernel> prepareBroadcast(const KernelSetup& setup)
{
    const Shape& from = setup.in(0).shape;
    const Shape& to = setup.out(0).shape;
    auto params = std::make_shared<DimsParams>(DimsParams{attributeInts(setup.attributes(), "broadcast_dimensions")});
    bool fits = setup.shapesAreStatic && params->dims.size() == static_cast<size_t>(from.rank());
    for (int d = 0; fits && d < from.rank(); ++d) {
        const int64_t at = params->dims[static_cast<size_t>(d)];
        fits = at >= 0 && at < to.rank() && std::count(params->dims.begin(), params->dims.end(), at) == 1 &&
               (from[d] == 1 || from[d] == to[static_cast<int>(at)]);
    }
    if (!fits)
        return Error(ErrorCode::badFile, "C1: broadcast_dimensions")
            .expected("a dimension of " + toString(to) + " for each of " + toString(from));
    return prepareMovement(setup.in(0).dtype, runBroadcast, std::move(params));
}

template <typename T> Status runIota(const KernelArgs& args)
{
    Tensor& out = args.out(0);
    const int axis = static_cast<int>(args.paramsAs<DimsParams>().dims.front());
    const int64_t inner = strideOf(out.shape, axis);
    const int64_t count = out.elementCount();
    for (int64_t i = 0; i < count; ++i) out.as<T>()[i] = static_cast<T>(i / inner % out.shape[axis]);
    return {};
}

Result<PreparedKernel> prepareIota(const KernelSetup& setup)
{
    const int64_t axis = attributeInt(setup.attributes(), "iota_dimension", 0);
    const Tensor& out = setup.out(0);
    if (!setup.shapesAreStatic || axis < 0 || axis >= out.shape.rank())
        return Error(ErrorCode::badFile, "C1: iota_dimension").found(std::to_string(axis)).expected("within " + toString(out.shape));
    auto params = std::make_shared<DimsParams>(DimsParams{{axis}});
    switch (out.dtype) {
    case DType::f32: return PreparedKernel{runIota<float>, params};
    case DType::f64: return PreparedKernel{runIota<double>, params};
    case DType::i8: return PreparedKernel{runIota<int8_t>, params};
    case DType::i16: return PreparedKernel{runIota<int16_t>, params};
    case DType::i32: return PreparedKernel{runIota<int32_t>, params};
    case DType::i64: return PreparedKernel{runIota<int64_t>, params};
    case DType::u8: return PreparedKernel{runIota<uint8_t>, params};
    case DType::u32: return PreparedKernel{runIota<uint32_t>, params};
    default: return Error(ErrorCode::unsupported, "no kernel for dtype " + std::string(dtypeName(out.dtype)));
    }
}

/// ThreeFry-2x32, 20 rounds (J. Salmon et al., SC 2011).
std::array<uint32_t, 2> threefry(uint32_t k0, uint32_t k1, uint32_t c0, uint32_t c1)
{
    constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    const uint32_t keys[3] = {k0, k1, 0x1BD11BDAU ^ k0 ^ k1};
    uint32_t x0 = c0 + k0;
    uint32_t x1 = c1 + k1;
    for (uint32_t group = 0; group < 5; ++group) {
        for (const int rotation : kRotations[group % 2]) {
            x0 += x1;
            x1 = std::rotl(x1, rotation) ^ x0;
        }
        x0 += keys[(group + 1) % 3];
        x1 += keys[(group + 2) % 3] + group + 1;
    }
    return {x0, x1};
}

struct BitsParams {
    bool threefry = false;
};

/// State: key, then counter; Philox with three words has a counter of 128 bits, of which LiteRT advances the lower 64.
Status runBits(const KernelArgs& args)
{
    const Tensor& state = args.in(0);
    Tensor& next = args.out(0);
    Tensor& out = args.out(1);
    const uint64_t* in = state.as<uint64_t>();
    const size_t words = out.bytes / 4;
    uint64_t counter = in[1];
    std::memcpy(next.data, in, next.bytes);
    for (size_t i = 0; i < words; ++counter) {
        uint32_t block[4];
        size_t length = 4;
        if (args.paramsAs<BitsParams>().threefry) {
            const auto two = threefry(static_cast<uint32_t>(in[0]), static_cast<uint32_t>(in[0] >> 32), static_cast<uint32_t>(counter),
                                      static_cast<uint32_t>(counter >> 32));
            std::copy(two.begin(), two.end(), block);
            length = 2;
        } else {
            PhiloxStream stream{in[0], counter, state.shape[0] == 3 ? in[2] : in[0]};
            const auto four = stream.next();
            std::copy(four.begin(), four.end(), block);
        }
        length = std::min(length, words - i);
        std::memcpy(out.data + 4 * i, block, 4 * length);
        i += length;
    }
    next.as<uint64_t>()[1] = counter;
    return {};
}

Result<PreparedKernel> prepareBits(const KernelSetup& setup)
{
    const Tensor& state = setup.in(0);
    const DType dtype = setup.out(1).dtype;
    const bool isThreefry = attributeWord(setup.attributes(), "algorithm", "DEFAULT") == "THREEFRY";
    const Shape& shape = state.shape;
    if (state.dtype != DType::u64 || !setup.shapesAreStatic || shape.rank() != 1 || (shape[0] != 2 && (isThreefry || shape[0] != 3)) ||
        !(setup.out(0).shape == shape))
        return Error(ErrorCode::badFile, "C1: state")
            .found(std::string(dtypeName(state.dtype)) + toString(shape))
            .expected(isThreefry ? "u64[2]" : "u64[2] or u64[3]");
    if (dtype != DType::i32 && dtype != DType::u32 && dtype != DType::i64 && dtype != DType::u64)
        return Error(ErrorCode::badFile, "C2: dtype of the random bits")
            .found(std::string(dtypeName(dtype)))
            .expected("i32, u32, i64 or u64");
    return PreparedKernel{runBits, std::make_shared<BitsParams>(BitsParams{isThreefry})};
}

} // namespace

LS_DEFINE_KERNELS(tfl, stablehlo_pad)
{
    registry.add({"tfl", "stablehlo_pad", Profile::reference,
                  [](const KernelSetup& s) {
                      return prepareMovement(s.in(0).dtype, runPad,
                                             std::make_shared<PadParams>(PadParams{attributeInts(s.attributes(), "edge_padding_low"),
                                                                                   attributeInts(s.attributes(), "interior_padding")}));
                  },
                  kAllDTypes});
}

LS_DEFINE_KERNELS(tfl, dilate)
{
    registry.add(
        {"tfl", "dilate", Profile::reference, [](const KernelSetup& s) { return prepareMovement(s.in(0).dtype, runDilate); }, kAllDTypes});
}

LS_DEFINE_KERNELS(tfl, stablehlo_slice)
{
    registry.add({"tfl", "stablehlo_slice", Profile::reference,
                  [](const KernelSetup& s) {
                      return prepareMovement(s.in(0).dtype, runSlice,
                                             std::make_shared<SliceParams>(SliceParams{attributeInts(s.attributes(), "start_indices"),
                                                                                       attributeInts(s.attributes(), "strides")}));
                  },
                  kAllDTypes});
}

LS_DEFINE_KERNELS(tfl, stablehlo_dynamic_slice)
{
    registry.add({"tfl", "stablehlo_dynamic_slice", Profile::reference,
                  [](const KernelSetup& s) { return prepareMovement(s.in(0).dtype, runDynamicSlice); }, kAllDTypes});
}

LS_DEFINE_KERNELS(tfl, stablehlo_dynamic_update_slice)
{
    registry.add({"tfl", "stablehlo_dynamic_update_slice", Profile::reference,
                  [](const KernelSetup& s) { return prepareMovement(s.in(0).dtype, runDynamicUpdateSlice); }, kAllDTypes});
}

LS_DEFINE_KERNELS(tfl, stablehlo_transpose)
{
    registry.add({"tfl", "stablehlo_transpose", Profile::reference,
                  [](const KernelSetup& s) {
                      return prepareMovement(s.in(0).dtype, runTranspose,
                                             std::make_shared<DimsParams>(DimsParams{attributeInts(s.attributes(), "permutation")}));
                  },
                  kAllDTypes});
}

LS_DEFINE_KERNELS(tfl, stablehlo_concatenate)
{
    registry.add({"tfl", "stablehlo_concatenate", Profile::reference,
                  [](const KernelSetup& s) {
                      return prepareMovement(s.in(0).dtype, runConcatenate,
                                             std::make_shared<DimsParams>(DimsParams{{attributeInt(s.attributes(), "dimension", 0)}}));
                  },
                  kAllDTypes});
}

LS_DEFINE_KERNELS(tfl, stablehlo_reshape) { registry.add({"tfl", "stablehlo_reshape", Profile::reference, prepareReshape, kAllDTypes}); }

LS_DEFINE_KERNELS(tfl, stablehlo_broadcast_in_dim)
{
    registry.add({"tfl", "stablehlo_broadcast_in_dim", Profile::reference, prepareBroadcast, kAllDTypes});
}

LS_DEFINE_KERNELS(tfl, stablehlo_iota)
{
    registry.add({"tfl", "stablehlo_iota", Profile::reference, prepareIota, "f32 f64 i8 i16 i32 i64 u8 u32"});
}

LS_DEFINE_KERNELS(tfl, stablehlo_rng_bit_generator)
{
    registry.add({"tfl", "stablehlo_rng_bit_generator", Profile::reference, prepareBits, "i32 u32 i64 u64"});
}
