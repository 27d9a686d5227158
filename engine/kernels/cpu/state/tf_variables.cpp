// Kernels of TensorFlow's variables. A handle, of a resource or a reference, is a number in the session's ResourceStore; every access is
// told to its listener.
#include "engine/kernels/cpu/state/tf_variables.h"

#include <algorithm>

namespace loopscope {

namespace {

void tell(const KernelArgs& args, const Variable& variable, AccessKind kind, const Tensor* value)
{
    if (ResourceListener* listener = args.runtime->resources().listener) listener->accessed(variable.name, kind, value);
}

Result<Variable*> variableOf(const KernelArgs& args, int i = 0)
{
    if (args.in(i).elementCount() != 1 || args.in(i).bytes < sizeof(int32_t)) return invalidArgument("a handle is a scalar");
    Variable* variable = args.runtime->resources().variable(*args.in(i).as<int32_t>());
    if (!variable) return tfError(TfCode::notFound, "the handle is that of no variable");
    return variable;
}

} // namespace

std::string tfResourceName(const KernelArgs& args)
{
    const AttributeList& attributes = attributesOf(args);
    std::string name(attributeString(attributes, "shared_name", ""));
    if (name.empty()) name = nodeOf(args);
    const std::string_view container = attributeString(attributes, "container", "");
    return container.empty() ? name : std::string(container) + "/" + name;
}

Tensor tfValueOf(const Variable& variable)
{
    Tensor tensor;
    tensor.dtype = variable.dtype;
    tensor.shape = variable.shape;
    tensor.bytes = variable.bytes.size();
    static std::byte nothing = {};
    tensor.data = variable.bytes.empty()
                      ? &nothing
                      : const_cast<std::byte*>(variable.bytes.data()); // NOLINT(cppcoreguidelines-pro-type-const-cast): read only
    return tensor;
}

Result<Variable*> tfAssignedVariable(const KernelArgs& args, int i)
{
    LS_TRY(Variable* const variable, variableOf(args, i));
    if (variable->assigned) return variable;
    const bool reference = args.outputCount > 0 && takesReference(args.paramsAs<Operator>(), i);
    if (reference) return tfError(TfCode::failedPrecondition, "Attempting to use uninitialized value " + variable->name);
    return tfError(TfCode::failedPrecondition,
                   "Could not find variable " + variable->name +
                       ". This could mean that the variable has been deleted. In TF1, it can also mean the variable is uninitialized.");
}

void tfTellWritten(const KernelArgs& args, const Variable& variable)
{
    const Tensor now = tfValueOf(variable);
    tell(args, variable, AccessKind::write, &now);
}

Status tfHandOn(const KernelArgs& args)
{
    if (args.outputCount == 0) return {};
    LS_CHECK_OK(tfAllocate(args, 0, Shape()));
    *args.out(0).as<int32_t>() = *args.in(0).as<int32_t>();
    return {};
}

Result<std::vector<int64_t>> tfRowsOf(const KernelArgs& args, const Variable& variable)
{
    if (variable.shape.rank() < 1) return invalidArgument("params must be at least 1 dimensional");
    std::vector<int64_t> rows = tfIntegers(args.in(1));
    for (size_t i = 0; i < rows.size(); ++i)
        if (rows[i] < 0 || rows[i] >= variable.shape[0])
            return invalidArgument("indices" +
                                   (args.in(1).shape.rank() == 0 ? std::string() : indexText(args.in(1).shape, static_cast<int64_t>(i))) +
                                   " = " + std::to_string(rows[i]) + " is not in [0, " + std::to_string(variable.shape[0]) + ")");
    return rows;
}

} // namespace loopscope

using namespace loopscope;

namespace {

/// A variable of a SavedModel begins with the value that its checkpoint has: the fact `@value` of its node.
void begin(const KernelArgs& args, int32_t handle)
{
    const Attribute* initial = findAttribute(attributesOf(args), "@value");
    const auto* tensor = initial ? initial->as<TensorAttribute>() : nullptr;
    if (!tensor || !tensor->data->hasBytes()) return;
    Variable& variable = *args.runtime->resources().variable(handle);
    if (variable.assigned) return;
    const auto bytes = tensor->data->bytes().view();
    variable.bytes.assign(bytes.begin(), bytes.end());
    variable.assigned = true;
    variable.dtype = tensor->type.dtype;
    variable.shape = tensor->type.shape;
}

Status runHandle(const KernelArgs& args)
{
    ResourceStore& store = args.runtime->resources();
    const int32_t known = store.size();
    const std::string name = tfResourceName(args);
    const int32_t handle = store.handle(name);
    if (handle == known && store.listener) store.listener->accessed(name, AccessKind::create, nullptr);
    begin(args, handle);
    LS_CHECK_OK(tfAllocate(args, 0, Shape()));
    *args.out(0).as<int32_t>() = handle;
    return {};
}

Status runRefIdentity(const KernelArgs& args) { return tfHandOn(args); }

/// The reference that operand 0 chooses of those behind it.
Status runRefSelect(const KernelArgs& args)
{
    LS_TRY(const int64_t index, tfInteger(args, 0, "Index"));
    if (index < 0 || index + 1 >= args.inputCount)
        return invalidArgument("Index must be in the range [0, " + std::to_string(args.inputCount - 1) + ") but got " +
                               std::to_string(index));
    LS_CHECK_OK(tfAllocate(args, 0, Shape()));
    *args.out(0).as<int32_t>() = *args.in(static_cast<int>(index) + 1).as<int32_t>();
    return {};
}

Status runIsInitialized(const KernelArgs& args)
{
    LS_TRY(const Variable* const variable, variableOf(args));
    LS_CHECK_OK(tfAllocate(args, 0, Shape()));
    *args.out(0).as<bool>() = variable->assigned;
    return {};
}

Status runRead(const KernelArgs& args)
{
    LS_TRY(Variable* const variable, tfAssignedVariable(args));
    if (args.out(0).dtype != variable->dtype)
        return invalidArgument("Trying to read variable with wrong dtype. Expected " + std::string(tfTypeName(args.out(0).dtype)) +
                               " got " + std::string(tfTypeName(variable->dtype)));
    LS_CHECK_OK(tfCopy(args, 0, tfValueOf(*variable), variable->shape));
    tell(args, *variable, AccessKind::read, &args.out(0));
    return {};
}

Status runAssign(const KernelArgs& args)
{
    LS_TRY(Variable* const variable, variableOf(args));
    const Tensor& value = args.in(1);
    const bool reference = args.outputCount > 0;
    if (variable->assigned && !(variable->shape == value.shape) && attributeBool(attributesOf(args), "validate_shape", reference))
        return invalidArgument("Assign requires shapes of both tensors to match. lhs shape= " + toString(variable->shape) +
                               " rhs shape= " + toString(value.shape));
    if (variable->assigned && variable->dtype != value.dtype)
        return invalidArgument("Trying to assign variable with wrong dtype. Expected " + std::string(tfTypeName(variable->dtype)) +
                               " got " + std::string(tfTypeName(value.dtype)));
    std::vector<std::byte> bytes(value.data, value.data + value.bytes); // the value may be the variable's own
    variable->bytes.swap(bytes);
    variable->assigned = true;
    variable->dtype = value.dtype;
    variable->shape = value.shape;
    tfTellWritten(args, *variable);
    return tfHandOn(args);
}

/// variable ← variable ± value, for values of the variable's shape (resources also take a scalar).
template <bool add> Status runAssignSum(const KernelArgs& args)
{
    LS_TRY(Variable* const variable, tfAssignedVariable(args));
    const Tensor& value = args.in(1);
    const bool scalar = value.elementCount() == 1 && value.shape.rank() == 0;
    if (value.dtype != variable->dtype || (!scalar && !(value.shape == variable->shape)))
        return invalidArgument("Cannot update variable with shape " + toString(variable->shape) + " using a Tensor with shape " +
                               toString(value.shape) + ", shapes must be equal.");
    LS_CHECK_OK((forDType<TfFloats, TfSigned, TfUnsigned, TfComplex>(variable->dtype, [&]<typename T>() -> Status {
        T* to = reinterpret_cast<T*>(variable->bytes.data());
        const T* from = value.as<T>();
        for (int64_t i = 0, n = variable->shape.elementCount(); i < n; ++i) {
            const auto a = Element<T>::load(to[i]);
            const auto b = Element<T>::load(from[scalar ? 0 : i]);
            to[i] = Element<T>::store(add ? wrappingAdd(a, b) : wrappingSub(a, b));
        }
        return {};
    })));
    tfTellWritten(args, *variable);
    return tfHandOn(args);
}

Status runVariableShape(const KernelArgs& args)
{
    LS_TRY(const Variable* const variable, tfAssignedVariable(args));
    LS_CHECK_OK(tfAllocate(args, 0, Shape({variable->shape.rank()})));
    for (int d = 0; d < variable->shape.rank(); ++d) {
        if (args.out(0).dtype == DType::i64) args.out(0).as<int64_t>()[d] = variable->shape[d];
        else args.out(0).as<int32_t>()[d] = static_cast<int32_t>(variable->shape[d]);
    }
    return {};
}

Status runDestroy(const KernelArgs& args)
{
    LS_TRY(Variable* const variable, variableOf(args));
    if (!variable->assigned && !attributeBool(attributesOf(args), "ignore_lookup_error", true))
        return tfError(TfCode::notFound, "Resource localhost/" + variable->name + " does not exist.");
    variable->assigned = false;
    variable->bytes.clear();
    variable->shape = Shape();
    return {};
}

Status runGather(const KernelArgs& args)
{
    LS_TRY(Variable* const variable, tfAssignedVariable(args));
    LS_TRY(const std::vector<int64_t> rows, tfRowsOf(args, *variable));
    if (attributeInt(attributesOf(args), "batch_dims", 0) != 0) return Error(ErrorCode::unsupported, "batch_dims of a variable's rows");
    Shape shape = args.in(1).shape;
    for (int d = 1; d < variable->shape.rank(); ++d) shape.append(variable->shape[d]);
    const Tensor value = tfValueOf(*variable);
    LS_TRY(const TfSource in, TfSource::of(value));
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, shape));
    const int64_t each = strideOf(variable->shape, 0);
    for (size_t i = 0; i < rows.size() && each > 0; ++i)
        std::memcpy(out.at(static_cast<int64_t>(i) * each), in.at(rows[i] * each), static_cast<size_t>(each * in.size()));
    tell(args, *variable, AccessKind::read, &value);
    return out.finish();
}

Status runGatherNd(const KernelArgs& args)
{
    LS_TRY(Variable* const variable, tfAssignedVariable(args));
    const Shape& indices = args.in(1).shape;
    if (indices.rank() < 1 || indices.back() > variable->shape.rank())
        return invalidArgument("index innermost dimension length must be <= params rank");
    const auto depth = static_cast<int>(indices.back());
    Shape shape(indices.dims().first(static_cast<size_t>(indices.rank() - 1)));
    for (int d = depth; d < variable->shape.rank(); ++d) shape.append(variable->shape[d]);
    const Tensor value = tfValueOf(*variable);
    LS_TRY(const TfSource in, TfSource::of(value));
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, shape));
    const int64_t each = variable->shape.countOf(depth, variable->shape.rank());
    const std::vector<int64_t> vectors = tfIntegers(args.in(1));
    for (int64_t v = 0, n = indices.countOf(0, indices.rank() - 1); v < n; ++v) {
        int64_t from = 0;
        for (int d = 0; d < depth; ++d) {
            const int64_t index = vectors[static_cast<size_t>(v * depth + d)];
            if (index < 0 || index >= variable->shape[d])
                return invalidArgument("indices[" + std::to_string(v) + "] does not index into param shape " + toString(variable->shape));
            from += index * strideOf(variable->shape, d);
        }
        if (each > 0) std::memcpy(out.at(v * each), in.at(from), static_cast<size_t>(each * in.size()));
    }
    tell(args, *variable, AccessKind::read, &value);
    return out.finish();
}

Status runCountUpTo(const KernelArgs& args)
{
    LS_TRY(Variable* const variable, tfAssignedVariable(args));
    const int64_t limit = attributeInt(attributesOf(args), "limit", 0);
    if (variable->shape.rank() != 0) return invalidArgument("input is not a scalar: " + toString(variable->shape));
    LS_CHECK_OK(tfAllocate(args, 0, Shape()));
    return forDType<TypeList<int32_t, int64_t>>(variable->dtype, [&]<typename T>() -> Status {
        T& value = *reinterpret_cast<T*>(variable->bytes.data());
        if (value >= limit) return tfError(TfCode::outOfRange, "Reached limit of " + std::to_string(limit));
        *args.out(0).as<T>() = value++;
        tfTellWritten(args, *variable);
        return {};
    });
}

} // namespace

LS_TF_KERNEL(VarHandleOp, runHandle, kAllDTypes)
LS_TF_KERNEL(VarIsInitializedOp, runIsInitialized, kAllDTypes)
LS_TF_KERNEL(ReadVariableOp, runRead, kAllDTypes)
LS_TF_KERNEL(AssignVariableOp, runAssign, kAllDTypes)
LS_TF_KERNEL(AssignAddVariableOp, runAssignSum<true>, kTfNumbers)
LS_TF_KERNEL(AssignSubVariableOp, runAssignSum<false>, kTfNumbers)
LS_TF_KERNEL(VariableShape, runVariableShape, kAllDTypes)
LS_TF_KERNEL(DestroyResourceOp, runDestroy, kAllDTypes)
LS_TF_KERNEL(ResourceGather, runGather, kAllDTypes)
LS_TF_KERNEL(ResourceGatherNd, runGatherNd, kAllDTypes)
LS_TF_KERNEL(VariableV2, runHandle, kAllDTypes)
LS_TF_KERNEL(Variable, runHandle, kAllDTypes)
LS_TF_KERNEL(IsVariableInitialized, runIsInitialized, kAllDTypes)
LS_TF_KERNEL(RefIdentity, runRefIdentity, kAllDTypes)
LS_TF_KERNEL(RefSelect, runRefSelect, kAllDTypes)
LS_TF_KERNEL(Assign, runAssign, kAllDTypes)
LS_TF_KERNEL(AssignAdd, runAssignSum<true>, kTfNumbers)
LS_TF_KERNEL(AssignSub, runAssignSum<false>, kTfNumbers)
LS_TF_KERNEL(CountUpTo, runCountUpTo, "i32 i64")
