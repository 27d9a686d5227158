// The table of the Vulkan kernels: one line an operator. What is not here, or not for these dtypes and shapes, runs on the CPU in the same
// run, and the run says so.
#include "engine/kernels/vulkan/kernels.h"

#include "engine/kernels/vulkan/families.h"

#include <algorithm>

namespace loopscope {

namespace vulkan {

namespace {

// Functions that are ours in shaders/functions.glsl, measured against the reference kernels' by the text tests.
constexpr ErrorBound kFunction = withinRelative(2e-6);
// Sums in another order.
constexpr ErrorBound kSum = withinOfLargest(1e-5);
constexpr std::string_view kReal = "f32 f16", kNumber = "f32 f16 i32 i64 i8 u8 i16", kInteger = "i32 i64 i8 u8 i16";
constexpr std::string_view kAny = "f32 f16 bf16 i8 i16 i32 i64 u8 u16 u32 bool", kTruth = "bool";

constexpr KernelLine kLines[] = {
    {"tfl", "neg", planUnary, opNeg, kNumber},
    {"tfl", "abs", planUnary, opAbs, kNumber},
    {"tfl", "square", planUnary, opSquare, kNumber},
    {"tfl", "sign", planUnary, opSign, kNumber},
    {"tfl", "sqrt", planUnary, opSqrt, kReal, withinUlp(1)},
    {"tfl", "rsqrt", planUnary, opRsqrt, kReal, withinUlp(2)},
    {"tfl", "exp", planUnary, opExp, kReal, kFunction},
    {"tfl", "log", planUnary, opLog, kReal, kFunction},
    {"tfl", "sin", planUnary, opSin, kReal, withinOfLargest(1e-6)},
    {"tfl", "cos", planUnary, opCos, kReal, withinOfLargest(1e-6)},
    {"tfl", "ceil", planUnary, opCeil, kReal},
    {"tfl", "floor", planUnary, opFloor, kReal},
    {"tfl", "round", planUnary, opRound, kReal},
    {"tfl", "relu", planUnary, opClamp, kReal},
    {"tfl", "relu6", planUnary, opClamp, kReal},
    {"tfl", "relu_n1_to_1", planUnary, opClamp, kReal},
    {"tfl", "relu_0_to_1", planUnary, opClamp, kReal},
    {"tfl", "leaky_relu", planUnary, opLeakyRelu, kReal},
    {"tfl", "elu", planUnary, opElu, kReal, kFunction},
    {"tfl", "gelu", planUnary, opGelu, kReal, withinOfLargest(2e-6)},
    {"tfl", "hard_swish", planUnary, opHardSwish, kReal, withinUlp(1)},
    {"tfl", "logistic", planUnary, opLogistic, kReal, kFunction},
    {"tfl", "tanh", planUnary, opTanh, kReal, kFunction},
    {"tfl", "logical_not", planUnary, opNot, kTruth},
    {"tfl", "zeros_like", planUnary, opZero, kNumber},
    {"tfl", "cast", planCast, opCopy, "f32 f16 i32 i64 u32 i8 u8 i16 bool"},
    {"tfl", "quantize", planQuantize, opQuantize, "f32 i8 u8 i16"},
    {"tfl", "dequantize", planUnary, opCopy, "i8 u8 i16 f16"},
    {"tfl", "stablehlo_abs", planUnary, opAbs, kNumber},
    {"tfl", "stablehlo_negate", planUnary, opNeg, kNumber},
    {"tfl", "stablehlo_floor", planUnary, opFloor, kReal},
    {"tfl", "stablehlo_log", planUnary, opLog, kReal, kFunction},
    {"tfl", "stablehlo_exponential", planUnary, opExp, kReal, kFunction},
    {"tfl", "stablehlo_cosine", planUnary, opCos, kReal, withinOfLargest(1e-6)},
    {"tfl", "stablehlo_rsqrt", planUnary, opRsqrt, kReal, withinUlp(2)},
    {"tfl", "stablehlo_tanh", planUnary, opTanh, kReal, kFunction},
    {"tfl", "stablehlo_logistic", planUnary, opLogistic, kReal, kFunction},

    {"tfl", "add", planBinary, opAdd, kNumber},
    {"tfl", "sub", planBinary, opSub, kNumber},
    {"tfl", "mul", planBinary, opMul, kNumber},
    {"tfl", "div", planBinary, opDiv, kReal, withinUlp(1)},
    {"tfl", "floor_div", planBinary, opFloorDiv, "i32 i64"},
    {"tfl", "floor_mod", planBinary, opFloorMod, "i32 i64"},
    {"tfl", "pow", planBinary, opPow, "f32", withinRelative(2e-5)},
    {"tfl", "maximum", planBinary, opMaximum, kNumber},
    {"tfl", "minimum", planBinary, opMinimum, kNumber},
    {"tfl", "squared_difference", planBinary, opSquaredDifference, kNumber},
    {"tfl", "prelu", planBinary, opPrelu, "f32"},
    {"tfl", "equal", planBinary, opEqual, "f32 f16 i32 i64 bool"},
    {"tfl", "not_equal", planBinary, opNotEqual, "f32 f16 i32 i64 bool"},
    {"tfl", "less", planBinary, opLess, "f32 f16 i32 i64"},
    {"tfl", "less_equal", planBinary, opLessEqual, "f32 f16 i32 i64"},
    {"tfl", "greater", planBinary, opGreater, "f32 f16 i32 i64"},
    {"tfl", "greater_equal", planBinary, opGreaterEqual, "f32 f16 i32 i64"},
    {"tfl", "logical_and", planBinary, opAnd, kTruth},
    {"tfl", "logical_or", planBinary, opOr, kTruth},
    {"tfl", "bitwise_xor", planBinary, opXor, kInteger},
    {"tfl", "stablehlo_add", planBinary, opAdd, kNumber},
    {"tfl", "stablehlo_subtract", planBinary, opSub, kNumber},
    {"tfl", "stablehlo_multiply", planBinary, opMul, kNumber},
    {"tfl", "stablehlo_divide", planBinary, opDiv, kReal, withinUlp(1)},
    {"tfl", "stablehlo_power", planBinary, opPow, "f32", withinRelative(2e-5)},
    {"tfl", "stablehlo_and", planBinary, opAnd, kTruth},
    {"tfl", "stablehlo_or", planBinary, opOr, kTruth},
    {"tfl", "select", planSelect, opSelect, kAny},
    {"tfl", "select_v2", planSelect, opSelect, kAny},
    {"tfl", "stablehlo_select", planSelect, opSelect, kAny},

    {"tfl", "sum", planReduction, reduceSum, "f32 i32 i64", withinOfLargest(1e-5)},
    {"tfl", "mean", planReduction, reduceMean, "f32", withinOfLargest(1e-5)},
    {"tfl", "reduce_max", planReduction, reduceMax, "f32 i32 i64 i8 u8 i16"},
    {"tfl", "reduce_min", planReduction, reduceMin, "f32 i32 i64 i8 u8 i16"},
    {"tfl", "reduce_prod", planReduction, reduceProd, "f32 i32 i64", withinRelative(1e-5)},
    {"tfl", "reduce_any", planReduction, reduceAny, kTruth},
    {"tfl", "reduce_all", planReduction, reduceAll, kTruth},
    {"tfl", "arg_max", planReduction, reduceArgMax, "f32 f16 i32 i64 i16 i8 u8 bool"},
    {"tfl", "arg_min", planReduction, reduceArgMin, "f32 f16 i32 i64 i16 i8 u8 bool"},
    {"tfl", "softmax", planRows, rowSoftmax, "f32", kSum},
    {"tfl", "log_softmax", planRows, rowLogSoftmax, "f32", kSum},
    {"tfl", "l2_normalization", planRows, rowL2Norm, "f32", kSum},
    {"tfl", "cumsum", planRows, rowCumsum, "f32 i32 i64"},
    {"tfl", "topk_v2", planTopK, opCopy, "f32 i8 u8 i16 i32 i64"},
    {"tfl", "lstm", planLstm, opCopy, "f32", kSum},
    {"tfl", "unidirectional_sequence_lstm", planLstm, opCopy, "f32", kSum},
    {"tfl", "bidirectional_sequence_lstm", planLstm, opCopy, "f32", kSum},
    {"tfl", "fully_connected", planFullyConnected, opCopy, "f32 i8 u8", kSum},
    {"tfl", "batch_matmul", planBatchMatmul, opCopy, "f32", kSum},
    {"tfl", "conv_2d", planConvolution, opCopy, "f32 i8 u8", kSum},
    {"tfl", "depthwise_conv_2d", planDepthwise, opCopy, "f32 i8 u8", kSum},
    {"tfl", "transpose_conv", planTransposeConv, opCopy, "f32 i8 u8", kSum},
    {"tfl", "max_pool_2d", planPool, windowMax, "f32 i8 u8 i16"},
    {"tfl", "average_pool_2d", planPool, windowAverage, "f32 i8 u8 i16", kSum},
    {"tfl", "l2_pool_2d", planPool, windowL2, "f32", kSum},

    {"tfl", "reshape", planReshape, opCopy, kAny},
    {"tfl", "squeeze", planReshape, opCopy, kAny},
    {"tfl", "expand_dims", planReshape, opCopy, kAny},
    {"tfl", "stablehlo_reshape", planReshape, opCopy, kAny},
    {"tfl", "bitcast", planReshape, opCopy, kAny},
    {"tfl", "concatenation", planMovement, opCopy, kAny},
    {"tfl", "pack", planMovement, opCopy, kAny},
    {"tfl", "unpack", planMovement, opCopy, kAny},
    {"tfl", "split", planMovement, opCopy, kAny},
    {"tfl", "split_v", planMovement, opCopy, kAny},
    {"tfl", "slice", planMovement, opCopy, kAny},
    {"tfl", "strided_slice", planMovement, opCopy, kAny},
    {"tfl", "dynamic_update_slice", planMovement, opCopy, kAny},
    {"tfl", "reverse_v2", planMovement, opCopy, kAny},
    {"tfl", "reverse_sequence", planMovement, opCopy, kAny},
    {"tfl", "gather", planMovement, opCopy, kAny},
    {"tfl", "gather_nd", planMovement, opCopy, kAny},
    {"tfl", "embedding_lookup", planMovement, opCopy, kAny},
    {"tfl", "transpose", planMovement, opCopy, kAny},
    {"tfl", "space_to_depth", planMovement, opCopy, kAny},
    {"tfl", "depth_to_space", planMovement, opCopy, kAny},
    {"tfl", "space_to_batch_nd", planMovement, opCopy, kAny},
    {"tfl", "batch_to_space_nd", planMovement, opCopy, kAny},
    {"tfl", "matrix_diag", planMovement, opCopy, kAny},
    {"tfl", "tile", planMovement, opCopy, kAny},
    {"tfl", "broadcast_to", planMovement, opCopy, kAny},
    {"tfl", "pad", planMovement, opCopy, kAny},
    {"tfl", "padv2", planMovement, opCopy, kAny},
    {"tfl", "mirror_pad", planMovement, opCopy, kAny},
    {"tfl", "resize_nearest_neighbor", planMovement, opCopy, kAny},
    {"tfl", "dilate", planMovement, opCopy, kAny},
    {"tfl", "stablehlo_pad", planMovement, opCopy, kAny},
    {"tfl", "stablehlo_slice", planMovement, opCopy, kAny},
    {"tfl", "stablehlo_transpose", planMovement, opCopy, kAny},
    {"tfl", "stablehlo_concatenate", planMovement, opCopy, kAny},
    {"tfl", "stablehlo_broadcast_in_dim", planMovement, opCopy, kAny},
    {"tfl", "stablehlo_dynamic_slice", planMovement, opCopy, kAny},
    {"tfl", "stablehlo_dynamic_update_slice", planMovement, opCopy, kAny},

    // TensorFlow's, where they compute the same. What treats not-numbers in another way (Maximum, Relu) is not here.
    {"tf", "Neg", planUnary, opNeg, "f32 i32 i64"},
    {"tf", "Abs", planUnary, opAbs, "f32 i32 i64"},
    {"tf", "Square", planUnary, opSquare, "f32 i32 i64"},
    {"tf", "Sqrt", planUnary, opSqrt, "f32", withinUlp(2)},
    {"tf", "Rsqrt", planUnary, opRsqrt, "f32", withinUlp(4)},
    {"tf", "Exp", planUnary, opExp, "f32", kFunction},
    {"tf", "Log", planUnary, opLog, "f32", kFunction},
    {"tf", "Ceil", planUnary, opCeil, "f32"},
    {"tf", "Floor", planUnary, opFloor, "f32"},
    {"tf", "Sigmoid", planUnary, opLogistic, "f32", kFunction},
    {"tf", "Tanh", planUnary, opTanh, "f32", kFunction},
    {"tf", "LogicalNot", planUnary, opNot, kTruth},
    {"tf", "Add", planBinary, opAdd, "f32 i32 i64"},
    {"tf", "AddV2", planBinary, opAdd, "f32 i32 i64"},
    {"tf", "Sub", planBinary, opSub, "f32 i32 i64"},
    {"tf", "Mul", planBinary, opMul, "f32 i32 i64"},
    {"tf", "RealDiv", planBinary, opDiv, "f32", withinUlp(1)},
    {"tf", "FloorDiv", planBinary, opFloorDiv, "i32 i64"},
    {"tf", "FloorMod", planBinary, opFloorMod, "i32 i64"},
    {"tf", "SquaredDifference", planBinary, opSquaredDifference, "f32 i32 i64"},
    {"tf", "Less", planBinary, opLess, "f32 i32 i64"},
    {"tf", "LessEqual", planBinary, opLessEqual, "f32 i32 i64"},
    {"tf", "Greater", planBinary, opGreater, "f32 i32 i64"},
    {"tf", "GreaterEqual", planBinary, opGreaterEqual, "f32 i32 i64"},
    {"tf", "LogicalAnd", planBinary, opAnd, kTruth},
    {"tf", "LogicalOr", planBinary, opOr, kTruth},
    {"tf", "Select", planSelect, opSelect, kAny},
    {"tf", "SelectV2", planSelect, opSelect, kAny},
    {"tf", "Reshape", planReshape, opCopy, kAny},
    {"tf", "Squeeze", planReshape, opCopy, kAny},
    {"tf", "ExpandDims", planReshape, opCopy, kAny},
    {"tf", "ConcatV2", planMovement, opCopy, kAny},
    {"tf", "Pack", planMovement, opCopy, kAny},
    {"tf", "Unpack", planMovement, opCopy, kAny},
    {"tf", "Split", planMovement, opCopy, kAny},
    {"tf", "SplitV", planMovement, opCopy, kAny},
    {"tf", "Slice", planMovement, opCopy, kAny},
    {"tf", "StridedSlice", planMovement, opCopy, kAny},
    {"tf", "ReverseV2", planMovement, opCopy, kAny},
    {"tf", "GatherV2", planMovement, opCopy, kAny},
    {"tf", "Transpose", planMovement, opCopy, kAny},
    {"tf", "Tile", planMovement, opCopy, kAny},
    {"tf", "BroadcastTo", planMovement, opCopy, kAny},
    {"tf", "Pad", planMovement, opCopy, kAny},
    {"tf", "PadV2", planMovement, opCopy, kAny},
    {"tf", "MirrorPad", planMovement, opCopy, kAny},
    {"tf", "SpaceToDepth", planMovement, opCopy, kAny},
    {"tf", "DepthToSpace", planMovement, opCopy, kAny},
    {"tf", "SpaceToBatchND", planMovement, opCopy, kAny},
    {"tf", "BatchToSpaceND", planMovement, opCopy, kAny},
};

Result<PreparedKernel> prepareLine(const KernelSetup& setup)
{
    const auto line = std::ranges::find_if(
        kLines, [&](const KernelLine& one) { return one.dialect == setup.op.kind.dialect && one.name == setup.op.kind.name; });
    if (attributeWord(setup.attributes(), "@place", "") == "cpu") return unsupported("placed there");
    for (const auto& tensors : {setup.inputs, setup.outputs})
        for (const Tensor* const tensor : tensors)
            if (tensor && bitWidth(tensor->dtype) < 8) return wrongDtypes(setup);
    return line->plan(setup, *line);
}

} // namespace

bool does(const KernelLine& line, DType dtype)
{
    const std::string_view name = dtypeName(dtype);
    for (size_t at = 0; at < line.dtypes.size();) {
        const size_t end = std::min(line.dtypes.find(' ', at), line.dtypes.size());
        if (line.dtypes.substr(at, end - at) == name) return true;
        at = end + 1;
    }
    return false;
}

Error wrongDtypes(const KernelSetup& setup)
{
    std::string text;
    for (size_t i = 0; i < setup.inputs.size(); ++i)
        text += (i > 0 ? ", " : "") + std::string(setup.inputs[i] ? dtypeName(setup.inputs[i]->dtype) : "_");
    text += " -> ";
    for (size_t k = 0; k < setup.outputs.size(); ++k) text += (k > 0 ? ", " : "") + std::string(dtypeName(setup.outputs[k]->dtype));
    return Error(ErrorCode::unsupported, "no kernel for these dtypes").found(text);
}

} // namespace vulkan

void registerVulkanKernels(KernelRegistry& registry)
{
    for (const vulkan::KernelLine& line : vulkan::kLines)
        registry.add({line.dialect, line.name, Profile::vulkan, vulkan::prepareLine, line.dtypes, line.bounds});
}

} // namespace loopscope
