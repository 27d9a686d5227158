#include "engine/transform/gradient/call_split.h"

#include "engine/transform/gradient/known_shapes.h"

#include <algorithm>
#include <fnmatch.h>
#include <unordered_set>

namespace loopscope {

namespace {

bool isAmong(std::initializer_list<std::string_view> names, const Operator& op)
{
    return std::ranges::find(names, op.kind.name) != names.end();
}

/// What costs next to nothing to make again: constants, handles and what only hands on.
bool isFree(const Operator& op, const std::vector<std::string>& recompute)
{
    if (isAmong({"Const", "VarHandleOp", "Identity"}, op) && op.kind.dialect == "tf") return true;
    return std::ranges::any_of(recompute, [&](const std::string& pattern) {
        return fnmatch(pattern.c_str(), op.name.c_str(), 0) == 0 || fnmatch(pattern.c_str(), op.kind.name.c_str(), 0) == 0;
    });
}

/// What is saved instead of its operand, since it is smaller.
bool isMeasure(const Operator& op)
{
    return isAmong({"Shape", "ShapeN", "Size", "Rank", "VariableShape", "TensorListElementShape", "TensorListLength"}, op);
}

class FunctionSplitter {
public:
    FunctionSplitter(Model& model, CallGradients& calls, const SplitRequest& request) : m_model(model), m_calls(calls), m_request(request)
    {
    }

    Result<SplitFunction> run()
    {
        const Graph& function = m_model.graph(m_request.function);
        m_name = function.id;
        m_inputs = function.inputs.size();
        m_outputs = function.outputs.size();
        m_both = copyGraph(function, freshFunctionId(m_model, m_name + "_forward"));
        for (size_t i = 0; i < m_inputs && i < m_request.shapes.size(); ++i) {
            TensorType& type = m_both.value(m_both.inputs[i]).type;
            if (!type.isReference && !type.signature) type.shape = moreOf(type.shape, m_request.shapes[i]);
        }
        KnownShapes(m_model).refine(m_both);
        LS_CHECK_OK(differentiate());
        part();
        save();
        return finished();
    }

private:
    Status differentiate()
    {
        GraphEditor editor(m_both, Dialect::tf);
        m_operators = m_both.operators.size();
        BackwardPass pass(editor, m_calls);
        for (size_t i = 0; i < m_inputs; ++i)
            if (m_request.wanted[i]) pass.depend(m_both.inputs[i]);
        for (size_t k = 0; k < m_outputs; ++k) {
            if (!m_request.seeded[k]) continue;
            const ValueId output = m_both.outputs[k].value;
            TensorType type(gradientDType(output, k), Shape::unknownRank());
            if (m_both.value(output).type.dtype == type.dtype) type.shape = m_both.value(output).type.shape;
            const ValueId dy = editor.addInput(pass.prefix() + "/dy_" + std::to_string(k), std::move(type));
            m_seeds.push_back(dy);
            pass.seed(output, pass.nodes().value(dy));
        }
        LS_CHECK_OK(pass.run());
        for (size_t i = 0; i < m_inputs; ++i) {
            if (!m_request.wanted[i]) continue;
            GradientValue gradient = pass.gradientOf(m_both.inputs[i]);
            if (!gradient.valid()) gradient = pass.zerosFor(m_both.inputs[i], m_request.dtypes[i]);
            m_gradients.push_back({"dx_" + std::to_string(i), gradient.id});
        }
        m_isBackward.assign(m_both.values.size(), false);
        markBackward();
        return editor.finish();
    }

    /// A handle's gradient has the type of what the variable holds; a loop hands handles on where it took them.
    DType gradientDType(ValueId output, size_t k) const
    {
        const DType dtype = m_both.value(output).type.dtype;
        if (dtype != DType::resource) return dtype;
        for (size_t i = 0; i < m_inputs; ++i)
            if (m_both.inputs[i] == output) return m_request.dtypes[i];
        return k < m_request.dtypes.size() ? m_request.dtypes[k] : DType::unknown;
    }

    /// New operators are backward ones, but for what forward operators have got as operands and what measures forward values.
    void markBackward()
    {
        std::vector<bool> forward(m_both.operators.size(), false);
        std::vector<size_t> open;
        for (size_t o = 0; o < m_operators; ++o) {
            forward[o] = true;
            open.push_back(o);
        }
        while (!open.empty()) {
            const Operator& op = m_both.operators[open.back()];
            open.pop_back();
            for (const ValueId input : op.inputs) {
                const auto producer = input.valid() ? static_cast<size_t>(m_both.value(input).producer.index) : 0;
                if (!input.valid() || m_both.value(input).role != ValueRole::result || forward[producer]) continue;
                forward[producer] = true;
                open.push_back(producer);
            }
        }
        for (size_t o = m_operators; o < m_both.operators.size(); ++o) {
            const Operator& op = m_both.operators[o];
            const auto isForward = [&](ValueId value) {
                const Value& v = m_both.value(value);
                return v.role == ValueRole::result ? !m_isBackward[at(value)] : std::ranges::find(m_seeds, value) == m_seeds.end();
            };
            if (forward[o] || (isMeasure(op) && std::ranges::all_of(op.inputs, isForward))) continue;
            for (const ValueId result : op.results) m_isBackward[at(result)] = true;
        }
    }

    static size_t at(ValueId value) { return static_cast<size_t>(value.index); }

    /// What backward operators read of the others.
    void part()
    {
        std::unordered_set<int32_t> seen;
        std::vector<ValueId> open;
        const auto need = [&](ValueId value) {
            if (value.valid() && seen.insert(value.index).second) open.push_back(value);
        };
        for (const GraphOutput& gradient : m_gradients) need(gradient.value);
        std::vector<size_t> inputs;
        while (!open.empty()) {
            const ValueId id = open.back();
            open.pop_back();
            const Value& value = m_both.value(id);
            if (value.role == ValueRole::input) {
                const auto input = std::ranges::find(m_both.inputs, id) - m_both.inputs.begin();
                if (static_cast<size_t>(input) < m_inputs) m_result.inputs.push_back(static_cast<size_t>(input));
            }
            if (value.role != ValueRole::result) continue;
            const Operator& producer = m_both.op(value.producer);
            if (m_isBackward[at(id)] || isFree(producer, m_request.recompute)) {
                if (!m_isBackward[at(id)]) m_again.push_back(id);
                for (const ValueId input : producer.inputs) need(input);
            } else {
                m_saved.push_back(id);
            }
        }
        std::ranges::sort(m_result.inputs);
        std::ranges::sort(m_saved);
    }

    void save()
    {
        for (const ValueId id : m_saved) {
            TensorType type = m_both.value(id).type;
            type.quantization = nullptr;
            m_result.saved.push_back(std::move(type));
        }
    }

    Result<SplitFunction> finished()
    {
        m_result.gradients = m_seeds.size();
        m_result.backward = m_both;
        m_result.backward.id = freshFunctionId(m_model, m_name + "_backward");
        LS_CHECK_OK(makeBackward(m_result.backward));
        LS_CHECK_OK(makeForward(m_both));
        m_result.forward = std::move(m_both);
        return std::move(m_result);
    }

    Status makeBackward(Graph& graph) const
    {
        GraphEditor editor(graph, Dialect::tf);
        for (const ValueId id : m_again) editor.setControlInputs(graph.value(id).producer, {});
        editor.setOutputs(m_gradients);
        std::vector<ValueId> inputs = m_seeds;
        for (const ValueId id : m_saved) {
            const Value value = graph.value(id);
            std::string name = value.id; // names of arguments hold no colon
            std::ranges::replace(name, ':', '_');
            const ValueId input = editor.addInput(name == value.id ? name + "/saved" : name, value.type);
            editor.replaceUses(id, input);
            inputs.push_back(input);
        }
        for (const size_t input : m_result.inputs) inputs.push_back(m_both.inputs[input]);
        editor.setControlOutputs({});
        editor.eraseUnneeded({});
        editor.setGraphInputs(std::move(inputs));
        editor.sortTopologically();
        return editor.finish(GraphEditor::Values::dropUnused);
    }

    Status makeForward(Graph& graph) const
    {
        GraphEditor editor(graph, Dialect::tf);
        std::vector<GraphOutput> outputs = graph.outputs;
        for (size_t k = 0; k < m_saved.size(); ++k) outputs.push_back({"saved_" + std::to_string(m_outputs + k), m_saved[k]});
        editor.setOutputs(std::move(outputs));
        std::vector<OperatorId> backward;
        for (size_t o = 0; o < graph.operators.size(); ++o) {
            const Operator& op = graph.operators[o];
            if (!op.results.empty() && m_isBackward[at(op.results.front())]) backward.emplace_back(static_cast<int64_t>(o));
        }
        editor.eraseUnused(backward);
        editor.setGraphInputs({graph.inputs.begin(), graph.inputs.begin() + static_cast<ptrdiff_t>(m_inputs)});
        editor.sortTopologically();
        return editor.finish(GraphEditor::Values::dropUnused);
    }

    Model& m_model;
    CallGradients& m_calls;
    const SplitRequest& m_request;
    std::string m_name;
    size_t m_inputs = 0, m_outputs = 0, m_operators = 0; ///< of the function
    Graph m_both;
    std::vector<ValueId> m_seeds;
    std::vector<GraphOutput> m_gradients;
    std::vector<bool> m_isBackward; ///< values
    std::vector<ValueId> m_saved, m_again;
    SplitFunction m_result;
};

} // namespace

std::string freshFunctionId(const Model& model, const std::string& wanted)
{
    std::string id = wanted;
    for (int k = 1; model.findGraph(id).valid(); ++k) id = wanted + "_" + std::to_string(k);
    return id;
}

Result<SplitFunction> splitFunction(Model& model, CallGradients& calls, const SplitRequest& request)
{
    return FunctionSplitter(model, calls, request).run();
}

} // namespace loopscope
