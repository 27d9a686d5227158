// SELECT, SELECT_V2, ZEROS_LIKE. Elements are moved as they are stored, so one loop serves all dtypes of a width.
#include "engine/kernels/cpu/elementwise.h"
#include "engine/kernels/registry.h"

#include <complex>
#include <cstring>

using namespace loopscope;

namespace {

template <typename T> void selectBroadcast(const KernelArgs& args, const Shape& conditionShape)
{
    const Tensor& y = args.out(0);
    const auto* condition = args.in(0).as<uint8_t>();
    const T* a = args.in(1).as<T>();
    const T* b = args.in(2).as<T>();
    T* out = y.data ? args.out(0).as<T>() : nullptr;
    const BroadcastLoop<3> loop(y.shape, {&conditionShape, &args.in(1).shape, &args.in(2).shape});
    const int64_t length = loop.rowLength();
    const int64_t stepC = loop.rowStride(0);
    const int64_t stepA = loop.rowStride(1);
    const int64_t stepB = loop.rowStride(2);
    loop.forEachRow([&](int64_t o, const int64_t(&offset)[3]) {
        for (int64_t i = 0; i < length; ++i)
            out[o + i] = condition[offset[0] + i * stepC] != 0 ? a[offset[1] + i * stepA] : b[offset[2] + i * stepB];
    });
}

template <typename T> Status runSelectV2(const KernelArgs& args)
{
    selectBroadcast<T>(args, args.in(0).shape);
    return {};
}

/// A condition of one dimension stands for [n, 1, 1, …].
template <typename T> Status runSelect(const KernelArgs& args)
{
    const Shape& condition = args.in(0).shape;
    const Shape& choice = args.in(1).shape;
    const bool perSlice = condition.rank() == 1 && choice.rank() > 1 && condition[0] == choice[0] && choice == args.in(2).shape;
    if (!perSlice) return runSelectV2<T>(args);
    Shape slices = Shape::ofRank(choice.rank(), 1);
    slices[0] = condition[0];
    selectBroadcast<T>(args, slices);
    return {};
}

template <template <typename> class Run> Result<PreparedKernel> prepareByWidth(const KernelSetup& setup, DType dtype)
{
    switch (bitWidth(dtype)) {
    case 8: return PreparedKernel{Run<uint8_t>::run, nullptr};
    case 16: return PreparedKernel{Run<uint16_t>::run, nullptr};
    case 32: return PreparedKernel{Run<uint32_t>::run, nullptr};
    case 64: return PreparedKernel{Run<uint64_t>::run, nullptr};
    case 128: return PreparedKernel{Run<std::complex<double>>::run, nullptr};
    default: return unsupportedDtypes(setup);
    }
}

template <typename T> struct Select {
    static Status run(const KernelArgs& args) { return runSelect<T>(args); }
};
template <typename T> struct SelectV2 {
    static Status run(const KernelArgs& args) { return runSelectV2<T>(args); }
};

Result<PreparedKernel> prepareSelect(const KernelSetup& setup) { return prepareByWidth<Select>(setup, setup.in(1).dtype); }

Result<PreparedKernel> prepareSelectV2(const KernelSetup& setup) { return prepareByWidth<SelectV2>(setup, setup.in(1).dtype); }

Status runZeros(const KernelArgs& args)
{
    if (args.out(0).bytes > 0) std::memset(args.out(0).data, 0, args.out(0).bytes);
    return {};
}

Result<PreparedKernel> prepareZeros(const KernelSetup& setup)
{
    if (bitWidth(setup.in(0).dtype) == 0) return unsupportedDtypes(setup);
    return PreparedKernel{runZeros, nullptr};
}

constexpr std::string_view kDtypes = "f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64 bool c64";

} // namespace

LS_DEFINE_KERNELS(tfl, select) { registry.add({"tfl", "select", Profile::reference, prepareSelect, kDtypes}); }

LS_DEFINE_KERNELS(tfl, select_v2) { registry.add({"tfl", "select_v2", Profile::reference, prepareSelectV2, kDtypes}); }

LS_DEFINE_KERNELS(tfl, zeros_like) { registry.add({"tfl", "zeros_like", Profile::reference, prepareZeros, kDtypes}); }
