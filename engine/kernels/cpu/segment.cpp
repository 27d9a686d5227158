// SEGMENT_SUM and UNSORTED_SEGMENT_SUM, _PROD, _MAX, _MIN.
#include "engine/kernels/cpu/elementwise.h"
#include "engine/kernels/registry.h"

#include <algorithm>
#include <limits>

using namespace loopscope;

namespace {

struct SumOp {
    template <typename T> static T start() { return 0; }
    template <typename T> static T apply(T a, T b) { return wrappingAdd(a, b); }
};
struct ProdOp {
    template <typename T> static T start() { return 1; }
    template <typename T> static T apply(T a, T b) { return wrappingMul(a, b); }
};
struct MaxOp {
    template <typename T> static T start() { return std::numeric_limits<T>::lowest(); }
    template <typename T> static T apply(T a, T b) { return std::max(a, b); }
};
struct MinOp {
    template <typename T> static T start() { return std::numeric_limits<T>::max(); }
    template <typename T> static T apply(T a, T b) { return std::min(a, b); }
};

template <typename T, typename Op> Status runSegments(const KernelArgs& args)
{
    const Shape& dataShape = args.in(0).shape;
    const Shape& idShape = args.in(1).shape;
    const int64_t segments = args.out(0).shape[0];
    const int64_t rows = idShape.elementCount();
    const int64_t width = dataShape.countOf(idShape.rank(), dataShape.rank());
    const T* data = args.in(0).as<T>();
    const int32_t* ids = args.in(1).as<int32_t>();
    T* out = args.out(0).as<T>();
    std::fill_n(out, segments * width, Op::template start<T>());
    for (int64_t r = 0; r < rows; ++r) {
        if (ids[r] < 0) continue;
        if (ids[r] >= segments)
            return Error(ErrorCode::execution, "C3: segment id " + std::to_string(ids[r]) + " at " + indexText(idShape, r))
                .expected("below " + std::to_string(segments));
        T* target = out + ids[r] * width;
        for (int64_t i = 0; i < width; ++i) target[i] = Op::apply(target[i], data[r * width + i]);
    }
    return {};
}

template <typename Op> Result<PreparedKernel> prepareSegments(const KernelSetup& setup)
{
    static constexpr DtypeCase kCases[] = {
        {DType::f32, runSegments<float, Op>}, {DType::i32, runSegments<int32_t, Op>}, {DType::i64, runSegments<int64_t, Op>}};
    return prepareByDtype(setup, kCases);
}

constexpr std::string_view kDtypes = "f32 i32 i64";

} // namespace

LS_DEFINE_KERNELS(tfl, segment_sum)
{
    registry.add({"tfl", "segment_sum", Profile::reference, prepareSegments<SumOp>, kDtypes});
}

LS_DEFINE_KERNELS(tfl, unsorted_segment_sum)
{
    registry.add({"tfl", "unsorted_segment_sum", Profile::reference, prepareSegments<SumOp>, kDtypes});
}

LS_DEFINE_KERNELS(tfl, unsorted_segment_prod)
{
    registry.add({"tfl", "unsorted_segment_prod", Profile::reference, prepareSegments<ProdOp>, kDtypes});
}

LS_DEFINE_KERNELS(tfl, unsorted_segment_max)
{
    registry.add({"tfl", "unsorted_segment_max", Profile::reference, prepareSegments<MaxOp>, kDtypes});
}

LS_DEFINE_KERNELS(tfl, unsorted_segment_min)
{
    registry.add({"tfl", "unsorted_segment_min", Profile::reference, prepareSegments<MinOp>, kDtypes});
}
