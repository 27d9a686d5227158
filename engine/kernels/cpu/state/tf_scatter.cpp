// Kernels that change parts of variables: rows, slices at index vectors, strided slices. core/kernels/scatter_op.cc, scatter_nd_op.cc,
// strided_slice_op.cc; on resources, and on the references of TensorFlow 1.
#include "engine/kernels/cpu/movement/scatter.h"
#include "engine/kernels/cpu/movement/tf_slice.h"
#include "engine/kernels/cpu/state/tf_variables.h"

using namespace loopscope;

namespace {

template <Scatter how> Status runScatter(const KernelArgs& args)
{
    LS_TRY(Variable* const variable, tfAssignedVariable(args));
    LS_TRY(const std::vector<int64_t> rows, tfRowsOf(args, *variable));
    const Tensor& updates = args.in(2);
    IndexVectors vectors{static_cast<int64_t>(rows.size()), strideOf(variable->shape, 0), rows};
    for (int64_t& start : vectors.starts) start *= vectors.slice;
    const bool isScalar = updates.shape.rank() == 0;
    if (updates.dtype != variable->dtype || (!isScalar && updates.elementCount() != vectors.count * vectors.slice))
        return invalidArgument("Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got updates.shape " +
                               toString(updates.shape) + ", indices.shape " + toString(args.in(1).shape) + ", params.shape " +
                               toString(variable->shape));
    LS_CHECK_OK(scatterSlices(how, variable->dtype, vectors, updates.data, isScalar, variable->bytes.data()));
    tfTellWritten(args, *variable);
    return tfHandOn(args);
}

template <Scatter how> Status runScatterNd(const KernelArgs& args)
{
    LS_TRY(Variable* const variable, tfAssignedVariable(args));
    const Tensor &indices = args.in(1), &updates = args.in(2);
    LS_TRY(const IndexVectors vectors, indexVectors(indices, variable->shape));
    const bool isScalar = updates.shape.rank() == 0;
    if (updates.dtype != variable->dtype || (!isScalar && updates.elementCount() != vectors.count * vectors.slice))
        return invalidArgument("Must have updates.shape = indices.shape[:batch_dim] + params_shape[slice_dim:], got updates.shape: " +
                               toString(updates.shape) + ", indices.shape: " + toString(indices.shape) +
                               ", params_shape: " + toString(variable->shape));
    LS_CHECK_OK(scatterSlices(how, variable->dtype, vectors, updates.data, isScalar, variable->bytes.data()));
    tfTellWritten(args, *variable);
    return tfHandOn(args);
}

Status runAssignSlice(const KernelArgs& args)
{
    LS_TRY(Variable* const variable, tfAssignedVariable(args));
    LS_TRY(const StridedSlicePlan plan, tfPlanSlice(args, variable->shape, 1));
    const Tensor& value = args.in(4);
    const int64_t size = bitWidth(variable->dtype) / 8;
    if (value.dtype != variable->dtype || size == 0)
        return invalidArgument("l-value dtype " + std::string(tfTypeName(variable->dtype)) + " does not match r-value dtype " +
                               std::string(tfTypeName(value.dtype)));
    const Shape slice = plan.result();
    if (!(slice == value.shape) && value.shape.rank() != 0)
        return invalidArgument("slice shape " + toString(slice) + " does not match the shape of the value " + toString(value.shape));
    std::vector<std::byte> repeated;
    if (value.shape.rank() == 0)
        for (int64_t i = 0, n = slice.elementCount(); i < n; ++i) repeated.insert(repeated.end(), value.data, value.data + size);
    tfCopySlice(plan, variable->shape, value.shape.rank() == 0 ? repeated.data() : value.data, variable->bytes.data(), size, true);
    tfTellWritten(args, *variable);
    return tfHandOn(args);
}

} // namespace

LS_TF_KERNEL(ResourceScatterUpdate, runScatter<Scatter::update>, "numbers bool")
LS_TF_KERNEL(ResourceScatterAdd, runScatter<Scatter::add>, kTfNumbers)
LS_TF_KERNEL(ResourceScatterSub, runScatter<Scatter::subtract>, kTfNumbers)
LS_TF_KERNEL(ResourceScatterMul, runScatter<Scatter::multiply>, kTfNumbers)
LS_TF_KERNEL(ResourceScatterDiv, runScatter<Scatter::divide>, kTfNumbers)
LS_TF_KERNEL(ResourceScatterMax, runScatter<Scatter::maximum>, kTfReals)
LS_TF_KERNEL(ResourceScatterMin, runScatter<Scatter::minimum>, kTfReals)
LS_TF_KERNEL(ScatterUpdate, runScatter<Scatter::update>, "numbers bool")
LS_TF_KERNEL(ScatterAdd, runScatter<Scatter::add>, kTfNumbers)
LS_TF_KERNEL(ScatterSub, runScatter<Scatter::subtract>, kTfNumbers)
LS_TF_KERNEL(ScatterMul, runScatter<Scatter::multiply>, kTfNumbers)
LS_TF_KERNEL(ScatterDiv, runScatter<Scatter::divide>, kTfNumbers)
LS_TF_KERNEL(ScatterMax, runScatter<Scatter::maximum>, kTfReals)
LS_TF_KERNEL(ScatterMin, runScatter<Scatter::minimum>, kTfReals)
LS_TF_KERNEL(ResourceScatterNdUpdate, runScatterNd<Scatter::update>, "numbers bool")
LS_TF_KERNEL(ResourceScatterNdAdd, runScatterNd<Scatter::add>, kTfNumbers)
LS_TF_KERNEL(ResourceScatterNdSub, runScatterNd<Scatter::subtract>, kTfNumbers)
LS_TF_KERNEL(ResourceScatterNdMax, runScatterNd<Scatter::maximum>, kTfReals)
LS_TF_KERNEL(ResourceScatterNdMin, runScatterNd<Scatter::minimum>, kTfReals)
LS_TF_KERNEL(ScatterNdUpdate, runScatterNd<Scatter::update>, "numbers bool")
LS_TF_KERNEL(ScatterNdAdd, runScatterNd<Scatter::add>, kTfNumbers)
LS_TF_KERNEL(ScatterNdSub, runScatterNd<Scatter::subtract>, kTfNumbers)
LS_TF_KERNEL(ScatterNdMax, runScatterNd<Scatter::maximum>, kTfReals)
LS_TF_KERNEL(ScatterNdMin, runScatterNd<Scatter::minimum>, kTfReals)
LS_TF_KERNEL(ResourceStridedSliceAssign, runAssignSlice, "numbers bool")
LS_TF_KERNEL(StridedSliceAssign, runAssignSlice, "numbers bool")
