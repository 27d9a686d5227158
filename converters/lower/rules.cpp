// Operators that TFLite has under another name: same operands in the same order, some of them indices that must be i32, and attributes
// under other keys. Everything else has a function in the other files.
#include "converters/lower/graph_lowering.h"

#include <algorithm>
#include <array>

namespace loopscope::lowering {

namespace {

struct Simple {
    std::string_view tf, tfl;
    std::string_view attributes = {}; ///< "N=values_count axis": key in TensorFlow = key in TFLite
    uint8_t indices = 0;              ///< bit i: operand i must be i32
};

constexpr std::array kSimple = {
    Simple{"Abs", "abs"},
    Simple{"Add", "add"},
    Simple{"AddV2", "add"},
    Simple{"All", "reduce_all", "keep_dims", 2},
    Simple{"Any", "reduce_any", "keep_dims", 2},
    Simple{"ArgMax", "arg_max", "output_type", 2},
    Simple{"ArgMin", "arg_min", "output_type", 2},
    Simple{"Atan2", "atan2"},
    Simple{"BatchToSpaceND", "batch_to_space_nd", "", 6},
    Simple{"BitwiseXor", "bitwise_xor"},
    Simple{"BroadcastArgs", "broadcast_args"},
    Simple{"BroadcastTo", "broadcast_to", "", 2},
    Simple{"Bucketize", "bucketize", "boundaries"},
    Simple{"Cast", "cast"},
    Simple{"Ceil", "ceil"},
    Simple{"ComplexAbs", "complex_abs"},
    Simple{"Cos", "cos"},
    Simple{"Cumsum", "cumsum", "exclusive reverse", 2},
    Simple{"DepthToSpace", "depth_to_space", "block_size"},
    Simple{"Div", "div"},
    Simple{"Elu", "elu"},
    Simple{"Equal", "equal"},
    Simple{"Exp", "exp"},
    Simple{"ExpandDims", "expand_dims", "", 2},
    Simple{"Fill", "fill", "", 1},
    Simple{"Floor", "floor"},
    Simple{"FloorDiv", "floor_div"},
    Simple{"FloorMod", "floor_mod"},
    Simple{"GatherNd", "gather_nd"},
    Simple{"Greater", "greater"},
    Simple{"GreaterEqual", "greater_equal"},
    Simple{"Imag", "imag"},
    Simple{"LRN", "local_response_normalization", "alpha beta bias depth_radius=radius"},
    Simple{"LeakyRelu", "leaky_relu", "alpha"},
    Simple{"Less", "less"},
    Simple{"LessEqual", "less_equal"},
    Simple{"Log", "log"},
    Simple{"LogSoftmax", "log_softmax"},
    Simple{"LogicalAnd", "logical_and"},
    Simple{"LogicalNot", "logical_not"},
    Simple{"LogicalOr", "logical_or"},
    Simple{"MatrixDiag", "matrix_diag"},
    Simple{"MatrixSetDiag", "matrix_set_diag"},
    Simple{"Max", "reduce_max", "keep_dims", 2},
    Simple{"Maximum", "maximum"},
    Simple{"Mean", "mean", "keep_dims", 2},
    Simple{"Min", "reduce_min", "keep_dims", 2},
    Simple{"Minimum", "minimum"},
    Simple{"Mul", "mul"},
    Simple{"Neg", "neg"},
    Simple{"NotEqual", "not_equal"},
    Simple{"OneHot", "one_hot", "axis", 2},
    Simple{"Pad", "pad", "", 2},
    Simple{"PadV2", "padv2", "", 2},
    Simple{"Pow", "pow"},
    Simple{"Prod", "reduce_prod", "keep_dims", 2},
    Simple{"Range", "range"},
    Simple{"Rank", "rank"},
    Simple{"Real", "real"},
    Simple{"RealDiv", "div"},
    Simple{"Relu", "relu"},
    Simple{"Relu6", "relu6"},
    Simple{"Reshape", "reshape", "", 2},
    Simple{"ResizeBilinear", "resize_bilinear", "align_corners half_pixel_centers"},
    Simple{"ResizeNearestNeighbor", "resize_nearest_neighbor", "align_corners half_pixel_centers"},
    Simple{"ReverseSequence", "reverse_sequence", "seq_dim batch_dim"},
    Simple{"ReverseV2", "reverse_v2", "", 2},
    Simple{"RightShift", "right_shift"},
    Simple{"Rint", "round"},
    Simple{"Round", "round"},
    Simple{"Rsqrt", "rsqrt"},
    Simple{"ScatterNd", "scatter_nd", "", 5},
    Simple{"SegmentSum", "segment_sum", "", 2},
    Simple{"Select", "select"},
    Simple{"SelectV2", "select_v2"},
    Simple{"Shape", "shape", "out_type"},
    Simple{"Sigmoid", "logistic"},
    Simple{"Sign", "sign"},
    Simple{"Sin", "sin"},
    Simple{"Slice", "slice", "", 6},
    Simple{"SpaceToBatchND", "space_to_batch_nd", "", 6},
    Simple{"SpaceToDepth", "space_to_depth", "block_size"},
    Simple{"SparseToDense", "sparse_to_dense"},
    Simple{"Split", "split", "num_split=num_splits", 1},
    Simple{"SplitV", "split_v", "num_split=num_splits", 6},
    Simple{"Sqrt", "sqrt"},
    Simple{"SquaredDifference", "squared_difference"},
    Simple{"Squeeze", "squeeze", "squeeze_dims"},
    Simple{"StridedSlice", "strided_slice", "begin_mask ellipsis_mask end_mask new_axis_mask shrink_axis_mask", 14},
    Simple{"Sub", "sub"},
    Simple{"Sum", "sum", "keep_dims", 2},
    Simple{"Tanh", "tanh"},
    Simple{"Tile", "tile", "", 2},
    Simple{"TopKV2", "topk_v2", "", 2},
    Simple{"Transpose", "transpose", "", 2},
    Simple{"TruncateDiv", "div"},
    Simple{"Unique", "unique", "out_idx=idx_out_type"},
    Simple{"UnsortedSegmentMax", "unsorted_segment_max", "", 6},
    Simple{"UnsortedSegmentMin", "unsorted_segment_min", "", 6},
    Simple{"UnsortedSegmentProd", "unsorted_segment_prod", "", 6},
    Simple{"UnsortedSegmentSum", "unsorted_segment_sum", "", 6},
    Simple{"Where", "where"},
    Simple{"ZerosLike", "zeros_like"},
};

const Simple* findSimple(std::string_view kind)
{
    const auto* const found = std::ranges::lower_bound(kSimple, kind, {}, &Simple::tf);
    return found != kSimple.end() && found->tf == kind ? found : nullptr;
}

AttributeList attributesOf(const Operator& op, std::string_view keys)
{
    AttributeList attributes;
    while (!keys.empty()) {
        const size_t end = std::min(keys.find(' '), keys.size());
        const std::string_view entry = keys.substr(0, end);
        keys.remove_prefix(std::min(end + 1, keys.size()));
        const size_t equals = entry.find('=');
        const std::string_view from = entry.substr(0, equals), to = equals == std::string_view::npos ? entry : entry.substr(equals + 1);
        if (const Attribute* const value = findAttribute(op.attributes, from)) setAttribute(attributes, std::string(to), *value);
    }
    return attributes;
}

} // namespace

bool isSimple(std::string_view kind) { return findSimple(kind) != nullptr; }

Status lowerSimple(GraphLowering& lowering)
{
    const Simple& simple = *findSimple(lowering.op().kind.name);
    std::vector<ValueId> inputs = lowering.inputs();
    for (size_t i = 0; i < inputs.size(); ++i)
        if ((simple.indices >> i & 1) != 0) {
            LS_TRY(inputs[i], lowering.asInt32(inputs[i]));
        }
    return lowering.finish(simple.tfl, std::move(inputs), attributesOf(lowering.op(), simple.attributes));
}

Rule findRule(std::string_view kind)
{
    for (const auto rules : {mathRules(), nnRules(), flowRules(), listRules(), scatterRules(), imageRules(), windowRules(), tableRules(),
                             einsumRules(), signalRules(), optimizerRules()})
        for (const NamedRule& rule : rules)
            if (rule.kind == kind) return rule.rule;
    return nullptr;
}

} // namespace loopscope::lowering
