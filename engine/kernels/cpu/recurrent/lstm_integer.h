// LSTM cells that compute with integers throughout: i8 inputs, weights and outputs, i16 gates and cell state.
#pragma once

#include "engine/kernels/kernel.h"

namespace loopscope {

/// For lstm and unidirectional_sequence_lstm with i8 input. Errors: unsupported for diagonal weights and missing scales.
Result<PreparedKernel> prepareIntegerLstm(const KernelSetup& setup);

} // namespace loopscope
