// Kernels of TensorFlow's constants, inputs and operators that hand their operand on.
#include "engine/kernels/cpu/tf_support.h"
#include "engine/kernels/cpu/tf_variant.h"
#include "engine/ops/control_flow.h"

#include <cmath>
#include <cstring>
#include <memory>
#include <optional>

using namespace loopscope;

namespace {

Status runConst(const KernelArgs& args)
{
    const Attribute* value = findAttribute(attributesOf(args), "value");
    const auto* tensor = value ? value->as<TensorAttribute>() : nullptr;
    if (!tensor || !tensor->data || !tensor->data->hasBytes()) return Error(ErrorCode::unsupported, "its data is not in this file");
    const Bytes& bytes = tensor->data->bytes();
    const std::optional<int64_t> count = checkedElementCount(tensor->type.shape);
    if (!count || bytes.size() < byteSize(tensor->type.dtype, *count))
        return Error(ErrorCode::badFile, "the constant holds too little data").found(std::to_string(bytes.size()) + " bytes");
    LS_CHECK_OK(args.runtime->resize(args.out(0), tensor->type.shape, bytes.size()));
    if (!bytes.empty()) std::memcpy(args.out(0).data, bytes.data(), bytes.size());
    return {};
}

/// A constant that is there and whole.
struct StoredConstant {
    std::shared_ptr<const Constant> holder;
    Shape shape;
    const std::byte* data = nullptr;
    size_t bytes = 0;
};

template <bool HasSize> Status runStoredConst(const KernelArgs& args)
{
    const auto& constant = args.paramsAs<StoredConstant>();
    Tensor& out = args.out(0);
    if constexpr (!HasSize) LS_CHECK_OK(args.runtime->resize(out, constant.shape, constant.bytes));
    if (constant.bytes == 4) std::memcpy(out.data, constant.data, 4); // most in loops are scalars
    else if (constant.bytes > 0) std::memcpy(out.data, constant.data, constant.bytes);
    return {};
}

Result<PreparedKernel> prepareConst(const KernelSetup& setup)
{
    LS_TRY(PreparedKernel kernel, prepareTf<runConst>(setup));
    const Attribute* const value = findAttribute(setup.attributes(), "value");
    const auto* const tensor = value ? value->as<TensorAttribute>() : nullptr;
    if (!tensor || !tensor->data || !tensor->data->hasBytes()) return kernel;
    const std::optional<int64_t> count = checkedElementCount(tensor->type.shape);
    const Bytes& bytes = tensor->data->bytes();
    if (!count || bytes.size() < byteSize(tensor->type.dtype, *count)) return kernel;
    const bool hasSize = setup.shapesAreStatic && setup.out(0).dtype == tensor->type.dtype && setup.out(0).shape == tensor->type.shape &&
                         bytes.size() == byteSize(tensor->type.dtype, *count);
    return PreparedKernel{
        hasSize ? runStoredConst<true> : runStoredConst<false>,
        std::make_shared<const StoredConstant>(StoredConstant{tensor->data, tensor->type.shape, bytes.data(), bytes.size()})};
}

Status runPlaceholder(const KernelArgs& args)
{
    const DType dtype = tfTypeAttribute(attributesOf(args), "dtype");
    const Shape shape = tfShapeAttribute(attributesOf(args), "shape");
    std::string text = "You must feed a value for placeholder tensor '" + nodeOf(args) + "' with dtype " + std::string(tfTypeName(dtype));
    if (shape.hasRank() && shape.rank() > 0) text += " and shape " + toString(shape);
    return invalidArgument(text);
}

Status runIdentity(const KernelArgs& args)
{
    for (int k = 0; k < args.outputCount && k < args.inputCount; ++k) LS_CHECK_OK(tfCopy(args, k, args.in(k), args.in(k).shape));
    return {};
}

Status runNothing(const KernelArgs&) { return {}; }

Status runCheckNumerics(const KernelArgs& args)
{
    bool nan = false;
    bool inf = false;
    LS_CHECK_OK(forDType<TfFloats>(args.in(0).dtype, [&]<typename T>() -> Status {
        const T* x = args.in(0).as<T>();
        for (int64_t i = 0, n = args.in(0).elementCount(); i < n; ++i) {
            nan = nan || std::isnan(Element<T>::load(x[i]));
            inf = inf || std::isinf(Element<T>::load(x[i]));
        }
        return {};
    }));
    const std::string message(attributeString(attributesOf(args), "message", ""));
    if (nan && inf) return invalidArgument(message + " : Tensor had Inf and NaN values");
    if (nan) return invalidArgument(message + " : Tensor had NaN values");
    if (inf) return invalidArgument(message + " : Tensor had Inf values");
    return runIdentity(args);
}

Status runEnsureShape(const KernelArgs& args)
{
    const Shape wanted = tfShapeAttribute(attributesOf(args), "shape");
    const Shape& found = args.in(0).shape;
    bool fits = !wanted.hasRank() || wanted.rank() == found.rank();
    for (int d = 0; fits && d < wanted.rank(); ++d) fits = wanted[d] == kUnknownDim || wanted[d] == found[d];
    if (!fits)
        return invalidArgument("Shape of tensor " + nodeOf(args) + " " + toString(found) + " is not compatible with expected shape " +
                               tfShapeText(wanted) + ".");
    return runIdentity(args);
}

Status runZerosLike(const KernelArgs& args)
{
    if (args.in(0).dtype == DType::variant) return zerosLikeVariants(args);
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, args.in(0).shape, true));
    return out.finish();
}

Status runOnesLike(const KernelArgs& args)
{
    LS_CHECK_OK(tfAllocate(args, 0, args.in(0).shape));
    if (args.in(0).dtype == DType::boolean) {
        std::memset(args.out(0).data, 1, args.out(0).bytes);
        return {};
    }
    return forDType<TfFloats, TfSigned, TfUnsigned, TfComplex>(args.in(0).dtype, [&]<typename T>() -> Status {
        std::fill_n(args.out(0).as<T>(), args.out(0).elementCount(), Element<T>::store(typename Element<T>::Compute(1)));
        return {};
    });
}

Status runFakeParam(const KernelArgs& args)
{
    Shape shape = tfShapeAttribute(attributesOf(args), "shape");
    for (int d = 0; d < shape.rank(); ++d) shape[d] = std::max<int64_t>(shape[d], 0);
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, shape.hasRank() ? shape : Shape({0}), true));
    return out.finish();
}

Status runDeviceIndex(const KernelArgs& args)
{
    const Attribute* names = findAttribute(attributesOf(args), "device_names");
    const auto* list = names ? names->as<AttributeItems>() : nullptr;
    const auto count = list ? static_cast<int32_t>(list->size()) : 0;
    int32_t index = count;
    for (int32_t i = 0; i < count; ++i)
        if (const auto* name = (*list)[static_cast<size_t>(i)].as<std::string>(); name && *name == "CPU") index = i;
    LS_CHECK_OK(tfAllocate(args, 0, Shape()));
    *args.out(0).as<int32_t>() = index;
    return {};
}

Status runToBool(const KernelArgs& args)
{
    LS_TRY(const bool truth, tfTruth(args.in(0)));
    LS_CHECK_OK(tfAllocate(args, 0, Shape()));
    *args.out(0).as<bool>() = truth;
    return {};
}

} // namespace

LS_DEFINE_KERNELS(tf, Const) { registry.add({"tf", "Const", Profile::reference, prepareConst, "all"}); }
LS_TF_KERNEL(Placeholder, runPlaceholder, "all")
LS_TF_KERNEL(PlaceholderV2, runPlaceholder, "all")
LS_TF_KERNEL(PlaceholderWithDefault, runIdentity, "all")
LS_TF_KERNEL(Identity, runIdentity, "all")
LS_TF_KERNEL(IdentityN, runIdentity, "all")
LS_TF_KERNEL(StopGradient, runIdentity, "all")
LS_TF_KERNEL(PreventGradient, runIdentity, "all")
LS_TF_KERNEL(Snapshot, runIdentity, "all")
LS_TF_KERNEL(GuaranteeConst, runIdentity, "all")
LS_TF_KERNEL(CheckNumerics, runCheckNumerics, "f32 f64 f16 bf16")
LS_TF_KERNEL(EnsureShape, runEnsureShape, "all")
LS_TF_KERNEL(NoOp, runNothing, "all")
LS_TF_KERNEL(ZerosLike, runZerosLike, "all")
LS_TF_KERNEL(OnesLike, runOnesLike, "numbers bool")
LS_TF_KERNEL(FakeParam, runFakeParam, "all")
LS_TF_KERNEL(DeviceIndex, runDeviceIndex, "i32")
LS_TF_KERNEL(ToBool, runToBool, "f32 f64 i8 i16 i32 i64 u8 bool str")
