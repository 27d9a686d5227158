// Operators on resource variables: var_handle, read_variable, assign_variable.
#include "engine/ops/catalog.h"
#include "engine/ops/movement.h"

using namespace loopscope;

namespace {

Status requireHandle(const InferContext& c)
{
    const Tensor& handle = c.input(0);
    if (handle.dtype != DType::resource && handle.dtype != DType::i32 && handle.dtype != DType::unknown)
        return InferContext::violated(1, "dtype of operand 0").found(std::string(dtypeName(handle.dtype))).expected("resource");
    if (handle.shape.isStatic() && checkedElementCount(handle.shape) != 1)
        return InferContext::violated(1, "elements of operand 0 " + toString(handle.shape)).expected("1");
    return {};
}

Status inferHandle(InferContext& c)
{
    c.setOutput(0, DType::resource, Shape());
    return {};
}

Status inferRead(InferContext& c)
{
    LS_CHECK_OK(requireHandle(c));
    // What is read is what was assigned last: only the running kernel knows.
    c.setOutput(0, DType::unknown, Shape::unknownRank());
    return {};
}

Status inferAssign(InferContext& c) { return requireHandle(c); }

} // namespace

LS_DEFINE_OP(tfl, var_handle)
{
    OpDef def =
        movementDef<inferHandle>(0, "", "The handle of the variable container/shared_name of the session.", "LiteRT kernels/var_handle.cc");
    def.hasSideEffects = true;
    return def;
}

LS_DEFINE_OP(tfl, read_variable)
{
    // C1: the operand is one handle. C2 (running): the variable was assigned. C3 (running): its dtype is the declared one.
    OpDef def = movementDef<inferRead>(1, "variable []", "The value that a variable has.", "LiteRT kernels/read_variable.cc");
    def.hasSideEffects = true;
    return def;
}

LS_DEFINE_OP(tfl, assign_variable)
{
    // C1: the first operand is one handle.
    OpDef def = movementDef<inferAssign>(2, "variable [], value", "Gives a variable a value, of any dtype and shape.",
                                         "LiteRT kernels/assign_variable.cc");
    def.minOutputs = def.maxOutputs = 0;
    def.hasSideEffects = true;
    return def;
}
