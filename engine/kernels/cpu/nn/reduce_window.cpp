// Kernels of reductions over a sliding window.
#include "engine/ops/nn/reduce_window.h"

#include "engine/base/interruption.h"
#include "engine/kernels/cpu/movement.h"
#include "engine/kernels/cpu/region.h"
#include "engine/kernels/registry.h"

#include <array>

using namespace loopscope;

namespace {

struct WindowParams {
    WindowGeometry geometry;
    Combination how = Combination::add;
};

constexpr int kMaxDims = 16;

/// result[o] = init ∘ x[window at o], elements in row-major order of the window.
template <typename T> Status runWindow(const KernelArgs& args)
{
    const auto& params = args.paramsAs<WindowParams>();
    const WindowGeometry& g = params.geometry;
    const Tensor& in = args.in(0);
    Tensor& out = args.out(0);
    const int rank = in.shape.rank();
    const T initial = *args.in(1).as<T>();
    const int64_t count = out.elementCount();
    std::array<int64_t, kMaxDims> place = {};
    LoopPace pace;
    for (int64_t i = 0; i < count; ++i) {
        T value = initial;
        std::array<int64_t, kMaxDims> window = {};
        for (bool more = true; more;) {
            bool inside = true;
            int64_t flat = 0;
            for (int d = 0; inside && d < rank; ++d) {
                const auto at = static_cast<size_t>(d);
                const int64_t spread = place[at] * g.strides[at] + window[at] * g.dilations[at] - g.padLow[at];
                inside = spread >= 0 && spread % g.baseDilations[at] == 0 && spread / g.baseDilations[at] < in.shape[d];
                if (inside) flat = flat * in.shape[d] + spread / g.baseDilations[at];
            }
            pace.did(1);
            value = combine(params.how, value, inside ? in.as<T>()[flat] : initial);
            more = false;
            for (int d = rank - 1; d >= 0 && !more; --d) {
                more = ++window[static_cast<size_t>(d)] < g.size[static_cast<size_t>(d)];
                if (!more) window[static_cast<size_t>(d)] = 0;
            }
        }
        out.as<T>()[i] = value;
        for (int d = rank - 1; d >= 0; --d) {
            if (++place[static_cast<size_t>(d)] < out.shape[d]) break;
            place[static_cast<size_t>(d)] = 0;
        }
    }
    return {};
}

/// bool counts as 0 and 1.
Status runBoolWindow(const KernelArgs& args)
{
    LS_CHECK_OK(runWindow<uint8_t>(args));
    Tensor& out = args.out(0);
    const int64_t count = out.elementCount();
    for (int64_t i = 0; i < count; ++i) out.data[i] = out.data[i] == std::byte{0} ? std::byte{0} : std::byte{1};
    return {};
}

Result<PreparedKernel> prepareWindow(const KernelSetup& setup, std::shared_ptr<WindowParams> params)
{
    if (setup.in(0).shape.rank() > kMaxDims)
        return Error(ErrorCode::unsupported, "too many dimensions").found(std::to_string(setup.in(0).shape.rank())).expected("at most 16");
    switch (setup.in(0).dtype) {
    case DType::boolean: return PreparedKernel{runBoolWindow, std::move(params)};
    case DType::i8: return PreparedKernel{runWindow<int8_t>, std::move(params)};
    case DType::i16: return PreparedKernel{runWindow<int16_t>, std::move(params)};
    case DType::i32: return PreparedKernel{runWindow<int32_t>, std::move(params)};
    case DType::i64: return PreparedKernel{runWindow<int64_t>, std::move(params)};
    case DType::u8: return PreparedKernel{runWindow<uint8_t>, std::move(params)};
    case DType::f32: return PreparedKernel{runWindow<float>, std::move(params)};
    case DType::f64: return PreparedKernel{runWindow<double>, std::move(params)};
    default: return Error(ErrorCode::unsupported, "no kernel for dtype " + std::string(dtypeName(setup.in(0).dtype)));
    }
}

Result<PreparedKernel> prepareStablehlo(const KernelSetup& setup)
{
    auto params = std::make_shared<WindowParams>();
    LS_TRY(params->how, combinationOf(setup));
    LS_TRY(params->geometry, WindowGeometry::create(setup.attributes(), setup.in(0).shape.rank()));
    return prepareWindow(setup, std::move(params));
}

Result<PreparedKernel> prepareReduceWindow(const KernelSetup& setup)
{
    auto params = std::make_shared<WindowParams>();
    const std::string_view function = attributeWord(setup.attributes(), "reduce_function", "UNSUPPORTED");
    if (function == "ADD") params->how = Combination::add;
    else if (function == "MUL") params->how = Combination::multiply;
    else if (function == "MINIMUM") params->how = Combination::minimum;
    else if (function == "MAXIMUM") params->how = Combination::maximum;
    else if (function == "ALL") params->how = Combination::logicalAnd;
    else if (function == "ANY") params->how = Combination::logicalOr;
    else
        return Error(ErrorCode::badFile, "C4: reduce_function")
            .found(std::string(function))
            .expected("ADD, MUL, MINIMUM, MAXIMUM, ALL or ANY");
    const auto rank = static_cast<size_t>(setup.in(0).shape.rank());
    WindowGeometry& g = params->geometry;
    for (const int i : {2, 3, 4}) {
        const Tensor& operand = setup.in(i);
        if (!operand.data || !operand.shape.isStatic())
            return Error(ErrorCode::unsupported, "C4: operand " + std::to_string(i) + " is not constant");
        std::vector<int64_t>& list = i == 2 ? g.size : i == 3 ? g.strides : g.dilations;
        for (int64_t k = 0; k < operand.elementCount(); ++k) list.push_back(indexAt(operand, k));
    }
    g.baseDilations.assign(rank, 1);
    g.padLow.assign(rank, 0);
    g.padHigh.assign(rank, 0);
    LS_CHECK_OK(g.check(setup.in(0).shape.rank()));
    return prepareWindow(setup, std::move(params));
}

} // namespace

LS_DEFINE_KERNELS(tfl, reduce_window)
{
    registry.add({"tfl", "reduce_window", Profile::reference, prepareReduceWindow, "f32 f64 i8 i16 i32 i64 u8 bool"});
}

LS_DEFINE_KERNELS(tfl, stablehlo_reduce_window)
{
    registry.add({"tfl", "stablehlo_reduce_window", Profile::reference, prepareStablehlo, "f32 f64 i8 i16 i32 i64 u8 bool"});
}
