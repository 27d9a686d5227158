// MEAN and SUM of 8-bit integers as XNNPACK computes them: sums in 32 bits, one float multiplication rounded to even.
#include "engine/kernels/cpu/reduction/reduction.h"

#include "engine/kernels/registry.h"
#include "engine/kernels/xnnpack/xnnpack.h"

using namespace loopscope;

namespace {

template <Result<PreparedKernel> (*prepare)(const KernelSetup&)> Result<PreparedKernel> prepareRounded(const KernelSetup& setup)
{
    LS_CHECK_OK(checkQuantized8({&setup.in(0), &setup.out(0)}));
    return prepare(setup);
}

} // namespace

LS_DEFINE_PROFILE_KERNELS(xnnpack, tfl, mean)
{
    registry.add({"tfl", "mean", Profile::xnnpack, prepareRounded<prepareMean>, "i8 u8", kFloatScale});
}
LS_DEFINE_PROFILE_KERNELS(xnnpack, tfl, sum)
{
    registry.add({"tfl", "sum", Profile::xnnpack, prepareRounded<prepareSum>, "i8 u8", kFloatScale});
}
