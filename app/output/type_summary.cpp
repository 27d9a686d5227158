#include "app/output/type_summary.h"

#include "engine/base/text.h"
#include "engine/kernels/registry.h"
#include "engine/ops/catalog.h"
#include "engine/ops/op_traits.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace loopscope::app {

namespace {

std::string_view roleOf(const Value& value)
{
    if (value.role != ValueRole::constant) return "activations";
    return value.type.dtype == DType::i32 || value.type.dtype == DType::i64 ? "biases" : "weights";
}

QuantizationScheme schemeOf(const Value& value, const Quantization& q)
{
    QuantizationScheme scheme;
    scheme.role = roleOf(value);
    scheme.dtype = value.type.dtype;
    if (q.kind == Quantization::Kind::blockwise) {
        scheme.granularity = "in blocks of " + std::to_string(q.blockSize);
        scheme.symmetric = q.blockZeros < 0;
    } else if (q.kind == Quantization::Kind::custom) {
        scheme.granularity = "custom";
    } else {
        scheme.granularity = q.scales.size() > 1 ? "per channel" : "per tensor";
        const int64_t middle = value.type.dtype == DType::u8 ? 128 : 0;
        scheme.symmetric = std::ranges::all_of(q.zeroPoints, [&](int64_t zero) { return zero == middle; });
    }
    return scheme;
}

int roleRank(std::string_view role) { return role == "activations" ? 0 : role == "weights" ? 1 : 2; }

/// True for float activations on integer weights: an operand that is no constant is float, a quantized constant is not.
bool isHybrid(const Graph& graph, const Operator& op)
{
    if (!hasTrait(op.kind, OpTrait::integerWeights) || op.results.empty()) return false;
    if (!isFloat(graph.value(op.results[0]).type.dtype)) return false;
    return std::ranges::any_of(op.inputs, [&](ValueId id) {
        if (!id.valid()) return false;
        const Value& value = graph.value(id);
        return value.role == ValueRole::constant && value.type.quantization && bitWidth(value.type.dtype) > 0 &&
               bitWidth(value.type.dtype) <= 8 && value.type.dtype != DType::boolean;
    });
}

std::string countedKinds(const std::map<std::string, int64_t>& kinds)
{
    std::vector<std::string> parts;
    for (const auto& [kind, count] : kinds) parts.push_back((count > 1 ? std::to_string(count) + " " : "") + kind);
    return join(parts, ", ");
}

int64_t sumOf(const std::map<std::string, int64_t>& kinds)
{
    int64_t sum = 0;
    for (const auto& [kind, count] : kinds) sum += count;
    return sum;
}

std::string some(int64_t n, const std::string& what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); }

} // namespace

std::string upperKind(const Operator& op)
{
    if (op.kind.dialect == "custom") return op.kind.full();
    std::string name = op.kind.name;
    if (op.kind.dialect == "tfl" || op.kind.dialect == "circle")
        std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
    return name;
}

TypeSummary summarizeTypes(const Model& model)
{
    TypeSummary summary;
    if (model.dialect == Dialect::tf) return summary;
    std::map<DType, DTypeCount> dtypes;
    std::map<std::tuple<int, int, std::string, bool>, QuantizationScheme> schemes;
    std::set<const Constant*> counted;
    for (const Graph& graph : model.graphs) {
        for (const Value& value : graph.values) {
            if (value.role == ValueRole::absent) continue;
            DTypeCount& count = dtypes[value.type.dtype];
            count.dtype = value.type.dtype;
            ++(value.role == ValueRole::constant ? count.constants : count.values);
            if (value.constant && counted.insert(value.constant.get()).second) count.constantBytes += value.constant->size();
            const Quantization* q = value.type.quantization.get();
            if (q == nullptr || q->kind == Quantization::Kind::none) continue;
            QuantizationScheme scheme = schemeOf(value, *q);
            auto& known =
                schemes.try_emplace({roleRank(scheme.role), static_cast<int>(scheme.dtype), scheme.granularity, scheme.symmetric}, scheme)
                    .first->second;
            ++known.count;
        }
        for (const Operator& op : graph.operators) {
            if (isHybrid(graph, op)) ++summary.hybrid[upperKind(op)];
            const bool fromConstant = op.kind == Kind{"tfl", "dequantize"} && !op.inputs.empty() && op.inputs[0].valid() &&
                                      graph.value(op.inputs[0]).role == ValueRole::constant;
            summary.dequantizedConstants += fromConstant ? 1 : 0;
        }
    }
    for (auto& [dtype, count] : dtypes) summary.dtypes.push_back(count);
    std::ranges::stable_sort(summary.dtypes, std::greater<>(), [](const DTypeCount& c) { return c.values + c.constants; });
    for (auto& [key, scheme] : schemes) summary.schemes.push_back(std::move(scheme));
    std::ranges::stable_sort(summary.schemes, [](const QuantizationScheme& a, const QuantizationScheme& b) {
        return std::pair(roleRank(a.role), -a.count) < std::pair(roleRank(b.role), -b.count);
    });
    return summary;
}

Placement summarizePlacement(const Model& model)
{
    Placement placement;
    for (const Graph& graph : model.graphs)
        for (const Operator& op : graph.operators) {
            const OpDef* def = findOp(op.kind);
            const std::string kind = upperKind(op);
            if (op.kind.dialect == "custom") ++placement.custom[kind];
            if (def != nullptr && def->isCall) ++placement.interpreter[kind];
            else if (KernelRegistry::builtin().has(op.kind)) ++placement.kernels;
            else ++placement.nowhere[kind];
        }
    return placement;
}

std::string dtypesText(const TypeSummary& summary)
{
    std::vector<std::string> parts;
    for (const DTypeCount& count : summary.dtypes) {
        std::string part(dtypeName(count.dtype));
        if (count.values > 0) part += " " + some(count.values, "value");
        if (count.constants > 0)
            part += (count.values > 0 ? ", " : " ") + some(count.constants, "constant") + " (" + formatBytes(count.constantBytes) + ")";
        parts.push_back(std::move(part));
    }
    return join(parts, "; ");
}

std::string quantizationText(const TypeSummary& summary)
{
    std::vector<std::string> parts;
    std::string_view role;
    for (const QuantizationScheme& scheme : summary.schemes) {
        std::string part = scheme.role == role ? "" : std::string(scheme.role) + " ";
        role = scheme.role;
        part += std::to_string(scheme.count) + " " + std::string(dtypeName(scheme.dtype)) + " " + scheme.granularity;
        if (scheme.granularity != "custom") part += scheme.symmetric ? " symmetric" : " asymmetric";
        parts.push_back(std::move(part));
    }
    std::string text;
    for (const std::string& part : parts) text += (text.empty() ? "" : part[0] >= '0' && part[0] <= '9' ? ", " : "; ") + part;
    if (!summary.hybrid.empty())
        text += (text.empty() ? "" : "; ") + some(sumOf(summary.hybrid), "hybrid operator") + " (" + countedKinds(summary.hybrid) + ")";
    if (summary.dequantizedConstants > 0)
        text += (text.empty() ? "" : "; ") + some(summary.dequantizedConstants, "constant") + " made float before use (weights only)";
    return text;
}

std::string placementText(const Placement& placement)
{
    std::string text = "CPU: " + some(placement.kernels, "operator") + " with reference kernels";
    if (!placement.interpreter.empty())
        text += ", " + std::to_string(sumOf(placement.interpreter)) + " by the interpreter (" + countedKinds(placement.interpreter) + ")";
    if (!placement.nowhere.empty()) text += "; nowhere: " + countedKinds(placement.nowhere);
    std::map<std::string, int64_t> running = placement.custom;
    for (const auto& [kind, count] : placement.nowhere) running.erase(kind);
    if (!running.empty()) text += "; custom operators among them: " + countedKinds(running);
    return text;
}

} // namespace loopscope::app
