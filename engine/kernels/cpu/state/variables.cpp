// Kernels of resource variables. A handle is a number in the session's ResourceStore; every access is told to its listener.
#include "engine/kernels/cpu/movement.h"
#include "engine/kernels/registry.h"
#include "engine/kernels/resources.h"

#include <cstring>

using namespace loopscope;

namespace {

struct HandleParams {
    std::string name; ///< "[container/]shared_name"
};

Status runHandle(const KernelArgs& args)
{
    ResourceStore& store = args.runtime->resources();
    const int32_t known = store.size();
    const std::string& name = args.paramsAs<HandleParams>().name;
    const int32_t handle = store.handle(name);
    if (handle == known && store.listener) store.listener->accessed(name, AccessKind::create, nullptr);
    *args.out(0).as<int32_t>() = handle;
    return {};
}

Result<Variable*> variableOf(const KernelArgs& args)
{
    ResourceStore& store = args.runtime->resources();
    const int32_t handle = *args.in(0).as<int32_t>();
    Variable* variable = store.variable(handle);
    if (!variable)
        return kernelError(1, "handle")
            .found(std::to_string(handle))
            .expected("one of the " + std::to_string(store.size()) + " that var_handle gave out");
    return variable;
}

Status runRead(const KernelArgs& args)
{
    LS_TRY(Variable* const variable, variableOf(args));
    Tensor& out = args.out(0);
    if (!variable->assigned) return kernelError(2, "variable '" + variable->name + "' is read before it was assigned");
    if (out.dtype != variable->dtype)
        return kernelError(3, "dtype of variable '" + variable->name + "'")
            .found(std::string(dtypeName(variable->dtype)))
            .expected(std::string(dtypeName(out.dtype)));
    if (!(out.shape == variable->shape) || out.bytes != variable->bytes.size() || (out.data == nullptr && !variable->bytes.empty()))
        LS_CHECK_OK(args.runtime->resize(out, variable->shape, variable->bytes.size()));
    if (!variable->bytes.empty()) std::memcpy(out.data, variable->bytes.data(), variable->bytes.size());
    if (ResourceListener* listener = args.runtime->resources().listener) listener->accessed(variable->name, AccessKind::read, &out);
    return {};
}

Status runAssign(const KernelArgs& args)
{
    LS_TRY(Variable* const variable, variableOf(args));
    const Tensor& value = args.in(1);
    variable->assigned = true;
    variable->dtype = value.dtype;
    variable->shape = value.shape;
    // A constant may come with more bytes than its shape takes. The block keeps its capacity: no allocation once it has been this large.
    const size_t used = bitWidth(value.dtype) > 0 ? byteSize(value.dtype, value.elementCount()) : value.bytes;
    variable->bytes.assign(value.data, value.data + used);
    if (ResourceListener* listener = args.runtime->resources().listener) listener->accessed(variable->name, AccessKind::write, &value);
    return {};
}

} // namespace

LS_DEFINE_KERNELS(tfl, var_handle)
{
    registry.add({"tfl", "var_handle", Profile::reference,
                  [](const KernelSetup& setup) -> Result<PreparedKernel> {
                      std::string name(attributeString(setup.attributes(), "container", ""));
                      if (!name.empty()) name += '/';
                      name += attributeString(setup.attributes(), "shared_name", "");
                      return PreparedKernel{runHandle, std::make_shared<HandleParams>(HandleParams{std::move(name)})};
                  },
                  "resource"});
}

LS_DEFINE_KERNELS(tfl, read_variable)
{
    registry.add({"tfl", "read_variable", Profile::reference,
                  [](const KernelSetup&) -> Result<PreparedKernel> {
                      return PreparedKernel{runRead, nullptr};
                  },
                  kAllDTypes});
}

LS_DEFINE_KERNELS(tfl, assign_variable)
{
    registry.add({"tfl", "assign_variable", Profile::reference,
                  [](const KernelSetup&) -> Result<PreparedKernel> {
                      return PreparedKernel{runAssign, nullptr};
                  },
                  kAllDTypes});
}
