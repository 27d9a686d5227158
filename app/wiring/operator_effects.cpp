#include "app/wiring/operator_effects.h"

#include "app/output/json_writer.h"
#include "app/wiring/kernel_reason.h"
#include "engine/base/clock.h"
#include "engine/debug/reference/comparison_text.h"
#include "engine/exec/make_executor.h"
#include "engine/ir/ids.h"
#include "engine/kernels/registry.h"
#include "engine/observe/execution_observer.h"
#include "engine/tensor/compare.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace loopscope::app {

namespace {

constexpr int64_t kMostNs = 10'000'000'000; ///< for all operators
constexpr size_t kTold = 5;

/// What some operators give the first time that they run.
class FirstResults final : public ExecutionObserver {
public:
    void want(GraphId graph, OperatorId op) { m_results[{graph.index, op.index}]; }
    const Array* of(GraphId graph, OperatorId op) const
    {
        const auto found = m_results.find({graph.index, op.index});
        return found == m_results.end() || !found->second ? nullptr : &*found->second;
    }
    void operatorExecuted(const OperatorEvent& e) override
    {
        const auto found = m_results.find({e.graph.index, e.op.index});
        if (found == m_results.end() || found->second || e.results.empty() || !e.results[0] || !e.results[0]->data) return;
        found->second = copyOf(*e.results[0]);
    }

private:
    std::map<std::pair<int32_t, int32_t>, std::optional<Array>> m_results;
};

/// The outputs of a run of its own.
Result<std::vector<Array>> outputsOf(const ProofRequest& asked, const ExecutionOptions& options, std::span<const Array> inputs,
                                     ExecutionObserver* observer = nullptr)
{
    LS_TRY(const std::unique_ptr<Executor> executor, makeExecutor(*asked.pair.model, asked.pair.target.graph, options));
    for (size_t i = 0; i < inputs.size(); ++i) LS_CHECK_OK(executor->setInput(static_cast<int>(i), inputs[i].view()));
    executor->setObserver(observer);
    LS_CHECK_OK(executor->start());
    LS_CHECK_OK(executor->run());
    std::vector<Array> outputs;
    for (size_t k = 0; k < asked.pair.target.outputs.size(); ++k) outputs.push_back(copyOf(executor->output(static_cast<int>(k))));
    return outputs;
}

/// With the type that the model says, so that steps become real numbers.
Tensor viewAs(const Array& array, const TensorType& type)
{
    Tensor view = array.view();
    if (view.dtype == type.dtype) view.quantization = type.quantization.get();
    return view;
}

/// The profile that is not the reference's.
Profile otherProfile(const ProofRequest& asked) { return asked.profile == Profile::reference ? asked.options.profile : asked.profile; }

/// What the outputs become.
void measure(OperatorEffect& effect, const ProofRequest& asked, const std::vector<Array>& got, const std::vector<Array>& wanted)
{
    const Graph& graph = asked.pair.model->graph(asked.pair.target.graph);
    for (size_t k = 0; k < got.size(); ++k) {
        const TensorType& type = graph.value(asked.pair.target.outputs[k].value).type;
        const Comparison figures = compareTensors(viewAs(got[k], type), viewAs(wanted[k], type), Tolerance());
        effect.maxAbs = figures.mismatch.empty() ? std::max(effect.maxAbs, figures.maxAbs) : INFINITY;
        effect.steps = std::max(effect.steps, stepsOf(type, figures));
        effect.different += figures.different;
        effect.elements += figures.elements;
    }
}

/// Of the operators that change most: by how much their own results differ, all before them being the same.
Status explain(OperatorEffects& effects, const ProofRequest& asked, ExecutionOptions options, Profile other, std::span<const Array> inputs,
               int64_t until)
{
    const size_t told = std::min(kTold, effects.changing.size());
    if (told == 0) return {};
    FirstResults wanted;
    for (size_t i = 0; i < told; ++i) wanted.want(effects.changing[i].graph, effects.changing[i].op);
    options.only = nullptr;
    options.profile = Profile::reference;
    LS_TRY([[maybe_unused]] const std::vector<Array> reference, outputsOf(asked, options, inputs, &wanted));
    options.profile = other;
    for (size_t i = 0; i < told && nowNs() < until; ++i) {
        OperatorEffect& effect = effects.changing[i];
        const Graph& graph = asked.pair.model->graph(effect.graph);
        const Operator& op = graph.op(effect.op);
        FirstResults own;
        own.want(effect.graph, effect.op);
        options.only = &op;
        LS_TRY([[maybe_unused]] const std::vector<Array> outputs, outputsOf(asked, options, inputs, &own));
        const Array* const got = own.of(effect.graph, effect.op);
        const Array* const want = wanted.of(effect.graph, effect.op);
        if (!got || !want) continue;
        const TensorType& type = graph.value(op.results.front()).type;
        effect.apart = stepsText(op, graph, compareTensors(viewAs(*got, type), viewAs(*want, type), Tolerance()));
    }
    return {};
}

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
            OperatorEffect effect;
            effect.place = graph.id + "/" + operatorLabel(op, static_cast<int64_t>(o));
            effect.graph = GraphId(static_cast<int64_t>(g));
            effect.op = OperatorId(static_cast<int64_t>(o));
            effect.why = kernelRemark(op, graph, other);
            measure(effect, asked, got, wanted);
            if (effect.different > 0 || std::isinf(effect.maxAbs)) effects.changing.push_back(std::move(effect));
        }
    }
    std::ranges::stable_sort(effects.changing, [](const OperatorEffect& a, const OperatorEffect& b) {
        return a.maxAbs != b.maxAbs ? a.maxAbs > b.maxAbs : a.different > b.different;
    });
    LS_CHECK_OK(explain(effects, asked, options, other, inputs, from + kMostNs));
    return effects;
}

std::string changeText(const OperatorEffect& effect)
{
    return differenceText(effect.maxAbs) + (effect.steps > 0 ? " (" + stepCount(effect.steps) + ")" : "");
}

std::vector<std::string> effectLines(const OperatorEffects& effects, const std::string& known)
{
    std::vector<std::string> lines, reasons;
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
        line += "max |a - b| " + changeText(effect);
        line += ", " + std::to_string(effect.different) + " of " + std::to_string(effect.elements) + " elements differ";
        if (!effect.apart.empty()) line += "; its own result: " + effect.apart;
        lines.push_back(std::move(line));
        if (effect.why.empty() || known.starts_with(effect.why) || std::ranges::find(reasons, effect.why) != reasons.end()) continue;
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
        json.key("steps");
        effect.steps > 0 ? json.value(effect.steps) : json.null();
        json.key("elements").value(effect.elements).key("why").value(kernelReason(effect.why, effect.apart)).endObject();
    }
    json.endArray().key("tried").value(effects.tried).key("of").value(effects.total);
}

} // namespace loopscope::app
