// REAL, IMAG, COMPLEX_ABS: complex elements to real ones of half the width.
#include "engine/kernels/cpu/elementwise.h"
#include "engine/kernels/registry.h"

#include <cmath>
#include <complex>

using namespace loopscope;

namespace {

struct RealOp {
    template <typename T> static T apply(std::complex<T> z) { return z.real(); }
};
struct ImagOp {
    template <typename T> static T apply(std::complex<T> z) { return z.imag(); }
};
struct AbsOp {
    template <typename T> static T apply(std::complex<T> z) { return std::hypot(z.real(), z.imag()); }
};

template <typename T, typename Op> Status runPart(const KernelArgs& args)
{
    applyUnary<std::complex<T>, T>(args.in(0), args.out(0), [](std::complex<T> z) { return Op::apply(z); });
    return {};
}

template <typename Op> Result<PreparedKernel> preparePart(const KernelSetup& setup)
{
    static constexpr DtypeCase kCases[] = {{DType::c64, runPart<float, Op>}, {DType::c128, runPart<double, Op>}};
    return prepareByDtype(setup, kCases);
}

} // namespace

LS_DEFINE_KERNELS(tfl, real) { registry.add({"tfl", "real", Profile::reference, preparePart<RealOp>, "c64 c128"}); }

LS_DEFINE_KERNELS(tfl, imag) { registry.add({"tfl", "imag", Profile::reference, preparePart<ImagOp>, "c64 c128"}); }

LS_DEFINE_KERNELS(tfl, complex_abs) { registry.add({"tfl", "complex_abs", Profile::reference, preparePart<AbsOp>, "c64 c128"}); }
