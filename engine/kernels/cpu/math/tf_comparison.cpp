// Kernels of TensorFlow's comparisons, logic and selection.
#include "engine/kernels/cpu/tf_support.h"

#include <cmath>

using namespace loopscope;

namespace {

struct EqualOp {
    template <typename T> bool operator()(const T& a, const T& b) const { return a == b; }
};
struct NotEqualOp {
    template <typename T> bool operator()(const T& a, const T& b) const { return !(a == b); }
};
struct LessOp {
    template <typename T> bool operator()(T a, T b) const { return a < b; }
};
struct LessEqualOp {
    template <typename T> bool operator()(T a, T b) const { return a <= b; }
};
struct GreaterOp {
    template <typename T> bool operator()(T a, T b) const { return a > b; }
};
struct GreaterEqualOp {
    template <typename T> bool operator()(T a, T b) const { return a >= b; }
};

template <typename Op, typename... Lists> Status runCompare(const KernelArgs& args)
{
    return forDType<Lists...>(computedIn(args.in(0).dtype), [&]<typename T>() -> Status {
        computeBinary<T, bool>(args.in(0), args.in(1), args.out(0), Op());
        return {};
    });
}

/// Equal and NotEqual also compare strings and bools, and may answer for shapes that do not fit.
template <typename Op> Status runEquality(const KernelArgs& args)
{
    const Tensor& a = args.in(0);
    const Tensor& b = args.in(1);
    if (!broadcastShapes(a.shape, b.shape)) {
        *args.out(0).as<bool>() = std::is_same_v<Op, NotEqualOp>;
        return {};
    }
    if (a.dtype == DType::string) {
        LS_TRY(const auto left, readStrings(a));
        LS_TRY(const auto right, readStrings(b));
        const BroadcastLoop<2> loop(args.out(0).shape, {&a.shape, &b.shape});
        bool* out = args.out(0).as<bool>();
        loop.forEachRow([&](int64_t o, const int64_t(&offset)[2]) {
            for (int64_t i = 0; i < loop.rowLength(); ++i)
                out[o + i] = Op()(left[static_cast<size_t>(offset[0] + i * loop.rowStride(0))],
                                  right[static_cast<size_t>(offset[1] + i * loop.rowStride(1))]);
        });
        return {};
    }
    return runCompare<Op, TfWide, TfSigned, TfUnsigned, TfComplex, TypeList<bool>>(args);
}

struct AndOp {
    bool operator()(bool a, bool b) const { return a && b; }
};
struct OrOp {
    bool operator()(bool a, bool b) const { return a || b; }
};

template <typename Op> Status runLogical(const KernelArgs& args)
{
    applyBinary<bool, bool>(args.in(0), args.in(1), args.out(0), Op());
    return {};
}

Status runNot(const KernelArgs& args)
{
    applyUnary<bool, bool>(args.in(0), args.out(0), [](bool x) { return !x; });
    return {};
}

Status runApproximateEqual(const KernelArgs& args)
{
    if (!(args.in(0).shape == args.in(1).shape)) return invalidArgument("x and y must be of the same shape.");
    const auto tolerance = static_cast<float>(attributeFloat(attributesOf(args), "tolerance", 1e-5));
    return forDType<TfFloats, TfSigned, TfUnsigned>(args.in(0).dtype, [&]<typename T>() -> Status {
        using C = typename Element<T>::Compute;
        applyBinary<T, bool>(args.in(0), args.in(1), args.out(0), [&](T a, T b) {
            return std::abs(static_cast<double>(static_cast<C>(Element<T>::load(a) - Element<T>::load(b)))) <= tolerance;
        });
        return {};
    });
}

struct FiniteOp {
    template <typename T> bool operator()(T x) const { return std::isfinite(x); }
};
struct InfOp {
    template <typename T> bool operator()(T x) const { return std::isinf(x); }
};
struct NanOp {
    template <typename T> bool operator()(T x) const { return std::isnan(x); }
};

template <typename Op> Status runClassify(const KernelArgs& args)
{
    return forDType<TfWide>(computedIn(args.in(0).dtype), [&]<typename T>() -> Status {
        computeUnary<T, bool>(args.in(0), args.out(0), Op());
        return {};
    });
}

/// The condition of Select may be a scalar, or a vector over the rows of t and e.
Status runSelect(const KernelArgs& args)
{
    const Tensor& condition = args.in(0);
    const Shape& shape = args.in(1).shape;
    if (!(shape == args.in(2).shape))
        return invalidArgument("'then' and 'else' must have the same size. but received: " + toString(shape) + " vs. " +
                               toString(args.in(2).shape));
    const bool scalar = condition.shape.rank() == 0;
    const bool rows = condition.shape.rank() == 1 && shape.rank() > 1;
    if (rows ? condition.shape[0] != shape[0] : !scalar && !(condition.shape == shape))
        return invalidArgument("Inputs to operation " + nodeOf(args) + " of type Select must have the same size and shape. Input 0: " +
                               toString(condition.shape) + " != input 1: " + toString(shape));
    LS_TRY(const TfSource t, TfSource::of(args.in(1)));
    LS_TRY(const TfSource e, TfSource::of(args.in(2)));
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, shape));
    const int64_t count = shape.elementCount();
    const int64_t pieces = scalar ? 1 : condition.elementCount();
    const int64_t each = pieces == 0 ? 0 : count / pieces;
    const bool* chosen = condition.as<bool>();
    for (int64_t p = 0; p < pieces && each > 0; ++p)
        std::memcpy(out.at(p * each), (chosen[p] ? t : e).at(p * each), static_cast<size_t>(each * t.size()));
    return out.finish();
}

Status runSelectV2(const KernelArgs& args)
{
    LS_TRY(const Shape values, tfBroadcast(args.in(1).shape, args.in(2).shape));
    LS_TRY(const Shape shape, tfBroadcast(args.in(0).shape, values));
    LS_TRY(const TfSource t, TfSource::of(args.in(1)));
    LS_TRY(const TfSource e, TfSource::of(args.in(2)));
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, shape));
    const bool* chosen = args.in(0).as<bool>();
    const BroadcastLoop<3> loop(shape, {&args.in(0).shape, &args.in(1).shape, &args.in(2).shape});
    loop.forEachRow([&](int64_t o, const int64_t(&offset)[3]) {
        for (int64_t i = 0; i < loop.rowLength(); ++i) {
            const bool first = chosen[offset[0] + i * loop.rowStride(0)];
            const std::byte* from = first ? t.at(offset[1] + i * loop.rowStride(1)) : e.at(offset[2] + i * loop.rowStride(2));
            std::memcpy(out.at(o + i), from, static_cast<size_t>(t.size()));
        }
    });
    return out.finish();
}

} // namespace

LS_TF_KERNEL(Equal, runEquality<EqualOp>, "numbers bool str")
LS_TF_KERNEL(NotEqual, runEquality<NotEqualOp>, "numbers bool str")
LS_TF_KERNEL(Less, (runCompare<LessOp, TfWide, TfSigned, TfUnsigned>), kTfReals)
LS_TF_KERNEL(LessEqual, (runCompare<LessEqualOp, TfWide, TfSigned, TfUnsigned>), kTfReals)
LS_TF_KERNEL(Greater, (runCompare<GreaterOp, TfWide, TfSigned, TfUnsigned>), kTfReals)
LS_TF_KERNEL(GreaterEqual, (runCompare<GreaterEqualOp, TfWide, TfSigned, TfUnsigned>), kTfReals)
LS_TF_KERNEL(LogicalAnd, runLogical<AndOp>, "bool")
LS_TF_KERNEL(LogicalOr, runLogical<OrOp>, "bool")
LS_TF_KERNEL(LogicalNot, runNot, "bool")
LS_TF_KERNEL(ApproximateEqual, runApproximateEqual, kTfReals)
LS_TF_KERNEL(Select, runSelect, "all")
LS_TF_KERNEL(SelectV2, runSelectV2, "all")
LS_TF_KERNEL(IsFinite, runClassify<FiniteOp>, kTfFloats)
LS_TF_KERNEL(IsInf, runClassify<InfOp>, kTfFloats)
LS_TF_KERNEL(IsNan, runClassify<NanOp>, kTfFloats)
