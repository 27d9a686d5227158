// The kernels of a model that is only looked at: chosen and prepared as a run would, so that it can be told which fall back and what they
// keep.
#pragma once

#include "engine/ir/model.h"
#include "engine/kernels/kernel.h"
#include "engine/kernels/selection.h"

#include <cstdint>

namespace loopscope::app {

struct PreparedKernels {
    KernelReport report;
    int64_t packedWeights = 0; ///< bytes that the kernels have packed, shared by all sessions of the model
};

/// For the declared shapes. What cannot be prepared for them, constants in files that are not there, counts nothing.
PreparedKernels prepareKernels(const Model& model, Profile wanted);

} // namespace loopscope::app
