// The families of Vulkan kernels: a planner for each, and the lines of the table that it serves (kernels.cpp).
#pragma once

#include "engine/kernels/kernel.h"
#include "engine/kernels/registry.h"
#include "engine/kernels/vulkan/plan.h"

#include <span>
#include <string_view>

namespace loopscope::vulkan {

/// One kernel: an operator, what its planner needs to know of it, the dtypes that it does, and how far it is from the reference kernel.
struct KernelLine {
    std::string_view dialect, name;
    Result<PreparedKernel> (*plan)(const KernelSetup& setup, const KernelLine& line) = nullptr;
    Code code = Code{};
    std::string_view dtypes;
    ErrorBounds bounds = {};
};

/// Whether a line's list of dtypes has this one.
bool does(const KernelLine& line, DType dtype);
/// "no kernel for these dtypes, found f64, f64 -> f64".
Error wrongDtypes(const KernelSetup& setup);

Result<PreparedKernel> planUnary(const KernelSetup& setup, const KernelLine& line);
Result<PreparedKernel> planBinary(const KernelSetup& setup, const KernelLine& line);
Result<PreparedKernel> planSelect(const KernelSetup& setup, const KernelLine& line);
Result<PreparedKernel> planCast(const KernelSetup& setup, const KernelLine& line);
Result<PreparedKernel> planQuantize(const KernelSetup& setup, const KernelLine& line);
/// Operators that only move elements: the reference kernel shows where to.
Result<PreparedKernel> planMovement(const KernelSetup& setup, const KernelLine& line);
Result<PreparedKernel> planReduction(const KernelSetup& setup, const KernelLine& line);
/// Softmax, normalisation, running sums: what is done with the runs along one axis.
Result<PreparedKernel> planRows(const KernelSetup& setup, const KernelLine& line);
Result<PreparedKernel> planTopK(const KernelSetup& setup, const KernelLine& line);
/// LSTM cells of f32, over a sequence or for one step, in one direction or in both.
Result<PreparedKernel> planLstm(const KernelSetup& setup, const KernelLine& line);
Result<PreparedKernel> planFullyConnected(const KernelSetup& setup, const KernelLine& line);
Result<PreparedKernel> planBatchMatmul(const KernelSetup& setup, const KernelLine& line);
Result<PreparedKernel> planConvolution(const KernelSetup& setup, const KernelLine& line);
Result<PreparedKernel> planDepthwise(const KernelSetup& setup, const KernelLine& line);
Result<PreparedKernel> planTransposeConv(const KernelSetup& setup, const KernelLine& line);
Result<PreparedKernel> planPool(const KernelSetup& setup, const KernelLine& line);
/// The same elements in the same order.
Result<PreparedKernel> planReshape(const KernelSetup& setup, const KernelLine& line);

} // namespace loopscope::vulkan
