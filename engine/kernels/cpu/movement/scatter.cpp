#include "engine/kernels/cpu/movement/scatter.h"

namespace loopscope {

namespace {

template <typename C> C combined(Scatter how, C a, C b)
{
    switch (how) {
    case Scatter::add: return wrappingAdd(a, b);
    case Scatter::subtract: return wrappingSub(a, b);
    case Scatter::multiply: return wrappingMul(a, b);
    case Scatter::divide:
        if constexpr (std::is_integral_v<C>)
            return b == C(-1) ? wrappingSub(C(0), a) : static_cast<C>(a / b); // the least number has no opposite
        else return a / b;
    default: break;
    }
    if constexpr (!kIsComplex<C>) return (how == Scatter::maximum ? a < b : b < a) ? b : a;
    else return b;
}

template <typename T> Status combineSlices(Scatter how, const IndexVectors& vectors, const T* from, bool isScalar, T* to)
{
    if (kIsComplex<T> && (how == Scatter::maximum || how == Scatter::minimum))
        return Error(ErrorCode::unsupported, "complex numbers have no order");
    for (int64_t v = 0; v < vectors.count; ++v)
        for (int64_t i = 0; i < vectors.slice; ++i) {
            T& element = to[vectors.starts[static_cast<size_t>(v)] + i];
            const auto b = Element<T>::load(from[isScalar ? 0 : v * vectors.slice + i]);
            if constexpr (std::is_integral_v<T>)
                if (how == Scatter::divide && b == 0) return invalidArgument("Integer division by zero");
            element = Element<T>::store(combined(how, Element<T>::load(element), b));
        }
    return {};
}

} // namespace

Result<IndexVectors> indexVectors(const Tensor& indices, const Shape& shape)
{
    if (indices.shape.rank() < 1) return invalidArgument("indices must be at least a vector");
    const int64_t depth = indices.shape.back();
    if (depth > shape.rank())
        return invalidArgument("index innermost dimension length must be <= params rank; saw: " + std::to_string(depth) + " vs. " +
                               std::to_string(shape.rank()));
    IndexVectors vectors;
    vectors.count = indices.shape.countOf(0, indices.shape.rank() - 1);
    vectors.slice = shape.countOf(static_cast<int>(depth), shape.rank());
    const std::vector<int64_t> values = tfIntegers(indices);
    for (int64_t v = 0; v < vectors.count; ++v) {
        int64_t start = 0;
        for (int64_t d = 0; d < depth; ++d) {
            const int64_t index = values[static_cast<size_t>(v * depth + d)];
            if (index < 0 || index >= shape[static_cast<int>(d)]) {
                std::string text;
                for (int64_t e = 0; e < depth; ++e) text += (e ? ", " : "") + std::to_string(values[static_cast<size_t>(v * depth + e)]);
                return invalidArgument("indices[" + std::to_string(v) + "] = [" + text + "] does not index into param shape " +
                                       toString(shape));
            }
            start += index * strideOf(shape, static_cast<int>(d));
        }
        vectors.starts.push_back(start);
    }
    return vectors;
}

Status scatterSlices(Scatter how, DType dtype, const IndexVectors& vectors, const std::byte* from, bool isScalar, std::byte* to)
{
    const auto size = static_cast<size_t>(bitWidth(dtype) / 8);
    if (size == 0) return Error(ErrorCode::unsupported, "no kernel for dtype " + std::string(dtypeName(dtype)));
    if (how == Scatter::update) {
        const size_t slice = static_cast<size_t>(vectors.slice) * size, piece = isScalar ? size : slice;
        for (int64_t v = 0; v < vectors.count && slice > 0; ++v)
            for (size_t at = 0; at < slice; at += piece)
                std::memcpy(to + static_cast<size_t>(vectors.starts[static_cast<size_t>(v)]) * size + at,
                            from + (isScalar ? 0 : static_cast<size_t>(v) * slice), piece);
        return {};
    }
    if (dtype == DType::boolean && how == Scatter::add) {
        for (int64_t v = 0; v < vectors.count; ++v)
            for (int64_t i = 0; i < vectors.slice; ++i)
                to[vectors.starts[static_cast<size_t>(v)] + i] |= from[isScalar ? 0 : v * vectors.slice + i];
        return {};
    }
    return forDType<TfFloats, TfSigned, TfUnsigned, TfComplex>(dtype, [&]<typename T>() -> Status {
        return combineSlices(how, vectors, reinterpret_cast<const T*>(from), isScalar, reinterpret_cast<T*>(to));
    });
}

} // namespace loopscope
