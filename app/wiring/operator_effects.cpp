#include "app/wiring/operator_effects.h"

#include "app/output/json_writer.h"
#include "engine/base/clock.h"
#include "engine/debug/reference/comparison_text.h"
#include "engine/exec/make_executor.h"
#include "engine/ir/ids.h"
#include "engine/kernels/registry.h"
#include "engine/tensor/compare.h"

#include <algorithm>
#include <cmath>

namespace loopscope::app {

namespace {

constexpr int64_t kMostNs = 10'000'000'000; ///< for all operators
constexpr size_t kTold = 5;

/// The outputs of a run of its own.
Result<std::vector<Array>> outputsOf(const ProofRequest& asked, const ExecutionOptions& options, std::span<const Array> inputs)
{
    LS_TRY(const std::unique_ptr<Executor> executor, makeExecutor(*asked.pair.model, asked.pair.target.graph, options));
    for (size_t i = 0; i < inputs.size(); ++i) LS_CHECK_OK(executor->setInput(static_cast<int>(i), inputs[i].view()));
    LS_CHECK_OK(executor->start());
    LS_CHECK_OK(executor->run());
    std::vector<Array> outputs;
    for (size_t k = 0; k < asked.pair.target.outputs.size(); ++k) outputs.push_back(copyOf(executor->output(static_cast<int>(k))));
    return outputs;
}

/// The profile that is not the reference's.
Profile otherProfile(const ProofRequest& asked) { return asked.profile == Profile::reference ? asked.options.profile : asked.profile; }

} // namespace

Result<OperatorEffects> operatorEffects(const ProofRequest& asked, std::span<const Array> inputs)
{
    OperatorEffects effects;
    const Profile other = otherProfile(asked);
    const bool isBesideReference = asked.profile == Profile::reference || asked.options.profile == Profile::reference;
    if (!isBesideReference || asked.profile == asked.options.profile || other == Profile::vulkan || asked.options.device) return effects;
    const KernelRegistry& kernels = KernelRegistry::builtin();
    const Model& model = *asked.pair.model;
    ExecutionOptions options = asked.options;
    options.profile = Profile::reference;
    LS_TRY(const std::vector<Array> wanted, outputsOf(asked, options, inputs));
    options.profile = other;
    const int64_t from = nowNs();
    for (size_t g = 0; g < model.graphs.size(); ++g) {
        const Graph& graph = model.graphs[g];
        for (size_t o = 0; o < graph.operators.size(); ++o) {
            const Operator& op = graph.operators[o];
            if (kernels.find(op.kind, other) == nullptr) continue;
            ++effects.total;
            if (nowNs() - from > kMostNs) continue;
            ++effects.tried;
            options.only = &op;
            LS_TRY(const std::vector<Array> got, outputsOf(asked, options, inputs));
            OperatorEffect effect{graph.id + "/" + operatorLabel(op, static_cast<int64_t>(o)), 0, 0, 0, kernelRemark(op, graph, other)};
            for (size_t k = 0; k < got.size(); ++k) {
                const Comparison figures = compareTensors(got[k].view(), wanted[k].view(), Tolerance());
                effect.maxAbs = figures.mismatch.empty() ? std::max(effect.maxAbs, figures.maxAbs) : INFINITY;
                effect.different += figures.different;
                effect.elements += figures.elements;
            }
            if (effect.different > 0 || std::isinf(effect.maxAbs)) effects.changing.push_back(std::move(effect));
        }
    }
    std::ranges::stable_sort(effects.changing, [](const OperatorEffect& a, const OperatorEffect& b) {
        return a.maxAbs != b.maxAbs ? a.maxAbs > b.maxAbs : a.different > b.different;
    });
    return effects;
}

std::vector<std::string> effectLines(const OperatorEffects& effects, const std::string& known)
{
    std::vector<std::string> lines, reasons = {known};
    if (effects.total == 0) return lines;
    std::string head = "what one operator alone does to the outputs";
    if (effects.tried < effects.total)
        head += ", of the first " + std::to_string(effects.tried) + " of " + std::to_string(effects.total) + " operators";
    lines.push_back(head + (effects.changing.empty() ? ": nothing" : ":"));
    size_t widest = 0;
    const size_t told = std::min(kTold, effects.changing.size());
    for (size_t i = 0; i < told; ++i) widest = std::max(widest, effects.changing[i].place.size());
    for (size_t i = 0; i < told; ++i) {
        const OperatorEffect& effect = effects.changing[i];
        std::string line = "  " + effect.place;
        line.resize(widest + 4, ' ');
        line += "max |a - b| " + differenceText(effect.maxAbs);
        line += ", " + std::to_string(effect.different) + " of " + std::to_string(effect.elements) + " elements differ";
        lines.push_back(std::move(line));
        if (effect.why.empty() || std::ranges::find(reasons, effect.why) != reasons.end()) continue;
        lines.push_back("    " + effect.why);
        reasons.push_back(effect.why);
    }
    const auto counted = [&](int64_t count, const char* what) {
        if (count > 0) lines.push_back("  " + std::to_string(count) + (count == 1 ? " other " : " others ") + what);
    };
    counted(std::ssize(effects.changing) - static_cast<int64_t>(told), "less");
    counted(effects.tried - std::ssize(effects.changing), "nothing");
    return lines;
}

void addEffects(JsonWriter& json, const OperatorEffects& effects)
{
    if (effects.total == 0) return;
    json.key("effects").beginArray();
    for (const OperatorEffect& effect : effects.changing) {
        json.beginObject().key("address").value(effect.place).key("max_abs").value(effect.maxAbs).key("different").value(effect.different);
        json.key("elements").value(effect.elements).key("why").value(effect.why).endObject();
    }
    json.endArray().key("tried").value(effects.tried).key("of").value(effects.total);
}

} // namespace loopscope::app
