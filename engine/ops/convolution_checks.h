// What the catalogue entries of convolutions check alike. Constraints of all of them: C1 ranks, C2 channels, C3 dtypes, C4 strides,
// C5 dilations, C6 sizes, C7 bias, C8 scales, that of the bias included (checkBiasScale of the kernels). Everything here lets pass what is
// not known yet.
#pragma once

#include "engine/ops/op_def.h"
#include "engine/ops/window.h"

#include <cstdint>
#include <string>

namespace loopscope {

/// "3", "?" for an unknown dimension.
std::string dimensionText(int64_t value);
/// True if both dimensions are known and differ.
bool dimensionsDiffer(int64_t a, int64_t b);
/// A dimension of an operand, kUnknownDim if its rank is unknown.
int64_t operandDimension(const InferContext& context, int operand, int axis);

/// C1: the operand has four dimensions.
Status checkRank4(const InferContext& context, int operand);
/// C3: the combinations of input, filter and bias dtypes that LiteRT's convolutions know. Arguments are operand numbers.
Status checkConvolutionDtypes(const InferContext& context, int input, int filter, int bias);
/// C4, C5, C6: number of windows along one axis ('h' or 'w'). A filter size that is not known yet matters only under VALID.
Result<int64_t> convolvedSize(const InferContext& context, char axis, int64_t input, int64_t filter);
/// C7: the bias holds one number for each output channel.
Status checkConvolutionBias(const InferContext& context, int bias, int64_t channels);
/// C8: integer operands carry scales: one for the input, one or one for each output channel for the filter, whose zero points are 0
/// unless the input is u8.
Status checkConvolutionScales(const InferContext& context, int input, int filter, int64_t channels);

/// C6: a transposed convolution's output has as many windows along an axis ('d', 'h', 'w') as the input has elements.
Status checkTransposedSize(char axis, int64_t windows, int64_t input);
/// The constraint of a bias of integers: its zero points are 0.
Status checkBiasZero(const InferContext& context, int constraint, int input, int bias);

/// The result's shape at the operands' shapes, of unknown rank if they break a constraint.
Shape inferredShape(const InferContext& context);

} // namespace loopscope
