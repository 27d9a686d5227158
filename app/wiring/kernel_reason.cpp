#include "app/wiring/kernel_reason.h"

#include "engine/tensor/value_text.h"

#include <algorithm>
#include <cmath>

namespace loopscope::app {

namespace {

/// How many channels the weights of an operator have scales for; 0: not more than one.
int64_t channelsOf(const Operator& op, const Graph& graph)
{
    for (const ValueId input : op.inputs) {
        if (!input.valid()) continue;
        const QuantizationPtr& scales = graph.value(input).type.quantization;
        if (scales && scales->kind == Quantization::Kind::affine && scales->scales.size() > 1) return std::ssize(scales->scales);
    }
    return 0;
}

/// The channel of an element: results have theirs along the last dimension.
int64_t channelAt(const Operator& op, const Graph& graph, int64_t element)
{
    const int64_t channels = channelsOf(op, graph);
    const Shape& shape = graph.value(op.results.front()).type.shape;
    const int64_t last = shape.hasRank() && shape.rank() > 0 ? shape[shape.rank() - 1] : -1;
    return channels > 0 && element >= 0 && (last < 0 || last == channels) ? element % channels : -1;
}

} // namespace

std::string kernelRemark(const Operator& op, const Graph& graph, Profile profile)
{
    const KernelEntry* const entry = profile == Profile::reference ? nullptr : KernelRegistry::builtin().find(op.kind, profile);
    if (!entry || entry->bounds.remark.empty()) return {};
    const bool givesFloats = !op.results.empty() && isFloat(graph.value(op.results.front()).type.dtype);
    std::string_view remark = entry->bounds.remark; // of integers; of floats
    if (const size_t at = remark.find("; "); at != std::string_view::npos)
        remark = givesFloats ? remark.substr(at + 2) : remark.substr(0, at);
    return std::string(profileName(profile)) + "'s " + op.kind.name + ": " + std::string(remark);
}

double stepsOf(const TensorType& type, const Comparison& figures)
{
    const QuantizationPtr& scales = type.quantization;
    if (!scales || !scales->isPerTensor() || !(scales->scale() > 0)) return 0;
    return std::abs(figures.got - figures.want) / static_cast<double>(scales->scale());
}

std::string stepCount(double steps)
{
    const double whole = std::round(steps);
    const double told = std::abs(steps - whole) < 1e-3 * std::max(1.0, whole) ? whole : steps; // of integers all are
    return realText(told, 3) + (told == 1 ? " step" : " steps");
}

std::string stepsText(const Operator& op, const Graph& graph, const Comparison& figures)
{
    if (op.results.empty() || figures.worst < 0 || !figures.mismatch.empty()) return {};
    const double steps = stepsOf(graph.value(op.results.front()).type, figures);
    const int64_t channel = channelAt(op, graph, figures.worst);
    std::string text = steps > 0 ? stepCount(steps) : "";
    if (channel >= 0) text += (text.empty() ? "most at channel " : " at channel ") + std::to_string(channel);
    return text;
}

std::string kernelReason(std::string remark, const std::string& steps)
{
    if (!remark.empty() && !steps.empty()) remark += "; ";
    return remark + steps;
}

} // namespace loopscope::app
