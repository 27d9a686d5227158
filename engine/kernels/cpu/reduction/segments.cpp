// Kernels that reduce groups of rows.
#include "engine/kernels/cpu/movement.h"
#include "engine/kernels/registry.h"

#include <algorithm>
#include <limits>
#include <type_traits>

using namespace loopscope;

namespace {

struct Sum {
    template <typename T> static T start() { return T{0}; }
    template <typename T> static T combine(T a, T b)
    {
        if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
        else return a + b;
    }
};

struct Product {
    template <typename T> static T start() { return T{1}; }
    template <typename T> static T combine(T a, T b)
    {
        if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<uint32_t>(a) * static_cast<uint32_t>(b));
        else return a * b;
    }
};

struct Largest {
    template <typename T> static T start() { return std::numeric_limits<T>::lowest(); }
    template <typename T> static T combine(T a, T b) { return std::max(a, b); }
};

struct Smallest {
    template <typename T> static T start() { return std::numeric_limits<T>::max(); }
    template <typename T> static T combine(T a, T b) { return std::min(a, b); }
};

/// out[ids[i]] = combine(out[ids[i]], data[i]) over rows i in order.
template <typename T, typename Rule, bool sorted> Status runSegments(const KernelArgs& args)
{
    const Tensor& data = args.in(0);
    const Tensor& ids = args.in(1);
    Tensor& out = args.out(0);
    const int64_t rows = ids.elementCount();
    const int64_t width = data.shape.countOf(ids.shape.rank(), data.shape.rank());
    const int64_t segments = out.shape[0];
    T* result = out.as<T>();
    std::fill_n(result, out.elementCount(), Rule::template start<T>());
    for (int64_t i = 0; i < rows; ++i) {
        const int64_t id = ids.as<int32_t>()[i];
        if (id < 0 && !sorted) continue;
        if (id < 0 || id >= segments)
            return kernelError(3, "segment id " + std::to_string(i))
                .found(std::to_string(id))
                .expected("below " + std::to_string(segments));
        const T* from = data.as<T>() + i * width;
        T* to = result + id * width;
        for (int64_t j = 0; j < width; ++j) to[j] = Rule::combine(to[j], from[j]);
    }
    return {};
}

template <typename Rule, bool sorted> Result<PreparedKernel> prepareSegments(const KernelSetup& setup)
{
    switch (setup.in(0).dtype) {
    case DType::f32: return PreparedKernel{runSegments<float, Rule, sorted>, nullptr};
    case DType::i32: return PreparedKernel{runSegments<int32_t, Rule, sorted>, nullptr};
    default: return Error(ErrorCode::unsupported, "no kernel for dtype " + std::string(dtypeName(setup.in(0).dtype)));
    }
}

} // namespace

LS_DEFINE_KERNELS(tfl, segment_sum) { registry.add({"tfl", "segment_sum", Profile::reference, prepareSegments<Sum, true>, "f32 i32"}); }

LS_DEFINE_KERNELS(tfl, unsorted_segment_sum)
{
    registry.add({"tfl", "unsorted_segment_sum", Profile::reference, prepareSegments<Sum, false>, "f32 i32"});
}

LS_DEFINE_KERNELS(tfl, unsorted_segment_prod)
{
    registry.add({"tfl", "unsorted_segment_prod", Profile::reference, prepareSegments<Product, false>, "f32 i32"});
}

LS_DEFINE_KERNELS(tfl, unsorted_segment_max)
{
    registry.add({"tfl", "unsorted_segment_max", Profile::reference, prepareSegments<Largest, false>, "f32 i32"});
}

LS_DEFINE_KERNELS(tfl, unsorted_segment_min)
{
    registry.add({"tfl", "unsorted_segment_min", Profile::reference, prepareSegments<Smallest, false>, "f32 i32"});
}
