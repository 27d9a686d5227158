// Which family an operator belongs to. The catalogue says it of those that it has; of the others (TensorFlow has about 1,900, most of them
// variants of few) the name tells: what it contains.
#include "viewer/scene/family.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

namespace loopscope::viewer {

namespace {

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
    {Family::arithmetic, "biasadd"},
    {Family::arithmetic, "clipbyvalue"},
    {Family::arithmetic, "shift"},
    {Family::matrix, "einsum"},
    {Family::reduction, "topk"},
    {Family::movement, "unique"},
};

} // namespace

Family familyOf(const Kind& kind)
{
    if (const std::optional<OpFamily> family = opFamily(kind)) return *family;
    if (kind.dialect == "custom") return Family::other;
    std::string lower(kind.name);
    std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    for (const Part& part : kParts)
        if (lower.find(part.part) != std::string::npos) return part.family;
    return Family::other;
}

} // namespace loopscope::viewer
