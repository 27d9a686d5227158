#include "viewer/compare/class_scores.h"

#include "engine/tensor/statistics.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace loopscope::viewer {

namespace {

constexpr int kMostHops = 8;
constexpr int64_t kFewestClasses = 2;

bool isOneOf(const std::string& kind, std::initializer_list<std::string_view> kinds)
{
    return std::ranges::find(kinds, kind) != kinds.end();
}

bool givesScores(const Graph& graph, const Operator& last)
{
    const Operator* op = &last;
    for (int hop = 0; hop < kMostHops; ++hop) {
        const std::string& kind = op->kind.name;
        if (isOneOf(kind, {"softmax", "logistic", "log_softmax", "Softmax", "Sigmoid", "LogSoftmax"})) return true;
        const bool passes =
            isOneOf(kind, {"reshape", "squeeze", "dequantize", "quantize", "cast", "Reshape", "Squeeze", "Identity", "Cast"});
        if (!passes || op->inputs.empty() || !op->inputs.front().valid()) return false;
        const OperatorId before = graph.value(op->inputs.front()).producer;
        if (!before.valid()) return false;
        op = &graph.op(before);
    }
    return false;
}

int64_t highest(const Tensor& tensor)
{
    int64_t best = -1;
    for (int64_t i = 0; i < tensor.elementCount(); ++i) {
        const double score = elementAsReal(tensor, i);
        if (!std::isnan(score) && (best < 0 || score > elementAsReal(tensor, best))) best = i;
    }
    return best;
}

} // namespace

bool isOfScores(const Graph& root, ValueId output)
{
    if (!output.valid()) return false;
    const Value& value = root.value(output);
    return value.producer.valid() && givesScores(root, root.op(value.producer));
}

std::vector<int> scoreRows(const Model& model, GraphId root, const Drift& drift)
{
    std::vector<int> rows;
    const Graph& graph = model.graph(root);
    for (const GraphOutput& output : graph.outputs) {
        if (!isOfScores(graph, output.value)) continue;
        const Value& value = graph.value(output.value);
        for (size_t r = 0; r < drift.rows.size(); ++r) {
            const DriftRow& row = drift.rows[r];
            const bool isOutput = row.graph == root && row.op == value.producer && row.slot == value.slot && row.writes == 1;
            if (isOutput && row.mismatch.empty() && row.elements >= kFewestClasses) rows.push_back(static_cast<int>(r));
        }
    }
    return rows;
}

std::optional<TopClasses> topClassesOf(const Tensor& here, const Tensor& there)
{
    const auto isVector = [](const Tensor& tensor) {
        return tensor.shape.isStatic() && tensor.shape.rank() > 0 && tensor.shape[tensor.shape.rank() - 1] == tensor.elementCount() &&
               (isFloat(tensor.dtype) || isInteger(tensor.dtype));
    };
    if (!isVector(here) || !isVector(there) || here.elementCount() != there.elementCount()) return std::nullopt;
    TopClasses top{here.elementCount(), highest(here), highest(there), {}, {}};
    if (top.here < 0 || top.there < 0) return std::nullopt;
    return top;
}

std::string labelOf(const std::vector<std::string>& labels, const TopClasses& top, int64_t index)
{
    const auto count = static_cast<int64_t>(labels.size());
    if (count != top.classes && count + 1 != top.classes) return {};
    const int64_t at = index - (top.classes - count);
    return at >= 0 && at < count ? labels[static_cast<size_t>(at)] : std::string();
}

} // namespace loopscope::viewer
