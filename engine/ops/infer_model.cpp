// Types of a whole model: results that are not stated get the types that inference gives them, stated dtypes are checked. Each graph is
// inferred once, from its declared inputs, callees before their callers' results.
#include "engine/ir/ids.h"
#include "engine/ir/stored_constant.h"
#include "engine/ops/catalog.h"
#include "engine/ops/control_flow.h"

#include <algorithm>

namespace loopscope {

namespace {

class ModelInference {
public:
    explicit ModelInference(Model& model) : m_model(model), m_states(model.graphs.size(), State::untouched) {}

    /// Callees are inferred on the way, innermost first, on an explicit stack: files may nest calls as deeply as they like.
    Status run()
    {
        for (size_t g = 0; g < m_model.graphs.size(); ++g) LS_CHECK_OK(inferFrom(GraphId(static_cast<int64_t>(g))));
        return {};
    }

private:
    enum class State : uint8_t { untouched, open, done };
    struct Pending {
        GraphId graph;
        size_t nextOperator = 0;
    };

    State& state(GraphId graph) { return m_states[static_cast<size_t>(graph.index)]; }

    Status inferFrom(GraphId root)
    {
        if (state(root) != State::untouched) return {};
        state(root) = State::open;
        std::vector<Pending> stack = {{root, 0}};
        while (!stack.empty()) {
            Graph& graph = m_model.graph(stack.back().graph);
            const size_t index = stack.back().nextOperator;
            if (index == graph.operators.size()) {
                state(stack.back().graph) = State::done;
                stack.pop_back();
                continue;
            }
            const GraphId first = untouchedCallee(graph.operators[index]);
            if (first.valid()) {
                state(first) = State::open;
                stack.push_back({first, 0});
                continue;
            }
            if (Status status = inferOne(graph, graph.operators[index]); !status.ok()) {
                const std::string place = graph.id + "/" + operatorLabel(graph.operators[index], static_cast<int64_t>(index));
                return std::move(status).takeError().at(place);
            }
            ++stack.back().nextOperator;
        }
        return {};
    }

    /// A graph that `op` calls and nobody has looked at. One that is open calls itself: it keeps the types it states.
    GraphId untouchedCallee(const Operator& op)
    {
        for (const Callee& callee : callForm(op).callees)
            if (m_model.hasGraph(callee.graph) && state(callee.graph) == State::untouched) return callee.graph;
        return {};
    }

    Status inferOne(Graph& graph, const Operator& op)
    {
        std::vector<InferredType> results(op.results.size());
        const CallForm form = callForm(op);
        if (form.kind == CallKind::none) {
            LS_CHECK_OK(inferOrdinary(graph, op, results));
        } else {
            LS_CHECK_OK(checkCall(m_model, graph, op));
            inferCall(graph, op, form, results);
        }
        return store(graph, op, results);
    }

    Status inferOrdinary(const Graph& graph, const Operator& op, std::vector<InferredType>& results)
    {
        std::vector<Tensor> tensors(op.inputs.size());
        std::vector<const Tensor*> inputs(op.inputs.size());
        for (size_t i = 0; i < op.inputs.size(); ++i) {
            if (!op.inputs[i].valid()) continue;
            tensors[i] = declaredTensor(graph.value(op.inputs[i]));
            inputs[i] = &tensors[i];
        }
        const OpDef* def = findOp(op.kind);
        for (size_t k = 0; k < results.size(); ++k) {
            const TensorType& type = graph.value(op.results[k]).type;
            results[k] = {type.dtype, def && def->infer ? Shape::unknownRank() : type.dynamicShape()};
        }
        return inferOperator(op, inputs, results);
    }

    void inferCall(const Graph& graph, const Operator& op, const CallForm& form, std::vector<InferredType>& results)
    {
        const bool loop = form.kind == CallKind::loop;
        for (size_t k = 0; k < results.size(); ++k) {
            bool first = true;
            const auto merge = [&](const TensorType& type) {
                if (results[k].dtype == DType::unknown) results[k].dtype = type.dtype;
                results[k].shape = first ? type.dynamicShape() : joinShapes(results[k].shape, type.dynamicShape());
                first = false;
            };
            if (loop) merge(graph.value(op.inputs[k]).type); // no iteration at all hands the initial value on
            for (size_t c = loop ? 1 : 0; c < form.callees.size(); ++c) {
                const Graph& callee = m_model.graph(form.callees[c].graph);
                merge(callee.value(callee.outputs[k].value).type);
            }
        }
    }

    static Status store(Graph& graph, const Operator& op, const std::vector<InferredType>& results)
    {
        for (size_t k = 0; k < results.size(); ++k) {
            TensorType& type = graph.value(op.results[k]).type;
            if (type.dtype == DType::unknown) {
                type.dtype = results[k].dtype;
                type.shape = results[k].shape;
            } else if (!dtypesAgree(type.dtype, results[k].dtype)) {
                return Error(ErrorCode::badFile,
                             "result " + std::to_string(k) + " '" + graph.value(op.results[k]).id + "' is stated with another dtype")
                    .found(std::string(dtypeName(type.dtype)))
                    .expected(std::string(dtypeName(results[k].dtype)));
            }
        }
        return {};
    }

    Model& m_model;
    std::vector<State> m_states;
};

} // namespace

Tensor declaredTensor(const Value& value)
{
    Tensor tensor;
    tensor.dtype = value.type.dtype;
    tensor.shape = value.type.dynamicShape();
    tensor.quantization = value.type.quantization.get();
    if (value.role != ValueRole::constant || !value.constant || !value.constant->hasBytes() || isPacked(value)) return tensor;
    const Bytes& bytes = value.constant->bytes();
    tensor.shape = value.type.shape;
    const std::optional<int64_t> count = checkedElementCount(tensor.shape);
    if (!count || bytes.size() < byteSize(tensor.dtype, *count)) return tensor;
    static std::byte nothing = {}; // an empty constant is there all the same: null would say that its data is not known
    tensor.data =
        bytes.empty() ? &nothing : const_cast<std::byte*>(bytes.data()); // NOLINT(cppcoreguidelines-pro-type-const-cast): read only
    tensor.bytes = bytes.size();
    return tensor;
}

Status inferModel(Model& model) { return ModelInference(model).run(); }

} // namespace loopscope
