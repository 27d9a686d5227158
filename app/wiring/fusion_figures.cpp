#include "app/wiring/fusion_figures.h"

#include "app/wiring/model_summary.h"
#include "app/wiring/operator_work.h"
#include "engine/exec/make_executor.h"
#include "engine/observe/execution_observer.h"
#include "engine/ops/catalog.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <vector>

namespace loopscope::app {

namespace {

constexpr int kRuns = 7;

/// What operators did first in each graph: shapes of values, and the order.
class ShapeKeeper final : public ExecutionObserver {
public:
    struct Seen {
        std::vector<Tensor> values;    ///< without data
        std::vector<OperatorId> order; ///< each operator once
        std::vector<bool> ran;
    };

    explicit ShapeKeeper(const Model& model) : m_model(model) {}

    Seen& of(GraphId id)
    {
        Seen& seen = m_seen[id.index];
        const Graph& graph = m_model.graph(id);
        if (seen.ran.empty()) {
            seen.ran.resize(graph.operators.size());
            seen.values.reserve(graph.values.size());
            for (const Value& value : graph.values) {
                seen.values.push_back(declaredTensor(value));
                seen.values.back().data = nullptr;
            }
        }
        return seen;
    }

    void operatorExecuted(const OperatorEvent& e) override
    {
        if (e.state != EventState::live || !m_model.hasGraph(e.graph)) return;
        const Operator& op = m_model.graph(e.graph).op(e.op);
        Seen& seen = of(e.graph);
        const auto at = static_cast<size_t>(e.op.index);
        if (at >= seen.ran.size() || seen.ran[at]) return;
        seen.ran[at] = true;
        seen.order.push_back(e.op);
        for (size_t k = 0; k < op.results.size() && k < e.results.size(); ++k)
            if (op.results[k].valid() && e.results[k] != nullptr) note(seen, op.results[k], *e.results[k]);
    }

    static void note(Seen& seen, ValueId id, const Tensor& tensor)
    {
        Tensor& kept = seen.values[static_cast<size_t>(id.index)];
        kept.dtype = tensor.dtype;
        kept.shape = tensor.shape;
        kept.bytes = tensor.bytes;
    }

    const std::map<int64_t, Seen>& seen() const { return m_seen; }

private:
    const Model& m_model;
    std::map<int64_t, Seen> m_seen;
};

/// TensorFlow writes values as nodes.
bool isValueNode(const Operator& op)
{
    return op.kind.dialect == "tf" && (op.kind.name == "Const" || op.kind.name.starts_with("Placeholder"));
}

std::set<int64_t> graphsReached(const Model& model, GraphId root)
{
    std::set<int64_t> reached;
    std::vector<GraphId> open = {root};
    while (!open.empty()) {
        const GraphId id = open.back();
        open.pop_back();
        if (!model.hasGraph(id) || !reached.insert(id.index).second) continue;
        for (const Operator& op : model.graph(id).operators)
            for (const Callee& callee : calleesOf(op)) open.push_back(callee.graph);
    }
    return reached;
}

void countWhatIsThere(const Model& model, GraphId root, FusionFigures& figures)
{
    std::set<const Constant*> counted;
    const auto add = [&](const Constant& constant) {
        if (counted.insert(&constant).second) figures.constantBytes += static_cast<int64_t>(constant.size());
    };
    for (const int64_t index : graphsReached(model, root)) {
        const Graph& graph = model.graph(GraphId(index));
        for (const Operator& op : graph.operators) {
            if (!isValueNode(op)) ++figures.operators;
            if (op.kind.dialect != "tf") continue;
            for (const TensorAttribute* const tensor : tensorsOfNode(op)) add(*tensor->data);
        }
        for (const Value& value : graph.values)
            if (value.constant) add(*value.constant);
    }
}

/// Bytes of results that are alive at once: from the operator that computes them to the last one that reads them, or to the end.
int64_t peakOf(const Graph& graph, const ShapeKeeper::Seen& seen)
{
    std::vector<size_t> last(graph.values.size(), 0);
    for (size_t at = 0; at < seen.order.size(); ++at) {
        const Operator& op = graph.op(seen.order[at]);
        for (const std::vector<ValueId>* const ids : {&op.inputs, &op.results})
            for (const ValueId id : *ids)
                if (id.valid()) last[static_cast<size_t>(id.index)] = at;
    }
    for (const GraphOutput& output : graph.outputs)
        if (output.value.valid()) last[static_cast<size_t>(output.value.index)] = seen.order.size();
    std::vector<int64_t> ends(seen.order.size() + 1, 0);
    int64_t alive = 0, most = 0;
    const auto begin = [&](ValueId id) {
        const auto bytes = static_cast<int64_t>(seen.values[static_cast<size_t>(id.index)].bytes);
        alive += bytes;
        ends[last[static_cast<size_t>(id.index)]] += bytes;
    };
    for (const ValueId id : graph.inputs) begin(id);
    for (size_t at = 0; at < seen.order.size(); ++at) {
        const Operator& op = graph.op(seen.order[at]);
        if (!isValueNode(op))
            for (const ValueId id : op.results)
                if (id.valid()) begin(id);
        most = std::max(most, alive);
        alive -= ends[at];
    }
    return most;
}

void countWhatRan(const Model& model, const ShapeKeeper& keeper, FusionFigures& figures)
{
    int64_t macs = 0, peak = 0;
    bool known = true;
    for (const auto& [index, seen] : keeper.seen()) {
        const Graph& graph = model.graph(GraphId(index));
        for (const OperatorId id : seen.order) {
            const std::optional<int64_t> own = operatorMacs(graph.op(id), seen.values);
            known = known && own && !__builtin_add_overflow(macs, *own, &macs);
        }
        peak = std::max(peak, peakOf(graph, seen));
    }
    if (known) figures.macs = macs;
    figures.peakBytes = peak;
}

} // namespace

FusionFigures figuresOfRuns(const Model& model, GraphId root, std::span<const Array> inputs, const ExecutionOptions& execution)
{
    FusionFigures figures;
    countWhatIsThere(model, root, figures);
    const Result<std::unique_ptr<Executor>> executor = makeExecutor(model, root, execution);
    if (!executor.ok()) return figures;
    ShapeKeeper keeper(model);
    const Graph& graph = model.graph(root);
    for (size_t i = 0; i < graph.inputs.size() && i < inputs.size(); ++i) {
        ShapeKeeper::note(keeper.of(root), graph.inputs[i], inputs[i].view());
        if (!(*executor)->setInput(static_cast<int>(i), inputs[i].view()).ok()) return figures;
    }
    std::vector<int64_t> times;
    for (int run = 0; run <= kRuns; ++run) { // the first one is only looked at
        (*executor)->setObserver(run == 0 ? &keeper : nullptr);
        const auto begin = std::chrono::steady_clock::now();
        if (!(*executor)->start().ok() || !(*executor)->run().ok()) return figures;
        if (run > 0)
            times.push_back(std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin).count());
    }
    countWhatRan(model, keeper, figures);
    std::ranges::sort(times);
    figures.medianNs = times[kRuns / 2];
    return figures;
}

} // namespace loopscope::app
