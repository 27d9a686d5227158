#include "app/check/profile_bounds.h"

#include "engine/kernels/registry.h"

#include <algorithm>
#include <sstream>

namespace loopscope::app {

std::vector<Profile> furtherProfiles(const Model& model)
{
    std::vector<Profile> profiles;
    for (const Profile profile : {Profile::fast}) {
        const auto has = [&](const Operator& op) { return KernelRegistry::builtin().find(op.kind, profile) != nullptr; };
        if (std::ranges::any_of(model.graphs, [&](const Graph& graph) { return std::ranges::any_of(graph.operators, has); }))
            profiles.push_back(profile);
    }
    return profiles;
}

namespace {

/// Floats on integer weights: the operator quantizes its operand by the operand's own range, to 8 bits.
bool quantizesOnTheFly(const Graph& graph, const Operator& op)
{
    if (op.inputs.size() < 2 || !op.inputs[0].valid() || !op.inputs[1].valid()) return false;
    const TensorType &first = graph.value(op.inputs[0]).type, &second = graph.value(op.inputs[1]).type;
    return first.dtype == DType::f32 && (second.dtype == DType::i8 || second.dtype == DType::i4) && second.quantization != nullptr;
}

} // namespace

ErrorBound profileBound(const Model& model, Profile profile, DType dtype)
{
    ErrorBound bound;
    if (profile == Profile::reference) return bound;
    for (const Graph& graph : model.graphs)
        for (const Operator& op : graph.operators)
            if (const KernelEntry* const entry = KernelRegistry::builtin().find(op.kind, profile))
                bound = widest(bound, entry->bounds.of(dtype));
    if (bound.isExact()) return bound;
    // The least difference before such an operator may turn into a whole step behind it.
    constexpr ErrorBound kOneStep = withinOfLargest(1.0 / 127);
    for (const Graph& graph : model.graphs)
        for (const Operator& op : graph.operators)
            if (quantizesOnTheFly(graph, op)) return widest(bound, kOneStep);
    return bound;
}

std::optional<std::vector<std::string>> namedProfiles(const LtestCase& test, std::string& unknown)
{
    std::optional<std::vector<std::string>> names;
    for (const LtestSection& section : test.sections) {
        const std::string value = section.name == "run" ? section.value("profile", "all") : "all";
        if (value == "all") continue;
        if (!names) names.emplace();
        std::istringstream words(value);
        for (std::string name; std::getline(words, name, ',');) {
            if (name != "reference" && name != "fast" && name != "xnnpack" && name != "vulkan") unknown = name;
            names->push_back(name);
        }
    }
    return names;
}

} // namespace loopscope::app
