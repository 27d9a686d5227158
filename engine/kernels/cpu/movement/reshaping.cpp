// Kernels that leave the data as it is, and those that tell the shape.
#include "engine/kernels/cpu/movement.h"
#include "engine/kernels/registry.h"

#include <cstring>

using namespace loopscope;

namespace {

/// out = in, under another shape.
Status copyAll(const KernelArgs& args)
{
    const Tensor& in = args.in(0);
    Tensor& out = args.out(0);
    if (in.bytes < out.bytes)
        return Error(ErrorCode::execution, "bytes of operand 0").found(std::to_string(in.bytes)).expected(std::to_string(out.bytes));
    if (in.data != out.data && out.bytes > 0) std::memcpy(out.data, in.data, out.bytes);
    return {};
}

Status copyAllStrings(const KernelArgs& args)
{
    LS_TRY(const auto strings, readStrings(args.in(0)));
    const Shape shape = args.out(0).shape;
    return writeStrings(*args.runtime, args.out(0), shape, strings);
}

Result<PreparedKernel> prepareCopy(const KernelSetup& setup)
{
    const DType dtype = setup.in(0).dtype;
    if (dtype == DType::string) return PreparedKernel{copyAllStrings, nullptr};
    if (bitWidth(dtype) == 0) return Error(ErrorCode::unsupported, "no kernel for dtype " + std::string(dtypeName(dtype)));
    return PreparedKernel{copyAll, nullptr};
}

template <typename T> Status writeShape(const KernelArgs& args)
{
    const Shape& shape = args.in(0).shape;
    T* out = args.out(0).as<T>();
    for (int d = 0; d < shape.rank(); ++d) out[d] = static_cast<T>(shape[d]);
    return {};
}

Result<PreparedKernel> prepareShape(const KernelSetup& setup)
{
    return PreparedKernel{setup.out(0).dtype == DType::i64 ? writeShape<int64_t> : writeShape<int32_t>, nullptr};
}

Status writeRank(const KernelArgs& args)
{
    *args.out(0).as<int32_t>() = args.in(0).shape.rank();
    return {};
}

} // namespace

LS_DEFINE_KERNELS(tfl, reshape) { registry.add({"tfl", "reshape", Profile::reference, prepareCopy, kAllDTypes}); }

LS_DEFINE_KERNELS(tfl, squeeze) { registry.add({"tfl", "squeeze", Profile::reference, prepareCopy, kAllDTypes}); }

LS_DEFINE_KERNELS(tfl, expand_dims) { registry.add({"tfl", "expand_dims", Profile::reference, prepareCopy, kAllDTypes}); }

LS_DEFINE_KERNELS(tfl, densify)
{
    // The interpreter hands every operator the dense form of a sparse constant, so what is left is a copy.
    registry.add({"tfl", "densify", Profile::reference, prepareCopy, kAllDTypes});
}

LS_DEFINE_KERNELS(tfl, bitcast)
{
    registry.add({"tfl", "bitcast", Profile::reference,
                  [](const KernelSetup& setup) -> Result<PreparedKernel> {
                      if (bitWidth(setup.in(0).dtype) < 8 || bitWidth(setup.out(0).dtype) < 8)
                          return Error(ErrorCode::unsupported, "no bitcast from " + std::string(dtypeName(setup.in(0).dtype)) + " to " +
                                                                   std::string(dtypeName(setup.out(0).dtype)));
                      return PreparedKernel{copyAll, nullptr};
                  },
                  "dtypes of whole bytes"});
}

LS_DEFINE_KERNELS(tfl, shape) { registry.add({"tfl", "shape", Profile::reference, prepareShape, kAllDTypes}); }

LS_DEFINE_KERNELS(tfl, rank)
{
    registry.add({"tfl", "rank", Profile::reference,
                  [](const KernelSetup&) -> Result<PreparedKernel> {
                      return PreparedKernel{writeRank, nullptr};
                  },
                  kAllDTypes});
}
