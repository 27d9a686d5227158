// Which family an operator belongs to: a table of names, one line per family. TFLite and Circle names are looked up as they are written
// (StableHLO ones without their prefix), TensorFlow names in lower case and, where the table does not know them, by what they contain:
// TensorFlow has about 1,900 operators, most of them variants of few.
#include "viewer/scene/family.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <unordered_map>

namespace loopscope::viewer {

namespace {

struct Entry {
    Family family;
    std::string_view names;
};

constexpr Entry kTable[] = {
    {Family::matrix,
     "conv_2d depthwise_conv_2d transpose_conv conv_3d conv_3d_transpose fully_connected batch_matmul lstm unidirectional_sequence_lstm "
     "bidirectional_sequence_lstm rnn unidirectional_sequence_rnn bidirectional_sequence_rnn svdf dot_general convolution "
     "bcq_fully_connected "
     "gru embedding_lookup embedding_lookup_sparse dilate "
     "conv conv2d dilation2d depthwiseconv2dnative conv3d matmul batchmatmul batchmatmulv2 batchmatmulv3 einsum sparsematmul xlaeinsum"},
    {Family::arithmetic,
     "add sub mul div add_n floor_div floor_mod pow maximum minimum squared_difference atan2 equal not_equal less less_equal greater "
     "greater_equal logical_and logical_or logical_not neg abs sqrt rsqrt square exp log sin cos ceil floor round sign bitwise_xor "
     "right_shift select select_v2 zeros_like complex_abs real imag rfft2d "
     "multiply subtract divide negate power remainder and or not compare clamp cosine sine exponential shift_left "
     "shift_right_logical cbrt expm1 log1p "
     "addv2 realdiv mulnonan divnonan truncatediv mod truncatemod xdivy xlogy bitwiseand bitwiseor bitwisexor leftshift rightshift invert "
     "approximateequal lessequal greaterequal notequal logicaland logicalor logicalnot isfinite isinf isnan reciprocal inv sinh cosh tan "
     "asin acos atan asinh acosh atanh erf erfc erfinv lgamma digamma besseli0 besseli0e besseli1 besseli1e igamma igammac zeta polygamma "
     "betainc ndtri rint biasadd "
     "biasaddv1 addn accumulatenv2 squareddifference floordiv "
     "floormod zeroslike oneslike selectv2 refselect clipbyvalue adjusthue adjustsaturation adjustcontrastv2 complex countupto cross conj "
     "angle "
     "complexabs l2loss checknumerics"},
    {Family::activation,
     "relu relu6 relu_n1_to_1 relu_0_to_1 leaky_relu elu prelu gelu hard_swish logistic tanh softmax log_softmax l2_normalization "
     "local_response_normalization instance_norm rms_norm rope "
     "sigmoid selu softplus softsign logsoftmax leakyrelu lrn fusedbatchnorm fusedbatchnormv2 fusedbatchnormv3 "
     "batchnormwithglobalnormalization"},
    {Family::reduction,
     "mean sum reduce_max reduce_min reduce_prod reduce_any reduce_all arg_max arg_min cumsum average_pool_2d max_pool_2d l2_pool_2d "
     "reduce_window segment_sum unsorted_segment_sum unsorted_segment_prod unsorted_segment_max unsorted_segment_min topk_v2 reduce sort "
     "prod max min all any argmax argmin avgpool avgpool3d maxpool maxpool3d maxpoolv2 euclideannorm cumprod cumulativelogsumexp bincount "
     "densebincount raggedbincount editdistance topk "
     "topkv2 non_max_suppression_v4 non_max_suppression_v5"},
    {Family::movement,
     "reshape bcq_gather squeeze expand_dims shape rank densify concatenation split split_v pack unpack slice strided_slice "
     "dynamic_update_slice reverse_v2 reverse_sequence gather gather_nd scatter_nd sparse_to_dense transpose space_to_depth depth_to_space "
     "space_to_batch_nd batch_to_space_nd matrix_diag matrix_set_diag tile broadcast_to broadcast_args pad padv2 mirror_pad "
     "resize_bilinear "
     "drawboundingboxes drawboundingboxesv2 scaleandtranslate unravelindex raggedgather unicodetranscode resize_nearest_neighbor where "
     "one_hot unique fill range scatter broadcast_in_dim concatenate dynamic_slice iota "
     "concat concatv2 splitv identity identityn stopgradient preventgradient snapshot stridedslice reversev2 reverse "
     "reversesequence roll mirrorpad expanddims broadcastto gathernd gatherv2 scatternd onehot size shapen tensorscatterupdate "
     "tensorscatteradd tensorscattersub dynamicstitch dynamicpartition paralleldynamicstitch resizebilinear resizenearestneighbor "
     "spacetodepth depthtospace spacetobatch spacetobatchnd batchtospace batchtospacend linspace diag matrixdiag matrixsetdiag empty "
     "ensureshape placeholderwithdefault uniquev2 broadcastargs broadcastgradientargs invertpermutation matrixdiagv3 matrixdiagpartv3 "
     "matrixsetdiagv3 diagpart matrixdiagv2 matrixdiagpart matrixdiagpartv2 matrixsetdiagv2 matrixbandpart uniquewithcounts "
     "conjugatetranspose listdiff extractimagepatches refidentity"},
    {Family::controlFlow,
     "while if case call call_once composite custom_call switch merge enter exit nextiteration loopcond refswitch refmerge refenter "
     "refexit "
     "refnextiteration _switchn controltrigger abort for statelesswhile statelessif statelesscase partitionedcall statefulpartitionedcall "
     "remotecall symbolicgradient noop assert send recv _send _recv _hostsend _hostrecv deviceindex tobool"},
    {Family::conversion, "quantize dequantize cast fake_quant bitcast convert uniform_quantize uniform_dequantize bitcast_convert "
                         "bucketize parseexample parseexamplev2 "
                         "parsesingleexample"},
    {Family::state,
     "var_handle read_variable assign_variable const placeholder placeholderv2 fakeparam variable variablev2 varhandleop readvariableop "
     "readfile "
     "assignvariableop assignaddvariableop assignsubvariableop assign assignadd assignsub temporaryvariable destroytemporaryvariable "
     "isvariableinitialized varisinitializedop optimization_barrier"},
    {Family::other,
     "hashtable hashtable_find hashtable_import hashtable_size hashtable_lookup custom random_uniform random_standard_normal multinomial "
     "rng_bit_generator lsh_projection skip_gram delegate ngrams regexreplace staticregexreplace regexfullmatch staticregexfullmatch"},
};

struct Part {
    Family family;
    std::string_view part;
};

/// In order: the first that is contained decides.
constexpr Part kParts[] = {
    {Family::other, "string"},
    {Family::other, "hashtable"},
    {Family::other, "lookuptable"},
    {Family::other, "random"},
    {Family::other, "dataset"},
    {Family::other, "iterator"},
    {Family::other, "summary"},
    {Family::other, "regex"},
    {Family::state, "tensorarray"},
    {Family::state, "tensorlist"},
    {Family::state, "stack"},
    {Family::state, "queue"},
    {Family::state, "barrier"},
    {Family::state, "stage"},
    {Family::state, "variable"},
    {Family::state, "accumulator"},
    {Family::state, "resource"},
    {Family::state, "optional"},
    {Family::state, "compositetensor"},
    {Family::conversion, "quantize"},
    {Family::conversion, "fakequant"},
    {Family::conversion, "decode"},
    {Family::conversion, "encode"},
    {Family::matrix, "conv2d"},
    {Family::matrix, "conv3d"},
    {Family::matrix, "matmul"},
    {Family::matrix, "lstm"},
    {Family::matrix, "gru"},
    {Family::matrix, "rnn"},
    {Family::matrix, "cholesky"},
    {Family::matrix, "svd"},
    {Family::matrix, "matrixinverse"},
    {Family::matrix, "determinant"},
    {Family::matrix, "matrixsolve"},
    {Family::matrix, "triangularsolve"},
    {Family::reduction, "pool"},
    {Family::reduction, "segment"},
    {Family::reduction, "reduce"},
    {Family::reduction, "suppression"},
    {Family::activation, "softmax"},
    {Family::activation, "relu"},
    {Family::activation, "batchnorm"},
    {Family::activation, "sigmoid"},
    {Family::activation, "tanhgrad"},
    {Family::activation, "softplus"},
    {Family::activation, "elugrad"},
    {Family::movement, "scatter"},
    {Family::movement, "gather"},
    {Family::movement, "slice"},
    {Family::movement, "concat"},
    {Family::movement, "resize"},
    {Family::movement, "pad"},
    {Family::movement, "ragged"},
    {Family::movement, "sparse"},
    {Family::arithmetic, "apply"},
    {Family::arithmetic, "xlog1py"},
    {Family::arithmetic, "nextafter"},
    {Family::arithmetic, "populationcount"},
    {Family::conversion, "rgbtohsv"},
    {Family::conversion, "hsvtorgb"},
    {Family::reduction, "lowerbound"},
    {Family::reduction, "upperbound"},
    {Family::reduction, "histogram"},
    {Family::reduction, "intopk"},
    {Family::arithmetic, "grad"},
    {Family::arithmetic, "fft"},
};

const std::unordered_map<std::string_view, Family>& table()
{
    static const std::unordered_map<std::string_view, Family> map = [] {
        std::unordered_map<std::string_view, Family> result;
        for (const Entry& entry : kTable)
            for (size_t begin = 0; begin < entry.names.size();) {
                const size_t end = std::min(entry.names.find(' ', begin), entry.names.size());
                if (end > begin) result.emplace(entry.names.substr(begin, end - begin), entry.family);
                begin = end + 1;
            }
        return result;
    }();
    return map;
}

} // namespace

std::string_view familyName(Family family)
{
    constexpr std::string_view names[kFamilyCount] = {"matrix",       "arithmetic", "activation", "reduction", "movement",
                                                      "control flow", "conversion", "state",      "other"};
    return names[static_cast<size_t>(family)];
}

Family familyOf(const Kind& kind)
{
    if (kind.dialect == "custom") return Family::other;
    std::string_view name = kind.name;
    if (name.starts_with("stablehlo_")) name.remove_prefix(10);
    if (kind.dialect != "tf") {
        const auto found = table().find(name);
        return found == table().end() ? Family::other : found->second;
    }
    std::string lower(name);
    std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (const auto found = table().find(lower); found != table().end()) return found->second;
    for (const Part& part : kParts)
        if (lower.find(part.part) != std::string::npos) return part.family;
    return Family::other;
}

} // namespace loopscope::viewer
