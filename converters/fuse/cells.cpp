#include "converters/fuse/cells.h"

#include "converters/fuse/site.h"

#include <algorithm>
#include <array>
#include <utility>

namespace loopscope::fusing {

namespace {

constexpr int kDeepestChain = 64;

bool isLastAxis(std::optional<int64_t> axis, const Shape& shape)
{
    return axis && (*axis == -1 || (shape.hasRank() ? *axis == shape.rank() - 1 : *axis == 1));
}

/// Whether a slice of a matrix takes all its rows, however many there are.
bool takesAllRows(const Graph& graph, const Operator& op, const Shape& whole, const Shape& part)
{
    if (whole[0] >= 0 && part[0] >= 0) return whole[0] == part[0];
    if (cellKind(op) == "strided_slice")
        return (attributeInt(op.attributes, "begin_mask", 0) & attributeInt(op.attributes, "end_mask", 0) & 1) != 0;
    const auto sizes = integersIn(graph, op.inputs[2]);
    return sizes && sizes->size() == 2 && sizes->front() == -1;
}

/// Where a slice of the last dimension begins; nothing: it is another slice.
std::optional<int64_t> sliceBegin(const Graph& graph, const Operator& op, const Shape& whole)
{
    const auto begin = integersIn(graph, op.inputs[1]);
    if (!begin || begin->size() != 2) return std::nullopt;
    if (cellKind(op) == "slice") return (*begin)[0] == 0 ? std::optional((*begin)[1]) : std::nullopt;
    const auto strides = integersIn(graph, op.inputs[3]);
    if (!strides || std::ranges::any_of(*strides, [](int64_t stride) { return stride != 1; })) return std::nullopt;
    if ((attributeInt(op.attributes, "begin_mask", 0) & 2) != 0) return 0;
    return (*begin)[1] + ((*begin)[1] < 0 ? whole[1] : 0);
}

} // namespace

ValueId behindIdentities(const Graph& graph, ValueId value)
{
    for (int depth = 0; depth < kDeepestChain && value.valid(); ++depth) {
        const Value& at = graph.value(value);
        if (at.role != ValueRole::result) break;
        const Operator& op = graph.op(at.producer);
        if (neutralKind(op.kind) != "identity" || op.inputs.size() != 1) break;
        value = op.inputs[0];
    }
    return value;
}

const Operator* producerIn(const Graph& graph, ValueId value)
{
    value = behindIdentities(graph, value);
    if (!value.valid() || graph.value(value).role != ValueRole::result || graph.value(value).slot != 0) return nullptr;
    return &graph.op(graph.value(value).producer);
}

const Operator* producerIn(const Graph& graph, ValueId value, std::string_view kind, size_t operands)
{
    const Operator* const op = producerIn(graph, value);
    const bool isSo = op != nullptr && cellKind(*op) == kind && op->inputs.size() == operands && activationOf(*op) == "NONE";
    return isSo ? op : nullptr;
}

std::optional<std::vector<int64_t>> integersIn(const Graph& graph, ValueId value)
{
    return storedIntegers(graph, behindIdentities(graph, value));
}

std::optional<Numbers> floatsIn(const Graph& graph, ValueId value)
{
    value = behindIdentities(graph, value);
    const Operator* const op = producerIn(graph, value);
    const bool widens = op != nullptr && op->inputs.size() == 1 && (cellKind(*op) == "dequantize" || cellKind(*op) == "cast");
    const ValueId from = widens ? behindIdentities(graph, op->inputs[0]) : value;
    if (!from.valid() || graph.value(from).type.dtype != (widens ? DType::f16 : DType::f32)) return std::nullopt;
    return storedFloats(graph, from);
}

std::string_view cellKind(const Operator& op)
{
    constexpr std::string_view kFlex = "Flex";
    if (op.kind.dialect == "custom" && op.kind.name.starts_with(kFlex)) return std::string_view(op.kind.name).substr(kFlex.size());
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kNames = {{{"Split", "split"},
                                                                                             {"StridedSlice", "strided_slice"},
                                                                                             {"Slice", "slice"},
                                                                                             {"Unpack", "unpack"},
                                                                                             {"Pack", "pack"},
                                                                                             {"Shape", "shape"},
                                                                                             {"ConcatV2", "concatenation"}}};
    const auto* const found = std::ranges::find(kNames, op.kind.name, &std::pair<std::string_view, std::string_view>::first);
    return found != kNames.end() ? found->second : neutralKind(op.kind);
}

std::vector<std::string> einsumLetters(const Operator& op)
{
    if (op.kind.name != "Einsum" || op.inputs.size() != 2) return {};
    const std::string_view equation = attributeString(op.attributes, "equation", "");
    std::vector<std::string> parts(1);
    for (const char c : equation) {
        if (c == ',' || c == '>') parts.emplace_back();
        else if (c != '-' && c != ' ') parts.back().push_back(c);
    }
    return parts.size() == 3 ? parts : std::vector<std::string>();
}

std::optional<WeightedProduct> weightedProduct(const Graph& graph, ValueId value, bool ignoresActivation)
{
    const Operator* const op = producerIn(graph, value);
    if (op == nullptr || op->inputs.size() < 2 || (!ignoresActivation && activationOf(*op) != "NONE")) return std::nullopt;
    const std::string_view kind = neutralKind(op->kind);
    const bool isDense = kind == "fully_connected", isOwn = op->kind.dialect == "tfl";
    if (!isDense && kind != "batch_matmul") return std::nullopt;
    WeightedProduct product = {behindIdentities(graph, op->inputs[0]), op->inputs[1], {}, false, false};
    if (isDense && isOwn) {
        if (attributeWord(op->attributes, "weights_format", "DEFAULT") != "DEFAULT") return std::nullopt;
        if (op->inputs.size() > 2) product.bias = op->inputs[2];
        product.isTurned = true;
        product.isAsymmetric = attributeBool(op->attributes, "asymmetric_quantize_inputs", false);
        return product;
    }
    if (attributeBool(op->attributes, isDense ? "transpose_a" : "adj_x", false)) return std::nullopt;
    product.isTurned = attributeBool(op->attributes, isDense ? "transpose_b" : "adj_y", false);
    return product;
}

SumPart partOfSum(const Graph& graph, ValueId value, int parts)
{
    value = behindIdentities(graph, value);
    if (!value.valid() || graph.value(value).role != ValueRole::result) return {};
    const Value& at = graph.value(value);
    const Operator& op = graph.op(at.producer);
    const std::string_view kind = cellKind(op);
    if (kind == "split") {
        if (op.inputs.size() != 2 || op.results.size() != static_cast<size_t>(parts)) return {};
        const auto axis = integersIn(graph, op.inputs[0]);
        if (!axis || axis->size() != 1 || !isLastAxis(axis->front(), graph.value(op.inputs[1]).type.shape)) return {};
        return {behindIdentities(graph, op.inputs[1]), at.slot};
    }
    const bool isSlice = kind == "strided_slice" ? op.inputs.size() == 4 : kind == "slice" && op.inputs.size() == 3;
    if (!isSlice) return {};
    const ValueId sum = behindIdentities(graph, op.inputs[0]);
    const Shape &whole = graph.value(sum).type.shape, &part = at.type.shape;
    if (!whole.hasRank() || !part.hasRank() || whole.rank() != 2 || part.rank() != 2) return {};
    if (part[1] * parts != whole[1] || part[1] <= 0 || !takesAllRows(graph, op, whole, part)) return {};
    const auto from = sliceBegin(graph, op, whole);
    return from && *from >= 0 && *from % part[1] == 0 ? SumPart{sum, static_cast<int>(*from / part[1])} : SumPart();
}

std::string unknownBatch(std::string_view what)
{
    return "the batch size of " + std::string(what) + " is unknown, which states of TFLite have to know: --batch-size N says it";
}

Numbers straightWeights(Numbers weights, bool isTurned)
{
    constexpr std::array kTurn = {1, 0};
    return isTurned && weights.shape.rank() == 2 ? transposed(weights, kTurn) : std::move(weights);
}

} // namespace loopscope::fusing
